//! Plugins that must not be: each with the key that is named.

use serde_json::{Value, json};

use super::*;

fn base() -> Value {
    json!({
        "id": "demo", "name": "Demo", "version": "1.0",
        "commands": { "build": { "run": "make {{target}}", "args": [{ "name": "target" }] } },
        "api": {
            "get": {
                "params": [{ "name": "id" }],
                "http": { "method": "GET", "url": "https://api.example.org/{{id}}" },
            },
        },
        "skills": "skills/", "prompts": "prompts",
    })
}

fn problem(at: &str, value: Value) -> Option<String> {
    let mut json = base();
    *json.pointer_mut(at).unwrap_or_else(|| panic!("{at}")) = value;
    let manifest: PluginManifest = serde_json::from_value(json).expect("its form is right");
    super::check_manifest(&manifest, "demo", None).err().map(|problem| problem.to_string())
}

#[test]
fn t11_a_sound_plugin_has_no_problem() {
    assert_eq!(problem("/version", json!("1.0")), None);
}

#[test]
fn t11_ids_and_names_are_plain() {
    for id in ["", "Demo", "1a", "a_b", "a--b", "a-", "a/b", "..", "ä", &"x".repeat(41)] {
        assert!(problem("/id", json!(id)).is_some_and(|why| why.starts_with("id ")), "{id}");
    }
    assert!(problem("/id", json!("mcp")).is_some_and(|why| why.contains("reserved")));
    assert!(problem("/id", json!("other")).is_some_and(|why| why.contains("its folder")));
    let named = json!({ "a b": { "run": "ls" } });
    assert!(problem("/commands", named).is_some_and(|why| why.contains("no name")));
    assert!(problem("/name", json!("x".repeat(501))).is_some());
    assert!(problem("/name", json!(" ")).is_some());
}

#[test]
fn t11_nothing_leads_out_of_the_folder() {
    for bad in ["../x.sh", "/bin/sh", "a/../b", "", "-x", ".hidden", "a\\b", "~/x", "a//b", "a:b"] {
        let command = json!({ "go": { "script": bad } });
        let why = problem("/commands", command).unwrap_or_default();
        assert!(why.starts_with("commands.go.script "), "{bad}: {why}");
        let method = json!({ "go": { "script": bad } });
        let why = problem("/api", method).unwrap_or_default();
        assert!(why.starts_with("api.go.script "), "{bad}: {why}");
    }
    for bad in ["../skills", "/", "a/../b", "."] {
        assert!(problem("/skills", json!(bad)).is_some(), "{bad}");
        assert!(problem("/prompts", json!(bad)).is_some(), "{bad}");
    }
}

#[test]
fn t11_a_command_runs_one_thing() {
    for (command, key) in [
        (json!({}), "commands.go has neither"),
        (json!({ "run": "ls", "script": "a.sh" }), "commands.go.run and script"),
        (json!({ "run": " " }), "commands.go.run is empty"),
        (json!({ "run": "echo \"{{a}}\"", "args": [{ "name": "a" }] }), "commands.go.run has"),
        (json!({ "run": "ls", "args": [{ "name": "a" }] }), "commands.go.run has no {{a}}"),
        (json!({ "run": "ls", "hosts": ["*.example.org"] }), "commands.go.hosts has"),
        (
            json!({ "run": "ls {{a}}", "args": [{ "name": "a" }, { "name": "a" }] }),
            "commands.go.args has a twice",
        ),
        (json!({ "run": "ls", "args": [{ "name": "a;b" }] }), "commands.go.args has"),
    ] {
        let why = problem("/commands", json!({ "go": command })).unwrap_or_default();
        assert!(why.starts_with(key), "{key}: {why}");
    }
    let command = NamedCommand { script: Some("a.sh".into()), ..NamedCommand::default() };
    let why = super::check_command("commands.x", &command, ScriptPolicy::Refused).err();
    assert!(why.is_some_and(|why| why.key == "commands.x.script"));
}

#[test]
fn t11_a_method_is_mapped_to_one_thing() {
    let http = |method: &str, url: &str| json!({ "method": method, "url": url });
    let url = "https://api.example.org/x";
    for (method, key) in [
        (json!({}), "api.go must have exactly one"),
        (json!({ "script": "a.sh", "mcp": "a/b" }), "api.go must have exactly one"),
        (json!({ "mcp": "a" }), "api.go.mcp"),
        (json!({ "mcp": "a/b/c" }), "api.go.mcp"),
        (json!({ "mcp": "a__x/b" }), "api.go.mcp"),
        (json!({ "http": http("BREW", url) }), "api.go.http.method"),
        (json!({ "http": http("GET", "https://{{h}}/") }), "api.go.http.url"),
        (json!({ "http": http("GET", "/x") }), "api.go.http.url is no whole address"),
        (json!({ "http": http("GET", url), "hosts": ["a.b"] }), "api.go.hosts"),
        (json!({ "http": http("GET", url), "input_schema": {} }), "api.go.input_schema"),
        (
            json!({ "http": http("GET", url), "params": [{ "name": "a" }] }),
            "api.go.http.url has no",
        ),
        (
            json!({ "http": { "method": "GET", "url": url, "body": "json" } }),
            "api.go.http.body is not sent",
        ),
        (
            json!({ "http": { "method": "POST", "url": url, "body": "x" } }),
            "api.go.http.body is neither",
        ),
        (
            json!({ "http": { "method": "GET", "url": url, "headers": { "Authorization": "x" } } }),
            "api.go.http.headers has",
        ),
        (
            json!({ "http": { "method": "GET", "url": url, "headers": { "x": "a\r\nb" } } }),
            "api.go.http.headers has",
        ),
    ] {
        let why = problem("/api", json!({ "go": method })).unwrap_or_default();
        assert!(why.starts_with(key), "{key}: {why}");
    }
}

#[test]
fn t11_unknown_keys_are_errors() {
    for (at, key) in [("", "colour"), ("/commands/build", "runs"), ("/api/get/http", "cookies")] {
        let mut json = base();
        let table = json.pointer_mut(at).and_then(Value::as_object_mut).expect("a table");
        table.insert(key.into(), json!("x"));
        let why =
            serde_json::from_value::<PluginManifest>(json).expect_err("an unknown key").to_string();
        assert!(why.contains(key), "{why}");
    }
}
