//! Rules as tables.

use proptest::prelude::*;

mod subjects;

use super::*;
use crate::tool::PathAccess;
use crate::tool::{CommandEffect, Effects, HostEffect, PathEffect, PathPlace, SendEffect, Tier};

fn set() -> RuleSet {
    RuleSet::new(RuleContext {
        workspace: "/work/ws".into(),
        home: Some("/home/me".into()),
        own_folders: Vec::new(),
        ..RuleContext::default()
    })
}

fn with(action: RuleAction, texts: &[&str]) -> RuleSet {
    let mut set = set();
    for text in texts {
        let origin = RuleOrigin::new("test");
        let rule = set.parse_rule(action, text, origin).unwrap_or_else(|e| panic!("{e}"));
        set.add(rule);
    }
    set
}

fn path(name: &str) -> PathEffect {
    let place = if name.starts_with('/') { PathPlace::Outside } else { PathPlace::Inside };
    PathEffect::new(name, PathAccess::Write, place)
}

fn command(text: &str) -> CommandEffect {
    CommandEffect { command: text.into(), cwd: ".".into(), ..CommandEffect::default() }
}

fn host(name: &str) -> HostEffect {
    HostEffect {
        method: "GET".into(),
        host: name.into(),
        url: format!("https://{name}/"),
        secret: None,
    }
}

fn matches(ruling: &Ruling<'_>) -> bool {
    !matches!(ruling, Ruling::Silent)
}

#[test]
fn c3_rules_that_can_never_match_are_errors() {
    let table = [
        ("", "is empty"),
        ("Edit()", "nothing in its parentheses"),
        ("Read( )", "nothing in its parentheses"),
        ("Edit(src/**", "closing parenthesis"),
        ("Foo(bar)", "unknown kind"),
        ("Bash(ls)", "did you mean Shell(…)?"),
        ("WebFetch(a.example)", "did you mean Web(…)?"),
        ("edit(src)", "did you mean Edit(…)?"),
        ("read file", "neither the name of a tool"),
        ("a/b", "neither the name of a tool"),
        ("Read(a/../b)", ".."),
        ("Read(../b)", ".."),
        ("Read(/a/./b)", "empty or . part"),
        ("Read(a//b)", "empty or . part"),
        ("Read(~other/b)", "another person's home"),
        ("Read(!a)", "begins with !"),
        ("Read([)", "pattern that cannot be read"),
        ("Read({a,b)", "pattern that cannot be read"),
        ("Read(a\nb)", "line break"),
        ("Shell(:*)", "no words before"),
        ("Shell(cargo:* test)", "in the middle"),
        ("Shell(a:* b:*)", "in the middle"),
        ("Shell(a && b:*)", "more than one command"),
        ("Shell(A=1 b:*)", "expansions"),
        ("Shell($X:*)", "expansions"),
        ("Shell(a > b:*)", "redirections"),
        ("Shell(# x)", "names no command"),
        ("Shell(echo 'x)", "a quote is never closed"),
        ("Web(https://a.org)", "scheme"),
        ("Web(a.org/x)", "more than a host"),
        ("Web(a.org:80)", "port"),
        ("Web(a b)", "no host name"),
        ("Web(.org)", "no host name"),
        ("Web(bücher.example)", "ASCII"),
        ("Mail(bob)", "no address"),
        ("Mail(@a.org)", "no address"),
        ("Mail(b*@a.org)", "no address"),
        ("Mail(Bob <bob@a.org>)", "no host name"),
        ("Mail(bob@a b)", "no host name"),
        ("Mcp(:x)", "not of the form"),
        ("Mcp(*:x)", "without its server"),
        ("Mcp(a b)", "not of the form"),
        ("Agent(a b)", "names no agent"),
    ];
    for (text, expected) in table {
        let origin = RuleOrigin::new(".weir/config.toml").at_line(7);
        let error = set().parse_rule(RuleAction::Deny, text, origin).expect_err(text).to_string();
        assert!(error.contains(expected), "{text:?}: {error}");
        assert!(error.starts_with(".weir/config.toml:7: the deny rule"), "{error}");
    }
    let homeless = RuleSet::default();
    assert!(homeless.parse_rule(RuleAction::Deny, "Read(~/x)", RuleOrigin::new("x")).is_err());
    let long = format!("Read({})", "a".repeat(RULE_CHARS_MAX));
    assert!(set().parse_rule(RuleAction::Deny, &long, RuleOrigin::new("x")).is_err());
}

#[test]
fn c3_tool_names_are_checked_against_the_tools_that_exist() {
    let rules = with(RuleAction::Deny, &["read_file", "Run_Shell", "*", "Edit(a)", "nothing"]);
    let errors = rules.check_tools(&["read_file", "run_shell"]);
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts[0].contains("did you mean run_shell?"), "{texts:?}");
    assert!(texts[1].contains("no tool nothing"), "{texts:?}");
}

#[test]
fn c3_globs_are_gitignore_like() {
    // Rule, paths that it matches, paths that it does not.
    let table: &[(&str, &[&str], &[&str])] = &[
        ("Edit(src/**)", &["src/a", "src/a/b"], &["a/src/b", "srcx/a", "/src/a"]),
        ("Edit(src)", &["src", "src/a", "a/src", "a/src/b"], &["srcx"]),
        ("Edit(src/)", &["src/a", "a/src/b"], &["srcx"]),
        ("Edit(./src)", &["src", "src/a"], &["a/src"]),
        ("Edit(a/b)", &["a/b", "a/b/c"], &["x/a/b"]),
        ("Edit(*.rs)", &["a.rs", "a/b.rs"], &["a.rss", "/a.rs"]),
        ("Edit(src/*.rs)", &["src/a.rs"], &["src/x/a.rs", "a.rs"]),
        ("Edit(**/.env)", &[".env", "a/.env", "a/b/.env"], &["a.env"]),
        ("Edit(a/**/b)", &["a/b", "a/x/b", "a/x/y/b"], &["b", "x/b"]),
        ("Edit(a?c)", &["abc"], &["ac", "a/c"]),
        ("Edit([ab].md)", &["a.md"], &["c.md"]),
        ("Edit({a,b}.md)", &["a.md", "b.md"], &["c.md"]),
        ("Edit(a (1).md)", &["a (1).md"], &["a 1.md"]),
        ("Edit(/etc/**)", &["/etc/x"], &["etc/x", "/etcx"]),
        ("Edit(/work/ws/a)", &["a", "a/b"], &["b", "/work/a"]),
        ("Edit(~/x)", &["/home/me/x", "/home/me/x/y"], &["x", "/home/you/x"]),
        ("Edit(**)", &["a", "a/b", "."], &["/a"]),
        ("Edit(*)", &["a", "a/b"], &["/a"]),
        ("Edit(/**)", &["/a", "a"], &[]),
        ("Edit", &["a", "a/b"], &["/a"]),
        ("Edit(É.md)", &["É.md"], &["é.md"]),
    ];
    for (rule, yes, no) in table {
        let rules = with(RuleAction::Allow, &[rule]);
        for name in *yes {
            assert!(matches(&rules.rule_path(&path(name))), "{rule} should match {name}");
        }
        for name in *no {
            assert!(!matches(&rules.rule_path(&path(name))), "{rule} should not match {name}");
        }
    }
}

#[test]
fn c3_what_is_forbidden_at_any_depth_is_forbidden_outside_too() {
    for rule in ["Edit(**/.env)", "Edit(.env)", "Edit"] {
        let rules = with(RuleAction::Deny, &[rule]);
        assert!(matches(&rules.rule_path(&path("/srv/x/.env"))), "{rule}");
        assert!(matches(&rules.rule_path(&path("a/.env"))), "{rule}");
    }
    let rules = with(RuleAction::Deny, &["Edit(src/**)"]);
    assert!(!matches(&rules.rule_path(&path("/srv/src/a"))));
}

#[test]
fn c3_read_and_edit_cover_every_access() {
    let reads = with(RuleAction::Deny, &["Read(a)"]);
    let edits = with(RuleAction::Deny, &["Edit(a)"]);
    let table = [
        (PathAccess::Read, true, false),
        (PathAccess::List, true, false),
        (PathAccess::Write, false, true),
        (PathAccess::Create, false, true),
        (PathAccess::MoveFrom, true, true),
        (PathAccess::MoveTo, false, true),
        (PathAccess::Delete, false, true),
    ];
    for (access, read, edit) in table {
        let effect = PathEffect { access, ..path("a") };
        assert_eq!(matches(&reads.rule_path(&effect)), read, "{access:?}");
        assert_eq!(matches(&edits.rule_path(&effect)), edit, "{access:?}");
    }
    let allows = with(RuleAction::Allow, &["Read(a)"]);
    let moved = PathEffect { access: PathAccess::MoveFrom, ..path("a") };
    assert!(!matches(&allows.rule_path(&moved)), "reading is no permission to move");
}

#[test]
fn c3_taking_a_folder_takes_what_a_deny_rule_keeps_in_it() {
    let rules = with(RuleAction::Deny, &["Edit(a/keep/**)", "Edit(/work/ws/b/keep)"]);
    let whole =
        |name: &str| PathEffect { access: PathAccess::Delete, recursive: true, ..path(name) };
    for (name, denied) in [("a", true), ("b", true), (".", true), ("c", false), ("a/other", false)]
    {
        assert_eq!(matches(&rules.rule_path(&whole(name))), denied, "{name}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn c3_allow_rules_for_commands_are_precise() {
    // Rules, commands that they allow together, commands that they do not.
    let table: &[(&[&str], &[&str], &[&str])] = &[
        (
            &["Shell(cargo test:*)"],
            &[
                "cargo test",
                "cargo test --lib a",
                " cargo  test ",
                "cargo test && cargo test -q",
                "cargo test | cargo test",
                "(cargo test)",
                "cargo test > out.txt 2>&1",
                "cargo test > /dev/null",
                "cargo test > /work/ws/out",
                "cargo 'test' \"a b\"",
                "cargo test # a comment",
                "cargo test &",
                "cargo test 2>&1 | tail -5",
                "cargo test | grep -v ok | wc -l",
                "cd sub && cargo test",
                "RUST_BACKTRACE=1 cargo test",
                "cargo test || true",
                "cargo test; echo $?",
                "timeout 60 cargo test",
                "env CI=1 cargo test",
            ],
            &[
                "cargo",
                "cargo testx",
                "cargo build",
                "cargo test && rm x",
                "cargo test; rm x",
                "cargo test | sh",
                "cargo test\nrm x",
                "cargo test & rm x",
                "(rm x; cargo test)",
                "cargo test $(rm x)",
                "cargo test `rm x`",
                "cargo test \"$(rm x)\"",
                "cargo test $X",
                "cargo test \"${X}\"",
                "cargo test ~/x",
                "cargo test *",
                "cargo test {a,b}",
                "cargo test <(rm x)",
                "cargo test > /etc/x",
                "cargo test > ../x",
                "cargo test > ~/x",
                "cargo test > $X",
                "cargo test < /etc/passwd",
                "cargo test > .git/hooks/x",
                "cargo test > .weir/config.toml",
                "cargo test <<E\n$(rm x)\nE",
                "A=1 cargo test",
                "PATH=/x cargo test",
                "env -i cargo test",
                "env PATH=/x cargo test",
                "cd .. && cargo test",
                "cargo test | tee x",
                "cargo test; cat /etc/passwd",
                "sudo cargo test",
                "/tmp/cargo test",
                "bash -c 'cargo test'",
                "if cargo test; then cargo test; fi",
                "cargo() { rm x; }; cargo test",
                "cargo test 'open",
                "cargo test)",
                "! cargo test",
                "",
            ],
        ),
        (&["Shell(make)"], &["make", "make && make", "make 2>&1"], &["make all", "make > x"]),
        (&["Shell(make all)"], &["make all", "make 'all'"], &["make", "make all x"]),
        (&["Shell(echo $X)"], &["echo $X", " echo $X "], &["echo $Y", "echo $X && rm x"]),
        (&["Shell(a && b)"], &["a && b"], &["a", "b", "b && a", "a && b && c"]),
        (&["Shell(cd:*)", "Shell(ls:*)"], &["cd a && ls"], &["cd a && ls > x", "cd a && rm x"]),
        (&["Shell"], &["anything $(at all) > /etc/x", "'"], &[]),
        (&["Shell(*)"], &["anything $(at all)"], &[]),
        (&["Shell(git commit:*)"], &["git commit -m 'a; b'"], &["git -c x=y commit"]),
        (
            &["Shell(make:*)", "Shell(git push:*)", "Shell(tar:*)", "Shell(find . -exec grep:*)"],
            &["make -j4 all", "git push -u origin x", "find . -exec grep a x +"],
            &[
                "make --eval='all:; id'",
                "nice make --eval=x",
                "git push --receive-pack=./x",
                "git push --exec=./x",
                "tar xf a.tar --to-command=./x",
                "find . -exec id x +",
                "find . -exec grep a x + -exec id x +",
            ],
        ),
        (
            &["Shell(ssh build:*)", "Shell(cmake:*)", "Shell(git clone:*)", "Shell(make:*)"],
            &["ssh build ls -lS", "cmake --build b -- -j4", "git clone a", "make -f ci.mk"],
            &[
                "ssh build -F ./c id",
                "cmake --build b -- SHELL=./x",
                "cmake -DCMAKE_C_COMPILER=./x .",
                "git clone --template=./t a",
                "make -f /tmp/x",
            ],
        ),
        // A whole path of the workspace leads nowhere else.
        (
            &["Shell(make:*)", "Shell(cargo test:*)", "Shell(cmake:*)", "Shell(npm test:*)"],
            &[
                "make -C /work/ws/sub all",
                "make -C/work/ws",
                "cargo test --manifest-path /work/ws/a/Cargo.toml",
                "npm test --prefix=/work/ws/web",
                "cmake -S /work/ws -B /work/ws/build",
                "cmake '-DCMAKE_MODULE_PATH=/work/ws/a;/work/ws/b' .",
            ],
            &[
                "make -C /work/wsx",
                "make -C ../work/ws/x",
                "make -C x/../..//work/ws/x",
                "make -C /tmp/work/ws/x",
                "make -C /work/ws/../x",
                "make SHELL=/work/ws/x",
                "npm test --prefix=/work",
                "cmake '-DCMAKE_MODULE_PATH=/work/ws/a;/tmp' .",
            ],
        ),
    ];
    for (texts, yes, no) in table {
        let rules = with(RuleAction::Allow, texts);
        for text in *yes {
            let allowed = matches!(rules.rule_command(&command(text)), Ruling::Allow(_));
            assert!(allowed, "{texts:?} should allow {text:?}");
        }
        for text in *no {
            assert!(!matches(&rules.rule_command(&command(text))), "{texts:?} allows {text:?}");
        }
    }
    let outside = CommandEffect { cwd: "/tmp".into(), ..command("cargo test") };
    assert!(!matches(&with(RuleAction::Allow, &["Shell(cargo test:*)"]).rule_command(&outside)));
}

#[test]
fn u13_in_a_sandbox_a_rule_sees_through_what_the_shell_computes() {
    let rules = with(RuleAction::Allow, &["Shell(git commit:*)", "Shell(cargo test:*)"]);
    let confined = |text: &str| CommandEffect { tier: Tier::Landlock, ..command(text) };
    for yes in [
        "git commit -m \"$(cat <<'EOF'\na (b) c; d\nEOF\n)\"",
        "git commit -F - <<'EOF'\ntext; more\nEOF",
        "cargo test $X && git status",
        "cargo test --test '*' || cat target/log",
        "cd sub && cargo test *",
    ] {
        let allowed = matches!(rules.rule_command(&confined(yes)), Ruling::Allow(_));
        assert!(allowed, "{yes}");
    }
    for no in
        ["cargo test $(rm x)", "cargo test <(rm x)", "$X cargo test", "cargo $X", "git status"]
    {
        assert!(!matches(&rules.rule_command(&confined(no))), "{no}");
    }
}

#[test]
fn c3_deny_rules_for_commands_are_broad() {
    let table: &[(&str, &[&str], &[&str])] = &[
        (
            "Shell(rm:*)",
            &[
                "rm x",
                "ls && rm x",
                "ls | xargs rm",
                "echo $(rm x)",
                "bash -c 'ls; rm x'",
                "env A=1 rm x",
                "sudo -n rm x",
                "command rm x",
                "/bin/rm x",
                "r\\m x",
                "\"rm\" x",
                "$'rm' x",
                "A=1 rm x",
                "if a; then rm x; fi",
                "a() { rm x; }; a",
                "rm",
                "(cd a; rm x) > y",
                "echo 'rm x' | bash",
                "timeout 5 rm x",
            ],
            &["ls rm", "echo 'rm x'", "grep rm a", "rmdir x", "cargo rm-it"],
        ),
        (
            "Shell(git push:*)",
            &[
                "git push",
                "git push origin",
                "git -C a push",
                "git -c a=b -C c push",
                "/usr/bin/git push",
            ],
            &["git status", "git commit -m push", "git stash push"],
        ),
        ("Shell(git push)", &["git push", "ls; git push", "git  push"], &["git push origin"]),
        ("Shell(make all && rm)", &["make all && rm"], &["make all"]),
        ("Shell", &["ls", "a b c"], &[]),
        (
            "Read(secret/**)",
            &[
                "cat secret/a",
                "cat ./secret/a",
                "a < secret/b",
                "x --file=secret/b",
                "cat /work/ws/secret/a",
                "cd a; cat `cat secret/x`",
            ],
            &["cat public/a"],
        ),
        (
            "Edit(src/**)",
            &["rm src/a", "echo > src/a", "tee src/a", "cp x src/a"],
            &["cat src/a", "ls src/a"],
        ),
    ];
    for (rule, yes, no) in table {
        let rules = with(RuleAction::Deny, &[rule]);
        for text in *yes {
            let denied = matches!(rules.rule_command(&command(text)), Ruling::Deny(_));
            assert!(denied, "{rule} should deny {text:?}");
        }
        for text in *no {
            assert!(!matches(&rules.rule_command(&command(text))), "{rule} denies {text:?}");
        }
    }
}

#[test]
fn c3_one_denied_part_denies_all() {
    let mut rules = with(RuleAction::Allow, &["Shell(ls:*)", "Shell(rm:*)"]);
    let deny =
        rules.parse_rule(RuleAction::Deny, "Shell(rm -rf:*)", RuleOrigin::new("a").at_line(3));
    rules.add(deny.expect("a rule"));
    assert!(matches!(rules.rule_command(&command("ls && rm x")), Ruling::Allow(_)));
    let Ruling::Deny(rule) = rules.rule_command(&command("ls && rm -rf x")) else {
        panic!("one denied part must deny all");
    };
    assert_eq!(rule.to_string(), "deny Shell(rm -rf:*) (a:3)");
}

#[test]
fn s9_mail_rules_name_recipients() {
    let send =
        |recipient: &str, by: &str| SendEffect { recipient: recipient.into(), by: by.into() };
    let table: &[(&str, &[&str], &[&str])] = &[
        ("Mail(Bob@A.example)", &["bob@a.example", "BOB@a.EXAMPLE"], &["bob@b.a.example", "x@a"]),
        ("Mail(*@a.example)", &["bob@a.example"], &["bob@b.a.example", "bob@xa.example", "bob"]),
        ("Mail", &["bob@a.example"], &[]),
        ("Mail(*)", &["bob@a.example"], &[]),
    ];
    for (rule, yes, no) in table {
        let rules = with(RuleAction::Allow, &[rule]);
        for name in *yes {
            assert!(matches(&rules.rule_send(&send(name, "mail"))), "{rule} should match {name}");
            assert!(!matches(&rules.rule_send(&send(name, "chat"))), "{rule} is about mail");
        }
        for name in *no {
            assert!(!matches(&rules.rule_send(&send(name, "mail"))), "{rule} is not {name}");
        }
    }
}

#[test]
fn c3_web_rules_cover_subdomains() {
    let table: &[(&str, &[&str], &[&str])] = &[
        (
            "Web(docs.rs)",
            &["docs.rs", "a.docs.rs", "a.b.docs.rs"],
            &["xdocs.rs", "rs", "docs.rs.evil.org"],
        ),
        ("Web(Docs.RS)", &["docs.rs"], &[]),
        ("Web(*.docs.rs)", &["a.docs.rs"], &["docs.rs"]),
        ("Web(*)", &["a.org", "127.0.0.1"], &[]),
        ("Web", &["a.org"], &[]),
        ("Web(127.0.0.1)", &["127.0.0.1"], &["1.127.0.0.1", "127.0.0.11"]),
        ("Web([::1])", &["::1", "[::1]"], &["[::2]"]),
        ("Web(localhost)", &["localhost", "a.localhost"], &["localhost.org"]),
    ];
    for (rule, yes, no) in table {
        let rules = with(RuleAction::Allow, &[rule]);
        for name in *yes {
            assert!(matches(&rules.rule_host(&host(name))), "{rule} should match {name}");
        }
        for name in *no {
            assert!(!matches(&rules.rule_host(&host(name))), "{rule} should not match {name}");
        }
    }
}

#[test]
fn c3_rules_survive_the_journal() {
    let mut rules = with(RuleAction::Deny, &["Read(**/.env)", "Shell(rm:*)", "tool", "*"]);
    let origin = RuleOrigin::new(".weir/config.toml").at_line(12);
    let allow = rules.parse_rule(RuleAction::Allow, "Edit(~/notes/**)", origin).expect("a rule");
    rules.add(allow);
    let text = serde_json::to_string(&rules).expect("JSON");
    assert!(text.contains(
        r#"{"action":"allow","rule":"Edit(~/notes/**)","source":".weir/config.toml","line":12}"#
    ));
    let back: RuleSet = serde_json::from_str(&text).expect("a set");
    assert_eq!(back, rules);
    assert!(matches(&back.rule_path(&path("/home/me/notes/a"))));
    let broken = r#"{"action":"deny","rule":"Foo(x)","source":"a"}"#;
    assert!(serde_json::from_str::<Rule>(broken).is_err());
    let default: RuleSet = serde_json::from_str("{}").expect("a set");
    assert!(default.is_empty());
}

#[test]
fn g4_offered_rules_allow_this_call_and_its_kind() {
    let texts = |effects: &Effects, tool: &str| -> Vec<String> {
        let rules = set().offered_rules(tool, effects, &RuleOrigin::new("session"));
        rules.iter().map(|r| r.text().to_string()).collect()
    };
    let paths = |paths: &[PathEffect]| Effects { paths: paths.to_vec(), ..Effects::default() };
    let run = |text: &str| Effects { commands: vec![command(text)], ..Effects::default() };
    let read_outside = PathEffect { access: PathAccess::Read, ..path("/etc/x") };
    let read_inside = PathEffect { access: PathAccess::Read, ..path("a") };
    let table: &[(Effects, &[&str])] = &[
        (paths(&[path("src/a.rs")]), &["Edit(./src/a.rs)"]),
        (paths(&[path("a [1]*.md")]), &["Edit(./a [[]1[]][*].md)"]),
        (paths(&[path("a(b).md")]), &["Edit(./a(b).md)"]),
        (paths(&[path("b"), path("a"), read_inside]), &["Edit(./a)", "Edit(./b)"]),
        (paths(&[read_outside]), &["Read(/etc/x)"]),
        (run("cargo test"), &["Shell(cargo test:*)"]),
        (run("cargo test --lib 2>&1 | tail -5"), &["Shell(cargo test:*)"]),
        (run("cd sub && RUST_BACKTRACE=1 timeout 60 cargo test || true"), &["Shell(cargo test:*)"]),
        (run("git add -A && git commit -m x"), &["Shell(git add:*)", "Shell(git commit:*)"]),
        (run("npm run lint -- --fix"), &["Shell(npm run lint:*)"]),
        (run("python3 -m pytest -q"), &["Shell(python3 -m pytest:*)"]),
        (run("python3 -c 'x'"), &["Shell(python3 -c 'x')"]),
        (run("rm -r build"), &["Shell(rm -r build)"]),
        (run("git push"), &["Shell(git push)"]),
        (run("make"), &["Shell(make:*)"]),
        (run("make test"), &["Shell(make test:*)"]),
        (run("make test SHELL=./x"), &["Shell(make test SHELL=./x)"]),
        (run("cargo test --config a=1"), &["Shell(cargo test --config a=1)"]),
        (run("cargo test && ls 'a b'"), &["Shell(cargo test && ls 'a b')"]),
        (run("echo $X"), &[]),
        (run("echo $(ls)"), &[]),
        (run("ls *"), &[]),
        (run("ls 'x"), &[]),
        (run("echo a:*"), &[]),
        (Effects { hosts: vec![host("docs.rs")], ..Effects::default() }, &["Web(docs.rs)"]),
        (Effects { hosts: vec![host("[::1]")], ..Effects::default() }, &["Web([::1])"]),
        (
            Effects {
                sends: vec![SendEffect { recipient: "bob@a.example".into(), by: "mail".into() }],
                ..Effects::default()
            },
            &["Mail(bob@a.example)"],
        ),
        (Effects { unknown: true, ..Effects::default() }, &["Mcp(git:push)"]),
        (Effects::default(), &[]),
    ];
    for (effects, expected) in table {
        assert_eq!(texts(effects, "mcp__git__push"), *expected, "{effects:?}");
    }
    let unknown = Effects { unknown: true, ..Effects::default() };
    assert_eq!(texts(&unknown, "tool"), ["tool"]);
    // The tool by its name, and never more of the server than that.
    for wide in ["mcp__git__*", "mcp__*__push", "mcp__git__", "mcp__git__a:b", "mcp__git__a)"] {
        assert!(texts(&unknown, wide).is_empty(), "{wide}");
    }
}

#[test]
fn g4_a_rule_for_exactly_one_command_covers_nothing_that_it_is_told_elsewhere() {
    let confined = |text: &str| CommandEffect { tier: Tier::Landlock, ..command(text) };
    let table: &[(&str, &[&str])] = &[
        // A comment is no beginning.
        ("bash #:*", &["bash -c 'touch x'", "bash x.sh"]),
        ("# x\npython3 #:*", &["python3 x.py"]),
        // What a program runs may stand in its input.
        ("bash", &["echo 'touch x' | bash", "bash <<'E'\ntouch x\nE", "bash <<< 'touch x'"]),
        ("bash <<'E'", &["bash <<'E'\ntouch x\nE"]),
        ("python3 -", &["printf x | python3 -", "printf x | timeout 5 python3 -"]),
        ("python3 -W ignore", &["printf x | python3 -W ignore"]),
        ("xargs touch", &["echo x | xargs touch", "echo x | (cd sub && xargs touch)"]),
        (". /dev/stdin", &["echo 'touch x' | . /dev/stdin"]),
        ("source /dev/fd/0", &["echo 'touch x' | source /dev/fd/0"]),
        ("bash /proc/self/fd/0", &["echo 'touch x' | bash /proc/self/fd/0"]),
        ("make -f -", &["printf 'all:\\n\\ttouch x\\n' | make -f -"]),
        ("sed --file=-", &["echo 'w x' | sed --file=-"]),
        ("sqlite3 a.db", &["echo '.shell touch x' | sqlite3 a.db"]),
        ("pwsh", &["echo 'ni x' | pwsh"]),
        ("su", &["echo 'touch x' | su"]),
        ("ssh -p 22 build", &["echo 'touch x' | ssh -p 22 build"]),
        ("docker exec -i box sh", &["echo 'touch x' | docker exec -i box sh"]),
        ("vim -es", &["echo '!touch x' | vim -es"]),
        ("sh -euo pipefail", &["echo 'touch x' | sh -euo pipefail"]),
    ];
    for (agreed, others) in table {
        let rules = with(RuleAction::Allow, &[&format!("Shell({agreed})")]);
        assert!(matches!(rules.rule_command(&confined(agreed)), Ruling::Allow(_)), "{agreed}");
        for other in *others {
            assert!(!matches(&rules.rule_command(&confined(other))), "{agreed:?}: {other:?}");
        }
    }
    // What a person means by such rules stays: a filter, a script with input, the whole line.
    for (agreed, line) in [
        ("tee out.log", "echo x | tee out.log"),
        ("python3 count.py", "cat a.csv | python3 count.py"),
        ("node -r ./setup.js count.js", "cat a.csv | node -r ./setup.js count.js"),
        ("python3 -m json.tool", "cat a.json | python3 -m json.tool"),
        ("bash build.sh", "bash build.sh 2>&1 | tail -5"),
        ("echo x | xargs touch", "echo x | xargs touch"),
        ("bash <<'E'\ntouch x\nE", "bash <<'E'\ntouch x\nE"),
        ("bash", "bash # it reads the terminal"),
        ("sed s/a/b/", "cat a.csv | sed s/a/b/"),
        ("make -f build.mk", "cat a.csv | make -f build.mk"),
        ("awk '{ print }' -", "cat a.csv | awk '{ print }' -"),
        ("ssh -p 22 build 'cat > a.csv'", "cat a.csv | ssh -p 22 build 'cat > a.csv'"),
        ("docker exec -i box sh -c cat", "cat a.csv | docker exec -i box sh -c cat"),
    ] {
        let rules = with(RuleAction::Allow, &[&format!("Shell({agreed})")]);
        assert!(matches!(rules.rule_command(&confined(line)), Ruling::Allow(_)), "{line}");
    }
    // A shell that another command of the line writes to stands before it.
    let both = with(RuleAction::Allow, &["Shell(bash)", "Shell(tee:*)"]);
    let told = confined("tee >(bash) <<< 'touch x'");
    assert!(!matches(&both.rule_command(&told)));
    let widened = with(RuleAction::Allow, &["Shell(bash:*)"]);
    assert!(matches!(widened.rule_command(&confined("echo x | bash")), Ruling::Allow(_)));
}

#[test]
fn c3_a_path_that_a_variable_is_given_is_named() {
    let rules = with(RuleAction::Deny, &["Read(secret/**)"]);
    for line in ["F=secret/a; cat \"$F\"", "F=./secret/a cat x", "cat secret/a"] {
        assert!(matches!(rules.rule_command(&command(line)), Ruling::Deny(_)), "{line}");
    }
    assert!(matches!(rules.rule_command(&command("F=public/a cat x")), Ruling::Silent));
}

#[test]
fn c3_equal_rules_are_one() {
    let twice = with(RuleAction::Deny, &["Edit(a)", "Edit(a)", "Edit(b)"]);
    assert_eq!(twice.len(), 2);
    assert_eq!(twice, with(RuleAction::Deny, &["Edit(b)", "Edit(a)"]));
}

proptest! {
    // Each case compiles patterns, which is slow without optimisation.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn c3_parsing_is_total(text in any::<String>(), kind in 0..8usize) {
        let name = ["Read", "Edit", "Shell", "Web", "Mail", "Mcp", "Agent", "x"][kind];
        for text in [text.clone(), format!("{name}({text})")] {
            for action in RuleAction::ALL {
                if let Ok(rule) = set().parse_rule(action, &text, RuleOrigin::new("x")) {
                    let mut rules = set();
                    rules.add(rule.clone());
                    let _ = rules.rule_path(&path("a/b"));
                    let json = serde_json::to_string(&rule).expect("JSON");
                    prop_assert_eq!(serde_json::from_str::<Rule>(&json).expect("a rule"), rule);
                }
            }
        }
    }

    #[test]
    fn g4_an_offered_rule_matches_its_own_path_and_no_neighbour(
        name in "[a-z \\[\\]{}*?()!,-]{1,10}(/[a-z.*]{1,6}){0,2}",
    ) {
        let effects = Effects { paths: vec![path(&name)], ..Effects::default() };
        let found = set().offered_rules("tool", &effects, &RuleOrigin::new("session"));
        if let [rule] = found.as_slice() {
            let mut alone = set();
            alone.add(rule.clone());
            prop_assert!(matches(&alone.rule_path(&path(&name))));
            let neighbour = format!("{name}x");
            prop_assert!(!matches(&alone.rule_path(&path(&neighbour))), "{}", rule.text());
            // No name of the pattern: below a folder called as the rule says, the rule holds.
            let deeper = format!("9/{name}");
            prop_assert!(!matches(&alone.rule_path(&path(&deeper))));
        }
    }
}

/// Rules of a session with a folder that a person added to its workspace (R7).
fn with_added_folder(rules: &[(RuleAction, &str)]) -> RuleSet {
    let context =
        RuleContext { added_folders: vec!["/work/lib [1]".into()], ..set().context().clone() };
    let mut rules_here = RuleSet::new(context);
    for (action, text) in rules {
        let rule = rules_here.parse_rule(*action, text, RuleOrigin::new("test"));
        rules_here.add(rule.unwrap_or_else(|e| panic!("{e}")));
    }
    rules_here
}

#[test]
fn r7_rules_of_an_added_folder_are_relative_to_it() {
    let origin = || RuleOrigin::new("/work/lib [1]/.weir/config.toml").at_line(2);
    for (text, anchored) in [
        ("Edit(src/**)", "Edit(/work/lib [[]1[]]/src/**)"),
        ("Read(*.pem)", "Read(/work/lib [[]1[]]/**/*.pem)"),
        ("Edit", "Edit(/work/lib [[]1[]]/**)"),
        ("Edit(/etc/**)", "Edit(/etc/**)"),
        ("Shell(git push:*)", "Shell(git push:*)"),
    ] {
        let rule = Rule::parse_anchored(RuleAction::Deny, text, origin(), "/work/lib [1]");
        assert_eq!(rule.expect("a rule").text(), anchored);
    }
    let mut rules = with_added_folder(&[]);
    for text in ["Edit(src/**)", "Read(*.pem)"] {
        let rule = Rule::parse_anchored(RuleAction::Deny, text, origin(), "/work/lib [1]");
        rules.add(rule.expect("a rule"));
    }
    let denies =
        |path: &str, path_use| matches!(rules.rule_path_use(path, path_use), Ruling::Deny(_));
    assert!(denies("/work/lib [1]/src/a.rs", PathUse::Write));
    assert!(denies("/work/lib [1]/key.pem", PathUse::Read));
    assert!(denies("/work/lib [1]/deep/key.pem", PathUse::Read));
    // The workspace has rules of its own.
    assert!(!denies("src/a.rs", PathUse::Write) && !denies("key.pem", PathUse::Read));
    assert!(!denies("/work/lib 1/src/a.rs", PathUse::Write), "its name is no pattern");
    let whole = PathEffect { recursive: true, ..path("/work/lib [1]") };
    assert!(matches!(rules.rule_path(&whole), Ruling::Deny(_)), "what is below is denied");
}

#[test]
fn r7_an_added_folder_is_inside() {
    let rules =
        with_added_folder(&[(RuleAction::Allow, "Edit"), (RuleAction::Deny, "Read(*.key)")]);
    let inside = |name: &str| PathEffect::new(name, PathAccess::Write, PathPlace::Inside);
    assert!(matches!(rules.rule_path(&inside("/work/lib [1]/a.rs")), Ruling::Allow(_)));
    assert!(matches!(rules.rule_path(&path("/work/lib [1]x/a.rs")), Ruling::Silent), "a neighbour");
    let read = rules.rule_path_use("/work/lib [1]/x/a.key", PathUse::Read);
    assert!(matches!(read, Ruling::Deny(_)), "what the workspace forbids at any depth holds there");
    let leads =
        |cwd: &str, text: &str| resolve_path(&rules, cwd, text).expect("it leads somewhere");
    assert!(leads(".", "../lib [1]/a").inside && leads("/work/lib [1]", "a").inside);
    assert!(!leads(".", "../lib/a").inside && !leads("/work/lib [1]", "../a").inside);
    assert_eq!(rules.context().below_added_folder("/work/lib [1]"), Some(""));
    assert_eq!(rules.context().below_added_folder("/work/lib [1]/a/b"), Some("a/b"));
    assert_eq!(rules.without_added_folders().context().below_added_folder("/work/lib [1]/a"), None);
}

#[test]
fn z3_a_word_leads_where_its_letters_say() {
    let rules = set();
    let leads =
        |cwd: &str, text: &str| resolve_path(&rules, cwd, text).map(|at| (at.path, at.inside));
    for (cwd, text, path) in [
        (".", "a/./b//c/../d", "a/b/d"),
        ("", ".", "."),
        ("sub", "..", "."),
        ("sub/x", "../../..", "/work"),
        ("../other", "a", "/work/other/a"),
        (".", "/work/ws/", "."),
        (".", "/work/wsx", "/work/wsx"),
        (".", "../../../../..", "/"),
        ("/work/ws/sub/", "a", "sub/a"),
        ("/tmp", "$PWD/../x", "/x"),
        ("sub", "`pwd`", "sub"),
        (".", "~/a/..", "/home/me"),
        (".", "${HOME}", "/home/me"),
        (".", "~you", "~you"),
    ] {
        let inside = !path.starts_with('/');
        assert_eq!(leads(cwd, text), Some((path.to_owned(), inside)), "{cwd} {text}");
    }
    for text in ["", "a\nb", "$X/a", "`x`"] {
        assert_eq!(leads(".", text), None, "{text:?}");
    }
    let named = resolve_word(&rules, ".", "if=a:/b").map(|at| at.path);
    assert_eq!(named.collect::<Vec<_>>(), ["if=a:/b", "a:/b", "/b"]);
    // Without a workspace nothing is told from what lies beside it, but what climbs.
    let nowhere = RuleSet::new(RuleContext::default());
    let leads = |text: &str| resolve_path(&nowhere, ".", text).map(|at| (at.path, at.inside));
    assert_eq!(leads("a/../b"), Some(("b".to_owned(), true)));
    assert_eq!(leads("../b"), Some(("/b".to_owned(), false)));
    assert_eq!(leads("~/b"), Some(("/~/b".to_owned(), false)));
}
