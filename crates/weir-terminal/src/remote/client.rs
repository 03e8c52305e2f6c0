//! What connects to a server: its TLS, its bounds. Not here: what is asked (`http`).

use std::sync::Arc;
use std::time::Duration;

use super::address::ServerAddress;
use super::http::{ANSWER_WAIT, SILENCE_MAX, describe_transport_error};

/// How long a connection may take to begin.
const CONNECT_WAIT: Duration = Duration::from_secs(10);

/// A client for one server. Blocks: it reads the system's certificates.
///
/// # Errors
/// They cannot be used.
pub(super) fn build_http_client(address: &ServerAddress) -> Result<reqwest::Client, String> {
    let builder = reqwest::Client::builder()
        .tls_backend_preconfigured(build_tls_config(address)?)
        // Who one is goes to the server that was named and to no other.
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .connect_timeout(CONNECT_WAIT)
        .read_timeout(SILENCE_MAX.max(ANSWER_WAIT))
        .tcp_keepalive(Duration::from_secs(30))
        .user_agent(concat!("weir/", env!("CARGO_PKG_VERSION")));
    // No proxy reaches a server on this machine.
    let builder = if address.is_here() { builder.no_proxy() } else { builder };
    builder.build().map_err(|error| describe_transport_error(&error))
}

fn build_tls_config(address: &ServerAddress) -> Result<rustls::ClientConfig, String> {
    use rustls_platform_verifier::BuilderVerifierExt as _;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be used: {error}"))?;
    let tls = match address.is_encrypted() {
        true => tls
            .with_platform_verifier()
            .map_err(|error| format!("the system's certificates cannot be used: {error}"))?,
        // Nobody shows a certificate, and a system without any can reach a server all the same.
        false => tls.with_root_certificates(rustls::RootCertStore::empty()),
    };
    Ok(tls.with_no_client_auth())
}
