//! How keys are kept and forgotten, in one place alone each (R9). Nothing that fails or is ended in the
//! middle brings a key back that was replaced or removed. Not here: how they are read (`keys`).

use std::fs::File;

use weir_core::secret::Secret;

use super::{KeyPlace, KeySource, ProviderKeys, keys_document};
use crate::config::KeyStore;
use crate::failure::usage;
use crate::keyring::{Keyring, KeyringItem, OpenKeyring, forget_answers};

impl ProviderKeys {
    /// Keeps a key, in one place alone, and says where.
    ///
    /// # Errors
    /// It is no key, or neither place takes it.
    pub fn save_key(&mut self, provider: &str, key: Secret) -> anyhow::Result<KeyPlace> {
        if !ProviderKeys::is_key(key.reveal()) {
            return Err(usage(format!(
                "this is no key for {provider}: a key is one word of letters, digits and signs \
                 (nothing was kept)"
            )));
        }
        let _lock = self.hold_lists()?;
        let keyring = self.keyring.clone();
        // Opened once for all that is asked, so that all of it has one bounded time.
        let open = match self.store == KeyStore::File && !self.names.has_name(provider) {
            true => Err("keys.store is \"file\"".to_owned()),
            false => open_keyring(&keyring),
        };
        if self.store == KeyStore::File {
            return self.save_in_file(provider, key, &open, None);
        }
        let saved = match &open {
            Ok(open) => self.save_in_keyring(open, provider, &key),
            Err(why) => Err(why.clone()),
        };
        match saved {
            Ok(notes) => self.count_keyring(provider, key, notes),
            Err(why) if self.store == KeyStore::Keyring => Err(usage(format!(
                "the key for {provider} was not saved: the system keyring cannot be used: {why} \
                 (keys.store = \"file\" keeps keys in {})",
                self.path.display()
            ))),
            Err(why) => self.save_in_file(provider, key, &open, Some(why)),
        }
    }

    /// Forgets a key, in the file and in the keyring. Returns where it was.
    ///
    /// # Errors
    /// The keyring has it and cannot be used, or a file cannot be written. The key counts no more even so.
    pub fn remove(&mut self, provider: &str) -> anyhow::Result<Option<KeySource>> {
        let _lock = self.hold_lists()?;
        let in_keyring = self.names.has_name(provider).then_some(KeySource::Keyring);
        let place = self.kept_source(provider).or(in_keyring);
        self.kept.remove(provider);
        if self.in_file.remove(provider) {
            self.write_file()?;
        }
        if self.names.has_name(provider) {
            let keyring = self.keyring.clone();
            self.leave_keyring(provider, &open_keyring(&keyring))?.map_err(|why| {
                usage(format!(
                    "the key for {provider} counts no more, but the system keyring still has it and \
                     cannot be used: {why}; once it is unlocked, run `weir auth remove {provider}` again"
                ))
            })?;
        }
        Ok(place)
    }

    /// Nobody else changes keys until what is returned is dropped, and what others changed since these were
    /// read is known.
    fn hold_lists(&mut self) -> anyhow::Result<File> {
        let lock = crate::files::hold_lock(&self.path.with_file_name("keys.lock"))?;
        self.read_lists()?;
        if let Ok(keyring) = &self.keyring {
            forget_answers(keyring);
        }
        Ok(lock)
    }

    /// `tried`: why the keyring, which was to take it, did not.
    fn save_in_file(
        &mut self,
        provider: &str,
        key: Secret,
        open: &Result<OpenKeyring<'_>, String>,
        tried: Option<String>,
    ) -> anyhow::Result<KeyPlace> {
        self.kept.insert(provider.to_owned(), key);
        self.in_file.insert(provider.to_owned());
        self.write_file()?;
        let tried = tried.map(|why| format!("the system keyring cannot be used: {why}"));
        let mut notes: Vec<String> = tried.into_iter().collect();
        if let Err(why) = self.leave_keyring(provider, open)? {
            notes.push(older_key_note(provider, &why));
        }
        Ok(KeyPlace { source: KeySource::File(self.path.clone()), notes })
    }

    /// The keyring has the key now: the file must not have another one.
    fn count_keyring(
        &mut self,
        provider: &str,
        key: Secret,
        notes: Vec<String>,
    ) -> anyhow::Result<KeyPlace> {
        self.kept.insert(provider.to_owned(), key);
        if self.in_file.remove(provider) {
            self.write_file()?;
        }
        Ok(KeyPlace { source: KeySource::Keyring, notes })
    }

    /// Keeps a key in the keyring. It is on the list before it is in the keyring, as one that does not
    /// count, and counts once it is there: whatever fails, the key before it counts as it did. Returns
    /// what to know about older ones.
    fn save_in_keyring(
        &mut self,
        open: &OpenKeyring<'_>,
        provider: &str,
        key: &Secret,
    ) -> Result<Vec<String>, String> {
        let told = |error: anyhow::Error| format!("{error:#}");
        self.names.make_room(provider)?;
        let item = KeyringItem::new_of(provider);
        self.names.outdated.insert(item.id.clone(), item.name.clone());
        self.write_names().map_err(told)?;
        if let Err(why) = open.store_key(&item, key) {
            // Where it cannot be cleared either, it stays on the list of what counts not.
            if open.clear_key(&item).is_ok() {
                self.names.outdated.remove(&item.id);
                self.write_names().map_err(told)?;
            }
            return Err(why);
        }
        self.names.outdated.remove(&item.id);
        if let Some(older) = self.names.names.insert(item.name, item.id) {
            self.names.outdated.insert(older, provider.to_owned());
        }
        self.write_names().map_err(told)?;
        let left = self.clear_outdated(open, provider).map_err(told)?.err();
        Ok(left.map(|why| older_key_note(provider, &why)).into_iter().collect())
    }

    /// What the keyring has under this name counts no more, which is written first; it is cleared where
    /// that can be done now. The inner error says why it could not.
    fn leave_keyring(
        &mut self,
        provider: &str,
        open: &Result<OpenKeyring<'_>, String>,
    ) -> anyhow::Result<Result<(), String>> {
        if let Some(id) = self.names.names.remove(provider) {
            self.names.outdated.insert(id, provider.to_owned());
            self.write_names()?;
        }
        if !self.names.has_name(provider) {
            return Ok(Ok(()));
        }
        match open {
            Ok(open) => self.clear_outdated(open, provider),
            Err(why) => Ok(Err(why.clone())),
        }
    }

    /// Clears what counts no more, of all names: the keyring can be used now. The inner error says why
    /// something of this name is left.
    fn clear_outdated(
        &mut self,
        open: &OpenKeyring<'_>,
        provider: &str,
    ) -> anyhow::Result<Result<(), String>> {
        let (mut cleared, mut left) = (Vec::new(), Ok(()));
        // This name's first: the time may not do for all.
        let (own, others): (Vec<_>, Vec<_>) =
            self.names.outdated.iter().partition(|(_, name)| *name == provider);
        for (id, name) in own.into_iter().chain(others) {
            match open.clear_key(&KeyringItem { name: name.clone(), id: id.clone() }) {
                Ok(()) => cleared.push(id.clone()),
                Err(why) if name == provider => left = Err(why),
                // It stays on the list, and `weir auth list` shows it.
                Err(_) => {}
            }
        }
        if !cleared.is_empty() {
            self.names.outdated.retain(|id, _| !cleared.contains(id));
            self.write_names()?;
        }
        Ok(left)
    }

    fn write_names(&self) -> anyhow::Result<()> {
        self.names.write_list(&self.names_path)
    }

    fn write_file(&self) -> anyhow::Result<()> {
        let own = self.kept.iter().filter(|(name, _)| self.in_file.contains(*name));
        crate::files::replace_file(&self.path, keys_document(own).as_bytes(), 0o600)
    }
}

pub(super) fn open_keyring(keyring: &Result<Keyring, String>) -> Result<OpenKeyring<'_>, String> {
    keyring.as_ref().map_err(Clone::clone).and_then(Keyring::open_default)
}

fn older_key_note(provider: &str, why: &str) -> String {
    format!("an older key for {provider} that is still in the keyring counts no more ({why})")
}
