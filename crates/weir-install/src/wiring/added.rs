//! The folders that a person added to the workspace of a session (R7): which of them count, and what
//! their own files say about them. They only narrow: their deny and ask rules and their lists count, and
//! nothing else that stands in their `.weir`, trusted or not. Not here: how they are guarded
//! (`weir_engine::workspace`).

use std::path::{Path, PathBuf};

use weir_core::governance::rules::Rule;
use weir_core::session::SessionConfig;
use weir_core::view::plain::visible_text;
use weir_engine::workspace::Workspace;

use super::SessionOverrides;
use crate::config::ConfigFiles;
use crate::context::InstallationContext;
use crate::failure::usage;

/// Folders that one session may have beside its own.
pub const ADDED_FOLDERS_MAX: usize = 20;

/// The same program for a session with the folders that it had and those that are wished for.
///
/// # Errors
/// A usage error: a folder that is wished for cannot be used.
pub(super) fn with_session_folders(
    cx: &InstallationContext,
    wishes: &SessionOverrides,
    kept: Option<&SessionConfig>,
) -> anyhow::Result<InstallationContext> {
    let mut folders: Vec<PathBuf> = Vec::new();
    if cx.is_guest() {
        return match wishes.add_dirs.first() {
            None => cx.with_added_folders(folders),
            Some(folder) => Err(usage(format!(
                "{} cannot be added: your account works in its own folder alone",
                folder.display()
            ))),
        };
    }
    let kept = kept.filter(|_| !wishes.only_add_dirs);
    let had = kept.map(|kept| kept.rules.context().added_folders.as_slice()).unwrap_or_default();
    for folder in had {
        match still_usable(cx, Path::new(folder)) {
            Ok(()) => add_folder(&mut folders, PathBuf::from(folder)),
            Err(why) => cx.notify(&format!(
                "warning: {} is no longer part of this session: {why}; --add-dir adds it again",
                visible_text(folder)
            )),
        }
    }
    for folder in &wishes.add_dirs {
        let real = usable_folder(cx, folder).map_err(|why| {
            usage(format!("{} cannot be added with --add-dir: {why}", folder.display()))
        })?;
        match real.starts_with(&cx.folder) {
            true => cx.notify(&format!(
                "note: {} lies in the workspace already; it need not be added",
                folder.display()
            )),
            false => add_folder(&mut folders, real),
        }
    }
    if folders.len() > ADDED_FOLDERS_MAX {
        let many = folders.len();
        return Err(usage(format!(
            "{many} folders are too many for one session, which may have {ADDED_FOLDERS_MAX} beside its own; \
             add the folder that holds them"
        )));
    }
    cx.with_added_folders(folders)
}

/// Puts a folder to the others, unless one of them holds it; those that it holds go.
fn add_folder(folders: &mut Vec<PathBuf>, folder: PathBuf) {
    if folders.iter().any(|known| folder.starts_with(known)) {
        return;
    }
    folders.retain(|known| !known.starts_with(&folder));
    folders.push(folder);
}

/// What was added once leads where it led then: a link in its place would lead anywhere.
fn still_usable(cx: &InstallationContext, folder: &Path) -> Result<(), String> {
    let real = usable_folder(cx, folder)?;
    match real == folder {
        true => Ok(()),
        false => Err(format!("it leads to {} now", visible_text(&real.display().to_string()))),
    }
}

/// That a session of this folder may have another one beside it.
///
/// # Errors
/// Why not.
pub fn check_added_folder(cx: &InstallationContext, folder: &Path) -> Result<(), String> {
    match cx.is_guest() {
        true => Err("your account works in its own folder alone".to_owned()),
        false => usable_folder(cx, folder).map(drop),
    }
}

/// The folder without links, where a session may have it.
fn usable_folder(cx: &InstallationContext, folder: &Path) -> Result<PathBuf, String> {
    let real = std::fs::canonicalize(folder).map_err(|error| format!("{error}; name a folder"))?;
    if !real.is_dir() {
        return Err("it is not a folder".to_owned());
    }
    if real.to_str().is_none() {
        return Err("its path is not UTF-8, so no rule could name it".to_owned());
    }
    if real != cx.folder && cx.folder.starts_with(&real) {
        return Err("it holds the workspace; work in it instead, with -C".to_owned());
    }
    let own = cx.dirs.protected_folders();
    let own = own.iter().map(|own| std::fs::canonicalize(own).unwrap_or_else(|_| own.clone()));
    match own.into_iter().any(|own| real.starts_with(own)) {
        true => Err("Weir's own folders are not for tools".to_owned()),
        false => Ok(real),
    }
}

/// What the files of the added folders forbid or ask about, their patterns relative to their folder.
///
/// # Errors
/// A usage error that names a file which cannot be understood: what it forbids is not known then.
pub(super) fn added_rules(
    cx: &InstallationContext,
    workspace: &Workspace,
) -> anyhow::Result<Vec<Rule>> {
    let mut rules = Vec::new();
    for folder in workspace.added_folders() {
        let files =
            ConfigFiles::for_workspace(cx.installation_folders(), &cx.dirs, Path::new(folder));
        for raw in files.forbidding_rules()? {
            let rule = Rule::parse_anchored(raw.action, &raw.text, raw.origin, folder);
            rules.push(rule.map_err(|error| usage(error.to_string()))?);
        }
    }
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r7_one_folder_in_another_is_added_once() {
        let added = |wished: &[&str]| {
            let mut folders = Vec::new();
            wished.iter().for_each(|folder| add_folder(&mut folders, PathBuf::from(folder)));
            folders
        };
        assert_eq!(added(&["/b", "/b/c", "/bc"]), [Path::new("/b"), Path::new("/bc")]);
        assert_eq!(added(&["/b/c", "/b/d", "/b"]), [Path::new("/b")]);
    }
}
