//! The window that a local server really holds (R6), through the program: stand-ins speak what Ollama,
//! LM Studio, llama.cpp and vLLM document, and the program asks, believes and says it.

use serde_json::{Value, json};
use weir_test_kit::{CommandOutput, HttpAnswer, HttpStandIn, TestInstallation};

/// What a stand-in answers to an address: status and document. The chat is the same for all.
type Answers = fn(&str) -> Option<(u16, Value)>;

/// A server of one's own that plays one of the known ones.
fn stand_in(answers: Answers) -> HttpStandIn {
    HttpStandIn::start(move |request, _| match answers(request.path()) {
        Some((status, body)) => HttpAnswer::json(status, &body),
        None if request.path().ends_with("/chat/completions") => {
            HttpAnswer::new(200, "text/event-stream", chat())
        }
        None => HttpAnswer::new(404, "text/plain", "404 page not found"),
    })
}

/// What it was asked for, in order.
fn asked(server: &HttpStandIn) -> Vec<String> {
    server.requests().iter().map(|request| request.path().to_owned()).collect()
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
fn run(house: &TestInstallation, model: &str) -> (CommandOutput, Vec<Value>) {
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
    let server = stand_in(ollama);
    let house = TestInstallation::new().with_variable("OLLAMA_HOST", &server.address());
    let (said, facts) = run(&house, "ollama/qwen3:8b");
    assert_eq!(said.status, 0, "{}{}", said.out, said.err);
    assert_eq!(window(&facts), 8_192, "{}", said.out);
    assert!(said.err.contains("a window of 8192 tokens here, of the 131072"), "{}", said.err);
    for way in ["OLLAMA_CONTEXT_LENGTH", "PARAMETER num_ctx", "takes no window with a request"] {
        assert!(said.err.contains(way), "{way}: {}", said.err);
    }
    // Asked and loaded as the request will use it, before anything is said to the model.
    let wanted = ["/api/show", "/api/generate", "/api/ps", "/v1/chat/completions"];
    assert_eq!(asked(&server), wanted, "once each, in this order");
    let answer = facts.iter().find(|fact| fact["kind"] == "run.finished").expect("it ends");
    assert_eq!(answer["text"], "Hello there.");
}

#[test]
fn r6_a_window_of_the_modelfile_holds_and_nothing_is_loaded_for_it() {
    let server = stand_in(|path| match path {
        "/api/show" => Some((200, show("num_ctx                        40960\nstop \"x\""))),
        // Somebody else has it loaded with another one, which is not what the request gets.
        "/api/ps" => Some((200, running(2_048))),
        _ => None,
    });
    let house = TestInstallation::new().with_variable("OLLAMA_HOST", &server.address());
    let (said, facts) = run(&house, "ollama/qwen3:8b");
    assert_eq!((said.status, window(&facts)), (0, json!(40_960)), "{}", said.err);
    assert!(!said.err.contains("window"), "it is roomy: nothing is said: {}", said.err);
    assert_eq!(asked(&server), ["/api/show", "/v1/chat/completions"]);
}

#[test]
fn r6_what_does_not_fit_is_said_before_anything_is_sent() {
    let server = stand_in(|path| match path {
        "/api/ps" => Some((200, running(2_048))),
        path => ollama(path),
    });
    let house = TestInstallation::new().with_variable("OLLAMA_HOST", &server.address());
    let (said, _) = run(&house, "ollama/qwen3:8b");
    assert_eq!(said.status, 2, "{}{}", said.out, said.err);
    let says = ["a window of 2048 tokens", "instructions and tools need about", "cut off unseen"];
    for words in says.into_iter().chain(["OLLAMA_CONTEXT_LENGTH"]) {
        assert!(said.err.contains(words), "{words}: {}", said.err);
    }
    assert!(!asked(&server).iter().any(|path| path.contains("chat")), "{:?}", asked(&server));
}

#[test]
fn r6_a_careful_window_is_assumed_and_said_where_nobody_says_one() {
    // An older Ollama: what runs stands in its list without a window.
    let server = stand_in(|path| match path {
        "/api/ps" => Some((200, json!({ "models": [{ "name": "qwen3:8b" }] }))),
        path => ollama(path),
    });
    let house = TestInstallation::new().with_variable("OLLAMA_HOST", &server.address());
    let (said, facts) = run(&house, "ollama/qwen3:8b");
    assert_eq!((said.status, window(&facts)), (0, json!(4_096)), "{}", said.err);
    assert!(said.err.contains("does not say which window holds"), "{}", said.err);
    assert!(said.err.contains("a window of 4096 tokens is assumed"), "{}", said.err);
    // Nobody there at all.
    let (said, facts) = run(&TestInstallation::new(), "ollama/qwen3:8b");
    assert_ne!(said.status, 0);
    assert_eq!(window(&facts), 4_096, "{}", said.out);
    assert!(said.err.contains("nobody at http://127.0.0.1:1"), "{}", said.err);
    // What the settings say is believed, and nobody is asked.
    let house = TestInstallation::new().with_variable("OLLAMA_HOST", &server.address());
    house.write(&house.user_config(), "[models.\"ollama/qwen3:8b\"]\nwindow = 64000\n");
    let before = asked(&server).len();
    let (said, facts) = run(&house, "ollama/qwen3:8b");
    assert_eq!((said.status, window(&facts)), (0, json!(64_000)), "{}", said.err);
    assert_eq!(asked(&server)[before..], ["/v1/chat/completions"]);
}

#[test]
fn r6_a_model_that_ollama_does_not_have_is_named_with_how_to_get_it() {
    let server = stand_in(|path| match path {
        "/api/show" => Some((404, json!({ "error": "model 'qwen3:8b' not found" }))),
        _ => None,
    });
    let house = TestInstallation::new().with_variable("OLLAMA_HOST", &server.address());
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
        let server = stand_in(answers);
        let house = TestInstallation::new()
            .with_variable(variable, &format!("http://{}/v1", server.address()));
        let (said, facts) = run(&house, model);
        assert_eq!((said.status, window(&facts)), (0, json!(tokens)), "{model}: {}", said.err);
        assert!(said.err.contains(way), "{model}: {}", said.err);
    }
}

#[test]
fn r6_models_probe_shows_the_windows_that_hold_and_fails_when_nobody_answers() {
    let server = stand_in(ollama);
    let house = TestInstallation::new().with_variable("OLLAMA_HOST", &server.address());
    let rows = house.json(&["models", "ollama", "--probe", "--json"]);
    assert_eq!((&rows[0]["model"], &rows[0]["window"]), (&json!("ollama/qwen3:8b"), &json!(8_192)));
    assert_eq!(rows[0]["window_max"], 131_072, "{rows}");
    let table = house.ok(&["models", "ollama", "--probe"]);
    assert!(table.contains("8192 of 131072"), "{table}");
    assert!(!asked(&server).iter().any(|path| path == "/api/generate"), "nothing is loaded for it");
    for (args, words) in [
        (["models", "ollama", "--probe"], "no response from http://127.0.0.1:1"),
        (["models", "anthropic", "--probe"], "there is no key for it"),
    ] {
        let said = TestInstallation::new().run(&args);
        assert_eq!(said.status, 1, "{}{}", said.out, said.err);
        assert!(said.err.contains(words), "{}", said.err);
    }
}
