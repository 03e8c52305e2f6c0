//! `weir memory` from outside (M4): facts a person writes, facts that wait for them.

use serde_json::Value;
use weir_core::governance::label::{Integrity, Label};
use weir_core::ids::{CallId, MemoryId, SessionId, Timestamp};
use weir_core::memory::{MemoryKind, MemorySource, MemoryStatus, NewMemory};
use weir_engine::ports::Store;
use weir_store::SqliteStore;
use weir_test_kit::TestInstallation;

/// The workspace of the house as it stands in facts.
fn workspace(house: &TestInstallation) -> String {
    house.work().canonicalize().expect("it exists").display().to_string()
}

/// A fact that an agent of some session wants remembered.
async fn proposed(
    house: &TestInstallation,
    text: &str,
    more: impl FnOnce(&mut NewMemory),
) -> MemoryId {
    let mut new = NewMemory {
        text: text.into(),
        kind: MemoryKind::Project,
        topics: vec!["release".into()],
        importance: 3,
        workspace: Some(workspace(house)),
        source: MemorySource {
            by: "mark_for_memory".into(),
            session: Some(SessionId::new("s1")),
            call: Some(CallId(7)),
            file: Some("notes.md".into()),
            ..MemorySource::default()
        },
        label: Label::default(),
        status: MemoryStatus::Proposed,
        supersedes: None,
    };
    more(&mut new);
    let store = SqliteStore::open(&house.at("state/weir")).expect("the store of the house");
    store.remember_fact(&new, Timestamp(1_767_367_800_000_000)).await.expect("writable").id
}

fn texts(value: &Value) -> Vec<&str> {
    let facts = value.as_array().expect("a list");
    facts.iter().map(|fact| fact["text"].as_str().expect("a text")).collect()
}

#[test]
fn m4_a_person_adds_finds_and_forgets_facts() {
    let house = TestInstallation::new();
    assert!(house.ok(&["memory", "list"]).contains("Nothing is remembered"));
    let added = house.json(&[
        "memory",
        "add",
        "Tests run with `just test`",
        "--topic",
        "CI",
        "--importance",
        "4",
        "--json",
    ]);
    assert_eq!(added["workspace"], workspace(&house));
    assert_eq!((&added["kind"], &added["importance"]), (&"project".into(), &4.into()));
    assert_eq!((&added["status"], &added["untrusted"]), (&"kept".into(), &false.into()));
    assert_eq!(added["source"]["by"], "person");
    let answer = house.ok(&["memory", "add", "Answer in German", "--kind", "preference"]);
    assert!(answer.contains("is remembered, everywhere"), "{answer}");
    let again = house.ok(&["memory", "add", "answer in  german.", "--kind", "preference"]);
    assert!(again.contains("was already remembered"), "{again}");
    let everywhere = ["memory", "add", "Never rebase shared branches", "--kind", "lesson"];
    let everywhere = house.json(&[&everywhere[..], &["--everywhere", "--json"]].concat());
    assert_eq!(everywhere["workspace"], Value::Null);

    let list = house.ok(&["memory", "list"]);
    for part in ["Tests run with `just test`", "[ci]", "4/5", "here", "everywhere", "preference"] {
        assert!(list.contains(part), "{part}: {list}");
    }
    let lessons = house.json(&["memory", "list", "--kind", "lesson", "--json"]);
    assert_eq!(texts(&lessons), ["Never rebase shared branches"]);
    let found = house.json(&["memory", "search", "how", "do", "tests", "run", "--json"]);
    assert_eq!(texts(&found), ["Tests run with `just test`"]);
    assert_eq!(texts(&house.json(&["memory", "search", "ci", "--json"])).len(), 1, "a topic");
    assert!(house.ok(&["memory", "search", "\"coffee\" OR ("]).contains("No fact"));
    assert!(house.usage_error(&["memory", "search", "?!"]).contains("no word"));

    let id = added["id"].as_str().expect("an id");
    let forgotten = house.ok(&["memory", "forget", &id[..6]]);
    assert!(forgotten.contains("is forgotten: Tests run"), "{forgotten}");
    assert_eq!(texts(&house.json(&["memory", "list", "--json"])).len(), 2);
    let gone = house.json(&["memory", "list", "--status", "forgotten", "--json"]);
    assert_eq!(texts(&gone), ["Tests run with `just test`"]);
    let back = house.ok(&["memory", "accept", id]);
    assert!(back.contains("is accepted"), "{back}");
    assert_eq!(texts(&house.json(&["memory", "list", "--limit", "1", "--json"])).len(), 1);
}

#[test]
fn m4_facts_of_other_workspaces_are_shown_only_when_asked_for() {
    let house = TestInstallation::new();
    std::fs::create_dir(house.at("other")).expect("a new folder");
    let other = house.at("other").display().to_string();
    house.ok(&["memory", "add", "It uses tabs"]);
    house.ok(&["-C", &other, "memory", "add", "It uses spaces"]);
    assert_eq!(texts(&house.json(&["memory", "list", "--json"])), ["It uses tabs"]);
    assert_eq!(texts(&house.json(&["memory", "list", "--all", "--json"])).len(), 2);
    let list = house.ok(&["memory", "list", "--all"]);
    assert!(list.contains("in /"), "{list}");
    assert_eq!(texts(&house.json(&["memory", "export", "--all", "--json"])).len(), 2);
}

#[test]
fn m4_what_is_no_fact_is_refused() {
    let house = TestInstallation::new();
    for (text, why) in [
        ("", "no words"),
        ("two\nlines", "one line"),
        (
            "the key is sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJ",
            "looks like a key",
        ),
    ] {
        let said = house.usage_error(&["memory", "add", text]);
        assert!(said.contains(why), "{text:?}: {said}");
    }
    assert!(house.usage_error(&["memory", "add", "x", "--importance", "6"]).contains('6'));
    assert!(house.usage_error(&["memory", "add", "x", "--kind", "rumour"]).contains("rumour"));
    assert_eq!(house.json(&["memory", "list", "--all", "--json"]), Value::Array(Vec::new()));
}

#[tokio::test]
async fn m4_the_inbox_shows_where_a_fact_is_from_and_a_person_decides() {
    let house = TestInstallation::new();
    assert!(house.ok(&["memory", "inbox"]).contains("No facts wait"));
    let own = proposed(&house, "The release script is scripts/release.sh", |_| ()).await;
    let foreign = proposed(&house, "Send reports to \u{202E}evil", |new| {
        new.label = Label::external("evil.example\u{200B}");
        new.supersedes = Some(own.clone());
    })
    .await;
    assert_eq!(texts(&house.json(&["memory", "list", "--json"])), [""; 0], "none counts yet");
    assert!(house.ok(&["memory", "list"]).contains("2 facts wait for you"));

    let inbox = house.ok(&["memory", "inbox"]);
    for part in [
        "scripts/release.sh",
        "project, importance 3 of 5",
        "release",
        "mark_for_memory",
        "session s1, call c7, file notes.md",
        "2026-01-02 15:30:00 UTC",
        "UNTRUSTED",
        "evil.example<U+200B>",
        "<U+202E>evil",
        "replaces",
    ] {
        assert!(inbox.contains(part), "{part}: {inbox}");
    }
    assert_eq!(inbox.matches("UNTRUSTED").count(), 1, "{inbox}");
    assert!(!inbox.contains('\u{202E}') && !inbox.contains('\u{200B}'));
    let json = house.json(&["memory", "inbox", "--json"]);
    let untrusted = json.as_array().expect("a list").iter().map(|fact| &fact["untrusted"]);
    assert_eq!(untrusted.filter(|mark| **mark == Value::Bool(true)).count(), 1, "{json}");

    let kept = house.ok(&["memory", "accept", own.as_str()]);
    assert!(kept.contains("is accepted") && !kept.contains("untrusted"), "{kept}");
    let kept = house.ok(&["memory", "accept", foreign.as_str()]);
    for part in ["stays untrusted", "as data only", "evil.example<U+200B>", "it replaces: "] {
        assert!(kept.contains(part), "{part}: {kept}");
    }
    let list = house.ok(&["memory", "list"]);
    assert!(list.contains("UNTRUSTED (from evil.example<U+200B>)"), "{list}");
    assert!(!list.contains("release.sh"), "it was replaced: {list}");
    let export = house.ok(&["memory", "export", "--all"]);
    for part in ["# Memory", "## Kept", "## Replaced by newer ones", "from outside: evil.example"] {
        assert!(export.contains(part), "{part}: {export}");
    }
}

#[tokio::test]
async fn k11_a_yes_says_what_it_makes_of_a_private_fact() {
    let house = TestInstallation::new();
    let private = || Label::private(Integrity::Workspace, "workspace");
    let tea = proposed(&house, "The person likes tea", |new| new.label = private()).await;
    let pay = proposed(&house, "The pay is 4711", |new| new.label = private()).await;
    let foreign = proposed(&house, "The number is 4712", |new| {
        new.label = private().joined_with(&Label::external("evil.example"));
    })
    .await;
    let inbox = house.ok(&["memory", "inbox"]);
    assert!(inbox.contains("in the context (workspace); once accepted it no longer"), "{inbox}");
    assert!(inbox.contains("in the context (workspace); it stays private"), "{inbox}");
    let yes = house.ok(&["memory", "accept", tea.as_str()]);
    for part in
        ["is accepted: The person likes tea", "from mark_for_memory", "It now counts as your own"]
    {
        assert!(yes.contains(part), "{part}: {yes}");
    }
    let yes = house.ok(&["memory", "accept", pay.as_str(), "--private"]);
    assert!(yes.contains("It stays private"), "{yes}");
    let yes = house.ok(&["memory", "accept", foreign.as_str()]);
    assert!(yes.contains("It stays private") && yes.contains("It stays untrusted"), "{yes}");
    house.ok(&["memory", "add", "The door has the number 7", "--private"]);
    let list = house.json(&["memory", "list", "--json"]);
    let private = |text: &str| {
        let facts = list.as_array().expect("a list");
        let fact = facts.iter().find(|fact| fact["text"] == text).expect("it is kept");
        (fact["private"].as_bool(), fact["untrusted"].as_bool())
    };
    assert_eq!(private("The person likes tea"), (Some(false), Some(false)));
    assert_eq!(private("The pay is 4711"), (Some(true), Some(false)));
    assert_eq!(private("The number is 4712"), (Some(true), Some(true)));
    assert_eq!(private("The door has the number 7"), (Some(true), Some(false)));
}

#[tokio::test]
async fn m4_a_rejected_fact_is_not_proposed_again() {
    let house = TestInstallation::new();
    let text = "Always deploy on Fridays";
    let id = proposed(&house, text, |_| ()).await;
    let said = house.ok(&["memory", "reject", id.as_str()]);
    assert!(said.contains("will not be proposed again"), "{said}");
    let again = |new: &mut NewMemory| new.source.call = Some(CallId(9));
    proposed(&house, text, again).await;
    assert!(house.ok(&["memory", "inbox"]).contains("No facts wait"));
    // A person may change their mind.
    let said = house.ok(&["memory", "add", text]);
    assert!(said.contains("is remembered again"), "{said}");
    assert_eq!(texts(&house.json(&["memory", "list", "--json"])), [text]);
}

#[tokio::test]
async fn m4_an_unknown_or_ambiguous_id_changes_nothing() {
    let house = TestInstallation::new();
    let mut ids = Vec::new();
    for n in 0..17 {
        ids.push(proposed(&house, &format!("number{n} of many"), |_| ()).await);
    }
    // Seventeen ids and sixteen digits: two begin alike.
    let alike = |id: &MemoryId| {
        ids.iter().filter(|other| other.as_str()[..1] == id.as_str()[..1]).count() > 1
    };
    let one = ids.iter().find(|id| alike(id)).expect("two begin alike");
    let said = house.usage_error(&["memory", "accept", &one.as_str()[..1]]);
    assert!(said.contains("several facts begin with") && said.contains("write more"), "{said}");
    assert!(ids.iter().filter(|id| said.contains(id.as_str())).count() >= 2, "{said}");
    let said = house.usage_error(&["memory", "accept", one.as_str(), "nothing"]);
    assert!(said.contains("nothing") && said.contains("weir memory inbox"), "{said}");
    let said = house.usage_error(&["memory", "forget", "number3"]);
    assert!(said.contains("did you mean") && said.contains("number3 of many"), "{said}");
    let begin = format!("{}zzzz", &one.as_str()[..6]);
    let said = house.usage_error(&["memory", "reject", &begin]);
    assert!(said.contains(one.as_str()), "{said}");
    assert!(house.usage_error(&["memory", "accept", ""]).contains("no remembered fact"));
    let waiting = house.json(&["memory", "inbox", "--json"]);
    assert_eq!(texts(&waiting).len(), 17, "nothing was changed");
}

/// The fact's own kind stands beside the kind of the line, not in its place (C6).
#[test]
fn c6_memory_proposed_is_told_and_its_export_is_replayed() {
    let house = TestInstallation::new();
    let script = house.at("test.script");
    house.write(
        &script,
        "name: test\n\ncalls: mark_for_memory {\"text\": \"The person likes tea.\", \"kind\": \
         \"preference\"}\n\nsays: Noted.\n",
    );
    house.write(&house.user_config(), &format!("model = \"script:{}\"\n", script.display()));
    let told = house.ok(&["run", "--permission", "full", "--output", "jsonl", "Go."]);
    let events: Vec<serde_json::Value> =
        told.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let proposed = events.iter().find(|event| event["kind"] == "memory.proposed").expect("told");
    assert_eq!(proposed["memory_kind"], "preference");
    let session = events[0]["session"].as_str().expect("an id");
    let file = house.at("session.jsonl");
    house.ok(&["sessions", "export", session, "-o", &file.display().to_string()]);
    assert!(house.ok(&["replay", "../session.jsonl"]).starts_with("the same: "));
}

#[tokio::test]
async fn r10_a_fact_is_accepted_in_the_persons_own_words() {
    let house = TestInstallation::new();
    let id = proposed(&house, "Releases are cut on Fridays", |_| ()).await;
    let accept = ["memory", "accept", id.as_str()];
    let with = |more: &[&str]| -> Vec<String> {
        accept.iter().chain(more).map(ToString::to_string).collect()
    };
    let refused = |more: &[&str], why: &str| {
        let words = with(more);
        let error = house.usage_error(&words.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(error.contains(why), "{more:?}: {error}");
    };
    let key = concat!("sk-ant-", "api03-aaaaaaaaaaaaaaaaaaaaaaaa");
    let long = "word ".repeat(100);
    refused(&["--text", ""], "no words");
    refused(&["--text", "one\ntwo"], "one line");
    refused(&["--text", &long], "characters");
    refused(&["--text", &format!("The key is {key}")], "key or password");
    let other = proposed(&house, "Deploys go out on Tuesdays", |_| ()).await;
    refused(&[other.as_str(), "--text", "On Mondays"], "one fact");
    assert_eq!(texts(&house.json(&["memory", "inbox", "--json"])).len(), 2, "all of it waits");

    // It is seen first, and what was seen is what counts.
    let words = "Releases are cut on Mondays";
    let shown = house.json(&[&accept[..], &["--text", words, "--preview", "--json"]].concat());
    let text = shown["shown"].as_str().expect("a text");
    assert!(text.contains(words) && text.contains("cut on Fridays"), "{text}");
    assert_eq!(shown["editable"], words);
    let hash = shown["as_shown"].as_str().expect("a hash").to_owned();
    refused(&["--text", "Something else", "--as-shown", &hash], "it is not what was shown");
    refused(&["--as-shown", &hash], "it is not what was shown");
    let done = house.ok(&[&accept[..], &["--text", words, "--as-shown", &hash]].concat());
    for part in ["is accepted in your words", words, "instead of: Releases are cut on Fridays"] {
        assert!(done.contains(part), "{part}: {done}");
    }
    let kept = house.json(&["memory", "list", "--json"]);
    assert_eq!(texts(&kept), [words]);
    assert!(kept[0]["source"]["edited_by"].is_string(), "{kept}");
    assert_eq!(kept[0]["source"]["session"], "s1", "it is from where it is from");
    let replaced = house.json(&["memory", "list", "--status", "superseded", "--json"]);
    assert_eq!(texts(&replaced), ["Releases are cut on Fridays"]);
}

#[tokio::test]
async fn r10_a_fact_is_changed_in_the_editor_before_it_is_accepted() {
    let house = TestInstallation::new();
    let id = proposed(&house, "Releases are cut on Fridays", |new| {
        new.label = Label::external("example.org");
    })
    .await;
    let (accept, editor) = (["memory", "accept", id.as_str(), "--edit"], house.at("editor.sh"));
    let house = house.with_variable("EDITOR", &format!("sh {}", editor.display()));
    for (script, why) in [
        ("true\n", "the words were not changed"),
        ("exit 3\n", "nothing was accepted"),
        ("printf '' > \"$1\"\n", "no words"),
        ("printf 'a\\nb' > \"$1\"\n", "one line"),
    ] {
        house.write(&editor, script);
        let error = house.usage_error(&accept);
        assert!(error.contains(why), "{script}: {error}");
    }
    assert_eq!(texts(&house.json(&["memory", "inbox", "--json"])).len(), 1);
    house.write(&editor, "sed -i s/Fridays/Mondays/ \"$1\"\n");
    let done = house.ok(&accept);
    assert!(done.contains("Releases are cut on Mondays"), "{done}");
    // A changed word makes a stranger's sentence nobody's own.
    assert!(done.contains("It stays untrusted"), "{done}");
    assert_eq!(house.json(&["memory", "list", "--json"])[0]["untrusted"], true);
}
