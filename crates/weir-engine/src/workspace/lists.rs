//! List files: `.weirignore`, `.weirprotected`, `.gitignore`; read, compiled, kept while unchanged.
//!
//! A list file is looked at again (size, times, inode) at every use, so a change counts at once.
//! A list that cannot be read or understood closes what it governs: it is never skipped (G6).

use std::collections::HashMap;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use unicode_normalization::UnicodeNormalization;

use crate::regular_file::open_regular_file;
use crate::text_form::TextEncoding;

/// The list of invisible paths.
pub(super) const IGNORE_LIST: &str = ".weirignore";
/// The list of paths that may not be written.
pub(super) const PROTECT_LIST: &str = ".weirprotected";
/// Git's own list: leaves out, but forbids nothing.
pub(super) const GIT_LIST: &str = ".gitignore";

/// Where results of sessions lie (`own`).
const RESULTS: &str = ".weir/tmp/";

/// Whether a list of git in this folder is one of Weir's own: it keeps results out of commits, and
/// nothing from anybody who looks for them (X1).
pub(super) fn is_for_git_alone(folder: &str) -> bool {
    folder.starts_with(RESULTS)
}

/// Largest list file.
const LIST_BYTES_MAX: u64 = 1024 * 1024;
/// Most opening braces of one pattern: its compiler calls itself for each that stands in another.
const BRACES_MAX: usize = 64;
/// Most lists kept compiled.
const LISTS_KEPT_MAX: usize = 4096;

/// One compiled list file.
#[derive(Debug)]
pub(super) struct PathList {
    matcher: Gitignore,
    /// Why it cannot be used, when it cannot.
    broken: Option<String>,
}

/// What a list says about a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ListVerdict {
    /// Nothing.
    Nothing,
    /// It names the path: line and pattern, or why the list is broken.
    Named(String),
    /// It takes the path out again.
    Excepted,
}

impl PathList {
    /// Asks about `path`, relative to the list's folder.
    pub(super) fn match_path(&self, path: &str, is_folder: bool) -> ListVerdict {
        if let Some(why) = &self.broken {
            return ListVerdict::Named(why.clone());
        }
        match self.matcher.matched(path, is_folder) {
            Match::None => ListVerdict::Nothing,
            Match::Whitelist(_) => ListVerdict::Excepted,
            Match::Ignore(glob) => {
                let line = glob.from().map(|line| line.display().to_string()).unwrap_or_default();
                ListVerdict::Named(format!("{line}: {}", glob.original()))
            }
        }
    }
    /// Whether it cannot be used.
    pub(super) fn is_broken(&self) -> bool {
        self.broken.is_some()
    }
    fn broken_list(why: String) -> PathList {
        PathList { matcher: Gitignore::empty(), broken: Some(why) }
    }
}

#[derive(Debug, PartialEq, Eq)]
struct ListFileStamp {
    inode: (u64, u64),
    size: u64,
    changed: (i64, i64),
    modified: (i64, i64),
}

/// Compiled lists by path.
#[derive(Debug, Default)]
pub(super) struct ListCache(Mutex<HashMap<PathBuf, (ListFileStamp, Arc<PathList>)>>);

impl ListCache {
    /// The list `name` in `folder`, if there is one.
    pub(super) fn load(&self, folder: &Path, name: &str) -> Option<Arc<PathList>> {
        let path = folder.join(name);
        let stamp = match std::fs::metadata(&path) {
            Ok(found) => ListFileStamp {
                inode: (found.dev(), found.ino()),
                size: found.size(),
                changed: (found.ctime(), found.ctime_nsec()),
                modified: (found.mtime(), found.mtime_nsec()),
            },
            Err(e) if is_absence(&e) => return None,
            Err(e) => {
                return Some(Arc::new(PathList::broken_list(format!(
                    " the list cannot be read: {e}"
                ))));
            }
        };
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((old, list)) = kept.get(&path)
            && *old == stamp
        {
            return Some(Arc::clone(list));
        }
        let list = Arc::new(compile_list(&path));
        if kept.len() >= LISTS_KEPT_MAX {
            kept.clear();
        }
        kept.insert(path, (stamp, Arc::clone(&list)));
        Some(list)
    }
}

/// A folder that is not there has no list. A link that leads nowhere counts as none as well: git
/// sees it so, and it cannot be told what it should have said.
fn is_absence(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

fn compile_list(path: &Path) -> PathList {
    let text = match read_bounded(path) {
        Ok(text) => text,
        Err(why) => return PathList::broken_list(format!(" the list cannot be read: {why}")),
    };
    let mut builder = GitignoreBuilder::new(".");
    for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let line: String = line.nfc().collect();
        // The number travels with the pattern, in the place meant for a file name.
        let number = index + 1;
        if !line.starts_with('#') && line.matches('{').count() > BRACES_MAX {
            return PathList::broken_list(format!(
                "{number}: it has more than {BRACES_MAX} braces; mend it"
            ));
        }
        if let Err(e) = builder.add_line(Some(PathBuf::from(number.to_string())), &line) {
            return PathList::broken_list(format!(
                "{number}: {line} is not a valid pattern ({e}); mend it"
            ));
        }
    }
    match builder.build() {
        Ok(matcher) => PathList { matcher, broken: None },
        Err(e) => PathList::broken_list(format!(" the list cannot be used: {e}")),
    }
}

fn read_bounded(path: &Path) -> Result<String, String> {
    let file = open_regular_file(path).map_err(|e| e.to_string())?;
    let mut bytes = Vec::new();
    file.take(LIST_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
    if bytes.len() as u64 > LIST_BYTES_MAX {
        return Err(format!("it is larger than {LIST_BYTES_MAX} bytes"));
    }
    let text = TextEncoding::of_file(&bytes).decode(&bytes)?;
    if text.contains(&0) {
        // Its patterns would name nothing, and nobody would be told.
        return Err("it is no text".into());
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}
