//! `weir permissions explain` (G3, C9): every gate's verdict, the rule with file and line, and what
//! would change it, for calls that are never made.

use serde_json::{Value, json};
use weir_core::governance::GATES;
use weir_test_kit::TestInstallation;

fn explain(house: &TestInstallation, tool: &str, input: &str, flags: &[&str]) -> Value {
    let mut args = vec!["permissions", "explain", tool, input, "--json"];
    args.extend(flags);
    house.json(&args)
}

fn text(house: &TestInstallation, tool: &str, input: &str, flags: &[&str]) -> String {
    let mut args = vec!["permissions", "explain", tool, input];
    args.extend(flags);
    house.ok(&args)
}

/// What one gate says.
fn gate<'a>(explained: &'a Value, name: &str) -> &'a Value {
    let gates = explained["gates"].as_array().expect("a list");
    gates.iter().find(|gate| gate["gate"] == name).expect("every gate is there")
}

/// What helps against a gate, as far as it begins so.
fn change<'a>(gate: &'a Value, beginning: &str) -> &'a Value {
    let changes = gate["changes"].as_array().expect("a list");
    let found = changes.iter().find(|c| c["do"].as_str().is_some_and(|d| d.starts_with(beginning)));
    found.unwrap_or_else(|| panic!("{beginning} in {gate}"))
}

fn house() -> TestInstallation {
    let house = TestInstallation::new();
    house.write(&house.at("work/src/main.rs"), "fn main() {}\n");
    house
}

const READ: &str = r#"{"path": "src/main.rs"}"#;
const WRITE: &str = r#"{"path": "b.txt", "content": "x"}"#;

#[test]
fn g3_explain_names_every_gate_of_a_call_that_is_allowed() {
    let house = house();
    let read = explain(&house, "read_file", READ, &[]);
    assert_eq!(read["judgement"]["verdict"], "allow");
    let gates = read["gates"].as_array().expect("a list");
    let names: Vec<&str> = gates.iter().filter_map(|gate| gate["gate"].as_str()).collect();
    let all: Vec<String> = GATES.iter().map(|gate| gate.name().to_string()).collect();
    assert_eq!(names, all);
    assert!(gates.iter().all(|gate| gate["verdict"] == "allow"), "{read}");
    assert!(gate(&read, "rules")["reason"].as_str().is_some_and(|r| r.contains("mode ask")));
    assert_eq!((&read["checkpoint"], &read["class"]), (&json!(false), &json!("read")));
    assert_eq!(read["touches"], json!(["read src/main.rs (in the workspace)"]));
    assert_eq!(read["advice"], json!([]), "nothing has to change");
    let shown = text(&house, "read_file", READ, &[]);
    assert!(shown.starts_with("allowed: ") && !shown.contains("To change it"), "{shown}");
    assert!(all.iter().all(|name| shown.contains(&format!("  {name} "))), "{shown}");
}

#[test]
fn m4_explain_names_what_would_be_remembered() {
    let house = house();
    let mark = r#"{"text": "Prefers tabs.", "kind": "preference"}"#;
    for flags in [&[][..], &["--permission", "plan"], &["--label", "both"]] {
        let marked = explain(&house, "mark_for_memory", mark, flags);
        assert_eq!(marked["touches"], json!(["remember for later sessions: Prefers tabs."]));
        // Whatever stood in the context: the inbox is the guard.
        assert_eq!(marked["judgement"]["verdict"], "allow", "{flags:?}: {marked}");
    }
    house.ok(&["permissions", "add", "deny", "mark_for_memory"]);
    let marked = explain(&house, "mark_for_memory", mark, &[]);
    assert_eq!(marked["judgement"]["verdict"], "deny", "{marked}");
}

#[test]
fn g3_explain_says_which_rule_lets_a_call_pass() {
    let house = house();
    house.ok(&["permissions", "add", "allow", "Edit(*.txt)"]);
    let write = explain(&house, "write_file", WRITE, &[]);
    assert_eq!(write["judgement"]["verdict"], "allow", "{write}");
    let reason = gate(&write, "rules")["reason"].as_str().expect("a text");
    let place = format!("{}:2", house.user_config().display());
    assert!(reason.contains("allow Edit(*.txt)") && reason.contains(&place), "{reason}");
    assert_eq!(write["checkpoint"], true);
}

#[test]
fn g3_explain_proposes_the_rule_and_the_mode_that_really_help() {
    let house = house();
    let write = explain(&house, "write_file", WRITE, &[]);
    let rules = gate(&write, "rules");
    assert_eq!((&rules["verdict"], &rules["rule"]), (&json!("ask"), &json!("mode ask")));
    let rule = change(rules, "`weir permissions add allow 'Edit(./b.txt)'`");
    assert_eq!((&rule["gate"], &rule["call"]), (&json!("allow"), &json!("allow")));
    assert_eq!(change(rules, "--permission auto-edit")["call"], "allow");
    assert_eq!(rules["changes"].as_array().map(Vec::len), Some(2), "full helps no more: {rules}");
    // What is proposed holds.
    house.ok(&["permissions", "add", "allow", "Edit(./b.txt)"]);
    assert_eq!(explain(&house, "write_file", WRITE, &[])["judgement"]["verdict"], "allow");
    let other = r#"{"path": "c.txt", "content": "x"}"#;
    assert_eq!(explain(&house, "write_file", other, &[])["judgement"]["verdict"], "ask");

    // In the mode plan no rule helps, so none is proposed; a mode is.
    let plan = explain(
        &house,
        "run_shell",
        r#"{"command": "make", "network": ["docs.rs"]}"#,
        &["--permission", "plan"],
    );
    let rules = gate(&plan, "rules");
    assert_eq!(rules["verdict"], "deny");
    let changes = rules["changes"].to_string();
    assert!(!changes.contains("permissions add"), "{changes}");
    assert_eq!(change(rules, "--permission ask")["gate"], "ask");
    assert_eq!(change(rules, "--permission full")["gate"], "allow");
}

#[test]
fn g3_explain_names_file_and_line_of_the_rules_that_deny() {
    let house = house();
    house.write(
        &house.project_config(),
        "[permissions]\ndeny = [\n  \"Shell(cargo:*)\",\n  \"Shell(cargo test:*)\",\n]\n",
    );
    let input = r#"{"command": "cargo test"}"#;
    let call = explain(&house, "run_shell", input, &["--permission", "full"]);
    let rules = gate(&call, "rules");
    assert_eq!(rules["verdict"], "deny");
    let config = house.project_config().canonicalize().expect("there").display().to_string();
    assert!(rules["rule"].as_str().is_some_and(|r| r.contains(".weir/config.toml:")), "{rules}");
    let both = change(rules, "`weir permissions remove ");
    let steps = both["do"].as_str().expect("a text");
    for (rule, line) in [("'Shell(cargo:*)'", 3), ("'Shell(cargo test:*)'", 4)] {
        assert!(steps.contains(rule) && steps.contains(&format!("{config}:{line}")), "{steps}");
    }
    assert_eq!(both["gate"], "allow");
    assert!(!rules["changes"].to_string().contains("permissions add"), "deny beats allow");
    house.ok(&["permissions", "remove", "Shell(cargo:*)"]);
    house.ok(&["permissions", "remove", "Shell(cargo test:*)"]);
    let after = explain(&house, "run_shell", input, &["--permission", "full"]);
    assert_eq!(gate(&after, "rules")["verdict"], "allow");
}

#[test]
fn g3_explain_shows_the_verdict_for_each_context() {
    let house = house();
    let url = r#"{"url": "https://docs.example.org/guide"}"#;
    let all = explain(&house, "web_fetch", url, &["--all-labels", "--permission", "full"]);
    let contexts = all["contexts"].as_array().expect("a list");
    let verdicts: Vec<&str> = contexts.iter().filter_map(|c| c["verdict"].as_str()).collect();
    assert_eq!(verdicts, ["allow", "ask", "ask", "ask"], "{all}");
    assert_eq!(all["judgement"]["verdict"], "allow", "the context is clean unless one says so");

    let flags = ["--label", "both", "--permission", "full"];
    let both = explain(&house, "web_fetch", url, &flags);
    let labels = gate(&both, "labels");
    assert_eq!((&labels["verdict"], &both["contexts"]), (&json!("ask"), &json!([])));
    assert!(labels["rule"].as_str().is_some_and(|r| r.starts_with("flow table: ")), "{labels}");
    assert!(labels["reason"].as_str().is_some_and(|r| r.starts_with("Careful: ")), "{labels}");
    assert_eq!(change(labels, "a new session")["gate"], "allow");

    // What was said makes it a question about exactly this call; a listed host makes it none.
    let said = ["--said", "look at https://docs.example.org/guide please"];
    let asked = explain(&house, "web_fetch", url, &[&flags[..], &said].concat());
    let labels = gate(&asked, "labels");
    assert_eq!((&labels["verdict"], &labels["exact"]), (&json!("ask"), &json!(true)));
    assert_eq!(change(labels, "`weir permissions add allow 'Web(")["call"], "allow");
    let shown = text(&house, "web_fetch", url, &["--label", "clean", "--label", "both"]);
    assert!(shown.contains("  external + private  asked"), "{shown}");
}

#[test]
fn g3_explain_says_when_only_an_answer_to_this_very_call_helps() {
    let house = house();
    house.ok(&["permissions", "add", "allow", "Shell(*)"]);
    let input = r#"{"command": "curl x", "network": ["docs.example.org"]}"#;
    let call = explain(&house, "run_shell", input, &["--label", "both", "--permission", "full"]);
    let labels = gate(&call, "labels");
    assert_eq!((&labels["verdict"], &labels["exact"]), (&json!("ask"), &json!(true)), "{call}");
    assert!(labels["note"].as_str().is_some_and(|n| n.contains("no rule, lease")), "{labels}");
    assert!(!labels["changes"].to_string().contains("permissions add"), "{labels}");
    assert_eq!(change(labels, "a session that has read no")["gate"], "allow");
}

#[test]
fn g3_explain_proposes_a_listed_host_where_the_list_helps() {
    let house = house();
    let url = r#"{"url": "https://docs.example.org/"}"#;
    let call = explain(&house, "web_fetch", url, &["--label", "external"]);
    let change =
        change(gate(&call, "labels"), "`weir permissions add allow 'Web(docs.example.org)'`");
    assert!(change["do"].as_str().is_some_and(|d| d.contains("web.allow_hosts")), "{change}");
    house.write(&house.user_config(), "[web]\nallow_hosts = [\"docs.example.org\"]\n");
    let call = explain(&house, "web_fetch", url, &["--label", "external"]);
    assert_eq!(call["judgement"]["verdict"], "allow", "{call}");
}

#[test]
fn g3_explain_says_that_nothing_lifts_the_floor() {
    let house = house();
    house.ok(&["permissions", "add", "allow", "Shell(*)"]);
    let input = r#"{"command": "rm -rf /"}"#;
    let call = explain(&house, "run_shell", input, &["--permission", "full"]);
    let floor = gate(&call, "floor");
    assert_eq!((&call["judgement"]["gate"], &floor["verdict"]), (&json!("floor"), &json!("deny")));
    assert_eq!(floor["changes"], json!([]));
    assert!(floor["note"].as_str().is_some_and(|n| n.contains("nothing allows it")), "{floor}");
}

#[test]
fn g3_explain_names_the_line_of_the_list_that_closes_a_path() {
    let house = house();
    house.write(&house.at("work/.weirignore"), "# mine\nprivate/\n");
    house.write(&house.at("work/private/a"), "x");
    let input = r#"{"path": "private/a"}"#;
    let call = explain(&house, "read_file", input, &["--permission", "full"]);
    let paths = gate(&call, "paths");
    assert_eq!(paths["verdict"], "deny");
    let change = change(paths, "remove the line");
    assert!(change["do"].as_str().is_some_and(|d| d.contains(".weirignore:2")), "{change}");
    assert_eq!(change["call"], "allow");
    house.write(&house.at("work/.weirignore"), "# mine\nprivate/*\n!private/a\n");
    assert_eq!(explain(&house, "read_file", input, &[])["judgement"]["verdict"], "allow");

    // Weir's own files open for nothing.
    let own = r#"{"path": ".weir/config.toml", "content": "x"}"#;
    let own = explain(&house, "write_file", own, &["--permission", "full"]);
    assert_eq!(gate(&own, "paths")["changes"], json!([]));
    assert!(gate(&own, "paths")["note"].as_str().is_some_and(|n| n.contains("nothing allows it")));
}

#[test]
fn g3_explain_of_tools_and_arguments_that_do_not_exist() {
    let house = house();
    let call = explain(&house, "read_fille", "{}", &[]);
    assert_eq!(call["judgement"]["gate"], "known");
    assert!(gate(&call, "known")["reason"].as_str().is_some_and(|r| r.contains("read_file?")));
    for input in ["no json", "{\"path\": 3}", "{\"path\": \"a\""] {
        let call = explain(&house, "read_file", input, &[]);
        assert_eq!(call["judgement"]["gate"], "arguments", "{input}");
        assert_eq!(gate(&call, "arguments")["verdict"], "deny", "{input}");
        assert!(text(&house, "read_file", input, &[]).contains("weir tools show"), "{input}");
    }
    let hidden = explain(&house, "write_file", WRITE, &["--profile", "ask"]);
    assert_eq!(hidden["judgement"]["gate"], "visible");
    assert_eq!(change(gate(&hidden, "visible"), "--profile agent")["gate"], "allow");
    assert!(house.usage_error(&["permissions", "explain", "read"]).contains("name the path"));
    let mixed = house.usage_error(&["permissions", "explain", "read", "a", "--all-labels"]);
    assert!(mixed.contains("to calls only"), "no flag without effect: {mixed}");
    let missing =
        house.usage_error(&["permissions", "explain", "read_file", "{}", "--session", "x"]);
    assert!(missing.contains("no session"), "{missing}");
}

#[test]
fn g3_explain_makes_hidden_characters_visible() {
    let house = house();
    let input = "{\"command\": \"echo \u{202E}txt.\\u200bsh \u{0441}at\\u001b[2J\"}";
    let shown = text(&house, "run_shell", input, &[]);
    let hides = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{202E}' | '\u{200B}');
    assert!(!shown.contains(hides), "{shown:?}");
    assert!(shown.contains("<U+202E>txt.<U+200B>sh"), "{shown}");
    assert!(shown.contains("Caution: "), "letters of two scripts: {shown}");
}

#[test]
fn g3_explain_asks_no_hook_and_no_judge_and_says_so() {
    let house = house();
    let ran = house.at("ran.txt");
    let settings = format!(
        "[security]\nvalidate_output = true\ncanary = true\n\n[[hooks.PreToolUse]]\n\
         matcher = \"write_file\"\ncommand = \"touch {}\"\n",
        ran.display()
    );
    house.write(&house.user_config(), &settings);
    let call = explain(&house, "write_file", WRITE, &["--permission", "full"]);
    for name in ["hooks", "intent", "canary"] {
        assert_eq!(gate(&call, name)["verdict"], "not_asked", "{name}: {call}");
    }
    let place = format!("hooks.PreToolUse[0] ({}:", house.user_config().display());
    assert!(gate(&call, "hooks")["reason"].as_str().is_some_and(|r| r.contains(&place)), "{call}");
    assert!(!ran.exists(), "it was not called");
    let read = explain(&house, "read_file", READ, &["--permission", "full"]);
    assert_eq!(gate(&read, "hooks")["verdict"], "allow", "the hook is not about this tool");
    assert_eq!(gate(&read, "intent")["verdict"], "allow", "a read is nothing to judge");
}

/// Plays one call; what the session journaled about it.
fn played(house: &TestInstallation, tool: &str, input: &str, mode: &str) -> Value {
    house.write(&house.at("s.script"), &format!("calls: {tool} {input}\n\nsays: Done.\n"));
    let script = house.script_model();
    let said = house.run(&["run", "-m", &script, "--permission", mode, "go on"]);
    let shown = house.json(&["sessions", "show", "last", "--all", "--json"]);
    let events = shown["events"].as_array().expect("a list");
    let judged = events.iter().find(|event| event["kind"] == "call.judged");
    judged.unwrap_or_else(|| panic!("the call was not judged: {}", said.err)).clone()
}

#[test]
fn g3_explain_says_what_a_session_would_journal() {
    let house = house();
    house.write(&house.at("work/.weirprotected"), "locked/\n");
    house.write(&house.at("work/.env"), "KEY=1\n");
    house.write(
        &house.user_config(),
        "[permissions]\ndeny = [\"Shell(git push:*)\"]\nask = [\"Edit(docs/**)\"]\n\
         allow = [\"Shell(ls:*)\", \"Web(docs.example.org)\"]\n",
    );
    for (tool, input) in [
        ("read_file", READ),
        ("read_file", r#"{"path": ".env"}"#),
        ("read_file", r#"{"path": "/etc/hostname"}"#),
        ("write_file", WRITE),
        ("write_file", r#"{"path": "docs/a.md", "content": "x"}"#),
        ("write_file", r#"{"path": "locked/a", "content": "x"}"#),
        ("write_file", r#"{"path": "AGENTS.md", "content": "x"}"#),
        ("delete_file", r#"{"path": "src/main.rs"}"#),
        ("run_shell", r#"{"command": "ls src"}"#),
        ("run_shell", r#"{"command": "git push origin"}"#),
        ("run_shell", r#"{"command": "sudo ls"}"#),
        ("run_shell", r#"{"command": "curl x", "network": ["other.example"]}"#),
        ("web_fetch", r#"{"url": "https://docs.example.invalid/"}"#),
        ("no_such_tool", "{}"),
        ("read_file", r#"{"path": 3}"#),
    ] {
        // The mode plan leaves the tools that write out; the others differ most at their ends.
        let modes = if tool == "run_shell" { ["plan", "full"] } else { ["ask", "full"] };
        for mode in modes {
            let explained = explain(&house, tool, input, &["--permission", mode]);
            let judged = played(&house, tool, input, mode);
            for field in ["verdict", "gate", "rule", "reason"] {
                let (said, journaled) = (&explained["judgement"][field], &judged[field]);
                assert_eq!(said, journaled, "{field} of {tool} {input} in mode {mode}");
            }
            // The call itself, if it was made, must not change the next.
            house.write(&house.at("work/src/main.rs"), "fn main() {}\n");
            for made in ["b.txt", "docs/a.md", "AGENTS.md"] {
                let _ = std::fs::remove_file(house.at("work").join(made));
            }
        }
    }
}

#[test]
fn g3_explain_goes_by_what_a_session_read_and_was_granted() {
    let house = house();
    played(&house, "read_file", READ, "ask");
    let url = r#"{"url": "https://docs.example.org/guide"}"#;
    let fresh = explain(&house, "web_fetch", url, &["--permission", "full"]);
    assert_eq!(fresh["judgement"]["verdict"], "allow", "{fresh}");
    let flags = ["--session", "last", "--permission", "full"];
    let later = explain(&house, "web_fetch", url, &flags);
    assert_eq!(later["label"]["context"], "private", "{later}");
    assert_eq!(gate(&later, "labels")["verdict"], "ask");
    let session = house.json(&["sessions", "list", "--json"])[0]["id"].clone();
    assert_eq!(later["session"], session);

    // Its own rules count, and its mode where no flag says another.
    let id = session.as_str().expect("an id");
    house.ok(&["permissions", "add", "allow", "Web(docs.example.org)", "--session", id]);
    let granted = explain(&house, "web_fetch", url, &flags);
    assert_eq!(granted["judgement"]["verdict"], "allow", "{granted}");
    let reason = gate(&granted, "rules")["reason"].as_str().expect("a text");
    assert!(reason.contains("allow Web(docs.example.org) (session)"), "{reason}");
    let own = explain(&house, "write_file", WRITE, &["--session", id]);
    assert_eq!(own["permission"], "ask");

    // The same read a third time: what the session did before counts.
    let third = || explain(&house, "read_file", READ, &["--session", "last"]);
    assert_eq!(gate(&third(), "repetition")["verdict"], "allow", "only once so far");
    house.write(
        &house.at("s.script"),
        &format!("calls: read_file {READ}\n\ncalls: read_file {READ}\n\nsays: Done.\n"),
    );
    let script = house.script_model();
    house.ok(&["run", "-m", &script, "go on"]);
    assert_eq!(gate(&third(), "repetition")["verdict"], "deny", "{}", third());
}

#[test]
fn g3_explain_counts_a_lease_of_the_session() {
    let house = house();
    house.write(&house.at("s.script"), &format!("calls: write_file {WRITE}\n\nsays: Done.\n"));
    let script = house.script_model();
    let mut run = house.command(&["run", "-m", &script, "--ask-elsewhere", "write it"]);
    run.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let mut run = run.spawn().expect("the program starts");
    let begun = std::time::Instant::now();
    let approval = loop {
        let open = house.json(&["approvals", "list", "--json"]);
        if let Some(id) = open["approvals"][0]["approval"].as_str() {
            break id.to_owned();
        }
        if begun.elapsed().as_secs() > 120 {
            let _ = run.kill();
            panic!("nobody is asked: {open}");
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    };
    house.ok(&["approvals", "answer", &approval, "session", "--uses", "5"]);
    assert!(run.wait().expect("it ends").success());
    // What the file has already would be no change, and ask nobody.
    house.write(&house.at("work/b.txt"), "y");
    assert_eq!(explain(&house, "write_file", WRITE, &[])["judgement"]["verdict"], "ask");
    let leased = explain(&house, "write_file", WRITE, &["--session", "last"]);
    assert_eq!(leased["judgement"]["verdict"], "allow", "{leased}");
    let reason = gate(&leased, "rules")["reason"].as_str().expect("a text");
    assert!(reason.contains("lease 1 (5 calls left)"), "{reason}");
    house.ok(&["approvals", "revoke", "last", "1"]);
    let after = explain(&house, "write_file", WRITE, &["--session", "last"]);
    assert_eq!(after["judgement"]["verdict"], "ask", "{after}");
}

#[test]
fn g3_explain_proposes_a_sandbox_where_commands_are_not_confined() {
    let house = house();
    house.write(&house.user_config(), "[sandbox]\ntier = \"none\"\n");
    let call = explain(&house, "run_shell", r#"{"command": "ls"}"#, &["--permission", "full"]);
    let labels = gate(&call, "labels");
    assert_eq!(labels["verdict"], "ask", "{call}");
    let confined = change(labels, "use the sandbox: sandbox.tier = \"auto\" in ");
    let place = format!("{}:2", house.user_config().display());
    assert!(confined["do"].as_str().is_some_and(|d| d.ends_with(&place)), "{confined}");
    assert_eq!(confined["call"], "allow");
}
