//! The chat page by HTTP, as a browser without scripts uses it, and what a page with scripts is told
//! (S7, S10, S11, S13, S4).

use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use weir_test_kit::{
    Browser, PATIENCE, ServerSetup, TestInstallation, TestServer, wait_until_async,
};

/// Writes a file, which has to be allowed, and says so.
const WRITES: &str = "name: test\n\nsays: I **write** it.\ncalls: write_file {\"path\": \"note.txt\", \
                      \"content\": \"first\\n\"}\n\nsays: Written, `note.txt` is there.\n";

/// A form with words and files: its media type and its bytes.
fn multipart(fields: &[(&str, &str)], files: &[(&str, &str)]) -> (String, String) {
    let border = "----------------a-border-that-nobody-writes";
    let mut body = String::new();
    for (name, value) in fields {
        body += &format!(
            "--{border}\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
        );
    }
    for (name, content) in files {
        body += &format!(
            "--{border}\r\ncontent-disposition: form-data; name=\"files\"; filename=\"{name}\"\r\n\
             content-type: application/octet-stream\r\n\r\n{content}\r\n"
        );
    }
    body += &format!("--{border}--\r\n");
    (format!("multipart/form-data; boundary={border}"), body)
}

/// Sends a form with words and files, as a composer without scripts does.
pub(super) async fn compose(
    browser: &Browser,
    path: &str,
    fields: &[(&str, &str)],
    files: &[(&str, &str)],
) -> (u16, String, String) {
    let (kind, body) = multipart(fields, files);
    let request = browser
        .request("POST", &format!("{path}?csrf={}", browser.token()))
        .header("content-type", kind)
        .header("accept", "text/html")
        .body(body);
    let response = browser.send(request).await;
    let status = response.status().as_u16();
    let to = response.headers().get("location").map(|to| to.to_str().expect("text").to_owned());
    (status, to.unwrap_or_default(), response.text().await.expect("a body"))
}

/// The same as the script of the page sends it: the status, and where it leads.
async fn compose_by_script(
    browser: &Browser,
    path: &str,
    fields: &[(&str, &str)],
    files: &[(&str, &str)],
) -> (u16, String) {
    let (kind, body) = multipart(fields, files);
    let request = browser
        .request("POST", path)
        .header("content-type", kind)
        .header("x-csrf-token", browser.token())
        .body(body);
    let response = browser.send(request).await;
    let to = response.headers().get("location").map(|to| to.to_str().expect("text").to_owned());
    (response.status().as_u16(), to.unwrap_or_default())
}

/// Begins a chat; its address.
pub(super) async fn begin(browser: &Browser, text: &str) -> String {
    let (status, to, body) = compose(browser, "/chats", &[("text", text)], &[]).await;
    assert_eq!(status, 303, "{body}");
    assert!(to.starts_with("/chats/"), "{to}");
    to
}

/// Loads a page until it has these words.
async fn until(browser: &Browser, path: &str, words: &str) -> String {
    wait_until_async(&format!("{path} shows {words:?}"), async || {
        let (status, page) = browser.get(path).await;
        assert_eq!(status, 200, "{page}");
        if page.contains(words) { Ok(page) } else { Err(page) }
    })
    .await
}

/// The value of the first `name="…"` after `before`.
fn value<'a>(page: &'a str, before: &str, name: &str) -> &'a str {
    let from = page.find(before).unwrap_or_else(|| panic!("no {before} in {page}"));
    let mark = format!("{name}=\"");
    let at = page[from..].find(&mark).expect("it has that") + from + mark.len();
    page[at..].split('"').next().expect("a value")
}

#[tokio::test]
async fn s11_a_chat_works_by_forms_alone() {
    let mut served =
        TestServer::start(ServerSetup { script: WRITES, ..ServerSetup::default() }).await;
    let admin = served.admin().await;
    let (status, page) = admin.get("/").await;
    assert_eq!(status, 200);
    assert!(page.contains("<h1>") && page.contains("id=\"text\""), "{page}");
    let chat = begin(&admin, "Write the <b>note</b>, please.").await;
    let page = until(&admin, &chat, "name=\"approval\"").await;
    assert!(page.contains("Write the &lt;b&gt;note&lt;/b&gt;, please."), "{page}");
    assert!(page.contains("<strong>write</strong>"), "an answer is Markdown: {page}");
    assert!(page.contains("note.txt"), "{page}");
    // The same waits in the inbox, and is answered there.
    let inbox = until(&admin, "/approvals", "name=\"approval\"").await;
    let approval = value(&inbox, "name=\"approval\"", "value");
    let fields = [("approval", approval), ("decision", "once"), ("back", "/approvals")];
    let (status, to, body) = admin.form(&format!("{chat}/decide"), &fields).await;
    assert_eq!((status, to.as_str()), (303, "/approvals"), "{body}");
    let page = until(&admin, &chat, "data-status=\"completed\"").await;
    assert!(page.contains("Allowed once by admin"), "{page}");
    assert!(page.contains("<code>note.txt</code>"), "{page}");
    assert!(!page.contains("name=\"approval\""), "nothing waits any more: {page}");
    let (_, inbox) = admin.get("/approvals").await;
    assert!(inbox.contains("Nothing needs your approval"), "{inbox}");
}

#[tokio::test]
async fn s7_chats_are_named_pinned_put_away_copied_and_deleted() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let chat = begin(&admin, "Remember the milk").await;
    until(&admin, &chat, "data-status=\"completed\"").await;
    let (_, list) = admin.get("/chats?q=milk").await;
    assert!(list.contains(&format!("href=\"{chat}\"")), "{list}");
    let (_, list) = admin.get("/chats?q=butter").await;
    assert!(list.contains("No chats found"), "{list}");
    let (status, ..) = admin.form(&format!("{chat}/rename"), &[("title", "Shopping <list>")]).await;
    assert_eq!(status, 303);
    let (_, list) = admin.get("/chats").await;
    assert!(list.contains("Shopping &lt;list&gt;"), "{list}");
    let keep = format!("{chat}/keep");
    admin.form(&keep, &[("do", "pin"), ("back", "/chats")]).await;
    assert!(admin.get("/chats").await.1.contains("title=\"Pinned\""));
    admin.form(&keep, &[("do", "archive"), ("back", "/chats")]).await;
    assert!(!admin.get("/chats").await.1.contains("Shopping"));
    assert!(admin.get("/chats?archived=yes").await.1.contains("Shopping"));
    assert_eq!(admin.form(&keep, &[("do", "burn")]).await.0, 400);
    let (status, copy, body) = admin.form(&format!("{chat}/fork"), &[]).await;
    assert_eq!(status, 303, "{body}");
    assert!(copy.starts_with("/chats/") && copy != chat, "{copy}");
    assert!(admin.get(&copy).await.1.contains("Remember the milk"));
    let (status, page) = admin.get(&format!("{chat}/delete")).await;
    assert!(status == 200 && page.contains("Delete this chat?"), "{page}");
    let (status, to, body) = admin.form(&format!("{chat}/delete"), &[]).await;
    assert_eq!((status, to.as_str()), (303, "/chats"), "{body}");
    assert_eq!(admin.get(&chat).await.0, 404);
    assert_eq!(admin.get(&copy).await.0, 200, "the copy stays");
}

#[tokio::test]
async fn s11_edit_and_ask_again_goes_on_in_a_copy() {
    let script = "name: test\n\nsays: One.\n\nsays: Two.\n";
    let mut served = TestServer::start(ServerSetup { script, ..ServerSetup::default() }).await;
    let admin = served.admin().await;
    let chat = begin(&admin, "First").await;
    until(&admin, &chat, "data-status=\"completed\"").await;
    let say = format!("{chat}/say");
    assert_eq!(compose(&admin, &say, &[("text", "Second")], &[]).await.0, 303);
    until(&admin, &chat, "Two.").await;
    let page = until(&admin, &format!("{chat}/edit?input=i2"), "Second").await;
    assert!(page.contains("action=\"") && page.contains("/fork\""), "{page}");
    let fields = [("input", "i2"), ("text", "Another second")];
    let (status, copy, body) = admin.form(&format!("{chat}/fork"), &fields).await;
    assert_eq!(status, 303, "{body}");
    // The copy has one answer, so its model gives the second one again.
    let page = until(&admin, &copy, "Two.").await;
    assert!(page.contains("Another second"), "it was asked again: {page}");
    assert!(page.contains("One."), "what was said before is there: {page}");
    assert!(!page.contains("Second"), "what was said instead is not: {page}");
    assert!(admin.get(&chat).await.1.contains("Two."), "the chat itself stays");
}

#[tokio::test]
async fn s11_an_undo_is_shown_before_it_is_done() {
    let config = "permission = \"auto-edit\"\n";
    let mut served =
        TestServer::start(ServerSetup { script: WRITES, config, ..ServerSetup::default() }).await;
    let admin = served.admin().await;
    let chat = begin(&admin, "Write it").await;
    let page = until(&admin, &chat, "data-status=\"completed\"").await;
    assert!(page.contains("1 file changed"), "{page}");
    let preview = until(&admin, &format!("{chat}/undo?run=r1"), "note.txt").await;
    assert!(preview.contains("removed"), "{preview}");
    let (status, _, body) = admin.form(&format!("{chat}/undo"), &[("run", "r1")]).await;
    assert_eq!(status, 303, "{body}");
    let page = until(&admin, &chat, "admin took changes of 1 file back.").await;
    assert!(page.contains("1 file changed"), "the past stays: {page}");
    // The undo is a change like any other.
    let again = until(&admin, &format!("{chat}/undo"), "restored").await;
    assert!(again.contains("note.txt"), "{again}");
}

#[tokio::test]
async fn s4_the_kill_switch_is_on_every_page_and_works_by_form() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    for path in ["/", "/chats", "/approvals", "/pause"] {
        let (status, page) = admin.get(path).await;
        assert_eq!(status, 200, "{path}");
        assert!(page.contains("action=\"/pause\""), "{path}: {page}");
    }
    assert_eq!(admin.form("/pause", &[]).await.1, "/pause");
    let (_, page) = admin.get("/pause").await;
    assert!(page.contains("Stopped") && page.contains("action=\"/release\""), "{page}");
    let (status, _, body) = compose(&admin, "/chats", &[("text", "Go")], &[]).await;
    assert_eq!(status, 409, "{body}");
    let (_, counts) = admin.api("GET", "/frame", None).await;
    assert!(
        counts["paused"].as_str().is_some_and(|text| text.contains("admin stopped")),
        "{counts}"
    );
    assert_eq!(admin.form("/release", &[]).await.0, 303);
    begin(&admin, "Go").await;
    // One person stops their own work, not everybody's.
    let ann = served.person("ann").await;
    assert_eq!(ann.form("/pause", &[("all", "yes")]).await.0, 403);
}

/// Follows a chat as its page does, until a step has these words; all steps.
async fn follow(browser: &Browser, chat: &str, after: u64, words: &str) -> Vec<Value> {
    let mut socket = browser.socket().await;
    let session = chat.rsplit('/').next().expect("an id");
    let subscribe =
        json!({ "type": "subscribe", "session": session, "after": after, "view": "html" });
    socket.send(Message::text(subscribe.to_string())).await.expect("it is open");
    let mut steps: Vec<Value> = Vec::new();
    let heard = tokio::time::timeout(PATIENCE, async {
        while let Some(message) = socket.next().await {
            let Message::Text(text) = message.expect("a frame") else { continue };
            let frame: Value = serde_json::from_str(&text).expect("JSON");
            if frame["type"] == "patch" {
                steps.extend(frame["ops"].as_array().expect("steps").iter().cloned());
            }
            if text.contains(words) {
                return;
            }
        }
    });
    heard.await.unwrap_or_else(|_| panic!("{words:?} never came: {steps:#?}"));
    steps
}

#[tokio::test]
async fn s11_a_page_that_is_open_is_told_what_a_loaded_page_shows() {
    let mut served =
        TestServer::start(ServerSetup { script: WRITES, ..ServerSetup::default() }).await;
    let admin = served.admin().await;
    let chat = begin(&admin, "Write the note").await;
    let page = until(&admin, &chat, "name=\"approval\"").await;
    let seq = value(&page, "id=\"chat\"", "data-seq").parse().expect("a number");
    let approval = value(&page, "name=\"approval\"", "value").to_owned();
    let (decide, other) = (format!("{chat}/decide"), admin.clone());
    let fields = [("approval", approval.as_str()), ("decision", "once")];
    let (steps, again, done) = tokio::join!(
        follow(&admin, &chat, seq, "data-status=\\\"completed\\\""),
        follow(&admin, &chat, seq, "data-status=\\\"completed\\\""),
        other.form(&decide, &fields),
    );
    assert_eq!(done.0, 303, "{}", done.2);
    let page = until(&admin, &chat, "data-status=\"completed\"").await;
    let appended = |steps: &[Value]| -> Vec<String> {
        let to_log = steps.iter().filter(|step| step["op"] == "append" && step["id"] == "log");
        let html = to_log.map(|step| step["html"].as_str().expect("HTML").to_owned());
        html.filter(|html| !html.contains("id=\"live-")).collect()
    };
    let shown = appended(&steps);
    assert!(!shown.is_empty(), "{steps:#?}");
    for html in &shown {
        let id = value(html, "<li", "id");
        assert!(page.contains(&format!("id=\"{id}\"")), "{id} is on the page that is loaded");
    }
    assert_eq!(shown.last(), appended(&again).last(), "two pages see the same");
    let removed = steps.iter().any(|step| {
        step["op"] == "remove" && step["id"].as_str().is_some_and(|id| id.starts_with("ask-"))
    });
    assert!(removed, "the dialog goes away: {steps:#?}");
}

#[tokio::test]
async fn s11_a_page_of_a_sub_agent_that_is_open_has_nothing_to_press() {
    let script = "name: test\n\nwhen: \"look around\"\nsays: Nothing to see.\nend\n\n\
        calls: new_task {\"task\": \"look around\"}\n\nsays: Done.\n";
    let config = "permission = \"full\"\n";
    let setup = ServerSetup { script, config, ..ServerSetup::default() };
    let mut served = TestServer::start(setup).await;
    let admin = served.admin().await;
    let chat = begin(&admin, "Go").await;
    until(&admin, &chat, "data-status=\"completed\"").await;
    // Told all from its beginning, as whoever watches it from then on.
    let agent = format!("{chat}_c1");
    for (chat, is_pressed) in [(&agent, false), (&chat, true)] {
        let steps = follow(&admin, chat, 0, "data-status=\\\"completed\\\"").await;
        let mut html = steps.iter().filter_map(|step| step["html"].as_str());
        let found = html.any(|html| html.contains("<form") || html.contains("edit?input="));
        assert_eq!(found, is_pressed, "{chat}: {steps:#?}");
    }
}

#[tokio::test]
async fn s11_attachments_and_what_a_composer_cannot_send() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let files = [("plan.txt", "water the plants")];
    let fields = [("text", "Read this"), ("client_id", "one")];
    let (status, chat, body) = compose(&admin, "/chats", &fields, &files).await;
    assert_eq!(status, 303, "{body}");
    let page = until(&admin, &chat, "data-status=\"completed\"").await;
    assert!(page.contains("attachment plan.txt") && page.contains("water the plants"), "{page}");
    assert_eq!(compose(&admin, "/chats", &[("text", "  ")], &[]).await.0, 400);
    let bad = [("text", "x"), ("permission", "everything")];
    assert_eq!(compose(&admin, "/chats", &bad, &[]).await.0, 400);
    // The same name says nothing a second time.
    let say = format!("{chat}/say");
    for _ in 0..2 {
        let fields = [("text", "Only once, please"), ("client_id", "two")];
        assert_eq!(compose(&admin, &say, &fields, &[]).await.0, 303);
    }
    let page = until(&admin, &chat, "Only once, please").await;
    let log = page.split("id=\"log\"").nth(1).expect("a log");
    assert_eq!(log.matches("Only once, please").count(), 1, "{page}");
}

#[tokio::test]
async fn s11_a_message_that_is_sent_again_is_known_and_begins_one_chat() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let fields = [("text", "Only one chat"), ("client_id", "one")];
    let (status, chat) = compose_by_script(&admin, "/chats", &fields, &[]).await;
    assert_eq!(status, 201, "{chat}");
    // Whoever sent it with other words is told by the status that these were not said.
    let other = [("text", "Only one chat, and more"), ("client_id", "one")];
    for again in [fields, other] {
        let answered = compose_by_script(&admin, "/chats", &again, &[]).await;
        assert_eq!(answered, (200, chat.clone()));
    }
    // Nor is it looked at whether they could be said, and the name stays that of the chat.
    let many: Vec<String> = (0..51).map(|n| format!("{n}.txt")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "x")).collect();
    let none: &[(&str, &str)] = &[];
    for files in [&many[..], none] {
        let answered = compose_by_script(&admin, "/chats", &fields, files).await;
        assert_eq!(answered, (200, chat.clone()), "with {} files", files.len());
    }
    let page = until(&admin, &chat, "data-status=\"completed\"").await;
    assert!(page.contains("data-said=\"one\""), "its page finds it there: {page}");
    assert!(!page.contains("and more"), "{page}");
    let say = format!("{chat}/say");
    let fields = [("text", "Once here"), ("client_id", "two")];
    assert_eq!(compose_by_script(&admin, &say, &fields, &[]).await.0, 204);
    assert_eq!(compose_by_script(&admin, &say, &fields, &[]).await.0, 200);
    // Another person's name of the same letters is another's.
    let ann = served.person("ann").await;
    let fields = [("text", "Hello"), ("client_id", "one")];
    let (status, hers) = compose_by_script(&ann, "/chats", &fields, &[]).await;
    assert!(status == 201 && hers != chat, "{status} {hers}");
}

#[tokio::test]
async fn c7_of_two_tries_at_one_moment_the_one_that_was_not_said_is_told() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let chat = begin(&admin, "Hello").await;
    let say = format!("{chat}/say");
    for n in 0..8 {
        let name = format!("try {n}");
        let (short, long) = (format!("Early {n}."), format!("Early {n}. And late."));
        let first = [("text", short.as_str()), ("client_id", name.as_str())];
        let more = [("text", long.as_str()), ("client_id", name.as_str())];
        let ((first, _), (more, _)) = tokio::join!(
            compose_by_script(&admin, &say, &first, &[]),
            compose_by_script(&admin, &say, &more, &[]),
        );
        // Its words are kept by the page that sent it.
        let page = until(&admin, &chat, &short).await;
        let told = if page.contains(&long) { (200, 204) } else { (204, 200) };
        assert_eq!((first, more), told, "try {n}: {page}");
    }
}

#[tokio::test]
async fn s11_a_try_that_is_refused_forgets_no_chat_that_another_begins() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let many: Vec<String> = (0..51).map(|n| format!("{n}.txt")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "x")).collect();
    for n in 0..6 {
        let name = format!("first {n}");
        let fields = [("text", "Only one chat"), ("client_id", name.as_str())];
        let ((status, chat), (other, _)) = tokio::join!(
            compose_by_script(&admin, "/chats", &fields, &[]),
            compose_by_script(&admin, "/chats", &fields, &many),
        );
        assert_eq!(status, 201, "{chat}");
        let again = compose_by_script(&admin, "/chats", &fields, &[]).await;
        assert_eq!(again, (200, chat), "the other one was answered {other}");
    }
}

#[tokio::test]
async fn s7_a_message_whose_chat_was_deleted_begins_another_that_no_old_link_shows() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let fields = [("text", "Between us"), ("client_id", "one")];
    let (status, chat) = compose_by_script(&admin, "/chats", &fields, &[]).await;
    assert_eq!(status, 201, "{chat}");
    until(&admin, &chat, "data-status=\"completed\"").await;
    let session = chat.trim_start_matches("/chats/");
    let new = json!({ "session": session });
    let (status, made) = admin.api("POST", "/api/v1/shares", Some(new)).await;
    assert_eq!(status, 201, "{made}");
    let link = made["path"].as_str().expect("a link");
    assert_eq!(served.stranger().get(link).await.0, 200);
    let deleted = admin.api("DELETE", &format!("/api/v1/sessions/{session}"), None).await;
    assert_eq!(deleted.0, 204, "{}", deleted.1);
    let (status, other) = compose_by_script(&admin, "/chats", &fields, &[]).await;
    assert_eq!(status, 201, "{other}");
    assert_ne!(other, chat);
    until(&admin, &other, "data-status=\"completed\"").await;
    assert_eq!(served.stranger().get(link).await.0, 404, "the old link ended with its chat");
}

#[tokio::test]
async fn s11_a_form_that_is_sent_twice_begins_one_chat_and_other_words_another() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    // Without a script, a page to which somebody went back sends its name with other words.
    let mut chats = Vec::new();
    for text in ["First", "First", "Second"] {
        let fields = [("text", text), ("client_id", "one")];
        let (status, to, body) = compose(&admin, "/chats", &fields, &[]).await;
        assert_eq!(status, 303, "{body}");
        chats.push(to);
    }
    assert!(chats[0] == chats[1] && chats[1] != chats[2], "{chats:?}");
    until(&admin, &chats[2], "Second").await;
    let say = format!("{}/say", chats[0]);
    for text in ["Third", "Fourth"] {
        let fields = [("text", text), ("client_id", "two")];
        assert_eq!(compose(&admin, &say, &fields, &[]).await.0, 303);
        until(&admin, &chats[0], text).await;
    }
}

#[tokio::test]
async fn s11_a_first_message_that_was_refused_begins_a_chat_as_it_is_sent_then() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let many: Vec<String> = (0..51).map(|n| format!("{n}.txt")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "x")).collect();
    let fields = [("text", "Look"), ("client_id", "one"), ("permission", "plan")];
    assert_eq!(compose_by_script(&admin, "/chats", &fields, &many).await.0, 400);
    let fields = [("text", "Look"), ("client_id", "one"), ("permission", "auto-edit")];
    let (status, chat) = compose_by_script(&admin, "/chats", &fields, &many[..1]).await;
    assert_eq!(status, 201, "{chat}");
    let page = until(&admin, &chat, "data-status=\"completed\"").await;
    assert!(page.contains("data-permission=\"auto-edit\""), "{page}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s11_what_is_chosen_after_a_first_message_was_taken_back_holds() {
    let house = TestInstallation::with_scripted_model("says: Done.\n", "");
    let asked = house.at("asked");
    // The first time it does not end.
    let hook = format!(
        "#!/bin/sh\n[ -e '{0}' ] && exit 0\ntouch '{0}'\nwhile [ -e '{0}' ]; do sleep 0.1; done\n",
        asked.display()
    );
    house.write("hook.sh", &hook);
    let command = format!("sh '{}'", house.at("hook.sh").display());
    let hooks = format!("[[hooks.UserPromptSubmit]]\ncommand = \"{command}\"\ntimeout = 600\n");
    let config = std::fs::read_to_string(house.user_config()).expect("there");
    house.write(&house.user_config(), &(config + &hooks));
    let mut served = TestServer::start_in(house, None).await;
    let admin = served.admin().await;
    let fields = [("text", "Look"), ("client_id", "one"), ("permission", "auto-edit")];
    let is_asked = wait_until_async("the hook is asked", async || {
        if asked.exists() { Ok(()) } else { Err("it is not") }
    });
    // Whoever takes a message back closes its connection.
    tokio::select! {
        answer = compose_by_script(&admin, "/chats", &fields, &[]) => panic!("{answer:?}"),
        () = is_asked => (),
    }
    let fields = [("text", "Look"), ("client_id", "one"), ("permission", "plan")];
    let (status, chat) = compose_by_script(&admin, "/chats", &fields, &[]).await;
    assert_eq!(status, 201, "{chat}");
    let page = until(&admin, &chat, "data-status=\"completed\"").await;
    assert!(page.contains("data-permission=\"plan\""), "{page}");
}

#[tokio::test]
async fn s13_style_and_scripts_are_kept_for_good_and_are_small() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let (_, page) = admin.get("/").await;
    let style = value(&page, "rel=\"stylesheet\"", "href");
    let (status, headers, css) = admin.get_whole(style).await;
    assert_eq!(status, 200);
    let header = |name: &str| headers.get(name).map(|v| v.to_str().expect("text").to_owned());
    assert!(header("cache-control").is_some_and(|keep| keep.contains("immutable")), "{headers:?}");
    assert!(!css.is_empty());
    let tag = header("etag").expect("a tag");
    let again = admin.request("GET", style).header("if-none-match", tag);
    assert_eq!(admin.send(again).await.status(), 304);
    let old = style.replacen("/assets/", "/assets/0000", 1);
    let (status, headers, _) = admin.get_whole(&old).await;
    assert_eq!((status, headers["cache-control"].to_str().expect("text")), (200, "no-cache"));
    for missing in ["/assets/x/none.css", "/assets/x/../app.css", "/assets/x/..%2f..%2fCargo.toml"]
    {
        let (status, _) = admin.get(missing).await;
        assert_eq!(status, 404, "{missing}");
    }
    for inline in ["<style", " style=\"", " onclick", "javascript:"] {
        assert!(!page.contains(inline), "{inline} in {page}");
    }
}

#[tokio::test]
async fn v2_how_much_the_model_thinks_is_chosen_beside_the_model_and_in_the_settings() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let chat = begin(&admin, "Hello.").await;
    let eventually = async |level: &str| {
        for _ in 0..2_400 {
            let (_, page) = admin.get(&chat).await;
            if read_thinking(&page) == level {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        panic!("{level} is not what the chat shows");
    };
    eventually("off").await;
    let session = chat.trim_start_matches("/chats/");
    for _ in 0..2_400 {
        let (status, _, _) =
            admin.form(&format!("{chat}/configure"), &[("thinking", "high")]).await;
        // Between runs: the first one may still be on.
        if status == 303 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    eventually("high").await;
    let (status, told) = admin.api("GET", &format!("/api/v1/sessions/{session}"), None).await;
    assert_eq!(status, 200, "{told}");
    let (status, _, why) = admin.form(&format!("{chat}/configure"), &[("thinking", "hm")]).await;
    assert!(status == 400 && why.contains("level of thinking"), "{status} {why}");
    let wish = serde_json::json!({ "values": { "thinking": "low" } });
    let (status, told) = admin.api("PATCH", "/api/v1/settings", Some(wish)).await;
    assert!(status < 300, "{status} {told}");
    let (_, page) = admin.get("/").await;
    assert_eq!(read_thinking(&page), "low", "a new chat shows what is set");
}

/// How much the model is to think, as a page shows it.
fn read_thinking(page: &str) -> String {
    let list = page.split("name=\"thinking\"").nth(1).expect("a list");
    let end = list.find("</select>").expect("its end");
    let option = list[..end].split("<option").find(|option| option.contains(" selected"));
    option.expect("one is chosen").split('"').nth(1).expect("its value").to_owned()
}

/// Whoever opens the session first, and with what: what the other changed is not lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s7_settings_that_two_change_at_one_moment_both_hold() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let chat = begin(&admin, "Hello.").await;
    let session = chat.trim_start_matches("/chats/").to_owned();
    let path = format!("/api/v1/sessions/{session}");
    admin.until_status(&session, "completed").await;
    // Whoever is told that the other has it tries again; who is told that it is done is believed.
    let change = async |wish: Value| {
        wait_until_async("the settings are taken", async || {
            let (status, told) = admin.api("PATCH", &path, Some(wish.clone())).await;
            if status == 200 { Ok(()) } else { Err(told) }
        })
        .await;
    };
    for (thinking, permission) in [("high", "plan"), ("low", "auto-edit"), ("high", "plan")] {
        // Nobody has it: both find it free.
        assert_eq!(served.stop().await, 0);
        served.restart().await;
        tokio::join!(
            change(json!({ "thinking": thinking })),
            change(json!({ "permission": permission })),
        );
        let (_, told) = admin.api("GET", &path, None).await;
        let (_, page) = admin.get(&chat).await;
        let kept = (read_thinking(&page), told["permission"].as_str());
        assert_eq!(kept, (thinking.to_owned(), Some(permission)), "{told}");
    }
}

#[tokio::test]
async fn s11_an_answer_is_had_as_markdown_and_asked_for_again() {
    let script = "says: |\n  The **answer**:\n\n  ```\n  a  b\n  ```\n";
    let mut served = TestServer::start(ServerSetup { script, ..ServerSetup::default() }).await;
    let admin = served.admin().await;
    let chat = begin(&admin, "Say it.").await;
    let page = until(&admin, &chat, "data-status=\"completed\"").await;
    let entry = value(&page, "class=\"entry model\"", "id").to_owned();
    let (status, source) = admin.get(&format!("{chat}/source?entry={entry}")).await;
    assert_eq!((status, source.trim_end()), (200, "The **answer**:\n\n```\na  b\n```"));
    for wrong in ["e99999", "e0", "x", "e1"] {
        let (status, _) = admin.get(&format!("{chat}/source?entry={wrong}")).await;
        assert_eq!(status, 404, "{wrong}");
    }
    let (status, to, _) = admin.form(&format!("{chat}/again"), &[("run", "r1")]).await;
    assert_eq!(status, 303);
    assert!(to.starts_with("/chats/") && to != chat, "{to}");
    let page = until(&admin, &to, "data-status=\"completed\"").await;
    assert!(page.contains("Say it."), "{page}");
    let (status, _, _) = admin.form(&format!("{chat}/again"), &[("run", "r9")]).await;
    assert_eq!(status, 404);
}
