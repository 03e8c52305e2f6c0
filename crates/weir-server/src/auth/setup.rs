//! The first account (S1): whoever has the code that the server printed makes it. The code is kept as
//! a hash, ends after a day, and is gone once it was used; guessing at it is slowed down.

use serde::{Deserialize, Serialize};
use weir_install::people::{Person, Role};

use crate::auth::shelf::{Shelf, Slot};
use crate::auth::{accounts, secret};
use crate::problem::{Answer, Problem};

/// Kind of the entries: several replicas may each have printed one.
const KIND: &str = "setup_code";
/// A code ends after a day; a new start prints another.
const CODE_LIVES_MS: u64 = 24 * 60 * 60 * 1000;

/// What is kept of a code: nothing but its hash, which is the name of the entry.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Code {}

/// A new code, as it is printed; `None`: there is an account already.
pub(crate) async fn code(shelf: &Shelf) -> Answer<Option<String>> {
    if accounts::any(shelf).await? {
        return Ok(None);
    }
    let code = secret::code::<8>()?;
    let name = secret::digest(&secret::plain_code(&code));
    let expires = Some(shelf.now().plus_ms(CODE_LIVES_MS));
    shelf.put(Slot { kind: KIND, name: &name, owner: "", expires }, &Code {}, None).await?;
    Ok(Some(code))
}

/// Whether this is a code that holds.
pub(crate) async fn is_code(shelf: &Shelf, typed: &str) -> Answer<bool> {
    let name = secret::digest(&secret::plain_code(typed));
    Ok(shelf.get::<Code>(KIND, &name).await?.is_some())
}

/// Makes the first account with a code, which is used up by it. `hash`: of the password.
///
/// # Errors
/// The code does not hold; there is an account already; the name cannot be.
pub(crate) async fn claim(shelf: &Shelf, typed: &str, name: &str, hash: &str) -> Answer<Person> {
    let code = secret::digest(&secret::plain_code(typed));
    if accounts::any(shelf).await? {
        return Err(closed());
    }
    // Of two who have the same code, one gets it.
    if shelf.take::<Code>(KIND, &code).await?.is_none() {
        return Err(wrong_code());
    }
    let person = first(shelf, name, hash).await?;
    for other in shelf.list::<Code>(KIND, None).await? {
        shelf.remove(KIND, &other.name).await?;
    }
    Ok(person)
}

/// Makes the first account without a code: whoever starts the server may.
///
/// # Errors
/// There is an account already; the name cannot be.
pub(crate) async fn first(shelf: &Shelf, name: &str, hash: &str) -> Answer<Person> {
    if accounts::any(shelf).await? {
        return Err(closed());
    }
    let person = match accounts::by_name(shelf, name).await? {
        // A first setup that was stopped before the password was there.
        Some(person) => person,
        None => accounts::make(shelf, name, Role::Admin, true).await?,
    };
    accounts::set_password(shelf, &person.id, hash).await?;
    Ok(person)
}

/// What is said of a code that does not hold.
pub(crate) fn wrong_code() -> Problem {
    Problem::forbidden(
        "this is not the setup code. `weir serve` printed it in its terminal or log; restart it for a \
         new one",
    )
}

/// What is said once there is an account.
pub(crate) fn closed() -> Problem {
    Problem::conflict("this server is set up; sign in")
}
