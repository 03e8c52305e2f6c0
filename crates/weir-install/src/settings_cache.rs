//! Settings and catalogues of models that were put together a moment ago, kept for whoever puts the very same
//! together: on a server each session that is opened, and all of those that are open hold one copy (Q18,
//! Q19). They are known by what they were made of, so nothing is older than the files are: those are read
//! each time. Not here: what is read (`config/inputs.rs`) and how fresh a context is (`context`).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use weir_engine::equal_parts::EqualParts;
use weir_providers::catalogue::ModelCatalogue;

use crate::config::{ConfigInputs, WorkspaceConfig, restrict_guest_config};
use crate::loaded_profile::LoadedProfile;

/// Settings, and catalogues, that are kept beyond whoever uses them.
const KEPT_MAX: usize = 64;

/// What a program keeps of settings, for all its folders and people.
#[derive(Default)]
pub(crate) struct SettingsCache {
    configs: RecentParts<ConfigKey, WorkspaceConfig>,
    /// By the digest of what the settings say of providers and models.
    pub(crate) catalogues: RecentParts<String, ModelCatalogue>,
    /// Lists of profiles. Their files are read each time, and equal lists are kept once.
    pub(crate) profiles: EqualParts<[LoadedProfile]>,
}

/// By which settings are known again.
#[derive(PartialEq)]
struct ConfigKey {
    /// Of everything that they follow from.
    digest: String,
    /// What an admin does not offer was taken out.
    is_guest: bool,
}

impl SettingsCache {
    /// The settings that follow from `inputs`. `is_guest`: with what an admin offers, and no more.
    ///
    /// # Errors
    /// A file has a mistake: file, line, what is wrong.
    pub(crate) fn load_config(
        &self,
        inputs: &ConfigInputs<'_>,
        is_guest: bool,
    ) -> anyhow::Result<Arc<WorkspaceConfig>> {
        let key = inputs.digest().map(|digest| ConfigKey { digest, is_guest });
        if let Some(kept) = key.as_ref().and_then(|key| self.configs.find(key)) {
            return Ok(kept);
        }
        let mut config = inputs.combine()?;
        if is_guest {
            restrict_guest_config(&mut config);
        }
        Ok(match key {
            Some(key) => self.configs.keep(key, config),
            None => Arc::new(config),
        })
    }
}

/// The parts that were used last, the last one first.
pub(crate) struct RecentParts<K, V>(Mutex<VecDeque<(K, Arc<V>)>>);

impl<K, V> Default for RecentParts<K, V> {
    fn default() -> RecentParts<K, V> {
        RecentParts(Mutex::default())
    }
}

impl<K: PartialEq, V> RecentParts<K, V> {
    /// The part that is kept under `key`.
    pub(crate) fn find(&self, key: &K) -> Option<Arc<V>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|(known, _)| known == key)?;
        let (key, part) = kept.remove(at)?;
        kept.push_front((key, part.clone()));
        Some(part)
    }

    /// Keeps a part. Where somebody else was quicker, theirs is the one.
    pub(crate) fn keep(&self, key: K, part: V) -> Arc<V> {
        if let Some(there) = self.find(&key) {
            return there;
        }
        let part = Arc::new(part);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.truncate(KEPT_MAX - 1);
        kept.push_front((key, part.clone()));
        part
    }
}

#[cfg(test)]
mod tests;
