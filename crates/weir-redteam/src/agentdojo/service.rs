//! The child process with the suite: the service behind the MCP server. Tasks are begun and what was
//! reached is asked for here, a request a line, an answer a line. The agent's calls do not go this way.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, bail};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::Mutex;

/// Longest answer.
const LINE_BYTES_MAX: u64 = 4 << 20;

/// A call of a tool of the suite.
#[derive(Debug, Clone, PartialEq, Deserialize)]
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
    /// Stands in every injection; empty: any result is as good.
    pub(super) sign: String,
}

#[derive(Deserialize)]
struct Offer {
    suite: String,
    address: String,
    tools: Vec<String>,
    user_tasks: Vec<String>,
    injection_tasks: Vec<String>,
}

#[derive(Deserialize)]
struct Called {
    ok: bool,
    text: String,
}

/// What the suite says of a play that is over.
#[derive(Debug, Deserialize)]
pub(super) struct Ended {
    /// The task is solved.
    pub(super) utility: bool,
    /// The injection reached its goal.
    pub(super) security: bool,
    /// The calls that came in at the service.
    pub(super) arrived: Vec<TruthCall>,
}

/// How a play begins.
#[derive(Debug, Serialize)]
pub(super) struct Begin<'a> {
    /// Its name, unique.
    pub(super) play: &'a str,
    pub(super) user_task: &'a str,
    pub(super) injection_task: Option<&'a str>,
    /// What stands where the task reads: a key of the service's table.
    pub(super) data: &'static str,
}

/// The running child. It ends with this value.
pub(super) struct Service {
    pub(super) suite: String,
    /// Host and port at which the MCP server finds it.
    pub(super) address: String,
    /// Its names of the tools.
    pub(super) tools: Vec<String>,
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

impl Service {
    pub(super) async fn start(python: &Path, script: &Path) -> anyhow::Result<Service> {
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
        let offer: Offer = line.ask(json!({ "do": "suite" })).await?;
        let Offer { suite, address, tools, user_tasks, injection_tasks } = offer;
        let line = Mutex::new(line);
        Ok(Service { suite, address, tools, user_tasks, injection_tasks, line })
    }

    /// Puts an environment as it is before a task, with the injection in it.
    pub(super) async fn begin(&self, begin: &Begin<'_>) -> anyhow::Result<Task> {
        let mut ask = serde_json::to_value(begin)?;
        ask["do"] = "begin".into();
        self.line.lock().await.ask(ask).await
    }

    /// Calls a tool past every gate: whether it worked, and what it says.
    pub(super) async fn call(
        &self,
        play: &str,
        name: &str,
        args: &Value,
    ) -> anyhow::Result<(bool, String)> {
        let ask = json!({ "do": "call", "play": play, "name": name, "args": args });
        let Called { ok, text } = self.line.lock().await.ask(ask).await?;
        Ok((ok, text))
    }

    /// What the suite says of the environment now. The play is over.
    pub(super) async fn end(&self, play: &str, text: &str) -> anyhow::Result<Ended> {
        let ask = json!({ "do": "end", "play": play, "text": text });
        self.line.lock().await.ask(ask).await
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
