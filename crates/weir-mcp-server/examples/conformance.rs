//! What the official conformance suite wants a server to have (`tests/outside/mcp/conformance_server.sh`), as
//! an agent behind the port: so the suite judges this crate's protocol over HTTP. An example of the port for
//! everybody else. Not here: Weir's own tools.
//!
//! `cargo run -p weir-mcp-server --example conformance` prints the address that it listens on.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use weir_mcp_server::{
    CallAnswer, CallInProgress, CallNews, CallQuestion, CallRequest, CallResult, FoldersAnswer,
    HttpClients, HttpOptions, LogLevel, LogLine, ModelAnswer, ModelQuestion, OtherAnswerers,
    PersonAnswer, PersonQuestion, PersonReach, PromptReply, PromptRequest, PromptText,
    QuestionNeed, ResourceRequest, ResultPart, ServedAgent, ServedArgument, ServedPrompt,
    ServedResource, ServedTemplate, ServedTool, ServerDescription, ServingError,
};

/// A picture of one point.
const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
/// No sound at all.
const SOUND: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

/// What counts the calls: it changes with each.
const WATCHED: &str = "test://watched-resource";

#[derive(Default)]
struct FixtureAgent {
    calls: AtomicU64,
    changes: watch::Sender<()>,
}

/// What an answer to a question brings.
enum AfterAnswer {
    /// The end, with these words.
    Words(fn(&CallAnswer) -> String),
    /// Another question, and what its answer brings.
    Question(PersonQuestion, fn(&CallAnswer) -> String),
}

/// A call whose news are known from the start, up to its questions; the last answer brings the rest.
struct FixtureCall {
    news: VecDeque<CallNews>,
    asked: Option<AfterAnswer>,
    /// Questions without an answer.
    open: usize,
}

fn text(words: impl Into<String>) -> ResultPart {
    ResultPart::Text(words.into())
}

fn picture() -> ResultPart {
    ResultPart::Image { media_type: "image/png".into(), data: PICTURE.into() }
}

fn document(uri: &str, words: &str, media_type: &str) -> ResultPart {
    ResultPart::TextResource { uri: uri.into(), media_type: media_type.into(), text: words.into() }
}

fn done(parts: Vec<ResultPart>) -> FixtureCall {
    let news = VecDeque::from([CallNews::Finished(CallResult { parts, ok: true })]);
    FixtureCall { news, asked: None, open: 0 }
}

fn form(name: &str, message: &str, schema: Value) -> PersonQuestion {
    let others = OtherAnswerers::Nobody;
    PersonQuestion { name: name.into(), message: message.into(), schema, others }
}

fn ask(name: &str, message: &str, schema: Value, then: fn(&CallAnswer) -> String) -> FixtureCall {
    ask_all(vec![CallQuestion::Person(form(name, message, schema))], then)
}

/// Asks all of it at once.
fn ask_all(questions: Vec<CallQuestion>, then: fn(&CallAnswer) -> String) -> FixtureCall {
    let (open, asked) = (questions.len(), Some(AfterAnswer::Words(then)));
    FixtureCall { news: questions.into_iter().map(CallNews::Asked).collect(), asked, open }
}

fn model_question(name: &str, text: &str) -> CallQuestion {
    CallQuestion::Model(ModelQuestion {
        name: name.into(),
        system: String::new(),
        text: text.into(),
        tokens_max: 100,
        need: QuestionNeed::Required,
    })
}

fn logs(lines: &[&str], words: &str) -> FixtureCall {
    let mut call = done(vec![text(words)]);
    for line in lines.iter().rev() {
        let data = json!(line);
        let line = LogLine { level: LogLevel::Info, logger: "fixture", data };
        call.news.push_front(CallNews::Logged(line));
    }
    call
}

fn ask_twice() -> FixtureCall {
    let schema = |field: &str| json!({"type": "object", "properties": {field: {"type": "string"}}, "required": [field]});
    let second = form("step2", "Step 2: What is your favorite color?", schema("color"));
    let first = ask("step1", "Step 1: What is your name?", schema("name"), in_words);
    FixtureCall { asked: Some(AfterAnswer::Question(second, in_words)), ..first }
}

fn confirm_schema() -> Value {
    json!({"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]})
}

fn in_words(answer: &CallAnswer) -> String {
    let (action, content) = match answer {
        CallAnswer::Person(PersonAnswer::Accepted(content)) => {
            ("accept", Value::Object(content.clone()))
        }
        CallAnswer::Person(PersonAnswer::Declined) => ("decline", json!({})),
        CallAnswer::Person(PersonAnswer::Dismissed) => ("cancel", json!({})),
        CallAnswer::Model(ModelAnswer::Said { text, .. }) => {
            return format!("LLM response: {text}");
        }
        CallAnswer::Model(ModelAnswer::Failed(why)) => return format!("No LLM response: {why}"),
        CallAnswer::Folders(FoldersAnswer::Open(open)) => {
            return format!("Open: {}", open.join(", "));
        }
        CallAnswer::Folders(FoldersAnswer::NotSaid) => return "Not said".into(),
        CallAnswer::Folders(FoldersAnswer::Failed(why)) => return format!("Unknown: {why}"),
    };
    format!("Elicitation completed: action={action}, content={content}")
}

fn greeting(answer: &CallAnswer) -> String {
    let name = match answer {
        CallAnswer::Person(PersonAnswer::Accepted(content)) => {
            content.get("name").and_then(Value::as_str)
        }
        CallAnswer::Person(_) | CallAnswer::Model(_) | CallAnswer::Folders(_) => None,
    };
    format!("Hello, {}!", name.unwrap_or("stranger"))
}

fn defaults_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
            "verified": {"type": "boolean", "default": true}
        }
    })
}

fn enums_schema() -> Value {
    let options = json!(["option1", "option2", "option3"]);
    let titled = |words: &[&str]| -> Vec<Value> {
        let one = |(at, title): (usize, &&str)| json!({"const": format!("value{}", at + 1), "title": title});
        words.iter().enumerate().map(one).collect()
    };
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": options},
            "titledSingle": {"type": "string", "oneOf": titled(&["First Option", "Second Option", "Third Option"])},
            "legacyEnum": {
                "type": "string", "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"]
            },
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
            "titledMulti": {
                "type": "array",
                "items": {"anyOf": titled(&["First Choice", "Second Choice", "Third Choice"])}
            }
        }
    })
}

fn name_schema() -> Value {
    json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]})
}

const TOOLS: &[&str] = &[
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_error_handling",
    "test_tool_with_progress",
    "test_elicitation",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_missing_capability",
    "test_streaming_elicitation",
    "test_logging_tool",
    "test_tool_with_logging",
    "test_sampling",
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_capabilities",
    "test_input_required_result_request_state",
    "test_input_required_result_tampered_state",
    "test_input_required_result_multi_round",
];

fn call_of(request: &CallRequest) -> Option<FixtureCall> {
    Some(match request.tool.as_str() {
        "test_simple_text" => done(vec![text("This is a simple text response for testing.")]),
        "test_image_content" => done(vec![picture()]),
        "test_audio_content" => {
            done(vec![ResultPart::Audio { media_type: "audio/wav".into(), data: SOUND.into() }])
        }
        "test_embedded_resource" => done(vec![document(
            "test://embedded-resource",
            "This is an embedded resource content.",
            "text/plain",
        )]),
        "test_multiple_content_types" => done(vec![
            text("Multiple content types test:"),
            picture(),
            document(
                "test://mixed-content-resource",
                "{\"test\":\"data\",\"value\":123}",
                "application/json",
            ),
        ]),
        "test_error_handling" => FixtureCall {
            news: VecDeque::from([CallNews::Finished(CallResult {
                parts: vec![text("This tool intentionally returns an error for testing")],
                ok: false,
            })]),
            asked: None,
            open: 0,
        },
        "test_tool_with_progress" => {
            let mut call = done(vec![text("done")]);
            for step in ["it began", "it is half done", "it is nearly done"].iter().rev() {
                call.news.push_front(CallNews::Progress((*step).into()));
            }
            call
        }
        "test_elicitation" => {
            let message = request.arguments.get("message").and_then(Value::as_str);
            let schema = json!({
                "type": "object",
                "properties": {
                    "username": {"type": "string", "description": "User's response"},
                    "email": {"type": "string", "description": "User's email address"}
                },
                "required": ["username", "email"]
            });
            ask("test", message.unwrap_or("Please say something"), schema, in_words)
        }
        "test_elicitation_sep1034_defaults" => {
            ask("test", "Please look at these", defaults_schema(), in_words)
        }
        "test_elicitation_sep1330_enums" => ask("test", "Please choose", enums_schema(), in_words),
        "test_logging_tool" => logs(&["one line"], "It logs to whoever asks for it."),
        "test_tool_with_logging" => logs(
            &["Tool execution started", "Tool processing data", "Tool execution completed"],
            "It logged three lines.",
        ),
        "test_sampling" => {
            let prompt = request.arguments.get("prompt").and_then(Value::as_str);
            ask_all(vec![model_question("sampling", prompt.unwrap_or_default())], in_words)
        }
        name => return asking_call_of(name),
    })
}

/// Calls that need something of the client first.
fn asking_call_of(name: &str) -> Option<FixtureCall> {
    Some(match name {
        "test_missing_capability" | "test_input_required_result_sampling" => ask_all(
            vec![model_question("capital_question", "What is the capital of France?")],
            in_words,
        ),
        "test_input_required_result_list_roots" => {
            ask_all(vec![CallQuestion::Folders("client_roots".into())], in_words)
        }
        "test_input_required_result_multiple_inputs" => ask_all(
            vec![
                CallQuestion::Person(form("user_name", "What is your name?", name_schema())),
                model_question("greeting", "Generate a greeting"),
                CallQuestion::Folders("client_roots".into()),
            ],
            |_| "All of it was answered.".into(),
        ),
        "test_input_required_result_capabilities" => {
            let person = form("user_name", "What is your name?", name_schema());
            // Whoever has no forms leaves it to others, and has to have a model.
            let person = PersonQuestion { others: OtherAnswerers::Somebody, ..person };
            let model = model_question("capital_question", "What is the capital of France?");
            ask_all(vec![CallQuestion::Person(person), model], in_words)
        }
        "test_input_required_result_elicitation" | "test_streaming_elicitation" => {
            ask("user_name", "What is your name?", name_schema(), greeting)
        }
        "test_input_required_result_request_state"
        | "test_input_required_result_tampered_state" => {
            ask("confirm", "Please confirm", confirm_schema(), |_| "state-ok".into())
        }
        "test_input_required_result_multi_round" => ask_twice(),
        _ => return None,
    })
}

#[async_trait]
impl CallInProgress for FixtureCall {
    async fn next_news(&mut self) -> CallNews {
        match self.news.pop_front() {
            Some(news) => news,
            // It waits for an answer.
            None => std::future::pending().await,
        }
    }

    async fn answer_question(&mut self, _question: &str, answer: CallAnswer) {
        self.open = self.open.saturating_sub(1);
        if self.open > 0 {
            return;
        }
        match self.asked.take() {
            Some(AfterAnswer::Words(then)) => {
                let parts = vec![text(then(&answer))];
                self.news.push_back(CallNews::Finished(CallResult { parts, ok: true }));
            }
            Some(AfterAnswer::Question(question, then)) => {
                self.open = 1;
                self.news.push_back(CallNews::Asked(CallQuestion::Person(question)));
                self.asked = Some(AfterAnswer::Words(then));
            }
            None => (),
        }
    }
}

#[async_trait]
impl ServedAgent for FixtureAgent {
    fn describe_server(&self) -> ServerDescription {
        ServerDescription {
            name: "weir-conformance".into(),
            title: "Fixture of the conformance suite".into(),
            version: "1.0.0".into(),
            instructions: String::new(),
        }
    }

    async fn list_tools(&self) -> Result<Vec<ServedTool>, ServingError> {
        let schema = json!({"type": "object", "properties": {}});
        let tool = |name: &&str| ServedTool {
            name: (*name).to_owned(),
            description: format!("Fixture {name}"),
            input_schema: schema.as_object().cloned().unwrap_or_default(),
            reads_only: true,
            reaches_out: false,
        };
        Ok(TOOLS.iter().map(tool).collect())
    }

    async fn begin_call(
        &self,
        request: CallRequest,
    ) -> Result<Box<dyn CallInProgress>, ServingError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.changes.send_replace(());
        match call_of(&request) {
            Some(call) => Ok(Box::new(call)),
            None => Err(ServingError::NotFound(format!("there is no tool {}", request.tool))),
        }
    }

    async fn list_prompts(&self) -> Result<Vec<ServedPrompt>, ServingError> {
        let argument = |name: &str| ServedArgument {
            name: name.into(),
            description: "Test argument".into(),
            required: true,
        };
        let prompt = |name: &str, arguments: Vec<ServedArgument>| ServedPrompt {
            name: name.into(),
            description: format!("Fixture {name}"),
            arguments,
        };
        Ok(vec![
            prompt("test_simple_prompt", Vec::new()),
            prompt("test_prompt_with_arguments", vec![argument("arg1"), argument("arg2")]),
            prompt("test_prompt_with_embedded_resource", vec![argument("resourceUri")]),
            prompt("test_prompt_with_image", Vec::new()),
            prompt("test_input_required_result_prompt", vec![argument("context")]),
        ])
    }

    async fn read_prompt(&self, request: &PromptRequest) -> Result<PromptReply, ServingError> {
        let PromptRequest { name, arguments, person } = request;
        let given = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
        let parts = match name.as_str() {
            "test_input_required_result_prompt"
                if given("context").is_empty() && *person == PersonReach::Reachable =>
            {
                let schema = json!({"type": "object", "properties": {"context": {"type": "string"}}, "required": ["context"]});
                let question = form("user_context", "What context should the prompt use?", schema);
                return Ok(PromptReply::Asked(question));
            }
            "test_input_required_result_prompt" => {
                vec![text(format!("Go on with this in mind: {}", given("context")))]
            }
            "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
            "test_prompt_with_arguments" => vec![text(format!(
                "Prompt with arguments: arg1='{}', arg2='{}'",
                given("arg1"),
                given("arg2")
            ))],
            "test_prompt_with_embedded_resource" => vec![
                document(
                    given("resourceUri"),
                    "Embedded resource content for testing.",
                    "text/plain",
                ),
                text("Please process the embedded resource above."),
            ],
            "test_prompt_with_image" => vec![picture(), text("Please analyze the image above.")],
            _ => return Err(ServingError::NotFound(format!("there is no prompt {name}"))),
        };
        Ok(PromptReply::Text(PromptText { description: String::new(), parts }))
    }

    async fn list_resources(&self) -> Result<Vec<ServedResource>, ServingError> {
        let resource = |uri: &str, name: &str, media_type: &str| ServedResource {
            uri: uri.into(),
            name: name.into(),
            description: format!("Fixture {name}"),
            media_type: media_type.into(),
        };
        Ok(vec![
            resource("test://static-text", "Static text", "text/plain"),
            resource("test://static-binary", "Static binary", "image/png"),
            resource(WATCHED, "Watched", "text/plain"),
        ])
    }

    async fn list_templates(&self) -> Result<Vec<ServedTemplate>, ServingError> {
        Ok(vec![ServedTemplate {
            uri_template: "test://template/{id}/data".into(),
            name: "Template".into(),
            description: "Fixture of a template".into(),
            media_type: "application/json".into(),
        }])
    }

    async fn read_resource(
        &self,
        request: ResourceRequest,
    ) -> Result<Vec<ResultPart>, ServingError> {
        let uri = request.uri.as_str();
        match uri {
            "test://static-text" => Ok(vec![document(
                uri,
                "This is the content of the static text resource.",
                "text/plain",
            )]),
            "test://static-binary" => Ok(vec![picture()]),
            WATCHED => Ok(vec![document(uri, &self.version().to_string(), "text/plain")]),
            _ => match uri
                .strip_prefix("test://template/")
                .and_then(|rest| rest.strip_suffix("/data"))
            {
                Some(id) => {
                    let data = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
                    Ok(vec![document(uri, &data.to_string(), "application/json")])
                }
                None => Err(ServingError::NotFound(format!("there is no resource {uri}"))),
            },
        }
    }

    fn resource_version(&self, uri: &str) -> Result<u64, ServingError> {
        match uri {
            WATCHED => Ok(self.version()),
            _ => Err(ServingError::NotFound(format!("nobody is told of changes of {uri}"))),
        }
    }

    fn listen_to_changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }
}

impl FixtureAgent {
    fn version(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }
}

/// Only names of this machine are ours: a page elsewhere whose name was made to lead here is kept out.
async fn answer_client(State(clients): State<Arc<HttpClients>>, request: Request) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let name = host.map(|host| host.rsplit_once(':').map_or(host, |(name, _)| name));
    match name {
        Some("127.0.0.1" | "localhost") => clients.answer_request(request).await.map(Body::new),
        Some(_) | None => StatusCode::FORBIDDEN.into_response(),
    }
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let port = address.port();
    let options = HttpOptions {
        origins: vec![format!("http://{address}"), format!("http://localhost:{port}")],
        stop: CancellationToken::new(),
    };
    let clients = Arc::new(HttpClients::new(Arc::new(FixtureAgent::default()), options));
    use std::io::Write as _;
    writeln!(std::io::stdout(), "http://localhost:{port}/mcp")?;
    axum::serve(listener, Router::new().route("/mcp", any(answer_client)).with_state(clients)).await
}
