//! Where keys are kept, as commands set it and say it, on a machine without a session bus. Not here: a real
//! keyring (`tests/outside/keyring.sh`).

use serde_json::json;
use weir_test_kit::TestInstallation;

const KEY: &str = "sk-marker-0123456789";

fn store_is(store: &str) -> TestInstallation {
    let house = TestInstallation::new();
    house.write(&house.user_config(), &format!("[keys]\nstore = \"{store}\"\n"));
    house
}

#[test]
fn r9_where_a_key_went_is_said_with_the_reason() {
    let house = TestInstallation::new();
    let set = house.run_with_input(&["auth", "set", "anthropic"], &format!("{KEY}\n"));
    assert_eq!(set.status, 0, "{}", set.err);
    for words in ["keys.toml, which only you can read", "the system keyring cannot be used"] {
        assert!(set.out.contains(words), "{}", set.out);
    }
    assert!(house.ok(&["auth", "list"]).contains("keys.toml"));
    let doctor = house.run(&["doctor", "--offline"]).out;
    assert!(doctor.contains("new keys are kept in: ") && doctor.contains("keys.toml"), "{doctor}");
    assert!(!house.at("config/weir/keyring.toml").exists());
    let removed = house.ok(&["auth", "remove", "anthropic"]);
    assert!(removed.contains("keys.toml"), "{removed}");
}

#[test]
fn r9_the_setting_says_where_keys_are_kept() {
    let house = store_is("file");
    let set = house.run_with_input(&["auth", "set", "anthropic"], &format!("{KEY}\n"));
    assert!(set.out.contains("keys.toml") && !set.out.contains("keyring"), "{}", set.out);

    let house = store_is("keyring");
    let set = house.run_with_input(&["auth", "set", "anthropic"], &format!("{KEY}\n"));
    assert_eq!(set.status, 2, "{}", set.out);
    assert!(set.err.contains("was not saved") && set.err.contains("keys.store"), "{}", set.err);
    assert!(!set.err.contains(KEY) && !house.at("config/weir/keys.toml").exists());
    let doctor = house.run(&["doctor", "--offline"]);
    assert_eq!(doctor.status, 1, "nothing can keep a key");
    assert!(doctor.out.contains("BROKEN  new keys are kept in"), "{}", doctor.out);

    let house = store_is("vault");
    let said = house.usage_error(&["config", "get", "model"]);
    for words in ["config.toml", "vault", "auto", "file", "keyring"] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn r9_keys_that_a_keyring_has_and_that_cannot_be_read_are_named() {
    let house = TestInstallation::new();
    let list = house.at("config/weir/keyring.toml");
    house.write(&list, "[names]\nanthropic = \"1\"\n\n[outdated]\n2 = \"gemini\"\n");
    house.write(&house.user_config(), "");
    let listed = house.run(&["auth", "list"]);
    assert_eq!(listed.status, 0, "{}", listed.err);
    assert!(listed.err.contains("keys in the system keyring cannot be used"), "{}", listed.err);
    for words in ["anthropic in the system keyring", "older gemini in the system keyring"] {
        assert!(listed.out.contains(words), "{}", listed.out);
    }
    assert!(listed.out.contains("no text is cleaned of it"), "{}", listed.out);
    assert!(listed.err.contains("texts are not cleaned of them"), "{}", listed.err);
    let rows = house.json(&["auth", "list", "--json"]);
    let of = |name: &str| {
        let mut rows = rows.as_array().expect("a list").iter();
        rows.find(|row| row["keyring_key"] == name).cloned().unwrap_or_default()
    };
    let unread = of("anthropic");
    assert_eq!(
        (&unread["counts"], &unread["is_readable"]),
        (&json!(true), &json!(false)),
        "{rows}"
    );
    assert!(unread["why"].is_string(), "{unread}");
    let outdated = json!({ "keyring_key": "gemini", "counts": false, "is_readable": false });
    assert_eq!(of("gemini"), outdated, "{rows}");
    let doctor = house.run(&["doctor", "--offline"]).out;
    assert!(doctor.contains("note    keys in the system keyring: "), "{doctor}");
    assert!(doctor.contains("note    older keys in the system keyring: gemini"), "{doctor}");
    // A backup that is to have keys says which it has not.
    let archive = house.at("b.tar.gz").display().to_string();
    let backup = house.run(&["backup", "--keys", &archive]);
    assert_eq!(backup.status, 0, "{}", backup.err);
    assert!(backup.err.contains("not in it") && backup.err.contains("anthropic"), "{}", backup.err);
    // It is forgotten here; that the keyring still has it is said.
    let removed = house.run(&["auth", "remove", "anthropic"]);
    assert_eq!(removed.status, 2, "{}", removed.out);
    assert!(removed.err.contains("counts no more"), "{}", removed.err);
    let left = house.read(&list).expect("the list");
    assert!(left.contains("1 = \"anthropic\"") && !left.contains("[names]"), "{left}");
}
