//! The commands that look back: sessions, checkpoints, undo, replay, audit, script; on sessions
//! that the program itself ran with a scripted model.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::house::House;

/// Longer than what audit lines show as it is.
const LONG: usize = 400;
/// Stands in the content of a file, and nowhere else.
const MARKER: &str = "a marker in a file";
/// A picture of one pixel.
const PIXEL: &[u8] = &[
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52,
    0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x06, 0x00, 0x00, 0x00, 0x1f, 0x15, 0xc4,
    0x89, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x44, 0x41, 0x54, 0x78, 0x9c, 0x63, 0xf8, 0xcf, 0xc0, 0xf0,
    0x1f, 0x00, 0x05, 0x00, 0x01, 0xff, 0x89, 0x99, 0x3d, 0x1d, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45,
    0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
];
const LINES: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";

/// Changes a file, makes one, deletes a binary one; then says what it was told since.
const CHANGES: &str = r#"
name: tester
price: input=3 output=15

think: I should look first.
says: Looking closely at <b>everything</b>.
calls: read_file {"path": "a.txt"}
calls: list_files {"path": "."}

calls: edit_file {"path": "a.txt", "old_text": "two", "new_text": "TWO"}
calls: write_file {"path": "n.txt", "content": "CONTENT"}

calls: delete_file {"path": "b.bin"}
calls: run_shell {"command": "git push --force"}

says: All three are changed.

expect: text "took changes back"
says: I know that it was undone.
"#;

/// A house whose workspace has files, and a script that changes them.
fn house() -> House {
    let house = House::new();
    house.write(&house.at("work/a.txt"), LINES);
    std::fs::write(house.at("work/b.bin"), b"x\0y").expect("writable");
    let content = format!("{MARKER}{}", "-".repeat(LONG));
    house.write(&house.at("t.script"), &CHANGES.replace("CONTENT", &content));
    house
}

/// The same after the run; the session's id.
fn changed() -> (House, String) {
    let house = house();
    house.ok(&run_of(&["change things"]));
    let id = newest(&house);
    (house, id)
}

fn run_of<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec!["run", "-m", "script:../t.script", "--permission", "auto-edit"];
    args.extend(rest);
    args
}

fn newest(house: &House) -> String {
    let list = house.json(&["sessions", "list", "--json"]);
    list[0]["id"].as_str().expect("a session").to_owned()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("readable")
}

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

fn holds(path: &Path, text: &str) -> bool {
    let bytes = std::fs::read(path).expect("readable");
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// Changes bytes of a file in place, wherever `from` stands.
fn patch(path: &Path, from: &str, to: &str) {
    assert_eq!(from.len(), to.len(), "the file keeps its form");
    let mut bytes = std::fs::read(path).expect("readable");
    let places: Vec<usize> = (0..bytes.len().saturating_sub(from.len()))
        .filter(|at| bytes[*at..].starts_with(from.as_bytes()))
        .collect();
    assert!(!places.is_empty(), "{from} stands in {}", path.display());
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
    std::fs::write(path, bytes).expect("writable");
}

#[test]
fn g7_undo_takes_a_run_back_and_a_second_undo_brings_it_again() {
    let (house, id) = changed();
    let work = |name: &str| house.at("work").join(name);
    let is_done = || {
        assert_eq!(read(&work("a.txt")), LINES.replace("two", "TWO"));
        assert!(!work("b.bin").exists() && holds(&work("n.txt"), MARKER));
    };
    let is_undone = || {
        assert_eq!(read(&work("a.txt")), LINES);
        assert_eq!(std::fs::read(work("b.bin")).expect("it is back"), b"x\0y");
        assert!(!work("n.txt").exists());
    };
    is_done();
    let told = house.ok(&["undo", "--dry-run"]);
    assert!(told.contains("a.txt  changed, +1 -1") && told.contains("b.bin  created"), "{told}");
    is_done();
    let said = house.json(&["undo", "--json"]);
    assert_eq!(said["session"], id.as_str());
    assert_eq!(said["restored"].as_array().map(Vec::len), Some(3), "{said}");
    is_undone();
    house.ok(&["undo"]);
    is_done();
    house.ok(&["undo", &id, "--redo"]);
    is_undone();
    // Nothing is there twice: the run's own changes are as before already.
    let again = house.json(&["undo", "--run", "r1", "--json"]);
    assert_eq!(again["already"].as_array().map(Vec::len), Some(3), "{again}");
    assert!(house.refused(&["undo", "--run", "r9"]).contains("runs that did: r1"));
    // The journal knows, the audit knows, and the agent is told when it goes on.
    let facts = house.ok(&["sessions", "show", &id, "--all"]);
    assert_eq!(facts.matches("checkpoint.restored").count(), 3, "{facts}");
    assert!(house.ok(&["audit", "tail", "-n", "50"]).contains("checkpoint.restored"));
    let mut resume = run_of(&["--resume", "last"]);
    resume.push("go on");
    assert_eq!(house.ok(&resume).trim(), "I know that it was undone.");
    assert!(house.ok(&["replay", &id]).starts_with("the same"));
    house.ok(&["audit", "verify"]);
}

#[test]
fn g7_undo_leaves_what_a_person_changed_and_merges_only_when_asked() {
    let house = house();
    house.write(&house.at("work/c.txt"), LINES);
    let script = "calls: edit_file {\"path\": \"a.txt\", \"old_text\": \"two\", \"new_text\": \"TWO\"}\n\
                  calls: edit_file {\"path\": \"c.txt\", \"old_text\": \"two\", \"new_text\": \"TWO\"}\n\
                  calls: write_file {\"path\": \"n.txt\", \"content\": \"new\"}\n\n\
                  says: done\n";
    house.write(&house.at("t.script"), script);
    house.ok(&run_of(&["change"]));
    let mine = LINES.replace("two", "TWO").replace("seven", "mine");
    house.write(&house.at("work/a.txt"), &mine);
    let overlapping = LINES.replace("two", "TWO and mine");
    house.write(&house.at("work/c.txt"), &overlapping);
    let said = house.run(&["undo"]);
    assert_eq!(said.status, 1, "conflicts were left: {}", said.out);
    assert!(said.out.contains("a.txt  both changes fit together: --merge"), "{}", said.out);
    assert!(said.out.contains("c.txt  both changed the same lines"), "{}", said.out);
    assert_eq!(read(&house.at("work/a.txt")), mine, "what a person wrote stays");
    assert!(!house.at("work/n.txt").exists(), "the rest was taken back");
    let said = house.run(&["undo", "--run", "r1", "--merge"]);
    assert_eq!(said.status, 1, "{}", said.out);
    assert_eq!(read(&house.at("work/a.txt")), LINES.replace("seven", "mine"));
    assert_eq!(read(&house.at("work/c.txt")), overlapping, "never markers");
    assert!(house.ok(&["replay", "last"]).starts_with("the same"));
}

#[test]
fn g7_undo_of_one_file_leaves_the_others() {
    let (house, _) = changed();
    house.ok(&["undo", "--path", "a.txt"]);
    assert_eq!(read(&house.at("work/a.txt")), LINES);
    assert!(house.at("work/n.txt").exists() && !house.at("work/b.bin").exists());
    house.ok(&["undo", "--path", "b.bin"]);
    assert!(house.at("work/b.bin").exists() && house.at("work/n.txt").exists());
    assert!(house.refused(&["undo", "--path", "other"]).contains("a.txt"));
    let elsewhere = house.at("elsewhere");
    std::fs::create_dir(&elsewhere).expect("a new folder");
    let elsewhere = elsewhere.display().to_string();
    assert!(house.refused(&["undo", "-C", &elsewhere]).contains("nothing to undo"));
}

#[test]
fn g7_checkpoints_are_listed_compared_restored_and_collected() {
    let (house, id) = changed();
    let list = house.json(&["checkpoints", "list", "--session", &id, "--json"]);
    let rows = list.as_array().expect("a list");
    assert_eq!(rows.len(), 3);
    let of = |path: &str| {
        let row = rows.iter().find(|row| row["changes"][0]["path"] == path).expect(path);
        row["id"].as_str().expect("a name")[..8].to_owned()
    };
    let (a, b) = (of("a.txt"), of("b.bin"));
    let diff = house.ok(&["checkpoints", "diff", &a]);
    assert!(diff.contains("--- a/a.txt\n+++ b/a.txt\n") && diff.contains("-two\n+TWO\n"), "{diff}");
    assert!(house.ok(&["checkpoints", "diff", &b, "b.bin"]).contains("binary content of 3 bytes"));
    assert!(house.refused(&["checkpoints", "diff", &a, "b.bin"]).contains("a.txt"));
    assert!(house.refused(&["checkpoints", "diff", "ffffffff"]).contains("checkpoints list"));
    house.ok(&["checkpoints", "restore", &b]);
    assert!(house.at("work/b.bin").exists() && house.at("work/n.txt").exists());
    let call = house.ok(&["checkpoints", "diff", &b]);
    assert!(call.contains("No difference"), "{call}");
    assert!(house.ok(&["checkpoints", "list"]).contains("restore"));
    let kept = house.json(&["checkpoints", "gc", "--older-than", "1h", "--json"]);
    assert_eq!(kept["removed"], 0);
    let gone = house.json(&["checkpoints", "gc", "--older-than", "0s", "--json"]);
    assert_eq!(gone["removed"], 4);
    assert!(house.ok(&["checkpoints", "list"]).contains("no checkpoint"));
}

#[test]
fn d2_replay_is_the_same_and_names_the_first_difference() {
    let (house, id) = changed();
    let said = house.json(&["replay", &id, "--json"]);
    assert_eq!(
        (&said["same"], &said["runs"], &said["calls"]),
        (&true.into(), &1.into(), &6.into())
    );
    let file = house.at("session.jsonl");
    house.ok(&["sessions", "export", &id, "-o", &file.display().to_string()]);
    let whole = read(&file);
    let different = |text: &str| {
        house.write(&house.at("other.jsonl"), text);
        let said = house.run(&["replay", "../other.jsonl"]);
        assert_eq!(said.status, 1, "{}{}", said.out, said.err);
        said.out
    };
    assert!(house.ok(&["replay", "../session.jsonl"]).starts_with("the same: "));
    // What was denied cannot be made to look allowed.
    let lines: Vec<&str> = whole.lines().collect();
    let denied = lines.iter().position(|line| line.contains("\"verdict\":\"deny\"")).expect("one");
    let edited = lines[denied].replacen("\"verdict\":\"deny\"", "\"verdict\":\"allow\"", 1);
    let told = different(&whole.replace(lines[denied], &edited));
    assert!(told.contains(&format!("fact {}: expected call.judged", denied + 1)), "{told}");
    assert!(told.contains("expected {\"verdict\":\"deny\"}"), "{told}");
    // Nor can a fact be taken out, or moved, or a derived one be changed.
    let mut fewer = lines.clone();
    fewer.remove(10);
    assert!(different(&fewer.join("\n")).contains("fact 11 is missing"));
    let end = whole.replacen("\"iterations\":4", "\"iterations\":5", 1);
    assert!(different(&end).contains("expected {\"iterations\":4}"));
    assert!(different(&lines[..lines.len() - 1].join("\n")).contains("found nothing"));
    assert!(different("{\"seq\":1").contains("line 1"));
    assert!(house.refused(&["replay", "nowhere.jsonl"]).contains("no file"));
    assert!(house.refused(&["replay", "zzz"]).contains("no session"));
    // In the store the hash chain shows it first.
    let database = house.at("state/weir/weir.db");
    patch(&database, "All three are changed.", "All four are unchanged");
    let said = house.run(&["replay", &id]);
    assert!(said.status == 1 && said.out.contains("was changed"), "{}{}", said.out, said.err);
    let said = house.run(&["audit", "verify"]);
    assert!(said.status == 1 && said.out.contains(&format!("journal of session {id}: record")));
}

#[test]
fn g10_audit_verify_finds_a_changed_line() {
    let (house, id) = changed();
    assert!(house.ok(&["audit", "verify"]).starts_with("whole: "));
    let tail = house.ok(&["audit", "tail", "-n", "100"]);
    for word in ["hard floor: force push", "checkpoint.taken", "run.finished", "edit_file"] {
        assert!(tail.contains(word), "{word}: {tail}");
    }
    let some = house.ok(&["audit", "tail", "-n", "2", "--json"]);
    assert_eq!(some.lines().count(), 2);
    let all = house.ok(&["audit", "export"]);
    let count = all.lines().count();
    let part = house.ok(&["audit", "export", "--from", "3", "--to", "5", "--session", &id]);
    let part: Vec<&str> = part.lines().collect();
    assert_eq!(part, all.lines().skip(2).take(3).collect::<Vec<_>>());
    let first: Value = serde_json::from_str(part[0]).expect("JSON");
    assert!(first["n"] == 3 && first["hash"].is_string() && first["entry"]["fields"].is_object());

    let folder = house.at("state/weir/audit");
    let file = files(&folder).into_iter().next().expect("a file of today");
    let whole = read(&file);
    let lines: Vec<&str> = whole.lines().collect();
    assert_eq!(lines.len(), count);
    let at = lines.iter().position(|line| line.contains("force push")).expect("the denial");
    let verify = |text: String, why: &str, n: usize| {
        std::fs::write(&file, text).expect("writable");
        let said = house.run(&["audit", "verify"]);
        assert_eq!(said.status, 1, "{}", said.out);
        assert!(
            said.out.contains(&format!("audit line {n} ")) && said.out.contains(why),
            "{}",
            said.out
        );
    };
    verify(whole.replacen("force push", "mild push!", 1), "changed", at + 1);
    let mut fewer = lines.clone();
    fewer.remove(4);
    verify(fewer.join("\n") + "\n", "missing", 5);
    let mut moved = lines.clone();
    moved.swap(6, 7);
    verify(moved.join("\n") + "\n", "missing", 7);
    std::fs::write(&file, &whole).expect("writable");
    house.ok(&["audit", "verify"]);
}

#[test]
fn g10_audit_tail_follows_what_is_written() {
    let house = house();
    let mut command = house.command(&["audit", "tail", "--follow", "--json", "-n", "5"]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
    house.ok(&run_of(&["change things"]));
    let mut seen = Vec::new();
    while seen.last().is_none_or(|kind| kind != "run.finished") {
        let mut line = String::new();
        assert!(stdout.read_line(&mut line).expect("a line") > 0, "it goes on: {seen:?}");
        let line: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(line["n"], seen.len() + 1, "none is missing, none comes twice");
        seen.push(line["entry"]["fields"]["kind"].clone());
    }
    assert_eq!(seen[0], "session.opened");
    child.kill().expect("it goes on until it is ended");
    child.wait().expect("it ends");
}

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
    assert!(house.refused(&["sessions", "delete", &id]).contains("--yes"));
    house.ok(&["sessions", "show", &id]);
    house.ok(&["sessions", "delete", &id[..30], "--yes"]);
    assert_eq!(house.json(&["sessions", "list", "--json"]), serde_json::json!([]));
    assert_eq!(house.json(&["sessions", "search", "closely", "--json"]), serde_json::json!([]));
    assert!(house.ok(&["checkpoints", "list"]).contains("no checkpoint"));
    for path in files(&state) {
        let name = path.display().to_string();
        assert!(!holds(&path, MARKER), "{name} still holds what the session wrote");
        assert!(!name.contains("/jobs/"), "{name} is a record of its command");
    }
    assert!(house.refused(&["sessions", "show", &id]).contains("no session"));
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
    assert!(house.refused(&["sessions", "export", &id, "-o", "out.jsonl"]).contains("out.jsonl"));

    assert!(house.refused(&["sessions", "fork", &id, "--at", "9"]).contains("not at rest"));
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
    let said = |house: &House| {
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
    assert!(house.refused(&["sessions", "show", "zz"]).contains("sessions list"));
}

/// Runs that end or go on in every odd way: each must play again.
#[test]
fn d2_replay_holds_for_odd_runs() {
    let calls = "calls: read_file {\"path\": \"a.txt\"}\n\n";
    let long = "calls: write_file {\"path\": \"long.txt\", \"content\": \"LONG\"}\n\n\
                calls: read_file {\"path\": \"long.txt\"}\n\nsays: long\n";
    let long = long.replace("LONG", &"many words ".repeat(600));
    let odd = "raw-arguments: read_file {\"path\": broken\n\ncalls: no_such_tool {}\n\
               calls: read_file {\"path\": 7}\n\ncalls: read_file {\"path\": \"nowhere\"}\n\n\
               calls: write_file {\"path\": \"../out\", \"content\": \"x\"}\n\nsays: odd\n";
    let todo = "calls: update_todo_list {\"items\": [{\"text\": \"look\", \"status\": \"in_progress\"}]}\n\n\
                image: dot\nsays: a picture\n";
    let ask = "calls: ask_followup_question {\"question\": \"Which?\"}\n\nsays: that one\n";
    let end = "calls: attempt_completion {\"result\": \"all harbours done\"}\n\
               calls: read_file {\"path\": \"a.txt\"}\n";
    let cases: [(&str, &str, &[&str], i32); 13] = [
        ("retried", "error: 429 retry-after=0\nerror: cut\nsays: after all\n", &[], 0),
        ("failed", "error: 401\n", &[], 1),
        ("empty", "says:\n\nsays:\n", &[], 1),
        ("odd", odd, &[], 3),
        ("iterations", &calls.repeat(9), &["--max-iterations", "2"], 3),
        ("calls", &calls.repeat(9), &["--max-tool-calls", "1"], 3),
        ("repeated", &calls.repeat(3), &[], 0),
        ("timeout", "error: hang\n", &["--timeout", "300ms"], 3),
        (
            "denied",
            "calls: write_file {\"path\": \"z\", \"content\": \"\"}\n\
             calls: write_file {\"path\": \"../z\", \"content\": \"\"}\n\nsays: no\n",
            &["--permission", "ask"],
            4,
        ),
        ("externalised", &long, &["--permission", "auto-edit"], 0),
        ("todo", todo, &[], 0),
        ("question", ask, &[], 4),
        ("completed", end, &[], 0),
    ];
    let house = house();
    for (name, script, flags, status) in cases {
        house.write(&house.at("t.script"), script);
        let mut args = vec!["run", "-m", "script:../t.script"];
        args.extend(flags);
        args.push("go");
        let said = house.run(&args);
        assert_eq!(said.status, status, "{name}: {}", said.err);
        let replayed = house.run(&["replay", "last"]);
        assert_eq!(replayed.status, 0, "{name}: {}", replayed.out);
        for form in ["jsonl", "markdown", "html", "script"] {
            house.ok(&["sessions", "export", "last", "--format", form]);
        }
        house.ok(&["sessions", "export", "last", "-o", &format!("../{name}.jsonl")]);
        let replayed = house.run(&["replay", &format!("../{name}.jsonl")]);
        assert_eq!(replayed.status, 0, "{name} as a file: {}", replayed.out);
        if name == "question" {
            let fork = house.json(&["sessions", "fork", "last", "--json"]);
            let fork = fork["session"].as_str().expect("an id").to_owned();
            house.ok(&["run", "-m", "script:../t.script", "--resume", &fork, "the red one"]);
            assert!(house.ok(&["replay", &fork]).starts_with("the same"), "{name}");
        }
    }
    assert!(house.ok(&["sessions", "show", "last"]).contains("all harbours done"));
    assert!(house.ok(&["sessions", "search", "harbours"]).contains(&newest(&house)));
    house.ok(&["audit", "verify"]);
}

/// A session at work that never comes to an end by itself.
fn hanging(house: &House) -> (Child, String) {
    let script = read(&house.at("t.script"));
    let script = script.replacen("says: All three are changed.", "error: hang", 1);
    house.write(&house.at("t.script"), &script);
    let mut command = house.command(&run_of(&["change things"]));
    let mut child =
        command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it starts");
    let stderr = BufReader::new(child.stderr.take().expect("piped"));
    // The last change is made; what comes now is the answer that never comes.
    for line in stderr.lines().map_while(Result::ok) {
        if line.contains("c6 failed") {
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
        let said = house.refused(args);
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
    let said = house.refused(&["script", "serve", "../bad.script"]);
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
