//! Signing in, whichever way: throttled, the same words and time for whoever does not exist, a new
//! token each time.

use http::{HeaderMap, HeaderValue};
use serde::{Deserialize, Serialize};
use weir_install::people::Person;

use crate::app::App;
use crate::auth::events::{self, Doer};
use crate::auth::logins::{self, Arrival};
use crate::auth::password::Checked;
use crate::auth::shelf::Slot;
use crate::auth::throttle::{self, Bucket};
use crate::auth::{Client, Revoked, accounts, cookies, factors, secret};
use crate::guard::Caller;
use crate::problem::{Answer, Problem};

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
struct Pending {
    tries: u32,
}

/// How far somebody came with their password.
pub(crate) enum Came {
    /// In.
    In(Box<Entered>),
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
struct Device {}

/// Somebody who is in.
#[derive(Debug, Clone)]
pub(crate) struct Entered {
    /// Who.
    pub(crate) person: Person,
    /// What forms and scripts send back.
    pub(crate) csrf: String,
    /// Cookies to set.
    pub(crate) cookies: Vec<HeaderValue>,
}

/// From where somebody comes, with what they brought.
#[derive(Clone, Copy)]
pub(crate) struct Door<'a> {
    /// The server.
    pub(crate) app: &'a App,
    /// Who asks.
    pub(crate) client: &'a Client,
    /// Headers of the request.
    pub(crate) headers: &'a HeaderMap,
}

/// A try that was counted and is not decided yet.
pub(crate) struct Try {
    account: Bucket,
    address: Bucket,
}

impl Door<'_> {
    /// Who does what is noted here.
    pub(crate) fn doer<'a>(&self, by: &'a str) -> Doer<'a> {
        Doer { by, address: Some(self.client.address) }
    }

    /// Counts a try at an account before it is made.
    ///
    /// # Errors
    /// It has to wait.
    pub(crate) async fn count(&self, name: &str, person: Option<&Person>) -> Answer<Try> {
        let shelf = &self.app.doorman.shelf;
        let known = match person {
            Some(person) => self.known_device(person).await?,
            None => None,
        };
        let plain = name.trim().to_ascii_lowercase();
        let account = match &known {
            Some(device) => Bucket::device(&plain, device),
            None => Bucket::account(&plain),
        };
        let address = Bucket::address(self.client.address);
        throttle::take(shelf, &[address.clone(), account.clone()]).await?;
        Ok(Try { account, address })
    }

    /// A try was right.
    pub(crate) async fn right(&self, counted: &Try) -> Answer<()> {
        let shelf = &self.app.doorman.shelf;
        throttle::forget(shelf, &counted.account).await?;
        throttle::give_back(shelf, &counted.address).await
    }

    /// A try was right as far as it went: it is taken back, those before it stay.
    pub(crate) async fn half_right(&self, counted: &Try) -> Answer<()> {
        let shelf = &self.app.doorman.shelf;
        throttle::give_back(shelf, &counted.account).await?;
        throttle::give_back(shelf, &counted.address).await
    }

    /// What this browser is remembered by, if it signed in to the account of `person` before.
    async fn known_device(&self, person: &Person) -> Answer<Option<String>> {
        let Some(token) = cookies::read(self.headers, cookies::device_name(self.app)) else {
            return Ok(None);
        };
        let name = format!("{}:{}", person.id, secret::digest(token));
        let found = self.app.doorman.shelf.get::<Device>(DEVICE, &name).await?;
        Ok(found.map(|_| name))
    }

    /// Checks a password: whose it is.
    ///
    /// # Errors
    /// Name or password are not right: which of them is not said. Or one has to wait.
    pub(crate) async fn by_password(&self, name: &str, password: &str) -> Answer<(Person, Try)> {
        let doorman = &self.app.doorman;
        let person = accounts::by_name(&doorman.shelf, name).await?;
        let counted = self.count(name, person.as_ref()).await?;
        let hash = match &person {
            Some(person) => accounts::password(&doorman.shelf, &person.id).await?,
            None => None,
        };
        let checked = doorman.passwords.check(password, hash.as_deref()).await?;
        let person = person.filter(|person| !person.disabled && checked != Checked::Wrong);
        let Some(person) = person else {
            let account = accounts::name_complaint(&name.trim().to_ascii_lowercase());
            // Somebody may have typed their password as their name.
            let shown = if account.is_none() { name.trim() } else { "(not a name)" };
            events::note(&doorman.shelf, self.doer(""), ("sign_in_failed", shown), "").await?;
            return Err(wrong());
        };
        if let Checked::Renewed(hash) = checked {
            accounts::set_password(&doorman.shelf, &person.id, &hash).await?;
        }
        Ok((person, counted))
    }

    /// Goes on after a right password: in, or to the second factor where there is one.
    pub(crate) async fn after_password(&self, person: Person, counted: &Try) -> Answer<Came> {
        let shelf = &self.app.doorman.shelf;
        let factors = factors::of(shelf, &person.id).await?;
        if !factors.any() {
            self.right(counted).await?;
            return Ok(Came::In(Box::new(self.enter(person, "password").await?)));
        }
        self.half_right(counted).await?;
        let pending = secret::token()?;
        let slot = Slot {
            kind: PENDING,
            name: &secret::digest(&pending),
            owner: person.id.as_str(),
            expires: Some(shelf.now().plus_ms(PENDING_LIVES_MS)),
        };
        shelf.put(slot, &Pending::default(), None).await?;
        Ok(Came::Second { pending, has_app: factors.has_app })
    }

    /// The second step: the code of an app or a recovery code.
    ///
    /// # Errors
    /// The code is not right; it took too long or too many tries: the first step is made again.
    pub(crate) async fn by_code(&self, pending: &str, code: &str) -> Answer<Entered> {
        let shelf = &self.app.doorman.shelf;
        let name = secret::digest(pending);
        let found = shelf.get::<Pending>(PENDING, &name).await?.ok_or_else(begin_anew)?;
        let slot = Slot { kind: PENDING, name: &name, owner: &found.owner, expires: found.expires };
        let counted = shelf.change(slot, |kept: Option<Pending>| {
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
        let counted = self.count(&person.name, Some(&person)).await?;
        let Some(how) = factors::take_code(shelf, &person.id, code).await? else {
            let note = ("second_factor_failed", person.name.as_str());
            events::note(shelf, self.doer(""), note, "").await?;
            return Err(wrong_code());
        };
        if !shelf.remove(PENDING, &name).await? {
            return Err(begin_anew());
        }
        self.right(&counted).await?;
        self.enter(person, how).await
    }

    /// That the caller is still the person of the account: by their password, or, where they have
    /// none, by a sign-in of the last minutes. For changes that would keep a thief in.
    ///
    /// # Errors
    /// The password is not theirs.
    pub(crate) async fn prove(&self, caller: &Caller, password: &str) -> Answer<()> {
        let doorman = &self.app.doorman;
        let login = caller.at_browser()?;
        if accounts::password(&doorman.shelf, &caller.person.id).await?.is_none() {
            let login = logins::named(&doorman.shelf, login).await?;
            let now = doorman.shelf.now();
            let is_fresh = login.is_some_and(|kept| now.ms_since(kept.value.created) < FRESH_MS);
            return match is_fresh {
                true => Ok(()),
                false => Err(Problem::forbidden("sign out and in again first")),
            };
        }
        match self.by_password(&caller.person.name, password).await {
            Ok((_, counted)) => self.right(&counted).await,
            Err(problem) if problem.code == "wrong_sign_in" => {
                Err(Problem::forbidden("that is not your password"))
            }
            Err(problem) => Err(problem),
        }
    }

    /// Makes the sign-in of a caller anew, after what they may do has changed.
    pub(crate) async fn renew(&self, caller: &Caller, how: &str) -> Answer<Entered> {
        let shelf = &self.app.doorman.shelf;
        let person = accounts::get(shelf, caller.person.id.as_str()).await?;
        let person = person.filter(|person| !person.disabled).ok_or_else(begin_anew)?;
        self.enter(person, how).await
    }

    /// Lets somebody in: a new sign-in, whatever the browser had before ends.
    pub(crate) async fn enter(&self, person: Person, how: &str) -> Answer<Entered> {
        let (app, doorman) = (self.app, &self.app.doorman);
        if let Some(old) = cookies::read(self.headers, cookies::sign_in_name(app)) {
            let name = secret::digest(old);
            if logins::end(&doorman.shelf, &name).await? {
                doorman.revoke(Revoked::One(name));
            }
        }
        let arrival = Arrival {
            address: self.client.address.to_string(),
            agent: self.client.agent.clone(),
            how,
            must_enrol: self.must_enrol(&person, how).await?,
        };
        let token = logins::begin(&doorman.shelf, &person.id, arrival).await?;
        events::note(&doorman.shelf, self.doer(&person.name), ("signed_in", &person.name), how)
            .await?;
        let cookies = vec![cookies::sign_in(app, &token)?, self.remember(&person).await?];
        Ok(Entered { csrf: logins::csrf_of(&token), person, cookies })
    }

    /// Whether a second factor is asked of them that they do not have. A passkey is both factors, and
    /// an identity provider asks for its own.
    async fn must_enrol(&self, person: &Person, how: &str) -> Answer<bool> {
        let shelf = &self.app.doorman.shelf;
        if !matches!(how, "password" | "password+change")
            || !factors::policy(shelf).await?.second_factor
        {
            return Ok(false);
        }
        Ok(!factors::of(shelf, &person.id).await?.any())
    }

    /// The cookie by which this browser is known as one that signed in to the account before.
    async fn remember(&self, person: &Person) -> Answer<HeaderValue> {
        let kept = cookies::read(self.headers, cookies::device_name(self.app));
        let token = match kept {
            Some(token) if token.len() == 43 => token.to_owned(),
            Some(_) | None => secret::token()?,
        };
        let shelf = &self.app.doorman.shelf;
        let slot = Slot {
            kind: DEVICE,
            name: &format!("{}:{}", person.id, secret::digest(&token)),
            owner: person.id.as_str(),
            expires: Some(shelf.now().plus_ms(DEVICE_LIVES_MS)),
        };
        shelf.put(slot, &Device {}, None).await?;
        cookies::device(self.app, &token)
    }
}

/// What is said whatever was wrong.
pub(crate) fn wrong() -> Problem {
    Problem::new(http::StatusCode::UNAUTHORIZED, "wrong_sign_in", "name or password is not right")
}

/// What is said of a code that is not right.
pub(crate) fn wrong_code() -> Problem {
    Problem::new(http::StatusCode::UNAUTHORIZED, "wrong_code", "this code is not right")
}

fn begin_anew() -> Problem {
    Problem::new(
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
