//! What a person is told outside a chat: kept in a list of theirs, shown by the bell of every page,
//! and handed to whatever sends it further. Whoever produces one calls [`NoticeSink`]; what waits in
//! sessions and runs that ended are found elsewhere (`person_news`). Not here: how it is sent (`sender`).

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use weir_core::ids::Timestamp;
use weir_core::view::plain::visible_text;
use weir_engine::ports::{PutOutcome, RecordEntry, Records};
use weir_install::failure::InstallationError;
use weir_install::people::PersonId;

use crate::notice_acts::offer::AskOffer;

pub(crate) mod address;
pub(crate) mod channels;
mod delivery;
mod matrix;
mod message;
pub(crate) mod outgoing;
mod push;
pub(crate) mod sender;
mod telegram;

/// The kind of a notice in the records.
const RECORD: &str = "notice";
/// Notices kept of one person; the oldest go.
const KEPT_MAX: usize = 200;
/// How long one is kept, in microseconds: 30 days.
const KEPT_US: i64 = 30 * 24 * 3_600_000_000;
/// Characters of a title, and of a text.
const TITLE_CHARS_MAX: usize = 200;
const TEXT_CHARS_MAX: usize = 2_000;

/// What a notice is about: a person chooses by it what is sent further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NoticeKind {
    /// Something must be decided.
    Approval,
    /// The agent asks something.
    Question,
    /// A protection saw something: a canary, a judge, a screen.
    Alert,
    /// A run ended.
    RunEnded,
    /// A scheduled agent did something or could not.
    Agent,
    /// The account was changed or somebody signed in.
    Account,
    /// The installation needs care.
    System,
}

/// Something to tell a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Notice {
    /// The subject of the notice.
    pub kind: NoticeKind,
    /// One line.
    pub title: String,
    /// More; may be empty. Never content of a conversation beyond what was decided on.
    #[serde(default)]
    pub text: String,
    /// A page of this server: `/chats/…`; may be empty.
    #[serde(default)]
    pub link: String,
    /// What may be answered from it; never kept, and told to channels only as an address.
    #[serde(skip)]
    #[cfg_attr(test, schemars(skip))]
    pub(crate) offer: Option<AskOffer>,
}

/// Tells people things. Called after what it tells of is durable. A failure of it never fails what
/// it tells of; it must not block for long.
#[async_trait]
pub trait NoticeSink: Send + Sync {
    /// Tells one person.
    async fn notify_person(&self, person: &PersonId, notice: Notice);
}

/// A notice as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct NoticeEntry {
    /// Its name: grows with time.
    #[serde(default)]
    pub(crate) id: String,
    /// The notice.
    #[serde(flatten)]
    pub(crate) notice: Notice,
    /// They saw it.
    pub(crate) seen: bool,
    /// When it came (UTC).
    pub(crate) ts: Timestamp,
}

/// The list behind the bell, and whatever sends notices further.
pub(crate) struct NoticeInbox {
    records: Arc<dyn Records>,
    clock: Arc<dyn weir_engine::ports::Clock>,
    sink: std::sync::OnceLock<Arc<dyn NoticeSink>>,
}

impl NoticeInbox {
    /// An inbox over these records.
    pub(crate) fn new(
        records: Arc<dyn Records>,
        clock: Arc<dyn weir_engine::ports::Clock>,
    ) -> NoticeInbox {
        NoticeInbox { records, clock, sink: std::sync::OnceLock::new() }
    }

    /// From now on each notice goes here too. Once, at start.
    pub(crate) fn set_sink(&self, sink: Arc<dyn NoticeSink>) {
        if self.sink.set(sink).is_err() {
            tracing::warn!("notices are sent further already; the second way is left out");
        }
    }

    /// The newest first.
    ///
    /// # Errors
    /// The database does not answer.
    pub(crate) async fn list_notices(
        &self,
        person: &PersonId,
    ) -> Result<Vec<NoticeEntry>, InstallationError> {
        let entries = self.records.list(RECORD, Some(person.as_str()), self.clock.now()).await?;
        let mut found: Vec<NoticeEntry> = entries.iter().filter_map(parse_notice).collect();
        found.reverse();
        Ok(found)
    }

    /// How many were not seen yet.
    ///
    /// # Errors
    /// The database does not answer.
    pub(crate) async fn count_unseen(&self, person: &PersonId) -> Result<usize, InstallationError> {
        Ok(self.list_notices(person).await?.iter().filter(|noticed| !noticed.seen).count())
    }

    /// They saw these; `None`: all.
    ///
    /// # Errors
    /// The database does not answer, or there is no such notice.
    pub(crate) async fn mark_seen(
        &self,
        person: &PersonId,
        id: Option<&str>,
    ) -> Result<(), InstallationError> {
        let now = self.clock.now();
        let entries = self.records.list(RECORD, Some(person.as_str()), now).await?;
        let is_meant = |entry: &&RecordEntry| id.is_none_or(|id| id_of(entry) == id);
        let mut any = id.is_none();
        for entry in entries.iter().filter(is_meant) {
            any = true;
            let Some(noticed) = parse_notice(entry).filter(|noticed| !noticed.seen) else {
                continue;
            };
            let text = serde_json::to_string(&NoticeEntry { seen: true, ..noticed });
            let text = text.map_err(|error| InstallationError::Failed(error.to_string()))?;
            self.records.put(&RecordEntry { text, ..entry.clone() }, Some(entry.version)).await?;
        }
        any.then_some(()).ok_or_else(|| InstallationError::Missing("this notice".into()))
    }

    async fn store_notice(
        &self,
        person: &PersonId,
        notice: &Notice,
    ) -> Result<(), InstallationError> {
        let now = self.clock.now();
        let noticed =
            NoticeEntry { id: String::new(), notice: notice.clone(), seen: false, ts: now };
        let text = serde_json::to_string(&noticed);
        let mut entry = RecordEntry {
            kind: RECORD.into(),
            name: String::new(),
            owner: person.0.clone(),
            text: text.map_err(|error| InstallationError::Failed(error.to_string()))?,
            version: 0,
            expires: Some(Timestamp(now.0 + KEPT_US)),
            ts: now,
        };
        // Two in the same microsecond must not take each other's place.
        for moment in 0..100 {
            entry.name = format!("{person}/{:020}", now.0 + moment);
            if let PutOutcome::Kept(_) = self.records.put(&entry, Some(0)).await? {
                break;
            }
        }
        let kept = self.records.list(RECORD, Some(person.as_str()), now).await?;
        for old in kept.iter().take(kept.len().saturating_sub(KEPT_MAX)) {
            self.records.remove(RECORD, &old.name).await?;
        }
        Ok(())
    }
}

#[async_trait]
impl NoticeSink for NoticeInbox {
    async fn notify_person(&self, person: &PersonId, notice: Notice) {
        // Models and servers word it: no character may make it read otherwise than it is.
        let plain = |text: &str, most: usize| {
            let cut: String = text.chars().take(most).collect();
            cut.lines().map(visible_text).collect::<Vec<_>>().join("\n")
        };
        let notice = Notice {
            title: plain(&notice.title, TITLE_CHARS_MAX),
            text: plain(&notice.text, TEXT_CHARS_MAX),
            // Elsewhere would be a way to lead people off this server.
            link: Some(notice.link).filter(|link| is_own(link)).unwrap_or_default(),
            kind: notice.kind,
            offer: notice.offer,
        };
        if let Err(error) = self.store_notice(person, &notice).await {
            tracing::error!(%error, "a notice could not be kept");
        }
        if let Some(sink) = self.sink.get() {
            sink.notify_person(person, notice).await;
        }
    }
}

/// Whether a link leads to a page of this server.
fn is_own(link: &str) -> bool {
    link.starts_with('/') && !link.starts_with("//") && !link.contains(['\\', '\n', '\r'])
}

fn id_of(entry: &RecordEntry) -> String {
    entry.name.rsplit('/').next().unwrap_or_default().to_owned()
}

fn parse_notice(entry: &RecordEntry) -> Option<NoticeEntry> {
    let noticed: Option<NoticeEntry> = serde_json::from_str(&entry.text).ok();
    noticed.map(|noticed| NoticeEntry { id: id_of(entry), ..noticed })
}
