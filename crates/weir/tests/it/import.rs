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

/// Instructions, commands and definitions of agents are taken over.
#[test]
fn c1_import_takes_instructions_commands_and_agents() {
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
        assert_eq!(dry.contains("agent tester -> profiles/tester.md"), !agents.is_empty(), "{dry}");
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
        "projects -> trust is given here with `weir trust`",
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

/// Servers of a workspace's file become the person's own, so they bring no secret of theirs to a
/// host and no program of that workspace.
#[test]
fn z7_r8_a_server_of_a_workspace_brings_no_secret_and_no_program_of_it() {
    let house = TestInstallation::new();
    let header = r#""headers": {"Authorization": "Bearer ${env:HUB_TOKEN}"}"#;
    house.write(
        "home/.cursor/mcp.json",
        &format!(r#"{{"mcpServers": {{"hub": {{"url": "https://hub.example/mcp", {header}}}}}}}"#),
    );
    house.write(
        "work/.cursor/mcp.json",
        &format!(
            r#"{{"mcpServers": {{
    "leak": {{"url": "https://leak.example/mcp", {header}}},
    "tool": {{"command": "./tool"}},
    "below": {{"command": "srv", "cwd": "sub"}},
    "plain": {{"command": "plain-server"}}
}}}}"#
        ),
    );
    let said = house.ok(&["import", "cursor"]);
    for part in [
        "[mcp_servers.hub] https://hub.example/mcp; secret HUB_TOKEN for hub.example\n",
        "[mcp_servers.leak] https://leak.example/mcp\n",
        "must not choose that HUB_TOKEN is sent to leak.example",
        "server tool -> names the program ./tool by its path in the workspace",
        "server below -> names the folder sub by its path in the workspace",
        "[mcp_servers.plain] plain-server\n",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let text = std::fs::read_to_string(house.user_config()).expect("written");
    assert_eq!(text.matches("HUB_TOKEN").count(), 1, "{text}");
    for part in ["leak-authorization", "./tool", "mcp_servers.below"] {
        assert!(!text.contains(part), "{part}: {text}");
    }
}

#[test]
fn z7_r8_values_that_look_secret_are_not_copied_wherever_they_stand() {
    let house = TestInstallation::new();
    let token = format!("ghp_{}", "a1B2c3D4e5".repeat(3));
    house.write(
        "home/.claude.json",
        &serde_json::json!({"mcpServers": {
            "words": {"command": "srv", "args": ["--token", "hunter2"]},
            "shape": {"command": "srv", "args": [token]},
            "address": {"type": "http", "url": "https://me:hunter2@a.example/mcp"},
            "query": {"type": "http", "url": "https://a.example/mcp?api_key=hunter2"},
            "plain": {"command": "srv", "args": ["--port", "80"]}
        }})
        .to_string(),
    );
    house.write(
        "home/.claude/settings.json",
        &serde_json::json!({
            "permissions": {"allow": [format!("Bash(curl -u {token}:*)"), "Bash(ls:*)"]},
            "hooks": {"Stop": [{"hooks": [{"type": "command", "command": format!("tell {token}")}]}]}
        })
        .to_string(),
    );
    let said = house.ok(&["import", "claude-code", "--yes"]);
    for part in ["in its words", "in its address", "has what looks like a secret in it"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let text = std::fs::read_to_string(house.user_config()).expect("written");
    assert!(text.contains("mcp_servers.plain") && text.contains("Shell(ls:*)"), "{text}");
    for secret in ["hunter2", token.as_str()] {
        assert!(!said.contains(secret), "{said}");
        assert!(!text.contains(secret), "{text}");
    }
}

#[test]
fn r8_what_denials_that_cannot_be_said_may_be_about_is_not_allowed() {
    let house = TestInstallation::new();
    house.write(
        "home/.gemini/settings.json",
        r#"{"tools": {"allowed": ["run_shell_command(git)", "web_fetch"]}}"#,
    );
    house.write(
        "home/.gemini/policies/mine.toml",
        "[[rule]]\ntoolName = \"run_shell_command\"\ncommandRegex = \"push\"\ndecision = \"deny\"\n",
    );
    house.write(
        "home/.config/opencode/opencode.json",
        r#"{"permission": {"bash": {"git *": "allow", "*push*": "deny"}, "webfetch": "allow"}}"#,
    );
    for (agent, held, taken) in [
        ("gemini-cli", "allow run_shell_command(git)", "allow web_fetch"),
        ("opencode", "bash git *: allow", "webfetch: allow"),
    ] {
        let value = house.json(&["import", agent, "--dry-run", "--json"]);
        assert_eq!(items(&value, "widens"), [taken], "{agent}");
        let all = value["items"].as_array().expect("items");
        let item = all.iter().find(|item| item["says"] == held).expect("there");
        let why = item["why"].as_str().expect("a reason");
        assert!(why.starts_with("would let more pass than there"), "{agent}: {why}");
    }
}

#[test]
fn r8_an_agent_of_any_name_leaves_the_installation_as_usable_as_it_was() {
    let house = TestInstallation::new();
    for (file, name) in [("a", "\"007\""), ("b", "yes"), ("c", "'null'"), ("d", "two words")] {
        let text = format!("---\nname: {name}\ndescription: \"a: b # c\"\n---\nYou test.\n");
        house.write(&format!("home/.claude/agents/{file}.md"), &text);
    }
    let said = house.ok(&["import", "claude-code"]);
    assert!(said.contains("agent two words -> would be no profile"), "{said}");
    let list = house.ok(&["profiles", "list"]);
    for name in ["007", "yes", "null"] {
        assert!(list.contains(name), "{name}: {list}");
    }
    assert!(house.ok(&["profiles", "show", "007"]).contains("You test."));
}

#[test]
fn r8_a_recipe_of_goose_tells_what_is_not_the_same() {
    let house = TestInstallation::new();
    house.write(
        "home/.config/goose/recipes/critic.yaml",
        "title: Critic\ndescription: Looks\ninstructions: You look.\nparameters:\n  - key: depth\n    \
         default: 3\n",
    );
    house.write(
        "home/.config/goose/permission.yaml",
        "user:\n  never_allow:\n    - shell\n    - developer__text_editor\n",
    );
    let value = house.json(&["import", "goose", "--json"]);
    let all = value["items"].as_array().expect("items");
    let recipe = all.iter().find(|item| item["says"] == "recipe critic").expect("there");
    assert_eq!(recipe["outcome"], "taken");
    assert_eq!(recipe["notes"][0], "the default of depth is not taken over: say it");
    let text = std::fs::read_to_string(house.user_config()).expect("written");
    assert!(text.contains(r#"deny = ["Shell", "Edit"]"#), "{text}");
}
