//! Who somebody is: passwords, sign-ins, tokens, second factors (S2). Not here: what they may do then
//! (`guard`), how they come in (`sign_in`), and the pages that ask for it (`web/pages`).

use std::net::IpAddr;
use std::sync::Arc;

use http::{HeaderMap, header};
use weir_engine::ports::{Clock, Records};

use crate::caller::{Caller, CallerCredential, CallerScope};
use crate::problem::HandlerResult;

pub(crate) mod accounts;
pub(crate) mod events;
pub(crate) mod factors;
pub(crate) mod invitations;
pub(crate) mod logins;
pub(crate) mod passkeys;
pub(crate) mod password;
pub(crate) mod qr;
pub(crate) mod secret;
pub(crate) mod setup;
pub(crate) mod shelf;
#[cfg(test)]
mod still_clock;
pub(crate) mod throttle;
pub(crate) mod tokens;
pub(crate) mod totp;
mod watch;

use password::PasswordService;
use shelf::TypedRecords;
use tokens::TokenScope;
use watch::CredentialWatches;
pub(crate) use watch::{CredentialWatch, RevocationNotice};
use weir_install::people::{Person, PersonId};
use weir_install::seal::SecretSeal;

/// Knows who is at the door.
pub(crate) struct AuthService {
    pub(crate) shelf: TypedRecords,
    pub(crate) passwords: PasswordService,
    watches: CredentialWatches,
}

impl AuthService {
    /// A service over these accounts, whose secrets are sealed so.
    pub(crate) fn new(
        records: Arc<dyn Records>,
        clock: Arc<dyn Clock>,
        seal: SecretSeal,
    ) -> AuthService {
        let shelf = TypedRecords::new(records, clock).with_seal(seal);
        let watches = CredentialWatches::new(shelf.clone());
        AuthService { shelf, passwords: PasswordService::new(), watches }
    }

    /// The person who sent these headers, by the cookie of a sign-in, which is given here as it was
    /// found among them, or `Authorization: Bearer`. `None`: neither is there, or it is no longer
    /// valid. A token that is there and does not hold is nobody, whatever the cookie says.
    ///
    /// # Errors
    /// The database does not answer.
    pub(crate) async fn find_caller(
        &self,
        headers: &HeaderMap,
        cookie: Option<&str>,
    ) -> HandlerResult<Option<Caller>> {
        if headers.contains_key(header::AUTHORIZATION) {
            return self.by_token(headers).await;
        }
        let Some(cookie) = cookie else { return Ok(None) };
        let Some(login) = logins::find_login_by_token(&self.shelf, cookie).await? else {
            return Ok(None);
        };
        let Some(person) = self.find_person(&login.owner).await? else {
            return Ok(None);
        };
        let scope = if login.value.must_enrol { CallerScope::Enrol } else { CallerScope::All };
        let device = login.value.device;
        let csrf = logins::csrf_of(cookie);
        let via = CallerCredential::Cookie { login: login.name, csrf, device };
        Ok(Some(Caller { person, via, scope }))
    }

    async fn by_token(&self, headers: &HeaderMap) -> HandlerResult<Option<Caller>> {
        let value = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let secret = value.and_then(|value| value.split_once(' ')).and_then(|(scheme, secret)| {
            scheme.eq_ignore_ascii_case("bearer").then_some(secret.trim())
        });
        let Some(token) =
            tokens::find_token_by_secret(&self.shelf, secret.unwrap_or_default()).await?
        else {
            return Ok(None);
        };
        let Some(person) = self.find_person(&token.owner).await? else {
            return Ok(None);
        };
        let scope = match token.value.scope {
            TokenScope::Read => CallerScope::Read,
            TokenScope::All => CallerScope::All,
            TokenScope::Mcp => CallerScope::Mcp,
        };
        Ok(Some(Caller { person, via: CallerCredential::Token { token: token.name }, scope }))
    }

    /// Somebody who may come in.
    async fn find_person(&self, id: &str) -> HandlerResult<Option<Person>> {
        Ok(accounts::get(&self.shelf, id).await?.filter(|person| !person.disabled))
    }

    /// Tells open connections that something no longer holds.
    pub(crate) fn announce_revocation(&self, what: RevocationNotice) {
        self.watches.announce_revocation(what);
    }

    /// Ends every sign-in and token-less connection of a person but `keep`, here and elsewhere.
    pub(crate) async fn end_logins(
        &self,
        person: &PersonId,
        keep: Option<&str>,
    ) -> HandlerResult<usize> {
        let mut ended = 0;
        for login in logins::list_logins(&self.shelf, person).await? {
            if Some(login.name.as_str()) != keep
                && logins::end_login(&self.shelf, &login.name).await?
            {
                ended += 1;
                self.announce_revocation(RevocationNotice::One(login.name));
            }
        }
        Ok(ended)
    }

    /// Watches whether what `caller` came in by still holds: for connections that stay open. A database
    /// that does not answer for long counts as no.
    pub(crate) fn watch_credential(&self, caller: &Caller) -> Arc<CredentialWatch> {
        self.watches.join_watch(caller)
    }
}

/// From where a request came, and by what. An argument that any handler may have.
#[derive(Debug, Clone)]
pub(crate) struct ClientInfo {
    /// The address of whoever asks: that of the connection, or what a declared proxy says.
    pub(crate) address: IpAddr,
    /// What the browser or program calls itself.
    pub(crate) agent: String,
}
