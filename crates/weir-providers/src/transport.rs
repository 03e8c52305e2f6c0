//! The only HTTP: a POST whose answer is streamed, and a small GET (V4).
//!
//! No request leaves for any host but the one it was made for: redirects are reported, not
//! followed. Nothing is retried here. Root certificates are read when the first https request is
//! made, never before, and never for plain http.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::sync::OnceCell;
use tokio::time::{Instant, Sleep};
use weir_core::model::FailureClass;

/// Most bytes of an error's body that are read.
pub const ERROR_BODY_BYTES_MAX: usize = 64 << 10;
/// Most bytes of a list of models.
const SMALL_BODY_BYTES_MAX: usize = 8 << 20;

/// How the transport behaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransportOptions {
    /// Longest silence before the first byte and between bytes, in milliseconds.
    pub idle_timeout_ms: u64,
    /// Longest time to connect, in milliseconds.
    pub connect_timeout_ms: u64,
    /// PEM file with certificates that are trusted beside the system's.
    pub extra_ca: Option<PathBuf>,
}

impl Default for TransportOptions {
    fn default() -> TransportOptions {
        TransportOptions { idle_timeout_ms: 90_000, connect_timeout_ms: 20_000, extra_ca: None }
    }
}

/// Shared by all models: connections are kept and used again.
#[derive(Debug)]
pub struct ModelTransport {
    options: TransportOptions,
    /// Plain http to this machine: no proxy.
    local: OnceLock<Result<Client, String>>,
    /// Plain http elsewhere: proxies of the environment.
    plain: OnceLock<Result<Client, String>>,
    /// https: proxies of the environment, roots of the system.
    secure: OnceCell<Client>,
}

/// A request that failed before there was an answer, or in the middle of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TransportError {
    /// What kind of failure.
    pub class: FailureClass,
    /// What failed and why.
    pub message: String,
}

/// An answer whose body is still coming.
#[derive(Debug)]
pub struct StreamedResponse {
    /// Status of the HTTP answer.
    pub status: u16,
    /// The vendor's wish to wait, in seconds.
    pub retry_after: Option<String>,
    /// Where a redirect points.
    pub location: Option<String>,
    response: reqwest::Response,
    idle: Duration,
    /// Looks whether there was silence for so long. It is not set anew for each piece: a model writes
    /// many a second (Q19).
    silence: Pin<Box<Sleep>>,
}

impl ModelTransport {
    /// A transport. Opens nothing and reads nothing yet.
    pub fn new(options: TransportOptions) -> Arc<ModelTransport> {
        Arc::new(ModelTransport {
            options,
            local: OnceLock::new(),
            plain: OnceLock::new(),
            secure: OnceCell::new(),
        })
    }

    /// Posts `body` and waits for the status.
    ///
    /// # Errors
    /// No connection, or silence for too long.
    pub async fn post(
        &self,
        url: &Url,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<StreamedResponse, TransportError> {
        self.post_patiently(url, headers, body, self.options.idle_timeout_ms).await
    }

    /// The same for an answer that may be silent for longer, at most `idle_ms_max`: a picture is made
    /// before its first byte is sent.
    ///
    /// # Errors
    /// No connection, or silence for too long.
    pub async fn post_patiently(
        &self,
        url: &Url,
        headers: HeaderMap,
        body: Bytes,
        idle_ms_max: u64,
    ) -> Result<StreamedResponse, TransportError> {
        let client = self.client_for(url).await?;
        let request = client.post(url.clone()).headers(headers).body(body);
        self.await_response(request, url, Duration::from_millis(idle_ms_max)).await
    }

    /// Gets a small document: status and body.
    ///
    /// # Errors
    /// No connection, silence for too long, or a body that is too long.
    pub async fn get(
        &self,
        url: &Url,
        headers: HeaderMap,
    ) -> Result<(u16, Vec<u8>), TransportError> {
        let client = self.client_for(url).await?;
        let idle = Duration::from_millis(self.options.idle_timeout_ms);
        let request = client.get(url.clone()).headers(headers);
        let answer = self.await_response(request, url, idle).await?;
        let status = answer.status;
        let body = answer.whole_body(SMALL_BODY_BYTES_MAX).await?;
        let body = body.ok_or_else(|| TransportError {
            class: FailureClass::InvalidRequest,
            message: format!("{} answered with too long a document", host_and_port(url)),
        })?;
        Ok((status, body))
    }

    async fn await_response(
        &self,
        request: reqwest::RequestBuilder,
        url: &Url,
        idle: Duration,
    ) -> Result<StreamedResponse, TransportError> {
        let response = match tokio::time::timeout(idle, request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(no_answer(url, error)),
            Err(_) => return Err(silence_error(url, idle)),
        };
        let text = |name: &str| Some(response.headers().get(name)?.to_str().ok()?.to_owned());
        let (status, location) = (response.status().as_u16(), text("location"));
        let retry_after = retry_after(response.headers());
        let silence = Box::pin(tokio::time::sleep(idle));
        Ok(StreamedResponse { status, retry_after, location, response, idle, silence })
    }

    async fn client_for(&self, url: &Url) -> Result<&Client, TransportError> {
        let failed = |why: String| TransportError {
            // Trying again would not help: certificates or configuration are at fault.
            class: FailureClass::InvalidRequest,
            message: format!("No connection to {} can be made: {why}", host_and_port(url)),
        };
        if url.scheme() == "https" {
            let built = self.secure.get_or_try_init(|| async {
                let options = self.options.clone();
                // Reading the system's certificates takes a while and blocks.
                let built = tokio::task::spawn_blocking(move || secure_client(&options)).await;
                built.map_err(|error| error.to_string())?
            });
            return built.await.map_err(failed);
        }
        let (cell, direct) = if is_loopback(url) {
            (&self.local, ProxyPolicy::None)
        } else {
            (&self.plain, ProxyPolicy::Environment)
        };
        cell.get_or_init(|| plain_client(&self.options, direct))
            .as_ref()
            .map_err(|why| failed(why.clone()))
    }
}

impl StreamedResponse {
    /// The next piece of the body; `None` at its end.
    ///
    /// # Errors
    /// The connection broke, or there was silence for too long.
    pub async fn next_chunk(&mut self) -> Result<Option<Bytes>, TransportError> {
        let asked = Instant::now();
        loop {
            tokio::select! {
                biased;
                chunk = self.response.chunk() => {
                    return chunk.map_err(|error| TransportError {
                        class: FailureClass::StreamCut,
                        message: format!("The connection broke in mid-answer: {}", cause_chain(error)),
                    });
                }
                () = &mut self.silence => {
                    if asked.elapsed() >= self.idle {
                        return Err(silence_error(self.response.url(), self.idle));
                    }
                    self.silence.as_mut().reset(asked + self.idle);
                }
            }
        }
    }

    /// All of the body; `None`: it has more than `bytes_max` bytes.
    ///
    /// # Errors
    /// As [`StreamedResponse::next_chunk`].
    pub async fn whole_body(mut self, bytes_max: usize) -> Result<Option<Vec<u8>>, TransportError> {
        let mut body = Vec::new();
        while let Some(chunk) = self.next_chunk().await? {
            if body.len() + chunk.len() > bytes_max {
                return Ok(None);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Some(body))
    }

    /// The beginning of the body of an error, at most [`ERROR_BODY_BYTES_MAX`] bytes. What cannot
    /// be read any more is left out: the status says enough.
    pub async fn error_body(mut self) -> Vec<u8> {
        let mut body = Vec::new();
        while body.len() < ERROR_BODY_BYTES_MAX {
            let Ok(Some(chunk)) = self.next_chunk().await else { break };
            let room = ERROR_BODY_BYTES_MAX - body.len();
            body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        }
        body
    }
}

/// Headers out of text. All values are marked sensitive: they hold keys, and none needs showing.
///
/// # Errors
/// The name of the header that is not valid.
pub fn header_map(
    headers: impl IntoIterator<Item = (String, String)>,
) -> Result<HeaderMap, String> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let key = HeaderName::try_from(name.as_str());
        let value = HeaderValue::from_str(&value);
        let (Ok(key), Ok(mut value)) = (key, value) else { return Err(name) };
        value.set_sensitive(true);
        map.insert(key, value);
    }
    Ok(map)
}

#[derive(Clone, Copy)]
enum ProxyPolicy {
    None,
    Environment,
}

fn client_builder(options: &TransportOptions) -> reqwest::ClientBuilder {
    Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .gzip(false)
        .retry(reqwest::retry::never())
        .connect_timeout(Duration::from_millis(options.connect_timeout_ms))
        .tcp_keepalive(Duration::from_secs(30))
        .user_agent(concat!("weir/", env!("CARGO_PKG_VERSION")))
}

fn plain_client(options: &TransportOptions, proxies: ProxyPolicy) -> Result<Client, String> {
    // Without roots: this client never speaks TLS, and building them would cost the start.
    let tls =
        tls_builder()?.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth();
    let builder = client_builder(options).tls_backend_preconfigured(tls);
    let builder = match proxies {
        ProxyPolicy::None => builder.no_proxy(),
        ProxyPolicy::Environment => builder,
    };
    builder.build().map_err(cause_chain)
}

fn secure_client(options: &TransportOptions) -> Result<Client, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let extra = extra_roots(options)?;
    let verifier = rustls_platform_verifier::Verifier::new_with_extra_roots(extra, provider)
        .map_err(|error| format!("the system's certificates cannot be read: {error}"))?;
    let mut tls = tls_builder()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    // Not HTTP/2: all sessions of a server would share one connection to a vendor, and with it one
    // lost packet and the vendor's bound of streams on it.
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    client_builder(options).tls_backend_preconfigured(tls).build().map_err(cause_chain)
}

fn tls_builder()
-> Result<rustls::ConfigBuilder<rustls::ClientConfig, rustls::WantsVerifier>, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())
}

fn extra_roots(options: &TransportOptions) -> Result<Vec<CertificateDer<'static>>, String> {
    let Some(path) = &options.extra_ca else { return Ok(Vec::new()) };
    let unreadable = |why: String| {
        format!("the extra CA file {} cannot be read ({why}); correct or remove it", path.display())
    };
    let certificates =
        CertificateDer::pem_file_iter(path).map_err(|error| unreadable(error.to_string()))?;
    certificates.collect::<Result<_, _>>().map_err(|error| unreadable(error.to_string()))
}

fn is_loopback(url: &Url) -> bool {
    match url.host_str() {
        Some("localhost") => true,
        Some(host) => host
            .trim_matches(['[', ']'])
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback()),
        None => false,
    }
}

/// Host and port, without path, query or user.
fn host_and_port(url: &Url) -> String {
    let host = url.host_str().unwrap_or("the endpoint");
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn silence_error(url: &Url, idle: Duration) -> TransportError {
    TransportError {
        class: FailureClass::Timeout,
        message: format!("{} sent nothing for {} ms", host_and_port(url), idle.as_millis()),
    }
}

fn no_answer(url: &Url, error: reqwest::Error) -> TransportError {
    let doing = if error.is_connect() { "could not be reached" } else { "gave no answer" };
    let why = cause_chain(error);
    let mut message = format!("{} {doing}: {why}", host_and_port(url));
    // A certificate does not get better by asking again.
    let class = if why.contains("invalid peer certificate") {
        message.push_str(". If the endpoint is yours, name its CA in SSL_CERT_FILE.");
        FailureClass::InvalidRequest
    } else {
        FailureClass::Network
    };
    TransportError { class, message }
}

/// The chain of causes in one line, without the address: it may hold what should not be shown.
fn cause_chain(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(inner) = cause {
        let more = inner.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = inner.source();
    }
    text
}

/// The wish to wait in seconds: `retry-after-ms`, `Retry-After` in seconds, or as a date measured
/// against the server's own clock.
fn retry_after(headers: &HeaderMap) -> Option<String> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(ms) = text("retry-after-ms").and_then(|ms| ms.parse::<f64>().ok()) {
        return Some((ms / 1000.0).to_string());
    }
    let wish = text("retry-after")?;
    if wish.parse::<f64>().is_ok() {
        return Some(wish.to_owned());
    }
    let moment = |text: &str| jiff::fmt::rfc2822::parse(text).ok().map(|zoned| zoned.timestamp());
    let wait = moment(wish)?.as_second() - moment(text("date")?)?.as_second();
    Some(wait.max(0).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> HeaderMap {
        header_map(pairs.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))).expect("valid")
    }

    #[test]
    fn l8_the_wish_to_wait_is_read_in_all_its_forms() {
        assert_eq!(retry_after(&map(&[("retry-after", "7")])).as_deref(), Some("7"));
        let both = map(&[("retry-after", "7"), ("retry-after-ms", "1500")]);
        assert_eq!(retry_after(&both).as_deref(), Some("1.5"));
        let date = map(&[
            ("retry-after", "Sun, 06 Nov 1994 08:50:00 GMT"),
            ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ]);
        assert_eq!(retry_after(&date).as_deref(), Some("23"));
        assert_eq!(retry_after(&map(&[("retry-after", "later")])), None);
    }

    #[tokio::test]
    async fn v4_an_extra_ca_that_cannot_be_read_is_named() {
        let extra_ca = Some(PathBuf::from("/nowhere/ca.pem"));
        let transport =
            ModelTransport::new(TransportOptions { extra_ca, ..TransportOptions::default() });
        let url = Url::parse("https://127.0.0.1:9/").expect("an address");
        let error = transport.get(&url, HeaderMap::new()).await.expect_err("no such file");
        assert_eq!(error.class, FailureClass::InvalidRequest);
        assert!(error.message.contains("/nowhere/ca.pem"), "{error}");
    }

    #[test]
    fn v4_keys_in_headers_are_marked_sensitive() {
        let headers = map(&[("x-api-key", "sk-12345678")]);
        assert!(!format!("{headers:?}").contains("sk-1"));
        assert_eq!(header_map([("bad name".to_owned(), "x".to_owned())]), Err("bad name".into()));
    }
}
