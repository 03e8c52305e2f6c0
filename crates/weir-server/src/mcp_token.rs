//! What a program that asks at `/mcp` without a good token is told: which token it needs and where it is told more
//! (RFC 6750, RFC 9728). Not here: the address itself (`mcp`).

use http::{HeaderMap, HeaderValue, header};

use crate::app::App;

/// Where it is told how a program gets in (RFC 9728): below this the path of what is protected, which programs ask
/// for first, and the place itself.
pub(crate) const RESOURCE_METADATA: &str = "/.well-known/oauth-protected-resource/mcp";
pub(crate) const RESOURCE_METADATA_OF_SITE: &str = "/.well-known/oauth-protected-resource";
/// What a token must be good for.
pub(crate) const SCOPE: &str = "mcp";

/// What is said to a program that is not let in at `/mcp` (RFC 6750, RFC 9728): that a token is wanted, and where
/// it is told which.
pub(crate) fn token_challenge(app: &App, headers: &HeaderMap) -> HeaderValue {
    let mut challenge = format!("Bearer realm=\"weir\", scope=\"{SCOPE}\"");
    if headers.contains_key(header::AUTHORIZATION) {
        challenge.push_str(", error=\"invalid_token\"");
    }
    // A name that could end the text is none that a program could ask at.
    let origin = app.asked_origin(headers).filter(|origin| !origin.contains(['"', '\\']));
    if let Some(origin) = origin {
        challenge.push_str(&format!(", resource_metadata=\"{origin}{RESOURCE_METADATA}\""));
    }
    HeaderValue::try_from(challenge)
        .unwrap_or_else(|_| HeaderValue::from_static("Bearer realm=\"weir\""))
}
