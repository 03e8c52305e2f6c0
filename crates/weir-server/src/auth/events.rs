//! What happened to accounts: who signed in, who changed what (the audit view shows it). Kept after
//! an account is gone.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use weir_core::ids::Timestamp;

use crate::auth::secret;
use crate::auth::shelf::{EntrySlot, TypedRecords};
use crate::problem::HandlerResult;

/// Kind of the entries.
const KIND: &str = "account_event";
/// How long one is kept.
const KEPT_MS: u64 = 400 * 24 * 60 * 60 * 1000;

/// One thing that happened to an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AccountEvent {
    /// Its name among the events.
    #[serde(default)]
    pub(crate) id: String,
    /// When it happened.
    pub(crate) ts: Timestamp,
    /// What, for programs: `signed_in`, `sign_in_failed`, `password_changed`, …
    pub(crate) what: String,
    /// Whose account, by name.
    pub(crate) account: String,
    /// The name of the person who did it; empty: nobody is known.
    pub(crate) by: String,
    /// From where; empty: from inside.
    pub(crate) address: String,
    /// More of it, for people; never a secret.
    #[serde(default)]
    pub(crate) detail: String,
}

/// The person who did something, and the address that it was done from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventActor<'a> {
    /// By name; empty: nobody is known.
    pub(crate) by: &'a str,
    /// The address that it was done from.
    pub(crate) address: Option<IpAddr>,
}

/// Keeps that `what` happened to `account`.
pub(crate) async fn record_event(
    shelf: &TypedRecords,
    doer: EventActor<'_>,
    what: &str,
    account: &str,
    detail: &str,
) -> HandlerResult<()> {
    let now = shelf.current_time();
    let event = AccountEvent {
        id: format!("{:020}-{}", now.0, secret::random_name()?),
        ts: now,
        what: what.into(),
        // What was typed as a name may be anything.
        account: account.chars().take(64).collect(),
        by: doer.by.into(),
        address: doer.address.map(|address| address.to_string()).unwrap_or_default(),
        detail: detail.into(),
    };
    tracing::info!(what, account = %event.account, by = doer.by, address = %event.address, "account");
    let expires = Some(now.plus_ms(KEPT_MS));
    let slot = EntrySlot { kind: KIND, name: &event.id, owner: "", expires };
    shelf.put_entry(slot, &event, None).await?;
    Ok(())
}

/// All that is kept, oldest first. `account`: of this account only.
pub(crate) async fn list_events(
    shelf: &TypedRecords,
    account: Option<&str>,
) -> HandlerResult<Vec<AccountEvent>> {
    let all = shelf.list_entries::<AccountEvent>(KIND, None).await?;
    let wanted = |event: &AccountEvent| account.is_none_or(|account| event.account == account);
    Ok(all.into_iter().map(|kept| kept.value).filter(wanted).collect())
}
