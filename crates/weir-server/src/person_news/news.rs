//! What is to be told to one person of their sessions (R5): what waits for them, and runs that ended,
//! whichever program runs the session. Each is told once, and not when it was answered meanwhile.
//! Nothing of a conversation is told beyond what is asked. Not here: whom to look at (`watch`), where
//! notices go (`channels`, `sender`).

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use weir_core::event::{Event, RunStatus};
use weir_core::ids::Timestamp;
use weir_core::record::Record;
use weir_core::view::transcript::PendingAsk;
use weir_engine::ports::{AgentRunFilter, Store, fact_of};
use weir_install::user_space::UserSpace;

use super::told::{ASK_KEPT_MS, END_KEPT_MS, MarkTimes, ToldMarks};
use crate::app::App;
use crate::inbox::{InboxEntry, list_inbox};
use crate::notice_acts::offer::AskOffer;
use crate::notify::{Notice, NoticeKind, NoticeSink as _};
use crate::problem::HandlerResult;

/// How long something waits before it is told: whoever sits in front of it answers it meanwhile, and
/// their telephone stays quiet.
const GRACE_MS: u64 = 2_000;
/// How far back ended runs are looked for at the first look, in milliseconds: a day.
const LOOK_BACK_MS: i64 = 24 * 3_600_000;
/// The same at later looks: clocks of other machines may differ by so much.
const OVERLAP_MS: i64 = 10 * 60_000;

/// Tells one person.
pub(super) struct PersonNews {
    app: App,
    space: Arc<UserSpace>,
    /// They have a channel, and are told of runs that they began themselves, too.
    has_channel: bool,
    told: ToldMarks,
    /// Runs that ended before are not looked for.
    since: Timestamp,
}

impl PersonNews {
    /// `channel`: since when the person has one.
    pub(super) fn new(app: App, space: Arc<UserSpace>, channel: Option<Timestamp>) -> PersonNews {
        let back = back_by(app.current_time(), LOOK_BACK_MS);
        PersonNews {
            told: ToldMarks::new(space.person().clone()),
            // Whoever adds a channel is told of what comes from then on.
            since: channel.map_or(back, |since| since.max(back)),
            has_channel: channel.is_some(),
            app,
            space,
        }
    }

    /// Tells what is to be told now. How long until something more is; `None`: nothing waits for it.
    ///
    /// # Errors
    /// A database does not answer. What was not told may be tried again.
    pub(super) async fn tell_news(&mut self) -> HandlerResult<Option<Duration>> {
        let store = self.space.store();
        let now = self.app.current_time();
        let waiting = list_inbox(store.as_ref()).await?;
        let ended = store.ended_runs(self.since).await?;
        let mut wait = None;
        for entry in &waiting {
            let age = now.ms_since(entry.since);
            // Of a clock that is ahead it is not known how long it waits.
            if entry.since <= now && age < GRACE_MS {
                let left = Duration::from_millis(GRACE_MS - age);
                wait = Some(wait.map_or(left, |wait: Duration| wait.min(left)));
                continue;
            }
            let name = format!("{}/{}", entry.top.id, entry.ask.name());
            if !self.told.is_known(&name) {
                let times = MarkTimes { now, kept_ms: ASK_KEPT_MS };
                self.tell_once(&name, times, ask_notice(entry)).await?;
            }
        }
        for record in &ended {
            let name = format!("{}/end {}", record.session, record.seq);
            if self.told.is_known(&name) {
                continue;
            }
            let waits = waiting.iter().any(|entry| entry.top.id == record.session);
            match self.end_notice(store.as_ref(), record, waits).await? {
                Some(notice) => {
                    let times = MarkTimes { now, kept_ms: END_KEPT_MS };
                    self.tell_once(&name, times, notice).await?;
                }
                None => self.told.leave_out(&name),
            }
        }
        self.since = self.since.max(back_by(now, OVERLAP_MS));
        Ok(wait)
    }

    /// What is said of an ended run; `None`: nothing.
    async fn end_notice(
        &self,
        store: &dyn Store,
        record: &Record,
        waits: bool,
    ) -> HandlerResult<Option<Notice>> {
        let (session, fact) = (&record.session, fact_of(record)?);
        let Event::RunFinished(finished) = fact.event.as_ref() else { return Ok(None) };
        let Some(how) = end_words(finished.status, waits) else { return Ok(None) };
        let of_session = AgentRunFilter {
            session: Some(session.clone()),
            limit: Some(1),
            ..AgentRunFilter::default()
        };
        let agent = store.agent_runs(&of_session).await?.pop();
        if agent.is_none() && !self.has_channel {
            return Ok(None);
        }
        let meta = store.session_meta(session).await?;
        let folder = meta.map(|meta| folder_name(&meta.workspace)).unwrap_or_default();
        let (kind, title) = match agent {
            Some(run) => (NoticeKind::Agent, format!("The agent {} {how}", run.agent)),
            None => (NoticeKind::RunEnded, format!("A run {how}")),
        };
        let text = if folder.is_empty() { folder } else { format!("In {folder}.") };
        Ok(Some(Notice { kind, title, text, link: format!("/chats/{session}"), offer: None }))
    }

    /// Tells it unless somebody else did.
    async fn tell_once(
        &mut self,
        name: &str,
        times: MarkTimes,
        notice: Notice,
    ) -> HandlerResult<()> {
        if self.told.claim(self.app.records.as_ref(), name, times).await? {
            self.app.notices.notify_person(self.space.person(), notice).await;
        }
        Ok(())
    }
}

fn back_by(now: Timestamp, ms: i64) -> Timestamp {
    Timestamp(now.0.saturating_sub(ms.saturating_mul(1_000)))
}

/// What is said of something that waits.
fn ask_notice(entry: &InboxEntry) -> Notice {
    let (kind, title, text) = match &entry.ask {
        PendingAsk::Approval(f) => {
            (NoticeKind::Approval, format!("Allow {}?", f.tool), f.summary.clone())
        }
        PendingAsk::AgentApproval(f) => {
            let title = format!("Allow {} for a sub-agent?", f.request.tool);
            (NoticeKind::Approval, title, f.request.summary.clone())
        }
        PendingAsk::Question(f) => {
            let title = "An agent asks you something".to_owned();
            (NoticeKind::Question, title, f.text.clone())
        }
    };
    let link = format!("/chats/{}", entry.top.id);
    Notice { kind, title, text, link, offer: AskOffer::of_entry(entry) }
}

/// How a run ended, as the end of a sentence; `None`: that is no news. `waits`: its session waits for
/// the person, who is told what it needs.
fn end_words(status: RunStatus, waits: bool) -> Option<&'static str> {
    Some(match status {
        // What the person did themselves is no news.
        RunStatus::Cancelled | RunStatus::Paused => return None,
        RunStatus::NeedsInput if waits => return None,
        RunStatus::NeedsInput => "needs you",
        RunStatus::Completed => "is done",
        RunStatus::Denied => "ended because something was denied",
        RunStatus::Limit => "ended at a limit",
        RunStatus::Budget => "ended at its budget",
        RunStatus::Interrupted => "was interrupted",
        RunStatus::Failed => "failed",
    })
}

fn folder_name(workspace: &str) -> String {
    let name = Path::new(workspace).file_name();
    name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
