//! Scheduled agents (M7): definitions, runs by hand, and a real daemon that starts, dies and goes
//! on. The calendar has tests of its own; here a tick is a second.

use serde_json::{Value, json};
use weir_test_kit::{CommandOutput, TestInstallation, wait_until};

mod daemon;

/// A house with a workspace file and a script.
fn house(script: &str) -> TestInstallation {
    TestInstallation::with_script(script)
}

/// Adds an agent that plays the script.
fn add(house: &TestInstallation, name: &str, args: &[&str]) -> Value {
    let script = house.script_model();
    let mut all = vec!["agents", "add", name, "--json", "-m", script.as_str()];
    if !args.contains(&"--prompt") {
        all.extend(["--prompt", "Look at the harbour."]);
    }
    all.extend(args);
    house.json(&all)
}

fn run(house: &TestInstallation, name: &str) -> CommandOutput {
    house.run(&["agents", "run", name])
}

fn history(house: &TestInstallation, name: &str) -> Vec<Value> {
    // Each second has a row, so what was usual would soon hide the one that is looked for.
    let listed = house.json(&["agents", "history", name, "--json", "--limit", "100000"]);
    listed.as_array().expect("a list").clone()
}

/// What is asked now; `Err`: nothing is.
fn first_approval(house: &TestInstallation) -> Result<Value, Value> {
    let listed = house.json(&["approvals", "list", "--json"]);
    let first = listed["approvals"].as_array().and_then(|open| open.first().cloned());
    first.ok_or(listed)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn read(house: &TestInstallation, path: &str) -> String {
    std::fs::read_to_string(house.at(path)).unwrap_or_default()
}

const SAYS: &str = "says: All quiet.\n";
const WRITES: &str =
    "calls: write_file {\"path\": \"a.txt\", \"content\": \"new\"}\n\nsays: Done.\n";

#[test]
fn m7_agents_are_added_shown_paused_and_removed() {
    let house = house(SAYS);
    assert!(house.ok(&["agents", "list"]).contains("No scheduled agents"));
    assert_eq!(house.json(&["agents", "list", "--json"]), json!([]));
    let added = add(
        &house,
        "digest",
        &["--cron", "0 8 * * *", "--timezone", "Europe/Berlin", "--tools", "read_file,list_files"],
    );
    assert_eq!(added["tools"], json!(["read_file", "list_files"]));
    assert_eq!(
        (&added["state"], &added["limits"]["max_tool_calls"]),
        (&json!("active"), &json!(20))
    );
    assert!(text(&added["next"]).ends_with(":00:00.000000Z"), "{added}");
    assert_eq!(added["workspace"], json!(house.work().canonicalize().expect("it is there")));
    add(&house, "report", &["--after", "digest"]);
    add(&house, "by-hand", &[]);

    let listed = house.ok(&["agents", "list"]);
    for words in ["T08:00:00+0", "[Europe/Berlin]", "after digest", "by hand", "never run"] {
        assert!(listed.contains(words), "{words}: {listed}");
    }
    let shown = house.ok(&["agents", "show", "digest"]);
    for words in ["0 8 * * * in Europe/Berlin", "20 tool calls", "denied at once", "harbour"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(house.ok(&["agents", "show", "by-hand"]).contains("tools: none"));

    assert!(house.ok(&["agents", "pause", "digest"]).contains("digest is now paused"));
    assert!(house.ok(&["agents", "pause", "digest"]).contains("already"));
    assert_eq!(house.json(&["agents", "show", "digest", "--json"])["next"], Value::Null);
    assert!(house.ok(&["agents", "resume", "digest"]).contains("digest is now active"));
    assert!(house.ok(&["agents", "history", "digest"]).contains("has not run yet"));

    assert!(house.ok(&["agents", "remove", "digest"]).contains("Removed digest"));
    for words in ["show", "pause", "resume", "run", "history", "remove"] {
        let said = house.usage_error(&["agents", words, "digest"]);
        assert!(
            said.contains("no scheduled agent \"digest\"") && said.contains("by-hand"),
            "{said}"
        );
    }
}

#[test]
fn m7_what_is_wrong_with_a_schedule_is_said_when_it_is_added() {
    let house = house(SAYS);
    house.write(
        &house.at("config/weir/profiles/reader.toml"),
        "description = \"Reads.\"\nrole = \"You read.\"\ngroups = [\"read\"]\n\
         [tools]\ndeny = [\"search_files\"]\n",
    );
    add(&house, "one", &[]);
    add(&house, "two", &["--after", "one"]);
    let prompt = ["--prompt", "Look."];
    for (name, args, words) in [
        ("Bad Name", &prompt[..], "cannot be its name"),
        ("x", &["--prompt", "  "], "its prompt is empty"),
        ("x", &["--prompt", "@nowhere.md"], "nowhere.md"),
        ("x", &["--prompt", "a", "--cron", "0 0 30 2 *"], "no year has"),
        ("x", &["--prompt", "a", "--cron", "* * *"], "five or six fields"),
        ("x", &["--prompt", "a", "--cron", "99 * * * *"], "out of bounds"),
        ("x", &["--prompt", "a", "--cron", "@reboot"], "no such word"),
        ("x", &["--prompt", "a", "--cron", "@daily", "--timezone", "Mars/Olympus"], "no time zone"),
        ("x", &["--prompt", "a", "--timezone", "Mars/Olympus"], "no time zone"),
        ("x", &["--prompt", "a", "--tools", "read_file,raed_file"], "did you mean read_file?"),
        ("x", &["--prompt", "a", "--profile", "nobody"], "nobody"),
        ("x", &["--prompt", "a", "--profile", "reader", "--tools", "search_files"], "forbids"),
        ("x", &["--prompt", "a", "--model", "nobody/at-all"], "nobody"),
        ("x", &["--prompt", "a", "--model", "script:nowhere.script"], "nowhere.script"),
        ("x", &["--prompt", "a", "--after", "nobody"], "no such agent; existing agents: one, two"),
        ("x", &["--prompt", "a", "--after", "x"], "after itself"),
        ("one", &["--prompt", "a", "--after", "two", "--replace"], "one after two after one"),
        ("one", &prompt[..], "--replace"),
        ("x", &["--prompt", "a", "--budget-usd", "0"], "above 0"),
        ("x", &["--prompt", "a", "--budget-usd", "-1"], "above 0"),
        ("x", &["--prompt", "a", "--timeout", "soon"], "soon"),
    ] {
        let mut all = vec!["agents", "add", name];
        all.extend(args);
        let said = house.usage_error(&all);
        assert!(said.contains(words), "{all:?}: {words} is missing in {said}");
    }
    let names = house.json(&["agents", "list", "--json"]);
    let names: Vec<String> =
        names.as_array().expect("a list").iter().map(|agent| text(&agent["name"])).collect();
    assert_eq!(names, ["one", "two"], "nothing of it was kept");
    let replaced = add(&house, "one", &["--replace", "--prompt", "Another."]);
    assert_eq!((text(&replaced["prompt"]), &replaced["version"]), ("Another.".into(), &json!(2)));
}

#[test]
fn m7_the_prompt_stands_before_the_standard_one_or_in_its_place() {
    let house = house(
        "when: \"the agent both\"\nexpect: system \"Look at the harbour.\"\nexpect: system \"Weir\"\n\
         says: Both.\nend\n\nwhen: \"the agent alone\"\nexpect: system \"Only the tide.\"\n\
         expect-not: system \"Weir\"\nsays: Alone.\nend\n",
    );
    house.write(&house.at("work/tide.md"), "Only the tide.");
    add(&house, "both", &[]);
    add(&house, "alone", &["--prompt", "@tide.md", "--prompt-mode", "agent_only"]);
    for (name, answer) in [("both", "Both.\n"), ("alone", "Alone.\n")] {
        let said = run(&house, name);
        assert_eq!((said.status, said.out.as_str()), (0, answer), "{}", said.err);
    }
    let runs = history(&house, "both");
    let session = text(&runs[0]["session"]);
    let (status, cause) = (text(&runs[0]["state"]), text(&runs[0]["cause"]));
    assert_eq!((runs.len(), status.as_str(), cause.as_str()), (1, "completed", "manual"));
    let started = house.facts_of_kind(&session, "run.started");
    assert_eq!(started[0]["trigger"], "schedule");
    let input = &house.facts_of_kind(&session, "input.accepted")[0];
    assert_eq!(input["by"], "schedule:both");
    assert!(input["content"].to_string().contains("Run of the agent both by hand, 20"), "{input}");
    let listed = house.ok(&["agents", "history", "both"]);
    assert!(listed.contains(&session) && listed.contains("completed"), "{listed}");
    // What is kept of a run is the journal of its session.
    assert!(house.ok(&["sessions", "show", &session]).contains("Both."));
}

#[test]
fn t3_an_agent_sees_what_it_declared_and_an_undeclared_call_is_refused_by_the_gate() {
    let house = house(
        "expect: tool \"read_file\"\nexpect-not: tool \"list_files\"\n\
         calls: list_files {\"path\": \".\"}\ncalls: read_file {\"path\": \"a.txt\"}\n\n\
         expect: result \"not available in this run\"\nexpect: result \"old\"\n\
         says: I cannot list.\n",
    );
    add(&house, "reader", &["--tools", "read_file", "--permission", "full"]);
    let said = run(&house, "reader");
    assert_eq!((said.status, said.out.as_str()), (0, "I cannot list.\n"), "{}", said.err);
    let runs = history(&house, "reader");
    let session = text(&runs[0]["session"]);
    let judged = house.facts_of_kind(&session, "call.judged");
    let verdicts: Vec<(String, String)> =
        judged.iter().map(|fact| (text(&fact["verdict"]), text(&fact["gate"]))).collect();
    assert!(verdicts.contains(&("deny".into(), "visible".into())), "{verdicts:?}");
    assert!(verdicts.contains(&("allow".into(), String::new())), "{verdicts:?}");
    assert!(text(&runs[0]["note"]).contains("denied: "), "{}", runs[0]);
    assert_eq!(house.facts_of_kind(&session, "session.opened")[0]["tools"], json!(["read_file"]));
}

#[test]
fn t3_none_declared_means_none() {
    let house = house(
        "expect-not: tool \"read_file\"\nexpect-not: tool \"attempt_completion\"\n\
         calls: read_file {\"path\": \"a.txt\"}\n\nexpect: result \"not available\"\n\
         says: I only speak.\n",
    );
    add(&house, "speaker", &["--permission", "full", "--profile", "code"]);
    let said = run(&house, "speaker");
    assert_eq!((said.status, said.out.as_str()), (0, "I only speak.\n"), "{}", said.err);
    let session = text(&history(&house, "speaker")[0]["session"]);
    assert_eq!(house.facts_of_kind(&session, "session.opened")[0]["tools"], json!([]));
}

#[test]
fn m7_what_would_ask_is_denied_and_the_history_says_so() {
    let house = house(WRITES);
    add(&house, "writer", &["--tools", "write_file"]);
    let said = run(&house, "writer");
    assert_eq!(said.status, 4, "{}{}", said.out, said.err);
    assert_eq!(read(&house, "work/a.txt"), "old\n");
    let runs = history(&house, "writer");
    assert_eq!(text(&runs[0]["state"]), "needs_input");
    let note = text(&runs[0]["note"]);
    assert!(note.contains("it asks, and nobody could be asked"), "{note}");
    assert_eq!(house.json(&["approvals", "list", "--json"])["approvals"], json!([]));
}

#[test]
fn m7_limits_of_the_definition_hold() {
    let house = house("repeat: 9\ncalls: read_file {\"path\": \"a{{n}}.txt\"}\n\nsays: Enough.\n");
    for n in 0..10 {
        house.write(&house.at(&format!("work/a{n}.txt")), "x");
    }
    add(&house, "busy", &["--tools", "read_file", "--max-tool-calls", "2"]);
    let said = run(&house, "busy");
    assert_eq!(said.status, 3, "{}{}", said.out, said.err);
    let runs = history(&house, "busy");
    assert_eq!(text(&runs[0]["state"]), "limit");
    let session = text(&runs[0]["session"]);
    assert_eq!(house.facts_of_kind(&session, "call.started").len(), 2);
}

#[test]
fn m7_a_run_by_hand_is_refused_while_weir_is_paused_or_the_agent_runs() {
    let house = house(WRITES);
    add(&house, "writer", &["--tools", "write_file", "--on-ask", "queue"]);
    house.ok(&["pause", "looking into it"]);
    let said = run(&house, "writer");
    assert_eq!(said.status, 5, "{}", said.err);
    assert_eq!(history(&house, "writer"), Vec::<Value>::new());
    house.ok(&["release"]);

    let waits = house.start(&["agents", "run", "writer"]);
    let open = wait_until("there is an approval", || first_approval(&house));
    let again = house.usage_error(&["agents", "run", "writer"]);
    assert!(
        again.contains("is not finished") && again.contains(&text(&open["session"])),
        "{again}"
    );
    let answered = house.run(&["approvals", "answer", &text(&open["approval"]), "once"]);
    assert_eq!(answered.status, 0, "{}", answered.err);
    let output = waits.wait_for_end();
    let err = output.err;
    assert_eq!((output.status, read(&house, "work/a.txt")), (0, "new".into()), "{err}");
    assert_eq!(text(&history(&house, "writer")[0]["state"]), "completed");
}

#[test]
fn m7_a_run_that_cannot_be_opened_changes_nothing() {
    let house = house(SAYS);
    add(&house, "lost", &[]);
    std::fs::remove_file(house.at("s.script")).expect("it was there");
    let said = house.usage_error(&["agents", "run", "lost"]);
    assert!(said.contains("s.script"), "{said}");
    assert_eq!(history(&house, "lost"), Vec::<Value>::new());
}

#[test]
fn v2_a_scheduled_agent_thinks_as_much_as_it_was_defined_with() {
    let house = house("says: Thought.\n\nsays: Thought.\n");
    let added = add(&house, "thinker", &["--thinking", "high"]);
    assert_eq!(added["thinking"], "high", "{added}");
    add(&house, "usual", &[]);
    let shown = house.ok(&["agents", "show", "thinker"]);
    assert!(shown.contains("thinking:  high"), "{shown}");
    for (name, level) in [("thinker", "high"), ("usual", "off")] {
        let said = run(&house, name);
        assert_eq!(said.status, 0, "{}{}", said.out, said.err);
        let session = text(&history(&house, name)[0]["session"]);
        let opened = &house.facts_of_kind(&session, "session.opened")[0];
        assert_eq!(opened["config"]["thinking"], level, "{name}");
    }
}
