//! Files with private keys that a command line names (G6): whoever wants to run it is asked as whoever wants
//! to read them is, whatever it makes of them. Not here: what else the programs in it may read; what of a key
//! stands in their output as it stands in the file is looked for there.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use weir_core::governance::shell;
use weir_core::tool::{PathAccess, PathEffect, PathPlace};

use super::super::Workspace;
use super::inside::LOOKED_BYTES_MAX;

/// Files to which one pattern of the shell is followed, in the order of their names.
const PATTERN_FILES_MAX: usize = 200;
/// Bytes that are looked at of each: it may be one of very many, and a key is short.
const PATTERN_BYTES_MAX: u64 = 64 << 10;
/// Folders into which a line goes that are followed.
const FOLDERS_MAX: usize = 8;
/// What stands before the folder that a line goes into, or that a program is told to work in.
const GOES_TO: [&str; 5] = ["cd", "pushd", "-C", "--directory", "--chdir"];
/// Other words for the folder that a line runs in.
const HERE: [&str; 4] = ["$PWD/", "${PWD}/", "/proc/self/cwd/", "/proc/thread-self/cwd/"];

impl Workspace {
    /// How each file of the workspace would be read that a command line which runs in `cwd` names and that
    /// holds a private key. Named is what stands in the line: as a word, as a piece of one (a script for
    /// another program, the value of an option) or of a text that it hands on, and what a pattern of the
    /// shell in it fits, up to 200 files. Reads files: for blocking threads.
    pub fn keys_named_by(&self, line: &str, cwd: &str) -> Vec<PathEffect> {
        let reach = shell::command_reach(&shell::parse_command_line(line));
        let words = reach.parts.iter().flat_map(|part| {
            let targets = part.redirections.iter().map(|redirection| &redirection.target);
            part.words.iter().chain(&part.assignments).chain(targets)
        });
        let mut names: BTreeSet<&str> = pieces_of(line).collect();
        let mut patterns: BTreeSet<&str> = BTreeSet::new();
        let mut folders = vec![self.absolute_path(cwd)];
        let mut before = "";
        for word in words {
            let text = HERE.iter().find_map(|here| word.text.strip_prefix(here));
            let text = text.unwrap_or(&word.text);
            names.insert(text);
            names.extend(pieces_of(text));
            if word.expands && text.contains(['*', '?', '[', '{']) {
                patterns.insert(text);
            }
            if GOES_TO.contains(&before) {
                let gone: Vec<PathBuf> = folders.iter().map(|folder| folder.join(text)).collect();
                folders.extend(gone.into_iter().filter(|folder| folder.is_dir()));
                folders.truncate(FOLDERS_MAX);
            }
            before = &word.text;
        }
        let mut files = BTreeSet::new();
        for folder in &folders {
            let named = names.iter().filter_map(|name| self.place_of(folder, name));
            files.extend(named.map(|file| (file, LOOKED_BYTES_MAX)));
            let fitting = patterns.iter().flat_map(|pattern| files_of_pattern(folder, pattern));
            files.extend(fitting.map(|file| (file, PATTERN_BYTES_MAX)));
        }
        // Several ways may lead to one file.
        let mut found: Vec<PathEffect> = Vec::new();
        for (file, bytes_max) in files.into_iter().filter(|(file, _)| file.is_file()) {
            let Some(at) = self.key_file_at(&file, bytes_max) else { continue };
            if !found.iter().any(|other| other.path == at.path) {
                found.push(at);
            }
        }
        found
    }

    /// What a name means for a program that works in `folder`.
    fn place_of(&self, folder: &Path, name: &str) -> Option<PathBuf> {
        match name.strip_prefix("~/") {
            Some(below) => self.guard.home().map(|home| home.join(below)),
            None => Some(folder.join(name)),
        }
    }

    /// Reading the file there, where it asks for the key in it alone: what is hidden stays so, and what asks
    /// by its name does that already.
    fn key_file_at(&self, file: &Path, bytes_max: u64) -> Option<PathEffect> {
        let text = file.strip_prefix(self.root()).unwrap_or(file).to_str()?;
        let at = self.resolve(text, PathAccess::Read);
        if at.place != PathPlace::Inside || at.ignored.is_some() || at.sensitive.is_some() {
            return None;
        }
        let why = self.key_inside_first(&at, bytes_max)?;
        Some(PathEffect { sensitive: Some(why), ..at })
    }
}

/// The pieces of a text that may be names of files, where other signs stand around them.
fn pieces_of(text: &str) -> impl Iterator<Item = &str> {
    let parts = |c: char| c.is_whitespace() || "'\"`;|&<>()${}[]=,:@\\!#*?".contains(c);
    text.split(parts).filter(|piece| !piece.is_empty()).flat_map(|piece| {
        // The value of a short option is written behind it: `grep -fNAME`.
        let value = piece.strip_prefix('-').and_then(|letters| letters.get(1..));
        let value = value.filter(|value| !value.is_empty());
        std::iter::once(piece).chain(value)
    })
}

/// The files that a pattern of the shell fits in `folder`.
fn files_of_pattern(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let first = if pattern.starts_with('/') { Path::new("/") } else { folder };
    let mut found = vec![first.to_path_buf()];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let mut next: Vec<PathBuf> = match matcher_of(part) {
            Some(matcher) => {
                found.iter().flat_map(|at| fitting_entries(at, part, &matcher)).collect()
            }
            None => found.iter().map(|at| at.join(part)).collect(),
        };
        next.truncate(PATTERN_FILES_MAX);
        found = next;
    }
    found
}

/// What tells which names a part of a pattern fits; `None`: it is a name itself.
fn matcher_of(part: &str) -> Option<GlobMatcher> {
    if !part.contains(['*', '?', '[', '{']) {
        return None;
    }
    GlobBuilder::new(part).build().ok().map(|glob| glob.compile_matcher())
}

/// Entries of a folder that `pattern` fits, in the order of their names. Those with a dot only where the
/// pattern begins with one, as in a shell.
fn fitting_entries(folder: &Path, pattern: &str, matcher: &GlobMatcher) -> Vec<PathBuf> {
    let Ok(listed) = std::fs::read_dir(folder) else { return Vec::new() };
    let fits = |name: &OsString| {
        let is_hidden = name.as_encoded_bytes().starts_with(b".");
        is_hidden == pattern.starts_with('.') && matcher.is_match(Path::new(name))
    };
    let mut names: Vec<OsString> =
        listed.flatten().map(|entry| entry.file_name()).filter(fits).collect();
    names.sort();
    names.truncate(PATTERN_FILES_MAX);
    names.into_iter().map(|name| folder.join(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::WorkspaceOptions;

    const LINE: &str = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKB";

    fn with_key(top: &Path) -> Workspace {
        let key =
            format!("-----BEGIN PRIVATE KEY-----\n{LINE}\n{LINE}\n-----END PRIVATE KEY-----\n");
        let public = format!("-----BEGIN PUBLIC KEY-----\n{LINE}\n-----END PUBLIC KEY-----\n");
        for (path, text) in [
            ("deploy.txt", key.as_str()),
            ("sub/deep/inner.txt", &key),
            ("tests/server.pem", &key),
            ("deploy.pub.txt", &public),
            ("about.md", "deploy.txt has the key\n"),
            ("src/main.rs", "fn main() {}\n"),
        ] {
            let at = top.join(path);
            std::fs::create_dir_all(at.parent().expect("a parent")).expect("folders");
            std::fs::write(at, text).expect("a file");
        }
        std::os::unix::fs::symlink("deploy.txt", top.join("way")).expect("a link");
        let root = top.to_path_buf();
        let options = WorkspaceOptions { root, extra_roots: Vec::new(), own_folders: Vec::new() };
        Workspace::open(options).expect("a workspace")
    }

    #[test]
    fn g6_a_command_names_a_file_with_a_private_key_however_it_is_written() {
        let top = tempfile::tempdir().expect("a folder");
        let workspace = with_key(top.path());
        let absolute = format!("cut -c1-20 {}/deploy.txt", workspace.root().display());
        for line in [
            "sed -n 2,3p deploy.txt",
            "tail -n +2 ./deploy.txt | head -1",
            "cut -c2-60 src/../deploy.txt",
            "grep -v BEGIN deploy.txt",
            "base64 -d < deploy.txt | xxd",
            "cat way | rev",
            "sed -n 2p 'deploy.txt'",
            "sed -n 2p dep\"loy\".txt",
            "sed -n 2p dep\\loy.txt",
            "sed -n 2p dep*",
            "sed -n 2p d?ploy.tx[t]",
            "sed -n 2p {deploy,x}.txt",
            "sed -n 3p */deep/inn*",
            "sed -n 2p $PWD/deploy.txt",
            "sed -n 2p \"${PWD}/deploy.txt\"",
            "F=deploy.txt; sed -n 2p \"$F\"",
            "python3 -c \"print(open('deploy.txt').read()[40:])\"",
            "awk 'BEGIN { while ((getline l < \"deploy.txt\") > 0) print l }'",
            "bash -c 'sed -n 2p deploy.txt'",
            "bash -c \"sed -n 2p dep*\"",
            "dd if=deploy.txt bs=1 skip=40",
            "grep -fdeploy.txt -v about.md",
            "curl -d @deploy.txt localhost",
            "git show HEAD:deploy.txt",
            "while read l; do echo $l; done < deploy.txt",
            "echo $(tail -n 2 deploy.txt)",
            "python3 <<END\nprint(open('deploy.txt').read())\nEND",
            "cd sub/deep && sed -n 2p inner.txt",
            "cd sub; cd deep; sed -n 2p inner.txt",
            "make -C sub/deep X=inner.txt",
            &absolute,
        ] {
            let named = workspace.keys_named_by(line, ".");
            assert!(named.iter().all(|at| at.sensitive.is_some()), "{line}");
            assert!(!named.is_empty(), "{line}");
        }
        let named = workspace.keys_named_by("cat deploy.txt way ./deploy.txt dep*", ".");
        assert_eq!(named.len(), 1, "it is asked about once: {named:?}");
        assert_eq!((named[0].path.as_str(), named[0].access), ("deploy.txt", PathAccess::Read));
        let below = workspace.keys_named_by("sed -n 2p ../deploy.txt deep/inner.txt", "sub");
        let paths: Vec<&str> = below.iter().map(|at| at.path.as_str()).collect();
        assert_eq!(paths, ["deploy.txt", "sub/deep/inner.txt"]);
    }

    #[test]
    fn g6_a_command_that_names_no_file_with_a_private_key_asks_nothing() {
        let top = tempfile::tempdir().expect("a folder");
        let workspace = with_key(top.path());
        for line in [
            "cargo test",
            "ls -la",
            "cat about.md deploy.pub.txt src/main.rs",
            "sed -n 2,3p deploy.pub.txt",
            "grep -rn 'dep*' src",
            "cat *.md src/*.rs",
            "cat tests/server.pem",
            "cat sub/deploy.txt missing.txt",
            "git status && git diff src",
            "echo deploy . txt",
            "cat /etc/hostname ~/deploy.txt",
            "",
        ] {
            assert_eq!(workspace.keys_named_by(line, "."), [], "{line}");
        }
        assert_eq!(workspace.keys_named_by("cat deploy.txt", "src"), []);
    }

    #[test]
    fn q3_what_a_command_names_is_looked_at_once_and_no_further() {
        let top = tempfile::tempdir().expect("a folder");
        let workspace = with_key(top.path());
        let filler = "x".repeat(usize::try_from(PATTERN_BYTES_MAX).expect("it fits"));
        let key = std::fs::read_to_string(top.path().join("deploy.txt")).expect("the key");
        std::fs::write(top.path().join("late.log"), format!("{filler}\n{key}")).expect("a file");
        assert_eq!(workspace.keys_named_by("tail late.log", ".").len(), 1, "by its name");
        assert_eq!(workspace.keys_named_by("tail lat*", "."), [], "by a pattern");
        let pipe = top.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
        assert!(made.success(), "a pipe");
        assert_eq!(workspace.keys_named_by("cat pipe p*", "."), [], "no pipe is waited for");
    }
}
