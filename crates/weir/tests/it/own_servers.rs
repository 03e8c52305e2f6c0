//! Servers of one's own under a name of one's own (R6, V5), through the program: stand-ins speak what vLLM,
//! llama.cpp and LM Studio document, or nothing that anybody knows. Not here: the built-in ones (`local_windows`).

use serde_json::{Value, json};
use weir_test_kit::{CommandOutput, HttpAnswer, HttpRequest, HttpStandIn, TestInstallation};

/// What is asked of a server of which nobody said what it is, in the order of the alphabet.
const QUESTIONS: [&str; 3] = ["/api/v0/models", "/props", "/v1/models"];
/// Where the model is spoken with.
const CHAT: &str = "/v1/chat/completions";

/// What a stand-in answers to an address; none: it is not found. Every chat is answered with a greeting.
type Answers = fn(&str) -> Option<(u16, Value)>;

fn stand_in(answers: Answers) -> HttpStandIn {
    HttpStandIn::start(move |request, _| match answers(request.path()) {
        Some((status, body)) => HttpAnswer::json(status, &body),
        None if request.path() == CHAT => chat(request, "Hello there."),
        None => not_found(),
    })
}

fn not_found() -> HttpAnswer {
    HttpAnswer::json(404, &json!({ "detail": "Not Found" }))
}

/// A reply to a request, as OpenAI-compatible endpoints stream it. Its tokens are counted as a server would, and
/// never to a number that is the size of a window.
fn chat(request: &HttpRequest, text: &str) -> HttpAnswer {
    let tokens = (request.body.len() / 4) | 1;
    let chunk = |choices: Value, usage: Value| {
        let chunk = json!({ "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": choices, "usage": usage });
        format!("data: {chunk}\n\n")
    };
    let piece = |delta: Value, why: Value| {
        chunk(json!([{ "index": 0, "delta": delta, "finish_reason": why }]), Value::Null)
    };
    let usage = json!({ "prompt_tokens": tokens, "completion_tokens": 2,
        "total_tokens": tokens + 2 });
    let said = piece(json!({ "role": "assistant", "content": text }), Value::Null);
    let end = piece(json!({}), json!("stop"));
    let body = format!("{said}{end}{}data: [DONE]\n\n", chunk(json!([]), usage));
    HttpAnswer::new(200, "text/event-stream", body)
}

/// A house with the server as the provider `box`. `more`: more lines of its table, and what follows.
fn house(server: &HttpStandIn, more: &str) -> TestInstallation {
    let house = TestInstallation::new();
    let settings = format!(
        "[providers.box]\ndialect = \"openai-chat\"\nbase_url = \"http://{}/v1\"\n{more}",
        server.address()
    );
    house.write(&house.user_config(), &settings);
    house
}

/// A run with its model, and the facts that it printed.
fn run(house: &TestInstallation) -> (CommandOutput, Vec<Value>) {
    let said = house.run(&["run", "-m", "box/m", "--output", "jsonl", "What does a.txt say?"]);
    let facts = said.out.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    (said, facts)
}

fn of_kind<'a>(facts: &'a [Value], kind: &str) -> Vec<&'a Value> {
    facts.iter().filter(|fact| fact["kind"] == kind).collect()
}

/// Window and abilities with which the session was opened.
fn model(facts: &[Value]) -> (Value, Value) {
    let opened = of_kind(facts, "session.opened");
    let model = opened.first().map(|fact| fact["config"]["model"].clone()).unwrap_or_default();
    (model["window"].clone(), model["abilities"].clone())
}

/// What a server was asked for: what is asked at once sorted, and then the rest in order.
fn asked(server: &HttpStandIn) -> Vec<String> {
    let mut all: Vec<String> =
        server.requests().iter().map(|request| request.path().to_owned()).collect();
    let first = all.iter().take_while(|path| *path != CHAT).count();
    all[..first].sort_unstable();
    all
}

/// The bodies of the chats.
fn chats(server: &HttpStandIn) -> Vec<Value> {
    let requests = server.requests();
    let chats = requests.iter().filter(|request| request.path() == CHAT);
    chats.map(|request| serde_json::from_str(&request.body).expect("a document")).collect()
}

fn offers_tools(chat: &Value) -> bool {
    chat["tools"].as_array().is_some_and(|tools| !tools.is_empty())
}

fn vllm(path: &str) -> Option<(u16, Value)> {
    let row = json!({ "id": "m", "object": "model", "owned_by": "vllm", "max_model_len": 8_192 });
    (path == "/v1/models").then(|| (200, json!({ "object": "list", "data": [row] })))
}

#[test]
fn r6_vllm_under_a_name_of_ones_own_says_its_window() {
    let server = stand_in(vllm);
    let key = "api_key_env = \"BOX_API_KEY\"\n";
    let house = house(&server, key).with_variable("BOX_API_KEY", "sk-box-0123456789");
    let (said, facts) = run(&house);
    assert_eq!(said.status, 0, "{}{}", said.out, said.err);
    assert_eq!(model(&facts), (json!(8_192), json!(["tools", "text_calls"])), "{}", said.err);
    for words in ["a window of 8192 tokens here", "`--max-model-len 32768`", "compact"] {
        assert!(said.err.contains(words), "{words}: {}", said.err);
    }
    assert!(!said.err.contains("guess"), "{}", said.err);
    assert_eq!(asked(&server), [&QUESTIONS[..], &[CHAT]].concat(), "once each");
    for request in server.requests() {
        assert!(request.head.contains("Bearer sk-box-0123456789"), "{}", request.head);
    }
}

#[test]
fn r6_what_a_server_is_can_be_said_and_saves_the_questions() {
    let server = stand_in(vllm);
    let (said, facts) = run(&house(&server, "server = \"vllm\"\n"));
    assert_eq!((said.status, model(&facts).0), (0, json!(8_192)), "{}{}", said.out, said.err);
    assert_eq!(asked(&server), ["/v1/models", CHAT]);
    // What is none of the known ones is asked nothing, and its window is a careful guess.
    let server = stand_in(vllm);
    let (said, facts) = run(&house(&server, "server = \"other\"\n"));
    assert_eq!((said.status, model(&facts).0), (0, json!(4_096)), "{}{}", said.out, said.err);
    assert!(said.err.contains("its window of 4096 tokens is a guess"), "{}", said.err);
    assert_eq!(asked(&server), [CHAT]);
    // A window that somebody wrote down saves them too.
    let server = stand_in(vllm);
    let (said, facts) = run(&house(&server, "[models.\"box/m\"]\nwindow = 64000\n"));
    assert_eq!((said.status, model(&facts).0), (0, json!(64_000)), "{}{}", said.out, said.err);
    assert_eq!(asked(&server), [CHAT]);
}

#[test]
fn v5_lm_studio_says_that_its_model_knows_no_tools() {
    let server = stand_in(|path| {
        let row = json!({ "id": "m", "object": "model", "type": "llm", "state": "loaded",
            "max_context_length": 131_072, "loaded_context_length": 40_000, "capabilities": [] });
        (path == "/api/v0/models").then(|| (200, json!({ "object": "list", "data": [row] })))
    });
    let (said, facts) = run(&house(&server, ""));
    assert_eq!(said.status, 0, "{}{}", said.out, said.err);
    assert_eq!(model(&facts), (json!(40_000), json!(["text_tools"])), "{}", said.err);
    let chats = chats(&server);
    let system = chats[0]["messages"][0]["content"].as_str().unwrap_or_default();
    assert!(!offers_tools(&chats[0]) && system.contains("read_file"), "{system}");
    // What a person says that it can do holds.
    let abilities = "[models.\"box/m\"]\nabilities = [\"tools\"]\n";
    let (_, facts) = run(&house(&server, abilities));
    assert_eq!(model(&facts), (json!(40_000), json!(["tools"])));
}

/// `llama-server` without `--jinja`. Its model reads the file by a call in its text, and then says what stands there.
fn without_jinja() -> HttpStandIn {
    HttpStandIn::start(|request, _| match request.path() {
        "/props" => {
            let props = json!({ "default_generation_settings": { "n_ctx": 16_000 },
                "chat_template": "{% if tools %}{{ tools }}{% endif %}", "total_slots": 1 });
            HttpAnswer::json(200, &props)
        }
        "/v1/models" => {
            let row = json!({ "id": "m", "object": "model", "owned_by": "llamacpp" });
            HttpAnswer::json(200, &json!({ "object": "list", "data": [row] }))
        }
        CHAT => {
            let body: Value = serde_json::from_str(&request.body).expect("a document");
            if offers_tools(&body) {
                let error = json!({ "code": 400, "message": "tools param requires --jinja flag",
                    "type": "invalid_request_error" });
                return HttpAnswer::json(400, &json!({ "error": error }));
            }
            match request.body.contains("heliotrope") {
                true => chat(request, "It names a flower."),
                false => chat(
                    request,
                    "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.txt\"}}\n\
                     </tool_call>",
                ),
            }
        }
        _ => not_found(),
    })
}

#[test]
fn v5_a_server_that_takes_no_tools_works_by_its_prompt_now_and_the_next_time() {
    let server = without_jinja();
    let house = house(&server, "");
    house.write(&house.at("work/a.txt"), "A heliotrope.\n");
    let (said, facts) = run(&house);
    assert_eq!(said.status, 0, "{}{}", said.out, said.err);
    assert_eq!(model(&facts), (json!(16_000), json!(["tools", "text_calls"])));
    let refused = of_kind(&facts, "tools.refused");
    assert_eq!((refused.len(), &refused[0]["model"]), (1, &json!("box/m")), "{}", said.out);
    let words = refused[0]["message"].as_str().unwrap_or_default();
    assert!(words.contains("tools param requires --jinja flag"), "{words}");
    let requests = of_kind(&facts, "model.requested");
    let lost: Vec<&Value> = requests.iter().map(|fact| &fact["prefix_lost"]).collect();
    let why = json!("the tools of box/m stand in its prompt now");
    assert_eq!(lost, [&Value::Null, &why, &Value::Null], "one break, with its cause");
    let call = of_kind(&facts, "call.finished");
    assert_eq!((&call[0]["tool"], &call[0]["ok"]), (&json!("read_file"), &json!(true)));
    let end = of_kind(&facts, "run.finished")[0];
    assert_eq!((&end["text"], &end["status"]), (&json!("It names a flower."), &json!("completed")));
    let offered: Vec<bool> = chats(&server).iter().map(offers_tools).collect();
    assert_eq!(offered, [true, false, false]);
    let session = end["session"].as_str().expect("a session");
    house.ok(&["replay", session]);
    let shown = house.ok(&["sessions", "show", session]);
    assert!(shown.contains("box/m is told its tools in its prompt from now on"), "{shown}");

    // The next session begins so, in another process.
    let (said, facts) = run(&house);
    assert_eq!(said.status, 0, "{}{}", said.out, said.err);
    assert_eq!(model(&facts), (json!(16_000), json!(["text_tools"])));
    assert!(of_kind(&facts, "tools.refused").is_empty(), "{}", said.out);
    assert!(said.err.contains("because its server took none with a request"), "{}", said.err);
    assert!(chats(&server)[3..].iter().all(|chat| !offers_tools(chat)));

    // Until somebody asks the server again.
    let rows = house.json(&["models", "box", "--probe", "--json"]);
    assert_eq!((&rows[0]["model"], &rows[0]["window"]), (&json!("box/m"), &json!(16_000)));
    let before = chats(&server).len();
    let said = house.run(&["run", "-m", "box/m", "What does a.txt say?"]);
    assert!(said.err.contains("box/m is told its tools in its prompt from now on"), "{}", said.err);
    assert!(offers_tools(&chats(&server)[before]));
}

#[test]
fn r6_a_stranger_that_knows_none_of_the_questions_is_spoken_with_by_a_careful_guess() {
    let server = stand_in(|_| None);
    let (said, facts) = run(&house(&server, ""));
    assert_eq!(said.status, 0, "{}{}", said.out, said.err);
    assert_eq!(model(&facts), (json!(4_096), json!(["tools", "text_calls"])));
    let words = "nothing is known of box/m: its window of 4096 tokens is a guess";
    assert_eq!(said.err.matches(words).count(), 1, "{}", said.err);
    assert_eq!(asked(&server), [&QUESTIONS[..], &[CHAT]].concat(), "once each");
    // One that names a window in its list of models is believed.
    let server = stand_in(|path| {
        let row = json!({ "id": "m", "context_length": 64_000 });
        (path == "/v1/models").then(|| (200, json!({ "object": "list", "data": [row] })))
    });
    let (said, facts) = run(&house(&server, ""));
    assert_eq!((said.status, model(&facts).0), (0, json!(64_000)), "{}{}", said.out, said.err);
    assert!(!said.err.contains("guess"), "{}", said.err);
}

#[test]
fn r6_what_cannot_be_a_window_is_not_believed_and_no_redirect_is_followed() {
    let list = |window: Value| {
        let row = json!({ "id": "m", "max_model_len": window, "context_length": window,
            "loaded_context_length": window, "max_context_length": window, "state": "loaded" });
        json!({ "data": [row], "default_generation_settings": { "n_ctx": window } }).to_string()
    };
    let elsewhere = stand_in(|_| None);
    let address = format!("http://{}/v1/models", elsewhere.address());
    let cases = [
        (200, list(json!(1e12))),
        (200, list(json!(1_000_000_000_000_u64))),
        (200, list(json!(-1))),
        (200, list(json!("many"))),
        (200, "[".repeat(100_000)),
        // More than anybody reads.
        (200, format!("{}{}", list(json!(9_000)), " ".repeat(9 << 20))),
        (302, String::new()),
    ];
    for (status, body) in cases {
        let shown: String = body.chars().take(80).collect();
        let address = address.clone();
        let server = HttpStandIn::start(move |request, _| match request.path() {
            CHAT => chat(request, "Hello there."),
            _ => HttpAnswer {
                status,
                headers: vec![("location", address.clone())],
                body: body.clone(),
            },
        });
        let (said, facts) = run(&house(&server, ""));
        assert_eq!((said.status, model(&facts).0), (0, json!(4_096)), "{shown}: {}", said.err);
    }
    assert!(elsewhere.requests().is_empty(), "a key goes nowhere else");
}
