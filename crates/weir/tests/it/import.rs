//! `weir import` from outside: files of other agents, and what becomes of them.

use serde_json::Value;
use weir_test_kit::TestInstallation;

/// Files of Claude Code, below the home and in the workspace.
fn claude(house: &TestInstallation) {
    let work = house.work().canonicalize().expect("it exists");
    let state = serde_json::json!({
        "numStartups": 7,
        "mcpServers": {
            "files": {"type": "stdio", "command": "files-server", "args": ["--root", "${HOME}/x"],
                      "env": {"LEVEL": "warn", "API_TOKEN": "marker-value-1"}},
            "hub": {"type": "http", "url": "https://mcp.example/mcp",
                    "headers": {"Authorization": "Bearer ${HUB_TOKEN}"}},
            "old": {"type": "sse", "url": "https://old.example/sse"}
        },
        "projects": {work.display().to_string(): {
            "allowedTools": ["Bash(make:*)"],
            "mcpServers": {"here": {"command": "here-server"}}
        }}
    });
    house.write(&house.at("home/.claude.json"), &state.to_string());
    house.write(
        &house.at("home/.claude/settings.json"),
        r#"{
  "permissions": {
    "deny": ["Read(~/.ssh/**)", "WebSearch"],
    "ask": ["Bash(git push:*)"],
    "allow": ["Bash(npm run test:*)", "WebFetch(domain:docs.rs)", "mcp__files__read"],
    "defaultMode": "acceptEdits"
  },
  "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [
    {"type": "command", "command": "/usr/bin/look", "timeout": 5}]}]}
}"#,
    );
    house.write(
        &house.at("work/.claude/settings.json"),
        r#"{"permissions": {"deny": ["Edit(/secret/**)"], "allow": ["Bash(just:*)"]}}"#,
    );
}

fn items<'a>(value: &'a Value, outcome: &str) -> Vec<&'a str> {
    let items = value["items"].as_array().expect("items");
    let of = items.iter().filter(|item| item["outcome"] == outcome);
    of.map(|item| item["says"].as_str().expect("a text")).collect()
}

/// Instructions and commands are taken over; definitions of agents are named.
#[test]
fn c1_import_takes_instructions_and_commands_and_names_agents() {
    for (agent, folder, instructions, commands, agents) in [
        ("claude-code", ".claude", "CLAUDE.md", "commands", "agents"),
        ("codex", ".codex", "AGENTS.md", "prompts", ""),
        ("opencode", ".config/opencode", "AGENTS.md", "command", "agent"),
    ] {
        let house = TestInstallation::new();
        let at = |name: &str| house.at(&format!("home/{folder}/{name}"));
        house.write(&at(instructions), "Say please.\n");
        house.write(&at(&format!("{commands}/fix.md")), "Fix $ARGUMENTS.\n");
        house.write(&at(&format!("{commands}/git/tidy.md")), "Tidy up.\n");
        if !agents.is_empty() {
            house.write(&at(&format!("{agents}/tester.md")), "---\nname: tester\n---\nTest.\n");
        }
        let own = house.user_config().parent().expect("a folder").to_path_buf();
        let dry = house.ok(&["import", agent, "--dry-run"]);
        for part in ["instructions for everywhere", "command /fix", "command /git:tidy"] {
            assert!(dry.contains(part), "{agent}: {part}: {dry}");
        }
        assert_eq!(dry.contains("agent tester -> says its tools"), !agents.is_empty(), "{dry}");
        assert!(!own.join("commands").exists() && !own.join("rules").exists(), "a dry run");

        house.ok(&["import", agent]);
        let read = |name: &str| std::fs::read_to_string(own.join(name)).expect(name);
        assert_eq!(read(&format!("rules/{agent}.md")), "Say please.\n");
        assert_eq!(read("commands/fix.md"), "Fix $ARGUMENTS.\n");
        assert_eq!(read("commands/git/tidy.md"), "Tidy up.\n");
        // Again: all of it is there. What is the person's own stays as it is.
        house.write(&own.join("commands/fix.md"), "Mine.\n");
        let again = house.ok(&["import", agent]);
        assert!(again.contains("you have another") && again.contains("Already there"), "{again}");
        assert_eq!(read("commands/fix.md"), "Mine.\n");
    }
}

#[test]
fn c1_import_claude_code_takes_what_narrows_and_asks_for_the_rest() {
    let house = TestInstallation::new();
    claude(&house);
    house.write(&house.user_config(), "# my settings\nmodel = \"anthropic/x\" # this one\n");
    let before = std::fs::read_to_string(house.user_config()).expect("there");
    let said = house.ok(&["import", "claude-code", "--dry-run"]);
    for part in [
        "Nothing was changed",
        "deny Read(~/.ssh/**)",
        "uses the transport sse",
        "API_TOKEN is not taken over",
        "deny WebSearch -> is about WebSearch, which is no tool here",
        "settings.json:3",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("marker-value"), "{said}");
    assert_eq!(std::fs::read_to_string(house.user_config()).expect("there"), before);

    let value = house.json(&["import", "claude-code", "--json"]);
    let taken = items(&value, "taken");
    for says in ["server files", "server hub", "server here", "deny Read(~/.ssh/**)"] {
        assert!(taken.contains(&says), "{says}: {taken:?}");
    }
    let widens = items(&value, "widens");
    for says in [
        "allow Bash(npm run test:*)",
        "allow Bash(make:*)",
        "allow Bash(just:*)",
        "mode acceptEdits",
        "hook PreToolUse on Bash: /usr/bin/look",
    ] {
        assert!(widens.contains(&says), "{says}: {widens:?}");
    }
    let text = std::fs::read_to_string(house.user_config()).expect("written");
    assert!(text.starts_with("# my settings\nmodel = \"anthropic/x\" # this one\n"), "{text}");
    assert!(text.contains("Read(~/.ssh/**)") && text.contains("Shell(git push:*)"), "{text}");
    for wide in ["npm run test", "auto-edit", "/usr/bin/look", "marker-value"] {
        assert!(!text.contains(wide), "{wide} must not be there without a yes: {text}");
    }
    let project = std::fs::read_to_string(house.project_config()).expect("written");
    assert!(project.contains("Edit(./secret/**)") && !project.contains("just"), "{project}");
}

#[test]
fn c1_import_with_a_yes_takes_the_rest_and_again_changes_nothing() {
    let house = TestInstallation::new();
    claude(&house);
    house.ok(&["import", "claude-code", "--yes"]);
    let text = std::fs::read_to_string(house.user_config()).expect("written");
    for part in ["npm run test:*", "permission = \"auto-edit\"", "/usr/bin/look", "run_shell"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let again = house.json(&["import", "claude-code", "--yes", "--json"]);
    assert_eq!(items(&again, "taken"), Vec::<&str>::new(), "everything is there");
    assert_eq!(std::fs::read_to_string(house.user_config()).expect("there"), text);
    // No server is started by it: none was looked at.
    let list = house.json(&["mcp-servers", "list", "--json"]);
    let states: Vec<_> = list.as_array().expect("a list").iter().map(|s| &s["approved"]).collect();
    assert_eq!(states, [false, false, false]);
    // What a secret is needed for says which.
    let rules = house.ok(&["permissions", "list"]);
    assert!(rules.contains("Web(docs.rs)") && rules.contains("Mcp(files:read)"), "{rules}");
}

#[test]
fn c1_import_codex_takes_servers_and_one_mode() {
    let house = TestInstallation::new();
    house.write(
        &house.at("old/.codex/config.toml"),
        r#"model = "gpt"
approval_policy = "never"
sandbox_mode = "danger-full-access"

[mcp_servers.git]
command = "mcp-git"
args = ["--repo", "."]
startup_timeout_sec = 20
enabled_tools = ["status"]

[mcp_servers.linear]
url = "https://mcp.linear.example/mcp"
bearer_token_env_var = "LINEAR_TOKEN"

[projects."/src"]
trust_level = "trusted"
"#,
    );
    let from = house.at("old").display().to_string();
    let said = house.ok(&["import", "codex", "--from", &from]);
    for part in [
        "[mcp_servers.git] mcp-git --repo .",
        "enabled_tools is not taken over",
        "permission = \"full\"",
        "config.toml:5",
        "trusted folders -> trust is given here with `weir trust`",
        "1 would allow more than before",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let text = std::fs::read_to_string(house.user_config()).expect("written");
    assert!(!text.contains("permission ="), "{text}");
    assert!(text.contains("start_timeout = \"20s\"") && text.contains("LINEAR_TOKEN"), "{text}");
    assert!(
        text.contains("Authorization = \"linear-authorization\"")
            && text.contains("mcp.linear.example"),
        "{text}"
    );
}

#[test]
fn c1_import_opencode_reads_comments_and_orders_of_patterns() {
    let house = TestInstallation::new();
    house.write(
        &house.at("home/.config/opencode/opencode.jsonc"),
        r#"{
  // servers
  "mcp": {
    "a": {"type": "local", "command": ["a-server", "--x"], "environment": {"L": "{env:HOME}"},},
    "b": {"type": "remote", "url": "https://b.example/mcp", "enabled": false},
  },
  "permission": {
    "edit": "deny",
    "bash": {"*": "ask", "git status *": "allow", "git push *": "deny"},
    "webfetch": "allow", /* all of it */
  },
}"#,
    );
    let value = house.json(&["import", "opencode", "--json", "--yes"]);
    let taken = items(&value, "taken");
    for says in ["server a", "server b", "edit: deny", "bash git push *: deny", "webfetch: allow"] {
        assert!(taken.contains(&says), "{says}: {taken:?}");
    }
    assert!(items(&value, "left").contains(&"bash *: ask"), "commands ask anyway");
    let rules = house.ok(&["permissions", "list"]);
    for rule in ["deny", "Edit", "Shell(git push:*)", "Shell(git status:*)", "Web"] {
        assert!(rules.contains(rule), "{rule}: {rules}");
    }
    let list = house.json(&["mcp-servers", "list", "--json"]);
    assert_eq!(list[1]["state"], "disabled");
}

#[test]
fn c1_import_what_cannot_be_read_is_told_with_its_line_and_changes_nothing() {
    let house = TestInstallation::new();
    house.write(&house.at("home/.claude.json"), "{\n  \"mcpServers\": {\n    \"a\": }\n}");
    let why = house.usage_error(&["import", "claude-code"]);
    assert!(why.contains(".claude.json:3:"), "{why}");
    house.write(&house.at("home/.codex/config.toml"), "a = 1\nb = \n");
    assert!(house.usage_error(&["import", "codex"]).contains("config.toml:2:"));
    house.write(&house.at("home/.config/opencode/opencode.json"), "[]");
    assert!(house.usage_error(&["import", "opencode"]).contains("is no JSON object"));
    assert!(!house.user_config().exists());
    let empty = TestInstallation::new();
    assert!(empty.usage_error(&["import", "codex"]).contains("no file of that agent was found"));
    assert!(empty.usage_error(&["import", "codex", "--from", "/none"]).contains("is not a folder"));
}
