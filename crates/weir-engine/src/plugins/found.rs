//! Plugins where they lie: their files, what these say, and one hash over all of them. Everything here
//! blocks. Not here: whether a person switched them on.

use std::io::Read as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use weir_core::plugin::{
    PLUGIN_FILE, PLUGIN_FILE_BYTES_MAX, PluginManifest, PluginSnapshot, find_hidden_character,
    snapshot_text,
};
use weir_core::sorting::sort_stably;
use weir_core::tool::{PathAccess, PathPlace as Where};
use weir_core::view::plain::visible_text;

use super::parse::parse_manifest;
use crate::ports::FileContent;
use crate::workspace::{EntryKind, WalkOptions, Workspace};

/// The plugin that comes with the program.
pub(super) const OBSIDIAN: &str = include_str!("obsidian.toml");
/// Folder of plugins in a workspace.
pub(super) const OF_WORKSPACE: &str = ".weir/plugins";
/// Files of one plugin.
const FILES_MAX: usize = 300;
/// Largest file of one.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// Bytes of all files of one.
const BYTES_MAX: u64 = 16 << 20;
/// Folders in each other.
const DEPTH_MAX: usize = 8;
/// Plugins of one place.
pub(super) const PLUGINS_MAX: usize = 64;

/// Where a plugin lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PluginLocation {
    /// In the program.
    BuiltIn(&'static str),
    /// In the person's own folder.
    Own(PathBuf),
    /// In the workspace: its folder there.
    Workspace(String),
}

/// What is known of a plugin that can be used.
#[derive(Debug, Clone)]
pub(super) struct LoadedPlugin {
    pub(super) manifest: PluginManifest,
    pub(super) snapshot: PluginSnapshot,
    pub(super) hash: String,
    /// Names of its skills and prompts.
    pub(super) skills: Vec<String>,
    pub(super) prompts: Vec<String>,
    /// Its scripts with what runs each.
    pub(super) interpreters: Vec<(String, Vec<String>)>,
    /// What a person should look at twice.
    pub(super) notes: Vec<String>,
}

/// One file of a plugin.
pub(super) struct PluginFile {
    pub(super) path: String,
    pub(super) bytes: Vec<u8>,
    pub(super) executable: bool,
}

/// Everything that lies in its folder, in order.
///
/// # Errors
/// A sentence: too much, a link, or something that cannot be read.
pub(super) fn read_plugin_files(
    workspace: &Workspace,
    place: &PluginLocation,
) -> Result<Vec<PluginFile>, String> {
    let mut files = match place {
        PluginLocation::BuiltIn(text) => {
            let (path, bytes) = (PLUGIN_FILE.to_owned(), text.as_bytes().to_vec());
            vec![PluginFile { path, bytes, executable: false }]
        }
        PluginLocation::Own(folder) => {
            let path = folder.display().to_string();
            if let Some(origin) = workspace.resolve(&path, PathAccess::List).marked {
                return Err(marked_file_reason(&origin));
            }
            let mut files = Vec::new();
            gather_folder(folder, "", 0, &mut files)?;
            files
        }
        PluginLocation::Workspace(folder) => in_workspace(workspace, folder)?,
    };
    let bytes: u64 = files.iter().map(|file| file.bytes.len() as u64).sum();
    if bytes > BYTES_MAX {
        return Err(format!("it has more than {} MB", BYTES_MAX >> 20));
    }
    sort_stably(&mut files, |a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// What the files of a plugin called `id` come to. `shown` is its `plugin.toml` as people see it.
///
/// # Errors
/// What is wrong with it, with file and line where it has one.
pub(super) fn load_plugin_files(
    files: &[PluginFile],
    id: &str,
    shown: &str,
    base: Option<&str>,
) -> Result<LoadedPlugin, String> {
    let file = files.iter().find(|file| file.path == PLUGIN_FILE);
    let file = file.ok_or_else(|| format!("there is no {PLUGIN_FILE} in it"))?;
    if file.bytes.len() as u64 > PLUGIN_FILE_BYTES_MAX {
        return Err(format!("{shown} has more than {PLUGIN_FILE_BYTES_MAX} bytes"));
    }
    let text = std::str::from_utf8(&file.bytes).map_err(|_| format!("{shown} is no text"))?;
    let manifest = parse_manifest(text, shown, id, base)?;
    let mut interpreters = Vec::new();
    for script in manifest.scripts() {
        let found = files.iter().find(|file| file.path == script);
        let found = found.ok_or_else(|| format!("{shown}: there is no file {script} in it"))?;
        interpreters
            .push((script.to_owned(), crate::skills::script_interpreter(script, &found.bytes)?));
    }
    for (name, method) in &manifest.api {
        if let Some(schema) = &method.input_schema {
            jsonschema::draft202012::new(schema)
                .map_err(|why| format!("{shown}: api.{name}.input_schema is none: {why}"))?;
        }
    }
    let snapshot: PluginSnapshot =
        files.iter().map(|file| (file.path.clone(), hash(file))).collect();
    let skills = names_below(files, manifest.skills.as_deref(), "/SKILL.md");
    let prompts = names_below(files, manifest.prompts.as_deref(), ".md");
    Ok(LoadedPlugin {
        hash: digest_hex(snapshot_text(&snapshot).as_bytes()),
        notes: files.iter().filter_map(find_hidden_character_in_file).collect(),
        prompts: prompts.into_iter().map(|name| name.replace('/', ":")).collect(),
        skills,
        manifest,
        snapshot,
        interpreters,
    })
}

/// Names of the files below `folder` that end so, without that ending.
fn names_below(files: &[PluginFile], folder: Option<&str>, ending: &str) -> Vec<String> {
    let Some(folder) = folder.map(|folder| folder.trim_end_matches('/')) else { return Vec::new() };
    let name = |file: &PluginFile| {
        let rest = file.path.strip_prefix(folder)?.strip_prefix('/')?;
        rest.strip_suffix(ending).map(str::to_owned)
    };
    files.iter().filter_map(name).collect()
}

/// What in a file's text hides from whoever reads it.
fn find_hidden_character_in_file(file: &PluginFile) -> Option<String> {
    let text = std::str::from_utf8(&file.bytes).ok()?;
    let (line, c) = find_hidden_character(text)?;
    let path = visible_text(&file.path);
    Some(format!("{path}:{line} has the hidden character U+{:04X}", u32::from(c)))
}

fn hash(file: &PluginFile) -> String {
    let mode = if file.executable { "+x" } else { "" };
    format!("{}{mode}", digest_hex(&file.bytes))
}

fn digest_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn marked_file_reason(origin: &str) -> String {
    let origin: String = origin.chars().filter(|c| !c.is_control()).take(100).collect();
    format!(
        "a file of it was written while words from {origin} stood in the context; a person reads \
         it and vouches with `weir permissions unmark FILE`"
    )
}

fn in_workspace(workspace: &Workspace, folder: &str) -> Result<Vec<PluginFile>, String> {
    let at = workspace.resolve(folder, PathAccess::List);
    if at.path != folder || at.place != Where::Inside {
        return Err("it is a link; put the folder itself there".into());
    }
    let options = WalkOptions {
        recursive: true,
        respect_gitignore: false,
        hidden: true,
        max_entries: FILES_MAX * 2,
    };
    let walk = workspace.walk(&at, options).map_err(|error| error.to_string())?;
    let too_many = || format!("it has more than {FILES_MAX} files");
    if walk.truncated {
        return Err(too_many());
    }
    let mut files = Vec::new();
    for entry in walk.entries {
        match entry.kind {
            EntryKind::Folder => continue,
            EntryKind::Link | EntryKind::Other => return Err(no_file(&entry.path)),
            EntryKind::File if files.len() == FILES_MAX => return Err(too_many()),
            EntryKind::File => (),
        }
        let at = workspace.resolve(&entry.path, PathAccess::Read);
        if let Some(origin) = &at.marked {
            return Err(marked_file_reason(origin));
        }
        if let Some(why) = &at.ignored {
            return Err(format!("{} is closed ({why})", visible_text(&entry.path)));
        }
        let path = entry.path.strip_prefix(folder).and_then(|path| path.strip_prefix('/'));
        let path = path.ok_or_else(|| no_file(&entry.path))?.to_owned();
        match workspace.read(&at, FILE_BYTES_MAX).map_err(|error| error.to_string())? {
            FileContent::File { bytes, mode } => {
                files.push(PluginFile {
                    path,
                    bytes: bytes.to_vec(),
                    executable: mode & 0o111 != 0,
                });
            }
            _ => return Err(no_file(&entry.path)),
        }
    }
    Ok(files)
}

fn no_file(path: &str) -> String {
    format!("{} is neither a file nor a folder; a plugin has no links", visible_text(path))
}

fn gather_folder(
    root: &Path,
    below: &str,
    depth: usize,
    out: &mut Vec<PluginFile>,
) -> Result<(), String> {
    let wrong = |error: std::io::Error| format!("it cannot be read: {error}");
    for entry in std::fs::read_dir(root.join(below)).map_err(wrong)? {
        let entry = entry.map_err(wrong)?;
        let name = entry.file_name().into_string();
        let name = name.map_err(|_| "it has a file whose name is no text".to_owned())?;
        let path = if below.is_empty() { name } else { format!("{below}/{name}") };
        // Of the entry itself: what a link leads to does not count.
        let kind = entry.file_type().map_err(wrong)?;
        if kind.is_dir() && depth < DEPTH_MAX {
            gather_folder(root, &path, depth + 1, out)?;
            continue;
        }
        if !kind.is_file() {
            return Err(no_file(&path));
        }
        if out.len() == FILES_MAX {
            return Err(format!("it has more than {FILES_MAX} files"));
        }
        let mut options = std::fs::OpenOptions::new();
        let no_follow = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0);
        let file = options.read(true).custom_flags(no_follow).open(root.join(&path));
        let file = file.map_err(wrong)?;
        let mode = file.metadata().map_err(wrong)?.permissions().mode();
        let mut bytes = Vec::new();
        file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(wrong)?;
        if bytes.len() as u64 > FILE_BYTES_MAX {
            return Err(format!("{} has more than {FILE_BYTES_MAX} bytes", visible_text(&path)));
        }
        out.push(PluginFile { path, bytes, executable: mode & 0o111 != 0 });
    }
    Ok(())
}
