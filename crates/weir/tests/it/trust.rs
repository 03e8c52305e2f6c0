//! Trust of a workspace: what its own files may do before, after, and when they change (C5, G5).

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weir_test_kit::{CommandOutput, TestInstallation, weir_program};

const CONFIG: &str = "[permissions]\nallow = [\"Shell(echo:*)\"]\ndeny = [\"Edit(x)\"]\n\
                      [[hooks.PreToolUse]]\nmatcher = \"write_file\"\ncommand = \"./check.sh\"\n\
                      [[hooks.PreToolUse]]\ncommand = \"./log.sh\"\n";

/// A house whose workspace has settings that take trust, and a script that uses its allow rule.
fn house() -> TestInstallation {
    let house = TestInstallation::new();
    house.write(&house.project_config(), CONFIG);
    says(&house, "says: Hello.\n");
    house
}

fn says(house: &TestInstallation, script: &str) {
    house.write(&house.at("s.script"), script);
}

fn run(house: &TestInstallation, args: &[&str]) -> CommandOutput {
    let script = house.script_model();
    let mut all = vec!["run", "-m", script.as_str()];
    all.extend(args);
    house.run(&all)
}

fn state(house: &TestInstallation) -> Value {
    house.json(&["trust", "--json"])["state"].clone()
}

fn allow_rules(house: &TestInstallation) -> Value {
    house.json(&["config", "get", "permissions.allow", "--json"])["value"].clone()
}

fn trust_file(house: &TestInstallation) -> std::path::PathBuf {
    house.at("state/weir/trust.json")
}

#[test]
fn c5_a_workspace_that_was_never_trusted_loads_nothing_and_it_is_said_in_one_line() {
    let house = house();
    let said = run(&house, &["hello"]);
    assert_eq!(said.status, 0, "{}", said.err);
    let lines: Vec<&str> = said.err.lines().filter(|line| line.contains("trust")).collect();
    assert_eq!(
        lines,
        ["weir: this workspace is not trusted; 2 hooks, 1 allow rule of .weir/config.toml are \
             not loaded: `weir trust` shows more"],
        "{}",
        said.err
    );
    assert_eq!(allow_rules(&house), json!([]));
    assert!(
        house.usage_error(&["config", "get", "hooks.PreToolUse"]).contains("there is no setting")
    );
    let deny = house.json(&["config", "get", "permissions.deny", "--json"]);
    assert_eq!(deny["value"], json!(["Edit(x)"]), "deny rules always count");
    assert!(!trust_file(&house).exists(), "looking trusts nothing");
}

#[test]
fn c5_the_allow_rule_of_a_workspace_passes_a_call_only_once_it_is_trusted() {
    let house = house();
    says(&house, "calls: run_shell {\"command\": \"echo hello > said.txt\"}\n\nsays: Done.\n");
    assert_eq!(run(&house, &["go"]).status, 4, "it asks, and nobody is there");
    let said = house.ok(&["trust", "--yes"]);
    for shown in [
        "PreToolUse on write_file: ./check.sh",
        "PreToolUse: ./log.sh",
        "Shell(echo:*)",
        ".weir/config.toml:2",
        "1 file is watched",
        "Trusted.",
    ] {
        assert!(said.contains(shown), "{shown} in {said}");
    }
    let after = run(&house, &["go"]);
    assert_eq!(after.status, 0, "{}", after.err);
    assert!(!after.err.contains("trusted"), "{}", after.err);
    assert_eq!(allow_rules(&house), json!(["Shell(echo:*)"]));
    let hooks = house.json(&["config", "get", "hooks.PreToolUse", "--json"]);
    assert_eq!(hooks["value"][1]["command"], "./log.sh", "{hooks}");
    let mode = std::fs::metadata(trust_file(&house)).expect("it is there").mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(house.ok(&["config", "show"]).contains("is trusted since"));
    assert!(house.run(&["doctor", "--offline"]).out.contains("trust: trusted since"));
}

#[test]
fn c5_z9_a_change_of_any_governed_file_ends_trust_until_it_is_given_again() {
    let house = house();
    house.write(&house.at("work/.weir/skills/a/run.sh"), "echo 1\n");
    house.write(&house.at("work/.mcp.json"), "{\"mcpServers\": {\"m\": {\"command\": \"c\"}}}");
    house.ok(&["trust", "--yes"]);
    assert_eq!(state(&house), "trusted");
    house.write(&house.at("work/AGENTS.md"), "be kind\n");
    house.write(&house.at("work/.weir/tmp/x.md"), "a result\n");
    assert_eq!(state(&house), "trusted", "other files do not matter");

    house.write(&house.project_config(), &format!("{CONFIG}command = \"./evil.sh\"\n"));
    let damaged = house.usage_error(&["trust", "--yes"]);
    assert!(damaged.contains("config.toml:9"), "what cannot be read is not trusted: {damaged}");
    house.write(&house.project_config(), &CONFIG.replace("./log.sh", "./evil.sh"));
    std::fs::remove_file(house.at("work/.weir/skills/a/run.sh")).expect("it was there");
    house.write(&house.at("work/.agents/skills/b/new.py"), "print(1)\n");
    let said = run(&house, &["hello"]);
    assert_eq!(said.status, 0, "{}", said.err);
    assert!(
        said.err.contains(
            "this workspace is not trusted any more, because .agents/skills/b/new.py added, \
             .weir/config.toml changed, .weir/skills/a/run.sh removed; 1 script of .agents/skills, \
             1 MCP server of .mcp.json, 2 hooks, 1 allow rule of .weir/config.toml are not loaded"
        ),
        "{}",
        said.err
    );
    assert_eq!(allow_rules(&house), json!([]));
    assert!(house.run(&["doctor", "--offline"]).out.contains("not trusted any more"));
    assert!(house.ok(&["config", "show"]).contains("not trusted any more"));

    let shown = house.json(&["trust", "--json"]);
    let change = |path: &str, change: &str| json!({"path": path, "change": change});
    let expected = [
        change(".agents/skills/b/new.py", "added"),
        change(".weir/config.toml", "changed"),
        change(".weir/skills/a/run.sh", "removed"),
    ];
    assert_eq!((&shown["state"], &shown["changes"]), (&json!("changed"), &json!(expected)));
    let said = house.ok(&["trust", "--yes"]);
    assert!(said.contains("changed .weir/config.toml") && said.contains("./evil.sh"), "{said}");
    assert_eq!(state(&house), "trusted");
    assert_eq!(allow_rules(&house), json!(["Shell(echo:*)"]));
}

#[test]
fn c5_nobody_to_ask_is_a_usage_error_and_trusts_nothing() {
    let house = house();
    assert!(house.usage_error(&["trust"]).contains("--yes"));
    let said = house.run_with_input(&["trust"], "y\n");
    assert_eq!((said.status, said.out.as_str()), (2, ""), "a pipe is no person: {}", said.err);
    assert_eq!(state(&house), "never");
    assert!(!trust_file(&house).exists());
    for args in [
        &["trust", "--list", "--remove"][..],
        &["trust", "--remove", "--yes"],
        &["trust", "remove", "--yes"],
        &["trust", "list", "work"],
    ] {
        house.usage_error(args);
    }
}

#[test]
fn c5_trust_is_listed_and_removed_and_is_of_one_folder() {
    let house = house();
    assert_eq!(house.ok(&["trust", "--list"]), "No workspaces are trusted.\n");
    assert!(house.usage_error(&["trust", "--remove"]).contains("was not trusted"));
    house.write(&house.at("other/.weir/config.toml"), "permission = \"full\"\n");
    house.ok(&["trust", "--yes"]);
    let other = house.at("other").display().to_string();
    house.ok(&["trust", &other, "--yes"]);
    house.write(&house.at("work/below/.weir/config.toml"), CONFIG);
    let below = house.json(&["-C", "below", "trust", "--json"]);
    assert_eq!(below["state"], "never", "a folder below is another workspace");

    house.write(&house.at("other/.weir/config.toml"), "permission = \"plan\"\n");
    let listed = house.json(&["trust", "--list", "--json"]);
    let states: Vec<&Value> =
        listed.as_array().expect("a list").iter().map(|one| &one["state"]).collect();
    assert_eq!(states, ["changed", "trusted"], "{listed}");
    std::fs::remove_dir_all(house.at("other")).expect("it was there");
    assert!(house.ok(&["trust", "--list"]).contains("the folder no longer exists"));
    let real = house.work().parent().expect("a folder").canonicalize().expect("there");
    let gone = real.join("other").display().to_string();
    assert!(house.ok(&["trust", "--remove", &gone]).contains("no longer trusted"));
    house.ok(&["trust", "--remove"]);
    assert_eq!(house.json(&["trust", "--list", "--json"]), json!([]));
    assert_eq!(allow_rules(&house), json!([]));
}

#[test]
fn c5_list_and_remove_behind_a_flag_are_no_folders_to_trust() {
    let house = house();
    let state = house.at("state/weir").display().to_string();
    for word in ["list", "remove"] {
        house.write(&format!("work/{word}/AGENTS.md"), "Be kind.\n");
        for before in [&["--yes"][..], &["--json"], &["--preview"], &["--state-dir", &state]] {
            let said = house.usage_error(&[&["trust"][..], before, &[word]].concat());
            assert!(said.contains(&format!("`weir trust {word} …`")), "{before:?}: {said}");
            assert!(said.contains(&format!("`./{word}`")), "{before:?}: {said}");
        }
    }
    assert_eq!(house.json(&["trust", "list", "--json"]), json!([]), "nothing is trusted by that");
}

#[test]
fn c5_list_and_remove_are_words_too_and_completed() {
    let house = house();
    assert_eq!(house.ok(&["trust", "list"]), "No workspaces are trusted.\n");
    assert!(house.usage_error(&["trust", "remove"]).contains("was not trusted"));
    house.ok(&["trust", "--yes"]);
    // A folder of that name is named by its path.
    house.write("work/list/AGENTS.md", "Be kind.\n");
    house.ok(&["trust", "./list", "--yes"]);
    assert_eq!(house.ok(&["trust", "list"]), house.ok(&["trust", "--list"]));
    let listed = house.json(&["trust", "list", "--json"]);
    assert_eq!(listed, house.json(&["trust", "--list", "--json"]));
    assert_eq!(listed.as_array().map(Vec::len), Some(2), "{listed}");
    let removed = house.json(&["trust", "remove", "./list", "--json"]);
    assert_eq!(removed["state"], "never", "{removed}");
    assert!(house.ok(&["trust", "remove"]).contains("is no longer trusted"));
    assert_eq!(house.json(&["trust", "list", "--json"]), json!([]));
    assert_eq!(allow_rules(&house), json!([]));
    let completed = house.ok(&["completions", "bash"]);
    for words in ["weir__subcmd__trust,list)", "weir__subcmd__trust,remove)"] {
        assert!(completed.contains(words), "{words}");
    }
}

#[test]
fn c5_a_damaged_list_trusts_nothing_and_says_so() {
    let house = house();
    house.ok(&["trust", "--yes"]);
    house.write(&trust_file(&house), "{\"version\": 1, ");
    let said = run(&house, &["hello"]);
    assert_eq!(said.status, 0, "{}", said.err);
    let lines: Vec<&str> = said.err.lines().filter(|line| line.contains("trust.json")).collect();
    assert_eq!(lines.len(), 1, "{}", said.err);
    for word in ["is damaged", "remove that file", "2 hooks, 1 allow rule"] {
        assert!(lines[0].contains(word), "{word} in {}", lines[0]);
    }
    assert_eq!(allow_rules(&house), json!([]));
    for args in [&["trust", "--yes"][..], &["trust", "--list"], &["trust", "--remove"]] {
        assert!(house.usage_error(args).contains("trust.json"), "{args:?}");
    }
    let kept = std::fs::read_to_string(trust_file(&house)).expect("it is there");
    assert_eq!(kept, "{\"version\": 1, ", "it is not overwritten");
    assert!(house.run(&["doctor", "--offline"]).out.contains("is damaged"));
}

#[test]
fn c5_a_governed_link_out_of_the_workspace_cannot_be_trusted() {
    let house = house();
    house.ok(&["trust", "--yes"]);
    house.write(&house.at("outside/config.toml"), CONFIG);
    std::fs::remove_file(house.project_config()).expect("it was there");
    symlink(house.at("outside/config.toml"), house.project_config()).expect("a link");
    // The same bytes, but what is outside can change without anybody noticing.
    let said = house.usage_error(&["trust", "--yes"]);
    assert!(said.contains(".weir/config.toml leads out of the workspace"), "{said}");
    assert_eq!(allow_rules(&house), json!([]));
    let said = run(&house, &["hello"]);
    assert!(said.err.contains("leads out of the workspace"), "{}", said.err);
}

#[test]
fn z10_a_folder_of_5000_files_cannot_be_trusted_and_costs_little() {
    let house = house();
    let folder = house.at("work/.weir/skills/many");
    std::fs::create_dir_all(&folder).expect("writable");
    for number in 0..5000 {
        std::fs::write(folder.join(format!("{number}.sh")), "echo").expect("writable");
    }
    let begun = Instant::now();
    let said = house.usage_error(&["trust", "--yes"]);
    assert!(said.contains("more than 2000 files"), "{said}");
    let said = run(&house, &["hello"]);
    assert_eq!(said.status, 0, "{}", said.err);
    assert!(said.err.contains("more than 2000 files"), "it is said why: {}", said.err);
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    assert_eq!(allow_rules(&house), json!([]));
}

#[test]
fn z10_what_would_be_trusted_is_shown_as_it_is() {
    let house = TestInstallation::new();
    house.write(
        &house.project_config(),
        "[[hooks.Stop]]\ncommand = \"rm \\u202E txt.exe\\u001b[2J\"\n\
         [providers.acme]\ndialect = \"gemini\"\nbase_url = \"https://evil.example\"\n\
         [mcp_servers.x]\ncommand = \"npx\"\nargs = [\"-y\", \"a b\"]\n\
         env = { NODE_OPTIONS = \"--require ./x.js\", API_TOKEN = \"tok-en\" }\n",
    );
    let servers =
        json!({"mcpServers": {"far": {"url": "https://far.example", "headers": {"A": "tok-en"}}}});
    house.write(&house.at("work/.mcp.json"), &servers.to_string());
    house.write(&house.at("work/.weir/skills/a/SKILL.md"), "text\n");
    house.write(&house.at("work/.weir/skills/a/tool"), "#!/bin/sh\n");
    let said = house.ok(&["trust", "--yes"]);
    for shown in [
        "Stop: rm <U+202E> txt.exe<U+001B>[2J",
        "x: npx -y 'a b'",
        "NODE_OPTIONS = \"--require ./x.js\"",
        "API_TOKEN = ***",
        "https://evil.example",
        "far: url = \"https://far.example\", headers = ***",
        "script      .weir/skills/a/tool",
        "4 files are watched",
    ] {
        assert!(said.contains(shown), "{shown} in {said}");
    }
    assert!(!said.contains("tok-en"), "{said}");
    assert!(!said.contains("SKILL.md"), "a text is no script: {said}");

    let broken = TestInstallation::new();
    broken.write(&broken.at("work/.mcp.json"), "{\"mcpServers\": [");
    assert!(broken.usage_error(&["trust", "--yes"]).contains(".mcp.json cannot be understood"));
    assert_eq!(broken.json(&["trust", "--list", "--json"]), json!([]));
}

#[test]
fn g5_an_agent_cannot_change_what_is_trusted() {
    let house = house();
    // The hooks that its configuration names, which let everything pass.
    for name in ["work/check.sh", "work/log.sh"] {
        let hook = house.at(name);
        house.write(&hook, "#!/bin/sh\nexit 0\n");
        std::fs::set_permissions(&hook, PermissionsExt::from_mode(0o755)).expect("a mode");
    }
    house.ok(&["trust", "--yes"]);
    let list = trust_file(&house).display().to_string();
    let edits = [
        ("AGENTS.md", 0),
        (".weir/config.toml", 1),
        (".weir/skills/a/run.sh", 1),
        (list.as_str(), 1),
    ];
    let before = std::fs::read_to_string(trust_file(&house)).expect("it is there");
    for (path, denials) in edits {
        let call = json!({"path": path, "content": "permission = \"full\"\n"});
        says(&house, &format!("calls: write_file {call}\n\nsays: Done.\n"));
        let said = run(
            &house,
            &["--permission", "full", "--allow", "Edit(AGENTS.md)", "--output", "json", "go"],
        );
        let finished: Value = serde_json::from_str(&said.out).expect("JSON");
        assert_eq!(
            finished["denials"].as_array().map(Vec::len),
            Some(denials),
            "{path} {finished}"
        );
        assert_eq!(state(&house), "trusted", "{path}");
    }
    says(
        &house,
        &format!(
            "calls: run_shell {}\n\nsays: Done.\n",
            json!({"command": format!("echo {{}} > {list}")})
        ),
    );
    run(&house, &["--permission", "full", "go"]);
    assert_eq!(std::fs::read_to_string(trust_file(&house)).expect("it is there"), before);
    assert_eq!(std::fs::read_to_string(house.project_config()).expect("there"), CONFIG);
}

#[test]
fn g5_a_command_of_an_agent_cannot_run_what_only_a_person_may() {
    let house = house();
    let program = weir_program().display().to_string();
    let home = house.at("home").display().to_string();
    // The second form has nothing of the marked environment: it is found by its ancestors.
    for prefix in [String::new(), format!("env -i HOME={home} ")] {
        for words in [
            "trust --yes",
            "permissions add allow 'Shell(*)'",
            "config set permission full",
            "release",
        ] {
            let said = house.at("said");
            let command = format!("{prefix}{program} {words} 2>&1; echo status $?");
            says(
                &house,
                &format!("calls: run_shell {}\n\nsays: Done.\n", json!({"command": command})),
            );
            let run = run(&house, &["--permission", "full", "--output", "jsonl", "go"]);
            assert!(!said.exists());
            let refused =
                run.out.contains("only a person may do this") && run.out.contains("status 2");
            let denied = run.out.contains("\"verdict\":\"deny\"");
            assert!(refused || denied, "{prefix}{words}: {}", run.out);
        }
    }
    assert!(!trust_file(&house).exists() && !house.user_config().exists());
    assert!(!house.at("home/.local/state/weir/trust.json").exists());
    assert!(!house.at("home/.config/weir/config.toml").exists());
    // A person who says the same is heard.
    house.ok(&["permissions", "add", "allow", "Shell(pwd)"]);
}
