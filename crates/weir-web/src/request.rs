//! One request of a plugin: looked up once, judged, sent to exactly that address. No redirect is
//! followed, and where a person named a certificate, no other is accepted.

use std::sync::Arc;

use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Client, Method};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use weir_engine::ports::{FetchedPage, WebRequest};

use crate::GuardedWeb;
use crate::address::{check_address, judge_port};
use crate::fetch::{build_client, client_over, describe_failure, read_response, tls_builder};
use crate::pin::{AddressGuard, PinError, pin_host};
use crate::secret::ReadySecret;

/// Sends `request`. Time is bounded by the caller.
pub(crate) async fn send_request(
    web: &GuardedWeb,
    request: &WebRequest,
    secret: Option<&ReadySecret>,
) -> Result<FetchedPage, String> {
    let allowed = web.allowed_hosts_with(&request.listed)?;
    let (address, url) = check_address(&request.address.url, &allowed)?;
    judge_port(&url)?;
    secret.map_or(Ok(()), |secret| secret.check_url(&url))?;
    let host = url.host().ok_or_else(|| format!("{url} names no host"))?;
    let guard = AddressGuard { allowed: &allowed, ..web.address_guard() };
    let pinned = pin_host(guard, &host).await.map_err(PinError::into_text)?;
    let client: Client = match &request.certificate {
        Some(pem) if url.scheme() == "https" => {
            client_over(tls_trusting_only(pem)?, web, &address.host, &pinned.addresses)?
        }
        // A certificate was named so that nobody else can answer: without TLS anybody could.
        Some(_) => return Err(format!("{url} is not https, and a certificate is set for it")),
        None => build_client(web, &url, &address.host, &pinned.addresses).await?,
    };
    let method = Method::from_bytes(request.method.as_bytes())
        .map_err(|_| format!("{:?} is no method of a request", request.method))?;
    let mut sent = client.request(method, url.clone());
    for (name, value) in &request.headers {
        let named = HeaderName::from_bytes(name.as_bytes()).ok();
        let valued = HeaderValue::from_str(value).ok();
        let (Some(name), Some(value)) = (named, valued) else {
            return Err(format!("the header {name:?} cannot be sent"));
        };
        sent = sent.header(name, value);
    }
    if let Some((media, text)) = &request.body {
        sent = sent.header(CONTENT_TYPE, media.as_str()).body(text.clone());
    }
    if let Some(secret) = secret {
        let (name, value) = secret.header_for(&url, pinned.is_private)?;
        sent = sent.header(name, value);
    }
    let response = sent.send().await.map_err(|error| describe_failure(&url, &error))?;
    read_response(response, &url, request.max_bytes).await
}

/// TLS that trusts this certificate and nothing else.
fn tls_trusting_only(pem: &[u8]) -> Result<ClientConfig, String> {
    let certificate = CertificateDer::from_pem_slice(pem)
        .map_err(|why| format!("the certificate that is set is no certificate in PEM: {why}"))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let pinned = Arc::new(PinnedCertificate { certificate, provider });
    Ok(tls_builder()?.dangerous().with_custom_certificate_verifier(pinned).with_no_client_auth())
}

/// Accepts one certificate, byte for byte: whose name is in it or until when it holds says nothing
/// more. That whoever shows it has its key is checked as ever.
#[derive(Debug)]
struct PinnedCertificate {
    certificate: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for PinnedCertificate {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if shown.as_ref() == self.certificate.as_ref() {
            return Ok(ServerCertVerified::assertion());
        }
        Err(Error::General("it shows another certificate than the one that is set".into()))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, shown, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, shown, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
