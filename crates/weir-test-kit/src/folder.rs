//! A temporary folder of a test's own, removed at the end. Not here: what Weir keeps in folders
//! (`installation`).

use std::path::{Path, PathBuf};

/// A temporary folder. Paths are given from its top; absolute ones are taken as they are.
pub struct TestFolder {
    /// Removes it at the end.
    _folder: tempfile::TempDir,
    top: PathBuf,
}

impl Default for TestFolder {
    fn default() -> TestFolder {
        TestFolder::new()
    }
}

impl TestFolder {
    /// An empty one.
    pub fn new() -> TestFolder {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let top = folder.path().canonicalize().expect("it was made");
        TestFolder { _folder: folder, top }
    }

    /// One with these files in it.
    pub fn with_files(files: &[(&str, &str)]) -> TestFolder {
        let folder = TestFolder::new();
        files.iter().for_each(|(path, text)| folder.write(path, text));
        folder
    }

    /// The folder itself, without links on the way to it.
    pub fn path(&self) -> &Path {
        &self.top
    }

    /// A path in it.
    pub fn at(&self, path: &(impl AsRef<Path> + ?Sized)) -> PathBuf {
        self.top.join(path)
    }

    /// Makes a folder in it, and those above.
    pub fn make_folder(&self, path: &(impl AsRef<Path> + ?Sized)) {
        std::fs::create_dir_all(self.at(path)).expect("a folder can be made");
    }

    /// Writes a file, and makes the folders above it.
    pub fn write(&self, path: &(impl AsRef<Path> + ?Sized), text: &(impl AsRef<[u8]> + ?Sized)) {
        let path = self.at(path);
        self.make_folder(path.parent().expect("a file lies in a folder"));
        std::fs::write(path, text).expect("a file can be written");
    }

    /// What stands in a file; `None` where it is not there or is no text.
    pub fn read(&self, path: &(impl AsRef<Path> + ?Sized)) -> Option<String> {
        std::fs::read_to_string(self.at(path)).ok()
    }
}
