//! Requests that another site makes a browser send (CSRF): refused by where they come from, and by
//! what only our own pages know. Once, for every route.

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use http::{HeaderMap, StatusCode, header};

use crate::app::App;
use crate::auth::tokens;
use crate::problem::{HandlerResult, ProblemDetails};

/// Most bytes of a form.
const FORM_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Most bytes that somebody who is not signed in may send.
const OPEN_BYTES_MAX: usize = 64 * 1024;
/// By which scripts of our pages send what forms carry as `csrf`.
const HEADER: &str = "x-csrf-token";

/// What is said to a request that did not come from our own pages.
pub(super) fn forged_request() -> ProblemDetails {
    ProblemDetails::new(
        StatusCode::FORBIDDEN,
        "forged",
        "this did not come from a page of this server, or the page is older than your sign-in: \
         open it again and repeat what you did",
    )
}

/// A token in an address stands in logs and histories: it is not read, and said so.
pub(super) fn refuse_secret_in_address(request: &Request) -> HandlerResult<()> {
    let query = request.uri().query().unwrap_or_default();
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    if pairs.any(|(_, value)| value.starts_with(tokens::PREFIX)) {
        return Err(ProblemDetails::bad_request(
            "a token does not belong into an address, where logs keep it: revoke it, and send \
             another as `Authorization: Bearer TOKEN`",
        ));
    }
    Ok(())
}

/// The same request, its body read up to what strangers may send.
pub(super) async fn within_open_limit(request: Request) -> HandlerResult<Request> {
    let (parts, body) = request.into_parts();
    let bytes = read_body(body, OPEN_BYTES_MAX).await?;
    Ok(Request::from_parts(parts, Body::from(bytes)))
}

async fn read_body(body: Body, limit: usize) -> HandlerResult<Bytes> {
    to_bytes(body, limit).await.map_err(|_| {
        ProblemDetails::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            format!("at most {limit} bytes can be sent here"),
        )
    })
}

/// Whether the browser says that this comes from a page of our own. Browsers say so by themselves,
/// and no page can change it; a program says nothing. `must_say`: saying nothing is refused.
pub(super) fn refuse_foreign(app: &App, headers: &HeaderMap, must_say: bool) -> HandlerResult<()> {
    let site = headers.get("sec-fetch-site").map(|site| site.as_bytes());
    let site_fits = match site {
        None => true,
        // `same-site` is no page of ours: another port of this machine is the same site.
        Some(site) => site == b"same-origin" || site == b"none",
    };
    let origin_fits = match headers.contains_key(header::ORIGIN) {
        true => is_own_origin(app, headers),
        false => !must_say,
    };
    if site_fits && origin_fits { Ok(()) } else { Err(forged_request()) }
}

/// Whether `Origin` names this server: the one that the request was sent to, or the public address.
pub(crate) fn is_own_origin(app: &App, headers: &HeaderMap) -> bool {
    let text = |name: header::HeaderName| {
        let mut all = headers.get_all(name).iter();
        let only = all.next().and_then(|value| value.to_str().ok());
        only.filter(|_| all.next().is_none())
    };
    let Some(origin) = text(header::ORIGIN) else {
        return false;
    };
    if app.options.public_url.as_deref() == Some(origin) {
        return true;
    }
    // The host was looked at when the request arrived, so it is one of ours.
    let scheme = if app.options.tls.is_some() { "https" } else { "http" };
    text(header::HOST).is_some_and(|host| origin == format!("{scheme}://{host}"))
}

/// Whether a request carries what only our own pages know; the request as it was.
pub(super) async fn is_our_form(request: Request, csrf: &str) -> HandlerResult<(Request, bool)> {
    let same = |sent: &str| {
        ring::hmac::verify(
            &comparison_key(csrf),
            csrf.as_bytes(),
            ring::hmac::sign(&comparison_key(sent), csrf.as_bytes()).as_ref(),
        )
        .is_ok()
    };
    if let Some(sent) = request.headers().get(HEADER) {
        let is_ours = sent.to_str().is_ok_and(same);
        return Ok((request, is_ours));
    }
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let is_kind =
        |wanted: &str| kind.is_some_and(|kind| kind.to_ascii_lowercase().starts_with(wanted));
    if is_kind("multipart/form-data") {
        let sent = csrf_field(request.uri().query().unwrap_or_default().as_bytes());
        return Ok((request, sent.is_some_and(|sent| same(&sent))));
    }
    if !is_kind("application/x-www-form-urlencoded") {
        return Ok((request, false));
    }
    let (parts, body) = request.into_parts();
    let bytes = read_body(body, FORM_BYTES_MAX).await?;
    let is_ours = csrf_field(&bytes).is_some_and(|sent| same(&sent));
    Ok((Request::from_parts(parts, Body::from(bytes)), is_ours))
}

/// A key of a word: comparing what is signed by it takes the same time whatever differs.
fn comparison_key(word: &str) -> ring::hmac::Key {
    ring::hmac::Key::new(ring::hmac::HMAC_SHA256, word.as_bytes())
}

fn csrf_field(form: &[u8]) -> Option<String> {
    let mut pairs = url::form_urlencoded::parse(form);
    pairs.find(|(name, _)| name == "csrf").map(|(_, value)| value.into_owned())
}
