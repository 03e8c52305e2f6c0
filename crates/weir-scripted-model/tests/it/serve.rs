//! The script server over a real socket. That the vendors' own libraries understand it is shown in
//! `tests/sdk`; here stands what they cannot see.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use weir_scripted_model::Script;
use weir_scripted_model::serve::{ServeOptions, run_script_server};

struct Server {
    address: SocketAddr,
    shutdown: CancellationToken,
    task: JoinHandle<std::io::Result<()>>,
}

async fn start(script: &str, record: Option<&std::path::Path>) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback is there");
    let address = listener.local_addr().expect("it is bound");
    let shutdown = CancellationToken::new();
    let options = ServeOptions { record: record.map(Into::into), shutdown: shutdown.clone() };
    let script = Script::parse(script).unwrap_or_else(|error| panic!("{error}"));
    let task = tokio::spawn(run_script_server(listener, script, options));
    Server { address, shutdown, task }
}

impl Server {
    async fn send(&self, method: &str, path: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.expect("the server listens");
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\nx-api-key: secret-1\r\nauthorization: Bearer \
             secret-2\r\nx-plain: seen\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).await.expect("the server reads");
        stream
    }

    /// The whole answer as text, and whether the connection ended as it should.
    async fn ask(&self, method: &str, path: &str, body: &Value) -> (String, bool) {
        let mut stream = self.send(method, path, &body.to_string()).await;
        let mut bytes = Vec::new();
        let clean = stream.read_to_end(&mut bytes).await.is_ok();
        (String::from_utf8_lossy(&bytes).into_owned(), clean)
    }

    async fn stop(self) {
        self.shutdown.cancel();
        self.task.await.expect("it does not panic").expect("it ends well");
    }
}

fn messages(text: &str) -> Value {
    json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": text}]})
}

#[tokio::test]
async fn v6_every_dialect_is_served_on_one_port() {
    let server = start("says: Hello there.\n", None).await;
    let user = json!([{"role": "user", "content": "x"}]);
    let contents = json!([{"role": "user", "parts": [{"text": "x"}]}]);
    for (path, body, part) in [
        ("/v1/messages?beta=true", json!({"stream": true, "messages": user}), "message_stop"),
        ("/v1/messages", json!({"messages": user}), "\"text\":\"Hello there.\""),
        ("/v1/chat/completions", json!({"stream": true, "messages": user}), "data: [DONE]"),
        ("/chat/completions", json!({"messages": user}), "\"content\":\"Hello there.\""),
        ("/v1/responses", json!({"stream": true, "input": user}), "event: response.completed"),
        ("/responses", json!({"input": "x"}), "\"text\":\"Hello there.\""),
        (
            "/v1beta/models/m:streamGenerateContent?alt=sse",
            json!({"contents": contents}),
            "\"finishReason\":\"STOP\"",
        ),
        (
            "/v1beta/models/m:generateContent",
            json!({"contents": contents}),
            "\"modelVersion\":\"m\"",
        ),
        ("/v1/messages/count_tokens", json!({"messages": user}), "\"input_tokens\":"),
        ("/v1beta/models/m:countTokens", json!({"contents": contents}), "\"totalTokens\":"),
    ] {
        let (answer, clean) = server.ask("POST", path, &body).await;
        assert!(clean && answer.starts_with("HTTP/1.1 200 OK"), "{path}: {answer}");
        assert!(answer.contains(part), "{path}: {answer}");
    }
    for (path, status) in [
        ("/healthz", 200),
        ("/v1/models", 200),
        ("/v1beta/models", 200),
        ("/v1/messages", 405),
        ("/x", 404),
    ] {
        let (answer, _) = server.ask("GET", path, &json!({})).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {answer}");
    }
    server.stop().await;
}

#[tokio::test]
async fn v6_bad_requests_are_answered_in_the_vendors_words() {
    let server = start("says: x\n", None).await;
    for body in [json!({}), json!([]), json!({"messages": 7}), json!({"messages": [7]}), json!("x")]
    {
        let (answer, _) = server.ask("POST", "/v1/messages", &body).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{body}: {answer}");
        assert!(answer.contains("invalid_request_error"), "{body}: {answer}");
    }
    server.stop().await;
}

#[tokio::test]
async fn v6_a_broken_connection_is_broken_on_the_wire() {
    let script = "error: network\nerror: reset\nerror: cut\nerror: 429 retry-after=2\nsays: a reply of some length\n";
    let server = start(script, None).await;
    let (answer, _) = server.ask("POST", "/v1/messages", &messages("x")).await;
    assert_eq!(answer, "", "nothing comes before the connection breaks");
    let ends = |answer: &str| answer.ends_with("0\r\n\r\n");
    let (answer, _) = server.ask("POST", "/v1/messages", &messages("x")).await;
    assert!(answer.contains("text_delta") && !ends(&answer), "{answer}");
    assert!(!answer.contains("message_stop"), "{answer}");
    let (answer, clean) = server.ask("POST", "/v1/messages", &messages("x")).await;
    assert!(clean && answer.contains("text_delta") && ends(&answer), "{answer}");
    assert!(!answer.contains("message_stop"), "{answer}");
    let (answer, _) = server.ask("POST", "/v1/messages", &messages("x")).await;
    assert!(answer.starts_with("HTTP/1.1 429 ") && answer.contains("retry-after: 2"), "{answer}");
    let (answer, _) = server.ask("POST", "/v1/messages", &messages("x")).await;
    assert!(answer.contains("message_stop"), "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn v6_a_server_ends_though_a_request_hangs() {
    for error in ["hang", "stall"] {
        let script = format!("error: {error}\nsays: some words\n");
        let server = start(&script, None).await;
        let mut stream = server.send("POST", "/v1/messages", &messages("x").to_string()).await;
        if error == "stall" {
            let mut head = [0; 16];
            stream.read_exact(&mut head).await.expect("it begins");
        }
        server.stop().await;
        // Whatever was sent before, the connection is over.
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
        assert!(!String::from_utf8_lossy(&rest).contains("message_stop"), "{error}");
    }
}

#[tokio::test]
async fn v6_exchanges_are_recorded_without_secrets() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let file = folder.path().join("wire.jsonl");
    let server = start("says: Hello there.\n", Some(&file)).await;
    server.ask("POST", "/v1/messages?key=secret-3&beta=true", &messages("x")).await;
    server.send("POST", "/v1/messages", "no json").await.read_to_end(&mut Vec::new()).await.ok();
    server.ask("GET", "/nowhere", &Value::Null).await;
    server.stop().await;
    let text = std::fs::read_to_string(&file).expect("it was written");
    assert!(!text.contains("secret"), "{text}");
    let lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("one object a line")).collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert_eq!(lines[0]["m"], "POST");
    assert_eq!(lines[0]["path"], "/v1/messages?key=***&beta=true");
    assert_eq!(lines[0]["h"]["x-plain"], "seen");
    assert_eq!(lines[0]["body"], messages("x"));
    assert_eq!(lines[0]["status"], 200);
    assert!(lines[0]["resp"].as_str().is_some_and(|text| text.contains("message_stop")));
    assert_eq!((&lines[1]["body"], &lines[1]["status"]), (&json!("no json"), &json!(400)));
    assert_eq!(lines[2]["status"], 404);
}
