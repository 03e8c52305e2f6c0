//! Keys of model providers: in variables, in the system's keyring, or in `keys.toml` that only its owner
//! can read (Z7).
//!
//! A key is never printed, never taken from the command line, never written anywhere else. Which keys
//! the keyring has stands in `keyring.toml`: where none is kept in it, it is never asked. Not here: how
//! the keyring is spoken with (`keyring`), how keys are kept and forgotten (`keys/change`).

mod change;
mod names;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use weir_core::secret::Secret;
use weir_engine::regular_file::read_regular_file;
use weir_providers::catalogue::{ModelCatalogue, Vendor};

use crate::config::KeyStore;
use crate::environment::{ProcessEnvironment, WeirFolders};
use crate::failure::usage;
use crate::keyring::{Keyring, KeyringItem, read_remembered_keys};
use change::open_keyring;
use names::KeyringNames;

/// Largest file of keys, in bytes.
const FILE_BYTES_MAX: u64 = 256 * 1024;
/// Longest key, in bytes.
const KEY_BYTES_MAX: usize = 16 * 1024;

/// The kept keys, by provider.
#[derive(Debug, Clone)]
pub struct ProviderKeys {
    path: PathBuf,
    /// Those of the file, and those of the keyring that could be read.
    kept: BTreeMap<String, Secret>,
    /// Names that the file has.
    in_file: BTreeSet<String>,
    /// File of the names that the keyring has.
    names_path: PathBuf,
    names: KeyringNames,
    /// The keyring, or why there can be none.
    keyring: Result<Keyring, String>,
    /// Why keys of the keyring could not be read.
    keyring_problem: Option<String>,
    /// Those of the keyring that count no more, by id, as far as they could be read.
    outdated: BTreeMap<String, Secret>,
    /// Where a new key goes.
    store: KeyStore,
}

/// Where a key comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// This variable.
    Variable(String),
    /// This file: that of the keys, under this provider's name, or one that settings name.
    File(PathBuf),
    /// The system's keyring.
    Keyring,
}

impl std::fmt::Display for KeySource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            KeySource::Variable(name) => write!(f, "variable {name}"),
            KeySource::File(path) => write!(f, "{}", path.display()),
            KeySource::Keyring => f.write_str("the system keyring"),
        }
    }
}

/// Where a key was put, as words for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyPlace {
    /// There.
    pub source: KeySource,
    /// What to know about it: why it is not in the keyring, and what of an older one is left.
    pub notes: Vec<String>,
}

impl std::fmt::Display for KeyPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.source {
            KeySource::File(path) => write!(f, "{}, which only you can read", path.display())?,
            other => write!(f, "{other}")?,
        }
        self.notes.iter().try_for_each(|note| write!(f, "; {note}"))
    }
}

impl ProviderKeys {
    /// Reads the file, and what the keyring has beside it; none is no error, and neither is a keyring
    /// that is locked.
    ///
    /// # Errors
    /// It can be read by others, or is not a list of keys. No error ever quotes the file.
    pub fn read(
        dirs: &WeirFolders,
        environment: &ProcessEnvironment,
    ) -> anyhow::Result<ProviderKeys> {
        ProviderKeys::read_beside(dirs, Keyring::of_session(environment, &dirs.config))
    }

    fn read_beside(
        dirs: &WeirFolders,
        keyring: Result<Keyring, String>,
    ) -> anyhow::Result<ProviderKeys> {
        let mut keys = ProviderKeys {
            path: dirs.config.join("keys.toml"),
            kept: BTreeMap::new(),
            in_file: BTreeSet::new(),
            names_path: dirs.config.join("keyring.toml"),
            names: KeyringNames::default(),
            keyring,
            keyring_problem: None,
            outdated: BTreeMap::new(),
            store: KeyStore::default(),
        };
        keys.read_lists()?;
        keys.read_keyring();
        Ok(keys)
    }

    /// Reads both files. What was known of the keyring stays, unless the list says now that another key
    /// or none counts.
    fn read_lists(&mut self) -> anyhow::Result<()> {
        let file = read_keys_file(&self.path)
            .map_err(|why| usage(format!("{}: {why}", self.path.display())))?;
        let names = KeyringNames::read_list(&self.names_path)
            .map_err(|why| usage(format!("{}: {why}", self.names_path.display())))?;
        let is_same = |name: &String| {
            let now = names.names.get(name);
            now.is_some() && now == self.names.names.get(name)
        };
        self.kept.retain(|name, _| !self.in_file.contains(name) && is_same(name));
        self.in_file = file.keys().cloned().collect();
        self.kept.extend(file);
        self.names = names;
        Ok(())
    }

    /// The same keys, where new ones go to `store`.
    #[must_use]
    pub fn with_store(self, store: KeyStore) -> ProviderKeys {
        ProviderKeys { store, ..self }
    }

    /// Why keys that the keyring has cannot be used.
    pub fn keyring_problem(&self) -> Option<&str> {
        self.keyring_problem.as_deref()
    }

    /// Names of keys of which the keyring still has one that counts no more: it could not be used when
    /// another one was saved or it was removed.
    pub fn outdated_in_keyring(&self) -> BTreeSet<&str> {
        self.names.outdated.values().map(String::as_str).collect()
    }

    /// Those of them that could not be read: no text can be cleaned of them.
    pub fn unread_outdated_in_keyring(&self) -> BTreeSet<&str> {
        let listed = self.names.outdated.iter();
        listed.filter(|(id, _)| !self.outdated.contains_key(*id)).map(|(_, name)| &**name).collect()
    }

    /// Names of keys that only the keyring has and that could not be read.
    pub fn unread_in_keyring(&self) -> impl Iterator<Item = &str> {
        let names = self.names.names.keys().map(String::as_str);
        names.filter(move |name| !self.kept.contains_key(*name))
    }

    /// Where a new key would be kept now, and why. The keyring is asked whether it can be used.
    ///
    /// # Errors
    /// Nowhere: the settings want the keyring, and it cannot be used; why.
    pub fn describe_store(&self) -> Result<String, String> {
        let file = self.path.display();
        if self.store == KeyStore::File {
            return Ok(format!("{file} (keys.store = \"file\")"));
        }
        let usable = open_keyring(&self.keyring);
        match (usable, self.store) {
            (Ok(_), _) => Ok(KeySource::Keyring.to_string()),
            (Err(why), KeyStore::Keyring) => {
                Err(format!("the system keyring cannot be used: {why} (keys.store = \"keyring\")"))
            }
            (Err(why), KeyStore::Auto | KeyStore::File) => {
                Ok(format!("{file} (the system keyring cannot be used: {why})"))
            }
        }
    }

    /// Takes in what the keyring alone has, and what counts no more there: texts are cleaned of that too.
    /// The first failure ends it, so that a keyring that does not answer costs one wait.
    fn read_keyring(&mut self) {
        let item = |name: &String, id: &String| KeyringItem { name: name.clone(), id: id.clone() };
        let listed = self.names.names.iter().filter(|(name, _)| !self.in_file.contains(*name));
        let mut wanted: Vec<KeyringItem> = listed.map(|(name, id)| item(name, id)).collect();
        let counting = wanted.len();
        wanted.extend(self.names.outdated.iter().map(|(id, name)| item(name, id)));
        if wanted.is_empty() {
            return;
        }
        let keyring = self.keyring.as_ref().map_err(Clone::clone);
        let found = match keyring.and_then(|keyring| read_remembered_keys(keyring, &wanted)) {
            Ok(found) => found,
            Err(why) => {
                self.keyring_problem = (counting > 0).then_some(why);
                return;
            }
        };
        let mut gone = Vec::new();
        for (at, (item, key)) in wanted.into_iter().zip(found).enumerate() {
            match (key, at < counting) {
                (Some(key), true) => drop(self.kept.insert(item.name, key)),
                (Some(key), false) => drop(self.outdated.insert(item.id, key)),
                (None, true) => gone.push(item.name),
                (None, false) => {}
            }
        }
        self.keyring_problem = (!gone.is_empty()).then(|| {
            format!(
                "it has no key for {} any more; save it again with `weir auth set`",
                gone.join(", ")
            )
        });
    }

    /// Where the key that is kept under this name is; where there is none, the file that it could be in.
    pub(crate) fn source_or_file(&self, name: &str) -> KeySource {
        self.kept_source(name).unwrap_or_else(|| KeySource::File(self.path.clone()))
    }

    /// Every kept key as the text of a file of keys, for a backup that is to have them; `None`: there is
    /// none.
    pub fn all_as_file(&self) -> Option<Secret> {
        (!self.kept.is_empty()).then(|| Secret::new(keys_document(self.kept.iter())))
    }

    /// The key that is kept under this name.
    pub fn kept_key(&self, name: &str) -> Option<&Secret> {
        self.kept.get(name)
    }

    /// Providers with a kept key.
    pub fn kept_providers(&self) -> impl Iterator<Item = &str> {
        self.kept.keys().map(String::as_str)
    }

    /// Whether a text can be a key: one word of letters, digits and signs.
    pub fn is_key(text: &str) -> bool {
        let is_plain = text.bytes().all(|b| b.is_ascii_graphic());
        !text.is_empty() && text.len() <= KEY_BYTES_MAX && is_plain
    }

    /// Where the key that is kept under this name is; `None`: there is none, or it could not be read.
    pub fn kept_source(&self, name: &str) -> Option<KeySource> {
        let source = || match self.in_file.contains(name) {
            true => KeySource::File(self.path.clone()),
            false => KeySource::Keyring,
        };
        self.kept.contains_key(name).then(source)
    }

    /// The key of a vendor and where it comes from. A variable beats a kept key. Providers that share
    /// a variable (`openai`, `openai-chat`) share a kept key too.
    pub fn find_key(
        &self,
        vendor: &Vendor,
        catalogue: &ModelCatalogue,
        environment: &ProcessEnvironment,
    ) -> Option<(Secret, KeySource)> {
        let variable = vendor.key_env.iter().find_map(|name| {
            let key = Secret::new(environment.text_variable(name)?);
            (!key.is_empty()).then(|| (key, KeySource::Variable(name.clone())))
        });
        let shares = |other: &&Vendor| {
            other.name == vendor.name || other.key_env.iter().any(|v| vendor.key_env.contains(v))
        };
        variable.or_else(|| {
            let own = self.kept.get_key_value(&vendor.name);
            let (name, key) = own.or_else(|| {
                let mut sharing = catalogue.vendors().iter().filter(shares);
                sharing.find_map(|other| self.kept.get_key_value(&other.name))
            })?;
            Some((key.clone(), self.kept_source(name)?))
        })
    }

    /// Every value that must never reach a model, a log or a screen: keys of all providers, secret
    /// headers, and whatever else the environment calls a key, token, secret or password.
    pub fn secret_values(
        &self,
        catalogue: &ModelCatalogue,
        environment: &ProcessEnvironment,
    ) -> Vec<String> {
        /// Words of the environment shorter than this are left alone: they would tear up texts.
        const LENGTH_MIN: usize = 8;
        let kept = self.kept.values().chain(self.outdated.values());
        let mut secrets: Vec<String> = kept.map(|key| key.reveal().to_owned()).collect();
        for vendor in catalogue.vendors() {
            secrets.extend(
                vendor
                    .key_env
                    .iter()
                    .filter_map(|name| environment.text_variable(name))
                    .map(String::from),
            );
            let headers = vendor.headers.iter().filter(|(name, _)| looks_secret(name));
            secrets.extend(headers.map(|(_, value)| value.reveal().to_owned()));
        }
        let named = environment.all_variables().filter_map(|(name, value)| {
            let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
            (looks_secret(&name) && value.len() >= LENGTH_MIN).then_some(value)
        });
        secrets.extend(named);
        secrets.iter_mut().for_each(|secret| *secret = secret.trim().to_owned());
        // A path to a secret is none.
        secrets.retain(|secret| !secret.is_empty() && !secret.starts_with('/'));
        secrets.sort_unstable();
        secrets.dedup();
        secrets
    }
}

/// Whether a variable or header of this name holds a secret.
pub(crate) fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase().replace('-', "_");
    const ENDINGS: [&str; 8] = [
        "KEY",
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "PASSPHRASE",
        "AUTHORIZATION",
        "CREDENTIAL",
    ];
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// The text of a file of these keys.
fn keys_document<'k>(keys: impl Iterator<Item = (&'k String, &'k Secret)>) -> String {
    let mut document = toml_edit::DocumentMut::new();
    document
        .decor_mut()
        .set_prefix("# Keys of model providers, written by `weir auth set`. For your eyes only.\n");
    for (provider, key) in keys {
        document[provider.as_str()] = toml_edit::value(key.reveal());
    }
    document.to_string()
}

fn read_keys_file(path: &Path) -> Result<BTreeMap<String, Secret>, String> {
    let found = match std::fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(format!("cannot be read: {error}")),
    };
    if !found.is_file() || found.len() > FILE_BYTES_MAX {
        return Err("is not a file of keys; remove it and use `weir auth set`".into());
    }
    if found.mode() & 0o077 != 0 {
        let path = path.display();
        return Err(format!("can be read by other users; run `chmod 600 {path}`"));
    }
    let bytes = read_regular_file(path, FILE_BYTES_MAX)
        .map_err(|error| format!("cannot be read: {error}"))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| "is not text; remove it and use `weir auth set`".to_owned())?;
    // Neither the parser's excerpt nor a value may appear in the message: they are keys.
    toml::from_str(&text).map_err(|error| {
        let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        format!("line {line}: is not `provider = \"key\"`; remove it and use `weir auth set`")
    })
}
