//! The line to a server: TCP, then TLS. Names are looked up once, and what they lead to is judged.

use std::fmt::Debug;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use weir_core::address::is_public;
use weir_engine::ports::{MailSecurity, MailServer};

use crate::MailError;

/// Longest wait for a connection.
pub(crate) const CONNECT_MAX: Duration = Duration::from_secs(20);

/// A line, encrypted or not.
pub(crate) trait MailStream: AsyncRead + AsyncWrite + Unpin + Send + Debug {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send + Debug> MailStream for T {}

/// The addresses of a server that may be reached.
pub(crate) async fn resolve_server(
    endpoint: &MailServer,
    everywhere: bool,
) -> Result<Vec<SocketAddr>, MailError> {
    let failed = |why: String| MailError::Line {
        host: endpoint.host.clone(),
        doing: "looking its name up",
        why,
    };
    let found = tokio::net::lookup_host((endpoint.host.as_str(), endpoint.port)).await;
    let found: Vec<SocketAddr> = found.map_err(|error| failed(error.to_string()))?.collect();
    if found.is_empty() {
        return Err(failed("the name leads nowhere".into()));
    }
    if !everywhere && found.iter().any(|address| !is_public(address.ip())) {
        return Err(MailError::Private(endpoint.host.clone()));
    }
    Ok(found)
}

/// Connects to a server, without TLS.
pub(crate) async fn connect_server(
    endpoint: &MailServer,
    everywhere: bool,
) -> Result<TcpStream, MailError> {
    if let Some(problem) = endpoint.setup_problem() {
        return Err(MailError::Account(problem));
    }
    let failed =
        |why: String| MailError::Line { host: endpoint.host.clone(), doing: "connecting", why };
    let addresses = resolve_server(endpoint, everywhere).await?;
    let connecting = TcpStream::connect(&addresses[..]);
    match tokio::time::timeout(CONNECT_MAX, connecting).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => Err(failed(error.to_string())),
        Err(_) => Err(failed(format!("no answer within {} s", CONNECT_MAX.as_secs()))),
    }
}

/// Puts TLS on a line.
pub(crate) async fn start_tls(
    endpoint: &MailServer,
    line: Box<dyn MailStream>,
) -> Result<Box<dyn MailStream>, MailError> {
    let failed =
        |why: String| MailError::Line { host: endpoint.host.clone(), doing: "beginning TLS", why };
    let name = ServerName::try_from(endpoint.host.clone())
        .map_err(|error| MailError::Account(format!("{}: {error}", endpoint.host)))?;
    let connector =
        TlsConnector::from(Arc::new(tls_config().map_err(|why| failed(why.to_string()))?));
    match tokio::time::timeout(CONNECT_MAX, connector.connect(name, line)).await {
        Ok(Ok(stream)) => Ok(Box::new(stream)),
        Ok(Err(error)) => Err(failed(error.to_string())),
        Err(_) => Err(failed(format!("no answer within {} s", CONNECT_MAX.as_secs()))),
    }
}

/// Roots of the machine, ring.
fn tls_config() -> Result<ClientConfig, rustls::Error> {
    use rustls_platform_verifier::BuilderVerifierExt as _;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    Ok(builder?.with_platform_verifier()?.with_no_client_auth())
}

/// Whether the first byte is encrypted already.
pub(crate) fn at_once(endpoint: &MailServer) -> bool {
    endpoint.security == MailSecurity::Tls
}

#[cfg(test)]
mod tests {
    use weir_core::address::is_public;

    #[test]
    fn s16_private_addresses_are_told_apart() {
        for public in ["93.184.216.34", "2606:4700::1", "1.1.1.1"] {
            assert!(is_public(public.parse().expect("an address")), "{public}");
        }
        for private in [
            "127.0.0.1",
            "10.0.0.1",
            "192.168.1.1",
            "172.16.0.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "2001:db8::1",
            "64:ff9b::a00:1",
            "2002:a00:1::1",
            "2001:0:a00:1::1",
            "168.63.129.16",
        ] {
            assert!(!is_public(private.parse().expect("an address")), "{private}");
        }
    }
}
