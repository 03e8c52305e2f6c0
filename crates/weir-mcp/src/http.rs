//! How servers on the network are reached: at addresses that a server can have, by a client that trusts
//! the system's certificates and follows no way to another origin. Not here: tokens (`auth`).

use std::sync::Arc;
use std::time::Duration;

use url::Url;

/// How long it may take to reach a server.
const CONNECT_WAIT: Duration = Duration::from_secs(10);
/// Ways to another path of the same server that are followed.
const REDIRECTS_MAX: usize = 5;

/// An address that a server can have: over TLS, unless it is on this machine.
pub(crate) fn check_server_url(address: &str) -> Result<Url, String> {
    let url = Url::parse(address).map_err(|error| format!("{address} is no address: {error}"))?;
    if url.host().is_none() {
        return Err(format!("{address} names no host"));
    }
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_here(&url) => Ok(url),
        "http" => Err(format!("{address} is not encrypted; only servers on this machine may be")),
        other => Err(format!("{other} is no way to reach a server")),
    }
}

/// Whether an address is on this machine.
pub(crate) fn is_here(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

/// A client that follows no way to another origin.
pub(crate) async fn client_builder() -> Result<reqwest::ClientBuilder, String> {
    let tls = tokio::task::spawn_blocking(tls_config);
    let tls = tls.await.map_err(|error| format!("certificates: {error}"))??;
    Ok(reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(reqwest::redirect::Policy::custom(|attempt| {
            let same = attempt
                .previous()
                .first()
                .is_some_and(|first| first.origin() == attempt.url().origin());
            let keeps_body = matches!(attempt.status().as_u16(), 307 | 308);
            if same && keeps_body && attempt.previous().len() <= REDIRECTS_MAX {
                attempt.follow()
            } else {
                attempt.stop()
            }
        }))
        .referer(false)
        .connect_timeout(CONNECT_WAIT))
}

fn tls_config() -> Result<rustls::ClientConfig, String> {
    use rustls_platform_verifier::BuilderVerifierExt as _;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be used: {error}"))?;
    let builder = builder
        .with_platform_verifier()
        .map_err(|error| format!("the system's certificates cannot be used: {error}"))?;
    Ok(builder.with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn z8_servers_are_reached_over_tls_or_on_this_machine() {
        for good in [
            "https://a.example/mcp",
            "http://127.0.0.1:1/x",
            "http://localhost/",
            "http://[::1]:2/",
        ] {
            assert!(check_server_url(good).is_ok(), "{good}");
        }
        for bad in [
            "http://a.example/",
            "http://10.0.0.1/",
            "ftp://a.example",
            "file:///etc/passwd",
            "http://localhost.evil.example/",
            "x",
            "http://127.0.0.1.evil.example/",
        ] {
            assert!(check_server_url(bad).is_err(), "{bad}");
        }
    }
}
