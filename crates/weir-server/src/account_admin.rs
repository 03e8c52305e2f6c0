//! What admins do with accounts: one place for the API and the pages. The last admin stays one.

use axum::extract::FromRequestParts;
use http::request::Parts;
use weir_install::people::{Person, Role};

use crate::app::App;
use crate::auth::events::EventActor;
use crate::auth::factors::{self, SecondFactorPolicy};
use crate::auth::{ClientInfo, RevocationNotice, accounts, invitations, password, tokens};
use crate::caller::Caller;
use crate::person_news::note_account_event;
use crate::problem::{HandlerResult, ProblemDetails};

/// An admin at work: an argument of every handler that only admins may reach. Whoever is none is
/// refused here too, whatever the route says.
pub(crate) struct AdminContext {
    /// The server.
    pub(crate) app: App,
    /// The admin.
    pub(crate) caller: Caller,
    /// The connection that the admin's request came over.
    pub(crate) client: ClientInfo,
}

impl FromRequestParts<App> for AdminContext {
    type Rejection = ProblemDetails;
    async fn from_request_parts(parts: &mut Parts, app: &App) -> HandlerResult<AdminContext> {
        let caller = Caller::from_request_parts(parts, app).await?;
        caller.check_admin()?;
        let client = ClientInfo::from_request_parts(parts, app).await?;
        Ok(AdminContext { app: app.clone(), caller, client })
    }
}

/// A new account.
#[derive(Debug, Clone)]
pub(crate) struct NewAccountRequest<'a> {
    /// By which they sign in.
    pub(crate) name: &'a str,
    /// The rights of the account.
    pub(crate) role: Role,
    /// Their first password; `None`: an invitation is made.
    pub(crate) password: Option<&'a str>,
    /// Their mail address, for signing in through an identity provider; may be empty.
    pub(crate) email: &'a str,
}

/// What is said where the last admin would be lost.
fn last_admin() -> ProblemDetails {
    ProblemDetails::conflict(
        "this is the last admin who can sign in; make another account an admin first",
    )
}

impl AdminContext {
    async fn note_event(&self, what: &str, person: &Person, detail: &str) -> HandlerResult<()> {
        let doer = EventActor { by: &self.caller.person.name, address: Some(self.client.address) };
        note_account_event(&self.app, doer, person, what, detail).await
    }

    /// Somebody by their id.
    ///
    /// # Errors
    /// There is no such account.
    pub(crate) async fn find_person(&self, id: &str) -> HandlerResult<Person> {
        let found = accounts::get(&self.app.auth.shelf, id).await?;
        found.ok_or_else(|| ProblemDetails::not_found("this account"))
    }

    /// Makes an account: it, and what the link of its invitation carries, if one was made.
    ///
    /// # Errors
    /// The name, password or mail address cannot be.
    pub(crate) async fn create_account(
        &self,
        wanted: &NewAccountRequest<'_>,
    ) -> HandlerResult<(Person, Option<String>)> {
        let auth = &self.app.auth;
        let name = wanted.name.trim();
        let hash = match wanted.password {
            Some(typed) => match password::password_complaint(typed, name) {
                Some(complaint) => return Err(ProblemDetails::bad_request(complaint)),
                None => Some(auth.passwords.hash(typed).await?),
            },
            None => None,
        };
        let person = accounts::create_account(&auth.shelf, name, wanted.role, false).await?;
        if let Err(problem) = accounts::set_email(&auth.shelf, &person.id, wanted.email).await {
            accounts::remove(&auth.shelf, &person).await?;
            return Err(problem);
        }
        let link = match hash {
            Some(hash) => {
                accounts::set_password(&auth.shelf, &person.id, &hash).await?;
                None
            }
            None => Some(invitations::create_invitation(&auth.shelf, &person.id).await?),
        };
        self.note_event("account_made", &person, role_word(wanted.role)).await?;
        Ok((person, link))
    }

    /// A link by which somebody sets a new password; the one before ends with its use.
    ///
    /// # Errors
    /// There is no such account.
    pub(crate) async fn invite_person(&self, id: &str) -> HandlerResult<String> {
        let person = self.find_person(id).await?;
        let link = invitations::create_invitation(&self.app.auth.shelf, &person.id).await?;
        self.note_event("invited", &person, "").await?;
        Ok(link)
    }

    /// Changes the role. Their sign-ins end: what they may do is decided anew.
    ///
    /// # Errors
    /// It is the last admin.
    pub(crate) async fn set_role(&self, id: &str, role: Role) -> HandlerResult<Person> {
        let person = self.find_person(id).await?;
        if person.role == role {
            return Ok(person);
        }
        if role != Role::Admin {
            self.another_admin(&person).await?;
        }
        let changed = accounts::change_account(&self.app.auth.shelf, &person.id, |person| {
            person.role = role;
        });
        let person = changed.await?;
        self.still_an_admin(&person, |person| person.role = Role::Admin).await?;
        let keep = (person.id == self.caller.person.id).then(|| self.caller.at_browser().ok());
        self.app.auth.end_logins(&person.id, keep.flatten()).await?;
        self.app.auth.announce_revocation(RevocationNotice::Person(person.id.clone()));
        // Tokens stay; what their programs have under way goes by the old rights.
        self.app.mcp.end_person(&person.id).await;
        self.note_event("role_changed", &person, role_word(role)).await?;
        Ok(person)
    }

    /// Lets somebody in no more, or again. Their sign-ins and open connections end.
    ///
    /// # Errors
    /// It is the last admin.
    pub(crate) async fn set_disabled(&self, id: &str, disabled: bool) -> HandlerResult<Person> {
        let person = self.find_person(id).await?;
        if person.disabled == disabled {
            return Ok(person);
        }
        if disabled {
            self.another_admin(&person).await?;
        }
        let changed = accounts::change_account(&self.app.auth.shelf, &person.id, |person| {
            person.disabled = disabled;
        });
        let person = changed.await?;
        if disabled {
            self.still_an_admin(&person, |person| person.disabled = false).await?;
            self.app.auth.end_logins(&person.id, None).await?;
            self.app.auth.announce_revocation(RevocationNotice::Person(person.id.clone()));
            self.app.mcp.end_person(&person.id).await;
            self.app.sessions.close_all(person.id.as_str()).await;
        }
        let what = if disabled { "account_disabled" } else { "account_enabled" };
        self.note_event(what, &person, "").await?;
        Ok(person)
    }

    /// Says what somebody is called and which mail address they have.
    ///
    /// # Errors
    /// Another account has the address.
    pub(crate) async fn set_contact_details(
        &self,
        id: &str,
        display: Option<&str>,
        email: Option<&str>,
    ) -> HandlerResult<Person> {
        let person = self.find_person(id).await?;
        let shelf = &self.app.auth.shelf;
        if let Some(email) = email {
            accounts::set_email(shelf, &person.id, email).await?;
            self.note_event("email_set", &person, email.trim()).await?;
        }
        match display {
            Some(display) => accounts::set_display(shelf, &person.id, display).await,
            None => Ok(person),
        }
    }

    /// Removes an account and everything of it.
    ///
    /// # Errors
    /// It is the last admin, the caller's own, or some of it could not be removed.
    pub(crate) async fn remove(&self, id: &str) -> HandlerResult<()> {
        let person = self.find_person(id).await?;
        if person.id == self.caller.person.id {
            return Err(ProblemDetails::conflict(
                "nobody removes their own account; another admin can",
            ));
        }
        if person.first {
            return Err(ProblemDetails::conflict(
                "this account set the server up, and the sessions of this machine's command line \
                 are its own; disable it instead",
            ));
        }
        self.another_admin(&person).await?;
        let auth = &self.app.auth;
        if !person.disabled {
            // Nobody works in a user space that is being removed.
            let shut = |person: &mut Person| person.disabled = true;
            accounts::change_account(&auth.shelf, &person.id, shut).await?;
            self.still_an_admin(&person, |person| person.disabled = false).await?;
        }
        auth.end_logins(&person.id, None).await?;
        auth.announce_revocation(RevocationNotice::Person(person.id.clone()));
        self.app.mcp.end_person(&person.id).await;
        self.app.sessions.close_all(person.id.as_str()).await;
        self.app.installation.remove_user_space(&person).await?;
        accounts::remove(&auth.shelf, &person).await?;
        self.note_event("account_removed", &person, "").await
    }

    /// Ends every sign-in and token of somebody.
    ///
    /// # Errors
    /// There is no such account.
    pub(crate) async fn sign_out(&self, id: &str) -> HandlerResult<usize> {
        let person = self.find_person(id).await?;
        let auth = &self.app.auth;
        let mut ended = auth.end_logins(&person.id, None).await?;
        for token in tokens::list_tokens(&auth.shelf, &person.id).await? {
            if tokens::revoke_token(&auth.shelf, &person.id, &token.value.id).await?.is_some() {
                ended += 1;
            }
        }
        auth.announce_revocation(RevocationNotice::Person(person.id.clone()));
        self.app.mcp.end_person(&person.id).await;
        self.note_event("signed_out_everywhere", &person, &ended.to_string()).await?;
        Ok(ended)
    }

    /// Takes somebody's second factors away: they lost them. Their sign-ins end.
    ///
    /// # Errors
    /// There is no such account.
    pub(crate) async fn reset_factors(&self, id: &str) -> HandlerResult<()> {
        let person = self.find_person(id).await?;
        let auth = &self.app.auth;
        factors::reset_factors(&auth.shelf, &person.id).await?;
        let own = (person.id == self.caller.person.id).then(|| self.caller.at_browser().ok());
        auth.end_logins(&person.id, own.flatten()).await?;
        self.note_event("second_factor_reset", &person, "").await
    }

    /// Asks this of everybody. Sign-ins of people who do not have what is asked end, but for that of
    /// the admin who asks.
    ///
    /// # Errors
    /// The database does not answer.
    pub(crate) async fn set_policy(&self, policy: &SecondFactorPolicy) -> HandlerResult<()> {
        let auth = &self.app.auth;
        factors::set_policy(&auth.shelf, policy).await?;
        if policy.second_factor {
            for person in accounts::list_accounts(&auth.shelf).await? {
                let has = factors::load_factors(&auth.shelf, &person.id).await?;
                if !has.has_any() && person.id != self.caller.person.id {
                    auth.end_logins(&person.id, None).await?;
                }
            }
        }
        let word = if policy.second_factor { "second factor for all" } else { "nothing more" };
        self.note_event("policy_set", &self.caller.person, word).await
    }

    /// That somebody but `person` is an admin who can sign in.
    async fn another_admin(&self, person: &Person) -> HandlerResult<()> {
        if !person.is_admin() || person.disabled || self.count_admins(Some(person)).await? > 0 {
            return Ok(());
        }
        Err(last_admin())
    }

    /// Of two admins who each take the other's place at the same moment, one change is taken back.
    async fn still_an_admin(
        &self,
        person: &Person,
        back: impl Fn(&mut Person),
    ) -> HandlerResult<()> {
        if self.count_admins(None).await? > 0 {
            return Ok(());
        }
        accounts::change_account(&self.app.auth.shelf, &person.id, back).await?;
        Err(last_admin())
    }

    async fn count_admins(&self, but: Option<&Person>) -> HandlerResult<usize> {
        let shelf = &self.app.auth.shelf;
        let mut count = 0;
        for person in accounts::list_accounts(shelf).await? {
            let counts = person.is_admin() && !person.disabled;
            if counts && but.is_none_or(|but| but.id != person.id) {
                count +=
                    usize::from(accounts::find_password_hash(shelf, &person.id).await?.is_some());
            }
        }
        Ok(count)
    }
}

/// A role in a word.
pub(crate) fn role_word(role: Role) -> &'static str {
    match role {
        Role::Admin => "admin",
        Role::User => "user",
    }
}
