//! What a model says on a page, and chats that are shared by a link (S7, S12): the real server, a
//! hostile model, a stranger with a link.

use serde_json::{Value, json};
use weir_test_kit::{Browser, ServerSetup, TestServer, wait_until_async};

const HOSTILE: &str = "name: test\n\nsays: |\n  <script>window.ran = 1</script> and <img src=x \
    onerror=window.ran=1>\n\n  [here](javascript:window.ran=1) ![it](https://foreign.test/p.png)\n\n  \
    Some **bold** words.\ncalls: read_file {\"path\": \"private.txt\"}\n\nsays: The end.\n";

async fn talked(browser: &Browser) -> String {
    let (status, made) = browser.api("POST", "/api/v1/sessions", Some(json!({}))).await;
    assert_eq!(status, 201, "{made}");
    let id = made["id"].as_str().expect("an id").to_owned();
    said(browser, &id, "<b>my own</b> question").await;
    id
}

/// Says something and waits until the run is over.
async fn said(browser: &Browser, id: &str, text: &str) {
    let path = format!("/api/v1/sessions/{id}");
    let words = json!({ "content": [{ "type": "text", "text": text }] });
    assert_eq!(browser.api("POST", &format!("{path}/input"), Some(words)).await.0, 202);
    wait_until_async("the run is over", async || {
        let (_, info) = browser.api("GET", &path, None).await;
        if info["status"] == "completed" && info["run"].is_null() { Ok(()) } else { Err(info) }
    })
    .await;
}

async fn share(browser: &Browser, wanted: Value) -> (String, String) {
    let (status, made) = browser.api("POST", "/api/v1/shares", Some(wanted)).await;
    assert_eq!(status, 201, "{made}");
    let text = |name: &str| made[name].as_str().expect("text").to_owned();
    (text("id"), text("path"))
}

async fn served() -> (TestServer, Browser, String) {
    let mut served =
        TestServer::start(ServerSetup { script: HOSTILE, ..ServerSetup::default() }).await;
    served.house.write(&served.house.work().join("private.txt"), "words of a private file\n");
    let admin = served.admin().await;
    let chat = talked(&admin).await;
    (served, admin, chat)
}

fn is_harmless(page: &str) {
    for bad in ["<script>window", "<img src=x", "href=\"javascript:", "src=\"https://foreign.test"]
    {
        assert!(!page.contains(bad), "{bad} is in {page}");
    }
    assert!(page.contains("<strong>bold</strong>") && page.contains("&lt;script&gt;"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn s12_what_a_hostile_model_says_is_text_on_every_page() {
    let (served, admin, chat) = served().await;
    let (_, path) = share(&admin, json!({ "session": chat, "tools": true })).await;
    for address in [format!("/chats/{chat}"), path] {
        let (status, headers, body) = admin.get_whole(&address).await;
        assert_eq!(status, 200, "{address}");
        is_harmless(&String::from_utf8(body).expect("UTF-8"));
        let policy = headers["content-security-policy"].to_str().expect("text");
        assert!(
            policy.contains("default-src 'none'") && !policy.contains("unsafe-inline"),
            "{policy}"
        );
    }
    drop(served);
}

#[tokio::test(flavor = "multi_thread")]
async fn s7_a_link_shows_what_was_chosen_and_nothing_else() {
    let (served, admin, chat) = served().await;
    let (_, path) = share(&admin, json!({ "session": chat })).await;
    let stranger = served.stranger();
    let (status, headers, body) = stranger.get_whole(&path).await;
    let page = String::from_utf8(body).expect("UTF-8");
    assert_eq!(status, 200, "{page}");
    is_harmless(&page);
    assert!(page.contains("&lt;b&gt;my own&lt;/b&gt; question") && page.contains("The end."));
    let work = served.house.work();
    let hidden = ["private", "read_file", &chat, work.to_str().expect("text"), "csrf"];
    for word in hidden {
        assert!(!page.contains(word), "{word} is in {page}");
    }
    assert!(headers["x-robots-tag"].to_str().expect("text").contains("noindex"));
    assert_eq!(headers["referrer-policy"], "no-referrer");
    assert_eq!(headers["cache-control"], "no-store");
    let (_, with_tools) = share(&admin, json!({ "session": chat, "tools": true })).await;
    let (_, page) = stranger.get(&with_tools).await;
    assert!(page.contains("read_file") && page.contains("words of a private file"), "{page}");
    // The word of the link is kept nowhere.
    let word = path.rsplit('/').next().expect("a word");
    let (_, lines) = admin.api("GET", "/api/v1/shares", None).await;
    assert!(!lines.to_string().contains(word), "{lines}");
    assert_eq!(lines["items"].as_array().expect("items").len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn s7_a_link_shows_what_is_said_later_only_where_that_was_chosen() {
    let (served, admin, chat) = served().await;
    let (_, fixed) = share(&admin, json!({ "session": chat })).await;
    let (_, follows) = share(&admin, json!({ "session": chat, "follow": true, "days": 1 })).await;
    said(&admin, &chat, "a later question").await;
    let stranger = served.stranger();
    assert!(!stranger.get(&fixed).await.1.contains("a later question"));
    assert!(stranger.get(&follows).await.1.contains("a later question"));
    let (_, lines) = admin.api("GET", &format!("/api/v1/shares?session={chat}"), None).await;
    let opened: Vec<u64> = lines["items"]
        .as_array()
        .expect("items")
        .iter()
        .map(|line| line["opened"].as_u64().expect("a number"))
        .collect();
    assert_eq!(opened, [1, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn s7_a_link_ends_when_it_is_taken_back_and_with_its_chat() {
    let (mut served, admin, chat) = served().await;
    let (id, path) = share(&admin, json!({ "session": chat })).await;
    let (_, other) = share(&admin, json!({ "session": chat })).await;
    let ann = served.person("ann").await;
    // Nobody shares or takes back what is another's.
    let stolen = ann.api("POST", "/api/v1/shares", Some(json!({ "session": chat }))).await;
    assert_eq!(stolen.0, 404, "{}", stolen.1);
    assert_eq!(ann.api("DELETE", &format!("/api/v1/shares/{id}"), None).await.0, 404);
    assert_eq!(ann.get(&format!("/shares/new?session={chat}")).await.0, 404);
    let stranger = served.stranger();
    assert_eq!(stranger.get(&path).await.0, 200);
    assert_eq!(admin.api("DELETE", &format!("/api/v1/shares/{id}"), None).await.0, 204);
    assert_eq!(stranger.get(&path).await.0, 404);
    served.kill_and_restart().await;
    let stranger = served.stranger();
    assert_eq!((stranger.get(&path).await.0, stranger.get(&other).await.0), (404, 200));
    assert_eq!(admin.api("DELETE", &format!("/api/v1/sessions/{chat}"), None).await.0, 204);
    assert_eq!(stranger.get(&other).await.0, 404);
    for guess in ["/s/", "/s/x", "/s/../admin", &format!("/s/{id}"), &format!("/s/{chat}")] {
        assert!(stranger.get(guess).await.0 >= 303, "{guess}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s7_links_are_made_and_taken_back_by_plain_forms() {
    let (served, admin, chat) = served().await;
    let (status, page) = admin.get(&format!("/shares/new?session={chat}")).await;
    assert!(status == 200 && page.contains("Create link"), "{page}");
    let fields = [("session", chat.as_str()), ("days", "7")];
    let (status, _, page) = admin.form("/shares", &fields).await;
    assert_eq!(status, 200, "{page}");
    let path =
        page.split("href=\"/s/").nth(1).and_then(|rest| rest.split('"').next()).expect("a link");
    let path = format!("/s/{path}");
    assert_eq!(served.stranger().get(&path).await.0, 200);
    let (_, page) = admin.get("/shares").await;
    let id = page.split("action=\"/shares/").nth(1).and_then(|rest| rest.split('/').next());
    let revoke = format!("/shares/{}/revoke", id.expect("a form"));
    assert_eq!(admin.form(&revoke, &[]).await.0, 303);
    assert_eq!(served.stranger().get(&path).await.0, 404);
    assert_eq!(admin.form("/shares", &[("session", &chat), ("days", "no")]).await.0, 400);
    assert_eq!(admin.form("/shares", &[("session", &chat), ("days", "0")]).await.0, 400);
}
