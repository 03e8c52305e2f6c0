//! Links by which somebody sets their own password: for a new account, and for one whose password is
//! forgotten. Each works once and for a week.

use serde::{Deserialize, Serialize};
use weir_install::people::{Person, PersonId};

use crate::auth::shelf::{EntrySlot, TypedRecords};
use crate::auth::{accounts, secret};
use crate::problem::{HandlerResult, ProblemDetails};

/// Kind of the entries.
const KIND: &str = "invitation";
/// How long a link works.
const LIVES_MS: u64 = 7 * 24 * 60 * 60 * 1000;

/// An invitation; its name is the hash of what the link carries.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct InvitationEntry {}

/// A new one; those before it end. What the link carries.
pub(crate) async fn create_invitation(
    shelf: &TypedRecords,
    person: &PersonId,
) -> HandlerResult<String> {
    end_all(shelf, person).await?;
    let token = secret::random_token()?;
    let slot = EntrySlot {
        kind: KIND,
        name: &secret::secret_digest(&token),
        owner: person.as_str(),
        expires: Some(shelf.current_time().plus_ms(LIVES_MS)),
    };
    shelf.put_entry(slot, &InvitationEntry {}, None).await?;
    Ok(token)
}

/// Ends every invitation of somebody.
pub(crate) async fn end_all(shelf: &TypedRecords, person: &PersonId) -> HandlerResult<()> {
    for old in shelf.list_entries::<InvitationEntry>(KIND, Some(person.as_str())).await? {
        shelf.remove(KIND, &old.name).await?;
    }
    Ok(())
}

/// Whom a link is for.
///
/// # Errors
/// It does not work any more.
pub(crate) async fn find_invited_person(
    shelf: &TypedRecords,
    token: &str,
) -> HandlerResult<Person> {
    let found = shelf.get::<InvitationEntry>(KIND, &secret::secret_digest(token)).await?;
    require_owner(shelf, found.map(|found| found.owner)).await
}

/// The same, and the link is used up by it.
///
/// # Errors
/// It does not work any more.
pub(crate) async fn redeem_invitation(shelf: &TypedRecords, token: &str) -> HandlerResult<Person> {
    let found = shelf.take_entry::<InvitationEntry>(KIND, &secret::secret_digest(token)).await?;
    require_owner(shelf, found.map(|found| found.owner)).await
}

async fn require_owner(shelf: &TypedRecords, id: Option<String>) -> HandlerResult<Person> {
    let person = match id {
        Some(id) => accounts::get(shelf, &id).await?.filter(|person| !person.disabled),
        None => None,
    };
    person.ok_or_else(|| {
        ProblemDetails::new(
            http::StatusCode::NOT_FOUND,
            "not_found",
            "this link was used, has ended, or never was; ask an admin for another",
        )
    })
}
