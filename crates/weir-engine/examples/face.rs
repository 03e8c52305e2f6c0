//! A face: it shows what a session does while it does it, and asks before a file is changed. The
//! person of this example says yes to what stays in `drafts/` and no to the rest. Not here: the faces
//! of Weir, which fold the same facts (`weir_core::view`).
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::sync::Arc;

use weir_core::event::{ApprovalRequested, Decision, Event};
use weir_core::message::plain_text;
use weir_engine::embed::{AgentBuilder, EmbeddedAgent};
use weir_engine::engine::EngineError;
use weir_engine::hub::SessionUpdate;
use weir_scripted_model::ScriptedModel;
use weir_store::{MemoryCheckpoints, MemoryStore};

const PERSON: &str = "ann";

/// Shows every fact until the run is over, and answers what asks.
async fn show_session(agent: &EmbeddedAgent) -> Result<(), EngineError> {
    let mut updates = agent.session().listen_to_updates(0);
    while let Some(update) = updates.next().await? {
        let SessionUpdate::Fact(fact) = update else { continue };
        match fact.event.as_ref() {
            Event::InputAccepted(input) => println!("{PERSON}> {}", plain_text(&input.content)),
            Event::ModelReplied(reply) => println!("agent> {}", plain_text(&reply.content)),
            Event::ApprovalRequested(asked) => answer_question(agent, asked).await?,
            Event::CallFinished(finished) => println!("  done, ok: {}", finished.ok),
            Event::RunFinished(finished) => {
                println!("  over: {:?}, changed: {:?}", finished.status, finished.changed_files);
                break;
            }
            _ => (),
        }
    }
    Ok(())
}

async fn answer_question(
    agent: &EmbeddedAgent,
    asked: &ApprovalRequested,
) -> Result<(), EngineError> {
    let path = asked.input["path"].as_str().unwrap_or_default();
    let decision = match path.starts_with("drafts/") {
        true => Decision::Once,
        false => Decision::Deny,
    };
    println!("  asks: {} -> {decision:?}", asked.summary);
    agent.session().decide_approval(asked.approval.clone(), decision, PERSON, None).await
}

const SCRIPT: &str = r#"
says: I write both.
calls: write_file {"path": "drafts/a.md", "content": "A draft."}

says: Now the other.
calls: write_file {"path": "final.md", "content": "Final."}

says: The draft is there; the other you did not want.
"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    std::fs::create_dir(folder.path().join("drafts"))?;
    let model = Arc::new(ScriptedModel::from_text(SCRIPT)?);
    let agent = AgentBuilder::new(model, Arc::new(MemoryStore::new()), folder.path())
        .with_tools(weir_tools::built_in_tools())
        .with_checkpoints(Arc::new(MemoryCheckpoints::new()))
        .with_person(PERSON)
        .open_session()
        .await?;
    let (finished, shown) =
        futures::future::join(agent.run_task("Write a draft and the final."), show_session(&agent))
            .await;
    shown?;
    assert!(finished?.denials.len() == 1, "one of the two was refused");
    agent.close_session().await?;
    Ok(())
}
