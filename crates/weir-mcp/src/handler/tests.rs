//! What becomes of a server's question to the model, up to the session that judges it.

use async_trait::async_trait;
use serde_json::json;
use weir_core::ids::Timestamp;
use weir_engine::ports::{CallBounds, Clock, NoPerson};

use super::*;
use crate::ports::{
    LaunchedProcess, Sampler, SamplingFailure, SamplingResult, ServerLauncher, TokenStore,
};
use crate::spec::ServerTransport;

/// Nothing is started, kept or waited for here.
struct Nothing;

#[async_trait]
impl Clock for Nothing {
    fn now(&self) -> Timestamp {
        Timestamp(0)
    }
    async fn sleep_until(&self, _: Timestamp) {}
    fn random_number(&self) -> u64 {
        0
    }
}

#[async_trait]
impl ServerLauncher for Nothing {
    async fn launch(&self, _: &ServerSpec) -> Result<LaunchedProcess, String> {
        Err("nothing is started here".into())
    }
}

#[async_trait]
impl TokenStore for Nothing {
    async fn load(&self, _: &str) -> Result<Option<String>, String> {
        Ok(None)
    }
    async fn save(&self, _: &str, _: Option<&str>) -> Result<(), String> {
        Ok(())
    }
}

#[async_trait]
impl Sampler for Nothing {
    fn model_name(&self) -> String {
        "box/m".into()
    }
    async fn sample(
        &self,
        _: &str,
        _: SamplingRequest,
        _: Arc<dyn CallBounds>,
    ) -> Result<SamplingResult, SamplingFailure> {
        panic!("a server's question goes to the session, never to the model past it")
    }
}

/// A session that keeps what it is asked, and refuses from its third question on.
#[derive(Default)]
struct Session(Mutex<Vec<(String, Value)>>);

#[async_trait]
impl ModelPrompter for Session {
    async fn ask_model(&self, tool: &str, input: Value) -> Result<String, String> {
        let mut asked = self.0.lock().expect("no test panics with it");
        asked.push((tool.to_owned(), input));
        if asked.len() > 2 { Err("not today".into()) } else { Ok("4".into()) }
    }
}

fn connection(sampling: bool) -> Arc<McpConnectionContext> {
    let transport = ServerTransport::Stdio {
        command: "a".into(),
        args: Vec::new(),
        env: std::collections::BTreeMap::new(),
        cwd: None,
    };
    let mut spec = ServerSpec::new("a", "a test", transport);
    spec.sampling = sampling;
    let options = McpOptions {
        clock: Arc::new(Nothing),
        launcher: Arc::new(Nothing),
        tokens: Arc::new(Nothing),
        roots: Vec::new(),
        authorizer: None,
        elicit: None,
        sampler: Some(Arc::new(Nothing)),
        version: "1".into(),
    };
    let (changes, _) = broadcast::channel(1);
    Arc::new(McpConnectionContext::new(&spec, Arc::new(options), changes))
}

fn request(text: &str) -> CreateMessageRequestParams {
    let asked = json!({ "role": "user", "content": { "type": "text", "text": text } });
    serde_json::from_value(json!({ "messages": [asked], "maxTokens": 1_000_000 }))
        .expect("it is a request")
}

async fn ask(connection: &McpConnectionContext, text: &str) -> Result<Value, String> {
    let answered = connection.sample_model(request(text)).await;
    let answered = answered.map_err(|error| error.message.into_owned())?;
    serde_json::to_value(answered).map_err(|error| error.to_string())
}

#[tokio::test]
async fn r3_what_a_server_asks_the_model_becomes_a_call_of_the_session() {
    let (connection, session) = (connection(true), Arc::new(Session::default()));
    let caller = RequestCaller { person: Arc::new(NoPerson), model: session.clone() };
    let _attending = connection.attend_caller(caller);
    let answered = ask(&connection, "2\u{202e}+2?").await.expect("the session lets it pass");
    assert_eq!((&answered["model"], &answered["content"]["text"]), (&json!("box/m"), &json!("4")));
    let asked = session.0.lock().expect("no test panics with it").clone();
    // What hides is left out, and it gets no more tokens than any server does.
    let input = json!({ "messages": [{ "role": "user", "text": "2+2?" }], "tokens_max": 4_096 });
    assert_eq!(asked, [("mcp__a__sampling".to_owned(), input)]);
    assert_eq!(connection.asking.load(Ordering::Acquire), 0, "nobody waits any more");
}

#[tokio::test]
async fn r3_a_refused_question_of_a_server_is_an_error_and_counts() {
    let (connection, session) = (connection(true), Arc::new(Session::default()));
    let caller = RequestCaller { person: Arc::new(NoPerson), model: session.clone() };
    let _attending = connection.attend_caller(caller);
    for _ in 0..30 {
        let _ = ask(&connection, "Again?").await;
    }
    assert_eq!(session.0.lock().expect("no test panics with it").len(), 20);
    let why = ask(&connection, "Again?").await.expect_err("it asked often enough");
    assert!(why.contains("often enough"), "{why}");
    let other = super::tests::connection(true);
    let caller = RequestCaller { person: Arc::new(NoPerson), model: session.clone() };
    let _attending = other.attend_caller(caller);
    assert_eq!(ask(&other, "Please?").await, Err("not today".to_owned()));
    let long = "x".repeat(SAMPLE_CHARS_MAX + 1);
    let why = ask(&other, &long).await.expect_err("it is too long");
    assert!(why.contains("too long"), "{why}");
}

#[tokio::test]
async fn r3_without_a_call_or_a_yes_of_its_declaration_a_server_asks_no_model() {
    let why = ask(&connection(true), "2+2?").await.expect_err("no call runs");
    assert!(why.contains("while a call runs"), "{why}");
    let connection = connection(false);
    let session = Arc::new(Session::default());
    let caller = RequestCaller { person: Arc::new(NoPerson), model: session.clone() };
    let _attending = connection.attend_caller(caller);
    let why = ask(&connection, "2+2?").await.expect_err("its declaration does not say so");
    assert!(why.contains("no server may ask"), "{why}");
    assert!(session.0.lock().expect("no test panics with it").is_empty());
}
