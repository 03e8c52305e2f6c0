//! Journals and audit lines are whole, or the first that is not is named.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::Value;

use super::{changed, files, house, newest, patch, read, run_of};

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
    // Words from outside cannot be exchanged either, not even for others of equal length.
    let word = whole.lines().find(|line| line.contains("\"kind\":\"model.replied\"")).expect("one");
    let key = word.find("\"text\":\"").expect("it says something") + 8;
    let mut other = word.to_owned();
    other.replace_range(key..=key, "~");
    let told = different(&whole.replace(word, &other));
    assert!(told.contains("was changed after it was exported"), "{told}");
    let bare: Vec<String> = whole.lines().map(without_hash).collect();
    house.write(&house.at("old.jsonl"), &bare.join("\n"));
    assert!(house.ok(&["replay", "../old.jsonl"]).contains("has no hashes"));
    // What was denied cannot be made to look allowed.
    let lines: Vec<&str> = whole.lines().collect();
    let denied = lines.iter().position(|line| line.contains("\"verdict\":\"deny\"")).expect("one");
    let edited = lines[denied].replacen("\"verdict\":\"deny\"", "\"verdict\":\"allow\"", 1);
    let told = different(&whole.replace(lines[denied], &edited));
    assert!(told.contains(&format!("event {}: expected call.judged", denied + 1)), "{told}");
    assert!(told.contains("expected {\"verdict\":\"deny\"}"), "{told}");
    // Nor can a fact be taken out, or moved, or a derived one be changed.
    let mut fewer = lines.clone();
    fewer.remove(10);
    assert!(different(&fewer.join("\n")).contains("event 11 is missing"));
    let end = whole.replacen("\"iterations\":4", "\"iterations\":5", 1);
    assert!(different(&end).contains("expected {\"iterations\":4}"));
    assert!(different(&lines[..lines.len() - 1].join("\n")).contains("found nothing"));
    assert!(different("{\"seq\":1").contains("line 1"));
    assert!(house.usage_error(&["replay", "nowhere.jsonl"]).contains("no file"));
    assert!(house.usage_error(&["replay", "zzz"]).contains("no session"));
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
    assert!(house.ok(&["audit", "verify"]).starts_with("intact: "));
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
    let mut command = house.command(&["audit", "tail", "--follow", "--json", "-n", "999"]);
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

/// The line as earlier versions exported it.
fn without_hash(line: &str) -> String {
    let mut value: serde_json::Value = serde_json::from_str(line).expect("JSON");
    value.as_object_mut().expect("an object").remove("hash");
    value.to_string()
}
