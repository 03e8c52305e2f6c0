//! What a person switched on counts as long as it stays as it was, over a real store.

use serde_json::{Map, Value, json};
use weir_core::ids::SessionId;
use weir_engine::plugins::PluginSettings;
use weir_engine::ports::{MethodCall, PluginPlace, PluginState};
use weir_engine::workspace::{Workspace, WorkspaceOptions};
use weir_store::MemoryStore;
use weir_test_kit::TestFolder;

use super::*;
use crate::world::WorldClock;

const DEMO: &str = r#"
id = "demo"
name = "Demo"
version = "1"
skills = "skills"
prompts = "prompts"

[commands.grep]
run = "grep -r {{word}} ."
args = [{ name = "word" }]

[commands.go]
script = "go.sh"
args = [{ name = "a" }, { name = "b", required = false }]

[api.save]
params = [{ name = "id" }, { name = "text" }]
http = { method = "PUT", url = "https://api.example.org/items/{{id}}", body = "json", headers = { accept = "application/json" } }

[api.raw]
params = [{ name = "text" }]
http = { method = "POST", url = "https://api.example.org/raw", body = "{{text}}", content_type = "text/markdown" }

[api.log]
mcp = "git/log"
input_schema = { type = "object", properties = { n = { type = "integer" } }, required = ["n"] }

[api.ask]
script = "go.sh"
"#;

struct House {
    folder: TestFolder,
    store: Arc<dyn Store>,
    trusted: bool,
}

impl House {
    fn new() -> House {
        let folder = TestFolder::new();
        folder.make_folder("work");
        House { folder, store: Arc::new(MemoryStore::new()), trusted: true }
    }
    fn write(&self, path: &str, text: &str) {
        self.folder.write(path, text);
    }
    /// The demo plugin in a place of plugins.
    fn demo(&self, place: &str) {
        self.write(&format!("{place}/demo/plugin.toml"), DEMO);
        self.write(&format!("{place}/demo/go.sh"), "#!/bin/sh\necho $1\n");
        self.write(&format!("{place}/demo/skills/tidy/SKILL.md"), "x");
        self.write(&format!("{place}/demo/prompts/ask.md"), "Ask.");
    }
    /// What a program that starts now knows.
    fn plugins(&self) -> InstalledPlugins {
        let options = WorkspaceOptions {
            root: self.folder.path().join("work"),
            extra_roots: Vec::new(),
            own_folders: vec![self.folder.path().join("own")],
        };
        let set = PluginSettings { url: Some("http://127.0.0.1:9".into()), certificate: None };
        InstalledPlugins::new(PluginOptions {
            workspace: Arc::new(Workspace::open(options).expect("a workspace")),
            trusted: self.trusted,
            own: Some(own(self.folder.path())),
            built_in: true,
            settings: BTreeMap::from([("obsidian".into(), set)]),
            commands: BTreeMap::new(),
            store: self.store.clone(),
            clock: WorldClock::starting_at(std::time::Duration::ZERO),
        })
    }
    async fn enabled(&self, id: &str) -> InstalledPlugins {
        let plugins = self.plugins();
        let offer = plugins.plugin_offer(id).await.expect("it is there");
        plugins.enable(id, &offer.hash, "person").await.expect("it is on");
        plugins
    }
}

fn session() -> SessionId {
    SessionId::new("s")
}

fn map(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

async fn state(plugins: &InstalledPlugins, id: &str) -> PluginState {
    plugins.refresh().await;
    let lines = plugins.list();
    lines.into_iter().find(|line| line.id == id).expect("it is listed").state
}

#[tokio::test]
async fn z9_a_plugin_counts_only_after_a_person_switched_it_on() {
    let house = House::new();
    house.demo("own/plugins");
    let plugins = house.plugins();
    assert_eq!(state(&plugins, "demo").await, PluginState::Disabled);
    assert_eq!(plugins.folders(), []);
    let args = map(&json!({ "word": "x" }));
    let why = plugins.resolve_command(&session(), "demo:grep", &args).await.expect_err("it is off");
    assert!(why.contains("enable_plugin") && why.contains("weir plugins enable demo"), "{why}");
    let offer = plugins.plugin_offer("demo").await.expect("it is there");
    assert!(offer.powers.contains(&"command demo:grep runs `grep -r {{word}} .`".to_owned()));
    assert!(offer.powers.contains(&"reaches api.example.org".to_owned()), "{:?}", offer.powers);
    assert!(plugins.enable("demo", "other", "person").await.is_err(), "another was shown");
    plugins.enable("demo", &offer.hash, "person").await.expect("it is on");
    let call = plugins.resolve_command(&session(), "demo:grep", &args).await.expect("it is on");
    assert_eq!((call.command.as_str(), call.plugin), ("grep -r x .", None));
    let folders = plugins.folders();
    assert_eq!(folders.len(), 1);
    assert!(matches!(&folders[0].place, PluginPlace::Own(_)));
    // Another program, and another folder to work in, know it too: it is the person's.
    assert_eq!(state(&house.plugins(), "demo").await, PluginState::Enabled);
    assert_eq!(plugins.disable("demo", "person").await, Ok(true));
    assert_eq!(plugins.disable("demo", "person").await, Ok(false));
    assert!(plugins.resolve_command(&session(), "demo:grep", &args).await.is_err());
}

#[tokio::test]
async fn z9_any_change_switches_it_off_until_it_was_seen_again() {
    for (path, text, said) in [
        ("go.sh", Some("#!/bin/sh\ncurl evil\n"), "go.sh changed"),
        ("more.sh", Some("x"), "more.sh added"),
        ("prompts/ask.md", None, "prompts/ask.md removed"),
    ] {
        let house = House::new();
        house.demo("own/plugins");
        let plugins = house.enabled("demo").await;
        let file = format!("own/plugins/demo/{path}");
        match text {
            Some(text) => house.write(&file, text),
            None => std::fs::remove_file(house.folder.path().join(file)).expect("removed"),
        }
        assert_eq!(state(&plugins, "demo").await, PluginState::Changed(said.into()));
        assert_eq!(plugins.folders(), [], "its skills and prompts are gone too");
        let call = plugins.resolve_command(&session(), "demo:go", &map(&json!({ "a": "x" }))).await;
        assert!(call.is_err_and(|why| why.contains(said)), "{said}");
        assert!(plugins.prepare_plugin(&session(), "demo").await.is_err(), "nothing is copied");
        let offer = plugins.plugin_offer("demo").await.expect("it is sound");
        assert!(offer.notes[0].contains(said) && !offer.enabled, "{:?}", offer.notes);
        plugins.enable("demo", &offer.hash, "person").await.expect("seen again");
        assert_eq!(state(&plugins, "demo").await, PluginState::Enabled);
    }
}

#[tokio::test]
async fn z9_what_runs_is_what_was_seen() {
    let house = House::new();
    house.demo("own/plugins");
    let plugins = house.enabled("demo").await;
    let args = map(&json!({ "a": "x; id", "b": "y" }));
    let call = plugins.resolve_command(&session(), "demo:go", &args).await.expect("it is on");
    assert_eq!(call.command, "/bin/sh .weir/tmp/s/plugins/demo/go.sh 'x; id' y");
    plugins.prepare_plugin(&session(), "demo").await.expect("copied");
    let copy = house.folder.path().join("work/.weir/tmp/s/plugins/demo/go.sh");
    assert_eq!(std::fs::read_to_string(copy).expect("copied"), "#!/bin/sh\necho $1\n");
}

#[tokio::test]
async fn z9_a_workspace_must_be_trusted_and_its_plugins_are_its_own() {
    let mut house = House::new();
    house.demo("work/.weir/plugins");
    house.trusted = false;
    let why = match state(&house.plugins(), "demo").await {
        PluginState::Broken(why) => why,
        other => panic!("{other:?}"),
    };
    assert!(why.contains("weir trust"), "{why}");
    assert!(house.plugins().plugin_offer("demo").await.is_err(), "nobody can switch it on");
    house.trusted = true;
    let plugins = house.enabled("demo").await;
    let args = map(&json!({ "a": "-x" }));
    let call = plugins.resolve_command(&session(), "demo:go", &args).await;
    assert!(call.is_err_and(|why| why.contains("begins with -")));
    let call = plugins.resolve_command(&session(), "demo:go", &map(&json!({ "a": "x" }))).await;
    assert_eq!(call.expect("on").command, "/bin/sh .weir/plugins/demo/go.sh x");
    // The same plugin elsewhere was not switched on by that.
    let other = House { folder: TestFolder::new(), store: house.store.clone(), trusted: true };
    other.demo("work/.weir/plugins");
    assert_eq!(state(&other.plugins(), "demo").await, PluginState::Disabled);
    // Trust that was taken back takes the plugin with it.
    house.trusted = false;
    assert!(matches!(state(&house.plugins(), "demo").await, PluginState::Broken(_)));
}

#[tokio::test]
async fn t11_of_two_plugins_with_one_id_the_persons_counts() {
    let house = House::new();
    house.demo("own/plugins");
    house.demo("work/.weir/plugins");
    house.write("work/.weir/plugins/demo/go.sh", "#!/bin/sh\nevil\n");
    house.write("own/plugins/obsidian/plugin.toml", &DEMO.replace("\"demo\"", "\"obsidian\""));
    let plugins = house.enabled("demo").await;
    let of = |id: &str| -> Vec<PluginState> {
        plugins.list().into_iter().filter(|line| line.id == id).map(|line| line.state).collect()
    };
    let demo = of("demo");
    assert_eq!(demo[0], PluginState::Enabled);
    assert!(matches!(&demo[1], PluginState::Broken(why) if why.contains("counts instead")));
    let obsidian = of("obsidian");
    assert_eq!(obsidian[0], PluginState::Disabled, "the one that comes along");
    assert!(matches!(&obsidian[1], PluginState::Broken(_)));
    let call = plugins.resolve_command(&session(), "demo:go", &map(&json!({ "a": "x" }))).await;
    assert!(call.expect("on").command.contains(".weir/tmp/"), "it is the person's");
}

#[tokio::test]
async fn t11_broken_plugins_say_what_is_wrong_and_stop_nothing() {
    let house = House::new();
    house.demo("own/plugins");
    for (id, text, part) in [
        ("one", "id = ", "plugin.toml:1"),
        ("two", "id = \"other\"\nname = \"x\"\nversion = \"1\"\n", "its folder is called two"),
        ("three", "\u{202e}", "U+202E"),
        ("four", "id = \"four\"\nname = \"x\"\nversion = \"1\"\nexec = 1\n", "unknown field"),
    ] {
        house.write(&format!("own/plugins/{id}/plugin.toml"), text);
        let found = state(&house.plugins(), id).await;
        assert!(matches!(&found, PluginState::Broken(why) if why.contains(part)), "{found:?}");
    }
    std::fs::create_dir_all(house.folder.path().join("own/plugins/empty")).expect("a folder");
    assert!(matches!(state(&house.plugins(), "empty").await, PluginState::Broken(_)));
    assert_eq!(state(&house.plugins(), "demo").await, PluginState::Disabled);
    let why = house.plugins().plugin_offer("none").await.expect_err("there is none");
    assert!(why.contains("demo"), "{why}");
}

#[tokio::test]
async fn t11_methods_become_what_they_are_mapped_to() {
    let house = House::new();
    house.demo("own/plugins");
    let plugins = house.enabled("demo").await;
    let call = |method: &'static str, args: Value| {
        let plugins = plugins.clone();
        async move { plugins.resolve_method(&session(), "demo", method, &map(&args)).await }
    };
    let Ok(MethodCall::Request(save)) =
        call("save", json!({ "id": "@evil.example/../x", "text": "t" })).await
    else {
        panic!("a request")
    };
    assert_eq!(save.url, "https://api.example.org/items/%40evil.example%2F..%2Fx");
    assert_eq!(save.body, Some(("application/json".into(), r#"{"text":"t"}"#.into())));
    assert_eq!((save.method.as_str(), save.listed.len()), ("PUT", 0));
    let Ok(MethodCall::Request(raw)) = call("raw", json!({ "text": "# t" })).await else {
        panic!("a request")
    };
    assert_eq!(raw.body, Some(("text/markdown".into(), "# t".into())));
    let tool = call("log", json!({ "n": 3 })).await;
    let expected = MethodCall::Tool { tool: "mcp__git__log".into(), input: json!({ "n": 3 }) };
    assert_eq!(tool, Ok(expected));
    assert!(call("log", json!({ "n": "x" })).await.is_err_and(|why| why.contains("do not fit")));
    let Ok(MethodCall::Command(ask)) = call("ask", json!({})).await else { panic!("a command") };
    assert_eq!(ask.command, "/bin/sh .weir/tmp/s/plugins/demo/go.sh '{}'");
    for (method, args, part) in [
        ("save", json!({ "id": ".." , "text": "t" }), "leads elsewhere"),
        ("save", json!({ "id": "1" }), "text is missing"),
        ("save", json!({ "id": "1", "text": "t", "url": "x" }), "no argument \"url\""),
        ("none", json!({}), "its methods: ask, log, raw, save"),
    ] {
        let why = call(method, args).await.expect_err("it does not fit");
        assert!(why.contains(part), "{why}");
    }
    let obsidian = house.enabled("obsidian").await;
    let list = obsidian.resolve_method(&session(), "obsidian", "list_commands", &Map::new()).await;
    let Ok(MethodCall::Request(list)) = list else { panic!("a request") };
    assert_eq!(list.url, "http://127.0.0.1:9/commands/");
    assert_eq!(list.listed, ["127.0.0.1"], "a person set this address");
    assert_eq!(list.secret.as_deref(), Some("obsidian"));
}
