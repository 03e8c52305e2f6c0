//! Lines whose part with git the sandbox would refuse when others of the line have run already: they are not
//! begun (A1). Only what is certain counts: a line that may come through is run. Not here: which lines store
//! history (`repositories`), and what is said of other refusals that nobody foresaw (`weir-sandbox`).

use std::path::{Path, PathBuf};

use weir_core::governance::shell::{self, CommandLine, CommandPart};
use weir_core::plugin::line::shell_quoted;

use super::Workspace;
use super::repositories::{is_plain_part, repository_around, stores_history};

/// Commands of git that write in `.git`, or fail: others, such as a merge of what is merged, may have nothing
/// to write.
const STORING: [&str; 7] = ["add", "am", "cherry-pick", "commit", "mv", "revert", "rm"];
/// Options of those that make them only tell something, as far as they may be cut short.
const TELLING: [&str; 6] = ["--dr", "--he", "--lo", "--po", "--quit", "--sho"];
/// Commands of the shell after which git may be in another repository, or nothing may follow.
const LEADING: [&str; 18] = [
    ".", "[", "[[", "builtin", "cd", "command", "eval", "exec", "exit", "export", "false", "popd",
    "pushd", "return", "set", "source", "test", "trap",
];
/// Commands of git that make another repository.
const MAKING: [&str; 4] = ["clone", "init", "submodule", "worktree"];
/// Programs that make no repository.
const MOVING: [&str; 9] = ["chmod", "cp", "ln", "mkdir", "mv", "rm", "rmdir", "sed", "touch"];
/// Which lines git stores history in, in words.
pub const HISTORY_RULE: &str =
    "git stores history only in a line that consists of plain git and readers";
/// What git says where it finds no repository.
const NO_REPOSITORY: &str = "fatal: not a git repository";
/// What it says behind that where the sandbox may hide one.
const HIDING: [&str; 2] = ["up to mount point", ".git/worktrees/"];
/// Characters of a part that are shown.
const SHOWN_CHARS: usize = 80;

impl Workspace {
    /// Why a line that is to run confined in `cwd` must not begin: git would be refused in it, with nothing
    /// else opened for it. `None`: it may come through.
    pub fn refused_history(&self, command: &str, cwd: &str) -> Option<String> {
        let line = shell::parse_command_line(command);
        if !is_certain(&line, command) {
            return None;
        }
        let storing = line.parts.iter().find(|part| stores_for_certain(part))?;
        if let Some(top) = self.repository_above(cwd) {
            // What runs before might make one in the workspace.
            let told = || {
                format!(
                    "{}. No command in the sandbox stores history there, so nothing of the line was run.{}",
                    above_text(&top),
                    self.advice_with("the same line"),
                )
            };
            return line.parts.iter().all(makes_no_repository).then(told);
        }
        let top = repository_around(&self.absolute_path(cwd))?;
        let is_here = self.guard.roots.iter().any(|root| top.starts_with(&root.real));
        let is_folder = || top.join(".git").symlink_metadata().is_ok_and(|meta| meta.is_dir());
        if !is_here || !is_folder() || stores_history(command) {
            return None;
        }
        let other = line.parts.iter().find(|part| !is_plain_part(part))?;
        Some(format!(
            "{HISTORY_RULE}. `{}` stores it, and `{}` is neither, so nothing of the line was run. Run that in \
             a call of its own.{}",
            shown_part(storing),
            shown_part(other),
            self.advice_with("the whole line"),
        ))
    }

    /// Where the repository begins in which a command in `cwd` would be, if that is above the workspace: git
    /// finds it there, or the sandbox hides it, and nothing is stored in it.
    fn repository_above(&self, cwd: &str) -> Option<PathBuf> {
        let (folder, roots) = (self.absolute_path(cwd), &self.guard.roots);
        // What lies around the folder of an account is nothing to it.
        if self.guard.is_bounded() || !roots.iter().any(|root| folder.starts_with(&root.real)) {
            return None;
        }
        let top = repository_around(&folder)?;
        (!roots.iter().any(|root| top.starts_with(&root.real))).then_some(top)
    }

    /// What is to be said of a confined command in `cwd` to which git said in `output` that it finds no
    /// repository, if there is one above the workspace, or if the sandbox may hide another.
    pub fn missing_repository_text(&self, output: &str, cwd: &str) -> Option<String> {
        let mut said = output.lines().filter_map(|line| line.split_once(NO_REPOSITORY)).peekable();
        said.peek()?;
        let may_hide = said.any(|(_, rest)| HIDING.iter().any(|word| rest.contains(word)));
        let why = match self.repository_above(cwd) {
            Some(top) => above_text(&top),
            None if may_hide => "git finds no repository that the sandbox shows".to_owned(),
            None => return None,
        };
        Some(format!(
            "[{why}. In this session reads: [its folder] shows one that begins elsewhere.{}]",
            self.advice_with("what stores history there")
        ))
    }

    fn advice_with(&self, what: &str) -> String {
        match self.keeps_commands_inside() {
            true => String::new(),
            false => format!(" With outside_sandbox: true a person is asked about {what}"),
        }
    }
}

fn above_text(top: &Path) -> String {
    let top: String = top.to_string_lossy().chars().filter(|c| !c.is_control()).collect();
    format!(
        "The repository of this folder begins at {top}, above the workspace. Whoever wants git to work begins \
         the session there: `weir -C {}`",
        shell_quoted(&top)
    )
}

/// Whether each part of a line is reached as it stands, in the folder where the line begins.
fn is_certain(line: &CommandLine, command: &str) -> bool {
    let leads = |part: &CommandPart| {
        let mut words = part.words.iter().map(|word| word.text.as_str());
        match (words.next(), words.next()) {
            (Some("git"), Some(next)) => next.starts_with('-') || MAKING.contains(&next),
            (Some(head), _) => LEADING.contains(&head),
            (None, _) => false,
        }
    };
    line.unreadable.is_none()
        && !line.computes
        && !line.control
        && line.functions.is_empty()
        && !command.contains("||")
        && !command.contains("GIT_")
        && !line.parts.iter().any(leads)
}

fn makes_no_repository(part: &CommandPart) -> bool {
    let head = part.words.first().map(|word| word.text.as_str());
    is_plain_part(part) || head.is_some_and(|head| MOVING.contains(&head))
}

/// Whether a part is a plain command of git that writes in the `.git` of the folder that it is in.
fn stores_for_certain(part: &CommandPart) -> bool {
    let [program, name, rest @ ..] = part.words.as_slice() else { return false };
    // Of short ones that stand together, any may.
    let only_tells = |text: &str| match text.strip_prefix('-') {
        Some(long) if long.starts_with('-') => TELLING.iter().any(|told| text.starts_with(told)),
        Some(short) => short.contains(['h', 'n', 'z']),
        None => false,
    };
    program.text == "git"
        && STORING.contains(&name.text.as_str())
        && !part.nested
        && part.assignments.is_empty()
        && is_plain_part(part)
        && rest.iter().all(|word| !word.expands && !only_tells(&word.text))
}

/// A part of a line in one line, so long that it is known.
fn shown_part(part: &CommandPart) -> String {
    let one_line = part.raw.split_whitespace().collect::<Vec<_>>().join(" ");
    match one_line.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &one_line[..end]),
        None => one_line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::WorkspaceOptions;

    fn open(root: &Path) -> Workspace {
        let options = WorkspaceOptions {
            root: root.to_path_buf(),
            extra_roots: Vec::new(),
            own_folders: Vec::new(),
        };
        Workspace::open(options).expect("a workspace")
    }

    #[test]
    fn a1_a_line_that_git_would_break_off_is_not_begun_and_names_the_part() {
        let top = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(top.path().join(".git")).expect("a folder");
        let workspace = open(top.path());
        for (line, storing, other) in [
            (
                "mv a b && git add -A && git commit -m x",
                "`git add -A` stores",
                "`mv a b` is neither",
            ),
            (
                "git commit -am 'two words'; make",
                "`git commit -am 'two words'` stores",
                "`make` is",
            ),
            ("cargo test 2>&1 | tail -3\ngit rm a", "`git rm a` stores", "`cargo test"),
        ] {
            let why = workspace.refused_history(line, ".").expect(line);
            assert!(why.contains(storing) && why.contains(other), "{line}: {why}");
            assert!(why.contains("nothing of the line was run"), "{why}");
        }
        for line in [
            "git add -A && git commit -m x",
            "git add -A && git log -1 > last.txt",
            "mv a b",
            "make && git status --short",
            "make && git stash list",
            "make || git add -A",
            "make && git add -n .",
            "make && git add -nv .",
            "make; git commit --short",
            "git merge main && make",
            "git rebase main && cargo test",
            "test -f a && git add a; make",
            "npm run build; git status",
            "cd sub && git add .",
            "cargo fmt && git diff --stat | head",
            "docker build . && git push",
            "make && echo 'git add -A'",
            "cat > run.sh <<'END'\ngit add -A\nmake\nEND",
            "sh -c 'git add -A'; make",
            "git ls-files -m | xargs git add; make",
            "cd /tmp/x && touch a && git add a",
            "git init -q && touch a && git add a",
            "git -C x init && make && git add a",
            "if make; then git add -A; fi",
            "GIT_DIR=../x make && git add a",
            "echo $(git add a) && make",
        ] {
            assert_eq!(workspace.refused_history(line, "."), None, "{line}");
        }
        let none = "fatal: not a git repository (or any of the parent directories): .git";
        assert_eq!(workspace.missing_repository_text(none, "."), None);
        for hidden in [
            "x\nfatal: not a git repository (or any parent up to mount point /home/p/mono)",
            "fatal: not a git repository: /home/p/main/.git/worktrees/topic",
        ] {
            let said = workspace.missing_repository_text(hidden, ".").expect(hidden);
            assert!(said.contains("that the sandbox shows") && said.contains("reads: ["), "{said}");
        }
        assert_eq!(workspace.missing_repository_text("up to mount point", "."), None);
        // What a file leads to lies elsewhere, and nobody knows how it is guarded.
        std::fs::remove_dir_all(top.path().join(".git")).expect("it is there");
        std::fs::write(top.path().join(".git"), "gitdir: ../elsewhere\n").expect("a file");
        assert_eq!(workspace.refused_history("mv a b && git add -A", "."), None);
    }

    #[test]
    fn a1_a_repository_above_the_workspace_is_named_with_the_way_there() {
        let top = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(top.path().join("a part/inner")).expect("folders");
        std::fs::create_dir(top.path().join(".git")).expect("a folder");
        let real = top.path().canonicalize().expect("it is there");
        let workspace = open(&top.path().join("a part"));
        let way = format!("`weir -C {}`", shell_quoted(&real.to_string_lossy()));
        for (line, cwd) in [("git add -A", "."), ("mv a b && git commit -am x", "inner")] {
            let why = workspace.refused_history(line, cwd).expect(line);
            assert!(why.contains(&way) && why.contains("nothing of the line was run"), "{why}");
        }
        for line in ["git log --oneline", "npm create x && git add -A"] {
            assert_eq!(workspace.refused_history(line, "."), None, "{line}");
        }
        let none = "fatal: not a git repository (or any parent up to mount point /)";
        let said = workspace.missing_repository_text(none, "inner").expect("it is above");
        assert!(said.contains(&way) && said.contains("reads: [its folder]"), "{said}");
        assert!(!said.contains("that the sandbox shows"), "it is said once: {said}");
        // The top is a part of the workspace.
        let none = "fatal: not a git repository (or any of the parent directories): .git";
        assert_eq!(open(top.path()).missing_repository_text(none, "a part"), None);
    }
}
