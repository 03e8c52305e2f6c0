//! The site for which passkeys are made: the public address, or `localhost`. Browsers make none for an
//! address of numbers.

use http::HeaderMap;
use url::{Host, Url};

use crate::app::App;
use crate::auth::passkeys::PasskeySite;
use crate::problem::{HandlerResult, ProblemDetails};

/// The site that a request means.
///
/// # Errors
/// It is an address of numbers: what to do.
pub(crate) fn passkey_site(app: &App, headers: &HeaderMap) -> HandlerResult<PasskeySite> {
    let origin = app.asked_origin(headers).unwrap_or_default();
    let url = Url::parse(&origin).ok();
    match url.as_ref().and_then(Url::host) {
        Some(Host::Domain(host)) => Ok(PasskeySite { host: host.to_owned(), origin }),
        Some(Host::Ipv4(_) | Host::Ipv6(_)) | None => Err(ProblemDetails::bad_request(
            "passkeys need a name in the address: open http://localhost with the port of this \
             server, or set server.public_url",
        )),
    }
}
