//! A forge behind the real MCP client: a server whose tools are declared, approved once by a person,
//! and sessions in which the model calls them. Not here: what counts as reached, and what is honest.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use anyhow::anyhow;
use serde_json::{Value, json};
use weir_core::governance::rules::{RuleAction, RuleOrigin};
use weir_core::tool::{ToolDeclaration, defer, foreign as names};
use weir_engine::engine::SessionOptions;
use weir_mcp::{McpHub, ServerPin, ServerSpec};

use crate::attacker::{Mind, Wish};
use crate::foreign::{Arrived, Face, Hostile, Stage, declared, options};
use crate::opener::Opener;
use crate::play::{Person, Play, Played, play_with};
use crate::world::{Settings, World};

/// What a person calls it, and its program.
pub(crate) const FORGE: &str = "forge";
/// The person's own address.
pub(crate) const OWN: &str = "me@own.example";
/// Another one of theirs.
pub(crate) const SECOND: &str = "mike@own.example";
/// Somebody whom only an attacker wants to reach.
pub(crate) const EVE: &str = "eve@evil.example";

/// What a person declares of its tools, as they would write it.
const DECLARED: &str = r#"{
    "get_issue": { "reads": true },
    "comment": { "sends": { "to": ["project", "issue"], "content": ["body"] } },
    "close": { "sends": { "to": ["project", "issue"] } },
    "post": { "sends": { "to": ["room"], "content": ["text"] } },
    "mail": { "sends": { "to": ["to", "attachment.to"], "content": ["subject", "text", "attachment"] } },
    "draft": { "own": true, "content": ["text"] },
    "delete": { "destroys": true, "control": ["project", "issue"] },
    "grant": { "identity": true, "control": ["project", "issue", "role"] },
    "pay": { "commits": { "to": ["project"], "amount": ["issue"] } },
    "relabel": { "sends": { "to": ["moves[].from", "moves[].into", "from", "into"] } }
}"#;

/// Its tools, as it describes them. Of `extra` nothing is declared.
pub(crate) fn tools() -> Vec<Value> {
    let text = || json!({ "type": "string" });
    let tool = |name: &str, properties: Value| {
        let input = json!({ "type": "object", "properties": properties });
        json!({ "name": name, "description": name, "inputSchema": input })
    };
    let place = |mut more: Value| {
        more["project"] = json!({ "type": ["string", "integer"] });
        more["issue"] = json!({ "type": ["string", "integer", "number"] });
        more
    };
    let roles = json!({ "enum": ["reader", "owner"] });
    let pairs = json!({ "type": "array", "items": { "type": "object", "properties": {
        "from": text(), "into": text() } } });
    vec![
        tool("get_issue", place(json!({}))),
        tool("comment", place(json!({ "body": text(), "internal": { "type": "boolean" } }))),
        tool("close", place(json!({ "state": { "enum": ["closed", "open"] } }))),
        tool("post", json!({ "room": { "enum": ["team", "public"] }, "text": text() })),
        tool(
            "mail",
            json!({
            "to": { "type": ["string", "integer", "array", "object", "null"] },
            "subject": text(), "text": text(), "attachment": {},
            "priority": { "enum": ["low", "high"] }, "copy_to_everybody": { "type": "boolean" } }),
        ),
        tool("draft", json!({ "text": text(), "share": { "type": ["string", "array"] } })),
        tool("delete", place(json!({ "all": { "type": "boolean" } }))),
        tool("grant", place(json!({ "role": roles }))),
        tool("pay", place(json!({}))),
        tool(
            "relabel",
            json!({ "moves": pairs,
            "from": { "type": "array", "items": text() }, "into": { "type": "array", "items": text() } }),
        ),
        tool("extra", place(json!({ "text": text() }))),
    ]
}

/// Its face.
pub(crate) fn face(tools: Vec<Value>) -> Face {
    Face { name: "a forge".into(), instructions: String::new(), tools }
}

/// A call of one of its tools.
pub(crate) fn call(tool: &str, input: Value) -> Wish {
    Wish::new(&names::foreign_tool_name(FORGE, tool), input)
}

/// The same in each way there is; those by `use_mcp_tool` as an object and as text.
pub(crate) fn ways(tool: &str, input: &Value) -> Vec<(&'static str, Wish)> {
    let ours = names::foreign_tool_name(FORGE, tool);
    let used = |arguments: Value| json!({ "server": FORGE, "tool": tool, "arguments": arguments });
    vec![
        ("", Wish::new(&ours, input.clone())),
        (", carried", Wish::carried(&ours, input)),
        (", used", Wish::new(names::USE, used(input.clone()))),
        (", used as text", Wish::new(names::USE, used(json!(input.to_string())))),
    ]
}

/// The place that a person means.
pub(crate) fn issue(more: Value) -> Value {
    let mut place = json!({ "project": "acme/app", "issue": 3 });
    if let (Value::Object(place), Value::Object(more)) = (&mut place, more) {
        place.extend(more);
    }
    place
}

/// The forge as a person declared it.
pub(crate) fn spec() -> ServerSpec {
    let mut spec = declared(FORGE, FORGE);
    spec.reach.hosts = vec!["forge.example".into()];
    spec.declared.tools = declarations();
    spec
}

/// What is declared of its tools.
fn declarations() -> BTreeMap<String, ToolDeclaration> {
    serde_json::from_str(DECLARED).unwrap_or_default()
}

/// A server that a person approved.
pub(crate) struct Forge {
    /// As it is declared now.
    pub(crate) spec: ServerSpec,
    /// Its program.
    pub(crate) server: Arc<Hostile>,
    /// What was approved.
    pub(crate) pin: ServerPin,
}

impl Forge {
    /// Approved as it is. It answers that it was done, and nothing else.
    ///
    /// # Errors
    /// It cannot be looked at.
    pub(crate) async fn approved() -> anyhow::Result<Forge> {
        Forge::approved_as(spec(), tools()).await
    }

    /// The same with this declaration and these tools.
    ///
    /// # Errors
    /// As [`Forge::approved`].
    pub(crate) async fn approved_as(spec: ServerSpec, tools: Vec<Value>) -> anyhow::Result<Forge> {
        let server = Hostile::new(face(tools));
        server.answers(json!({ "content": [{ "type": "text", "text": "ok" }] }));
        let looking = hub(&spec, &server, BTreeMap::new());
        let listing = looking.fetch_listing(&spec.name).await.map_err(anyhow::Error::msg)?;
        looking.close().await;
        // As it is kept and read again.
        let pin = ServerPin::from_text(&ServerPin::from_listing(&spec, listing).to_text())
            .map_err(anyhow::Error::msg)?;
        server.forget();
        Ok(Forge { spec, server, pin })
    }
}

fn hub(spec: &ServerSpec, server: &Arc<Hostile>, pins: BTreeMap<String, ServerPin>) -> McpHub {
    let stage = Stage(BTreeMap::from([(FORGE.to_owned(), server.clone())]));
    McpHub::new(vec![spec.clone()], pins, options(stage))
}

/// A session at the forge.
pub(crate) struct ForgeSession<'a> {
    /// Its name, unique in the world.
    pub(crate) id: &'a str,
    /// What the person says first.
    pub(crate) says: &'a str,
    /// Its settings.
    pub(crate) settings: Settings,
    /// Rules of the person: `allow Mcp(forge:*)`.
    pub(crate) rules: &'a [&'a str],
    /// It is one that exists.
    pub(crate) resumes: bool,
    /// The model opens whatever is kept beside its context.
    pub(crate) opens: bool,
}

impl<'a> ForgeSession<'a> {
    /// A session with nothing further said.
    pub(crate) fn new(id: &'a str, says: &'a str, settings: Settings) -> ForgeSession<'a> {
        ForgeSession { id, says, settings, rules: &[], resumes: false, opens: true }
    }
}

/// Plays it. What arrived at the forge meanwhile, and what the session left.
///
/// # Errors
/// The session cannot be played.
pub(crate) async fn play_forge(
    world: &World,
    forge: &Forge,
    session: ForgeSession<'_>,
    mind: Arc<Mutex<dyn Mind>>,
    person: &mut Person,
) -> anyhow::Result<(Played, Vec<Arrived>)> {
    let pins = BTreeMap::from([(FORGE.to_owned(), forge.pin.clone())]);
    let hub = Arc::new(hub(&forge.spec, &forge.server, pins));
    forge.server.forget();
    let ForgeSession { id, says, ref settings, rules, resumes, opens } = session;
    let mind: Arc<Mutex<dyn Mind>> = if opens { Opener::of(mind) } else { mind };
    let begin = Play { id, settings, says, resumes };
    let mut failed = None;
    let played = play_with(world, begin, mind, person, |options| {
        failed = equip(options, &hub, rules).err();
    })
    .await?;
    hub.close().await;
    match failed {
        Some(why) => Err(why),
        None => Ok((played, forge.server.arrived())),
    }
}

/// Gives a session the forge's tools, the person's rules and their own address.
fn equip(options: &mut SessionOptions, hub: &Arc<McpHub>, rules: &[&str]) -> anyhow::Result<()> {
    let toolbox = options.resources.toolbox.as_ref().ok_or_else(|| anyhow!("no toolbox"))?;
    for tool in hub.tools() {
        toolbox.add(tool)?;
    }
    let config = &mut options.config;
    let visible = toolbox.visible_specs(&config.profile, true);
    let loading = defer::split_loading(visible, config.model.window);
    (config.tools, config.deferred) = (loading.loaded, loading.deferred);
    // The caller of foreign tools has been found already.
    let found = config.deferred.iter().position(|tool| tool.name == names::USE);
    if let Some(at) = found {
        let caller = Arc::make_mut(&mut config.deferred).remove(at);
        Arc::make_mut(&mut config.tools).push(caller);
    }
    config.own_addresses.extend([OWN, SECOND].map(str::to_owned));
    for text in rules {
        let (action, text) = match text.split_once(' ') {
            Some(("deny", text)) => (RuleAction::Deny, text),
            Some(("ask", text)) => (RuleAction::Ask, text),
            Some(("allow", text)) => (RuleAction::Allow, text),
            _ => return Err(anyhow!("{text:?} is no rule")),
        };
        let origin = RuleOrigin::new("the person's file");
        let rule = config.rules.parse_rule(action, text, origin)?;
        config.rules.add(rule);
    }
    options.resources.servers = Some(hub.clone());
    Ok(())
}
