//! Which workspaces are trusted: `trust.json` in the state folder, where no tool can write. A file
//! that cannot be understood trusts nothing and is never overwritten.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};
use weir_core::ids::Timestamp;

use super::FileSnapshot;
use crate::failure::usage;

/// The form that is written.
const VERSION: u32 = 1;
/// Longest file that is read or written, in bytes.
const FILE_BYTES_MAX: usize = 16 << 20;

/// What a person trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrustRecord {
    /// When it was trusted, in microseconds since 1970 (UTC).
    pub trusted_at: Timestamp,
    /// Name of the person or schedule on whose behalf it was done.
    pub by: String,
    /// The governed files as they were.
    pub files: FileSnapshot,
}

/// The file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TrustFile {
    version: u32,
    workspaces: BTreeMap<String, TrustRecord>,
}

/// Every trusted workspace, by its path without links.
#[derive(Debug)]
pub struct TrustStore {
    path: PathBuf,
    workspaces: BTreeMap<String, TrustRecord>,
}

impl TrustStore {
    /// Where it is kept.
    pub(crate) fn file_of(state: &Path) -> PathBuf {
        state.join("trust.json")
    }

    /// Reads it; no file means that nothing is trusted.
    ///
    /// # Errors
    /// It cannot be read or believed: why, and what to do.
    pub fn read_from_state(state: &Path) -> Result<TrustStore, String> {
        let path = Self::file_of(state);
        let workspaces = read_trust_file(&path).map_err(|why| {
            let path = path.display();
            format!(
                "{path} {why}; nothing is trusted until you remove that file and trust your \
                 workspaces anew"
            )
        })?;
        Ok(TrustStore { path, workspaces })
    }

    /// The record of a trusted workspace; `None`: nobody trusted it.
    pub fn record(&self, workspace: &Path) -> Option<&TrustRecord> {
        self.workspaces.get(workspace.to_str()?)
    }

    /// Everything, ordered by path.
    pub fn all_records(&self) -> impl Iterator<Item = (&Path, &TrustRecord)> {
        self.workspaces.iter().map(|(path, record)| (Path::new(path), record))
    }

    /// Trusts a workspace.
    ///
    /// # Errors
    /// The file is damaged, or cannot be written.
    pub fn add_record(state: &Path, workspace: &Path, record: TrustRecord) -> anyhow::Result<()> {
        let name = workspace.to_str().ok_or_else(|| {
            let workspace = workspace.display();
            usage(format!("{workspace} cannot be trusted: its path is not valid UTF-8; rename it"))
        })?;
        change_trust_file(state, |workspaces| {
            workspaces.insert(name.to_owned(), record);
        })
    }

    /// Trusts a workspace no more. Returns whether it was trusted.
    ///
    /// # Errors
    /// The file is damaged, or cannot be written.
    pub fn remove(state: &Path, workspace: &Path) -> anyhow::Result<bool> {
        let mut had = false;
        change_trust_file(state, |workspaces| {
            had = workspace.to_str().is_some_and(|name| workspaces.remove(name).is_some());
        })?;
        Ok(had)
    }
}

fn read_trust_file(path: &Path) -> Result<BTreeMap<String, TrustRecord>, String> {
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(format!("cannot be read: {error}")),
    };
    if !found.is_file() {
        return Err("is not a file".into());
    }
    if found.mode() & 0o022 != 0 {
        return Err("can be written by other users, so what it says cannot be believed".into());
    }
    if found.len() > FILE_BYTES_MAX as u64 {
        return Err(format!("is longer than {FILE_BYTES_MAX} bytes"));
    }
    let bytes = fs::read(path).map_err(|error| format!("cannot be read: {error}"))?;
    let kept: TrustFile =
        serde_json::from_slice(&bytes).map_err(|error| format!("is damaged ({error})"))?;
    if kept.version != VERSION {
        return Err(format!("has version {}; this program knows {VERSION}", kept.version));
    }
    Ok(kept.workspaces)
}

/// Reads, changes and replaces the file while nobody else does.
fn change_trust_file(
    state: &Path,
    change: impl FnOnce(&mut BTreeMap<String, TrustRecord>),
) -> anyhow::Result<()> {
    // Two `weir trust` at once must not lose what the other wrote.
    let _lock = crate::files::hold_lock(&state.join("trust.lock"))?;
    let mut store = TrustStore::read_from_state(state).map_err(usage)?;
    let before = store.workspaces.clone();
    change(&mut store.workspaces);
    if store.workspaces == before {
        return Ok(());
    }
    let kept = TrustFile { version: VERSION, workspaces: store.workspaces };
    let bytes = serde_json::to_vec_pretty(&kept).context("writing trust.json")?;
    if bytes.len() > FILE_BYTES_MAX {
        return Err(usage(
            "too much is trusted already; remove what you no longer use \
             (`weir trust list`, `weir trust remove DIR`)",
        ));
    }
    crate::files::replace_file(&store.path, &bytes, 0o600)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(by: &str) -> TrustRecord {
        let files = [(".mcp.json".to_owned(), "00".to_owned())].into();
        TrustRecord { trusted_at: Timestamp(0), by: by.into(), files }
    }

    #[test]
    fn c5_what_is_trusted_is_read_back_and_private() {
        let state = tempfile::tempdir().expect("a temporary folder");
        let (a, b) = (Path::new("/a"), Path::new("/b"));
        TrustStore::add_record(state.path(), a, record("x")).expect("written");
        TrustStore::add_record(state.path(), b, record("y")).expect("written");
        let store = TrustStore::read_from_state(state.path()).expect("it is whole");
        assert_eq!(store.record(a), Some(&record("x")));
        assert_eq!(store.record(Path::new("/a/b")), None, "a folder below is another one");
        let mode = fs::metadata(state.path().join("trust.json")).expect("there").mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(TrustStore::remove(state.path(), a).expect("written"));
        assert!(!TrustStore::remove(state.path(), a).expect("nothing to do"));
        let store = TrustStore::read_from_state(state.path()).expect("it is whole");
        assert_eq!(store.all_records().map(|(path, _)| path).collect::<Vec<_>>(), [b]);
    }

    #[test]
    fn c5_a_damaged_file_trusts_nothing_and_stays() {
        let state = tempfile::tempdir().expect("a temporary folder");
        let path = state.path().join("trust.json");
        for text in [
            "",
            "{",
            "[]",
            "{\"version\": 2, \"workspaces\": {}}",
            "{\"version\": 1, \"workspaces\": {\"/a\": {}}}",
            "{\"version\": 1, \"workspaces\": {}, \"more\": 1}",
        ] {
            crate::files::replace_file(&path, text.as_bytes(), 0o600).expect("writable");
            let why = TrustStore::read_from_state(state.path()).expect_err(text);
            assert!(why.contains("trust.json") && why.contains("nothing is trusted"), "{why}");
            assert!(TrustStore::add_record(state.path(), Path::new("/a"), record("x")).is_err());
            assert_eq!(fs::read_to_string(&path).expect("there"), text);
        }
    }

    #[test]
    fn c5_a_file_that_others_can_write_is_not_believed() {
        use std::os::unix::fs::PermissionsExt;
        let state = tempfile::tempdir().expect("a temporary folder");
        TrustStore::add_record(state.path(), Path::new("/a"), record("x")).expect("written");
        let path = state.path().join("trust.json");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).expect("mine");
        assert!(
            TrustStore::read_from_state(state.path())
                .expect_err("writable")
                .contains("other users")
        );
    }
}
