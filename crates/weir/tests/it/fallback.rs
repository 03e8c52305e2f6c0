//! Fallback models through the program (V8): vendors that fail and vendors that answer, what is said of it, what
//! it costs, and which model the next run has.

use serde_json::{Value, json};
use weir_test_kit::{CommandOutput, HttpAnswer, HttpStandIn, TestInstallation};

/// A vendor that refuses the key.
fn refusing() -> HttpStandIn {
    let body = json!({ "error": { "message": "bad key", "type": "invalid_request_error" } });
    HttpStandIn::start(move |_, _| HttpAnswer::json(401, &body))
}

/// A vendor that says where it is, and counts six thousand tokens.
fn answering() -> HttpStandIn {
    HttpStandIn::start(|request, _| match request.path().ends_with("/chat/completions") {
        true => HttpAnswer::new(200, "text/event-stream", reply()),
        false => HttpAnswer::new(404, "text/plain", "404 page not found"),
    })
}

fn reply() -> String {
    let chunk = |choices: Value, usage: Value| {
        let chunk = json!({ "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": choices, "usage": usage });
        format!("data: {chunk}\n\n")
    };
    let piece = |delta: Value, why: Value| {
        chunk(json!([{ "index": 0, "delta": delta, "finish_reason": why }]), Value::Null)
    };
    let said = piece(json!({ "role": "assistant", "content": "I stood in." }), Value::Null);
    let usage = json!({ "prompt_tokens": 6_000, "completion_tokens": 100, "total_tokens": 6_100 });
    format!("{said}{}{}data: [DONE]\n\n", piece(json!({}), json!("stop")), chunk(json!([]), usage))
}

/// A house with both; the first one is the person's. `rest`: more of the settings.
fn house(first: &HttpStandIn, second: &HttpStandIn, rest: &str) -> TestInstallation {
    let house = TestInstallation::new();
    let provider = |name: &str, server: &HttpStandIn, price: u32| {
        format!(
            "[providers.{name}]\ndialect = \"openai-chat\"\nbase_url = \"http://{}/v1\"\n\
             [models.\"{name}/m\"]\nwindow = 100000\nmax_output = 1000\nabilities = [\"tools\"]\n\
             price = {{ input = {price}.0, output = {price}.0 }}\n",
            server.address()
        )
    };
    let settings = format!(
        "model = \"one/m\"\n{rest}\n{}{}",
        provider("one", first, 100),
        provider("two", second, 2)
    );
    house.write("config/weir/config.toml", &settings);
    house
}

fn facts(said: &CommandOutput) -> Vec<Value> {
    said.out.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn of_kind<'a>(facts: &'a [Value], kind: &str) -> Vec<&'a Value> {
    facts.iter().filter(|fact| fact["kind"] == kind).collect()
}

#[test]
fn v8_the_next_model_goes_on_and_the_next_run_begins_with_the_chosen_one() {
    let (first, second) = (refusing(), answering());
    let house = house(&first, &second, "[routing]\nfallback = [\"two/m\"]");
    let said = house.run(&["run", "Hello."]);
    assert_eq!(said.status, 0, "{}{}", said.out, said.err);
    assert!(said.err.contains("two/m goes on in place of one/m"), "{}", said.err);
    let said = house.run(&["run", "--output", "jsonl", "Hello."]);
    assert_eq!(said.status, 0, "{}{}", said.out, said.err);
    let told = facts(&said);
    assert_eq!(of_kind(&told, "model.failed")[0]["next"], "two/m");
    let switched = of_kind(&told, "model.switched")[0];
    assert_eq!((&switched["cause"], &switched["from"]), (&json!("failure"), &json!("one/m")));
    let asked = of_kind(&told, "model.requested");
    assert_eq!(asked[1]["provider"], "two");
    assert_eq!(asked[1]["prefix_lost"], "the model is two/m now");
    let end = of_kind(&told, "run.finished")[0];
    assert_eq!((&end["text"], &end["status"]), (&json!("I stood in."), &json!("completed")));
    // At the price of the one that answered: 6,100 tokens at 2 USD a million.
    let cost = end["cost_usd"].as_f64().expect("known");
    assert!((cost - 6_100.0 * 2.0 / 1e6).abs() < 1e-9, "{cost}");

    // The next run tries the chosen one again, and a session that is read again verifies.
    let session = end["session"].as_str().expect("a session").to_owned();
    let before = first.requests().len();
    let again = house.run(&["run", "--output", "jsonl", "--resume", &session, "Again."]);
    assert_eq!(again.status, 0, "{}{}", again.out, again.err);
    assert_eq!(first.requests().len(), before + 1);
    let causes: Vec<Value> = of_kind(&facts(&again), "model.switched")
        .iter()
        .map(|fact| fact["cause"].clone())
        .collect();
    assert_eq!(causes, [json!("chosen"), json!("failure")]);
    house.ok(&["replay", &session]);
    let shown = house.ok(&["sessions", "show", &session]);
    assert!(shown.contains("two/m goes on, after one/m"), "{shown}");
}

#[test]
fn v8_a_model_without_a_price_is_passed_over_under_a_cap() {
    let (first, second) = (refusing(), answering());
    let rest = format!(
        "[spending]\nday_usd = 5.0\n[routing]\nfallback = [\"free/m\", \"two/m\"]\n\
         [providers.free]\ndialect = \"openai-chat\"\nbase_url = \"http://{}/v1\"",
        second.address()
    );
    let house = house(&first, &second, &rest);
    let said = house.run(&["run", "--output", "jsonl", "Hello."]);
    assert_eq!(said.status, 0, "{}{}", said.out, said.err);
    let told = facts(&said);
    let switched = of_kind(&told, "model.switched");
    let refused = switched[0]["refused"].as_str().expect("it is passed over");
    assert!(refused.contains("free/m") && refused.contains("weir models prices"), "{refused}");
    assert_eq!((switched.len(), &switched[1]["model"]), (2, &json!("two/m")));
}

#[test]
fn v8_a_fallback_where_nobody_answers_is_passed_over_and_nothing_is_condensed_for_it() {
    let (first, second) = (refusing(), answering());
    let rest = "[routing]\nfallback = [\"ollama/qwen3:8b\", \"two/m\"]";
    let house = house(&first, &second, rest);
    let said = house.run(&["run", "--output", "jsonl", "Hello."]);
    assert_eq!(said.status, 0, "{}{}", said.out, said.err);
    let told = facts(&said);
    let switched = of_kind(&told, "model.switched");
    let refused = switched[0]["refused"].as_str().expect("it is passed over");
    assert!(refused.contains("nobody answers at http://127.0.0.1:1"), "{refused}");
    assert_eq!((switched.len(), &switched[1]["model"]), (2, &json!("two/m")));
    assert!(of_kind(&told, "context.condensing").is_empty(), "{}", said.out);
    assert!(!said.err.contains("is assumed"), "no window is guessed for it: {}", said.err);
}

#[test]
fn v8_r6_a_fallback_of_ones_own_where_nobody_answers_is_passed_over_too() {
    let (first, second) = (refusing(), answering());
    let rest = "[routing]\nfallback = [\"away/m\", \"two/m\"]\n\
         [providers.away]\ndialect = \"openai-chat\"\nbase_url = \"http://127.0.0.1:1/v1\"";
    let house = house(&first, &second, rest);
    let said = house.run(&["run", "--output", "jsonl", "Hello."]);
    assert_eq!(said.status, 0, "{}{}", said.out, said.err);
    let told = facts(&said);
    let switched = of_kind(&told, "model.switched");
    let refused = switched[0]["refused"].as_str().expect("it is passed over");
    assert!(refused.contains("nobody answers at http://127.0.0.1:1"), "{refused}");
    assert_eq!((switched.len(), &switched[1]["model"]), (2, &json!("two/m")));
}

#[test]
fn v8_r6_a_fallback_whose_window_is_set_is_passed_over_too_where_nobody_answers() {
    let (first, second) = (refusing(), answering());
    let rest = "[routing]\nfallback = [\"ollama/qwen3:8b\", \"two/m\"]\n\
         [models.\"ollama/qwen3:8b\"]\nwindow = 8192";
    let house = house(&first, &second, rest);
    let said = house.run(&["run", "--output", "jsonl", "Hello."]);
    assert_eq!(said.status, 0, "{}{}", said.out, said.err);
    let told = facts(&said);
    let switched = of_kind(&told, "model.switched");
    let refused = switched[0]["refused"].as_str().expect("it is passed over");
    assert!(refused.contains("nobody answers at http://127.0.0.1:1"), "{refused}");
    assert_eq!((switched.len(), &switched[1]["model"]), (2, &json!("two/m")));
    assert!(of_kind(&told, "context.condensing").is_empty(), "{}", said.out);
}

#[test]
fn v8_r6_a_window_that_is_set_holds_for_a_fallback_whose_server_says_more() {
    let first = refusing();
    let second = HttpStandIn::start(|request, _| match request.path() {
        "/props" => {
            HttpAnswer::json(200, &json!({ "default_generation_settings": { "n_ctx": 131_072 } }))
        }
        path if path.ends_with("/chat/completions") => {
            HttpAnswer::new(200, "text/event-stream", reply())
        }
        _ => HttpAnswer::new(404, "text/plain", "404 page not found"),
    });
    let rest = "[routing]\nfallback = [\"llamacpp/m\"]\n[models.\"llamacpp/m\"]\nwindow = 24000";
    let house = house(&first, &second, rest)
        .with_variable("LLAMACPP_BASE_URL", &format!("http://{}/v1", second.address()));
    let said = house.run(&["run", "--output", "jsonl", "Hello."]);
    assert_eq!(said.status, 0, "{}{}", said.out, said.err);
    let told = facts(&said);
    let switched = of_kind(&told, "model.switched")[0];
    assert_eq!(switched["config"]["model"]["window"], 24_000, "{switched}");
}

#[test]
fn v8_without_a_fallback_the_run_ends_and_a_key_that_is_missing_is_said_first() {
    let (first, second) = (refusing(), answering());
    let alone = house(&first, &second, "");
    let said = alone.run(&["run", "Hello."]);
    assert_eq!(said.status, 1, "{}{}", said.out, said.err);
    assert!(second.requests().is_empty());
    let house = house(&first, &second, "[routing]\nfallback = [\"anthropic/claude-x\"]");
    let said = house.run(&["run", "Hello."]);
    assert_eq!(said.status, 1, "{}{}", said.out, said.err);
    let words = "routing.fallback names anthropic/claude-x, and there is no key for anthropic";
    assert!(said.err.contains(words), "{}", said.err);
    assert!(said.err.contains("No other fallback is left"), "{}", said.err);
}
