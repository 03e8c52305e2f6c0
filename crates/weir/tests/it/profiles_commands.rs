//! Profiles between two runs, and what is typed as `/name` (P7, M3).

use serde_json::Value;
use weir_test_kit::TestInstallation;

/// The names of the tools of the last settings in a journal, and their profile.
fn settings(journal: &str) -> (String, Vec<String>) {
    let config = |line: &str| {
        let event: Value = serde_json::from_str(line).ok()?;
        event.get("config").cloned()
    };
    let config = journal.lines().filter_map(config).next_back().expect("settings");
    let names = config["tools"].as_array().expect("a list").iter();
    let names = names.filter_map(|tool| tool["name"].as_str().map(String::from)).collect();
    (config["profile"]["name"].as_str().unwrap_or_default().to_owned(), names)
}

#[test]
fn p7_a_person_switches_the_profile_between_two_runs() {
    let house = TestInstallation::new();
    house.write(&house.at("s.script"), "says: one\n\nsays: two\n");
    let script = house.script_model();
    let first = house.json(&["run", "-m", &script, "--output", "json", "begin"]);
    assert_eq!(first["status"], "completed");
    let id = first["session"].as_str().expect("an id").to_owned();
    let export = |id: &str| house.ok(&["sessions", "export", id, "--format", "jsonl"]);
    let (profile, tools) = settings(&export(&id));
    assert_eq!(profile, "agent");
    assert!(tools.contains(&"write_file".to_owned()));
    assert!(!tools.contains(&"restore_checkpoint".to_owned()), "named only: {tools:?}");
    house.ok(&["run", "-m", &script, "--resume", &id, "--profile", "ask", "go on"]);
    let journal = export(&id);
    let (profile, tools) = settings(&journal);
    assert_eq!(profile, "ask");
    assert!(!tools.contains(&"write_file".to_owned()), "{tools:?}");
    assert!(journal.contains("another profile"), "the break of the prefix is told");
    // Without the flag the session stays what it is.
    house.ok(&["run", "-m", &script, "--resume", &id, "and on"]);
    assert_eq!(settings(&export(&id)).0, "ask");
}

#[test]
fn p7_a_profile_s_tools_skills_and_limits_are_shown() {
    let house = TestInstallation::new();
    house.write(
        &house.at("config/weir/profiles/mine.toml"),
        "role = \"You read.\"\nskills = [\"terse\"]\nmcp_servers = [\"git\"]\n\
         limits = { budget_tokens = 5 }\n",
    );
    let shown = house.ok(&["profiles", "show", "mine"]);
    for part in [
        "Skills:\n  terse",
        "budget_tokens = 5",
        "Servers:\n  git",
        "by name only",
        "restore_checkpoint",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let json = house.json(&["profiles", "show", "mine", "--json"]);
    let has = |list: &str, name: &str| {
        json[list].as_array().expect("a list").iter().any(|tool| tool == name)
    };
    assert!(has("deferred", "restore_checkpoint") && !has("tools", "restore_checkpoint"));
    assert!(has("tools", "find_tool"));
}

#[test]
fn m3_what_is_typed_as_a_name_stands_for_a_file() {
    let house = TestInstallation::new();
    house.write(
        &house.at("work/.weir/commands/review.md"),
        "---\ndescription: Looks at a file\nargument-hint: [file]\nmodel: x\n---\nRead $1 closely.\n",
    );
    house.write(&house.at("config/weir/commands/mine.md"), "Count to $1.\n");
    house.write(&house.at("config/weir/workflows/review.md"), "Hidden.\n");
    house.write(&house.at("work/.claude/commands/empty.md"), "\n");
    house.write(
        &house.at("s.script"),
        "expect: body \"Read a.txt closely.\"\nsays: one\n\nexpect: body \"Count to 3.\"\nsays: two\n",
    );
    let script = house.script_model();
    let first = house.json(&["run", "-m", &script, "--output", "json", "/review a.txt"]);
    assert_eq!(first["text"], "one");
    let id = first["session"].as_str().expect("an id");
    assert_eq!(house.ok(&["run", "-m", &script, "--resume", id, "/mine 3"]), "two\n");
    let said = house.run(&["run", "-m", &script, "/empty"]);
    assert_eq!(said.status, 2, "{}{}", said.out, said.err);
    assert!(said.err.contains(".claude/commands/empty.md is empty"), "{}", said.err);

    let list = house.ok(&["workflows", "list"]);
    for part in ["/review [file]", "Looks at a file", "hidden by another one", "cannot be used"] {
        assert!(list.contains(part), "{part}: {list}");
    }
    let rows = house.json(&["workflows", "list", "--json"]);
    let own =
        rows.as_array().map(|rows| rows.iter().filter(|row| row["source"] != "comes with Weir"));
    assert_eq!(own.map(Iterator::count), Some(4));
    let shown = house.ok(&["workflows", "show", "/review"]);
    assert!(shown.contains("Read $1 closely.") && shown.contains("ignored fields: model"));
    assert_eq!(house.json(&["workflows", "show", "mine", "--json"])["text"], "Count to $1.");
    assert!(house.usage_error(&["workflows", "show", "nothing"]).contains("weir workflows list"));
    assert!(house.usage_error(&["workflows", "show", "empty"]).contains("is empty"));
}
