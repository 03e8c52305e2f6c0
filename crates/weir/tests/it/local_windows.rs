//! The window that a local server really holds (R6), through the program: stand-ins speak what Ollama,
//! LM Studio, llama.cpp and vLLM document, and the program asks, believes and says it.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use weir_test_kit::{CommandOutput, HttpAnswer, HttpStandIn, TestInstallation};

/// What a stand-in answers to an address: status and document. The chat is the same for all.
type Answers = fn(&str) -> Option<(u16, Value)>;

/// A server of one's own that plays one of the known ones.
fn stand_in(answers: Answers) -> HttpStandIn {
    HttpStandIn::start(move |request, _| match answers(request.path()) {
        Some((status, body)) => HttpAnswer::json(status, &body),
        None if request.path() == "/api/chat" => HttpAnswer::new(200, LINES, own_chat()),
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

/// The type of what Ollama streams.
const LINES: &str = "application/x-ndjson";

/// One line of what Ollama streams: `message` is what it adds, `last` what stands in the last one.
fn own_line(message: &Value, last: Option<Value>) -> String {
    let mut line = json!({ "model": "m", "created_at": "2026-01-02T03:04:05Z", "message": message,
        "done": last.is_some() });
    if let (Some(line), Some(Value::Object(last))) = (line.as_object_mut(), last) {
        line.extend(last);
    }
    format!("{line}\n")
}

/// An answer as Ollama's own API streams it.
fn own_chat() -> String {
    let said = |text: &str| json!({ "role": "assistant", "content": text });
    let last = json!({ "done_reason": "stop", "prompt_eval_count": 9, "eval_count": 2 });
    format!("{}{}", own_line(&said("Hello there."), None), own_line(&said(""), Some(last)))
}

/// What a chat with Ollama's own API asked for last.
fn last_chat(server: &HttpStandIn) -> Value {
    let requests = server.requests();
    let mut chats = requests.iter().filter(|request| request.path() == "/api/chat");
    serde_json::from_str(&chats.next_back().expect("a chat").body).expect("a document")
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

/// A house that speaks with Ollama as with any server that follows OpenAI.
fn by_openai(server: &HttpStandIn) -> TestInstallation {
    let house = TestInstallation::new().with_variable("OLLAMA_HOST", &server.address());
    house.write(&house.user_config(), "[providers.ollama]\ndialect = \"openai-chat\"\n");
    house
}

#[test]
fn r6_ollama_is_asked_for_the_window_that_a_session_wants_and_for_what_its_model_can() {
    let server = stand_in(ollama);
    let house = TestInstallation::new().with_variable("OLLAMA_HOST", &server.address());
    let (said, facts) = run(&house, "ollama/qwen3:8b");
    assert_eq!((said.status, window(&facts)), (0, json!(32_768)), "{}", said.err);
    assert!(!said.err.contains("window"), "it is roomy: nothing is said: {}", said.err);
    assert_eq!(asked(&server), ["/api/show", "/api/chat"], "nothing is loaded to find out");
    let body = last_chat(&server);
    assert_eq!((&body["options"]["num_ctx"], &body["think"]), (&json!(32_768), &json!(true)));
    assert!(body["tools"].as_array().is_some_and(|tools| tools.len() > 5), "{body}");
    let opened = facts.iter().find(|fact| fact["kind"] == "session.opened").expect("it began");
    let abilities = &opened["config"]["model"]["abilities"];
    assert_eq!(*abilities, json!(["tools", "text_calls", "thinking"]));
    let answer = facts.iter().find(|fact| fact["kind"] == "run.finished").expect("it ends");
    assert_eq!(answer["text"], "Hello there.");
    // What a person writes down is asked for, and the server is asked nothing else.
    house.write(&house.user_config(), "[models.\"ollama/qwen3:8b\"]\nwindow = 65536\n");
    let before = asked(&server).len();
    let (said, facts) = run(&house, "ollama/qwen3:8b");
    assert_eq!((said.status, window(&facts)), (0, json!(65_536)), "{}", said.err);
    assert_eq!(asked(&server)[before..], ["/api/chat"]);
    assert_eq!(last_chat(&server)["options"]["num_ctx"], 65_536);
}

#[test]
fn r6_ollama_on_another_machine_is_asked_too_and_no_window_is_guessed_for_it() {
    let server = stand_in(ollama);
    let house = TestInstallation::new();
    let provider = format!(
        "[providers.box]\ndialect = \"ollama\"\nbase_url = \"http://{}\"\n",
        server.address()
    );
    house.write(&house.user_config(), &provider);
    let (said, facts) = run(&house, "box/qwen3:8b");
    assert_eq!((said.status, window(&facts)), (0, json!(32_768)), "{}{}", said.out, said.err);
    assert!(!said.err.contains("guess"), "{}", said.err);
    assert_eq!(asked(&server), ["/api/show", "/api/chat"]);
    let body = last_chat(&server);
    assert_eq!((&body["options"]["num_ctx"], &body["think"]), (&json!(32_768), &json!(true)));
}

#[test]
fn r6_a_judge_on_ollama_is_asked_with_the_window_that_its_server_says() {
    let server = stand_in(ollama);
    let house = TestInstallation::new().with_variable("OLLAMA_HOST", &server.address());
    let script = "calls: write_file {\"path\": \"a.txt\", \"content\": \"new\"}\n\nsays: Done.\n";
    house.write(&house.at("s.script"), script);
    let judge = "[security]\nvalidate_output = true\n[helpers]\njudge = \"ollama/qwen3:8b\"\n";
    house.write(&house.user_config(), judge);
    let said =
        house.run(&["run", "-m", &house.script_model(), "--permission", "full", "Write it."]);
    assert_eq!(asked(&server)[..2], ["/api/show", "/api/chat"], "{}{}", said.out, said.err);
    let body = last_chat(&server);
    assert_eq!(body["options"]["num_ctx"], 32_768, "not a guess: {body}");
}

#[test]
fn r6_a_model_whose_template_has_no_tools_is_told_them_in_its_prompt() {
    let server = stand_in(|path| match path {
        "/api/show" => {
            let mut shown = show("");
            shown["capabilities"] = json!(["completion", "vision"]);
            Some((200, shown))
        }
        _ => None,
    });
    let house = TestInstallation::new().with_variable("OLLAMA_HOST", &server.address());
    let (said, _) = run(&house, "ollama/gemma3:12b");
    assert_eq!(said.status, 0, "{}{}", said.out, said.err);
    let body = last_chat(&server);
    assert!(body.get("tools").is_none() && body.get("think").is_none(), "{body}");
    let system = body["messages"][0]["content"].as_str().unwrap_or_default();
    assert!(system.contains("read_file"), "its tools stand there: {system}");
}

#[test]
fn r6_a_run_has_the_window_that_ollama_holds_and_says_how_to_raise_it() {
    let server = stand_in(ollama);
    let house = by_openai(&server);
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
    let house = by_openai(&server);
    let (said, facts) = run(&house, "ollama/qwen3:8b");
    assert_eq!((said.status, window(&facts)), (0, json!(40_960)), "{}", said.err);
    assert!(!said.err.contains("window"), "it is roomy: nothing is said: {}", said.err);
    assert_eq!(asked(&server), ["/api/show", "/v1/chat/completions"]);
    let house = TestInstallation::new().with_variable("OLLAMA_HOST", &server.address());
    let (said, _) = run(&house, "ollama/qwen3:8b");
    assert_eq!(said.status, 0, "{}", said.err);
    assert_eq!(last_chat(&server)["options"]["num_ctx"], 40_960, "the same by its own API");
}

#[test]
fn r6_what_does_not_fit_is_said_before_anything_is_sent() {
    let server = stand_in(|path| match path {
        "/api/ps" => Some((200, running(2_048))),
        path => ollama(path),
    });
    let house = by_openai(&server);
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
    let house = by_openai(&server);
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
    let settings = "[providers.ollama]\ndialect = \"openai-chat\"\n\
         [models.\"ollama/qwen3:8b\"]\nwindow = 64000\n";
    house.write(&house.user_config(), settings);
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
fn r6_a_server_that_says_nothing_of_a_window_is_there_all_the_same() {
    let server = stand_in(|_| None);
    let house = TestInstallation::new()
        .with_variable("LMSTUDIO_BASE_URL", &format!("http://{}/v1", server.address()));
    let (said, facts) = run(&house, "lmstudio/m");
    assert_eq!((said.status, window(&facts)), (0, json!(4_096)), "{}", said.err);
    assert!(said.err.contains("lmstudio does not say which window holds"), "{}", said.err);
}

#[test]
fn r6_models_probe_shows_the_windows_that_hold_and_fails_when_nobody_answers() {
    let server = stand_in(ollama);
    let own = TestInstallation::new().with_variable("OLLAMA_HOST", &server.address());
    assert_eq!(own.json(&["models", "ollama", "--probe", "--json"])[0]["window"], 32_768);
    let house = by_openai(&server);
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

/// A server with a window of 4,096 tokens, whatever it says and is asked for, that cuts off the beginning of what is
/// longer without a word. It wants one file after the other, and at the end says whether it still knows the task.
fn cutting_server() -> HttpStandIn {
    const WINDOW: usize = 4_096;
    let wanted = AtomicUsize::new(0);
    HttpStandIn::start(move |request, _| {
        if request.path() == "/api/show" {
            return HttpAnswer::json(200, &show("num_ctx 16384"));
        }
        if request.path() != "/api/chat" {
            return HttpAnswer::new(404, "text/plain", "404 page not found");
        }
        let body = request.body.as_str();
        let tokens = body.len() / 4;
        let is_cut = tokens > WINDOW;
        let message = match is_cut {
            false if body.contains("You condense the transcript") => {
                let summary = "<summary>State: files are read one after the other.</summary>";
                json!({ "role": "assistant", "content": summary })
            }
            true => json!({ "role": "assistant", "content": "Who are you?" }),
            false if wanted.load(Ordering::SeqCst) == FILES => {
                json!({ "role": "assistant", "content": "All were read." })
            }
            false => {
                let file = wanted.fetch_add(1, Ordering::SeqCst) + 1;
                let arguments = json!({ "path": format!("f{file}.txt") });
                let call = json!({ "function": { "name": "read_file", "arguments": arguments } });
                json!({ "role": "assistant", "content": "", "tool_calls": [call] })
            }
        };
        let last = json!({ "done_reason": "stop", "prompt_eval_count": tokens.min(WINDOW),
            "eval_count": 10 });
        let lines = format!("{}{}", own_line(&message, None), own_line(&json!({}), Some(last)));
        HttpAnswer::new(200, LINES, lines)
    })
}

/// Files that the cutting server wants to read.
const FILES: usize = 2;

#[test]
fn r6_a_server_that_cuts_silently_is_found_out_and_nothing_is_lost() {
    let server = cutting_server();
    let house = TestInstallation::new().with_variable("OLLAMA_HOST", &server.address());
    for file in 1..=FILES {
        let text = format!("line of file {file} with words that take room\n").repeat(500);
        house.write(&format!("work/f{file}.txt"), &text);
    }
    let task = "Count the files and remember the word heliotrope.";
    let said = house.run(&[
        "run",
        "-m",
        "ollama/qwen3:8b",
        "--output",
        "jsonl",
        "--permission",
        "full",
        task,
    ]);
    assert_eq!(said.status, 0, "{}{}", said.out, said.err);
    let facts: Vec<Value> =
        said.out.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let of = |kind: &str| facts.iter().filter(|fact| fact["kind"] == kind).collect::<Vec<_>>();
    let told = of("alert.raised");
    assert!(told.iter().any(|fact| fact["alert"] == "silent_cut"), "{}", said.out);
    let detail = told[0]["detail"].as_str().unwrap_or_default();
    assert!(detail.contains("cut off the rest without a word"), "{detail}");
    let end = of("run.finished")[0];
    assert_eq!(end["text"], "All were read.", "{}", said.out);
    let replied = of("model.replied");
    let text = serde_json::to_string(&replied).expect("JSON");
    assert!(!text.contains("Who are you?"), "what it answered to the rest is not used");
    // The last request fits, and the person's words stand in it.
    let body = last_chat(&server);
    assert!(
        body.to_string().len() / 4 <= 4_096 && body.to_string().contains("heliotrope"),
        "{body}"
    );
}

#[test]
fn r6_a_small_window_gets_the_small_profile_unless_somebody_chose_one() {
    let server = stand_in(ollama);
    let profile = |house: &TestInstallation, more: &[&str]| {
        let mut args = vec!["run", "-m", "ollama/qwen3:8b", "--output", "jsonl"];
        args.extend(more);
        args.push("Hello.");
        let said = house.run(&args);
        assert_eq!(said.status, 0, "{}{}", said.out, said.err);
        let opened = said.out.lines().find_map(|line| {
            serde_json::from_str::<Value>(line).ok().filter(|fact| fact["kind"] == "session.opened")
        });
        (opened.expect("it began")["profile"].clone(), said.err)
    };
    let house = by_openai(&server);
    let (name, told) = profile(&house, &[]);
    assert_eq!(name, "compact");
    assert!(told.contains("has a window of 8192 tokens, so the profile compact is used"), "{told}");
    assert_eq!(profile(&house, &["--profile", "ask"]).0, "ask");
    let roomy = TestInstallation::new().with_variable("OLLAMA_HOST", &server.address());
    assert_eq!(profile(&roomy, &[]).0, "agent");
}

#[test]
fn r6_a_window_that_nobody_knows_is_said_to_be_a_guess() {
    let server = stand_in(|_| None);
    let house = TestInstallation::new();
    let provider = format!(
        "[providers.box]\ndialect = \"openai-chat\"\nbase_url = \"http://{}/v1\"\n",
        server.address()
    );
    house.write(&house.user_config(), &provider);
    let (said, facts) = run(&house, "box/my-model");
    assert_eq!((said.status, window(&facts)), (0, json!(4_096)), "{}", said.err);
    let words = "nothing is known of box/my-model: its window of 4096 tokens is a guess";
    assert_eq!(said.err.matches(words).count(), 1, "{}", said.err);
    let known = format!("{provider}[models.\"box/my-model\"]\nwindow = 64000\n");
    house.write(&house.user_config(), &known);
    let (said, _) = run(&house, "box/my-model");
    assert!(!said.err.contains("guess"), "{}", said.err);
}
