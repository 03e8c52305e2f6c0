//! The site for which passkeys are made: the public address, or `localhost`. Browsers make none for an
//! address of numbers.

use http::{HeaderMap, header};
use url::{Host, Url};

use crate::app::App;
use crate::auth::passkeys::PasskeySite;
use crate::problem::{HandlerResult, ProblemDetails};

/// The site that a request means.
///
/// # Errors
/// It is an address of numbers: what to do.
pub(crate) fn passkey_site(app: &App, headers: &HeaderMap) -> HandlerResult<PasskeySite> {
    let origin = match &app.options.public_url {
        Some(url) => url.clone(),
        None => {
            let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
            let scheme = if app.options.tls.is_some() { "https" } else { "http" };
            format!("{scheme}://{}", host.unwrap_or_default())
        }
    };
    let url = Url::parse(&origin).ok();
    match url.as_ref().and_then(Url::host) {
        Some(Host::Domain(host)) => Ok(PasskeySite { host: host.to_owned(), origin }),
        Some(Host::Ipv4(_) | Host::Ipv6(_)) | None => Err(ProblemDetails::bad_request(
            "passkeys need a name in the address: open http://localhost with the port of this \
             server, or set server.public_url",
        )),
    }
}
