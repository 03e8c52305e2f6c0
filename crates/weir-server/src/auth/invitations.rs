//! Links by which somebody sets their own password: for a new account, and for one whose password is
//! forgotten. Each works once and for a week.

use serde::{Deserialize, Serialize};
use weir_install::people::{Person, PersonId};

use crate::auth::shelf::{Shelf, Slot};
use crate::auth::{accounts, secret};
use crate::problem::{Answer, Problem};

/// Kind of the entries.
const KIND: &str = "invitation";
/// How long a link works.
const LIVES_MS: u64 = 7 * 24 * 60 * 60 * 1000;

/// An invitation; its name is the hash of what the link carries.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Invitation {}

/// A new one; those before it end. What the link carries.
pub(crate) async fn make(shelf: &Shelf, person: &PersonId) -> Answer<String> {
    end_all(shelf, person).await?;
    let token = secret::token()?;
    let slot = Slot {
        kind: KIND,
        name: &secret::digest(&token),
        owner: person.as_str(),
        expires: Some(shelf.now().plus_ms(LIVES_MS)),
    };
    shelf.put(slot, &Invitation {}, None).await?;
    Ok(token)
}

/// Ends every invitation of somebody.
pub(crate) async fn end_all(shelf: &Shelf, person: &PersonId) -> Answer<()> {
    for old in shelf.list::<Invitation>(KIND, Some(person.as_str())).await? {
        shelf.remove(KIND, &old.name).await?;
    }
    Ok(())
}

/// Whom a link is for.
///
/// # Errors
/// It does not work any more.
pub(crate) async fn find(shelf: &Shelf, token: &str) -> Answer<Person> {
    let found = shelf.get::<Invitation>(KIND, &secret::digest(token)).await?;
    owner(shelf, found.map(|found| found.owner)).await
}

/// The same, and the link is used up by it.
///
/// # Errors
/// It does not work any more.
pub(crate) async fn take(shelf: &Shelf, token: &str) -> Answer<Person> {
    let found = shelf.take::<Invitation>(KIND, &secret::digest(token)).await?;
    owner(shelf, found.map(|found| found.owner)).await
}

async fn owner(shelf: &Shelf, id: Option<String>) -> Answer<Person> {
    let person = match id {
        Some(id) => accounts::get(shelf, &id).await?.filter(|person| !person.disabled),
        None => None,
    };
    person.ok_or_else(|| {
        Problem::new(
            http::StatusCode::NOT_FOUND,
            "not_found",
            "this link was used, has ended, or never was; ask an admin for another",
        )
    })
}
