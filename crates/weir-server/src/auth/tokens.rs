//! Tokens of programs: shown once, kept as a hash, with a name, a scope and maybe an end (S2).

use serde::{Deserialize, Serialize};
use weir_core::ids::Timestamp;
use weir_install::people::PersonId;

use crate::auth::secret;
use crate::auth::shelf::{EntrySlot, TypedEntry, TypedRecords};
use crate::problem::{HandlerResult, ProblemDetails};

/// Kind of the entries.
const KIND: &str = "token";
/// How every token begins: so people and scanners know one when they see it.
pub(crate) const PREFIX: &str = "weir_";
/// Most tokens of one person.
const TOKENS_MAX: usize = 100;
/// How often the use of one is written down.
const SEEN_EVERY_MS: u64 = 60 * 1000;
/// Most days that one lives.
const DAYS_MAX: u32 = 3650;

/// What a token may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum TokenScope {
    /// Looking only.
    Read,
    /// Whatever its owner may do, but for the account itself.
    #[default]
    All,
    /// Calling tools at `/mcp`, and nothing else anywhere: for another agent's program.
    Mcp,
}

/// A token, without its secret.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ApiToken {
    /// By which it is listed and revoked.
    pub(crate) id: String,
    /// The name that its owner gave it.
    pub(crate) name: String,
    /// The uses that it is good for.
    pub(crate) scope: TokenScope,
    /// When it was made.
    pub(crate) created: Timestamp,
    /// When it was last used, to a minute.
    pub(crate) seen: Option<Timestamp>,
}

/// What somebody wants of a new token.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct NewToken {
    /// What to call it.
    pub(crate) name: String,
    /// The uses that it is good for (default `all`).
    #[serde(default)]
    pub(crate) scope: TokenScope,
    /// It ends after so many days; without it, it does not end by itself.
    #[serde(default)]
    pub(crate) days: Option<u32>,
}

/// Makes one: its secret, which is shown once, and what is kept.
pub(crate) async fn create_token(
    shelf: &TypedRecords,
    person: &PersonId,
    wanted: &NewToken,
) -> HandlerResult<(String, ApiToken)> {
    let name = wanted.name.trim();
    if name.is_empty() || name.chars().count() > 80 {
        return Err(ProblemDetails::bad_request("a token needs a name of at most 80 characters"));
    }
    if wanted.days.is_some_and(|days| days == 0 || days > DAYS_MAX) {
        return Err(ProblemDetails::bad_request(format!("a token lives for 1 to {DAYS_MAX} days")));
    }
    if list_tokens(shelf, person).await?.len() >= TOKENS_MAX {
        return Err(ProblemDetails::conflict(format!(
            "there are {TOKENS_MAX} tokens; revoke one first"
        )));
    }
    let secret = format!("{PREFIX}{}", secret::random_token()?);
    let now = shelf.current_time();
    let token = ApiToken {
        id: secret::random_name()?,
        name: name.into(),
        scope: wanted.scope,
        created: now,
        seen: None,
    };
    let expires = wanted.days.map(|days| now.plus_ms(u64::from(days) * 24 * 60 * 60 * 1000));
    let slot = EntrySlot {
        kind: KIND,
        name: &secret::secret_digest(&secret),
        owner: person.as_str(),
        expires,
    };
    shelf.put_entry(slot, &token, Some(0)).await?;
    Ok((secret, token))
}

/// The token of a secret, if it holds. Its use is written down now and then.
pub(crate) async fn find_token_by_secret(
    shelf: &TypedRecords,
    secret: &str,
) -> HandlerResult<Option<TypedEntry<ApiToken>>> {
    if !secret.starts_with(PREFIX) {
        return Ok(None);
    }
    let Some(mut found) = find_token(shelf, &secret::secret_digest(secret)).await? else {
        return Ok(None);
    };
    let now = shelf.current_time();
    if found.value.seen.is_none_or(|seen| now.ms_since(seen) > SEEN_EVERY_MS) {
        found.value.seen = Some(now);
        let slot = EntrySlot {
            kind: KIND,
            name: &found.name,
            owner: &found.owner,
            expires: found.expires,
        };
        // Only as it was read: what was revoked in between stays revoked.
        shelf.put_entry(slot, &found.value, Some(found.version)).await?;
    }
    Ok(Some(found))
}

/// The token of this entry, if it still holds.
pub(crate) async fn find_token(
    shelf: &TypedRecords,
    name: &str,
) -> HandlerResult<Option<TypedEntry<ApiToken>>> {
    shelf.get(KIND, name).await
}

/// All of a person.
pub(crate) async fn list_tokens(
    shelf: &TypedRecords,
    person: &PersonId,
) -> HandlerResult<Vec<TypedEntry<ApiToken>>> {
    shelf.list_entries(KIND, Some(person.as_str())).await
}

/// Revokes one of a person by its id: the name of its entry, if it was there.
pub(crate) async fn revoke_token(
    shelf: &TypedRecords,
    person: &PersonId,
    id: &str,
) -> HandlerResult<Option<String>> {
    let found = list_tokens(shelf, person).await?.into_iter().find(|token| token.value.id == id);
    let Some(found) = found else {
        return Ok(None);
    };
    Ok(shelf.remove(KIND, &found.name).await?.then_some(found.name))
}
