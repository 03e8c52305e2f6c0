//! Files with private keys that a command line names (G6): whoever wants to run it is asked as whoever wants
//! to read them is, whatever it makes of them. Not here: how a pattern of the shell is followed (`patterns`), and
//! what else the programs in it may read; what of a key stands in their output as it stands in the file is
//! looked for there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use weir_core::governance::shell::{self, CommandLine, CommandPart, expand_braces};
use weir_core::tool::{PathAccess, PathEffect, PathPlace};

use super::super::Workspace;
use super::inside::LOOKED_BYTES_MAX;
use super::patterns::{PatternSearch, is_pattern};

/// Bytes that are looked at of each file that a pattern fits: it may be one of very many, and a key is short.
const PATTERN_BYTES_MAX: u64 = 64 << 10;
/// Bytes that are looked at for one line; of what comes behind them no more of each file than for a pattern.
const LINE_BYTES_MAX: u64 = 256 << 20;
/// Files that are looked at for one line. Nobody vouches for a line that names more.
const FILES_MAX: usize = 5_000;
/// Folders into which a line goes that are followed.
const FOLDERS_MAX: usize = 8;
/// What stands before the folder that a line goes into, or that a program is told to work in.
const GOES_TO: [&str; 5] = ["cd", "pushd", "-C", "--directory", "--chdir"];
/// Other words for the folder that a line runs in.
const HERE: [&str; 4] = ["$PWD/", "${PWD}/", "/proc/self/cwd/", "/proc/thread-self/cwd/"];
/// Other words for the home.
const AT_HOME: [&str; 2] = ["$HOME/", "${HOME}/"];
/// Programs that tell of no file what stands in it, whatever they are told, and leave it where it is.
const SHOW_NO_CONTENT: [&str; 14] = [
    "[", "cd", "chmod", "false", "ls", "mkdir", "pwd", "rm", "rmdir", "stat", "test", "touch",
    "true", "wc",
];
/// Commands of git of which the same is true, with these options.
const GIT_SHOWS_NO_CONTENT: [&str; 3] = ["add", "commit", "status"];
const GIT_OPTIONS: [&str; 17] = [
    "--",
    "--all",
    "--amend",
    "--no-edit",
    "--no-verify",
    "--porcelain",
    "--quiet",
    "--short",
    "--signoff",
    "-A",
    "-a",
    "-am",
    "-m",
    "-q",
    "-s",
    "-sb",
    "-u",
];

impl Workspace {
    /// How each file of the workspace would be read that a command line which runs in `cwd` names and that
    /// holds a private key; none where all of its commands are known to show nothing of what stands in a file
    /// (`ls`, `rm`, `git add`). Reads files: for blocking threads.
    pub fn keys_read_by(&self, line: &str, cwd: &str) -> Vec<PathEffect> {
        match shows_no_content(&shell::parse_command_line(line)) {
            true => Vec::new(),
            false => self.keys_named_by(line, cwd),
        }
    }

    /// The same of each text, whoever it is for. Named is what stands in it: as a word, as a piece of one (a
    /// script for another program, the value of an option) or of a text that it hands on, and what a pattern of
    /// the shell in it fits, up to 200 files. Reads files: for blocking threads.
    pub fn keys_named_by(&self, line: &str, cwd: &str) -> Vec<PathEffect> {
        let line = with_plain_places(line);
        let reach = shell::command_reach(&shell::parse_command_line(&line));
        let mut named = NamedFiles::default();
        named.names.extend(pieces_of(&line).map(str::to_owned));
        let mut folders = vec![self.absolute_path(cwd)];
        for part in &reach.parts {
            self.follow_folders(part, &mut folders);
            named.add_part(part);
        }
        let files = self.files_named(&named, &folders);
        // Several ways may lead to one file.
        let mut found: Vec<PathEffect> = Vec::new();
        let (mut looked, mut bytes_left) = (0, LINE_BYTES_MAX);
        for (file, bytes_max) in files {
            let Ok(stat) = std::fs::metadata(&file) else { continue };
            if !stat.is_file() {
                continue;
            }
            looked += 1;
            if looked > FILES_MAX {
                found.extend(self.unlooked_file(&file));
                break;
            }
            let bytes_max = bytes_max.min(bytes_left.max(PATTERN_BYTES_MAX));
            bytes_left = bytes_left.saturating_sub(bytes_max.min(stat.len()));
            let Some(at) = self.key_file_at(&file, bytes_max) else { continue };
            if !found.iter().any(|other| other.path == at.path) {
                found.push(at);
            }
        }
        found
    }

    /// Adds the folders that a command goes into.
    fn follow_folders(&self, part: &CommandPart, folders: &mut Vec<PathBuf>) {
        let mut before = "";
        for word in &part.words {
            if GOES_TO.contains(&before) {
                let gone: Vec<PathBuf> =
                    folders.iter().filter_map(|at| self.place_of(at, &word.text)).collect();
                folders.extend(gone.into_iter().filter(|folder| folder.is_dir()));
                folders.truncate(FOLDERS_MAX);
            }
            before = &word.text;
        }
    }

    /// What the names mean in these folders, and how much of each is looked at.
    fn files_named(&self, named: &NamedFiles, folders: &[PathBuf]) -> BTreeSet<(PathBuf, u64)> {
        let mut files = BTreeSet::new();
        let mut search = PatternSearch::default();
        for folder in folders {
            let plain = named.names.iter().filter_map(|name| self.place_of(folder, name));
            files.extend(plain.map(|file| (file, LOOKED_BYTES_MAX)));
            for pattern in &named.patterns {
                let fitting = search.files_of_pattern(folder, pattern);
                files.extend(fitting.into_iter().map(|file| (file, PATTERN_BYTES_MAX)));
            }
        }
        let at_top = named.at_top.iter().map(|name| self.root().join(name));
        files.extend(at_top.map(|file| (file, LOOKED_BYTES_MAX)));
        files
    }

    /// What a name means for a program that works in `folder`.
    fn place_of(&self, folder: &Path, name: &str) -> Option<PathBuf> {
        match name.strip_prefix("~/") {
            Some(below) => self.guard.home().map(|home| home.join(below)),
            None => Some(folder.join(name)),
        }
    }

    /// How a file is read as far as a rule or a person speaks of it: what is hidden stays so, and what asks by
    /// its name does that already.
    fn readable_file_at(&self, file: &Path) -> Option<PathEffect> {
        let text = file.strip_prefix(self.root()).unwrap_or(file).to_str()?;
        let at = self.resolve(text, PathAccess::Read);
        let is_open =
            at.place == PathPlace::Inside && at.ignored.is_none() && at.sensitive.is_none();
        is_open.then_some(at)
    }

    /// Reading the file there, where it asks for the key in it alone.
    fn key_file_at(&self, file: &Path, bytes_max: u64) -> Option<PathEffect> {
        let at = self.readable_file_at(file)?;
        let why = self.key_inside_first(&at, bytes_max)?;
        Some(PathEffect { sensitive: Some(why), ..at })
    }

    /// Reading one of too many files.
    fn unlooked_file(&self, file: &Path) -> Option<PathEffect> {
        let at = self.readable_file_at(file)?;
        let why = format!("the command names more than {FILES_MAX} files, and nobody looked in it");
        Some(PathEffect { sensitive: Some(why), ..at })
    }
}

/// What a line names.
#[derive(Debug, Default)]
struct NamedFiles {
    /// In the folder that it works in.
    names: BTreeSet<String>,
    /// Patterns of the shell, which stand for files there.
    patterns: BTreeSet<String>,
    /// At the top, as git names what it keeps: `HEAD:a/b`.
    at_top: BTreeSet<String>,
}

impl NamedFiles {
    fn add_part(&mut self, part: &CommandPart) {
        let is_git = part.words.first().is_some_and(|word| shell::head_name(word) == "git");
        let targets = part.redirections.iter().map(|redirection| &redirection.target);
        for word in part.words.iter().chain(&part.assignments).chain(targets) {
            self.names.extend(pieces_of(&word.text).map(str::to_owned));
            if is_git && let Some((_, path)) = word.text.split_once(':') {
                self.at_top.insert(path.to_owned());
            }
            for text in expand_braces(&word.text) {
                if word.expands && is_pattern(&text) {
                    self.patterns.insert(text);
                } else {
                    self.names.insert(text);
                }
            }
        }
    }
}

/// The line with its other words for the folder that it runs in and for the home as the shell would put them in.
fn with_plain_places(line: &str) -> String {
    let line = HERE.iter().fold(line.to_owned(), |line, here| line.replace(here, "./"));
    AT_HOME.iter().fold(line, |line, home| line.replace(home, "~/"))
}

/// Whether every command of a line is known to show nothing of what stands in a file.
fn shows_no_content(line: &CommandLine) -> bool {
    let is_simple = line.unreadable.is_none()
        && !line.substitution
        && !line.computes
        && line.functions.is_empty()
        && !line.parts.is_empty();
    is_simple && line.parts.iter().all(part_shows_no_content)
}

fn part_shows_no_content(part: &CommandPart) -> bool {
    let is_plain = part.assignments.is_empty()
        && part.words.iter().all(|word| !word.expands || !word.text.contains(['$', '`']))
        && part.redirections.iter().all(|way| !way.is_file() || way.target.text == "/dev/null")
        && part.redirections.iter().all(|way| way.body.is_none() && way.operator != "<<<");
    let options = || part.words.iter().skip(1).filter(|word| word.text.starts_with('-'));
    let head = part
        .words
        .first()
        .filter(|word| !word.expands || word.text == "[")
        .map(|word| word.text.as_str());
    is_plain
        && match head {
            Some("git") => {
                let command = part.words.get(1).map_or("", |word| word.text.as_str());
                GIT_SHOWS_NO_CONTENT.contains(&command)
                    && options().all(|word| GIT_OPTIONS.contains(&word.text.as_str()))
            }
            // It can be told to take the names from a file, and says of each that it is none.
            Some("wc") => options().all(|word| !word.text.starts_with("--")),
            Some(name) => SHOW_NO_CONTENT.contains(&name),
            None => false,
        }
}

/// The pieces of a text that may be names of files, where other signs stand around them.
fn pieces_of(text: &str) -> impl Iterator<Item = &str> {
    let parts = |c: char| c.is_whitespace() || "'\"`;|&<>()${}[]=,:@\\!#*?".contains(c);
    text.split(parts).filter(|piece| !piece.is_empty()).flat_map(|piece| {
        // The value of a short option is written behind it, `grep -fNAME`, and what stands for a variable that
        // is not set behind a dash: `${X:-NAME}`.
        let letters = piece.strip_prefix('-').unwrap_or_default();
        let value = letters.get(1..).unwrap_or_default();
        let pieces = [piece, letters, value].into_iter();
        pieces.filter(|piece| !piece.is_empty())
    })
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
            "sed -n 2p {x,sub/deep/inner}.txt",
            "sed -n 2p dep{a..z,lo}y.txt",
            "sed -n 2p depl{a..z}y.txt",
            "sed -n 2p {sub,src}/{deep/inner,x}.txt",
            "sed -n 2p [[:lower:]]eploy.txt",
            "sed -n 2p [!x]eploy.txt",
            "sed -n 2p */../deplo?.txt",
            "python3 -c \"print(open('$PWD/deploy.txt').read())\"",
            "cd sub && git show HEAD:deploy.txt",
            "cd sub && git -C deep show HEAD:sub/deep/inner.txt",
            "rm -f x deploy.txt",
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
    fn g6_a_command_that_shows_nothing_of_a_file_asks_for_no_key_in_it() {
        let top = tempfile::tempdir().expect("a folder");
        let workspace = with_key(top.path());
        for line in [
            "ls -la deploy.txt",
            "ls *.txt",
            "rm -f deploy.txt sub/deep/inner.txt",
            "chmod 600 deploy.txt && stat deploy.txt",
            "cd sub/deep && test -f inner.txt || touch inner.txt",
            "wc -lc deploy.txt 2>/dev/null",
            "git add deploy.txt; git commit -q -m 'about deploy.txt' -- deploy.txt",
            "git status --short deploy.txt",
        ] {
            assert_eq!(workspace.keys_read_by(line, "."), [], "{line}");
            assert!(!workspace.keys_named_by(line, ".").is_empty(), "a program may wait for it");
        }
        for line in [
            "ls deploy.txt | xargs sed -n 2p",
            "ls deploy.txt; sed -n 2p deploy.txt",
            "ls $(sed -n 2p deploy.txt)",
            "ls \"$(< deploy.txt)\"",
            "ls ${X:-deploy.txt}",
            "wc --files0-from=deploy.txt",
            "git add -p deploy.txt",
            "git status -v deploy.txt",
            "git commit -v --dry-run deploy.txt",
            "git diff deploy.txt",
            "PATH=. ls deploy.txt",
            "./ls deploy.txt",
            "test -f x < deploy.txt",
            "mv deploy.txt x; sed -n 2p x",
            "cp deploy.txt x",
            "test() { sed -n 2p $1; }; test deploy.txt",
            "ls deploy.txt 'unclosed",
        ] {
            assert!(!workspace.keys_read_by(line, ".").is_empty(), "{line}");
        }
    }

    #[test]
    fn g6_a_line_that_names_more_files_than_are_looked_at_asks() {
        let top = tempfile::tempdir().expect("a folder");
        let workspace = with_key(top.path());
        let mut line = "cat".to_owned();
        for number in 0..=FILES_MAX {
            std::fs::write(top.path().join(format!("a{number}")), "x").expect("a file");
            line += &format!(" a{number}");
        }
        let named = workspace.keys_named_by(&line, ".");
        assert!(named[0].sensitive.as_ref().is_some_and(|why| why.contains("more than")));
        assert_eq!(named.len(), 1);
    }

    /// A pattern that leads from many folders to one, again and again.
    #[test]
    fn q3_a_pattern_is_followed_in_good_time() {
        let top = tempfile::tempdir().expect("a folder");
        let workspace = with_key(top.path());
        for number in 0..300 {
            std::fs::create_dir(top.path().join(format!("f{number}"))).expect("a folder");
        }
        let began = std::time::Instant::now();
        let deep = "*/../".repeat(700);
        let braces = "{a,{b,".repeat(300) + "c" + &"}}".repeat(300);
        let line = format!("cat {}{braces} {}", format!("{deep}x* ").repeat(20), "{".repeat(4_000));
        workspace.keys_named_by(&line, ".");
        assert!(began.elapsed() < std::time::Duration::from_secs(20));
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
