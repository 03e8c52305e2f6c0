//! What was used, and waiting for new facts, in every store.

use std::time::Duration;

use weir_core::ids::{SessionId, Timestamp};
use weir_core::model::Usage;
use weir_core::schedule::{AgentCause, AgentRun, AgentRunState};
use weir_engine::ports::{Store, UsageFilter, UsageNote, UsageRow};
use weir_test_kit::PATIENCE;

use crate::contract::every_store;
use crate::support::{NOON, Scribe};

every_store! {
    s10_usage_is_summed_by_day_model_profile_and_agent
    r11_what_a_sub_agent_uses_is_counted_to_the_agent_of_its_schedule
    s10_usage_counts_once_with_the_facts_and_outlives_the_session
    s03_whoever_follows_a_session_hears_of_new_facts
    s03_a_session_that_is_longer_already_is_no_wait
}

const DAY: i64 = 86_400_000_000;

fn note(day: i64, model: &str, input: u64, cost_usd: Option<f64>) -> UsageNote {
    UsageNote {
        ts: Timestamp(NOON + day * DAY),
        model: model.into(),
        profile: "code".into(),
        usage: Usage { input, output: 2, cache_read: 3, cache_write: 4, reasoning: 1 },
        cost_usd,
        replies: 1,
        runs: 0,
    }
}

async fn write(store: &dyn Store, scribe: &mut Scribe, usage: Vec<UsageNote>) {
    let mut append = scribe.next(1);
    append.usage = usage;
    store.append(append.clone()).await.expect("fits");
    scribe.wrote(&append);
}

async fn used(store: &dyn Store, from: Option<&str>, to: Option<&str>) -> Vec<UsageRow> {
    let filter = UsageFilter { from: from.map(Into::into), to: to.map(Into::into) };
    store.usage_rows(&filter).await.expect("readable")
}

/// A run of the agent "nightly", whose session has this id.
fn nightly_run(session: &str) -> AgentRun {
    AgentRun {
        agent: "nightly".into(),
        tick: "1".into(),
        cause: AgentCause::Cron,
        owner: "ada".into(),
        due: Timestamp(NOON),
        state: AgentRunState::Waiting,
        session: Some(SessionId::new(session)),
        claimed: Timestamp(NOON),
        started: None,
        finished: None,
        note: String::new(),
    }
}

async fn r11_what_a_sub_agent_uses_is_counted_to_the_agent_of_its_schedule(store: &dyn Store) {
    store.claim_ticks(&[nightly_run("two")], None).await.expect("writable");
    // The first three are one family; the others only look a little like it.
    for session in ["two", "two_c3", "two_c3_c12", "twofold_c3", "three_two"] {
        let mut scribe = Scribe::new(store, session).await;
        write(store, &mut scribe, vec![note(0, "acme/large", 1, Some(0.5))]).await;
    }
    let rows = used(store, None, None).await;
    let by_agent: Vec<(&str, f64, u64)> =
        rows.iter().map(|row| (row.agent.as_str(), row.cost_usd, row.replies)).collect();
    assert_eq!(by_agent, [("", 1.0, 2), ("nightly", 1.5, 3)]);
}

async fn s10_usage_is_summed_by_day_model_profile_and_agent(store: &dyn Store) {
    store.claim_ticks(&[nightly_run("two")], None).await.expect("writable");
    let mut one = Scribe::new(store, "one").await;
    let mut two = Scribe::new(store, "two").await;
    let run_over = UsageNote {
        usage: Usage::default(),
        cost_usd: Some(0.0),
        replies: 0,
        runs: 1,
        ..note(0, "acme/large", 0, None)
    };
    write(store, &mut one, vec![note(0, "acme/large", 10, Some(0.5)), run_over]).await;
    write(store, &mut one, vec![note(0, "acme/large", 5, None), note(1, "acme/small", 1, None)])
        .await;
    write(store, &mut two, vec![note(0, "acme/large", 7, Some(0.25))]).await;
    let row = |day: &str, model: &str, agent: &str| UsageRow {
        day: day.into(),
        model: model.into(),
        profile: "code".into(),
        agent: agent.into(),
        ..UsageRow::default()
    };
    let usage = |input, times| Usage {
        input,
        output: 2 * times,
        cache_read: 3 * times,
        cache_write: 4 * times,
        reasoning: times,
    };
    let expected = [
        UsageRow {
            usage: usage(15, 2),
            cost_usd: 0.5,
            unpriced: 1,
            replies: 2,
            runs: 1,
            ..row("2026-01-02", "acme/large", "")
        },
        UsageRow {
            usage: usage(7, 1),
            cost_usd: 0.25,
            replies: 1,
            ..row("2026-01-02", "acme/large", "nightly")
        },
        UsageRow {
            usage: usage(1, 1),
            unpriced: 1,
            replies: 1,
            ..row("2026-01-03", "acme/small", "")
        },
    ];
    assert_eq!(used(store, None, None).await, expected);
    assert_eq!(used(store, Some("2026-01-03"), None).await, expected[2..]);
    assert_eq!(used(store, None, Some("2026-01-02")).await, expected[..2]);
    assert_eq!(used(store, Some("2026-01-04"), Some("2026-01-09")).await, []);
}

async fn s10_usage_counts_once_with_the_facts_and_outlives_the_session(store: &dyn Store) {
    let mut scribe = Scribe::new(store, "one").await;
    let mut refused = scribe.next(1);
    refused.usage = vec![note(0, "acme/large", 1, None)];
    refused.expected = 9;
    store.append(refused).await.expect_err("wrong place");
    assert_eq!(used(store, None, None).await, []);
    write(store, &mut scribe, vec![note(0, "acme/large", 1, None)]).await;
    let before = used(store, None, None).await;
    assert_eq!(before.len(), 1);
    assert_eq!(before[0].replies, 1);
    store.delete_session(&scribe.lease.session).await.expect("it exists");
    assert_eq!(used(store, None, None).await, before);
}

async fn s03_whoever_follows_a_session_hears_of_new_facts(store: &dyn Store) {
    let mut scribe = Scribe::new(store, "one").await;
    let mut other = Scribe::new(store, "two").await;
    scribe.write(store, 2).await;
    let session = scribe.lease.session.clone();
    let heard = async {
        let waited = tokio::time::timeout(PATIENCE, store.facts_changed(&session, 2));
        waited.await.expect("it hears of it");
    };
    let written = async {
        tokio::task::yield_now().await;
        other.write(store, 1).await;
        scribe.write(store, 1).await;
    };
    futures::future::join(heard, written).await;
    assert_eq!(store.read_records(&session, 3, 9).await.expect("readable").len(), 1);
    // Of one that was deleted it hears, too.
    let gone = async {
        let waited = tokio::time::timeout(PATIENCE, store.facts_changed(&session, 3));
        waited.await.is_ok()
    };
    let deleted = store.delete_session(&session);
    let (heard, deleted) = futures::future::join(gone, deleted).await;
    deleted.expect("it exists");
    assert!(heard);
}

async fn s03_a_session_that_is_longer_already_is_no_wait(store: &dyn Store) {
    let mut scribe = Scribe::new(store, "one").await;
    scribe.write(store, 3).await;
    let session = &scribe.lease.session;
    for seen in 0..3 {
        let waited = tokio::time::timeout(PATIENCE, store.facts_changed(session, seen));
        waited.await.expect("at once");
    }
    let short = Duration::from_millis(300);
    let waited = tokio::time::timeout(short, store.facts_changed(session, 3)).await;
    assert!(waited.is_err(), "nothing is new");
    let nobody = SessionId::new("nobody");
    let waited = tokio::time::timeout(short, store.facts_changed(&nobody, 0)).await;
    assert!(waited.is_err(), "nothing is there");
}
