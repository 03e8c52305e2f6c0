//! K10: `web_search` through the real client and gate, against imitations of each engine that answer as
//! its maker documents it.

use serde_json::{Value, json};
use weir_test_kit::{HttpAnswer, HttpRequest, HttpStandIn, TestInstallation};

const KEY: &str = "zq5search0engine0key";

/// An engine that answers every request with the same.
fn engine(status: u16, body: Value) -> HttpStandIn {
    HttpStandIn::start(move |_, _| HttpAnswer::json(status, &body))
}

/// What it was asked until now.
fn heard(engine: &HttpStandIn) -> Vec<String> {
    engine.requests().iter().map(HttpRequest::text).collect()
}

/// A house whose person set this engine up, with a model that asks it.
fn house(kind: &str, engine: &HttpStandIn, calls: &str) -> TestInstallation {
    let house = TestInstallation::new()
        .with_variable("BRAVE_API_KEY", KEY)
        .with_variable("TAVILY_API_KEY", KEY);
    let house = house.with_variable("EXA_API_KEY", KEY).with_variable("KAGI_API_KEY", KEY);
    let port = engine.port();
    house.write(
        &house.user_config(),
        &format!("[web.search]\nkind = \"{kind}\"\nurl = \"http://127.0.0.1:{port}\"\n"),
    );
    house.write(&house.at("s.script"), &format!("{calls}\n\nsays: Done.\n"));
    house
}

/// What the run printed, in mode `ask` with nobody to be asked.
fn run(house: &TestInstallation) -> String {
    let model = house.script_model();
    let said = house.run(&["run", "-m", &model, "--permission", "ask", "--output", "jsonl", "Go."]);
    assert_eq!(said.status, 0, "{}{}", said.out, said.err);
    said.out
}

const SEARCH: &str = r#"calls: web_search {"query": "tide tables", "limit": 3}"#;

#[test]
fn k10_every_engine_is_asked_with_its_key_and_needs_no_question() {
    let hit = "https://tides.example/a?b=1";
    let rows = |more: Value| {
        let mut row = json!({ "title": "Tides <b>now</b>", "url": hit });
        let fields = more.as_object().expect("fields").clone();
        row.as_object_mut().expect("a row").extend(fields);
        json!([row])
    };
    let brave = rows(json!({ "description": "High at noon.", "page_age": "2026-05-01T00:00:00" }));
    let plain = |date: &str| rows(json!({ "content": "High at noon.", (date): "2026-05-01" }));
    let exa = rows(json!({ "highlights": ["High at noon."], "publishedDate": "2026-05-01" }));
    let kagi = rows(json!({ "t": 0, "snippet": "High at noon.", "published": "2026-05-01" }));
    for (kind, body, line, key) in [
        (
            "searxng",
            json!({ "results": plain("publishedDate") }),
            "GET /search?q=tide%20tables&format=json ",
            None,
        ),
        (
            "brave",
            json!({ "query": {}, "web": { "results": brave } }),
            "GET /res/v1/web/search?q=tide%20tables&count=3 ",
            Some("x-subscription-token: "),
        ),
        (
            "tavily",
            json!({ "results": plain("published_date") }),
            "POST /search ",
            Some("authorization: Bearer "),
        ),
        ("exa", json!({ "results": exa }), "POST /search ", Some("x-api-key: ")),
        (
            "kagi",
            json!({ "data": kagi }),
            "GET /api/v0/search?q=tide%20tables&limit=3 ",
            Some("authorization: Bot "),
        ),
    ] {
        let engine = engine(200, body);
        let house = house(kind, &engine, SEARCH);
        let out = run(&house);
        let heard = heard(&engine);
        assert_eq!(heard.len(), 1, "{kind}: {out}");
        assert!(heard[0].starts_with(line), "{kind}: {}", heard[0]);
        match key {
            Some(header) => assert!(heard[0].contains(&format!("{header}{KEY}")), "{}", heard[0]),
            None => assert!(!heard[0].contains(KEY), "{}", heard[0]),
        }
        if line.starts_with("POST") {
            assert!(heard[0].contains(r#""query":"tide tables""#), "{}", heard[0]);
        }
        for part in ["Tides now", hit, "2026-05-01", "High at noon.", "not instructions"] {
            assert!(out.contains(part), "{kind} leaves out {part}: {out}");
        }
        // It is foreign text from the engine's host, and the key stands nowhere.
        let session = out.lines().find_map(|line| {
            let line: Value = serde_json::from_str(line).ok()?;
            line["session"].as_str().map(String::from)
        });
        let journal = house.ok(&["sessions", "export", &session.expect("a session")]);
        assert!(journal.contains("\"external\"") && journal.contains("127.0.0.1"), "{journal}");
        assert!(!journal.contains(KEY) && !out.contains(KEY), "{kind}");
    }
}

/// To set an engine up lets the searches ask it, and opens its host to no other tool.
#[test]
fn k10_no_other_tool_reaches_the_engine_unasked() {
    let engine = engine(200, json!({ "results": [] }));
    let fetch =
        format!(r#"calls: web_fetch {{"url": "http://127.0.0.1:{}/anything"}}"#, engine.port());
    let house = house("searxng", &engine, &fetch);
    let model = house.script_model();
    house.run(&["run", "-m", &model, "--permission", "ask", "--output", "jsonl", "Go."]);
    assert_eq!(heard(&engine), [""; 0], "nothing reached it");
}

#[test]
fn k10_an_engine_that_refuses_is_quoted_with_what_to_do() {
    let body = json!({ "error": { "detail": format!("The token {KEY} is invalid.") } });
    let engine = engine(401, body);
    let out = run(&house("brave", &engine, SEARCH));
    assert!(out.contains("brave answered with status 401"), "{out}");
    assert!(out.contains("a person must set a valid one"), "{out}");
    assert!(!out.contains(KEY), "{out}");
}

#[test]
fn k10_without_an_engine_no_session_has_the_tool() {
    let house = TestInstallation::new();
    house.write(&house.at("s.script"), &format!("{SEARCH}\n\nsays: Done.\n"));
    let out = run(&house);
    let opened = out.lines().next().expect("a session");
    assert!(opened.contains("\"web_fetch\"") && !opened.contains("\"web_search\""), "{out}");
    house.write(&house.user_config(), "[web.search]\nkind = \"altavista\"\n");
    let said = house.usage_error(&["config", "get", "profile"]);
    assert!(said.contains("web.search.kind is \"altavista\"; it is one of searxng"), "{said}");
}

#[test]
fn k10_the_other_side_is_asked_for_in_several_questions() {
    let row =
        |host: &str| json!({ "title": host, "url": format!("https://{host}/p"), "content": "" });
    let engine = engine(200, json!({ "results": [row("read.example"), row("new.example")] }));
    let calls = r#"calls: find_tool {"query": "anti_echo_search"}

calls: call_tool {"tool": "anti_echo_search", "arguments": {"claim": "coffee is healthy", "known_hosts": ["read.example"]}}"#;
    let out = run(&house("searxng", &engine, calls));
    let heard = heard(&engine);
    assert_eq!(heard.len(), 3, "{out}");
    assert!(heard.iter().any(|request| request.contains("evidence%20against")), "{heard:?}");
    assert!(out.contains("https://new.example/p"), "{out}");
    assert!(!out.contains("https://read.example/p"), "{out}");
}
