//! Two people, each with one of everything; one tries every address of the server with the other's
//! names (S2, Z11). The addresses come from the server's own table, so that a new one is tried too:
//! whoever adds one that this file cannot fill is told so.

use std::collections::BTreeMap;
use std::time::Instant;

use base64::Engine as _;
use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use weir_server::{Route, RouteAccess};
use weir_test_kit::{
    Browser, PASSWORD, PATIENCE, ServerSetup, TestDatabase, TestServer, wait_until_async,
};

/// Stands in everything of Ann's, and nowhere else.
const MARK: &str = "zebrafinch";
/// What she calls things whose names are part of addresses.
const NAME: &str = "songbird";

const SCRIPT: &str = "name: test\n\n\
    says: I keep zebrafinch.\ncalls: append_to_file {\"path\": \"zebrafinch.txt\", \"content\": \
    \"zebrafinch\\n\"}\n\nsays: It is zebrafinch.\n";

/// What is Ann's, by the word with which addresses are filled.
type Theirs = BTreeMap<&'static str, String>;

async fn made(browser: &Browser, method: &str, path: &str, body: Value) -> Value {
    let (status, answer) = browser.api(method, path, Some(body)).await;
    assert!((200..300).contains(&status), "{method} {path}: {status} {answer}");
    answer
}

async fn got(browser: &Browser, path: &str) -> Value {
    let (status, answer) = browser.api("GET", path, None).await;
    assert_eq!(status, 200, "{path}: {answer}");
    answer
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

async fn until(browser: &Browser, path: &str, done: impl Fn(&Value) -> bool) -> Value {
    wait_until_async(&format!("{path} tells it"), async || {
        let value = got(browser, path).await;
        if done(&value) { Ok(value) } else { Err(value) }
    })
    .await
}

async fn session(browser: &Browser, permission: &str, content: Value) -> String {
    let wish = json!({ "permission": permission, "title": MARK });
    let id = text(&made(browser, "POST", "/api/v1/sessions", wish).await["id"]);
    let input = json!({ "client_id": "c1", "content": content });
    made(browser, "POST", &format!("/api/v1/sessions/{id}/input"), input).await;
    id
}

/// A picture of one point.
const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk\
    +M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Sends a picture ahead of an input: its name.
async fn attachment(browser: &Browser) -> String {
    let picture = base64::engine::general_purpose::STANDARD.decode(PICTURE).expect("base64");
    let mut body = format!(
        "--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{MARK}.png\"\r\n\r\n"
    )
    .into_bytes();
    body.extend(picture);
    body.extend(b"\r\n--b--\r\n");
    let request = browser
        .request("POST", "/api/v1/attachments")
        .header("x-csrf-token", browser.token())
        .header("content-type", "multipart/form-data; boundary=b")
        .body(body);
    let response = browser.send(request).await;
    let (status, said) = (response.status(), response.text().await.expect("text"));
    assert_eq!(status, 201, "{said}");
    let made: Value = serde_json::from_str(&said).expect("JSON");
    text(&made[0]["id"])
}

/// The first value of a field, wherever it stands in the journal.
fn first_of(journal: &str, field: &str) -> Option<String> {
    fn find(value: &Value, field: &str) -> Option<String> {
        match value {
            Value::Object(all) => all
                .get(field)
                .and_then(|value| value.as_str().map(str::to_owned))
                .or_else(|| all.values().find_map(|value| find(value, field))),
            Value::Array(all) => all.iter().find_map(|value| find(value, field)),
            _ => None,
        }
    }
    journal.lines().find_map(|line| find(&serde_json::from_str(line).ok()?, field))
}

/// One of everything, with the mark in it.
async fn everything(browser: &Browser) -> Theirs {
    let words = json!([{ "type": "text", "text": MARK }]);
    let picture = json!({ "type": "attachment", "attachment": attachment(browser).await });
    let done = session(browser, "auto-edit", json!([words[0], picture])).await;
    let path = format!("/api/v1/sessions/{done}");
    until(browser, &path, |info| info["status"] == "completed").await;
    let waiting = session(browser, "ask", words).await;
    let open = until(browser, "/api/v1/approvals", |list| list["items"][0].is_object()).await;
    let checkpoints = got(browser, &format!("{path}/checkpoints")).await;
    let (_, journal) = browser.get(&format!("{path}/export")).await;
    let agent = json!({ "name": NAME, "prompt": MARK });
    made(browser, "POST", "/api/v1/agents", agent).await;
    let memory = json!({ "text": format!("{MARK} sings."), "kind": "preference" });
    let memory = made(browser, "POST", "/api/v1/memory", memory).await;
    let entry = json!({ "text": format!("{MARK} eats seeds.") });
    let entry = made(browser, "POST", "/api/v1/brain", entry).await;
    let share = made(browser, "POST", "/api/v1/shares", json!({ "session": done })).await;
    let token = made(browser, "POST", "/api/v1/account/tokens", json!({ "name": MARK })).await;
    let logins = got(browser, "/api/v1/account/logins").await;
    let ntfy = json!({ "way": "ntfy", "server": "https://ntfy.example", "topic": MARK });
    let channel = made(browser, "POST", "/api/v1/notifications", ntfy).await;
    let mail = json!({
        "name": NAME, "address": "ann@home.example", "user": "ann", "password": MARK,
        "imap": { "host": "imap.example", "port": 993, "security": "tls" }, "smtp": null,
        "folder": "INBOX", "receiver": "mx.home.example", "enabled": false, "tool": false,
        "rules": [],
    });
    made(browser, "PUT", &format!("/api/v1/mail/{NAME}"), mail).await;
    let me = got(browser, "/api/v1/me").await;
    let mut theirs = Theirs::from([
        ("approval", text(&open["items"][0]["id"])),
        ("attachment", attachment(browser).await),
        ("checkpoint", text(&checkpoints[0]["id"])),
        ("call", first_of(&journal, "call").expect("a call")),
        ("memory", text(&memory["id"])),
        ("brain", text(&entry["id"])),
        ("share", text(&share["id"])),
        ("token", text(&token["id"])),
        ("login", text(&logins["items"][0]["id"])),
        ("notification", text(&channel["id"])),
        ("person", text(&me["id"])),
        ("question", format!("{waiting}.q1")),
        ("blob", first_of(&journal, "blob").expect("a blob")),
        ("agent", NAME.into()),
        ("mail", NAME.into()),
        ("passkey", "AAAA".into()),
    ]);
    let of_folder = theirs["checkpoint"].split('.').next_back().expect("it has parts").to_owned();
    theirs.insert("checkpoint_of_folder", of_folder);
    theirs.insert("session", done);
    theirs.insert("waiting", waiting);
    theirs
}

/// How an address is filled.
enum Filled {
    /// With a name of Ann's: nobody else finds anything there.
    Theirs(String),
    /// With a word that everybody has one of: whoever asks gets their own.
    Own(String),
    /// It is open to everybody who has the secret in it.
    Open,
}

/// What stands for `{…}`, by what comes before it. `None`: not known here.
fn word_for(before: &str, name: &str, theirs: &Theirs) -> Option<Filled> {
    let of = |kind: &str| theirs.get(kind).cloned().map(Filled::Theirs);
    let last = before.trim_end_matches('/');
    let own = |word: &str| Some(Filled::Own(word.into()));
    match (last, name) {
        (_, "blob") => of("blob"),
        (_, "call") => of("call"),
        ("/api/v1/sessions" | "/chats" | "/chat", "id") => of("session"),
        ("/api/v1/approvals" | "/approvals", "id") => of("approval"),
        ("/api/v1/questions", "id") => of("question"),
        ("/api/v1/checkpoints", "id") => of("checkpoint"),
        ("/files/checkpoints", "id") => of("checkpoint_of_folder"),
        ("/api/v1/attachments", "id") => of("attachment"),
        ("/api/v1/memory" | "/memory", "id") => of("memory"),
        ("/api/v1/brain" | "/brain", "id") => of("brain"),
        ("/api/v1/shares" | "/shares", "id") => of("share"),
        ("/api/v1/agents" | "/agents", "name") => of("agent"),
        ("/api/v1/mail" | "/mail", "name") => of("mail"),
        ("/api/v1/notifications" | "/notifications/where", "id") => of("notification"),
        ("/api/v1/account/tokens" | "/account/tokens", "id") => of("token"),
        ("/api/v1/account/logins" | "/account/logins", "id") => of("login"),
        ("/account/security/passkeys", "id") => of("passkey"),
        ("/api/v1/users" | "/users", "id") => of("person"),
        (_, "file") if last.ends_with("/prompts") => own("USER.md"),
        (_, "list") => own("hosts"),
        (_, "shelf") => own("skills"),
        (_, "deed") => own("enable"),
        (_, "word") => own("kept"),
        (_, "name") if last.contains("/library/") => own(NAME),
        ("/providers" | "/api/v1/providers", "name") => own("openai"),
        (_, "name") if last.ends_with("/backups") => own(NAME),
        ("/s" | "/invitation" | "/act", "token") => Some(Filled::Open),
        ("/assets", "version") => Some(Filled::Open),
        _ => None,
    }
}

/// An address with everything filled in; whether a name of Ann's stands in it.
fn filled(path: &str, theirs: &Theirs) -> Result<(String, bool), String> {
    let mut built = String::new();
    let mut has_theirs = false;
    for part in path.split('/').skip(1) {
        let Some(name) = part.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else {
            built.push('/');
            built.push_str(part);
            continue;
        };
        match word_for(&built, name.trim_start_matches('*'), theirs) {
            Some(Filled::Theirs(word)) => {
                has_theirs = true;
                built.push('/');
                built.push_str(&word);
            }
            Some(Filled::Own(word)) => {
                built.push('/');
                built.push_str(&word);
            }
            Some(Filled::Open) => return Ok((String::new(), false)),
            None => return Err(format!("{path}: how is {{{name}}} filled? say it in word_for")),
        }
    }
    Ok((built, has_theirs))
}

/// A body that a description of one allows: the fields that must be there, and no more.
fn example(schema: &Value, document: &Value) -> Value {
    if let Some(name) = schema["$ref"].as_str() {
        let pointer = name.trim_start_matches('#');
        return document.pointer(pointer).map_or(Value::Null, |found| example(found, document));
    }
    for choice in ["oneOf", "anyOf", "allOf"] {
        if let Some(first) = schema[choice].as_array().and_then(|all| all.first()) {
            let mut value = example(first, document);
            if let (Some(to), true) = (value.as_object_mut(), schema["properties"].is_object()) {
                let rest = json!({ "type": "object", "properties": schema["properties"],
                    "required": schema["required"] });
                to.extend(example(&rest, document).as_object().cloned().unwrap_or_default());
            }
            return value;
        }
    }
    if let Some(value) = schema.get("const").or_else(|| schema["enum"].get(0)) {
        return value.clone();
    }
    if schema["pattern"].as_str().is_some_and(|pattern| pattern.contains("[0-9]")) {
        return json!("i1");
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str());
    match kind {
        Some("string") => json!("x"),
        Some("integer" | "number") => json!(1),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") | None => {
            let mut object = serde_json::Map::new();
            for name in
                schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str)
            {
                let value = match name {
                    "input" => json!("i1"),
                    _ => example(&schema["properties"][name], document),
                };
                object.insert(name.into(), value);
            }
            Value::Object(object)
        }
        Some(_) => Value::Null,
    }
}

/// A body for a route, as the server's own description says.
fn body_of(route: &Route, document: &Value) -> Option<Value> {
    let method = route.method.as_str().to_lowercase();
    let content = &document["paths"][route.path][&method]["requestBody"]["content"];
    let schema = &content["application/json"]["schema"];
    (!schema.is_null()).then(|| example(schema, document))
}

/// Fields that forms have: what one does not know it leaves alone.
const FORM: &[(&str, &str)] = &[
    ("title", "mine"),
    ("name", "mine"),
    ("text", "mine"),
    ("decision", "once"),
    ("approval", "1"),
    ("question", "1"),
    ("answer", "mine"),
    ("input", "i1"),
    ("do", "pin"),
    ("at", "1"),
    ("run", "1"),
    ("entry", "x"),
    ("status", "kept"),
    ("password", PASSWORD),
    ("sure", "yes"),
    ("display", "mine"),
    ("prompt", "mine"),
    ("version", "1"),
    ("path", "x"),
];

/// What some addresses want in their query; others leave it alone.
const QUERY: &str = "?input=i1&before=e2&kind=file&q=x&word=x&text=x&path=x";

/// Status and text of an answer, with its headers.
async fn answer(browser: &Browser, route: &Route, path: &str, document: &Value) -> (u16, String) {
    let method = route.method.as_str();
    let is_api = path.starts_with("/api/");
    if method == "GET" || is_api {
        let query = if path.starts_with("/chats/") { QUERY } else { "" };
        let mut request = browser
            .request(method, &format!("{path}{query}"))
            .header("x-csrf-token", browser.token());
        if let Some(body) = body_of(route, document) {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let response = browser.send(request.timeout(PATIENCE)).await;
        let status = response.status().as_u16();
        let headers = format!("{:?}", response.headers());
        return (status, headers + &response.text().await.unwrap_or_default());
    }
    if route.path.ends_with("/say") {
        let request = browser
            .request(method, &format!("{path}?csrf={}", browser.token()))
            .header("content-type", "multipart/form-data; boundary=b")
            .body("--b\r\ncontent-disposition: form-data; name=\"text\"\r\n\r\nmine\r\n--b--\r\n");
        let response = browser.send(request).await;
        return (response.status().as_u16(), response.text().await.unwrap_or_default());
    }
    let (status, to, body) = browser.form(path, FORM).await;
    (status, to + &body)
}

/// Whether an answer says that there is no such thing: by its status, or, where a form goes back to
/// its page, by what that page is told to say.
fn is_missing(status: u16, said: &str) -> bool {
    let told = said.contains("problem=") && said.contains("does+not+exist");
    matches!(status, 403 | 404) || (status == 303 && told)
}

/// What a sweep finds.
#[derive(Default)]
struct Found {
    wrong: Vec<String>,
    by_name: usize,
    by_role: usize,
    closed: usize,
    controls: usize,
}

/// One route with everything that is asked of it.
struct Tried<'a> {
    route: &'a Route,
    path: &'a str,
    document: &'a Value,
}

impl Tried<'_> {
    async fn by(&self, browser: &Browser) -> (u16, String) {
        answer(browser, self.route, self.path, self.document).await
    }

    fn told(&self, what: &str, (status, said): (u16, &str)) -> String {
        let body = said.split("\"}{").last().unwrap_or(said);
        let short: String = body.chars().take(200).collect();
        format!("{what}: {} {} -> {status} {short}", self.route.method, self.path)
    }

    async fn without_a_cookie(&self, stranger: &Browser, found: &mut Found) {
        let (status, said) = self.by(stranger).await;
        found.closed += 1;
        if !matches!(status, 401 | 303) || said.contains(MARK) {
            found.wrong.push(self.told("without a cookie", (status, &said)));
        }
    }

    async fn as_a_user(&self, bob: &Browser, found: &mut Found) {
        let (status, said) = self.by(bob).await;
        found.by_role += 1;
        if status != 403 || said.contains(MARK) {
            found.wrong.push(self.told("as a user", (status, &said)));
        }
    }

    async fn with_anothers_name(&self, bob: &Browser, theirs: &Theirs, found: &mut Found) {
        let (status, said) = self.by(bob).await;
        found.by_name += 1;
        // What was asked for stands in the answer when it is named; nothing else of hers may.
        let said = theirs.values().fold(said, |said, name| said.replace(name.as_str(), ""));
        // Agents and mail accounts are named by their owner: putting one there makes one's own.
        let makes_own = self.route.method.as_str() == "PUT" && self.route.path.ends_with("{name}");
        let is_kept_out = is_missing(status, &said) || (makes_own && matches!(status, 200..=400));
        if !is_kept_out || said.contains(MARK) {
            found.wrong.push(self.told("another's", (status, &said)));
        }
    }

    /// Her own name leads her to it: otherwise nothing was tried above.
    async fn with_ones_own_name(&self, ann: &Browser, found: &mut Found) {
        if self.route.method.as_str() != "GET" {
            return;
        }
        let (status, said) = self.by(ann).await;
        found.controls += 1;
        if !matches!(status, 200 | 303) {
            found.wrong.push(self.told("one's own", (status, &said)));
        }
    }
}

async fn sweep(setup: ServerSetup<'_>) {
    let mut served = TestServer::start(setup).await;
    let (ann, bob) = (served.person("ann").await, served.person("bob").await);
    let theirs = everything(&ann).await;
    everything_plain(&bob).await;
    // Her channel leads nowhere, and tells so once it was to tell her what waits.
    let is_told = |said: &Value| said["channels"][0]["failed"] != "";
    until(&ann, "/api/v1/notifications", is_told).await;
    let before = standing(&ann, &theirs).await;
    let document = weir_server::openapi_document();
    let mut found = Found::default();
    for route in weir_server::all_routes() {
        let (path, has_theirs) = match filled(route.path, &theirs) {
            Ok(filled) => filled,
            Err(complaint) => {
                found.wrong.push(complaint);
                continue;
            }
        };
        if path.is_empty() {
            continue;
        }
        let tried = Tried { route: &route, path: &path, document: &document };
        if route.access != RouteAccess::Anyone {
            tried.without_a_cookie(&served.stranger(), &mut found).await;
        }
        match route.access {
            RouteAccess::Admin => tried.as_a_user(&bob, &mut found).await,
            RouteAccess::Person | RouteAccess::Anyone if has_theirs => {
                tried.with_anothers_name(&bob, &theirs, &mut found).await;
                tried.with_ones_own_name(&ann, &mut found).await;
            }
            RouteAccess::Person | RouteAccess::Anyone => {}
        }
    }
    found.by_name += reads(&bob, &theirs, &mut found.wrong).await;
    found.by_name += frames(&bob, &theirs, &mut found.wrong).await;
    let Found { wrong, by_name, by_role, closed, controls } = found;
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(standing(&ann, &theirs).await, before, "everything of hers stands as it was");
    assert!(by_name > 60 && by_role > 10 && closed > 100, "{by_name} {by_role} {closed}");
    say(&format!(
        "tenants: {by_name} with another's names, {controls} with one's own, {by_role} of admins, \
         {closed} without a cookie"
    ));
}

#[expect(clippy::print_stdout, reason = "whoever runs the sweep reads how much it tried")]
fn say(count: &str) {
    println!("{count}");
}

/// Bob has things of his own, so that lists are not empty for that reason.
async fn everything_plain(browser: &Browser) {
    let wish = json!({ "title": "finch" });
    made(browser, "POST", "/api/v1/sessions", wish).await;
    made(browser, "POST", "/api/v1/account/tokens", json!({ "name": "finch" })).await;
}

/// What Ann has, as the API tells it.
async fn standing(browser: &Browser, theirs: &Theirs) -> Vec<Value> {
    let mut all = Vec::new();
    for path in [
        format!("/api/v1/sessions/{}/checkpoints", theirs["session"]),
        "/api/v1/sessions".into(),
        "/api/v1/agents".into(),
        "/api/v1/memory".into(),
        "/api/v1/brain".into(),
        "/api/v1/shares".into(),
        "/api/v1/account/tokens".into(),
        "/api/v1/approvals".into(),
        "/api/v1/notifications".into(),
        "/api/v1/files".into(),
    ] {
        all.push(got(browser, &path).await);
    }
    all
}

/// Every list and page that needs no name: nothing of Ann's stands in any of Bob's.
async fn reads(bob: &Browser, theirs: &Theirs, wrong: &mut Vec<String>) -> usize {
    let mut count = 0;
    let plain = weir_server::all_routes().into_iter().filter(|route| {
        route.method.as_str() == "GET"
            && !route.path.contains('{')
            && route.access == RouteAccess::Person
            && !matches!(route.path, "/api/v1/ws")
    });
    for route in plain {
        for path in [route.path.to_owned(), format!("{}?q={MARK}&query={MARK}", route.path)] {
            count += 1;
            let request = bob.request("GET", &path).timeout(PATIENCE);
            let said = bob.send(request).await.text().await.unwrap_or_default();
            let names = ["session", "waiting", "share", "memory", "brain", "token"];
            let named = names.iter().any(|name| said.contains(&theirs[name]));
            // A page repeats the words that were searched for.
            let marked = said.contains(MARK) && path == route.path;
            if named || marked {
                wrong.push(format!("a list: GET {path}"));
            }
        }
    }
    count
}

/// Every frame of the socket with Ann's names.
async fn frames(bob: &Browser, theirs: &Theirs, wrong: &mut Vec<String>) -> usize {
    let (session, waiting) = (&theirs["session"], &theirs["waiting"]);
    let text = json!([{ "type": "text", "text": "mine" }]);
    let frames = [
        json!({ "type": "subscribe", "session": session, "after": 0 }),
        json!({ "type": "say", "session": session, "client_id": "b1", "content": text }),
        json!({ "type": "decide", "approval": theirs["approval"], "decision": "once" }),
        json!({ "type": "answer", "question": theirs["question"], "answer": "mine" }),
        json!({ "type": "cancel", "session": waiting }),
    ];
    let count = frames.len();
    let mut socket = bob.socket().await;
    for frame in frames {
        let kind = frame["type"].clone();
        socket.send(Message::Text(frame.to_string().into())).await.expect("it is open");
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let said = match tokio::time::timeout(left, socket.next()).await {
                Ok(Some(Ok(Message::Text(said)))) => said.to_string(),
                Ok(Some(Ok(_))) => continue,
                ended => {
                    wrong.push(format!("the frame {kind} has no answer: {ended:?}"));
                    break;
                }
            };
            let value: Value = serde_json::from_str(&said).expect("JSON");
            if said.contains(MARK) || value["type"] == "event" {
                wrong.push(format!("the frame {kind} gives {said}"));
            }
            if value["type"] == "error" {
                if value["code"] != "not_found" {
                    wrong.push(format!("the frame {kind}: {said}"));
                }
                break;
            }
        }
    }
    count
}

#[tokio::test(flavor = "multi_thread")]
async fn z10_nobody_reaches_anything_of_anothers_by_any_address() {
    sweep(ServerSetup { script: SCRIPT, ..ServerSetup::default() }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn z10_nobody_reaches_anything_of_anothers_in_one_database() {
    let Some(kept) = TestDatabase::create().await else {
        return;
    };
    let database = Some(kept.url.clone());
    sweep(ServerSetup { script: SCRIPT, database, ..ServerSetup::default() }).await;
}
