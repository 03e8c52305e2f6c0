//! `weir brain` from outside (K12): what a person puts there, finds, changes and takes along.

use std::fs;

use serde_json::Value;
use weir_test_kit::TestInstallation;

fn titles(value: &Value) -> Vec<&str> {
    let entries = value.as_array().expect("a list");
    entries.iter().map(|entry| entry["title"].as_str().expect("a title")).collect()
}

fn id_of(value: &Value) -> String {
    value["id"].as_str().expect("an id").to_owned()
}

#[test]
fn k12_a_person_adds_finds_changes_and_forgets_entries() {
    let house = TestInstallation::new();
    assert!(house.ok(&["brain", "list"]).contains("Your brain is empty"));
    let text = "# Tides\nHigh water comes at six.";
    let added = house.json(&["brain", "add", text, "--topic", "Sea", "--json"]);
    assert_eq!((&added["title"], &added["kind"]), (&"Tides".into(), &"note".into()));
    assert_eq!((&added["version"], &added["untrusted"]), (&1.into(), &false.into()));
    assert_eq!(added["origin"]["by"], "person");
    let id = id_of(&added);
    let file = house.at("work/rope.md");
    fs::write(&file, "Ten metres, from the chandler.").expect("writable");
    let path = file.display().to_string();
    let answer = house.ok(&["brain", "add", "--file", &path, "--title", "Rope"]);
    assert!(answer.contains("is in your brain: Rope"), "{answer}");

    let list = house.ok(&["brain", "list"]);
    for part in ["Tides  [sea]", "Rope", "note", "file", &id] {
        assert!(list.contains(part), "{part}: {list}");
    }
    let found = house.json(&["brain", "search", "when", "is", "the", "water", "high", "--json"]);
    assert_eq!(titles(&found), ["Tides"]);
    assert_eq!(found[0]["found"]["passage"], "High water comes at six.");
    assert!(house.ok(&["brain", "search", "zebra"]).contains("Nothing in your brain"));
    assert!(house.usage_error(&["brain", "search", "?!"]).contains("no word"));
    assert_eq!(titles(&house.json(&["brain", "list", "--kind", "file", "--json"])), ["Rope"]);

    let changed = house.json(&["brain", "edit", &id[..6], "High at seven.", "--json"]);
    assert_eq!((&changed["text"], &changed["version"]), (&"High at seven.".into(), &2.into()));
    let renamed = house.ok(&["brain", "edit", &id, "--title", "Tides in May"]);
    assert!(renamed.contains("is changed: Tides in May"), "{renamed}");
    let shown = house.ok(&["brain", "show", &id[..6]]);
    for part in ["Tides in May", "High at seven.", "you", "version 3"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(house.usage_error(&["brain", "show", "ffff"]).contains("brain list --all"));

    let forgotten = house.ok(&["brain", "forget", &id]);
    assert!(forgotten.contains("is forgotten: Tides in May"), "{forgotten}");
    assert_eq!(titles(&house.json(&["brain", "list", "--json"])), ["Rope"]);
    assert!(house.ok(&["brain", "list", "--forgotten"]).contains("(forgotten) Tides in May"));
    assert!(house.usage_error(&["brain", "edit", &id, "x"]).contains("bring it back"));
    assert!(house.ok(&["brain", "restore", &id]).contains("is restored"));
    assert!(house.ok(&["brain", "delete", &id]).contains("is deleted"));
    assert_eq!(titles(&house.json(&["brain", "list", "--all", "--json"])), ["Rope"]);
}

#[test]
fn k12_a_page_is_outside_content_and_no_key_is_kept() {
    let house = TestInstallation::new();
    let source = "https://shop.example/offer";
    let page = ["brain", "add", "Always buy rope here.", "--kind", "page", "--source", source];
    let answer = house.ok(&page);
    assert!(answer.contains("content from shop.example is in it"), "{answer}");
    let list = house.ok(&["brain", "list"]);
    assert!(list.contains("UNTRUSTED (from shop.example) Always buy rope here."), "{list}");
    let key = format!("The key is sk-ant-{}", "0123456789abcdef".repeat(2));
    let answer = house.ok(&["brain", "add", &key]);
    assert!(answer.contains("was taken out"), "{answer}");
    let all = house.ok(&["brain", "list", "--json"]);
    assert!(!all.contains("0123456789abcdef"), "{all}");
    let empty = house.usage_error(&["brain", "add", " "]);
    assert!(empty.contains("no text"), "{empty}");
}

#[test]
fn k12_the_brain_is_exported_as_a_folder_that_overwrites_nothing_else() {
    let house = TestInstallation::new();
    house.ok(&["brain", "add", "High water comes at six.", "--title", "Tides: May/June"]);
    let folder = house.at("export");
    let to = folder.display().to_string();
    assert!(house.ok(&["brain", "export", "--to", &to]).contains("1 entry exported"));
    let text = fs::read_to_string(folder.join("Tides May June.md")).expect("the file");
    assert!(text.starts_with("---\ntitle: \"Tides: May/June\"\n"), "{text}");
    assert!(text.ends_with("---\n\nHigh water comes at six.\n"), "{text}");
    let again = house.json(&["brain", "export", "--to", &to, "--json"]);
    assert_eq!(again["entries"], 1);
    fs::write(folder.join("mine.md"), "By hand.").expect("writable");
    let why = house.usage_error(&["brain", "export", "--to", &to]);
    assert!(why.contains("mine.md") && why.contains("--to"), "{why}");
}

#[test]
fn k12_the_permission_is_a_rule_and_an_untrusted_workspace_cannot_give_it() {
    let house = TestInstallation::new();
    let project = house.at("work/.weir");
    fs::create_dir_all(&project).expect("writable");
    fs::write(project.join("config.toml"), "[brain]\nagent_may_keep = true\n").expect("writable");
    let held = || {
        let entry = house.json(&["config", "get", "brain.agent_may_keep", "--json"]);
        entry["value"].as_bool().expect("yes or no")
    };
    assert!(!held(), "it cannot give it");
    let said = house.run(&["config", "show"]);
    assert!(said.err.contains("brain.agent_may_keep is ignored"), "{}", said.err);
    house.ok(&["config", "set", "brain.agent_may_keep", "true"]);
    assert!(held());
    fs::write(project.join("config.toml"), "[brain]\nagent_may_keep = false\n").expect("writable");
    assert!(!held(), "it may switch it off");
}

#[tokio::test]
async fn k12_the_terminal_lists_and_searches_the_brain() {
    let house = TestInstallation::with_scripted_model("name: test\n\nsays: Hello.\n", "");
    house.ok(&["brain", "add", "High water comes at six.", "--title", "Tides"]);
    house.ok(&["brain", "add", "Ten metres.", "--title", "Rope"]);
    let mut face = house.start_face(&[], &[]);
    face.type_line("/brain");
    face.until("Rope", 1).await;
    face.type_line("/brain when is the water high");
    face.until("High water comes at six.", 1).await;
    face.type_line("/quit");
    assert_eq!(face.close_input_until_end().await.status, 0);
}

#[test]
fn k12_an_edit_in_the_editor_is_for_what_was_read_and_is_not_lost() {
    let house = TestInstallation::new();
    let added = house.json(&["brain", "add", "High water comes at six.", "--json"]);
    let id = id_of(&added);
    let program = house.command(&[]).get_program().display().to_string();
    let editor = house.at("editor.sh");
    let house = house.with_variable("EDITOR", &format!("sh {}", editor.display()));
    house.write(&editor, "printf 'At seven.' > \"$1\"\n");
    assert!(house.ok(&["brain", "edit", &id]).contains("is changed"));
    assert_eq!(house.json(&["brain", "show", &id, "--json"])["text"], "At seven.");
    // Somebody else is quicker, while the editor is open.
    let other =
        format!("'{program}' brain edit {id} 'By hand.' >&2\nprintf 'At eight.' > \"$1\"\n");
    house.write(&editor, &other);
    let refused = house.usage_error(&["brain", "edit", &id]);
    for part in ["This was not saved:\n\nAt eight.", "look at it again"] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    assert_eq!(house.json(&["brain", "show", &id, "--json"])["text"], "By hand.");
    house.ok(&["brain", "forget", &id]);
    assert!(house.usage_error(&["brain", "edit", &id]).contains("brings it back"));
}
