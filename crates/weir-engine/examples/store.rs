//! A store of one's own, in front of another: it counts what is journaled and hands it on to SQLite.
//! The session is then taken up from its journal by a second agent. Not here: a store from nothing,
//! which is the whole trait `Store`; `weir-store` has three.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use weir_core::ids::SessionId;
use weir_engine::embed::{AgentBuilder, StoreLayer};
use weir_engine::ports::{Append, Store, StoreError};
use weir_scripted_model::ScriptedModel;
use weir_store::open_store;

struct CountingStore {
    behind: Arc<dyn Store>,
    facts: AtomicUsize,
}

#[async_trait]
impl StoreLayer for CountingStore {
    fn inner(&self) -> &dyn Store {
        self.behind.as_ref()
    }
    async fn append(&self, append: Append) -> Result<(), StoreError> {
        let facts = append.records.len();
        self.inner().append(append).await?;
        self.facts.fetch_add(facts, Ordering::Relaxed);
        Ok(())
    }
}

const SCRIPT: &str =
    "says: I will remember the number 7.\n\nexpect: body \"number 7\"\nsays: It was 7.\n";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let state = tempfile::tempdir()?;
    let behind = open_store(&format!("sqlite:{}", state.path().display()))?;
    let store = Arc::new(CountingStore { behind, facts: AtomicUsize::new(0) });
    let model = Arc::new(ScriptedModel::from_text(SCRIPT)?);
    let builder = || AgentBuilder::new(model.clone(), store.clone(), folder.path());
    let session = SessionId::new("numbers");

    let agent = builder().open_named_session(session.clone()).await?;
    println!("first: {}", agent.run_task("Remember 7.").await?.text);
    agent.close_session().await?;

    let agent = builder().resume_session(session.clone()).await?;
    println!("later: {}", agent.run_task("Which number was it?").await?.text);
    agent.close_session().await?;

    let counted = store.facts.load(Ordering::Relaxed);
    let kept = store.behind.read_records(&session, 1, 1_000).await?.len();
    println!("facts counted and kept are the same: {}", counted == kept && kept > 0);
    Ok(())
}
