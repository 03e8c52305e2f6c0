//! The account that the tool `email` of a person works with, and whom it may write to.

use std::collections::BTreeSet;
use std::sync::Arc;

use weir_core::governance::lease::AnswerRight;
use weir_engine::ports::{Clock as _, MailAccount, Mailbox, RecipientStanding};
use weir_mail::{AccountMailbox, RecipientCheck};

use super::UserSpace;
use crate::failure::{InstallationError, refused};
use crate::lists;
use crate::mail::accounts::tool_mail_account;
use crate::wiring::{self, MailWish, WallClock};

/// What a person without admin rights is told, whose mail goes to their list alone.
const NOT_LISTED: &str = "no person put that recipient on the list. Only a person changes the \
                          list, in the browser under Settings, Allow-lists";
/// What is said where the lists cannot be read: then nobody is written to.
const LISTS_UNKNOWN: &str = "the lists of recipients cannot be read now; try again later";

impl UserSpace {
    /// Mail that sessions of theirs may use.
    ///
    /// # Errors
    /// The database does not answer, or the settings cannot be read.
    pub(super) async fn mail_wish(
        &self,
        answer: Option<&AnswerRight>,
    ) -> Result<MailWish, InstallationError> {
        let (records, now) = (self.records.as_ref(), self.now());
        let recipients = lists::allowed_recipients(records, &self.person.id, now).await?;
        Ok(MailWish { mailbox: self.bound_mailbox(answer).await?, recipients })
    }

    /// Whether an account is bound to the tool `email`.
    pub(super) async fn has_mailbox(&self) -> Result<bool, InstallationError> {
        Ok(self.bound_account().await?.is_some())
    }

    async fn bound_account(&self) -> Result<Option<MailAccount>, InstallationError> {
        let (records, key) = (self.records.as_ref(), &self.seal_key);
        tool_mail_account(records, key, &self.person.id, self.now()).await
    }

    /// Addresses of the person's own, as their settings have them: mail to them stays with them (U5).
    fn own_addresses(&self) -> Result<BTreeSet<String>, InstallationError> {
        let cx = self.at(None).map_err(|error| refused(&error))?;
        let config = cx.config().map_err(|error| refused(&error))?;
        Ok(wiring::own_addresses(config))
    }

    /// The account that the tool `email` works with; `None`: the person bound none. It writes to whoever
    /// is listed, to the person, and to whom the session may answer.
    async fn bound_mailbox(
        &self,
        answer: Option<&AnswerRight>,
    ) -> Result<Option<Arc<dyn Mailbox>>, InstallationError> {
        let Some(account) = self.bound_account().await? else { return Ok(None) };
        let (records, person) = (self.records.clone(), self.person.id.clone());
        let admin = self.person.is_admin();
        let mut own = self.own_addresses()?;
        // A copy of the session has no answer to give.
        own.extend(answer.filter(|answer| !answer.is_copy).map(|answer| answer.to.clone()));
        // Asked for every mail: a recipient who was taken from the list is none at once.
        let recipients: RecipientCheck = Arc::new(move |recipient: String| {
            let (records, person) = (records.clone(), person.clone());
            let is_own = own.contains(&recipient.trim_matches(' ').to_ascii_lowercase());
            Box::pin(async move {
                if is_own {
                    return RecipientStanding::Listed;
                }
                let now = WallClock::default().now();
                match lists::allowed_recipients(records.as_ref(), &person, now).await {
                    Ok(all) if lists::is_recipient_allowed(&all, &recipient) => {
                        RecipientStanding::Listed
                    }
                    Ok(_) if admin => RecipientStanding::Unlisted,
                    Ok(_) => RecipientStanding::Closed(NOT_LISTED.into()),
                    Err(_) => RecipientStanding::Closed(LISTS_UNKNOWN.into()),
                }
            })
        });
        Ok(Some(Arc::new(AccountMailbox::new(account, recipients))))
    }
}
