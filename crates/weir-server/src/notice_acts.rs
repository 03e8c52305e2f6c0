//! One yes or no that a notice carries: bound to exactly one approval of one session as it stood, to the
//! telephone that may give it, to an hour, and to this server's key. Here it is made, found again and ended.
//! Not here: what is offered (`offer`), and giving it (`phone::answer`), which works once.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::StatusCode;
use ring::hmac;
use serde::{Deserialize, Serialize};
use serde_json::json;
use weir_core::event::Decision;
use weir_core::governance::canonical_json;
use weir_core::ids::{ApprovalId, SessionId, Timestamp};
use weir_install::people::PersonId;

use crate::auth::shelf::{EntrySlot, TypedEntry, TypedRecords};
use crate::auth::{logins, secret};
use crate::problem::{HandlerResult, ProblemDetails};

pub(crate) mod offer;

use offer::AskOffer;

/// Below this stand the pages on which answers are given.
pub(crate) const PAGE: &str = "/act/";
/// Kind of the entries.
const KIND: &str = "phone_act";
/// One ends after an hour, where what it answers does not end sooner.
const LIVES_MS_MAX: u64 = 60 * 60 * 1000;
/// What may be said by one.
const DECISIONS: [Decision; 2] = [Decision::Once, Decision::Deny];
/// For which use the server's key is taken here: no other use gives the same.
const KEY_USE: &[u8] = b"weir: answers from notices, 1";

/// From where an answer may come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ActSource {
    /// From this telephone, by the name of its sign-in: the notice went to it and to nobody else.
    Phone(String),
    /// From any paired telephone of the person, as long as this channel is there: its notices pass through
    /// the hands of others, who have no telephone of theirs.
    Channel(String),
}

/// What is kept of one; the name of its entry is a hash of the random half of the token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ActEntry {
    /// The session that asks.
    pub(crate) session: SessionId,
    /// Its approval.
    pub(crate) approval: ApprovalId,
    /// Of exactly what was asked.
    pub(crate) digest: String,
    /// What may be answered.
    pub(crate) decisions: Vec<Decision>,
    /// From where.
    pub(crate) source: ActSource,
}

/// One that holds: it was made here, and nothing of it was changed.
pub(crate) struct FoundAct {
    /// What is kept of it.
    pub(crate) entry: TypedEntry<ActEntry>,
}

/// The key by which answers are signed.
#[derive(Clone)]
pub(crate) struct ActKey(hmac::Key);

impl ActKey {
    /// From the server's key.
    pub(crate) fn from_server_key(key: &[u8; 32]) -> ActKey {
        let server = hmac::Key::new(hmac::HMAC_SHA256, key);
        ActKey(hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&server, KEY_USE).as_ref()))
    }

    fn signed_text(random: &str, owner: &str, ends: Timestamp, entry: &ActEntry) -> String {
        canonical_json(&json!({
            "random": random, "person": owner, "expires": ends, "act": entry,
        }))
    }
}

/// Makes one for a person: what its address carries.
///
/// # Errors
/// The database does not answer, or the system gives no random bytes.
pub(crate) async fn create_act(
    shelf: &TypedRecords,
    key: &ActKey,
    person: &PersonId,
    offer: &AskOffer,
    source: ActSource,
) -> HandlerResult<String> {
    let random = secret::random_token()?;
    let latest = shelf.current_time().plus_ms(LIVES_MS_MAX);
    let ends = offer.expires.map_or(latest, |ends| ends.min(latest));
    let entry = ActEntry {
        session: offer.session.clone(),
        approval: offer.approval.clone(),
        digest: offer.digest.clone(),
        decisions: DECISIONS.to_vec(),
        source,
    };
    let text = ActKey::signed_text(&random, person.as_str(), ends, &entry);
    let mac = URL_SAFE_NO_PAD.encode(hmac::sign(&key.0, text.as_bytes()).as_ref());
    let name = secret::secret_digest(&random);
    let slot = EntrySlot { kind: KIND, name: &name, owner: person.as_str(), expires: Some(ends) };
    shelf.put_entry(slot, &entry, Some(0)).await?;
    Ok(format!("{random}.{mac}"))
}

/// One by what its address carries; nothing changes by looking.
///
/// # Errors
/// It was used, has ended, was not made by this server, or what is kept of it was changed: one word for all.
pub(crate) async fn find_act(
    shelf: &TypedRecords,
    key: &ActKey,
    token: &str,
) -> HandlerResult<FoundAct> {
    let (random, mac) = token.split_once('.').ok_or_else(no_act)?;
    let mac = URL_SAFE_NO_PAD.decode(mac).map_err(|_| no_act())?;
    let found = shelf.get::<ActEntry>(KIND, &secret::secret_digest(random)).await?;
    let entry = found.ok_or_else(no_act)?;
    let ends = entry.expires.ok_or_else(no_act)?;
    let text = ActKey::signed_text(random, &entry.owner, ends, &entry.value);
    hmac::verify(&key.0, text.as_bytes(), &mac).map_err(|_| no_act())?;
    Ok(FoundAct { entry })
}

/// Ends all that only this telephone could give.
pub(crate) async fn end_acts_of_login(
    shelf: &TypedRecords,
    person: &PersonId,
    login: &str,
) -> HandlerResult<()> {
    for act in shelf.list_entries::<ActEntry>(KIND, Some(person.as_str())).await? {
        if act.value.source == ActSource::Phone(login.to_owned()) {
            shelf.remove(KIND, &act.name).await?;
        }
    }
    Ok(())
}

/// From where answers to notices of a channel may come; `None`: no telephone is there that could.
///
/// # Errors
/// The database does not answer.
pub(crate) async fn source_for_channel(
    shelf: &TypedRecords,
    person: &PersonId,
    channel: ChannelOrigin<'_>,
) -> HandlerResult<Option<ActSource>> {
    let logins = logins::list_logins(shelf, person).await?;
    let mut phones = logins.iter().filter(|login| !login.value.device.is_empty());
    Ok(match channel {
        ChannelOrigin::Browser(login) => {
            let there = phones.find(|phone| Some(phone.name.as_str()) == login);
            there.map(|phone| ActSource::Phone(phone.name.clone()))
        }
        ChannelOrigin::Elsewhere(id) => phones.next().map(|_| ActSource::Channel(id.to_owned())),
    })
}

/// Where the notices of a channel arrive.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ChannelOrigin<'a> {
    /// In one browser: by the sign-in with which it was added, where that is a telephone's.
    Browser(Option<&'a str>),
    /// Through others, by the channel's id.
    Elsewhere(&'a str),
}

/// Takes one away; of several who do it at once, one is told that it was there.
pub(crate) async fn take_act(shelf: &TypedRecords, act: &FoundAct) -> HandlerResult<bool> {
    shelf.remove(KIND, &act.entry.name).await
}

/// What is said of one that does not hold: one word for whatever is wrong with it.
pub(crate) fn no_act() -> ProblemDetails {
    ProblemDetails::new(
        StatusCode::NOT_FOUND,
        "not_found",
        "this answer was given, has ended, or never was offered; what still waits is in Approvals",
    )
}
