//! `/mcp` of `weir serve`: another agent's program over HTTP, with a token that is good for this alone (R2).

use serde_json::{Value, json};
use weir_test_kit::{Browser, ServerSetup, TestServer, wait_until_async};

const SCRIPT: &str = "name: test\n\nsays: Hello.\n";

/// A program with what a server told it.
struct McpProgram {
    program: Browser,
    session: Option<String>,
    sent: u64,
}

/// Status, and the messages of an answer in whichever of both forms.
fn messages_of(text: &str) -> Vec<Value> {
    match serde_json::from_str(text) {
        Ok(one) => vec![one],
        Err(_) => {
            let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
            data.filter_map(|line| serde_json::from_str(line.trim()).ok()).collect()
        }
    }
}

impl McpProgram {
    async fn of(person: &Browser) -> McpProgram {
        McpProgram { program: person.program("mcp").await, session: None, sent: 0 }
    }

    async fn post(&mut self, message: &Value, headers: &[(&str, &str)]) -> (u16, Vec<Value>) {
        let mut request = self
            .program
            .request("POST", "/mcp")
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json")
            .body(message.to_string());
        if let Some(session) = &self.session {
            request = request
                .header("mcp-session-id", session)
                .header("mcp-protocol-version", "2025-11-25");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = request.send().await.expect("an answer");
        let status = answer.status().as_u16();
        if let Some(session) = answer.headers().get("mcp-session-id") {
            self.session = Some(session.to_str().expect("text").to_owned());
        }
        (status, messages_of(&answer.text().await.expect("text")))
    }

    async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.sent += 1;
        let id = self.sent;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let (status, messages) = self.post(&message, &[]).await;
        assert_eq!(status, 200, "{method}: {messages:?}");
        let answer =
            messages.iter().find(|message| message["id"] == id && message.get("method").is_none());
        answer.cloned().unwrap_or_else(|| panic!("no answer to {method}: {messages:?}"))
    }

    async fn begin(&mut self) {
        self.begin_able(json!({})).await;
    }

    async fn begin_able(&mut self, able: Value) {
        let client = json!({"name": "remote", "version": "1"});
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": able, "clientInfo": client});
        let told = self.ask("initialize", params).await;
        assert_eq!(told["result"]["serverInfo"]["name"], "weir", "{told}");
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(self.post(&ready, &[]).await.0, 202);
    }

    async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments})).await["result"]
            .clone()
    }
}

async fn served(config: &str) -> TestServer {
    TestServer::start(ServerSetup { script: SCRIPT, config, ..ServerSetup::default() }).await
}

async fn open_approval(person: &Browser) -> String {
    wait_until_async("it is asked", async || {
        let (_, open) = person.api("GET", "/api/v1/approvals", None).await;
        match open["items"][0]["id"].as_str() {
            Some(id) => Ok(id.to_owned()),
            None => Err(open),
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn r2_a_token_for_mcp_calls_tools_and_is_good_for_nothing_else() {
    let mut served = served("permission = \"auto-edit\"\n").await;
    let ann = served.person("ann").await;
    let mut program = McpProgram::of(&ann).await;
    program.begin().await;
    assert!(program.session.is_some(), "the revision with a handshake has connections");
    let listed = program.ask("tools/list", json!({})).await;
    assert!(listed["result"]["tools"].as_array().is_some_and(|all| all.len() > 10), "{listed}");
    let done = program.call("write_file", json!({"path": "b.txt", "content": "x"})).await;
    assert!(done["isError"] != true, "{done}");
    // It stands in a session of hers, which her other faces show.
    let (_, sessions) = ann.api("GET", "/api/v1/sessions", None).await;
    assert!(sessions.to_string().contains("mcp-client/remote"), "{sessions}");
    assert_eq!(program.program.api("GET", "/api/v1/me", None).await.0, 403);
    assert_eq!(program.program.api("GET", "/api/v1/approvals", None).await.0, 403);

    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    for scope in ["all", "read"] {
        let other = ann.program(scope).await;
        let mut other = McpProgram { program: other, session: None, sent: 0 };
        assert_eq!(other.post(&hello, &[]).await.0, 403, "{scope}");
    }
    let nobody = McpProgram { program: served.stranger(), session: None, sent: 0 };
    let asked = nobody.program.request("POST", "/mcp").body(hello.to_string()).send().await;
    let asked = asked.expect("an answer");
    assert_eq!(asked.status(), 401);
    assert!(
        asked.headers()["www-authenticate"].to_str().is_ok_and(|how| how.starts_with("Bearer"))
    );
    // A sign-in is no token, and a page elsewhere is refused also with one.
    let mut browser = McpProgram { program: ann, session: None, sent: 0 };
    assert_eq!(browser.post(&hello, &[]).await.0, 403);
    let (status, _) = program.post(&hello, &[("origin", "https://evil.example")]).await;
    assert_eq!(status, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn r2_a_remote_call_waits_for_its_person_and_nobody_else_finds_it() {
    let mut served = served("permission = \"ask\"\n").await;
    let ann = served.person("ann").await;
    let bob = served.person("bob").await;
    let mut program = McpProgram::of(&ann).await;
    program.begin().await;
    let session = program.session.clone();
    let waits = tokio::spawn(async move {
        let done = program.call("write_file", json!({"path": "b.txt", "content": "x"})).await;
        (program, done)
    });
    let approval = open_approval(&ann).await;
    // Bob's program has her connection's name, and gets nothing by it.
    let mut other = McpProgram::of(&bob).await;
    other.session = session;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    assert_eq!(other.post(&ping, &[]).await.0, 404);
    let answer = json!({"decision": "once"});
    let (status, said) =
        ann.api("POST", &format!("/api/v1/approvals/{approval}"), Some(answer)).await;
    assert!(status < 300, "{status} {said}");
    let (mut program, done) = waits.await.expect("it ends");
    assert!(done["isError"] != true, "{done}");
    let read = program.call("read_file", json!({"path": "b.txt"})).await;
    assert!(read.to_string().contains('x'), "{read}");
    assert_eq!(served.stop().await, 0);
}

/// The address of an account, for whoever administers it.
async fn account_of(person: &Browser) -> String {
    let (_, me) = person.api("GET", "/api/v1/me", None).await;
    format!("/api/v1/users/{}", me["id"].as_str().expect("an id"))
}

async fn change_setting(person: &Browser, key: &str, value: Value, for_all: bool) {
    let wish = json!({"values": {key: value}, "for_all": for_all});
    let (status, told) = person.api("PATCH", "/api/v1/settings", Some(wish)).await;
    assert_eq!(status, 200, "{key}: {told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn r2_what_a_person_sets_holds_for_the_next_call_of_their_programs() {
    let mut served = served("permission = \"auto-edit\"\n").await;
    let ann = served.person("ann").await;
    // Something is set already, as it mostly is: the number of her settings begins above nothing.
    change_setting(&ann, "prompt.instructions", json!("Be kind."), false).await;
    let mut program = McpProgram::of(&ann).await;
    program.begin().await;
    let done = program.call("write_file", json!({"path": "a.txt", "content": "x"})).await;
    assert!(done["isError"] != true, "{done}");
    let token = ann.program("all").await;
    change_setting(&token, "permission", json!("plan"), false).await;
    // Another agent has other connections.
    program.session = None;
    program.begin().await;
    let params = json!({"name": "write_file", "arguments": {"path": "b.txt", "content": "x"}});
    let done = program.ask("tools/call", params).await;
    let is_refused = done["error"].is_object() || done["result"]["isError"] == true;
    assert!(is_refused, "she set that nothing is changed: {done}");
    let listed = program.call("list_files", json!({})).await;
    assert!(
        listed.to_string().contains("a.txt") && !listed.to_string().contains("b.txt"),
        "{listed}"
    );
    assert_eq!(served.stop().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn r2_calls_that_wait_go_on_and_none_begins_by_settings_that_hold_no_longer() {
    let mut served = served("permission = \"ask\"\n").await;
    let ann = served.person("ann").await;
    let mut program = McpProgram::of(&ann).await;
    program.begin().await;
    let session = program.session.clone();
    let token = program.program.clone();
    let waits = tokio::spawn(async move {
        program.call("write_file", json!({"path": "b.txt", "content": "x"})).await
    });
    let approval = open_approval(&ann).await;
    change_setting(&ann, "permission", json!("plan"), false).await;
    let mut other = McpProgram { program: token, session, sent: 100 };
    let params = json!({"name": "read_file", "arguments": {"path": "b.txt"}});
    let refused = other.ask("tools/call", params).await;
    let why = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(why.contains("settings have changed"), "{refused}");
    let answer = json!({"decision": "once"});
    let path = format!("/api/v1/approvals/{approval}");
    assert!(ann.api("POST", &path, Some(answer)).await.0 < 300);
    let done = waits.await.expect("it ends");
    assert!(done["isError"] != true, "what was under way goes on as it began: {done}");
    assert_eq!(served.stop().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn r2_a_program_of_somebody_who_is_an_admin_no_longer_reads_outside_their_folder() {
    let mut served = served("permission = \"full\"\n[mcp_server]\napprovals = \"deny\"\n").await;
    let ann = served.person("ann").await;
    let admin = served.admin().await;
    // The same number of settings for both roles.
    change_setting(&admin, "prompt.instructions", json!("Be kind."), true).await;
    let path = account_of(&ann).await;
    assert_eq!(admin.api("PATCH", &path, Some(json!({"role": "admin"}))).await.0, 200);
    let ann = served.signed_in("ann").await;
    served.house.write("outside.txt", "not hers alone\n");
    let outside = served.house.work().with_file_name("outside.txt").display().to_string();
    let mut program = McpProgram::of(&ann).await;
    program.begin().await;
    let read = program.call("read_file", json!({"path": outside})).await;
    assert!(read.to_string().contains("not hers alone"), "an admin may: {read}");

    assert_eq!(admin.api("PATCH", &path, Some(json!({"role": "user"}))).await.0, 200);
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    assert_eq!(program.post(&ping, &[]).await.0, 404, "the connection ended with the role");
    program.session = None;
    program.begin().await;
    let read = program.call("read_file", json!({"path": outside})).await;
    assert!(!read.to_string().contains("not hers alone"), "{read}");
    assert_eq!(served.stop().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn r2_what_programs_of_somebody_have_under_way_ends_when_the_account_is_disabled() {
    let mut served = served("permission = \"ask\"\n").await;
    let ann = served.person("ann").await;
    let admin = served.admin().await;
    let path = account_of(&ann).await;
    let mut program = McpProgram::of(&ann).await;
    program.begin().await;
    let message = json!({"jsonrpc": "2.0", "id": 50, "method": "tools/call", "params": {
        "name": "write_file", "arguments": {"path": "b.txt", "content": "x"}
    }});
    let waits = tokio::spawn(async move { program.post(&message, &[]).await });
    open_approval(&ann).await;
    assert_eq!(admin.api("PATCH", &path, Some(json!({"disabled": true}))).await.0, 200);
    // Nobody can answer it any more, and nobody waits for that.
    let done = tokio::time::timeout(weir_test_kit::PATIENCE, waits).await;
    // With an answer or without: the connection ends too.
    let (_, messages) = done.expect("it ends with the account").expect("no panic");
    let is_done = messages.iter().any(|message| message["result"]["isError"] == false);
    assert!(!is_done, "{messages:?}");
    assert_eq!(admin.api("PATCH", &path, Some(json!({"disabled": false}))).await.0, 200);
    let ann = served.signed_in("ann").await;
    let (_, open) = ann.api("GET", "/api/v1/approvals", None).await;
    assert_eq!(open["items"], json!([]), "{open}");
    assert_eq!(served.stop().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn r2_over_http_no_program_is_asked_unless_somebody_set_that_it_is() {
    for (set, is_asked) in [("", false), ("[mcp_server]\napprovals = \"ask\"\n", true)] {
        let mut served = served(&format!("permission = \"ask\"\n{set}")).await;
        let ann = served.person("ann").await;
        let mut program = McpProgram::of(&ann).await;
        program.begin_able(json!({"elicitation": {"form": {}}})).await;
        let message = json!({"jsonrpc": "2.0", "id": 50, "method": "tools/call", "params": {
            "name": "write_file", "arguments": {"path": "b.txt", "content": "x"}
        }});
        let waits = tokio::spawn(async move { program.post(&message, &[]).await });
        let approval = open_approval(&ann).await;
        let answer = json!({"decision": "deny"});
        let path = format!("/api/v1/approvals/{approval}");
        assert!(ann.api("POST", &path, Some(answer)).await.0 < 300);
        let (status, messages) = waits.await.expect("it ends");
        assert_eq!(status, 200, "{messages:?}");
        let asked = messages.iter().any(|message| message["method"] == "elicitation/create");
        assert_eq!(asked, is_asked, "{set:?}: {messages:?}");
        assert_eq!(served.stop().await, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r2_a_program_without_a_token_is_told_where_it_is_told_which_one_it_needs() {
    let mut served = served("").await;
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let stranger = served.stranger();
    let asked =
        stranger.request("POST", "/mcp").body(hello.clone()).send().await.expect("an answer");
    assert_eq!(asked.status(), 401);
    let told = asked.headers()["www-authenticate"].to_str().expect("text").to_owned();
    let field = |name: &str| -> Option<String> {
        let (_, rest) = told.split_once(&format!("{name}=\""))?;
        Some(rest.split_once('"')?.0.to_owned())
    };
    assert_eq!((field("scope").as_deref(), field("error")), (Some("mcp"), None), "{told}");
    // It says whose address it is, as a program that asks for it checks (RFC 9728, section 3.3).
    let metadata = field("resource_metadata").expect("where it is told");
    let (origin, path) = metadata.split_once("/.well-known/").expect("a well-known address");
    let (status, about) = stranger.api("GET", &format!("/.well-known/{path}"), None).await;
    assert_eq!(status, 200, "{about}");
    assert_eq!(about["resource"], format!("{origin}/mcp"), "{about}");
    assert_eq!(about["scopes_supported"], json!(["mcp"]), "{about}");
    assert_eq!(about["bearer_methods_supported"], json!(["header"]), "{about}");
    assert_eq!(about.get("authorization_servers"), None, "there is none: {about}");
    let of_site = stranger.api("GET", "/.well-known/oauth-protected-resource", None).await;
    assert_eq!(of_site, (200, about));
    let wrong = stranger
        .request("POST", "/mcp")
        .header("authorization", "Bearer weir_nobodys")
        .body(hello)
        .send()
        .await
        .expect("an answer");
    assert_eq!(wrong.status(), 401);
    let told = wrong.headers()["www-authenticate"].to_str().expect("text").to_owned();
    assert!(told.contains("error=\"invalid_token\""), "{told}");
    assert_eq!(served.stop().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn r2_a_batch_over_http_is_answered_where_the_revision_has_batches() {
    let mut served = served("permission = \"auto-edit\"\n").await;
    let ann = served.person("ann").await;
    let request = |id: u64, method: &str, params: Value| {
        let version = "2.0";
        json!({"jsonrpc": version, "id": id, "method": method, "params": params})
    };
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let mut program = McpProgram::of(&ann).await;
    let client = json!({"name": "remote", "version": "1"});
    let params = json!({"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": client});
    let (_, told) = program.post(&request(1, "initialize", params), &[]).await;
    assert_eq!(told[0]["result"]["protocolVersion"], "2025-03-26", "{told:?}");
    assert_eq!(program.post(&ready, &[]).await.0, 202);

    let write = json!({"name": "write_file", "arguments": {"path": "b.txt", "content": "x"}});
    let batch = json!([
        ready,
        request(2, "tools/list", json!({})),
        request(3, "tools/call", write),
        request(3, "ping", json!({})),
        7,
    ]);
    let (status, told) = program.post(&batch, &[]).await;
    assert_eq!(status, 200, "{told:?}");
    let of = |id: Value| -> Vec<&Value> {
        let answers = told.iter().filter(|one| one["id"] == id && one.get("method").is_none());
        answers.collect()
    };
    assert!(of(json!(2))[0]["result"]["tools"].is_array(), "{told:?}");
    let third = of(json!(3));
    assert_eq!(third.len(), 2, "each is answered: {told:?}");
    assert!(third.iter().any(|one| one["result"].is_object() && one["result"]["isError"] != true));
    assert!(third.iter().any(|one| one["error"]["code"] == -32600), "{told:?}");
    assert_eq!(of(Value::Null)[0]["error"]["code"], -32600, "{told:?}");
    assert_eq!(program.post(&json!([ready]), &[]).await, (202, Vec::new()));
    let (status, told) = program.post(&json!([]), &[]).await;
    assert_eq!((status, &told[0]["error"]["code"]), (400, &json!(-32600)));

    // Neither in a newer revision nor without a beginning.
    let mut newer = McpProgram::of(&ann).await;
    newer.begin().await;
    let mut unbegun = McpProgram::of(&ann).await;
    for other in [&mut newer, &mut unbegun] {
        let (status, told) = other.post(&json!([request(9, "ping", json!({}))]), &[]).await;
        assert_eq!(status, 400, "{told:?}");
        assert!(told[0]["id"].is_null() && told[0]["error"]["code"] == -32600, "{told:?}");
    }
    assert_eq!(served.stop().await, 0);
}
