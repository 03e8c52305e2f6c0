//! The loop that starts what is due: look what is there, claim what came due, begin what has a
//! place, wait for whatever comes first.
//!
//! Everything that two schedulers could quarrel about (ticks, places) is settled by the store, so
//! that any number of them may run over one. Runs are futures of this loop: it waits for each, and
//! dropping it stops them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use tokio_util::sync::CancellationToken;
use weir_core::event::RunStatus;
use weir_core::ids::Timestamp;
use weir_core::schedule::{AgentCause, AgentRun, AgentRunState, MissedTicks};

use super::due::{AgentWait, follower_runs};
use super::known::{KnownAgent, UnusableAgent, load_known_agents};
use super::turns::RunQueue;
use crate::listening::start_listening;
use crate::ports::{
    AgentRunFilter, AtRest, Clock, LeaseOwner, PlaceLimits, RunBeginOutcome, RunDesk, RunStarter,
    STILL_RUNNING, SharedRunPlaces, Store, StoreError, TickClaim,
};

/// The remark on a run that was closed with its program.
const CLOSED: &str = "closed with its program, and to be gone on with";

/// While another process has runs, it is looked so often whether it still lives: nobody announces
/// their own death.
const LOOK_AGAIN_MS: u64 = 30_000;
/// So often it is looked whether the clock was set back.
const LOOK_AT_CLOCK: Duration = Duration::from_secs(60);

/// What a scheduler is made of.
pub struct SchedulerParts {
    /// Definitions, history, kill switch.
    pub store: Arc<dyn Store>,
    /// The time. It must follow the wall, also over a machine's sleep.
    pub clock: Arc<dyn Clock>,
    /// Opens the sessions of runs.
    pub starter: Arc<dyn RunStarter>,
    /// The process that holds the runs.
    pub holder: LeaseOwner,
    /// Bounds.
    pub settings: SchedulerSettings,
    /// Hears what the scheduler did.
    pub tell: SchedulerListener,
    /// Places beyond this store; none: it is the only one.
    pub shared_places: Option<Arc<dyn SharedRunPlaces>>,
}

/// Bounds of all scheduled runs of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchedulerSettings {
    /// Runs at once.
    pub at_once: usize,
    /// Runs begun within an hour; 0: no bound.
    pub per_hour: usize,
    /// What becomes of missed ticks where the agent does not say.
    pub missed: MissedTicks,
}

/// Hears what happens, one thing at a time. It must not block.
pub type SchedulerListener = Arc<dyn Fn(SchedulerEvent<'_>) + Send + Sync>;

/// What happened.
#[derive(Debug)]
pub enum SchedulerEvent<'a> {
    /// A run began, or was taken up again.
    Begun(&'a AgentRun),
    /// A run is over, was not begun, or was closed where it is: its state says so.
    AtRest(&'a AgentRun),
    /// An agent is kept that cannot be used.
    Unusable(&'a UnusableAgent),
    /// The kill switch was thrown or released.
    Paused(bool),
}

/// Starts what is due.
pub struct Scheduler {
    parts: SchedulerParts,
    agents: BTreeMap<String, KnownAgent>,
    /// The newest tick of each agent that stands in the history.
    handled: BTreeMap<String, Timestamp>,
    unusable: BTreeSet<String>,
    turns: RunQueue,
    running: FuturesUnordered<BoxFuture<'static, (AgentRun, AtRest)>>,
    /// Agents whose runs are under way here.
    under_way: BTreeSet<String>,
    /// When the next run may begin, if as many as may were begun within the hour.
    hour_full: Option<Timestamp>,
    /// There is no shared place: it is asked again when one may be free.
    shared_full: bool,
    /// When it is to be looked whether whoever has the other runs still lives.
    look_again: Option<Timestamp>,
    paused: bool,
}

/// What woke the loop.
enum SchedulerWake {
    Stop,
    AtRest(Box<(AgentRun, AtRest)>),
    Due,
    Changed,
    PauseChanged,
    Freed,
}

impl Scheduler {
    /// A scheduler that has not looked yet.
    pub fn new(parts: SchedulerParts) -> Scheduler {
        Scheduler {
            parts,
            agents: BTreeMap::new(),
            handled: BTreeMap::new(),
            unusable: BTreeSet::new(),
            turns: RunQueue::default(),
            running: FuturesUnordered::new(),
            under_way: BTreeSet::new(),
            hour_full: None,
            shared_full: false,
            look_again: None,
            paused: false,
        }
    }

    /// Runs until `stop`; then every run is closed where it is, for whoever comes next.
    ///
    /// # Errors
    /// The store refuses.
    pub async fn run(mut self, stop: CancellationToken) -> Result<(), StoreError> {
        let (store, clock) = (self.parts.store.clone(), self.parts.clock.clone());
        let shared_places = self.parts.shared_places.clone();
        let mut changed = start_listening(|| Box::pin(store.agents_changed())).await;
        let mut pause_changed = start_listening(|| Box::pin(store.pause_changed())).await;
        let mut look = true;
        while !stop.is_cancelled() {
            if std::mem::take(&mut look) {
                self.refresh_agents().await?;
            }
            self.set_paused(store.pause_state().await?.is_some());
            if !self.paused {
                self.claim_what_is_due().await?;
                self.begin_waiting_runs(&stop).await?;
            }
            let next = self.next();
            let woken = tokio::select! {
                biased;
                () = stop.cancelled() => SchedulerWake::Stop,
                Some(done) = self.running.next() => SchedulerWake::AtRest(Box::new(done)),
                () = &mut changed => SchedulerWake::Changed,
                () = &mut pause_changed => SchedulerWake::PauseChanged,
                () = wait_until_due(clock.as_ref(), next) => SchedulerWake::Due,
                () = wait_until_freed(shared_places.as_deref()), if self.shared_full => SchedulerWake::Freed,
            };
            match woken {
                SchedulerWake::Stop => break,
                SchedulerWake::Freed => (),
                SchedulerWake::Due => look = self.look_again.is_some_and(|at| at <= clock.now()),
                SchedulerWake::AtRest(done) => self.at_rest(done.0, done.1).await?,
                SchedulerWake::Changed => {
                    changed = start_listening(|| Box::pin(store.agents_changed())).await;
                    look = true;
                }
                SchedulerWake::PauseChanged => {
                    pause_changed = start_listening(|| Box::pin(store.pause_changed())).await;
                }
            }
        }
        self.close().await
    }

    fn notify_listener(&self, told: SchedulerEvent<'_>) {
        (self.parts.tell)(told);
    }

    /// Reads what is kept, and takes the runs whose process is gone.
    async fn refresh_agents(&mut self) -> Result<(), StoreError> {
        let store = self.parts.store.clone();
        let (agents, unusable) = load_known_agents(store.as_ref()).await?;
        let now = self.parts.clock.now();
        for (agent, tick) in store.agent_ticks().await? {
            let handled = self.handled.entry(agent).or_insert(tick.min(now));
            // One that is yet to come was claimed by a clock that ran ahead.
            if tick <= now {
                *handled = tick.max(*handled);
            }
        }
        for one in unusable.iter().filter(|one| !self.unusable.contains(&one.name)) {
            self.notify_listener(SchedulerEvent::Unusable(one));
        }
        self.unusable = unusable.into_iter().map(|one| one.name).collect();
        self.agents = agents;
        for run in store.take_agent_runs(&self.parts.holder).await? {
            self.turns.push(run);
        }
        let open = AgentRunFilter { open: true, ..AgentRunFilter::default() };
        let open = store.agent_runs(&open).await?;
        // An agent has one run that is not over at most.
        let is_mine = |run: &AgentRun| {
            self.under_way.contains(&run.agent) || self.turns.has_run_of(&run.agent)
        };
        let others = open.iter().any(|run| !is_mine(run));
        self.look_again = others.then(|| self.parts.clock.now().plus_ms(LOOK_AGAIN_MS));
        Ok(())
    }

    fn set_paused(&mut self, paused: bool) {
        if paused != self.paused {
            self.paused = paused;
            self.notify_listener(SchedulerEvent::Paused(paused));
        }
    }

    /// Writes down every tick that came due. All at once: they are durable with one sync.
    async fn claim_what_is_due(&mut self) -> Result<(), StoreError> {
        let now = self.parts.clock.now();
        let missed = self.parts.settings.missed;
        let mut due = Vec::new();
        for (name, known) in &self.agents {
            // The clock was set back: what comes due by it now is due. What ran already in the time
            // that comes again is claimed, so that it does not run twice.
            if let Some(handled) = self.handled.get_mut(name) {
                *handled = now.min(*handled);
            }
            let of_agent = known.due_runs(self.handled.get(name).copied(), now, missed);
            if let Some(newest) = of_agent.iter().map(|run| run.due).max() {
                self.handled.insert(name.clone(), newest);
            }
            due.extend(of_agent);
        }
        self.claim_due_runs(due).await
    }

    async fn claim_due_runs(&mut self, due: Vec<AgentRun>) -> Result<(), StoreError> {
        if due.is_empty() {
            return Ok(());
        }
        let claims = self.parts.store.claim_ticks(&due, Some(&self.parts.holder)).await?;
        for (run, claim) in due.into_iter().zip(claims) {
            match claim {
                TickClaim::Claimed if run.state.is_open() => self.turns.push(run),
                TickClaim::Claimed => self.notify_listener(SchedulerEvent::AtRest(&run)),
                TickClaim::Overlaps => {
                    let now = run.claimed;
                    let skipped = run.with_end(AgentRunState::Skipped, now, STILL_RUNNING);
                    self.notify_listener(SchedulerEvent::AtRest(&skipped));
                }
                // Another scheduler was quicker.
                TickClaim::Taken => (),
            }
        }
        Ok(())
    }

    /// Begins what waits, as long as there are places.
    async fn begin_waiting_runs(&mut self, stop: &CancellationToken) -> Result<(), StoreError> {
        self.hour_full = None;
        self.shared_full = false;
        while let Some(mut run) = self.turns.pop() {
            let now = self.parts.clock.now();
            // What a person wants now is run, though its ticks do not count.
            let by_hand = run.cause == AgentCause::Manual;
            let may = |known: &&KnownAgent| known.active || by_hand;
            let Some(known) = self.agents.get(&run.agent).filter(may).cloned() else {
                self.drop_run(run, now).await?;
                continue;
            };
            let session = run.session.clone();
            let goes_on = session.is_some();
            run.session = session.or_else(|| Some(self.parts.starter.new_session_id()));
            let SchedulerSettings { at_once, per_hour, .. } = self.parts.settings;
            let places = PlaceLimits { at_once, per_hour, now };
            let (store, holder) = (&self.parts.store, &self.parts.holder);
            let shared_places = self.parts.shared_places.clone();
            match begin_in(store.as_ref(), shared_places.as_deref(), &run, holder, &places).await? {
                RunBeginOutcome::Begun => {
                    run.started = run.started.or(Some(now));
                    run.state = AgentRunState::Running;
                    self.under_way.insert(run.agent.clone());
                    self.notify_listener(SchedulerEvent::Begun(&run));
                    self.running.push(self.spawn_run(known, run, stop));
                }
                RunBeginOutcome::Gone => (),
                full @ (RunBeginOutcome::Full | RunBeginOutcome::HourFull { .. }) => {
                    if let RunBeginOutcome::HourFull { until } = full {
                        self.hour_full = Some(until);
                    }
                    // Which of the two was full is not known: both are asked again.
                    self.shared_full = shared_places.is_some();
                    if !goes_on {
                        run.session = None;
                    }
                    self.turns.put_back(run);
                    break;
                }
            }
        }
        Ok(())
    }

    fn spawn_run(
        &self,
        known: KnownAgent,
        run: AgentRun,
        stop: &CancellationToken,
    ) -> BoxFuture<'static, (AgentRun, AtRest)> {
        let starter = self.parts.starter.clone();
        let desk = RunHistoryWriter {
            store: self.parts.store.clone(),
            holder: self.parts.holder.clone(),
            run: Mutex::new(run.clone()),
            shared_places: self.parts.shared_places.clone(),
        };
        let stop = stop.child_token();
        Box::pin(async move {
            let rest = starter.run(&known.agent, &run, &desk, stop).await;
            (run, rest)
        })
    }

    /// A run whose agent was removed or paused meanwhile.
    async fn drop_run(&mut self, run: AgentRun, now: Timestamp) -> Result<(), StoreError> {
        let what = match self.agents.contains_key(&run.agent) {
            true => "its agent is paused",
            false => "its agent was removed",
        };
        let ended = match run.session.clone() {
            None => run.with_end(AgentRunState::Skipped, now, what),
            Some(session) => {
                let state = AgentRunState::Ended(RunStatus::Interrupted);
                run.with_end(state, now, format!("{what}; weir run --resume {session} goes on"))
            }
        };
        self.record_run(&ended).await
    }

    async fn at_rest(&mut self, run: AgentRun, rest: AtRest) -> Result<(), StoreError> {
        let now = self.parts.clock.now();
        self.under_way.remove(&run.agent);
        if let Some(shared_places) = &self.parts.shared_places {
            shared_places.give_back(&run).await;
        }
        let run = match rest {
            AtRest::Ended { status, note } => {
                if status == RunStatus::Completed {
                    // First: should the program die between the two, this run is taken up again,
                    // and what follows it is claimed already.
                    let next = follower_runs(&self.agents, &run, now);
                    self.claim_due_runs(next).await?;
                }
                run.with_end(AgentRunState::Ended(status), now, note)
            }
            AtRest::Failed(why) => run.with_end(AgentRunState::Ended(RunStatus::Failed), now, why),
            AtRest::Closed => {
                let mut run = AgentRun { state: AgentRunState::Waiting, ..run };
                run.add_remark(CLOSED);
                run
            }
        };
        self.record_run(&run).await
    }

    async fn record_run(&mut self, run: &AgentRun) -> Result<(), StoreError> {
        if !self.parts.store.note_agent_run(run, &self.parts.holder).await? {
            tracing::warn!(agent = run.agent, tick = run.tick, "another process has this run now");
        }
        self.notify_listener(SchedulerEvent::AtRest(run));
        Ok(())
    }

    /// The next moment at which something is to be done.
    fn next(&self) -> Option<Timestamp> {
        if self.paused {
            return None;
        }
        let now = self.parts.clock.now();
        let ticks = self.agents.iter().filter_map(|(name, known)| {
            // A tick that came due while this was worked out must not be passed over.
            let handled = self.handled.get(name).copied().unwrap_or(known.since);
            match known.next(handled.max(known.since)) {
                AgentWait::Until(tick) => Some(tick.max(now)),
                AgentWait::ForEver => None,
            }
        });
        let hour_full = self.hour_full.filter(|_| !self.turns.is_empty());
        ticks.chain(hour_full).chain(self.look_again).min()
    }

    /// Waits until every run is closed where it is, and gives everything back.
    async fn close(mut self) -> Result<(), StoreError> {
        while let Some((run, rest)) = self.running.next().await {
            self.at_rest(run, rest).await?;
        }
        for run in self.turns.drain() {
            // It has no holder any more: whoever looks next takes it.
            self.parts.store.note_agent_run(&run, &self.parts.holder).await?;
        }
        Ok(())
    }
}

/// Says in the history that a run waits for a person.
struct RunHistoryWriter {
    store: Arc<dyn Store>,
    holder: LeaseOwner,
    run: Mutex<AgentRun>,
    shared_places: Option<Arc<dyn SharedRunPlaces>>,
}

#[async_trait]
impl RunDesk for RunHistoryWriter {
    async fn set_asking(&self, asks: bool) {
        let state = if asks { AgentRunState::Asking } else { AgentRunState::Running };
        let run = {
            let mut run = self.run.lock().unwrap_or_else(PoisonError::into_inner);
            if run.state == state {
                return;
            }
            run.state = state;
            run.clone()
        };
        if let Some(shared_places) = &self.shared_places {
            match asks {
                true => shared_places.give_back(&run).await,
                // It goes on in any case: whoever answers does not wait for a place.
                false => {
                    if let Err(error) = shared_places.take_place(&run).await {
                        tracing::warn!(agent = run.agent, %error, "its place could not be noted");
                    }
                }
            }
        }
        if let Err(error) = self.store.note_agent_run(&run, &self.holder).await {
            // It keeps its place: only too careful.
            tracing::warn!(agent = run.agent, %error, "that it asks could not be written down");
        }
    }
}

/// A shared place, if it needs one, and then one of the store.
async fn begin_in(
    store: &dyn Store,
    shared_places: Option<&dyn SharedRunPlaces>,
    run: &AgentRun,
    holder: &LeaseOwner,
    places: &PlaceLimits,
) -> Result<RunBeginOutcome, StoreError> {
    let shared_places = shared_places.filter(|_| run.cause != AgentCause::Manual);
    if let Some(shared_places) = shared_places {
        match shared_places.take_place(run).await? {
            RunBeginOutcome::Begun => (),
            full => return Ok(full),
        }
    }
    let begun = store.begin_agent_run(run, holder, places).await;
    if let (Some(shared_places), false) =
        (shared_places, matches!(begun, Ok(RunBeginOutcome::Begun)))
    {
        shared_places.give_back(run).await;
    }
    begun
}

async fn wait_until_freed(shared_places: Option<&dyn SharedRunPlaces>) {
    match shared_places {
        Some(shared_places) => shared_places.wait_until_freed().await,
        None => std::future::pending().await,
    }
}

/// Waits for `next`, or until the clock was set back: then other ticks are the next ones.
async fn wait_until_due(clock: &dyn Clock, next: Option<Timestamp>) {
    let Some(next) = next else { return std::future::pending().await };
    let mut seen = clock.now();
    loop {
        tokio::select! {
            biased;
            () = clock.sleep_until(next) => return,
            () = tokio::time::sleep(LOOK_AT_CLOCK) => (),
        }
        let now = clock.now();
        if now < seen {
            return;
        }
        seen = now;
    }
}
