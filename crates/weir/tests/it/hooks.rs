//! Hooks as people write them: real scripts, called by the real program (G11); the judge model and
//! the confidential word, as the settings switch them on (G3, G8).

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use serde_json::Value;
use weir_test_kit::{CommandOutput, TestInstallation};

const WRITES: &str =
    "calls: write_file {\"path\": \"a.txt\", \"content\": \"new\"}\n\nsays: Written.\n";

/// A house with a workspace file and a model that plays `script`.
fn house(script: &str) -> TestInstallation {
    let house = TestInstallation::new();
    house.write(&house.at("work/a.txt"), "old\n");
    house.write(&house.at("s.script"), script);
    house
}

/// A program of the person's.
fn program(house: &TestInstallation, name: &str, text: &str) -> String {
    let path = house.at(name);
    house.write(&path, &format!("#!/bin/sh\n{text}\n"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("ours");
    path.display().to_string()
}

/// One hook in the person's settings.
fn hook(house: &TestInstallation, event: &str, rest: &str, text: &str) {
    let command = program(house, &format!("{event}.sh"), text);
    let settings = format!("[[hooks.{event}]]\ncommand = \"{command}\"\n{rest}\n");
    house.write(&house.user_config(), &settings);
}

fn run(house: &TestInstallation, prompt: &str) -> CommandOutput {
    let script = house.script_model();
    house.run(&["run", "-m", &script, "--permission", "full", "--output", "json", prompt])
}

fn finished(said: &CommandOutput) -> Value {
    serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{} {}", said.out, said.err))
}

fn text(house: &TestInstallation, path: &str) -> String {
    std::fs::read_to_string(house.at(path)).unwrap_or_default()
}

/// The whole journal of the newest session, as lines of JSON.
fn journal(house: &TestInstallation) -> String {
    let sessions = house.json(&["sessions", "list", "--json"]);
    let list = sessions.as_array().or_else(|| sessions["sessions"].as_array()).expect("a list");
    let id = list[0]["id"].as_str().or_else(|| list[0]["session"].as_str()).expect("an id");
    house.ok(&["sessions", "export", id, "--format", "jsonl"])
}

/// Runs one PreToolUse hook on a write; what was said, and whether the file was written.
fn judged(rest: &str, script: &str) -> (String, bool) {
    let house = house(WRITES);
    hook(&house, "PreToolUse", rest, script);
    let said = run(&house, "write it");
    let journal = journal(&house);
    let denied = journal.lines().find(|line| line.contains("\"call.judged\"")).unwrap_or_default();
    assert_eq!(said.status, 0, "{}", said.err);
    (denied.to_owned(), text(&house, "work/a.txt") == "new")
}

#[test]
fn g11_a_hook_blocks_with_exit_2_and_is_told_everything() {
    let house = house(WRITES);
    let told = house.at("told.json").display().to_string();
    let seen = house.at("seen.txt").display().to_string();
    let script = format!(
        "cat > {told}; echo \"$WEIR_PROJECT_DIR|$PWD|$SECRET_TOKEN|\" > {seen}; \
         printf 'not \\033[31mthis\\033[0m file' >&2; exit 2"
    );
    let house = house.with_variable("SECRET_TOKEN", "s3cr3t-value");
    hook(&house, "PreToolUse", "matcher = \"write_file|edit_file\"", &script);
    let said = run(&house, "write it");
    assert_eq!(text(&house, "work/a.txt"), "old\n");
    assert_eq!(finished(&said)["denials"][0]["by"], "hooks");
    let input: Value = serde_json::from_str(&text(&house, "told.json")).expect("one JSON object");
    let work = house.work().canonicalize().expect("there").display().to_string();
    assert_eq!(input["hook_event_name"], "PreToolUse");
    assert_eq!(input["tool_name"], "write_file");
    assert_eq!(input["tool_input"]["content"], "new");
    assert_eq!(input["permission_mode"], "full");
    assert_eq!(input["cwd"], work.as_str());
    assert!(input["session_id"].is_string() && !input["tool_use_id"].is_null(), "{input}");
    assert_eq!(text(&house, "seen.txt").trim(), format!("{work}|{work}||"), "its surroundings");
    let journal = journal(&house);
    let place = format!("hooks.PreToolUse[0] ({}:1)", house.user_config().display());
    assert!(journal.contains(&place), "{place} in {journal}");
    assert!(journal.contains("not <U+001B>[31mthis<U+001B>[0m file"), "made visible: {journal}");
}

#[test]
fn g11_a_hook_answers_in_json_and_never_allows() {
    let says = |decision: &str, reason: &str| {
        format!(
            "cat >/dev/null; echo '{{\"hookSpecificOutput\": {{\"permissionDecision\": \
             \"{decision}\", \"permissionDecisionReason\": \"{reason}\"}}}}'"
        )
    };
    let (judgement, written) = judged("", &says("deny", "frozen"));
    assert!(judgement.contains("frozen") && !written, "{judgement}");
    let (judgement, written) = judged("", &says("allow", "fine"));
    assert!(!judgement.contains("fine") && written, "{judgement}");

    // Asking without anybody there is a no.
    let asks = house(WRITES);
    hook(&asks, "PreToolUse", "", &says("ask", "who said so"));
    let said = run(&asks, "write it");
    assert_eq!((said.status, text(&asks, "work/a.txt").as_str()), (4, "old\n"));
    assert!(journal(&asks).contains("who said so"));

    // What the rules refuse stays refused.
    let house = house(WRITES);
    hook(&house, "PreToolUse", "", &says("allow", "fine"));
    let mut settings = text(&house, "config/weir/config.toml");
    settings.push_str("\n[permissions]\ndeny = [\"Edit(a.txt)\"]\n");
    house.write(&house.user_config(), &settings);
    run(&house, "write it");
    assert_eq!(text(&house, "work/a.txt"), "old\n");
}

#[test]
fn g11_a_hook_that_fails_is_named_and_blocks_unless_it_is_told_otherwise() {
    for (script, named) in [
        ("echo broken >&2; exit 1", "failed with status 1: broken"),
        // Whether the shell around it stays is the shell's own matter.
        ("kill -9 $$", "was ended by signal 9|failed with status 137"),
        ("exec /no/such/program", "failed with status 127"),
        ("echo '{\"decision\": '", "JSON that cannot be read"),
        ("printf '{\"reason\": \"\\377\\376\"}'", "JSON that cannot be read"),
        ("head -c 100000 /dev/zero | tr '\\0' x", "printed 100000 bytes"),
        ("cat /dev/zero", "printed more than"),
    ] {
        let (judgement, written) = judged("timeout = 20", script);
        let is_named = named.split('|').any(|words| judgement.contains(words));
        assert!(is_named && !written, "{script}: {judgement}");
        assert!(judgement.contains("A hook blocks this call: hooks.PreToolUse[0] "), "{judgement}");
        let (judgement, written) = judged("timeout = 20\non_failure = \"continue\"", script);
        assert!(!judgement.contains("hooks.PreToolUse") && written, "{script}: {judgement}");
    }
    let (judgement, written) = judged("", "printf '\\377\\376'; exit 0");
    assert!(written, "plain text of any encoding is nothing: {judgement}");
}

#[test]
fn g11_a_hook_that_hangs_is_ended_with_everything_it_started() {
    let house = house(WRITES);
    let ids = house.at("ids.txt").display().to_string();
    // It ignores the polite signal; one child stays in its group and one leaves it.
    let script = format!(
        "trap '' TERM; sleep 300 & echo $! >> {ids}; \
         setsid sh -c 'echo $$ >> {ids}; exec sleep 301' & sleep 302"
    );
    // Long enough for both to begin, on a machine with other work too.
    hook(&house, "PreToolUse", "timeout = 8", &script);
    let started = Instant::now();
    run(&house, "write it");
    assert!(started.elapsed() < Duration::from_secs(200), "it was waited for what it started");
    assert_eq!(text(&house, "work/a.txt"), "old\n");
    assert!(journal(&house).contains("did not end within 8 s"));
    let ids = text(&house, "ids.txt");
    assert_eq!(ids.lines().count(), 2, "both began: {ids}");
    for id in ids.lines() {
        let command = std::fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap_or_default();
        assert!(!command.contains("sleep"), "process {id} is still there: {command}");
    }
}

#[test]
fn g11_a_child_that_holds_the_pipe_hangs_nobody() {
    let house = house(WRITES);
    // Whoever waits for the child hears nothing of the hook but that its time was over.
    hook(&house, "PreToolUse", "timeout = 60", "sleep 600 & echo 'too late' >&2; exit 2");
    run(&house, "write it");
    let journal = journal(&house);
    assert!(journal.contains("too late") && !journal.contains("did not end within"), "{journal}");
}

#[test]
fn g11_a_matcher_holds_for_the_whole_name() {
    let blocks = "echo no >&2; exit 2";
    for (matcher, written) in [
        ("write_file", false),
        ("write|edit", true),
        ("write_.*", false),
        ("file", true),
        ("*", false),
    ] {
        let (judgement, did) = judged(&format!("matcher = \"{matcher}\""), blocks);
        assert_eq!(did, written, "{matcher}: {judgement}");
    }
}

#[test]
fn g11_mistakes_in_settings_are_told_with_file_and_line() {
    let house = house(WRITES);
    for (settings, words) in [
        ("matcher = \"(a\"", "has the matcher"),
        ("matcher = \"(?:(?:a{1000}){1000}){1000}\"", "has the matcher"),
        ("matcher = \"a)|(b\"", "has the matcher"),
        ("timeout = 0", "timeout of 0 seconds"),
        ("on_failure = \"maybe\"", "maybe"),
        ("colour = 1", "colour"),
    ] {
        let text = format!(
            "\n[[hooks.PreToolUse]]\ncommand = \"true\"\n\n[[hooks.PreToolUse]]\ncommand = \"true\"\n{settings}\n"
        );
        house.write(&house.user_config(), &text);
        let said = house.usage_error(&["config", "show", "--json"]);
        let line = if words.contains("maybe") || words.contains("colour") { 7 } else { 5 };
        let place = format!("{}:{line}:", house.user_config().display());
        assert!(said.contains(words), "{settings}: {said}");
        assert!(said.contains(&place) || line == 7, "{place} in {said}");
    }
    for (event, rest, words) in [
        ("Stop", "command = \"true\"\nmatcher = \"x\"", "is about no tool"),
        ("PreToolUse", "command = \" \"", "has no command"),
        ("Later", "command = \"true\"", "is no event"),
    ] {
        house.write(&house.user_config(), &format!("[[hooks.{event}]]\n{rest}\n"));
        let said = house.usage_error(&["config", "show", "--json"]);
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn g11_subagent_stop_hooks_hear_the_end_of_an_agent_and_may_keep_it_going() {
    let script = "when: \"look around\"\nsays: Nothing.\nend\n\nwhen: \"not yet\"\nsays: A file.\n\
                  end\n\ncalls: new_task {\"task\": \"look around\"}\n\nsays: Done.\n";
    let house = house(script);
    let text = "cat >> heard.json; if [ -e once ]; then exit 0; fi; touch once; \
                echo 'not yet' >&2; exit 2";
    hook(&house, "SubagentStop", "", text);
    let said = run(&house, "go");
    assert_eq!((said.status, finished(&said)["text"].as_str()), (0, Some("Done.")), "{}", said.err);
    let heard = self::text(&house, "work/heard.json");
    assert_eq!(heard.matches("SubagentStop").count(), 2, "{heard}");
    assert!(journal(&house).contains("A file."), "the agent went on");
}

#[test]
fn g11_a_refused_prompt_runs_nothing_and_exits_2() {
    let house = house(WRITES);
    hook(
        &house,
        "UserPromptSubmit",
        "",
        "grep -q password && { echo 'no passwords' >&2; exit 2; }; exit 0",
    );
    let said = run(&house, "my password is 1234");
    assert_eq!(said.status, 2, "{}", said.err);
    assert!(
        said.err.contains("nothing was run") && said.err.contains("no passwords"),
        "{}",
        said.err
    );
    assert_eq!(text(&house, "work/a.txt"), "old\n");
    let said = run(&house, "write it");
    assert_eq!((said.status, text(&house, "work/a.txt").as_str()), (0, "new"), "{}", said.err);
}

#[test]
fn g11_hooks_tell_the_model_and_are_told_of_beginning_and_end() {
    let script = "expect: \"the office is closed\"\ncalls: read_file {\"path\": \"a.txt\"}\n\n\
                  expect: result \"mind the gap\"\nexpect-not: \"s3cr3t-value\"\nsays: Read.\n";
    let house = house(script).with_variable("OFFICE_TOKEN", "s3cr3t-value");
    let start = program(&house, "start.sh", "echo the office is closed");
    let after = program(
        &house,
        "after.sh",
        "echo '{\"hookSpecificOutput\": {\"additionalContext\": \"mind the gap, s3cr3t-value\"}}'",
    );
    let ended = house.at("ended.json").display().to_string();
    let end = program(&house, "end.sh", &format!("cat > {ended}"));
    let settings = format!(
        "[[hooks.SessionStart]]\ncommand = \"{start}\"\n[[hooks.PostToolUse]]\ncommand = \"{after}\"\n\
         matcher = \"read_.*\"\n[[hooks.SessionEnd]]\ncommand = \"{end}\"\n"
    );
    house.write(&house.user_config(), &settings);
    let said = run(&house, "read it");
    assert_eq!((said.status, finished(&said)["text"].as_str()), (0, Some("Read.")), "{}", said.err);
    let input: Value = serde_json::from_str(&text(&house, "ended.json")).expect("it was called");
    assert_eq!(input["hook_event_name"], "SessionEnd");
    assert_eq!(input["reason"], "closed");
    assert!(!journal(&house).contains("s3cr3t-value"));
}

#[test]
fn g11_a_stop_hook_keeps_the_run_going_once() {
    let house = house("says: Done.\n\nexpect: \"tests first\"\nsays: Tests pass.\n");
    let flag = house.at("flag").display().to_string();
    let script = format!("test -e {flag} && exit 0; touch {flag}; echo 'tests first' >&2; exit 2");
    hook(&house, "Stop", "", &script);
    let said = run(&house, "do it");
    assert_eq!(finished(&said)["text"], "Tests pass.", "{}", said.err);
}

#[test]
fn g11_hooks_of_a_workspace_that_is_not_trusted_never_run() {
    let house = house(WRITES);
    let flag = house.at("flag").display().to_string();
    let command = program(&house, "flag.sh", &format!("touch {flag}"));
    let settings = format!(
        "[[hooks.SessionStart]]\ncommand = \"{command}\"\n[[hooks.PreToolUse]]\ncommand = \"{command}\"\n"
    );
    house.write(&house.project_config(), &settings);
    let said = run(&house, "write it");
    assert_eq!((said.status, text(&house, "work/a.txt").as_str()), (0, "new"), "{}", said.err);
    assert!(!house.at("flag").exists(), "it never ran");
    assert!(said.err.contains("not trusted"), "and that is said: {}", said.err);
}

#[test]
fn g11_hooks_of_both_files_count_once_the_workspace_is_trusted() {
    let house = house(WRITES);
    hook(&house, "PreToolUse", "", "echo mine >&2; exit 2");
    let flag = house.at("flag").display().to_string();
    let theirs = program(&house, "theirs.sh", &format!("touch {flag}"));
    let settings = format!("[[hooks.PreToolUse]]\ncommand = \"{theirs}\"\n");
    house.write(&house.project_config(), &settings);
    house.ok(&["trust", "--yes"]);
    run(&house, "write it");
    assert!(house.at("flag").exists(), "the workspace's ran");
    assert_eq!(text(&house, "work/a.txt"), "old\n", "and did not push out the person's");
    assert!(journal(&house).contains("mine"));
}

#[test]
fn g3_the_judge_model_is_the_one_that_settings_name_or_the_sessions_own() {
    let house = house(WRITES);
    house.write(&house.at("fits.script"), "says: FITS\n");
    house.write(&house.at("unfit.script"), "says: \"UNFIT: nobody asked for that\"\n");
    let judge =
        |name: &str| format!("[helpers]\njudge = \"script:{}\"\n", house.at(name).display());
    let on = "[security]\nvalidate_output = true\n";
    house.write(&house.user_config(), &format!("{on}{}", judge("unfit.script")));
    let said = run(&house, "write it");
    assert_eq!(text(&house, "work/a.txt"), "old\n", "{}", said.err);
    assert!(journal(&house).contains("nobody asked for that"), "{}", journal(&house));
    assert!(!said.err.contains("no effect"), "{}", said.err);

    house.write(&house.user_config(), &format!("{on}{}", judge("fits.script")));
    let said = run(&house, "write it");
    assert_eq!(text(&house, "work/a.txt"), "new", "{}", said.err);

    // The session's own model plays its script, which is no answer, and no answer is a no.
    house.write(&house.at("work/a.txt"), "old\n");
    house.write(&house.user_config(), on);
    run(&house, "write it");
    assert_eq!(text(&house, "work/a.txt"), "old\n");

    house.write(&house.user_config(), &format!("{on}[helpers]\njudge = \"nobody/x\"\n"));
    let said = run(&house, "write it");
    assert_eq!(said.status, 2, "{}", said.err);
    assert!(said.err.contains("helpers.judge cannot be used"), "{}", said.err);
    house.write(&house.user_config(), "[helpers]\njudge = \"nobody/x\"\n");
    assert_eq!(run(&house, "write it").status, 0, "nobody needs it");
}

#[test]
fn g3_the_confidential_word_is_in_the_prompt_once_it_is_switched_on() {
    let house = house("expect-not: system \"is confidential\"\nsays: Hello.\n");
    assert_eq!(run(&house, "hello").status, 0);
    house.write(&house.user_config(), "[security]\ncanary = true\n");
    house.write(&house.at("s.script"), "expect: system \"is confidential\"\nsays: Hello.\n\nexpect: system \"is confidential\"\nsays: Again.\n");
    let said = run(&house, "hello");
    assert_eq!(said.status, 0, "{}", said.err);
    let before = word(&journal(&house));
    let script = house.script_model();
    let said = house.run(&["run", "--continue", "-m", &script, "again"]);
    assert_eq!(said.status, 0, "{}", said.err);
    assert!(journal(&house).lines().all(|line| !line.contains("another system prompt")));
    assert_eq!(word(&journal(&house)), before, "a session keeps its word");
    run(&house, "hello");
    assert_ne!(word(&journal(&house)), before, "another session has another");
}

/// The word in a journal.
fn word(journal: &str) -> String {
    let at = journal.find("WEIR-").expect("it stands in the settings of the session");
    journal[at..at + 21].to_owned()
}
