//! IMAP: one folder of one account, read and never changed but for the mark "seen" where a caller
//! asks for it. Every step is bounded in time and bytes.

use std::time::Duration;

use async_imap::extensions::idle::IdleResponse;
use async_imap::types::Flag;
use async_imap::{Client, Session};
use async_trait::async_trait;
use futures::TryStreamExt as _;
use weir_engine::ports::{MailAccount, MailFolder, MailLine, MailSecurity, ReceivedMail};

use crate::wire::{self, MailStream};
use crate::{MailError, mime};

/// Longest wait for one answer.
const ANSWER_MAX: Duration = Duration::from_secs(60);
/// Largest part of a mail that is fetched, in bytes.
const MAIL_BYTES_MAX: u32 = 5 << 20;
/// Mails whose heads are fetched at once.
const HEADS_MAX: usize = 100;
/// Longest that a server without IDLE is left alone.
const POLL: Duration = Duration::from_secs(60);

/// What a folder holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SelectedFolder {
    /// Numbers of mails are valid as long as this is the same.
    pub(crate) uid_validity: u32,
    /// The number that the next mail will have, at least.
    pub(crate) uid_next: u32,
}

/// A connection with a folder open.
pub(crate) struct ImapConnection {
    session: Session<Box<dyn MailStream>>,
    host: String,
    idles: bool,
}

impl ImapConnection {
    /// Connects and signs in.
    ///
    /// # Errors
    /// The server cannot be reached, is not who it says, or refuses the password.
    pub(crate) async fn open(account: &MailAccount) -> Result<ImapConnection, MailError> {
        let endpoint = &account.imap;
        let host = endpoint.host.clone();
        let mut line: Box<dyn MailStream> =
            Box::new(wire::connect_server(endpoint, account.everywhere).await?);
        if wire::at_once(endpoint) {
            line = wire::start_tls(endpoint, line).await?;
        }
        let mut client = Client::new(line);
        let greeting =
            with_answer_timeout(&host, "greeting", async { Ok(client.read_response().await?) });
        if greeting.await?.is_none() {
            return Err(line_ended_error(&host, "greeting"));
        }
        if endpoint.security == MailSecurity::StartTls {
            let asked = client.run_command_and_check_ok("STARTTLS", None);
            with_answer_timeout(&host, "asking for TLS", asked).await?;
            let line = wire::start_tls(endpoint, client.into_inner()).await?;
            client = Client::new(line);
        }
        let login = client.login(&account.user, &account.password);
        let mut session = with_answer_timeout(&host, "signing in", async {
            login.await.map_err(|(error, _)| error)
        })
        .await?;
        let known =
            with_answer_timeout(&host, "asking what it can", session.capabilities()).await?;
        let idles = known.has_str("IDLE");
        Ok(ImapConnection { session, host, idles })
    }

    /// Opens a folder for reading.
    ///
    /// # Errors
    /// There is no such folder, or the line failed.
    pub(crate) async fn select_folder(
        &mut self,
        folder: &str,
    ) -> Result<SelectedFolder, MailError> {
        let found =
            with_answer_timeout(&self.host, "opening a folder", self.session.examine(folder))
                .await?;
        Ok(SelectedFolder {
            uid_validity: found.uid_validity.unwrap_or_default(),
            uid_next: found.uid_next.unwrap_or_default(),
        })
    }

    /// Numbers of mails after `after`, in order.
    ///
    /// # Errors
    /// The line failed.
    pub(crate) async fn uids_after(&mut self, after: u32) -> Result<Vec<u32>, MailError> {
        let query = format!("UID {}:*", after.saturating_add(1));
        let found =
            with_answer_timeout(&self.host, "looking for mail", self.session.uid_search(&query))
                .await?;
        // `n:*` holds the newest mail even where its number is below n.
        let mut uids: Vec<u32> = found.into_iter().filter(|uid| *uid > after).collect();
        uids.sort_unstable();
        Ok(uids)
    }

    /// The newest mails that hold all words, newest first.
    ///
    /// # Errors
    /// The line failed, or the server does not understand the words.
    pub(crate) async fn search_mails(
        &mut self,
        words: &str,
        limit: usize,
    ) -> Result<Vec<(u32, MailLine)>, MailError> {
        let mut query = String::from("ALL");
        for word in words.split_whitespace().take(10) {
            let plain: String = word.chars().filter(|c| !matches!(c, '"' | '\\')).collect();
            if !plain.is_empty() && !plain.contains(char::is_control) {
                query.push_str(&format!(" TEXT \"{plain}\""));
            }
        }
        if !query.is_ascii() {
            query.insert_str(0, "CHARSET UTF-8 ");
        }
        let found =
            with_answer_timeout(&self.host, "searching", self.session.uid_search(&query)).await?;
        let mut uids: Vec<u32> = found.into_iter().collect();
        uids.sort_unstable_by(|a, b| b.cmp(a));
        uids.truncate(limit.min(HEADS_MAX));
        if uids.is_empty() {
            return Ok(Vec::new());
        }
        let set: Vec<String> = uids.iter().map(ToString::to_string).collect();
        let set = set.join(",");
        let host = self.host.clone();
        let fetched = with_answer_timeout(&host, "reading heads", async {
            let what = "(UID FLAGS BODY.PEEK[HEADER]<0.32768>)";
            self.session.uid_fetch(&set, what).await?.try_collect::<Vec<_>>().await
        })
        .await?;
        let mut lines: Vec<(u32, MailLine)> = Vec::new();
        for fetch in &fetched {
            let (Some(uid), Some(head)) = (fetch.uid, fetch.header()) else { continue };
            let mail = mime::parse_mail(head, "").text;
            let unread = !fetch.flags().any(|flag| flag == Flag::Seen);
            let line = MailLine {
                id: String::new(),
                from: mail.from,
                subject: mail.subject,
                date: mail.date,
                unread,
            };
            lines.push((uid, line));
        }
        lines.sort_by_key(|(uid, _)| std::cmp::Reverse(*uid));
        Ok(lines)
    }

    /// The bytes of one mail, at most 5 MiB of them; `None`: it is gone.
    ///
    /// # Errors
    /// The line failed.
    pub(crate) async fn fetch_mail(&mut self, uid: u32) -> Result<Option<Vec<u8>>, MailError> {
        let host = self.host.clone();
        let fetched = with_answer_timeout(&host, "reading a mail", async {
            let what = format!("(UID BODY.PEEK[]<0.{MAIL_BYTES_MAX}>)");
            let found = self.session.uid_fetch(uid.to_string(), what).await?;
            found.try_collect::<Vec<_>>().await
        })
        .await?;
        let found = fetched.iter().find(|fetch| fetch.uid == Some(uid));
        Ok(found.and_then(|fetch| fetch.body()).map(<[u8]>::to_vec))
    }

    /// Waits until something may have changed in the open folder, at most `longest`: told by the
    /// server where it can, else by asking once a minute.
    ///
    /// # Errors
    /// The line failed.
    pub(crate) async fn wait_for_change(
        mut self,
        longest: Duration,
    ) -> Result<ImapConnection, MailError> {
        if !self.idles {
            tokio::time::sleep(longest.min(POLL)).await;
            with_answer_timeout(&self.host, "asking for news", self.session.noop()).await?;
            return Ok(self);
        }
        let ImapConnection { session, host, idles } = self;
        let mut handle = session.idle();
        with_answer_timeout(&host, "waiting for news", handle.init()).await?;
        {
            let (waiting, stop) = handle.wait_with_timeout(longest);
            let heard = tokio::time::timeout(longest + ANSWER_MAX, waiting).await;
            drop(stop);
            match heard {
                Ok(Ok(
                    IdleResponse::NewData(_)
                    | IdleResponse::Timeout
                    | IdleResponse::ManualInterrupt,
                )) => (),
                Ok(Err(error)) => return Err(to_mail_error(&host, "waiting for news", error)),
                Err(_) => return Err(line_ended_error(&host, "waiting for news")),
            }
        }
        let session = with_answer_timeout(&host, "waiting for news", handle.done()).await?;
        Ok(ImapConnection { session, host, idles })
    }

    pub(crate) async fn close(mut self) {
        // Nothing depends on the answer.
        let _ = tokio::time::timeout(Duration::from_secs(5), self.session.logout()).await;
    }
}

/// A folder that is followed. After a failure it is opened anew.
pub struct AccountInbox {
    /// `None`: the line failed.
    imap: Option<ImapConnection>,
    place: (u32, u32),
}

impl AccountInbox {
    /// Opens a folder of an account.
    ///
    /// # Errors
    /// The server cannot be reached or refuses, or there is no such folder.
    pub async fn open(account: &MailAccount, folder: &str) -> Result<AccountInbox, MailError> {
        let mut imap = ImapConnection::open(account).await?;
        let selected = imap.select_folder(folder).await?;
        let place = (selected.uid_validity, selected.uid_next);
        Ok(AccountInbox { imap: Some(imap), place })
    }

    fn imap_connection(&mut self) -> Result<&mut ImapConnection, String> {
        self.imap.as_mut().ok_or_else(|| "the line to the mail server failed before".into())
    }
}

#[async_trait]
impl MailFolder for AccountInbox {
    fn mailbox_position(&self) -> (u32, u32) {
        self.place
    }

    async fn newer_mails(&mut self, after: u32) -> Result<Vec<u32>, String> {
        self.imap_connection()?.uids_after(after).await.map_err(|error| error.to_string())
    }

    async fn fetch(&mut self, number: u32, receiver: &str) -> Result<Option<ReceivedMail>, String> {
        let found =
            self.imap_connection()?.fetch_mail(number).await.map_err(|error| error.to_string())?;
        Ok(found.map(|bytes| mime::parse_mail(&bytes, receiver)))
    }

    async fn wait_for_change(&mut self, longest: Duration) -> Result<(), String> {
        let imap = self.imap.take().ok_or("the line to the mail server failed before")?;
        self.imap = Some(imap.wait_for_change(longest).await.map_err(|error| error.to_string())?);
        Ok(())
    }
}

/// Signs in at both servers of an account, and out again.
///
/// # Errors
/// One of them cannot be reached or refuses.
pub async fn check_account(account: &MailAccount, folder: &str) -> Result<(), MailError> {
    let mut imap = ImapConnection::open(account).await?;
    imap.select_folder(folder).await?;
    imap.close().await;
    crate::smtp::check_smtp(account).await
}

async fn with_answer_timeout<T>(
    host: &str,
    doing: &'static str,
    work: impl Future<Output = async_imap::error::Result<T>>,
) -> Result<T, MailError> {
    match tokio::time::timeout(ANSWER_MAX, work).await {
        Ok(done) => done.map_err(|error| to_mail_error(host, doing, error)),
        Err(_) => Err(MailError::Line {
            host: host.to_owned(),
            doing,
            why: format!("no answer within {} s", ANSWER_MAX.as_secs()),
        }),
    }
}

fn to_mail_error(host: &str, doing: &'static str, error: async_imap::error::Error) -> MailError {
    use async_imap::error::Error;
    let host = host.to_owned();
    match error {
        Error::No(why) | Error::Bad(why) => MailError::Refused { host, doing, why },
        error => MailError::Line { host, doing, why: error.to_string() },
    }
}

fn line_ended_error(host: &str, doing: &'static str) -> MailError {
    MailError::Line { host: host.to_owned(), doing, why: "the server ended the line".into() }
}
