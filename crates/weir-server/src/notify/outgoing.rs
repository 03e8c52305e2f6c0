//! How a notice leaves the server: over TLS by the machine's own authorities, by no proxy, to no private
//! address that its person may not have called. Where an address leads is looked at when it is called.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::OnceCell;
use weir_core::address::is_public;
use weir_engine::blocking::run_blocking;

use super::delivery::DeliveryFailure;

/// Longest wait for an answer.
const ANSWER_MAX: Duration = Duration::from_secs(15);

/// The two clients: one calls every address, one public addresses only.
#[derive(Default)]
pub(super) struct OutgoingClients {
    everywhere: OnceCell<reqwest::Client>,
    public: OnceCell<reqwest::Client>,
}

impl OutgoingClients {
    /// The client for a channel that may lead `everywhere`, or to public addresses only.
    ///
    /// # Errors
    /// The machine's list of authorities cannot be read.
    pub(super) async fn client_for(
        &self,
        everywhere: bool,
    ) -> Result<&reqwest::Client, DeliveryFailure> {
        let cell = if everywhere { &self.everywhere } else { &self.public };
        cell.get_or_try_init(|| async move {
            let tls = run_blocking(tls_client_config).await.map_err(|e| e.to_string())??;
            let mut builder = reqwest::Client::builder()
                .tls_backend_preconfigured(tls)
                .redirect(reqwest::redirect::Policy::none())
                .no_proxy()
                .timeout(ANSWER_MAX);
            if !everywhere {
                builder = builder.dns_resolver(Arc::new(PublicOnly));
            }
            builder.build().map_err(|error| error.to_string())
        })
        .await
        .map_err(DeliveryFailure::Never)
    }
}

/// The address, unless it is a private one that the person may not have called.
///
/// # Errors
/// It is one, or no address.
pub(super) fn check_address(text: &str, everywhere: bool) -> Result<url::Url, DeliveryFailure> {
    let url = url::Url::parse(text).map_err(|error| DeliveryFailure::Never(error.to_string()))?;
    let ip = match url.host() {
        Some(url::Host::Ipv4(ip)) => Some(IpAddr::V4(ip)),
        Some(url::Host::Ipv6(ip)) => Some(IpAddr::V6(ip)),
        Some(url::Host::Domain(_)) | None => None,
    };
    match ip {
        Some(ip) if !everywhere && !is_public(ip) => {
            Err(DeliveryFailure::Never("private addresses are not called".into()))
        }
        _ => Ok(url),
    }
}

/// How everything that leaves the server speaks TLS: by the machine's own list of authorities.
pub(crate) fn tls_client_config() -> Result<rustls::ClientConfig, String> {
    use rustls_platform_verifier::BuilderVerifierExt as _;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let builder = builder.with_platform_verifier().map_err(|error| error.to_string())?;
    Ok(builder.with_no_client_auth())
}

/// Looks names up, and leaves out what is private.
struct PublicOnly;

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let public: Vec<SocketAddr> = found.filter(|at| is_public(at.ip())).collect();
            if public.is_empty() {
                return Err("the name leads to no public address".into());
            }
            Ok(Box::new(public.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::is_public;

    #[test]
    fn z5_private_addresses_are_not_called() {
        for private in
            ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "::ffff:10.0.0.1", "fd00::1"]
        {
            assert!(!is_public(private.parse().expect("an address")), "{private}");
        }
        assert!(is_public("93.184.216.34".parse().expect("an address")));
    }
}
