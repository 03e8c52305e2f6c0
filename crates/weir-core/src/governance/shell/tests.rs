//! What command lines are made of, as tables.

use proptest::prelude::*;

use super::*;

/// The parts of `text`, words joined by `|`, expanding words marked with `?`.
fn parts(text: &str) -> Vec<String> {
    parse_command_line(text)
        .parts
        .iter()
        .map(|part| {
            let words: Vec<String> = part
                .words
                .iter()
                .map(|w| format!("{}{}", if w.expands { "?" } else { "" }, w.text))
                .collect();
            words.join("|")
        })
        .collect()
}

/// Whether a line might run `pkill`, as far as it is seen.
fn runs_pkill(line: &str) -> bool {
    let reach = command_reach(&parse_command_line(line));
    reach.commands().any(|words| head_name(&words[0]) == "pkill")
}

#[test]
fn z3_no_frame_around_a_command_hides_which_program_runs() {
    for line in [
        "function f { pkill node; }; f",
        "function f while pkill node; do :; done",
        "time { pkill node; }",
        "time -p -- { pkill node; }",
        "time time { pkill node; }",
        "time coproc { pkill node; }",
        "coproc { pkill node; }",
        "coproc X { pkill node; }",
        "env --split-string='pkill node'",
        "env -S'pkill node'",
        "env -Spkill node",
        "env -uSHELL -iSpkill node",
        "env --split=pkill node",
        "git submodule foreach 'pkill node'",
        "git submodule --quiet foreach pkill node",
        "git bisect run pkill node",
        "npx pkill node",
        "npm exec -c 'pkill node'",
        "uv run pkill node",
        "rustup run stable pkill node",
        "direnv exec . pkill node",
        "fakeroot pkill node",
        "flatpak-spawn --host pkill node",
        "setarch x86_64 pkill node",
        "gosu me pkill node",
        "hatch run pkill node",
        "mise x -- pkill node",
        "tmux new -d 'pkill node'",
        "let 'a[$(pkill node)]=1'",
        "test -v 'a[$(pkill node)]'",
        "printf -v 'a[$(pkill node)]' x",
        "printf -v'a[$(pkill node)]' x",
        "[[ -v 'a[$(pkill node)]' ]]",
        "[[ 'a[$(pkill node)]' -eq 1 ]]",
        "declare 'a[`pkill node`]=1'",
    ] {
        assert!(runs_pkill(line), "{line}");
    }
    for line in [
        "printf '%s' 'see `pkill node` [x]'",
        "git log run pkill",
        "poetry add pkill",
        "echo function pkill",
        "env SHELL=pkill node",
        "env ls -S pkill",
        "test -f 'a[$(pkill node)]'",
    ] {
        assert!(!runs_pkill(line), "{line}");
    }
}

#[test]
fn z3_a_word_that_a_line_is_broken_in_hides_no_command() {
    for line in [
        "!\\\n pkill node",
        "th\\\nen pkill node",
        "A\\\nB=1 pkill node",
        "fun\\\nction f { pkill node; }; f",
    ] {
        assert!(runs_pkill(line), "{line}");
    }
}

#[test]
fn z3_a_list_in_braces_is_what_the_shell_makes_of_it() {
    for line in [
        "{pkill,node}",
        "{,pkill} node",
        "{pkill,node}>/dev/null",
        "sudo {pkill,node}",
        "bash {-c,'pkill node'}",
        "bash -c '{pkill,node}'",
    ] {
        assert!(runs_pkill(line), "{line}");
    }
    for line in ["echo {pkill,node}", "'{pkill,node}'", "x{pkill,node}"] {
        assert!(!runs_pkill(line), "{line}");
    }
    let reach = command_reach(&parse_command_line("rm -rf a{,/../..} {~,b} \"$X\" {c,$Y}"));
    let words = reach.parts.last().expect("a part").words.iter().map(|word| word.text.as_str());
    let expected = ["rm", "-rf", "a", "a/../..", "~", "b", "$X", "{c,$Y}"];
    assert_eq!(words.collect::<Vec<_>>(), expected);
    assert_eq!(reach.parts.len(), 2);
    assert_eq!(command_reach(&parse_command_line("echo {a} ${b}")).parts.len(), 1);
    let many = format!("echo {}", "{a,a,a,a,a,a,a,a} ".repeat(4_000));
    assert!(command_reach(&parse_command_line(&many)).unread.is_some());
}

#[test]
fn z3_what_is_printed_into_a_shell_is_its_script() {
    for line in [
        "echo pkill node | bash +x",
        "echo pkill node | bash -o pipefail",
        "echo pkill node | sh -euo pipefail -x",
        "echo pkill node | bash --rcfile x",
        "echo pkill node | bash /dev/stdin",
        "echo pkill node | . /dev/stdin",
        "echo pkill node | parallel",
        "echo 'pkill node' | xargs -I{} sh -c {}",
        "echo 'pkill node' | xargs -0 sh -c",
        "at now <<< 'pkill node'",
        "source <(echo pkill node)",
        "bash <(echo pkill node) x",
        "eval \"$(echo pkill node)\"",
        "bash -c \"cd x; `printf 'pkill %s' node`\"",
        "su me <<< 'pkill node'",
    ] {
        assert!(runs_pkill(line), "{line}");
    }
    for line in [
        "echo pkill node | bash -euo pipefail x.sh",
        "echo pkill node | bash -c cat",
        "echo pkill node | xargs -I{} sh -c 'ls {}'",
        "echo pkill node | parallel ls",
        "echo pkill node | source x.sh",
        "bash -c 'echo $(echo pkill node)'",
        "diff <(echo pkill node) x",
    ] {
        assert!(!runs_pkill(line), "{line}");
    }
}

#[test]
fn z3_the_patterns_of_a_case_are_no_commands_and_end_no_list() {
    let table: &[(&str, &[&str])] = &[
        ("case x in a) rm y;; esac", &["case|x|in|a", "rm|y"]),
        ("case $1 in a | b) c;; (d) e;& *) f; esac; g", &["case|?$1|in|a|b", "c", "e", "f", "g"]),
        ("case x in\n# a)\n(a)\n  b\n  ;;\nesac\nc", &["case|x|in|a", "b", "c"]),
        (
            "case x in a) case y in b) c;; esac;; d) e;; esac",
            &["case|x|in|a", "case|y|in|b", "c", "e"],
        ),
        ("case x in esac; rm y", &["case|x|in", "rm|y"]),
        (
            "echo \"$(case x in x) rm y;; esac)\"",
            &["case|x|in|x", "rm|y", "echo|?$(case x in x) rm y;; esac)"],
        ),
        (
            "echo $(case x in (x) rm y;; esac)",
            &["case|x|in|x", "rm|y", "echo|?$(case x in (x) rm y;; esac)"],
        ),
        ("case x in $(rm y)) a;; esac", &["rm|y", "case|x|in|?$(rm y)", "a"]),
        ("case x in a) cat <<E;;\nrm y\nE\nb) c;; esac", &["case|x|in|a", "cat", "c"]),
        ("for c in case esac; do rm y; done", &["for|c|in|case|esac", "rm|y"]),
        ("case x in a) b;; 'esac') c;; esac", &["case|x|in|a", "b", "c"]),
    ];
    for (text, expected) in table {
        assert_eq!(parts(text), *expected, "{text:?}");
        let line = parse_command_line(text);
        assert!(line.unreadable.is_none() && line.control, "{text:?}");
    }
    for text in [
        "case x in a) b",
        "echo $(case x in a) b)",
        "case x in @(a|b)) c;; esac",
        "case x in a\nrm y) c;; esac",
        "A=1 case x in\nrm y\nesac) b",
        "case x\nin a) rm y;; esac",
        "case x; rm y",
    ] {
        assert!(parse_command_line(text).unreadable.is_some(), "{text:?}");
    }
}

#[test]
fn c3_an_escape_is_what_the_shell_makes_of_it() {
    // `\c` keeps no quote from ending its text, and of a number one byte counts.
    let ended = r"echo $'\c'; rm x; echo ''\'";
    assert!(parts(ended).contains(&"rm|x".to_owned()), "{:?}", parts(ended));
    assert_eq!(parts(r"$'\562m' x"), ["rm|x"]);
    assert_eq!(parts(r"echo $'\cA'"), ["echo|\u{1}"]);
    for text in [r"echo $'\c'", r"echo $'\c\'; rm x; echo \'", r"echo $'\c\\'"] {
        assert!(parse_command_line(text).unreadable.is_some(), "{text}");
    }
    // Bytes that are parts of letters come out as another word.
    for (text, expands) in [(r"$'\xc3\xa9'", true), (r"$'\303'", true), (r"$'\x41\u00e9'", false)] {
        let line = parse_command_line(text);
        assert_eq!((line.parts[0].words[0].expands, line.unreadable), (expands, None), "{text}");
    }
}

#[test]
fn z3_the_text_of_a_here_document_hides_no_command() {
    let has_rm = |text: &str| parts(text).contains(&"rm|x".to_owned());
    for text in [
        // Of one that begins before a substitution the text stands behind that.
        "cat <<A $(cat <<B\nB\nrm x\nA\nB\n)\nA",
        "cat <<A <(\nrm x\nA\n)\nA",
        "cat <<A \"$(\nrm x\nA\n)\"\nA",
        // No here-documents but shifts.
        "echo $((1<<2))\nrm x\n2",
        "((1 << A))\nrm x\nA",
        "for ((i = 0; i < 1 << A; i++)); do :; done\nrm x\nA",
    ] {
        assert!(has_rm(text), "{text:?}");
    }
    for text in [
        "cat <<E\nE\\\n\nrm x\nE",
        "cat <<EF\nE\\\nF\nrm x\nEF",
        "cat <<E\na\\\nE\nrm x\nE",
        "cat <<E\\\nF\n$(rm x)\nEF",
        "cat <<$'E'\nE\nrm x\n$E",
        "cat <<\"E\nF\"\nE\nrm x",
        "echo $(cat <<E\nbody\nE)\nrm x\necho $(cat <<E\nE\n)",
        "echo $(cat <<E)\nrm x\nE",
        "a[1<<2]=3\nrm x\n2]=3",
        "declare a[1 << 2]=3\nrm x\n2]=3",
        "echo $[1 << A]\nrm x\nA]",
        "((#)); rm x\n))",
        "cat <<A; ((1 +\nA\n2))\nrm x\nA",
    ] {
        assert!(parse_command_line(text).unreadable.is_some() || has_rm(text), "{text:?}");
    }
    for text in [
        "git commit -m \"$(cat <<'EOF'\na\\\nb\nEOF\n)\"",
        "cat > x <<EOF\nRUN a && \\\n  b\nEOF",
        "cat <<-EOF\n\ta\\\\\n\tEOF\nls",
        "(cat <<A; cat <<B)\na\nA\nb\nB",
        "head -c $((1 << 20)) x; echo $(( ${#x} + 16#ff ))",
        "echo a[0] a[$i] <<E\nE",
        "[ -n \"$x\" ] && grep '[' <<E\nE",
    ] {
        assert_eq!(parse_command_line(text).unreadable, None, "{text:?}");
    }
}

#[test]
fn z3_quotes_in_braces_and_in_backquotes_hide_no_command() {
    let has_rm = |text: &str| parts(text).contains(&"rm|x".to_owned());
    for text in [
        r#"echo "`echo \"'\"; rm x; echo \"'\"`""#,
        r"echo ${a//\'/}; rm x; echo \'}",
        r"echo ${a#\}}; rm x",
        r#"echo "${a:-'b'}"; rm x"#,
        r#"echo "${a:-"}"}"; rm x"#,
        r"echo ${a#'}'}; rm x",
    ] {
        assert!(has_rm(text), "{text}");
        assert_eq!(parse_command_line(text).unreadable, None, "{text}");
    }
    for text in [
        r#"echo "${a:-'}"; rm x; echo "'}""#,
        r#"echo "${a:-$'}"; rm x; echo "'}""#,
        "echo ${a:-<(rm x)}",
        "echo ${ rm x; }",
        "echo ${|rm x; }",
        "cat <<E\n`echo \\\"a; rm x; echo \\\"`\nE",
    ] {
        assert!(parse_command_line(text).unreadable.is_some(), "{text}");
    }
}

#[test]
fn c3_a_program_is_named_without_its_folder() {
    let named = |text: &str| {
        let word = ShellWord { text: text.into(), ..ShellWord::default() };
        head_name(&word).to_owned()
    };
    for (text, name) in
        [("rm", "rm"), ("/bin/rm", "rm"), ("./é/ö", "ö"), ("a/", ""), ("/", ""), ("", "")]
    {
        assert_eq!(named(text), name, "{text}");
    }
}

#[test]
fn c3_command_lines_are_taken_apart() {
    let table: &[(&str, &[&str])] = &[
        ("", &[]),
        ("   \t ", &[]),
        ("# nothing", &[]),
        ("ls", &["ls"]),
        ("ls -la  src", &["ls|-la|src"]),
        ("cargo test && cargo fmt", &["cargo|test", "cargo|fmt"]),
        ("a || b; c | d |& e & f", &["a", "b", "c", "d", "e", "f"]),
        ("a\nb\n\nc", &["a", "b", "c"]),
        ("(a; b) && c", &["a", "b", "c"]),
        ("echo 'a b' \"c d\"", &["echo|a b|c d"]),
        ("echo a\\ b", &["echo|a b"]),
        ("r\\m x", &["rm|x"]),
        ("\"rm\" x", &["rm|x"]),
        ("$'rm' x", &["rm|x"]),
        ("$'\\x72\\155' x", &["rm|x"]),
        ("r''m x", &["rm|x"]),
        ("r\\\nm x", &["rm|x"]),
        ("echo a # rm b", &["echo|a"]),
        ("echo a#b", &["echo|a#b"]),
        ("echo '$(rm x)'", &["echo|$(rm x)"]),
        ("echo $(rm x)", &["rm|x", "echo|?$(rm x)"]),
        ("echo \"$(rm x)\"", &["rm|x", "echo|?$(rm x)"]),
        ("echo `rm x`", &["rm|x", "echo|?`rm x`"]),
        ("echo ${A:-$(rm x)}", &["rm|x", "echo|?${A:-$(rm x)}"]),
        ("cat <(rm x)", &["rm|x", "cat|?<(rm x)"]),
        ("cat <(a)#; rm x", &["a", "cat|?<(a)#", "rm|x"]),
        ("cat b<(a)/c d", &["a", "cat|?b<(a)/c|d"]),
        ("A=<(a) rm x", &["a", "rm|x"]),
        ("sort < <(rm x)", &["rm|x", "sort"]),
        ("tee > >(rm x) a", &["rm|x", "tee|a"]),
        ("echo $HOME/x", &["echo|?$HOME/x"]),
        ("ls *.rs", &["ls|?*.rs"]),
        ("ls ~/x", &["ls|?~/x"]),
        ("ls a~", &["ls|a~"]),
        ("echo {a,b}", &["echo|?{a,b}"]),
        ("{rm,-rf,x}>/dev/null", &["?{rm,-rf,x}"]),
        ("find . {-delete,-print}> x", &["find|.|?{-delete,-print}"]),
        ("exec {out}> x", &["exec"]),
        ("ls 2\\\n> x", &["ls"]),
        ("find . -exec rm {} +", &["find|.|-exec|rm|{}|+"]),
        ("if true; then rm x; fi", &["true", "rm|x"]),
        ("f() { rm x; }; f", &["f", "rm|x", "f"]),
        ("function f { rm x; }; f", &["f", "rm|x", "f"]),
        ("function f() { rm x; }", &["f", "rm|x"]),
        ("time { rm x; }", &["time", "rm|x"]),
        ("time -p { rm x; }", &["time|-p", "rm|x"]),
        ("time -p -- { rm x; }", &["time|-p|--", "rm|x"]),
        ("time time { rm x; }", &["time|time", "rm|x"]),
        ("time cargo test", &["time|cargo|test"]),
        ("coproc { rm x; }", &["coproc", "rm|x"]),
        ("coproc X { rm x; }", &["coproc|X", "rm|x"]),
        ("coproc rm x", &["coproc|rm|x"]),
        ("echo { a", &["echo|{|a"]),
        ("cargo test > out.txt 2>&1", &["cargo|test"]),
        ("cargo test &> out.txt", &["cargo|test"]),
        ("cat <<EOF\nrm x\nEOF\nls", &["cat", "ls"]),
        ("cat <<EOF | sort\n$(rm x)\nEOF", &["cat", "sort", "rm|x"]),
        ("cat <<'EOF'\n$(rm x)\nEOF", &["cat"]),
        ("cat <<-EOF\n\ta\n\tEOF\nls", &["cat", "ls"]),
        ("A=1 B=2 make", &["make"]),
        ("echo 'open", &["echo|open"]),
        ("case x in a) rm y;; esac", &["case|x|in|a", "rm|y"]),
        ("échö ünï", &["échö|ünï"]),
    ];
    for (text, expected) in table {
        assert_eq!(parts(text), *expected, "{text:?}");
    }
}

#[test]
fn c3_what_is_uncertain_is_marked() {
    let unreadable = ["echo 'a", "echo \"a", "(a", "a)", "echo `a", "a >", "a=(b c)", "a\0b"];
    for text in unreadable {
        assert!(parse_command_line(text).unreadable.is_some(), "{text:?}");
    }
    let control = ["if a; then b; fi", "for x in a; do b; done", "! a", "{ a; }", "f() { a; }"];
    for text in control {
        assert!(parse_command_line(text).control, "{text:?}");
    }
    for text in ["$(a)", "`a`", "cat <(a)", "echo \"${x:-`a`}\""] {
        assert!(parse_command_line(text).substitution, "{text:?}");
    }
    for text in ["cargo test", "a && b | c; d", "(a)", "a > b", "a 'x y'", "a <<'E'\n$x\nE"] {
        assert!(parse_command_line(text).is_plain(), "{text:?}");
    }
    for text in ["A=1 a", "a $B", "a *", "a ~", "a {b,c}", "a > $B", "a <<E\n$x\nE"] {
        assert!(!parse_command_line(text).is_plain(), "{text:?}");
    }
    let deep = format!("{}a{}", "$(".repeat(500), ")".repeat(500));
    assert!(parse_command_line(&deep).unreadable.is_some());
    assert!(parse_command_line(&"(".repeat(90_000)).unreadable.is_some());
    assert!(parse_command_line(&"a;".repeat(40_000)).unreadable.is_some());
}

#[test]
fn c3_redirections_tell_files_from_descriptors() {
    let table = [
        ("a > b", true, true),
        ("a >> b", true, true),
        ("a 2> b", true, true),
        ("a &> b", true, true),
        ("a >| b", true, true),
        ("a >& b", true, true),
        ("a < b", true, false),
        ("a 2>&1", false, false),
        ("a >&-", false, false),
        ("a <<< b", false, false),
        ("a << b", false, false),
    ];
    for (text, file, writes) in table {
        let line = parse_command_line(text);
        let redirection = &line.parts[0].redirections[0];
        assert_eq!((redirection.is_file(), redirection.writes()), (file, writes), "{text:?}");
    }
}

#[test]
fn c3_reach_sees_through_disguises() {
    let disguised = [
        "rm x",
        "/bin/rm x",
        "r\\m x",
        "'rm' x",
        "$'r\\x6d' x",
        "sudo rm x",
        "sudo -u root rm x",
        "env A=1 rm x",
        "env -i A=1 rm x",
        "command rm x",
        "timeout 5 rm x",
        "timeout -k 1 5 rm x",
        "nice -n 5 rm x",
        "nohup rm x &",
        "time rm x",
        "xargs -0 rm x",
        "find . -name a -exec rm x {} ;",
        "bash -c 'rm x'",
        "bash -lc \"rm x\"",
        "sh -c 'cd a && rm x'",
        "sudo sh -c 'rm x'",
        "eval rm x",
        "eval 'rm x'",
        "bash -c \"bash -c 'rm x'\"",
        "echo $(rm x)",
        "echo `rm x`",
        "echo \"a `rm x` b\"",
        "true && rm x",
        "if true; then rm x; fi",
        "f() { rm x; }; f",
        "bash <<EOF\nrm x\nEOF",
        "bash <<< 'rm x'",
        "echo rm x | sh",
        "echo 'rm x' | bash -s",
        "A=1 rm x",
        "(rm x)",
        "busybox rm x",
        "ssh host rm x",
        "su root -c 'rm x'",
        ": '$(rm x)'; echo ${_@P}",
        ": ${x:='$(rm x)'}; echo ${x@P}",
        ": 'a[$(rm x)]'; echo ${PWD:_}",
        ": 'a[`rm x`]'; echo $[_]",
        ": 'a[$(rm x)]'; ((ls + _))",
    ];
    for text in disguised {
        let found = command_reach(&parse_command_line(text));
        let seen = found.commands().any(|words| {
            head_name(&words[0]) == "rm" && words.get(1).is_some_and(|w| w.text == "x")
        });
        assert!(seen, "{text:?} hides rm x: {found:?}");
    }
    for text in ["echo rm x", "grep rm x", "timeout 5 grep rm x", "ls /bin/rm", "env echo rm x"] {
        let found = command_reach(&parse_command_line(text));
        assert!(!found.commands().any(|words| head_name(&words[0]) == "rm"), "{text:?}");
    }
    for text in ["$X a", "$(which rm) a", "bash -c \"$X\"", "eval $X", "cat x | sh", "echo 'a"] {
        assert!(command_reach(&parse_command_line(text)).opaque.is_some(), "{text:?}");
    }
    for text in ["ls", "echo $X", "bash script.sh", "cargo test | tail"] {
        assert_eq!(command_reach(&parse_command_line(text)).opaque, None, "{text:?}");
    }
}

#[test]
fn c3_a_command_that_fd_runs_is_seen_in_whichever_option_it_stands() {
    let runs_rm = |text: &str| {
        let reach = command_reach(&parse_command_line(text));
        reach.commands().any(|words| head_name(&words[0]) == "rm")
    };
    for text in [
        "fd -x rm",
        "fd -HIux rm",
        "fd -HIuX rm -rf",
        "fd -HIuxrm {}",
        "fd -x=rm {}",
        "fd --exec rm",
        "fd --exec=rm {}",
        "fdfind --exec-batch=rm",
        "fd -tf -e log -x sudo rm",
        "fd -xsudo rm",
        "find . -name x -ok rm {} +",
    ] {
        assert!(runs_rm(text), "{text}");
    }
    for text in ["fd -exml rm", "fd -Hex rm", "fd -tx rm", "fd -Cx rm", "fd rm", "find . -xdev rm"]
    {
        assert!(!runs_rm(text), "{text}");
    }
}

#[test]
fn z10_wrappers_of_wrappers_are_seen_through_in_good_time() {
    let find = "find . -exec ";
    let others = ["sudo ", "env A=1 ", "sudo -u x ", "sudo -u ", "nice bash ", "eval ", find];
    for wrapper in others.into_iter().chain(["fd -x "]) {
        let times = 40_000 / wrapper.len();
        let line = parse_command_line(&format!("{}rm x", wrapper.repeat(times)));
        let began = std::time::Instant::now();
        let found = command_reach(&line);
        assert!(began.elapsed() < std::time::Duration::from_secs(20), "{wrapper:?}");
        let seen = found.commands().any(|words| head_name(&words[0]) == "rm");
        assert!(seen, "{wrapper:?} many times hides rm x");
    }
    // Each begins within an option of the one before it: what is built to be unreadable is given up.
    let begun = std::time::Instant::now();
    let nested = command_reach(&parse_command_line(&"fd -xfd ".repeat(5_000)));
    assert!(nested.unread.is_some() && begun.elapsed() < std::time::Duration::from_secs(20));
    let scripts = command_reach(&parse_command_line(
        "sudo sh -c 'rm a' 'rm b' && eval eval 'rm c' && sh <<< 'rm d'",
    ));
    for target in ["a", "b", "c", "d"] {
        let is_it = |words: &[ShellWord]| words.get(1).is_some_and(|word| word.text == target);
        assert!(scripts.commands().any(|words| head_name(&words[0]) == "rm" && is_it(words)));
    }
}

#[test]
fn c3_braces_are_put_in_only_where_no_quotes_keep_them() {
    for text in [
        "{a,b}",
        "x{a,b}y",
        "{1..3}",
        "{a,'b c'}",
        "{\"a\",b}",
        "{a$X,b}",
        "{a*,b}",
        "{1.\\\n.3}",
        "a}{b,c}",
    ] {
        assert!(parse_command_line(text).parts[0].words[0].expands, "{text}");
    }
    for text in [
        "'{a,b}'",
        "\"{a,b}\"",
        "\\{a,b}",
        "{a\\,b}",
        "{a','b}",
        "{a,b\\}",
        "{a,b'}'",
        "{}",
        "{a}",
        "a,b}{",
        "HEAD@{1.day.ago}",
        "{a.b}",
        "$'{a,b}'",
    ] {
        assert!(!parse_command_line(text).parts[0].words[0].expands, "{text}");
    }
}

/// What ends a word ends it wherever it stands, and every other letter stays one of it.
#[test]
fn c3_a_word_ends_at_a_sign_and_at_no_other_letter() {
    for letter in (' '..='~').chain(['\t', '\n', 'é', '…', '🦀']) {
        let found = parts(&format!("ab{letter}cd e"));
        let expected: &[&str] = match letter {
            ' ' | '\t' => &["ab|cd|e"],
            '\n' | ';' | '&' | '|' => &["ab", "cd|e"],
            '(' | ')' | '<' | '>' | '\'' | '"' | '`' | '$' | '=' => continue,
            '\\' => &["abcd|e"],
            '*' | '?' | '[' => {
                assert_eq!(found, [format!("?ab{letter}cd|e")]);
                continue;
            }
            _ => {
                assert_eq!(found, [format!("ab{letter}cd|e")]);
                continue;
            }
        };
        assert_eq!(found, expected, "{letter:?}");
    }
}

proptest! {
    #[test]
    fn c3_the_lexer_is_total(text in "[ -~\\n\\t'\"`$(){}<>|&;\\\\é]{0,200}") {
        let line = parse_command_line(&text);
        prop_assert_eq!(&line, &parse_command_line(&text));
        let _ = command_reach(&line);
    }

    #[test]
    fn c3_any_text_is_taken_apart(text in any::<String>()) {
        let _ = command_reach(&parse_command_line(&text));
    }

    #[test]
    fn c3_joining_commands_joins_their_parts(
        commands in proptest::collection::vec("[a-z]{1,5}( [a-z0-9=./-]{1,8}){0,3}", 1..6),
        joint in proptest::sample::select(vec![" && ", " || ", "; ", " | ", "\n", " & "]),
    ) {
        let joined = parse_command_line(&commands.join(joint));
        let alone: Vec<Vec<ShellWord>> =
            commands.iter().flat_map(|c| parse_command_line(c).parts).map(|p| p.words).collect();
        if joined.control || commands.iter().any(|c| parse_command_line(c).control) {
            return Ok(());
        }
        let together: Vec<Vec<ShellWord>> = joined.parts.into_iter().map(|p| p.words).collect();
        prop_assert_eq!(together, alone);
    }

    #[test]
    fn c3_quoting_does_not_change_words(words in proptest::collection::vec("[ -~&&[^']]{1,12}", 1..5)) {
        let quoted: Vec<String> = words.iter().map(|w| format!("'{w}'")).collect();
        let line = parse_command_line(&quoted.join(" "));
        let texts: Vec<&str> = line.parts[0].words.iter().map(|w| w.text.as_str()).collect();
        prop_assert_eq!(texts, words.iter().map(String::as_str).collect::<Vec<_>>());
        prop_assert!(line.is_plain());
    }
}

#[test]
fn u13_a_variable_without_its_beginning_or_end_is_no_computing() {
    let computes = |text: &str| parse_command_line(text).computes;
    for line in [
        "echo ${f#src/}",
        "echo \"${f##*/}\"",
        "echo ${f%.txt} ${f%%.*}",
        "echo ${#f} ${f} $f ${#}",
        "mv \"$f\" \"new_${f#old_}\"",
    ] {
        assert!(!computes(line), "{line}");
    }
    for line in [
        "echo ${f#$(x)}",
        "echo ${f#`x`}",
        "echo ${f%$y}",
        "echo ${f#\"a\"}",
        "echo ${f#[a]}",
        "echo ${f#~}",
        "echo ${f@P}",
        "echo ${f:0}",
        "echo ${f:=x}",
        "echo ${f:-x}",
        "echo ${f/a/b}",
        "echo ${!f}",
        "echo ${a[0]#x}",
        "echo ${#a[@]}",
        "echo ${1#x}",
        "echo ${#1x}",
        "echo ${f@P#x}",
    ] {
        assert!(computes(line), "{line}");
    }
}
