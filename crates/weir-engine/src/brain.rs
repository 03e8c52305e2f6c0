//! A person's brain at work (K12): entries are listed, kept, changed, forgotten and brought back, each
//! change for the version that was looked at. Not here: what an entry must look like
//! (`weir_core::brain`), how they are found (`search`), what a call of a tool may do (`access`).
//!
//! Entries are kept as [`StoredItem`]s of their own kind: so each store has them, a person of a server
//! has their own, several servers share them, and a backup holds them.

use serde::{Deserialize, Serialize};
use weir_core::brain::{
    self, BYTES_MAX, BrainEdit, BrainEntry, BrainEntryKind, BrainEntryState, BrainOrigin,
    ENTRIES_MAX, NewBrainEntry,
};
use weir_core::governance::rules::{EffectPresence, Ruling};
use weir_core::ids::{BrainEntryId, CallId, SessionId, Timestamp};
use weir_core::record::sha256_hex;
use weir_core::session::SessionConfig;
use weir_core::sorting::sort_stably;
use weir_core::tool::built_in::BRAIN_KEEPER;

use crate::ports::{Store, StoreError, StoredItem};

mod access;
mod search;

pub(crate) use access::CallBrain;
pub use search::search_entries;

/// What an entry is called in the store.
pub const BRAIN: &str = "brain";
/// Hex digits of an id: 48 bits, for some thousand entries of one person.
const ID_CHARS: usize = 12;
/// How often a change of the state alone is tried again when somebody else changed the entry.
const TRIES_MAX: usize = 8;

/// Why an entry could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum BrainError {
    /// There is no such entry.
    #[error("there is no entry {id:?} in the brain")]
    Missing {
        /// The id that was asked for.
        id: String,
    },
    /// Somebody else changed it since it was looked at.
    #[error(
        "the entry {id} was changed meanwhile: it has version {found} now, and this change is for \
         version {version}; look at it again and change that"
    )]
    Changed {
        /// Its id.
        id: String,
        /// The version that was looked at.
        version: u32,
        /// The version that it has.
        found: u32,
    },
    /// What is to be kept has no usable form, or there is no room: what to do about it.
    #[error("{0}")]
    Refused(String),
    /// The store failed.
    #[error("the brain cannot be reached: {0}")]
    Store(#[from] StoreError),
}

/// Which entries are listed; what is `None` is no condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BrainFilter {
    /// Only in this state.
    pub state: Option<BrainEntryState>,
    /// Only of this kind.
    pub kind: Option<BrainEntryKind>,
}

impl BrainFilter {
    /// Those that count.
    pub fn active_only() -> BrainFilter {
        BrainFilter { state: Some(BrainEntryState::Active), kind: None }
    }
}

/// Whether an agent with these settings may change the brain without asking. It is a rule for the tool,
/// so that it is shown, denied and taken back like any other; what words from outside went into asks all
/// the same (the flow table).
pub fn has_standing_permission(config: &SessionConfig) -> bool {
    let ruling = config.rules.rule_tool(BRAIN_KEEPER, EffectPresence::Something);
    matches!(ruling, Ruling::Allow(_))
}

/// Entries that fit `filter`, what was changed last first.
///
/// # Errors
/// The store refuses.
pub async fn list_entries(
    store: &dyn Store,
    filter: BrainFilter,
) -> Result<Vec<BrainEntry>, BrainError> {
    let items = store.stored_items(BRAIN).await?;
    let readable = |item: &StoredItem| match read_item(item) {
        Ok(entry) => Some(entry),
        // One that is damaged hides no other.
        Err(error) => {
            tracing::warn!(%error, "an entry of the brain is left out");
            None
        }
    };
    let mut entries: Vec<BrainEntry> = items.iter().filter_map(readable).collect();
    entries.retain(|entry| {
        filter.state.is_none_or(|state| entry.state == state)
            && filter.kind.is_none_or(|kind| entry.kind == kind)
    });
    sort_stably(&mut entries, |a, b| (b.changed, &a.id).cmp(&(a.changed, &b.id)));
    Ok(entries)
}

/// The entry of this id.
///
/// # Errors
/// There is none, or the store refuses.
pub async fn find_entry(store: &dyn Store, id: &str) -> Result<BrainEntry, BrainError> {
    let missing = || BrainError::Missing { id: id.to_owned() };
    let item = store.stored_item(BRAIN, id).await?.ok_or_else(missing)?;
    Ok(read_item(&item)?)
}

/// Keeps a new entry under `id`. Where it is there already, by the same call that is repeated, that is
/// the one.
///
/// # Errors
/// It has no usable form, there is no room, or the store refuses.
pub async fn add_entry(
    store: &dyn Store,
    id: &BrainEntryId,
    new: NewBrainEntry,
    now: Timestamp,
) -> Result<BrainEntry, BrainError> {
    let new = brain::checked_entry(new).map_err(BrainError::Refused)?;
    if let Some(there) = store.stored_item(BRAIN, id.as_str()).await? {
        return Ok(read_item(&there)?);
    }
    check_room(store, None, new.text.len()).await?;
    let NewBrainEntry { title, text, kind, topics, origin, label } = new;
    let entry = BrainEntry {
        id: id.clone(),
        title,
        text,
        kind,
        origin,
        topics,
        label,
        created: now,
        changed: now,
        state: BrainEntryState::Active,
        version: 0,
    };
    match store.replace_stored_item(&stored_entry(&entry)?, 0).await? {
        Some(item) => Ok(read_item(&item)?),
        None => find_entry(store, id.as_str()).await,
    }
}

/// Changes what an entry says, if it has the version that was looked at. What changes nothing makes no
/// new version.
///
/// # Errors
/// There is none, somebody else changed it since, the change has no usable form, or the store refuses.
pub async fn update_entry(
    store: &dyn Store,
    id: &str,
    version: u32,
    edit: &BrainEdit,
    now: Timestamp,
) -> Result<BrainEntry, BrainError> {
    let entry = find_entry(store, id).await?;
    let mut changed = brain::changed_entry(&entry, edit).map_err(BrainError::Refused)?;
    if entry.version != version {
        let found = entry.version;
        // The very change stands there already: a call that is repeated after a crash.
        return match found == version.saturating_add(1) && changed == entry {
            true => Ok(entry),
            false => Err(BrainError::Changed { id: id.to_owned(), version, found }),
        };
    }
    if entry.state == BrainEntryState::Forgotten {
        return Err(BrainError::Refused(format!(
            "the entry {id} was forgotten: bring it back before it is changed"
        )));
    }
    if changed == entry {
        return Ok(entry);
    }
    if changed.text.len() > entry.text.len() {
        check_room(store, Some(id), changed.text.len()).await?;
    }
    changed.changed = now;
    match store.replace_stored_item(&stored_entry(&changed)?, version).await? {
        Some(item) => Ok(read_item(&item)?),
        None => {
            let found = find_entry(store, id).await?.version;
            Err(BrainError::Changed { id: id.to_owned(), version, found })
        }
    }
}

/// Forgets an entry or brings it back. What it says is not touched, so it holds for whatever version
/// there is.
///
/// # Errors
/// There is none, or the store refuses.
pub async fn set_entry_state(
    store: &dyn Store,
    id: &str,
    state: BrainEntryState,
    now: Timestamp,
) -> Result<BrainEntry, BrainError> {
    let mut entry = find_entry(store, id).await?;
    for _ in 0..TRIES_MAX {
        if entry.state == state {
            return Ok(entry);
        }
        let version = entry.version;
        let settled = BrainEntry { state, changed: now, ..entry };
        if let Some(item) = store.replace_stored_item(&stored_entry(&settled)?, version).await? {
            return Ok(read_item(&item)?);
        }
        entry = find_entry(store, id).await?;
    }
    let found = entry.version;
    Err(BrainError::Changed { id: id.to_owned(), version: found, found })
}

/// Takes an entry away for good, a damaged one too.
///
/// # Errors
/// There is none, or the store refuses.
pub async fn delete_entry(store: &dyn Store, id: &str) -> Result<(), BrainError> {
    match store.remove_stored_item(BRAIN, id).await? {
        true => Ok(()),
        false => Err(BrainError::Missing { id: id.to_owned() }),
    }
}

/// The id of an entry that a call keeps: the same however often the call is repeated.
pub fn call_entry_id(session: &SessionId, call: CallId) -> BrainEntryId {
    short_id(&format!("{session}\0{call}"))
}

/// The id of an entry that a person keeps at this moment.
pub fn person_entry_id(new: &NewBrainEntry, now: Timestamp) -> BrainEntryId {
    short_id(&format!("{}\0{}\0{now}", new.title, new.text))
}

fn short_id(of: &str) -> BrainEntryId {
    let mut hex = sha256_hex(of.as_bytes());
    hex.truncate(ID_CHARS);
    BrainEntryId::new(hex)
}

/// Whether there is room for a text of so many bytes. `instead_of`: the entry whose text it replaces.
async fn check_room(
    store: &dyn Store,
    instead_of: Option<&str>,
    bytes: usize,
) -> Result<(), BrainError> {
    let items = store.stored_items(BRAIN).await?;
    let others = items.iter().filter(|item| Some(item.name.as_str()) != instead_of);
    if instead_of.is_none() && items.len() >= ENTRIES_MAX {
        return Err(BrainError::Refused(format!(
            "the brain holds {ENTRIES_MAX} entries, and no more fit: delete some for good, or export \
             it and start anew"
        )));
    }
    let used: usize = others.map(|item| item.text.len()).sum();
    if used.saturating_add(bytes) > BYTES_MAX {
        return Err(BrainError::Refused(format!(
            "the brain holds {} MB of text, and no more than {} MB fit: delete entries for good, or \
             keep large texts as files",
            used / 1_000_000,
            BYTES_MAX / 1_000_000
        )));
    }
    Ok(())
}

/// An entry as its store has it; what the store has columns for does not stand in it twice.
#[derive(Debug, Serialize, Deserialize)]
struct StoredEntry {
    title: String,
    text: String,
    kind: BrainEntryKind,
    origin: BrainOrigin,
    #[serde(default)]
    topics: Vec<String>,
    created: Timestamp,
}

fn stored_entry(entry: &BrainEntry) -> Result<StoredItem, StoreError> {
    let kept = StoredEntry {
        title: entry.title.clone(),
        text: entry.text.clone(),
        kind: entry.kind,
        origin: entry.origin.clone(),
        topics: entry.topics.clone(),
        created: entry.created,
    };
    let text = serde_json::to_string(&kept).map_err(|error| StoreError::Io {
        doing: "writing an entry of the brain".into(),
        why: error.to_string(),
    })?;
    Ok(StoredItem {
        what: BRAIN.into(),
        name: entry.id.to_string(),
        text,
        state: entry.state.as_str().into(),
        hash: String::new(),
        version: entry.version,
        label: entry.label.clone(),
        by: entry.origin.by.clone(),
        ts: entry.changed,
    })
}

fn read_item(item: &StoredItem) -> Result<BrainEntry, StoreError> {
    let kept: StoredEntry = serde_json::from_str(&item.text).map_err(|error| {
        StoreError::Damaged { what: format!("the entry {}", item.name), why: error.to_string() }
    })?;
    let StoredEntry { title, text, kind, origin, topics, created } = kept;
    let state = match item.state == BrainEntryState::Forgotten.as_str() {
        true => BrainEntryState::Forgotten,
        false => BrainEntryState::Active,
    };
    Ok(BrainEntry {
        id: BrainEntryId::new(item.name.as_str()),
        title,
        text,
        kind,
        origin,
        topics,
        label: item.label.clone(),
        created,
        changed: item.ts,
        state,
        version: item.version,
    })
}
