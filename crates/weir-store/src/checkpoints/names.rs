//! Names that git accepts for paths and sessions that it may not. Both ways are one to one; the
//! real path stands in the checkpoint's note, so nothing is ever decoded.

use std::fmt::Write;

/// A path relative to the workspace (or absolute, when it lies outside) as the names of a git tree.
pub(super) fn tree_path(path: &str) -> Vec<String> {
    path.split('/').map(tree_name).collect()
}

/// One part of a path. Git refuses empty names, `.`, `..` and everything that some file system
/// takes for `.git`; those get their first character as `%XX`, and `%` itself becomes `%25`.
fn tree_name(name: &str) -> String {
    if name.is_empty() {
        return "%".to_string();
    }
    let lower = name.to_ascii_lowercase();
    let refused =
        name == "." || name == ".." || lower.starts_with(".git") || lower.starts_with("git~");
    let mut out = String::with_capacity(name.len());
    for (at, c) in name.char_indices() {
        // Characters that are invisible may hide such a name from us but not from a file system.
        let invisible = matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' |
            '\u{206a}'..='\u{206f}' | '\u{feff}');
        let encode =
            (at == 0 && refused) || matches!(c, '%' | '\\' | ':') || c.is_control() || invisible;
        if encode { percent_encode(c, &mut out) } else { out.push(c) }
    }
    out
}

/// Name of the ref of a session, below `refs/weir/`.
pub(super) fn ref_name(session: &str) -> String {
    if session.is_empty() {
        return "%".to_string();
    }
    let mut out = String::with_capacity(session.len());
    for c in session.chars() {
        if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') {
            out.push(c);
        } else {
            percent_encode(c, &mut out);
        }
    }
    out
}

fn percent_encode(c: char, out: &mut String) {
    let mut bytes = [0; 4];
    for byte in c.encode_utf8(&mut bytes).bytes() {
        // Writing to a string cannot fail.
        let _ = write!(out, "%{byte:02X}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g7_any_file_name_has_a_name_that_git_accepts() {
        for (path, expected) in [
            ("src/größe ü.rs", "src/größe ü.rs"),
            (".git/config", "%2Egit/config"),
            (".gitignore", "%2Egitignore"),
            ("a/.GIT", "a/%2EGIT"),
            ("GIT~1", "%47IT~1"),
            ("/etc/passwd", "%/etc/passwd"),
            ("100%", "100%25"),
            (".", "%2E"),
            ("a\\b:c", "a%5Cb%3Ac"),
            (".g\u{200c}it", ".g%E2%80%8Cit"),
        ] {
            assert_eq!(tree_path(path).join("/"), expected);
        }
        assert_eq!(ref_name("0190-ab_c"), "0190-ab_c");
        assert_eq!(ref_name("a/../b.lock"), "a%2F%2E%2E%2Fb%2Elock");
    }
}
