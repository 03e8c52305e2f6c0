//! Runs in the background (`weir run --detach`, `weir sessions attach`, R7): they outlive whoever started
//! them, wait for answers, and are found again after `kill -9`. Not here: what a terminal shows
//! (`terminal`, `two_faces`).

use std::process::Stdio;

use serde_json::{Value, json};
use weir_test_kit::{CommandOutput, RunningProgram, TestInstallation, wait_until};

fn house(calls: &[(&str, Value)]) -> TestInstallation {
    let house = TestInstallation::with_script("says: Done.\n");
    script(&house, calls);
    house
}

fn script(house: &TestInstallation, calls: &[(&str, Value)]) {
    let turns: String =
        calls.iter().map(|(tool, input)| format!("calls: {tool} {input}\n\n")).collect();
    house.write("s.script", &format!("{turns}says: Done.\n"));
}

/// A model that makes these calls, and stops in the last one.
fn script_of_calls(house: &TestInstallation, calls: &[(&str, Value)]) {
    let turns: Vec<String> =
        calls.iter().map(|(tool, input)| format!("calls: {tool} {input}\n")).collect();
    house.write("s.script", &turns.join("\n"));
}

/// More calls of the same model, after those that it has made.
fn go_on(house: &TestInstallation, calls: &[(&str, Value)]) {
    let before = house.read("s.script").expect("a script");
    script(house, calls);
    let more = house.read("s.script").expect("a script");
    house.write("s.script", &format!("{before}\n{more}"));
}

fn write(path: &str, content: &str) -> (&'static str, Value) {
    ("write_file", json!({ "path": path, "content": content }))
}

/// Starts a run in the background: what `--output json` says of it.
fn detach(house: &TestInstallation, more: &[&str]) -> Value {
    let model = house.script_model();
    let mut all = vec!["run", "-m", &model, "--detach", "--output", "json"];
    all.extend(more);
    house.json(&all)
}

fn status(house: &TestInstallation, id: &str) -> String {
    let listed = house.json(&["sessions", "list", "--json"]);
    let of = |row: &&Value| row["id"] == id;
    let row = listed.as_array().into_iter().flatten().find(of).cloned().unwrap_or_default();
    row["status"].as_str().unwrap_or_default().to_owned()
}

fn wait_for_status(house: &TestInstallation, id: &str, wanted: &str) {
    wait_until(&format!("the session is {wanted}"), || match status(house, id) {
        now if now == wanted => Ok(()),
        now => Err(now),
    });
}

fn is_alive(pid: &Value) -> bool {
    // A zombie has ended.
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.lines().any(|line| line.starts_with("State:") && !line.contains('Z'))
}

#[test]
fn r7_a_run_in_the_background_goes_on_and_is_found() {
    let house = house(&[write("a.txt", "new\n")]);
    let begun = detach(&house, &["--permission", "auto-edit", "go"]);
    let id = begun["session"].as_str().expect("an id").to_owned();
    assert!(!house.facts_of_kind(&id, "input.accepted").is_empty(), "what was said is kept");
    wait_for_status(&house, &id, "completed");
    assert_eq!(house.read("work/a.txt").as_deref(), Some("new\n"));
    let log = begun["log"].as_str().expect("a path");
    wait_until("its output is in the log", || {
        let said = std::fs::read_to_string(log).unwrap_or_default();
        if said.contains("\"run.finished\"") { Ok(()) } else { Err(said) }
    });
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(log).expect("a file"));
    assert_eq!(mode & 0o777, 0o600, "for nobody else");
    wait_until("the program has ended", || {
        if is_alive(&begun["pid"]) { Err("it lives") } else { Ok(()) }
    });
    house.ok(&["sessions", "delete", &id, "--yes"]);
    assert!(!std::path::Path::new(log).exists(), "it goes with its session");
}

#[test]
fn r7_a_start_that_fails_leaves_what_earlier_runs_printed() {
    let house = house(&[]);
    let begun = detach(&house, &["go"]);
    let id = begun["session"].as_str().expect("an id").to_owned();
    wait_for_status(&house, &id, "completed");
    wait_until("the program has ended", || {
        if is_alive(&begun["pid"]) { Err("it lives") } else { Ok(()) }
    });
    let log = begun["log"].as_str().expect("a path");
    let printed = std::fs::read_to_string(log).expect("a file");
    let said = house.run(&["run", "--resume", &id, "-m", "no/such", "--detach", "again"]);
    assert_eq!(said.status, 2, "{said:?}");
    assert!(said.err.contains("no/such") || said.err.contains("provider"), "{said:?}");
    assert!(!said.err.contains("run.finished"), "only what is new: {said:?}");
    assert_eq!(std::fs::read_to_string(log).expect("a file"), printed);
}

#[test]
fn r7_the_id_stands_alone_on_standard_output() {
    let house = house(&[]);
    let model = house.script_model();
    let said = house.run(&["run", "-m", &model, "--detach", "go"]);
    let id = said.out.trim();
    assert_eq!((said.status, id.len()), (0, 32), "{said:?}");
    assert!(said.err.contains(&format!("weir sessions attach {id}")), "{said:?}");
    wait_for_status(&house, id, "completed");
}

#[test]
fn r7_what_a_run_in_the_background_asks_is_answered_elsewhere() {
    let house = house(&[write("a.txt", "new\n")]);
    let begun = detach(&house, &["go"]);
    let id = begun["session"].as_str().expect("an id").to_owned();
    wait_for_status(&house, &id, "waiting");
    // Whoever sits at a terminal sees it, answers, and leaves.
    let attach = house.command(&["sessions", "attach", &id, "--plain"]);
    let mut face = RunningProgram::start_with_input(attach);
    face.wait_for("a.txt", 1);
    let open = house.json(&["approvals", "list", "--json"]);
    let approval = open["approvals"][0]["approval"].as_str().expect("a question").to_owned();
    house.ok(&["approvals", "answer", &approval, "once"]);
    face.wait_for("Done.", 1);
    face.type_line("/quit");
    wait_for_status(&house, &id, "completed");
    assert_eq!(house.read("work/a.txt").as_deref(), Some("new\n"));
}

#[test]
fn r7_a_killed_run_in_the_background_goes_on_where_it_was() {
    let slow = json!({ "command": "touch begun; sleep 60" });
    let house = house(&[]);
    script_of_calls(&house, &[write("a.txt", "half\n"), ("run_shell", slow)]);
    let begun = detach(&house, &["--permission", "full", "go"]);
    let id = begun["session"].as_str().expect("an id").to_owned();
    wait_until("the command runs", || {
        if house.at("work/begun").exists() { Ok(()) } else { Err("not yet") }
    });
    let busy = house.usage_error(&["run", "--resume", &id, "more"]);
    assert!(busy.contains(&begun["pid"].to_string()), "it is named: {busy}");
    std::process::Command::new("kill")
        .args(["-9", &begun["pid"].to_string()])
        .status()
        .expect("kill is there");
    wait_for_status(&house, &id, "interrupted");
    go_on(&house, &[write("b.txt", "the rest\n")]);
    let again = detach(&house, &["--resume", &id, "--permission", "full", "go on"]);
    assert_eq!(again["session"], id.as_str(), "the same session");
    wait_until("it is done", || match house.read("work/b.txt") {
        Some(_) => Ok(()),
        None => Err(status(&house, &id)),
    });
    wait_for_status(&house, &id, "completed");
    assert_eq!(house.read("work/a.txt").as_deref(), Some("half\n"));
}

/// What the journal of a run tells, in order: behind each of them it is killed once.
const MOMENTS: [&str; 6] = [
    "input.accepted",
    "model.requested",
    "call.started",
    "call.finished",
    "turn.started",
    "run.finished",
];

#[test]
fn r7_a_run_in_the_background_that_is_killed_at_any_moment_does_nothing_twice() {
    let script = |delay: &str| {
        let append = |name: &str| {
            let input = json!({ "path": name, "content": "one\n" });
            format!("delay: {delay}\ncalls: append_to_file {input}\n\n")
        };
        format!("{}{}delay: {delay}\nsays: Done.\n", append("one.txt"), append("two.txt"))
    };
    let mut taken_up = 0;
    for kind in MOMENTS {
        let house = house(&[]);
        // So slow that it is on its way while somebody looks; then nobody has to wait.
        house.write("s.script", &script("1000ms"));
        let begun = detach(&house, &["--permission", "auto-edit", "go"]);
        let id = begun["session"].as_str().expect("an id").to_owned();
        wait_until(kind, || match house.facts_of_kind(&id, kind).len() {
            0 => Err("it is not told yet"),
            _ => Ok(()),
        });
        // It may have ended by itself.
        std::process::Command::new("kill")
            .args(["-9", &begun["pid"].to_string()])
            .status()
            .expect("kill is there");
        wait_until("the program has ended", || {
            if is_alive(&begun["pid"]) { Err("it lives") } else { Ok(()) }
        });
        house.write("s.script", &script("1ms"));
        if status(&house, &id) != "completed" {
            taken_up += 1;
            let again = detach(&house, &["--resume", &id, "--permission", "auto-edit"]);
            assert_eq!(again["session"], id.as_str(), "{kind}: the same session");
            wait_for_status(&house, &id, "completed");
        }
        for name in ["work/one.txt", "work/two.txt"] {
            assert_eq!(house.read(name).as_deref(), Some("one\n"), "{kind}: {name}");
        }
        assert_eq!(house.facts_of_kind(&id, "input.accepted").len(), 1, "{kind}: said once");
    }
    assert!(taken_up > 0, "each had ended by itself before it was killed");
}

#[test]
fn r7_a_fork_and_a_piped_task_run_in_the_background() {
    let house = house(&[]);
    let model = house.script_model();
    let mut command = house.command(&["run", "-m", &model, "--detach", "--output", "json"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut input = child.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut input, b"a task from a pipe").expect("written");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    let first: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let first = first["session"].as_str().expect("an id").to_owned();
    wait_for_status(&house, &first, "completed");
    assert!(house.ok(&["sessions", "show", &first]).contains("a task from a pipe"));
    let fork = detach(&house, &["--fork", &first, "and now"]);
    let fork = fork["session"].as_str().expect("an id").to_owned();
    assert_ne!(fork, first);
    wait_for_status(&house, &fork, "completed");
    assert!(house.ok(&["sessions", "show", &fork]).contains("and now"));
}

#[test]
fn r7_what_cannot_begin_in_the_background_says_so_at_once() {
    let house = house(&[]);
    let model = house.script_model();
    let said = house.usage_error(&["run", "-m", "no/model", "--detach", "go"]);
    assert!(said.contains("there is no provider"), "{said}");
    let said = house.usage_error(&["run", "-m", &model, "--detach", "--resume", "nobody", "go"]);
    assert!(said.contains("there is no session"), "{said}");
    let said = house.usage_error(&["run", "-m", &model, "--detached=../../x", "go"]);
    assert!(said.contains("use that"), "{said}");
    // What an agent starts ends with its command.
    let mut command = house.command(&["run", "-m", &model, "--detach", "go"]);
    command.env("WEIR_SUPERVISED", "/state/commands/1").stdin(Stdio::null());
    let refused = CommandOutput::of(command.output().expect("it starts"));
    assert_eq!(refused.status, 2, "{refused:?}");
    assert!(refused.err.contains("an agent runs"), "{refused:?}");
}
