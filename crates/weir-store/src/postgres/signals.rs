//! How what streams in a session reaches those who follow it at another replica (S17): whoever
//! follows asks the replica that has the session, again and again for as long as they do, and that
//! one sends by notices of its own, beside every transaction that writes. Nothing is ever stored, and
//! nothing is sent that nobody asked for. Not here: what a parcel says; `notices` puts it on the wire.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use sqlx::postgres::PgPool;
use tokio::sync::{Notify, watch};
use weir_core::ids::SessionId;
use weir_engine::ports::{SignalEar, SignalLine, SignalParcel};

use super::notices::{WireNotice, send_notice};

/// How often whoever follows says so again.
const ASK_AGAIN: Duration = Duration::from_millis(2_500);
/// How long an asking counts: two may be lost.
const ASKING_LASTS: Duration = Duration::from_secs(8);
/// Least time between two new lines of one session: each brings everything from its beginning.
const ANEW_EVERY: Duration = Duration::from_millis(250);
/// Least time between two rounds of asking.
const BREATH: Duration = Duration::from_millis(40);
/// How long after a round that could not be sent.
const AFTER_FAILURE: Duration = Duration::from_secs(1);
/// Lines in one asking: PostgreSQL takes 8,000 bytes.
const LINES_AT_ONCE: usize = 40;
/// Sessions of which it is known that others ask for them; more are not heard.
const ASKED_MAX: usize = 10_000;
/// Bytes that wait for one who hears; what comes while there are more is lost to them.
const EAR_BYTES_MAX: usize = 512 * 1024;

/// A parcel that was heard of the session at the other end of a line.
pub(super) struct HeardParcel {
    pub(super) line: u64,
    pub(super) n: u64,
    pub(super) body: String,
}

/// A session of an owner.
type OwnedSession = (String, SessionId);

fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// On which channel a replica hears what is for it alone.
pub(super) fn channel_of(replica: &str) -> String {
    format!("weir_{replica}")
}

/// Who follows what elsewhere, and who elsewhere follows what is here.
pub(super) struct SignalRelay {
    /// The name of this process.
    me: String,
    followed: Mutex<HashMap<OwnedSession, FollowedSignals>>,
    numbers: AtomicU64,
    /// There is something new to ask for.
    more: Notify,
    asked: Mutex<HashMap<OwnedSession, HashMap<String, SignalRequest>>>,
    asked_changed: watch::Sender<u64>,
}

/// A session that somebody here follows.
#[derive(Default)]
struct FollowedSignals {
    ears: Vec<Weak<ParcelQueue>>,
    /// The other process that has it.
    holder: Option<String>,
    /// The newest line; 0: none, or one of which a parcel was lost.
    line: u64,
    /// The next parcel on it.
    next: u64,
    /// A new line is wanted.
    anew: bool,
    begun: Option<Instant>,
    said: Option<Instant>,
}

/// What another process asked for.
struct SignalRequest {
    number: u64,
    until: Instant,
}

/// What waits for one who hears.
#[derive(Default)]
struct ParcelQueue {
    /// The first line that begins with what is not told yet: on older ones it would hear the middle.
    first_line: u64,
    parcels: Mutex<(VecDeque<SignalParcel>, usize)>,
    arrived: Notify,
}

/// One who hears. Dropping it ends it.
struct QueuedSignalEar {
    queue: Arc<ParcelQueue>,
    whose: OwnedSession,
    all: Arc<SignalRelay>,
}

/// What is to be asked of one replica.
struct OutgoingRequest {
    of: String,
    said: WireNotice,
    sessions: Vec<OwnedSession>,
}

impl SignalRelay {
    pub(super) fn new(me: &str) -> SignalRelay {
        SignalRelay {
            me: me.to_string(),
            followed: Mutex::default(),
            numbers: AtomicU64::new(1),
            more: Notify::new(),
            asked: Mutex::default(),
            asked_changed: watch::Sender::new(0),
        }
    }

    /// Where this process hears what is for it alone.
    pub(super) fn own_channel(&self) -> String {
        channel_of(&self.me)
    }

    /// One more who hears what streams in a session, from the beginning of what is not told yet.
    pub(super) fn follow_signals(
        self: &Arc<SignalRelay>,
        owner: &str,
        session: &SessionId,
    ) -> Box<dyn SignalEar> {
        let whose = (owner.to_string(), session.clone());
        let mut followed = lock_mutex(&self.followed);
        let first_line = self.numbers.load(Ordering::Relaxed);
        let queue = Arc::new(ParcelQueue { first_line, ..ParcelQueue::default() });
        let one = followed.entry(whose.clone()).or_default();
        one.ears.push(Arc::downgrade(&queue));
        one.anew = true;
        drop(followed);
        self.more.notify_one();
        Box::new(QueuedSignalEar { queue, whose, all: self.clone() })
    }

    /// Which process has a session that somebody follows.
    pub(super) fn note_session_holder(
        &self,
        owner: &str,
        session: &SessionId,
        holder: Option<String>,
    ) {
        let mut followed = lock_mutex(&self.followed);
        let Some(one) = followed.get_mut(&(owner.to_string(), session.clone())) else { return };
        // What streams here is heard here.
        let holder = holder.filter(|holder| *holder != self.me);
        if one.holder != holder {
            one.holder = holder;
            one.line = 0;
            one.anew = true;
            self.more.notify_one();
        }
    }

    /// A parcel has arrived.
    pub(super) fn receive_parcel(&self, owner: String, session: String, parcel: HeardParcel) {
        let HeardParcel { line: number, n, body } = parcel;
        let mut followed = lock_mutex(&self.followed);
        let Some(one) = followed.get_mut(&(owner, SessionId::new(session))) else { return };
        if one.line == 0 || number != one.line || n < one.next {
            return;
        }
        if n > one.next {
            // One is missing; the new line brings it, and everything before.
            one.line = 0;
            one.anew = true;
            self.more.notify_one();
            return;
        }
        one.next += 1;
        let line = SignalLine { to: self.me.clone(), number };
        let ears = one.ears.iter().filter_map(Weak::upgrade);
        for ear in ears.filter(|ear| ear.first_line <= number) {
            ear.push(SignalParcel { line: line.clone(), n, body: body.clone() });
        }
    }

    /// Nobody knows what was missed: everything is asked for anew.
    pub(super) fn missed_some(&self) {
        for one in lock_mutex(&self.followed).values_mut() {
            one.line = 0;
            one.anew = true;
        }
        self.more.notify_one();
    }

    /// Asks for as long as it is not dropped.
    pub(super) async fn keep_asking(self: Arc<Self>, pool: PgPool) {
        loop {
            let idle = lock_mutex(&self.followed).is_empty();
            let told = self.more.notified();
            match idle {
                true => told.await,
                // Time to say so again, if nothing else.
                false => drop(tokio::time::timeout(ASK_AGAIN, told).await),
            }
            let (askings, too_soon) = self.due_requests(Instant::now());
            let mut failed = false;
            for OutgoingRequest { of, said, sessions } in askings {
                if let Err(error) = send_notice(&pool, &channel_of(&of), &said).await {
                    tracing::debug!(%error, "signals could not be asked for");
                    failed = true;
                    let mut followed = lock_mutex(&self.followed);
                    for whose in sessions {
                        followed.entry(whose).and_modify(|one| one.said = None);
                    }
                }
            }
            if pool.is_closed() {
                return;
            }
            if failed || too_soon {
                self.more.notify_one();
            }
            tokio::time::sleep(if failed { AFTER_FAILURE } else { BREATH }).await;
        }
    }

    /// What is to be asked now; and whether something must wait a little.
    fn due_requests(&self, now: Instant) -> (Vec<OutgoingRequest>, bool) {
        let passed = |since: Option<Instant>, time| {
            since.is_none_or(|since| now.saturating_duration_since(since) >= time)
        };
        let (mut due, mut too_soon) =
            (HashMap::<(String, String), Vec<(OwnedSession, u64)>>::new(), false);
        for (whose, one) in lock_mutex(&self.followed).iter_mut() {
            let Some(holder) = &one.holder else { continue };
            if one.anew && !passed(one.begun, ANEW_EVERY) {
                too_soon = true;
                continue;
            }
            if one.anew {
                one.line = self.numbers.fetch_add(1, Ordering::Relaxed);
                (one.next, one.anew, one.begun, one.said) = (0, false, Some(now), None);
            }
            // A round that is a little early must not leave the next one late.
            if passed(one.said, ASK_AGAIN - BREATH) {
                one.said = Some(now);
                let to = (holder.clone(), whose.0.clone());
                due.entry(to).or_default().push((whose.clone(), one.line));
            }
        }
        let mut askings = Vec::new();
        for ((of, owner), sessions) in due {
            for some in sessions.chunks(LINES_AT_ONCE) {
                let line =
                    |(whose, line): &(OwnedSession, u64)| (whose.1.as_str().to_string(), *line);
                let lines = some.iter().map(line).collect();
                let said = WireNotice::Ask { owner: owner.clone(), from: self.me.clone(), lines };
                let sessions = some.iter().map(|(whose, _)| whose.clone()).collect();
                askings.push(OutgoingRequest { of: of.clone(), said, sessions });
            }
        }
        (askings, too_soon)
    }

    /// Another process asks.
    pub(super) fn receive_request(&self, owner: &str, from: &str, lines: Vec<(String, u64)>) {
        let now = Instant::now();
        let mut asked = lock_mutex(&self.asked);
        asked.retain(|_, by| {
            by.retain(|_, one| one.until > now);
            !by.is_empty()
        });
        let mut changed = false;
        for (session, number) in lines {
            let whose = (owner.to_string(), SessionId::new(session));
            if asked.len() >= ASKED_MAX && !asked.contains_key(&whose) {
                continue;
            }
            let by = asked.entry(whose).or_default();
            let known = by.get(from).map_or(0, |one| one.number);
            if number >= known {
                changed |= number != known;
                by.insert(from.to_string(), SignalRequest { number, until: now + ASKING_LASTS });
            }
        }
        drop(asked);
        if changed {
            self.asked_changed.send_modify(|count| *count += 1);
        }
    }

    /// Who asks for what streams in a session, once they are others than `known`.
    pub(super) async fn wait_for_lines(
        &self,
        owner: &str,
        session: &SessionId,
        known: &[SignalLine],
    ) -> Vec<SignalLine> {
        let whose = (owner.to_string(), session.clone());
        let mut changed = self.asked_changed.subscribe();
        loop {
            let (lines, until) = self.lines_now(&whose);
            if lines != known {
                return lines;
            }
            let over = async {
                match until {
                    Some(until) => tokio::time::sleep_until(until.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                // The sender lives in `self`.
                _ = changed.changed() => {}
                () = over => {}
            }
        }
    }

    /// The lines that count now, and until when the first of them does.
    fn lines_now(&self, whose: &OwnedSession) -> (Vec<SignalLine>, Option<Instant>) {
        let now = Instant::now();
        let asked = lock_mutex(&self.asked);
        let valid = || {
            let all = asked.get(whose).into_iter().flatten();
            all.filter(|(_, one)| one.until > now)
        };
        let line = |(to, one): (&String, &SignalRequest)| SignalLine {
            to: to.clone(),
            number: one.number,
        };
        let mut lines: Vec<SignalLine> = valid().map(line).collect();
        lines.sort();
        (lines, valid().map(|(_, one)| one.until).min())
    }
}

impl ParcelQueue {
    fn push(&self, parcel: SignalParcel) {
        let mut waiting = lock_mutex(&self.parcels);
        if waiting.1 + parcel.body.len() > EAR_BYTES_MAX {
            return;
        }
        waiting.1 += parcel.body.len();
        waiting.0.push_back(parcel);
        drop(waiting);
        self.arrived.notify_one();
    }
}

#[async_trait]
impl SignalEar for QueuedSignalEar {
    fn take_parcel(&mut self) -> Option<SignalParcel> {
        let mut waiting = lock_mutex(&self.queue.parcels);
        let parcel = waiting.0.pop_front();
        match &parcel {
            Some(parcel) => waiting.1 -= parcel.body.len(),
            None => waiting.0.shrink_to_fit(),
        }
        parcel
    }

    async fn wait_for_parcel(&mut self) {
        while lock_mutex(&self.queue.parcels).0.is_empty() {
            self.queue.arrived.notified().await;
        }
    }
}

impl Drop for QueuedSignalEar {
    fn drop(&mut self) {
        let mut followed = lock_mutex(&self.all.followed);
        if let Some(one) = followed.get_mut(&self.whose) {
            let me = Arc::as_ptr(&self.queue);
            one.ears.retain(|ear| !std::ptr::eq(ear.as_ptr(), me));
            if one.ears.is_empty() {
                followed.remove(&self.whose);
            }
        }
    }
}
