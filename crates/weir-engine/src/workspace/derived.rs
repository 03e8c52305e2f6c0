//! What is computed from the workspace's files and kept to be computed only once: indexes. All of it
//! can be thrown away at any time. Not here: what it holds, and whether it is still true.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::{FileError, Workspace, io_error};

mod file;

pub use file::DerivedFile;

/// Largest file of this kind that is read.
const DERIVED_BYTES_MAX: u64 = 1_000_000_000;

/// Files that this process wrote anew: several of its sessions may have one workspace.
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// Values in memory by their type.
type DerivedValues = Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>;

/// Values of this process by the folder that their files are in, as long as a workspace has them: ten
/// sessions of one vault hold one index.
static SHARED: Mutex<BTreeMap<PathBuf, Weak<DerivedValues>>> = Mutex::new(BTreeMap::new());

/// Files in the state directory, and values in memory.
#[derive(Default)]
pub(super) struct DerivedState {
    folder: Option<PathBuf>,
    held: Arc<DerivedValues>,
}

impl std::fmt::Debug for DerivedState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DerivedState").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl DerivedState {
    fn shared_in(folder: PathBuf) -> DerivedState {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.retain(|_, held| held.strong_count() > 0);
        let held = shared.get(&folder).and_then(Weak::upgrade).unwrap_or_default();
        shared.insert(folder.clone(), Arc::downgrade(&held));
        DerivedState { folder: Some(folder), held }
    }
}

impl Workspace {
    /// Keeps what is derived from its files below `folder` (in the state directory), in a folder of this
    /// workspace's own, and shares it with other sessions of this process that keep theirs there. Without
    /// one it is kept in memory alone. Whoever asks what is derived looks first whether it is still what
    /// this workspace may see: rules differ between sessions.
    #[must_use]
    pub fn with_derived(mut self, folder: &Path) -> Workspace {
        let root = self.root().as_os_str().as_encoded_bytes();
        let name = weir_core::record::sha256_hex(root);
        self.derived = DerivedState::shared_in(folder.join(&name[..16]));
        self
    }
    /// The value of this type that goes with this workspace, made at the first need.
    pub fn derived_value<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let mut held = self.derived.held.lock().unwrap_or_else(PoisonError::into_inner);
        let made = || Arc::new(T::default()) as Arc<dyn Any + Send + Sync>;
        let value = held.entry(TypeId::of::<T>()).or_insert_with(made).clone();
        // What lies under the number of a type is of that type.
        value.downcast::<T>().unwrap_or_default()
    }
    /// A derived file; `None`: there is none, or none that can be used.
    pub fn read_derived(&self, name: &str) -> Option<Vec<u8>> {
        let path = self.derived_path(name)?;
        let bytes = std::fs::metadata(&path).ok()?.len();
        if bytes > DERIVED_BYTES_MAX {
            return None;
        }
        std::fs::read(path).ok()
    }
    /// Puts a derived file in place of the one that is there.
    ///
    /// # Errors
    /// The system refuses; then what was derived is computed again next time.
    pub fn replace_derived(&self, name: &str, bytes: &[u8]) -> Result<(), FileError> {
        let Some(path) = self.derived_path(name) else { return Ok(()) };
        let replace = || {
            make_folder(&path)?;
            let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
            let fresh = path.with_extension(format!("{}-{number}.new", std::process::id()));
            let mut options = std::fs::OpenOptions::new();
            let opened = options.write(true).create(true).truncate(true).mode(0o600).open(&fresh);
            let written = opened.and_then(|mut file| file.write_all(bytes));
            let done = written.and_then(|()| std::fs::rename(&fresh, &path));
            if done.is_err() {
                let _ = std::fs::remove_file(&fresh);
            }
            done
        };
        replace().map_err(|error| io_error("write", name, &error))
    }

    fn derived_path(&self, name: &str) -> Option<PathBuf> {
        self.derived.folder.as_ref().map(|folder| folder.join(name))
    }
}

fn make_folder(path: &Path) -> std::io::Result<()> {
    match path.parent() {
        Some(folder) => std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::super::{Workspace, WorkspaceOptions};

    #[test]
    fn k1_what_is_derived_is_kept_by_workspace() {
        let place = tempfile::tempdir().expect("a folder");
        let open = |name: &str| {
            let root = place.path().join(name);
            std::fs::create_dir_all(&root).expect("its root");
            let own_folders = vec![place.path().join("state")];
            let options = WorkspaceOptions { root, extra_roots: Vec::new(), own_folders };
            Workspace::open(options).expect("a workspace")
        };
        let state = place.path().join("state/derived");
        let one = open("one").with_derived(&state);
        assert_eq!(one.read_derived("index"), None);
        one.replace_derived("index", b"ab").expect("written");
        assert_eq!(
            open("one").with_derived(&state).read_derived("index").as_deref(),
            Some(&b"ab"[..])
        );
        one.replace_derived("index", b"c").expect("written");
        assert_eq!(one.read_derived("index").as_deref(), Some(&b"c"[..]));
        assert_eq!(open("two").with_derived(&state).read_derived("index"), None);
        // Without a folder nothing is kept, and nothing fails.
        let bare = open("one");
        bare.replace_derived("index", b"a").expect("nothing to do");
        assert_eq!(bare.read_derived("index"), None);
        *bare.derived_value::<Mutex<u8>>().lock().expect("no panic") = 7;
        assert_eq!(*bare.derived_value::<Mutex<u8>>().lock().expect("no panic"), 7);
        // Values are shared by those that keep their files in one place, as long as one of them is there.
        let seen =
            |workspace: &Workspace| *workspace.derived_value::<Mutex<u8>>().lock().expect("7");
        *one.derived_value::<Mutex<u8>>().lock().expect("no panic") = 7;
        let other = open("one").with_derived(&state);
        assert_eq!(
            (seen(&other), seen(&open("two").with_derived(&state)), seen(&open("one"))),
            (7, 0, 0)
        );
        drop(one);
        assert_eq!(seen(&open("one").with_derived(&state)), 7);
        drop(other);
        assert_eq!(seen(&open("one").with_derived(&state)), 0);
    }
}
