//! The code by which a telephone is paired: made at the terminal by whoever has the state folder, kept as
//! a hash, good for one telephone and five minutes. Of two telephones that have the same code, one is
//! paired, and the terminal says which.

use serde::{Deserialize, Serialize};
use weir_core::safe_text::look_alikes;
use weir_install::people::{Person, PersonId};

use super::PairingOffer;
use crate::auth::shelf::{EntrySlot, TypedRecords};
use crate::auth::{accounts, secret};
use crate::problem::{HandlerResult, ProblemDetails};

/// Kind of the entries of codes, and of what came of them.
const CODE: &str = "phone_code";
const PAIRED: &str = "phone_paired";
/// How long a code works.
const LIVES_MS: u64 = 5 * 60 * 1000;
/// How long the terminal may ask what came of it.
const PAIRED_KEPT_MS: u64 = 10 * 60 * 1000;
/// Letters of a code, five random bits each: 80 bits for five minutes.
const CODE_LETTERS: usize = 16;
/// Most characters of a telephone's name.
const NAME_CHARS_MAX: usize = 40;

/// A code; the name of its entry is its hash.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct CodeEntry {
    /// The name of the telephone, where the terminal said one.
    name: String,
}

/// The sign-in that came of a code.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct PairedEntry {
    login: String,
}

fn code_digest(typed: &str) -> String {
    secret::secret_digest(&format!("phone {}", secret::plain_code(typed)))
}

/// The name of a telephone as it may be: journals and pages show it beside the person's.
///
/// # Errors
/// It is empty, too long, or could be read as something else.
pub(crate) fn plain_device_name(name: &str) -> HandlerResult<String> {
    let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
    let may_be = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.' | '\'' | '+');
    let fits = !name.is_empty()
        && name.chars().count() <= NAME_CHARS_MAX
        && name.chars().all(may_be)
        && look_alikes(&name).is_empty();
    fits.then_some(name).ok_or_else(|| {
        ProblemDetails::bad_request(format!(
            "the name of a telephone has 1 to {NAME_CHARS_MAX} letters, digits, blanks, dots and \
             dashes, such as Pixel 9"
        ))
    })
}

/// A new code for somebody; those before it end.
pub(crate) async fn create_pairing(
    shelf: &TypedRecords,
    person: &PersonId,
    name: &str,
) -> HandlerResult<PairingOffer> {
    end_all(shelf, person).await?;
    let code = secret::random_code::<CODE_LETTERS>()?;
    let expires = shelf.current_time().plus_ms(LIVES_MS);
    let slot = EntrySlot {
        kind: CODE,
        name: &code_digest(&code),
        owner: person.as_str(),
        expires: Some(expires),
    };
    shelf.put_entry(slot, &CodeEntry { name: name.to_owned() }, None).await?;
    Ok(PairingOffer { code, expires })
}

/// Ends every code of somebody.
pub(crate) async fn end_all(shelf: &TypedRecords, person: &PersonId) -> HandlerResult<()> {
    for old in shelf.list_entries::<CodeEntry>(CODE, Some(person.as_str())).await? {
        shelf.remove(CODE, &old.name).await?;
    }
    Ok(())
}

/// Ends one code.
pub(crate) async fn end_pairing(shelf: &TypedRecords, code: &str) -> HandlerResult<()> {
    shelf.remove(CODE, &code_digest(code)).await?;
    Ok(())
}

/// Whether nobody used a code yet and it has not ended.
pub(crate) async fn is_open(shelf: &TypedRecords, code: &str) -> HandlerResult<bool> {
    Ok(shelf.get::<CodeEntry>(CODE, &code_digest(code)).await?.is_some())
}

/// Somebody whose telephone is to be paired.
pub(crate) struct RedeemedCode {
    /// Whose it is.
    pub(crate) person: Person,
    /// The name that the terminal gave it; empty: none.
    pub(crate) name: String,
}

/// Uses a code up.
///
/// # Errors
/// It does not work: used, ended, never made, or its person may not come in. Which is not said.
pub(crate) async fn redeem_code(shelf: &TypedRecords, typed: &str) -> HandlerResult<RedeemedCode> {
    // Whoever takes the entry away is the only one who has it.
    let Some(taken) = shelf.take_entry::<CodeEntry>(CODE, &code_digest(typed)).await? else {
        return Err(wrong_code());
    };
    let person = accounts::get(shelf, &taken.owner).await?.filter(|person| !person.disabled);
    let person = person.ok_or_else(wrong_code)?;
    Ok(RedeemedCode { person, name: taken.value.name })
}

fn wrong_code() -> ProblemDetails {
    ProblemDetails::not_permitted(
        "this code was used, has ended, or never was; run `weir phone` again for another one",
    )
}

/// Keeps which sign-in came of a code, for the terminal that shows it.
pub(crate) async fn note_paired(
    shelf: &TypedRecords,
    typed: &str,
    person: &PersonId,
    login: &str,
) -> HandlerResult<()> {
    let slot = EntrySlot {
        kind: PAIRED,
        name: &code_digest(typed),
        owner: person.as_str(),
        expires: Some(shelf.current_time().plus_ms(PAIRED_KEPT_MS)),
    };
    shelf.put_entry(slot, &PairedEntry { login: login.to_owned() }, None).await?;
    Ok(())
}

/// The sign-in that came of a code.
pub(crate) async fn find_paired_login(
    shelf: &TypedRecords,
    code: &str,
) -> HandlerResult<Option<String>> {
    let found = shelf.get::<PairedEntry>(PAIRED, &code_digest(code)).await?;
    Ok(found.map(|found| found.value.login))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r5_a_telephone_is_called_nothing_that_misleads() {
        for (typed, name) in [("Pixel 9", "Pixel 9"), ("  Ann's   phone ", "Ann's phone")] {
            assert_eq!(plain_device_name(typed).expect("a name"), name);
        }
        for typed in ["", " ", "a) by (bob", "x\u{202E}y", "x\ny(", "раypal", "<b>", "a/b"] {
            assert!(plain_device_name(typed).is_err(), "{typed:?}");
        }
        assert!(plain_device_name(&"x".repeat(41)).is_err());
    }
}
