//! The guarded network client (Z5): all traffic of tools leaves through [`GuardedWeb`].
//!
//! It decides where a socket may go, whatever the address says and whatever name servers answer.
//! Which hosts a call may name at all is judged before, by the gate; model providers are not
//! reached through here.
#![warn(missing_docs)]

mod address;
mod fetch;
mod lookup;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;
use weir_engine::ports::{Address, Fetched, Web};

pub use address::{Closed, judge_ip};
pub use lookup::{Lookup, SystemLookup};

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
}

impl Default for WebOptions {
    fn default() -> WebOptions {
        WebOptions {
            allow_hosts: Vec::new(),
            timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(10),
            lookup_timeout: Duration::from_secs(5),
            user_agent: concat!("weir/", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

/// The client. Cheap to make: certificates are loaded with the first `https` address.
pub struct GuardedWeb {
    options: WebOptions,
    /// `allow_hosts` in canonical form.
    allowed: Vec<String>,
    lookup: Arc<dyn Lookup>,
    tls: OnceCell<rustls::ClientConfig>,
}

impl GuardedWeb {
    /// A client that asks the system's resolver.
    ///
    /// # Errors
    /// Names the entry of `allow_hosts` that is no host.
    pub fn new(options: WebOptions) -> Result<GuardedWeb, String> {
        GuardedWeb::with_lookup(options, Arc::new(SystemLookup))
    }
    /// The same with another resolver.
    ///
    /// # Errors
    /// Names the entry of `allow_hosts` that is no host.
    pub fn with_lookup(options: WebOptions, lookup: Arc<dyn Lookup>) -> Result<GuardedWeb, String> {
        let allowed = options
            .allow_hosts
            .iter()
            .map(|host| address::canonical_host(host))
            .collect::<Result<_, _>>()?;
        Ok(GuardedWeb { options, allowed, lookup, tls: OnceCell::new() })
    }
}

#[async_trait]
impl Web for GuardedWeb {
    fn check(&self, url: &str) -> Result<Address, String> {
        address::check(url, &self.allowed).map(|(address, _)| address)
    }

    async fn fetch(
        &self,
        address: &Address,
        max_bytes: usize,
        cancel: &CancellationToken,
    ) -> Result<Fetched, String> {
        let work =
            tokio::time::timeout(self.options.timeout, fetch::fetch(self, address, max_bytes));
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(format!("the fetch of {} was cancelled", address.url)),
            done = work => done.unwrap_or_else(|_| Err(format!(
                "{} did not finish within {} seconds; try a smaller or another page",
                address.url,
                self.options.timeout.as_secs_f32(),
            ))),
        }
    }
}
