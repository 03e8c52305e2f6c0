//! Second factors of an account: an authenticator app, passkeys, and codes for the day on which
//! neither is at hand (S2). Whoever has one cannot sign in with the password alone.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use weir_install::people::PersonId;

use crate::auth::shelf::{EntrySlot, TypedRecords};
use crate::auth::{passkeys, secret, totp};
use crate::problem::{HandlerResult, ProblemDetails};

const TOTP: &str = "totp";
const TOTP_NEW: &str = "totp_new";
const RECOVERY: &str = "recovery";
const POLICY: &str = "auth_policy";
/// How long a picture may be scanned.
const NEW_LIVES_MS: u64 = 15 * 60 * 1000;
/// Recovery codes made at once.
const RECOVERY_CODES: usize = 10;
/// Bytes of the secret of an app: what RFC 4226 asks for.
const SECRET_BYTES: usize = 20;

/// The secret of an app.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct TotpSecret {
    /// Base 64, sealed: codes are made of it, so no hash of it would do.
    secret: String,
    /// The last step whose code was taken.
    step: u64,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct RecoveryHashes {
    hashes: Vec<String>,
}

/// What an admin asks of everybody.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct SecondFactorPolicy {
    /// Nobody works here without a second factor (a passkey or an authenticator app).
    #[serde(default)]
    pub(crate) second_factor: bool,
}

/// What somebody has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AccountFactors {
    /// An authenticator app.
    pub(crate) has_app: bool,
    /// Passkeys.
    pub(crate) passkeys: usize,
    /// Recovery codes that were not used.
    pub(crate) recovery_codes: usize,
}

impl AccountFactors {
    /// Whether a password alone is not enough.
    pub(crate) fn has_any(&self) -> bool {
        self.has_app || self.passkeys > 0
    }
}

fn person_slot<'a>(kind: &'a str, person: &'a PersonId) -> EntrySlot<'a> {
    EntrySlot { kind, name: person.as_str(), owner: person.as_str(), expires: None }
}

/// What `person` has.
pub(crate) async fn load_factors(
    shelf: &TypedRecords,
    person: &PersonId,
) -> HandlerResult<AccountFactors> {
    let id = person.as_str();
    let recovery = shelf.get::<RecoveryHashes>(RECOVERY, id).await?;
    Ok(AccountFactors {
        has_app: shelf.get::<TotpSecret>(TOTP, id).await?.is_some(),
        passkeys: passkeys::list_passkeys(shelf, person).await?.len(),
        recovery_codes: recovery.map_or(0, |kept| kept.value.hashes.len()),
    })
}

/// Where the secret of somebody's app has its place.
fn totp_seal_place(person: &PersonId) -> String {
    format!("{TOTP}/{person}")
}

fn bytes_of(shelf: &TypedRecords, person: &PersonId, totp: &TotpSecret) -> HandlerResult<Vec<u8>> {
    let secret = shelf.open_secret(&totp_seal_place(person), &totp.secret)?;
    STANDARD.decode(secret).map_err(ProblemDetails::internal_failure)
}

/// Begins to add an app: its secret, which is kept apart until a code shows that the app has it.
/// Asking again gives the same, so that a page can be loaded again.
pub(crate) async fn begin_app(shelf: &TypedRecords, person: &PersonId) -> HandlerResult<Vec<u8>> {
    if shelf.get::<TotpSecret>(TOTP, person.as_str()).await?.is_some() {
        return Err(ProblemDetails::conflict(
            "there is an authenticator app already; remove it first",
        ));
    }
    if let Some(found) = shelf.get::<TotpSecret>(TOTP_NEW, person.as_str()).await? {
        return bytes_of(shelf, person, &found.value);
    }
    let bytes = secret::random_bytes::<SECRET_BYTES>()?;
    let totp = TotpSecret {
        secret: shelf.seal_secret(&totp_seal_place(person), &STANDARD.encode(bytes))?,
        step: 0,
    };
    let expires = Some(shelf.current_time().plus_ms(NEW_LIVES_MS));
    shelf.put_entry(EntrySlot { expires, ..person_slot(TOTP_NEW, person) }, &totp, None).await?;
    Ok(bytes.to_vec())
}

fn now_s(shelf: &TypedRecords) -> u64 {
    u64::try_from(shelf.current_time().0 / 1_000_000).unwrap_or_default()
}

/// The app has the secret, as its code shows: from now on it counts.
///
/// # Errors
/// The code is another, or nothing was begun.
pub(crate) async fn confirm_app(
    shelf: &TypedRecords,
    person: &PersonId,
    code: &str,
) -> HandlerResult<()> {
    let found = shelf.get::<TotpSecret>(TOTP_NEW, person.as_str()).await?;
    let begun = || ProblemDetails::bad_request("begin anew: the picture was shown too long ago");
    let begun_with = found.ok_or_else(begun)?.value;
    let secret = bytes_of(shelf, person, &begun_with)?;
    let step = totp::step_of(&secret, code, now_s(shelf), 0).ok_or_else(|| {
        ProblemDetails::bad_request(
            "this is not the code of now; is the clock of your device right?",
        )
    })?;
    let totp = TotpSecret { step, ..begun_with };
    shelf.put_entry(person_slot(TOTP, person), &totp, Some(0)).await?;
    shelf.remove(TOTP_NEW, person.as_str()).await?;
    Ok(())
}

/// The app counts no more; whether there was one.
pub(crate) async fn remove_app(shelf: &TypedRecords, person: &PersonId) -> HandlerResult<bool> {
    let was = shelf.remove(TOTP, person.as_str()).await?;
    prune_recovery_codes(shelf, person).await?;
    Ok(was)
}

/// Recovery codes stand for a second factor: without one they are worth nothing and go.
pub(crate) async fn prune_recovery_codes(
    shelf: &TypedRecords,
    person: &PersonId,
) -> HandlerResult<()> {
    if !load_factors(shelf, person).await?.has_any() {
        shelf.remove(RECOVERY, person.as_str()).await?;
    }
    Ok(())
}

/// Removes every second factor of somebody: an admin helps.
pub(crate) async fn reset_factors(shelf: &TypedRecords, person: &PersonId) -> HandlerResult<()> {
    for kind in [TOTP, TOTP_NEW, RECOVERY] {
        shelf.remove(kind, person.as_str()).await?;
    }
    for passkey in passkeys::list_passkeys(shelf, person).await? {
        passkeys::remove(shelf, person, &passkey.name).await?;
    }
    Ok(())
}

/// New recovery codes, shown this once; those before them count no more.
pub(crate) async fn new_recovery(
    shelf: &TypedRecords,
    person: &PersonId,
) -> HandlerResult<Vec<String>> {
    let mut codes = Vec::new();
    for _ in 0..RECOVERY_CODES {
        codes.push(secret::random_code::<12>()?);
    }
    let hash = |code: &String| secret::secret_digest(&secret::plain_code(code));
    let recovery = RecoveryHashes { hashes: codes.iter().map(hash).collect() };
    shelf.put_entry(person_slot(RECOVERY, person), &recovery, None).await?;
    Ok(codes)
}

/// Whether what somebody typed is the code of their app or a recovery code; either is used up by it.
/// `None`: it is neither.
pub(crate) async fn take_code(
    shelf: &TypedRecords,
    person: &PersonId,
    typed: &str,
) -> HandlerResult<Option<&'static str>> {
    let now = now_s(shelf);
    let mut broken = None;
    let app = shelf.change_value(person_slot(TOTP, person), |kept: Option<TotpSecret>| {
        let mut totp = kept?;
        let secret = bytes_of(shelf, person, &totp);
        let secret = secret.map_err(|problem| broken = Some(problem)).ok()?;
        totp.step = totp::step_of(&secret, typed, now, totp.step)?;
        Some((totp, None))
    });
    if app.await?.is_some() {
        return Ok(Some("password+app"));
    }
    // A recovery code is for the day on which the app is of no use, also because its secret does not
    // open any more.
    let hash = secret::secret_digest(&secret::plain_code(typed));
    let recovery =
        shelf.change_value(person_slot(RECOVERY, person), |kept: Option<RecoveryHashes>| {
            let mut recovery = kept?;
            let at = recovery.hashes.iter().position(|one| *one == hash)?;
            recovery.hashes.remove(at);
            Some((recovery, None))
        });
    match (recovery.await?, broken) {
        (Some(_), _) => Ok(Some("password+recovery code")),
        (None, Some(problem)) => Err(problem),
        (None, None) => Ok(None),
    }
}

/// What is asked of everybody.
pub(crate) async fn load_policy(shelf: &TypedRecords) -> HandlerResult<SecondFactorPolicy> {
    let found = shelf.get::<SecondFactorPolicy>(POLICY, "house").await?;
    Ok(found.map(|kept| kept.value).unwrap_or_default())
}

/// Asks this of everybody.
pub(crate) async fn set_policy(
    shelf: &TypedRecords,
    policy: &SecondFactorPolicy,
) -> HandlerResult<()> {
    let slot = EntrySlot { kind: POLICY, name: "house", owner: "", expires: None };
    shelf.put_entry(slot, policy, None).await?;
    Ok(())
}

#[cfg(test)]
mod tests;
