//! Whether a file holds a private key whatever it is called (G6): it is looked at inside. Not here: which
//! names say that one does (the tables), which files a command names (`named`), and who is asked then (the
//! gate).

use std::io::Read as _;
use std::ops::{Range, RangeInclusive};
use std::sync::LazyLock;

use regex::bytes::Regex;
use weir_core::tool::{PathEffect, PathPlace};

use super::super::Workspace;
use super::is_fixture;
use crate::utf16::ByteOrder;

/// Room for what is read of a file before more is asked for.
const FIRST_READ_BYTES: usize = 4096;
/// Bytes of a file that are looked at.
pub(super) const LOOKED_BYTES_MAX: u64 = 4 << 20;
/// Longest name of what begins, such as `ENCRYPTED PRIVATE KEY`, in bytes.
const LABEL_BYTES_MAX: usize = 80;
/// Fewest letters in a row that are a key and not an example of how one looks.
const KEY_CHARS_MIN: usize = 40;
/// Bytes behind the line that says so in which a key begins: only lines of its head stand between.
const KEY_BEGINS_MAX: usize = 1_024;
/// What stands before and after a label.
const DASHES: &str = "-----";

/// What stands in every file with a key, and in hardly another: nothing else of one is read as text.
static LABEL: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("PRIVATE KEY").expect("it is two words"));

impl Workspace {
    /// Why a person is asked before the file at `at` is read, where it holds a private key. Of a file
    /// that is hidden, lies outside or was made for tests nothing is looked at.
    pub fn key_inside(&self, at: &PathEffect) -> Option<String> {
        self.key_inside_first(at, LOOKED_BYTES_MAX)
    }

    /// The same of its first bytes alone.
    pub(super) fn key_inside_first(&self, at: &PathEffect, bytes_max: u64) -> Option<String> {
        let text = self.text_of_keys(at, bytes_max)?;
        holds_private_key(&text).then(|| "it holds a private key".to_owned())
    }

    /// The lines of the file at `at`, from 1, in which private keys stand: what shows single lines of a
    /// file shows none of these. Nothing is looked at where [`Workspace::key_inside`] looks at nothing.
    pub fn key_lines(&self, at: &PathEffect) -> Vec<RangeInclusive<u64>> {
        let text = self.text_of_keys(at, LOOKED_BYTES_MAX);
        text.map(|text| key_lines(&text)).unwrap_or_default()
    }

    fn text_of_keys(&self, at: &PathEffect, bytes_max: u64) -> Option<String> {
        if at.place != PathPlace::Inside || at.ignored.is_some() || is_fixture(&at.path) {
            return None;
        }
        // A small file at once: without a hint it is read in pieces of 32 bytes and more.
        let mut bytes = Vec::with_capacity(FIRST_READ_BYTES);
        self.open_file(at).ok()?.take(bytes_max).read_to_end(&mut bytes).ok()?;
        // What reads it as text shows what it says in UTF-16, too; a command shows its bytes, mark or not.
        let decoded = ByteOrder::of_mark(&bytes).map(|order| order.decode_lossy(&bytes));
        if let Some(text) = decoded.filter(|text| holds_private_key(text)) {
            return Some(text);
        }
        LABEL.is_match(&bytes).then(|| String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Whether a text has a private key in it, in lines of its own or as a value of JSON.
pub fn holds_private_key(text: &str) -> bool {
    key_bodies(text).next().is_some()
}

/// Where private keys stand in a text, without the lines that begin and end them.
fn key_bodies(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.match_indices("-----BEGIN ").filter_map(move |(at, begin)| {
        let after = at + begin.len();
        let mut parts = text[after..].splitn(3, DASHES);
        let label = parts.next().unwrap_or_default();
        let body = parts.next().unwrap_or_default();
        let is_key = label.len() <= LABEL_BYTES_MAX
            && label.contains("PRIVATE KEY")
            && has_line_of_key(body);
        let from = after + label.len() + DASHES.len();
        is_key.then(|| from..from + body.len())
    })
}

/// Whether a line that looks like one of a key stands in the beginning of a text. Sums, lines of strokes and long
/// names, which stand in a program that only speaks of keys, have not all kinds of letters.
fn has_line_of_key(body: &str) -> bool {
    let is_of_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    let near = &body[..body.floor_char_boundary(KEY_BEGINS_MAX)];
    near.split(|c: char| !is_of_key(c)).any(|run| {
        let has = |is: fn(&u8) -> bool| run.as_bytes().iter().any(is);
        run.len() >= KEY_CHARS_MIN
            && has(u8::is_ascii_uppercase)
            && has(u8::is_ascii_lowercase)
            && has(u8::is_ascii_digit)
    })
}

/// The lines of private keys. One that only says that a key begins is none of them: whoever looks for keys
/// that should not be there finds it.
fn key_lines(text: &str) -> Vec<RangeInclusive<u64>> {
    // Counted on from the place before: there may be very many.
    let (mut counted, mut line) = (0, 1_u64);
    let mut line_at = |at: usize| {
        line += text[counted..at].matches('\n').count() as u64;
        counted = at;
        line
    };
    let lines = key_bodies(text).map(|body| {
        let first = text[body.clone()].lines().next().unwrap_or_default();
        let begins = line_at(body.start) + u64::from(first.trim().is_empty());
        begins..=line_at(body.end)
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use weir_core::tool::PathAccess;

    use super::*;
    use crate::workspace::WorkspaceOptions;

    #[test]
    fn g6_a_private_key_is_met_under_any_name_and_its_example_is_not() {
        let top = tempfile::tempdir().expect("a folder");
        let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKB";
        let pem = |label: &str, body: &str| {
            format!("words\n-----BEGIN {label}-----\n{body}\n-----END {label}-----\n")
        };
        let begin = "-----BEGIN RSA PRIVATE KEY-----";
        let json = format!("{{\"private_key\": {:?}}}", pem("PRIVATE KEY", line));
        let files = [
            ("notes.txt", pem("RSA PRIVATE KEY", line), true),
            ("my-project-1a2b3c.json", json, true),
            ("tests/cert.pem", pem("PRIVATE KEY", line), false),
            ("public.txt", pem("CERTIFICATE", line), false),
            ("how.md", pem("PRIVATE KEY", "your key"), false),
            ("src.rs", "let begin = \"-----BEGIN PRIVATE KEY\";".to_owned(), false),
            ("sum.rs", format!("{begin}\n{}", "0123456789abcdef".repeat(4)), false),
            ("line.md", format!("{begin}\n{}\n{}", "=".repeat(60), "/".repeat(60)), false),
            ("T.java", format!("{begin}\nvoid {}AndMore()", "isNotValidKey".repeat(4)), false),
            ("far.rs", format!("{begin}\n{}\n{line}", "code(); ".repeat(200)), false),
            ("old.txt", format!("{begin}\nProc-Type: 4,ENCRYPTED\nDEK-Info: X,00\n\n{line}"), true),
            ("src.py", format!("KEY = ({begin:?}\n    {line:?}\n)"), true),
        ];
        std::fs::create_dir(top.path().join("tests")).expect("a folder");
        for (path, text, _) in &files {
            std::fs::write(top.path().join(path), text).expect("a file");
        }
        let options = WorkspaceOptions {
            root: top.path().to_path_buf(),
            extra_roots: Vec::new(),
            own_folders: Vec::new(),
        };
        let workspace = Workspace::open(options).expect("a workspace");
        for (path, _, is_met) in &files {
            let at = workspace.resolve(path, PathAccess::Read);
            assert_eq!(workspace.key_inside(&at).is_some(), *is_met, "{path}");
        }
        assert!(workspace.key_inside(&workspace.resolve("tests", PathAccess::Read)).is_none());
    }

    #[test]
    fn g6_a_private_key_in_utf_16_is_met_as_one_in_utf_8() {
        let top = tempfile::tempdir().expect("a folder");
        let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKB";
        let key =
            format!("a\r\n-----BEGIN PRIVATE KEY-----\r\n{line}\r\n-----END PRIVATE KEY-----\r\n");
        let options = WorkspaceOptions {
            root: top.path().to_path_buf(),
            extra_roots: Vec::new(),
            own_folders: Vec::new(),
        };
        let workspace = Workspace::open(options).expect("a workspace");
        for (name, order) in [("le.txt", ByteOrder::Little), ("be.txt", ByteOrder::Big)] {
            let half = order.encode(&key);
            std::fs::write(top.path().join(name), &half[..half.len() - 1]).expect("a file");
            let at = workspace.resolve(name, PathAccess::Read);
            assert!(workspace.key_inside(&at).is_some(), "{name}");
            assert_eq!(workspace.key_lines(&at), [3..=4], "{name}");
        }
        // The mark alone makes no other text of it for whoever prints the bytes.
        let marked = [&b"\xff\xfe"[..], key.as_bytes()].concat();
        std::fs::write(top.path().join("marked.txt"), marked).expect("a file");
        let at = workspace.resolve("marked.txt", PathAccess::Read);
        assert!(workspace.key_inside(&at).is_some());
    }

    #[test]
    fn g6_the_lines_of_a_key_are_known_and_no_others() {
        let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKB";
        let pem = |end: &str| {
            format!(
                "-----BEGIN PRIVATE KEY-----{end}{line}{end}{line}{end}-----END PRIVATE KEY-----"
            )
        };
        for (text, expected) in [
            (format!("a\n{}\nb\n", pem("\n")), &[(3_u64, 5_u64)][..]),
            (format!("a\r\n{}\r\nb\r\n", pem("\r\n")), &[(3_u64, 5_u64)][..]),
            (format!("{{\n\"key\": \"{}\"\n}}\n", pem("\\n")), &[(2, 2)]),
            (format!("-----BEGIN PRIVATE KEY-----\n{line}\n{line}"), &[(2, 3)]),
            (format!("{0}\n{0}\n", pem("\n")), &[(2, 4), (6, 8)]),
            (format!("{line}\n-----BEGIN PRIVATE KEY-----\nyour key\n"), &[]),
        ] {
            let found = key_lines(&text);
            let found: Vec<_> = found.iter().map(|lines| (*lines.start(), *lines.end())).collect();
            assert_eq!(found, expected, "{text}");
            assert_eq!(holds_private_key(&text), !expected.is_empty(), "{text}");
        }
    }
}
