//! What was folded of a session a moment ago is gone on with: with what was written since, and only where it is
//! the fold of the very journal. Not here: what a fold holds (`weir-core`) and snapshots of it (`weir-scenario`).

use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;
use weir_core::ids::SessionId;
use weir_engine::embed::{AgentBuilder, EmbeddedAgent};
use weir_engine::engine::{Loaded, load, load_if_any};
use weir_scripted_model::ScriptedModel;
use weir_store::MemoryStore;

fn builder(store: &Arc<MemoryStore>, folder: &Path) -> AgentBuilder {
    let script = "says: One.\n\nsays: Two.\n\nsays: Three.\n";
    let model = Arc::new(ScriptedModel::from_text(script).unwrap());
    AgentBuilder::new(model, store.clone(), folder)
}

async fn say(agent: EmbeddedAgent, text: &str) {
    agent.run_task(text).await.unwrap();
    agent.close_session().await.unwrap();
}

fn assert_same(one: &Loaded, other: &Loaded) {
    assert_eq!(format!("{:?}", one.session), format!("{:?}", other.session));
    assert_eq!((&one.last, one.created), (&other.last, other.created));
    assert_eq!((&one.parent, one.snapshot), (&other.parent, other.snapshot));
}

#[tokio::test]
async fn q19_what_was_folded_a_moment_ago_is_gone_on_with_where_it_is_of_the_very_journal() {
    let (folder, store) = (TempDir::new().unwrap(), Arc::new(MemoryStore::new()));
    let id = SessionId::new("s");
    assert!(load_if_any(&*store, &id).await.unwrap().is_none());
    let agent = builder(&store, folder.path()).open_named_session(id.clone()).await.unwrap();
    say(agent, "Begin.").await;
    let [still, longer, gone, another] = [
        load(&*store, &id).await.unwrap(),
        load(&*store, &id).await.unwrap(),
        load(&*store, &id).await.unwrap(),
        load(&*store, &id).await.unwrap(),
    ];
    let facts = still.session.fact_count();
    let still = still.catch_up(&*store).await.unwrap();
    assert_same(&still, &load(&*store, &id).await.unwrap());

    let agent = builder(&store, folder.path()).resume_session(id.clone()).await.unwrap();
    say(agent, "Go on.").await;
    let longer = longer.catch_up(&*store).await.unwrap();
    assert!(longer.session.fact_count() > facts);
    assert_same(&longer, &load(&*store, &id).await.unwrap());

    assert!(gone.catch_up(&MemoryStore::new()).await.is_err());
    let other = Arc::new(MemoryStore::new());
    let agent = builder(&other, folder.path()).open_named_session(id.clone()).await.unwrap();
    say(agent, "Something else.").await;
    let another = another.catch_up(&*other).await.unwrap();
    assert_same(&another, &load(&*other, &id).await.unwrap());
}
