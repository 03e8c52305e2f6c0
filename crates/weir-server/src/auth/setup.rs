//! The first account (S1): whoever has the code that the server printed makes it. The code is kept as
//! a hash, ends after a day, and is gone once it was used; guessing at it is slowed down.

use serde::{Deserialize, Serialize};
use weir_install::people::{Person, Role};

use crate::auth::shelf::{EntrySlot, TypedRecords};
use crate::auth::{accounts, secret};
use crate::problem::{HandlerResult, ProblemDetails};

/// Kind of the entries: several replicas may each have printed one.
const KIND: &str = "setup_code";
/// A code ends after a day; a new start prints another.
const CODE_LIVES_MS: u64 = 24 * 60 * 60 * 1000;

/// What is kept of a code: nothing but its hash, which is the name of the entry.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct SetupCode {}

/// A new code, as it is printed; `None`: there is an account already.
pub(crate) async fn create_setup_code(shelf: &TypedRecords) -> HandlerResult<Option<String>> {
    if accounts::has_usable_account(shelf).await? {
        return Ok(None);
    }
    let code = secret::random_code::<8>()?;
    let name = secret::secret_digest(&secret::plain_code(&code));
    let expires = Some(shelf.current_time().plus_ms(CODE_LIVES_MS));
    shelf
        .put_entry(EntrySlot { kind: KIND, name: &name, owner: "", expires }, &SetupCode {}, None)
        .await?;
    Ok(Some(code))
}

/// Whether this is a code that holds.
pub(crate) async fn is_code(shelf: &TypedRecords, typed: &str) -> HandlerResult<bool> {
    let name = secret::secret_digest(&secret::plain_code(typed));
    Ok(shelf.get::<SetupCode>(KIND, &name).await?.is_some())
}

/// Makes the first account with a code, which is used up by it. `hash`: of the password.
///
/// # Errors
/// The code does not hold; there is an account already; the name cannot be.
pub(crate) async fn claim_first_account(
    shelf: &TypedRecords,
    typed: &str,
    name: &str,
    hash: &str,
) -> HandlerResult<Person> {
    let code = secret::secret_digest(&secret::plain_code(typed));
    if accounts::has_usable_account(shelf).await? {
        return Err(already_set_up());
    }
    // Of two who have the same code, one gets it.
    if shelf.take_entry::<SetupCode>(KIND, &code).await?.is_none() {
        return Err(wrong_code());
    }
    let person = create_first_account(shelf, name, hash).await?;
    for other in shelf.list_entries::<SetupCode>(KIND, None).await? {
        shelf.remove(KIND, &other.name).await?;
    }
    Ok(person)
}

/// Makes the first account without a code: whoever starts the server may.
///
/// # Errors
/// There is an account already; the name cannot be.
pub(crate) async fn create_first_account(
    shelf: &TypedRecords,
    name: &str,
    hash: &str,
) -> HandlerResult<Person> {
    if accounts::has_usable_account(shelf).await? {
        return Err(already_set_up());
    }
    let person = match accounts::by_name(shelf, name).await? {
        // A first setup that was stopped before the password was there.
        Some(person) => person,
        None => accounts::create_account(shelf, name, Role::Admin, true).await?,
    };
    accounts::set_password(shelf, &person.id, hash).await?;
    Ok(person)
}

/// What is said of a code that does not hold.
pub(crate) fn wrong_code() -> ProblemDetails {
    ProblemDetails::not_permitted(
        "this is not the setup code. `weir serve` printed it in its terminal or log; restart it for a \
         new one",
    )
}

/// What is said once there is an account.
pub(crate) fn already_set_up() -> ProblemDetails {
    ProblemDetails::conflict("this server is set up; sign in")
}
