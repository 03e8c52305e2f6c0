//! What every store keeps of scheduled agents (M7): claims, places, runs whose process is gone.

use weir_core::event::RunStatus;
use weir_core::governance::label::Label;
use weir_core::ids::{SessionId, Timestamp};
use weir_core::schedule::{AgentCause, AgentRun, AgentRunState};
use weir_engine::ports::{
    AGENT_RUNS_KEPT, AgentRunFilter, HOUR_MS, KEPT_AGENT, LeaseOwner, PlaceLimits, RunBeginOutcome,
    STILL_RUNNING, Store, StoredItem, TickClaim,
};
use weir_store::this_process;
use weir_test_kit::PATIENCE;

use crate::contract::every_store;
use crate::support::{NOON, dead_owner};

every_store! {
    m7_a_tick_is_claimed_once
    m7_a_tick_of_a_busy_agent_is_skipped
    m7_places_are_counted_over_all_holders
    m7_an_hour_holds_so_many_runs
    m7_only_the_holder_writes_down_how_it_stands
    m7_runs_of_a_dead_process_are_taken_by_one
    m7_history_is_bounded_and_newest_first
    m7_changes_are_announced
}

fn at(n: i64) -> Timestamp {
    Timestamp(NOON + n)
}

fn run(agent: &str, tick: &str) -> AgentRun {
    AgentRun {
        agent: agent.into(),
        tick: tick.into(),
        cause: AgentCause::Cron,
        owner: "ada".into(),
        due: at(tick.len() as i64),
        state: AgentRunState::Waiting,
        session: None,
        claimed: at(1),
        started: None,
        finished: None,
        note: "note ü".into(),
    }
}

fn me() -> LeaseOwner {
    this_process("daemon")
}

fn places(at_once: usize, per_hour: usize) -> PlaceLimits {
    PlaceLimits { at_once, per_hour, now: at(2) }
}

async fn claim(store: &dyn Store, run: &AgentRun, holder: Option<&LeaseOwner>) -> TickClaim {
    let claims = store.claim_ticks(std::slice::from_ref(run), holder).await.expect("writable");
    claims[0]
}

async fn all(store: &dyn Store) -> Vec<AgentRun> {
    store.agent_runs(&AgentRunFilter::default()).await.expect("readable")
}

async fn m7_a_tick_is_claimed_once(store: &dyn Store) {
    assert_eq!(all(store).await, []);
    let (mine, other) = (me(), this_process("another daemon"));
    let first = run("a", "1");
    let twins = [first.clone(), run("b", "1")];
    assert_eq!(
        store.claim_ticks(&twins, Some(&mine)).await.expect("writable"),
        [TickClaim::Claimed, TickClaim::Claimed]
    );
    for holder in [Some(&other), Some(&mine), None] {
        assert_eq!(claim(store, &first, holder).await, TickClaim::Taken);
    }
    // Over is not undone: the tick is never run again.
    let over = first.clone().with_end(AgentRunState::Ended(RunStatus::Completed), at(3), "");
    assert!(store.note_agent_run(&over, &mine).await.expect("writable"));
    assert_eq!(claim(store, &first, Some(&other)).await, TickClaim::Taken);
    assert_eq!(all(store).await, [run("b", "1"), over]);
    let ticks = store.agent_ticks().await.expect("readable");
    assert_eq!(ticks.into_iter().collect::<Vec<_>>(), [("a".into(), at(1)), ("b".into(), at(1))]);
}

async fn m7_a_tick_of_a_busy_agent_is_skipped(store: &dyn Store) {
    assert_eq!(claim(store, &run("a", "1"), Some(&me())).await, TickClaim::Claimed);
    assert_eq!(claim(store, &run("a", "22"), Some(&me())).await, TickClaim::Overlaps);
    let by_hand = AgentRun { cause: AgentCause::Manual, ..run("a", "by hand") };
    assert_eq!(claim(store, &by_hand, Some(&me())).await, TickClaim::Overlaps);
    // What is only reported overlaps nothing.
    let missed = run("a", "333").with_end(AgentRunState::Missed, at(4), "");
    assert_eq!(claim(store, &missed, Some(&me())).await, TickClaim::Claimed);
    let found = all(store).await;
    assert_eq!(found.len(), 3, "the run by hand left nothing: {found:?}");
    let skipped = &found[1];
    assert_eq!((skipped.state, skipped.finished), (AgentRunState::Skipped, Some(at(1))));
    assert!(skipped.note.contains(STILL_RUNNING) && skipped.note.contains("ü"), "{skipped:?}");
    assert_eq!(store.agent_ticks().await.expect("readable")["a"], at(3));
    assert_eq!(
        claim(store, &run("b", "1"), Some(&me())).await,
        TickClaim::Claimed,
        "another agent"
    );
}

async fn m7_places_are_counted_over_all_holders(store: &dyn Store) {
    let (one, two) = (me(), this_process("another daemon"));
    let session = |name: &str| Some(SessionId::new(name));
    for (agent, holder) in [("a", &one), ("b", &two), ("c", &one)] {
        assert_eq!(claim(store, &run(agent, "1"), Some(holder)).await, TickClaim::Claimed);
    }
    let begin = async |agent: &str, holder: &LeaseOwner, places: PlaceLimits| {
        let run = AgentRun { session: session(agent), ..run(agent, "1") };
        store.begin_agent_run(&run, holder, &places).await.expect("writable")
    };
    assert_eq!(begin("a", &two, places(2, 0)).await, RunBeginOutcome::Gone, "not its own");
    assert_eq!(begin("a", &one, places(0, 0)).await, RunBeginOutcome::Full);
    assert_eq!(begin("a", &one, places(2, 0)).await, RunBeginOutcome::Begun);
    assert_eq!(
        begin("a", &one, places(2, 0)).await,
        RunBeginOutcome::Gone,
        "it does not wait any more"
    );
    assert_eq!(begin("b", &two, places(2, 0)).await, RunBeginOutcome::Begun);
    assert_eq!(begin("c", &one, places(2, 0)).await, RunBeginOutcome::Full);
    // What waits for a person takes no place, and neither does what a person began by hand.
    let filter = AgentRunFilter { agent: Some("a".into()), ..AgentRunFilter::default() };
    let under_way = store.agent_runs(&filter).await.expect("readable").remove(0);
    assert_eq!(
        (under_way.state, under_way.started, under_way.session.clone()),
        (AgentRunState::Running, Some(at(2)), session("a"))
    );
    let asking = AgentRun { state: AgentRunState::Asking, ..under_way };
    assert!(store.note_agent_run(&asking, &one).await.expect("writable"));
    let by_hand = AgentRun {
        cause: AgentCause::Manual,
        state: AgentRunState::Running,
        started: Some(at(2)),
        ..run("d", "by hand")
    };
    assert_eq!(claim(store, &by_hand, Some(&one)).await, TickClaim::Claimed);
    assert_eq!(begin("c", &one, places(2, 0)).await, RunBeginOutcome::Begun);
}

async fn m7_an_hour_holds_so_many_runs(store: &dyn Store) {
    let mine = me();
    let mut begun = Vec::new();
    for (n, agent) in ["a", "b", "c"].into_iter().enumerate() {
        assert_eq!(claim(store, &run(agent, "1"), Some(&mine)).await, TickClaim::Claimed);
        let places = PlaceLimits { now: at(n as i64), ..places(9, 2) };
        begun.push(store.begin_agent_run(&run(agent, "1"), &mine, &places).await.expect("ok"));
    }
    let until = at(0).plus_ms(HOUR_MS);
    assert_eq!(
        begun,
        [RunBeginOutcome::Begun, RunBeginOutcome::Begun, RunBeginOutcome::HourFull { until }]
    );
    let later = PlaceLimits { now: until, ..places(9, 2) };
    let third = store.begin_agent_run(&run("c", "1"), &mine, &later).await.expect("writable");
    assert_eq!(third, RunBeginOutcome::Begun);
    // What was begun before and goes on is no new run.
    let again = AgentRun { state: AgentRunState::Waiting, started: Some(at(0)), ..run("a", "1") };
    assert!(store.note_agent_run(&again, &mine).await.expect("writable"));
    assert_eq!(store.take_agent_runs(&mine).await.expect("writable"), std::slice::from_ref(&again));
    let goes_on = store.begin_agent_run(&again, &mine, &later).await.expect("writable");
    assert_eq!(goes_on, RunBeginOutcome::Begun);
}

async fn m7_only_the_holder_writes_down_how_it_stands(store: &dyn Store) {
    let (mine, other) = (me(), this_process("another daemon"));
    assert_eq!(claim(store, &run("a", "1"), Some(&mine)).await, TickClaim::Claimed);
    let over = run("a", "1").with_end(AgentRunState::Ended(RunStatus::Failed), at(5), "why");
    assert!(!store.note_agent_run(&over, &other).await.expect("writable"));
    assert!(!store.note_agent_run(&run("a", "2"), &mine).await.expect("writable"), "no such run");
    assert_eq!(all(store).await, [run("a", "1")]);
    assert!(store.note_agent_run(&over, &mine).await.expect("writable"));
    assert!(!store.note_agent_run(&over, &mine).await.expect("writable"), "it is over");
    assert_eq!(all(store).await, [over]);
}

async fn m7_runs_of_a_dead_process_are_taken_by_one(store: &dyn Store) {
    let (mine, other) = (me(), this_process("another daemon"));
    let dead = dead_owner("a daemon that died");
    assert_eq!(claim(store, &run("a", "1"), Some(&dead)).await, TickClaim::Claimed);
    assert_eq!(claim(store, &run("b", "1"), Some(&mine)).await, TickClaim::Claimed);
    assert_eq!(claim(store, &run("c", "1"), None).await, TickClaim::Claimed);
    let missed = run("d", "1").with_end(AgentRunState::Missed, at(4), "");
    assert_eq!(claim(store, &missed, None).await, TickClaim::Claimed);
    let begun = store.begin_agent_run(&run("a", "1"), &dead, &places(1, 0)).await;
    assert_eq!(begun.expect("writable"), RunBeginOutcome::Begun);
    // It died: its run takes no place any more.
    let begun = store.begin_agent_run(&run("b", "1"), &mine, &places(1, 0)).await;
    assert_eq!(begun.expect("writable"), RunBeginOutcome::Begun);
    let taken = store.take_agent_runs(&other).await.expect("writable");
    assert_eq!(taken, [AgentRun { started: Some(at(2)), ..run("a", "1") }, run("c", "1")]);
    assert_eq!(store.take_agent_runs(&other).await.expect("writable"), [], "they are its own now");
    assert_eq!(store.take_agent_runs(&mine).await.expect("writable"), []);
}

async fn m7_history_is_bounded_and_newest_first(store: &dyn Store) {
    let many = AGENT_RUNS_KEPT + 5;
    assert_eq!(claim(store, &run("a", "open"), Some(&me())).await, TickClaim::Claimed);
    let over = |n: usize| run("a", &format!("tick {n}")).with_end(AgentRunState::Missed, at(1), "");
    let runs: Vec<AgentRun> = (0..many).map(over).collect();
    store.claim_ticks(&runs, Some(&me())).await.expect("writable");
    let filter = |limit, open| AgentRunFilter {
        agent: Some("a".into()),
        open,
        limit,
        ..AgentRunFilter::default()
    };
    let newest = store.agent_runs(&filter(Some(2), false)).await.expect("readable");
    assert_eq!(newest, [over(many - 1), over(many - 2)]);
    let kept = store.agent_runs(&filter(None, false)).await.expect("readable");
    assert_eq!(kept.len(), AGENT_RUNS_KEPT + 1, "what is not over stays");
    assert_eq!(kept.last(), Some(&run("a", "open")));
    assert_eq!(store.agent_runs(&filter(None, true)).await.expect("readable").len(), 1);
    let nobody = AgentRunFilter { agent: Some("b".into()), ..AgentRunFilter::default() };
    assert_eq!(store.agent_runs(&nobody).await.expect("readable"), []);
}

async fn m7_changes_are_announced(store: &dyn Store) {
    let kept = StoredItem {
        what: KEPT_AGENT.into(),
        name: "a".into(),
        text: "{}".into(),
        state: "active".into(),
        hash: String::new(),
        version: 1,
        label: Label::default(),
        by: "ada".into(),
        ts: at(0),
    };
    let heard = async |change: &str| {
        let mut changed = store.agents_changed();
        assert!(futures::poll!(&mut changed).is_pending(), "it listens: {change}");
        match change {
            "kept" => drop(store.store_item(&kept).await.expect("writable")),
            "claimed" => drop(claim(store, &run("a", "1"), None).await),
            "taken" => {
                let taken = store.take_agent_runs(&me()).await.expect("writable");
                store.note_agent_run(&taken[0], &me()).await.expect("writable");
            }
            _ => drop(store.remove_stored_item(KEPT_AGENT, "a").await.expect("writable")),
        }
        let waited = tokio::time::timeout(PATIENCE, changed).await;
        waited.unwrap_or_else(|_| panic!("nobody said that it was {change}"));
    };
    for change in ["kept", "claimed", "taken", "unkept"] {
        heard(change).await;
    }
}
