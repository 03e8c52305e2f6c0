//! One session's facts and signals as a server tells them, from a place on: each fact once, in
//! order, over as many connections as it takes. Not here: what stands before that place (`earlier`).

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc::Sender;
use tokio::time::Instant;
use weir_core::event::Event;
use weir_core::ids::{Seq, SessionId};
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;
use weir_core::view::transcript::SettledTranscript;
use weir_tui::link::{NoticeTone, UiUpdate};

use super::http::{self, ApiResult, RequestError, ServerClient};
use super::wire::{EventStreamDecoder, FactConsequences, parse_event};

/// First and longest wait before a server is asked again.
const PAUSE_MIN: Duration = Duration::from_millis(250);
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// A line that held so long was a good one: the next wait is a short one.
const GOOD_LINE: Duration = Duration::from_secs(5);
/// How often in a row a server may leave out facts.
const GAPS_MAX: u32 = 3;
/// Kinds of facts that are remembered as unknown.
const UNKNOWN_MAX: usize = 100;

/// What was seen of the session that is followed.
#[derive(Debug, Default)]
pub(super) struct FollowedState {
    /// The last fact.
    pub(super) last: Seq,
    /// Its model, `provider/name`.
    pub(super) model: String,
    /// Name of its profile.
    pub(super) profile: String,
    /// Its permission mode.
    pub(super) permission: PermissionMode,
    /// How much its model thinks.
    pub(super) thinking: Thinking,
    /// Kinds of facts that this program does not know, each told once.
    pub(super) unknown: BTreeSet<String>,
}

impl FollowedState {
    /// What was seen at the place at which a session begins here.
    pub(super) fn begun_at(start: &SettledTranscript) -> FollowedState {
        let seen = start.to_transcript();
        let settings = seen.settings();
        FollowedState {
            last: start.settled_place().seq,
            model: settings.model.clone(),
            profile: settings.profile.clone(),
            permission: settings.permission.unwrap_or_default(),
            thinking: settings.thinking.unwrap_or_default(),
            unknown: BTreeSet::new(),
        }
    }

    /// The settings that hold; `None`: they were not heard yet.
    pub(super) fn settings_update(&self) -> Option<UiUpdate> {
        (!self.model.is_empty()).then(|| UiUpdate::Settings {
            model: self.model.clone(),
            profile: self.profile.clone(),
            permission: self.permission,
            thinking: self.thinking,
        })
    }
}

/// Shared with whoever asks what was seen.
pub(super) type SharedFollowedState = Arc<Mutex<FollowedState>>;

/// What was seen.
pub(super) fn lock_followed_state(shared: &SharedFollowedState) -> MutexGuard<'_, FollowedState> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why nothing is followed any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FollowEnd {
    /// The session is no more.
    Gone,
    /// It cannot go on: a sentence.
    Broken(String),
    /// Nobody listens.
    Left,
}

enum StreamStop {
    End(FollowEnd),
    Line(String, Option<Duration>),
}

/// A session that is to be followed.
pub(super) struct FollowedSession {
    /// The server.
    pub(super) http: Arc<ServerClient>,
    /// Which.
    pub(super) session: SessionId,
    /// Where it is told.
    pub(super) news: Sender<UiUpdate>,
}

/// Follows a session until it ends, from the last fact on that was seen.
pub(super) async fn follow_session(
    followed: FollowedSession,
    shared: SharedFollowedState,
) -> FollowEnd {
    let FollowedSession { http, session, news } = followed;
    let is_lost = false;
    let mut line = SessionFollower { http, session, news, shared, is_lost, gaps: 0 };
    let mut pause = PAUSE_MIN;
    loop {
        let (began, before) = (Instant::now(), lock_followed_state(&line.shared).last);
        let (why, wait) = match line.read_one_connection().await {
            Ok(()) => ("it ended the connection".to_owned(), None),
            Err(StreamStop::Line(why, wait)) => (why, wait),
            Err(StreamStop::End(end)) => return end,
        };
        if lock_followed_state(&line.shared).last > before || began.elapsed() > GOOD_LINE {
            pause = PAUSE_MIN;
        }
        if !std::mem::replace(&mut line.is_lost, true)
            && line.news.send(UiUpdate::Lost(Some(why))).await.is_err()
        {
            return FollowEnd::Left;
        }
        tokio::select! {
            () = tokio::time::sleep(wait.unwrap_or(pause).max(pause)) => (),
            () = line.news.closed() => return FollowEnd::Left,
        }
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

struct SessionFollower {
    http: Arc<ServerClient>,
    session: SessionId,
    news: Sender<UiUpdate>,
    shared: SharedFollowedState,
    is_lost: bool,
    gaps: u32,
}

impl SessionFollower {
    /// One connection, from where the last one ended.
    async fn read_one_connection(&mut self) -> Result<(), StreamStop> {
        let after = lock_followed_state(&self.shared).last.to_string();
        let parts = ["sessions", self.session.as_str(), "events"];
        let answer = self.http.open_stream(&parts, &[("after", &after)]).await;
        let response = answer.map_err(stop_for_trouble)?;
        if std::mem::replace(&mut self.is_lost, false) {
            self.send_update(UiUpdate::Lost(None)).await?;
        }
        let mut stream = response.bytes_stream();
        let mut decoder = EventStreamDecoder::default();
        while let Some(bytes) = http::next(&mut stream).await.map_err(stop_for_trouble)? {
            let messages = decoder.decode_chunk(&bytes).map_err(|why| broken_stream(&why))?;
            for message in messages {
                if message.event == "error" {
                    return Err(StreamStop::Line("it could not read the session".into(), None));
                }
                self.handle_stream_event(
                    parse_event(&message.data).map_err(|why| broken_stream(&why))?,
                )
                .await?;
            }
        }
        Ok(())
    }

    async fn handle_stream_event(&mut self, heard: FactConsequences) -> Result<(), StreamStop> {
        match heard {
            FactConsequences::Nothing => Ok(()),
            FactConsequences::Signal { kind, subject, text } => {
                self.send_update(UiUpdate::Signal { kind, subject, text }).await
            }
            FactConsequences::Fact { seq, ts, event } => {
                if !self.is_next(seq)? {
                    return Ok(());
                }
                self.note_fact(seq, &event);
                self.send_update(UiUpdate::Fact { seq, ts, event }).await
            }
            FactConsequences::Unknown { seq, kind } => {
                if !self.is_next(seq)? {
                    return Ok(());
                }
                let is_new = {
                    let mut seen = lock_followed_state(&self.shared);
                    seen.last = seq;
                    seen.unknown.len() < UNKNOWN_MAX && seen.unknown.insert(kind.clone())
                };
                if !is_new {
                    return Ok(());
                }
                let text = format!(
                    "the server tells of {kind:?}, which this program does not know; a newer weir \
                     shows it"
                );
                self.send_update(UiUpdate::Notice { tone: NoticeTone::Quiet, text }).await
            }
        }
    }

    /// Whether this is the next fact; one that was told already is not.
    fn is_next(&mut self, seq: Seq) -> Result<bool, StreamStop> {
        let last = lock_followed_state(&self.shared).last;
        if seq == last + 1 {
            self.gaps = 0;
            return Ok(true);
        }
        if seq <= last {
            return Ok(false);
        }
        self.gaps += 1;
        let why = format!("it left out what came after fact {last}");
        match self.gaps > GAPS_MAX {
            true => Err(broken_stream(&why)),
            false => Err(StreamStop::Line(why, None)),
        }
    }

    fn note_fact(&self, seq: Seq, event: &Event) {
        let mut seen = lock_followed_state(&self.shared);
        seen.last = seq;
        let config = match event {
            Event::SessionOpened(f) => &f.config,
            Event::SessionConfigured(f) => &f.config,
            Event::ProfileSwitched(f) => &f.config,
            Event::ModelSwitched(f) => match &f.config {
                Some(config) => config,
                None => return,
            },
            _ => return,
        };
        seen.model = config.model.model.to_string();
        seen.profile.clone_from(&config.profile.name);
        (seen.permission, seen.thinking) = (config.permission, config.thinking);
    }

    async fn send_update(&self, news: UiUpdate) -> Result<(), StreamStop> {
        self.news.send(news).await.map_err(|_| StreamStop::End(FollowEnd::Left))
    }
}

fn broken_stream(why: &str) -> StreamStop {
    StreamStop::End(FollowEnd::Broken(format!("the server cannot be followed: {why}")))
}

fn stop_for_trouble(trouble: RequestError) -> StreamStop {
    match trouble {
        RequestError::Lost { why, wait, .. } => StreamStop::Line(why, wait),
        RequestError::SignedOut(why) => StreamStop::End(FollowEnd::Broken(format!(
            "you are not signed in any more ({why}); run the same command again"
        ))),
        trouble if trouble.is_missing() => StreamStop::End(FollowEnd::Gone),
        RequestError::Refused { status: 500.., why, .. } => StreamStop::Line(why, None),
        RequestError::Refused { why, .. } | RequestError::Strange(why) => broken_stream(&why),
    }
}

/// Asks until the server can be reached, for as long as `patience` says.
///
/// # Errors
/// As the last answer.
pub(super) async fn until_reached<T, F: Future<Output = ApiResult<T>>>(
    patience: Duration,
    ask: impl Fn() -> F,
) -> ApiResult<T> {
    let until = Instant::now() + patience;
    let mut pause = PAUSE_MIN;
    loop {
        match ask().await {
            Err(RequestError::Lost { wait, .. }) if Instant::now() + pause < until => {
                tokio::time::sleep(wait.unwrap_or(pause).max(pause)).await;
                pause = (pause * 2).min(PAUSE_MAX);
            }
            answer => return answer,
        }
    }
}
