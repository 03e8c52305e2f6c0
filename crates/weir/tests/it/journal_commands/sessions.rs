//! Sessions are shown, taken along, forked, left alone, removed; scripts are served.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use weir_test_kit::TestInstallation;

use super::{LINES, MARKER, changed, files, holds, house, newest, read, run_of};

/// A picture of one pixel.
const PIXEL: &[u8] = &[
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52,
    0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x06, 0x00, 0x00, 0x00, 0x1f, 0x15, 0xc4,
    0x89, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x44, 0x41, 0x54, 0x78, 0x9c, 0x63, 0xf8, 0xcf, 0xc0, 0xf0,
    0x1f, 0x00, 0x05, 0x00, 0x01, 0xff, 0x89, 0x99, 0x3d, 0x1d, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45,
    0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
];

#[test]
fn d9_delete_removes_everything() {
    let house = house();
    let script = house.at("t.script");
    let shell = "calls: run_shell {\"command\": \"echo from a shell\"}\n\n";
    house.write(&script, &read(&script).replacen("think:", &format!("{shell}think:"), 1));
    let said = house.run(&["run", "-m", "script:../t.script", "--permission", "full", "do it"]);
    assert!(said.err.contains("echo from a shell"), "{}", said.err);
    let id = newest(&house);
    let state = house.at("state/weir");
    let jobs = state.join("jobs");
    assert!(files(&jobs).iter().any(|path| path.display().to_string().contains(&id)));
    assert!(house.usage_error(&["sessions", "delete", &id]).contains("--yes"));
    house.ok(&["sessions", "show", &id]);
    house.ok(&["sessions", "delete", &id[..30], "--yes"]);
    assert_eq!(house.json(&["sessions", "list", "--json"]), serde_json::json!([]));
    assert_eq!(house.json(&["sessions", "search", "closely", "--json"]), serde_json::json!([]));
    assert!(house.ok(&["checkpoints", "list"]).contains("no checkpoint"));
    for path in files(&state) {
        let name = path.display().to_string();
        assert!(!holds(&path, MARKER), "{name} still holds what the session wrote");
        // Locks of places in the workspace belong to no session.
        let lock = name.contains("/jobs/.placeholders/");
        assert!(lock || !name.contains("/jobs/"), "{name} is a record of its command");
    }
    assert!(house.usage_error(&["sessions", "show", &id]).contains("no session"));
    // What was done to the world stays told, by the whole id.
    assert!(house.ok(&["audit", "tail", "--session", &id, "-n", "99"]).contains("edit_file"));
    house.ok(&["audit", "verify"]);
}

#[test]
fn d9_export_is_complete_and_a_fork_keeps_its_bytes() {
    let house = house();
    std::fs::write(house.at("work/dot.png"), PIXEL).expect("writable");
    house.ok(&run_of(&["--attach", "dot.png", "look <script>alert(1)</script>"]));
    let id = newest(&house);
    let html = house.ok(&["sessions", "export", &id, "--format", "html"]);
    assert!(html.contains("src=\"data:image/png;base64,iVBORw0KGgo"), "the picture is in it");
    assert!(html.contains("&lt;script&gt;alert(1)") && !html.contains("<script"), "escaped");
    assert!(html.contains("All three are changed.") && html.contains("hard floor"));
    let markdown = house.ok(&["sessions", "export", &id, "--format", "markdown"]);
    assert!(markdown.contains("]: data:image/png;base64,iVBORw0KGgo"), "{markdown}");
    let jsonl = house.ok(&["sessions", "export", &id]);
    let schema = house.json(&["schema", "events"]);
    let schema = jsonschema::draft202012::new(&schema).expect("a schema");
    let mut facts = 0;
    for line in jsonl.lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        assert!(schema.is_valid(&line), "{}", line["kind"]);
        facts += u64::from(line["seq"].is_u64());
    }
    assert_eq!(facts, house.json(&["sessions", "list", "--json"])[0]["facts"], "every fact");
    assert!(jsonl.contains("\"kind\":\"blob.exported\""));
    // A file is never written over.
    house.ok(&["sessions", "export", &id, "-o", "out.jsonl"]);
    assert!(
        house.usage_error(&["sessions", "export", &id, "-o", "out.jsonl"]).contains("out.jsonl")
    );

    assert!(house.usage_error(&["sessions", "fork", &id, "--at", "9"]).contains("not at rest"));
    let fork = house.json(&["sessions", "fork", &id, "--json"]);
    assert_eq!((&fork["parent"], &fork["facts"]), (&id.as_str().into(), &facts.into()));
    let fork = fork["session"].as_str().expect("an id").to_owned();
    assert_eq!(newest(&house), fork, "a fork is the newest session");
    assert!(house.ok(&["replay", &fork]).starts_with("the same"));
    let show = house.json(&["sessions", "show", "last", "--json"]);
    assert_eq!((&show["parent"], &show["turns"]), (&id.as_str().into(), &4.into()));
    house.ok(&["sessions", "delete", &id, "--yes"]);
    let html = house.ok(&["sessions", "export", &fork, "--format", "html"]);
    assert!(html.contains("src=\"data:image/png;base64,iVBORw0KGgo"), "its bytes are its own");
    house.ok(&["audit", "verify"]);
    assert_eq!(house.ok(&["audit", "tail", "--session", &fork, "--json"]).lines().count(), 1);
}

#[test]
fn v7_a_session_as_a_script_plays_again() {
    let (house, id) = changed();
    let script = house.ok(&["sessions", "export", &id, "--format", "script"]);
    let other = self::house();
    other.write(&other.at("t.script"), &script);
    let answer = other.ok(&run_of(&["change things"]));
    assert_eq!(answer.trim(), "All three are changed.");
    let said = |house: &TestInstallation| {
        let show = house.json(&["sessions", "show", "last", "--json", "--all"]);
        let said = show["events"].as_array().expect("facts").iter();
        let said = said.filter(|fact| fact["kind"] == "model.replied");
        let said: Vec<Value> = said.map(|fact| fact["content"].clone()).collect();
        (said, show["changed_files"].clone(), show["calls"].clone())
    };
    assert_eq!(said(&house), said(&other));
}

#[test]
fn l15_show_tells_usage_cost_denials_and_what_is_open() {
    let (house, id) = changed();
    let show = house.json(&["sessions", "show", &id, "--json"]);
    assert!(show["cost_usd"].as_f64().expect("known") > 0.0 && show["usage"]["input"].is_u64());
    assert_eq!(show["runs"][0]["status"], "completed");
    assert_eq!(show["denials"][0]["tool"], "run_shell");
    assert_eq!(show["changed_files"], serde_json::json!(["a.txt", "b.bin", "n.txt"]));
    let told = house.ok(&["sessions", "show", &id]);
    assert!(told.contains("All three are changed.") && told.contains("-> c3 edit_file"), "{told}");
    let script = "calls: ask_followup_question {\"question\": \"Which harbour?\"}\n\nsays: ok\n";
    house.write(&house.at("t.script"), script);
    assert_eq!(house.run(&run_of(&["ask"])).status, 4);
    let show = house.json(&["sessions", "show", "last", "--json"]);
    assert_eq!(show["question"]["text"], "Which harbour?");
    assert!(house.ok(&["sessions", "show", "last"]).contains("asks        Which harbour?"));
    assert!(house.ok(&["sessions", "search", "harbour"]).contains(&newest(&house)));
    assert!(house.usage_error(&["sessions", "show", "zz"]).contains("sessions list"));
}

#[test]
fn q10_the_end_of_a_session_is_shown_as_in_all_of_it() {
    let (house, id) = changed();
    let (whole, end) =
        (house.ok(&["sessions", "show", &id]), house.ok(&["sessions", "show", &id, "--last", "2"]));
    let split = |text: &str| text.split("\n\n[").map(str::to_owned).collect::<Vec<_>>();
    let (whole, end) = (split(&whole), split(&end));
    assert_eq!(end.len(), 3, "the summary and two entries: {end:?}");
    assert_eq!(end[1..], whole[whole.len() - 2..]);
    assert!(end[0].contains("\ncost ") && !end[0].contains("\nwork "), "{}", end[0]);
    let all = split(&house.ok(&["sessions", "show", &id, "--last", "9999"]));
    assert_eq!(all[1..], whole[1..]);
    let show = house.json(&["sessions", "show", &id, "--last", "1", "--json"]);
    assert_eq!(show["events"][0]["kind"], "run.finished");
    assert!(show["events"].as_array().is_some_and(|lines| lines.len() == 1), "{show}");
    assert!(show["cost_usd"].is_f64() && show.get("runs").is_none(), "{show}");
    house.usage_error(&["sessions", "show", &id, "--last", "1", "--all"]);
}

/// A session at work that never comes to an end by itself.
fn hanging(house: &TestInstallation) -> (Child, String) {
    let script = read(&house.at("t.script"));
    let script = script.replacen("says: All three are changed.", "error: hang", 1);
    house.write(&house.at("t.script"), &script);
    let mut command = house.command(&run_of(&["change things"]));
    let mut child =
        command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it starts");
    let stderr = BufReader::new(child.stderr.take().expect("piped"));
    // The last change is made; what comes now is the answer that never comes.
    for line in stderr.lines().map_while(Result::ok) {
        if line.contains("c6 not allowed") {
            break;
        }
    }
    let id = newest(house);
    (child, id)
}

#[test]
fn d2_a_session_at_work_is_left_alone_and_shows_as_interrupted_after_a_kill() {
    let house = house();
    let (mut child, id) = hanging(&house);
    let status = || house.json(&["sessions", "list", "--json"])[0]["status"].clone();
    assert_eq!(status(), "running");
    for args in [&["sessions", "delete", &id, "--yes"][..], &["undo", &id]] {
        let said = house.usage_error(args);
        assert!(said.contains(&format!("process {}", child.id())), "{said}");
    }
    assert_eq!(read(&house.at("work/a.txt")), LINES.replace("two", "TWO"));
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    assert_eq!(status(), "interrupted");
    house.ok(&["undo", &id]);
    assert_eq!(read(&house.at("work/a.txt")), LINES);
    assert_eq!(status(), "interrupted", "an undo does not make it look alive");
    assert!(house.ok(&["replay", &id]).starts_with("the same"));
    // The fork of an interrupted session has what was there before the run.
    let fork = house.run(&["sessions", "fork", &id]);
    assert_eq!(fork.status, 0, "{}", fork.err);
    house.ok(&["sessions", "delete", &id, "--yes"]);
}

#[test]
fn v6_script_serve_speaks_http_until_a_signal() {
    let house = house();
    house.write(&house.at("bad.script"), "dances: well\n");
    let said = house.usage_error(&["script", "serve", "../bad.script"]);
    assert!(said.contains("bad.script") && said.contains("line 1"), "{said}");
    let mut command = house.command(&["script", "serve", "../t.script", "--record", "seen.jsonl"]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut first = String::new();
    let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
    stdout.read_line(&mut first).expect("a line");
    let address = first.trim().strip_prefix("listening on http://").expect("its address");
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream
        .write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("{\"status\":\"ok\"}"));
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::INT).expect("it can be interrupted");
    assert!(child.wait().expect("it ends").success(), "an interrupt ends it well");
    assert!(read(&house.at("work/seen.jsonl")).contains("/healthz"));
}
