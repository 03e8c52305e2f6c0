//! Passkeys (WebAuthn level 2): adding one and signing in with one. Attestation is "none": which
//! maker a key has decides nothing here. Signatures are checked by `ring`; the user must have been
//! verified (finger, face, PIN), so that a passkey is both factors at once. Not here: the formats
//! (`passkeys/cose`, `passkeys/cbor`).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use weir_core::ids::Timestamp;

use crate::auth::secret;
use crate::auth::shelf::{EntrySlot, TypedEntry, TypedRecords};
use crate::problem::{HandlerResult, ProblemDetails};

mod cbor;
mod cose;
mod said;

use said::{AuthenticatorData, ClientData};
use weir_install::people::PersonId;

const KIND: &str = "passkey";
const CHALLENGE: &str = "passkey_challenge";
/// How long somebody may take.
const CHALLENGE_LIVES_MS: u64 = 5 * 60 * 1000;
/// Most passkeys of one person.
const PASSKEYS_MAX: usize = 20;
/// Most bytes of what a browser sends in one field.
const FIELD_BYTES_MAX: usize = 16 * 1024;

/// A passkey, by the name that its maker gave it (base 64).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Passkey {
    /// The name that its owner gave it.
    pub(crate) called: String,
    /// COSE key, base 64.
    key: String,
    /// How often it signed, as far as it counts.
    count: u32,
    /// When it was added.
    pub(crate) created: Timestamp,
    /// When it was last used.
    pub(crate) seen: Option<Timestamp>,
}

/// What a browser signs, and why.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct PendingChallenge {
    /// For adding a key to this account; `None`: for signing in.
    adds_for: Option<PersonId>,
}

/// The site for which keys are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PasskeySite {
    /// Its host.
    pub(crate) host: String,
    /// `https://HOST`, with a port where there is one.
    pub(crate) origin: String,
}

/// What the browser is asked.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PasskeyChallenge {
    /// To be signed, base 64 (URL).
    pub(crate) challenge: String,
    /// The site.
    pub(crate) host: String,
    /// The account's handle, base 64 (URL); empty when signing in.
    pub(crate) user: String,
    /// The account's name; empty when signing in.
    pub(crate) name: String,
    /// Keys that the account has already, base 64 (URL): they are not added twice.
    pub(crate) known: Vec<String>,
}

/// What the browser answers when a key is added; base 64 (URL).
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PasskeyRegistration {
    /// What to call it.
    pub(crate) called: String,
    /// `clientDataJSON`.
    pub(crate) client_data: String,
    /// `attestationObject`.
    pub(crate) attestation: String,
}

/// What the browser answers when somebody signs in; base 64 (URL).
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PasskeyAssertion {
    /// The id of the key.
    pub(crate) id: String,
    /// `clientDataJSON`.
    pub(crate) client_data: String,
    /// `authenticatorData`.
    pub(crate) authenticator_data: String,
    /// `signature`.
    pub(crate) signature: String,
    /// `userHandle`; empty: the key did not say.
    #[serde(default)]
    pub(crate) user: String,
}

fn decode_field(text: &str) -> HandlerResult<Vec<u8>> {
    let fits = text.len() <= FIELD_BYTES_MAX;
    let bytes = URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok().filter(|_| fits);
    bytes.ok_or_else(|| ProblemDetails::bad_request("the browser's answer cannot be read"))
}

/// What is said of a key that is not right; the log says what it was.
fn wrong_passkey(why: &str) -> ProblemDetails {
    tracing::info!(why, "a passkey was refused");
    ProblemDetails::new(
        http::StatusCode::UNAUTHORIZED,
        "wrong_passkey",
        "this passkey does not fit here",
    )
}

/// What is said where a key's account is gone.
pub(crate) fn no_account() -> ProblemDetails {
    wrong_passkey("its account is gone or disabled")
}

async fn new_challenge(shelf: &TypedRecords, adds_for: Option<PersonId>) -> HandlerResult<String> {
    let challenge = secret::random_token()?;
    let expires = Some(shelf.current_time().plus_ms(CHALLENGE_LIVES_MS));
    let owner = adds_for.as_ref().map(|person| person.0.clone()).unwrap_or_default();
    let name = secret::secret_digest(&challenge);
    let slot = EntrySlot { kind: CHALLENGE, name: &name, owner: &owner, expires };
    shelf.put_entry(slot, &PendingChallenge { adds_for }, None).await?;
    Ok(challenge)
}

/// What to ask a browser that adds a key.
pub(crate) async fn ask_to_add(
    shelf: &TypedRecords,
    person: &PersonId,
    name: &str,
    site: &PasskeySite,
) -> HandlerResult<PasskeyChallenge> {
    let known = list_passkeys(shelf, person).await?;
    if known.len() >= PASSKEYS_MAX {
        return Err(ProblemDetails::conflict(format!(
            "there are {PASSKEYS_MAX} passkeys; remove one"
        )));
    }
    Ok(PasskeyChallenge {
        challenge: new_challenge(shelf, Some(person.clone())).await?,
        host: site.host.clone(),
        user: URL_SAFE_NO_PAD.encode(person.as_str()),
        name: name.into(),
        known: known.into_iter().map(|kept| kept.name).collect(),
    })
}

/// What to ask a browser that signs in.
pub(crate) async fn ask_to_sign_in(
    shelf: &TypedRecords,
    site: &PasskeySite,
) -> HandlerResult<PasskeyChallenge> {
    Ok(PasskeyChallenge {
        challenge: new_challenge(shelf, None).await?,
        host: site.host.clone(),
        user: String::new(),
        name: String::new(),
        known: Vec::new(),
    })
}

/// Adds a key.
///
/// # Errors
/// The answer does not fit what was asked.
pub(crate) async fn add_passkey(
    shelf: &TypedRecords,
    person: &PersonId,
    site: &PasskeySite,
    added: &PasskeyRegistration,
) -> HandlerResult<()> {
    let client = decode_field(&added.client_data)?;
    let client =
        ClientData::read(&client, "webauthn.create", &site.origin).map_err(wrong_passkey)?;
    let asked = shelf
        .take_entry::<PendingChallenge>(CHALLENGE, &secret::secret_digest(&client.challenge))
        .await?;
    if asked.is_none_or(|asked| asked.value.adds_for.as_ref() != Some(person)) {
        return Err(wrong_passkey("nobody asked for this, or too long ago"));
    }
    let attestation = decode_field(&added.attestation)?;
    let data =
        cbor::authenticator_data(&attestation).ok_or_else(|| wrong_passkey("no data in it"))?;
    let data = AuthenticatorData::read(data, &site.host).map_err(wrong_passkey)?;
    let (id, key) = data.credential.ok_or_else(|| wrong_passkey("no key in it"))?;
    cose::CoseKey::read(key).ok_or_else(|| wrong_passkey("a kind of key that is not known"))?;
    let called = match added.called.trim() {
        "" => "Passkey".to_owned(),
        called => called.chars().take(80).collect(),
    };
    let passkey = Passkey {
        called,
        key: URL_SAFE_NO_PAD.encode(key),
        count: data.count,
        created: shelf.current_time(),
        seen: None,
    };
    let name = URL_SAFE_NO_PAD.encode(id);
    let slot = EntrySlot { kind: KIND, name: &name, owner: person.as_str(), expires: None };
    match shelf.put_entry(slot, &passkey, Some(0)).await? {
        true => Ok(()),
        false => Err(ProblemDetails::conflict("this passkey is known already")),
    }
}

/// Whose key it is that signed; its use is written down.
///
/// # Errors
/// No key of this site, or not what was asked.
pub(crate) async fn sign_in(
    shelf: &TypedRecords,
    site: &PasskeySite,
    said: &PasskeyAssertion,
) -> HandlerResult<PersonId> {
    let client_bytes = decode_field(&said.client_data)?;
    let client =
        ClientData::read(&client_bytes, "webauthn.get", &site.origin).map_err(wrong_passkey)?;
    let asked = shelf
        .take_entry::<PendingChallenge>(CHALLENGE, &secret::secret_digest(&client.challenge))
        .await?;
    if asked.is_none_or(|asked| asked.value.adds_for.is_some()) {
        return Err(wrong_passkey("nobody asked for this, or too long ago"));
    }
    let id = URL_SAFE_NO_PAD.encode(decode_field(&said.id)?);
    let found: Option<TypedEntry<Passkey>> = shelf.get(KIND, &id).await?;
    let TypedEntry { owner, version, value: mut passkey, .. } =
        found.ok_or_else(|| wrong_passkey("unknown"))?;
    if !said.user.is_empty() && decode_field(&said.user)? != owner.as_bytes() {
        return Err(wrong_passkey("it is another's"));
    }
    let key = decode_field(&passkey.key)?;
    let key =
        cose::CoseKey::read(&key).ok_or_else(|| wrong_passkey("a kept key cannot be read"))?;
    let data_bytes = decode_field(&said.authenticator_data)?;
    let data = AuthenticatorData::read(&data_bytes, &site.host).map_err(wrong_passkey)?;
    let mut signed = data_bytes.clone();
    signed.extend(secret::sha256_digest(&client_bytes));
    if !key.is_signed(&signed, &decode_field(&said.signature)?) {
        return Err(wrong_passkey("the signature is another's"));
    }
    // A key that counts and counts backwards was copied.
    if (data.count > 0 || passkey.count > 0) && data.count <= passkey.count {
        return Err(wrong_passkey("it counts backwards: there may be a copy of it"));
    }
    passkey.count = data.count;
    passkey.seen = Some(shelf.current_time());
    let slot = EntrySlot { kind: KIND, name: &id, owner: &owner, expires: None };
    if !shelf.put_entry(slot, &passkey, Some(version)).await? {
        return Err(wrong_passkey("it was used or removed at the same moment"));
    }
    Ok(PersonId(owner))
}

/// Keys of somebody.
pub(crate) async fn list_passkeys(
    shelf: &TypedRecords,
    person: &PersonId,
) -> HandlerResult<Vec<TypedEntry<Passkey>>> {
    shelf.list_entries(KIND, Some(person.as_str())).await
}

/// Removes one of somebody; whether it was theirs.
pub(crate) async fn remove(
    shelf: &TypedRecords,
    person: &PersonId,
    name: &str,
) -> HandlerResult<bool> {
    let is_theirs = list_passkeys(shelf, person).await?.iter().any(|kept| kept.name == name);
    Ok(is_theirs && shelf.remove(KIND, name).await?)
}
