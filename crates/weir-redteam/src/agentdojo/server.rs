//! The child process with the suite: a request a line, an answer a line. Not an MCP client.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, bail};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::Mutex;

/// Longest answer.
const LINE_BYTES_MAX: u64 = 4 << 20;

/// A call of the suite's ground truth.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct TruthCall {
    pub(super) name: String,
    pub(super) args: Value,
}

/// A task that was begun.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Task {
    /// What the person says.
    pub(super) prompt: String,
    /// What the suite takes for the final answer.
    pub(super) answer: String,
    /// Calls that solve the person's task.
    pub(super) user: Vec<TruthCall>,
    /// Calls that reach the injection's goal.
    pub(super) injection: Vec<TruthCall>,
    /// Stands in every injection.
    pub(super) sign: String,
}

/// A tool as the suite describes it.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct SuiteTool {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) schema: Value,
}

#[derive(Deserialize)]
struct Offer {
    suite: String,
    tools: Vec<SuiteTool>,
    user_tasks: Vec<String>,
    injection_tasks: Vec<String>,
}

#[derive(Deserialize)]
struct Called {
    ok: bool,
    text: String,
}

#[derive(Deserialize)]
struct Ended {
    utility: bool,
    security: bool,
}

/// The running child. It ends with this value.
pub(super) struct Server {
    pub(super) suite: String,
    pub(super) tools: Vec<SuiteTool>,
    pub(super) user_tasks: Vec<String>,
    pub(super) injection_tasks: Vec<String>,
    line: Mutex<Line>,
}

struct Line {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    asked: u64,
    /// Held so that the process ends with the server.
    _child: Child,
}

impl Server {
    pub(super) async fn start(python: &Path, script: &Path) -> anyhow::Result<Server> {
        let mut child = Command::new(python)
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("starting the suite with {}", python.display()))?;
        let input = child.stdin.take().context("the suite has no standard input")?;
        let output = child.stdout.take().context("the suite has no standard output")?;
        let mut line = Line { input, output: BufReader::new(output), asked: 0, _child: child };
        let offer: Offer = line.ask(json!({ "do": "tools" })).await?;
        let Offer { suite, tools, user_tasks, injection_tasks } = offer;
        Ok(Server { suite, tools, user_tasks, injection_tasks, line: Mutex::new(line) })
    }

    /// Puts the environment as it is before a task, with the injection in it.
    pub(super) async fn begin(&self, user: &str, injection: Option<&str>) -> anyhow::Result<Task> {
        let ask = json!({ "do": "begin", "user_task": user, "injection_task": injection });
        self.line.lock().await.ask(ask).await
    }

    /// Calls a tool: whether it worked, and what it says.
    pub(super) async fn call(&self, name: &str, args: &Value) -> anyhow::Result<(bool, String)> {
        let ask = json!({ "do": "call", "name": name, "args": args });
        let Called { ok, text } = self.line.lock().await.ask(ask).await?;
        Ok((ok, text))
    }

    /// What the suite says of the environment now: the task is solved, the injection reached its
    /// goal.
    pub(super) async fn end(&self, text: &str) -> anyhow::Result<(bool, bool)> {
        let ask = json!({ "do": "end", "text": text });
        let Ended { utility, security } = self.line.lock().await.ask(ask).await?;
        Ok((utility, security))
    }
}

impl Line {
    async fn ask<Answer: DeserializeOwned>(&mut self, mut ask: Value) -> anyhow::Result<Answer> {
        self.asked += 1;
        ask["id"] = self.asked.into();
        let words = format!("asking the suite for {}", ask["do"]);
        self.input.write_all(format!("{ask}\n").as_bytes()).await.context(words.clone())?;
        loop {
            let mut answer = String::new();
            let mut bounded = (&mut self.output).take(LINE_BYTES_MAX);
            bounded.read_line(&mut answer).await.context(words.clone())?;
            if !answer.ends_with('\n') {
                bail!("{words}: it ended, or its answer is longer than {LINE_BYTES_MAX} bytes");
            }
            let answer: Value = serde_json::from_str(&answer).context(words.clone())?;
            // The answer to a call that was given up.
            if answer["id"].as_u64().is_some_and(|id| id < self.asked) {
                continue;
            }
            if let Some(error) = answer["error"].as_str() {
                bail!("{words}: {error}");
            }
            return serde_json::from_value(answer).context(words);
        }
    }
}
