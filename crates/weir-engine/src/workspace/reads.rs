//! Which marked words a command line can print (Z1): most can read all that lies below their folder. Of
//! plain readers it is known what they read, so that a build under foreign words does not make every
//! `git status` after it foreign (A7). Not here: what a label means.

use weir_core::governance::shell::{self, CommandPart};
use weir_core::tool::{PathAccess, PathPlace};

use super::histories::is_history;
use super::repositories::{HistoryAccess, meets_history};
use super::resolve::lexical_path;
use super::{EntryKind, WalkOptions, Workspace, WorkspaceEntry};

/// Readers whose operands are the files that they print.
const PRINTERS: [&str; 6] = ["cat", "egrep", "fgrep", "grep", "head", "tail"];
/// Where names lead to whatever a process has open, and not to a place of their own.
const OF_PROCESSES: [&str; 2] = ["/proc", "/dev"];

/// Options of a program that name no file and look below no folder. Any other may read something.
struct KnownOptions {
    /// Letters that stand alone.
    flags: &'static str,
    /// Letters whose value is the rest of the word, or the next one.
    valued: &'static str,
    /// Long ones, written out.
    long: &'static [&'static str],
}

const OF_CAT: KnownOptions = KnownOptions {
    flags: "AbeEnstTuv",
    valued: "",
    long: &["--number", "--number-nonblank", "--show-all", "--show-ends", "--squeeze-blank"],
};
const OF_ENDS: KnownOptions = KnownOptions {
    flags: "0123456789qvz",
    valued: "nc",
    long: &["--bytes", "--lines", "--quiet", "--silent", "--verbose"],
};
const OF_COUNT: KnownOptions = KnownOptions {
    flags: "clmwL",
    valued: "",
    long: &["--bytes", "--chars", "--lines", "--max-line-length", "--words"],
};
const OF_SEARCH: KnownOptions = KnownOptions {
    flags: "0123456789abcEFGhHiIlLnoPqsTvwxyzZ",
    valued: "ABCme",
    long: &[
        "--after-context",
        "--basic-regexp",
        "--before-context",
        "--byte-offset",
        "--color",
        "--colour",
        "--context",
        "--count",
        "--extended-regexp",
        "--files-with-matches",
        "--files-without-match",
        "--fixed-strings",
        "--ignore-case",
        "--invert-match",
        "--line-number",
        "--line-regexp",
        "--max-count",
        "--no-filename",
        "--no-messages",
        "--only-matching",
        "--perl-regexp",
        "--quiet",
        "--regexp",
        "--silent",
        "--text",
        "--with-filename",
        "--word-regexp",
    ],
};

/// Entries of a folder among which one is looked for that is nobody's words.
const LOOKED_AT_MAX: usize = 500;

/// Names that tools give to what they make: nobody's words.
const USUAL: [&str; 20] = [
    ".cache",
    ".git",
    ".mypy_cache",
    ".next",
    ".pytest_cache",
    ".tox",
    ".venv",
    ".weir",
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
            && line.parts.iter().all(|part| is_plain(part) && self.stays_here(part, cwd));
        if !plain {
            return Some(all);
        }
        let names_only = meets_history(command, false) == HistoryAccess::Names;
        line.parts.iter().find_map(|part| {
            match part.words.first().map(|word| word.text.as_str()) {
                // It tells of what is tracked. What git ignores is marked as a folder.
                Some("git") if names_only => self.marks_below(".").find(|(path, _)| {
                    is_history(path) || (!path.ends_with('/') && !is_of_weir(path))
                }),
                Some("ls") => self.marked_in_listing(part, cwd),
                Some(name) if PRINTERS.contains(&name) => self.marked_in_output(part, cwd),
                Some("pwd" | "true" | "false" | "date" | "echo" | "wc") => None,
                Some(_) | None => Some((String::new(), all.clone())),
            }
            .map(|(_, origin)| origin)
        })
    }

    /// Whether the name of an entry may be somebody else's words: it is marked, or a folder in which
    /// nothing else is, so that whoever made what lies there may have named it.
    pub(crate) fn has_foreign_name(&self, entry: &WorkspaceEntry) -> bool {
        let is_marked = |path: &str| self.mark_origin(path, PathAccess::Read).is_some();
        if is_marked(&entry.path) {
            return true;
        }
        let mut below = self.marks_below(&entry.path).peekable();
        if entry.kind != EntryKind::Folder || below.peek().is_none() {
            return false;
        }
        let name = entry.path.rsplit('/').next().unwrap_or(&entry.path);
        if USUAL.contains(&name) {
            return false;
        }
        let options = WalkOptions {
            recursive: true,
            respect_gitignore: true,
            hidden: true,
            max_entries: LOOKED_AT_MAX,
        };
        let at = self.resolve(&entry.path, PathAccess::List);
        let Ok(walk) = self.walk(&at, options) else { return true };
        let mut inner = walk.entries.iter().filter(|inner| inner.kind == EntryKind::File);
        inner.all(|inner| is_marked(&inner.path))
    }

    /// What `ls` tells of: the names in a folder, and no more.
    fn marked_in_listing(&self, part: &CommandPart, cwd: &str) -> Option<(String, String)> {
        let deep = |text: &str| {
            text.starts_with("--rec")
                || (text.starts_with('-') && !text.starts_with("--") && text.contains('R'))
        };
        // What looks like an option may be a folder: after `--`, and on some systems after a folder.
        let mut folders: Vec<&str> = argument_words(part).filter(|text| *text != "--").collect();
        let recursive = folders.iter().any(|text| deep(text));
        if folders.iter().all(|text| text.starts_with('-')) {
            folders.push(".");
        }
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

    /// What a reader prints whose operands are files. Any of its words may be one: that of a search
    /// which is its pattern, and what looks like an option.
    fn marked_in_output(&self, part: &CommandPart, cwd: &str) -> Option<(String, String)> {
        argument_words(part).filter(|text| !matches!(*text, "-" | "--")).find_map(|text| {
            let at = self.resolve(&path_from(cwd, text), PathAccess::List);
            at.marked.map(|origin| (at.path, origin))
        })
    }

    /// Whether all that it can name lies in the workspace. What lies outside may lead back in: of a link
    /// in /proc only the process that follows it knows where to.
    fn stays_here(&self, part: &CommandPart, cwd: &str) -> bool {
        let name = program_of(part);
        if name != "ls" && !PRINTERS.contains(&name) {
            return true;
        }
        let pattern = pattern_place(part);
        argument_words(part)
            .enumerate()
            .all(|(at, text)| Some(at) == pattern || self.lies_here(text, cwd))
    }

    fn lies_here(&self, text: &str, cwd: &str) -> bool {
        if text == "/dev/null" {
            return true;
        }
        let path = path_from(cwd, text);
        let (root, written) = (self.root(), lexical_path(&self.root().join(&path)));
        let of_process = |folder: &&str| written.starts_with(folder) && !root.starts_with(folder);
        !OF_PROCESSES.iter().any(of_process)
            && self.resolve(&path, PathAccess::List).place == PathPlace::Inside
    }
}

fn is_of_weir(path: &str) -> bool {
    path.starts_with(".weir/")
}

/// Whether a listing of what lies below `prefix` may tell of what is marked so: it does not go into
/// histories, nor into Weir's own folder, where copies of the workspace are.
pub(super) fn is_listed(path: &str, prefix: &str) -> bool {
    path == prefix || !(is_history(path) || (is_of_weir(path) && !is_of_weir(prefix)))
}

/// Whether its words are what they say, and nothing else comes in.
fn is_plain(part: &CommandPart) -> bool {
    let expands = |text: &str| text.contains(['*', '?', '[', '{', '~', '$', '`']);
    part.assignments.is_empty()
        && part.words.iter().all(|word| !word.expands)
        && argument_words(part).all(|text| !expands(text) || program_of(part).ends_with("grep"))
        && part.redirections.iter().all(|way| !way.is_file() || way.target.text == "/dev/null")
        && has_known_options(part)
}

/// Whether none of its options reads a file. After `--` they may be options still: of `grep -e --` that
/// is a pattern.
fn has_known_options(part: &CommandPart) -> bool {
    let known = match program_of(part) {
        "cat" => &OF_CAT,
        "head" | "tail" => &OF_ENDS,
        "wc" => &OF_COUNT,
        "grep" | "egrep" | "fgrep" => &OF_SEARCH,
        "date" => {
            return argument_words(part).all(|text| text.starts_with('+') || text == "-u");
        }
        _ => {
            let reads =
                |text: &str| text == "-C" || text.starts_with("-f") || text.starts_with("--file");
            return !argument_words(part).any(reads);
        }
    };
    argument_words(part).all(|text| is_known_option(known, text))
}

/// Whether a word is no option, or one of these.
fn is_known_option(known: &KnownOptions, text: &str) -> bool {
    let Some(letters) = text.strip_prefix('-') else { return true };
    if text.starts_with("--") {
        let name = text.split('=').next().unwrap_or_default();
        return text == "--" || known.long.contains(&name);
    }
    let flags = letters.trim_start_matches(|c: char| known.flags.contains(c));
    flags.chars().next().is_none_or(|first| known.valued.contains(first))
}

/// Where the pattern of a search stands among its arguments, where that is certain: it is a text, and
/// may look like any path.
fn pattern_place(part: &CommandPart) -> Option<usize> {
    let names_pattern = |text: &str| {
        text.starts_with("--reg")
            || (text.starts_with('-') && !text.starts_with("--") && text.contains('e'))
    };
    let searches = program_of(part).ends_with("grep") && !argument_words(part).any(names_pattern);
    let is_operand = |text: &str| text == "-" || !text.starts_with('-');
    searches.then(|| argument_words(part).position(is_operand)).flatten()
}

fn program_of(part: &CommandPart) -> &str {
    part.words.first().map(|word| word.text.as_str()).unwrap_or_default()
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

    /// A workspace with `src/a.rs` and with these files, which are foreign.
    fn with_marked_files(top: &std::path::Path, marked: &[&str]) -> Workspace {
        std::fs::create_dir_all(top.join("src")).expect("a folder");
        for path in marked.iter().chain(&["src/a.rs"]) {
            std::fs::write(top.join(path), "x").expect("a file");
        }
        let options = WorkspaceOptions {
            root: top.to_path_buf(),
            extra_roots: Vec::new(),
            own_folders: Vec::new(),
        };
        let workspace = Workspace::open(options).expect("a workspace");
        let marked: Vec<String> = marked.iter().map(|path| (*path).to_owned()).collect();
        workspace.mark(&marked, "docs.example");
        workspace
    }

    #[test]
    fn z1_no_spelling_of_a_reader_hides_which_marked_file_it_prints() {
        let top = tempfile::tempdir().expect("a folder");
        let workspace = with_marked_files(top.path(), &["-m.md", "-n", "marked.md"]);
        let is_foreign = |line: &str, cwd: &str| workspace.marked_for(line, cwd).is_some();
        for line in [
            "cat ./-m.md",
            "cat -- -m.md",
            "head -- -m.md",
            "tail -n 3 -- -m.md",
            "cat src/a.rs -- -n",
            "cat src/a.rs -n",
            "grep -e x -- -m.md",
            "grep -e -- -r x",
            "grep -r x src",
            "grep -nf marked.md src/a.rs",
            "grep --fil=marked.md src/a.rs",
            "grep --exclude-from=marked.md x src/a.rs",
            "date --f=marked.md",
            "date -f marked.md",
            "date -uf marked.md",
            "wc --files0-from=marked.md",
            "wc --fi=marked.md",
            "ls -- -m.md",
            "cat --show-a marked.md",
            "cat /proc/self/cwd/marked.md",
            "cat //proc/./self/cwd/marked.md",
            "cat /tmp/../proc/thread-self/cwd/marked.md",
            "cat /dev/fd/../cwd/marked.md",
            "head -3 /dev/stdin",
            "grep x /proc/self/cwd/marked.md",
            "grep -e x /proc/self/cwd/marked.md",
            "grep - /proc/self/cwd/marked.md",
            "ls /proc/self/cwd",
        ] {
            assert!(is_foreign(line, "."), "{line}");
        }
        assert!(is_foreign("grep -r x ..", "src") && is_foreign("cat ../-m.md", "src"));
        let up = "../".repeat(top.path().components().count() + 2);
        assert!(is_foreign(&format!("cat {up}proc/self/cwd/marked.md"), "src"));
    }

    #[test]
    fn a7_usual_readers_of_a_file_that_is_nobodys_are_not_foreign() {
        let top = tempfile::tempdir().expect("a folder");
        let workspace = with_marked_files(top.path(), &["-m.md", "marked.md"]);
        for line in [
            "cat -- src/a.rs",
            "cat -bv src/a.rs 2>/dev/null",
            "head -n 5 src/a.rs; head -n5 src/a.rs; head -5 src/a.rs",
            "head --lines=5 src/a.rs | tail -n +2",
            "grep -in -C 3 'x.*' src/a.rs",
            "grep -A3 -m 1 --color=never x src/a.rs /dev/null",
            "grep -n '/usr/bin/env' src/a.rs",
            "egrep -c '../x|y' src/a.rs",
            "wc -lc src/a.rs",
            "date; date -u +%F",
            "ls -la src",
            "echo -n x && pwd",
        ] {
            assert!(workspace.marked_for(line, ".").is_none(), "{line}");
        }
    }

    #[test]
    fn z1_what_a_history_says_is_foreign_and_the_files_around_it_are_not() {
        let top = tempfile::tempdir().expect("a folder");
        let workspace = with_marked_files(top.path(), &[]);
        workspace.mark(&[".git/".into()], "docs.example");
        for line in [
            "git log --oneline -3",
            "git branch",
            "git status",
            "git stash list",
            "cat .git/COMMIT_EDITMSG",
            "make",
        ] {
            assert!(workspace.marked_for(line, ".").is_some(), "{line}");
        }
        for line in ["cat src/a.rs", "ls", "ls -la", "grep -n x src/a.rs"] {
            assert!(workspace.marked_for(line, ".").is_none(), "{line}");
        }
        let marked = |path: &str, access| workspace.resolve(path, access).marked.is_some();
        assert!(marked(".git/logs/HEAD", PathAccess::Read));
        assert!(!marked(".", PathAccess::List) && !marked("src", PathAccess::List));
    }

    #[test]
    fn z1_a_copy_of_the_workspace_makes_nothing_foreign_around_it() {
        let top = tempfile::tempdir().expect("a folder");
        let workspace = with_marked_files(top.path(), &[]);
        workspace.mark(&[".weir/worktrees/one/a.md".into()], "docs.example");
        for line in ["git status", "ls -la", "cat src/a.rs"] {
            assert!(workspace.marked_for(line, ".").is_none(), "{line}");
        }
        assert!(workspace.marked_for("cat .weir/worktrees/one/a.md", ".").is_some());
        let listed = workspace.resolve(".", PathAccess::List);
        assert!(listed.marked.is_none());
    }
}
