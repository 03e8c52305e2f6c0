//! A tool in twenty lines: it counts the words of a file. It says beforehand what it would touch, and
//! the gates judge that; so it never sees a file outside of the agent's folder. Not here: a tool that
//! changes something (`weir-tools` has many).
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use weir_core::governance::Permit;
use weir_core::tool::{EffectClass, Effects, PathAccess, RawResult, ToolGroup, ToolSpec};
use weir_engine::embed::AgentBuilder;
use weir_engine::ports::{CallPlan, FileContent, Tool, ToolContext};
use weir_scripted_model::ScriptedModel;
use weir_store::MemoryStore;

/// Larger files are not counted.
const BYTES_MAX: u64 = 1 << 20;

struct CountWords(ToolSpec);

#[async_trait]
impl Tool for CountWords {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }
    async fn plan_call(&self, input: &Value, cx: &ToolContext) -> CallPlan {
        let path = input["path"].as_str().unwrap_or_default();
        let paths = vec![cx.workspace.resolve(path, PathAccess::Read)];
        let summary = format!("Count the words of {path}");
        CallPlan::new(EffectClass::Read, Effects { paths, ..Effects::default() }, summary)
    }
    async fn run(&self, permit: Permit, cx: &ToolContext) -> RawResult {
        let found = cx.workspace.read(&permit.effects().paths[0], BYTES_MAX);
        match found {
            Ok(FileContent::File { bytes, .. }) => {
                let words = String::from_utf8_lossy(&bytes).split_whitespace().count();
                RawResult::ok(format!("{words} words"))
            }
            Ok(_) => RawResult::error("That is no file: name one of the folder."),
            Err(error) => RawResult::error(error.to_string()),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("poem.txt"), "so much depends upon\n")?;

    let path = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    let about = "Counts the words of a file.";
    let tool = CountWords(ToolSpec::new("count_words", about, ToolGroup::Read, path));
    let script = r#"
calls: count_words {"path": "poem.txt"}
calls: count_words {"path": "/etc/passwd"}

expect: result "4 words"
says: The poem has four words; the other file is not mine to read.
"#;
    let model = Arc::new(ScriptedModel::from_text(script)?);
    let agent = AgentBuilder::new(model, Arc::new(MemoryStore::new()), folder.path())
        .with_tool(tool)
        .open_session()
        .await?;
    let finished = agent.run_task("How long is the poem?").await?;
    println!("answer: {}", finished.text);
    for denial in &finished.denials {
        println!("not done: {} (asked: {})", denial.summary, denial.by);
    }
    agent.close_session().await?;
    Ok(())
}
