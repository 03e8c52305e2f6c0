//! How processes hear of each other (D8): letters, the kill switch, agents and records announce
//! themselves within their own rare transactions; new facts are gathered and announced by one
//! sender, at most every 50 ms and never within the transaction that wrote them. Whoever waits looks
//! by itself now and then, in case nobody could say anything. What streams goes to one process at a
//! time, on a channel of its own; `signals` says to whom.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sqlx::postgres::{PgConnection, PgListener, PgPool};
use tokio::sync::{Notify, watch};
use weir_core::ids::{Seq, SessionId};
use weir_engine::ports::StoreError;

use super::connect::PING_TIMEOUT;
use super::rows::{execute_statement, in_time, with_time_limit};
use super::signals::{HeardParcel, SignalRelay};
use crate::follow::JournalFollowers;

/// The name under which everything is announced. It is bound to the database.
const CHANNEL: &str = "weir";
/// Least time between two announcements of facts.
const COMPANY: Duration = Duration::from_millis(50);
/// Sessions in one announcement: PostgreSQL takes 8,000 bytes.
const SESSIONS_AT_ONCE: usize = 40;
/// How long whoever waits for a notice waits at most while nobody listens for them.
const WITHOUT_LISTENER: Duration = Duration::from_secs(1);
/// How long until listening is tried again.
const LISTEN_AGAIN: Duration = Duration::from_secs(1);

/// How long nothing may be heard before it is asked whether the line is still there.
const QUIET: Duration = Duration::from_secs(10);

/// What a notice is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum NoticeTopic {
    Mail,
    Pause,
    Agents,
    Records,
    /// New facts in any journal: said with the journals that have them, never by itself.
    Facts,
}

/// What goes over the wire.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum WireNotice {
    Notice {
        about: NoticeTopic,
        owner: String,
    },
    Facts {
        owner: String,
        facts: Vec<(String, Seq)>,
    },
    /// To the process that has these sessions: what streams in them is wanted by `from`.
    Ask {
        owner: String,
        from: String,
        lines: Vec<(String, u64)>,
    },
    /// To a process that asked: a parcel.
    Signal {
        owner: String,
        session: String,
        line: u64,
        n: u64,
        body: String,
    },
}

/// What is heard and what is still to be said.
#[derive(Default)]
pub(super) struct NoticeHub {
    watches: Mutex<HashMap<(NoticeTopic, String), watch::Sender<u64>>>,
    followers: Mutex<HashMap<String, Arc<JournalFollowers>>>,
    listening: watch::Sender<bool>,
    unsaid: Mutex<HashMap<(String, SessionId), Seq>>,
    more: Notify,
}

impl NoticeHub {
    fn lock_watches(&self) -> MutexGuard<'_, HashMap<(NoticeTopic, String), watch::Sender<u64>>> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those who follow sessions of `owner`.
    pub(super) fn followers_of_owner(&self, owner: &str) -> Arc<JournalFollowers> {
        let mut all = self.followers.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(owner.to_string()).or_default().clone()
    }

    /// Resolves after the next notice; listens from its first poll on. May resolve without one.
    pub(super) async fn wait_for_notice(&self, about: NoticeTopic, owner: &str) {
        let mut heard = {
            let mut watches = self.lock_watches();
            let new = || watch::Sender::new(0);
            watches.entry((about, owner.to_string())).or_insert_with(new).subscribe()
        };
        let mut listening = self.listening.subscribe();
        let deaf = async {
            // The sender lives in `self`.
            let _ = listening.wait_for(|listens| !listens).await;
            tokio::time::sleep(WITHOUT_LISTENER).await;
        };
        tokio::select! {
            _ = heard.changed() => {}
            () = deaf => {}
        }
    }

    pub(super) fn notify_here(&self, about: NoticeTopic, owner: &str) {
        if let Some(watch) = self.lock_watches().get(&(about, owner.to_string())) {
            watch.send_modify(|count| *count += 1);
        }
    }

    /// Says that a session has new facts: at once here, soon elsewhere.
    pub(super) fn announce_new_facts(&self, owner: &str, session: &SessionId, facts: Seq) {
        self.followers_of_owner(owner).notify_followers(session, facts);
        self.notify_here(NoticeTopic::Facts, owner);
        let mut unsaid = self.unsaid.lock().unwrap_or_else(PoisonError::into_inner);
        unsaid.insert((owner.to_string(), session.clone()), facts);
        drop(unsaid);
        self.more.notify_one();
    }

    /// Announces facts for as long as it is not dropped.
    pub(super) async fn keep_saying(self: Arc<Self>, pool: PgPool) {
        loop {
            self.more.notified().await;
            let unsaid =
                std::mem::take(&mut *self.unsaid.lock().unwrap_or_else(PoisonError::into_inner));
            let mut by_owner: HashMap<String, Vec<(String, Seq)>> = HashMap::new();
            for ((owner, session), facts) in unsaid {
                by_owner.entry(owner).or_default().push((session.as_str().to_string(), facts));
            }
            for (owner, facts) in by_owner {
                for facts in facts.chunks(SESSIONS_AT_ONCE) {
                    let said = WireNotice::Facts { owner: owner.clone(), facts: facts.to_vec() };
                    if let Err(error) = send_notice(&pool, CHANNEL, &said).await {
                        tracing::debug!(%error, "new facts could not be announced");
                    }
                }
            }
            tokio::time::sleep(COMPANY).await;
        }
    }

    /// Hears what is announced for as long as it is not dropped.
    pub(super) async fn keep_listening(self: Arc<Self>, pool: PgPool, signals: Arc<SignalRelay>) {
        loop {
            if let Err(error) = self.listen_for_notices(&pool, &signals).await {
                tracing::warn!(%error, "notices of other processes are not heard; looking instead");
            }
            self.listening.send_replace(false);
            if pool.is_closed() {
                return;
            }
            tokio::time::sleep(LISTEN_AGAIN).await;
        }
    }

    async fn listen_for_notices(
        &self,
        pool: &PgPool,
        signals: &SignalRelay,
    ) -> Result<(), sqlx::Error> {
        let mut listener = PgListener::connect_with(pool).await?;
        listener.listen_all([CHANNEL, &signals.own_channel()]).await?;
        self.listening.send_replace(true);
        // What was said before anybody listened is not known: all look once.
        self.lock_watches().values().for_each(|watch| watch.send_modify(|count| *count += 1));
        signals.missed_some();
        loop {
            let Ok(heard) = tokio::time::timeout(QUIET, listener.try_recv()).await else {
                ping_listener(&mut listener).await?;
                continue;
            };
            // `None`: the connection was lost.
            let Some(heard) = heard? else { return Ok(()) };
            match serde_json::from_str(heard.payload()) {
                Ok(WireNotice::Notice { about, owner }) => self.notify_here(about, &owner),
                Ok(WireNotice::Facts { owner, facts }) => {
                    let followers = self.followers_of_owner(&owner);
                    for (session, facts) in facts {
                        followers.notify_followers(&SessionId::new(session), facts);
                    }
                    self.notify_here(NoticeTopic::Facts, &owner);
                }
                Ok(WireNotice::Ask { owner, from, lines }) => {
                    signals.receive_request(&owner, &from, lines)
                }
                Ok(WireNotice::Signal { owner, session, line, n, body }) => {
                    signals.receive_parcel(owner, session, HeardParcel { line, n, body });
                }
                Err(error) => tracing::debug!(%error, "a notice cannot be read"),
            }
        }
    }
}

/// A line that fell silent sounds like one on which nothing is said.
async fn ping_listener(listener: &mut PgListener) -> Result<(), sqlx::Error> {
    let asked = sqlx::query("SELECT 1").execute(listener);
    with_time_limit(PING_TIMEOUT, asked).await.map(drop)
}

/// Announces within a transaction: heard when it commits.
pub(super) async fn announce_change(
    work: &mut PgConnection,
    about: NoticeTopic,
    owner: &str,
) -> Result<(), StoreError> {
    let said = WireNotice::Notice { about, owner: owner.to_string() };
    let query = sqlx::query("SELECT pg_notify('weir', $1)");
    let text = serde_json::to_string(&said).unwrap_or_default();
    execute_statement(work, "announcing a change", query.bind(text)).await.map(drop)
}

/// Announces by itself.
pub(super) async fn send_notice(
    pool: &PgPool,
    channel: &str,
    said: &WireNotice,
) -> Result<(), sqlx::Error> {
    let text = serde_json::to_string(said).unwrap_or_default();
    let query = sqlx::query("SELECT pg_notify($1, $2)").bind(channel).bind(text);
    in_time(query.execute(pool)).await.map(drop)
}
