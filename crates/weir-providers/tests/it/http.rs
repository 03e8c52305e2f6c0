//! The transport over real sockets on this machine: what goes out, what comes back, what is refused
//! (V4, L8).

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use weir_core::message::{Message, MessageBlock};
use weir_core::model::{FailureClass, ModelInfo, ModelReply, ModelSignal};
use weir_core::secret::Secret;
use weir_engine::ports::{Conversation, MediaMap, SignalSink};
use weir_providers::catalogue::ModelCatalogue;
use weir_providers::embedding::{EmbeddingError, EmbeddingModel, TextVectors};
use weir_providers::http_model::{ModelEndpoint, http_model};
use weir_providers::probe;
use weir_providers::text_tools::{TEXT_CALLS, TEXT_TOOLS};
use weir_providers::transport::{ModelTransport, TransportOptions};

use crate::support::{self, IMAGE};

const KEY: &str = "sk-marker-0123456789";

/// What a server does after it has read a request.
#[derive(Clone)]
pub(crate) enum Behave {
    /// Sends these bytes and keeps the connection.
    Answer(Vec<u8>),
    /// Sends these bytes and closes.
    Cut(Vec<u8>),
    /// Sends these bytes and then nothing.
    Stall(Vec<u8>),
}

pub(crate) struct Server {
    pub(crate) port: u16,
    pub(crate) requests: Arc<Mutex<Vec<String>>>,
    connections: Arc<Mutex<usize>>,
    _task: tokio::task::JoinHandle<()>,
}

pub(crate) async fn serve(behave: Behave) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let requests = Arc::new(Mutex::new(Vec::new()));
    let connections = Arc::new(Mutex::new(0));
    let (seen, count) = (requests.clone(), connections.clone());
    let task = tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            *count.lock().expect("not poisoned") += 1;
            let (seen, behave) = (seen.clone(), behave.clone());
            tokio::spawn(async move {
                while let Some(request) = read_request(&mut socket).await {
                    seen.lock().expect("not poisoned").push(request);
                    let (Behave::Answer(bytes) | Behave::Cut(bytes) | Behave::Stall(bytes)) =
                        &behave;
                    if socket.write_all(bytes).await.is_err() {
                        return;
                    }
                    match behave {
                        Behave::Answer(_) => {}
                        Behave::Cut(_) => return,
                        Behave::Stall(_) => {
                            let mut byte = [0];
                            // Ends when the other side closes.
                            let _ = socket.read(&mut byte).await;
                            return;
                        }
                    }
                }
            });
        }
    });
    Server { port, requests, connections, _task: task }
}

async fn read_request(socket: &mut tokio::net::TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
            });
            if body.len() >= length.unwrap_or(0) {
                return Some(text);
            }
        }
        match socket.read(&mut buffer).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
        }
    }
}

pub(crate) fn answer(status: &str, headers: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}\r\n{body}", body.len())
        .into_bytes()
}

fn stream(case: &str) -> String {
    let path = format!("{}/tests/wire/{case}/stream.sse", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("a stream")
}

fn conversation(provider: &str, port: u16, idle_timeout_ms: u64) -> Box<dyn Conversation> {
    let resolved = ModelCatalogue::built_in().resolve_model(provider).expect("built in");
    let endpoint = ModelEndpoint {
        vendor: resolved.vendor,
        base_url: format!("http://127.0.0.1:{port}/v1"),
        key: Some(Secret::new(KEY)),
    };
    let options = TransportOptions { idle_timeout_ms, ..TransportOptions::default() };
    let model = http_model(endpoint, Arc::new(resolved.info), ModelTransport::new(options));
    let mut conversation = model.unwrap_or_else(|error| panic!("{error}")).start_conversation();
    prepare_hello(conversation.as_mut());
    conversation
}

fn prepare_hello(conversation: &mut dyn Conversation) {
    let history = vec![Message::user(vec![MessageBlock::text("Hello?")])];
    conversation.prepare(&support::request("anthropic", history), &MediaMap::new());
}

async fn ask(provider: &str, behave: Behave) -> (ModelReply, Server) {
    let server = serve(behave).await;
    let reply = conversation(provider, server.port, 60_000).send(&SignalSink::none()).await;
    (reply, server)
}

fn failed(reply: ModelReply) -> (FailureClass, String, Option<u64>) {
    match reply {
        ModelReply::Failed { class, message, retry_after_ms } => (class, message, retry_after_ms),
        ModelReply::Whole { .. } => panic!("whole"),
    }
}

/// What its encoder knows must come through whatever is put around it.
#[tokio::test]
async fn q3_a_conversation_says_what_of_its_history_stands_encoded() {
    let history = [
        Message::user(vec![MessageBlock::Image { media: support::media("image/png", IMAGE) }]),
        Message::assistant(vec![MessageBlock::text("A dot.")]),
        Message::user(vec![MessageBlock::text("Which colour?")]),
    ];
    for (abilities, first) in
        [(["tools", "images"], 2), (["tools", TEXT_CALLS], 2), ([TEXT_TOOLS, "images"], 0)]
    {
        let mut conversation = conversation("anthropic", 9, 1_000);
        let mut request = support::request("anthropic", history.to_vec());
        let abilities = abilities.map(str::to_owned).to_vec();
        request.model = Arc::new(ModelInfo { abilities, ..request.model.as_ref().clone() });
        let abilities = &request.model.abilities;
        assert_eq!(conversation.first_to_write(&request), 0, "{abilities:?}: nothing of it yet");
        conversation.prepare(&request, &support::media_map());
        assert_eq!(conversation.first_to_write(&request), first, "{abilities:?}");
    }
}

#[tokio::test]
async fn v4_a_reply_is_streamed_and_the_connection_is_used_again() {
    let body = stream("anthropic/text");
    let server =
        serve(Behave::Answer(answer("200 OK", "content-type: text/event-stream\r\n", &body))).await;
    let mut conversation = conversation("anthropic", server.port, 60_000);
    let text = Arc::new(Mutex::new(String::new()));
    let shown = text.clone();
    let signals = SignalSink::new(move |signal| {
        if let ModelSignal::Text(more) = signal {
            shown.lock().expect("not poisoned").push_str(&more);
        }
    });
    for _ in 0..3 {
        prepare_hello(conversation.as_mut());
        assert!(matches!(conversation.send(&signals).await, ModelReply::Whole { .. }));
    }
    assert!(text.lock().expect("not poisoned").starts_with("Hello, wörld"));
    assert_eq!(*server.connections.lock().expect("not poisoned"), 1);
    let requests = server.requests.lock().expect("not poisoned");
    assert_eq!(requests.len(), 3);
    let head = requests[0].to_lowercase();
    assert!(head.starts_with("post /v1/messages http/1.1"), "{head}");
    assert!(head.contains("anthropic-version: 2023-06-01"));
    let (head, body) = requests[0].split_once("\r\n\r\n").expect("head and body");
    assert!(head.contains(KEY) && !body.contains(KEY));
}

#[tokio::test]
async fn q19_what_was_sent_is_not_kept_and_not_sent_again_by_itself() {
    let body = stream("anthropic/text");
    let server =
        serve(Behave::Answer(answer("200 OK", "content-type: text/event-stream\r\n", &body))).await;
    let mut conversation = conversation("anthropic", server.port, 60_000);
    let reply = conversation.send(&SignalSink::none()).await;
    assert!(matches!(reply, ModelReply::Whole { .. }));
    let (class, message, _) = failed(conversation.send(&SignalSink::none()).await);
    assert_eq!(class, FailureClass::InvalidRequest, "{message}");
    assert_eq!(server.requests.lock().expect("not poisoned").len(), 1);
}

#[tokio::test]
async fn l8_answers_that_are_no_stream_are_classified() {
    let overloaded =
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let (reply, _server) =
        ask("anthropic", Behave::Answer(answer("529 x", "retry-after: 3\r\n", overloaded))).await;
    let (class, message, wish) = failed(reply);
    assert_eq!((class, wish), (FailureClass::Overloaded, Some(3000)), "{message}");

    let echoed = format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY}"}}}}"#);
    let (reply, _server) = ask("openai", Behave::Answer(answer("401 x", "", &echoed))).await;
    let (class, message, _) = failed(reply);
    assert_eq!(class, FailureClass::Auth);
    assert!(!message.contains(KEY) && message.contains("***"), "{message}");
}

#[tokio::test]
async fn v4_a_redirect_is_never_followed() {
    let elsewhere = serve(Behave::Answer(answer("200 OK", "", ""))).await;
    let location = format!("location: http://127.0.0.1:{}/v1/messages\r\n", elsewhere.port);
    let (reply, _server) = ask("anthropic", Behave::Answer(answer("307 x", &location, ""))).await;
    let (class, message, _) = failed(reply);
    assert_eq!(class, FailureClass::NotFound);
    assert!(message.contains("redirect"), "{message}");
    assert_eq!(*elsewhere.connections.lock().expect("not poisoned"), 0);
}

#[tokio::test]
async fn l8_a_cut_stream_a_silent_server_and_no_server_have_their_classes() {
    let body = stream("anthropic/parallel_calls");
    let half = &body[..body.len() / 2];
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunk = format!("{head}{:x}\r\n{half}\r\n", half.len()).into_bytes();
    let (reply, _server) = ask("anthropic", Behave::Cut(chunk.clone())).await;
    assert_eq!(failed(reply).0, FailureClass::StreamCut);

    for sent in [Vec::new(), chunk] {
        let server = serve(Behave::Stall(sent)).await;
        let mut conversation = conversation("anthropic", server.port, 50);
        let (class, message, _) = failed(conversation.send(&SignalSink::none()).await);
        assert_eq!(class, FailureClass::Timeout, "{message}");
    }

    let port = serve(Behave::Cut(Vec::new())).await.port;
    let (reply, server) = ask("anthropic", Behave::Cut(Vec::new())).await;
    assert_eq!(failed(reply).0, FailureClass::Network);
    drop((port, server));
    // A port that the system gives to nobody by itself.
    let reply = conversation("anthropic", 1, 60_000).send(&SignalSink::none()).await;
    let (class, message, _) = failed(reply);
    assert_eq!(class, FailureClass::Network);
    assert!(message.contains("could not be reached"), "{message}");
}

#[tokio::test]
async fn v4_a_whole_reply_counts_although_the_server_keeps_the_connection_open() {
    let body = stream("anthropic/text");
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunk = format!("{head}{:x}\r\n{body}\r\n", body.len()).into_bytes();
    let (reply, _server) = ask("anthropic", Behave::Stall(chunk)).await;
    assert!(matches!(reply, ModelReply::Whole { .. }));
}

#[tokio::test]
async fn v4_dropping_the_future_closes_the_connection() {
    let (closed, mut closes) = tokio::sync::mpsc::channel::<()>(1);
    let (arrived, mut arrives) = tokio::sync::mpsc::channel::<()>(1);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let server = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.expect("a client");
        read_request(&mut socket).await.expect("a request");
        arrived.send(()).await.expect("the test listens");
        let mut byte = [0];
        let ended = matches!(socket.read(&mut byte).await, Ok(0) | Err(_));
        assert!(ended);
        closed.send(()).await.expect("the test listens");
    });
    let mut conversation = conversation("anthropic", port, 60_000);
    let signals = SignalSink::none();
    tokio::select! {
        _ = conversation.send(&signals) => panic!("the server does not answer"),
        _ = arrives.recv() => {}
    }
    let bound = std::time::Duration::from_secs(60);
    let ended = tokio::time::timeout(bound, closes.recv()).await;
    assert!(ended.is_ok_and(|seen| seen.is_some()), "the connection stayed open");
    server.await.expect("the server saw the end");
}

#[tokio::test]
async fn l8_without_a_key_nothing_is_sent() {
    let server = serve(Behave::Answer(answer("200 OK", "", ""))).await;
    let resolved = ModelCatalogue::built_in().resolve_model("anthropic").expect("built in");
    let base_url = format!("http://127.0.0.1:{}", server.port);
    let endpoint = ModelEndpoint { vendor: resolved.vendor, base_url, key: None };
    let transport = ModelTransport::new(TransportOptions::default());
    let model = http_model(endpoint, Arc::new(resolved.info), transport);
    let mut conversation = model.unwrap_or_else(|error| panic!("{error}")).start_conversation();
    conversation.prepare(&support::request("anthropic", Vec::new()), &MediaMap::new());
    let (class, message, _) = failed(conversation.send(&SignalSink::none()).await);
    assert_eq!(class, FailureClass::Auth);
    assert!(message.contains("ANTHROPIC_API_KEY"), "{message}");
    assert_eq!(*server.connections.lock().expect("not poisoned"), 0);
}

#[tokio::test]
async fn v1_the_probe_lists_models_and_gives_up_on_silent_servers() {
    let list = r#"{"object":"list","data":[{"id":"m1","max_model_len":4096},{"id":"m2"}]}"#;
    let server = serve(Behave::Answer(answer("200 OK", "", list))).await;
    let vendor = ModelCatalogue::built_in().find_vendor("lmstudio").expect("built in").clone();
    let at = |port: u16| ModelEndpoint {
        vendor: vendor.clone(),
        base_url: format!("http://127.0.0.1:{port}/v1"),
        key: None,
    };
    let transport = ModelTransport::new(TransportOptions::default());
    let models = probe::list_models(&at(server.port), &transport).await.expect("a list");
    assert_eq!(models.iter().map(|m| m.name.as_str()).collect::<Vec<_>>(), ["m1", "m2"]);
    assert_eq!(models[0].window, Some(4096));
    assert!(server.requests.lock().expect("not poisoned")[0].starts_with("GET /v1/models "));

    let silent = serve(Behave::Stall(Vec::new())).await;
    assert_eq!(probe::local_server(&at(silent.port), &transport).await, None);
    let broken = ModelEndpoint { base_url: "no address".into(), ..at(1) };
    assert!(
        probe::list_models(&broken, &transport).await.is_err_and(|why| why.contains("base URL"))
    );
}

async fn embed(name: &str, behave: Behave) -> (Result<TextVectors, EmbeddingError>, Server) {
    let server = serve(behave).await;
    let resolved = ModelCatalogue::built_in().resolve_model(name).expect("built in");
    let base = if name.starts_with("gemini") { "" } else { "/v1" };
    let endpoint = ModelEndpoint {
        vendor: resolved.vendor,
        base_url: format!("http://127.0.0.1:{}{base}", server.port),
        key: Some(Secret::new(KEY)),
    };
    let transport = ModelTransport::new(TransportOptions::default());
    let model = EmbeddingModel::new(endpoint, Arc::new(resolved.info), transport);
    let texts = ["one".to_owned(), "two".to_owned()];
    let done = match model {
        Ok(model) => model.embed_texts(&texts).await,
        Err(error) => Err(error),
    };
    (done, server)
}

#[tokio::test]
async fn k6_vectors_are_asked_for_in_the_shape_of_each_vendor() {
    let openai = r#"{"object":"list","data":[{"object":"embedding","index":1,"embedding":[0,1]},
        {"object":"embedding","index":0,"embedding":[1,0.5]}],"model":"m",
        "usage":{"prompt_tokens":7,"total_tokens":7}}"#;
    let gemini = r#"{"embeddings":[{"values":[1,0.5]},{"values":[0,1]}]}"#;
    for (name, body, line, sent) in [
        (
            "openai/text-embedding-3-small",
            openai,
            "POST /v1/embeddings ",
            r#""input":["one","two"]"#,
        ),
        (
            "ollama/nomic-embed-text",
            openai,
            "POST /v1/embeddings ",
            r#""model":"nomic-embed-text""#,
        ),
        ("lmstudio/bge", openai, "POST /v1/embeddings ", r#""input":["one","two"]"#),
        (
            "gemini/gemini-embedding-001",
            gemini,
            "POST /v1beta/models/gemini-embedding-001:batchEmbedContents ",
            r#"{"model":"models/gemini-embedding-001","content":{"parts":[{"text":"one"}]}}"#,
        ),
    ] {
        let (done, server) = embed(name, Behave::Answer(answer("200 OK", "", body))).await;
        let done = done.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(done.vectors, [[1.0, 0.5], [0.0, 1.0]], "{name}");
        assert_eq!(done.usage.input, if body == openai { 7 } else { 0 }, "{name}");
        let requests = server.requests.lock().expect("not poisoned");
        assert!(requests[0].starts_with(line), "{name}: {}", requests[0]);
        let (head, body) = requests[0].split_once("\r\n\r\n").expect("head and body");
        assert!(body.contains(sent), "{name}: {body}");
        assert!(head.contains(KEY) && !body.contains(KEY), "{name}");
    }
}

#[tokio::test]
async fn k6_what_makes_no_vectors_says_why() {
    let why = |done: Result<TextVectors, EmbeddingError>| done.expect_err("none").to_string();
    let (done, server) = embed("anthropic", Behave::Answer(answer("200 OK", "", "{}"))).await;
    assert!(why(done).contains("anthropic makes no vectors of texts"));
    assert!(server.requests.lock().expect("not poisoned").is_empty());
    let echoed = format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY}"}}}}"#);
    let (done, _server) = embed("openai/x", Behave::Answer(answer("401 x", "", &echoed))).await;
    let said = why(done);
    assert!(said.contains("openai/x made no vectors: status 401"), "{said}");
    assert!(!said.contains(KEY), "{said}");
    for body in ["{}", "no json", r#"{"data":[{"index":0,"embedding":[1]}]}"#] {
        let (done, _server) = embed("openai/x", Behave::Answer(answer("200 OK", "", body))).await;
        assert!(why(done).contains("its answer"), "{body}");
    }
}

#[tokio::test]
async fn r11_vectors_that_were_worked_on_and_not_given_may_be_charged() {
    let charged = |done: Result<TextVectors, EmbeddingError>| {
        done.expect_err("there are none").charged_bytes()
    };
    for (status, body, bytes) in
        [("401 x", "{}", 0), ("200 OK", "no json", 6), ("200 OK", r#"{"data":[]}"#, 6)]
    {
        let (done, _server) = embed("openai/x", Behave::Answer(answer(status, "", body))).await;
        assert_eq!(charged(done), bytes, "{status} {body}");
    }
    let cut = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{".to_vec();
    let (done, _server) = embed("openai/x", Behave::Cut(cut)).await;
    assert_eq!(charged(done), 6, "it broke off");
}
