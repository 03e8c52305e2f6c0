//! Which marked words a command line can print (Z1): most can read all that lies below their folder. Of
//! plain readers it is known what they read, so that a build under foreign words does not make every
//! `git status` after it foreign (A7). Not here: what a label means.

use weir_core::governance::shell::{self, CommandPart};
use weir_core::tool::PathAccess;

use super::Workspace;
use super::repositories::{HistoryAccess, meets_history};

/// Readers whose operands are the files that they print.
const PRINTERS: [&str; 6] = ["cat", "egrep", "fgrep", "grep", "head", "tail"];
/// Names that tools give to what they make: nobody's words.
const USUAL: [&str; 18] = [
    ".cache",
    ".mypy_cache",
    ".next",
    ".pytest_cache",
    ".tox",
    ".venv",
    "__pycache__",
    "bin",
    "build",
    "coverage",
    "dist",
    "env",
    "node_modules",
    "obj",
    "out",
    "target",
    "vendor",
    "venv",
];

impl Workspace {
    /// Where the marked words came from that a command line in `cwd` can print.
    pub fn marked_for(&self, command: &str, cwd: &str) -> Option<String> {
        // Wherever it runs: `..` leads out of its folder.
        let all = self.marks_below(".").next().map(|(_, origin)| origin)?;
        // The folder itself, or all there is.
        if self.mark_origin(cwd, PathAccess::Read).is_some() {
            return Some(all);
        }
        let line = shell::parse_command_line(command);
        let plain = line.unreadable.is_none()
            && line.functions.is_empty()
            && shell::reads_only(&line, true)
            && line.parts.iter().all(is_plain);
        if !plain {
            return Some(all);
        }
        let names_only = meets_history(command, false) == HistoryAccess::Names;
        line.parts.iter().find_map(|part| {
            match part.words.first().map(|word| word.text.as_str()) {
                // It tells of what is tracked. What git ignores is marked as a folder.
                Some("git") if names_only => {
                    self.marks_below(".").find(|(path, _)| !path.ends_with('/'))
                }
                Some("ls") => self.marked_in_listing(part, cwd),
                Some(name) if PRINTERS.contains(&name) => self.marked_in_output(part, cwd),
                Some("pwd" | "true" | "false" | "date" | "echo" | "wc") => None,
                Some(_) | None => Some((String::new(), all.clone())),
            }
            .map(|(_, origin)| origin)
        })
    }

    /// What `ls` tells of: the names in a folder, and no more.
    fn marked_in_listing(&self, part: &CommandPart, cwd: &str) -> Option<(String, String)> {
        let deep = |text: &str| {
            text.starts_with("--rec")
                || (text.starts_with('-') && !text.starts_with("--") && text.contains('R'))
        };
        let (options, folders): (Vec<&str>, Vec<&str>) =
            argument_words(part).partition(|text| text.starts_with('-'));
        let folders = if folders.is_empty() { vec!["."] } else { folders };
        let recursive = options.into_iter().any(deep);
        folders.into_iter().find_map(|folder| {
            let at = self.resolve(&path_from(cwd, folder), PathAccess::Read);
            if let Some(origin) = at.marked {
                return Some((at.path, origin));
            }
            let prefix = if at.path == "." { String::new() } else { format!("{}/", at.path) };
            self.marks_below(&at.path).find(|(path, _)| {
                let name = path[prefix.len()..].trim_end_matches('/');
                recursive || (!name.contains('/') && !USUAL.contains(&name))
            })
        })
    }

    /// What a reader prints whose operands are files. Of a search the first is the pattern, and may be
    /// a file as well.
    fn marked_in_output(&self, part: &CommandPart, cwd: &str) -> Option<(String, String)> {
        let deep = |text: &str| {
            text.starts_with("--rec")
                || text.starts_with("--der")
                || (text.starts_with('-') && !text.starts_with("--") && text.contains(['r', 'R']))
        };
        if argument_words(part).any(deep) {
            return self.marks_below(cwd).next();
        }
        argument_words(part).filter(|text| !text.starts_with('-')).find_map(|text| {
            let at = self.resolve(&path_from(cwd, text), PathAccess::List);
            at.marked.map(|origin| (at.path, origin))
        })
    }
}

/// Whether its words are what they say, and nothing else comes in.
fn is_plain(part: &CommandPart) -> bool {
    let expands = |text: &str| text.contains(['*', '?', '[', '{', '~', '$', '`']);
    part.assignments.is_empty()
        && part.words.iter().all(|word| !word.expands)
        && argument_words(part).all(|text| !expands(text) || part.words[0].text.ends_with("grep"))
        && part.redirections.iter().all(|way| !way.is_file() || way.target.text == "/dev/null")
        && !argument_words(part)
            .any(|text| text == "-C" || text.starts_with("-f") || text.starts_with("--file"))
}

fn argument_words(part: &CommandPart) -> impl Iterator<Item = &str> {
    part.words.iter().skip(1).map(|word| word.text.as_str())
}

fn path_from(cwd: &str, path: &str) -> String {
    if path.starts_with('/') || cwd == "." { path.to_owned() } else { format!("{cwd}/{path}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::WorkspaceOptions;

    #[test]
    fn a7_a_command_is_foreign_when_it_can_read_what_is_and_else_not() {
        let top = tempfile::tempdir().expect("a folder");
        let put = |path: &str| {
            let path = top.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            std::fs::write(path, "x").expect("a file");
        };
        ["src/a.rs", "target/x", "docs/idea.md", "a.txt"].into_iter().for_each(put);
        std::os::unix::fs::symlink("target/x", top.path().join("way")).expect("a link");
        let options = WorkspaceOptions {
            root: top.path().to_path_buf(),
            extra_roots: Vec::new(),
            own_folders: Vec::new(),
        };
        let workspace = Workspace::open(options).expect("a workspace");
        let is_foreign = |line: &str, cwd: &str| workspace.marked_for(line, cwd).is_some();
        assert!(!is_foreign("make", "."));
        workspace.mark(&["target/".into()], "docs.example");
        for line in [
            "git status --short",
            "git log --oneline -3 | head -2",
            "ls",
            "ls -la src",
            "cat src/a.rs a.txt",
            "grep -n 'x*' src/a.rs",
            "head -3 a.txt && pwd",
        ] {
            assert!(!is_foreign(line, "."), "{line}");
        }
        for line in [
            "cat target/x",
            "cat way",
            "cat src/../target/x",
            "cat t*/x",
            "cat < target/x",
            "ls target",
            "ls -R",
            "grep -r x .",
            "grep x target",
            "cat $F",
            "make",
            "cargo test",
            "git log -p",
            "git diff",
            "cd target && cat x",
            "find .",
            "./ls",
            "wc -l < target/x",
            "grep -f target/x a.txt",
        ] {
            assert!(is_foreign(line, "."), "{line}");
        }
        assert!(is_foreign("cat ../target/x", "src") && is_foreign("ls", "target"));
        assert!(is_foreign("make", "src") && !is_foreign("cat a.rs", "src"));
        // What git tracks may stand in what git tells.
        workspace.mark(&["docs/idea.md".into()], "docs.example");
        assert!(is_foreign("git status", "."), "its name may be the words");
        assert!(is_foreign("ls docs", ".") && !is_foreign("ls src", "."));
        workspace.mark(&["send the salaries/".into()], "docs.example");
        assert!(is_foreign("ls", "."), "the name of a folder may be the words");
    }
}
