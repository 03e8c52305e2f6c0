//! The files of a workspace that trust is about: which there are, and what each says as a hash.
//!
//! The walk is bounded and never leaves the workspace: a link that leads out, a thing that is no
//! file, or too much of anything is a reason not to trust, never something to leave out.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use sha2::{Digest, Sha256};

/// Files and folders that make the program do something: a change of any of them ends trust.
/// Another one is a line here. `.claude/agents` holds profiles, as `.weir/profiles` does.
const PLACES: [&str; 12] = [
    ".weir/config.toml",
    ".weir/skills",
    ".weir/rules",
    ".weir/plugins",
    ".weir/profiles",
    ".weir/workflows",
    ".weir/hooks",
    ".weir/tools",
    ".mcp.json",
    ".agents/skills",
    ".claude/skills",
    ".claude/agents",
];

/// Most files and folders that are looked at.
const ENTRIES_MAX: usize = 2_000;
/// Most bytes that are read of all of them together.
const BYTES_MAX: u64 = 32 << 20;
/// How deep folders may lie in each other.
const DEPTH_MAX: usize = 24;
/// Bytes that are read at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// Path in the workspace to the SHA-256 of the content, in hex.
pub type FileSnapshot = BTreeMap<String, String>;

/// A file that trust is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GovernedFile {
    /// Path of the file, relative to the workspace.
    pub path: String,
    /// Which of the places it belongs to.
    pub place: &'static str,
    /// Where it really lies, in the workspace too.
    pub real: PathBuf,
    /// Somebody may execute it.
    pub(crate) is_executable: bool,
}

/// Every governed file of `workspace`, which is a path without links.
///
/// # Errors
/// Why this workspace cannot be trusted, and what to do.
pub fn find_governed_files(workspace: &Path) -> Result<Vec<GovernedFile>, String> {
    let mut walk = GovernedWalk { workspace, place: "", found: Vec::new(), entries: 0, bytes: 0 };
    for place in PLACES.into_iter().filter(|place| may_be_there(workspace, place)) {
        walk.place = place;
        walk.visit_path(place, &mut Vec::new())?;
    }
    Ok(walk.found)
}

/// Whether there can be something at `place`: one look where the folder that would hold it is not there, as
/// in most workspaces, in the place of one at each folder above. What cannot be told may be there.
fn may_be_there(workspace: &Path, place: &str) -> bool {
    let first = place.split('/').next().unwrap_or(place);
    match fs::symlink_metadata(workspace.join(first)) {
        Ok(_) => true,
        Err(error) => error.kind() != ErrorKind::NotFound,
    }
}

/// What the files say.
///
/// # Errors
/// One of them cannot be read, or grew meanwhile.
pub fn snapshot_files(found: &[GovernedFile]) -> Result<FileSnapshot, String> {
    let mut left = BYTES_MAX;
    let hashed = found.iter().map(|file| {
        let wrong = |error: std::io::Error| format!("{} cannot be read: {error}", file.path);
        let (hash, length) = hash(&file.real, left).map_err(wrong)?;
        left = left.checked_sub(length).ok_or_else(too_long)?;
        Ok((file.path.clone(), hash))
    });
    hashed.collect()
}

/// The text of a governed file, for showing; `max` bytes at most.
pub(crate) fn read_governed_text(file: &GovernedFile, max: u64) -> Result<String, String> {
    let mut bytes = Vec::new();
    open_without_links(&file.real)
        .and_then(|opened| opened.take(max + 1).read_to_end(&mut bytes))
        .map_err(|error| format!("{} cannot be read: {error}", file.path))?;
    if bytes.len() as u64 > max {
        return Err(format!("{} is longer than {max} bytes", file.path));
    }
    String::from_utf8(bytes).map_err(|_| format!("{} is not valid UTF-8", file.path))
}

/// The first bytes of a governed file; fewer when it is shorter or cannot be read.
pub(crate) fn read_first_bytes(file: &GovernedFile, length: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let read = open_without_links(&file.real)
        .and_then(|opened| opened.take(length).read_to_end(&mut bytes));
    if read.is_err() {
        bytes.clear();
    }
    bytes
}

struct GovernedWalk<'a> {
    workspace: &'a Path,
    place: &'static str,
    found: Vec<GovernedFile>,
    entries: usize,
    bytes: u64,
}

impl GovernedWalk<'_> {
    /// Looks at `path`. `above` are the real folders it was reached through.
    fn visit_path(&mut self, path: &str, above: &mut Vec<PathBuf>) -> Result<(), String> {
        let real = match fs::canonicalize(self.workspace.join(path)) {
            Ok(real) => real,
            // A link to nothing is nothing until there is something.
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return Ok(());
            }
            Err(error) => return Err(format!("{path} cannot be looked at: {error}")),
        };
        if !real.starts_with(self.workspace) {
            let real = real.display();
            return Err(format!(
                "{path} leads out of the workspace, to {real}; put the thing itself there"
            ));
        }
        let wrong = |error: std::io::Error| format!("{path} cannot be looked at: {error}");
        let found = fs::symlink_metadata(&real).map_err(wrong)?;
        self.count_entries(1)?;
        if found.is_dir() {
            return self.visit_folder(path, real, above);
        }
        if !found.is_file() {
            return Err(format!("{path} is neither a file nor a folder; remove it"));
        }
        self.bytes = self.bytes.saturating_add(found.len());
        if self.bytes > BYTES_MAX {
            return Err(too_long());
        }
        let is_executable = found.mode() & 0o111 != 0;
        self.found.push(GovernedFile { path: path.into(), place: self.place, real, is_executable });
        Ok(())
    }

    fn visit_folder(
        &mut self,
        path: &str,
        real: PathBuf,
        above: &mut Vec<PathBuf>,
    ) -> Result<(), String> {
        // A link to a folder above: everything in it is looked at already.
        if above.contains(&real) {
            return Ok(());
        }
        if above.len() >= DEPTH_MAX {
            return Err(format!("{path} lies more than {DEPTH_MAX} folders deep"));
        }
        let wrong = |error: std::io::Error| format!("{path} cannot be listed: {error}");
        let mut names = Vec::new();
        for entry in fs::read_dir(&real).map_err(wrong)? {
            let name = entry.map_err(wrong)?.file_name().into_string();
            names.push(name.map_err(|name| {
                let name = name.display();
                format!("{path} holds a name that is not valid UTF-8 ({name}); rename it")
            })?);
            // Counted for good when it is visited; here a huge folder ends early.
            if self.entries + names.len() > ENTRIES_MAX {
                return Err(too_many());
            }
        }
        names.sort_unstable();
        above.push(real);
        for name in names {
            self.visit_path(&format!("{path}/{name}"), above)?;
        }
        above.pop();
        Ok(())
    }

    fn count_entries(&mut self, more: usize) -> Result<(), String> {
        self.entries += more;
        if self.entries > ENTRIES_MAX { Err(too_many()) } else { Ok(()) }
    }
}

fn too_many() -> String {
    format!(
        "there are more than {ENTRIES_MAX} files and folders in .weir, .agents and .claude that \
         trust would be about; move what does not belong there elsewhere"
    )
}

fn too_long() -> String {
    format!(
        "the files in .weir, .agents and .claude that trust would be about are longer than \
         {BYTES_MAX} bytes together; move what does not belong there elsewhere"
    )
}

/// Opens a file of the workspace. It was a file without links a moment ago; should it be something
/// else by now, this neither follows nor waits.
fn open_without_links(real: &Path) -> std::io::Result<fs::File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC).bits();
    let file = OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(real)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("it is not a file"));
    }
    Ok(file)
}

/// The hash of a file and how much was read; at most one byte more than `max`.
fn hash(real: &Path, max: u64) -> std::io::Result<(String, u64)> {
    let mut file = open_without_links(real)?.take(max + 1);
    let mut hasher = Sha256::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut length = 0;
    loop {
        let read = file.read(&mut chunk)?;
        if read == 0 {
            break;
        }
        length += read as u64;
        hasher.update(&chunk[..read]);
    }
    let hash = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((hash, length))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn workspace() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().canonicalize().expect("it is there");
        (folder, path)
    }

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().expect("it has a folder")).expect("writable");
        fs::write(path, text).expect("writable");
    }

    fn paths(found: &[GovernedFile]) -> Vec<&str> {
        found.iter().map(|file| file.path.as_str()).collect()
    }

    #[test]
    fn c5_only_governed_files_are_found_in_order() {
        let (_folder, root) = workspace();
        for path in [".weir/config.toml", ".weir/tmp/x.md", "AGENTS.md", ".mcp.json"] {
            write(&root.join(path), "x");
        }
        write(&root.join(".weir/skills/b/run.sh"), "x");
        write(&root.join(".weir/skills/a/SKILL.md"), "x");
        let found = find_governed_files(&root).expect("all is well");
        let expected =
            [".weir/config.toml", ".weir/skills/a/SKILL.md", ".weir/skills/b/run.sh", ".mcp.json"];
        assert_eq!(paths(&found), expected);
        assert_eq!(snapshot_files(&found).expect("readable").len(), 4);
    }

    #[test]
    fn q19_a_place_that_came_since_the_last_look_is_found() {
        let (_folder, root) = workspace();
        let found = || find_governed_files(&root).expect("all is well");
        for (place, number) in PLACES.iter().zip(1..) {
            write(&root.join(place).join("file"), "x");
            assert_eq!(found().len(), number, "{place}");
        }
        fs::remove_dir_all(root.join(".weir")).expect("removable");
        assert_eq!(found().len(), 4);
        symlink("nowhere", root.join(".weir")).expect("a link");
        assert_eq!(found().len(), 4, "a link to nothing is nothing");
    }

    #[test]
    fn c5_links_are_followed_inside_and_a_circle_ends() {
        let (_folder, root) = workspace();
        write(&root.join("shared/skill/run.sh"), "x");
        fs::create_dir_all(root.join(".weir/skills")).expect("writable");
        symlink("../../shared/skill", root.join(".weir/skills/a")).expect("a link");
        symlink("..", root.join("shared/skill/up")).expect("a link");
        symlink("nowhere", root.join(".mcp.json")).expect("a link");
        let found = find_governed_files(&root).expect("all is well");
        assert!(paths(&found).contains(&".weir/skills/a/run.sh"), "{found:?}");
    }

    #[test]
    fn c5_what_leads_out_or_is_no_file_cannot_be_trusted() {
        let (_other, outside) = workspace();
        write(&outside.join("x"), "x");
        for place in [".weir/config.toml", ".weir/skills/a", ".weir"] {
            let (_folder, root) = workspace();
            fs::create_dir_all(root.join(place).parent().expect("a folder")).expect("writable");
            let target = if place == ".weir" { outside.clone() } else { outside.join("x") };
            if place == ".weir" {
                write(&outside.join("config.toml"), "x");
            }
            symlink(target, root.join(place)).expect("a link");
            let why = find_governed_files(&root).expect_err("it leads out");
            assert!(why.contains("leads out of the workspace"), "{why}");
        }
        let (_folder, root) = workspace();
        fs::create_dir_all(root.join(".weir/skills")).expect("writable");
        let socket = root.join(".weir/skills/socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
        assert!(
            find_governed_files(&root)
                .expect_err("a socket")
                .contains("neither a file nor a folder")
        );
    }

    #[test]
    fn z10_too_much_of_anything_cannot_be_trusted() {
        let (_folder, root) = workspace();
        let big = fs::create_dir_all(root.join(".weir"))
            .and_then(|()| fs::File::create(root.join(".weir/config.toml")))
            .expect("writable");
        big.set_len(BYTES_MAX + 1).expect("it is sparse");
        assert!(find_governed_files(&root).expect_err("too long").contains("longer than"));
        big.set_len(1).expect("it is sparse");
        let deep = format!(".weir/skills/{}", "d/".repeat(DEPTH_MAX + 1));
        fs::create_dir_all(root.join(deep)).expect("writable");
        assert!(find_governed_files(&root).expect_err("too deep").contains("folders deep"));
    }
}
