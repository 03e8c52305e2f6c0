//! What a paired telephone leaves behind (R5): nothing that holds for everybody, that starts programs, or that
//! goes on after it was revoked.

use serde_json::{Value, json};
use weir_test_kit::{Browser, HttpAnswer, HttpStandIn, ServerSetup, TestServer};

const RULES: &str = "/settings/rules";
const HOSTS: &str = "/api/v1/settings/lists/hosts";

/// It is refused for who asks, and says where it is done instead.
async fn refused(phone: &Browser, method: &str, path: &str, wish: Value) {
    let (status, answer) = phone.api(method, path, Some(wish)).await;
    assert_eq!(status, 403, "{method} {path}: {answer}");
    let why = answer["detail"].as_str().unwrap_or_default();
    assert!(why.contains("in a browser in which you signed in"), "{method} {path}: {answer}");
}

fn values_of(list: &Value) -> Vec<&str> {
    let items = list.as_array().expect("a list").iter();
    items.filter_map(|item| item["value"].as_str()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_a_telephone_changes_no_rules_trust_or_lists_of_everybody() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let everybody = json!({ "value": "example.org", "for_all": true });
    assert_eq!(admin.api("PUT", HOSTS, Some(everybody)).await.0, 200);
    let phone = served.telephone("Pixel").await;
    let folder = served.house.work().display().to_string();
    for (deed, what) in
        [("allow", "Shell(*)"), ("remove", "x"), ("trust", folder.as_str()), ("distrust", &folder)]
    {
        for hash in ["", "0000"] {
            let fields = [("deed", deed), ("what", what), ("hash", hash)];
            let (status, location, page) = phone.form(RULES, &fields).await;
            assert_eq!(status, 403, "{deed}: {location} {page}");
        }
    }
    let rule = json!({ "deed": "allow", "what": "Shell(*)" });
    refused(&phone, "POST", "/api/v1/rules/look", rule).await;
    let rule = json!({ "deed": "allow", "what": "Shell(*)", "hash": "0" });
    refused(&phone, "POST", "/api/v1/rules", rule).await;
    let (status, page) = phone.get(RULES).await;
    assert_eq!(status, 200, "{page}");
    assert!(!page.contains("Add a rule") && page.contains("or at the terminal"), "{page}");
    let config = served.house.read(&served.house.user_config()).unwrap_or_default();
    assert!(!config.contains("Shell(*)"), "{config}");
    let wish = json!({ "value": "evil.example", "for_all": true });
    refused(&phone, "PUT", HOSTS, wish).await;
    let wish = json!({ "for_all": true, "version": null, "values": { "permission": "full" } });
    refused(&phone, "PATCH", "/api/v1/settings", wish).await;
    let wish = json!({ "name": "mallory", "password": weir_test_kit::PASSWORD });
    refused(&phone, "POST", "/api/v1/users", wish).await;
    let taken = format!("{HOSTS}?value=example.org&for_all=true");
    let (status, _) = phone.api("DELETE", &taken, None).await;
    assert_eq!(status, 403);
    // The person's own list is their work.
    let own = json!({ "value": "docs.rs" });
    assert_eq!(phone.api("PUT", HOSTS, Some(own)).await.0, 200);
    let (_, list) = admin.api("GET", HOSTS, None).await;
    assert_eq!(values_of(&list), ["example.org", "docs.rs"], "{list}");
    let (_, events) = admin.api("GET", "/api/v1/audit/accounts", None).await;
    assert!(events.to_string().contains("admin (phone Pixel)"), "it is named: {events}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_a_telephone_starts_no_programs_and_shares_nothing() {
    let config =
        "[mcp_servers.bait]\ncommand = \"touch\"\nargs = [\"started\"]\nwrites = [\".\"]\n";
    let mut served = TestServer::start(ServerSetup { config, ..ServerSetup::default() }).await;
    let admin = served.admin().await;
    let phone = served.telephone("Pixel").await;
    let session = phone.open().await;
    refused(&phone, "POST", "/api/v1/shares", json!({ "session": session })).await;
    for deed in ["servers/bait/look", "servers/bait/approve", "servers/bait/remove"] {
        refused(&phone, "POST", &format!("/api/v1/library/{deed}"), json!({})).await;
    }
    for deed in ["plugins/x/enable", "made/x/accept", "made/x/remove", "settings/model/accept"] {
        refused(&phone, "POST", &format!("/api/v1/library/{deed}"), json!({})).await;
    }
    let item = "/library/servers/bait";
    let (status, page) = phone.get(item).await;
    assert_eq!(status, 200, "{page}");
    assert!(!page.contains("Start and inspect"), "{page}");
    assert!(admin.get(item).await.1.contains("Start and inspect"), "a browser offers it");
    let (status, _, page) = phone.form(&format!("{item}/look"), &[]).await;
    assert_eq!(status, 403, "{page}");
    assert!(!served.house.work().join("started").exists(), "nothing was started");
    // To switch off and to refuse leaves less behind: it is not refused for who asks.
    let (status, answer) =
        phone.api("POST", "/api/v1/library/made/x/reject", Some(json!({}))).await;
    assert_eq!(status, 404, "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_what_a_telephone_wanted_to_be_told_by_ends_with_it() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let phone = served.telephone("Pixel").await;
    let hook = HttpStandIn::start(|_, _| HttpAnswer::empty(200));
    let add = async |who: &Browser, wish: Value| {
        let (status, added) = who.api("POST", "/api/v1/notifications", Some(wish)).await;
        assert_eq!(status, 201, "{added}");
        added["id"].as_str().expect("an id").to_owned()
    };
    let near = json!({ "way": "webhook", "url": format!("http://{}/hook", hook.address()) });
    let far = json!({ "way": "webhook", "url": "https://192.0.2.1/hook" });
    let topic = json!({ "way": "ntfy", "server": "https://192.0.2.1", "topic": "mine" });
    let kept = add(&admin, near.clone()).await;
    let tried = add(&phone, near).await;
    add(&phone, far).await;
    add(&phone, topic).await;
    // By it nobody learns what listens beside the server.
    let path = format!("/api/v1/notifications/{tried}/try");
    let (status, answer) = phone.api("POST", &path, None).await;
    assert_eq!(status, 400, "{answer}");
    assert!(answer["detail"].as_str().unwrap_or_default().contains("private"), "{answer}");
    assert_eq!(hook.requests().len(), 0);
    served.house.ok(&["phone", "revoke", "Pixel"]);
    // The command ends when its person was told.
    let told: Vec<String> = hook.requests().iter().map(|request| request.body.clone()).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("A telephone of your account was revoked"), "{told:?}");
    let (_, left) = admin.api("GET", "/api/v1/notifications", None).await;
    let ids: Vec<&Value> =
        left["channels"].as_array().expect("a list").iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, [kept.as_str()], "{left}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_a_telephone_is_no_browser_that_the_account_knows_and_is_named_when_it_leaves() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let phone = served.telephone("Pixel").await;
    let cookies = phone.cookie();
    assert_eq!(cookies.split("; ").count(), 1, "its sign-in and nothing else: {cookies}");
    let (status, _) = phone.api("POST", "/api/v1/logout", None).await;
    assert_eq!(status, 204);
    let (_, events) = admin.api("GET", "/api/v1/audit/accounts", None).await;
    let events = events.as_array().expect("a list");
    let left = events.iter().find(|event| event["what"] == "signed_out").expect("it is kept");
    assert_eq!(left["by"], "admin (phone Pixel)", "{left}");
    assert_eq!(left["account"], "admin", "{left}");
}
