//! Where a person wants to be told beside the bell. Kept here; what a way may be is said by `address`, and
//! `sender` sends.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use weir_core::ids::Timestamp;
use weir_engine::ports::{PutOutcome, RecordEntry, Records};
use weir_install::failure::InstallationError;
use weir_install::people::{Person, PersonId};
use weir_install::seal::SecretSeal;

use super::NoticeKind;
use super::address::{ChannelAddress, describe_address};
use crate::auth::secret;

/// The kind of a channel in the records.
const CHANNEL: &str = "channel";
/// Channels of one person, at most.
const CHANNELS_MAX: usize = 20;

/// A channel as people see it: without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ChannelLine {
    /// Its id.
    pub(crate) id: String,
    /// `push`, `webhook`, `ntfy`, `telegram`, `matrix`.
    pub(crate) way: String,
    /// Where it leads, without what is secret in it.
    pub(crate) to: String,
    /// The kinds of notices that go there; empty: all.
    pub(crate) kinds: BTreeSet<NoticeKind>,
    /// Why the last notice did not arrive; empty: it did.
    pub(crate) failed: String,
}

#[derive(Serialize, Deserialize)]
struct StoredChannel {
    /// The way, sealed: an address of a push service is itself a secret.
    sealed: String,
    way: String,
    to: String,
    kinds: BTreeSet<NoticeKind>,
    /// It may lead to private addresses: an admin's.
    everywhere: bool,
    #[serde(default)]
    failed: String,
    /// The sign-in of the paired telephone in which it was added; empty: it was none. The channel ends
    /// with it.
    #[serde(default)]
    login: String,
}

/// A channel, ready to be used.
pub(crate) struct UnsealedChannel {
    /// Its id.
    pub(crate) id: String,
    /// The way.
    pub(crate) way: ChannelAddress,
    /// It may lead to private addresses.
    pub(crate) everywhere: bool,
    /// The sign-in of the paired telephone in which it was added, and with which it ends.
    pub(crate) login: Option<String>,
    entry: RecordEntry,
}

fn entry_name(owner: &PersonId, id: &str) -> String {
    format!("{owner}/{id}")
}

fn id_of(entry: &RecordEntry) -> String {
    entry.name.rsplit('/').next().unwrap_or_default().to_owned()
}

fn parse_channel(entry: &RecordEntry) -> Option<StoredChannel> {
    serde_json::from_str(&entry.text)
        .inspect_err(|error| tracing::error!(%error, "a channel cannot be read"))
        .ok()
}

/// The channels of a person.
pub(crate) async fn list_channels(
    records: &dyn Records,
    owner: &PersonId,
    now: Timestamp,
) -> Result<Vec<ChannelLine>, InstallationError> {
    let entries = records.list(CHANNEL, Some(owner.as_str()), now).await?;
    let line = |entry: &RecordEntry| {
        let StoredChannel { way, to, kinds, failed, .. } = parse_channel(entry)?;
        Some(ChannelLine { id: id_of(entry), way, to, kinds, failed })
    };
    Ok(entries.iter().filter_map(line).collect())
}

/// Everybody who has a channel, and since when.
///
/// # Errors
/// The database does not answer.
pub(crate) async fn channel_owners(
    records: &dyn Records,
    now: Timestamp,
) -> Result<BTreeMap<PersonId, Timestamp>, InstallationError> {
    let mut owners = BTreeMap::new();
    for entry in records.list(CHANNEL, None, now).await? {
        let first = owners.entry(PersonId(entry.owner)).or_insert(entry.ts);
        *first = entry.ts.min(*first);
    }
    Ok(owners)
}

/// A channel that a person wants.
pub(crate) struct ChannelRequest<'a> {
    /// Whose it is.
    pub(crate) person: &'a Person,
    /// Where notices go.
    pub(crate) way: &'a ChannelAddress,
    /// The kinds of notices that go there; none named: all.
    pub(crate) kinds: BTreeSet<NoticeKind>,
    /// The sign-in by which it is wanted, where that is a paired telephone's.
    pub(crate) login: Option<&'a str>,
}

/// Adds a channel; gives its id.
///
/// # Errors
/// It cannot be used, or there are too many: a sentence.
pub(crate) async fn add_channel(
    records: &dyn Records,
    seal: &SecretSeal,
    request: ChannelRequest<'_>,
    now: Timestamp,
) -> Result<String, InstallationError> {
    let ChannelRequest { person, way, kinds, login } = request;
    let to = describe_address(way).map_err(InstallationError::Refused)?;
    if records.list(CHANNEL, Some(person.id.as_str()), now).await?.len() >= CHANNELS_MAX {
        return Err(InstallationError::Refused(format!("{CHANNELS_MAX} channels at most")));
    }
    // A browser that asks twice is told once.
    let id = match way {
        ChannelAddress::Push { endpoint, .. } => {
            secret::secret_digest(endpoint).chars().take(24).collect()
        }
        ChannelAddress::Webhook { .. }
        | ChannelAddress::Ntfy { .. }
        | ChannelAddress::Telegram { .. }
        | ChannelAddress::Matrix { .. } => secret::random_id(),
    };
    // Only the telephone's own browser names its push service; any other address was typed in, and one that
    // this machine alone reaches is then no telephone's to have called. Nor is that of a push service, unless
    // the settings list its host: whoever sends (`sender`) looks.
    let is_browser = matches!(way, ChannelAddress::Push { .. });
    let name = entry_name(&person.id, &id);
    let json = |error: serde_json::Error| InstallationError::Failed(error.to_string());
    let sealed = seal.seal(&name, &serde_json::to_string(way).map_err(json)?)?;
    let kept = StoredChannel {
        sealed,
        way: way.way().into(),
        to,
        kinds,
        everywhere: person.is_admin() && (login.is_none() || is_browser),
        failed: String::new(),
        login: login.unwrap_or_default().to_owned(),
    };
    let entry = RecordEntry {
        kind: CHANNEL.into(),
        name,
        owner: person.id.0.clone(),
        text: serde_json::to_string(&kept).map_err(json)?,
        version: 0,
        expires: None,
        ts: now,
    };
    records.put(&entry, None).await?;
    Ok(id)
}

/// Takes a channel away.
///
/// # Errors
/// There is none, or it is another's.
pub(crate) async fn remove(
    records: &dyn Records,
    owner: &PersonId,
    id: &str,
) -> Result<(), InstallationError> {
    match records.remove(CHANNEL, &entry_name(owner, id)).await? {
        true => Ok(()),
        false => Err(InstallationError::Missing("this channel".into())),
    }
}

/// Takes the channels of a telephone away that is paired no more.
///
/// # Errors
/// The database does not answer.
pub(crate) async fn remove_of_login(
    records: &dyn Records,
    owner: &PersonId,
    login: &str,
    now: Timestamp,
) -> Result<(), InstallationError> {
    for entry in records.list(CHANNEL, Some(owner.as_str()), now).await? {
        if parse_channel(&entry).is_some_and(|kept| kept.login == login) {
            records.remove(CHANNEL, &entry.name).await?;
        }
    }
    Ok(())
}

/// The channels that are told of this, or one of them by its id.
pub(crate) async fn open_channels(
    records: &dyn Records,
    seal: &SecretSeal,
    owner: &PersonId,
    wanted: ChannelFilter<'_>,
    now: Timestamp,
) -> Result<Vec<UnsealedChannel>, InstallationError> {
    let mut found = Vec::new();
    for entry in records.list(CHANNEL, Some(owner.as_str()), now).await? {
        let Some(kept) = parse_channel(&entry) else { continue };
        let id = id_of(&entry);
        let is_meant = match wanted {
            ChannelFilter::Kind(kind) => kept.kinds.is_empty() || kept.kinds.contains(&kind),
            ChannelFilter::One(one) => id == one,
        };
        if !is_meant {
            continue;
        }
        let way = seal.open(&entry.name, &kept.sealed)?;
        let way =
            serde_json::from_str(&way).map_err(|e| InstallationError::Failed(e.to_string()))?;
        let login = Some(kept.login).filter(|login| !login.is_empty());
        found.push(UnsealedChannel { id, way, everywhere: kept.everywhere, login, entry });
    }
    Ok(found)
}

/// Whether a channel is still there; where the database does not answer, it is not.
pub(crate) async fn is_kept(
    records: &dyn Records,
    channel: &UnsealedChannel,
    now: Timestamp,
) -> bool {
    match records.get(CHANNEL, &channel.entry.name, now).await {
        Ok(found) => found.is_some(),
        Err(error) => {
            tracing::error!(%error, "a notice was not sent again");
            false
        }
    }
}

/// A filter of channels.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ChannelFilter<'a> {
    /// Those that are told of this kind.
    Kind(NoticeKind),
    /// This one.
    One(&'a str),
}

/// Notes whether the last notice arrived; `failed` empty: it did.
pub(crate) async fn note_delivery(records: &dyn Records, channel: &UnsealedChannel, failed: &str) {
    let Some(mut kept) = parse_channel(&channel.entry).filter(|kept| kept.failed != failed) else {
        return;
    };
    kept.failed = failed.to_owned();
    let Ok(text) = serde_json::to_string(&kept) else { return };
    let entry = RecordEntry { text, ..channel.entry.clone() };
    match records.put(&entry, Some(channel.entry.version)).await {
        // Somebody changed it meanwhile: the next notice says how it stands.
        Ok(PutOutcome::Kept(_) | PutOutcome::Changed(_)) => (),
        Err(error) => tracing::warn!(%error, "how a channel stands could not be noted"),
    }
}
