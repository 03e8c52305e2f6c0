//! Asks name servers. What their answers are worth is judged elsewhere.

use std::net::IpAddr;

use async_trait::async_trait;

/// Most addresses of one name that are looked at.
pub(crate) const ADDRESSES_MAX: usize = 64;

/// Turns a name into addresses. Called once for each fetch; its answer is used for the whole of
/// it.
#[async_trait]
pub trait HostLookup: Send + Sync {
    /// All addresses of `host`.
    ///
    /// # Errors
    /// Why there are none.
    async fn lookup_host(&self, host: &str) -> Result<Vec<IpAddr>, String>;
}

/// The resolver of the operating system.
#[derive(Debug, Clone, Copy)]
pub struct SystemLookup;

#[async_trait]
impl HostLookup for SystemLookup {
    async fn lookup_host(&self, host: &str) -> Result<Vec<IpAddr>, String> {
        let found = tokio::net::lookup_host((host, 0)).await.map_err(|e| e.to_string())?;
        Ok(found.take(ADDRESSES_MAX).map(|address| address.ip()).collect())
    }
}
