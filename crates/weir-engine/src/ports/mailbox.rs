//! Mail as a tool sees it: one account, bound by whoever opened the session (S16). Not here: how it
//! is fetched and sent.

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

/// How a line to a mail server is kept from being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MailSecurity {
    /// TLS from the first byte.
    #[default]
    Tls,
    /// TLS once the server was asked for it; without it nothing is sent.
    StartTls,
    /// None: only to this machine.
    None,
}

/// One mail server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MailServer {
    /// Host name or address of the server.
    pub host: String,
    /// TCP port of the server.
    pub port: u16,
    /// How the line is kept from being read.
    #[serde(default)]
    pub security: MailSecurity,
}

impl MailServer {
    /// What is wrong with it, in words: a line that would carry the password in the open to another
    /// machine, or a part that is missing.
    pub fn setup_problem(&self) -> Option<String> {
        let local = matches!(self.host.as_str(), "localhost" | "127.0.0.1" | "::1");
        if self.host.trim().is_empty() || self.port == 0 {
            return Some("a mail server needs a host and a port".into());
        }
        (self.security == MailSecurity::None && !local).then(|| {
            format!("the line to {} would not be encrypted; choose tls or starttls", self.host)
        })
    }
}

/// One mail account, ready to be used.
#[derive(Clone)]
pub struct MailAccount {
    /// Mail address of the account.
    pub address: String,
    /// Where mail is fetched.
    pub imap: MailServer,
    /// Where mail is sent; `None`: it only reads.
    pub smtp: Option<MailServer>,
    /// Name at the servers.
    pub user: String,
    /// Password at the servers.
    pub password: String,
    /// It may lead to private addresses and to this machine: an admin's account.
    pub everywhere: bool,
}

impl std::fmt::Debug for MailAccount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The password must not reach a log.
        f.debug_struct("MailAccount")
            .field("address", &self.address)
            .field("imap", &self.imap)
            .field("smtp", &self.smtp)
            .finish_non_exhaustive()
    }
}

/// A mail as it came, and what is known of its sender.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReceivedMail {
    /// For reading.
    pub text: MailText,
    /// The sender's address alone, in lower case; empty: there is none.
    pub sender: String,
    /// The receiving server says that the sender's domain vouches for this mail (DMARC, or DKIM or
    /// SPF of that domain). Without it anybody may have written the address.
    pub authenticated: bool,
    /// A program wrote it (a list, a holiday notice): nothing answers it by itself.
    pub automatic: bool,
}

/// A folder of an account that is followed. Reads only.
#[async_trait]
pub trait MailFolder: Send {
    /// Numbers of mails are valid as long as this is the same, and the number that the next mail has
    /// at least.
    fn mailbox_position(&self) -> (u32, u32);
    /// Numbers of the mails after `after`, in order.
    ///
    /// # Errors
    /// The line failed: a sentence.
    async fn newer_mails(&mut self, after: u32) -> Result<Vec<u32>, String>;
    /// One mail; `None`: it is gone. `receiver`: the name under which the account's own server says
    /// whether a sender was checked.
    ///
    /// # Errors
    /// The line failed: a sentence.
    async fn fetch(&mut self, number: u32, receiver: &str) -> Result<Option<ReceivedMail>, String>;
    /// Returns when something may have changed, after `longest` at the latest.
    ///
    /// # Errors
    /// The line failed: a sentence.
    async fn wait_for_change(&mut self, longest: Duration) -> Result<(), String>;
}

/// A mail in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailLine {
    /// By which it is read: folder and number, opaque.
    pub id: String,
    /// Sender, as the mail claims.
    pub from: String,
    /// Subject, as the mail claims.
    pub subject: String,
    /// When it says it was sent (RFC 3339, UTC); empty: it does not say.
    pub date: String,
    /// Nobody has read it.
    pub unread: bool,
}

/// A mail whole, as far as a tool shows it. Every word of it is somebody else's.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MailText {
    /// Sender, as the mail claims.
    pub from: String,
    /// To whom.
    pub to: Vec<String>,
    /// Where an answer goes.
    pub reply_to: Option<String>,
    /// Subject, as the mail claims.
    pub subject: String,
    /// When it says it was sent (RFC 3339, UTC); empty: it does not say.
    pub date: String,
    /// Its own name, for answers.
    pub message_id: Option<String>,
    /// Its text; HTML as plain text.
    pub text: String,
    /// Names, types and sizes of what is attached.
    pub attachments: Vec<String>,
}

/// A mail to be sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MailDraft {
    /// To whom: addresses alone.
    pub to: Vec<String>,
    /// Subject line.
    pub subject: String,
    /// Body of the mail, as plain text.
    pub text: String,
    /// The name of the mail that it answers.
    pub answers: Option<String>,
    /// A person agreed to exactly this mail. Otherwise it goes to recipients of a list alone.
    pub confirmed: bool,
}

/// Whether mail of an account may go to a recipient.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecipientStanding {
    /// A person put them on a list (S9, S16).
    Listed,
    /// They are on no list: a person must agree to each mail (U1).
    Unlisted,
    /// No mail goes there, whoever agrees: why, and what a person can do.
    Closed(String),
}

/// One mail account.
#[async_trait]
pub trait Mailbox: Send + Sync {
    /// Its own address.
    fn address(&self) -> &str;
    /// The host that mails are fetched from.
    fn host(&self) -> &str;
    /// Whether mail may go to this recipient, as the lists are now.
    async fn recipient_standing(&self, recipient: &str) -> RecipientStanding;
    /// Newest mails of a folder that fit the words; empty: all.
    ///
    /// # Errors
    /// A sentence for the model.
    async fn search(
        &self,
        folder: &str,
        words: &str,
        limit: usize,
        cancel: &CancellationToken,
    ) -> Result<Vec<MailLine>, String>;
    /// One mail.
    ///
    /// # Errors
    /// A sentence for the model.
    async fn read(&self, id: &str, cancel: &CancellationToken) -> Result<MailText, String>;
    /// Sends a mail. Gives its name. Refuses recipients who are closed, and those on no list unless the
    /// draft is confirmed, as the lists are now and whatever was judged before.
    ///
    /// # Errors
    /// A sentence for the model: it was not sent, or it is not known whether it was.
    async fn send(&self, draft: &MailDraft, cancel: &CancellationToken) -> Result<String, String>;
}
