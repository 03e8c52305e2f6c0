//! Sign-ins of browsers: a random token in a cookie, of which only the hash is kept. One ends when it
//! is not used for a while, after a month in any case, and when somebody ends it.

use serde::{Deserialize, Serialize};
use weir_core::ids::Timestamp;
use weir_core::sorting::sort_stably_by_key;
use weir_install::people::PersonId;

use crate::auth::secret;
use crate::auth::shelf::{EntrySlot, TypedEntry, TypedRecords};
use crate::problem::HandlerResult;

/// Kind of the entries.
const KIND: &str = "login";
/// It ends after so long without a request.
const IDLE_MS: u64 = 7 * 24 * 60 * 60 * 1000;
/// It ends after so long in any case.
const ABSOLUTE_MS: u64 = 30 * 24 * 60 * 60 * 1000;
/// The same of a paired telephone, which somebody at the terminal let in by name.
const PHONE_IDLE_MS: u64 = 30 * 24 * 60 * 60 * 1000;
pub(crate) const PHONE_ABSOLUTE_MS: u64 = 90 * 24 * 60 * 60 * 1000;
/// One that begins later than this from now does not hold: the clock was wrong when it was made.
const AHEAD_MS_MAX: u64 = 24 * 60 * 60 * 1000;
/// How often its use is written down.
const SEEN_EVERY_MS: u64 = 5 * 60 * 1000;
/// Most sign-ins of one person; the oldest ends for a new one.
const LOGINS_MAX: usize = 50;

/// A sign-in.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Login {
    /// When it began.
    pub(crate) created: Timestamp,
    /// When it was last used, to five minutes.
    pub(crate) seen: Timestamp,
    /// From where it began.
    pub(crate) address: String,
    /// What the browser calls itself.
    pub(crate) agent: String,
    /// `password`, `password+code`, `passkey`, `phone`, …
    pub(crate) how: String,
    /// The name of the paired telephone that it is; empty: it is none.
    #[serde(default)]
    pub(crate) device: String,
    /// A second factor is asked of them and they have none yet: only their account page is open.
    #[serde(default)]
    pub(crate) must_enrol: bool,
}

/// What somebody who signs in is known by.
#[derive(Debug, Clone)]
pub(crate) struct NewLogin<'a> {
    /// The address that the sign-in came from.
    pub(crate) address: String,
    /// What the browser calls itself.
    pub(crate) agent: String,
    /// How they proved who they are.
    pub(crate) how: &'a str,
    /// The name of the paired telephone that it is; empty: it is none.
    pub(crate) device: &'a str,
    /// Whether a second factor is asked of them that they do not have.
    pub(crate) must_enrol: bool,
}

/// By what a sign-in is listed and ended: not its token, and of no use for signing in.
pub(crate) fn public_id(name: &str) -> &str {
    name.get(..16).unwrap_or(name)
}

/// What pages send back to show that they are ours; follows from the cookie, so that nothing is
/// kept for it.
pub(crate) fn csrf_of(token: &str) -> String {
    secret::secret_digest(&format!("form {token}"))
}

/// Begins a sign-in: its token, for the cookie.
pub(crate) async fn begin_login(
    shelf: &TypedRecords,
    person: &PersonId,
    arrival: NewLogin<'_>,
) -> HandlerResult<String> {
    let token = secret::random_token()?;
    let now = shelf.current_time();
    let login = Login {
        created: now,
        seen: now,
        address: arrival.address,
        agent: arrival.agent.chars().take(200).collect(),
        how: arrival.how.into(),
        device: arrival.device.into(),
        must_enrol: arrival.must_enrol,
    };
    let mut others = list_logins(shelf, person).await?;
    // Telephones live longest and are few: browsers that sign in often do not end them.
    if arrival.device.is_empty() {
        others.retain(|login| login.value.device.is_empty());
    }
    sort_stably_by_key(&mut others, |login| login.value.created);
    let over = (others.len() + 1).saturating_sub(LOGINS_MAX);
    for old in others.iter().take(over) {
        shelf.remove(KIND, &old.name).await?;
    }
    store_login(shelf, &secret::secret_digest(&token), person.as_str(), &login, None).await?;
    Ok(token)
}

async fn store_login(
    shelf: &TypedRecords,
    name: &str,
    owner: &str,
    login: &Login,
    expected: Option<u64>,
) -> HandlerResult<bool> {
    let (idle_ms, absolute_ms) = match login.device.is_empty() {
        true => (IDLE_MS, ABSOLUTE_MS),
        false => (PHONE_IDLE_MS, PHONE_ABSOLUTE_MS),
    };
    let end = login.created.plus_ms(absolute_ms).min(login.seen.plus_ms(idle_ms));
    let slot = EntrySlot { kind: KIND, name, owner, expires: Some(end) };
    shelf.put_entry(slot, login, expected).await
}

/// The sign-in of a token, if it is one that holds. Its use is written down now and then.
pub(crate) async fn find_login_by_token(
    shelf: &TypedRecords,
    token: &str,
) -> HandlerResult<Option<TypedEntry<Login>>> {
    let Some(mut found) = find_login(shelf, &secret::secret_digest(token)).await? else {
        return Ok(None);
    };
    let now = shelf.current_time();
    if now.ms_since(found.value.seen) > SEEN_EVERY_MS {
        found.value.seen = now;
        // Only as it was read: what ended in between stays ended.
        let version = Some(found.version);
        store_login(shelf, &found.name, &found.owner, &found.value, version).await?;
    }
    Ok(Some(found))
}

/// The sign-in of this name, if it still holds.
pub(crate) async fn find_login(
    shelf: &TypedRecords,
    name: &str,
) -> HandlerResult<Option<TypedEntry<Login>>> {
    let found: Option<TypedEntry<Login>> = shelf.get(KIND, name).await?;
    // One that begins in days to come was made by a clock that ran ahead: it would hold for as long
    // as that and a month.
    let latest = shelf.current_time().plus_ms(AHEAD_MS_MAX);
    Ok(found.filter(|login| login.value.created <= latest))
}

/// All of a person.
pub(crate) async fn list_logins(
    shelf: &TypedRecords,
    person: &PersonId,
) -> HandlerResult<Vec<TypedEntry<Login>>> {
    shelf.list_entries(KIND, Some(person.as_str())).await
}

/// Ends one; whether it was there.
pub(crate) async fn end_login(shelf: &TypedRecords, name: &str) -> HandlerResult<bool> {
    shelf.remove(KIND, name).await
}
