//! One fetch: look up once, judge every address, connect to exactly those, follow redirects by
//! hand, read at most what was asked for.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use reqwest::{Client, Response};
use url::Url;
use weir_engine::ports::{FetchedPage, WebAddress};

use crate::GuardedWeb;
use crate::address::{check_address, judge_port};
use crate::pin::{PinError, pin_host};
use crate::secret::ReadySecret;

/// Most redirects that are followed.
const REDIRECTS_MAX: usize = 5;
/// Most bytes that are reserved before they have come.
const RESERVED_BYTES_MAX: usize = 64 * 1024;
/// What a page is wanted as.
const ACCEPTED: &str = concat!(
    "text/html,application/xhtml+xml,text/markdown,",
    "text/plain;q=0.9,application/json;q=0.9,*/*;q=0.5"
);

/// Fetches `address` with GET. Time is bounded by the caller.
pub(crate) async fn fetch_address(
    web: &GuardedWeb,
    address: &WebAddress,
    secret: Option<&ReadySecret>,
    max_bytes: usize,
) -> Result<FetchedPage, String> {
    let (first, mut url) = check_address(&address.url, &web.allowed)?;
    // Before anybody is asked for anything.
    judge_port(&url)?;
    secret.map_or(Ok(()), |secret| secret.check_url(&url))?;
    let host = url.host().ok_or_else(|| format!("{url} names no host"))?;
    let pinned = pin_host(web.address_guard(), &host).await.map_err(PinError::into_text)?;
    for _ in 0..=REDIRECTS_MAX {
        let client = build_client(web, &url, &first.host, &pinned.addresses).await?;
        let mut request = client.get(url.clone()).header(ACCEPT, ACCEPTED);
        if let Some(secret) = secret {
            let (name, value) = secret.header_for(&url, pinned.is_private)?;
            request = request.header(name, value);
        }
        let response = request.send().await.map_err(|e| describe_failure(&url, &e))?;
        match redirect_target(&response, &url)? {
            Some(next) => url = check_redirect(web, &url, &next)?,
            None => return read_response(response, &url, max_bytes).await,
        }
    }
    Err(format!("{} redirects more than {REDIRECTS_MAX} times", address.url))
}

/// A client that can reach these addresses under this name and nothing else: no proxy, no other
/// name, no redirect of its own, no cookies.
pub(crate) async fn build_client(
    web: &GuardedWeb,
    url: &Url,
    host: &str,
    addresses: &[IpAddr],
) -> Result<Client, String> {
    let tls = if url.scheme() == "https" {
        web.tls.get_or_try_init(load_tls).await?.clone()
    } else {
        tls_without_roots()?
    };
    client_over(tls, web, host, addresses)
}

/// The same with certificates that are told.
pub(crate) fn client_over(
    tls: rustls::ClientConfig,
    web: &GuardedWeb,
    host: &str,
    addresses: &[IpAddr],
) -> Result<Client, String> {
    let addresses: Vec<SocketAddr> = addresses.iter().map(|ip| SocketAddr::new(*ip, 0)).collect();
    Client::builder()
        .tls_backend_preconfigured(tls)
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .dns_resolver(Arc::new(PinnedResolver { host: host.to_owned(), addresses }))
        .pool_max_idle_per_host(0)
        .connect_timeout(web.options.idle_timeout)
        .read_timeout(web.options.idle_timeout)
        .user_agent(&web.options.user_agent)
        .build()
        .map_err(|e| format!("the network client could not be made: {e}"))
}

/// Answers for one name from what was judged.
struct PinnedResolver {
    host: String,
    addresses: Vec<SocketAddr>,
}

impl Resolve for PinnedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let answer = if name.as_str().trim_end_matches('.').eq_ignore_ascii_case(&self.host) {
            Ok(Box::new(self.addresses.clone().into_iter()) as Addrs)
        } else {
            Err(format!("{} was not looked up before", name.as_str()).into())
        };
        Box::pin(std::future::ready(answer))
    }
}

async fn load_tls() -> Result<rustls::ClientConfig, String> {
    // Reads the system's certificates from disk.
    let loading = tokio::task::spawn_blocking(|| {
        use rustls_platform_verifier::BuilderVerifierExt as _;
        let builder = tls_builder()?.with_platform_verifier();
        let builder =
            builder.map_err(|e| format!("the system's certificates cannot be used: {e}"))?;
        Ok(builder.with_no_client_auth())
    });
    loading.await.map_err(|e| format!("the system's certificates could not be loaded: {e}"))?
}

/// For plain `http`: with no root, no certificate is ever trusted.
pub(crate) fn tls_without_roots() -> Result<rustls::ClientConfig, String> {
    let roots = rustls::RootCertStore::empty();
    Ok(tls_builder()?.with_root_certificates(roots).with_no_client_auth())
}

pub(crate) fn tls_builder()
-> Result<rustls::ConfigBuilder<rustls::ClientConfig, rustls::WantsVerifier>, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| format!("TLS cannot be used: {e}"))
}

/// Where the answer sends us, if it does.
fn redirect_target(response: &Response, url: &Url) -> Result<Option<Url>, String> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = response.headers().get(LOCATION) else { return Ok(None) };
    let location = location
        .to_str()
        .map_err(|_| format!("{url} redirects to an address that is not plain text"))?;
    let next = url
        .join(location)
        .map_err(|e| format!("{url} redirects to an address that cannot be read ({e})"))?;
    Ok(Some(next))
}

/// A redirect is followed on the same host only; others are reported, so that the new address is
/// judged like any other.
fn check_redirect(web: &GuardedWeb, from: &Url, next: &Url) -> Result<Url, String> {
    let (checked, next) = check_address(next.as_str(), &web.allowed)
        .map_err(|why| format!("{from} redirects to an address that is refused: {why}"))?;
    let same_place = from.scheme() == next.scheme()
        && from.port_or_known_default() == next.port_or_known_default();
    let made_secure = from.scheme() == "http" && next.scheme() == "https";
    if from.host() == next.host() && (same_place || made_secure) {
        return Ok(next);
    }
    Err(format!(
        "{from} redirects to {}, which is not followed by itself; fetch that address if you \
         want it",
        checked.url
    ))
}

pub(crate) async fn read_response(
    mut response: Response,
    url: &Url,
    max_bytes: usize,
) -> Result<FetchedPage, String> {
    let status = response.status().as_u16();
    let (media_type, charset) = content_type(&response);
    let mut body = Vec::with_capacity(max_bytes.min(RESERVED_BYTES_MAX));
    let mut truncated = false;
    // The bound holds for what comes out of the decompressor.
    while let Some(piece) = response.chunk().await.map_err(|e| describe_failure(url, &e))? {
        let room = max_bytes - body.len();
        body.extend_from_slice(&piece[..piece.len().min(room)]);
        if piece.len() > room {
            truncated = true;
            break;
        }
    }
    Ok(FetchedPage { url: url.to_string(), status, media_type, charset, body, truncated })
}

fn content_type(response: &Response) -> (String, Option<String>) {
    let header = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let mut parts = header.unwrap_or_default().split(';').map(str::trim);
    let media_type = parts.next().unwrap_or_default().to_ascii_lowercase();
    let charset = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        let is_charset = name.trim().eq_ignore_ascii_case("charset");
        is_charset.then(|| value.trim().trim_matches('"').to_ascii_lowercase())
    });
    (media_type, charset.filter(|charset| !charset.is_empty()))
}

/// The innermost cause says what happened; the outer ones only that something did.
pub(crate) fn describe_failure(url: &Url, error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let what = if error.is_timeout() {
        "did not answer in time"
    } else if error.is_connect() {
        "could not be reached"
    } else if error.is_decode() || error.is_body() {
        "broke off or sent a damaged answer"
    } else {
        "could not be fetched"
    };
    format!("{url} {what}: {cause}")
}
