//! All that instructs (M2): the person's rules and those of the workspace, and the chain of
//! `AGENTS.md` and `CLAUDE.md` files: the person's own, then from the root of the repository down to the
//! workspace.
//! Not here: how one is read, and those of folders below.

use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use weir_core::tool::{PathAccess, PathPlace};

use crate::regular_file::read_regular_file;
use crate::workspace::{EntryKind, WalkOptions, Workspace};

use super::deeper::is_foreign;
use super::reading::{InstructionFile, InstructionLocation, InstructionReader};

/// Characters of all of them together (M2: a total cap with a visible notice).
pub(super) const INSTRUCTIONS_MAX: usize = 40_000;
/// Names of instruction files. A folder may have each; one that says the same is told once.
pub(super) const INSTRUCTION_FILES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// Files of the person's own folder that are told to every agent.
const OWN_FILES: [&str; 3] = ["AGENTS.md", "SOUL.md", "USER.md"];
/// Largest files that are compared.
const SAME_BYTES_MAX: u64 = 1 << 20;
/// Where the rules of a workspace stand.
const RULES: &str = ".weir/rules";
/// Rules that are read from one folder.
const RULES_MAX: usize = 100;
/// Entries of a folder of rules that are looked at.
const ENTRIES_MAX: usize = 1_000;

/// Why a file that git ignores instructs nobody: whoever writes files can write a `.gitignore` too, and
/// then nothing shows that it is new (A5). Git's own list of one machine is written by a person only.
const UNVOUCHED: &str = "a .gitignore names it, so nobody sees that it changes; if it is yours, take it \
                         out of there and name it in .git/info/exclude";

/// What instructs here, in the order in which it is told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstructionSet {
    /// Rules: the person's, then the workspace's, each sorted by name.
    pub rules: Vec<InstructionFile>,
    /// The chain; the nearest comes last and wins.
    pub chain: Vec<InstructionFile>,
}

impl InstructionSet {
    /// Looks for it. `person` is the person's own folder. Blocks.
    pub fn for_workspace(workspace: &Workspace, person: Option<&Path>) -> InstructionSet {
        let mut reader = InstructionReader::new(workspace, person);
        let mut rules = person.map(own_rules).unwrap_or_default();
        let mut unseen = Vec::new();
        rules.extend(workspace_rules(workspace, &mut unseen));
        let chain = chain_files(workspace, person, &mut unseen);
        // An import of what is told anyway would tell it in the wrong place.
        rules.iter().chain(&chain).for_each(|(spot, _)| reader.mark_seen(spot));
        let mut groups = |roots: Vec<(InstructionLocation, String)>| -> Vec<Vec<InstructionFile>> {
            roots.iter().map(|(spot, name)| reader.read_with_imports(spot, name)).collect()
        };
        let (mut rules, mut chain) = (groups(rules), groups(chain));
        // Rules first, then the nearest files: the outermost give way.
        let order = rules.iter_mut().chain(chain.iter_mut().rev());
        limit_characters(order.flat_map(|group| group.iter_mut()), INSTRUCTIONS_MAX);
        let mut chain: Vec<InstructionFile> = chain.into_iter().flatten().collect();
        chain.splice(0..0, unseen);
        InstructionSet { rules: rules.into_iter().flatten().collect(), chain }
    }
}

/// What stands in the place of a file that instructs, and is none: its path and what it is. `person` is the
/// person's own folder.
pub fn find_unreadable_instructions(
    root: &Path,
    person: Option<&Path>,
) -> Vec<(PathBuf, &'static str)> {
    let own = person.into_iter().flat_map(|folder| OWN_FILES.map(|name| folder.join(name)));
    let folders = repository_folders_above(root).into_iter().chain([root.to_path_buf()]);
    let chain = folders.flat_map(|folder| INSTRUCTION_FILES.map(|name| folder.join(name)));
    own.chain(chain).filter_map(|path| kind_of_no_file(&path).map(|kind| (path, kind))).collect()
}

/// What is at this path, where it is there and no file: nobody waits for a pipe, and a folder says nothing.
fn kind_of_no_file(path: &Path) -> Option<&'static str> {
    let found = path.metadata().ok()?.file_type();
    match () {
        () if found.is_file() => None,
        () if found.is_dir() => Some("a folder"),
        () if found.is_fifo() => Some("a named pipe"),
        () if found.is_socket() => Some("a socket"),
        () => Some("a device"),
    }
}

/// As the scene has them: what the model is not told is not among them.
pub(super) fn instruction_texts(found: Vec<InstructionFile>) -> Vec<(String, String)> {
    found.into_iter().filter(|one| !one.text.is_empty()).map(|one| (one.name, one.text)).collect()
}

/// Cuts what comes after the first `max` characters, visibly.
pub(super) fn limit_characters<'a>(
    order: impl Iterator<Item = &'a mut InstructionFile>,
    max: usize,
) {
    let mut left = max;
    for one in order {
        let length = one.text.chars().count();
        if length <= left {
            left -= length;
            continue;
        }
        let why = format!("all instructions together have at most {max} characters");
        let kept: String = one.text.chars().take(left).collect();
        one.text = match kept.trim().is_empty() {
            true => format!("[left out: {why}; read it with read_file where it matters]"),
            false => {
                format!("{}\n[cut after {left} of {length} characters: {why}]", kept.trim_end())
            }
        };
        one.left_out = Some(why);
        left = 0;
    }
}

fn is_rule(name: &str) -> bool {
    name.ends_with(".md") && !name.starts_with('.')
}

/// `rules/*.md` of the person's own folder.
fn own_rules(folder: &Path) -> Vec<(InstructionLocation, String)> {
    let Ok(entries) = std::fs::read_dir(folder.join("rules")) else { return Vec::new() };
    let name = |entry: std::fs::DirEntry| entry.file_name().into_string().ok();
    let names = entries.take(ENTRIES_MAX).filter_map(Result::ok).filter_map(name);
    let mut names: Vec<String> = names.filter(|name| is_rule(name)).collect();
    names.sort();
    names.truncate(RULES_MAX);
    // Without links, as the reader has the folder: what it imports is held against that.
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf()).join("rules");
    let spot = |name: String| {
        (InstructionLocation::Person(folder.join(&name)), format!("rules/{name} of the person"))
    };
    names.into_iter().map(spot).collect()
}

/// `.weir/rules/*.md` of the workspace. What a list hides goes to `unseen`.
fn workspace_rules(
    workspace: &Workspace,
    unseen: &mut Vec<InstructionFile>,
) -> Vec<(InstructionLocation, String)> {
    // Most workspaces have none: one look says so.
    if !workspace.root().join(RULES).is_dir() {
        return Vec::new();
    }
    let at = workspace.resolve(RULES, PathAccess::List);
    let why = match (&at.place, &at.ignored) {
        (PathPlace::Inside, None) => None,
        (PathPlace::Inside, Some(list)) => Some(format!("it is ignored ({list})")),
        (PathPlace::Outside | PathPlace::Escapes, _) => {
            Some("it leads out of the workspace".to_string())
        }
    };
    if let Some(why) = why {
        unseen.push(InstructionFile {
            text: String::new(),
            ..InstructionFile::with_refusal(RULES, why)
        });
        return Vec::new();
    }
    let options = WalkOptions {
        recursive: false,
        // Rules of one's own are often kept out of the repository.
        respect_gitignore: false,
        hidden: false,
        max_entries: ENTRIES_MAX,
    };
    let entries = workspace.walk(&at, options).map(|walk| walk.entries).unwrap_or_default();
    let is_file = |kind: EntryKind| matches!(kind, EntryKind::File | EntryKind::Link);
    let names = entries.iter().filter(|entry| is_file(entry.kind)).map(|entry| &entry.path);
    let mut names: Vec<&String> =
        names.filter(|path| path.rsplit('/').next().is_some_and(is_rule)).collect();
    names.sort();
    names.truncate(RULES_MAX);
    unseen.extend(hidden_rules(workspace, &names));
    let spot = |path: &String| {
        (InstructionLocation::Workspace(workspace.resolve(path, PathAccess::Read)), path.clone())
    };
    names.into_iter().map(spot).collect()
}

/// Rules that a list hides: for the person to see, not for the model.
fn hidden_rules(workspace: &Workspace, shown: &[&String]) -> Vec<InstructionFile> {
    let Ok(entries) = std::fs::read_dir(workspace.root().join(RULES)) else { return Vec::new() };
    let name = |entry: std::fs::DirEntry| entry.file_name().into_string().ok();
    let names = entries.take(ENTRIES_MAX).filter_map(Result::ok).filter_map(name);
    let paths = names.filter(|name| is_rule(name)).map(|name| format!("{RULES}/{name}"));
    let mut paths: Vec<String> = paths.filter(|path| !shown.contains(&path)).collect();
    paths.sort();
    let hidden = |path: String| {
        let list = workspace.resolve(&path, PathAccess::Read).ignored?;
        let why = format!("it is ignored ({list})");
        Some(InstructionFile { text: String::new(), ..InstructionFile::with_refusal(&path, why) })
    };
    paths.into_iter().filter_map(hidden).collect()
}

/// The files of the chain, the outermost first.
fn chain_files(
    workspace: &Workspace,
    person: Option<&Path>,
    unseen: &mut Vec<InstructionFile>,
) -> Vec<(InstructionLocation, String)> {
    let mut found = Vec::new();
    if let Some(path) = person.map(|folder| folder.join("AGENTS.md")).filter(|path| path.is_file())
    {
        found.push((InstructionLocation::Person(path), "AGENTS.md of the person".to_string()));
    }
    let root = workspace.root();
    for folder in repository_folders_above(root) {
        let mut told: Vec<PathBuf> = Vec::new();
        for path in INSTRUCTION_FILES.iter().map(|name| folder.join(name)) {
            if path.is_file() && !told.iter().any(|other| says_the_same(other, &path)) {
                told.push(path.clone());
                let name = path.display().to_string();
                found.push((InstructionLocation::Above(path), name));
            }
        }
    }
    let mut told: Vec<PathBuf> = Vec::new();
    for name in INSTRUCTION_FILES {
        let file = root.join(name);
        if let Some(kind) = kind_of_no_file(&file) {
            // For the person to see; for the model it is not there.
            let refused = InstructionFile::with_refusal(name, format!("it is {kind}"));
            unseen.push(InstructionFile { text: String::new(), ..refused });
            continue;
        }
        if !file.is_file() || told.iter().any(|other| says_the_same(other, &file)) {
            continue;
        }
        let at = workspace.resolve(name, PathAccess::Read);
        if at.ignored.is_none() && is_foreign(workspace, name) {
            unseen.push(InstructionFile::with_refusal(name, UNVOUCHED.to_owned()));
            continue;
        }
        match &at.ignored {
            Some(list) => {
                let why = format!("it is ignored ({list})");
                unseen.push(InstructionFile {
                    text: String::new(),
                    ..InstructionFile::with_refusal(name, why)
                });
            }
            None => {
                told.push(file);
                found.push((InstructionLocation::Workspace(at), name.to_string()));
            }
        }
    }
    found
}

/// Whether two files are one, or hold the same: many a `CLAUDE.md` is a link to `AGENTS.md`, or a copy.
pub(super) fn says_the_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    let length = |path: &Path| path.metadata().ok().map(|meta| meta.len());
    if real(one).is_some_and(|path| Some(path) == real(other)) {
        return true;
    }
    let same_length =
        length(one).is_some_and(|bytes| bytes <= SAME_BYTES_MAX && Some(bytes) == length(other));
    let bytes = |path: &Path| read_regular_file(path, SAME_BYTES_MAX).ok();
    same_length && bytes(one).is_some_and(|text| Some(text) == bytes(other))
}

/// Folders of the repository above `folder`, the outermost first; none where it is no repository.
fn repository_folders_above(folder: &Path) -> Vec<PathBuf> {
    let all: Vec<&Path> = folder.ancestors().collect();
    let root = all.iter().position(|path| path.join(".git").exists()).unwrap_or(0);
    all[..=root].iter().skip(1).rev().map(|path| path.to_path_buf()).collect()
}
