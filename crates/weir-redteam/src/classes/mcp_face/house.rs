//! Weir as an MCP server as it is, in this process, and programs at its streams that send whatever they like. Not
//! here: what is tried (`mcp_face`).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use weir_install::config::{ApprovalWay, ClientRoots, ClientTrust};
use weir_install::context::{InstallationContext, NamedFolders};
use weir_install::environment::ProcessEnvironment;
use weir_install::mcp_serving::{ClientAgent, ServeOptions};
use weir_install::notifier::Notifier;
use weir_install::wiring::SessionOverrides;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long it is waited for what must not come.
const BRIEFLY: Duration = Duration::from_millis(300);
/// Bytes on the way at once.
const PIPE_BYTES: usize = 1 << 20;
/// What stands in the file beside the folder.
pub(super) const BESIDE: &str = "mrk-beside-the-folder";

/// A folder with something to read in it and something beside it, and the agent that serves it.
pub(super) struct FaceHouse {
    folder: tempfile::TempDir,
    agent: Arc<ClientAgent>,
}

impl FaceHouse {
    /// Opens it. What needs an answer is asked this way.
    pub(super) async fn open(approvals: ApprovalWay) -> anyhow::Result<FaceHouse> {
        let folder = tempfile::Builder::new().prefix("Weir-redteam-").tempdir()?;
        let at = |path: &str| folder.path().join(path);
        for name in ["work", "home", "config", "state"] {
            std::fs::create_dir_all(at(name))?;
        }
        std::fs::write(at("work/a.txt"), "one\n")?;
        std::fs::write(at("beside.txt"), format!("{BESIDE}\n"))?;
        let text = |path: PathBuf| path.display().to_string();
        let (home, config) = (text(at("home")), text(at("config")));
        let variables = [("HOME", home.as_str()), ("XDG_CONFIG_HOME", config.as_str())];
        let named = NamedFolders { workspace: Some(at("work")), state_dir: Some(at("state")) };
        let environment = ProcessEnvironment::of(&variables);
        let cx = InstallationContext::new(&named, environment, Notifier::SILENT)?;
        let serving = ServeOptions {
            flags: SessionOverrides::default(),
            approvals,
            trust: ClientTrust::Foreign,
            roots: ClientRoots::Follow,
            sampling: true,
            label: "the hostile bench",
            rest: None,
        };
        let agent = Arc::new(ClientAgent::start_agent(cx, serving).await?);
        Ok(FaceHouse { folder, agent })
    }

    pub(super) fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// A file that must not have come into being, if it has; it is taken away for the next attempt.
    pub(super) fn reached(&self, path: &str) -> Option<String> {
        let path = self.at("work").join(path);
        let there = path.exists().then(|| format!("{} is there", path.display()));
        if there.is_some() {
            // Whatever is left would count again.
            let _ = std::fs::remove_file(&path);
        }
        there
    }

    pub(super) async fn close(self) {
        self.agent.close_agent().await;
    }

    /// A program at streams of its own.
    pub(super) fn connect(&self) -> Program {
        let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
        let (input, output) = tokio::io::split(theirs);
        let served = weir_mcp_server::serve_streams(
            self.agent.clone(),
            input,
            output,
            CancellationToken::new(),
        );
        let served = tokio::spawn(async move { served.await.map_err(|error| error.to_string()) });
        let (reads, writes) = tokio::io::split(ours);
        let (tell, told) = mpsc::unbounded_channel();
        let reader = tokio::spawn(async move {
            let mut lines = BufReader::new(reads).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                if tell.send(line).is_err() {
                    return;
                }
            }
        });
        Program { writes, told, heard: Vec::new(), sent: 0, served, _reader: reader }
    }
}

/// A program that calls tools.
pub(super) struct Program {
    writes: tokio::io::WriteHalf<DuplexStream>,
    told: mpsc::UnboundedReceiver<String>,
    /// Every line that it was told, as it was.
    pub(super) heard: Vec<String>,
    sent: u64,
    served: JoinHandle<Result<(), String>>,
    _reader: JoinHandle<()>,
}

impl Program {
    /// Sends bytes, with the end of a line.
    pub(super) async fn send_bytes(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.writes.write_all(bytes).await?;
        self.writes.write_all(b"\n").await?;
        Ok(())
    }

    pub(super) async fn send(&mut self, message: &Value) -> anyhow::Result<()> {
        self.send_bytes(message.to_string().as_bytes()).await
    }

    /// Begins as a program of this name that can be asked these things.
    pub(super) async fn begin(&mut self, name: &str, able: &Value) -> anyhow::Result<()> {
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": able,
            "clientInfo": {"name": name, "version": "1"}
        });
        self.ask("initialize", params).await?;
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await
    }

    /// Sends a request; its number.
    pub(super) async fn request(&mut self, method: &str, params: Value) -> anyhow::Result<u64> {
        self.sent += 1;
        let mut message = json!({"jsonrpc": "2.0", "id": self.sent, "method": method});
        message["params"] = params;
        self.send(&message).await?;
        Ok(self.sent)
    }

    pub(super) async fn call(&mut self, tool: &str, arguments: Value) -> anyhow::Result<u64> {
        let token = self.sent + 1;
        let params =
            json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": token}});
        self.request("tools/call", params).await
    }

    /// The next message that is as wanted, after those that were heard before; none: none came in time.
    async fn next_within(
        &mut self,
        wait: Duration,
        wanted: impl Fn(&Value) -> bool,
    ) -> Option<Value> {
        let until = tokio::time::Instant::now() + wait;
        loop {
            let line = tokio::time::timeout_at(until, self.told.recv()).await.ok()??;
            let message = serde_json::from_str(&line).unwrap_or(Value::Null);
            self.heard.push(line);
            if wanted(&message) {
                return Some(message);
            }
        }
    }

    /// The answer to a request.
    pub(super) async fn answer_to(&mut self, id: u64) -> anyhow::Result<Value> {
        let is_it = |message: &Value| message["id"] == id && message.get("method").is_none();
        let answer = self.next_within(PATIENCE, is_it).await;
        answer.with_context(|| format!("no answer to {id}: {:?}", self.heard.last()))
    }

    pub(super) async fn ask(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        let id = self.request(method, params).await?;
        self.answer_to(id).await
    }

    /// The next request of the server of this method, with its number; none: it asks nothing.
    pub(super) async fn asked(&mut self, method: &str) -> Option<Value> {
        self.next_within(PATIENCE, |message| message["method"] == method).await
    }

    /// The next line that has these words in it.
    pub(super) async fn hear(&mut self, words: &str) -> anyhow::Result<String> {
        let message = self.next_within(PATIENCE, |told| told.to_string().contains(words)).await;
        Ok(message.with_context(|| format!("{words:?} was not heard"))?.to_string())
    }

    /// Hears what comes, for a short time.
    pub(super) async fn listen(&mut self) {
        self.next_within(BRIEFLY, |_| false).await;
    }

    pub(super) async fn answer(&mut self, id: &Value, result: Value) -> anyhow::Result<()> {
        let mut message = json!({"jsonrpc": "2.0", "id": id});
        message["result"] = result;
        self.send(&message).await
    }

    /// Names its folders when it is asked for them.
    pub(super) async fn name_folders(&mut self, folders: &[&str]) -> anyhow::Result<()> {
        let asked = self.asked("roots/list").await.context("it asks for no folders")?;
        let roots: Vec<Value> = folders.iter().map(|uri| json!({ "uri": uri })).collect();
        self.answer(&asked["id"], json!({ "roots": roots })).await
    }

    /// Gives a call up, and hears its end.
    pub(super) async fn give_up(&mut self, id: u64) -> anyhow::Result<()> {
        let params = json!({"requestId": id, "reason": "enough"});
        let mut message = json!({"jsonrpc": "2.0", "method": "notifications/cancelled"});
        message["params"] = params;
        self.send(&message).await?;
        self.listen().await;
        Ok(())
    }

    /// That it is still answered: what it sent kept nobody from working.
    pub(super) async fn is_answered(&mut self) -> bool {
        self.ask("ping", json!({})).await.is_ok()
    }

    pub(super) async fn leave(mut self) -> anyhow::Result<()> {
        self.writes.shutdown().await?;
        drop(self.writes);
        match tokio::time::timeout(PATIENCE, self.served).await {
            Ok(Ok(Ok(()))) => Ok(()),
            other => bail!("the server did not end well: {other:?}"),
        }
    }
}

/// An address of a folder.
pub(super) fn uri_of(path: &Path) -> String {
    format!("file://{}", path.display())
}
