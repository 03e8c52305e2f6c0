//! Signing in, whichever way: throttled, the same words and time for whoever does not exist, a new
//! token each time.

use axum::extract::FromRequestParts;
use http::request::Parts;
use http::{HeaderMap, HeaderValue};
use serde::{Deserialize, Serialize};
use weir_install::people::Person;

use crate::app::App;
use crate::auth::events::{self, EventActor};
use crate::auth::logins::{self, NewLogin};
use crate::auth::password::PasswordCheck;
use crate::auth::shelf::EntrySlot;
use crate::auth::throttle::{self, ThrottleBucket};
use crate::auth::{ClientInfo, RevocationNotice, accounts, factors, secret};
use crate::caller::Caller;
use crate::person_news::{note_account_event, tell_account};
use crate::problem::{HandlerResult, ProblemDetails};

pub(crate) mod cookies;
pub(crate) mod oidc;
pub(crate) mod site;

/// Kind of the entries of browsers that signed in before.
const DEVICE: &str = "device";
/// How long a browser is remembered.
const DEVICE_LIVES_MS: u64 = 365 * 24 * 60 * 60 * 1000;

/// Kind of the entries of people who gave their password and not yet their second factor.
const PENDING: &str = "second_step";
/// How long that may take.
const PENDING_LIVES_MS: u64 = 5 * 60 * 1000;
/// Codes that may be tried before the password is asked for again.
const PENDING_TRIES_MAX: u32 = 5;
/// How old a sign-in may be that proves who somebody is.
const FRESH_MS: u64 = 10 * 60 * 1000;

/// Somebody who gave their password.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct PendingLogin {
    tries: u32,
}

/// How far somebody came with their password.
pub(crate) enum PasswordOutcome {
    /// In.
    In(Box<CompletedLogin>),
    /// A second factor is asked for.
    Second {
        /// What the second step sends back.
        pending: String,
        /// Whether there is an app whose code would do.
        has_app: bool,
    },
}

/// A browser that signed in to its owner's account before.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct KnownDevice {}

/// Somebody who is in.
#[derive(Debug, Clone)]
pub(crate) struct CompletedLogin {
    /// The person.
    pub(crate) person: Person,
    /// What forms and scripts send back.
    pub(crate) csrf: String,
    /// Cookies to set.
    pub(crate) cookies: Vec<HeaderValue>,
}

/// From where somebody comes, with what they brought.
#[derive(Clone, Copy)]
pub(crate) struct SignInContext<'a> {
    /// The server.
    pub(crate) app: &'a App,
    /// The address and program that ask.
    pub(crate) client: &'a ClientInfo,
    /// Headers of the request.
    pub(crate) headers: &'a HeaderMap,
}

/// A try that was counted and is not decided yet.
pub(crate) struct CountedAttempt {
    account: ThrottleBucket,
    address: ThrottleBucket,
}

/// From where somebody proves who they are: what a handler takes of a request for it.
pub(crate) struct SignInRequest {
    client: ClientInfo,
    headers: HeaderMap,
}

impl SignInRequest {
    /// With the server around it.
    pub(crate) fn context<'a>(&'a self, app: &'a App) -> SignInContext<'a> {
        SignInContext { app, client: &self.client, headers: &self.headers }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for SignInRequest {
    type Rejection = ProblemDetails;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> HandlerResult<SignInRequest> {
        let client = ClientInfo::from_request_parts(parts, state).await?;
        Ok(SignInRequest { client, headers: parts.headers.clone() })
    }
}

impl SignInContext<'_> {
    /// The actor of an event that this request causes.
    pub(crate) fn event_actor<'a>(&self, by: &'a str) -> EventActor<'a> {
        EventActor { by, address: Some(self.client.address) }
    }

    /// Counts a try at an account before it is made.
    ///
    /// # Errors
    /// It has to wait.
    pub(crate) async fn count_attempt(
        &self,
        name: &str,
        person: Option<&Person>,
    ) -> HandlerResult<CountedAttempt> {
        let shelf = &self.app.auth.shelf;
        let known = match person {
            Some(person) => self.known_device(person).await?,
            None => None,
        };
        let plain = name.trim().to_ascii_lowercase();
        let account = match &known {
            Some(device) => ThrottleBucket::for_device(&plain, device),
            None => ThrottleBucket::for_account(&plain),
        };
        let address = ThrottleBucket::for_address(self.client.address);
        throttle::take_attempt(shelf, &[address.clone(), account.clone()]).await?;
        Ok(CountedAttempt { account, address })
    }

    /// A try was right.
    pub(crate) async fn record_success(&self, counted: &CountedAttempt) -> HandlerResult<()> {
        let shelf = &self.app.auth.shelf;
        throttle::forget_failures(shelf, &counted.account).await?;
        throttle::give_back(shelf, &counted.address).await
    }

    /// A try was right as far as it went: it is taken back, those before it stay.
    pub(crate) async fn half_right(&self, counted: &CountedAttempt) -> HandlerResult<()> {
        let shelf = &self.app.auth.shelf;
        throttle::give_back(shelf, &counted.account).await?;
        throttle::give_back(shelf, &counted.address).await
    }

    /// What this browser is remembered by, if it signed in to the account of `person` before.
    async fn known_device(&self, person: &Person) -> HandlerResult<Option<String>> {
        let Some(token) = cookies::read_cookie(self.headers, cookies::device_name(self.app)) else {
            return Ok(None);
        };
        let name = format!("{}:{}", person.id, secret::secret_digest(token));
        let found = self.app.auth.shelf.get::<KnownDevice>(DEVICE, &name).await?;
        Ok(found.map(|_| name))
    }

    /// Whether this browser never signed in to the account of `person`, and others did: an account is
    /// used for the first time by whoever made it.
    async fn is_new_device(&self, person: &Person) -> HandlerResult<bool> {
        if self.known_device(person).await?.is_some() {
            return Ok(false);
        }
        let shelf = &self.app.auth.shelf;
        let known = shelf.list_entries::<KnownDevice>(DEVICE, Some(person.id.as_str())).await?;
        Ok(!known.is_empty())
    }

    /// Checks a password: whose it is.
    ///
    /// # Errors
    /// Name or password are not right: which of them is not said. Or one has to wait.
    pub(crate) async fn by_password(
        &self,
        name: &str,
        password: &str,
    ) -> HandlerResult<(Person, CountedAttempt)> {
        let auth = &self.app.auth;
        let person = accounts::by_name(&auth.shelf, name).await?;
        let counted = self.count_attempt(name, person.as_ref()).await?;
        let hash = match &person {
            Some(person) => accounts::find_password_hash(&auth.shelf, &person.id).await?,
            None => None,
        };
        let checked = auth.passwords.check_password(password, hash.as_deref()).await?;
        let person = person.filter(|person| !person.disabled && checked != PasswordCheck::Wrong);
        let Some(person) = person else {
            let account = accounts::name_complaint(&name.trim().to_ascii_lowercase());
            // Somebody may have typed their password as their name.
            let shown = if account.is_none() { name.trim() } else { "(not a name)" };
            events::record_event(&auth.shelf, self.event_actor(""), "sign_in_failed", shown, "")
                .await?;
            return Err(wrong_sign_in());
        };
        if let PasswordCheck::Renewed(hash) = checked {
            accounts::set_password(&auth.shelf, &person.id, &hash).await?;
        }
        Ok((person, counted))
    }

    /// Goes on after a right password: in, or to the second factor where there is one.
    pub(crate) async fn after_password(
        &self,
        person: Person,
        counted: &CountedAttempt,
    ) -> HandlerResult<PasswordOutcome> {
        let shelf = &self.app.auth.shelf;
        let factors = factors::load_factors(shelf, &person.id).await?;
        if !factors.has_any() {
            self.record_success(counted).await?;
            return Ok(PasswordOutcome::In(Box::new(
                self.complete_login(person, "password").await?,
            )));
        }
        self.half_right(counted).await?;
        let pending = secret::random_token()?;
        let slot = EntrySlot {
            kind: PENDING,
            name: &secret::secret_digest(&pending),
            owner: person.id.as_str(),
            expires: Some(shelf.current_time().plus_ms(PENDING_LIVES_MS)),
        };
        shelf.put_entry(slot, &PendingLogin::default(), None).await?;
        Ok(PasswordOutcome::Second { pending, has_app: factors.has_app })
    }

    /// The second step: the code of an app or a recovery code.
    ///
    /// # Errors
    /// The code is not right; it took too long or too many tries: the first step is made again.
    pub(crate) async fn by_code(&self, pending: &str, code: &str) -> HandlerResult<CompletedLogin> {
        let shelf = &self.app.auth.shelf;
        let name = secret::secret_digest(pending);
        let found = shelf.get::<PendingLogin>(PENDING, &name).await?.ok_or_else(begin_anew)?;
        let slot =
            EntrySlot { kind: PENDING, name: &name, owner: &found.owner, expires: found.expires };
        let counted = shelf.change_value(slot, |kept: Option<PendingLogin>| {
            let mut kept = kept?;
            kept.tries += 1;
            Some((kept, found.expires))
        });
        if counted.await?.is_none_or(|kept| kept.tries > PENDING_TRIES_MAX) {
            shelf.remove(PENDING, &name).await?;
            return Err(begin_anew());
        }
        let person = accounts::get(shelf, &found.owner).await?;
        let person = person.filter(|person| !person.disabled).ok_or_else(begin_anew)?;
        let counted = self.count_attempt(&person.name, Some(&person)).await?;
        let Some(how) = factors::take_code(shelf, &person.id, code).await? else {
            events::record_event(
                shelf,
                self.event_actor(""),
                "second_factor_failed",
                &person.name,
                "",
            )
            .await?;
            return Err(wrong_code());
        };
        if !shelf.remove(PENDING, &name).await? {
            return Err(begin_anew());
        }
        self.record_success(&counted).await?;
        self.complete_login(person, how).await
    }

    /// That the caller is still the person of the account: by their password, or, where they have
    /// none, by a sign-in of the last minutes. For changes that would keep a thief in.
    ///
    /// # Errors
    /// The password is not theirs.
    pub(crate) async fn prove_identity(
        &self,
        caller: &Caller,
        password: &str,
    ) -> HandlerResult<()> {
        let auth = &self.app.auth;
        let login = caller.at_browser()?;
        if accounts::find_password_hash(&auth.shelf, &caller.person.id).await?.is_none() {
            let login = logins::find_login(&auth.shelf, login).await?;
            let now = auth.shelf.current_time();
            let is_fresh = login.is_some_and(|kept| now.ms_since(kept.value.created) < FRESH_MS);
            return match is_fresh {
                true => Ok(()),
                false => Err(ProblemDetails::not_permitted("sign out and in again first")),
            };
        }
        match self.by_password(&caller.person.name, password).await {
            Ok((_, counted)) => self.record_success(&counted).await,
            Err(problem) if problem.code == "wrong_sign_in" => {
                Err(ProblemDetails::not_permitted("that is not your password"))
            }
            Err(problem) => Err(problem),
        }
    }

    /// Makes the sign-in of a caller anew, after what they may do has changed.
    pub(crate) async fn renew_login(
        &self,
        caller: &Caller,
        how: &str,
    ) -> HandlerResult<CompletedLogin> {
        let shelf = &self.app.auth.shelf;
        let person = accounts::get(shelf, caller.person.id.as_str()).await?;
        let person = person.filter(|person| !person.disabled).ok_or_else(begin_anew)?;
        self.complete_login(person, how).await
    }

    /// Lets somebody in: a new sign-in, whatever the browser had before ends.
    pub(crate) async fn complete_login(
        &self,
        person: Person,
        how: &str,
    ) -> HandlerResult<CompletedLogin> {
        let token = self.begin_login(&person, how, "").await?;
        if self.is_new_device(&person).await? {
            tell_account(self.app, &person.id, "signed_in").await;
        }
        let cookies =
            vec![cookies::sign_in(self.app, &token)?, self.remember_device(&person).await?];
        Ok(CompletedLogin { csrf: logins::csrf_of(&token), person, cookies })
    }

    /// Lets a telephone in that was paired with somebody at the terminal: the name of its sign-in, and
    /// the cookies to set. Its person is told, wherever they are told things.
    pub(crate) async fn complete_pairing(
        &self,
        person: &Person,
        device: &str,
    ) -> HandlerResult<(String, Vec<HeaderValue>)> {
        let token = self.begin_login(person, "phone", device).await?;
        let doer = self.event_actor(&person.name);
        note_account_event(self.app, doer, person, "phone_paired", device).await?;
        // It is no browser that the account knows: that would outlive the pairing, and whoever guesses the
        // password in it after the revocation would be one among its owner's own.
        let cookies = vec![cookies::phone_sign_in(self.app, &token)?];
        Ok((secret::secret_digest(&token), cookies))
    }

    /// A new sign-in: its token.
    async fn begin_login(&self, person: &Person, how: &str, device: &str) -> HandlerResult<String> {
        let (app, auth) = (self.app, &self.app.auth);
        if let Some(old) = cookies::read_cookie(self.headers, cookies::sign_in_name(app)) {
            let name = secret::secret_digest(old);
            if logins::end_login(&auth.shelf, &name).await? {
                auth.announce_revocation(RevocationNotice::One(name));
            }
        }
        let arrival = NewLogin {
            address: self.client.address.to_string(),
            agent: self.client.agent.clone(),
            how,
            device,
            must_enrol: self.must_enrol(person, how).await?,
        };
        let token = logins::begin_login(&auth.shelf, &person.id, arrival).await?;
        events::record_event(
            &auth.shelf,
            self.event_actor(&person.name),
            "signed_in",
            &person.name,
            how,
        )
        .await?;
        Ok(token)
    }

    /// Whether a second factor is asked of them that they do not have. A passkey is both factors, and
    /// an identity provider asks for its own.
    async fn must_enrol(&self, person: &Person, how: &str) -> HandlerResult<bool> {
        let shelf = &self.app.auth.shelf;
        if !matches!(how, "password" | "password+change")
            || !factors::load_policy(shelf).await?.second_factor
        {
            return Ok(false);
        }
        Ok(!factors::load_factors(shelf, &person.id).await?.has_any())
    }

    /// The cookie by which this browser is known as one that signed in to the account before.
    async fn remember_device(&self, person: &Person) -> HandlerResult<HeaderValue> {
        let kept = cookies::read_cookie(self.headers, cookies::device_name(self.app));
        let token = match kept {
            Some(token) if token.len() == 43 => token.to_owned(),
            Some(_) | None => secret::random_token()?,
        };
        let shelf = &self.app.auth.shelf;
        let slot = EntrySlot {
            kind: DEVICE,
            name: &format!("{}:{}", person.id, secret::secret_digest(&token)),
            owner: person.id.as_str(),
            expires: Some(shelf.current_time().plus_ms(DEVICE_LIVES_MS)),
        };
        shelf.put_entry(slot, &KnownDevice {}, None).await?;
        cookies::device_cookie(self.app, &token)
    }
}

/// What is said whatever was wrong.
pub(crate) fn wrong_sign_in() -> ProblemDetails {
    ProblemDetails::new(
        http::StatusCode::UNAUTHORIZED,
        "wrong_sign_in",
        "name or password is not right",
    )
}

/// What is said of a code that is not right.
pub(crate) fn wrong_code() -> ProblemDetails {
    ProblemDetails::new(http::StatusCode::UNAUTHORIZED, "wrong_code", "this code is not right")
}

fn begin_anew() -> ProblemDetails {
    ProblemDetails::new(
        http::StatusCode::UNAUTHORIZED,
        "begin_anew",
        "that took too long or too many tries: sign in again",
    )
}

/// Where to go after signing in: a path of this server, or its start.
pub(crate) fn safe_next(next: Option<&str>) -> String {
    let base = url::Url::parse("http://weir.invalid/").expect("this address is well formed");
    let fits = |next: &&str| {
        let begins = next.starts_with('/') && !next.starts_with("//") && !next.contains('\\');
        begins && !next.chars().any(char::is_control)
    };
    // Dots in a path may leave two slashes at its beginning, which name another host.
    let ours = |target: &url::Url| {
        let path = target.path();
        target.origin() == base.origin() && !path.starts_with("//") && !path.starts_with("/sign")
    };
    let target = next.filter(fits).and_then(|next| base.join(next).ok()).filter(ours);
    target.map_or_else(|| "/".into(), |target| target[url::Position::BeforePath..].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s2_signing_in_leads_nowhere_else() {
        for (next, expected) in [
            ("/chats?q=a&b=c#x", "/chats?q=a&b=c#x"),
            ("/approvals/1.a2", "/approvals/1.a2"),
            ("//evil.example/x", "/"),
            ("/\\evil.example", "/"),
            ("/\t/evil.example", "/"),
            ("https://evil.example", "/"),
            ("javascript:alert(1)", "/"),
            ("/..//evil.example", "/"),
            ("/.//evil.example", "/"),
            ("/signout", "/"),
            ("", "/"),
        ] {
            assert_eq!(safe_next(Some(next)), expected, "{next:?}");
        }
    }
}
