//! Who calls and how far they may go: an argument of every handler that is not open to anyone. Not
//! here: how that is found out (`auth`), and who is refused (`guard`).

use axum::extract::FromRequestParts;
use http::request::Parts;
use weir_install::people::Person;

use crate::problem::{HandlerResult, ProblemDetails};

/// How somebody proved who they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallerCredential {
    /// A browser, by its cookie.
    Cookie {
        /// Name of the sign-in, to end it.
        login: String,
        /// What forms and scripts of our own pages send back.
        csrf: String,
        /// The name of the paired telephone that it is; empty: it is none.
        device: String,
    },
    /// A program, by a token.
    Token {
        /// Name of the token.
        token: String,
    },
}

/// How far a sign-in or token reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallerScope {
    /// Whatever the person may do.
    All,
    /// Looking only.
    Read,
    /// Calling tools at `/mcp`, and nothing else.
    Mcp,
    /// Nothing but adding the second factor that is asked of them.
    Enrol,
}

/// The person or program that calls. An argument of every handler that is not open to anyone.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// The person.
    pub(crate) person: Person,
    /// How that is known.
    pub(crate) via: CallerCredential,
    /// How far it reaches. Unsafe methods are refused before a handler; what changes something by
    /// another way (a socket) asks [`Caller::may_write`].
    pub(crate) scope: CallerScope,
}

impl Caller {
    /// What forms of pages send back; empty for programs.
    pub(crate) fn csrf_token(&self) -> &str {
        match &self.via {
            CallerCredential::Cookie { csrf, .. } => csrf,
            CallerCredential::Token { .. } => "",
        }
    }

    /// How journals name them: a paired telephone is named with its person (R5).
    pub(crate) fn journal_name(&self) -> String {
        match &self.via {
            CallerCredential::Cookie { device, .. } if !device.is_empty() => {
                format!("{} (phone {device})", self.person.name)
            }
            CallerCredential::Cookie { .. } | CallerCredential::Token { .. } => {
                self.person.name.clone()
            }
        }
    }

    /// The name of the sign-in, where it is that of a paired telephone.
    pub(crate) fn phone_login(&self) -> Option<&str> {
        match &self.via {
            CallerCredential::Cookie { login, device, .. } if !device.is_empty() => Some(login),
            CallerCredential::Cookie { .. } | CallerCredential::Token { .. } => None,
        }
    }

    /// Whether they administer the server: an admin, and not by a paired telephone, which is lost more
    /// easily and must leave nothing behind when it is revoked.
    pub(crate) fn is_admin(&self) -> bool {
        self.person.is_admin() && self.phone_login().is_none()
    }

    /// That they administer the server.
    ///
    /// # Errors
    /// They are no admin, or are one and came by a paired telephone.
    pub(crate) fn check_admin(&self) -> HandlerResult<()> {
        match self.person.is_admin() {
            true => self.refuse_phone("administering the server"),
            false => Err(ProblemDetails::not_permitted("only an admin may do this")),
        }
    }

    /// That they did not come by a paired telephone: for what would outlive its pairing and is more than
    /// the person's own work. `deed`: what is refused, as `sharing a chat`.
    ///
    /// # Errors
    /// They did: where to do it instead.
    pub(crate) fn refuse_phone(&self, deed: &str) -> HandlerResult<()> {
        match self.phone_login() {
            None => Ok(()),
            Some(_) => Err(ProblemDetails::not_permitted(format!(
                "{deed} is not done from a paired telephone, because it would stay when the telephone is \
                 revoked; do it in a browser in which you signed in, or at the terminal"
            ))),
        }
    }

    /// Whether they may change anything.
    pub(crate) fn may_write(&self) -> bool {
        self.scope == CallerScope::All
    }

    /// The name of their sign-in, for what only somebody at a browser may do: a token or a telephone that
    /// was lost must not change the account.
    ///
    /// # Errors
    /// They came with a token, or by a paired telephone.
    pub(crate) fn at_browser(&self) -> HandlerResult<&str> {
        match &self.via {
            CallerCredential::Cookie { login, device, .. } if device.is_empty() => Ok(login),
            CallerCredential::Cookie { .. } => Err(ProblemDetails::not_permitted(
                "a paired telephone cannot change an account; do it in a browser in which you signed in",
            )),
            CallerCredential::Token { .. } => Err(ProblemDetails::not_permitted(
                "a token cannot change an account; do it in the browser",
            )),
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = ProblemDetails;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Caller, ProblemDetails> {
        parts.extensions.get::<Caller>().cloned().ok_or_else(ProblemDetails::not_signed_in)
    }
}

/// The caller where nobody has to be signed in; `None`: nobody is.
#[derive(Debug, Clone)]
pub(crate) struct MaybeCaller(pub(crate) Option<Caller>);

impl<S: Send + Sync> FromRequestParts<S> for MaybeCaller {
    type Rejection = ProblemDetails;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<MaybeCaller, ProblemDetails> {
        Ok(MaybeCaller(parts.extensions.get::<Caller>().cloned()))
    }
}
