//! Money at a server (R11): the caps of everybody and of each person, whoever asks at once, and what caches
//! missed on the page of usage. A stand-in for a vendor counts what it was asked. Not here: caps and usage of
//! one person at a terminal (`weir`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::join_all;
use serde_json::{Value, json};
use weir_test_kit::{
    Browser, HttpAnswer, HttpRequest, HttpStandIn, TestInstallation, TestServer, wait_until_async,
};

/// What a reply costs at these prices: 50,000 tokens in, 100 out, nothing from the cache.
const REPLY_USD: f64 = 0.101;
const MODEL: &str = "[models.\"acme/large\"]\nwindow = 200000\nmax_output = 1000\n\
    abilities = [\"tools\"]\nprice = { input = 2.0, output = 10.0, cache_read = 0.2 }\n";

fn reply() -> String {
    let chunk = |choices: Value, usage: Value| {
        let chunk = json!({ "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": choices, "usage": usage });
        format!("data: {chunk}\n\n")
    };
    let said = json!([{ "index": 0, "delta": { "role": "assistant", "content": "Hello there." },
        "finish_reason": null }]);
    let ended = json!([{ "index": 0, "delta": {}, "finish_reason": "stop" }]);
    let usage = json!({ "prompt_tokens": 50_000, "completion_tokens": 100, "total_tokens": 50_100,
        "prompt_tokens_details": { "cached_tokens": 0 } });
    let pieces =
        [chunk(said, Value::Null), chunk(ended, Value::Null), chunk(json!([]), usage)].concat();
    format!("{pieces}data: [DONE]\n\n")
}

fn answer(request: &HttpRequest) -> HttpAnswer {
    match request.path() {
        "/v1/chat/completions" => HttpAnswer::new(200, "text/event-stream", reply()),
        _ => HttpAnswer::new(404, "text/plain", "404 page not found"),
    }
}

/// A vendor, and a server whose model is the vendor's. `settings`: more of its settings.
async fn serve(settings: &str) -> (HttpStandIn, TestServer) {
    serve_by(HttpStandIn::start(|request, _| answer(request)), settings).await
}

async fn serve_by(vendor: HttpStandIn, settings: &str) -> (HttpStandIn, TestServer) {
    let house = TestInstallation::new();
    let provider = format!(
        "[providers.acme]\ndialect = \"openai-chat\"\nbase_url = \"http://{}/v1\"\n",
        vendor.address()
    );
    let config = format!("model = \"acme/large\"\n{settings}\n{provider}{MODEL}");
    house.write(&house.user_config(), &config);
    let served = TestServer::start_in(house, None).await;
    (vendor, served)
}

fn asked(vendor: &HttpStandIn) -> usize {
    let requests = vendor.requests();
    requests.iter().filter(|request| request.path().ends_with("/completions")).count()
}

async fn say(who: &Browser, session: &str) {
    let body = json!({ "content": [{ "type": "text", "text": "Say hello." }] });
    let path = format!("/api/v1/sessions/{session}/input");
    let (status, said) = who.api("POST", &path, Some(body)).await;
    assert_eq!(status, 202, "{said}");
}

/// How the run of this number ended, once it has.
async fn ended(who: &Browser, session: &str, run: usize) -> String {
    wait_until_async(&format!("run {run} of {session} ends"), async || {
        let facts = who.facts(session).await;
        let mut runs = facts.iter().filter(|fact| fact["kind"] == "run.finished");
        let status = runs.nth(run - 1).and_then(|fact| fact["status"].as_str());
        status.map(str::to_owned).ok_or("it is under way")
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r11_the_cap_of_a_server_lets_one_request_go_beyond_whoever_asks_at_once() {
    // Less than what may be set aside for one request.
    let (vendor, mut served) = serve("[spending]\nserver_usd = 0.01\n").await;
    let (admin, ann) = (served.admin().await, served.person("ann").await);
    let mut sessions = Vec::new();
    for who in [&admin, &ann, &admin, &ann] {
        sessions.push((who.clone(), who.open().await));
    }
    join_all(sessions.iter().map(|(who, session)| say(who, session))).await;
    let ends = join_all(sessions.iter().map(|(who, session)| ended(who, session, 1))).await;
    let count = |status: &str| ends.iter().filter(|end| *end == status).count();
    assert_eq!((count("completed"), count("budget")), (1, 3), "{ends:?}");
    assert_eq!(asked(&vendor), 1, "one goes beyond, and what names chats asks nobody");
    let (status, page) = admin.get("/usage").await;
    assert_eq!(status, 200, "{page}");
    assert!(page.contains("reached: nothing is asked until it counts anew"), "{page}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r11_the_cap_of_a_person_is_theirs_alone() {
    let (vendor, mut served) = serve("[spending]\nperson_usd = 0.05\n").await;
    let (admin, ann) = (served.admin().await, served.person("ann").await);
    let session = ann.open().await;
    for (run, expected) in [(1, "completed"), (2, "budget")] {
        say(&ann, &session).await;
        assert_eq!(ended(&ann, &session, run).await, expected);
    }
    let session = admin.open().await;
    say(&admin, &session).await;
    assert_eq!(ended(&admin, &session, 1).await, "completed");
    assert_eq!(asked(&vendor), 2, "one of each went beyond");
    let (_, all) = admin.api("GET", "/api/v1/usage?everybody=true", None).await;
    let cost = all["total"]["cost_usd"].as_f64().unwrap_or_default();
    assert!((cost - 2.0 * REPLY_USD).abs() < 1e-9, "{all}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r11_the_page_of_usage_names_each_miss_with_its_cause_and_cost() {
    let (_vendor, mut served) = serve("").await;
    let admin = served.admin().await;
    let session = admin.open().await;
    for run in [1, 2] {
        say(&admin, &session).await;
        assert_eq!(ended(&admin, &session, run).await, "completed");
    }
    let (status, page) = admin.get("/usage").await;
    assert_eq!(status, 200, "{page}");
    for words in
        ["Cache misses", "Every miss, the newest first", "served less all the same", "$0.09"]
    {
        assert!(page.contains(words), "no {words}: {page}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r11_what_the_name_of_a_chat_used_counts_for_its_session_and_for_no_run() {
    let (vendor, mut served) = serve("[helpers]\ntitles = \"acme/large\"\n").await;
    let ann = served.person("ann").await;
    let session = ann.open().await;
    say(&ann, &session).await;
    assert_eq!(ended(&ann, &session, 1).await, "completed");
    let facts = wait_until_async("the name is counted", async || {
        let facts = ann.facts(&session).await;
        match facts.iter().any(|fact| fact["kind"] == "helper.asked") {
            true => Ok(facts),
            false => Err("it is not there"),
        }
    })
    .await;
    let of_kind = |kind: &str| facts.iter().find(|fact| fact["kind"] == kind).expect("a fact");
    let named = of_kind("helper.asked");
    assert_eq!((&named["work"], &named["usage"]["input"]), (&json!("title"), &json!(50_000)));
    assert_eq!(of_kind("run.finished")["usage"]["input"], 50_000, "it was asked for no run");
    assert_eq!(asked(&vendor), 2);
    let (_, usage) = ann.api("GET", "/api/v1/usage", None).await;
    let cost = usage["total"]["cost_usd"].as_f64().unwrap_or_default();
    assert!((cost - 2.0 * REPLY_USD).abs() < 1e-9, "{usage}");
}

/// Whether a name is looked for.
fn is_naming(request: &HttpRequest) -> bool {
    request.body.contains("Question:\\nSay hello.")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r11_the_name_of_a_chat_is_paid_for_once_however_many_runs_end_meanwhile() {
    let is_slow = Arc::new(AtomicBool::new(true));
    let waits = is_slow.clone();
    let vendor = HttpStandIn::start(move |request, _| {
        while is_naming(request) && waits.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(10));
        }
        answer(request)
    });
    let (vendor, mut served) = serve_by(vendor, "[helpers]\ntitles = \"acme/large\"\n").await;
    let namings = || vendor.requests().iter().filter(|request| is_naming(request)).count();
    let ann = served.person("ann").await;
    let session = ann.open().await;
    say(&ann, &session).await;
    assert_eq!(ended(&ann, &session, 1).await, "completed");
    wait_until_async("a name is looked for", async || {
        if namings() == 1 { Ok(()) } else { Err("it is not") }
    })
    .await;
    say(&ann, &session).await;
    assert_eq!(ended(&ann, &session, 2).await, "completed");
    // Long enough to be asked once more.
    tokio::time::sleep(Duration::from_millis(300)).await;
    is_slow.store(false, Ordering::Relaxed);
    wait_until_async("it has its name", async || {
        let (_, info) = ann.api("GET", &format!("/api/v1/sessions/{session}"), None).await;
        if info["title"] == "Hello there." { Ok(()) } else { Err(info) }
    })
    .await;
    assert_eq!(namings(), 1);
}
