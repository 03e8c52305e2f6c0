//! The network: the one way by which tools reach it (Z5).

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use super::SearchEngine;

/// A page or file from the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedPage {
    /// Address after redirects.
    pub url: String,
    /// HTTP status.
    pub status: u16,
    /// Media type without parameters, lower case; empty when the server named none.
    pub media_type: String,
    /// Character set the server named.
    pub charset: Option<String>,
    /// The body, at most what was asked for.
    pub body: Vec<u8>,
    /// The body was longer.
    pub truncated: bool,
}

/// An address that was looked at before it is fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebAddress {
    /// Canonical form: scheme and host in lower-case ASCII, default port left out, no fragment.
    pub url: String,
    /// Host in ASCII without port.
    pub host: String,
}

/// The one way for tools to reach the network (Z5).
#[async_trait]
pub trait Web: Send + Sync {
    /// Checks scheme and form of an address without touching the network.
    ///
    /// # Errors
    /// Why it can never be fetched.
    fn check_url(&self, url: &str) -> Result<WebAddress, String>;
    /// Fetches with GET. The name is resolved once and pinned; private, loopback, link-local,
    /// multicast and metadata addresses are refused unless listed; redirects to another host are
    /// not followed but reported; size and time are bounded.
    ///
    /// # Errors
    /// What failed and why, for the model.
    async fn fetch(
        &self,
        address: &WebAddress,
        max_bytes: usize,
        cancel: &CancellationToken,
    ) -> Result<FetchedPage, String>;
    /// Names of the secrets that may be used, each with the hosts that it is declared for (Z7).
    fn secrets(&self) -> Vec<(String, Vec<String>)> {
        Vec::new()
    }
    /// As [`Web::fetch`], with the secret of this name put into the request. Refused for any host
    /// that the secret is not declared for, and dropped at a redirect to another host.
    ///
    /// # Errors
    /// As [`Web::fetch`]; there is no such secret, or it is not for this host.
    async fn fetch_with_secret(
        &self,
        address: &WebAddress,
        secret: &str,
        max_bytes: usize,
        cancel: &CancellationToken,
    ) -> Result<FetchedPage, String> {
        let _ = (address, max_bytes, cancel);
        Err(format!("there is no secret {secret}"))
    }
    /// The search engine that a person set up; `None`: there is none.
    fn search_engine(&self) -> Option<SearchEngine> {
        None
    }
    /// As [`Web::check_url`], where these hosts may be private ones too.
    ///
    /// # Errors
    /// As [`Web::check_url`].
    fn check_listed(&self, url: &str, listed: &[String]) -> Result<WebAddress, String> {
        let _ = listed;
        self.check_url(url)
    }
    /// Sends a request. Guarded as [`Web::fetch`] is; no redirect is followed.
    ///
    /// # Errors
    /// As [`Web::fetch_with_secret`]; the host shows another certificate.
    async fn request(
        &self,
        request: &WebRequest,
        cancel: &CancellationToken,
    ) -> Result<FetchedPage, String> {
        let _ = cancel;
        Err(format!("{} cannot be reached from here", request.address.host))
    }
}

/// A request of a plugin, as it was judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebRequest {
    /// `GET`, `POST`, …
    pub method: String,
    /// Where to.
    pub address: WebAddress,
    /// Headers beside those that every request has.
    pub headers: Vec<(String, String)>,
    /// What is sent, with its media type.
    pub body: Option<(String, String)>,
    /// Name of the secret that is put in.
    pub secret: Option<String>,
    /// Hosts that may be private ones beside those of `web.allow_hosts`.
    pub listed: Vec<String>,
    /// The one certificate that the host may show, in PEM.
    pub certificate: Option<Vec<u8>>,
    /// Most bytes of the answer.
    pub max_bytes: usize,
}

/// The way out of a sandbox: a local proxy that lets through what a grant names (Z4).
#[async_trait]
pub trait Egress: Send + Sync {
    /// Opens a line for one command. It is closed when the line is dropped.
    ///
    /// # Errors
    /// Why it could not be opened.
    async fn open(&self, hosts: &[String]) -> Result<Box<dyn EgressLine>, String>;
}

/// One command's way out.
pub trait EgressLine: Send + Sync {
    /// The Unix socket at which the proxy listens, for commands in a network namespace of their
    /// own.
    fn socket(&self) -> &std::path::Path;
    /// The address at which it listens on loopback, with the word that it wants as user name, for
    /// commands that share the machine's network: `(port, word)`.
    fn loopback(&self) -> (u16, &str);
    /// Hosts that it refused so far, `host:port`, each once.
    fn refused_hosts(&self) -> Vec<String>;
}

/// Nothing can be reached: for engines whose tools need no network.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoWeb;

#[async_trait]
impl Web for NoWeb {
    fn check_url(&self, url: &str) -> Result<WebAddress, String> {
        Err(format!("{url} cannot be reached from here"))
    }
    async fn fetch(
        &self,
        address: &WebAddress,
        _: usize,
        _: &CancellationToken,
    ) -> Result<FetchedPage, String> {
        Err(format!("{} cannot be reached from here", address.url))
    }
}
