//! What stands on every answer, and what an answer with an error looks like: problem details for
//! programs, a page for people.
//!
//! Compression and secrets (BREACH): an attacker learns a secret from the size of compressed
//! answers only where they can make the person's browser ask, again and again, with the person's
//! cookie. So an answer to a request that carries a cookie is compressed only if the browser says
//! that the person or one of our own pages asked (`Sec-Fetch-Site`).

use std::time::Instant;

use axum::body::{Body, to_bytes};
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use maud::html;
use ring::rand::{SecureRandom, SystemRandom};

use crate::app::App;
use crate::limits::ResponsePerson;
use crate::page::bare_page;
use crate::peer::ClientAddress;
use crate::problem::ProblemDetails;

/// What a page may load and do.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; media-src 'self' blob:; \
    manifest-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; \
    frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types weir";

/// Everything that is the same on each answer.
const EVERYWHERE: [(&str, &str); 8] = [
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    ("x-permitted-cross-domain-policies", "none"),
];

/// Two years, as browsers' lists ask.
const TRANSPORT_SECURITY: &str = "max-age=63072000";
/// Bytes of another's error text that are looked at.
const TEXT_BYTES_MAX: usize = 16 * 1024;

/// The route of an answer, as the table has it. Set on every answer of a route.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RouteLabel(pub(crate) &'static str);

/// Marks answers of a route with it.
pub(crate) async fn label_route(
    State(route): State<&'static str>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = next.run(request).await;
    response.extensions_mut().insert(RouteLabel(route));
    response
}

/// Outermost: who asks, a name for the request, the line in the log, the figures, the headers.
pub(crate) async fn wrap_request(
    State(app): State<App>,
    mut request: Request,
    next: Next,
) -> Response {
    let begun = Instant::now();
    let id = request_id();
    let method = request.method().clone();
    if !may_compress(request.headers()) {
        request.headers_mut().remove(header::ACCEPT_ENCODING);
    }
    request.extensions_mut().remove::<MatchedPath>();
    let secure = request.extensions().get::<ClientAddress>().is_some_and(|one| one.secure);
    let mut response = next.run(request).await;
    let routed = response.extensions().get::<RouteLabel>().copied();
    let route = routed.map_or("none", |routed| routed.0);
    let person = response.extensions().get::<ResponsePerson>().map(|one| one.person.clone());
    let status = response.status().as_u16();
    let took = begun.elapsed();
    // The route and not the path: paths hold names of files and tokens of links.
    tracing::info!(
        target: "weir_server::request",
        id,
        method = method.as_str(),
        route,
        status,
        person = person.as_deref().unwrap_or("-"),
        ms = took.as_millis() as u64,
    );
    app.metrics.count_response(known_method(&method), route, status, took);
    let headers = response.headers_mut();
    for (name, value) in EVERYWHERE {
        let value = HeaderValue::from_static(value);
        headers.entry(HeaderName::from_static(name)).or_insert(value);
    }
    if secure {
        let value = HeaderValue::from_static(TRANSPORT_SECURITY);
        headers.insert(header::STRICT_TRANSPORT_SECURITY, value);
    }
    if let Ok(value) = HeaderValue::from_str(&id) {
        headers.insert(HeaderName::from_static("x-request-id"), value);
    }
    headers.remove(header::SERVER);
    response
}

/// A name for one request: in the log and on the answer.
fn request_id() -> String {
    let mut bytes = [0_u8; 8];
    if SystemRandom::new().fill(&mut bytes).is_err() {
        tracing::warn!("the system gave no random numbers");
    }
    format!("{:016x}", u64::from_be_bytes(bytes))
}

/// A label that nobody can make up.
fn known_method(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        _ => "other",
    }
}

/// Whether the size of the answer may depend on what is in it (see the head of this file).
fn may_compress(headers: &HeaderMap) -> bool {
    if !headers.contains_key(header::COOKIE) {
        return true;
    }
    let site = headers.get("sec-fetch-site").and_then(|value| value.to_str().ok());
    matches!(site, Some("same-origin" | "none"))
}

/// Errors of whatever kind look alike: problem details below `/api/`, a page elsewhere.
pub(crate) async fn unify_errors(request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let is_api = path.starts_with("/api/") || path.starts_with("/healthz");
    let for_people = !is_api && wants_page(request.headers());
    let response = next.run(request).await;
    if !response.status().is_client_error() && !response.status().is_server_error() {
        return response;
    }
    match media_type(&response).as_str() {
        "application/problem+json" if for_people => error_page(response).await,
        "" | "text/plain" if is_api => problem_from_response(response).await.into_response(),
        "" | "text/plain" if for_people => error_page(response).await,
        _ => response,
    }
}

fn wants_page(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accept.is_some_and(|text| text.contains("text/html"))
}

fn media_type(response: &Response) -> String {
    let value = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value.and_then(|text| text.split(';').next()).unwrap_or_default().trim().to_owned()
}

/// The stable word for a status that nobody gave one.
fn code_of(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => "unauthorized",
        StatusCode::FORBIDDEN => "forbidden",
        StatusCode::NOT_FOUND => "not_found",
        StatusCode::METHOD_NOT_ALLOWED => "method_not_allowed",
        StatusCode::REQUEST_TIMEOUT => "timeout",
        StatusCode::CONFLICT => "conflict",
        StatusCode::PAYLOAD_TOO_LARGE => "too_large",
        StatusCode::UNSUPPORTED_MEDIA_TYPE => "unsupported_media_type",
        StatusCode::UNPROCESSABLE_ENTITY => "unprocessable",
        StatusCode::UPGRADE_REQUIRED => "upgrade_required",
        StatusCode::TOO_MANY_REQUESTS => "too_many",
        StatusCode::SERVICE_UNAVAILABLE => "unavailable",
        status if status.is_server_error() => "internal",
        _ => "bad_request",
    }
}

/// An error of the libraries below, as problem details. Headers such as `Allow` stay.
async fn problem_from_response(response: Response) -> Response {
    let (parts, body) = response.into_parts();
    let text = to_bytes(body, TEXT_BYTES_MAX).await.unwrap_or_default();
    let detail = String::from_utf8_lossy(&text).trim().to_owned();
    let problem = ProblemDetails::new(parts.status, code_of(parts.status), detail);
    with_headers(problem.into_response(), &parts.headers, parts.extensions)
}

/// An error as a page.
async fn error_page(response: Response) -> Response {
    let is_problem = media_type(&response) == "application/problem+json";
    let (parts, body) = response.into_parts();
    let text = to_bytes(body, TEXT_BYTES_MAX).await.unwrap_or_default();
    let problem: Option<ProblemDetails> =
        is_problem.then(|| serde_json::from_slice(&text).ok()).flatten();
    let plain = || String::from_utf8_lossy(&text).trim().to_owned();
    let detail = problem.map_or_else(plain, |problem| problem.detail);
    let title = match parts.status {
        StatusCode::NOT_FOUND => "This page does not exist",
        StatusCode::FORBIDDEN => "This is not yours to do",
        StatusCode::METHOD_NOT_ALLOWED => "This page cannot do that",
        StatusCode::PAYLOAD_TOO_LARGE => "That is too large",
        StatusCode::TOO_MANY_REQUESTS => "Too much at once",
        status if status.is_server_error() => "The server could not do this",
        _ => "This did not work",
    };
    let body = html! {
        section.card.stack {
            h1 { (title) }
            @if !detail.is_empty() { p { (detail) } }
            p { a.btn href="/" { "To the start page" } }
        }
    };
    let page = (parts.status, bare_page(title, &body)).into_response();
    with_headers(page, &parts.headers, parts.extensions)
}

fn with_headers(mut response: Response, old: &HeaderMap, extensions: http::Extensions) -> Response {
    let own = [header::CONTENT_TYPE, header::CONTENT_LENGTH, header::CONTENT_ENCODING];
    for (name, value) in old.iter().filter(|(name, _)| !own.contains(name)) {
        response.headers_mut().append(name, value.clone());
    }
    *response.extensions_mut() = extensions;
    response
}

/// A handler panicked: the person gets an answer and the log the reason.
pub(crate) fn after_panic(app: &App, cause: &(dyn std::any::Any + Send)) -> Response<Body> {
    let text = cause.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| cause.downcast_ref::<&str>().copied()).unwrap_or("no words");
    tracing::error!(panic = text, "a handler panicked");
    app.metrics.count_panic();
    ProblemDetails::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "internal",
        "this is a fault of the server; its log says where",
    )
    .into_response()
}

/// Nothing is at this address.
pub(crate) async fn nothing_here() -> ProblemDetails {
    ProblemDetails::new(StatusCode::NOT_FOUND, "not_found", "there is nothing at this address")
}

/// This address knows other methods.
pub(crate) async fn wrong_method() -> ProblemDetails {
    ProblemDetails::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        "this address knows other methods; see Allow",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = lines
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        pairs.collect()
    }

    #[test]
    fn s12_what_another_site_makes_a_browser_ask_for_is_not_compressed() {
        let cookie = ("cookie", "weir=x");
        assert!(may_compress(&headers(&[])));
        assert!(may_compress(&headers(&[("authorization", "Bearer x")])));
        assert!(may_compress(&headers(&[cookie, ("sec-fetch-site", "same-origin")])));
        assert!(may_compress(&headers(&[cookie, ("sec-fetch-site", "none")])));
        assert!(!may_compress(&headers(&[cookie, ("sec-fetch-site", "cross-site")])));
        assert!(!may_compress(&headers(&[cookie, ("sec-fetch-site", "same-site")])));
        assert!(!may_compress(&headers(&[cookie])));
    }

    #[test]
    fn s12_the_policy_lets_nothing_inline_and_no_other_host_in() {
        for word in ["unsafe", "http:", "https:", "*"] {
            assert!(!POLICY.contains(word), "{word}");
        }
    }
}
