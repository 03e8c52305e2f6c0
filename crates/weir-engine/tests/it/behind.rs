//! Whoever listens to a session slower than it goes hears everything in its order, and an end where nothing is
//! left to be heard; whoever only waits until there is something takes nothing of it. Not
//! here: what is kept for whoever keeps up (`hub`).

use std::sync::Arc;

use futures::FutureExt as _;
use tempfile::TempDir;
use weir_core::event::Event;
use weir_engine::embed::AgentBuilder;
use weir_engine::hub::SessionUpdate;
use weir_engine::ports::Store;
use weir_scripted_model::ScriptedModel;
use weir_store::MemoryStore;

/// Runs that have more facts together than are kept in memory.
const RUNS: usize = 80;

#[tokio::test]
async fn l17_whoever_is_behind_hears_what_streamed_in_its_place_and_an_end_once_all_is_deleted() {
    let (folder, store) = (TempDir::new().unwrap(), Arc::new(MemoryStore::new()));
    let script: String = (0..RUNS).map(|n| format!("says: Answer {n}.\n\n")).collect();
    let model = Arc::new(ScriptedModel::from_text(&script).unwrap());
    let builder = AgentBuilder::new(model, store.clone(), folder.path());
    let agent = builder.open_session().await.unwrap();
    let id = agent.session().id().clone();
    let mut slow = agent.session().listen_to_updates(0);
    let mut late = agent.session().listen_to_updates(0);
    for _ in 0..RUNS {
        agent.run_task("Go on.").await.unwrap();
    }
    agent.close_session().await.unwrap();

    let (mut streamed, mut streams, mut facts) = (String::new(), Vec::new(), 0);
    while let Some(update) = slow.next().await.unwrap() {
        match update {
            SessionUpdate::Signal { text, .. } => streamed.push_str(&text),
            SessionUpdate::Fact(fact) => {
                facts += 1;
                assert_eq!(fact.seq, facts, "no gap, none twice");
                if matches!(fact.event.as_ref(), Event::ModelReplied(_)) {
                    streams.push(std::mem::take(&mut streamed));
                }
            }
        }
    }
    assert!(facts > 300, "it was behind: {facts}");
    assert_eq!(streams, (0..RUNS).map(|n| format!("Answer {n}.")).collect::<Vec<_>>());

    store.delete_session(&id).await.unwrap();
    assert!(late.next().await.unwrap().is_none());
}

#[tokio::test]
async fn q19_whoever_waits_until_there_is_something_takes_nothing_of_it() {
    let (folder, store) = (TempDir::new().unwrap(), Arc::new(MemoryStore::new()));
    let model = Arc::new(ScriptedModel::from_text("says: Answer.\n\nsays: Another.\n").unwrap());
    let agent = AgentBuilder::new(model, store, folder.path()).open_session().await.unwrap();
    let mut other = agent.session().listen_to_updates(0);
    let mut waiting = agent.session().listen_to_updates(0);
    let (mut taken, mut waited) = (Vec::new(), Vec::new());
    agent.run_task("Go on.").await.unwrap();
    while let Some(update) = other.next().now_or_never() {
        taken.push(format!("{:?}", update.unwrap().expect("it is open")));
        assert!(waiting.wait_for_update().now_or_never().is_some(), "it is still there");
        assert!(waiting.wait_for_update().now_or_never().is_some(), "nothing was taken");
        waited.push(format!("{:?}", waiting.next().await.unwrap().expect("it is open")));
    }
    assert!(taken.iter().any(|update| update.contains("Answer.")), "{taken:?}");
    assert_eq!(waited, taken);
    assert!(waiting.wait_for_update().now_or_never().is_none(), "there is nothing");

    let (next, ()) = tokio::join!(agent.run_task("Go on."), waiting.wait_for_update());
    next.unwrap();
    assert!(waiting.next().now_or_never().is_some(), "what woke it is there");
    agent.close_session().await.unwrap();
    while waiting.next().await.unwrap().is_some() {}
    waiting.wait_for_update().await;
    assert!(waiting.next().await.unwrap().is_none(), "an end is something, too");
}
