//! An account as the tool `email` sees it. Whom it may write to is asked anew for every mail.

use std::sync::Arc;

use async_trait::async_trait;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use weir_engine::ports::{MailAccount, MailDraft, MailLine, MailText, Mailbox};

use crate::imap::ImapConnection;
use crate::{MailError, mime, smtp};

/// Whether a person put a recipient on a list, as the lists are now.
pub type RecipientCheck = Arc<dyn Fn(String) -> BoxFuture<'static, bool> + Send + Sync>;

pub struct AccountMailbox {
    account: MailAccount,
    listed: RecipientCheck,
}

impl AccountMailbox {
    /// The account, for whoever is `listed`.
    pub fn new(account: MailAccount, listed: RecipientCheck) -> AccountMailbox {
        AccountMailbox { account, listed }
    }
}

/// What a call gives up with that was cancelled.
const CANCELLED: &str = "the call was cancelled";

async fn unless_cancelled<T>(
    cancel: &CancellationToken,
    work: impl Future<Output = Result<T, MailError>>,
) -> Result<T, String> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(CANCELLED.into()),
        done = work => done.map_err(|error| error.to_string()),
    }
}

/// `FOLDER#VALIDITY#UID`.
fn parse_mail_id(id: &str) -> Result<(&str, u32, u32), String> {
    let wrong = || format!("{id:?} is no mail's id; `search` gives them");
    let (rest, uid) = id.rsplit_once('#').ok_or_else(wrong)?;
    let (folder, validity) = rest.rsplit_once('#').ok_or_else(wrong)?;
    let number = |text: &str| text.parse().map_err(|_| wrong());
    Ok((folder, number(validity)?, number(uid)?))
}

#[async_trait]
impl Mailbox for AccountMailbox {
    fn address(&self) -> &str {
        &self.account.address
    }

    fn host(&self) -> &str {
        &self.account.imap.host
    }

    async fn may_send(&self, recipient: &str) -> bool {
        (self.listed)(recipient.to_owned()).await
    }

    async fn search(
        &self,
        folder: &str,
        words: &str,
        limit: usize,
        cancel: &CancellationToken,
    ) -> Result<Vec<MailLine>, String> {
        unless_cancelled(cancel, async {
            let mut imap = ImapConnection::open(&self.account).await?;
            let selected = imap.select_folder(folder).await?;
            let found = imap.search_mails(words, limit).await?;
            imap.close().await;
            let id = |uid: u32| format!("{folder}#{}#{uid}", selected.uid_validity);
            Ok(found.into_iter().map(|(uid, line)| MailLine { id: id(uid), ..line }).collect())
        })
        .await
    }

    async fn read(&self, id: &str, cancel: &CancellationToken) -> Result<MailText, String> {
        let (folder, validity, uid) = parse_mail_id(id)?;
        let found = unless_cancelled(cancel, async {
            let mut imap = ImapConnection::open(&self.account).await?;
            let selected = imap.select_folder(folder).await?;
            let found = match selected.uid_validity == validity {
                true => imap.fetch_mail(uid).await?,
                false => None,
            };
            imap.close().await;
            Ok(found)
        })
        .await?;
        let bytes = found.ok_or_else(|| format!("the mail {id} is no longer there"))?;
        Ok(mime::parse_mail(&bytes, "").text)
    }

    async fn send(&self, draft: &MailDraft, cancel: &CancellationToken) -> Result<String, String> {
        // The second lock: whatever was judged before, the list as it is now decides.
        for to in &draft.to {
            if !self.may_send(to).await {
                return Err(format!("{to} is not on the list of recipients"));
            }
        }
        if cancel.is_cancelled() {
            return Err(CANCELLED.into());
        }
        // Once begun it is not given up: half a mail is worse than a late answer.
        smtp::send_mail(&self.account, draft).await.map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::parse_mail_id;

    #[test]
    fn s16_ids_lead_back() {
        assert_eq!(parse_mail_id("INBOX#7#12"), Ok(("INBOX", 7, 12)));
        assert_eq!(parse_mail_id("a#b#7#12"), Ok(("a#b", 7, 12)));
        for wrong in ["", "INBOX", "INBOX#1", "INBOX#x#1", "#"] {
            assert!(parse_mail_id(wrong).is_err(), "{wrong}");
        }
    }
}
