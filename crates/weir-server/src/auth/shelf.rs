//! Entries of the door as typed values: read, listed and kept. Not here: what any of them means.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use weir_core::ids::Timestamp;
use weir_engine::ports::{Clock, PutOutcome, RecordEntry, Records};
use weir_install::seal::SecretSeal;

use crate::problem::{HandlerResult, ProblemDetails};

/// Tries at changing an entry that others change at the same time.
const TRIES_MAX: usize = 16;

/// What is kept at the door.
#[derive(Clone)]
pub(crate) struct TypedRecords {
    records: Arc<dyn Records>,
    clock: Arc<dyn Clock>,
    /// Where secrets are kept that have to be read again; not every shelf has any.
    seal: Option<Arc<SecretSeal>>,
}

/// A value with what is known of its entry.
#[derive(Debug, Clone)]
pub(crate) struct TypedEntry<T> {
    /// Its name.
    pub(crate) name: String,
    /// Whose it is.
    pub(crate) owner: String,
    /// Grows with each change.
    pub(crate) version: u64,
    /// When it ends by itself.
    pub(crate) expires: Option<Timestamp>,
    /// The content of the entry.
    pub(crate) value: T,
}

/// Where a value is kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntrySlot<'a> {
    /// The kind of the entry.
    pub(crate) kind: &'a str,
    /// Its name: one of each kind.
    pub(crate) name: &'a str,
    /// Whose; empty: the installation's.
    pub(crate) owner: &'a str,
    /// When it ends by itself.
    pub(crate) expires: Option<Timestamp>,
}

fn parse_entry<T: DeserializeOwned>(entry: RecordEntry) -> HandlerResult<TypedEntry<T>> {
    let value = serde_json::from_str(&entry.text).map_err(|error| {
        ProblemDetails::internal_failure(format!(
            "the entry {} {:?} cannot be read: {error}",
            entry.kind, entry.name
        ))
    })?;
    let RecordEntry { name, owner, version, expires, .. } = entry;
    Ok(TypedEntry { name, owner, version, expires, value })
}

impl TypedRecords {
    /// Over these records.
    pub(crate) fn new(records: Arc<dyn Records>, clock: Arc<dyn Clock>) -> TypedRecords {
        TypedRecords { records, clock, seal: None }
    }

    /// The same for secrets as well.
    pub(crate) fn with_seal(self, seal: SecretSeal) -> TypedRecords {
        TypedRecords { seal: Some(Arc::new(seal)), ..self }
    }

    fn require_seal(&self) -> HandlerResult<&SecretSeal> {
        let none = || ProblemDetails::internal_failure("no secrets are kept on this shelf");
        self.seal.as_deref().ok_or_else(none)
    }

    /// Seals a secret for its place (Z7).
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub(crate) fn seal_secret(&self, place: &str, secret: &str) -> HandlerResult<String> {
        Ok(self.require_seal()?.seal(place, secret)?)
    }

    /// Opens what was sealed for this place.
    ///
    /// # Errors
    /// It was sealed with another key or for another place.
    pub(crate) fn open_secret(&self, place: &str, sealed: &str) -> HandlerResult<String> {
        Ok(self.require_seal()?.open(place, sealed)?)
    }

    /// Now.
    pub(crate) fn current_time(&self) -> Timestamp {
        self.clock.now()
    }

    /// One value, unless it has ended.
    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        kind: &str,
        name: &str,
    ) -> HandlerResult<Option<TypedEntry<T>>> {
        let found = self.records.get(kind, name, self.current_time()).await?;
        found.map(parse_entry).transpose()
    }

    /// All of a kind that have not ended, by name.
    pub(crate) async fn list_entries<T: DeserializeOwned>(
        &self,
        kind: &str,
        owner: Option<&str>,
    ) -> HandlerResult<Vec<TypedEntry<T>>> {
        let found = self.records.list(kind, owner, self.current_time()).await?;
        found.into_iter().map(parse_entry).collect()
    }

    /// Keeps a value; `expected` as in [`Records::put`]. Whether it was kept.
    pub(crate) async fn put_entry<T: Serialize>(
        &self,
        slot: EntrySlot<'_>,
        value: &T,
        expected: Option<u64>,
    ) -> HandlerResult<bool> {
        let entry = RecordEntry {
            kind: slot.kind.into(),
            name: slot.name.into(),
            owner: slot.owner.into(),
            text: serde_json::to_string(value).map_err(ProblemDetails::internal_failure)?,
            version: 0,
            expires: slot.expires,
            ts: self.current_time(),
        };
        Ok(matches!(self.records.put(&entry, expected).await?, PutOutcome::Kept(_)))
    }

    /// Changes a value as `change` says, however many change it at the same time; `None` from it
    /// leaves everything as it is. `slot.expires` may be set by it.
    pub(crate) async fn change_value<T, F>(
        &self,
        slot: EntrySlot<'_>,
        mut change: F,
    ) -> HandlerResult<Option<T>>
    where
        T: Serialize + DeserializeOwned,
        F: FnMut(Option<T>) -> Option<(T, Option<Timestamp>)>,
    {
        for _ in 0..TRIES_MAX {
            let found: Option<TypedEntry<T>> = self.get(slot.kind, slot.name).await?;
            let version = found.as_ref().map_or(0, |found| found.version);
            let Some((value, expires)) = change(found.map(|found| found.value)) else {
                return Ok(None);
            };
            if self.put_entry(EntrySlot { expires, ..slot }, &value, Some(version)).await? {
                return Ok(Some(value));
            }
        }
        Err(ProblemDetails::too_many(1, "too many changes of the same thing at once; try again"))
    }

    /// Takes a value away; whether it was there. Of several who do it at once, one is told so.
    pub(crate) async fn remove(&self, kind: &str, name: &str) -> HandlerResult<bool> {
        Ok(self.records.remove(kind, name).await?)
    }

    /// Takes a value away and gives it: whoever gets it is the only one.
    pub(crate) async fn take_entry<T: DeserializeOwned>(
        &self,
        kind: &str,
        name: &str,
    ) -> HandlerResult<Option<TypedEntry<T>>> {
        let Some(found) = self.get(kind, name).await? else {
            return Ok(None);
        };
        Ok(self.remove(kind, name).await?.then_some(found))
    }

    /// Takes everything of an owner away.
    pub(crate) async fn remove_owned(&self, owner: &str) -> HandlerResult<()> {
        self.records.remove_owned(owner).await?;
        Ok(())
    }
}
