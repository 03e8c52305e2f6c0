//! Accounts: made, found, changed, removed. Not here: who may do so (`api/users`).

use serde::{Deserialize, Serialize};
use weir_core::ids::Timestamp;
use weir_install::people::{Person, PersonId, Role};

use crate::auth::secret;
use crate::auth::shelf::{EntrySlot, TypedEntry, TypedRecords};
use crate::problem::{HandlerResult, ProblemDetails};

const PERSON: &str = "person";
const NAME: &str = "person_name";
const EMAIL: &str = "person_email";
const PASSWORD: &str = "password";
/// Of somebody without a password, who comes in by paired telephones.
const BY_PHONE: &str = "phone_account";
/// Most accounts.
const PEOPLE_MAX: usize = 10_000;

/// What is kept of a password.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct PasswordHash {
    hash: String,
    changed: Timestamp,
}

/// That paired telephones come into an account that has no password.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct PhoneAccount {}

/// Whether a name can be one: `[a-z0-9][a-z0-9._-]{0,31}`. Only plain letters, so that no two names
/// look the same and differ.
pub(crate) fn name_complaint(name: &str) -> Option<&'static str> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let fits = name.len() <= 32
        && name.starts_with(plain)
        && name.chars().all(|c| plain(c) || matches!(c, '.' | '_' | '-'));
    (!fits).then_some(
        "a name has 1 to 32 of a-z, 0-9, dot, dash and underscore, and begins with a letter or digit",
    )
}

/// Makes an account.
pub(crate) async fn create_account(
    shelf: &TypedRecords,
    name: &str,
    role: Role,
    first: bool,
) -> HandlerResult<Person> {
    if let Some(complaint) = name_complaint(name) {
        return Err(ProblemDetails::bad_request(complaint));
    }
    if list_accounts(shelf).await?.len() >= PEOPLE_MAX {
        return Err(ProblemDetails::conflict(format!(
            "there are {PEOPLE_MAX} accounts; remove one first"
        )));
    }
    let person = Person {
        id: PersonId(secret::random_name()?.to_lowercase()),
        name: name.into(),
        display: String::new(),
        role,
        first,
        disabled: false,
        created: shelf.current_time(),
    };
    let id = person.id.as_str();
    let slot = EntrySlot { kind: NAME, name, owner: id, expires: None };
    let taken: Option<TypedEntry<PersonId>> = shelf.get(NAME, name).await?;
    let version = match &taken {
        // Whoever made it was stopped half way: nobody has it.
        Some(taken) if get(shelf, taken.value.as_str()).await?.is_none() => taken.version,
        _ => 0,
    };
    if !shelf.put_entry(slot, &person.id, Some(version)).await? {
        return Err(ProblemDetails::conflict(format!(
            "there is an account {name:?}; choose another name"
        )));
    }
    let slot = EntrySlot { kind: PERSON, name: id, owner: id, expires: None };
    shelf.put_entry(slot, &person, Some(0)).await?;
    Ok(person)
}

/// Everybody, by id.
pub(crate) async fn list_accounts(shelf: &TypedRecords) -> HandlerResult<Vec<Person>> {
    let all = shelf.list_entries::<Person>(PERSON, None).await?;
    Ok(all.into_iter().map(|kept| kept.value).collect())
}

/// Whether somebody can come in: there is an account with a password, or one for paired telephones.
pub(crate) async fn has_usable_account(shelf: &TypedRecords) -> HandlerResult<bool> {
    Ok(has_password_account(shelf).await?
        || !shelf.list_entries::<PhoneAccount>(BY_PHONE, None).await?.is_empty())
}

/// Whether there is an account with a password.
pub(crate) async fn has_password_account(shelf: &TypedRecords) -> HandlerResult<bool> {
    Ok(!shelf.list_entries::<PasswordHash>(PASSWORD, None).await?.is_empty())
}

/// Notes that an account without a password is used, by paired telephones.
pub(crate) async fn open_for_phones(shelf: &TypedRecords, id: &PersonId) -> HandlerResult<()> {
    let slot = EntrySlot { kind: BY_PHONE, name: id.as_str(), owner: id.as_str(), expires: None };
    shelf.put_entry(slot, &PhoneAccount {}, None).await?;
    Ok(())
}

/// Somebody by their id.
pub(crate) async fn get(shelf: &TypedRecords, id: &str) -> HandlerResult<Option<Person>> {
    Ok(shelf.get::<Person>(PERSON, id).await?.map(|kept| kept.value))
}

/// Somebody by what they typed as their name.
pub(crate) async fn by_name(shelf: &TypedRecords, typed: &str) -> HandlerResult<Option<Person>> {
    let name = typed.trim().to_ascii_lowercase();
    if name_complaint(&name).is_some() {
        return Ok(None);
    }
    let found: Option<TypedEntry<PersonId>> = shelf.get(NAME, &name).await?;
    match found {
        Some(found) => get(shelf, found.value.as_str()).await,
        None => Ok(None),
    }
}

/// Changes an account. Of two who change it at the same time, both changes hold.
pub(crate) async fn change_account(
    shelf: &TypedRecords,
    id: &PersonId,
    change: impl Fn(&mut Person),
) -> HandlerResult<Person> {
    let slot = EntrySlot { kind: PERSON, name: id.as_str(), owner: id.as_str(), expires: None };
    let changed = shelf.change_value(slot, |person: Option<Person>| {
        let mut person = person?;
        change(&mut person);
        Some((person, None))
    });
    changed.await?.ok_or_else(|| ProblemDetails::not_found(format!("account {id}")))
}

/// Most characters of what somebody is called.
const DISPLAY_MAX: usize = 80;

/// Says what somebody is called; empty: by their name.
pub(crate) async fn set_display(
    shelf: &TypedRecords,
    id: &PersonId,
    display: &str,
) -> HandlerResult<Person> {
    let display: String = display.trim().to_owned();
    if display.chars().count() > DISPLAY_MAX || display.chars().any(char::is_control) {
        return Err(ProblemDetails::bad_request(format!(
            "what one is called has at most {DISPLAY_MAX} characters"
        )));
    }
    change_account(shelf, id, |person| person.display.clone_from(&display)).await
}

/// Removes everything that the door keeps of somebody, and whatever else is theirs in the records.
pub(crate) async fn remove(shelf: &TypedRecords, person: &Person) -> HandlerResult<()> {
    shelf.remove_owned(person.id.as_str()).await
}

/// What is kept of their password; `None`: they have none.
pub(crate) async fn find_password_hash(
    shelf: &TypedRecords,
    id: &PersonId,
) -> HandlerResult<Option<String>> {
    let found = shelf.get::<PasswordHash>(PASSWORD, id.as_str()).await?;
    Ok(found.map(|kept| kept.value.hash))
}

/// Keeps a hash as their password.
pub(crate) async fn set_password(
    shelf: &TypedRecords,
    id: &PersonId,
    hash: &str,
) -> HandlerResult<()> {
    let value = PasswordHash { hash: hash.into(), changed: shelf.current_time() };
    let slot = EntrySlot { kind: PASSWORD, name: id.as_str(), owner: id.as_str(), expires: None };
    shelf.put_entry(slot, &value, None).await?;
    Ok(())
}

/// A mail address in the form that is compared.
fn plain_email(email: &str) -> HandlerResult<String> {
    let email = email.trim().to_lowercase();
    let fits = email.len() <= 254
        && email.split_once('@').is_some_and(|(name, host)| !name.is_empty() && host.contains('.'))
        && !email.chars().any(|c| c.is_whitespace() || c.is_control());
    fits.then_some(email).ok_or_else(|| ProblemDetails::bad_request("that is no mail address"))
}

/// The person who has this mail address, as an admin said.
pub(crate) async fn by_email(shelf: &TypedRecords, email: &str) -> HandlerResult<Option<Person>> {
    let Ok(email) = plain_email(email) else {
        return Ok(None);
    };
    match shelf.get::<PersonId>(EMAIL, &email).await? {
        Some(found) => get(shelf, found.value.as_str()).await,
        None => Ok(None),
    }
}

/// The mail address of somebody; empty: none is known.
pub(crate) async fn email_of(shelf: &TypedRecords, id: &PersonId) -> HandlerResult<String> {
    let found = shelf.list_entries::<PersonId>(EMAIL, Some(id.as_str())).await?;
    Ok(found.into_iter().next().map(|kept| kept.name).unwrap_or_default())
}

/// Says which mail address somebody has; empty: none. Only an admin may: whoever has the address at
/// the identity provider can sign in as them.
pub(crate) async fn set_email(
    shelf: &TypedRecords,
    id: &PersonId,
    email: &str,
) -> HandlerResult<()> {
    let wanted = match email.trim() {
        "" => None,
        email => Some(plain_email(email)?),
    };
    let before = email_of(shelf, id).await?;
    if wanted.as_deref().unwrap_or_default() == before {
        return Ok(());
    }
    if let Some(email) = &wanted {
        let slot = EntrySlot { kind: EMAIL, name: email, owner: id.as_str(), expires: None };
        if !shelf.put_entry(slot, id, Some(0)).await? {
            return Err(ProblemDetails::conflict("another account has this mail address"));
        }
    }
    if !before.is_empty() {
        shelf.remove(EMAIL, &before).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s2_names_that_look_like_others_cannot_be() {
        for name in ["ann", "a", "ann.b-c_d", "0x"] {
            assert_eq!(name_complaint(name), None, "{name}");
        }
        for name in ["", "Ann", "аnn", "ann ", "ann\u{200b}", "ａnn", ".ann", "-ann", "../x", "änn"]
        {
            assert!(name_complaint(name).is_some(), "{name:?}");
        }
        assert!(name_complaint(&"a".repeat(33)).is_some());
    }
}
