//! Instruction files of folders below the workspace's root (M2): told when a call touches their
//! folder, and again at a later run when they changed. Not here: those from the root upwards.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use weir_core::event::PromptNote;
use weir_core::prompt;
use weir_core::tool::{PathAccess, PathPlace};

use crate::workspace::{WalkOptions, Workspace};

use super::chain::{INSTRUCTION_FILES, INSTRUCTIONS_MAX, limit_characters, says_the_same};
use super::reading::{InstructionLocation, InstructionReader, InstructionStamp};

/// Characters that are told for one folder, in a large window.
const FOLDER_CHARS_MAX: usize = 10_000;
/// Part of a window's tokens that is told for one folder: one in so many. A token has more
/// characters than one, so this is less than a tenth.
const WINDOW_SHARE: u64 = 4;
/// Folders that are looked at for one call.
const FOLDERS_MAX: usize = 200;
/// Deepest folder that is looked at.
const DEPTH_MAX: usize = 32;
/// Entries of a folder that are looked at to see whether git ignores one.
const ENTRIES_MAX: usize = 20_000;
/// Folders of other people's code: what stands in them instructs nobody.
const FOREIGN_FOLDERS: [&str; 8] =
    ["node_modules", "vendor", "third_party", "site-packages", ".venv", "venv", ".git", ".weir"];

/// What was found below, and what of it was told. One per session and process.
#[derive(Debug, Default)]
pub struct NestedInstructions {
    known: Mutex<BTreeMap<String, CachedInstruction>>,
}

/// An instruction file as it was read last.
#[derive(Debug, Clone)]
struct CachedInstruction {
    /// It, what it imports, and what decides whether it counts.
    stamps: Vec<InstructionStamp>,
    /// Whether somebody has marked it since.
    marked: Option<String>,
    /// What is told of it; `None`: nothing.
    text: Option<String>,
}

impl NestedInstructions {
    /// The notes of the folders that hold `paths` of the workspace. The same note comes again as
    /// long as its file is the same: the session knows what it was told. `window` is the model's in
    /// tokens, 0 where nobody knows. Blocks.
    pub fn notes_for_paths(
        &self,
        workspace: &Workspace,
        paths: &[String],
        window: u64,
    ) -> Vec<PromptNote> {
        let folders = folders_of_paths(workspace, paths);
        let files = folders.into_iter().flat_map(|folder| files_in(workspace, &folder));
        let found =
            files.filter_map(|path| Some((self.instruction_text(workspace, &path, window)?, path)));
        found.map(|(text, path)| prompt::nested_instructions_note(&path, &text)).collect()
    }

    /// Those that the model was `told` of, as they are now: path and text. Blocks.
    pub fn reread_instructions(
        &self,
        workspace: &Workspace,
        told: &[String],
        window: u64,
    ) -> Vec<(String, String)> {
        let gone = "[It is no longer there: what it said does not hold any more.]";
        let now = |path: &String| {
            let text =
                self.instruction_text(workspace, path, window).unwrap_or_else(|| gone.into());
            (path.clone(), text)
        };
        told.iter().map(now).collect()
    }

    fn instruction_text(&self, workspace: &Workspace, path: &str, window: u64) -> Option<String> {
        let at = workspace.resolve(path, PathAccess::Read);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(path)
            && known.marked == at.marked
            && known.stamps.iter().all(InstructionStamp::still_holds)
        {
            return known.text.clone();
        }
        let others = known.iter().filter(|(other, _)| *other != path);
        let used: usize = others.filter_map(|(_, known)| Some(known.text.as_ref()?.len())).sum();
        let room = folder_char_limit(window).min(INSTRUCTIONS_MAX.saturating_sub(used));
        let marked = at.marked.clone();
        let counts = at.place == PathPlace::Inside && !is_foreign(workspace, path);
        let mut reader = InstructionReader::new(workspace, None);
        let text = counts
            .then(|| read_as_text(&mut reader, &InstructionLocation::Workspace(at), path, room))
            .flatten();
        let mut stamps = reader.stamps;
        stamps.push(InstructionStamp::for_path(workspace.root().join(path)));
        known.insert(path.to_string(), CachedInstruction { stamps, marked, text: text.clone() });
        text
    }
}

/// Characters for one folder in a window of so many tokens.
fn folder_char_limit(window: u64) -> usize {
    match window {
        0 => FOLDER_CHARS_MAX,
        window => usize::try_from(window / WINDOW_SHARE)
            .map_or(FOLDER_CHARS_MAX, |chars| chars.min(FOLDER_CHARS_MAX)),
    }
}

/// The file with its imports as one text; `None`: there is nothing to tell.
fn read_as_text(
    reader: &mut InstructionReader<'_>,
    spot: &InstructionLocation,
    path: &str,
    room: usize,
) -> Option<String> {
    let mut found = reader.read_with_imports(spot, path);
    limit_characters(found.iter_mut(), room);
    let mut found = found.into_iter().filter(|one| !one.text.trim().is_empty());
    let first = found.next()?.text;
    let imports = found.map(|one| format!("\n\n### {}\n{}", one.name, one.text.trim()));
    Some(format!("{}{}", first.trim(), imports.collect::<String>()))
}

/// The folders strictly below the root that hold these paths, the outermost first, each once. A folder that
/// was added to the workspace is one of them itself: nobody has read what stands at its top.
fn folders_of_paths(workspace: &Workspace, paths: &[String]) -> Vec<String> {
    let mut found = BTreeSet::new();
    for path in paths {
        let path = path.trim_end_matches('/');
        if path.is_empty() || path == "." {
            continue;
        }
        let begin = match path.starts_with('/') {
            false => 0,
            true => match added_folder_of(workspace, path) {
                Some(added) => added.len(),
                None => continue,
            },
        };
        // The last name may be a folder itself: it is looked into like the others.
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        for end in ends.filter(|end| *end >= begin.max(1)).take(DEPTH_MAX) {
            found.insert(path[..end].to_string());
            if found.len() >= FOLDERS_MAX {
                return found.into_iter().collect();
            }
        }
    }
    found.into_iter().collect()
}

/// The added folder that an absolute path lies in, the innermost one.
fn added_folder_of(workspace: &Workspace, path: &str) -> Option<String> {
    let holding = workspace.added_folders().filter(|folder| Path::new(path).starts_with(folder));
    holding.max_by_key(|folder| folder.len()).map(String::from)
}

/// The instruction files of a folder. A look at the disk for each name; only two files of one length are
/// opened.
fn files_in(workspace: &Workspace, folder: &str) -> Vec<String> {
    let mut found: Vec<(std::path::PathBuf, String)> = Vec::new();
    for name in INSTRUCTION_FILES {
        let file = workspace.root().join(folder).join(name);
        if file.is_file() && !found.iter().any(|(other, _)| says_the_same(other, &file)) {
            found.push((file, format!("{folder}/{name}")));
        }
    }
    found.into_iter().map(|(_, path)| path).collect()
}

/// Whether a file stands in somebody else's code: by the name of a folder, or because git ignores
/// it. Its folders are listed for that, so this is asked once for each state of a file.
pub(super) fn is_foreign(workspace: &Workspace, path: &str) -> bool {
    let named = |folder: &str| FOREIGN_FOLDERS.contains(&folder);
    let added = added_folder_of(workspace, path).filter(|_| path.starts_with('/'));
    // Where a person put the folder that they added says nothing of what lies in it.
    let begin = added.as_ref().map_or(0, String::len);
    if path[begin..].split('/').any(named) {
        return true;
    }
    let root = added.as_deref().map_or(workspace.root(), Path::new);
    if !in_repository(root) {
        return false;
    }
    let options = WalkOptions {
        recursive: false,
        respect_gitignore: true,
        hidden: true,
        max_entries: ENTRIES_MAX,
    };
    let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
    let mut folder = added.as_deref().unwrap_or(".");
    for end in ends.filter(|end| added.is_none() || *end > begin) {
        let at = workspace.resolve(folder, PathAccess::List);
        let listed = workspace.walk(&at, options).is_ok_and(|walk| {
            walk.truncated || walk.entries.iter().any(|entry| entry.path == path[..end])
        });
        if !listed {
            return true;
        }
        folder = &path[..end];
    }
    false
}

fn in_repository(root: &Path) -> bool {
    root.ancestors().any(|folder| folder.join(".git").exists())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::WorkspaceOptions;

    #[test]
    fn m2_the_folders_of_a_path_are_those_below_the_root() {
        let folder = weir_test_kit::TestFolder::new();
        folder.write("added/x/y.rs", "");
        let (root, added) = (folder.at("work"), folder.at("added"));
        std::fs::create_dir(&root).expect("made");
        let extra_roots = vec![added.clone()];
        let options = WorkspaceOptions { root, extra_roots, own_folders: Vec::new() };
        let workspace = Workspace::open(options).expect("it can be opened");
        let of = |paths: &[&str]| {
            let paths: Vec<String> = paths.iter().map(ToString::to_string).collect();
            folders_of_paths(&workspace, &paths)
        };
        let added = std::fs::canonicalize(added).expect("there").display().to_string();
        let below = |path: &str| format!("{added}{path}");
        assert_eq!(of(&[&below("/x/y.rs")]), [below(""), below("/x"), below("/x/y.rs")]);
        assert_eq!(of(&["a/b/c.rs", "a/d.rs", "e.rs"]), ["a", "a/b", "a/b/c.rs", "a/d.rs", "e.rs"]);
        assert_eq!(of(&[".", "", "/etc/passwd"]), Vec::<String>::new());
        assert_eq!(of(&["src/"]), ["src"]);
        let deep = vec!["x"; 100].join("/");
        assert_eq!(of(&[&deep]).len(), DEPTH_MAX);
        let many: Vec<String> = (0..1_000).map(|n| format!("f{n}/a.rs")).collect();
        assert_eq!(folders_of_paths(&workspace, &many).len(), FOLDERS_MAX);
    }

    #[test]
    fn p4_a_small_window_has_less_room() {
        assert_eq!(
            (folder_char_limit(0), folder_char_limit(8_000), folder_char_limit(u64::MAX)),
            (10_000, 2_000, 10_000)
        );
    }
}
