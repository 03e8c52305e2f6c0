//! Servers on the network: the SDK's own server behind HTTP, and ones that misbehave.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Redirect};
use axum::routing::any;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ServerHandler, tool, tool_handler, tool_router};
use serde_json::{Map, json};
use weir_core::secret::Secret;
use weir_mcp::{McpHub, ServerPin, ServerSpec, ServerState, ServerTransport};

use crate::world::*;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Words {
    text: String,
}

/// A server as people write them with the SDK.
struct Real;

#[tool_router]
impl Real {
    #[tool(description = "Says it again.")]
    fn echo(&self, Parameters(words): Parameters<Words>) -> String {
        words.text
    }
}

#[tool_handler]
impl ServerHandler for Real {}

pub(crate) async fn listen(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a test needs it");
    let address = listener.local_addr().expect("a test needs it");
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}

pub(crate) fn real() -> Router {
    let service = StreamableHttpService::new(
        || Ok(Real),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    Router::new().nest_service("/mcp", service)
}

pub(crate) fn at(url: &str) -> ServerSpec {
    let transport = ServerTransport::Http { url: url.to_owned(), headers: BTreeMap::new() };
    ServerSpec::new("a", "a test", transport)
}

pub(crate) async fn hub_of(spec: ServerSpec, options: weir_mcp::McpOptions) -> McpHub {
    let looking = McpHub::new(vec![spec.clone()], BTreeMap::new(), options.clone());
    let listing = looking.fetch_listing("a").await.expect("it can be looked at");
    let pins = BTreeMap::from([("a".to_owned(), ServerPin::from_listing(&spec, listing))]);
    McpHub::new(vec![spec], pins, options)
}

#[tokio::test]
async fn f4_a_server_of_the_sdk_is_used_over_http_in_both_lives() {
    let address = listen(real()).await;
    for (wish, spoken) in [(None, "2026-07-28"), (Some("2025-11-25"), "2025-11-25")] {
        let mut spec = at(&format!("{address}/mcp"));
        spec.protocol = wish.map(str::to_owned);
        let hub = hub_of(spec, options(Stage::default())).await;
        let result = call(&hub, "a", "echo").await.expect("it answers");
        assert_eq!(text_of(&result), "hello");
        match state(&hub, "a") {
            ServerState::Ready { tools: 1, protocol, .. } => assert_eq!(protocol, spoken),
            other => panic!("{other:?}"),
        }
        let failed = hub.call_tool("a", "echo", Map::new(), 10_000).await.expect("it answers");
        assert_eq!(failed["isError"], json!(true), "what is missing is the server's to say");
        hub.close().await;
    }
}

#[tokio::test]
async fn z8_nobody_is_led_to_another_server() {
    let elsewhere = listen(Router::new().route("/mcp", any(|| async { "leaked" }))).await;
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let heard = seen.clone();
    let elsewhere_heard = Router::new().fallback(any(move |headers: axum::http::HeaderMap| {
        heard.lock().expect("no test panics with it").push(headers.contains_key("x-team-key"));
        async { StatusCode::OK.into_response() }
    }));
    let other = listen(elsewhere_heard).await;
    for target in [format!("{elsewhere}/mcp"), format!("{other}/mcp")] {
        let leads =
            Router::new().fallback(any(move || async move { Redirect::temporary(&target) }));
        let address = listen(leads).await;
        let mut spec = at(&format!("{address}/mcp"));
        let headers = BTreeMap::from([("x-team-key".to_owned(), Secret::new("marker-1"))]);
        spec.transport = ServerTransport::Http { url: format!("{address}/mcp"), headers };
        let hub = McpHub::new(vec![spec], BTreeMap::new(), options(Stage::default()));
        let why = hub.fetch_listing("a").await.expect_err("it only leads away");
        assert!(!why.contains("marker-1"), "{why}");
    }
    assert!(
        seen.lock().expect("no test panics with it").is_empty(),
        "nothing was sent to the other server"
    );
}

#[tokio::test]
async fn f4_a_server_that_answers_nonsense_or_nobody_is_told() {
    let nonsense = listen(Router::new().fallback(any(|| async { "<html>hello</html>" }))).await;
    let refuses = listen(Router::new().fallback(any(|| async { StatusCode::NOT_FOUND }))).await;
    for address in [nonsense, refuses, "http://127.0.0.1:9".to_owned()] {
        let spec = at(&format!("{address}/mcp"));
        let hub = McpHub::new(vec![spec], BTreeMap::new(), options(Stage::default()));
        let why = hub.fetch_listing("a").await.expect_err("it is no server");
        assert!(!why.is_empty() && why.len() < 2_000, "{why}");
    }
    let plain = at("http://mcp.example/mcp");
    let hub = McpHub::new(vec![plain], BTreeMap::new(), options(Stage::default()));
    assert!(hub.fetch_listing("a").await.is_err_and(|why| why.contains("not encrypted")));
}

#[tokio::test]
async fn f4_an_answer_over_http_is_bounded() {
    let listed =
        json!({ "jsonrpc": "2.0", "id": 0, "result": { "padding": "x".repeat(17 << 20) } });
    let body = listed.to_string();
    let big = Router::new().fallback(any(move || {
        let body = body.clone();
        async move { ([("content-type", "application/json")], body) }
    }));
    let address = listen(big).await;
    let hub = McpHub::new(
        vec![at(&format!("{address}/mcp"))],
        BTreeMap::new(),
        options(Stage::default()),
    );
    assert!(hub.fetch_listing("a").await.is_err());
}
