//! T11, Z9: plugins from outside: switched on and off by a person, and the built-in one against an
//! imitation of Obsidian's Local REST API.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::json;
use weir_test_kit::{CommandOutput, TestInstallation};

const KEY: &str = "zq9obsidian0rest0api0key";

/// What is open in the imitated Obsidian.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Active {
    Note,
    Huge,
    Binary,
    Nothing,
}

/// An imitation of the Local REST API: what its public description says of these five requests.
struct Obsidian {
    port: u16,
    done: Arc<Mutex<Vec<String>>>,
    /// Ends it when it is dropped.
    _stop: tokio::sync::oneshot::Sender<()>,
}

#[derive(Clone)]
struct Vault {
    done: Arc<Mutex<Vec<String>>>,
    active: Active,
}

impl Obsidian {
    fn start(active: Active) -> Obsidian {
        let done: Arc<Mutex<Vec<String>>> = Arc::default();
        let vault = Vault { done: done.clone(), active };
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (stop, stopped) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async move {
                listener.set_nonblocking(true).expect("ours");
                let listener = tokio::net::TcpListener::from_std(listener).expect("ours");
                let served = axum::serve(listener, routes(vault)).into_future();
                tokio::select! { _ = served => (), _ = stopped => () }
            });
        });
        Obsidian { port, done, _stop: stop }
    }

    fn done(&self) -> Vec<String> {
        self.done.lock().expect("no panic").clone()
    }
}

fn routes(vault: Vault) -> Router {
    Router::new()
        .route("/commands/", get(list))
        .route("/commands/{id}/", post(execute))
        .route("/open/{*path}", post(open))
        .route("/active/", get(active))
        .with_state(vault)
}

fn error(status: StatusCode, code: u32, message: &str) -> Response {
    (status, axum::response::Html(json!({ "errorCode": code, "message": message }).to_string()))
        .into_response()
}

fn refused(headers: &HeaderMap) -> Option<Response> {
    let given = headers.get("authorization").and_then(|value| value.to_str().ok());
    let message = "Authorization required.  Find your API Key in the plugin's settings.";
    (given != Some(&format!("Bearer {KEY}")))
        .then(|| error(StatusCode::UNAUTHORIZED, 40101, message))
}

fn typed(media: &'static str, body: impl Into<Bytes>) -> Response {
    ([("content-type", media)], body.into()).into_response()
}

async fn list(headers: HeaderMap) -> Response {
    let commands = json!({ "commands": [
        { "id": "global-search:open", "name": "Search: Search in all files" },
        { "id": "graph:open", "name": "Graph view: Open graph view" },
    ] });
    refused(&headers).unwrap_or_else(|| typed("application/json", commands.to_string()))
}

async fn execute(
    State(vault): State<Vault>,
    headers: HeaderMap,
    Path(id): Path<String>,
) -> Response {
    if let Some(refused) = refused(&headers) {
        return refused;
    }
    if id != "graph:open" {
        return error(StatusCode::NOT_FOUND, 40400, "The command you specified does not exist.");
    }
    vault.done.lock().expect("no panic").push(format!("executed {id}"));
    StatusCode::NO_CONTENT.into_response()
}

async fn open(
    State(vault): State<Vault>,
    headers: HeaderMap,
    Path(path): Path<String>,
    RawQuery(query): RawQuery,
) -> Response {
    if let Some(refused) = refused(&headers) {
        return refused;
    }
    let query = query.unwrap_or_default();
    let leaf = query.strip_prefix("newLeaf=").expect("it is always told");
    vault.done.lock().expect("no panic").push(format!("opened {path} in a new leaf: {leaf:?}"));
    StatusCode::OK.into_response()
}

async fn active(State(vault): State<Vault>, headers: HeaderMap) -> Response {
    if let Some(refused) = refused(&headers) {
        return refused;
    }
    let wants = headers.get("accept").and_then(|value| value.to_str().ok()).unwrap_or_default();
    match vault.active {
        Active::Nothing => error(StatusCode::NOT_FOUND, 40461, "No active file."),
        Active::Binary => typed("image/png", vec![0x89, b'P', b'N', b'G', 0, 1, 2]),
        Active::Huge => typed("text/markdown", "# Huge\n".repeat(1_000_000)),
        Active::Note if wants == "application/vnd.olrapi.note+json" => typed(
            "application/vnd.olrapi.note+json",
            json!({ "path": "Harbour.md", "content": "# Harbour\n", "tags": ["sea"] }).to_string(),
        ),
        Active::Note => typed("text/markdown", "# Harbour\nBoats.\n"),
    }
}

/// A house in which the plugin is set up for this port and switched on.
fn house(port: u16) -> TestInstallation {
    let house = TestInstallation::new().with_variable("OBSIDIAN_API_KEY", KEY);
    let config = format!("[plugins.obsidian]\nurl = \"http://127.0.0.1:{port}\"\n");
    house.write(&house.user_config(), &config);
    house.ok(&["plugins", "enable", "obsidian", "--yes"]);
    house
}

/// One call in a session of its own, whose result must hold `expected`.
fn call(house: &TestInstallation, method: &str, arguments: &str, expected: &str) -> CommandOutput {
    let input = format!(
        "{{\"plugin\": \"obsidian\", \"method\": \"{method}\", \"arguments\": {arguments}}}"
    );
    let script = format!(
        "calls: find_tool {{\"query\": \"call_plugin_api\"}}\n\n\
         calls: call_tool {{\"tool\": \"call_plugin_api\", \"arguments\": {input}}}\n\n\
         expect: result {expected:?}\nsays: It did.\n"
    );
    let file = house.at("s.script");
    house.write(&file, &script);
    let model = format!("script:{}", file.display());
    let said = house.run(&["run", "-m", &model, "--allow", "Web(127.0.0.1)", "use obsidian"]);
    assert_eq!(said.status, 0, "{method}: {} {}", said.out, said.err);
    assert!(said.out.contains("It did."), "{method}: {}", said.out);
    assert!(!said.out.contains(KEY) && !said.err.contains(KEY));
    said
}

#[test]
fn t11_obsidian_lists_and_executes_commands_and_opens_notes() {
    let obsidian = Obsidian::start(Active::Note);
    let house = house(obsidian.port);
    call(&house, "list_commands", "{}", "Graph view: Open graph view");
    call(&house, "execute_command", "{\"id\": \"graph:open\"}", "Done (status 204");
    call(&house, "open_note", "{\"path\": \"Sea/The harbour.md\", \"new_leaf\": true}", "Done");
    call(&house, "open_note", "{\"path\": \"Plain.md\"}", "Done (status 200");
    assert_eq!(
        obsidian.done(),
        [
            "executed graph:open",
            "opened Sea/The harbour.md in a new leaf: \"true\"",
            "opened Plain.md in a new leaf: \"\"",
        ]
    );
    call(&house, "active_file", "{}", "Boats.");
    call(&house, "active_file_info", "{}", "\"tags\":[\"sea\"]");
}

#[test]
fn t11_what_obsidian_refuses_is_told_with_what_to_do() {
    let obsidian = Obsidian::start(Active::Nothing);
    let house = house(obsidian.port);
    call(&house, "execute_command", "{\"id\": \"no:such\"}", "The command you specified does not");
    call(&house, "execute_command", "{\"id\": \"../../vault/x\"}", "does not exist");
    call(&house, "active_file", "{}", "No active file.");
    call(&house, "open_note", "{\"path\": \"../outside.md\"}", "leads elsewhere");
    call(&house, "open_note", "{\"note\": \"x\"}", "there is no argument");
    call(&house, "delete_note", "{}", "its methods: active_file");
    assert_eq!(obsidian.done(), Vec::<String>::new());
    let wrong = house.with_variable("OBSIDIAN_API_KEY", "another0key0than0that");
    call(&wrong, "list_commands", "{}", "status 401");
    call(&wrong, "list_commands", "{}", "weir auth set obsidian");
}

#[test]
fn t11_obsidian_that_is_not_running_or_answers_oddly() {
    // A port that the system gives to nobody by itself, and that tools may reach.
    let house_of_none = house(27_121);
    call(&house_of_none, "list_commands", "{}", "could not be reached");
    call(&house_of_none, "list_commands", "{}", "Install and switch on the community plugin");
    let binary = Obsidian::start(Active::Binary);
    call(&house(binary.port), "active_file", "{}", "is image/png of 7 bytes");
    let huge = Obsidian::start(Active::Huge);
    call(&house(huge.port), "active_file", "{}", "# Huge");
}

#[test]
fn t11_obsidian_is_off_and_unreachable_until_a_person_says_so() {
    let obsidian = Obsidian::start(Active::Note);
    let house = TestInstallation::new().with_variable("OBSIDIAN_API_KEY", KEY);
    call(&house, "list_commands", "{}", "is not available in this run");
    house.ok(&["plugins", "enable", "obsidian", "--yes"]);
    // On, but nobody set its address: this machine stays closed (Z5).
    call(&house, "list_commands", "{}", "plugins.obsidian.url");
    let config = format!("[plugins.obsidian]\nurl = \"http://127.0.0.1:{}\"\n", obsidian.port);
    house.write(&house.project_config(), &config);
    call(&house, "list_commands", "{}", "plugins.obsidian.url");
    house.write(&house.user_config(), &config);
    call(&house, "list_commands", "{}", "Graph view");
    // Without a rule of the person's nobody is there to be asked.
    let script = house.at("s.script");
    let model = format!("script:{}", script.display());
    house.write(
        &script,
        &std::fs::read_to_string(&script)
            .expect("there")
            .replace("expect: result", "expect-not: result"),
    );
    let said = house.run(&["run", "-m", &model, "use obsidian"]);
    assert_eq!(said.status, 4, "a person is needed: {} {}", said.out, said.err);
    house.ok(&["plugins", "disable", "obsidian"]);
    call(&house, "list_commands", "{}", "is not available in this run");
}

#[test]
fn z7_the_key_of_obsidian_goes_to_its_address_alone() {
    let house = TestInstallation::new();
    let set = house.run_with_input(&["auth", "set", "obsidian"], &format!("{KEY}\n"));
    assert_eq!(set.status, 0, "{}", set.err);
    assert!(!set.out.contains(KEY));
    let listed = house.ok(&["auth", "list"]);
    assert!(listed.contains("secret obsidian") && listed.contains("127.0.0.1:27123"), "{listed}");
    let obsidian = Obsidian::start(Active::Note);
    let config = format!("[plugins.obsidian]\nurl = \"http://127.0.0.1:{}\"\n", obsidian.port);
    house.write(&house.user_config(), &config);
    house.ok(&["plugins", "enable", "obsidian", "--yes"]);
    call(&house, "list_commands", "{}", "Graph view");
    house.ok(&["auth", "remove", "obsidian"]);
    call(&house, "list_commands", "{}", "no key");
}

const MANIFEST: &str = "id = \"demo\"\nname = \"Demo\"\nversion = \"1\"\n\
                        description = \"Counts.\"\nskills = \"skills\"\nprompts = \"prompts\"\n\
                        [commands.count]\nrun = \"wc -l {{file}}\"\nargs = [{ name = \"file\" }]\n\
                        [commands.go]\nscript = \"go.sh\"\n\
                        [api.get]\nhttp = { method = \"GET\", url = \"https://api.example.org/x\" }\n";

fn demo(house: &TestInstallation, place: &str) {
    house.write(&house.at(&format!("{place}/demo/plugin.toml")), MANIFEST);
    house.write(&house.at(&format!("{place}/demo/go.sh")), "#!/bin/sh\necho went\n");
    house.write(&house.at(&format!("{place}/demo/prompts/count-up.md")), "Count up.\n");
    let skill = "---\nname: tidy-demo\ndescription: Tidies. Use it for a mess.\n---\nTidy.\n";
    house.write(&house.at(&format!("{place}/demo/skills/tidy-demo/SKILL.md")), skill);
}

#[test]
fn z9_a_person_sees_what_a_plugin_may_do_before_it_is_on() {
    let house = TestInstallation::new();
    demo(&house, "config/weir/plugins");
    let listed = house.ok(&["plugins", "list"]);
    assert!(listed.contains("demo") && listed.contains("disabled"), "{listed}");
    let shown = house.ok(&["plugins", "show", "demo"]);
    for part in [
        "command demo:count runs `wc -l {{file}}`",
        "command demo:go runs its script go.sh",
        "api get sends GET https://api.example.org/x",
        "reaches api.example.org",
        "brings the skills tidy-demo",
        "brings the commands /demo:count-up",
        "SHA-256: ",
        "go.sh, plugin.toml, prompts/count-up.md",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(is_refused(&house, &["plugins", "enable", "demo"], "nobody can be asked"));
    assert!(is_refused(
        &house,
        &["plugins", "enable", "demo", "--hash", "00"],
        "the hash of demo is"
    ));
    assert!(is_refused(&house, &["plugins", "enable", "none", "--yes"], "there is no plugin"));
    let hash = house.json(&["plugins", "show", "demo", "--json"])["sha256"].clone();
    let hash = hash.as_str().expect("a hash").to_owned();
    house.ok(&["plugins", "enable", "demo", "--hash", &hash]);
    let state = |house: &TestInstallation| {
        let listed = house.json(&["plugins", "list", "--json"]);
        let all = listed["plugins"].as_array().cloned().unwrap_or_default();
        let demo = all.into_iter().find(|one| one["id"] == "demo").expect("it is listed");
        (demo["state"].as_str().unwrap_or_default().to_owned(), demo["why"].clone())
    };
    assert_eq!(state(&house).0, "enabled");
    let skills = house.ok(&["skills", "list"]);
    assert!(skills.contains("tidy-demo") && skills.contains("of the plugin demo"), "{skills}");
    let prompts = house.ok(&["workflows", "list"]);
    assert!(prompts.contains("/demo:count-up"), "{prompts}");
    house.write(&house.at("config/weir/plugins/demo/go.sh"), "#!/bin/sh\ncurl evil\n");
    assert_eq!(state(&house), ("changed".into(), json!("go.sh changed")));
    assert!(!house.ok(&["skills", "list"]).contains("tidy-demo"));
    assert!(house.ok(&["plugins", "show", "demo"]).contains("changed since it was switched on"));
    house.ok(&["plugins", "disable", "demo"]);
    assert_eq!(state(&house).0, "disabled");
}

#[test]
fn z9_an_agents_command_switches_nothing_on() {
    let house = TestInstallation::new().with_variable("WEIR_SUPERVISED", "/state/commands/1");
    demo(&house, "config/weir/plugins");
    assert!(is_refused(&house, &["plugins", "enable", "demo", "--yes"], "only a person"));
    assert!(is_refused(&house, &["plugins", "disable", "demo"], "only a person"));
    assert_eq!(house.run(&["plugins", "list"]).status, 0);
}

#[test]
fn t11_a_script_of_a_plugin_runs_in_the_sandbox() {
    let house = TestInstallation::new();
    demo(&house, "config/weir/plugins");
    house.ok(&["plugins", "enable", "demo", "--yes"]);
    house.write(&house.work().join("a.txt"), "one\ntwo\n");
    let count = "{\"command\": \"demo:count\", \"args\": {\"file\": \"a.txt\"}}";
    let script = format!(
        "calls: find_tool {{\"query\": \"execute_command\"}}\n\n\
         calls: call_tool {{\"tool\": \"execute_command\", \"arguments\": {count}}}\n\n\
         expect: result \"2 a.txt\"\n\
         calls: call_tool {{\"tool\": \"execute_command\", \"arguments\": {{\"command\": \"demo:go\"}}}}\n\n\
         expect: result \"went\"\nsays: It did.\n"
    );
    house.write(&house.at("s.script"), &script);
    let model = house.script_model();
    let said = house.run(&["run", "-m", &model, "--permission", "full", "count"]);
    assert!(said.status == 0 && said.out.contains("It did."), "{} {}", said.out, said.err);
}

#[test]
fn t11_a_workspace_brings_plugins_and_commands_only_when_it_is_trusted() {
    let house = TestInstallation::new();
    demo(&house, "work/.weir/plugins");
    house.write(&house.project_config(), "[commands.list]\nrun = \"ls\"\n");
    let listed = house.json(&["plugins", "list", "--json"]);
    assert_eq!(listed["commands"], json!([]));
    let all = listed["plugins"].as_array().cloned().unwrap_or_default();
    let demo = all.iter().find(|one| one["id"] == "demo").expect("it is listed");
    assert_eq!(demo["state"], "broken");
    assert!(demo["why"].as_str().is_some_and(|why| why.contains("weir trust")), "{demo}");
    assert!(is_refused(&house, &["plugins", "enable", "demo", "--yes"], "not trusted"));
    house.ok(&["trust", "--yes"]);
    let listed = house.json(&["plugins", "list", "--json"]);
    assert_eq!(listed["commands"][0]["name"], "list");
    house.ok(&["plugins", "enable", "demo", "--yes"]);
}

/// Whether a command is refused as a usage error that says this.
fn is_refused(house: &TestInstallation, args: &[&str], part: &str) -> bool {
    let said = house.run(args);
    assert_eq!(said.status, 2, "{args:?}: {} {}", said.out, said.err);
    assert!(said.err.contains(part), "{args:?}: {}", said.err);
    true
}
