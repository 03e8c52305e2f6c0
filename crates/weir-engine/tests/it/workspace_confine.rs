//! What a confined command may touch: the lists of the file tools as paths for the sandbox (Z4).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use weir_core::governance::rules::{RuleAction, RuleContext, RuleOrigin, RuleSet};
use weir_core::tool::{CommandEffect, Effects, PathAccess, Tier};
use weir_engine::ports::CommandConfinement;
use weir_engine::workspace::{Workspace, WorkspaceOptions};

struct Place {
    folder: tempfile::TempDir,
    workspace: Workspace,
}

fn place(files: &[&str]) -> Place {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["ws", "state", "home"] {
        std::fs::create_dir_all(folder.path().join(name)).expect("a folder");
    }
    for name in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, "secret.txt\n").expect("a file");
    }
    let options = WorkspaceOptions {
        root: folder.path().join("ws"),
        extra_roots: Vec::new(),
        own_folders: vec![folder.path().join("state")],
    };
    let workspace = Workspace::open(options).expect("a workspace");
    let workspace = workspace.with_home(folder.path().join("home"));
    Place { folder, workspace }
}

impl Place {
    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("it is there").join(name)
    }
    fn confine(&self, command: &str, reads: &[&str], foreign: bool) -> CommandConfinement {
        let command = CommandEffect {
            command: command.into(),
            tier: Tier::Landlock,
            ..CommandEffect::default()
        };
        let paths =
            reads.iter().map(|path| self.workspace.resolve(path, PathAccess::Read)).collect();
        let effects = Effects { paths, commands: vec![command.clone()], ..Effects::default() };
        self.workspace.confine_command(&command, &effects, foreign).expect("a small workspace")
    }
}

/// A repository at `at` that tracks these files.
fn repository(place: &Place, at: &str, files: &[&str]) {
    let folder = place.at("ws").join(at);
    for file in files {
        let path = folder.join(file);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, "secret.txt\n").expect("a file");
    }
    for arguments in [vec!["init", "-q", "."], [vec!["add", "-f", "--"], files.to_vec()].concat()] {
        let mut git = std::process::Command::new("git");
        git.current_dir(&folder).args(arguments).env("HOME", place.at("home"));
        assert!(git.output().expect("git is there").status.success());
    }
}

fn has(paths: &[PathBuf], path: &Path) -> bool {
    paths.iter().any(|found| found == path)
}

#[test]
fn z4_closed_files_are_masked_and_keys_and_own_state_too() {
    let place = place(&[
        "ws/.weirignore",
        "ws/secret.txt",
        "ws/deep/secret.txt",
        "ws/.env",
        "ws/a.txt",
        "home/.ssh/id_rsa",
        "home/.config/gh/hosts.yml",
        "home/notes.txt",
    ]);
    let confine = place.confine("ls", &[], false);
    for masked in ["ws/secret.txt", "ws/deep/secret.txt", "ws/.env", "home", "state"] {
        assert!(has(&confine.masked, &place.at(masked)), "{masked}: {confine:?}");
    }
    assert!(!has(&confine.masked, &place.at("ws/a.txt")));
    assert_eq!(confine.readable, [place.at("ws")], "nothing of this home");
    assert!(has(&confine.writable, &place.at("ws")));
}

#[test]
fn z4_what_a_call_names_and_a_person_let_pass_is_open() {
    let place = place(&["ws/.weirignore", "ws/secret.txt", "ws/.env"]);
    let confine = place.confine("cat .env", &[".env", "secret.txt"], false);
    assert!(!has(&confine.masked, &place.at("ws/.env")));
    // What is invisible stays so, whoever names it: the gate refuses such a call anyway.
    assert!(has(&confine.masked, &place.at("ws/secret.txt")));
}

#[test]
fn z4_git_may_write_history_and_nothing_that_runs() {
    let place = place(&[
        "ws/.git/HEAD",
        "ws/.git/hooks/a",
        "ws/.git/config",
        "ws/sub/.git/HEAD",
        "ws/bare/HEAD",
        "ws/bare/config",
        "ws/bare/objects/x",
        "ws/bare/refs/x",
    ]);
    let other = place.confine("make", &[], false);
    assert!(has(&other.protected, &place.at("ws/.git")));
    assert!(has(&other.protected, &place.at("ws/sub/.git")));
    assert!(has(&other.protected, &place.at("ws/bare/config")));
    assert!(!has(&other.protected, &place.at("ws/bare")), "it is pushed to");
    assert_eq!(other.histories, Vec::<PathBuf>::new());
    let git = place.confine("git add -A && git commit -m x", &[], false);
    for repository in ["ws/.git", "ws/sub/.git"] {
        assert!(!has(&git.protected, &place.at(repository)), "{git:?}");
        assert!(has(&git.histories, &place.at(repository)), "{git:?}");
    }
    for line in ["sh -c \"$(echo git) add\"", "git status --short && make test"] {
        let hidden = place.confine(line, &[], false);
        assert!(has(&hidden.protected, &place.at("ws/.git")), "{line}");
        assert_eq!(hidden.histories, Vec::<PathBuf>::new(), "{line}");
    }
}

#[test]
fn c3_a_rule_that_closes_a_file_hides_it_from_commands() {
    let place = place(&["ws/plans/a.md", "ws/b.md"]);
    let mut rules = RuleSet::new(RuleContext {
        workspace: place.at("ws").display().to_string(),
        home: None,
        own_folders: Vec::new(),
        ..RuleContext::default()
    });
    let rule = rules.parse_rule(RuleAction::Deny, "Read(plans/**)", RuleOrigin::new("test"));
    rules.add(rule.expect("a rule"));
    place.workspace.hold_rules(Arc::new(rules));
    let confine = place.confine("ls", &[], false);
    assert!(has(&confine.masked, &place.at("ws/plans/a.md")), "{confine:?}");
    assert!(!has(&confine.masked, &place.at("ws/b.md")));
}

#[test]
fn z2_foreign_words_get_instructions_read_only() {
    let place = place(&["ws/AGENTS.md", "ws/.github/workflows/ci.yml", "ws/a.md"]);
    let clean = place.confine("ls", &[], false);
    let foreign = place.confine("ls", &[], true);
    for name in ["ws/AGENTS.md", "ws/.github/workflows"] {
        assert!(!has(&clean.protected, &place.at(name)), "{name}");
        assert!(has(&foreign.protected, &place.at(name)), "{name}: {foreign:?}");
    }
    assert!(!has(&foreign.protected, &place.at("ws/a.md")));
}

#[test]
fn d1_git_writes_what_the_repository_holds_and_the_comparison_judges_it() {
    let place = place(&["ws/AGENTS.md", "ws/.git/HEAD"]);
    for (line, closed) in [
        ("git checkout other", false),
        ("git pull", false),
        ("git apply x.patch", true),
        ("git checkout other && make", true),
    ] {
        let confine = place.confine(line, &[], true);
        assert_eq!(has(&confine.protected, &place.at("ws/AGENTS.md")), closed, "{line}");
    }
}

#[test]
fn a9_the_folder_that_core_hooks_path_names_is_read_only_under_foreign_words() {
    let place = place(&["ws/tools/hooks/pre-commit", "ws/tools/x"]);
    repository(&place, ".", &["a.md"]);
    let config = place.at("ws/.git/config");
    let text = std::fs::read_to_string(&config).expect("a configuration");
    std::fs::write(config, format!("{text}[core]\n\thooksPath = tools/hooks\n")).expect("written");
    let foreign = place.confine("make", &[], true);
    assert!(has(&foreign.protected, &place.at("ws/tools/hooks")), "{foreign:?}");
    assert!(!has(&foreign.protected, &place.at("ws/tools/x")), "{foreign:?}");
    assert!(!has(&place.confine("make", &[], false).protected, &place.at("ws/tools/hooks")));
}

#[test]
fn c3_plan_leaves_nothing_writable() {
    let place = place(&["ws/a.md"]);
    let command = CommandEffect {
        command: "ls".into(),
        tier: Tier::Landlock,
        outside_sandbox: false,
        read_only: true,
        ..CommandEffect::default()
    };
    let paths = vec![place.workspace.resolve("/tmp/x", PathAccess::Write)];
    let effects = Effects { paths, commands: vec![command.clone()], ..Effects::default() };
    let confine = place.workspace.confine_command(&command, &effects, false).expect("small");
    assert!(confine.writable.is_empty(), "{confine:?}");
}

#[test]
fn a13_a_repository_is_never_stored_in_and_hidden_at_once() {
    let place = place(&["ws/.git/HEAD", "ws/a.txt"]);
    repository(&place, "sub", &[".env", "b.txt"]);
    let objects = place.at("ws/sub/.git/objects");
    for line in ["git -C sub log -p", "cd sub && git log -p", "git --git-dir=sub/.git show"] {
        assert_eq!(place.workspace.uncovered_files(line, "."), ["sub/.env"], "{line}");
        let confine = place.confine(line, &[], false);
        assert!(has(&confine.masked, &objects), "{line}: {confine:?}");
        assert!(has(&confine.protected, &place.at("ws/sub/.git")), "{line}: {confine:?}");
        assert!(!has(&confine.histories, &place.at("ws/sub/.git")), "{line}: {confine:?}");
        // A repository that is named by its folder of git is nothing that a plain line does.
        let is_plain = !line.contains("--git-dir");
        let stores = has(&confine.histories, &place.at("ws/.git"));
        assert_eq!(stores, is_plain, "{line}: {confine:?}");
    }
    assert_eq!(place.workspace.uncovered_files("git log -p", "sub"), ["sub/.env"]);
    assert_eq!(place.workspace.uncovered_files("git log -p", "."), Vec::<String>::new());
    assert_eq!(place.workspace.uncovered_files("make", "."), Vec::<String>::new());
    // Whoever was asked about it stores and reads there.
    let command = CommandEffect {
        command: "git -C sub log -p".into(),
        tier: Tier::Landlock,
        uncovers: vec!["sub/.env".into()],
        ..CommandEffect::default()
    };
    let asked =
        place.workspace.confine_command(&command, &Effects::default(), false).expect("small");
    assert!(has(&asked.histories, &place.at("ws/sub/.git")), "{asked:?}");
    assert!(!has(&asked.masked, &objects), "{asked:?}");
}

#[test]
fn a13_templates_fixtures_and_what_a_rule_allows_are_no_secrets() {
    let place = place(&[]);
    repository(&place, ".", &[".env.example", "tests/cert.pem", "a.txt"]);
    assert_eq!(place.workspace.uncovered_files("git diff", "."), Vec::<String>::new());
    let make = place.confine("make", &[], false);
    assert!(!has(&make.masked, &place.at("ws/.git/objects")), "{make:?}");
    assert!(!has(&make.masked, &place.at("ws/.env.example")), "{make:?}");
    assert_eq!(place.workspace.hidden_history_text(&make), None);
    repository(&place, ".", &["deploy/server.pem"]);
    assert_eq!(place.workspace.uncovered_files("git diff", "."), ["deploy/server.pem"]);
    assert_eq!(place.workspace.hidden_in_history(), ["deploy/server.pem"]);
    let make = place.confine("make", &[], false);
    assert!(has(&make.masked, &place.at("ws/.git/objects")), "{make:?}");
    let said = place.workspace.hidden_history_text(&make).expect("something is hidden");
    assert!(said.contains("deploy/server.pem") && said.contains("Read("), "{said}");
    let mut rules = RuleSet::new(RuleContext {
        workspace: place.at("ws").display().to_string(),
        home: None,
        own_folders: Vec::new(),
        ..RuleContext::default()
    });
    let rule =
        rules.parse_rule(RuleAction::Allow, "Read(deploy/server.pem)", RuleOrigin::new("test"));
    rules.add(rule.expect("a rule"));
    place.workspace.hold_rules(Arc::new(rules));
    assert_eq!(place.workspace.uncovered_files("git diff", "."), Vec::<String>::new());
    assert!(!has(&place.confine("make", &[], false).masked, &place.at("ws/.git/objects")));
}
