//! The network of tools: fetches leave through [`GuardedWeb`] (Z5), confined commands through the
//! proxy that [`LocalEgress`] opens for each of them (Z4).
//!
//! Both decide where a socket may go, whatever the address says and whatever name servers answer.
//! Which hosts a call may name at all is judged before, by the gate; model providers are not
//! reached through here.

mod address;
mod egress;
mod fetch;
mod lookup;
mod pin;
mod request;
mod secret;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;
use weir_engine::ports::{FetchedPage, SearchEngine, Web, WebAddress, WebRequest};

use crate::pin::AddressGuard;
use crate::secret::ReadySecret;

pub use address::{AddressRefusal, canonical_host, judge_ip};
pub use egress::{EgressBounds, EgressOptions, LocalEgress};
pub use lookup::{HostLookup, SystemLookup};
pub use secret::{WebSecret, check_value};

/// How the client behaves.
#[derive(Debug, Clone)]
pub struct WebOptions {
    /// Hosts (exact names or addresses) that may be private ones. Nothing else that is private is
    /// reached.
    pub allow_hosts: Vec<String>,
    /// Wall time of one fetch with all its redirects.
    pub timeout: Duration,
    /// Wall time without a single byte.
    pub idle_timeout: Duration,
    /// Wall time for the name servers.
    pub lookup_timeout: Duration,
    /// What servers are told about who asks.
    pub user_agent: String,
    /// Secrets that calls may name (Z7).
    pub secrets: Vec<WebSecret>,
    /// The search engine, where a person set one up.
    pub search: Option<SearchEngine>,
}

impl Default for WebOptions {
    fn default() -> WebOptions {
        WebOptions {
            allow_hosts: Vec::new(),
            timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(10),
            lookup_timeout: Duration::from_secs(5),
            user_agent: concat!("weir/", env!("CARGO_PKG_VERSION")).to_owned(),
            secrets: Vec::new(),
            search: None,
        }
    }
}

/// The client. Cheap to make: certificates are loaded with the first `https` address.
pub struct GuardedWeb {
    options: WebOptions,
    /// `allow_hosts` in canonical form.
    allowed: Vec<String>,
    secrets: Vec<ReadySecret>,
    lookup: Arc<dyn HostLookup>,
    tls: OnceCell<rustls::ClientConfig>,
}

impl GuardedWeb {
    /// A client that asks the system's resolver.
    ///
    /// # Errors
    /// Names the entry of `allow_hosts` that is no host, or the secret that cannot be used.
    pub fn new(options: WebOptions) -> Result<GuardedWeb, String> {
        GuardedWeb::with_lookup(options, Arc::new(SystemLookup))
    }
    /// The same with another resolver.
    ///
    /// # Errors
    /// Names the entry of `allow_hosts` that is no host, or the secret that cannot be used.
    pub fn with_lookup(
        options: WebOptions,
        lookup: Arc<dyn HostLookup>,
    ) -> Result<GuardedWeb, String> {
        let allowed = options
            .allow_hosts
            .iter()
            .map(|host| canonical_host(host))
            .collect::<Result<_, _>>()?;
        let secrets = options.secrets.iter().map(ReadySecret::new).collect::<Result<_, _>>()?;
        Ok(GuardedWeb { options, allowed, secrets, lookup, tls: OnceCell::new() })
    }

    fn address_guard(&self) -> AddressGuard<'_> {
        AddressGuard {
            allowed: &self.allowed,
            lookup: &*self.lookup,
            timeout: self.options.lookup_timeout,
        }
    }

    /// The hosts that may be private ones, with those of one request.
    fn allowed_hosts_with(&self, listed: &[String]) -> Result<Vec<String>, String> {
        let more = listed.iter().map(|host| canonical_host(host));
        self.allowed.iter().cloned().map(Ok).chain(more).collect()
    }

    /// One fetch within its time.
    async fn fetch_in_time(
        &self,
        address: &WebAddress,
        secret: Option<&ReadySecret>,
        max_bytes: usize,
        cancel: &CancellationToken,
    ) -> Result<FetchedPage, String> {
        let work = fetch::fetch_address(self, address, secret, max_bytes);
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(format!("the fetch of {} was cancelled", address.url)),
            done = tokio::time::timeout(self.options.timeout, work) => {
                done.unwrap_or_else(|_| Err(format!(
                    "{} did not finish within {} seconds; try a smaller or another page",
                    address.url,
                    self.options.timeout.as_secs_f32(),
                )))
            }
        }
    }
}

#[async_trait]
impl Web for GuardedWeb {
    fn check_url(&self, url: &str) -> Result<WebAddress, String> {
        address::check_address(url, &self.allowed).map(|(address, _)| address)
    }

    async fn fetch(
        &self,
        address: &WebAddress,
        max_bytes: usize,
        cancel: &CancellationToken,
    ) -> Result<FetchedPage, String> {
        self.fetch_in_time(address, None, max_bytes, cancel).await
    }

    fn secrets(&self) -> Vec<(String, Vec<String>)> {
        self.secrets.iter().map(|secret| (secret.name.clone(), secret.host_texts())).collect()
    }

    async fn fetch_with_secret(
        &self,
        address: &WebAddress,
        secret: &str,
        max_bytes: usize,
        cancel: &CancellationToken,
    ) -> Result<FetchedPage, String> {
        let Some(kept) = self.secrets.iter().find(|kept| kept.name == secret) else {
            return Err(format!("there is no secret {secret:?}"));
        };
        let done = self.fetch_in_time(address, Some(kept), max_bytes, cancel).await;
        // A server may put what it was sent into the address of a redirect.
        let mut fetched = done.map_err(|why| kept.scrub(&why))?;
        fetched.url = kept.scrub(&fetched.url);
        Ok(fetched)
    }

    fn search_engine(&self) -> Option<SearchEngine> {
        self.options.search.clone()
    }

    fn check_listed(&self, url: &str, listed: &[String]) -> Result<WebAddress, String> {
        address::check_address(url, &self.allowed_hosts_with(listed)?).map(|(address, _)| address)
    }

    async fn request(
        &self,
        request: &WebRequest,
        cancel: &CancellationToken,
    ) -> Result<FetchedPage, String> {
        let kept = match &request.secret {
            None => None,
            Some(name) => Some(
                self.secrets
                    .iter()
                    .find(|kept| kept.name == *name)
                    .ok_or_else(|| format!("there is no secret {name:?}"))?,
            ),
        };
        let work = request::send_request(self, request, kept);
        let url = &request.address.url;
        let done = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(format!("the request to {url} was cancelled")),
            done = tokio::time::timeout(self.options.timeout, work) => {
                done.unwrap_or_else(|_| Err(format!(
                    "{url} did not answer within {} seconds",
                    self.options.timeout.as_secs_f32(),
                )))
            }
        };
        done.map_err(|why| kept.map_or(why.clone(), |kept| kept.scrub(&why)))
    }
}
