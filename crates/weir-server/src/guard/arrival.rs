//! The first thing that happens to a request of a route: whether it is meant for this server.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};

use crate::app::App;
use crate::problem::ProblemDetails;

/// Lets a request go on that is meant for this server.
pub(crate) async fn check_host(
    State(app): State<App>,
    mut request: Request,
    next: Next,
) -> Response {
    if is_ours(&app, request_host(&request)) {
        // HTTP/2 has no such header: whoever asks for it further in finds it all the same.
        let named = request.uri().authority().map(|authority| authority.as_str().to_owned());
        if let Some(value) = named.and_then(|name| HeaderValue::from_str(&name).ok()) {
            request.headers_mut().insert(header::HOST, value);
        }
        return next.run(request).await;
    }
    ProblemDetails::new(
        StatusCode::MISDIRECTED_REQUEST,
        "wrong_host",
        "this server is not known by that name; set server.public_url to the address by which people \
         reach it",
    )
    .into_response()
}

/// The name by which the sender means to reach us: of the address (HTTP/2), else the header.
fn request_host(request: &Request) -> Option<&str> {
    match request.uri().authority() {
        Some(authority) => Some(authority.as_str()),
        None => {
            let mut all = request.headers().get_all(header::HOST).iter();
            let only = all.next()?;
            all.next().is_none().then(|| only.to_str().ok()).flatten()
        }
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.chars().all(|c| c.is_ascii_digit()) => name,
        Some(_) | None => host,
    }
}

/// Whether a name is one of this server. A page elsewhere whose own name was made to lead here (DNS
/// rebinding) is kept out by it.
fn is_ours(app: &App, host: Option<&str>) -> bool {
    let Some(host) = host else {
        return false;
    };
    let name = without_port(host).trim_end_matches('.').to_ascii_lowercase();
    if ["localhost", "127.0.0.1", "[::1]"].contains(&name.as_str()) {
        return true;
    }
    let public = app.options.public_url.as_deref().and_then(|url| url::Url::parse(url).ok());
    if let Some(public) = public {
        return public.host_str() == Some(&name);
    }
    // Without a public address, a server beyond loopback speaks TLS itself, and a name that was made
    // to lead here has no certificate.
    let bind = app.options.bind.ip();
    let literal = match bind {
        IpAddr::V4(four) => four.to_string(),
        IpAddr::V6(six) => format!("[{six}]"),
    };
    name == literal || (!bind.is_loopback() && app.options.tls.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s1_a_port_is_no_part_of_a_name() {
        assert_eq!(without_port("localhost:7717"), "localhost");
        assert_eq!(without_port("[::1]:7717"), "[::1]");
        assert_eq!(without_port("[::1]"), "[::1]");
        assert_eq!(without_port("weir.example.org"), "weir.example.org");
    }
}
