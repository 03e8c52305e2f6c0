//! The child, and a host that answers as a test says.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use weir_engine::ports::{HostCall, NoHost, ScriptHost, ScriptKind, ScriptTask, Scripts};
use weir_script::ChildScripts;

/// The example that is the child.
pub(crate) fn program() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let target = test.parent().and_then(Path::parent).expect("tests are built two folders deep");
    let program = target.join("examples/script_child");
    assert!(program.exists(), "{} is built by `cargo test`", program.display());
    program
}

pub(crate) fn scripts() -> ChildScripts {
    ChildScripts::with_arguments(program(), Vec::new())
}

/// Long enough for every test: none waits for it, but those that end a script by its time.
pub(crate) const LONG: Duration = Duration::from_secs(60);

pub(crate) fn script(kind: ScriptKind, code: &str) -> ScriptTask {
    ScriptTask { kind, code: code.into(), input: json!({ "n": 3, "text": "häß" }), time: LONG }
}

pub(crate) async fn runs(scripts: &ChildScripts, script: ScriptTask) -> Result<String, String> {
    scripts.run(script, &NoHost, &CancellationToken::new()).await
}

/// The result of `run` with this body.
pub(crate) async fn module(body: &str) -> Result<String, String> {
    let code = format!("export async function run(input, host) {{\n{body}\n}}\n");
    runs(&scripts(), script(ScriptKind::Module, &code)).await
}

pub(crate) async fn expression(code: &str) -> Result<String, String> {
    runs(&scripts(), script(ScriptKind::Expression, code)).await
}

/// Remembers what it was asked; answers with the name of the tool, and fails for `bad`.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) calls: Mutex<Vec<(String, Value, bool)>>,
    pub(crate) logs: Mutex<Vec<String>>,
}

#[async_trait]
impl ScriptHost for Told {
    async fn call_host(&self, call: HostCall) -> Result<String, String> {
        let answer = match call.tool.as_str() {
            "bad" => Err("bad was denied: no".to_string()),
            "large" => Ok("x".repeat(5 << 20)),
            tool => Ok(format!("answer of {tool}")),
        };
        self.calls.lock().expect("a lock").push((call.tool, call.input, call.whole));
        answer
    }
    fn log(&self, text: &str) {
        self.logs.lock().expect("a lock").push(text.into());
    }
}
