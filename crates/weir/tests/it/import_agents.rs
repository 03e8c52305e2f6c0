//! `weir import` from each agent, whole (R8): a home and a workspace as that agent leaves them, and
//! everything that is taken and left of them as expected text in `tests/import`. `UPDATE=1` writes
//! it. Not here: single mappings, which are tested beside their code.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::Value;
use weir_test_kit::TestInstallation;

const AGENTS: [&str; 6] = ["claude-code", "codex", "cursor", "gemini-cli", "goose", "opencode"];

fn fixture(agent: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/import").join(agent)
}

/// Every file below a folder, by its path in it.
fn files_below(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(&at).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type().expect("a kind") {
                kind if kind.is_dir() => folders.push(path),
                kind if kind.is_file() => {
                    let name = path.strip_prefix(folder).expect("below").display().to_string();
                    files.insert(name, fs::read(&path).expect("readable"));
                }
                _ => {}
            }
        }
    }
    files
}

/// An installation in which somebody used this agent before.
fn house_of(agent: &str) -> TestInstallation {
    let house = TestInstallation::new();
    let work = house.work().canonicalize().expect("it exists").display().to_string();
    for (name, bytes) in files_below(&fixture(agent)) {
        if name != "expected.txt" {
            let text = String::from_utf8(bytes).expect("text").replace("@WORK@", &work);
            house.write(&name, &text);
        }
    }
    house
}

/// Paths of the test as short words.
fn without_paths(house: &TestInstallation, text: &str) -> String {
    let mut text = text.to_owned();
    for (path, word) in
        [("home", "HOME"), ("work", "WORK"), ("config/weir", "CONFIG"), ("state", "STATE")]
    {
        let path = house.at(path);
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        for path in [real, path] {
            text = text.replace(&path.display().to_string(), word);
        }
    }
    text
}

/// All that the installation holds but what the other agent left there.
fn written(house: &TestInstallation) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for folder in ["config/weir", "work/.weir", "state/weir/imported", "state/weir/imports"] {
        for (name, bytes) in files_below(&house.at(folder)) {
            files.insert(format!("{folder}/{name}"), bytes);
        }
    }
    // Whoever changes settings holds it, and it says nothing.
    files.remove("config/weir/config.lock");
    files
}

#[test]
fn r8_each_agent_is_taken_and_left_as_expected() {
    for agent in AGENTS {
        let house = house_of(agent);
        let before = written(&house);
        let dry = house.ok(&["import", agent, "--dry-run"]);
        assert_eq!(written(&house), before, "{agent}: a dry run changes nothing");
        let said = house.ok(&["import", agent, "--yes"]);
        assert!(!said.contains("marker-value"), "{said}");
        let cut = |text: &str| text.split("\nNothing was changed").next().map(str::to_owned);
        let listed = cut(&dry).expect("a list");
        assert!(said.starts_with(listed.trim_end()), "{agent}: a dry run shows the same: {said}");
        let mut told = format!("{}\n", without_paths(&house, &said));
        for (name, bytes) in written(&house) {
            if name.starts_with("state/weir/imports/") {
                continue;
            }
            let text = String::from_utf8(bytes).expect("text");
            assert!(!text.contains("marker-value") && !text.contains("secret-of-a-file"), "{name}");
            told.push_str(&format!("\n=== {name}\n{}", without_paths(&house, &text)));
        }
        let expected = fixture(agent).join("expected.txt");
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&expected, &told).expect("written");
        }
        let known = fs::read_to_string(&expected).unwrap_or_default();
        assert_eq!(told, known, "{agent}: look at it, then UPDATE=1");
    }
}

/// Every key of every file of settings is named: in an item, or as one that is not known.
#[test]
fn r8_no_key_of_a_file_is_left_silently() {
    for agent in AGENTS {
        let house = house_of(agent);
        let value = house.json(&["import", agent, "--dry-run", "--json"]);
        let items = value["items"].as_array().expect("items");
        let unknown: Vec<&str> = items
            .iter()
            .filter(|item| item["why"] == "is not known here")
            .map(|item| item["says"].as_str().expect("text"))
            .collect();
        let new = |says: &&str| {
            let says = says.to_lowercase().replace('_', "");
            says.contains("brandnew") || says.contains("somethingnew") || says == "novelty"
        };
        assert!(unknown.iter().any(new), "{agent}: {unknown:?}");
        assert!(items.iter().all(|item| !item["place"].as_str().expect("text").is_empty()));
    }
}

#[test]
fn r8_an_import_is_taken_back_to_the_byte() {
    for agent in AGENTS {
        let house = house_of(agent);
        house.write(&house.user_config(), "# mine\n[limits]\nmax_iterations = 9 # few\n");
        house.write(&house.at("work/.weir/rules/own.md"), "Mine.\n");
        let before = written(&house);
        house.ok(&["import", agent, "--yes"]);
        assert_ne!(written(&house), before, "{agent}");
        let said = house.ok(&["import", "--undo"]);
        assert!(said.contains(&format!("Import 1 ({agent})")), "{said}");
        assert_eq!(written(&house), before, "{agent}");
        assert!(!house.at("state/weir/imported").join(agent).exists(), "{agent}: no folder stays");
        assert!(house.usage_error(&["import", "--undo"]).contains("no import to take back"));
    }
}

#[test]
fn r8_twice_doubles_nothing_and_two_imports_are_taken_back_in_turn() {
    for agent in AGENTS {
        let house = house_of(agent);
        house.ok(&["import", agent, "--yes"]);
        let once = written(&house);
        let again = house.json(&["import", agent, "--yes", "--json"]);
        let taken = again["items"].as_array().expect("items").iter();
        let taken: Vec<_> = taken.filter(|item| item["outcome"] == "taken").collect();
        assert!(taken.is_empty(), "{agent}: {taken:?}");
        assert_eq!(again["import"], Value::Null);
        assert_eq!(written(&house), once, "{agent}");
    }
    let house = house_of("codex");
    house.ok(&["import", "codex", "--yes"]);
    house.write("home/.cursor/mcp.json", r#"{"mcpServers": {"later": {"command": "later"}}}"#);
    house.ok(&["import", "cursor", "--yes"]);
    let output = house.run(&["import", "--undo", "1"]);
    assert_eq!(output.status, 1, "{}", output.out);
    assert!(output.out.contains("by import 2 too; take that back first"), "{}", output.out);
    house.ok(&["import", "--undo", "2"]);
    house.ok(&["import", "--undo", "1"]);
    assert!(!house.user_config().exists());
    assert!(house.usage_error(&["import", "--undo", "7"]).contains("no import"));
}

#[test]
fn r8_undo_leaves_what_the_person_changed_since_and_says_which() {
    let house = house_of("claude-code");
    house.ok(&["import", "claude-code", "--yes"]);
    let own = house.at("config/weir");
    house.write(&own.join("commands/git/tidy.md"), "Mine.\n");
    let config = fs::read_to_string(house.user_config()).expect("written");
    house.write(&house.user_config(), &format!("{config}# mine\n"));
    let output = house.run(&["import", "--undo"]);
    assert_eq!(output.status, 1);
    for part in
        ["commands/git/tidy.md was changed since", "config.toml was changed since", "2 left"]
    {
        assert!(output.out.contains(part), "{part}: {}", output.out);
    }
    assert_eq!(fs::read_to_string(own.join("commands/git/tidy.md")).expect("there"), "Mine.\n");
    assert!(!own.join("profiles/tester.md").exists(), "the rest is taken back");
    // As it was written again, it is taken back too.
    house.write(&house.user_config(), &config);
    fs::remove_file(own.join("commands/git/tidy.md")).expect("there");
    house.ok(&["import", "--undo"]);
    assert!(!house.user_config().exists());
}

#[test]
fn r8_a_record_that_cannot_be_read_keeps_nobody_from_taking_another_back() {
    let house = house_of("codex");
    house.ok(&["import", "codex", "--yes"]);
    house.write("state/weir/imports/2.json", "{");
    let why = house.usage_error(&["import", "--undo"]);
    for part in ["2.json: is no record", "`weir import --undo 1` takes back another"] {
        assert!(why.contains(part), "{part}: {why}");
    }
    assert!(house.user_config().exists());
    house.ok(&["import", "--undo", "1"]);
    assert!(!house.user_config().exists());
}

#[test]
fn r8_sessions_of_other_agents_are_listed_shown_and_searched_as_foreign_text() {
    let house = house_of("claude-code");
    assert!(house.ok(&["sessions", "list", "--imported"]).contains("No imported sessions"));
    house.ok(&["import", "claude-code"]);
    let list = house.json(&["sessions", "list", "--imported", "--json"]);
    assert_eq!(list[0]["id"], "0f1e");
    assert_eq!(list[0]["label"], "external");
    assert_eq!(list[0]["title"], "Mend the harbour plan");
    let shown = house.ok(&["sessions", "show", "0f", "--imported"]);
    for part in ["Foreign text", "\nuser:\n  Mend the harbour plan\n", "\ntool:\n  Read"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("secret-of-a-file"), "{shown}");
    let hits = house.json(&["sessions", "search", "--imported", "HARBOUR", "plan", "--json"]);
    assert_eq!(hits[0]["session"], "0f1e");
    assert!(house.ok(&["sessions", "search", "--imported", "kraken"]).contains("No imported"));
    assert_eq!(house.json(&["sessions", "list", "--json"]), serde_json::json!([]), "no journal");
    assert!(house.usage_error(&["sessions", "show", "zz", "--imported"]).contains("no imported"));
}

#[test]
fn r8_what_was_imported_into_a_folder_of_its_own_is_listed_from_there() {
    let house = house_of("claude-code");
    let own = house.at("own-state").display().to_string();
    house.ok(&["import", "claude-code", "--state-dir", &own]);
    let list = ["sessions", "list", "--imported", "--json", "--state-dir", &own];
    assert_eq!(house.json(&list)[0]["id"], "0f1e");
}

#[test]
fn r8_a_broken_file_is_said_and_the_rest_goes_on() {
    let house = house_of("claude-code");
    house.write("home/.claude.json", "{\n \"mcpServers\": {\n");
    house.write("home/.claude/agents/bad.md", &b"\xff\xfe"[..]);
    let said = house.ok(&["import", "claude-code", "--yes"]);
    for part in [".claude.json:", "is not valid UTF-8", "deny Read(~/.ssh/**)", "agent tester"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let house = house_of("goose");
    house.write("home/.config/goose/config.yaml", "a: [1\nb: {\n");
    house.write("home/.config/goose/recipes/bad.yaml", "- just\n- a list\n");
    let said = house.ok(&["import", "goose"]);
    assert!(said.contains("config.yaml:") && said.contains("bad.yaml:1"), "{said}");
    assert!(said.contains("instructions for everywhere"), "{said}");
}

/// The settings of a workspace name files of the workspace only: what is read becomes what a model
/// is told.
#[test]
fn z7_r8_a_workspace_names_no_file_of_the_persons_own_folder() {
    let house = TestInstallation::new();
    house.write("home/.gemini/settings.json", r#"{"context": {"fileName": "TEAM.md"}}"#);
    house.write("home/.gemini/TEAM.md", "Mine.\n");
    house.write("work/TEAM.md", "Ours.\n");
    house.write("work/OURS.md", "Ours too.\n");
    for name in [".env", "keys.md", "oauth_creds.json"] {
        house.write(&format!("home/.gemini/{name}"), "marker-value-7\n");
    }
    house.write(
        "work/.gemini/settings.json",
        r#"{"context": {"fileName": ["OURS.md", "keys.md", ".env", "oauth_creds.json", "../k.md"]}}"#,
    );
    let said = house.ok(&["import", "gemini-cli", "--yes"]);
    for part in [
        "instructions .env -> is no plain file of instructions",
        "instructions oauth_creds.json -> is no plain file of instructions",
        "instructions ../k.md -> leads to another folder",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains(".gemini/keys.md"), "{said}");
    let rules: Vec<String> =
        written(&house).into_keys().filter(|name| name.contains("/rules/")).collect();
    assert_eq!(
        rules,
        [
            "config/weir/rules/gemini-cli-team.md",
            "work/.weir/rules/gemini-cli-ours.md",
            "work/.weir/rules/gemini-cli-team.md",
        ]
    );
    for (name, bytes) in written(&house) {
        assert!(!String::from_utf8_lossy(&bytes).contains("marker-value"), "{name}");
    }
}

/// Weir reads shared skills of the person's home where they are; those of a backup it does not.
#[test]
fn r8_skills_of_another_home_are_copied() {
    let house = TestInstallation::new();
    let skill = "---\nname: notes\ndescription: Writes notes.\n---\nWrite.\n";
    for home in ["home", "backup"] {
        house.write(&format!("{home}/.claude/skills/notes/SKILL.md"), skill);
        house.write(&format!("{home}/.claude/CLAUDE.md"), "Say please.\n");
    }
    let copy = house.at("config/weir/skills/notes/SKILL.md");
    assert!(house.ok(&["import", "claude-code"]).contains("skills -> is read where it is"));
    assert!(!copy.exists());
    let from = house.at("backup").display().to_string();
    house.ok(&["import", "claude-code", "--from", &from]);
    assert_eq!(fs::read_to_string(copy).expect("copied"), skill);
}

#[test]
fn r8_hostile_files_are_harmless_and_said() {
    let house = house_of("cursor");
    let secret = house.at("secret.txt");
    house.write(&secret, "marker-value-9");
    // A link out of the workspace, and one out of the home.
    symlink(&secret, house.at("work/.cursor/rules/leak.mdc")).expect("made");
    symlink(house.at("home/.ssh"), house.at("work/.cursor/commands")).expect("made");
    symlink(&secret, house.at("home/.cursor/commands/leak.md")).expect("made");
    house.write("home/.ssh/id.md", "marker-value-9");
    // A name that leads elsewhere, nesting without end, and a file without end.
    house.write("home/.cursor/agents/evil.md", "---\nname: ../../evil\n---\nYou are evil.\n");
    house.write("work/.cursor/hooks.json", &"[".repeat(200_000));
    house.write("work/.cursor/cli.json", &format!("{{\"a\":{}", "{\"a\":".repeat(200_000)));
    let huge = house.at("home/.cursor/projects/work/agent-transcripts/huge.jsonl");
    house.write(&huge, "");
    fs::File::options().write(true).open(&huge).expect("there").set_len(100 << 20).expect("sparse");
    let mcp = house.at("work/.cursor/mcp.json");
    house.write(&mcp, "");
    fs::File::options().write(true).open(&mcp).expect("there").set_len(100 << 20).expect("sparse");
    let said = house.ok(&["import", "cursor", "--yes"]);
    for part in [
        "leak.mdc",
        "leads out of",
        "\"../../evil\" cannot be the name",
        "hooks.json:1",
        "cli.json:1",
        "has 104857600 bytes",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    for (name, bytes) in written(&house) {
        assert!(!String::from_utf8_lossy(&bytes).contains("marker-value"), "{name}");
    }
    assert!(!house.at("config/evil.md").exists() && !house.at("evil.md").exists());
    // A folder of the workspace that leads elsewhere is not written through.
    let house = house_of("gemini-cli");
    fs::create_dir(house.at("elsewhere")).expect("made");
    symlink(house.at("elsewhere"), house.at("work/.weir")).expect("made");
    let said = house.ok(&["import", "gemini-cli"]);
    assert!(said.contains("leads out of the workspace"), "{said}");
    assert!(files_below(&house.at("elsewhere")).is_empty());
}
