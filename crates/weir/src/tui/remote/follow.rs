//! One session's facts and signals as a server tells them, from a place on: each fact once, in
//! order, over as many connections as it takes.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc::Sender;
use tokio::time::Instant;
use weir_core::event::Event;
use weir_core::ids::{Seq, SessionId};
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;
use weir_tui::link::{News, Tone};

use super::http::{self, Answer, Http, Trouble};
use super::wire::{Decoder, Heard, heard};

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
pub(super) struct Seen {
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

impl Seen {
    /// The settings that hold; `None`: they were not heard yet.
    pub(super) fn settings(&self) -> Option<News> {
        (!self.model.is_empty()).then(|| News::Settings {
            model: self.model.clone(),
            profile: self.profile.clone(),
            permission: self.permission,
            thinking: self.thinking,
        })
    }
}

/// Shared with whoever asks what was seen.
pub(super) type Shared = Arc<Mutex<Seen>>;

/// What was seen.
pub(super) fn seen(shared: &Shared) -> MutexGuard<'_, Seen> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why nothing is followed any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// The session is no more.
    Gone,
    /// It cannot go on: a sentence.
    Broken(String),
    /// Nobody listens.
    Left,
}

enum Stop {
    End(End),
    Line(String, Option<Duration>),
}

/// Follows a session until it ends.
pub(super) async fn follow(
    http: Arc<Http>,
    session: SessionId,
    (news, shared): (Sender<News>, Shared),
) -> End {
    let mut line = Line { http, session, news, shared, is_lost: false, gaps: 0 };
    let mut pause = PAUSE_MIN;
    loop {
        let (began, before) = (Instant::now(), seen(&line.shared).last);
        let (why, wait) = match line.once().await {
            Ok(()) => ("it ended the connection".to_owned(), None),
            Err(Stop::Line(why, wait)) => (why, wait),
            Err(Stop::End(end)) => return end,
        };
        if seen(&line.shared).last > before || began.elapsed() > GOOD_LINE {
            pause = PAUSE_MIN;
        }
        if !std::mem::replace(&mut line.is_lost, true)
            && line.news.send(News::Lost(Some(why))).await.is_err()
        {
            return End::Left;
        }
        tokio::select! {
            () = tokio::time::sleep(wait.unwrap_or(pause).max(pause)) => (),
            () = line.news.closed() => return End::Left,
        }
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

struct Line {
    http: Arc<Http>,
    session: SessionId,
    news: Sender<News>,
    shared: Shared,
    is_lost: bool,
    gaps: u32,
}

impl Line {
    /// One connection, from where the last one ended.
    async fn once(&mut self) -> Result<(), Stop> {
        let after = seen(&self.shared).last.to_string();
        let parts = ["sessions", self.session.as_str(), "events"];
        let answer = self.http.stream(&parts, &[("after", &after)]).await;
        let response = answer.map_err(stop)?;
        if std::mem::replace(&mut self.is_lost, false) {
            self.tell(News::Lost(None)).await?;
        }
        let mut stream = response.bytes_stream();
        let mut decoder = Decoder::default();
        while let Some(bytes) = http::next(&mut stream).await.map_err(stop)? {
            let messages = decoder.feed(&bytes).map_err(|why| broken(&why))?;
            for message in messages {
                if message.event == "error" {
                    return Err(Stop::Line("it could not read the session".into(), None));
                }
                self.take(heard(&message.data).map_err(|why| broken(&why))?).await?;
            }
        }
        Ok(())
    }

    async fn take(&mut self, heard: Heard) -> Result<(), Stop> {
        match heard {
            Heard::Nothing => Ok(()),
            Heard::Signal { kind, subject, text } => {
                self.tell(News::Signal { kind, subject, text }).await
            }
            Heard::Fact { seq, ts, event } => {
                if !self.is_next(seq)? {
                    return Ok(());
                }
                self.note(seq, &event);
                self.tell(News::Fact { seq, ts, event }).await
            }
            Heard::Unknown { seq, kind } => {
                if !self.is_next(seq)? {
                    return Ok(());
                }
                let is_new = {
                    let mut seen = seen(&self.shared);
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
                self.tell(News::Notice { tone: Tone::Quiet, text }).await
            }
        }
    }

    /// Whether this is the next fact; one that was told already is not.
    fn is_next(&mut self, seq: Seq) -> Result<bool, Stop> {
        let last = seen(&self.shared).last;
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
            true => Err(broken(&why)),
            false => Err(Stop::Line(why, None)),
        }
    }

    fn note(&self, seq: Seq, event: &Event) {
        let mut seen = seen(&self.shared);
        seen.last = seq;
        let config = match event {
            Event::SessionOpened(f) => &f.config,
            Event::SessionConfigured(f) => &f.config,
            Event::ProfileSwitched(f) => &f.config,
            _ => return,
        };
        seen.model = config.model.model.to_string();
        seen.profile.clone_from(&config.profile.name);
        (seen.permission, seen.thinking) = (config.permission, config.thinking);
    }

    async fn tell(&self, news: News) -> Result<(), Stop> {
        self.news.send(news).await.map_err(|_| Stop::End(End::Left))
    }
}

fn broken(why: &str) -> Stop {
    Stop::End(End::Broken(format!("the server cannot be followed: {why}")))
}

fn stop(trouble: Trouble) -> Stop {
    match trouble {
        Trouble::Lost { why, wait, .. } => Stop::Line(why, wait),
        Trouble::SignedOut(why) => Stop::End(End::Broken(format!(
            "you are not signed in any more ({why}); run the same command again"
        ))),
        trouble if trouble.is_missing() => Stop::End(End::Gone),
        Trouble::Refused { status: 500.., why, .. } => Stop::Line(why, None),
        Trouble::Refused { why, .. } | Trouble::Strange(why) => broken(&why),
    }
}

/// Asks until the server can be reached, for as long as `patience` says.
///
/// # Errors
/// As the last answer.
pub(super) async fn until_reached<T, F: Future<Output = Answer<T>>>(
    patience: Duration,
    ask: impl Fn() -> F,
) -> Answer<T> {
    let until = Instant::now() + patience;
    let mut pause = PAUSE_MIN;
    loop {
        match ask().await {
            Err(Trouble::Lost { wait, .. }) if Instant::now() + pause < until => {
                tokio::time::sleep(wait.unwrap_or(pause).max(pause)).await;
                pause = (pause * 2).min(PAUSE_MAX);
            }
            answer => return answer,
        }
    }
}
