//! `weir run` and `weir demo` as people and scripts use them (C2).

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;
use weir_test_kit::{CommandOutput, RunningProgram, TestInstallation, wait_until};

/// A house with a workspace file and a script.
fn house(script: &str) -> TestInstallation {
    TestInstallation::with_script(script)
}

fn run(house: &TestInstallation, args: &[&str]) -> CommandOutput {
    let script = house.script_model();
    let mut all = vec!["run", "-m", script.as_str()];
    all.extend(args);
    house.run(&all)
}

/// A run whose command goes on and on, once it has begun.
fn start_without_end() -> (TestInstallation, RunningProgram) {
    let house = house("calls: run_shell {\"command\": \"echo go; sleep 600\"}\n\nsays: never\n");
    let script = house.script_model();
    let flags = ["--permission", "full", "--output", "jsonl", "--deltas", "x"];
    let mut run = house.start(&[&["run", "-m", &script], &flags[..]].concat());
    run.wait_for("call.output", 1);
    (house, run)
}

fn read(house: &TestInstallation, path: &str) -> String {
    std::fs::read_to_string(house.at(path)).expect("a file")
}

fn json(output: &CommandOutput) -> Value {
    serde_json::from_str(&output.out).unwrap_or_else(|_| panic!("{} {}", output.out, output.err))
}

const WRITES: &str =
    "calls: write_file {\"path\": \"a.txt\", \"content\": \"new\"}\n\nsays: Written.\n";

#[test]
fn c2_text_is_the_answer_alone_and_progress_goes_to_standard_error() {
    let house = house(WRITES);
    let output = run(&house, &["--permission", "auto-edit", "write it"]);
    assert_eq!((output.status, output.out.as_str()), (0, "Written.\n"), "{}", output.err);
    let said = output.err;
    assert!(said.contains("session ") && said.contains("--resume"), "{said}");
    assert_eq!(read(&house, "work/a.txt"), "new");
    let quiet = run(&house, &["--quiet", "--permission", "auto-edit", "write it"]);
    assert_eq!((quiet.status, quiet.err.as_str()), (0, ""));
}

#[test]
fn c2_what_nobody_can_answer_is_denied_at_once_and_exits_4() {
    let house = house(WRITES);
    let output = run(&house, &["--output", "json", "write it"]);
    let finished = json(&output);
    assert_eq!(output.status, 4);
    assert_eq!(finished["kind"], "run.finished");
    assert_eq!(finished["status"], "needs_input");
    assert_eq!(finished["denials"][0]["tool"], "write_file");
    assert_eq!(finished["denials"][0]["by"], "nobody");
    assert_eq!(finished["text"], "Written.", "its text is still there");
    assert_eq!(read(&house, "work/a.txt"), "old\n");
}

#[test]
fn c6_jsonl_is_every_event_valid_against_the_schema_gapless_and_ends_with_run_finished() {
    let script = "think: Hm.\nsays: I write.\ncalls: write_file {\"path\": \"a.txt\", \"content\": \"new\"}\n\n\
                  calls: run_shell {\"command\": \"echo hello\"}\n\n\
                  calls: update_todo_list {\"items\": [{\"text\": \"a\", \"status\": \"done\"}]}\n\n\
                  calls: nonsense {\"a\": 1}\n\nsays: Done.\n";
    let house = house(script);
    let args = ["--output", "jsonl", "--deltas", "--permission", "full", "go"];
    let output = run(&house, &args);
    assert_eq!(output.status, 0, "{}", output.err);
    let schema: Value =
        serde_json::from_str(&house.ok(&["schema", "events"])).expect("the schema is JSON");
    let validator = jsonschema::draft202012::new(&schema).expect("the schema is a schema");
    let text = output.out;
    let mut next = 1;
    let mut kinds = Vec::new();
    for line in text.lines() {
        let event: Value = serde_json::from_str(line).expect("a line is JSON");
        if let Some(error) = validator.iter_errors(&event).next() {
            panic!("{line}\n{error}");
        }
        if let Some(seq) = event.get("seq") {
            assert_eq!(seq, next, "gapless");
            next += 1;
        }
        kinds.push(event["kind"].as_str().expect("a kind").to_owned());
    }
    assert_eq!(kinds.last().map(String::as_str), Some("run.finished"));
    for kind in ["text.delta", "thinking.delta", "call.output", "plan.updated", "checkpoint.taken"]
    {
        assert!(kinds.iter().any(|k| k == kind), "{kind} is missing in {kinds:?}");
    }
    // An event that is none does not pass.
    let mut broken: Value =
        serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
    broken["workspace"] = Value::Null;
    assert!(!validator.is_valid(&broken));
}

#[test]
fn c2_limits_exit_3_and_are_named() {
    let house = house("loop: 9\ncalls: list_files {\"path\": \".\", \"limit\": {{i}}}\n\nend\n");
    let output = run(&house, &["--max-iterations", "3", "--output", "json", "look"]);
    let finished = json(&output);
    assert_eq!((output.status, finished["status"].as_str()), (3, Some("limit")));
    assert_eq!(finished["iterations"], 3);
    let output = run(&house, &["--max-tool-calls", "2", "look"]);
    assert_eq!(output.status, 3, "{}", output.err);
    assert!(output.err.contains("max_tool_calls"), "{}", output.err);
    let output = run(&house, &["--budget-tokens", "10", "--output", "json", "look"]);
    assert_eq!((output.status, json(&output)["status"].as_str()), (3, Some("budget")));
}

#[test]
fn c2_timeout_ends_the_run_and_its_command() {
    let house = house("calls: run_shell {\"command\": \"sleep 600\"}\n\nsays: never\n");
    let begun = Instant::now();
    let output =
        run(&house, &["--permission", "full", "--timeout", "1s", "--output", "json", "sleep"]);
    assert_eq!((output.status, json(&output)["status"].as_str()), (3, Some("limit")));
    assert!(begun.elapsed() < Duration::from_secs(300), "it did not wait for the command");
}

#[test]
fn c2_strict_fails_on_any_denial() {
    let house = house(WRITES);
    let args =
        ["--permission", "full", "--deny", "Edit(a.txt)", "--strict", "--output", "json", "x"];
    let output = run(&house, &args);
    assert_eq!((output.status, json(&output)["status"].as_str()), (4, Some("denied")));
    let args = ["--permission", "full", "--deny", "Edit(a.txt)", "--output", "json", "x"];
    let output = run(&house, &args);
    assert_eq!((output.status, json(&output)["status"].as_str()), (0, Some("completed")));
}

#[test]
fn c2_a_question_ends_a_headless_run_and_resume_answers_it() {
    let house = house(
        "calls: ask_followup_question {\"question\": \"Which colour?\"}\n\n\
         expect: result \"blue\"\nsays: Blue it is.\n",
    );
    let output = run(&house, &["--output", "json", "paint"]);
    let finished = json(&output);
    assert_eq!((output.status, finished["status"].as_str()), (4, Some("needs_input")));
    let id = finished["session"].as_str().expect("an id").to_owned();
    let bare = run(&house, &["--resume", &id]);
    assert_eq!(bare.status, 2);
    assert!(bare.err.contains("Which colour?"), "{}", bare.err);
    let output = run(&house, &["--resume", &id, "blue"]);
    assert_eq!((output.status, output.out.as_str()), (0, "Blue it is.\n"), "{}", output.err);
}

#[test]
fn c2_continue_and_fork_go_on_with_the_history() {
    let house = house("says: One.\n\nsays: Two.\n\nsays: Three.\n");
    assert_eq!(run(&house, &["first"]).out, "One.\n");
    assert_eq!(run(&house, &["--continue", "second"]).out, "Two.\n");
    let listed: Value =
        serde_json::from_str(&house.ok(&["sessions", "list", "--json"])).expect("JSON");
    let id = listed[0]["id"].as_str().expect("an id").to_owned();
    assert_eq!(run(&house, &["--fork", &id, "third"]).out, "Three.\n");
    assert_eq!(run(&house, &["--resume", &id, "third"]).out, "Three.\n", "the fork left it alone");
}

#[test]
fn c2_output_schema_gives_a_value_or_fails() {
    let house = house("says: forty-two\n\nsays: {\"n\": 42}\n");
    house.write(&house.at("schema.json"), "{\"type\":\"object\",\"required\":[\"n\"]}");
    let schema = house.at("schema.json").display().to_string();
    let output = run(&house, &["--output-schema", &schema, "--output", "json", "n?"]);
    assert_eq!((output.status, &json(&output)["output"]["n"]), (0, &Value::from(42)));
    house.write(&house.at("s.script"), "says: a\n\nsays: b\n\nsays: c\n\nsays: d\n");
    let output = run(&house, &["--output-schema", &schema, "--output", "json", "n?"]);
    assert_eq!((output.status, json(&output)["status"].as_str()), (1, Some("failed")));
}

#[test]
fn c2_system_prompts_are_replaced_or_preceded() {
    let house =
        house("expect: system \"You are a parrot.\"\nexpect-not: system \"Weir\"\nsays: Ok.\n");
    house.write(&house.at("p.md"), "You are a parrot.");
    let prompt = house.at("p.md").display().to_string();
    assert_eq!(run(&house, &["--system-prompt", &prompt, "x"]).status, 0);
    house.write(
        &house.at("s.script"),
        "expect: system \"You are a parrot.\"\nexpect: system \"Weir\"\nsays: Ok.\n",
    );
    assert_eq!(run(&house, &["--append-system-prompt", &prompt, "x"]).status, 0);
}

#[test]
fn x5_images_and_pdfs_are_attached_and_ignored_files_are_not() {
    let house = house("expect: image\nsays: A picture.\n");
    std::fs::write(house.at("work/p.png"), weir_scenario::made::png(4, 3)).expect("written");
    let picture = house.at("work/p.png").display().to_string();
    assert_eq!(run(&house, &["--attach", &picture, "what is it?"]).out, "A picture.\n");
    assert_eq!(run(&house, &["what is @p.png?"]).out, "A picture.\n");
    house.write(&house.at("work/.weirignore"), "p.png\n");
    let output = run(&house, &["--attach", &picture, "what is it?"]);
    assert_eq!(output.status, 2);
    assert!(output.err.contains("invisible"), "{}", output.err);
    let missing = run(&house, &["--attach", "missing.png", "x"]);
    assert_eq!(missing.status, 2, "{}", missing.err);
}

/// What holds the places of guarded files while a command runs is no change of another run's.
#[test]
fn g7_two_runs_in_one_folder_report_nothing_of_each_other() {
    let mut script = String::new();
    for n in 0..5 {
        script += &format!("calls: run_shell {{\"command\": \"sleep 0.{n}5; echo {n}\"}}\n\n");
    }
    let house = house(&(script + "says: Done.\n"));
    for in_git in [false, true] {
        if in_git {
            let made = std::process::Command::new("git")
                .args(["init", "-q"])
                .current_dir(house.work())
                .status();
            assert!(made.expect("git starts").success());
        }
        let model = house.script_model();
        let args = ["run", "-m", &model, "--permission", "full", "look"];
        let begin = || house.start(&args);
        for run in [begin(), begin(), begin()] {
            let output = run.wait_for_end();
            assert_eq!(output.out, "Done.\n", "{}", output.err);
            assert!(!output.err.contains("changed:"), "{in_git}: {}", output.err);
        }
    }
}

#[test]
fn k13_a_picture_that_the_model_made_becomes_a_file_and_each_output_names_it() {
    let house = house("dialect: gemini\nsays: Here it is.\nimage: dot\n");
    let is_png = |path: &std::path::Path| {
        std::fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"\x89PNG"))
    };
    let output = run(&house, &["--quiet", "draw a dot"]);
    assert_eq!(output.out, "Here it is.\n");
    let named = output.err.lines().find_map(|line| line.split_once("picture: "));
    let path = named.map(|(_, path)| path.trim().to_owned()).expect("it is said where");
    assert!(path.ends_with("/t1-1.png"), "{path}");
    assert!(is_png(path.as_ref()), "{path}");
    // The same for programs, by paths of the workspace.
    let json = run(&house, &["--output", "json", "draw a dot"]);
    let finished: Value = serde_json::from_str(&json.out).expect("one object");
    let path = finished["pictures"][0].as_str().expect("its path").to_owned();
    assert!(path.starts_with(".weir/pictures/"), "{path}");
    assert!(is_png(&house.at(&format!("work/{path}"))), "{path}");
    assert!(!json.err.contains("picture: "), "said once: {}", json.err);
    let jsonl = run(&house, &["--output", "jsonl", "draw a dot"]);
    let events = jsonl.out.lines().map(|line| serde_json::from_str(line).expect("an event"));
    let events: Vec<Value> = events.collect();
    let made: Vec<&Value> = events.iter().filter(|e| e["kind"] == "image.produced").collect();
    assert_eq!(made.len(), 1, "{}", jsonl.out);
    assert!(is_png(&house.at(&format!("work/{}", made[0]["path"].as_str().expect("a path")))));
}

#[test]
fn k13_what_the_vendor_calls_a_picture_and_is_none_is_said_and_not_saved() {
    let house =
        house("dialect: gemini\nsays: Here.\nimage: data:image/png;base64,PGgxPmhpPC9oMT4=\n");
    let output = run(&house, &["--output", "json", "draw a dot"]);
    let finished: Value = serde_json::from_str(&output.out).expect("one object");
    assert!(
        finished["text"].as_str().is_some_and(|text| text.contains("it is text")),
        "{finished}"
    );
    assert_eq!(finished["pictures"], Value::Null);
    assert!(!house.at("work/.weir/pictures").exists());
}

#[test]
fn v5_a_model_that_takes_no_tools_is_sent_none() {
    let house = house("abilities: images\n\nexpect-not: tool read_file\nsays: Hello.\n");
    let output = run(&house, &["hello"]);
    assert_eq!(output.out, "Hello.\n", "{}", output.err);
    assert!(output.err.contains("takes no tools"), "{}", output.err);
}

#[test]
fn c2_usage_errors_exit_2_and_run_nothing() {
    let house = house("says: x\n");
    for (args, word) in [
        (vec!["run"], "task"),
        (vec!["run", "-m", "script:missing.script", "x"], "missing.script"),
        (vec!["run", "-m", "nobody/model", "x"], "nobody"),
        (vec!["run", "-m", "anthropic/claude-sonnet-4-5", "x"], "ANTHROPIC_API_KEY"),
        (vec!["run", "--resume", "nope", "x"], "nope"),
        (vec!["run", "--permission", "all", "x"], "all"),
        (vec!["run", "-m", "script:s.script", "--allow", "Edit()", "x"], "Edit()"),
        (vec!["run", "-C", "missing", "x"], "missing"),
    ] {
        let said = house.usage_error(&args);
        assert!(said.contains(word), "{args:?}: {said}");
    }
}

#[test]
fn l08_an_endpoint_that_is_not_there_fails_with_what_to_do() {
    let house = TestInstallation::new()
        .with_variable("ANTHROPIC_API_KEY", "sk-ant-test-key-000000")
        .with_variable("ANTHROPIC_BASE_URL", "http://127.0.0.1:9");
    let output = house.run(&[
        "run",
        "-m",
        "anthropic/claude-sonnet-4-5",
        "--output",
        "json",
        "--timeout",
        "2s",
        "x",
    ]);
    // Network failures are retried until the time is over.
    assert_eq!(output.status, 3, "{}", output.err);
    assert!(output.err.contains("retry"), "{}", output.err);
    assert!(!output.err.contains("sk-ant-test"), "no key is shown");
}

#[test]
fn l14_sigint_cancels_cleanly_and_exits_130_sigterm_143() {
    for (signal, expected) in [("-INT", 130), ("-TERM", 143)] {
        let (_house, run) = start_without_end();
        run.signal(signal);
        let output = run.wait_for_end();
        let lines = output.json_lines();
        assert_eq!(lines.last().expect("lines")["status"], "cancelled", "{lines:?}");
        assert_eq!(output.status, expected);
    }
}

#[test]
fn f2_a_second_interrupt_does_not_wait_for_what_is_still_told_at_the_end() {
    let house = house("says: Done.\n\nsays: And on.\n");
    let (begun, go) = (house.at("begun"), house.at("go"));
    let hook = format!(
        "[[hooks.SessionEnd]]\ncommand = \"touch '{}'; while [ ! -e '{}' ]; do sleep 0.1; done\"\n\
         timeout = 600\n",
        begun.display(),
        go.display()
    );
    house.write(&house.user_config(), &hook);
    let script = house.script_model();
    for (signal, expected) in [("-INT", 130), ("-TERM", 143)] {
        let _ = std::fs::remove_file(&begun);
        let mut run = house.start(&["run", "-m", &script, "--output", "jsonl", "x"]);
        run.wait_for("run.finished", 1);
        wait_until("the hook runs", || if begun.exists() { Ok(()) } else { Err("not yet") });
        // The run is over, so the first one has nothing to cancel; the hook is still waited for.
        run.signal(signal);
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(run.exit_status(), None, "{}", run.text());
        let status = wait_until("another one ends it", || {
            run.signal(signal);
            run.exit_status().ok_or("it waits")
        });
        assert_eq!(status, expected, "{}", run.text());
    }
    // What was done is kept, and the session goes on.
    house.write(&go, "");
    assert_eq!(house.ok(&["run", "-m", &script, "--continue", "y"]), "And on.\n");
}

#[test]
fn l14_a_run_while_paused_is_refused_with_5() {
    let house = house("says: x\n");
    house.ok(&["pause", "holiday"]);
    let output = run(&house, &["x"]);
    assert_eq!(output.status, 5);
    assert!(output.err.contains("release") && output.err.contains("(holiday)"), "{}", output.err);
    house.ok(&["release"]);
    assert_eq!(run(&house, &["x"]).status, 0);
}

#[test]
fn l14_pausing_elsewhere_ends_a_running_session() {
    let (house, run) = start_without_end();
    house.ok(&["pause", "stop"]);
    let output = run.wait_for_end();
    assert_eq!(output.json_lines().last().expect("lines")["status"], "paused");
    assert_eq!(output.status, 5);
}

#[test]
fn d2_d5_a_session_has_one_writer_and_is_taken_up_when_it_died() {
    let (house, holder) = start_without_end();
    let first = holder.output_text().lines().next().map(serde_json::from_str::<Value>);
    let first = first.expect("a line").expect("JSON");
    let session = first["session"].as_str().expect("an id");
    let output = run(&house, &["--resume", session, "me too"]);
    assert_eq!(output.status, 2, "{}", output.err);
    assert!(output.err.contains(&holder.pid().to_string()), "{}", output.err);
    holder.kill();
    // The holder is dead: its run is taken up where it stopped.
    house.write("s.script", "says: never first\n\nsays: Taken up.\n");
    let output = run(&house, &["--resume", session]);
    assert_eq!((output.status, output.out.as_str()), (0, "Taken up.\n"), "{}", output.err);
}

#[test]
fn bad_input_ten_thousand_calls_and_endless_text_stay_bounded() {
    let house = house("says: word word word word\nrepeat: 200000\n");
    let output = run(&house, &["--output", "json", "talk"]);
    assert!([0, 1].contains(&output.status), "{}", output.err);
    house.write(
        &house.at("s.script"),
        "calls: read_file {\"path\": \"a{{n}}.txt\"}\nrepeat: 10000\n\nsays: Done.\n",
    );
    let output = run(&house, &["--output", "json", "read"]);
    assert!([0, 1, 3].contains(&output.status), "{}", output.err);
    assert!(!output.out.is_empty());
}

#[test]
fn f7_the_demo_shows_the_main_job_and_says_that_the_model_is_scripted() {
    let house = TestInstallation::new();
    let output = house.run(&["demo"]);
    assert_eq!(output.status, 0, "{}", output.err);
    assert!(output.err.contains("scripted"), "{}", output.err);
    assert!(output.err.contains("c7 ok: Exit code 0"), "{}", output.err);
    assert!(output.err.contains("+printf 'Hello, %s!\\n' \"$name\""), "{}", output.err);
    assert!(output.out.starts_with("greet.sh now greets"));
}

#[test]
fn p6_dry_run_prints_what_would_be_sent() {
    let house = house("says: x\n");
    house.write(&house.at("work/AGENTS.md"), "Use tabs. @docs/style.md @docs/none.md");
    house.write(&house.at("work/docs/style.md"), "Four wide.");
    house.write(&house.at("work/.weir/rules/a.md"), "A rule.");
    house.write(&house.at("work/.weir/rules/b.md"), "A hidden rule.");
    house.write(&house.at("work/.weirignore"), ".weir/rules/b.md\n");
    let text = run(&house, &["--dry-run", "hello"]).out;
    for part in [
        "== system · profile (~",
        "== system · security (~",
        "== tool · read_file (~",
        "tools listed by name only: ",
        "== note · instructions (~",
        "Use tabs.",
        "Four wide.",
        "A rule.",
        "== prompt (~",
        "== rules and instruction files",
        "left out: there is no such file",
        ".weir/rules/b.md",
        "left out: it is ignored (",
        "total ~",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains("A hidden rule."), "{text}");
    let json: serde_json::Value =
        serde_json::from_str(&run(&house, &["--dry-run", "--output", "json", "hello"]).out)
            .expect("one object");
    assert_eq!(json["parts"][0]["name"], "profile");
    assert_eq!(json["rebuilt"], false);
    let left_out = |name: &str| {
        let files = json["instruction_files"].as_array().expect("a list");
        let file = files.iter().find(|file| file["name"].as_str() == Some(name));
        file.is_some_and(|file| file["left_out"].is_string())
    };
    assert!(left_out("docs/none.md, imported by AGENTS.md") && !left_out("AGENTS.md"));
}

/// What a session was told is not sent again, what changed is; the whole prompt can be another.
#[test]
fn p6_dry_run_of_a_session_shows_what_is_new() {
    let house = house("says: x\n\nsays: y\n");
    house.write(&house.at("work/AGENTS.md"), "Use tabs.");
    assert_eq!(run(&house, &["hello"]).status, 0);
    let text = run(&house, &["--continue", "--dry-run", "more"]).out;
    assert!(text.contains("== history · "), "{text}");
    assert!(text.contains("not sent again: ") && !text.contains("Use tabs."), "{text}");
    assert!(!text.contains("has changed: its cache"), "{text}");
    house.write(&house.at("work/AGENTS.md"), "Use spaces.");
    let text = run(&house, &["--continue", "--dry-run", "--permission", "plan", "more"]).out;
    assert!(text.contains("== note · instructions") && text.contains("Use spaces."), "{text}");
    assert!(text.contains("the prompt of the session has changed"), "{text}");

    house.write(&house.at("mine.txt"), "Only this.");
    let mine = house.at("mine.txt").display().to_string();
    let text = run(&house, &["--dry-run", "--system-prompt", &mine, "hello"]).out;
    assert!(text.contains("== system · as given (~2 tokens)\nOnly this.\n"), "{text}");
    let text = run(&house, &["--dry-run", "--append-system-prompt", &mine, "hello"]).out;
    assert!(text.contains("== system · appended (~2 tokens)\nOnly this.\n"), "{text}");
    assert!(text.contains("== system · profile"), "{text}");
}

#[test]
fn l14_what_was_said_until_the_stop_is_kept_counted_and_told() {
    use std::io::{BufRead as _, BufReader};
    let script = "price: input=3 output=15\n\nwhen: \"story\"\npace: 100ms\nthink: Hm.\nsays: Once upon a \
                  time there was a king who had three daughters and one white horse and a very long \
                  road before him.\n\nend\nwhen: \"there\"\nexpect: body \"Once upon\"\nexpect: \"cut \
                  off\"\nsays: Still here.\n\nend\n";
    let house = house(script);
    let model = house.script_model();
    let words = ["run", "-m", &model, "--output", "jsonl", "--deltas", "Tell me a story."];
    let mut command = house.command(&words);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    let lines = BufReader::new(child.stdout.take().expect("it was piped")).lines();
    let mut facts: Vec<Value> = Vec::new();
    for line in lines {
        let fact: Value = serde_json::from_str(&line.expect("text")).expect("JSON");
        facts.push(fact);
        if facts.iter().filter(|fact| fact["kind"] == "text.delta").count() == 4 {
            let pid = rustix::process::Pid::from_child(&child);
            // A second one would end it at once.
            if facts.last().is_some_and(|fact| fact["kind"] == "text.delta") {
                let signal = rustix::process::Signal::INT;
                rustix::process::kill_process(pid, signal).expect("it runs");
            }
        }
    }
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(130), "{facts:?}");
    let at = |kind: &str| facts.iter().position(|fact| fact["kind"] == kind).expect("a fact");
    assert!(at("cancel.requested") < at("model.replied"), "{facts:?}");
    let replied = &facts[at("model.replied")];
    assert_eq!(replied["stop"], "interrupted", "{replied}");
    assert_eq!(replied["content"][0]["text"], "Hm.", "{replied}");
    let text = replied["content"][1]["text"].as_str().expect("what was said");
    assert!(text.starts_with("Once upon a") && !text.contains("road"), "{text}");
    assert!(replied["usage"]["output"].as_u64() > Some(0), "{replied}");
    assert!(replied["usage"]["input"].as_u64() > Some(0), "{replied}");
    let finished = &facts[at("run.finished")];
    assert_eq!((&finished["status"], &finished["text"]), (&"cancelled".into(), &text.into()));
    // What had come costs what it costs: 3 and 15 dollars a million.
    let counted = |which: &str| replied["usage"][which].as_f64().expect("a number");
    let usd = (counted("input") * 3.0 + counted("output") * 15.0) / 1e6;
    for fact in [replied, finished] {
        let cost = fact["cost_usd"].as_f64().expect("the price is known");
        assert!(usd > 0.0 && (cost - usd).abs() < 1e-9, "{cost} is not {usd}: {fact}");
    }
    let id = finished["session"].as_str().expect("an id");
    assert!(house.ok(&["sessions", "show", id]).contains("Once upon a"));
    let answer = house.ok(&["run", "-m", &model, "--resume", id, "Are you there?"]);
    assert_eq!(answer, "Still here.\n", "the model knows what it had said");
}

/// Files of long results go in whatever way a run is over (X1).
#[test]
fn x1_no_file_of_a_result_stays_after_a_limit_or_a_failure() {
    let long = "calls: run_shell {\"command\": \"seq 1 5000\"}\n\n";
    let cases: [(&str, String, &[&str], i32); 3] = [
        ("done", format!("{long}says: Done.\n"), &[], 0),
        ("limit", long.repeat(3), &["--max-iterations", "1"], 3),
        ("failure", format!("{long}error: 401\n"), &[], 1),
    ];
    for (name, script, flags, status) in cases {
        let house = TestInstallation::with_scripted_model(&format!("name: test\n\n{script}"), "");
        let said = house.run(&[&["run", "--permission", "full"], flags, &["Count."]].concat());
        assert_eq!(said.status, status, "{name}: {}", said.err);
        let id = house.json(&["sessions", "list", "--json"])[0]["id"].as_str().map(String::from);
        let journal = house.ok(&["sessions", "export", &id.expect("a session")]);
        assert!(journal.contains("\"externalized\":"), "{name}: it was long");
        assert!(!house.at("work/.weir/tmp").exists(), "{name}");
    }
}

#[test]
fn m2_a_pipe_in_the_place_of_instructions_is_said_once_and_not_waited_for() {
    let house = house("says: Done.\n");
    let pipe = house.at("work/AGENTS.md");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    house.write("work/CLAUDE.md/note.md", "A folder.\n");
    house.write("config/weir/AGENTS.md", "Be kind.\n");
    let said = run(&house, &["Do it."]);
    assert_eq!((said.status, said.out.as_str()), (0, "Done.\n"), "{}", said.err);
    for words in ["AGENTS.md is a named pipe and instructs nobody", "CLAUDE.md is a folder"] {
        assert_eq!(said.err.matches(words).count(), 1, "{words}: {}", said.err);
    }
    // What would be told says why it is not.
    let dry = run(&house, &["--dry-run", "Do it."]).out;
    assert!(dry.contains("AGENTS.md") && dry.contains("it is a named pipe"), "{dry}");
    assert!(!dry.contains("[left out: it is a named pipe]"), "the model is told nothing: {dry}");
}
