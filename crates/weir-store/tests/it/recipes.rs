//! What a store keeps about recipes (M5): counts and solved runs, written with the facts.

use std::sync::Arc;

use serde_json::json;
use weir_core::governance::label::Label;
use weir_core::ids::{RunId, SessionId, Timestamp};
use weir_core::recipe::{RecipeStanding, RecipeUse, SolvedCall, SolvedRun};
use weir_engine::ports::{SOLVED_RUNS_MAX, SolvedFilter, Store, StoreError};

use crate::contract::every_store;
use crate::support::Scribe;

every_store! {
    m5_uses_are_counted_with_the_facts
    m5_an_append_that_fails_counts_nothing
    m5_a_person_begins_to_count_anew
    m5_solved_runs_are_kept_newest_first
    m5_the_oldest_runs_are_thrown_away
    m5_runs_of_a_deleted_session_are_gone
}

fn used(recipe: &str, ok: bool, ts: i64) -> (RecipeUse, Timestamp) {
    (RecipeUse { recipe: recipe.into(), fast: true, ok }, Timestamp(ts))
}

fn solved(session: &str, run: u32, ts: i64) -> SolvedRun {
    SolvedRun {
        session: SessionId::new(session),
        run: RunId(run),
        workspace: "/w".into(),
        profile: if run.is_multiple_of(2) { "code" } else { "agent" }.into(),
        ts: Timestamp(ts),
        said: "Add milk “and” \u{0} bread 🎉".into(),
        calls: vec![SolvedCall { tool: "read_file".into(), input: json!({"path": "a'b\".md"}) }],
        label: Label::external("shop.example.org"),
    }
}

fn standing(successes: u32, failures: u32, ts: i64) -> RecipeStanding {
    RecipeStanding { successes, failures, last_used: Some(Timestamp(ts)) }
}

async fn m5_uses_are_counted_with_the_facts(store: &dyn Store) {
    assert!(store.recipe_counts().await.expect("readable").is_empty());
    let mut scribe = Scribe::new(store, "s").await;
    let mut append = scribe.next(2);
    append.recipe_use = vec![used("daily", true, 1), used("rename", false, 2)];
    store.append(append.clone()).await.expect("writable");
    scribe.wrote(&append);
    let mut append = scribe.next(1);
    append.recipe_use = vec![used("daily", true, 3), used("daily", false, 4)];
    store.append(append).await.expect("writable");
    let counts = store.recipe_counts().await.expect("readable");
    assert_eq!(counts["daily"], standing(2, 1, 4));
    assert_eq!(counts["rename"], standing(0, 1, 2));
    assert_eq!(counts.len(), 2);
}

/// What was not written with its fact did not happen, and what was is not written again.
async fn m5_an_append_that_fails_counts_nothing(store: &dyn Store) {
    let scribe = Scribe::new(store, "s").await;
    let mut append = scribe.next(1);
    append.recipe_use = vec![used("daily", true, 1)];
    append.solved = vec![solved("s", 1, 1)];
    store.append(append.clone()).await.expect("writable");
    // The same facts once more, as a writer would that does not know that they are there.
    let again = store.append(append).await;
    assert!(matches!(again, Err(StoreError::Conflict { .. })), "{again:?}");
    assert_eq!(store.recipe_counts().await.expect("readable")["daily"], standing(1, 0, 1));
    let runs = store.solved_runs(&SolvedFilter::default()).await.expect("readable");
    assert_eq!(runs, [solved("s", 1, 1)]);
}

async fn m5_a_person_begins_to_count_anew(store: &dyn Store) {
    let scribe = Scribe::new(store, "s").await;
    let mut append = scribe.next(1);
    append.recipe_use = vec![used("daily", false, 1), used("rename", true, 1)];
    store.append(append).await.expect("writable");
    store.settle_recipe("daily").await.expect("writable");
    store.settle_recipe("nothing").await.expect("nothing is no error");
    let counts = store.recipe_counts().await.expect("readable");
    assert_eq!(counts.keys().collect::<Vec<_>>(), ["rename"]);
}

async fn m5_solved_runs_are_kept_newest_first(store: &dyn Store) {
    let scribe = Scribe::new(store, "s").await;
    let mut append = scribe.next(1);
    append.solved = vec![solved("s", 1, 10), solved("s", 2, 30), solved("s", 3, 20)];
    store.append(append).await.expect("writable");
    let runs = |filter: SolvedFilter| async move {
        let runs = store.solved_runs(&filter).await.expect("readable");
        runs.iter().map(|run| run.run.0).collect::<Vec<_>>()
    };
    assert_eq!(runs(SolvedFilter::default()).await, [2, 3, 1]);
    let limit = SolvedFilter { limit: Some(2), ..SolvedFilter::default() };
    assert_eq!(runs(limit).await, [2, 3]);
    let profile = SolvedFilter { profile: Some("agent".into()), ..SolvedFilter::default() };
    assert_eq!(runs(profile).await, [3, 1]);
    let whole = store.solved_runs(&SolvedFilter::default()).await.expect("readable");
    assert_eq!(whole[0], solved("s", 2, 30));
}

async fn m5_the_oldest_runs_are_thrown_away(store: &dyn Store) {
    let scribe = Scribe::new(store, "s").await;
    let more = u32::try_from(SOLVED_RUNS_MAX).expect("small") + 3;
    let mut append = scribe.next(1);
    append.solved = (1..=more).map(|run| solved("s", run, i64::from(run))).collect();
    store.append(append).await.expect("writable");
    let runs = store.solved_runs(&SolvedFilter::default()).await.expect("readable");
    assert_eq!(runs.len(), SOLVED_RUNS_MAX);
    assert_eq!(runs.last().map(|run| run.run.0), Some(4));
}

async fn m5_runs_of_a_deleted_session_are_gone(store: &dyn Store) {
    for (session, ts) in [("s", 1), ("t", 2)] {
        let scribe = Scribe::new(store, session).await;
        let mut append = scribe.next(1);
        append.solved = vec![solved(session, 1, ts)];
        append.recipe_use = vec![used("daily", true, ts)];
        store.append(append).await.expect("writable");
    }
    store.delete_session(&SessionId::new("s")).await.expect("deletable");
    let runs = store.solved_runs(&SolvedFilter::default()).await.expect("readable");
    assert_eq!(runs, [solved("t", 1, 2)]);
    // That a recipe was of use says nothing about the session.
    assert_eq!(store.recipe_counts().await.expect("readable")["daily"], standing(2, 0, 2));
}

/// Two processes that use one folder add up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn m5_two_programs_count_together() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let location = format!("sqlite:{}", folder.path().display());
    let one: Arc<dyn Store> = weir_store::open_store(&location).expect("a new store");
    let two: Arc<dyn Store> = weir_store::open_store(&location).expect("the same store");
    let write = |store: Arc<dyn Store>, session: &'static str| async move {
        let mut scribe = Scribe::new(&*store, session).await;
        for n in 1..=50 {
            let mut append = scribe.next(1);
            append.recipe_use = vec![used("daily", n % 5 != 0, n)];
            store.append(append.clone()).await.expect("writable");
            scribe.wrote(&append);
        }
    };
    tokio::join!(write(one.clone(), "s"), write(two, "t"));
    let counts = one.recipe_counts().await.expect("readable");
    assert_eq!((counts["daily"].successes, counts["daily"].failures), (80, 20));
}
