//! What a call of a foreign tool costs beside the bare SDK: the same server of the SDK at the end of
//! a pipe in memory, the same arguments; once with the SDK's own client, once through a hub.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use divan::Bencher;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::CallToolRequestParams;
use rmcp::{
    ClientServiceExt as _, ServerHandler, ServiceExt as _, tool, tool_handler, tool_router,
};
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;
use weir_core::ids::Timestamp;
use weir_engine::ports::Clock;
use weir_mcp::{
    LaunchedProcess, McpHub, McpOptions, ServerLauncher, ServerPin, ServerProcess, ServerSpec,
    ServerTransport, TokenStore,
};

/// Text that is sent there and back.
const TEXT_BYTES: &[usize] = &[100, 100_000];

fn main() {
    divan::main();
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Words {
    text: String,
}

struct Echo;

#[tool_router]
impl Echo {
    #[tool(description = "Says it again.")]
    fn echo(&self, Parameters(words): Parameters<Words>) -> String {
        words.text
    }
}

#[tool_handler]
impl ServerHandler for Echo {}

fn serve(stream: tokio::io::DuplexStream) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        let served = Echo.serve(stream).await.expect("it is greeted");
        let _ = served.waiting().await;
    })
}

fn arguments(bytes: usize) -> Map<String, Value> {
    let mut arguments = Map::new();
    arguments.insert("text".into(), json!("x".repeat(bytes)));
    arguments
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

#[divan::bench(args = TEXT_BYTES)]
fn bare_sdk(bencher: Bencher<'_, '_>, bytes: usize) {
    let runtime = runtime();
    let client = runtime.block_on(async {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        serve(theirs);
        let mode = rmcp::service::ClientLifecycleMode::Initialize;
        ().serve_with_lifecycle(ours, mode).await.expect("it answers")
    });
    let arguments = arguments(bytes);
    bencher.bench_local(|| {
        let params = CallToolRequestParams::new("echo").with_arguments(arguments.clone());
        runtime.block_on(client.call_tool(params)).expect("it answers")
    });
}

#[divan::bench(args = TEXT_BYTES)]
fn through_a_hub(bencher: Bencher<'_, '_>, bytes: usize) {
    let runtime = runtime();
    let hub = runtime.block_on(approved());
    let arguments = arguments(bytes);
    bencher.bench_local(|| {
        runtime.block_on(hub.call_tool("a", "echo", arguments.clone(), 60_000)).expect("it answers")
    });
}

async fn approved() -> McpHub {
    let transport = ServerTransport::Stdio {
        command: "echo".into(),
        args: Vec::new(),
        env: BTreeMap::new(),
        cwd: None,
    };
    let mut spec = ServerSpec::new("a", "a bench", transport);
    spec.protocol = Some("2025-11-25".into());
    let options = McpOptions {
        clock: Arc::new(WallClock(Instant::now())),
        launcher: Arc::new(InMemory),
        tokens: Arc::new(NoTokens),
        roots: Vec::new(),
        authorizer: None,
        elicit: None,
        sampler: None,
        version: "1".into(),
    };
    let looking = McpHub::new(vec![spec.clone()], BTreeMap::new(), options.clone());
    let listing = looking.fetch_listing("a").await.expect("it can be looked at");
    let pins = BTreeMap::from([("a".to_owned(), ServerPin::from_listing(&spec, listing))]);
    McpHub::new(vec![spec], pins, options)
}

struct InMemory;

#[async_trait]
impl ServerLauncher for InMemory {
    async fn launch(&self, _: &ServerSpec) -> Result<LaunchedProcess, String> {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let child = Box::new(Task(serve(theirs)));
        let (output, input) = tokio::io::split(ours);
        Ok(LaunchedProcess { input: Box::new(input), output: Box::new(output), child })
    }
}

struct Task(tokio::task::JoinHandle<()>);

#[async_trait]
impl ServerProcess for Task {
    async fn stderr_tail(&self) -> String {
        String::new()
    }
    async fn end_process(self: Box<Self>) {
        self.0.abort();
    }
}

struct NoTokens;

#[async_trait]
impl TokenStore for NoTokens {
    async fn load(&self, _: &str) -> Result<Option<String>, String> {
        Ok(None)
    }
    async fn save(&self, _: &str, _: Option<&str>) -> Result<(), String> {
        Ok(())
    }
}

struct WallClock(Instant);

#[async_trait]
impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        Timestamp(i64::try_from(self.0.elapsed().as_micros()).unwrap_or(i64::MAX))
    }
    async fn sleep_until(&self, until: Timestamp) {
        let left = until.0.saturating_sub(self.now().0);
        tokio::time::sleep(Duration::from_micros(u64::try_from(left).unwrap_or(0))).await;
    }
    fn random_number(&self) -> u64 {
        0
    }
}
