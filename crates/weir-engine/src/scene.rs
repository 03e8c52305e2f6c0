//! A look at the world at the start of a run: instructions, workspace, time (P1 sections 14-16).

use std::path::{Path, PathBuf};

use weir_core::ids::Timestamp;
use weir_core::prompt::Scene;
use weir_core::tool::{Access, PathEffect, Place};

use crate::ports::Content;
use crate::workspace::{EntryKind, WalkOptions, Workspace};

/// Characters of all instruction files together (M2: a total cap with a visible notice).
const INSTRUCTIONS_MAX: usize = 40_000;
/// Bytes of one instruction file that are read.
const INSTRUCTION_FILE_MAX: u64 = 1 << 20;
/// Entries of the workspace's root that are named.
const ENTRIES_MAX: usize = 60;
/// Names of instruction files, the first found in a folder counts.
const INSTRUCTION_FILES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// What stays the same for every run of a session.
#[derive(Debug, Clone, Default)]
pub struct SceneOptions {
    /// The parts that were frozen into the system prompt, needed for the profile's instructions.
    pub base: Scene,
    /// The person's own folder of configuration, where a global `AGENTS.md` may stand.
    pub config_dir: Option<PathBuf>,
    /// IANA name of the time zone.
    pub timezone: String,
}

/// Looks. Blocks: call it on a blocking thread.
pub fn look(options: &SceneOptions, workspace: &Workspace, now: Timestamp) -> Scene {
    Scene {
        instructions: instructions(options, workspace),
        workspace: Some(structure(workspace)),
        clock: Some(clock(&options.timezone, now)),
        ..options.base.clone()
    }
}

/// The chain of instruction files: the person's own, then from the outermost folder of the
/// repository down to the workspace; the nearest comes last and wins.
fn instructions(options: &SceneOptions, workspace: &Workspace) -> Vec<(String, String)> {
    let mut found = Vec::new();
    if let Some(dir) = &options.config_dir {
        let path = dir.join("AGENTS.md");
        if let Some(text) = read_text(&path) {
            found.push(("your own AGENTS.md".to_string(), text));
        }
    }
    let root = workspace.root();
    for folder in chain(root).into_iter().filter(|folder| folder != root) {
        let file = INSTRUCTION_FILES.iter().map(|name| folder.join(name)).find(|p| p.is_file());
        if let Some(text) = file.as_deref().and_then(read_text) {
            let name = file.map(|path| path.display().to_string()).unwrap_or_default();
            found.push((name, text));
        }
    }
    for name in INSTRUCTION_FILES {
        let at = workspace.resolve(name, Access::Read);
        if at.ignored.is_some() || at.place != Place::Inside {
            continue;
        }
        // A command may have written it while foreign words stood in the context: what is marked
        // instructs nobody, whoever left it (Z1).
        if let Some(origin) = &at.marked {
            found.push((name.to_string(), left_out(name, origin)));
            break;
        }
        if let Some(text) = read_guarded(workspace, &at) {
            found.push((name.to_string(), text));
            break;
        }
    }
    capped(found)
}

fn left_out(name: &str, origin: &str) -> String {
    let origin: String = origin.chars().filter(|c| !c.is_control()).take(100).collect();
    format!(
        "[{name} was written while words from {origin} stood in the context and is left out; a \
         person vouches for it with `weir permissions unmark {name}`]"
    )
}

/// Folders from the repository's root down to `folder`; only `folder` where there is no repository.
fn chain(folder: &Path) -> Vec<PathBuf> {
    let above: Vec<&Path> = folder.ancestors().collect();
    let root = above.iter().position(|path| path.join(".git").exists()).unwrap_or(0);
    above[..=root].iter().rev().map(|path| path.to_path_buf()).collect()
}

fn read_text(path: &Path) -> Option<String> {
    let length = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?.len();
    if length > INSTRUCTION_FILE_MAX {
        let name = path.display();
        return Some(format!(
            "[{name} has {length} bytes and was left out: at most 1 MiB is read]"
        ));
    }
    std::fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

fn read_guarded(workspace: &Workspace, at: &PathEffect) -> Option<String> {
    match workspace.read(at, INSTRUCTION_FILE_MAX) {
        Ok(Content::File { bytes, .. }) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        Err(crate::workspace::FileError::TooLarge { path, bytes, max }) => {
            Some(format!("[{path} has {bytes} bytes and was left out: at most {max} are read]"))
        }
        _ => None,
    }
}

/// Keeps the nearest files whole and cuts the outermost first, visibly.
fn capped(mut found: Vec<(String, String)>) -> Vec<(String, String)> {
    let mut left = INSTRUCTIONS_MAX;
    for (path, text) in found.iter_mut().rev() {
        let length = text.chars().count();
        if length > left {
            let kept: String = text.chars().take(left).collect();
            *text = format!("{kept}\n[{path}: cut after {left} of {length} characters]");
            left = 0;
        } else {
            left -= length;
        }
    }
    found
}

/// Name of the folder, its top entries, and the git branch, where there is one.
fn structure(workspace: &Workspace) -> String {
    let root = workspace.root();
    let mut text = format!("Workspace: {}", root.display());
    if let Some(branch) = git_branch(root) {
        text.push_str(&format!(" (git branch {branch})"));
    }
    let options = WalkOptions {
        recursive: false,
        respect_gitignore: true,
        hidden: false,
        max_entries: ENTRIES_MAX,
    };
    let at = workspace.resolve(".", Access::List);
    if let Ok(walk) = workspace.walk(&at, options) {
        let name = |entry: &crate::workspace::Entry| match entry.kind {
            EntryKind::Folder => format!("{}/", entry.path),
            EntryKind::File | EntryKind::Link | EntryKind::Other => entry.path.clone(),
        };
        let names: Vec<String> = walk.entries.iter().map(name).collect();
        let more = if walk.truncated { ", …" } else { "" };
        let listed = if names.is_empty() { "nothing".into() } else { names.join(", ") };
        text.push_str(&format!("\nTop level: {listed}{more}"));
    }
    text
}

fn git_branch(root: &Path) -> Option<String> {
    let head = std::fs::read_to_string(root.join(".git/HEAD")).ok()?;
    let branch = head.trim().strip_prefix("ref: refs/heads/")?;
    Some(branch.chars().take(100).collect())
}

/// The date and time as a sentence, to the minute, in the configured zone.
pub fn clock(timezone: &str, now: Timestamp) -> String {
    let moment = jiff::Timestamp::from_microsecond(now.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    // Looking a name up walks the whole folder of zones first; the usual one needs no lookup.
    let zone = match timezone {
        "" | "UTC" => jiff::tz::TimeZone::UTC,
        name => jiff::tz::TimeZone::get(name).unwrap_or(jiff::tz::TimeZone::UTC),
    };
    moment.to_zoned(zone).strftime("Now: %A, %Y-%m-%d %H:%M (%Z)").to_string()
}
