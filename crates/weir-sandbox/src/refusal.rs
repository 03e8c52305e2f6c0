//! Which paths a command's output says it was refused: a guess from the words of the usual
//! programs, good enough for a question to a person and for nothing else.

use std::path::{Component, Path, PathBuf};

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
        let named = after(&line[at + length..]).or_else(|| before(&line[..at]));
        let Some(path) = named.and_then(|named| absolute(named, cwd)) else { continue };
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

/// `…: '/etc/x'`, as Python and Node say it.
fn after(text: &str) -> Option<&str> {
    let quote = text.find(['\'', '"'])?;
    let rest = &text[quote + 1..];
    let end = rest.find(['\'', '"'])?;
    Some(&rest[..end])
}

/// `touch: cannot touch '/etc/x': `, `bash: line 1: /etc/x: `.
fn before(text: &str) -> Option<&str> {
    let text = text.trim_end().strip_suffix(':').unwrap_or(text).trim_end();
    const CLOSING: [char; 3] = ['\'', '"', '\u{2019}'];
    if let Some(inner) = text.strip_suffix(CLOSING) {
        let start = inner.rfind(['\'', '"', '\u{2018}', '`'])?;
        let width = inner[start..].chars().next()?.len_utf8();
        return Some(&inner[start + width..]);
    }
    text.rsplit(": ").next()
}

fn absolute(named: &str, cwd: &Path) -> Option<PathBuf> {
    let named = named.trim();
    let plain = !named.is_empty()
        && named.len() <= PATH_BYTES_MAX
        && !named.contains(char::is_control)
        && (named.contains('/') || !named.contains(char::is_whitespace));
    if !plain {
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
        ];
        for (line, path) in cases {
            assert_eq!(path_hints(line, Path::new("/ws")), [format!("path {path}")], "{line}");
        }
    }

    #[test]
    fn z4_what_is_no_path_is_no_hint_and_many_are_few() {
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
