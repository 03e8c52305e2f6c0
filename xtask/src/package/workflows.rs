//! Whether the workflows of the forge call what there is: commands of the project, of this workspace, or
//! of a short list. Only tests. Not here: whether the forge does what it is told.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use clap::CommandFactory as _;

/// Programs of the machines of the forge, beside cargo.
const KNOWN: &[&str] = &["apt-get", "chmod", "gh", "grep", "rustup", "test"];

/// What stands behind `key` in a workflow, with the line's number.
fn values<'a>(text: &'a str, key: &str) -> Vec<(usize, &'a str)> {
    let lines = text.lines().enumerate().filter_map(|(index, line)| {
        let line = line.trim_start().trim_start_matches("- ");
        Some((index + 1, line.strip_prefix(key)?.trim()))
    });
    lines.collect()
}

/// Why a command line cannot be run.
fn wrong(root: &Path, line: &str) -> Option<String> {
    if line.is_empty() || line.starts_with(['|', '>']) {
        return Some("one command in one line, so that this can be checked".into());
    }
    line.split(" && ").find_map(|command| wrong_command(root, command))
}

fn wrong_command(root: &Path, command: &str) -> Option<String> {
    let is_word = |word: &&str| {
        !matches!(*word, "sudo" | "env") && !word.starts_with(['-', '"']) && !word.contains('=')
    };
    let mut words = command.split_whitespace().skip_while(|word| !is_word(word));
    let program = words.next()?;
    if program == "cargo" {
        return wrong_build(root, &words.collect::<Vec<_>>());
    }
    // What a step before has built.
    if let Some(built) = program.strip_prefix("target/") {
        return (!built.ends_with("/weir")).then(|| format!("nobody builds {program}"));
    }
    if program.contains('/') {
        let found = fs::metadata(root.join(program));
        let starts = found.is_ok_and(|found| found.permissions().mode() & 0o111 != 0);
        return (!starts).then(|| format!("{program} is no program of this project"));
    }
    (!KNOWN.contains(&program)).then(|| format!("nobody says where {program} comes from"))
}

/// Packages and profiles that cargo does not know.
fn wrong_build(root: &Path, words: &[&str]) -> Option<String> {
    let manifest = fs::read_to_string(root.join("Cargo.toml")).expect("the workspace's manifest");
    for pair in words.windows(2) {
        let known = match pair[0] {
            "-p" | "--package" => {
                pair[1] == "xtask" || root.join("crates").join(pair[1]).join("Cargo.toml").exists()
            }
            "--profile" => manifest.contains(&format!("\n[profile.{}]\n", pair[1])),
            _ => true,
        };
        if !known {
            return Some(format!("cargo knows no {} {}", pair[0], pair[1]));
        }
    }
    None
}

#[test]
fn r9_workflows_call_what_there_is() {
    let root = crate::root().expect("the workspace");
    let mut runs = 0;
    for entry in fs::read_dir(root.join(".github/workflows")).expect("workflows") {
        let path = entry.expect("a file").path();
        let text = fs::read_to_string(&path).expect("a text");
        for (number, line) in values(&text, "run:") {
            assert_eq!(wrong(&root, line), None, "{}:{number}", path.display());
            runs += 1;
        }
        for (number, action) in values(&text, "uses:") {
            assert!(is_pinned(action), "{}:{number}: of which commit?", path.display());
        }
    }
    assert!(runs >= 4, "{runs} commands in all workflows");
}

/// Whether an action is named by its commit, which nobody can move, and by the version that this is.
fn is_pinned(action: &str) -> bool {
    // The one of this very checkout.
    if action == "./" {
        return true;
    }
    let Some((commit, version)) = action.split_once('@').and_then(|(_, at)| at.split_once(" # v"))
    else {
        return false;
    };
    commit.len() == 40
        && commit.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'))
        && version.starts_with(|c: char| c.is_ascii_digit())
}

fn column(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The lines above that a line belongs to, the nearest first: each stands less far to the right.
fn owners<'a>(lines: &[&'a str], index: usize) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut at = column(lines[index]);
    for line in lines[..index].iter().rev() {
        let text = line.trim();
        if !text.is_empty() && !text.starts_with('#') && column(line) < at {
            at = column(line);
            found.push(text);
        }
    }
    found
}

/// Keys and tokens that more of a workflow is given than the one step that needs them, and checkouts
/// that leave a token for the steps behind them.
fn loose_secrets(text: &str) -> Vec<String> {
    let lines = text.lines().collect::<Vec<_>>();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if line.contains("secrets.") || line.contains("github.token") {
            let above = owners(&lines, index);
            let in_step =
                matches!(above[..], ["env:", step, "steps:", ..] if step.starts_with("- "));
            // What is compiled runs programs of strangers, which would find it.
            if !in_step || above[1].contains("cargo") {
                found.push(line.trim().to_owned());
            }
        }
        let mut of_step =
            lines[index + 1..].iter().take_while(|below| column(below) > column(line));
        if line.contains("uses: actions/checkout@")
            && !of_step.any(|below| below.trim() == "persist-credentials: false")
        {
            found.push(line.trim().to_owned());
        }
    }
    found
}

#[test]
fn r9_a_secret_is_given_to_the_one_step_that_needs_it() {
    let root = crate::root().expect("the workspace");
    for entry in fs::read_dir(root.join(".github/workflows")).expect("workflows") {
        let path = entry.expect("a file").path();
        let text = fs::read_to_string(&path).expect("a text");
        assert_eq!(loose_secrets(&text), [""; 0], "{}", path.display());
    }
    let script = fs::read_to_string(root.join("deploy/release.sh")).expect("the script");
    let compiles = |line: &&str| line.trim_start().starts_with("cargo ");
    assert_eq!(script.lines().find(compiles), None, "the key is there while it compiles");
}

#[test]
fn r9_a_secret_that_lies_about_is_found() {
    let job = "jobs:\n  a:\n    env:\n      K: ${{ secrets.K }}\n    steps:\n      - run: x\n";
    assert_eq!(loose_secrets(job), ["K: ${{ secrets.K }}"]);
    let behind =
        "jobs:\n  a:\n    steps:\n      - run: x\n    env:\n      K: ${{ github.token }}\n";
    assert_eq!(loose_secrets(behind), ["K: ${{ github.token }}"]);
    let step = "    steps:\n      - run: x\n        env:\n          # why\n          K: ${{ secrets.K }}\n";
    assert_eq!(loose_secrets(step), [""; 0]);
    assert_eq!(loose_secrets(&step.replace("run: x", "run: cargo build")).len(), 1);
    assert_eq!(loose_secrets("    steps:\n      - run: echo ${{ secrets.K }}\n").len(), 1);
    let checkout = "steps:\n  - uses: actions/checkout@x\n    with:\n      a: b\n";
    assert_eq!(loose_secrets(checkout), ["- uses: actions/checkout@x"]);
    let closed = format!("{checkout}      persist-credentials: false\n");
    assert_eq!(loose_secrets(&closed), [""; 0]);
    assert_eq!(loose_secrets(&format!("{checkout}{}", &closed[7..])).len(), 1, "each by itself");
    let commit = "0123456789abcdef0123456789abcdef01234567";
    assert!(is_pinned(&format!("a/b@{commit} # v1.2.3")));
    assert!(!is_pinned(&format!("a/b@{commit}")) && !is_pinned("a/b@v4") && !is_pinned("a/b"));
    assert!(!is_pinned(&format!("a/b@{} # v1", &commit[1..])));
}

/// The forge ends a job without a word of what failed; the steps of `.ci/run` say it.
#[test]
fn r9_the_forge_waits_until_the_steps_are_at_their_ends() {
    let root = crate::root().expect("the workspace");
    let steps = fs::read_to_string(root.join(".ci/run")).expect("the steps");
    let seconds = |line: &str| line.strip_prefix("step ")?.split(' ').next()?.parse::<u32>().ok();
    let together: u32 = steps.lines().filter_map(seconds).sum();
    let job = fs::read_to_string(root.join(".github/workflows/ci.yml")).expect("the workflow");
    let minutes = values(&job, "timeout-minutes:")[0].1.parse::<u32>().expect("a number");
    assert!(together > 0 && minutes * 60 > together, "{minutes} minutes for {together} seconds");
}

#[test]
fn r9_what_is_not_there_is_found() {
    let root = crate::root().expect("the workspace");
    let found = |line: &str| wrong(&root, line).is_some();
    assert!(found("|") && found("deploy/none.sh a") && found("deploy/weir.service"));
    assert!(found("target/dist/none") && !found("target/dist/weir demo"));
    assert!(found("cargo build -p none") && found("cargo build --profile none -p weir"));
    assert!(found("sudo apt-get update && none") && found("make"));
    assert!(!found("sudo --preserve-env=CI env \"PATH=$PATH\" .ci/run"));
}

/// The release script calls `package` by flags that it has, with the C library of the documents.
#[test]
fn r9_the_release_script_uses_flags_that_there_are() {
    let root = crate::root().expect("the workspace");
    let script = fs::read_to_string(root.join("deploy/release.sh")).expect("the script");
    let own = script.lines().find_map(|line| line.strip_prefix("\"$xtask\" "));
    let own = own.expect("it calls xtask");
    let options = crate::Options::command();
    // The static programs stand where the shell puts what it was given.
    let each = script.lines().find_map(|line| line.trim().strip_prefix("set -- \"$@\" "));
    let each = each.expect("it hands static programs on");
    let own_words = own.split_whitespace().filter(|word| *word != "\"$@\"");
    let words = std::iter::once("xtask").chain(own_words).chain(each.split_whitespace());
    options.try_get_matches_from(words).expect("xtask takes them");
    let (_, libc) = own.split_once(" --libc-max ").expect("it says the newest C library");
    let page = fs::read_to_string(root.join("docs/install.md")).expect("the page");
    let claim = format!("glibc {libc} or newer");
    assert!(page.split_whitespace().collect::<Vec<_>>().join(" ").contains(&claim), "{claim}");
    let installer = fs::read_to_string(root.join("deploy/install.sh")).expect("the installer");
    assert!(
        installer.contains(&format!("\nlibc_min={libc}\n")),
        "it takes the static program below"
    );
}
