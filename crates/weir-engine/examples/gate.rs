//! A gate of one's own: nothing below `billing/` is changed by this program, whatever mode, rule or
//! answer would allow it. A gate can only narrow; what it says stands in the journal with the call.
//! Not here: the gates that every program has (`weir_core::governance`).
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::sync::Arc;

use weir_core::event::Event;
use weir_core::profile::PermissionMode;
use weir_engine::embed::AgentBuilder;
use weir_engine::ports::{OwnGate, OwnGateCall, OwnVerdict, Store as _, fact_of};
use weir_scripted_model::ScriptedModel;
use weir_store::{MemoryCheckpoints, MemoryStore};

struct BillingIsFrozen;

impl OwnGate for BillingIsFrozen {
    fn name(&self) -> &str {
        "billing"
    }
    fn judge_call(&self, call: &OwnGateCall<'_>) -> OwnVerdict {
        let mut writes = call.inspection.effects.paths.iter().filter(|at| at.access.is_write());
        match writes.any(|at| at.path.starts_with("billing/")) {
            true => OwnVerdict::Deny("billing is frozen until the audit is over".into()),
            false => OwnVerdict::Pass,
        }
    }
}

const SCRIPT: &str = r#"
calls: write_file {"path": "billing/rates.txt", "content": "3 %"}
calls: write_file {"path": "notes.txt", "content": "asked for rates"}

says: The notes are written; billing is closed.
"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    std::fs::create_dir(folder.path().join("billing"))?;
    let store = Arc::new(MemoryStore::new());
    let model = Arc::new(ScriptedModel::from_text(SCRIPT)?);
    let agent = AgentBuilder::new(model, store.clone(), folder.path())
        .with_tools(weir_tools::built_in_tools())
        .with_checkpoints(Arc::new(MemoryCheckpoints::new()))
        .with_permission(PermissionMode::Full)
        .with_gate(BillingIsFrozen)
        .open_session()
        .await?;
    let finished = agent.run_task("Set the rates.").await?;
    println!("answer: {}", finished.text);
    println!("changed: {}", finished.changed_files.join(", "));
    let session = agent.session().id().clone();
    agent.close_session().await?;

    for record in store.read_records(&session, 1, 1_000).await? {
        if let Event::CallJudged(judged) = fact_of(&record)?.event.as_ref() {
            for opinion in &judged.inspection.own {
                println!("journaled: gate {} refused: {}", opinion.gate, opinion.reason);
            }
        }
    }
    Ok(())
}
