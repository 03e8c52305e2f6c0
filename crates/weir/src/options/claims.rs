//! What README and documentation say of the command line is held against it: each command exists and has
//! each flag. Not here: what the commands do.

use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};

use super::CliOptions;

/// The documents: README, the other pages at the top, and docs without generated ones.
fn documents() -> Vec<PathBuf> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages =
        vec![top.join("README.md"), top.join("CONTRIBUTING.md"), top.join("CHANGELOG.md")];
    let docs = std::fs::read_dir(top.join("docs")).expect("docs").flatten();
    pages.extend(
        docs.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "md")),
    );
    pages.sort();
    pages
}

/// Lines of code: of blocks, and what stands between backquotes.
fn code(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_block = false;
    let mut prose = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if in_block {
            found.push(line.to_owned());
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
}
