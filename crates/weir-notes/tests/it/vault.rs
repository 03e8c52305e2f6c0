//! The vault of the tests, `tests/vault`, as an index.

use std::path::{Path, PathBuf};

use weir_notes::index::{FileStamp, IndexedFile, NoteIndex, facts_of, is_read};

pub(crate) fn vault_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vault")
}

pub(crate) fn vault_text(path: &str) -> String {
    std::fs::read_to_string(vault_root().join(path)).expect("a file of the vault")
}

pub(crate) fn load_vault() -> NoteIndex {
    load_folder(&vault_root())
}

pub(crate) fn load_folder(root: &Path) -> NoteIndex {
    let mut index = NoteIndex::default();
    let mut waiting = vec![root.to_path_buf()];
    while let Some(folder) = waiting.pop() {
        for entry in
            std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"))
        {
            let path = entry.path();
            let name = path.strip_prefix(root).expect("below it").to_string_lossy().into_owned();
            if name.starts_with('.') {
                continue;
            }
            if path.is_dir() {
                waiting.push(path);
                continue;
            }
            let bytes = entry.metadata().expect("its size").len();
            let facts = is_read(&name).then(|| {
                let text = std::fs::read_to_string(&path).expect("text");
                Box::new(facts_of(&name, &text))
            });
            let stamp = FileStamp { bytes, modified: 0 };
            index.put_file(&IndexedFile { path: name, stamp, hash: String::new(), facts });
        }
    }
    index
}
