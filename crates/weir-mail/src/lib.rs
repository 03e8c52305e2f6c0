//! Mail: fetched over IMAP, sent over SMTP, taken apart (S16). Everything received is untrusted.
//!
//! Not here: what is done with a mail, and whom somebody may write to (asked through
//! [`AccountMailbox`]'s list, decided by a person).

mod imap;
mod mailbox;
mod mime;
mod smtp;
mod wire;

pub use imap::{AccountInbox, check_account};
pub use mailbox::{AccountMailbox, RecipientCheck};
pub use mime::parse_mail;

/// Why mail could not be fetched or sent: what failed, why, what to do.
#[derive(Debug, thiserror::Error)]
pub enum MailError {
    /// The account is set up in a way that cannot work.
    #[error("the mail account cannot be used: {0}")]
    Account(String),
    /// The host may not be reached.
    #[error("{0} may not be reached: it is an address of this machine or of a private network")]
    Private(String),
    #[error("the mail server {host} refused {doing}: {why}")]
    Refused {
        host: String,
        /// The operation that was under way, as the sentence of the error names it.
        doing: &'static str,
        why: String,
    },
    /// The line to the server failed.
    #[error("the mail server {host} could not be spoken with while {doing}: {why}")]
    Line {
        host: String,
        /// The operation that was under way, as the sentence of the error names it.
        doing: &'static str,
        why: String,
    },
    /// A mail left, and the server's answer did not come: it may have been sent.
    #[error(
        "it is not known whether the mail was sent: the line to {host} failed after it was handed \
         over ({why}). Look into the folder of sent mail before it is sent again"
    )]
    Unknown { host: String, why: String },
}
