//! Where a person wants to be told beside the bell: a browser (web push), an address that is called
//! (webhook), an ntfy topic. Kept here; sent by `sender`.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weir_core::ids::Timestamp;
use weir_engine::ports::{PutOutcome, RecordEntry, Records};
use weir_install::failure::InstallationError;
use weir_install::people::{Person, PersonId};
use weir_install::seal::SecretSeal;

use super::NoticeKind;
use crate::auth::secret;

/// The kind of a channel in the records.
const CHANNEL: &str = "channel";
/// Channels of one person, at most.
const CHANNELS_MAX: usize = 20;
/// Characters of an address, a key, a secret.
const TEXT_CHARS_MAX: usize = 2_000;

/// A way to reach a person, as they enter it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "way", rename_all = "snake_case")]
pub(crate) enum ChannelAddress {
    /// A browser that agreed to be told (RFC 8030).
    Push {
        /// The address of its push service.
        endpoint: String,
        /// Its public key, base64url.
        p256dh: String,
        /// Its secret, base64url.
        auth: String,
    },
    /// An address that is called with the notice as JSON.
    Webhook {
        /// The address.
        url: String,
        /// By which calls are signed: `x-weir-signature: sha256=…` over time and body; may be empty.
        #[serde(default)]
        secret: String,
    },
    /// A topic of an ntfy server.
    Ntfy {
        /// The server: `https://ntfy.sh`.
        server: String,
        /// The topic.
        topic: String,
        /// Its access token; may be empty.
        #[serde(default)]
        token: String,
    },
}

/// A channel as people see it: without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct ChannelLine {
    /// Its id.
    pub(crate) id: String,
    /// `push`, `webhook`, `ntfy`.
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
}

/// A channel, ready to be used.
pub(crate) struct UnsealedChannel {
    /// Its id.
    pub(crate) id: String,
    /// The way.
    pub(crate) way: ChannelAddress,
    /// It may lead to private addresses.
    pub(crate) everywhere: bool,
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

/// What is wrong with a way, in words; and what is shown of it.
fn looked_at(way: &ChannelAddress) -> Result<(&'static str, String), String> {
    let host = |address: &str| -> Result<String, String> {
        if address.chars().count() > TEXT_CHARS_MAX {
            return Err(format!("an address has {TEXT_CHARS_MAX} characters at most"));
        }
        let url = url::Url::parse(address).map_err(|why| format!("{address:?}: {why}"))?;
        let here = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
        match (url.scheme(), url.host_str()) {
            ("https", Some(host)) => Ok(host.to_owned()),
            ("http", Some(host)) if here => Ok(host.to_owned()),
            _ => Err(format!("{address:?} is not encrypted; an address begins with https://")),
        }
    };
    match way {
        ChannelAddress::Push { endpoint, p256dh, auth } => {
            super::push::decode_browser_keys(p256dh, auth)?;
            Ok(("push", format!("this browser, by {}", host(endpoint)?)))
        }
        ChannelAddress::Webhook { url, secret } => {
            if secret.chars().count() > TEXT_CHARS_MAX {
                return Err(format!("a secret has {TEXT_CHARS_MAX} characters at most"));
            }
            Ok(("webhook", host(url)?))
        }
        ChannelAddress::Ntfy { server, topic, token } => {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if topic.is_empty() || topic.len() > 64 || !topic.chars().all(plain) {
                return Err("a topic has letters, digits, - and _, 64 at most".into());
            }
            if token.len() > TEXT_CHARS_MAX || token.contains(char::is_whitespace) {
                return Err("the token cannot be used".into());
            }
            Ok(("ntfy", host(server)?))
        }
    }
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
    let ChannelRequest { person, way, kinds } = request;
    let (word, to) = looked_at(way).map_err(InstallationError::Refused)?;
    if records.list(CHANNEL, Some(person.id.as_str()), now).await?.len() >= CHANNELS_MAX {
        return Err(InstallationError::Refused(format!("{CHANNELS_MAX} channels at most")));
    }
    // A browser that asks twice is told once.
    let id = match way {
        ChannelAddress::Push { endpoint, .. } => {
            secret::secret_digest(endpoint).chars().take(24).collect()
        }
        ChannelAddress::Webhook { .. } | ChannelAddress::Ntfy { .. } => secret::random_id(),
    };
    let name = entry_name(&person.id, &id);
    let json = |error: serde_json::Error| InstallationError::Failed(error.to_string());
    let sealed = seal.seal(&name, &serde_json::to_string(way).map_err(json)?)?;
    let kept = StoredChannel {
        sealed,
        way: word.into(),
        to,
        kinds,
        everywhere: person.is_admin(),
        failed: String::new(),
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
        found.push(UnsealedChannel { id, way, everywhere: kept.everywhere, entry });
    }
    Ok(found)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s16_ways_are_looked_at() {
        let hook = |url: &str| ChannelAddress::Webhook { url: url.into(), secret: String::new() };
        for good in ["https://a.example/x", "http://127.0.0.1:9/x", "http://localhost/x"] {
            assert!(looked_at(&hook(good)).is_ok(), "{good}");
        }
        for bad in ["http://a.example", "ftp://a.example", "x", "file:///etc/passwd", "https://"] {
            assert!(looked_at(&hook(bad)).is_err(), "{bad}");
        }
        let ntfy = |topic: &str| ChannelAddress::Ntfy {
            server: "https://ntfy.example".into(),
            topic: topic.into(),
            token: String::new(),
        };
        assert!(looked_at(&ntfy("my-topic_1")).is_ok());
        for bad in ["", "a/b", "a?b", &"x".repeat(65)] {
            assert!(looked_at(&ntfy(bad)).is_err(), "{bad}");
        }
        // What is shown holds no secret part of the address.
        let (_, to) = looked_at(&hook("https://a.example/secret?k=1")).expect("good");
        assert_eq!(to, "a.example");
    }
}
