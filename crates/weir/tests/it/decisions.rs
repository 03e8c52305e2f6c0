//! What a person decides, in two steps: seen first, then agreed to exactly as it was seen (R10). On the
//! command line with `--preview` and `--as-shown`, and in the face with the same words.

use serde_json::{Value, json};
use weir_core::governance::label::Label;
use weir_core::ids::{SessionId, Timestamp};
use weir_core::memory::MemorySource;
use weir_core::proposal::SettingProposal;
use weir_engine::ports::{Proposal, Store};
use weir_store::SqliteStore;
use weir_test_kit::{CommandOutput, RunningProgram, TestInstallation, wait_until};

fn house() -> TestInstallation {
    let house = TestInstallation::with_script("says: Hello.\n");
    let model = house.script_model();
    house.write(&house.user_config(), &format!("model = \"{model}\"\n"));
    house
}

async fn propose(house: &TestInstallation, what: &str, name: &str, text: &str, label: Label) {
    let store = SqliteStore::open(&house.at("state/weir")).expect("the store of the house");
    let source = MemorySource {
        by: "manage_skill".into(),
        session: Some(SessionId::new("s1")),
        ..MemorySource::default()
    };
    let (what, name, text) = (what.into(), name.into(), text.into());
    let ts = Timestamp(1_767_367_800_000_000);
    store.propose(&Proposal { what, name, text, source, label, ts }).await.expect("writable");
}

fn skill(words: &str) -> String {
    format!("---\nname: notes\ndescription: Use it for notes.\n---\n\n{words}\n")
}

/// What `--preview` of these words shows, and the hash.
fn preview(house: &TestInstallation, words: &[&str]) -> (String, String) {
    let told = house.json(&[words, &["--preview", "--json"]].concat());
    let field = |name: &str| told[name].as_str().unwrap_or_default().to_owned();
    assert!(field("question").ends_with('?'), "{told}");
    assert_eq!(field("as_shown").len(), 64, "{told}");
    (field("shown"), field("as_shown"))
}

fn agree(words: &[&str], hash: &str) -> Vec<String> {
    let mut all: Vec<String> = words.iter().map(ToString::to_string).collect();
    all.extend(["--as-shown".to_owned(), hash.to_owned()]);
    all
}

fn refused(house: &TestInstallation, words: &[&str], hash: &str) {
    let all = agree(words, hash);
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let why = house.usage_error(&all);
    assert!(why.contains("it is not what was shown"), "{words:?}: {why}");
}

fn agreed(house: &TestInstallation, words: &[&str], hash: &str) -> String {
    let all = agree(words, hash);
    house.ok(&all.iter().map(String::as_str).collect::<Vec<_>>())
}

fn own_skill(house: &TestInstallation) -> Option<String> {
    house.read(&house.at("config/weir/skills/notes/SKILL.md"))
}

#[tokio::test]
async fn r10_a_skill_is_accepted_as_it_was_shown_and_not_as_it_became() {
    let house = house();
    let accept = ["skills", "accept", "notes"];
    propose(&house, "skill", "notes", &skill("Write \u{202e}it down."), Label::default()).await;
    let (shown, hash) = preview(&house, &accept);
    assert!(shown.contains("Write <U+202E>it down."), "{shown}");
    assert_eq!(own_skill(&house), None, "a look changes nothing");
    // Another one took its place: what was agreed to is not done, and neither is the other.
    propose(&house, "skill", "notes", &skill("Delete it all."), Label::default()).await;
    refused(&house, &accept, &hash);
    refused(&house, &accept, "");
    assert_eq!(own_skill(&house), None);
    let (_, hash) = preview(&house, &accept);
    refused(&house, &["skills", "reject", "notes"], &hash);
    assert!(agreed(&house, &accept, &hash).contains("Accepted"));
    assert!(own_skill(&house).is_some_and(|text| text.contains("Delete it all.")));
}

#[tokio::test]
async fn r10_words_from_outside_are_accepted_only_by_who_says_so() {
    let house = house();
    propose(&house, "skill", "notes", &skill("Do it."), Label::external("web:evil.example")).await;
    let why = house.usage_error(&["skills", "accept", "notes", "--preview"]);
    assert!(why.contains("--untrusted"), "{why}");
    let words = ["skills", "accept", "notes", "--untrusted"];
    let (shown, hash) = preview(&house, &words);
    assert!(shown.contains("evil.example"), "{shown}");
    let all = agree(&["skills", "accept", "notes"], &hash);
    let why = house.usage_error(&all.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(why.contains("--untrusted"), "a hash alone is not enough: {why}");
    agreed(&house, &words, &hash);
    assert!(own_skill(&house).is_some());
}

#[tokio::test]
async fn r10_a_skill_is_accepted_in_the_persons_own_words() {
    let house = house();
    propose(&house, "skill", "notes", &skill("Write it down."), Label::default()).await;
    let key = concat!("sk-ant-", "api03-aaaaaaaaaaaaaaaaaaaaaaaa");
    for (text, why) in [
        ("Write it up.".to_owned(), "no valid skill"),
        (skill(&format!("Use {key}.")), "key or password"),
    ] {
        let error = house.usage_error(&["skills", "accept", "notes", "--text", &text]);
        assert!(error.contains(why), "{why}: {error}");
    }
    // An argument of a command holds less than a skill may have: the editor does.
    let (file, editor) = (house.at("long.md"), house.at("editor.sh"));
    house.write(&file, &skill(&"x".repeat(300 * 1024)));
    house.write(&editor, &format!("cp '{}' \"$1\"\n", file.display()));
    let mut command = house.command(&["skills", "accept", "notes", "--edit"]);
    let ended = command.env("EDITOR", format!("sh {}", editor.display())).output();
    let ended = CommandOutput::of(ended.expect("it runs"));
    assert!(ended.status == 2 && ended.err.contains("the maximum is"), "{}", ended.err);
    assert_eq!(own_skill(&house), None);
    let words = skill("Write it up.");
    let accept = ["skills", "accept", "notes", "--text", words.as_str()];
    let (shown, hash) = preview(&house, &accept);
    assert!(shown.contains("Write it up.") && shown.contains("In words of"), "{shown}");
    refused(&house, &["skills", "accept", "notes"], &hash);
    assert!(agreed(&house, &accept, &hash).contains("Accepted in your words"));
    assert_eq!(own_skill(&house), Some(words.clone()));
    let shown = house.json(&["skills", "show", "notes", "--json"]);
    assert!(shown["edited"].as_str().is_some_and(|edit| edit.contains("in place of")), "{shown}");
    // Written over by hand, it is nobody's edit any more.
    house.write(&house.at("config/weir/skills/notes/SKILL.md"), &skill("By hand."));
    assert_eq!(house.json(&["skills", "show", "notes", "--json"])["edited"], Value::Null);
}

#[tokio::test]
async fn r10_a_learned_recipe_is_accepted_in_the_persons_own_words() {
    let house = house();
    let recipe = json!({
        "id": "learned-list", "name": "List it", "description": "Lists a folder.",
        "triggers": ["list the folder"], "source": "learned",
        "steps": [{ "tool": "list_files", "input": { "path": "." } }],
    });
    let learned = json!({ "recipe": recipe, "evidence": [] }).to_string();
    propose(&house, "recipe", "learned-list", &learned, Label::default()).await;
    let accept = ["recipes", "accept", "learned-list"];
    let shown = house.json(&[&accept[..], &["--preview", "--json"]].concat());
    let text = shown["editable"].as_str().expect("a file").to_owned();
    assert!(text.contains("list the folder") && !text.contains("source"), "{text}");
    for (from, to, why) in [
        ("learned-list", "another", "stays learned-list"),
        ("list_files", "", "steps"),
        ("triggers", "trigger", "not a valid recipe"),
    ] {
        let wrong = text.replace(from, to);
        let error = house.usage_error(&[&accept[..], &["--text", &wrong]].concat());
        assert!(error.contains(why), "{why}: {error}");
    }
    let own = text.replace("list the folder", "show the folder");
    let (shown, hash) = preview(&house, &[&accept[..], &["--text", &own]].concat());
    assert!(shown.contains("show the folder") && shown.contains("Edited: "), "{shown}");
    refused(&house, &accept, &hash);
    let done = agreed(&house, &[&accept[..], &["--text", &own]].concat(), &hash);
    assert!(done.contains("in your words"), "{done}");
    let kept = house.json(&["recipes", "show", "learned-list", "--json"]);
    assert_eq!(kept["recipe"]["triggers"], json!(["show the folder"]));
    assert_eq!(kept["recipe"]["source"], "learned", "it is from where it is from");
}

#[tokio::test]
async fn r10_a_face_accepts_in_the_persons_own_words() {
    let house = house();
    propose(&house, "skill", "notes", &skill("Write it down."), Label::default()).await;
    let mut face = house.start_face(&[], &[]);
    shown_in(&mut face, "/skills accept notes", "Accept it?", 1).await;
    face.until("then type /skills accept notes --text WORDS", 1).await;
    face.type_line("no");
    face.until("Nothing was changed.", 1).await;
    face.type_line("/skills accept notes --text Not a skill.");
    face.until("no valid skill", 1).await;
    assert_eq!(own_skill(&house), None);
    face.type_line("/quit");
    assert_eq!(face.close_input_until_end().await.status, 0);
}

#[test]
fn r10_rules_and_settings_are_shown_before_they_hold() {
    let house = house();
    let add = ["permissions", "add", "allow", "Shell(cargo test:*)"];
    let (shown, hash) = preview(&house, &add);
    assert!(shown.contains("allow Shell(cargo test:*)") && shown.contains("without a question"));
    assert!(!house.ok(&["permissions", "list"]).contains("cargo test"));
    refused(&house, &["permissions", "add", "allow", "Shell(cargo:*)"], &hash);
    refused(&house, &[&add[..], &["--project"]].concat(), &hash);
    agreed(&house, &add, &hash);
    assert!(house.ok(&["permissions", "list"]).contains("cargo test"));
    let remove = ["permissions", "remove", "Shell(cargo test:*)"];
    let (shown, hash) = preview(&house, &remove);
    assert!(shown.contains("allow Shell(cargo test:*)"), "{shown}");
    // The same words are denied too by now: that is not what was shown.
    house.ok(&["permissions", "add", "deny", "Shell(cargo test:*)"]);
    refused(&house, &remove, &hash);
    let (shown, hash) = preview(&house, &remove);
    assert!(shown.contains("may run that it kept from running"), "{shown}");
    agreed(&house, &remove, &hash);
    assert!(!house.ok(&["permissions", "list"]).contains("cargo test"));
    let set = ["config", "set", "limits.max_iterations", "7"];
    let (shown, hash) = preview(&house, &set);
    assert!(shown.contains("limits.max_iterations = 7") && shown.contains("Now: "), "{shown}");
    refused(&house, &["config", "set", "limits.max_iterations", "9"], &hash);
    let told = house.run(&[&set[..], &["--as-shown", &hash]].concat());
    let (status, text) = told.status_and_text();
    assert!(status == 0 && !text.contains("takes precedence"), "{text}");
    assert_eq!(house.json(&["config", "get", "limits.max_iterations", "--json"])["value"], 7);
}

#[test]
fn r10_trust_counts_for_the_files_that_were_shown() {
    let house = house();
    house.write(&house.project_config(), "[permissions]\nallow = [\"Shell(echo:*)\"]\n");
    let (shown, hash) = preview(&house, &["trust"]);
    assert!(shown.contains("Shell(echo:*)"), "{shown}");
    house.write(&house.project_config(), "[permissions]\nallow = [\"Shell(rm:*)\"]\n");
    refused(&house, &["trust"], &hash);
    let state = || house.json(&["trust", "--json"])["state"].clone();
    assert_eq!(state(), "never");
    let (shown, hash) = preview(&house, &["trust"]);
    assert!(shown.contains("Shell(rm:*)"), "{shown}");
    agreed(&house, &["trust"], &hash);
    assert_eq!(state(), "trusted");
}

#[tokio::test]
async fn r10_memory_plugins_and_proposed_settings_are_decided_as_they_were_shown() {
    let house = house();
    house.ok(&["memory", "add", "Tests run with just."]);
    let id = house.json(&["memory", "list", "--json"])[0]["id"].as_str().unwrap_or("").to_owned();
    let forget = ["memory", "forget", id.as_str()];
    let (shown, hash) = preview(&house, &forget);
    assert!(shown.contains("Tests run with just."), "{shown}");
    refused(&house, &["memory", "reject", id.as_str()], &hash);
    agreed(&house, &forget, &hash);
    assert_eq!(house.json(&["memory", "list", "--json"]), json!([]));

    let manifest = "id = \"demo\"\nname = \"Demo\"\nversion = \"1\"\ndescription = \"Counts.\"\n\
                    [commands.count]\nrun = \"wc -l x\"\n";
    let place = house.at("config/weir/plugins/demo/plugin.toml");
    house.write(&place, manifest);
    let (shown, hash) = preview(&house, &["plugins", "enable", "demo"]);
    assert!(shown.contains("wc -l x"), "{shown}");
    house.write(&place, &manifest.replace("wc -l x", "rm -r x"));
    refused(&house, &["plugins", "enable", "demo"], &hash);
    let (_, hash) = preview(&house, &["plugins", "enable", "demo"]);
    agreed(&house, &["plugins", "enable", "demo"], &hash);
    assert!(house.ok(&["plugins", "list"]).contains("enabled"));

    let key = "limits.max_iterations";
    let setting = |value: u32| {
        let reason = "My runs end too late.".into();
        let proposal = SettingProposal { key: key.into(), value: json!(value), reason };
        serde_json::to_string(&proposal).expect("it is data")
    };
    propose(&house, "setting", key, &setting(3), Label::default()).await;
    let (_, hash) = preview(&house, &["config", "accept", key]);
    propose(&house, "setting", key, &setting(4), Label::default()).await;
    refused(&house, &["config", "accept", key], &hash);
    let (_, hash) = preview(&house, &["config", "accept", key]);
    agreed(&house, &["config", "accept", key], &hash);
    assert_eq!(house.json(&["config", "get", key, "--json"])["value"], 4);
}

/// Types a command, and waits until the question of its decision stands there.
async fn shown_in(face: &mut RunningProgram, line: &str, question: &str, times: usize) {
    face.type_line(line);
    face.until(&format!("{question} Type: yes / no"), times).await;
}

#[tokio::test]
async fn r10_a_face_decides_with_the_same_words_and_only_after_a_yes() {
    let house = house();
    propose(&house, "skill", "notes", &skill("Write \u{202e}it down."), Label::default()).await;
    let mut face = house.start_face(&[], &[]);
    shown_in(&mut face, "/skills accept notes", "Accept it?", 1).await;
    assert!(face.text().contains("Write <U+202E>it down."), "{}", face.text());
    face.type_line("y");
    face.until("That is not clear.", 1).await;
    face.type_line("no");
    face.until("Nothing was changed.", 1).await;
    assert_eq!(own_skill(&house), None);
    // It changes between the look and the yes: it is shown anew.
    shown_in(&mut face, "/skills accept notes", "Accept it?", 2).await;
    propose(&house, "skill", "notes", &skill("Another."), Label::default()).await;
    face.type_line("yes");
    face.until("It changed meanwhile, and nothing was done", 1).await;
    face.until("Accept it? Type: yes / no", 3).await;
    assert_eq!(own_skill(&house), None);
    face.type_line("yes");
    face.until("Accepted: ", 1).await;
    assert!(own_skill(&house).is_some_and(|text| text.contains("Another.")));
    shown_in(&mut face, "/skills remove notes", "Remove it?", 1).await;
    face.type_line("yes");
    face.until("Removed notes", 1).await;
    assert_eq!(own_skill(&house), None);
    face.type_line("/skills accept nothing");
    face.until("error: ", 1).await;
    shown_in(&mut face, "/permissions add deny Web(evil.example)", "Add it?", 1).await;
    face.type_line("yes");
    face.until("is added to", 1).await;
    assert!(house.ok(&["permissions", "list"]).contains("Web(evil.example)"));
    house.write(&house.project_config(), "[permissions]\nallow = [\"Shell(echo:*)\"]\n");
    face.type_line("/trust");
    face.until("allow rule of .weir/config.toml? Type: yes / no", 1).await;
    face.type_line("yes");
    face.until("Trusted. ", 1).await;
    assert_eq!(house.json(&["trust", "--json"])["state"], "trusted");
    // Words are searched for, whatever they begin with.
    house.ok(&["memory", "add", "We accept no patches by mail."]);
    face.type_line("/memory accept patches mail");
    face.until("We accept no patches by mail.", 1).await;
    face.type_line("/quit");
    assert_eq!(face.close_input_until_end().await.status, 0);
}

/// What waits in any session.
fn waiting(house: &TestInstallation) -> Value {
    house.json(&["approvals", "list", "--json"])["approvals"].clone()
}

#[tokio::test]
async fn r10_what_another_session_asks_is_answered_from_a_face() {
    let house = house();
    let script = "calls: run_shell {\"command\": \"echo one > made\"}\n\nsays: All done.\n";
    house.write(&house.at("other.script"), script);
    let model = format!("script:{}", house.at("other.script").display());
    let run = house.start(&["run", "-m", &model, "--ask-elsewhere", "make it"]);
    let asked = wait_until("something is asked", || {
        let all = waiting(&house);
        all[0]["approval"].as_str().map(str::to_owned).ok_or(all)
    });
    let mut face = house.start_face(&[], &[]);
    face.type_line("/approvals");
    face.until(&asked, 1).await;
    face.type_line(&format!("/approvals show {asked}"));
    face.until("echo one > made", 1).await;
    // What lasts is answered with its rules in sight, and by its bounds.
    face.type_line(&format!("/approvals answer {asked} once and for all"));
    face.until("Type /approvals answer id once|session|always|deny", 1).await;
    let lasting = "Allow it and what is like it in that project from now on?";
    shown_in(&mut face, &format!("/approvals answer {asked} always"), lasting, 1).await;
    face.type_line("no");
    face.until("Nothing was changed.", 1).await;
    let bounded = "Allow it and what is like it in that session (uses 2)?";
    shown_in(&mut face, &format!("/approvals answer {asked} session --uses 2"), bounded, 1).await;
    face.type_line("no");
    face.until("Nothing was changed.", 2).await;
    assert!(house.read(&house.at("work/made")).is_none());
    shown_in(&mut face, &format!("/approvals answer {asked} once"), "Allow it this once?", 1).await;
    face.type_line("yes");
    face.until("is answered", 1).await;
    let (status, text) = run.wait_for_end().status_and_text();
    assert!(status == 0 && text.contains("All done."), "{text}");
    assert_eq!(house.read(&house.at("work/made")).as_deref(), Some("one\n"));
    // It is answered: there is nothing left to decide.
    face.type_line(&format!("/approvals answer {asked} deny"));
    face.until("answered already", 1).await;
    face.type_line("/quit");
    assert_eq!(face.close_input_until_end().await.status, 0);
}

#[tokio::test]
async fn r10_a_question_of_another_session_is_answered_and_a_lease_revoked_from_a_face() {
    let house = house();
    let script = "calls: ask_followup_question {\"question\": \"Which colour?\", \"options\": [\"red\", \"blue\"]}\n\n\
                  calls: write_file {\"path\": \"a.txt\", \"content\": \"blue\"}\n\n\
                  says: All done.\n";
    house.write(&house.at("other.script"), script);
    let model = format!("script:{}", house.at("other.script").display());
    let run = house.start(&["run", "-m", &model, "--ask-elsewhere", "paint it"]);
    let question = wait_until("something is asked", || {
        let all = house.json(&["approvals", "list", "--json"])["questions"].clone();
        all[0]["question"].as_str().map(str::to_owned).ok_or(all)
    });
    let mut face = house.start_face(&[], &[]);
    face.type_line(&format!("/approvals answer {question} once"));
    face.until("this is a question: answer it in words", 1).await;
    let line = format!("/approvals answer {question} --text blue");
    shown_in(&mut face, &line, "Answer it in these words?", 1).await;
    assert!(face.text().contains("Which colour?"), "{}", face.text());
    face.type_line("yes");
    face.until("is answered", 1).await;
    let asked = wait_until("it writes", || {
        let all = waiting(&house);
        all[0]["approval"].as_str().map(str::to_owned).ok_or(all)
    });
    face.type_line(&format!("/approvals answer {asked} --text yes"));
    face.until("this is an approval", 1).await;
    let lasting = "Allow it and what is like it in that project from now on?";
    shown_in(&mut face, &format!("/approvals answer {asked} always"), lasting, 1).await;
    assert!(face.text().contains("Edit("), "its rule is shown: {}", face.text());
    face.type_line("no");
    face.until("Nothing was changed.", 1).await;
    let bounded = "Allow it and what is like it in that session (for 1h)?";
    shown_in(&mut face, &format!("/approvals answer {asked} session --for=1h"), bounded, 1).await;
    face.type_line("yes");
    face.until("lease 1: Edit(", 1).await;
    let (status, text) = run.wait_for_end().status_and_text();
    assert!(status == 0 && text.contains("All done."), "{text}");
    let leases = house.json(&["approvals", "list", "--all", "--json"])["leases"].clone();
    let session = leases[0]["session"].as_str().expect("a lease").to_owned();
    let revoke = format!("/approvals revoke {session} 1");
    shown_in(&mut face, &revoke, "Revoke it, so that such calls are asked again?", 1).await;
    assert!(face.text().contains("allows: Edit("), "{}", face.text());
    face.type_line("yes");
    face.until("is revoked", 1).await;
    let leases = house.json(&["approvals", "list", "--all", "--json"])["leases"].clone();
    assert_eq!(leases, json!([]));
    face.type_line(&revoke);
    face.until("no lease, or more than one, is named so", 1).await;
    face.type_line("/quit");
    assert_eq!(face.close_input_until_end().await.status, 0);
}
