//! The network: the one way by which tools reach it (Z5).

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

/// A page or file from the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
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
pub struct Address {
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
    fn check(&self, url: &str) -> Result<Address, String>;
    /// Fetches with GET. The name is resolved once and pinned; private, loopback, link-local,
    /// multicast and metadata addresses are refused unless listed; redirects to another host are
    /// not followed but reported; size and time are bounded.
    ///
    /// # Errors
    /// What failed and why, for the model.
    async fn fetch(
        &self,
        address: &Address,
        max_bytes: usize,
        cancel: &CancellationToken,
    ) -> Result<Fetched, String>;
}
