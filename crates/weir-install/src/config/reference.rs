//! The reference of all settings as a `config.toml`: `docs/generated/config.toml`. A test writes
//! and compares it; the program itself prints values with `weir config show`.

use std::fmt::Write as _;
use std::path::Path;

use super::Settings;
use super::catalogue::describe_all_settings;
use super::file::key_text;

/// Examples for what has no default, so that the reference shows the form of everything.
const EXAMPLES: &[(&str, &str)] = &[
    ("model", "model = \"anthropic/claude-sonnet-5-5\""),
    ("thinking", "thinking = \"medium\""),
    ("limits.max_tool_calls", "max_tool_calls = 20"),
    ("limits.budget_usd", "budget_usd = 0.50"),
    ("limits.budget_tokens", "budget_tokens = 200_000"),
    ("spending.session_usd", "session_usd = 2.00"),
    ("spending.day_usd", "day_usd = 10.00"),
    ("spending.person_usd", "person_usd = 100.00"),
    ("spending.server_usd", "server_usd = 50.00"),
    ("limits.run_timeout", "run_timeout = \"10m\""),
    (
        "providers",
        r#"[providers.acme]
dialect = "openai-chat"
base_url = "https://llm.example.org/v1"
api_key_env = "ACME_API_KEY"
headers = { "x-team" = "blue" }
server = "vllm""#,
    ),
    (
        "models",
        r#"[models."acme/large"]
window = 128000
max_output = 8192
price = { input = 1.0, output = 4.0, cache_read = 0.1, cache_write = 1.25 }
priced_on = "2026-11-29"
abilities = ["tools", "images", "pdf", "thinking"]"#,
    ),
    ("routing.fallback", "fallback = [\"openai/gpt-5\", \"ollama/qwen3:8b\"]"),
    (
        "routing.rules",
        r#"rules = [{ model = "ollama/qwen3:8b", kind = "person", profile = "ask", input_below = 8000, input_above = 0, images = false }]"#,
    ),
    (
        "hooks",
        r#"[[hooks.PreToolUse]]
matcher = "run_shell"
command = "/usr/local/bin/look-at-it"
timeout = 30
on_failure = "block""#,
    ),
    ("web.search.key_env", "key_env = \"MY_SEARCH_KEY\""),
    (
        "secrets",
        r#"[secrets.github]
env = "GITHUB_TOKEN"
hosts = ["api.github.com"]
header = "authorization"
format = "Bearer {}""#,
    ),
    (
        "commands",
        r#"[commands.test]
description = "Runs the tests whose names contain a word."
run = "cargo test {{word}}"
args = [{ name = "word", type = "string", required = false, description = "a word", allow_dash = false }]
hosts = []"#,
    ),
    (
        "plugins",
        r#"[plugins.obsidian]
url = "https://127.0.0.1:27124"
certificate = "~/obsidian.pem""#,
    ),
    (
        "mcp_servers",
        r#"[mcp_servers.files]
command = "mcp-server-files"
args = ["--root", "."]
env = { "LOG_LEVEL" = "warn" }
secrets = { "API_TOKEN" = "acme" }       # a variable, and the name of [secrets.acme]
hosts = ["api.acme.example"]
reads = ["~/.local/share/files"]
writes = ["."]
cwd = ""
unconfined = false
read_tools = ["list_*"]
send_tools = ["send_*"]
tools = { "add_comment" = { sends = { to = ["issue"], content = ["body"] } } }
trust_annotations = false
trust_labels = false
sampling = false
timeout = "60s"
start_timeout = "10s"
enabled = true
protocol = ""
[mcp_servers.remote]
url = "https://mcp.example.org/mcp"
headers = { "x-team" = "blue" }
oauth = { client_id = "", scopes = [], callback_port = 0 }"#,
    ),
];

/// A `config.toml` with every key, its description and its default: `docs/generated/config.toml`.
/// What has no default stands as a comment.
fn reference_toml() -> String {
    let mut text = String::from(
        "# Every setting of Weir with its default. Generated from the types; \
         `weir config show` prints the values\n# that hold and where each came from. \
         Order: flags, environment, project, user, built in.\n",
    );
    for described in describe_all_settings() {
        let key = key_text(&described.key);
        let example = EXAMPLES.iter().find(|(named, _)| *named == key).map(|(_, text)| *text);
        text.push('\n');
        for line in wrapped(&described.description) {
            text.push_str(&format!("# {line}\n"));
        }
        match (described.is_table, example) {
            (_, Some(example)) => {
                for line in example.lines() {
                    text.push_str(&format!("# {line}\n"));
                }
                // Below it stand values of its own too.
                let has_values = described.default.as_object().is_some_and(|own| !own.is_empty());
                if described.is_table && has_values {
                    text.push_str(&format!("[{key}]\n"));
                }
            }
            (true, None) => text.push_str(&format!("[{key}]\n")),
            (false, None) => {
                let name = described.key.last().map(String::as_str).unwrap_or_default();
                let value = toml::Value::try_from(&described.default);
                let value = value.map(|value| value.to_string()).unwrap_or_default();
                text.push_str(&format!("{name} = {value}\n"));
            }
        }
    }
    text
}

fn wrapped(text: &str) -> Vec<String> {
    const COLUMNS: usize = 96;
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("there is always a last line");
        if !last.is_empty() && last.chars().count() + word.chars().count() >= COLUMNS {
            lines.push(word.to_owned());
        } else {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines
}

#[test]
fn c8_every_key_stands_in_the_generated_reference() {
    let text = reference_toml();
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/generated").join("config.toml");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &text).expect("writable");
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == text,
        "docs/generated/config.toml is out of date: run the tests with UPDATE=1"
    );
    let read: Settings = toml::from_str(&text).expect("the reference is valid");
    assert_eq!(read, Settings::default(), "the reference sets nothing but the defaults");
    // With the examples switched on it must be valid too: they show the form of everything.
    let mut examples = String::new();
    for line in text.lines() {
        let code = line.strip_prefix("# ").filter(|line| {
            line.starts_with('[')
                || line.split(" = ").next().is_some_and(is_key) && line.contains(" = ")
        });
        let _ = writeln!(examples, "{}", code.unwrap_or(line));
    }
    let read: Settings = toml::from_str(&examples).expect(&examples);
    assert!(read.providers.contains_key("acme") && read.models.contains_key("acme/large"));
}

fn is_key(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
}
