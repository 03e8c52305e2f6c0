//! Sub-agents through the real program (M6): undo, lists, deletion, crashes, copies of the workspace.

use serde_json::Value;
use weir_test_kit::{CommandOutput, TestInstallation, run_git, wait_until};

/// Two agents that change files, one of which has one do it.
const WRITES: &str = "when: \"write b.txt\"\n\
    calls: write_file {\"path\": \"b.txt\", \"content\": \"b\"}\n\n\
    says: b is written.\nend\n\n\
    when: \"have b.txt written\"\n\
    calls: new_task {\"task\": \"write b.txt\"}\n\n\
    says: It is.\nend\n\n\
    when: \"change a.txt\"\n\
    calls: write_file {\"path\": \"a.txt\", \"content\": \"new\\n\"}\n\n\
    says: a is changed.\nend\n\n\
    calls: new_task {\"task\": \"change a.txt\", \"profile\": \"code\"}\n\
    calls: new_task {\"task\": \"have b.txt written\", \"profile\": \"code\"}\n\n\
    says: Done.\n";

fn house(script: &str) -> TestInstallation {
    TestInstallation::with_script(script)
}

fn run(house: &TestInstallation, args: &[&str]) -> CommandOutput {
    let script = house.script_model();
    let mut all = vec!["run", "-m", script.as_str(), "--permission", "auto-edit"];
    all.extend(args);
    house.run(&all)
}

fn read(house: &TestInstallation, path: &str) -> Option<String> {
    std::fs::read_to_string(house.at(path)).ok()
}

/// The only session that somebody began.
fn root(house: &TestInstallation) -> String {
    let listed = house.json(&["sessions", "list", "--json"]);
    let all = listed.as_array().expect("a list");
    assert_eq!(all.len(), 1, "sub-agents are not listed: {listed}");
    all[0]["id"].as_str().expect("an id").to_owned()
}

#[test]
fn m6_undo_of_the_parent_takes_back_what_its_agents_wrote() {
    let house = house(WRITES);
    let said = run(&house, &["--output", "json", "go"]);
    assert_eq!(said.status, 0, "{}", said.err);
    let finished: Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!(finished["changed_files"], serde_json::json!(["a.txt", "b.txt"]));
    assert_eq!(
        (read(&house, "work/a.txt"), read(&house, "work/b.txt")),
        (Some("new\n".into()), Some("b".into()))
    );
    let id = root(&house);
    let listed = house.json(&["checkpoints", "list", "--session", &id, "--json"]);
    assert_eq!(listed.as_array().map(Vec::len), Some(2), "{listed}");

    let back = house.json(&["undo", &id, "--json"]);
    assert_eq!(
        (&back["session"], back["restored"].as_array().map(Vec::len)),
        (&Value::from(id.as_str()), Some(2))
    );
    assert_eq!(
        (read(&house, "work/a.txt"), read(&house, "work/b.txt")),
        (Some("old\n".into()), None)
    );
    assert_eq!(house.facts_of_kind(&id, "checkpoint.restored").len(), 1, "the parent knows");
    // Without a name it is the session whose agent changed the folder last; and back again.
    house.ok(&["undo", "--redo"]);
    assert_eq!(
        (read(&house, "work/a.txt"), read(&house, "work/b.txt")),
        (Some("new\n".into()), Some("b".into()))
    );
}

#[test]
fn m6_agents_are_listed_with_all_shown_by_name_and_deleted_with_their_parent() {
    let house = house(WRITES);
    assert_eq!(run(&house, &["go"]).status, 0);
    let id = root(&house);
    let all = house.json(&["sessions", "list", "--all", "--json"]);
    let names: Vec<&str> =
        all.as_array().expect("a list").iter().filter_map(|s| s["id"].as_str()).collect();
    for name in [format!("{id}_c1"), format!("{id}_c2"), format!("{id}_c2_c1")] {
        assert!(names.contains(&name.as_str()), "{name} in {names:?}");
        assert!(house.ok(&["replay", &name]).contains("same"), "{name}");
    }
    house.ok(&["replay", &id]);
    // The beginning of a name means the session, not one of its agents.
    let shown = house.json(&["sessions", "show", &id[..12], "--json"]);
    assert_eq!(shown["id"].as_str().or(shown["session"].as_str()), Some(id.as_str()), "{shown}");
    let continued = run(&house, &["--continue", "and now?"]);
    assert!(continued.err.contains(&format!("session {id}\n")), "{}", continued.err);
    house.ok(&["sessions", "delete", &id, "--yes"]);
    let all = house.json(&["sessions", "list", "--all", "--json"]);
    assert_eq!(all, Value::Array(Vec::new()));
}

#[test]
fn m6_killed_with_agents_at_work_it_goes_on_and_nothing_is_done_twice() {
    let script = "when: \"append a line\"\n\
        calls: run_shell {\"command\": \"echo once >> log.txt\"}\n\n\
        delay: 600s\nsays: It is appended.\nend\n\n\
        calls: new_task {\"task\": \"append a line\", \"profile\": \"code\"}\n\
        calls: new_task {\"task\": \"append a line\", \"profile\": \"agent\"}\n\n\
        says: Done.\n";
    let house = house(script);
    let quick = script.replace("delay: 600s\n", "");
    let script = house.script_model();
    let args = ["run", "-m", script.as_str(), "--permission", "full", "go"];
    let running = house.start(&args);
    // The model thinks about its first result until it is ended: a command that ran, and one agent
    // that is at work.
    let id = wait_until("the first agent did something", || {
        let listed = house.json(&["sessions", "list", "--all", "--json"]);
        let ids: Vec<String> = listed.as_array().map_or_else(Vec::new, |all| {
            all.iter().filter_map(|one| one["id"].as_str().map(str::to_owned)).collect()
        });
        let appended =
            |id: &&String| id.contains('_') && !house.facts_of_kind(id, "call.finished").is_empty();
        let agent = ids.iter().find(appended);
        let root = agent.map(|agent| agent.split('_').next().expect("a name").to_owned());
        root.ok_or(listed)
    });
    running.kill();
    house.write(&house.at("s.script"), &quick);
    let resumed = house.run(&["run", "-m", &script, "--resume", &id]);
    assert_eq!((resumed.status, resumed.out.as_str()), (0, "Done.\n"), "{}", resumed.err);
    assert_eq!(read(&house, "work/log.txt").as_deref(), Some("once\nonce\n"), "each exactly once");
    assert_eq!(house.facts_of_kind(&id, "agent.finished").len(), 2);
}

#[test]
fn d9_a_session_at_work_keeps_its_agents_that_have_ended() {
    let house = house(
        "when: \"change a.txt\"\n\
         calls: write_file {\"path\": \"a.txt\", \"content\": \"new\\n\"}\n\n\
         says: a is changed.\nend\n\n\
         calls: new_task {\"task\": \"change a.txt\", \"profile\": \"code\"}\n\n\
         delay: 600s\nsays: Done.\n",
    );
    let script = house.script_model();
    let args = ["run", "-m", script.as_str(), "--permission", "auto-edit", "go"];
    let running = house.start(&args);
    let id = wait_until("the agent has ended", || {
        let listed = house.json(&["sessions", "list", "--json"]);
        let id = listed[0]["id"].as_str().map(str::to_owned);
        let ended = |id: &String| !house.facts_of_kind(id, "agent.finished").is_empty();
        id.filter(ended).ok_or(listed)
    });
    let agent = format!("{id}_c1");
    let before = house.facts_of_kind(&agent, "call.finished");
    assert_eq!(before.len(), 1);
    let said = house.usage_error(&["sessions", "delete", &id, "--yes"]);
    assert!(said.contains("wait until it ends"), "{said}");
    assert_eq!(house.facts_of_kind(&agent, "call.finished"), before, "nothing of it was deleted");
    running.kill();
    house.ok(&["undo", &id]);
    assert_eq!(read(&house, "work/a.txt"), Some("old\n".into()), "its checkpoint is there");
    house.ok(&["sessions", "delete", &id, "--yes"]);
    let all = house.json(&["sessions", "list", "--all", "--json"]);
    assert_eq!(all, Value::Array(Vec::new()));
}

/// Two agents that write at once in copies of their own, and what the parent does then.
fn copies(then: &str) -> TestInstallation {
    let script = format!(
        "when: \"first copy\"\n\
         calls: edit_file {{\"path\": \"a.txt\", \"old_text\": \"one\", \"new_text\": \"first\"}}\n\n\
         says: The first is done.\nend\n\n\
         when: \"second copy\"\n\
         calls: write_file {{\"path\": \"b.txt\", \"content\": \"second\\n\"}}\n\n\
         says: The second is done.\nend\n\n\
         calls: new_task {{\"task\": \"first copy\", \"profile\": \"code\", \"worktree\": true}}\n\
         calls: new_task {{\"task\": \"second copy\", \"profile\": \"code\", \"worktree\": true}}\n\n\
         expect: result \"+first\"\n{then}"
    );
    let house = TestInstallation::new();
    house.write(&house.at("work/a.txt"), "one\ntwo\nthree\nfour\nfive\n");
    house.write(&house.at("s.script"), &script);
    run_git(&house.work(), &["init", "-q", "-b", "main"]);
    run_git(&house.work(), &["add", "."]);
    run_git(&house.work(), &["commit", "-q", "-m", "first"]);
    house
}

/// Runs with a name for the session that the script can know: scripts name agents by it.
fn merged(house: &TestInstallation, prompt: &str) -> (String, CommandOutput) {
    let said = run(house, &[prompt]);
    let id = root(house);
    (id, said)
}

#[test]
fn m6_agents_in_copies_change_nothing_until_they_are_merged() {
    let house = copies("says: Both are there.\n");
    let (id, said) = merged(&house, "go");
    assert_eq!(said.status, 0, "{}", said.err);
    assert_eq!(read(&house, "work/a.txt").as_deref(), Some("one\ntwo\nthree\nfour\nfive\n"));
    assert_eq!(read(&house, "work/b.txt"), None);
    assert_eq!(run_git(&house.work(), &["status", "--porcelain"]), "");
    for agent in ["c1", "c2"] {
        assert!(house.at(&format!("work/.weir/worktrees/{id}_{agent}")).is_dir());
    }
    // What a model is told to do next is a tool that there is.
    let told = format!("{:?}", house.facts_of_kind(&id, "call.finished"));
    for agent in ["c1", "c2"] {
        let named = told.contains("merge_agent {") && told.contains(&format!("{id}_{agent}"));
        assert!(named && !told.contains("new_task {"), "{agent}: {told}");
    }
    // A file that changed here meanwhile is merged line by line.
    house.write(&house.at("work/a.txt"), "one\ntwo\nthree\nfour\nsix\n");
    let then = format!(
        "calls: find_tool {{\"query\": \"merge_agent\"}}\n\n\
         calls: call_tool {{\"tool\": \"merge_agent\", \"arguments\": {{\"agent\": \"{id}_c1\"}}}}\n\n\
         calls: call_tool {{\"tool\": \"merge_agent\", \"arguments\": {{\"agent\": \"{id}_c2\"}}}}\n\n\
         calls: call_tool {{\"tool\": \"merge_agent\", \"arguments\": {{\"agent\": \"{id}_c1\"}}}}\n\n\
         says: Merged.\n"
    );
    house.write(&house.at("s.script"), &format!("when: \"merge them\"\n{then}end\n"));
    let script = house.script_model();
    let said = house.run(&["run", "-m", &script, "--resume", &id, "merge them"]);
    assert_eq!((said.status, said.out.as_str()), (0, "Merged.\n"), "{}", said.err);
    assert_eq!(
        read(&house, "work/a.txt").as_deref(),
        Some("first\ntwo\nthree\nfour\nsix\n"),
        "{}",
        said.err
    );
    assert_eq!(read(&house, "work/b.txt").as_deref(), Some("second\n"));
    assert!(!house.at("work/.weir/worktrees").exists(), "the copies are gone");
    let results = house.facts_of_kind(&id, "call.finished");
    let last = results.last().expect("a result").to_string();
    assert!(last.contains("no copy"), "{last}");
    // It was a write like any other.
    house.ok(&["undo", &id]);
    assert_eq!(read(&house, "work/a.txt").as_deref(), Some("one\ntwo\nthree\nfour\nsix\n"));
    assert_eq!(read(&house, "work/b.txt"), None);
}

#[test]
fn m6_what_both_changed_in_one_place_is_not_merged() {
    let house = copies("says: Both are there.\n");
    let (id, said) = merged(&house, "go");
    assert_eq!(said.status, 0, "{}", said.err);
    house.write(&house.at("work/a.txt"), "mine\ntwo\nthree\nfour\nfive\n");
    let then = format!(
        "calls: find_tool {{\"query\": \"merge_agent\"}}\n\n\
         calls: call_tool {{\"tool\": \"merge_agent\", \"arguments\": {{\"agent\": \"{id}_c1\"}}}}\n\n\
         calls: call_tool {{\"tool\": \"merge_agent\", \"arguments\": {{\"agent\": \"nobody_c1\"}}}}\n\n\
         says: It clashes.\n"
    );
    house.write(&house.at("s.script"), &format!("when: \"merge them\"\n{then}end\n"));
    let script = house.script_model();
    let said = house.run(&["run", "-m", &script, "--resume", &id, "merge them"]);
    assert_eq!((said.status, said.out.as_str()), (0, "It clashes.\n"), "{}", said.err);
    assert_eq!(read(&house, "work/a.txt").as_deref(), Some("mine\ntwo\nthree\nfour\nfive\n"));
    let results: String =
        house.facts_of_kind(&id, "call.finished").iter().map(Value::to_string).collect();
    assert!(results.contains("in the same place"), "{results}");
    assert!(results.contains("is not an agent that you started"), "{results}");
    house.ok(&["sessions", "delete", &id, "--yes"]);
    assert!(!house.at("work/.weir/worktrees").exists(), "the copies go with the session");
    assert_eq!(run_git(&house.work(), &["worktree", "list"]).lines().count(), 1);
}

#[test]
fn m6_without_a_repository_there_is_no_copy() {
    let script = "when: \"a copy\"\nsays: Never.\nend\n\n\
        calls: new_task {\"task\": \"a copy\", \"worktree\": true}\n\n\
        expect: result \"no git repository\"\nsays: There is none.\n";
    let said = run(&house(script), &["go"]);
    assert_eq!((said.status, said.out.as_str()), (0, "There is none.\n"), "{}", said.err);
}
