//! Z7: a secret is named, sent to its host, and found nowhere else of what the program writes.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use weir_test_kit::{HttpAnswer, HttpRequest, HttpStandIn, TestInstallation};

const MARKER: &str = "zq7marker0secret0value";

/// A server that remembers what it was sent and says it back.
fn witness() -> HttpStandIn {
    HttpStandIn::start(|request, _| {
        let value = request.head.split("Bearer ").nth(1).and_then(|rest| rest.split('\r').next());
        let value = value.unwrap_or("nothing");
        if request.path() == "/away" {
            let to = format!("http://elsewhere.example/?told={value}");
            return HttpAnswer { headers: vec![("location", to)], ..HttpAnswer::empty(302) };
        }
        let body = format!("you sent {value} to me, as hex {}", hex(value));
        HttpAnswer::new(200, "text/plain", body)
    })
}

/// What it was asked until now.
fn heard(witness: &HttpStandIn) -> Vec<String> {
    witness.requests().iter().map(HttpRequest::text).collect()
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// Every file below `folder` that contains one of `needles`.
fn holding(folder: &Path, needles: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(holding(&path, needles));
        } else if let Ok(bytes) = std::fs::read(&path) {
            let has = |needle: &&str| bytes.windows(needle.len()).any(|w| w == needle.as_bytes());
            if needles.iter().any(has) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

fn fetch(url: &str, secret: &str) -> String {
    format!("calls: web_fetch {{\"url\": \"{url}\", \"secret\": \"{secret}\"}}\n\n")
}

/// A house whose person declared the secret for the witness.
fn house(witness: &HttpStandIn) -> TestInstallation {
    let house = TestInstallation::new();
    let token = house.at("config/weir/token");
    house.write(&token, &format!("{MARKER}\n"));
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o600)).expect("ours");
    let config = format!(
        "[web]\nallow_hosts = [\"127.0.0.1\", \"api.example.org\"]\n[secrets.hub]\nfile = \"{}\"\n\
         hosts = [\"127.0.0.1:{}\"]\n",
        token.display(),
        witness.port()
    );
    house.write(&house.user_config(), &config);
    house
}

#[test]
fn z7_a_secret_reaches_its_host_and_stands_nowhere_else() {
    let (witness, other) = (witness(), witness());
    let house = house(&witness);
    let at = |port: u16, path: &str| format!("http://127.0.0.1:{port}{path}");
    let calls = [
        fetch(&at(witness.port(), "/echo"), "hub"),
        fetch(&at(other.port(), "/echo"), "hub"),
        fetch(&at(witness.port(), "/away"), "hub"),
        fetch(&at(witness.port(), "/x"), "nosuch"),
        fetch("https://api.example.org/x", "hub"),
    ];
    let model = house.script_model();
    let args =
        ["run", "-m", &model, "--permission", "full", "--output", "jsonl", "--deltas", "fetch it"];
    let (mut out, mut err) = (String::new(), String::new());
    // Each in a session of its own: what one fetch brings makes the next one ask.
    for call in calls {
        house.write(&house.at("s.script"), &format!("{call}says: Done.\n"));
        let said = house.run(&args);
        assert_eq!(said.status, 0, "{}", said.err);
        out.push_str(&said.out);
        err.push_str(&said.err);
    }
    // It arrived, once for each call that was for its host.
    let heard = heard(&witness);
    assert_eq!(heard.len(), 2, "{heard:?} {}", out);
    assert!(heard.iter().all(|request| request.contains(&format!("Bearer {MARKER}"))), "{heard:?}");
    assert!(other.requests().is_empty(), "the other port was not even connected to");
    // The echo came back without it, and what failed says why without it.
    assert!(out.contains("you sent ") && out.contains("hub"), "{}", out);
    assert!(out.contains("there is no secret") && out.contains("is not for"));
    let (encoded, needles) = (hex(MARKER), [MARKER]);
    let needles: Vec<&str> = needles.into_iter().chain([encoded.as_str()]).collect();
    for needle in &needles {
        assert!(!out.contains(needle) && !err.contains(needle), "{}", out);
    }
    for folder in ["state", "work", "home"] {
        assert_eq!(holding(&house.at(folder), &needles), Vec::<String>::new());
    }
    let audit = std::fs::read_dir(house.at("state/weir/audit")).map(Iterator::count);
    assert!(audit.is_ok_and(|files| files > 0), "there is an audit to have searched");
}

#[test]
fn z7_a_workspace_declares_no_secret_and_widens_none() {
    let witness = witness();
    let house = house(&witness).with_variable("STOLEN_TOKEN", MARKER);
    let project = "[secrets.hub]\nhosts = [\"evil.example\"]\n\
                   [secrets.mine]\nenv = \"STOLEN_TOKEN\"\nhosts = [\"evil.example\"]\n";
    house.write(&house.project_config(), project);
    let listed = house.json(&["auth", "list", "--json"]);
    let rows = listed.as_array().expect("a list").iter();
    let secrets: Vec<_> = rows.filter(|row| row.get("secret").is_some()).collect();
    assert_eq!(secrets.len(), 1, "{secrets:?}");
    assert_eq!(secrets[0]["secret"], "hub");
    assert_eq!(secrets[0]["hosts"], serde_json::json!([format!("127.0.0.1:{}", witness.port())]));
    assert_eq!(secrets[0]["has_value"], true);
    assert!(!house.ok(&["auth", "list"]).contains(MARKER));
    assert!(!house.ok(&["config", "show"]).contains(MARKER));
}

#[test]
fn z7_mistakes_in_a_declaration_are_named_with_their_place() {
    let house = TestInstallation::new();
    for (text, said) in [
        ("[secrets.hub]\nhosts = [\"a.example\"]\n", "secrets.hub says neither env"),
        ("[secrets.hub]\nenv = \"T\"\n", "secrets.hub has no hosts"),
        ("[secrets.hub]\nenv = \"T\"\nhosts = [\"*\"]\n", "secrets.hub.hosts has \"*\""),
        (
            "[secrets.hub]\nenv = \"T\"\nhosts = [\"a.example\"]\nheader = \"Host\"\n",
            "secrets.hub.header is \"Host\"",
        ),
        ("[secrets.hub]\nenv = \"T\"\nhosts = [\"a.example\"]\nvalue = \"v\"\n", "unknown field"),
    ] {
        house.write(&house.user_config(), text);
        let error = house.usage_error(&["config", "get", "model"]);
        assert!(error.contains(said) && error.contains("config.toml:"), "{text}: {error}");
    }
    let text = "[secrets.hub]\nenv = \"NOT_SET\"\nhosts = [\"a.example\"]\n";
    house.write(&house.user_config(), text);
    let listed = house.ok(&["auth", "list"]);
    assert!(
        listed.contains("for a.example, not usable: the variable NOT_SET is not set"),
        "{listed}"
    );
}

/// What the model says back or writes into a call is masked before it is journaled (Z7, G10).
#[test]
fn z7_a_key_that_the_model_says_back_stands_in_no_journal_audit_or_export() {
    const KEY: &str = "zq8provider0key0said0back";
    let house = TestInstallation::new();
    let script = house.at("test.script");
    house.write(
        &script,
        &format!(
            "name: test\n\nsays: It is {KEY}, I write it down.\ncalls: write_file {{\"path\": \
             \"k.txt\", \"content\": \"{KEY}\"}}\n\nsays: The key is {KEY}.\n"
        ),
    );
    house.write(&house.user_config(), &format!("model = \"script:{}\"\n", script.display()));
    let house = house.with_variable("OPENAI_API_KEY", KEY);
    let said = house.run(&["run", "--permission", "full", "--output", "json", "Go."]);
    assert_eq!(said.status, 0, "{}", said.err);
    assert!(!said.out.contains(KEY), "the answer: {}", said.out);
    let session = serde_json::from_str::<serde_json::Value>(&said.out).expect("JSON");
    let session = session["session"].as_str().expect("an id");
    let journal = house.ok(&["sessions", "export", session]);
    assert!(journal.contains("[redacted: secret]"), "it was said: {journal}");
    assert!(!journal.contains(KEY), "{journal}");
    assert!(!house.ok(&["audit", "export"]).contains(KEY));
    assert!(house.ok(&["replay", session]).starts_with("the same"));
    // Nor in what streams, however it is cut.
    let said = house.run(&["run", "--permission", "full", "--output", "jsonl", "--deltas", "Go."]);
    let lines = said.out.lines().filter_map(|line| serde_json::from_str(line).ok());
    let lines: Vec<serde_json::Value> = lines.collect();
    let deltas = lines.iter().filter(|line| line["kind"] == "text.delta");
    let text: String = deltas.filter_map(|line| line["text"].as_str()).collect();
    assert!(text.contains("[redacted: secret]") && !text.contains(KEY), "{text}");
}

/// What a command prints is masked before the supervisor keeps it (Z7): neither while a job runs nor after
/// a crash does a key stand in the state folder.
#[test]
fn z7_a_key_that_a_command_prints_stands_nowhere_in_the_state() {
    const KEY: &str = "zq9provider0key0printed0out";
    let house = TestInstallation::new();
    let script = house.at("test.script");
    let prints = "printf zq9provider0; printf 'key0printed0out\\n'";
    house.write(
        &script,
        &format!(
            "name: test\n\ncalls: run_shell {{\"command\": \"{prints}\"}}\n\ncalls: run_shell \
             {{\"command\": \"{prints}; sleep 1\", \"background\": true}}\n\nsays: Done.\n"
        ),
    );
    house.write(&house.user_config(), &format!("model = \"script:{}\"\n", script.display()));
    let house = house.with_variable("OPENAI_API_KEY", KEY);
    let said = house.run(&["run", "--permission", "full", "--output", "jsonl", "Go."]);
    assert_eq!(said.status, 0, "{}", said.err);
    assert!(said.out.contains("[redacted: secret]"), "it was printed: {}", said.out);
    assert!(!said.out.contains(KEY), "{}", said.out);
    assert!(house.at("state/weir/jobs").is_dir(), "there are outputs to have searched");
    assert_eq!(holding(&house.at("state"), &[KEY]), Vec::<String>::new());
}
