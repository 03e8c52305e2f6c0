//! Whether a file holds a private key whatever it is called (G6): it is looked at inside. Not here: which
//! names say that one does (the tables), and who is asked then (the gate).

use std::io::Read as _;

use weir_core::tool::{PathEffect, PathPlace};

use super::super::Workspace;
use super::is_fixture;

/// Bytes of a file that are looked at.
const LOOKED_BYTES_MAX: u64 = 64 * 1024;
/// Longest name of what begins, such as `ENCRYPTED PRIVATE KEY`, in bytes.
const LABEL_BYTES_MAX: usize = 80;
/// Fewest letters in a row that are a key and not an example of how one looks.
const KEY_CHARS_MIN: usize = 40;

impl Workspace {
    /// Why a person is asked before the file at `at` is read, where it holds a private key. Of a file
    /// that is hidden, lies outside or was made for tests nothing is looked at.
    pub fn key_inside(&self, at: &PathEffect) -> Option<String> {
        if at.place != PathPlace::Inside || at.ignored.is_some() || is_fixture(&at.path) {
            return None;
        }
        let mut bytes = Vec::new();
        self.open_file(at).ok()?.take(LOOKED_BYTES_MAX).read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        holds_private_key(&text).then(|| "it holds a private key".to_owned())
    }
}

/// Whether a text has a private key in it, in lines of its own or as a value of JSON.
fn holds_private_key(text: &str) -> bool {
    text.match_indices("-----BEGIN ").any(|(at, begin)| {
        let mut parts = text[at + begin.len()..].splitn(3, "-----");
        let label = parts.next().unwrap_or_default();
        let body = parts.next().unwrap_or_default();
        let is_of_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
        label.len() <= LABEL_BYTES_MAX
            && label.contains("PRIVATE KEY")
            && body.split(|c: char| !is_of_key(c)).any(|run| run.len() >= KEY_CHARS_MIN)
    })
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
        let json = format!("{{\"private_key\": {:?}}}", pem("PRIVATE KEY", line));
        let files = [
            ("notes.txt", pem("RSA PRIVATE KEY", line), true),
            ("my-project-1a2b3c.json", json, true),
            ("tests/cert.pem", pem("PRIVATE KEY", line), false),
            ("public.txt", pem("CERTIFICATE", line), false),
            ("how.md", pem("PRIVATE KEY", "your key"), false),
            ("src.rs", "let begin = \"-----BEGIN PRIVATE KEY\";".to_owned(), false),
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
}
