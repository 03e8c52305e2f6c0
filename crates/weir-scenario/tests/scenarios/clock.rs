//! The scheduler while the clock is set (D9): forward by years, back by hours, and right again. No
//! flood, no tick twice, and no silence until a moment that a wrong clock told of.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use weir_core::event::RunStatus;
use weir_core::governance::label::Label;
use weir_core::ids::{SessionId, Timestamp};
use weir_core::schedule::{AgentRun, MissedTicks, ScheduledAgent};
use weir_engine::ports::{
    AGENT_ACTIVE, AtRest, Clock, KEPT_AGENT, RunDesk, RunStarter, Store as _, StoredItem,
};
use weir_engine::schedule::{Scheduler, SchedulerParts, SchedulerSettings};
use weir_scenario::world::WorldClock;
use weir_store::{MemoryStore, this_process};

const HOUR: u64 = 3_600;
const YEARS: i64 = 3 * 365 * 86_400;

/// A clock on the wall that somebody sets.
struct SetClock {
    real: Arc<WorldClock>,
    off_us: AtomicI64,
}

impl SetClock {
    fn set(&self, seconds: i64) {
        self.off_us.store(seconds * 1_000_000, Ordering::SeqCst);
    }
}

#[async_trait]
impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.real.now().micros() + self.off_us.load(Ordering::SeqCst))
    }

    async fn sleep_until(&self, until: Timestamp) {
        // As the program's own does it: it looks at the wall now and then.
        loop {
            let left = until.micros().saturating_sub(self.now().micros());
            let Some(left) = u64::try_from(left).ok().filter(|left| *left > 0) else { return };
            let wait = Duration::from_micros(left) + Duration::from_millis(1);
            tokio::time::sleep(wait.min(Duration::from_secs(20))).await;
        }
    }

    fn random_number(&self) -> u64 {
        0
    }
}

/// Runs that end at once, by their ticks.
#[derive(Default)]
struct Ticks(Mutex<Vec<String>>);

impl Ticks {
    fn all(&self) -> Vec<String> {
        self.0.lock().expect("no test panics with it").clone()
    }
}

#[async_trait]
impl RunStarter for Ticks {
    fn new_session_id(&self) -> SessionId {
        SessionId::new("s")
    }

    async fn run(
        &self,
        _agent: &ScheduledAgent,
        run: &AgentRun,
        _desk: &dyn RunDesk,
        _stop: CancellationToken,
    ) -> AtRest {
        self.0.lock().expect("free").push(run.tick.clone());
        AtRest::Ended { status: RunStatus::Completed, note: String::new() }
    }
}

struct Place {
    store: Arc<MemoryStore>,
    clock: Arc<SetClock>,
    ticks: Arc<Ticks>,
}

impl Place {
    async fn new() -> Place {
        let real = WorldClock::starting_at(Duration::ZERO);
        let clock = Arc::new(SetClock { real, off_us: AtomicI64::new(0) });
        let place = Place { store: Arc::new(MemoryStore::new()), clock, ticks: Arc::default() };
        let agent = serde_json::json!({
            "name": "hourly", "prompt": "Look.", "cron": "0 * * * *", "timezone": "UTC",
            "tools": [], "prompt_mode": "combined", "limits": {}, "on_ask": "deny",
            "workspace": "/w", "owner": "ada",
        });
        let kept = StoredItem {
            what: KEPT_AGENT.into(),
            name: "hourly".into(),
            text: agent.to_string(),
            state: AGENT_ACTIVE.into(),
            hash: String::new(),
            version: 1,
            label: Label::default(),
            by: "ada".into(),
            ts: place.clock.now(),
        };
        place.store.store_item(&kept).await.expect("writable");
        place
    }

    /// A scheduler until it is dropped.
    fn start(&self) -> Daemon {
        let scheduler = Scheduler::new(SchedulerParts {
            store: self.store.clone(),
            clock: self.clock.clone(),
            starter: self.ticks.clone(),
            holder: this_process("daemon"),
            settings: SchedulerSettings { at_once: 3, per_hour: 3, missed: MissedTicks::Run },
            tell: Arc::new(|_| ()),
            shared_places: None,
        });
        let stop = CancellationToken::new();
        let ends = stop.clone();
        let task = tokio::spawn(async move {
            scheduler.run(ends).await.expect("the store works");
        });
        Daemon { stop, task }
    }
}

struct Daemon {
    stop: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

impl Daemon {
    async fn end(self) {
        self.stop.cancel();
        self.task.await.expect("it does not panic");
    }
}

async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

fn each_once(ticks: &[String]) -> bool {
    ticks.iter().collect::<BTreeSet<_>>().len() == ticks.len()
}

#[tokio::test(start_paused = true)]
async fn d9_a_clock_set_forward_by_years_starts_one_run_and_not_a_flood() {
    let place = Place::new().await;
    let daemon = place.start();
    pass(HOUR + 1800).await;
    assert_eq!(place.ticks.all(), ["2026-01-02T01:00:00Z"]);
    place.clock.set(YEARS);
    pass(600).await;
    let late = place.ticks.all();
    assert_eq!(late.len(), 2, "one for all that passed: {late:?}");
    assert!(late[1].starts_with("2029-"), "{late:?}");
    pass(HOUR).await;
    daemon.end().await;
    let ticks = place.ticks.all();
    assert_eq!(ticks.len(), 3, "and then each hour again: {ticks:?}");
}

#[tokio::test(start_paused = true)]
async fn d9_a_clock_that_was_wrong_for_a_while_silences_no_agent() {
    for restarted in [false, true] {
        let place = Place::new().await;
        let mut daemon = place.start();
        pass(1800).await;
        place.clock.set(YEARS);
        // As many as an hour may have begin by the wrong clock.
        pass(3 * HOUR).await;
        let wrong = place.ticks.all();
        assert!(wrong.iter().all(|tick| tick.starts_with("2029-")), "{wrong:?}");
        assert!(wrong.len() >= 3, "{wrong:?}");
        place.clock.set(0);
        if restarted {
            daemon.end().await;
            daemon = place.start();
        }
        pass(2 * HOUR).await;
        daemon.end().await;
        let ticks = place.ticks.all();
        let right: Vec<&String> = ticks.iter().filter(|tick| tick.starts_with("2026-")).collect();
        let expected = ["2026-01-02T04:00:00Z", "2026-01-02T05:00:00Z"];
        assert_eq!(right, expected, "restarted: {restarted}");
        assert!(each_once(&ticks), "{ticks:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn d9_hours_that_come_twice_run_their_ticks_once() {
    let place = Place::new().await;
    let daemon = place.start();
    pass(6 * HOUR + 1800).await;
    assert_eq!(place.ticks.all().len(), 6);
    place.clock.set(-5 * HOUR as i64);
    pass(5 * HOUR).await;
    assert_eq!(place.ticks.all().len(), 6, "these ran: {:?}", place.ticks.all());
    pass(2 * HOUR).await;
    daemon.end().await;
    let ticks = place.ticks.all();
    assert_eq!(ticks[6..], ["2026-01-02T07:00:00Z", "2026-01-02T08:00:00Z"]);
    assert!(each_once(&ticks), "{ticks:?}");
}
