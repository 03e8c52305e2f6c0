//! Keys of model providers: in variables, or in `keys.toml` that only its owner can read (Z7).
//!
//! A key is never printed, never taken from the command line, never written anywhere else. The
//! operating system's keyring is not built in.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use weir_core::secret::Secret;
use weir_providers::catalogue::{ModelCatalogue, Vendor};

use crate::environment::{ProcessEnvironment, WeirFolders};
use crate::failure::usage;

/// Largest file of keys, in bytes.
const FILE_BYTES_MAX: u64 = 256 * 1024;
/// Longest key, in bytes.
const KEY_BYTES_MAX: usize = 16 * 1024;

/// The kept keys, by provider.
#[derive(Debug, Clone, Default)]
pub struct ProviderKeys {
    path: PathBuf,
    kept: BTreeMap<String, Secret>,
}

/// Where a key comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// This variable.
    Variable(String),
    /// The file of keys, under this provider's name.
    File(PathBuf),
}

impl std::fmt::Display for KeySource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            KeySource::Variable(name) => write!(f, "variable {name}"),
            KeySource::File(path) => write!(f, "{}", path.display()),
        }
    }
}

impl ProviderKeys {
    /// Reads the file; none is no error.
    ///
    /// # Errors
    /// It can be read by others, or is not a list of keys. No error ever quotes the file.
    pub fn read(dirs: &WeirFolders) -> anyhow::Result<ProviderKeys> {
        let path = dirs.config.join("keys.toml");
        let kept =
            read_keys_file(&path).map_err(|why| usage(format!("{}: {why}", path.display())))?;
        Ok(ProviderKeys { path, kept })
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
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

    /// Keeps a key.
    pub fn save_key(&mut self, provider: &str, key: Secret) -> anyhow::Result<()> {
        if !ProviderKeys::is_key(key.reveal()) {
            return Err(usage(format!(
                "this is no key for {provider}: a key is one word of letters, digits and signs \
                 (nothing was kept)"
            )));
        }
        self.kept.insert(provider.to_owned(), key);
        self.write_file()
    }

    /// Forgets a key. Returns whether there was one.
    pub fn remove(&mut self, provider: &str) -> anyhow::Result<bool> {
        let had = self.kept.remove(provider).is_some();
        if had {
            self.write_file()?;
        }
        Ok(had)
    }

    fn write_file(&self) -> anyhow::Result<()> {
        let mut document = toml_edit::DocumentMut::new();
        document.decor_mut().set_prefix(
            "# Keys of model providers, written by `weir auth set`. For your eyes only.\n",
        );
        for (provider, key) in &self.kept {
            document[provider.as_str()] = toml_edit::value(key.reveal());
        }
        crate::files::replace_file(&self.path, document.to_string().as_bytes(), 0o600)
    }

    /// The key of a vendor and where it comes from. A variable beats the file. Providers that share
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
            let own = self.kept.get(&vendor.name);
            let key = own.or_else(|| {
                let mut sharing = catalogue.vendors().iter().filter(shares);
                sharing.find_map(|other| self.kept.get(&other.name))
            });
            key.map(|key| (key.clone(), KeySource::File(self.path.clone())))
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
        let mut secrets: Vec<String> = self.kept.values().map(|k| k.reveal().to_owned()).collect();
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
    let text = std::fs::read_to_string(path).map_err(|error| format!("cannot be read: {error}"))?;
    // Neither the parser's excerpt nor a value may appear in the message: they are keys.
    toml::from_str(&text).map_err(|error| {
        let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        format!("line {line}: is not `provider = \"key\"`; remove it and use `weir auth set`")
    })
}
