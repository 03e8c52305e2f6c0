//! Where a server may listen (S1): beyond this machine only with TLS and with an account that has a
//! password.

use crate::app::App;
use crate::auth::{accounts, setup, throttle};
use crate::problem::ProblemDetails;

impl App {
    /// Whether browsers reach it by TLS: it speaks TLS itself, or its public address is `https://`.
    pub(crate) fn is_secure(&self) -> bool {
        let public = self.options.public_url.as_deref().unwrap_or_default();
        self.options.tls.is_some() || public.starts_with("https://")
    }

    /// Why it must not listen where it was told to; `None`: it may.
    ///
    /// # Errors
    /// The database does not answer: a sentence.
    pub async fn refuse_to_listen(&self) -> Result<Option<String>, String> {
        let bind = self.options.bind;
        if bind.ip().is_loopback() {
            return Ok(None);
        }
        if let Some(reason) = self.refuse_plain_listening() {
            return Ok(Some(reason));
        }
        let any = accounts::has_usable_account(&self.auth.shelf)
            .await
            .map_err(|problem| problem.detail)?;
        Ok((!any).then(|| {
            format!(
                "{bind} is reached from other machines, and there is no account with a password \
                 yet: set it up on 127.0.0.1 first, or start it with --first-admin NAME \
                 --password-file FILE"
            )
        }))
    }

    /// Why it must not listen there without TLS, whatever accounts there are; `None`: that is no reason.
    pub fn refuse_plain_listening(&self) -> Option<String> {
        let bind = self.options.bind;
        let is_proxied = !self.options.proxies.is_empty() && self.is_secure();
        if bind.ip().is_loopback() || self.options.tls.is_some() || is_proxied {
            return None;
        }
        Some(format!(
            "{bind} is reached from other machines, and this server does not speak TLS: give a \
             certificate (server.certificate and server.key), or declare the proxy that does \
             (server.proxies, and server.public_url with https://), or listen on 127.0.0.1. For a \
             telephone, `weir phone --lan` makes a certificate of its own"
        ))
    }

    /// A new setup code, as long as there is no account.
    ///
    /// # Errors
    /// The database does not answer: a sentence.
    pub async fn setup_code(&self) -> Result<Option<String>, String> {
        setup::create_setup_code(&self.auth.shelf).await.map_err(|problem| problem.detail)
    }

    /// Makes the first account; nothing happens where there is one. Whether it was made.
    ///
    /// # Errors
    /// The name or password cannot be used: a sentence.
    pub async fn make_first_admin(&self, name: &str, password: &str) -> Result<bool, String> {
        let told = |problem: ProblemDetails| problem.detail;
        let shelf = &self.auth.shelf;
        if accounts::has_password_account(shelf).await.map_err(told)? {
            return Ok(false);
        }
        if let Some(complaint) = crate::auth::password::password_complaint(password, name) {
            return Err(complaint);
        }
        let hash = self.auth.passwords.hash(password).await.map_err(told)?;
        setup::create_first_account(shelf, name, &hash).await.map_err(told)?;
        throttle::forget_failures(shelf, &throttle::ThrottleBucket::for_setup())
            .await
            .map_err(told)?;
        Ok(true)
    }
}
