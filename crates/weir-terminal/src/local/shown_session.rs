//! The session that the face shows: followed by its journal, or run here. Its facts are told in
//! order and once, whoever writes them.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use weir_core::event::{CancelCause, Event};
use weir_core::ids::{ApprovalId, Seq, SessionId};
use weir_core::view::transcript::{SettledPlace, SettledTranscript};
use weir_engine::engine::{Ended, SessionHandle};
use weir_engine::host::{LiveSession, SessionState, SessionView};
use weir_engine::hub::{PublishedFact, SessionUpdate, SignalKind};
use weir_engine::ledger::fact_of;
use weir_engine::ports::Store;
use weir_install::context::InstallationContext;
use weir_install::wiring::SessionOverrides;
use weir_tui::link::{NoticeTone, SignalKind as Shown, UiUpdate};

use super::PERSON;
use super::context::LocalContext;
use super::course::{AlwaysAllowed, FactMeaning};
use super::settled_start::{self, FACTS_MIN, SettledStart, StartKeeper};

/// Facts read at once: what they take is kept by the allocator (Q21).
const READ_BATCH: usize = 64;
/// How long is waited after a journal could not be read.
const READ_AGAIN: Duration = Duration::from_secs(1);
/// How often a journal that cannot be read is read again, before it is given up.
const READS_MAX: u32 = 5;
/// How often it is looked whether whoever runs a session is still there, as long as something is
/// under way in it.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// Bytes of the end of a long result that are shown.
const LAST_BYTES_MAX: usize = 4_000;
/// Approvals answered here whose fact has not come yet.
const ANSWERED_MAX: usize = 64;

/// What is known of the shown session, by where it runs.
enum KnownState {
    /// In this process: the engine's host keeps what its facts say.
    Live(Arc<LiveSession>),
    /// Elsewhere or nowhere: as far as its journal was read.
    Journal(Box<SessionState>),
}

impl KnownState {
    fn read_state<R>(&self, read: impl FnOnce(&SessionState) -> R) -> R {
        match self {
            KnownState::Live(live) => live.read_state(read),
            KnownState::Journal(state) => read(state),
        }
    }

    /// Takes a fact in. What is known of a session that began at a settled place is ahead of what is told.
    fn hear_fact(&mut self, fact: &PublishedFact) {
        if fact.seq <= self.read_state(|state| state.facts) {
            return;
        }
        match self {
            KnownState::Live(live) => live.hear_fact(fact),
            KnownState::Journal(state) => state.hear_fact(fact),
        }
    }
}

/// The session that the face shows.
pub(super) struct ShownSession {
    /// Which; `None`: a new one that does not exist yet.
    pub(super) id: Option<SessionId>,
    /// The program in its folder.
    pub(super) cx: Arc<InstallationContext>,
    /// Facts that were there when it was opened.
    pub(super) known: Seq,
    /// The place from which on its facts are told; `None`: from the first on.
    pub(super) start: Option<SettledTranscript>,
    /// Places before it from which older parts are read on, the first one first.
    pub(super) places: Vec<SettledPlace>,
    /// Something came to rest, or its old facts are all told: the controller has a look.
    pub(super) stirred: Notify,
    state: Mutex<KnownState>,
    /// Facts so far, for whoever waits for one.
    seen: watch::Sender<Seq>,
    /// Why nobody tells what happens in it any more.
    broken: watch::Sender<Option<String>>,
    wishes: Mutex<SessionOverrides>,
    /// Approvals that were answered here with "always".
    answered: Mutex<Vec<ApprovalId>>,
    /// What was said here by letter, by its name, until the session has come to rest after it.
    posted: Mutex<Vec<String>>,
    /// Something was said by letter.
    letters: Notify,
    /// Nobody else is known to run it: that nobody does is no news.
    is_alone: AtomicBool,
    /// The controller is to take it up.
    is_owed: AtomicBool,
    /// Finds the place that is kept for the next time; `None`: none is to be kept.
    keeper: Mutex<Option<StartKeeper>>,
}

fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ShownSession {
    /// A session of `known` facts; `wishes`: what the person wants of it.
    pub(super) fn new(
        id: Option<SessionId>,
        cx: Arc<InstallationContext>,
        known: Seq,
        wishes: SessionOverrides,
    ) -> ShownSession {
        ShownSession {
            id,
            cx,
            known,
            start: None,
            places: Vec::new(),
            stirred: Notify::new(),
            state: Mutex::new(KnownState::Journal(Box::default())),
            seen: watch::Sender::new(0),
            broken: watch::Sender::new(None),
            wishes: Mutex::new(wishes),
            answered: Mutex::default(),
            posted: Mutex::default(),
            letters: Notify::new(),
            is_alone: AtomicBool::new(true),
            is_owed: AtomicBool::new(false),
            keeper: Mutex::default(),
        }
    }

    /// The same; `is_held`: another process runs it now.
    pub(super) fn begun_elsewhere(self, is_held: bool) -> ShownSession {
        ShownSession { is_alone: AtomicBool::new(!is_held), ..self }
    }

    /// The same, told from a settled place on, where there is one; for the next time such a place is kept.
    pub(super) fn begun_at(mut self, start: Option<SettledStart>) -> ShownSession {
        if self.known >= FACTS_MIN {
            self.keeper = Mutex::new(Some(StartKeeper::new(start.as_ref())));
        }
        let Some(SettledStart { seen, places, state }) = start else { return self };
        let last = seen.settled_place().seq;
        ShownSession {
            state: Mutex::new(KnownState::Journal(Box::new(state))),
            seen: watch::Sender::new(last),
            start: Some(seen),
            places,
            ..self
        }
    }

    /// Its folder.
    pub(super) fn workspace_folder(&self) -> &Path {
        &self.cx.folder
    }

    /// What is known of it so far.
    pub(super) fn read_state<R>(&self, read: impl FnOnce(&SessionState) -> R) -> R {
        lock_mutex(&self.state).read_state(read)
    }

    /// What the person wants of it.
    pub(super) fn session_overrides(&self) -> SessionOverrides {
        lock_mutex(&self.wishes).clone()
    }

    /// From now on the person wants this of it.
    pub(super) fn set_wishes(&self, wishes: SessionOverrides) {
        *lock_mutex(&self.wishes) = wishes;
    }

    /// The session, as long as this process has it: also where it goes down.
    pub(super) fn held_session(&self) -> Option<Arc<LiveSession>> {
        match &*lock_mutex(&self.state) {
            KnownState::Live(live) => Some(live.clone()),
            KnownState::Journal(_) => None,
        }
    }

    /// That one is down: its journal is read from where it stopped. One that was taken up since stays.
    pub(super) fn clear_ended_session(&self, down: &Arc<LiveSession>) {
        let mut state = lock_mutex(&self.state);
        if matches!(&*state, KnownState::Live(live) if Arc::ptr_eq(live, down)) {
            *state = KnownState::Journal(Box::new(down.read_state(Clone::clone)));
        }
    }

    /// The session as somebody sees it who tells it something; `None`: it does not exist yet.
    pub(super) fn session_view(&self) -> Option<SessionView> {
        let id = self.id.clone()?;
        Some(match &*lock_mutex(&self.state) {
            KnownState::Live(live) => SessionView::Live(live.clone()),
            KnownState::Journal(state) => SessionView::of_journal(id, (**state).clone()),
        })
    }

    /// Why what happens in it is not told any more.
    pub(super) fn broken_reason(&self) -> Option<String> {
        self.broken.borrow().clone()
    }

    /// The session, where it runs here.
    pub(super) fn running_session(&self) -> Option<Arc<LiveSession>> {
        self.held_session().filter(|live| !live.is_over())
    }

    /// It runs here from now on.
    pub(super) fn set_live(&self, handle: SessionHandle) -> Arc<LiveSession> {
        let mut state = lock_mutex(&self.state);
        let live = Arc::new(LiveSession::new(handle, state.read_state(Clone::clone)));
        *state = KnownState::Live(live.clone());
        live
    }

    /// The person answered this approval with "always".
    pub(super) fn note_answered_always(&self, approval: ApprovalId) {
        let mut answered = lock_mutex(&self.answered);
        if answered.len() < ANSWERED_MAX {
            answered.push(approval);
        }
    }

    /// Something is said by letter, under this name, because another process has it.
    pub(super) fn note_posted_message(&self, name: &str) {
        lock_mutex(&self.posted).push(name.to_owned());
        self.is_alone.store(false, Ordering::Release);
        self.letters.notify_one();
    }

    /// That was refused or taken back: nothing of it is waited for.
    pub(super) fn forget_posted_message(&self, name: &str) {
        lock_mutex(&self.posted).retain(|posted| posted != name);
    }

    /// Whether it is to be taken up because what was said here waits in it and nobody runs it.
    /// Asked once.
    pub(super) fn is_owed(&self) -> bool {
        self.is_owed.swap(false, Ordering::AcqRel)
    }

    /// Whether somebody should be running it: something is under way, or lies in its box.
    fn is_awaited(&self) -> bool {
        self.read_state(|state| {
            let is_owed = !state.is_at_rest() || !lock_mutex(&self.posted).is_empty();
            state.facts >= self.known && is_owed
        })
    }

    /// Waits until what is known of it is as `wanted`.
    pub(super) async fn wait_until(&self, wanted: impl Fn(&SessionState) -> bool) {
        let mut seen = self.seen.subscribe();
        // The sender lives as long as this value.
        let _ = seen.wait_for(|_| self.read_state(&wanted)).await;
    }

    /// Whether its old facts are all told.
    pub(super) fn is_told(&self) -> bool {
        *self.seen.borrow() >= self.known
    }

    /// Waits until its old facts are all known.
    ///
    /// # Errors
    /// They cannot be: a sentence.
    pub(super) async fn until_known(&self) -> Result<(), String> {
        let known = self.known;
        let mut broken = self.broken.subscribe();
        // The sender lives as long as this value.
        let gave_up = async {
            let why = broken.wait_for(Option::is_some).await;
            why.ok().and_then(|why| why.clone()).unwrap_or_default()
        };
        tokio::select! {
            biased;
            () = self.wait_until(|state| state.facts >= known) => Ok(()),
            why = gave_up => Err(format!("this session cannot be read: {why}")),
        }
    }

    /// The end of a long result that a fact has only the beginning of. What was shown while it ran may
    /// have left that out. Of old facts it is not looked up.
    async fn last_printed(&self, fact: &PublishedFact) -> Option<(String, String)> {
        let Event::CallFinished(finished) = fact.event.as_ref() else { return None };
        let blob = finished.full.as_ref().filter(|_| fact.seq > self.known)?;
        let bytes = self.cx.local_store().ok()?.read_blob(blob).await.ok()?;
        let from = bytes.len().saturating_sub(LAST_BYTES_MAX);
        let text = String::from_utf8_lossy(bytes.get(from..)?);
        Some((finished.call.to_string(), format!("\n{text}")))
    }

    /// Takes a fact in and tells it: who hears of it and wishes at once finds it known here. May be
    /// dropped while it waits: then it did neither.
    async fn apply_and_tell_fact(&self, context: &Arc<LocalContext>, fact: PublishedFact) {
        if let Some((subject, text)) = self.last_printed(&fact).await {
            context.send_update(UiUpdate::Signal { kind: Shown::Output, subject, text }).await;
        }
        if fact.seq > self.known && is_end_by_pause(&fact) {
            context.pause_watch.wait_until_told(&context.leaving).await;
        }
        let place = context.reserve_update().await;
        let meaning = {
            let mut state = lock_mutex(&self.state);
            state.hear_fact(&fact);
            state.read_state(|state| FactMeaning::of_fact(state, &fact))
        };
        if let Some(keeper) = lock_mutex(&self.keeper).as_mut() {
            keeper.apply_fact(&fact);
        }
        if let Some(place) = place {
            let event = fact.event.clone();
            place.send(UiUpdate::Fact { seq: fact.seq, ts: fact.ts, event });
        }
        self.seen.send_replace(fact.seq);
        if meaning.rests {
            self.read_state(|state| {
                lock_mutex(&self.posted).retain(|name| state.sent.find_input(name).is_none());
            });
        }
        if meaning.rests || fact.seq == self.known {
            self.stirred.notify_one();
        }
        let Some(AlwaysAllowed { approval, by, rules }) = meaning.always else { return };
        let mut answered = lock_mutex(&self.answered);
        let Some(at) = answered.iter().position(|known| *known == approval) else { return };
        answered.remove(at);
        if by == PERSON {
            let cx = self.cx.clone();
            // It writes a file; what it says comes as a remark.
            tokio::task::spawn_blocking(move || cx.keep_allow_rules_and_notify(&rules));
        }
    }
}

/// Whether the kill switch ends a run with it.
fn is_end_by_pause(fact: &PublishedFact) -> bool {
    matches!(fact.event.as_ref(), Event::CancelRequested(f) if f.cause == CancelCause::Paused)
}

/// Tells what happens in the session of a session until it is stopped.
pub(super) fn follow_session(
    shown: Arc<ShownSession>,
    context: Arc<LocalContext>,
) -> JoinHandle<()> {
    shown.broken.send_replace(None);
    tokio::spawn(async move {
        let Some(id) = shown.id.clone() else { return };
        tokio::join!(follow_updates(&shown, &context, &id), keep_next_start(&shown, &id));
    })
}

async fn follow_updates(shown: &ShownSession, context: &Arc<LocalContext>, id: &SessionId) {
    let mut failures = 0;
    loop {
        let live = shown.held_session();
        let told = match live {
            Some(live) => follow_live_updates(shown, context, &live).await,
            None => follow_journal(shown, context, id).await,
        };
        let Err(why) = told else {
            failures = 0;
            continue;
        };
        failures += 1;
        if failures >= READS_MAX {
            let text = format!("this session cannot be followed any more: {why}");
            shown.broken.send_replace(Some(why));
            return context.send_notice(NoticeTone::Bad, text).await;
        }
        tokio::time::sleep(READ_AGAIN).await;
    }
}

/// Once the old facts are told: keeps the place at which the session begins the next time.
async fn keep_next_start(shown: &ShownSession, id: &SessionId) {
    let mut seen = shown.seen.subscribe();
    // The sender lives as long as the session.
    if seen.wait_for(|seen| *seen >= shown.known).await.is_err() {
        return;
    }
    let keeper = lock_mutex(&shown.keeper).take();
    let Some(start) = keeper.as_ref().and_then(StartKeeper::due_start) else { return };
    if let Ok(store) = shown.cx.local_store() {
        settled_start::keep_start(store.as_ref(), id, &start).await;
    }
}

/// Tells the updates of a session that runs here, until it goes down.
async fn follow_live_updates(
    shown: &ShownSession,
    context: &Arc<LocalContext>,
    live: &Arc<LiveSession>,
) -> Result<(), String> {
    let seen = *shown.seen.borrow();
    let mut updates = live.handle().listen_to_updates(seen);
    let ended = loop {
        match updates.next().await {
            Ok(Some(SessionUpdate::Fact(fact))) => shown.apply_and_tell_fact(context, fact).await,
            Ok(Some(SessionUpdate::Signal { kind, subject, text })) => {
                let kind = match kind {
                    SignalKind::Text => Shown::Text,
                    SignalKind::Thinking => Shown::Thinking,
                    SignalKind::Output => Shown::Output,
                };
                context.send_update(UiUpdate::Signal { kind, subject, text }).await;
            }
            Ok(None) => break live.handle().wait_until_ended().await,
            Err(error) => return Err(error.to_string()),
        }
    };
    shown.clear_ended_session(live);
    match ended {
        // It was given to another program that asked for it.
        Ended::Well => (),
        Ended::Failed | Ended::Crashed => {
            let why = match ended {
                Ended::Crashed => "the engine met a bug of its own in this session",
                Ended::Failed | Ended::Well => "the journal could not be written",
            };
            let text = format!(
                "{why}: it went down, and what it owed is kept. Your next message takes it up \
                 again; `weir doctor` says more."
            );
            context.send_update(UiUpdate::EngineDown(text)).await;
        }
    }
    Ok(())
}

/// Tells what stands in the journal and was not told yet; then waits for more.
async fn follow_journal(
    shown: &ShownSession,
    context: &Arc<LocalContext>,
    id: &SessionId,
) -> Result<(), String> {
    let store = shown.cx.local_store().map_err(|error| format!("{error:#}"))?;
    let seen = *shown.seen.borrow();
    let records = store.read_records(id, seen + 1, READ_BATCH).await.map_err(|e| e.to_string())?;
    for record in &records {
        let fact = fact_of(record).map_err(|error| error.to_string())?;
        shown.apply_and_tell_fact(context, fact).await;
    }
    let is_all = records.len() < READ_BATCH;
    // Until something happens, nobody needs their text (Q21).
    drop(records);
    if !is_all {
        return Ok(());
    }
    let seen = *shown.seen.borrow();
    let changed = store.facts_changed(id, seen);
    if !shown.is_awaited() {
        tokio::select! {
            () = changed => (),
            // Something is said by letter: from then on it is.
            () = shown.letters.notified() => (),
        }
        return Ok(());
    }
    if tokio::time::timeout(LOOK_AGAIN, changed).await.is_err() {
        let holder = store.holder_text(id).await.map_err(|error| error.to_string())?;
        seen_alone(shown, context, holder.is_none()).await;
    }
    Ok(())
}

/// Whoever ran the session has gone in the middle of something. What was said here is not left lying
/// for that; what others had under way goes on when a person wants it to.
async fn seen_alone(shown: &ShownSession, context: &Arc<LocalContext>, is_alone: bool) {
    if shown.is_alone.swap(is_alone, Ordering::AcqRel) || !is_alone {
        return;
    }
    let ours = !lock_mutex(&shown.posted).is_empty();
    let gone = "the process that ran this session has gone";
    if ours {
        let text = format!("{gone}; it goes on here, with what you said");
        context.send_notice(NoticeTone::Bad, text).await;
        shown.is_owed.store(true, Ordering::Release);
        shown.stirred.notify_one();
    } else {
        let text = format!("{gone}; your next message takes it up here");
        context.send_update(UiUpdate::EngineDown(text)).await;
    }
}
