//! Settings that an agent of a person proposes stand on a shelf of their library: set for them alone, as
//! they were shown, and never what allows more (K14).

use serde_json::{Value, json};
use weir_test_kit::{Browser, TestInstallation, TestServer, wait_until_async};

use crate::agents::{get, id_of, over, said};

/// Proposes a limit, then another value of it, and what nobody may propose.
const PROPOSES: &str = "name: proposes\n\
    \n\
    calls: find_tool {\"query\": \"update_settings\"}\n\
    \n\
    calls: update_settings {\"key\": \"limits.max_iterations\", \"value\": \"20\", \"reason\": \"Runs end too late.\"}\n\
    calls: update_settings {\"key\": \"permissions.allow\", \"value\": \"Shell(*)\", \"reason\": \"Faster.\"}\n\
    \n\
    says: It waits for you.\n\
    \n\
    calls: find_tool {\"query\": \"update_settings\"}\n\
    \n\
    calls: update_settings {\"key\": \"limits.max_iterations\", \"value\": \"30\", \"reason\": \"Better so.\"}\n\
    \n\
    says: Another one waits.\n";

async fn iterations_of(browser: &Browser) -> Value {
    let sheet = get(browser, "/api/v1/settings").await;
    let entries = sheet["items"].as_array().cloned().unwrap_or_default();
    let found = entries.into_iter().find(|one| one["key"] == "limits.max_iterations");
    found.expect("the setting")["value"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn k14_a_proposed_setting_is_set_for_its_person_as_it_was_shown() {
    let house = TestInstallation::new();
    let (users, script) = (house.at("people"), house.at("proposes.script"));
    house.write(&script, PROPOSES);
    house.write(&users.join("ann/.obsidian/app.json"), "{}");
    let config = format!(
        "model = \"script:{}\"\n[server]\nusers_dir = \"{}\"\n",
        script.display(),
        users.display()
    );
    house.write(&house.user_config(), &config);
    let mut served = TestServer::start_in(house, None).await;
    let ann = served.person("ann").await;
    let bob = served.person("bob").await;
    let before = iterations_of(&ann).await;
    let (status, made) = ann.api("POST", "/api/v1/sessions", Some(json!({}))).await;
    assert_eq!(status / 100, 2, "{made}");
    let id = id_of(&made);
    said(&ann, &id, "Set yourself up.").await;
    let text = over(&ann, &id).await;
    assert!(text.contains("cannot be proposed"), "a rule is no proposal: {text}");

    let shelf = get(&ann, "/api/v1/library/settings").await;
    assert_eq!(shelf["items"].as_array().map(Vec::len), Some(1), "{shelf}");
    let path = "/api/v1/library/settings/limits.max_iterations";
    let shown = get(&ann, path).await;
    assert_eq!(shown["line"]["waits"], json!(true), "{shown}");
    let text = shown["waiting"]["text"].as_str().expect("a text");
    assert_eq!(text, "limits.max_iterations = 20\n\nRuns end too late.");
    assert_eq!(shown["waiting"]["whose"], "only your own words", "{shown}");
    let hash = shown["waiting"]["hash"].as_str().expect("a hash").to_owned();
    assert_eq!(bob.api("GET", path, None).await.0, 404, "it is nobody else's");

    // Another value takes its place: a yes to the first one is no yes to that.
    said(&ann, &id, "Are you sure?").await;
    wait_until_async("another one waits", async || {
        let shown = get(&ann, path).await;
        let text = shown["waiting"]["text"].as_str().unwrap_or_default();
        text.contains("= 30").then_some(()).ok_or(shown)
    })
    .await;
    let accept = format!("{path}/accept");
    let (status, stale) = ann.api("POST", &accept, Some(json!({ "hash": hash }))).await;
    assert_eq!((status, &stale["code"]), (409, &json!("conflict")), "{stale}");
    let reject = format!("{path}/reject");
    let (status, stale) = ann.api("POST", &reject, Some(json!({ "hash": hash }))).await;
    assert_eq!(status, 409, "a no to what was seen is none to another: {stale}");
    assert_eq!(iterations_of(&ann).await, before, "nothing was set");
    let shown = get(&ann, path).await;
    let hash = shown["waiting"]["hash"].as_str().expect("a hash").to_owned();
    let (status, done) = ann.api("POST", &accept, Some(json!({ "hash": hash }))).await;
    assert_eq!(status / 100, 2, "{done}");
    assert_eq!(iterations_of(&ann).await, json!(30));
    assert_eq!(iterations_of(&bob).await, before, "it is set for Ann alone");
    assert_eq!(ann.api("GET", path, None).await.0, 404, "it waits no longer");
}
