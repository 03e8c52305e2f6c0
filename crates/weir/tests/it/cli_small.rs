//! The smaller commands: help, keys, models, permissions, profiles, tools, doctor, pause.

use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::process::Stdio;

use serde_json::{Value, json};
use weir_test_kit::TestInstallation;

#[test]
fn c1_without_a_command_it_names_weir_run() {
    let house = TestInstallation::new();
    let said = house.usage_error(&[]);
    assert!(said.contains("weir run") && said.contains("needs a terminal"), "{said}");
    assert!(house.usage_error(&["dance"]).contains("dance"));
    assert!(house.usage_error(&["run", "--output", "xml", "x"]).contains("xml"));
    assert!(house.ok(&["--version"]).starts_with("weir "));
}

#[test]
fn c1_words_of_other_agents_work_or_name_what_does() {
    let house = TestInstallation::new();
    assert!(house.ok(&["help"]).contains("weir doctor"));
    assert!(house.ok(&["help", "sessions", "list"]).contains("--json"));
    assert_eq!(house.ok(&["mcp", "list"]), house.ok(&["mcp-servers", "list"]));
    assert!(house.usage_error(&["login"]).contains("weir auth set"));
    assert!(house.usage_error(&["fix", "the", "tests"]).contains("weir run \"fix the tests\""));
    // A task in quotes, and what is one elsewhere: they come as far as the question for a model.
    for words in [&["say hello"][..], &["exec", "say hello"], &["-p", "say hello"]] {
        let said = house.usage_error(words);
        assert!(!said.contains("Usage:") && said.contains("model"), "{words:?}: {said}");
    }
}

#[test]
fn c1_every_command_has_help_with_examples_completions_and_a_manual_page() {
    let house = TestInstallation::new();
    for command in [
        "run",
        "demo",
        "sessions",
        "checkpoints",
        "undo",
        "replay",
        "audit",
        "permissions",
        "trust",
        "models",
        "config",
        "auth",
        "doctor",
        "schema",
        "tools",
        "profiles",
        "pause",
        "release",
        "script",
        "completions",
        "man",
    ] {
        assert!(house.ok(&[command, "--help"]).contains("Usage"), "{command}");
        assert!(house.ok(&["man", command]).contains(".TH"), "{command}");
    }
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(house.ok(&["completions", shell]).contains("checkpoints"), "{shell}");
    }
    let help = house.ok(&["run", "--help"]);
    for flag in [
        "--workspace",
        "--model",
        "--profile",
        "--permission",
        "--allow",
        "--deny",
        "--output",
        "--deltas",
        "--resume",
        "--continue",
        "--fork",
        "--attach",
        "--max-iterations",
        "--max-tool-calls",
        "--budget-usd",
        "--budget-tokens",
        "--timeout",
        "--system-prompt",
        "--append-system-prompt",
        "--output-schema",
        "--strict",
        "--quiet",
        "--state-dir",
    ] {
        assert!(help.contains(flag), "{flag}");
    }
    assert!(!house.ok(&["--help"]).contains("__supervise"), "the hidden command stays hidden");
    assert!(house.ok(&["schema", "openapi"]).contains("/api/v1/sessions/{id}/input"));
}

#[test]
fn c1_a_closed_pipe_is_no_panic() {
    let house = TestInstallation::new();
    for args in [&["man", "run"][..], &["schema", "events"], &["config", "show"], &["--help"]] {
        let mut command = house.command(args);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().expect("piped").read_to_string(&mut said).expect("UTF-8");
        let status = child.wait().expect("it ends");
        assert!(status.success(), "{args:?}: {status} {said}");
        assert!(!said.contains("panicked"), "{said}");
    }
}

#[test]
fn c1_an_unusable_workspace_is_a_usage_error() {
    let house = TestInstallation::new();
    house.write(&house.at("work/file"), "x");
    assert!(house.usage_error(&["-C", "nowhere", "permissions", "list"]).contains("nowhere"));
    assert!(house.usage_error(&["permissions", "list", "-C", "file"]).contains("not a folder"));
}

#[test]
fn c4_keys_are_kept_for_their_owner_and_never_shown() {
    const KEY: &str = "sk-marker-0123456789";
    let house = TestInstallation::new();
    let said = house.run_with_input(&["auth", "set", "anthropic"], &format!("{KEY}\n"));
    assert_eq!(said.status, 0, "{}", said.err);
    let file = house.at("config/weir/keys.toml");
    assert_eq!(std::fs::metadata(&file).expect("kept").mode() & 0o777, 0o600);
    let list = house.json(&["auth", "list", "--json"]);
    let row = |list: &Value, name: &str| {
        list.as_array().expect("a list").iter().find(|row| row["provider"] == name).cloned()
    };
    assert_eq!(row(&list, "anthropic").expect("known")["has_key"], true);
    assert_eq!(row(&list, "gemini").expect("known")["has_key"], false);
    for args in [
        &["auth", "list"][..],
        &["auth", "list", "--json"],
        &["config", "show"],
        &["models"],
        &["doctor", "--offline", "--json"],
    ] {
        let shown = house.run(args);
        assert!(!shown.out.contains(KEY) && !shown.err.contains(KEY), "{args:?}");
    }
    let house = house.with_variable("ANTHROPIC_API_KEY", "sk-other-0123456789");
    let list = house.json(&["auth", "list", "--json"]);
    let source = row(&list, "anthropic").expect("known")["source"].clone();
    assert_eq!(source, "variable ANTHROPIC_API_KEY", "the environment beats the file");
    house.ok(&["auth", "remove", "anthropic"]);
    assert!(house.usage_error(&["auth", "remove", "anthropic"]).contains("saved: none"));
}

#[test]
fn z7_a_file_of_keys_that_others_can_read_is_refused_without_quoting_it() {
    use std::os::unix::fs::PermissionsExt;
    let house = TestInstallation::new();
    let file = house.at("config/weir/keys.toml");
    house.write(&file, "anthropic = \"sk-marker-0123456789\"\n");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("ours");
    let said = house.usage_error(&["auth", "list"]);
    assert!(said.contains("chmod 600") && !said.contains("sk-marker"), "{said}");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("ours");
    house.write(&file, "anthropic = sk-marker-0123456789\n");
    let said = house.usage_error(&["auth", "list"]);
    assert!(said.contains("line 1") && !said.contains("sk-marker"), "{said}");
    for (provider, input) in [("nobody", "x\n"), ("anthropic", "\n"), ("anthropic", "a b\n")] {
        house.write(&file, "");
        let said = house.run_with_input(&["auth", "set", provider], input);
        assert_eq!(said.status, 2, "{provider} {input:?}");
    }
    let argument = house.run(&["auth", "set", "anthropic", "sk-on-the-command-line"]);
    assert_eq!(argument.status, 2, "a key is never taken from the command line");
}

#[test]
fn c4_models_are_listed_with_window_price_and_key() {
    let house = TestInstallation::new().with_variable("ANTHROPIC_API_KEY", "sk-x-0123456789");
    let own = "[providers.acme]\ndialect = \"openai-chat\"\nbase_url = \"https://a.example/v1\"\n\
               [models.\"acme/large\"]\nwindow = 77000\nprice = { input = 1.0, output = 4.0 }\n";
    house.write(&house.user_config(), own);
    let models = house.json(&["models", "--json"]);
    let models = models.as_array().expect("a list");
    let of = |provider: &str| {
        let prefix = format!("{provider}/");
        models.iter().filter(move |m| m["model"].as_str().is_some_and(|n| n.starts_with(&prefix)))
    };
    assert!(of("anthropic").count() > 0 && of("anthropic").all(|m| m["has_key"] == true));
    assert!(of("openai").all(|m| m["has_key"] == false));
    let large = of("acme").next().expect("the config adds models");
    assert_eq!(
        (large["window"].clone(), large["price"]["output"].clone()),
        (json!(77000), json!(4.0))
    );
    assert!(house.usage_error(&["models", "nobody"]).contains("anthropic"));
    assert!(house.ok(&["models", "acme"]).contains("acme/large"));
}

#[test]
fn c4_probing_asks_the_endpoint_that_is_configured() {
    let house = TestInstallation::new();
    // A server that answers one list of models.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    let server = std::thread::spawn(move || {
        use std::io::Write;
        let (mut stream, _) = listener.accept().expect("asked");
        let mut request = [0; 4096];
        let length = stream.read(&mut request).expect("a request");
        let body = r#"{"data":[{"id":"tiny","context_window":4096}]}"#;
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.write_all(format!("{head}{body}").as_bytes()).expect("it reads");
        String::from_utf8_lossy(&request[..length]).into_owned()
    });
    let own = format!(
        "[providers.acme]\ndialect = \"openai-chat\"\nbase_url = \"http://127.0.0.1:{port}/v1\"\n"
    );
    house.write(&house.user_config(), &own);
    let models = house.json(&["models", "acme", "--probe", "--json"]);
    assert_eq!(models[0]["model"], "acme/tiny");
    assert_eq!(
        (models[0]["window"].clone(), models[0]["offered"].clone()),
        (json!(4096), json!(true))
    );
    let request = server.join().expect("it answered");
    assert!(request.starts_with("GET /v1/models "), "{request}");
}

#[test]
fn c3_rules_are_added_explained_and_removed() {
    let house = TestInstallation::new();
    house.write(&house.at("work/src/main.rs"), "fn main() {}\n");
    let explain = |args: &[&str]| {
        let mut all = vec!["permissions", "explain"];
        all.extend(args);
        all.push("--json");
        house.json(&all)
    };
    let read = explain(&["read_file", r#"{"path": "src/main.rs"}"#]);
    assert_eq!(read["judgement"]["verdict"], "allow", "{read}");
    let shell = explain(&["run_shell", r#"{"command": "cargo test"}"#]);
    assert_eq!(shell["judgement"]["verdict"], "ask", "{shell}");
    assert_eq!(shell["judgement"]["gate"], "rules");

    house.ok(&["permissions", "add", "allow", "Shell(cargo test:*)"]);
    let shell = explain(&["run_shell", r#"{"command": "cargo test --all"}"#]);
    assert_eq!(shell["judgement"]["verdict"], "allow", "{shell}");

    house.ok(&["permissions", "add", "deny", "Shell(cargo:*)", "--project"]);
    let shell = explain(&["run_shell", r#"{"command": "cargo test"}"#]);
    assert_eq!(shell["judgement"]["verdict"], "deny", "deny beats allow: {shell}");
    let rule = shell["judgement"]["rule"].as_str().expect("a rule");
    assert!(rule.contains("Shell(cargo:*)") && rule.contains(".weir/config.toml:2"), "{rule}");
    let text = house.ok(&["permissions", "explain", "run_shell", r#"{"command": "cargo test"}"#]);
    assert!(text.starts_with("denied") && text.contains("To change it"), "{text}");

    house.ok(&["permissions", "remove", "Shell(cargo:*)"]);
    assert!(house.usage_error(&["permissions", "remove", "Shell(cargo:*)"]).contains("no rule"));
    let rules = house.json(&["permissions", "list", "--json"]);
    assert_eq!(rules.as_array().map(Vec::len), Some(1), "{rules}");
}

#[test]
fn c3_explain_shows_modes_profiles_paths_and_broken_calls() {
    let house = TestInstallation::new();
    house.write(&house.at("work/.weirignore"), "# mine\nprivate/\n");
    house.write(&house.at("work/private/a"), "x");
    house.write(&house.at("work/a.txt"), "x");
    let verdict = |args: &[&str]| {
        let mut all = vec!["permissions", "explain"];
        all.extend(args);
        all.push("--json");
        let explained = house.json(&all);
        let judgement = &explained["judgement"];
        let text = |name: &str| judgement[name].as_str().unwrap_or_default().to_owned();
        (text("verdict"), text("gate"))
    };
    let write = r#"{"path": "b.txt", "content": "x"}"#;
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(verdict(&["write_file", write]).0, "ask");
    assert_eq!(verdict(&["write_file", write, "--permission", "auto-edit"]).0, "allow");
    assert_eq!(verdict(&["write_file", write, "--permission", "plan"]).0, "deny");
    assert_eq!(verdict(&["write_file", write, "--profile", "ask"]), pair("deny", "visible"));
    assert_eq!(verdict(&["read_file", r#"{"path": "private/a"}"#]).0, "deny");
    assert_eq!(verdict(&["no_such_tool", "{}"]), pair("deny", "known"));
    assert_eq!(verdict(&["read_file", "{\"path\": 3}"]), pair("deny", "arguments"));
    assert_eq!(verdict(&["read_file", "no json"]), pair("deny", "arguments"));
    let path = house.ok(&["permissions", "explain", "read", "private/a"]);
    assert!(path.contains(".weirignore:2"), "it names list and line: {path}");
    assert!(
        house
            .usage_error(&["permissions", "explain", "read_file", "{}", "--profile", "x"])
            .contains("agent")
    );
}

#[test]
fn c3_rules_that_cannot_match_are_refused_with_file_and_line() {
    let house = TestInstallation::new();
    for rule in ["", "Edit(", "No_Such_Tool", "Shell()"] {
        house.usage_error(&["permissions", "add", "allow", rule]);
    }
    assert!(!house.user_config().exists(), "nothing was written");
    house.write(&house.user_config(), "[permissions]\nask = [\n \"Web(*)\",\n \"Edit(\",\n]\n");
    let said = house.usage_error(&["permissions", "list"]);
    assert!(said.contains("config.toml:4"), "{said}");
}

#[test]
fn c8_a_broken_profile_keeps_nobody_from_looking_at_the_others() {
    let house = TestInstallation::new();
    house.write(&house.at("config/weir/profiles/mine.toml"), "role = \"You read.\"\n");
    house.write(&house.at("config/weir/profiles/broken.toml"), "groups = [\"reed\"]\n");
    for words in [&["profiles", "list"][..], &["profiles", "show", "mine"]] {
        let said = house.run(words);
        assert_eq!(said.status, 0, "{}", said.err);
        assert!(said.out.contains("mine") && said.err.contains("broken.toml:1: "), "{}", said.err);
    }
    // What begins something is not begun.
    house.write(&house.at("s.script"), "says: Done.\n");
    let model = format!("script:{}", house.at("s.script").display());
    assert!(house.usage_error(&["run", "-m", &model, "Go."]).contains("broken.toml:1: "));
}

#[test]
fn c1_profiles_and_tools_are_listed_and_shown() {
    let house = TestInstallation::new();
    house.write(
        &house.at("config/weir/profiles/mine.toml"),
        "description = \"d\"\nrole = \"You read.\"\ngroups = [\"read\"]\npermission = \"full\"\n\
         limits = { max_iterations = 3 }\n",
    );
    house.write(
        &house.at("work/.weir/profiles/theirs.md"),
        "---\ndescription: theirs\npermission: full\ngroups: [read, edit]\n---\nYou write.\n",
    );
    house.write(&house.at("work/.weir/profiles/ask.md"), "---\nname: ask\n---\nYou do it all.\n");
    house.write(
        &house.at("work/.claude/agents/reviewer.md"),
        "---\nname: reviewer\ndescription: reviews\ntools: Read, Grep, NotebookEdit\n\
         model: sonnet\n---\nReview.\n",
    );
    let said = house.run(&["profiles", "list", "--json"]);
    assert_eq!(said.status, 0, "{}", said.err);
    assert!(said.err.contains("ask is left out"), "none is replaced: {}", said.err);
    let list: Value = serde_json::from_str(&said.out).expect("JSON");
    let of = |name: &str| {
        list.as_array().expect("a list").iter().find(|p| p["name"] == name).cloned().expect(name)
    };
    for name in ["agent", "ask", "plan", "code", "assistant"] {
        assert_eq!(of(name)["source"], "built in");
    }
    assert_eq!(of("mine")["permission"], "full", "the person's own may be as wide as they like");
    assert_eq!(of("theirs")["permission"], Value::Null, "a foreign one may not");
    assert!(of("theirs")["role"].as_str().is_some_and(|role| role == "You write."));
    let reviewer = of("reviewer");
    let tools = reviewer["tools"].as_array().expect("a list");
    assert!(tools.contains(&json!("read_file")) && !tools.contains(&json!("write_file")));
    assert!(!of("ask")["tools"].as_array().expect("a list").contains(&json!("write_file")));
    assert!(house.ok(&["profiles", "show", "code"]).contains("consecutive_mistake_limit = 3"));
    assert!(house.usage_error(&["profiles", "show", "nobody"]).contains("assistant"));

    let tools = house.json(&["tools", "list", "--json"]);
    assert!(tools.as_array().is_some_and(|tools| tools.len() > 15));
    assert!(house.ok(&["tools", "show", "edit_file"]).contains("path"));
    assert_eq!(house.json(&["tools", "show", "edit_file", "--json"])["name"], "edit_file");
    assert!(house.usage_error(&["tools", "show", "nothing"]).contains("weir tools list"));
    assert!(house.json(&["schema", "tools"]).as_array().is_some_and(|tools| tools.len() > 15));
}

#[test]
fn c1_doctor_says_what_works_and_gives_remedies() {
    let house = TestInstallation::new().with_variable("ANTHROPIC_API_KEY", "sk-x-0123456789");
    house.write(&house.user_config(), "[sandbox]\ntier = \"none\"\n");
    let said = house.run(&["doctor", "--offline", "--json"]);
    assert_eq!(said.status, 0, "{}{}", said.out, said.err);
    let findings: Value = serde_json::from_str(&said.out).expect("JSON");
    let of = |what: &str| {
        findings
            .as_array()
            .expect("a list")
            .iter()
            .find(|f| f["what"] == what)
            .cloned()
            .expect(what)
    };
    assert_eq!(of("key for anthropic")["detail"], "variable ANTHROPIC_API_KEY");
    assert_eq!(of("database")["state"], "ok");
    assert_eq!(of("audit")["state"], "ok");
    let commands = of("commands");
    assert!(
        commands["detail"].as_str().is_some_and(|d| d.contains("can read and write")),
        "{commands}"
    );
    house.write(&house.user_config(), "broken");
    let said = house.run(&["doctor", "--offline"]);
    assert_eq!(said.status, 1, "{}", said.out);
    assert!(said.out.contains("BROKEN") && said.out.contains("config.toml:1"), "{}", said.out);
}

#[test]
fn z4_doctor_names_a_tier_that_does_not_work_and_its_remedy() {
    let house = TestInstallation::new().with_variable("PATH", "/nowhere");
    let said = house.run(&["doctor", "--offline"]);
    let told =
        "does not work: there is no bwrap on PATH\n          -> install the package bubblewrap";
    assert!(said.out.contains(told), "{}", said.out);
    assert!(!said.out.contains("sandbox bubblewrap"), "{}", said.out);
    house.write(&house.user_config(), "[sandbox]\ntier = \"bubblewrap\"\n");
    let said = house.run(&["doctor", "--offline"]);
    assert_eq!(said.status, 1, "a wished tier is never made weaker: {}", said.out);
    assert!(said.out.contains("no command is started"), "{}", said.out);
}

#[test]
fn c1_pause_holds_until_release() {
    let house = TestInstallation::new();
    assert!(house.ok(&["pause", "looking into it"]).contains("looking into it"));
    let doctor = house.run(&["doctor", "--offline"]).out;
    assert!(doctor.contains("looking into it"), "another process sees it: {doctor}");
    assert!(house.ok(&["release"]).contains("Released"));
    assert!(house.ok(&["release"]).contains("not paused"));
    assert!(!house.run(&["doctor", "--offline"]).out.contains("kill switch"));
}
