//! The window that a local server really holds (R6), through the program: stand-ins speak what Ollama,
//! LM Studio, llama.cpp and vLLM document, and the program asks, believes and says it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::house::{House, Said};

/// What a stand-in answers to an address: status and document. The chat is the same for all.
type Answers = fn(&str) -> Option<(u16, Value)>;

/// A server of one's own that plays one of the known ones.
struct StandIn {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl StandIn {
    fn start(answers: Answers) -> StandIn {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = asked.clone();
        // It ends with the process of the tests.
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let seen = seen.clone();
                std::thread::spawn(move || serve(socket, answers, &seen));
            }
        });
        StandIn { address, asked }
    }

    /// What was asked for, in order.
    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("nobody panics").clone()
    }
}

fn serve(mut socket: TcpStream, answers: Answers, seen: &Mutex<Vec<String>>) {
    let Some((head, _)) = read_request(&mut socket) else { return };
    let line = head.lines().next().unwrap_or_default();
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    seen.lock().expect("nobody panics").push(path.clone());
    let (status, kind, body) = match answers(&path) {
        Some((status, body)) => (status, "application/json", body.to_string()),
        None if path.ends_with("/chat/completions") => (200, "text/event-stream", chat()),
        None => (404, "text/plain", "404 page not found".to_owned()),
    };
    let answer = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    // The program may have gone.
    let _ = socket.write_all(answer.as_bytes());
}

fn read_request(socket: &mut TcpStream) -> Option<(String, String)> {
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
                return Some((head.to_owned(), body.to_owned()));
            }
        }
        match socket.read(&mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
        }
    }
}

/// An answer as the OpenAI-compatible endpoints stream it.
fn chat() -> String {
    let piece = |delta: Value, why: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": why });
        let chunk = json!({ "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [choice] });
        format!("data: {chunk}\n\n")
    };
    let usage = json!({ "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [], "usage": { "prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11 } });
    let said = piece(json!({ "role": "assistant", "content": "Hello there." }), Value::Null);
    format!("{said}{}data: {usage}\n\ndata: [DONE]\n\n", piece(json!({}), json!("stop")))
}

fn show(parameters: &str) -> Value {
    json!({
        "modelfile": "FROM qwen3", "parameters": parameters, "template": "{{ .Prompt }}",
        "details": { "family": "qwen3", "parameter_size": "8.2B" },
        "model_info": { "general.architecture": "qwen3", "qwen3.context_length": 131_072,
            "qwen3.embedding_length": 4_096 },
        "capabilities": ["completion", "tools", "thinking"],
    })
}

fn tags() -> Value {
    json!({ "models": [{ "name": "qwen3:8b", "model": "qwen3:8b", "size": 1 }] })
}

fn running(window: u64) -> Value {
    json!({ "models": [{ "name": "qwen3:8b", "model": "qwen3:8b", "context_length": window }] })
}

fn loaded() -> Value {
    json!({ "model": "qwen3:8b", "response": "", "done": true, "done_reason": "load" })
}

/// Ollama that was started with a window of 8,192.
fn ollama(path: &str) -> Option<(u16, Value)> {
    Some(match path {
        "/api/tags" => (200, tags()),
        "/api/show" => (200, show("stop \"<|im_end|>\"")),
        "/api/generate" => (200, loaded()),
        "/api/ps" => (200, running(8_192)),
        _ => return None,
    })
}

/// A run of this model, and the facts that it printed.
fn run(house: &House, model: &str) -> (Said, Vec<Value>) {
    let said = house.run(&["run", "-m", model, "--output", "jsonl", "Hello."]);
    let lines = said.out.lines().filter_map(|line| serde_json::from_str(line).ok());
    let facts: Vec<Value> = lines.collect();
    (said, facts)
}

/// The window with which the session was opened.
fn window(facts: &[Value]) -> Value {
    let opened = facts.iter().find(|fact| fact["kind"] == "session.opened");
    opened.map(|fact| fact["config"]["model"]["window"].clone()).unwrap_or_default()
}

#[test]
fn r6_a_run_has_the_window_that_ollama_holds_and_says_how_to_raise_it() {
    let server = StandIn::start(ollama);
    let house = House::new().with("OLLAMA_HOST", &server.address);
    let (said, facts) = run(&house, "ollama/qwen3:8b");
    assert_eq!(said.status, 0, "{}{}", said.out, said.err);
    assert_eq!(window(&facts), 8_192, "{}", said.out);
    assert!(said.err.contains("a window of 8192 tokens here, of the 131072"), "{}", said.err);
    for way in ["OLLAMA_CONTEXT_LENGTH", "PARAMETER num_ctx", "takes no window with a request"] {
        assert!(said.err.contains(way), "{way}: {}", said.err);
    }
    // Asked and loaded as the request will use it, before anything is said to the model.
    let wanted = ["/api/show", "/api/generate", "/api/ps", "/v1/chat/completions"];
    assert_eq!(server.asked(), wanted, "once each, in this order");
    let answer = facts.iter().find(|fact| fact["kind"] == "run.finished").expect("it ends");
    assert_eq!(answer["text"], "Hello there.");
}

#[test]
fn r6_a_window_of_the_modelfile_holds_and_nothing_is_loaded_for_it() {
    let server = StandIn::start(|path| match path {
        "/api/show" => Some((200, show("num_ctx                        40960\nstop \"x\""))),
        // Somebody else has it loaded with another one, which is not what the request gets.
        "/api/ps" => Some((200, running(2_048))),
        _ => None,
    });
    let house = House::new().with("OLLAMA_HOST", &server.address);
    let (said, facts) = run(&house, "ollama/qwen3:8b");
    assert_eq!((said.status, window(&facts)), (0, json!(40_960)), "{}", said.err);
    assert!(!said.err.contains("window"), "it is roomy: nothing is said: {}", said.err);
    assert_eq!(server.asked(), ["/api/show", "/v1/chat/completions"]);
}

#[test]
fn r6_what_does_not_fit_is_said_before_anything_is_sent() {
    let server = StandIn::start(|path| match path {
        "/api/ps" => Some((200, running(2_048))),
        path => ollama(path),
    });
    let house = House::new().with("OLLAMA_HOST", &server.address);
    let (said, _) = run(&house, "ollama/qwen3:8b");
    assert_eq!(said.status, 2, "{}{}", said.out, said.err);
    let says = ["a window of 2048 tokens", "instructions and tools need about", "cut off unseen"];
    for words in says.into_iter().chain(["OLLAMA_CONTEXT_LENGTH"]) {
        assert!(said.err.contains(words), "{words}: {}", said.err);
    }
    assert!(!server.asked().iter().any(|path| path.contains("chat")), "{:?}", server.asked());
}

#[test]
fn r6_a_careful_window_is_assumed_and_said_where_nobody_says_one() {
    // An older Ollama: what runs stands in its list without a window.
    let server = StandIn::start(|path| match path {
        "/api/ps" => Some((200, json!({ "models": [{ "name": "qwen3:8b" }] }))),
        path => ollama(path),
    });
    let house = House::new().with("OLLAMA_HOST", &server.address);
    let (said, facts) = run(&house, "ollama/qwen3:8b");
    assert_eq!((said.status, window(&facts)), (0, json!(4_096)), "{}", said.err);
    assert!(said.err.contains("does not say which window holds"), "{}", said.err);
    assert!(said.err.contains("a window of 4096 tokens is assumed"), "{}", said.err);
    // Nobody there at all.
    let (said, facts) = run(&House::new(), "ollama/qwen3:8b");
    assert_ne!(said.status, 0);
    assert_eq!(window(&facts), 4_096, "{}", said.out);
    assert!(said.err.contains("nobody at http://127.0.0.1:1"), "{}", said.err);
    // What the settings say is believed, and nobody is asked.
    let house = House::new().with("OLLAMA_HOST", &server.address);
    house.write(&house.user_config(), "[models.\"ollama/qwen3:8b\"]\nwindow = 64000\n");
    let before = server.asked().len();
    let (said, facts) = run(&house, "ollama/qwen3:8b");
    assert_eq!((said.status, window(&facts)), (0, json!(64_000)), "{}", said.err);
    assert_eq!(server.asked()[before..], ["/v1/chat/completions"]);
}

#[test]
fn r6_a_model_that_ollama_does_not_have_is_named_with_how_to_get_it() {
    let server = StandIn::start(|path| match path {
        "/api/show" => Some((404, json!({ "error": "model 'qwen3:8b' not found" }))),
        _ => None,
    });
    let house = House::new().with("OLLAMA_HOST", &server.address);
    let (said, _) = run(&house, "ollama/qwen3:8b");
    assert_eq!(said.status, 2, "{}", said.err);
    assert!(said.err.contains("`ollama pull qwen3:8b`"), "{}", said.err);
}

#[test]
fn r6_lm_studio_llama_cpp_and_vllm_say_their_windows() {
    let lmstudio: Answers = |path| {
        (path == "/api/v0/models").then(|| {
            let row = |id: &str, state: &str| {
                json!({ "id": id, "object": "model", "type": "llm", "state": state,
                    "max_context_length": 32_768 })
            };
            let mut loaded = row("m", "loaded");
            loaded["loaded_context_length"] = json!(10_000);
            (200, json!({ "object": "list", "data": [loaded, row("other", "not-loaded")] }))
        })
    };
    let llamacpp: Answers = |path| {
        (path == "/props").then(|| {
            (200, json!({ "default_generation_settings": { "n_ctx": 12_000 }, "total_slots": 1 }))
        })
    };
    let vllm: Answers = |path| {
        (path == "/v1/models").then(|| {
            let row = json!({ "id": "m", "object": "model", "max_model_len": 14_000 });
            (200, json!({ "object": "list", "data": [row] }))
        })
    };
    let cases = [
        ("LMSTUDIO_BASE_URL", "lmstudio/m", lmstudio, 10_000, "lms load m --context-length"),
        ("LMSTUDIO_BASE_URL", "lmstudio/other", lmstudio, 4_096, "(it could take 32768)"),
        ("LLAMACPP_BASE_URL", "llamacpp/m", llamacpp, 12_000, "`--ctx-size 32768`"),
        ("VLLM_BASE_URL", "vllm/m", vllm, 14_000, "`--max-model-len 32768`"),
    ];
    for (variable, model, answers, tokens, way) in cases {
        let server = StandIn::start(answers);
        let house = House::new().with(variable, &format!("http://{}/v1", server.address));
        let (said, facts) = run(&house, model);
        assert_eq!((said.status, window(&facts)), (0, json!(tokens)), "{model}: {}", said.err);
        assert!(said.err.contains(way), "{model}: {}", said.err);
    }
}

#[test]
fn r6_models_probe_shows_the_windows_that_hold_and_fails_when_nobody_answers() {
    let server = StandIn::start(ollama);
    let house = House::new().with("OLLAMA_HOST", &server.address);
    let rows = house.json(&["models", "ollama", "--probe", "--json"]);
    assert_eq!((&rows[0]["model"], &rows[0]["window"]), (&json!("ollama/qwen3:8b"), &json!(8_192)));
    assert_eq!(rows[0]["window_max"], 131_072, "{rows}");
    let table = house.ok(&["models", "ollama", "--probe"]);
    assert!(table.contains("8192 of 131072"), "{table}");
    assert!(!server.asked().iter().any(|path| path == "/api/generate"), "nothing is loaded for it");
    for (args, words) in [
        (["models", "ollama", "--probe"], "no response from http://127.0.0.1:1"),
        (["models", "anthropic", "--probe"], "there is no key for it"),
    ] {
        let said = House::new().run(&args);
        assert_eq!(said.status, 1, "{}{}", said.out, said.err);
        assert!(said.err.contains(words), "{}", said.err);
    }
}
