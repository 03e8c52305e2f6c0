//! Notices by a Telegram bot, in a Matrix room and by an ntfy topic (R5): what is sent, what comes of each
//! answer, and where the tokens stand nowhere. The real server; the others are addresses that listen.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weir_test_kit::{
    Browser, HttpAnswer, HttpRequest, HttpStandIn, ServerSetup, TestServer, wait_until,
    wait_until_async,
};

/// Under which address telephones reach the server.
const PUBLIC: &str = "http://127.0.0.1:7878";
const CONFIG: &str = "[server]\npublic_url = \"http://127.0.0.1:7878\"\n";
const BOT: &str = "42:SECRET-bot_0123456789";
const TOKEN: &str = "syt_SECRET_account";
const ROOM: &str = "!abc:example.org";
const WRITES: &str = "name: test\n\n\
    calls: write_file {\"path\": \"a.txt\", \"content\": \"one\\n\"}\n\nsays: Written.\n";
const HOSTILE: &str = "name: test\n\n\
    calls: ask_followup_question {\"question\": \"<b>@all</b> [yes](https://evil.example)\", \
    \"options\": [\"red\"]}\n\nsays: Red.\n";

async fn served(script: &str) -> TestServer {
    TestServer::start(ServerSetup { script, config: CONFIG, ..ServerSetup::default() }).await
}

fn telegram_at(stand_in: &HttpStandIn) -> Value {
    let base_url = format!("http://{}", stand_in.address());
    json!({ "way": "telegram", "token": BOT, "chat": "-1007", "base_url": base_url })
}

fn matrix_at(stand_in: &HttpStandIn) -> Value {
    let homeserver = format!("http://{}", stand_in.address());
    json!({ "way": "matrix", "homeserver": homeserver, "room": ROOM, "token": TOKEN })
}

fn taken_by_telegram() -> HttpAnswer {
    HttpAnswer::json(200, &json!({ "ok": true, "result": { "message_id": 1 } }))
}

fn taken_by_matrix() -> HttpAnswer {
    HttpAnswer::json(200, &json!({ "event_id": "$1" }))
}

async fn add(who: &Browser, wish: Value) -> String {
    let (status, added) = who.api("POST", "/api/v1/notifications", Some(wish)).await;
    assert_eq!(status, 201, "{added}");
    added["id"].as_str().expect("an id").to_owned()
}

/// What comes of a try-out: the status, and what is said.
async fn try_out(who: &Browser, id: &str) -> (u16, String) {
    let (status, said) = who.api("POST", &format!("/api/v1/notifications/{id}/try"), None).await;
    (status, said["detail"].as_str().unwrap_or_default().to_owned())
}

/// A session that asks.
async fn asked(who: &Browser) -> String {
    let session = who.open().await;
    let path = format!("/api/v1/sessions/{session}/input");
    let words = json!({ "client_id": "u1", "content": [{ "type": "text", "text": "Go." }] });
    let (status, said) = who.api("POST", &path, Some(words)).await;
    assert_eq!(status, 202, "{said}");
    session
}

/// The first requests, once there are so many.
async fn heard(stand_in: &HttpStandIn, count: usize) -> Vec<HttpRequest> {
    wait_until_async(&format!("{count} requests came"), async || {
        let all = stand_in.requests();
        if all.len() >= count { Ok(all) } else { Err(format!("only {}", all.len())) }
    })
    .await
}

fn json_of(request: &HttpRequest) -> Value {
    serde_json::from_str(&request.body).expect("JSON")
}

/// Waits until a channel says so of its last notice.
async fn until_failed(who: &Browser, is_it: impl Fn(&str) -> bool) -> String {
    wait_until_async("the channel says how it stands", async || {
        let (_, listed) = who.api("GET", "/api/v1/notifications", None).await;
        let failed = listed["channels"][0]["failed"].as_str().unwrap_or_default().to_owned();
        if is_it(&failed) { Ok(failed) } else { Err(listed) }
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_a_telegram_bot_carries_what_is_asked_and_a_telephone_answers_it() {
    let mut served = served(WRITES).await;
    let admin = served.admin().await;
    let phone = served.telephone("Pixel").await;
    let telegram = HttpStandIn::start(|_, _| taken_by_telegram());
    add(&admin, telegram_at(&telegram)).await;
    let session = asked(&admin).await;
    let requests = heard(&telegram, 1).await;
    let request = &requests[0];
    assert_eq!(request.head.lines().next(), Some(&*format!("POST /bot{BOT}/sendMessage HTTP/1.1")));
    let body = json_of(request);
    assert_eq!(body["chat_id"], "-1007", "{body}");
    let text = body["text"].as_str().expect("a text");
    assert!(text.starts_with("Allow write_file?\n") && text.contains("a.txt"), "{text}");
    assert!(body.get("parse_mode").is_none(), "its words are no markup: {body}");
    let title = "Allow write_file?".len();
    let entities = json!([
        { "type": "code", "offset": 0, "length": title },
        { "type": "pre", "offset": title + 1, "length": text.len() - title - 1 },
    ]);
    assert_eq!(body["entities"], entities, "{body}");
    assert_eq!(body["link_preview_options"], json!({ "is_disabled": true }));
    let buttons = &body["reply_markup"]["inline_keyboard"];
    let open = json!([{ "text": "Open", "url": format!("{PUBLIC}/chats/{session}") }]);
    assert_eq!(buttons[1], open, "{buttons}");
    assert_eq!(buttons[0][0]["text"], "Answer", "{buttons}");
    let page = buttons[0][0]["url"].as_str().and_then(|url| url.strip_prefix(PUBLIC));
    let page = page.expect("a page of this server").to_owned();
    assert!(page.starts_with("/act/"), "{page}");
    let (status, _, refused) = admin.form(&page, &[("decision", "once")]).await;
    assert_eq!(status, 403, "whoever reads the chat has no telephone: {refused}");
    let (status, _, done) = phone.form(&page, &[("decision", "once")]).await;
    assert_eq!(status, 200, "{done}");
    let file = served.house.work().join("a.txt");
    wait_until("the call runs", || if file.exists() { Ok(()) } else { Err("no file") });
    let (status, _, again) = phone.form(&page, &[("decision", "deny")]).await;
    assert_eq!(status, 404, "it is used up: {again}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_an_ntfy_topic_carries_what_is_asked_and_a_telephone_answers_it() {
    let mut served = served(WRITES).await;
    let admin = served.admin().await;
    let phone = served.telephone("Pixel").await;
    let ntfy = HttpStandIn::start(|_, _| HttpAnswer::json(200, &json!({ "id": "1" })));
    let server = format!("http://{}", ntfy.address());
    let wish = json!({ "way": "ntfy", "server": server, "topic": "my-topic", "token": TOKEN });
    add(&admin, wish).await;
    asked(&admin).await;
    let requests = heard(&ntfy, 1).await;
    let request = &requests[0];
    assert_eq!(request.head.lines().next(), Some("POST / HTTP/1.1"), "as JSON, to the server");
    assert!(request.head.contains(&format!("Bearer {TOKEN}")), "{}", request.head);
    let body = json_of(request);
    assert_eq!((&body["topic"], &body["title"]), (&json!("my-topic"), &json!("Allow write_file?")));
    assert!(body["message"].as_str().is_some_and(|text| text.contains("a.txt")), "{body}");
    let page = body["click"].as_str().and_then(|url| url.strip_prefix(PUBLIC));
    let page = page.expect("a page of this server").to_owned();
    assert!(page.starts_with("/act/"), "{body}");
    let (_, listed) = admin.api("GET", "/api/v1/notifications", None).await;
    assert!(!listed.to_string().contains(TOKEN), "{listed}");
    let (status, _, done) = phone.form(&page, &[("decision", "once")]).await;
    assert_eq!(status, 200, "{done}");
    let file = served.house.work().join("a.txt");
    wait_until("the call runs", || if file.exists() { Ok(()) } else { Err("no file") });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_a_matrix_room_gets_a_notice_once_however_often_it_is_tried() {
    let mut served = served(WRITES).await;
    let admin = served.admin().await;
    let phone = served.telephone("Pixel").await;
    let matrix = HttpStandIn::start(|_, before| match before {
        0 => HttpAnswer::json(502, &json!({ "errcode": "M_UNKNOWN" })),
        _ => taken_by_matrix(),
    });
    let id = add(&admin, matrix_at(&matrix)).await;
    let session = asked(&admin).await;
    let requests = heard(&matrix, 2).await;
    assert_eq!(requests[0].path(), requests[1].path(), "the room takes it once");
    let start = format!("/_matrix/client/v3/rooms/{ROOM}/send/m.room.message/");
    let transaction = requests[0].path().strip_prefix(&start).expect("the room's address");
    assert!(!transaction.is_empty() && transaction.chars().all(|c| c.is_ascii_alphanumeric()));
    assert!(requests[0].head.starts_with("PUT "), "{}", requests[0].head);
    assert!(requests[0].head.contains(&format!("authorization: Bearer {TOKEN}")));
    let body = json_of(&requests[1]);
    assert_eq!(body, json_of(&requests[0]));
    assert_eq!(body["msgtype"], "m.text");
    assert_eq!(body["m.mentions"], json!({}), "it wakes nobody by name: {body}");
    let text = body["body"].as_str().expect("a text");
    assert!(text.starts_with("Allow write_file?\n") && text.contains("a.txt"), "{text}");
    assert!(text.contains(&format!("Open: {PUBLIC}/chats/{session}")), "{text}");
    let page = text.lines().find_map(|line| line.strip_prefix("Answer: "));
    let page = page.and_then(|url| url.strip_prefix(PUBLIC)).expect("a page of this server");
    until_failed(&admin, str::is_empty).await;
    // Another notice is another message.
    assert_eq!(try_out(&admin, &id).await.0, 204);
    assert_ne!(heard(&matrix, 3).await[2].path(), requests[0].path());
    let (status, _, done) = phone.form(page, &[("decision", "deny")]).await;
    assert_eq!(status, 200, "{done}");
    assert!(!served.house.work().join("a.txt").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_hostile_words_are_text_in_both_messengers() {
    let mut served = served(HOSTILE).await;
    let admin = served.admin().await;
    let telegram = HttpStandIn::start(|_, _| taken_by_telegram());
    let matrix = HttpStandIn::start(|_, _| taken_by_matrix());
    add(&admin, telegram_at(&telegram)).await;
    add(&admin, matrix_at(&matrix)).await;
    asked(&admin).await;
    let words = "<b>@all</b> [yes](https://evil.example)";
    let body = json_of(&heard(&telegram, 1).await[0]);
    let text = body["text"].as_str().expect("a text");
    assert!(text.ends_with(words), "{text}");
    let pre = &body["entities"][1];
    assert_eq!((&pre["type"], &pre["length"]), (&json!("pre"), &json!(words.len())), "{body}");
    let body = json_of(&heard(&matrix, 1).await[0]);
    let formatted = body["formatted_body"].as_str().expect("HTML");
    let escaped = "<pre><code>&lt;b&gt;@all&lt;/b&gt; [yes](https://evil.example)</code></pre>";
    assert!(formatted.contains(escaped), "{formatted}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_a_messenger_that_wants_to_be_left_alone_is() {
    let mut served = served(WRITES).await;
    let admin = served.admin().await;
    let came: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let kept = came.clone();
    let telegram = HttpStandIn::start(move |_, before| {
        kept.lock().unwrap_or_else(PoisonError::into_inner).push(Instant::now());
        let limit = json!({
            "ok": false, "error_code": 429, "description": "Too Many Requests: retry after 3",
            "parameters": { "retry_after": 3 },
        });
        if before == 0 { HttpAnswer::json(429, &limit) } else { taken_by_telegram() }
    });
    add(&admin, telegram_at(&telegram)).await;
    asked(&admin).await;
    heard(&telegram, 2).await;
    let came = came.lock().unwrap_or_else(PoisonError::into_inner).clone();
    assert!(came[1] - came[0] >= Duration::from_secs(3), "{:?}", came[1] - came[0]);
    // Who asks for an hour is told the next notice instead.
    let busy = HttpStandIn::start(|_, _| {
        let limit = json!({ "errcode": "M_LIMIT_EXCEEDED", "retry_after_ms": 3_600_000 });
        HttpAnswer::json(429, &limit)
    });
    let (_, listed) = admin.api("GET", "/api/v1/notifications", None).await;
    let first = listed["channels"][0]["id"].as_str().expect("an id");
    let gone = format!("/api/v1/notifications/{first}");
    assert_eq!(admin.api("DELETE", &gone, None).await.0, 204);
    add(&admin, matrix_at(&busy)).await;
    asked(&admin).await;
    let failed = until_failed(&admin, |failed| !failed.is_empty()).await;
    assert!(failed.contains("M_LIMIT_EXCEEDED"), "{failed}");
    assert_eq!(busy.requests().len(), 1, "it is not tried again");
}

/// What both messengers answer, and what the channel then says.
const REFUSALS: [(u16, &str, &str, &str); 8] = [
    (400, "telegram", "Bad Request: chat not found", "write to the bot first"),
    (403, "telegram", "Forbidden: bot was blocked by the user", "bot was blocked by the user"),
    (401, "telegram", "Unauthorized", "copy it from @BotFather"),
    (400, "telegram", "Bad Request: no 42:SECRET-bot_0123456789 here", "no *** here"),
    (401, "matrix", "M_UNKNOWN_TOKEN", "make a new one"),
    (403, "matrix", "M_FORBIDDEN", "invite it"),
    (400, "matrix", "syt_SECRET_account", "it answered 400"),
    (200, "matrix", "", "no Matrix homeserver"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_a_refusal_is_shown_at_the_channel_and_a_token_nowhere() {
    let env = [("WEIR_LOG", "trace")];
    let setup = ServerSetup { config: CONFIG, env: &env, ..ServerSetup::default() };
    let mut served = TestServer::start(setup).await;
    let admin = served.admin().await;
    for (status, way, said, words) in REFUSALS {
        let refuses = HttpStandIn::start(move |_, _| {
            let both = json!({ "ok": false, "description": said, "errcode": said });
            HttpAnswer::json(status, &both)
        });
        let wish = if way == "matrix" { matrix_at(&refuses) } else { telegram_at(&refuses) };
        let id = add(&admin, wish).await;
        let (tried, why) = try_out(&admin, &id).await;
        assert_eq!(tried, 400, "{why}");
        assert!(why.contains(words) && !why.contains("SECRET"), "{status} {said}: {why}");
        let (_, page) = admin.get("/notifications/where").await;
        assert!(page.contains("failed") && !page.contains("SECRET"), "{page}");
        let path = format!("/api/v1/notifications/{id}");
        let (_, listed) = admin.api("GET", "/api/v1/notifications", None).await;
        assert_eq!(listed["channels"][0]["failed"], why, "{listed}");
        assert!(!listed.to_string().contains("SECRET"), "{listed}");
        assert_eq!(admin.api("DELETE", &path, None).await.0, 204);
    }
    // Nobody listens: what the client says of the address has no token in it.
    let closed = json!({
        "way": "telegram", "token": BOT, "chat": "7", "base_url": "http://127.0.0.1:1",
    });
    let id = add(&admin, closed).await;
    let (tried, why) = try_out(&admin, &id).await;
    assert_eq!(tried, 400, "{why}");
    assert!(why.contains("could not be reached") && !why.contains("SECRET"), "{why}");
    // What is wrong with a channel is told without what was typed.
    let wrong = json!({ "way": "telegram", "token": "SECRET without a number", "chat": "7" });
    let (status, said) = admin.api("POST", "/api/v1/notifications", Some(wrong)).await;
    assert_eq!(status, 400, "{said}");
    assert!(!said.to_string().contains("SECRET"), "{said}");
    assert!(!served.error_text().contains("SECRET"), "a token stands in the log");
    assert_eq!(served.stop().await, 0);
    assert_eq!(files_with(served.house.work().parent().expect("a folder"), b"SECRET"), [""; 0]);
}

/// The files below a folder that have these bytes.
fn files_with(folder: &Path, bytes: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("readable").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_with(&path, bytes));
        } else if std::fs::read(&path).is_ok_and(|all| all.windows(bytes.len()).any(|w| w == bytes))
        {
            found.push(path.display().to_string());
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_messengers_lead_to_no_private_address_but_an_admins() {
    let mut served = served(WRITES).await;
    let admin = served.admin().await;
    let ann = served.person("ann").await;
    let phone = served.telephone("Pixel").await;
    let listens =
        HttpStandIn::start(|_, _| HttpAnswer::json(200, &json!({ "ok": true, "event_id": "$1" })));
    for wish in [telegram_at(&listens), matrix_at(&listens)] {
        for who in [&ann, &phone] {
            let id = add(who, wish.clone()).await;
            let (status, why) = try_out(who, &id).await;
            assert_eq!(status, 400, "{why}");
            assert!(why.contains("private addresses are not called"), "{why}");
        }
        let kept = add(&admin, wish).await;
        assert_eq!(try_out(&admin, &kept).await, (204, String::new()));
    }
    assert_eq!(listens.requests().len(), 2, "the admin's alone");
    served.house.ok(&["phone", "revoke", "Pixel"]);
    let (_, left) = admin.api("GET", "/api/v1/notifications", None).await;
    assert_eq!(left["channels"].as_array().map(Vec::len), Some(2), "the telephone's ended: {left}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_messengers_are_added_by_a_form_without_scripts() {
    const ADD: &str = "/notifications/where/add";
    let mut served = served(WRITES).await;
    let admin = served.admin().await;
    let (_, page) = admin.get("/notifications/where").await;
    for words in ["Add Telegram chat", "Add Matrix room", "@BotFather", "never shown again"] {
        assert!(page.contains(words), "no {words} in {page}");
    }
    let telegram = [
        ("way", "telegram"),
        ("token", BOT),
        ("chat", "7"),
        ("base_url", ""),
        ("kinds", "approval"),
        ("kinds", "question"),
    ];
    let matrix = [
        ("way", "matrix"),
        ("homeserver", "https://matrix.example"),
        ("room", ROOM),
        ("token", TOKEN),
    ];
    for fields in [&telegram[..], &matrix[..]] {
        let (status, location, body) = admin.form(ADD, fields).await;
        assert_eq!(status, 303, "{body}");
        assert!(location.contains("note="), "{location}");
    }
    let nameless = [
        ("way", "matrix"),
        ("homeserver", "https://matrix.example"),
        ("room", "#weir:example.org"),
        ("token", TOKEN),
    ];
    let (_, location, _) = admin.form(ADD, &nameless).await;
    assert!(location.contains("problem=") && !location.contains("SECRET"), "{location}");
    let (_, page) = admin.get("/notifications/where").await;
    for words in [
        "chat 7, by bot 42",
        "Approval needed, Question from an agent",
        "!abc:example.org by matrix.example",
    ] {
        assert!(page.contains(words), "no {words} in {page}");
    }
    assert!(!page.contains("SECRET"), "{page}");
}
