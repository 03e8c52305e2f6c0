//! The index of git, as bytes: which paths it tracks, and the mark by which git leaves one alone. Pure.
//!
//! Read here and not by git: whoever runs git on a foreign repository runs what its configuration
//! names. Not here: what is made of the names, and the checksum at the end of the file.

use std::borrow::Cow;
use std::ops::Range;

/// `DIRC`, version, number of entries.
const HEAD_BYTES: usize = 12;
/// Times, device, inode, mode, owner, size: what stands before an entry's object name.
const STAT_BYTES: usize = 40;
/// Object names in SHA-1 and in SHA-256.
const NAME_BYTES: [usize; 2] = [20, 32];
/// Git does not look whether the file changed.
const ASSUME_UNCHANGED: u8 = 0x80;
/// Two more bytes of flags follow.
const EXTENDED: u8 = 0x40;

/// An entry of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexEntry {
    /// Its path below the work tree, as git has it.
    pub path: Vec<u8>,
    /// The object that holds its content.
    pub object: Vec<u8>,
    /// Where its flags stand.
    flags_at: usize,
}

impl IndexEntry {
    /// Its path as text; what is no UTF-8 is replaced.
    pub fn path_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.path)
    }
}

/// What an index tracks. `None`: it is none that is understood here.
pub fn parse_index_entries(index: &[u8]) -> Option<Vec<IndexEntry>> {
    NAME_BYTES.iter().find_map(|name_bytes| read_index(index, *name_bytes))
}

/// Sets or clears the mark of these entries in the bytes of their index.
pub fn leave_alone(index: &mut [u8], entries: &[IndexEntry], alone: bool) {
    for entry in entries {
        let Some(flags) = index.get_mut(entry.flags_at) else { continue };
        *flags = if alone { *flags | ASSUME_UNCHANGED } else { *flags & !ASSUME_UNCHANGED };
    }
}

/// Whether git is told to leave an entry alone.
pub fn is_left_alone(index: &[u8], entry: &IndexEntry) -> bool {
    index.get(entry.flags_at).is_some_and(|flags| flags & ASSUME_UNCHANGED != 0)
}

fn read_index(index: &[u8], name_bytes: usize) -> Option<Vec<IndexEntry>> {
    let (version, count) = parse_header(index)?;
    let end = index.len().checked_sub(name_bytes)?;
    let mut at = HEAD_BYTES;
    // Each takes more than its object's name: a count that the file cannot hold is not believed.
    let mut entries: Vec<IndexEntry> = Vec::with_capacity(count.min(index.len() / name_bytes));
    for _ in 0..count {
        let begin = at;
        let object = index.get(begin + STAT_BYTES..begin + STAT_BYTES + name_bytes)?.to_vec();
        let flags_at = begin + STAT_BYTES + name_bytes;
        let extended = version >= 3 && index.get(flags_at)? & EXTENDED != 0;
        let path_at = flags_at + if extended { 4 } else { 2 };
        let before = entries.last().map(|entry| entry.path.as_slice()).unwrap_or_default();
        let (path, after) = parse_path(index, path_at, (version == 4).then_some(before))?;
        at = match version {
            4 => after,
            // Filled up with zeros to a multiple of eight, at least one.
            _ => begin + (after - begin).next_multiple_of(8),
        };
        if at > end || path.is_empty() || before > path.as_slice() {
            return None;
        }
        entries.push(IndexEntry { path, object, flags_at });
    }
    // Extensions follow, by four letters or other bytes that can be read, or the checksum.
    let follows = |range: Range<usize>| index.get(range);
    (at == end || follows(at..at + 4)?.iter().all(u8::is_ascii_alphabetic)).then_some(entries)
}

fn parse_header(index: &[u8]) -> Option<(u32, usize)> {
    let number = |at: usize| {
        index.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_be_bytes)
    };
    let version = number(4).filter(|version| (2..=4).contains(version))?;
    index.starts_with(b"DIRC").then_some((version, usize::try_from(number(8)?).ok()?))
}

/// A path that ends with a zero, and where what follows the zero begins. `shared`: version 4, the
/// path before, of which a number of letters at the end go.
fn parse_path(index: &[u8], at: usize, shared: Option<&[u8]>) -> Option<(Vec<u8>, usize)> {
    let (mut path, at) = match shared {
        None => (Vec::new(), at),
        Some(before) => {
            let (drop, at) = parse_offset(index, at)?;
            (before[..before.len().checked_sub(drop)?].to_vec(), at)
        }
    };
    let rest = index.get(at..)?;
    let bytes = rest.iter().position(|byte| *byte == 0)?;
    path.extend_from_slice(&rest[..bytes]);
    Some((path, at + bytes + 1))
}

/// A number as packs have their offsets.
fn parse_offset(index: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut byte = *index.get(at)?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        at += 1;
        byte = *index.get(at)?;
        value = value.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
    }
    Some((value, at + 1))
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::*;

    fn git(folder: &Path, arguments: &[&str]) {
        let mut command = Command::new("git");
        command.current_dir(folder).args(arguments).env("HOME", folder);
        let output = command.output().expect("git is there");
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }

    /// An index that git itself made, of `paths`.
    fn index(format: &str, version: &str, paths: &[&str]) -> (tempfile::TempDir, Vec<u8>) {
        let top = tempfile::tempdir().expect("a folder");
        git(top.path(), &["init", "-q", &format!("--object-format={format}"), "."]);
        for path in paths {
            let path = top.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            std::fs::write(path, "x").expect("a file");
        }
        git(top.path(), &["add", "-A"]);
        git(top.path(), &["update-index", "--index-version", version]);
        let index = std::fs::read(top.path().join(".git/index")).expect("an index");
        (top, index)
    }

    #[test]
    fn a13_every_form_of_an_index_that_git_writes_is_read() {
        let paths = [".env", "a.txt", "a/b.txt", "a/longer name.pem", "z", "ä.txt"];
        for format in ["sha1", "sha256"] {
            for version in ["2", "3", "4"] {
                let (_top, index) = index(format, version, &paths);
                let read = parse_index_entries(&index).expect("it is understood");
                let read: Vec<String> = read.iter().map(|e| e.path_text().into_owned()).collect();
                assert_eq!(read, paths, "{format}, version {version}");
            }
        }
    }

    #[test]
    fn a13_what_is_left_alone_is_no_change_to_git() {
        let (top, mut bytes) = index("sha1", "4", &[".env", "a.txt"]);
        let all = parse_index_entries(&bytes).expect("it is understood");
        assert!(!is_left_alone(&bytes, &all[0]));
        leave_alone(&mut bytes, &all[..1], true);
        assert!(is_left_alone(&bytes, &all[0]) && !is_left_alone(&bytes, &all[1]));
        std::fs::write(top.path().join(".git/index"), &bytes).expect("it is written");
        std::fs::remove_file(top.path().join(".env")).expect("it is there");
        git(top.path(), &["diff", "--quiet"]);
        leave_alone(&mut bytes, &all[..1], false);
        assert!(!is_left_alone(&bytes, &all[0]));
    }

    #[test]
    fn a13_what_is_no_index_is_not_understood() {
        let (_top, whole) = index("sha1", "2", &["a", "b"]);
        for end in 0..whole.len() {
            assert!(
                parse_index_entries(&whole[..end]).is_none_or(|read| read.len() == 2),
                "{end} bytes"
            );
        }
        let mut many = whole.clone();
        many[8..12].copy_from_slice(&u32::MAX.to_be_bytes());
        assert_eq!(parse_index_entries(&many), None);
        assert_eq!(parse_index_entries(b"DIRC\0\0\0\x09\0\0\0\0"), None);
        assert_eq!(parse_index_entries(b""), None);
    }
}
