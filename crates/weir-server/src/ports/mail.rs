//! Mail accounts, as the program around the server speaks with them (S16).

use async_trait::async_trait;
use weir_engine::ports::{Inbox, MailAccount};

use super::HouseError;

/// Speaks with mail servers.
#[async_trait]
pub trait MailDesk: Send + Sync {
    /// Signs in at both servers of an account, opens the folder, and signs out.
    ///
    /// # Errors
    /// In words for whoever set the account up.
    async fn check(&self, account: &MailAccount, folder: &str) -> Result<(), HouseError>;
    /// Opens a folder to follow it.
    ///
    /// # Errors
    /// The server cannot be reached or refuses.
    async fn inbox(
        &self,
        account: &MailAccount,
        folder: &str,
    ) -> Result<Box<dyn Inbox>, HouseError>;
}
