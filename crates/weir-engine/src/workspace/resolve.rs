//! From a path as a model wrote it to what it means: real place, lists, canonical form.
//!
//! Nothing is opened here, and nothing found here is trusted later: every access goes through
//! directory handles and asks the guard again.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use unicode_normalization::UnicodeNormalization;
use weir_core::tool::{PathAccess, PathEffect, PathPlace};

use super::Workspace;
use super::beneath;
use super::guard::{PathKind, PathSpot};

/// Longest path that is looked at, in bytes.
const PATH_BYTES_MAX: usize = 4096;
/// Longest name of a file system entry, in bytes.
const NAME_BYTES_MAX: usize = 255;
/// Links followed before a path counts as a loop: what Linux allows.
const LINKS_MAX: usize = 40;

/// What [`Workspace::resolve`] does.
pub(super) fn resolve_path(workspace: &Workspace, text: &str, access: PathAccess) -> PathEffect {
    match follow_path(workspace, text, access) {
        Ok(effect) => effect,
        Err(why) => PathEffect {
            ignored: Some(why.clone()),
            protected: access.is_write().then_some(why),
            ..PathEffect::new(printable_path(text), access, PathPlace::Inside)
        },
    }
}

fn follow_path(
    workspace: &Workspace,
    text: &str,
    access: PathAccess,
) -> Result<PathEffect, String> {
    let written = parse_path(workspace, text)?;
    let (real, through_link) = real_path(&written.path, keeps_link(access))?;
    let seen = kind_of_path(&real);
    let spot = workspace.guard.spot_of(real);
    let place = match (spot.root, written.inside) {
        (Some(_), _) => PathPlace::Inside,
        // What the path says lies inside, and a link leads out.
        (None, true) => PathPlace::Escapes,
        (None, false) => PathPlace::Outside,
    };
    // Whoever means another folder can name it; a way that climbs out of this one is looked at (Z11).
    let climbs = (place == PathPlace::Outside && written.relative)
        .then(|| "it is named by a way that leads out of the workspace".to_owned());
    let mut verdict = workspace.guard.judge(&spot, seen);
    if through_link {
        // The name of the link may be closed although what it leads to is open.
        let named = workspace.guard.spot_of(lexical_path(&written.path));
        verdict.join(workspace.guard.judge(&named, seen));
    }
    let path = workspace.guard.shown_path(&spot);
    Ok(PathEffect {
        marked: workspace.mark_origin(&path, access),
        path,
        access,
        place,
        recursive: false,
        ignored: verdict.ignored,
        protected: verdict.protected,
        sensitive: verdict.sensitive.or(climbs),
    })
}

/// These act on a link itself, as `mv` and `rm` do.
fn keeps_link(access: PathAccess) -> bool {
    match access {
        PathAccess::Delete | PathAccess::MoveFrom | PathAccess::MoveTo => true,
        PathAccess::Read | PathAccess::List | PathAccess::Write | PathAccess::Create => false,
    }
}

struct WrittenPath {
    /// Absolute, links and `..` still in it.
    path: PathBuf,
    /// Below a root, as far as its words say: `..` is followed, links are not.
    inside: bool,
    /// It begins at the root of the workspace, and neither at the home nor at that of the machine.
    relative: bool,
}

fn parse_path(workspace: &Workspace, text: &str) -> Result<WrittenPath, String> {
    if text.contains('\0') {
        return Err("the path contains a NUL byte; write it without".to_owned());
    }
    if text.len() > PATH_BYTES_MAX {
        return Err(format!("the path is longer than {PATH_BYTES_MAX} bytes"));
    }
    if text.split('/').any(|name| name.len() > NAME_BYTES_MAX) {
        return Err(format!("a name in the path is longer than {NAME_BYTES_MAX} bytes"));
    }
    if text == "~" || text.starts_with("~/") {
        let home = workspace.guard.home().ok_or("no home folder is known; write the whole path")?;
        let below = text[1..].trim_start_matches('/');
        let path = if below.is_empty() { home.to_path_buf() } else { home.join(below) };
        return Ok(WrittenPath { inside: workspace.is_under_root(&path), path, relative: false });
    }
    let path = Path::new(text);
    if path.is_absolute() {
        let path = path.to_path_buf();
        let inside = workspace.is_under_root(&lexical_path(&path));
        return Ok(WrittenPath { inside, path, relative: false });
    }
    let path = workspace.root().join(path);
    Ok(WrittenPath { inside: workspace.is_under_root(&lexical_path(&path)), path, relative: true })
}

/// Follows links and `..`. The end may be missing. Also whether a link was followed.
fn real_path(written: &Path, keep_last_link: bool) -> Result<(PathBuf, bool), String> {
    let mut queue: VecDeque<OsString> = path_names(written);
    let mut real = PathBuf::from("/");
    let mut links = 0;
    while let Some(name) = queue.pop_front() {
        if name == ".." {
            real.pop();
            continue;
        }
        let Some(found) = real_name(&real, &name) else {
            real.push(nfc_name(&name));
            continue;
        };
        let at = real.join(&found);
        let target =
            if queue.is_empty() && keep_last_link { None } else { std::fs::read_link(&at).ok() };
        let Some(target) = target else {
            real = at;
            continue;
        };
        links += 1;
        if links > LINKS_MAX {
            return Err("its symbolic links go in a circle".to_owned());
        }
        if target.is_absolute() {
            real = PathBuf::from("/");
        }
        for name in path_names(&target).into_iter().rev() {
            queue.push_front(name);
        }
    }
    if real.as_os_str().len() > PATH_BYTES_MAX {
        return Err(format!("the path leads to one longer than {PATH_BYTES_MAX} bytes"));
    }
    Ok((real, links > 0))
}

fn path_names(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_os_string()),
            Component::ParentDir => Some(OsString::from("..")),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
        })
        .collect()
}

/// A path without `.` and `..`, as far as its words say: links are not followed.
pub(super) fn lexical_path(path: &Path) -> PathBuf {
    let mut out = PathBuf::from("/");
    for name in path_names(path) {
        if name == ".." {
            out.pop();
        } else {
            out.push(nfc_name(&name));
        }
    }
    out
}

fn nfc_name(name: &OsStr) -> OsString {
    match name.to_str() {
        Some(text) => text.nfc().collect::<String>().into(),
        None => name.to_os_string(),
    }
}

/// The entry of `folder` that `name` means: itself, or the one that is the same in NFC.
pub(super) fn real_name(folder: &Path, name: &OsStr) -> Option<OsString> {
    let exists = |name: &OsStr| std::fs::symlink_metadata(folder.join(name)).is_ok();
    if exists(name) {
        return Some(name.to_os_string());
    }
    let text = name.to_str()?;
    if text.is_ascii() {
        return None;
    }
    let composed: String = text.nfc().collect();
    let decomposed: String = text.nfd().collect();
    for form in [&composed, &decomposed] {
        if exists(OsStr::new(form)) {
            return Some(form.into());
        }
    }
    std::fs::read_dir(folder)
        .ok()?
        .take(beneath::FOLDER_NAMES_MAX)
        .filter_map(|entry| Some(entry.ok()?.file_name()))
        .find(|entry| entry.to_str().is_some_and(|e| e.nfc().eq(composed.chars())))
}

/// The names on the disk of a canonical path below `base`.
pub(super) fn real_names(base: &Path, canonical: &Path) -> PathBuf {
    if canonical.as_os_str().is_ascii() {
        return canonical.to_path_buf();
    }
    let mut below = PathBuf::new();
    for name in canonical.iter() {
        let found = real_name(&base.join(&below), name);
        below.push(found.as_deref().unwrap_or(name));
    }
    below
}

/// The kind of what lies at a real path.
pub(super) fn kind_of_path(real: &Path) -> PathKind {
    match std::fs::symlink_metadata(real) {
        Ok(found) if found.is_dir() => PathKind::Folder,
        Ok(_) => PathKind::File,
        Err(_) => PathKind::Missing,
    }
}

/// A path that cannot be used, in a form that can be shown and compared.
fn printable_path(text: &str) -> String {
    let shown: String = text
        .chars()
        .take(NAME_BYTES_MAX)
        .map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c })
        .collect();
    if shown.is_empty() { ".".to_owned() } else { shown }
}

/// Sets `recursive`, and for a change also what a list or rule says about anything below: a folder
/// is as closed as the most closed thing in it.
pub(super) fn with_below(workspace: &Workspace, mut at: PathEffect) -> PathEffect {
    at.recursive = true;
    if !at.access.is_write() || (at.ignored.is_some() && at.protected.is_some()) {
        return at;
    }
    let Ok(located) = workspace.locate(&at.path) else { return at };
    let mut waiting: Vec<PathSpot> = vec![located.spot];
    let mut seen_entries = 0_usize;
    while let Some(folder) = waiting.pop() {
        let Ok(entries) = std::fs::read_dir(&folder.real) else { continue };
        for entry in entries.filter_map(Result::ok) {
            seen_entries += 1;
            if seen_entries > super::BELOW_ENTRIES_MAX {
                let why = "it holds too many entries to look at each; take a smaller folder";
                at.protected.get_or_insert_with(|| why.to_owned());
                return at;
            }
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let spot = workspace.guard.spot_of(entry.path());
            let seen = if is_folder { PathKind::Folder } else { PathKind::File };
            let verdict = workspace.guard.judge(&spot, seen);
            let shown = workspace.guard.shown_path(&spot);
            let name = |why: String| format!("it holds {shown}: {why}");
            at.ignored = at.ignored.take().or(verdict.ignored.map(&name));
            at.protected = at.protected.take().or(verdict.protected.map(&name));
            at.sensitive = at.sensitive.take().or(verdict.sensitive.map(&name));
            if at.ignored.is_some() && at.protected.is_some() {
                return at;
            }
            if is_folder {
                waiting.push(spot);
            }
        }
    }
    at
}

/// A folder's real path; of one that does not exist yet, the path it will have.
pub(super) fn real_form(folder: &Path) -> PathBuf {
    let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
    real_path(&absolute, false).map_or(absolute, |(real, _)| real)
}
