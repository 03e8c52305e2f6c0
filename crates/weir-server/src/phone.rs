//! The telephone (R5): a browser that was paired with a person by a code at their terminal, and the single
//! yes or no that a notice to it carries. Not here: what is told (`person_news`), where notices go
//! (`notify`), the pages (`web::pages::phone`).

use std::time::Duration;

use weir_core::ids::Timestamp;
use weir_core::sorting::sort_stably_by_key;
use weir_install::people::Person;

use crate::app::App;
use crate::auth::events::EventActor;
use crate::auth::logins::{self, Login};
use crate::auth::shelf::TypedEntry;
use crate::auth::{RevocationNotice, accounts, setup};
use crate::notice_acts;
use crate::notify::channels;
use crate::person_news::note_account_event;
use crate::problem::{HandlerResult, ProblemDetails};

pub(crate) mod answer;
mod certificate;
pub(crate) mod pairing;

pub use crate::auth::qr::{PictureGround, render_half_blocks};
pub use certificate::{LanCertificate, lan_certificate};

/// The page on which a telephone is paired; the code follows behind `#`, which browsers send nowhere.
pub const PAIRING_PATH: &str = "/phone";

/// A code by which one telephone is paired.
#[derive(Debug, Clone)]
pub struct PairingOffer {
    /// The code, as it is shown and typed.
    pub code: String,
    /// When it ends by itself.
    pub expires: Timestamp,
}

/// A telephone that is paired.
#[derive(Debug, Clone)]
pub struct PairedPhone {
    /// By which it is listed and revoked; of no use for signing in.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Whose it is.
    pub account: String,
    /// From where it was paired.
    pub address: String,
    /// When it was paired.
    pub paired: Timestamp,
    /// When it was last used, to five minutes.
    pub seen: Timestamp,
    /// When it ends by itself.
    pub expires: Option<Timestamp>,
}

/// What came of a code.
#[derive(Debug, Clone)]
pub enum PairingProgress {
    /// Nobody used it yet.
    Waiting,
    /// This telephone was paired by it.
    Paired(PairedPhone),
    /// It ended, or another one took its place.
    Over,
}

impl App {
    /// A code for the person whose sessions are those of this machine's command line; without an account
    /// they get one, into which only paired telephones come until a password is set. `name`: of the
    /// telephone; empty: its page asks. Codes before it end. Called by whoever has the state folder.
    ///
    /// # Errors
    /// The database does not answer, the name cannot be, the account is disabled: a sentence.
    pub async fn offer_pairing(&self, account: &str, name: &str) -> Result<PairingOffer, String> {
        let told = |problem: ProblemDetails| problem.detail;
        let shelf = &self.auth.shelf;
        let name = match name {
            "" => String::new(),
            name => pairing::plain_device_name(name).map_err(told)?,
        };
        let person = setup::first_person_or_new(shelf, account).await.map_err(told)?;
        if person.disabled {
            return Err(format!("the account {} is disabled", person.name));
        }
        pairing::create_pairing(shelf, &person.id, &name).await.map_err(told)
    }

    /// What came of a code.
    ///
    /// # Errors
    /// The database does not answer: a sentence.
    pub async fn pairing_progress(&self, code: &str) -> Result<PairingProgress, String> {
        self.find_progress(code).await.map_err(|problem| problem.detail)
    }

    async fn find_progress(&self, code: &str) -> HandlerResult<PairingProgress> {
        let shelf = &self.auth.shelf;
        if let Some(login) = pairing::find_paired_login(shelf, code).await? {
            let Some(found) = logins::find_login(shelf, &login).await? else {
                return Ok(PairingProgress::Over);
            };
            let person = accounts::get(shelf, &found.owner).await?;
            let phone = person.map(|person| paired_phone(&person, found));
            return Ok(phone.map_or(PairingProgress::Over, PairingProgress::Paired));
        }
        Ok(match pairing::is_open(shelf, code).await? {
            true => PairingProgress::Waiting,
            false => PairingProgress::Over,
        })
    }

    /// Ends a code that nobody used.
    ///
    /// # Errors
    /// The database does not answer: a sentence.
    pub async fn withdraw_pairing(&self, code: &str) -> Result<(), String> {
        pairing::end_pairing(&self.auth.shelf, code).await.map_err(|problem| problem.detail)
    }

    /// Every telephone that is paired, of everybody; the oldest first.
    ///
    /// # Errors
    /// The database does not answer: a sentence.
    pub async fn list_phones(&self) -> Result<Vec<PairedPhone>, String> {
        let told = |problem: ProblemDetails| problem.detail;
        let mut all = Vec::new();
        for person in accounts::list_accounts(&self.auth.shelf).await.map_err(told)? {
            all.extend(self.phones_of(&person).await.map_err(told)?);
        }
        sort_stably_by_key(&mut all, |phone| phone.paired);
        Ok(all)
    }

    async fn phones_of(&self, person: &Person) -> HandlerResult<Vec<PairedPhone>> {
        let all = logins::list_logins(&self.auth.shelf, &person.id).await?;
        let phones = all.into_iter().filter(|login| !login.value.device.is_empty());
        Ok(phones.map(|login| paired_phone(person, login)).collect())
    }

    /// Revokes a telephone by its id: from now on it is nobody, no notice goes to it, and no answer that
    /// it was given counts. `false`: there is none.
    ///
    /// # Errors
    /// The database does not answer: a sentence.
    pub async fn revoke_phone(&self, id: &str) -> Result<bool, String> {
        self.end_phone(id).await.map_err(|problem| problem.detail)
    }

    /// Waits until its person was told of it, wherever they are told things, but no longer than `limit`: for
    /// a command that ends then.
    pub async fn wait_until_told(&self, limit: Duration) {
        self.channel_sender.wait_until_sent(limit).await;
    }

    async fn end_phone(&self, id: &str) -> HandlerResult<bool> {
        let shelf = &self.auth.shelf;
        for person in accounts::list_accounts(shelf).await? {
            let all = logins::list_logins(shelf, &person.id).await?;
            let is_meant = |login: &&TypedEntry<Login>| {
                !login.value.device.is_empty() && logins::public_id(&login.name) == id
            };
            let Some(found) = all.iter().find(is_meant) else { continue };
            let ended = logins::end_login(shelf, &found.name).await?;
            self.forget_phone(&person, found).await?;
            return Ok(ended);
        }
        Ok(false)
    }

    /// What a telephone had besides its sign-in, which has ended: the way by which it is told, and answers
    /// that wait for it.
    pub(crate) async fn forget_phone(
        &self,
        person: &Person,
        login: &TypedEntry<Login>,
    ) -> HandlerResult<()> {
        channels::remove_of_login(
            self.records.as_ref(),
            &person.id,
            &login.name,
            self.current_time(),
        )
        .await?;
        notice_acts::end_acts_of_login(&self.auth.shelf, &person.id, &login.name).await?;
        self.auth.announce_revocation(RevocationNotice::One(login.name.clone()));
        let doer = EventActor { by: &person.name, address: None };
        note_account_event(self, doer, person, "phone_revoked", &login.value.device).await
    }
}

fn paired_phone(person: &Person, login: TypedEntry<Login>) -> PairedPhone {
    PairedPhone {
        id: logins::public_id(&login.name).to_owned(),
        account: person.name.clone(),
        expires: login.expires,
        name: login.value.device,
        address: login.value.address,
        paired: login.value.created,
        seen: login.value.seen,
    }
}

#[cfg(test)]
mod tests;
