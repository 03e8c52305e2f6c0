//! What git is told of hidden files (A13): a command sees an empty file that it cannot open in their
//! place, and `git add -A` or `git commit -a` would stumble over each. So the copy of the index leaves
//! those alone that git tracks, and the copy of `info/exclude` names the others.
//!
//! Where a command sees the real `.git`, a list of its own names what is hidden and not tracked.
//!
//! Not here: hiding them, and carrying the index over.

use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use sha1::{Digest as _, Sha1};
use sha2::{Digest as _, Sha256};
use weir_engine::git_index::{self, IndexEntry};

use crate::places::ConfinedPlaces;

/// Largest file of `info` that is copied.
const INFO_BYTES_MAX: u64 = 16 << 20;
/// Checksums in SHA-1 and SHA-256.
const SHA1_BYTES: usize = 20;
const SHA256_BYTES: usize = 32;

/// Has the index at `path` leave alone what is hidden, by paths below the work tree. Tells what it did
/// not leave alone before.
pub(super) fn leave_alone(path: &Path, hidden: &[PathBuf]) -> io::Result<Vec<String>> {
    if hidden.is_empty() {
        return Ok(Vec::new());
    }
    let is_hidden = |entry: &IndexEntry| {
        let path = entry.path_text();
        hidden.iter().any(|hidden| Path::new(path.as_ref()).starts_with(hidden))
    };
    rewrite_index(path, true, is_hidden)
}

/// Takes that back for `marked`.
pub(super) fn look_again(path: &Path, marked: &[String]) -> io::Result<()> {
    if marked.is_empty() {
        return Ok(());
    }
    rewrite_index(path, false, |entry| marked.iter().any(|path| *path == entry.path_text()))
        .map(drop)
}

/// Sets or clears the mark of the entries that `fits` names, where it is not so yet, and keeps the time
/// of the file, by which git tells what may have changed unseen.
fn rewrite_index(
    path: &Path,
    alone: bool,
    fits: impl Fn(&IndexEntry) -> bool,
) -> io::Result<Vec<String>> {
    let mut file =
        OpenOptions::new().read(true).write(true).custom_flags(super::no_follow()).open(path)?;
    let modified = file.metadata()?.modified()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    // What is not understood here stays as git made it.
    let Some(sum) = IndexChecksum::detect_checksum(&bytes) else { return Ok(Vec::new()) };
    let Some(mut entries) = git_index::parse_index_entries(&bytes) else { return Ok(Vec::new()) };
    entries.retain(|entry| fits(entry) && git_index::is_left_alone(&bytes, entry) != alone);
    if entries.is_empty() {
        return Ok(Vec::new());
    }
    git_index::leave_alone(&mut bytes, &entries, alone);
    sum.write_checksum(&mut bytes);
    drop(file);
    let mut file = OpenOptions::new()
        .write(true)
        .truncate(true)
        .custom_flags(super::no_follow())
        .open(path)?;
    file.write_all(&bytes)?;
    file.set_times(FileTimes::new().set_modified(modified))?;
    Ok(entries.iter().map(|entry| entry.path_text().into_owned()).collect())
}

/// The checksum at the end of an index.
#[derive(Clone, Copy)]
enum IndexChecksum {
    Sha1,
    Sha256,
    /// Zeros: git was told to do without.
    None,
}

impl IndexChecksum {
    fn detect_checksum(bytes: &[u8]) -> Option<IndexChecksum> {
        let (body, sum) = bytes.split_at_checked(bytes.len().checked_sub(SHA1_BYTES)?)?;
        if sum.iter().all(|byte| *byte == 0) {
            return Some(IndexChecksum::None);
        }
        if Sha1::digest(body).as_slice() == sum {
            return Some(IndexChecksum::Sha1);
        }
        let (body, sum) = bytes.split_at_checked(bytes.len().checked_sub(SHA256_BYTES)?)?;
        (Sha256::digest(body).as_slice() == sum).then_some(IndexChecksum::Sha256)
    }

    fn write_checksum(self, bytes: &mut [u8]) {
        let mut put = |count: usize, digest: &dyn Fn(&[u8]) -> Vec<u8>| {
            let Some(end) = bytes.len().checked_sub(count) else { return };
            let sum = digest(&bytes[..end]);
            bytes[end..].copy_from_slice(&sum);
        };
        match self {
            IndexChecksum::Sha1 => put(SHA1_BYTES, &|body| Sha1::digest(body).to_vec()),
            IndexChecksum::Sha256 => put(SHA256_BYTES, &|body| Sha256::digest(body).to_vec()),
            IndexChecksum::None => {}
        }
    }
}

/// Copies the folder `info` of a repository, with `hidden` among what is excluded.
pub(super) fn copy_with_excludes(real: &Path, seen: &Path, hidden: &[PathBuf]) -> io::Result<()> {
    fs::create_dir(seen)?;
    for entry in real.read_dir()?.flatten() {
        let is_small = |meta: &fs::Metadata| meta.is_file() && meta.len() <= INFO_BYTES_MAX;
        // `DirEntry::metadata` does not follow links.
        if entry.metadata().is_ok_and(|meta| is_small(&meta)) {
            fs::copy(entry.path(), seen.join(entry.file_name()))?;
        }
    }
    let mut list = File::options().create(true).append(true).open(seen.join("exclude"))?;
    let lines = hidden.iter().map(|path| format!("/{}\n", literal_pattern(path)));
    list.write_all(format!("\n{}", lines.collect::<String>()).as_bytes())
}

/// The ignore list for a command that stores the history of one repository as it is: what is hidden there,
/// after the list `own` that it stands in the place of. `None`: nothing is hidden, there are several, or one of
/// `settings` says which list is to be used.
pub(crate) fn ignore_list(
    places: &ConfinedPlaces,
    own: &Path,
    settings: &[PathBuf],
) -> Option<String> {
    let [git] = places.histories.iter().collect::<Vec<_>>()[..] else { return None };
    let tree = git.parent()?;
    let hidden: Vec<&Path> =
        places.masked.iter().filter_map(|path| path.strip_prefix(tree).ok()).collect();
    if hidden.is_empty() {
        return None;
    }
    let is_shown = |path: &Path| !path.ancestors().any(|at| places.masked.contains(at));
    let read = |path: &Path| match path.metadata() {
        Ok(meta) if is_shown(path) && meta.is_file() && meta.len() <= INFO_BYTES_MAX => {
            fs::read_to_string(path).ok()
        }
        Ok(_) => None,
        Err(_) => Some(String::new()),
    };
    let chooses = |path: &Path| {
        read(path).is_none_or(|text| {
            let text = text.to_ascii_lowercase();
            text.contains("excludesfile") || text.contains("[include")
        })
    };
    let of_repository = git.join("config");
    if settings.iter().chain([&of_repository]).any(|path| is_shown(path) && chooses(path)) {
        return None;
    }
    let mut list = if is_shown(own) { read(own)? } else { String::new() };
    list.push('\n');
    for path in hidden {
        list.push_str(&format!("/{}\n", literal_pattern(path)));
    }
    Some(list)
}

/// A path as a pattern that fits nothing else.
fn literal_pattern(path: &Path) -> String {
    let mut pattern = String::new();
    for letter in path.to_string_lossy().chars() {
        if matches!(letter, '*' | '?' | '[' | ']' | '\\' | ' ' | '!' | '#') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern
}
