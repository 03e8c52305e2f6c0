//! An account as the tool `email` sees it. Whom it may write to is asked anew for every mail.

use std::sync::Arc;

use async_trait::async_trait;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use weir_engine::ports::{MailAccount, MailDraft, MailLine, MailText, Mailbox, RecipientStanding};

use crate::imap::ImapConnection;
use crate::{MailError, mime, smtp};

/// Whether mail may go to a recipient, as the lists are now.
pub type RecipientCheck =
    Arc<dyn Fn(String) -> BoxFuture<'static, RecipientStanding> + Send + Sync>;

pub struct AccountMailbox {
    account: MailAccount,
    recipients: RecipientCheck,
}

impl AccountMailbox {
    /// The account, which writes to whom `recipients` lets it.
    pub fn new(account: MailAccount, recipients: RecipientCheck) -> AccountMailbox {
        AccountMailbox { account, recipients }
    }

    /// Why a mail may not leave: the second lock, after the gate. The lists as they are now decide, and
    /// for whoever stands on none the word of a person about exactly this mail.
    async fn refusal_of(&self, draft: &MailDraft) -> Option<String> {
        for to in &draft.to {
            match self.recipient_standing(to).await {
                RecipientStanding::Listed => (),
                RecipientStanding::Unlisted if draft.confirmed => (),
                RecipientStanding::Unlisted => {
                    return Some(format!(
                        "{to} is on no list of recipients, and no person agreed to exactly this mail"
                    ));
                }
                RecipientStanding::Closed(why) => return Some(why),
            }
        }
        None
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

    async fn recipient_standing(&self, recipient: &str) -> RecipientStanding {
        (self.recipients)(recipient.to_owned()).await
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
        if let Some(why) = self.refusal_of(draft).await {
            return Err(why);
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
    use std::sync::Arc;

    use tokio_util::sync::CancellationToken;
    use weir_engine::ports::{
        MailAccount, MailDraft, MailSecurity, MailServer, Mailbox as _, RecipientStanding,
    };

    use super::{AccountMailbox, RecipientCheck, parse_mail_id};

    #[test]
    fn s16_ids_lead_back() {
        assert_eq!(parse_mail_id("INBOX#7#12"), Ok(("INBOX", 7, 12)));
        assert_eq!(parse_mail_id("a#b#7#12"), Ok(("a#b", 7, 12)));
        for wrong in ["", "INBOX", "INBOX#1", "INBOX#x#1", "#"] {
            assert!(parse_mail_id(wrong).is_err(), "{wrong}");
        }
    }

    /// An account that cannot send: what passes the lock ends with these words.
    const PASSED: &str = "no server for sending is set up";

    fn mailbox() -> AccountMailbox {
        let imap = MailServer { host: "localhost".into(), port: 143, security: MailSecurity::None };
        let account = MailAccount {
            address: "me@home.example".into(),
            imap,
            smtp: None,
            user: String::new(),
            password: String::new(),
            everywhere: true,
        };
        let recipients: RecipientCheck = Arc::new(|recipient: String| {
            let standing = match recipient.as_str() {
                "bob@good.example" => RecipientStanding::Listed,
                "mallory@closed.example" => RecipientStanding::Closed("closed to everybody".into()),
                _ => RecipientStanding::Unlisted,
            };
            Box::pin(async move { standing })
        });
        AccountMailbox::new(account, recipients)
    }

    async fn sent(to: &[&str], confirmed: bool) -> String {
        let draft = MailDraft {
            to: to.iter().map(ToString::to_string).collect(),
            subject: "Hi".into(),
            text: "Hello.".into(),
            answers: None,
            confirmed,
        };
        let sent = mailbox().send(&draft, &CancellationToken::new()).await;
        sent.expect_err("nothing can be sent")
    }

    #[tokio::test]
    async fn u1_what_a_person_agreed_to_leaves_and_nothing_else_to_an_unlisted_recipient() {
        let (bob, eve) = ("bob@good.example", "eve@evil.example");
        assert!(sent(&[bob], false).await.contains(PASSED));
        assert!(sent(&[eve], true).await.contains(PASSED));
        assert!(sent(&[bob, eve], true).await.contains(PASSED));
        for to in [&[eve][..], &[bob, eve], &[eve, bob]] {
            let said = sent(to, false).await;
            assert!(said.contains("eve@evil.example is on no list"), "{said}");
        }
    }

    #[tokio::test]
    async fn s16_a_closed_recipient_is_refused_whoever_agreed() {
        for confirmed in [false, true] {
            let said = sent(&["bob@good.example", "mallory@closed.example"], confirmed).await;
            assert_eq!(said, "closed to everybody");
        }
    }
}
