//! The account that the tool `email` of a person works with, and whom it may write to.

use std::sync::Arc;

use weir_engine::ports::{Clock as _, Mailbox};
use weir_mail::{AccountMailbox, RecipientCheck};

use super::UserSpace;
use crate::failure::InstallationError;
use crate::lists;
use crate::wiring::{MailWish, WallClock};

impl UserSpace {
    /// Mail that sessions of theirs may use.
    pub(super) async fn mail_wish(&self) -> Result<MailWish, InstallationError> {
        let (records, now) = (self.records.as_ref(), self.now());
        let recipients = lists::allowed_recipients(records, &self.person.id, now).await?;
        Ok(MailWish { mailbox: self.bound_mailbox().await?, recipients })
    }

    /// Whether an account is bound to the tool `email`.
    pub(super) async fn has_mailbox(&self) -> Result<bool, InstallationError> {
        Ok(self.bound_mailbox().await?.is_some())
    }

    /// The account that the tool `email` works with; `None`: the person bound none.
    async fn bound_mailbox(&self) -> Result<Option<Arc<dyn Mailbox>>, InstallationError> {
        let key = &self.seal_key;
        let (records, person) = (self.records.clone(), self.person.id.clone());
        let bound =
            crate::mail::accounts::tool_mail_account(records.as_ref(), key, &person, self.now())
                .await?;
        let Some(account) = bound else { return Ok(None) };
        // Asked for every mail: a recipient who was taken from the list is none at once.
        let listed: RecipientCheck = Arc::new(move |recipient: String| {
            let (records, person) = (records.clone(), person.clone());
            Box::pin(async move {
                let now = WallClock::default().now();
                let listed = lists::allowed_recipients(records.as_ref(), &person, now).await;
                listed.is_ok_and(|all| lists::is_recipient_allowed(&all, &recipient))
            })
        });
        Ok(Some(Arc::new(AccountMailbox::new(account, listed))))
    }
}
