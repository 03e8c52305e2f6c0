//! Rules and trust on their page: every change is seen first and done as it was seen, by admins alone
//! (R10).

use serde_json::{Value, json};
use weir_test_kit::{Browser, ServerSetup, TestServer, wait_until_async};

const PAGE: &str = "/settings/rules";

/// Asks to see a change: the page, and the hash of what it shows.
async fn seen(browser: &Browser, deed: &str, what: &str) -> (String, String) {
    let (status, _, body) = browser.form(PAGE, &[("deed", deed), ("what", what)]).await;
    assert_eq!(status, 200, "{body}");
    // The second of two clicks on what led here agrees to nothing.
    assert!(body.contains("pages/act.js") && body.contains("<div data-ask>"), "{body}");
    let hash = body.split("name=\"hash\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    (body.clone(), hash.unwrap_or_else(|| panic!("no hash: {body}")).to_owned())
}

/// Agrees to it: where it leads.
async fn agreed(browser: &Browser, deed: &str, what: &str, hash: &str) -> String {
    let fields = [("deed", deed), ("what", what), ("hash", hash)];
    let (status, location, body) = browser.form(PAGE, &fields).await;
    assert_eq!(status / 100, 3, "{body}");
    location
}

#[tokio::test]
async fn r10_rules_and_trust_are_changed_on_a_page_as_they_were_seen() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let rule = "Shell(cargo test:*)";
    let config = || served.house.read(&served.house.user_config()).unwrap_or_default();
    let (page, hash) = seen(&admin, "allow", rule).await;
    assert!(page.contains("Calls that match it run without a question"), "{page}");
    assert!(!config().contains("cargo test"), "a look changes nothing");
    // A hash of something else is no yes to this.
    let location = agreed(&admin, "allow", "Shell(rm:*)", &hash).await;
    assert!(location.contains("problem="), "{location}");
    assert!(!config().contains("rm:*"));
    let location = agreed(&admin, "allow", rule, &hash).await;
    assert!(location.contains("note="), "{location}");
    assert!(config().contains(rule), "{}", config());
    let (_, page) = admin.get(PAGE).await;
    assert!(page.contains(rule) && page.contains("Remove…"), "{page}");
    let (page, hash) = seen(&admin, "remove", rule).await;
    assert!(page.contains("Remove: allow"), "{page}");
    agreed(&admin, "remove", rule, &hash).await;
    assert!(!config().contains("cargo test"), "{}", config());
    let bad = admin.form(PAGE, &[("deed", "allow"), ("what", "No such (")]).await;
    assert!(bad.1.contains("problem="), "{bad:?}");

    let project = served.house.at("project");
    let file = project.join(".weir/config.toml");
    served.house.write(&file, "[permissions]\nallow = [\"Shell(echo:*)\"]\n");
    let folder = project.display().to_string();
    let (page, hash) = seen(&admin, "trust", &folder).await;
    assert!(page.contains("Shell(echo:*)"), "{page}");
    served.house.write(&file, "[permissions]\nallow = [\"Shell(rm:*)\"]\n");
    let location = agreed(&admin, "trust", &folder, &hash).await;
    assert!(location.contains("problem="), "{location}");
    let (_, hash) = seen(&admin, "trust", &folder).await;
    agreed(&admin, "trust", &folder, &hash).await;
    let (_, page) = admin.get(PAGE).await;
    assert!(page.contains(&folder), "{page}");
    let gone = admin.form(PAGE, &[("deed", "distrust"), ("what", &folder)]).await;
    assert!(gone.1.contains("note="), "{gone:?}");
}

#[tokio::test]
async fn r10_who_is_no_admin_sees_rules_and_changes_none() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    served.admin().await;
    let ann = served.person("ann").await;
    let (status, page) = ann.get(PAGE).await;
    assert_eq!(status, 200);
    assert!(page.contains("an admin changes them") && !page.contains("Add a rule"), "{page}");
    let folder = served.house.work().display().to_string();
    for (deed, what) in
        [("allow", "Shell(*)"), ("remove", "x"), ("trust", &folder), ("distrust", &folder)]
    {
        for hash in ["", "0000"] {
            let (_, location, body) =
                ann.form(PAGE, &[("deed", deed), ("what", what), ("hash", hash)]).await;
            assert!(location.contains("problem="), "{deed}: {location} {body}");
        }
    }
    let config = served.house.read(&served.house.user_config()).unwrap_or_default();
    assert!(!config.contains("Shell(*)"), "{config}");
}

#[tokio::test]
async fn r10_a_rule_holds_for_everybodys_next_run_also_in_sessions_that_are_open() {
    let write = |text: &str| {
        let call = json!({ "path": "a.txt", "content": text });
        format!("calls: write_file {call}\n\nsays: Done.\n\n")
    };
    let script = [write("one"), write("two")].concat();
    let config = "permission = \"full\"\n";
    let mut served =
        TestServer::start(ServerSetup { script: &script, config, ..ServerSetup::default() }).await;
    let admin = served.admin().await;
    let ann = served.person("ann").await;
    let session = ann.open().await;
    let run = async |count: usize| {
        let path = format!("/api/v1/sessions/{session}/input");
        let said = json!({ "content": [{ "type": "text", "text": "Write it." }] });
        let (status, taken) = ann.api("POST", &path, Some(said)).await;
        assert_eq!(status, 202, "{taken}");
        wait_until_async("the run has ended", async || {
            let facts = ann.facts(&session).await;
            let ended = facts.iter().filter(|fact| fact["kind"] == "run.finished").count();
            if ended == count { Ok(facts) } else { Err(ended) }
        })
        .await
    };
    let verdicts = |facts: &[Value]| -> Vec<String> {
        let judged = facts.iter().filter(|fact| fact["kind"] == "call.judged");
        judged.map(|fact| fact["verdict"].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(verdicts(&run(1).await), ["allow"]);
    let (_, hash) = seen(&admin, "deny", "Edit(a.txt)").await;
    agreed(&admin, "deny", "Edit(a.txt)", &hash).await;
    let (_, page) = ann.get(PAGE).await;
    assert!(page.contains("Edit(a.txt)"), "{page}");
    let facts = run(2).await;
    assert_eq!(verdicts(&facts), ["allow", "deny"]);
}

#[tokio::test]
async fn r10_rules_are_changed_by_the_api_as_they_were_shown_and_by_admins_alone() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let (admin, ann) = (served.admin().await, served.person("ann").await);
    let change = |hash: &Value| json!({ "deed": "deny", "what": "Shell(rm:*)", "hash": hash });
    let wanted = json!({ "deed": "deny", "what": "Shell(rm:*)" });
    let (status, shown) = admin.api("POST", "/api/v1/rules/look", Some(wanted.clone())).await;
    assert_eq!(status, 200, "{shown}");
    assert!(
        shown["text"].as_str().is_some_and(|text| text.contains("deny Shell(rm:*)")),
        "{shown}"
    );
    for hash in [json!(""), json!("0000")] {
        let (status, told) = admin.api("POST", "/api/v1/rules", Some(change(&hash))).await;
        assert_eq!(status, 409, "{told}");
    }
    let (status, _) = ann.api("POST", "/api/v1/rules/look", Some(wanted)).await;
    assert_eq!(status, 403);
    let (status, _) = ann.api("POST", "/api/v1/rules", Some(change(&shown["hash"]))).await;
    assert_eq!(status, 403);
    let (_, held) = ann.api("GET", "/api/v1/rules", None).await;
    assert_eq!(held["trusted"], Value::Null, "{held}");
    assert!(!held.to_string().contains("Shell(rm:*)"), "{held}");
    let (status, told) = admin.api("POST", "/api/v1/rules", Some(change(&shown["hash"]))).await;
    assert_eq!(status, 200, "{told}");
    let (_, held) = ann.api("GET", "/api/v1/rules", None).await;
    assert!(held["rules"].to_string().contains("Shell(rm:*)"), "{held}");
}
