//! The scheduler (M7) over the store in memory and a clock that moves only when nothing else does:
//! who is started, when, how often, and what the history says.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use weir_core::event::RunStatus;
use weir_core::governance::label::Label;
use weir_core::ids::SessionId;
use weir_core::schedule::{
    AgentLimits, AgentRun, AgentRunState, MissedTicks, OnAsk, PromptMode, ScheduledAgent,
};
use weir_engine::ports::{
    AGENT_ACTIVE, AgentRunFilter, AtRest, Clock, KEPT_AGENT, LeaseOwner, RunDesk, RunStarter,
    Store, StorePause, StoredItem,
};
use weir_engine::schedule::{Scheduler, SchedulerParts, SchedulerSettings};
use weir_scenario::world::WorldClock;
use weir_store::{MemoryStore, this_process};

/// Runs that only count: how often, how many at once, in which order.
#[derive(Default)]
struct Runs {
    begun: Mutex<Vec<(String, String)>>,
    under_way: AtomicUsize,
    most: AtomicUsize,
    next: AtomicUsize,
    /// How long each takes.
    takes: Duration,
    /// Runs that wait for a person so long.
    asks: Option<Duration>,
}

impl Runs {
    fn taking(seconds: u64) -> Arc<Runs> {
        Arc::new(Runs { takes: Duration::from_secs(seconds), ..Runs::default() })
    }

    fn begun(&self) -> Vec<(String, String)> {
        self.begun.lock().expect("no test panics with it").clone()
    }
}

#[async_trait]
impl RunStarter for Runs {
    fn new_session_id(&self) -> SessionId {
        SessionId::new(format!("s{}", self.next.fetch_add(1, Ordering::SeqCst)))
    }

    async fn run(
        &self,
        agent: &ScheduledAgent,
        run: &AgentRun,
        desk: &dyn RunDesk,
        stop: CancellationToken,
    ) -> AtRest {
        self.begun.lock().expect("free").push((agent.name.clone(), run.tick.clone()));
        let now = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        if let Some(wait) = self.asks {
            desk.set_asking(true).await;
            self.under_way.fetch_sub(1, Ordering::SeqCst);
            tokio::time::sleep(wait).await;
            self.under_way.fetch_add(1, Ordering::SeqCst);
            desk.set_asking(false).await;
        }
        let rest = tokio::select! {
            () = tokio::time::sleep(self.takes) => {
                AtRest::Ended { status: RunStatus::Completed, note: String::new() }
            }
            () = stop.cancelled() => AtRest::Closed,
        };
        self.under_way.fetch_sub(1, Ordering::SeqCst);
        rest
    }
}

/// A store, a clock, and what is done with them.
struct Place {
    store: Arc<MemoryStore>,
    clock: Arc<WorldClock>,
    settings: SchedulerSettings,
}

/// A scheduler under way; it ends when it is told to.
struct Daemon {
    stop: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

impl Daemon {
    async fn end(self) {
        self.stop.cancel();
        self.task.await.expect("it does not panic");
    }

    /// As `kill -9` does it.
    async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

fn agent(name: &str, cron: Option<&str>) -> ScheduledAgent {
    ScheduledAgent {
        name: name.into(),
        prompt: "Look.".into(),
        cron: cron.map(str::to_owned),
        timezone: "UTC".into(),
        after: None,
        profile: None,
        tools: Vec::new(),
        prompt_mode: PromptMode::Combined,
        model: None,
        permission: None,
        thinking: None,
        limits: AgentLimits::default(),
        missed: None,
        on_ask: OnAsk::Deny,
        workspace: "/w".into(),
        owner: "ada".into(),
    }
}

impl Place {
    fn new() -> Place {
        Place {
            store: Arc::new(MemoryStore::new()),
            clock: WorldClock::starting_at(Duration::ZERO),
            settings: SchedulerSettings { at_once: 3, per_hour: 0, missed: MissedTicks::Run },
        }
    }

    async fn keep(&self, agent: &ScheduledAgent, state: &str) {
        let kept = StoredItem {
            what: KEPT_AGENT.into(),
            name: agent.name.clone(),
            text: serde_json::to_string(agent).expect("it is JSON"),
            state: state.into(),
            hash: String::new(),
            version: 1,
            label: Label::default(),
            by: agent.owner.clone(),
            ts: self.clock.now(),
        };
        self.store.store_item(&kept).await.expect("writable");
    }

    async fn add(&self, agent: &ScheduledAgent) {
        self.keep(agent, AGENT_ACTIVE).await;
    }

    fn start(&self, runs: &Arc<Runs>, holder: LeaseOwner) -> Daemon {
        let stop = CancellationToken::new();
        let scheduler = Scheduler::new(SchedulerParts {
            store: self.store.clone(),
            clock: self.clock.clone(),
            starter: runs.clone(),
            holder,
            settings: self.settings,
            tell: Arc::new(|_| ()),
            shared_places: None,
        });
        let ends = stop.clone();
        let task = tokio::spawn(async move {
            scheduler.run(ends).await.expect("the store works");
        });
        Daemon { stop, task }
    }

    fn daemon(&self, runs: &Arc<Runs>) -> Daemon {
        self.start(runs, this_process("daemon"))
    }

    async fn history(&self, agent: &str) -> Vec<AgentRun> {
        let filter = AgentRunFilter { agent: Some(agent.into()), ..AgentRunFilter::default() };
        let mut runs = self.store.agent_runs(&filter).await.expect("readable");
        runs.reverse();
        runs
    }

    /// State and note of each run, oldest first.
    async fn told(&self, agent: &str) -> Vec<(String, String)> {
        let runs = self.history(agent).await;
        runs.into_iter().map(|run| (run.state.to_string(), run.note)).collect()
    }

    async fn pause(&self, on: bool) {
        let since = self.clock.now();
        let pause = StorePause { since, by: "ada".into(), reason: String::new() };
        self.store.set_paused(on.then_some(pause)).await.expect("writable");
    }
}

/// A process that is not there any more.
fn dead() -> LeaseOwner {
    LeaseOwner { host: "an earlier boot".into(), ..this_process("daemon") }
}

async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

fn told(words: &[(&str, &str)]) -> Vec<(String, String)> {
    words.iter().map(|(state, note)| ((*state).to_owned(), (*note).to_owned())).collect()
}

const DONE: (&str, &str) = ("completed", "");

#[tokio::test(start_paused = true)]
async fn m7_a_hundred_due_at_once_never_more_than_three_and_each_once() {
    let place = Place::new();
    for n in 0..100 {
        place.add(&agent(&format!("a{n}"), Some("0 6 * * *"))).await;
    }
    let runs = Runs::taking(7);
    let daemon = place.daemon(&runs);
    pass(6 * 3600 - 1).await;
    assert_eq!(runs.begun(), [], "nothing is due yet");
    pass(3600).await;
    daemon.end().await;
    assert_eq!(runs.most.load(Ordering::SeqCst), 3);
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (name, tick) in runs.begun() {
        assert_eq!(tick, "2026-01-02T06:00:00Z");
        *counts.entry(name).or_default() += 1;
    }
    assert_eq!((counts.len(), counts.values().max()), (100, Some(&1)));
    let last = place.store.agent_runs(&AgentRunFilter::default()).await.expect("readable");
    assert!(last.iter().all(|run| run.state == AgentRunState::Ended(RunStatus::Completed)));
    // 34 groups of three at most, seven seconds each: the places were used, too.
    let ended = last.iter().filter_map(|run| run.finished).max().expect("they ended");
    let began = last.iter().filter_map(|run| run.started).min().expect("they began");
    assert_eq!(ended.ms_since(began).div_euclid(1_000), 34 * 7);
}

#[tokio::test(start_paused = true)]
async fn m7_two_schedulers_run_each_tick_once_and_share_the_places() {
    let place = Place::new();
    for n in 0..20 {
        place.add(&agent(&format!("a{n}"), Some("0 * * * *"))).await;
    }
    let runs = Runs::taking(5);
    let one = place.start(&runs, this_process("one"));
    let two = place.start(&runs, this_process("two"));
    pass(3 * 3600 + 1800).await;
    one.end().await;
    two.end().await;
    let mut begun = runs.begun();
    begun.sort();
    let all = begun.len();
    begun.dedup();
    assert_eq!((begun.len(), all), (60, 60), "three ticks of twenty agents");
    assert_eq!(runs.most.load(Ordering::SeqCst), 3, "places are those of the store");
}

#[tokio::test(start_paused = true)]
async fn m7_what_a_dead_daemon_began_is_gone_on_with_once() {
    let place = Place::new();
    for name in ["a", "b", "c"] {
        place.add(&agent(name, Some("0 6 * * *"))).await;
    }
    let first = Runs::taking(60);
    let daemon = place.start(&first, dead());
    pass(6 * 3600 + 5).await;
    daemon.kill().await;
    assert_eq!(first.begun().len(), 3);
    let sessions = |history: Vec<AgentRun>| history[0].session.clone();
    let before = sessions(place.history("a").await);
    assert!(before.is_some());
    let second = Runs::taking(60);
    let daemon = place.daemon(&second);
    pass(3600).await;
    daemon.end().await;
    let mut names: Vec<String> = second.begun().into_iter().map(|(name, _)| name).collect();
    names.sort();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!(sessions(place.history("a").await), before, "it goes on in its session");
    for name in ["a", "b", "c"] {
        assert_eq!(place.told(name).await, told(&[DONE]));
    }
}

#[tokio::test(start_paused = true)]
async fn m7_killed_between_claim_and_start_it_is_started_by_the_next() {
    let mut place = Place::new();
    place.add(&agent("a", Some("0 6 * * *"))).await;
    // Without a place it can claim and nothing else.
    place.settings.at_once = 0;
    let first = Runs::taking(60);
    let daemon = place.start(&first, dead());
    pass(6 * 3600 + 5).await;
    daemon.kill().await;
    assert_eq!((first.begun(), place.told("a").await), (Vec::new(), told(&[("waiting", "")])));
    place.settings.at_once = 3;
    let second = Runs::taking(60);
    let daemons =
        [place.start(&second, this_process("one")), place.start(&second, this_process("two"))];
    pass(3600).await;
    for daemon in daemons {
        daemon.end().await;
    }
    assert_eq!(second.begun(), [("a".into(), "2026-01-02T06:00:00Z".into())]);
    assert_eq!(place.told("a").await, told(&[DONE]));
}

/// A real process that does nothing, as the holder of runs.
struct Other(std::process::Child);

impl Other {
    fn start() -> Other {
        let child = std::process::Command::new("sleep").arg("600").spawn();
        Other(child.expect("the machine has sleep"))
    }

    fn holder(&self) -> LeaseOwner {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0.id()));
        let stat = stat.expect("it lives");
        let after_name = stat.rsplit_once(')').expect("it has a name").1;
        let started = after_name.split_ascii_whitespace().nth(19).expect("22 fields");
        let started = started.parse().expect("a number");
        LeaseOwner { pid: self.0.id(), started, ..this_process("other daemon") }
    }

    fn die(&mut self) {
        self.0.kill().expect("it lives");
        self.0.wait().expect("it is ours");
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(start_paused = true)]
async fn m7_a_daemon_that_dies_beside_another_is_noticed() {
    let place = Place::new();
    place.add(&agent("a", Some("0 6 * * *"))).await;
    let mut process = Other::start();
    let first = Runs::taking(7200);
    let other = place.start(&first, process.holder());
    pass(6 * 3600 + 5).await;
    let runs = Runs::taking(5);
    let daemon = place.daemon(&runs);
    pass(600).await;
    assert_eq!(
        (first.begun().len(), runs.begun()),
        (1, Vec::new()),
        "it lives: its run is its own"
    );
    // It dies without a word, and nothing else is due before tomorrow.
    other.kill().await;
    process.die();
    pass(60).await;
    daemon.end().await;
    assert_eq!(runs.begun().len(), 1);
    assert_eq!(place.told("a").await, told(&[DONE]));
}

#[tokio::test(start_paused = true)]
async fn m7_a_daemon_that_is_ended_gives_its_runs_to_the_next() {
    let place = Place::new();
    place.add(&agent("a", Some("0 6 * * *"))).await;
    let first = Runs::taking(600);
    let daemon = place.daemon(&first);
    pass(6 * 3600 + 5).await;
    daemon.end().await;
    let closed = "closed with its program, and to be gone on with";
    assert_eq!(place.told("a").await, told(&[("waiting", closed)]));
    let session = place.history("a").await[0].session.clone();
    // The same process id, alive: what was given back is free all the same.
    let second = Runs::taking(5);
    let daemon = place.daemon(&second);
    pass(60).await;
    daemon.end().await;
    let history = place.history("a").await;
    assert_eq!((history.len(), history[0].session.clone()), (1, session));
    assert_eq!(history[0].state, AgentRunState::Ended(RunStatus::Completed));
}

#[tokio::test(start_paused = true)]
async fn m7_missed_ticks_are_run_once_or_reported() {
    let place = Place::new();
    place.add(&agent("runs", Some("0 6 * * *"))).await;
    let reports = ScheduledAgent { missed: Some(MissedTicks::Report), ..agent("reports", None) };
    place.add(&ScheduledAgent { cron: Some("0 6 * * *".into()), ..reports }).await;
    // Three days without a daemon: the ticks of three mornings.
    pass(3 * 86_400).await;
    let runs = Runs::taking(5);
    let daemon = place.daemon(&runs);
    pass(3600).await;
    let late = "it was missed, and run late; it stands for 2 ticks from 2026-01-02T06:00:00Z on \
                before it too";
    assert_eq!(place.told("runs").await, told(&[("completed", late)]));
    let passed = "3 ticks from 2026-01-02T06:00:00Z on passed while nothing could be started";
    assert_eq!(place.told("reports").await, told(&[("missed", passed)]));
    assert_eq!(runs.begun(), [("runs".into(), "2026-01-04T06:00:00Z".into())]);
    // Neither is missed a second time, by this daemon or the next.
    daemon.end().await;
    let daemon = place.daemon(&runs);
    pass(86_400).await;
    daemon.end().await;
    assert_eq!(place.told("runs").await, told(&[("completed", late), DONE]));
    assert_eq!(place.told("reports").await, told(&[("missed", passed), DONE]));
}

#[tokio::test(start_paused = true)]
async fn m7_nothing_starts_while_weir_is_paused() {
    let place = Place::new();
    place.add(&agent("a", Some("0 * * * *"))).await;
    let runs = Runs::taking(5);
    let daemon = place.daemon(&runs);
    pass(3600 + 60).await;
    place.pause(true).await;
    pass(3 * 3600 + 60).await;
    assert_eq!(place.told("a").await, told(&[DONE]), "nothing is even claimed");
    place.pause(false).await;
    pass(60).await;
    let late = "it was missed, and run late; it stands for 2 ticks from 2026-01-02T02:00:00Z on \
                before it too";
    assert_eq!(place.told("a").await, told(&[DONE, ("completed", late)]));
    pass(3600).await;
    daemon.end().await;
    assert_eq!(place.told("a").await.len(), 3, "it goes on as before");
}

#[tokio::test(start_paused = true)]
async fn m7_a_run_that_is_not_over_makes_the_next_tick_skip() {
    let place = Place::new();
    place.add(&agent("slow", Some("*/10 * * * *"))).await;
    place.add(&agent("quick", Some("*/10 * * * *"))).await;
    let runs = Runs::taking(15 * 60);
    let daemon = place.daemon(&runs);
    pass(41 * 60).await;
    daemon.end().await;
    let skipped = ("skipped", "an earlier run of this agent was not over");
    let closed = ("waiting", "closed with its program, and to be gone on with");
    for name in ["slow", "quick"] {
        let expected = told(&[DONE, skipped, closed, skipped]);
        assert_eq!(place.told(name).await, expected, "{name}");
    }
    assert_eq!(runs.most.load(Ordering::SeqCst), 2, "agents do not wait for each other");
}

#[tokio::test(start_paused = true)]
async fn m7_owners_take_turns_for_places() {
    let mut place = Place::new();
    place.settings.at_once = 1;
    for n in 0..6 {
        place.add(&agent(&format!("a{n}"), Some("0 6 * * *"))).await;
    }
    let bob = ScheduledAgent { owner: "bob".into(), ..agent("z", Some("0 6 * * *")) };
    place.add(&bob).await;
    let runs = Runs::taking(10);
    let daemon = place.daemon(&runs);
    pass(7 * 3600).await;
    daemon.end().await;
    let order: Vec<String> = runs.begun().into_iter().map(|(name, _)| name).collect();
    assert_eq!(order, ["a0", "z", "a1", "a2", "a3", "a4", "a5"]);
}

#[tokio::test(start_paused = true)]
async fn m7_an_hour_holds_so_many_runs_and_the_others_wait() {
    let mut place = Place::new();
    place.settings.per_hour = 2;
    for n in 0..5 {
        place.add(&agent(&format!("a{n}"), Some("0 6 1 * *"))).await;
    }
    // The first of February.
    let runs = Runs::taking(10);
    let daemon = place.daemon(&runs);
    pass(30 * 86_400 + 6 * 3600 + 60).await;
    assert_eq!(runs.begun().len(), 2);
    pass(3600).await;
    assert_eq!(runs.begun().len(), 4);
    pass(3600).await;
    daemon.end().await;
    assert_eq!(runs.begun().len(), 5);
}

#[tokio::test(start_paused = true)]
async fn m7_definitions_change_without_a_restart() {
    let place = Place::new();
    let runs = Runs::taking(5);
    let daemon = place.daemon(&runs);
    place.add(&agent("a", Some("0 * * * *"))).await;
    pass(3600 + 60).await;
    assert_eq!(runs.begun().len(), 1, "one that was added while it waited");
    place.add(&agent("a", Some("30 * * * *"))).await;
    pass(3600).await;
    let ticks: Vec<String> = runs.begun().into_iter().map(|(_, tick)| tick).collect();
    assert_eq!(ticks, ["2026-01-02T01:00:00Z", "2026-01-02T01:30:00Z"]);
    place.keep(&agent("a", Some("30 * * * *")), "paused").await;
    pass(3 * 3600).await;
    assert_eq!(runs.begun().len(), 2, "paused");
    // What passed while it was paused is none of its own.
    place.add(&agent("a", Some("30 * * * *"))).await;
    pass(1).await;
    assert_eq!(runs.begun().len(), 2);
    pass(3600).await;
    assert_eq!(runs.begun().len(), 3, "active again");
    place.store.remove_stored_item(KEPT_AGENT, "a").await.expect("writable");
    pass(86_400).await;
    daemon.end().await;
    assert_eq!(runs.begun().len(), 3, "removed");
    // What is kept and is no definition harms nobody.
    let broken = StoredItem {
        what: KEPT_AGENT.into(),
        name: "broken".into(),
        text: "{\"name\": 1}".into(),
        state: AGENT_ACTIVE.into(),
        hash: String::new(),
        version: 1,
        label: Label::default(),
        by: "ada".into(),
        ts: place.clock.now(),
    };
    place.store.store_item(&broken).await.expect("writable");
    place.add(&agent("fine", Some("* * * * *"))).await;
    let daemon = place.daemon(&runs);
    pass(61).await;
    daemon.end().await;
    assert_eq!(runs.begun().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn m7_what_waits_of_a_paused_agent_is_not_started() {
    let mut place = Place::new();
    place.settings.at_once = 1;
    place.add(&agent("a", Some("0 6 * * *"))).await;
    place.add(&agent("b", Some("0 6 * * *"))).await;
    let runs = Runs::taking(60);
    let daemon = place.daemon(&runs);
    pass(6 * 3600 + 5).await;
    place.keep(&agent("b", Some("0 6 * * *")), "paused").await;
    pass(3600).await;
    daemon.end().await;
    assert_eq!(place.told("a").await, told(&[DONE]));
    assert_eq!(place.told("b").await, told(&[("skipped", "its agent is paused")]));
}

#[tokio::test(start_paused = true)]
async fn m7_an_agent_runs_after_another_has_completed() {
    let place = Place::new();
    place.add(&agent("first", Some("0 6 * * *"))).await;
    place.add(&ScheduledAgent { after: Some("first".into()), ..agent("second", None) }).await;
    place.add(&ScheduledAgent { after: Some("second".into()), ..agent("third", None) }).await;
    let runs = Runs::taking(30);
    let daemon = place.daemon(&runs);
    pass(2 * 86_400).await;
    daemon.end().await;
    let names: Vec<String> = runs.begun().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["first", "second", "third", "first", "second", "third"]);
    let ticks: Vec<String> = place.history("third").await.into_iter().map(|r| r.tick).collect();
    assert_eq!(ticks[0], "after second after first 2026-01-02T06:00:00Z");
    assert_ne!(ticks[0], ticks[1]);
}

#[tokio::test(start_paused = true)]
async fn m7_what_waits_for_a_person_takes_no_place() {
    let mut place = Place::new();
    place.settings.at_once = 1;
    for n in 0..4 {
        place.add(&agent(&format!("a{n}"), Some("0 6 * * *"))).await;
    }
    let asks = Some(Duration::from_secs(3600));
    let runs = Arc::new(Runs { takes: Duration::from_secs(5), asks, ..Runs::default() });
    let daemon = place.daemon(&runs);
    pass(6 * 3600 + 60).await;
    assert_eq!(runs.begun().len(), 4, "none waits for the others' person");
    let open = AgentRunFilter { open: true, ..AgentRunFilter::default() };
    let open = place.store.agent_runs(&open).await.expect("readable");
    assert!(open.iter().all(|run| run.state == AgentRunState::Asking), "{open:?}");
    pass(3600).await;
    daemon.end().await;
    assert_eq!(place.told("a3").await, told(&[DONE]));
}

#[tokio::test(start_paused = true)]
async fn m7_ticks_over_a_change_of_the_clocks() {
    let place = Place::new();
    let berlin = |name: &str, cron: &str| ScheduledAgent {
        timezone: "Europe/Berlin".into(),
        ..agent(name, Some(cron))
    };
    place.add(&berlin("fixed", "30 2 * * *")).await;
    place.add(&berlin("interval", "30 * * * *")).await;
    let runs = Runs::taking(1);
    let daemon = place.daemon(&runs);
    // From 2 January to the end of 29 March, when Berlin loses an hour.
    let days = 86 * 86_400 + 23 * 3600;
    pass(days).await;
    daemon.end().await;
    let begun = runs.begun();
    let on = |name: &str, day: &str| {
        let of = |(agent, tick): &&(String, String)| agent == name && tick.starts_with(day);
        begun.iter().filter(of).map(|(_, tick)| tick.clone()).collect::<Vec<_>>()
    };
    // The first tick of the day in UTC is 01:30 Berlin time; 02:30 does not exist and is 03:00.
    assert_eq!(on("fixed", "2026-03-28T"), ["2026-03-28T01:30:00Z"]);
    assert_eq!(on("fixed", "2026-03-29T"), ["2026-03-29T01:00:00Z"]);
    assert_eq!(on("interval", "2026-03-28T").len(), 24);
    assert_eq!(on("interval", "2026-03-29T").len(), 23, "until 23:00 UTC");
}
