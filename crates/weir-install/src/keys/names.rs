//! The list of the keys that the system's keyring has (R9): `keyring.toml`, with names and ids. Nothing in
//! it is secret. Not here: the keys, and what the list is used for.

use std::collections::BTreeMap;
use std::path::Path;

use weir_engine::regular_file::read_regular_file;

/// Largest list, in bytes.
const FILE_BYTES_MAX: u64 = 64 * 1024;
/// Keys on it that count: each is asked for when the program starts.
const NAMES_MAX: usize = 64;
/// Keys on it that count no more.
const OUTDATED_MAX: usize = 64;

/// The list.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct KeyringNames {
    /// Keys that are kept there, name to id, unless the file of keys has one of that name.
    pub(super) names: BTreeMap<String, String>,
    /// Keys that are or may be there and count not, id to name: they were to go while it was locked, or
    /// did not get so far as to count.
    pub(super) outdated: BTreeMap<String, String>,
}

impl KeyringNames {
    /// Whether the keyring has something under this name.
    pub(super) fn has_name(&self, name: &str) -> bool {
        self.names.contains_key(name) || self.outdated.values().any(|other| other == name)
    }

    /// Whether one more key has room on the list.
    ///
    /// # Errors
    /// It is full: what to do.
    pub(super) fn make_room(&self, name: &str) -> Result<(), String> {
        if !self.names.contains_key(name) && self.names.len() >= NAMES_MAX {
            return Err(format!(
                "it has {NAMES_MAX} keys of Weir already; remove one with `weir auth remove`"
            ));
        }
        // One that is about to be kept and one that it replaces.
        if self.outdated.len() + 2 > OUTDATED_MAX {
            return Err(format!(
                "{} keys that count no more are still in it; unlock it and remove them (`weir auth \
                 list` names them)",
                self.outdated.len()
            ));
        }
        Ok(())
    }

    /// Reads it; none is an empty one.
    pub(super) fn read_list(path: &Path) -> Result<KeyringNames, String> {
        let bytes = match read_regular_file(path, FILE_BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => return Err(format!("cannot be read: {error}")),
        };
        let list = String::from_utf8(bytes).ok().and_then(|text| toml::from_str(&text).ok());
        let list: KeyringNames =
            list.ok_or_else(|| "is not a list of names; correct it or remove it".to_owned())?;
        match list.names.len() {
            0..=NAMES_MAX => Ok(list),
            count => Err(format!("has {count} names; {NAMES_MAX} is the most")),
        }
    }

    /// Writes it in the place of the one before.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn write_list(&self, path: &Path) -> anyhow::Result<()> {
        let mut document = toml_edit::DocumentMut::new();
        document.decor_mut().set_prefix(
            "# The keys in the system keyring, written by `weir auth`. No key is in it.\n",
        );
        for (title, entries) in [("names", &self.names), ("outdated", &self.outdated)] {
            let mut table = toml_edit::Table::new();
            for (key, value) in entries {
                table.insert(key, toml_edit::value(value.as_str()));
            }
            if !table.is_empty() {
                document[title] = toml_edit::Item::Table(table);
            }
        }
        crate::files::replace_file(path, document.to_string().as_bytes(), 0o600)
    }
}
