//! Mail accounts of people: how they are kept, which mails start which agent, and speaking with
//! their servers (S16). Not here: IMAP and SMTP (`weir-mail`), following a folder (`weir-server`).

use weir_engine::ports::{MailAccount, MailFolder};
use weir_mail::{AccountInbox, MailError};

use crate::failure::InstallationError;

pub mod accounts;
pub mod rules;

/// Signs in at both servers of an account, opens the folder, and signs out.
///
/// # Errors
/// In words for whoever set the account up.
pub async fn check_account(account: &MailAccount, folder: &str) -> Result<(), InstallationError> {
    weir_mail::check_account(account, folder).await.map_err(|error| in_words(&error))
}

/// Opens a folder to follow it.
///
/// # Errors
/// The server cannot be reached or refuses.
pub async fn open_inbox(
    account: &MailAccount,
    folder: &str,
) -> Result<Box<dyn MailFolder>, InstallationError> {
    let inbox = AccountInbox::open(account, folder).await.map_err(|error| in_words(&error))?;
    Ok(Box::new(inbox))
}

fn in_words(error: &MailError) -> InstallationError {
    InstallationError::Refused(error.to_string())
}
