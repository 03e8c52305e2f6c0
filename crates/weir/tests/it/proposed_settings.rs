//! `weir config inbox`, `accept` and `reject`: a setting that an agent proposed counts once a person said
//! so, and never if it allows more (K14).

use serde_json::json;
use weir_core::governance::label::Label;
use weir_core::ids::{CallId, SessionId, Timestamp};
use weir_core::memory::MemorySource;
use weir_core::proposal::SettingProposal;
use weir_engine::ports::{Proposal, Store};
use weir_store::SqliteStore;

use weir_test_kit::TestInstallation;

async fn propose(house: &TestInstallation, key: &str, text: String, label: Label) {
    let store = SqliteStore::open(&house.at("state/weir")).expect("the store of the house");
    let proposal = Proposal {
        what: "setting".into(),
        name: key.into(),
        text,
        source: MemorySource {
            by: "update_settings".into(),
            session: Some(SessionId::new("s1")),
            call: Some(CallId(7)),
            ..MemorySource::default()
        },
        label,
        ts: Timestamp(1_767_367_800_000_000),
    };
    store.propose(&proposal).await.expect("writable");
}

fn text(key: &str, value: serde_json::Value) -> String {
    let reason = "My runs end too late.".into();
    let proposal = SettingProposal { key: key.into(), value, reason };
    serde_json::to_string(&proposal).expect("it is data")
}

fn value_of(house: &TestInstallation, key: &str) -> serde_json::Value {
    house.json(&["config", "get", key, "--json"])["value"].clone()
}

#[tokio::test]
async fn k14_a_proposed_setting_holds_once_a_person_accepts_it() {
    let house = TestInstallation::new();
    let key = "limits.max_iterations";
    propose(&house, key, text(key, json!(20)), Label::default()).await;
    let inbox = house.ok(&["config", "inbox"]);
    for said in
        ["limits.max_iterations = 20", "Now: 1000", "My runs end too late.", "only your own"]
    {
        assert!(inbox.contains(said), "{said}: {inbox}");
    }
    assert!(house.ok(&["memory", "inbox"]).contains("weir config inbox"));
    assert_eq!(value_of(&house, key), 1_000, "nothing holds before");
    // Where nobody can be asked, a yes is to the value that was read and to no other.
    assert!(house.usage_error(&["config", "accept", key]).contains("name the value"));
    assert!(house.usage_error(&["config", "accept", key, "--json"]).contains("name the value"));
    propose(&house, key, text(key, json!(900)), Label::default()).await;
    assert!(house.usage_error(&["config", "accept", key, "20"]).contains("another value"));
    assert_eq!(value_of(&house, key), 1_000, "none of it was set");
    propose(&house, key, text(key, json!(20)), Label::default()).await;
    let said = house.ok(&["config", "accept", key, "20"]);
    assert!(said.contains("is set in"), "{said}");
    assert_eq!(value_of(&house, key), 20);
    assert!(house.usage_error(&["config", "accept", key, "20"]).contains("nothing is proposed"));
    let mode = "permission";
    propose(&house, mode, text(mode, json!("plan")), Label::default()).await;
    house.ok(&["config", "reject", mode]);
    assert_eq!(value_of(&house, mode), "ask");
    assert_eq!(house.json(&["config", "inbox", "--json"]), json!([]));
}

#[tokio::test]
async fn k14_what_allows_more_is_not_accepted_however_it_came_into_the_inbox() {
    let house = TestInstallation::new();
    for (key, value) in [
        ("permission", json!("full")),
        ("limits.max_iterations", json!(5_000)),
        ("memory.accept", json!(true)),
        ("permissions.allow", json!("Shell(*)")),
        ("security.confirmation", json!(false)),
        ("sandbox.tier", json!("none")),
        ("model", json!("script:/tmp/mine")),
    ] {
        let named = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        propose(&house, key, text(key, value), Label::default()).await;
        let said = house.run(&["config", "accept", key, &named, "--untrusted"]);
        assert_eq!(said.status, 2, "{key}: {}", said.err);
    }
    // A name that says one setting and a text that says another.
    propose(&house, "model", text("permission", json!("plan")), Label::default()).await;
    assert_eq!(house.run(&["config", "accept", "model", "plan"]).status, 2);
    propose(&house, "model", "not JSON".into(), Label::default()).await;
    assert_eq!(house.run(&["config", "accept", "model", "not JSON"]).status, 2);
    assert!(!house.at("config/weir/config.toml").exists(), "nothing was written");
}

#[tokio::test]
async fn k14_a_setting_proposed_after_foreign_words_is_not_accepted_by_the_way() {
    let house = TestInstallation::new();
    let proposed = text("model", json!("acme/large"));
    propose(&house, "model", proposed, Label::external("evil.example")).await;
    let said = house.run(&["config", "accept", "model", "acme/large"]);
    assert_eq!(said.status, 2);
    assert!(said.err.contains("evil.example") && said.err.contains("--untrusted"), "{}", said.err);
    assert_eq!(house.json(&["config", "inbox", "--json"])[0]["untrusted"], true);
    house.ok(&["config", "accept", "model", "acme/large", "--untrusted"]);
    assert_eq!(value_of(&house, "model"), "acme/large");
}

/// A folder that its person trusts may have more than they allow elsewhere: what is less than that is
/// still more everywhere else.
#[tokio::test]
async fn k14_a_folder_that_has_more_is_no_measure_for_the_others() {
    let house = TestInstallation::new();
    std::fs::create_dir_all(house.work().join(".weir")).expect("a folder");
    house.write(&house.project_config(), "permission = \"full\"\n");
    house.ok(&["trust", "--yes"]);
    assert_eq!(value_of(&house, "permission"), "full");
    propose(&house, "permission", text("permission", json!("auto-edit")), Label::default()).await;
    let said = house.run(&["config", "accept", "permission", "auto-edit"]);
    assert_eq!(said.status, 2, "{}", said.err);
    assert!(said.err.contains("more than what holds"), "{}", said.err);
}
