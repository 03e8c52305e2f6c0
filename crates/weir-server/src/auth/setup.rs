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
    if accounts::has_password_account(shelf).await? {
        return Err(already_set_up());
    }
    let person = first_account(shelf, name).await?;
    if person.name != name.trim().to_ascii_lowercase() {
        return Err(ProblemDetails::conflict(format!(
            "the first account is {}: give it the password",
            person.name
        )));
    }
    accounts::set_password(shelf, &person.id, hash).await?;
    Ok(person)
}

/// The first person, whose sessions are those of this machine's command line; without an account a new one
/// of this name and without a password, into which paired telephones come. Whoever has the state folder may.
///
/// # Errors
/// The name cannot be.
pub(crate) async fn first_person_or_new(shelf: &TypedRecords, name: &str) -> HandlerResult<Person> {
    let is_open = accounts::has_usable_account(shelf).await?;
    let person = first_account(shelf, name).await?;
    if !is_open {
        accounts::open_for_phones(shelf, &person.id).await?;
    }
    Ok(person)
}

/// The first account, which is there, or was begun and left, or is made under this name.
async fn first_account(shelf: &TypedRecords, name: &str) -> HandlerResult<Person> {
    let all = accounts::list_accounts(shelf).await?;
    match all.into_iter().find(|person| person.first) {
        Some(person) => Ok(person),
        None => accounts::create_account(shelf, name, Role::Admin, true).await,
    }
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
