//! The cookies of the door: read from a request, set and taken away. Not here: what is in them.

use http::{HeaderMap, HeaderValue, header};

use crate::app::App;
use crate::auth::logins::PHONE_ABSOLUTE_MS;
use crate::problem::{HandlerResult, ProblemDetails};

/// How long the browser keeps a sign-in: the server may end it sooner.
const KEPT_S: u64 = 30 * 24 * 60 * 60;
/// The same for a paired telephone.
const PHONE_KEPT_S: u64 = PHONE_ABSOLUTE_MS / 1000;
/// How long it remembers that it signed in to an account before.
const DEVICE_KEPT_S: u64 = 365 * 24 * 60 * 60;

/// The cookie of a sign-in. `__Host-`: no other host, path or plain connection can set it.
pub(crate) fn sign_in_name(app: &App) -> &'static str {
    if app.is_secure() { "__Host-weir" } else { "weir" }
}

/// The cookie of a browser that signed in before.
pub(crate) fn device_name(app: &App) -> &'static str {
    if app.is_secure() { "__Host-weir-device" } else { "weir_device" }
}

/// The cookie of a way through an identity provider, while it lasts.
pub(crate) fn errand_name(app: &App) -> &'static str {
    if app.is_secure() { "__Host-weir-errand" } else { "weir_errand" }
}

/// A cookie of a request. Where one name stands twice, none counts: somebody may have added one.
pub(crate) fn read_cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut found = lines
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(key, _)| *key == name)
        .map(|(_, value)| value);
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

fn build_cookie(app: &App, name: &str, value: &str, kept_s: u64) -> HandlerResult<HeaderValue> {
    let secure = if app.is_secure() { "; Secure" } else { "" };
    let text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={kept_s}{secure}");
    HeaderValue::from_str(&text).map_err(ProblemDetails::internal_failure)
}

/// Sets a sign-in. `Lax` and not `Strict`: a link in a mail to an approval finds one signed in;
/// whatever changes something is checked by itself (`guard`).
pub(crate) fn sign_in(app: &App, token: &str) -> HandlerResult<HeaderValue> {
    build_cookie(app, sign_in_name(app), token, KEPT_S)
}

/// Sets the sign-in of a paired telephone.
pub(crate) fn phone_sign_in(app: &App, token: &str) -> HandlerResult<HeaderValue> {
    build_cookie(app, sign_in_name(app), token, PHONE_KEPT_S)
}

/// Takes a sign-in away.
pub(crate) fn sign_out(app: &App) -> HandlerResult<HeaderValue> {
    build_cookie(app, sign_in_name(app), "", 0)
}

/// Remembers a browser.
pub(crate) fn device_cookie(app: &App, value: &str) -> HandlerResult<HeaderValue> {
    build_cookie(app, device_name(app), value, DEVICE_KEPT_S)
}

/// Remembers a way through an identity provider for ten minutes; an empty one takes it away.
pub(crate) fn authorization_cookie(app: &App, value: &str) -> HandlerResult<HeaderValue> {
    build_cookie(app, errand_name(app), value, if value.is_empty() { 0 } else { 600 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s2_a_cookie_that_stands_twice_counts_as_none() {
        let headers = |lines: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(header::COOKIE, HeaderValue::from_static(line));
            }
            headers
        };
        assert_eq!(read_cookie(&headers(&["a=1; weir=abc; b=2"]), "weir"), Some("abc"));
        assert_eq!(read_cookie(&headers(&["weir=abc; weir=xyz"]), "weir"), None);
        assert_eq!(read_cookie(&headers(&["weir=abc", "weir=xyz"]), "weir"), None);
        assert_eq!(read_cookie(&headers(&["weirx=abc; xweir=1"]), "weir"), None);
    }
}
