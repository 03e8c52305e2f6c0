//! An agent in twenty lines: it reads a file of a folder and answers. Not here: a real model, which
//! `weir-providers` has; this one plays a script, so that the example needs no network and no key.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::sync::Arc;

use weir_engine::embed::AgentBuilder;
use weir_scripted_model::ScriptedModel;
use weir_store::MemoryStore;

/// What the model will do, whatever it is asked.
const SCRIPT: &str = r#"
calls: read_file {"path": "notes.md"}

expect: result "colour: red"
says: It is red.
"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("notes.md"), "colour: red\n")?;

    let model = Arc::new(ScriptedModel::from_text(SCRIPT)?);
    let store = Arc::new(MemoryStore::new());
    let agent = AgentBuilder::new(model, store, folder.path())
        .with_tools(weir_tools::built_in_tools())
        .with_instructions("Answer in one sentence.")
        .open_session()
        .await?;
    let finished = agent.run_task("Which colour is in the notes?").await?;
    println!("answer: {}", finished.text);
    println!("status: {:?}, calls of tools: {}", finished.status, finished.tool_calls);
    agent.close_session().await?;
    Ok(())
}
