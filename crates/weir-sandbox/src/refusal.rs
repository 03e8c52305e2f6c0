//! Which paths and hosts a command's output says it could not have: a guess from the words of the
//! usual programs, good enough for a question to a person and for nothing else.

use std::path::{Component, Path, PathBuf};

use weir_engine::workspace::HISTORY_RULE;

/// Most guesses.
const HINTS_MAX: usize = 8;

/// Longest path.
const PATH_BYTES_MAX: usize = 1024;

/// What the system says.
const WORDS: [&str; 3] =
    ["Read-only file system", "Permission denied", "Invalid cross-device link"];

/// `path /x` for each path that a line of `output` names beside such words. A relative one is taken
/// to be below `cwd`, which a command may have left.
pub(crate) fn path_hints(output: &str, cwd: &Path) -> Vec<String> {
    let mut hints = Vec::new();
    for line in output.lines().filter(|line| line.len() <= 4 * PATH_BYTES_MAX) {
        let word = WORDS.iter().find_map(|word| Some((line.find(word)?, word.len())));
        let Some((at, length)) = word else { continue };
        let named = quoted_path_after(&line[at + length..]).or_else(|| path_before(&line[..at]));
        let Some(path) = named.and_then(|named| absolute_path(named, cwd)) else { continue };
        let hint = format!("path {}", path.display());
        if !hints.contains(&hint) {
            hints.push(hint);
        }
        if hints.len() == HINTS_MAX {
            break;
        }
    }
    hints
}

/// What git says when it could not write its settings or hooks, and what it says around it.
const REFUSALS: [&str; 5] = [
    "Device or resource busy",
    "Read-only file system",
    "Permission denied",
    "Operation not permitted",
    "could not be written",
];

/// A wall of the sandbox that `output` ran into and that no path or host would open, with the way out.
/// `closed`: the history of a repository is read-only for this command.
pub(crate) fn describe_wall(output: &str, closed: bool) -> Option<String> {
    const SETTINGS: &str = "the sandbox keeps the settings, hooks and making of a repository closed; run \
                            the same line again with outside_sandbox: true, and a person is asked";
    const WORKTREES: &str = "the sandbox keeps the worktrees of a repository closed; run the same line \
                             again with outside_sandbox: true, and a person is asked";
    const SIGNATURE: &str = "commits and tags are signed here, and the sandbox shows no keys: run the \
                             same line with outside_sandbox: true, and a person is asked";
    const PROCESSES: &str = "a command in the sandbox sees no process from outside it; to end one, run \
                             the same line with outside_sandbox: true, and a person is asked";
    let refused = |line: &&str| REFUSALS.iter().any(|word| line.contains(word));
    let lines = || output.lines().filter(|line| line.len() <= 4 * PATH_BYTES_MAX);
    let of_settings = |line: &str| {
        [".git/config", ".git/hooks", "config file", "/hooks/", ".git/modules", ".git/info"]
            .iter()
            .any(|word| line.contains(word))
            || (line.contains("mkdir") || line.contains("copy")) && line.contains(".git")
    };
    if lines().filter(refused).any(of_settings) {
        return Some(SETTINGS.to_owned());
    }
    // A branch, or the copy of a repository beside it.
    if lines().filter(refused).any(|line| line.contains(".git/worktrees/")) {
        return Some(WORKTREES.to_owned());
    }
    if closed && lines().filter(refused).any(|line| line.contains(".git/")) {
        return Some(format!(
            "{HISTORY_RULE}: run it alone. What names a program (git -c, GIT_EDITOR, bisect run) runs \
             with outside_sandbox: true, and a person is asked"
        ));
    }
    // With gpg, and with keys of ssh.
    let is_unsigned = |line: &str| {
        line.contains("gpg failed to sign the data") || line.contains("load public key")
    };
    let is_unstored = |line: &str| {
        line.contains("failed to write commit object") || line.contains("unable to sign the tag")
    };
    if lines().any(is_unsigned) && lines().any(is_unstored) {
        return Some(SIGNATURE.to_owned());
    }
    let is_gone = |line: &str| line.contains("kill: (") && line.contains("No such process");
    lines().any(is_gone).then(|| PROCESSES.to_owned())
}

/// What stands before the name of a host that a program without network could not find.
const UNFOUND: [&str; 9] = [
    "Could not resolve host: ",
    "Could not resolve hostname ",
    "Couldn't resolve host '",
    "getaddrinfo EAI_AGAIN ",
    "getaddrinfo ENOTFOUND ",
    "dial tcp: lookup ",
    "unable to resolve host address '",
    "unable to resolve host address \u{2018}",
    "HTTPSConnectionPool(host='",
];

/// `host example.org:443` for each host that a line of `output` says it could not find: where a
/// command has no network at all, nobody else hears which one it wanted (Z4).
pub(crate) fn host_hints(output: &str) -> Vec<String> {
    let mut hints = Vec::new();
    for line in output.lines().filter(|line| line.len() <= 4 * PATH_BYTES_MAX) {
        let found = UNFOUND.iter().find_map(|words| line.split_once(words));
        let Some((_, rest)) = found else { continue };
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
        let name = rest.split(|c| !is_name(c)).next().unwrap_or_default().trim_matches('.');
        let hint = format!("host {name}:443");
        if name.contains('.') && name.len() <= 253 && !hints.contains(&hint) {
            hints.push(hint);
        }
        if hints.len() == HINTS_MAX {
            break;
        }
    }
    hints
}

/// `…: '/etc/x'`, as Python and Node say it.
fn quoted_path_after(text: &str) -> Option<&str> {
    let quote = text.find(['\'', '"'])?;
    let rest = &text[quote + 1..];
    let end = rest.find(['\'', '"'])?;
    Some(&rest[..end])
}

/// `touch: cannot touch '/etc/x': `, `bash: line 1: /etc/x: `.
fn path_before(text: &str) -> Option<&str> {
    let text = text.trim_end().strip_suffix(':').unwrap_or(text).trim_end();
    const CLOSING: [char; 3] = ['\'', '"', '\u{2019}'];
    if let Some(inner) = text.strip_suffix(CLOSING) {
        let start = inner.rfind(['\'', '"', '\u{2018}', '`'])?;
        let width = inner[start..].chars().next()?.len_utf8();
        return Some(&inner[start + width..]);
    }
    let last = text.rsplit(": ").next()?;
    if last.starts_with(['/', '.', '~']) || !last.contains(char::is_whitespace) {
        return Some(last);
    }
    // `can't read /etc/x`, `unable to create file a/b`: the words before it are no part of it.
    match last.find(" /") {
        Some(at) => Some(&last[at + 1..]),
        None => last.rsplit(char::is_whitespace).next(),
    }
}

fn absolute_path(named: &str, cwd: &Path) -> Option<PathBuf> {
    let named = named.trim();
    let plain = !named.is_empty()
        && named.len() <= PATH_BYTES_MAX
        && !named.contains(char::is_control)
        && (named.contains('/') || !named.contains(char::is_whitespace));
    if !plain {
        return None;
    }
    // One bare word is a path if there is such a file; it may be anything else.
    if !named.contains(['/', '.']) && !cwd.join(named).exists() {
        return None;
    }
    let mut path = PathBuf::new();
    for part in cwd.join(named).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) | Component::Normal(_) => path.push(part),
        }
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn z4_usual_words_name_a_path() {
        let cases = [
            ("touch: cannot touch '/etc/x': Read-only file system", "/etc/x"),
            ("bash: line 1: /etc/x y: Read-only file system", "/etc/x y"),
            ("mkdir: cannot create directory \u{2018}a/../b\u{2019}: Permission denied", "/ws/b"),
            ("OSError: [Errno 30] Read-only file system: '/etc/x'", "/etc/x"),
            ("cat: .env: Permission denied", "/ws/.env"),
            ("sed: can't read /home/me/x: Permission denied", "/home/me/x"),
            ("/bin/sh: 1: cannot create /etc/x: Read-only file system", "/etc/x"),
            (
                "error: unable to create file .github/workflows/new.yaml: Read-only file system",
                "/ws/.github/workflows/new.yaml",
            ),
            ("error: unable to unlink old 'a/b.txt': Read-only file system", "/ws/a/b.txt"),
            ("fatal: could not create work tree dir 'x y/z': Permission denied", "/ws/x y/z"),
        ];
        for (line, path) in cases {
            assert_eq!(path_hints(line, Path::new("/ws")), [format!("path {path}")], "{line}");
        }
    }

    #[test]
    fn z4_usual_words_name_a_host() {
        for (line, host) in [
            ("curl: (6) Could not resolve host: docs.rs", "docs.rs"),
            (
                "  [6] Couldn't resolve host name (Could not resolve host: index.crates.io)",
                "index.crates.io",
            ),
            (
                "fatal: unable to access 'https://github.com/a/b/': Could not resolve host: github.com",
                "github.com",
            ),
            (
                "ssh: Could not resolve hostname github.com: Temporary failure in name resolution",
                "github.com",
            ),
            (
                "npm error request to https://registry.npmjs.org/x failed, reason: getaddrinfo EAI_AGAIN registry.npmjs.org",
                "registry.npmjs.org",
            ),
            ("dial tcp: lookup proxy.golang.org: no such host", "proxy.golang.org"),
            (
                "WARNING: HTTPSConnectionPool(host='pypi.org', port=443): Max retries exceeded",
                "pypi.org",
            ),
        ] {
            assert_eq!(host_hints(line), [format!("host {host}:443")], "{line}");
        }
        for line in ["Could not resolve host: ", "Could not resolve host: localhost", "all is well"]
        {
            assert!(host_hints(line).is_empty(), "{line}");
        }
    }

    #[test]
    fn u1_a_wall_that_no_name_opens_says_the_way_out() {
        for line in [
            "error: could not write config file .git/config: Device or resource busy",
            "error: could not lock config file .git/config: Read-only file system",
            "error: could not lock config file /ws/.git/config: Permission denied",
            "fatal: cannot mkdir .git: Read-only file system",
            "/ws/.git: Read-only file system while trying to mkdir",
            "PermissionError: [Errno 13] Permission denied: '.git/hooks/pre-commit'",
            "fatal: could not create leading directories of '/ws/.git/modules/x': Read-only file system",
            "bash: line 1: kill: (1234) - No such process",
        ] {
            let said = describe_wall(line, false).expect(line);
            assert!(said.contains("outside_sandbox: true"), "{line}: {said}");
        }
        let history = "fatal: Unable to create '/ws/.git/index.lock': Read-only file system";
        assert!(describe_wall(history, true).is_some_and(|said| said.contains("run it alone")));
        assert_eq!(describe_wall(history, false), None);
        let worktree =
            "fatal: Unable to create '/ws/.git/worktrees/x/index.lock': Permission denied";
        for closed in [true, false] {
            let said = describe_wall(worktree, closed).expect("it is a wall");
            assert!(said.contains("worktrees") && !said.contains("run it alone"), "{said}");
        }
        for output in [
            "error: gpg failed to sign the data\nfatal: failed to write commit object",
            "error: Couldn't load public key /p/.ssh/k.pub: No such file or directory?\n\n\
             fatal: failed to write commit object",
            "error: gpg failed to sign the data:\nerror: unable to sign the tag",
        ] {
            let said = describe_wall(output, false).expect(output);
            assert!(said.contains("the sandbox shows no keys"), "{output}: {said}");
        }
        for line in [
            "all is well",
            "cat: /etc/x: Permission denied",
            "kill: usage",
            // The engine knows which one there is.
            "fatal: not a git repository (or any parent up to mount point /home/p/mono)",
            "the manual says: gpg failed to sign the data",
        ] {
            assert_eq!(describe_wall(line, true), None, "{line}");
        }
    }

    #[test]
    fn z4_what_is_no_path_is_no_hint_and_many_are_few() {
        for line in [
            "ERROR: Could not install: [Errno 30] Read-only file system: 'RECORD'",
            "error: RECORD: Permission denied",
            "fatal: could not lock the thing: Permission denied",
        ] {
            let hints = path_hints(line, Path::new("/ws"));
            assert!(hints.is_empty(), "{line}: {hints:?}");
        }
        for line in ["Permission denied", "sorry, you: Permission denied \u{1b}[1m", "all is well"]
        {
            let hints = path_hints(line, Path::new("/ws"));
            assert!(hints.iter().all(|hint| !hint.contains('\u{1b}')), "{hints:?}");
            assert!(hints.len() <= 1, "{hints:?}");
        }
        let many: String =
            (0..100).map(|at| format!("cat: /x/{at}: Permission denied\n")).collect();
        assert_eq!(path_hints(&many, Path::new("/")).len(), HINTS_MAX);
    }
}
