//! A scripted server at the end of a pipe in memory, and a hub that starts it. Time is tokio's own,
//! so that a paused test runs at once.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use weir_core::ids::Timestamp;
use weir_engine::ports::Clock;
use weir_mcp::{
    LaunchedProcess, McpHub, McpOptions, ServerLauncher, ServerPin, ServerProcess, ServerReport,
    ServerSpec, ServerState, ServerTransport, TokenStore,
};

/// What a scripted server does with a call.
#[derive(Debug, Clone)]
pub(crate) enum Do {
    /// Answers with this result.
    Answer(Value),
    /// Refuses.
    Refuse(String),
    /// Says nothing.
    Hang,
    /// Ends.
    Die,
    /// Writes these bytes, then answers.
    Write(Vec<u8>, Option<Value>),
    /// Tells progress so often, so many milliseconds apart, then answers.
    Progress(u32, u64, Value),
    /// Asks this of us (method, params), and answers with what came back.
    Ask(&'static str, Value),
    /// Says that its tools changed to these, then answers.
    Change(Vec<Value>, Value),
}

/// Which life of the protocol it knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// 2026-07-28.
    Modern,
    /// Up to 2025-11-25; it refuses what it does not know.
    Old,
    /// The same; it does not answer what it does not know.
    OldAndSilent,
    /// It never says anything.
    Mute,
}

/// A scripted server.
pub(crate) struct Fake {
    pub(crate) era: Era,
    pub(crate) name: Mutex<String>,
    pub(crate) tools: Mutex<Vec<Value>>,
    pub(crate) script: Mutex<Vec<Do>>,
    /// Everything that it received.
    pub(crate) heard: Mutex<Vec<Value>>,
    pub(crate) starts: AtomicUsize,
    /// It cannot be started so often.
    pub(crate) refusals: AtomicUsize,
    /// It does not answer when it is asked so often for its list.
    pub(crate) muted_lists: AtomicUsize,
    /// Its list never ends.
    pub(crate) endless: bool,
}

impl Fake {
    pub(crate) fn new(era: Era) -> Arc<Fake> {
        Arc::new(Fake::of(era))
    }

    pub(crate) fn of(era: Era) -> Fake {
        Fake {
            era,
            name: Mutex::new("fake".into()),
            tools: Mutex::new(vec![tool("echo", "Says it again."), tool("list_all", "Lists.")]),
            script: Mutex::default(),
            heard: Mutex::default(),
            starts: AtomicUsize::new(0),
            refusals: AtomicUsize::new(0),
            muted_lists: AtomicUsize::new(0),
            endless: false,
        }
    }

    pub(crate) fn does(self: &Arc<Self>, next: Do) -> Arc<Fake> {
        self.script.lock().expect("no test panics with it").push(next);
        self.clone()
    }

    pub(crate) fn starts(&self) -> usize {
        self.starts.load(Ordering::SeqCst)
    }

    pub(crate) fn methods(&self) -> Vec<String> {
        let heard = self.heard.lock().expect("no test panics with it");
        heard.iter().filter_map(|m| Some(m.get("method")?.as_str()?.to_owned())).collect()
    }

    async fn serve(self: Arc<Self>, stream: DuplexStream) {
        let (reading, mut writing) = tokio::io::split(stream);
        let mut lines = BufReader::new(reading).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let message: Value = serde_json::from_str(&line).expect("we send JSON");
            self.heard.lock().expect("no test panics with it").push(message.clone());
            let Some(method) = message["method"].as_str() else { continue };
            let id = message["id"].clone();
            let answer = match (self.era, method) {
                (Era::Mute, _) => continue,
                (Era::Modern, "server/discover") => Ok(json!({
                    "resultType": "complete",
                    "supportedVersions": ["2026-07-28"],
                    "capabilities": { "tools": {}, "resources": {}, "prompts": {} },
                    "ttlMs": 0, "cacheScope": "private",
                    "_meta": { "io.modelcontextprotocol/serverInfo": self.info() },
                })),
                (Era::Old | Era::OldAndSilent, "initialize") => Ok(json!({
                    "protocolVersion": message["params"]["protocolVersion"],
                    "capabilities": { "tools": { "listChanged": true }, "resources": {},
                        "prompts": {} },
                    "serverInfo": self.info(),
                })),
                (_, "tools/list") if counted_down(&self.muted_lists) => continue,
                (_, "tools/list") => Ok(self.listed(&message)),
                (_, "tools/call") => {
                    if !self.call(&message, &mut lines, &mut writing).await {
                        return;
                    }
                    continue;
                }
                (_, "resources/list") => Ok(json!({ "resources": [
                    { "uri": "x://1", "name": "one", "description": "The first." }] })),
                (_, "prompts/list") => Ok(json!({ "prompts": [{ "name": "p" }] })),
                (_, "notifications/initialized" | "notifications/cancelled") => continue,
                (Era::OldAndSilent, _) => continue,
                _ => Err("Method not found".to_owned()),
            };
            let answer = match answer {
                Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
                Err(why) => json!({ "jsonrpc": "2.0", "id": id,
                    "error": { "code": -32601, "message": why } }),
            };
            if write(&mut writing, &answer).await.is_err() {
                return;
            }
        }
    }

    fn info(&self) -> Value {
        json!({ "name": *self.name.lock().expect("no test panics with it"), "version": "1.0" })
    }

    fn listed(&self, request: &Value) -> Value {
        let mut result = json!({ "tools": *self.tools.lock().expect("no test panics with it") });
        if self.era == Era::Modern {
            result["resultType"] = json!("complete");
        }
        if self.endless {
            let at = request["params"]["cursor"].as_str().and_then(|c| c.parse().ok());
            result["nextCursor"] = json!((at.unwrap_or(0u64) + 1).to_string());
        }
        result
    }

    /// Whether it goes on.
    async fn call(
        &self,
        message: &Value,
        lines: &mut tokio::io::Lines<BufReader<tokio::io::ReadHalf<DuplexStream>>>,
        writing: &mut tokio::io::WriteHalf<DuplexStream>,
    ) -> bool {
        let id = &message["id"];
        let next = {
            let mut script = self.script.lock().expect("no test panics with it");
            if script.is_empty() { None } else { Some(script.remove(0)) }
        };
        let echoed = || said(&message["params"]["arguments"].to_string());
        let result = match next {
            None => echoed(),
            Some(Do::Answer(result)) => result,
            Some(Do::Refuse(why)) => {
                let error = json!({ "code": -32000, "message": why });
                let refusal = json!({ "jsonrpc": "2.0", "id": id, "error": error });
                return write(writing, &refusal).await.is_ok();
            }
            Some(Do::Hang) => return true,
            Some(Do::Die) => return false,
            Some(Do::Write(bytes, result)) => {
                if writing.write_all(&bytes).await.is_err() {
                    return false;
                }
                match result {
                    Some(result) => result,
                    None => return true,
                }
            }
            Some(Do::Progress(times, apart, result)) => {
                let token = &message["params"]["_meta"]["progressToken"];
                for n in 1..=times {
                    tokio::time::sleep(Duration::from_millis(apart)).await;
                    let told = json!({ "jsonrpc": "2.0", "method": "notifications/progress",
                        "params": { "progressToken": token, "progress": n, "total": times,
                            "message": "going on" } });
                    if write(writing, &told).await.is_err() {
                        return false;
                    }
                }
                result
            }
            Some(Do::Ask(method, params)) => {
                let asking =
                    json!({ "jsonrpc": "2.0", "id": 900, "method": method, "params": params });
                if write(writing, &asking).await.is_err() {
                    return false;
                }
                let Ok(Some(line)) = lines.next_line().await else { return false };
                said(&line)
            }
            Some(Do::Change(tools, result)) => {
                *self.tools.lock().expect("no test panics with it") = tools;
                let told =
                    json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
                if write(writing, &told).await.is_err() {
                    return false;
                }
                result
            }
        };
        let mut answer = json!({ "jsonrpc": "2.0", "id": id, "result": result });
        if self.era == Era::Modern {
            answer["result"]["resultType"] = json!("complete");
        }
        write(writing, &answer).await.is_ok()
    }
}

/// Whether there was one left, which is taken.
fn counted_down(count: &AtomicUsize) -> bool {
    let taken = count.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
    taken.is_ok()
}

async fn write(
    writing: &mut tokio::io::WriteHalf<DuplexStream>,
    message: &Value,
) -> std::io::Result<()> {
    writing.write_all(format!("{message}\n").as_bytes()).await
}

pub(crate) fn tool(name: &str, description: &str) -> Value {
    json!({ "name": name, "description": description,
        "inputSchema": { "type": "object", "properties": { "text": { "type": "string" } } } })
}

/// A result with this text.
pub(crate) fn said(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

/// Starts scripted servers by the name of their command.
#[derive(Default)]
pub(crate) struct Stage(pub(crate) BTreeMap<String, Arc<Fake>>);

#[async_trait]
impl ServerLauncher for Stage {
    async fn launch(&self, spec: &ServerSpec) -> Result<LaunchedProcess, String> {
        let ServerTransport::Stdio { command, .. } = &spec.transport else {
            return Err("no program".into());
        };
        let fake = self.0.get(command).ok_or("there is no such program")?.clone();
        fake.starts.fetch_add(1, Ordering::SeqCst);
        if counted_down(&fake.refusals) {
            return Err("it cannot be started today".into());
        }
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let task = tokio::spawn(fake.serve(theirs));
        let (output, input) = tokio::io::split(ours);
        let child = Box::new(Task(task));
        Ok(LaunchedProcess { input: Box::new(input), output: Box::new(output), child })
    }
}

struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[async_trait]
impl ServerProcess for Task {
    async fn stderr_tail(&self) -> String {
        "last words".into()
    }
    async fn end_process(self: Box<Self>) {
        self.0.abort();
    }
}

/// Time as the test's runtime has it.
pub(crate) struct TestClock(Instant);

#[async_trait]
impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp(i64::try_from(self.0.elapsed().as_micros()).expect("a test needs it") + 1_000_000)
    }
    async fn sleep_until(&self, until: Timestamp) {
        let left = until.0.saturating_sub(self.now().0);
        tokio::time::sleep(Duration::from_micros(u64::try_from(left).unwrap_or(0))).await;
    }
    fn random_number(&self) -> u64 {
        0
    }
}

/// Tokens in memory.
#[derive(Default)]
pub(crate) struct Tokens(pub(crate) Mutex<BTreeMap<String, String>>);

#[async_trait]
impl TokenStore for Tokens {
    async fn load(&self, server: &str) -> Result<Option<String>, String> {
        Ok(self.0.lock().expect("no test panics with it").get(server).cloned())
    }
    async fn save(&self, server: &str, text: Option<&str>) -> Result<(), String> {
        let mut kept = self.0.lock().expect("no test panics with it");
        match text {
            Some(text) => kept.insert(server.to_owned(), text.to_owned()),
            None => kept.remove(server),
        };
        Ok(())
    }
}

pub(crate) fn options(stage: Stage) -> McpOptions {
    McpOptions {
        clock: Arc::new(TestClock(Instant::now())),
        launcher: Arc::new(stage),
        tokens: Arc::new(Tokens::default()),
        roots: vec!["/work space/a".into()],
        authorizer: None,
        elicit: None,
        sampler: None,
        version: "1.0".into(),
    }
}

pub(crate) fn spec(name: &str) -> ServerSpec {
    let transport = ServerTransport::Stdio {
        command: name.to_owned(),
        args: Vec::new(),
        env: BTreeMap::new(),
        cwd: None,
    };
    ServerSpec::new(name, "a test", transport)
}

/// A hub of these servers, each approved as it is now.
pub(crate) async fn approved(fakes: &[(&str, &Arc<Fake>)]) -> McpHub {
    approved_with(fakes, |_, _| ()).await
}

/// The same with other options or declarations.
pub(crate) async fn approved_with(
    fakes: &[(&str, &Arc<Fake>)],
    change: impl Fn(&mut McpOptions, &mut ServerSpec),
) -> McpHub {
    let stage = || Stage(fakes.iter().map(|(n, f)| ((*n).to_owned(), (*f).clone())).collect());
    let mut options = options(stage());
    let mut specs = Vec::new();
    for (name, _) in fakes {
        let mut spec = spec(name);
        change(&mut options, &mut spec);
        specs.push(spec);
    }
    let looking = McpHub::new(specs.clone(), BTreeMap::new(), options.clone());
    let mut pins = BTreeMap::new();
    for spec in &specs {
        let listing = looking.fetch_listing(&spec.name).await.expect("it can be looked at");
        pins.insert(spec.name.clone(), ServerPin::from_listing(spec, listing));
    }
    for (_, fake) in fakes {
        fake.starts.store(0, Ordering::SeqCst);
        fake.heard.lock().expect("no test panics with it").clear();
    }
    McpHub::new(specs, pins, options)
}

pub(crate) async fn call(hub: &McpHub, server: &str, tool: &str) -> Result<Value, String> {
    let mut arguments = Map::new();
    arguments.insert("text".into(), json!("hello"));
    hub.call_tool(server, tool, arguments, 60_000).await
}

pub(crate) fn text_of(result: &Value) -> String {
    result["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}

pub(crate) fn report(hub: &McpHub, server: &str) -> ServerReport {
    hub.server_reports().into_iter().find(|report| report.name == server).expect("it is declared")
}

pub(crate) fn state(hub: &McpHub, server: &str) -> ServerState {
    report(hub, server).state
}
