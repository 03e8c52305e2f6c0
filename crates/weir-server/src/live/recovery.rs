//! Sessions go on without help (D5): those that were at work when their program went away are taken
//! up at once, fairly by person; those that wait for a person stay as they are. Which session crashes
//! the engine is found out, and after three times it is left alone until a person says otherwise.
//!
//! The same watch takes over from replicas that died (D8): it looks again and again, and looking costs
//! at most a hundredth of the time, or once in ten seconds.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use weir_core::ids::{Seq, SessionId, Timestamp};
use weir_core::session::{Session, child};
use weir_engine::ports::RecordEntry;
use weir_install::people::Person;
use weir_install::user_space::UserSpace;

use super::{SessionKey, SessionLocation, SessionRequest, pause};
use crate::app::App;
use crate::auth::accounts;
use crate::problem::{HandlerResult, ProblemDetails};

/// Kind of the entries that count crashes.
pub(super) const CRASH: &str = "crash";
/// Kind of the entries that say which sessions are being taken up.
const RESUMING: &str = "resuming";
/// How long such an entry is kept, in milliseconds: that of a machine which never comes back, such as a container
/// with a name of its own, goes then.
const RESUMING_KEPT_MS: u64 = 30 * 24 * 60 * 60 * 1_000;
/// How long taking up takes at most, in milliseconds: an entry that is older was left by a program that ended,
/// also one that nobody starts again under its name, such as a container that is always a new one.
const RESUMING_MS: u64 = 2 * 60 * 1_000;
/// Crashes after which a session is left alone.
const CRASHES_MAX: u32 = 3;
/// Sessions that are taken up at once.
const AT_ONCE: usize = 64;
/// Openings under way at once.
const OPENING_MAX: usize = 16;
/// How long those that are taken up together are watched for a crash before the next.
const YOUNG: Duration = Duration::from_millis(250);
/// The same for one under suspicion, which is taken up alone.
const SUSPECT: Duration = Duration::from_secs(1);
/// Shortest time between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Looking takes at most one part in so many of the time.
const LOOK_SHARE: u32 = 100;
/// Longest time between two looks. With the time of a lease it is no more than twice that time, within
/// which others take over (D8).
const LOOK_EVERY_MAX: Duration = Duration::from_secs(10);

/// Crashes of one session.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct CrashCount {
    count: u32,
}

/// Sessions that were being taken up when the program ended, if it did.
#[derive(Debug, Default, Serialize, Deserialize)]
struct ResumingSessions {
    sessions: Vec<String>,
}

/// Everybody whose sessions may run.
///
/// # Errors
/// The database refuses.
pub(crate) async fn list_active_people(app: &App) -> HandlerResult<Vec<Person>> {
    let mut all = accounts::list_accounts(&app.auth.shelf).await?;
    all.retain(|person| !person.disabled);
    Ok(all)
}

async fn crash_count(app: &App, key: &str) -> HandlerResult<u32> {
    let entry = app.records.get(CRASH, key, app.current_time()).await?;
    let count = |entry: RecordEntry| serde_json::from_str::<CrashCount>(&entry.text).ok();
    Ok(entry.and_then(count).unwrap_or_default().count)
}

/// Whether a session is left alone because the engine crashed in it again and again.
///
/// # Errors
/// The database refuses.
pub(crate) async fn is_quarantined(app: &App, key: &SessionKey) -> HandlerResult<bool> {
    Ok(crash_count(app, key.as_str()).await? >= CRASHES_MAX)
}

/// Sessions of a person that are left alone.
///
/// # Errors
/// The database refuses.
pub(crate) async fn list_quarantined(
    app: &App,
    space: &UserSpace,
) -> HandlerResult<BTreeSet<String>> {
    let found = app.records.list(CRASH, Some(space.person().as_str()), app.current_time()).await?;
    let is_over = |entry: &&RecordEntry| {
        serde_json::from_str::<CrashCount>(&entry.text).is_ok_and(|c| c.count >= CRASHES_MAX)
    };
    let id = |entry: &RecordEntry| entry.name.rsplit('/').next().unwrap_or_default().to_owned();
    Ok(found.iter().filter(is_over).map(id).collect())
}

/// # Errors
/// It is left alone: what to do.
pub(super) async fn refuse_quarantined(app: &App, key: &SessionKey) -> HandlerResult<()> {
    if !is_quarantined(app, key).await? {
        return Ok(());
    }
    Err(ProblemDetails::new(
        StatusCode::CONFLICT,
        "quarantined",
        format!(
            "the engine crashed {CRASHES_MAX} times in this session, so it is left alone; release \
             it to try once more, or fork it before its last run"
        ),
    ))
}

/// Lets a session that was left alone run again. Whether it was.
///
/// # Errors
/// The database refuses.
pub(crate) async fn release_quarantine(app: &App, key: &SessionKey) -> HandlerResult<bool> {
    Ok(app.records.remove(CRASH, key.as_str()).await?)
}

async fn count_crash(app: &App, key: &str, owner: &str) -> HandlerResult<()> {
    let count = crash_count(app, key).await?.saturating_add(1);
    tracing::warn!(session = key, count, "the engine crashed in a session");
    let entry = RecordEntry {
        kind: CRASH.into(),
        name: key.into(),
        owner: owner.into(),
        text: serde_json::to_string(&CrashCount { count })
            .map_err(ProblemDetails::internal_failure)?,
        version: 0,
        expires: None,
        ts: app.current_time(),
    };
    app.records.put(&entry, None).await?;
    Ok(())
}

/// The engine met a bug of its own in a session: the watch takes it up again, unless that was once
/// too often.
pub(super) async fn report_crash(app: &App, key: &SessionKey, space: &UserSpace) {
    app.sessions.add_suspect(key);
    if let Err(problem) = count_crash(app, key.as_str(), space.person().as_str()).await {
        tracing::error!(why = %problem.detail, "a crash could not be noted");
    }
}

/// A run came to its end: what was held against the session is forgotten.
pub(super) fn clear_crashes(app: &App, key: &SessionKey) {
    if !app.sessions.remove_suspect(key) {
        return;
    }
    let (app, key) = (app.clone(), key.clone());
    tokio::spawn(async move {
        if let Err(problem) = release_quarantine(&app, &key).await {
            tracing::debug!(why = %problem.detail, "a crash could not be forgotten");
        }
    });
}

/// Takes up what was at work, and goes on looking until the server ends.
pub(crate) async fn run_recovery_watch(app: App) {
    let mut watch =
        RecoveryWatch { app: app.clone(), others: HashMap::new(), searched: Duration::ZERO };
    if let Err(problem) = watch.count_unfinished_resumes().await {
        tracing::error!(why = %problem.detail, "what crashed before could not be looked at");
    }
    loop {
        let began = Instant::now();
        let looked = watch.resume_interrupted().await;
        let pause = pause_after(looked.is_ok(), watch.searched);
        match looked {
            Ok(0) => (),
            Ok(taken) => {
                let ms = began.elapsed().as_millis();
                tracing::info!(taken, ms, "sessions that were at work go on");
            }
            Err(problem) => tracing::warn!(why = %problem.detail, "sessions could not be taken up"),
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => (),
            () = app.stop.cancelled() => return,
        }
    }
}

/// How long until the next look, after one that took so long. A database that does not answer takes
/// its time without any work: that is no reason to come late when it is back.
fn pause_after(looked: bool, took: Duration) -> Duration {
    if !looked {
        return LOOK_EVERY;
    }
    took.saturating_mul(LOOK_SHARE).clamp(LOOK_EVERY, LOOK_EVERY_MAX)
}

/// A session that was at work.
struct InterruptedSession {
    space: Arc<UserSpace>,
    id: SessionId,
    key: SessionKey,
}

struct RecoveryWatch {
    app: App,
    /// Sessions at work that are none of the server's (a terminal began their run), and how many
    /// facts they had when that was found.
    others: HashMap<SessionKey, Seq>,
    /// How long the last look searched; what it then took up is work, and no reason to look later.
    searched: Duration,
}

impl RecoveryWatch {
    /// The entry of this server: another one on the same database has its own.
    fn own_entry(&self, sessions: Vec<String>) -> HandlerResult<RecordEntry> {
        let now = self.app.current_time();
        // A machine that says no name is told by the address alone.
        let machine = hostname::get().unwrap_or_default();
        Ok(RecordEntry {
            kind: RESUMING.into(),
            name: entry_name(&machine.to_string_lossy(), self.app.options.bind),
            owner: String::new(),
            text: serde_json::to_string(&ResumingSessions { sessions })
                .map_err(ProblemDetails::internal_failure)?,
            version: 0,
            expires: Some(now.plus_ms(RESUMING_KEPT_MS)),
            ts: now,
        })
    }

    /// Counts a crash for whatever was being taken up when a program ended: this one before it was started
    /// again, or another one that left its entry behind. One for each session, however often it crashed.
    async fn count_unfinished_resumes(&self) -> HandlerResult<()> {
        let records = &self.app.records;
        let own = self.own_entry(Vec::new())?;
        let mut crashed = BTreeSet::new();
        for entry in records.list(RESUMING, None, own.ts).await? {
            let is_left = entry.name == own.name || is_outdated(&entry, own.ts);
            // Replicas may look at once: who takes it away counts it.
            if is_left && records.remove(RESUMING, &entry.name).await? {
                let resuming: ResumingSessions =
                    serde_json::from_str(&entry.text).unwrap_or_default();
                crashed.extend(resuming.sessions);
            }
        }
        for key in crashed {
            let owner = key.split('/').next().unwrap_or_default().to_owned();
            count_crash(&self.app, &key, &owner).await?;
        }
        Ok(())
    }

    /// Takes up whatever is to go on and nobody has. How many that were.
    async fn resume_interrupted(&mut self) -> HandlerResult<usize> {
        let began = Instant::now();
        if pause::of_installation(&self.app).await?.is_some() {
            return Ok(0);
        }
        let mut by_person = Vec::new();
        for person in list_active_people(&self.app).await? {
            match self.of_person(&person).await {
                Ok(found) => {
                    self.app.health.note_readable(&person.name, true);
                    by_person.push(found);
                }
                Err(problem) => {
                    // One person's broken folder keeps nobody else's sessions.
                    self.app.health.note_readable(&person.name, false);
                    tracing::warn!(person = %person.name, why = %problem.detail, "not looked at");
                }
            }
        }
        let (mut clean, mut suspects) = (Vec::new(), Vec::new());
        for found in in_turns(by_person) {
            match crash_count(&self.app, found.key.as_str()).await? {
                0 => clean.push(found),
                1..CRASHES_MAX => suspects.push(found),
                _ => (),
            }
        }
        self.searched = began.elapsed();
        let mut taken = 0;
        for together in clean.chunks(AT_ONCE) {
            taken += self.take_up(together, YOUNG).await?;
        }
        for alone in suspects.chunks(1) {
            self.app.sessions.add_suspect(&alone[0].key);
            taken += self.take_up(alone, SUSPECT).await?;
        }
        Ok(taken)
    }

    async fn of_person(&mut self, person: &Person) -> HandlerResult<VecDeque<InterruptedSession>> {
        let space = self.app.user_space(person).await?;
        let store = space.store();
        let mut found = VecDeque::new();
        let abandoned = store.list_abandoned_sessions().await?;
        // Of most people nobody is at work, and their databases are not asked for more.
        if abandoned.is_empty() || store.pause_state().await?.is_some() {
            return Ok(found);
        }
        for meta in abandoned {
            let key = SessionKey::for_session(space.as_ref(), &meta.id);
            if child::parent_of(&meta.id).is_some() || self.others.get(&key) == Some(&meta.facts) {
                continue;
            }
            if self.app.sessions.find_live_session(&key).is_some() {
                continue;
            }
            let loaded = weir_engine::engine::load(store.as_ref(), &meta.id).await;
            match loaded.map(|loaded| goes_on(&loaded.session)) {
                Ok(true) => {
                    found.push_back(InterruptedSession { space: space.clone(), id: meta.id, key })
                }
                Ok(false) => drop(self.others.insert(key, meta.facts)),
                Err(error) => tracing::warn!(session = %meta.id, %error, "cannot be read"),
            }
        }
        Ok(found)
    }

    /// Takes sessions up together, and watches them for a moment: when the program ends in it, they
    /// are remembered.
    async fn take_up(
        &self,
        together: &[InterruptedSession],
        watched: Duration,
    ) -> HandlerResult<usize> {
        let names = together.iter().map(|found| found.key.as_str().to_owned()).collect();
        let entry = self.own_entry(names)?;
        self.app.records.put(&entry, None).await?;
        let app = &self.app;
        let one = |found: &InterruptedSession| {
            let (space, id) = (found.space.clone(), found.id.clone());
            async move {
                match app.sessions.take_session(SessionRequest::new(app, &space, &id)).await {
                    Ok(SessionLocation::Here(server_session)) => Some(server_session),
                    Ok(SessionLocation::Elsewhere(_)) => None,
                    Err(problem) => {
                        tracing::warn!(session = %id, why = %problem.detail, "not taken up");
                        None
                    }
                }
            }
        };
        let server_sessions: Vec<_> = futures::stream::iter(together.iter().map(one))
            .buffer_unordered(OPENING_MAX)
            .collect()
            .await;
        let server_sessions: Vec<_> = server_sessions.into_iter().flatten().collect();
        let until = tokio::time::Instant::now() + watched;
        for server_session in &server_sessions {
            let mut course = server_session.watch_state();
            let _ = tokio::time::timeout_at(until, course.wait_for(|course| course.has_progressed))
                .await;
        }
        self.app.records.remove(RESUMING, &entry.name).await?;
        Ok(server_sessions.len())
    }
}

/// The name of what a server takes up: the same after a restart, and no other replica's, which listen at the
/// same address (`0.0.0.0:7717`) on their own machines.
fn entry_name(machine: &str, bind: SocketAddr) -> String {
    format!("{machine}/{bind}")
}

/// Whether nobody takes up by now what this entry says.
fn is_outdated(entry: &RecordEntry, now: Timestamp) -> bool {
    entry.ts.plus_ms(RESUMING_MS) <= now
}

/// Whether a run is on that was begun through a server. One that a terminal began waits until its
/// person says that it goes on (D5).
fn goes_on(session: &Session) -> bool {
    let run = session.run();
    let mut sent = session.all_sent().iter_inputs();
    run.is_some() && sent.any(|sent| sent.run == run)
}

/// One of each person, again and again: nobody waits for all of another's.
fn in_turns<T>(mut queues: Vec<VecDeque<T>>) -> Vec<T> {
    let mut all = Vec::new();
    while queues.iter().any(|queue| !queue.is_empty()) {
        all.extend(queues.iter_mut().filter_map(VecDeque::pop_front));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d8_looking_is_rare_where_it_is_dear_and_never_stops() {
        let ms = Duration::from_millis;
        assert_eq!(pause_after(true, ms(3)), LOOK_EVERY);
        assert_eq!(pause_after(true, ms(70)), ms(7_000));
        assert_eq!(pause_after(true, ms(30_000)), LOOK_EVERY_MAX);
        assert_eq!(pause_after(false, ms(30_000)), LOOK_EVERY, "nothing was looked at");
    }

    #[test]
    fn d8_what_a_replica_takes_up_is_told_by_its_machine_too() {
        let bind: SocketAddr = "0.0.0.0:7717".parse().expect("an address");
        let other: SocketAddr = "0.0.0.0:7718".parse().expect("an address");
        assert_eq!(entry_name("one", bind), "one/0.0.0.0:7717");
        assert_ne!(entry_name("one", bind), entry_name("two", bind));
        assert_ne!(entry_name("one", bind), entry_name("one", other));
    }

    #[test]
    fn d8_what_another_replica_takes_up_counts_only_when_it_was_left() {
        let ts = Timestamp(1_700_000_000_000_000);
        let entry = RecordEntry {
            kind: RESUMING.into(),
            name: "one/0.0.0.0:7717".into(),
            owner: String::new(),
            text: String::new(),
            version: 1,
            expires: None,
            ts,
        };
        assert!(!is_outdated(&entry, ts) && !is_outdated(&entry, ts.plus_ms(RESUMING_MS - 1)));
        assert!(is_outdated(&entry, ts.plus_ms(RESUMING_MS)));
    }

    #[test]
    fn d8_people_take_turns() {
        let queues =
            vec![VecDeque::from([1, 2, 3]), VecDeque::from([10]), VecDeque::from([20, 21])];
        assert_eq!(in_turns(queues), [1, 10, 20, 2, 21, 3]);
    }
}
