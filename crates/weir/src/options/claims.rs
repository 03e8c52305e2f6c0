//! What README and documentation say of the command line is held against it: each command exists and has
//! each flag. Not here: what the commands do.

use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};

use super::CliOptions;

/// The documents: README, the other pages at the top, that of the examples, and docs without generated
/// ones.
fn documents() -> Vec<PathBuf> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let beside = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md"];
    let mut pages: Vec<PathBuf> = beside.iter().map(|page| top.join(page)).collect();
    let docs = std::fs::read_dir(top.join("docs")).expect("docs").flatten();
    pages.extend(
        docs.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "md")),
    );
    pages.sort();
    pages
}

/// Lines of code: of blocks, each with those that go on with it, and what stands between backquotes.
fn code(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_block = false;
    let (mut prose, mut begun) = (String::new(), String::new());
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if in_block {
            begun.push_str(line.strip_suffix('\\').unwrap_or(line));
            if !line.ends_with('\\') {
                found.push(std::mem::take(&mut begun));
            }
        } else {
            // A span may go on in the next line.
            prose.push_str(line);
            prose.push(' ');
        }
    }
    found.extend(prose.split('`').skip(1).step_by(2).map(str::to_owned));
    found
}

/// The words of every call of the program in a line, up to what the shell makes of it.
fn calls(line: &str) -> Vec<Vec<String>> {
    let mut bare = String::new();
    let mut quote = None;
    for letter in line.chars() {
        match (quote, letter) {
            (None, '"' | '\'') => quote = Some(letter),
            (Some(open), _) if open == letter => {
                quote = None;
                bare.push('…');
            }
            (None, '#') if bare.ends_with(' ') => break,
            (None, _) => bare.push(letter),
            (Some(_), _) => {}
        }
    }
    let parts = bare.split(['|', ';', '&', '>', '<', '(', ')']);
    let calls = parts.filter_map(|part| {
        let mut words = part.split_whitespace();
        let program = words.next()?;
        let words = words.map(|word| word.trim_end_matches([',', '.', ':']).to_owned());
        (program == "weir" || program.ends_with("/weir")).then(|| words.collect())
    });
    calls.collect()
}

/// The letter of a flag of one letter.
fn short_flag(word: &str) -> Option<char> {
    let letter = word.strip_prefix('-')?.chars().next()?;
    letter.is_ascii_alphabetic().then_some(letter)
}

/// What is wrong with a call; `None`: nothing.
fn wrong(root: &Command, words: &[String]) -> Option<String> {
    let mut command = root;
    let is_name = |word: &str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    let (mut is_path, mut after_flag) = (true, false);
    for word in words {
        // Of two calls in one row of a table the second is looked at where it stands by itself.
        if ["--", "…", "weir"].contains(&word.as_str()) {
            break;
        }
        if let Some(flag) = word.strip_prefix("--") {
            let flag = flag.split(['=', '/', '…']).next().unwrap_or(flag);
            let has =
                |of: &Command| of.get_arguments().any(|argument| argument.get_long() == Some(flag));
            if !flag.is_empty()
                && !["help", "version"].contains(&flag)
                && !has(command)
                && !has(root)
            {
                return Some(format!("`weir {}` has no --{flag}", words.join(" ")));
            }
        } else if let Some(flag) = short_flag(word) {
            let has = |of: &Command| of.get_arguments().any(|one| one.get_short() == Some(flag));
            if !['h', 'V'].contains(&flag) && !has(command) && !has(root) {
                return Some(format!("`weir {}` has no -{flag}", words.join(" ")));
            }
        } else if is_path && is_name(word) && !word.starts_with('-') {
            match command.find_subcommand(word) {
                Some(found) => command = found,
                // What follows a flag may be its value, and some commands take a word beside their own.
                None if command.has_subcommands()
                    && command.get_positionals().next().is_none()
                    && !after_flag =>
                {
                    return Some(format!("`weir {}`: there is no {word}", words.join(" ")));
                }
                None => is_path = false,
            }
        }
        after_flag = word.starts_with('-');
    }
    None
}

#[test]
fn c1_every_command_that_a_document_names_exists_with_its_flags() {
    let mut root = CliOptions::command();
    root.build();
    let mut checked = 0;
    let mut found = Vec::new();
    for page in documents() {
        let text = std::fs::read_to_string(&page).expect("a page");
        for words in code(&text).iter().flat_map(|line| calls(line)) {
            checked += 1;
            let name = page.file_name().unwrap_or_default().to_string_lossy().into_owned();
            found.extend(wrong(&root, &words).map(|why| format!("{name}: {why}")));
        }
    }
    assert_eq!(found, Vec::<String>::new());
    assert!(checked > 200, "only {checked} calls were found");
}

/// A table that the program printed.
fn table(name: &str) -> String {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(top.join("docs/generated").join(name)).expect("a table")
}

#[test]
fn c1_the_figures_of_the_readme_stand_in_the_tables_that_it_names() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(readme).expect("README");
    let benign = table("benign.txt");
    let row = |mode: &str| -> Vec<String> {
        let line = benign.lines().find(|line| line.split_whitespace().next() == Some(mode));
        line.expect("a mode").split_whitespace().map(str::to_owned).collect()
    };
    let (ask, auto_edit) = (row("ask"), row("auto-edit"));
    let claim = format!(
        "{} of {}; {} questions a task in mode `ask`, {} in `auto-edit`",
        ask[2], ask[1], ask[5], auto_edit[5]
    );
    assert!(readme.contains(&claim), "README does not say: {claim}");
    let everyday = table("everyday.txt");
    let works = |line: &&str| line.split_whitespace().filter(|word| *word == "works").count();
    let commands: Vec<&str> = everyday.lines().filter(|line| works(line) > 0).collect();
    let all = commands.iter().filter(|line| works(line) == 3).count();
    let claim = format!("{all} of {}, in each of three kinds of sandbox", commands.len());
    assert!(readme.contains(&claim), "README does not say: {claim}");
    let context = table("context.txt");
    let kept = context.lines().find(|line| line.starts_with("as it is")).expect("a play");
    let columns: Vec<&str> = kept.split_whitespace().collect();
    let percent = columns.iter().position(|word| *word == "%").expect("a share");
    let claim = format!("{} % over 200 turns of 40 kB results", columns[percent - 1]);
    assert!(readme.contains(&claim), "README does not say: {claim}");
    let attacks = table("attacks.txt");
    let blocked = attacks.lines().filter(|line| line.trim_start().starts_with("blocked:"));
    let broken: Vec<&str> = blocked.filter(|line| !line.contains("blocked: 0 of ")).collect();
    assert_eq!(broken, Vec::<&str>::new(), "README says that none of these gets through");
}

fn top_file(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

/// What follows `start` in a line of a file.
fn value_of<'a>(text: &'a str, start: &str) -> &'a str {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(start));
    line.unwrap_or_else(|| panic!("no line begins with {start}"))
}

#[test]
fn c1_what_readme_says_of_the_build_is_what_the_build_says() {
    let readme = top_file("README.md");
    let rust = top_file("Cargo.toml");
    let rust = value_of(&rust, "rust-version = ").trim_matches('"').to_owned();
    let kills = top_file(".ci/run");
    let kills = value_of(&kills, "kills=${WEIR_CI_KILLS:-").trim_end_matches('}').to_owned();
    let version = env!("CARGO_PKG_VERSION");
    for claim in [
        format!("Rust {rust} or newer"),
        format!("{kills} kills in every CI run"),
        format!("Version {version}, "),
    ] {
        assert!(readme.contains(&claim), "README does not say: {claim}");
    }
}

#[test]
fn r9_the_page_about_installing_says_what_the_script_says() {
    let (page, script) = (top_file("docs/install.md"), top_file("deploy/install.sh"));
    let libc = value_of(&script, "libc_min=");
    for claim in [format!("with glibc {libc} or newer"), format!("says {libc} or newer")] {
        assert!(page.contains(&claim), "docs/install.md does not say: {claim}");
    }
    let signer = "The copy of `install.sh` in the repository trusts nobody";
    assert_eq!(page.contains(signer), script.contains("\nsigner=''\n"));
    let lines = code(&page).into_iter().filter(|line| line.starts_with("sh install.sh"));
    let flags: Vec<String> = lines
        .flat_map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .filter(|word| word.starts_with("--"))
        .collect();
    assert!(flags.len() > 3, "{flags:?}");
    for flag in flags {
        let is_read = |line: &str| line.trim_start().starts_with(&format!("{flag})"));
        assert!(script.lines().any(is_read), "install.sh has no {flag}");
    }
}

#[test]
fn c1_a_wrong_claim_is_found() {
    let mut root = CliOptions::command();
    root.build();
    let of = |line: &str| calls(line).iter().find_map(|words| wrong(&root, words));
    assert_eq!(of("git diff | weir run --output json \"review --this\" - > x"), None);
    assert_eq!(of("cd x && weir sessions list --json # all"), None);
    assert!(of("weir dance").is_some());
    assert!(of("weir sessions dance").is_some());
    assert!(of("true; weir run --dance x").is_some());
    assert!(of("weir run -Z x").is_some());
    assert_eq!(of("weir run -m script:FILE -C DIR x"), None);
    let block = "```sh\nweir run \\\n  --quiet x\n```\n";
    assert_eq!(code(block), ["weir run   --quiet x"]);
}
