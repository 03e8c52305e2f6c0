//! Tools that somebody made (T5): a call declares what the definition says, then runs its code
//! apart from everything; each thing that the code wants done is a step by another tool, judged and
//! held to what was declared. Not here: definitions (`weir_core::dynamic`), running JavaScript (the
//! port `Scripts`), making a tool (`manage_tool`).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use weir_core::dynamic::{CALL_TIME_MS, Declared, PathWish, ToolDefinition};
use weir_core::governance::Permit;
use weir_core::governance::label::Label;
use weir_core::message::plain_text;
use weir_core::tool::{Access, EffectClass, Effects, Group, HostEffect, PathEffect, Raw, ToolSpec};
use weir_engine::made::{self, Look, MadeTool};
use weir_engine::ports::{
    Content, HostCall, Plan, Script, ScriptHost, ScriptKind, Scripts, Store, StoreError, Tool,
    ToolContext,
};
use weir_engine::toolbox::Toolbox;
use weir_engine::workspace::Workspace;

use crate::built::nothing;
use crate::{blocking, text};

/// Largest file that a script is given whole.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// The engine ends a call when its time is over; a script is told a little earlier.
const EARLIER_MS: u64 = 500;
/// Steps that failed which the result names.
const FAILED_TOLD: usize = 5;

/// A tool that somebody made, as the engine knows it.
pub fn dynamic(tool: MadeTool, scripts: Arc<dyn Scripts>) -> Arc<dyn Tool> {
    let MadeTool { definition, label } = tool;
    Arc::new(Dynamic { spec: definition.spec(), definition: Arc::new(definition), label, scripts })
}

/// The workspace whose files may define tools.
#[derive(Debug, Clone, Copy)]
pub struct ToolFiles<'a> {
    /// The workspace.
    pub workspace: &'a Workspace,
    /// Whether its files count.
    pub trusted: bool,
}

/// Puts every made tool that counts in this workspace into the toolbox. Gives their specifications,
/// and a sentence for each that does not count although nobody switched it off.
///
/// # Errors
/// The store refuses.
pub async fn shelve(
    store: &dyn Store,
    from: ToolFiles<'_>,
    scripts: &Arc<dyn Scripts>,
    toolbox: &Toolbox,
) -> Result<(Vec<ToolSpec>, Vec<String>), StoreError> {
    let ToolFiles { workspace, trusted } = from;
    let names = crate::names();
    let built_in: Vec<&str> = names.iter().map(String::as_str).collect();
    let look = Look { workspace, trusted, built_in: &built_in };
    let (tools, mut notes) = made::usable(store, look).await?;
    let mut specs = Vec::new();
    for tool in tools {
        let spec = tool.definition.spec();
        // A server or plugin may have brought a tool of this name meanwhile.
        if toolbox.get(&spec.name).is_some() {
            notes.push(format!("the tool {} is off: another one has its name", spec.name));
            continue;
        }
        match toolbox.add(dynamic(tool, scripts.clone())) {
            Ok(()) => specs.push(spec),
            Err(why) => notes.push(format!("the tool {} is off: {why}", spec.name)),
        }
    }
    Ok((specs, notes))
}

struct Dynamic {
    spec: ToolSpec,
    definition: Arc<ToolDefinition>,
    label: Label,
    scripts: Arc<dyn Scripts>,
}

#[async_trait]
impl Tool for Dynamic {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn label(&self) -> Label {
        self.label.clone()
    }

    fn nests(&self) -> bool {
        true
    }

    async fn plan(&self, input: &Value, cx: &ToolContext) -> Plan {
        let arguments = text::one_line(&input.to_string(), 120);
        let summary = format!("Run the made tool {} with {arguments}", self.spec.name);
        let planned = self.effects(input, cx).await;
        let mut effects = match planned {
            Ok(effects) => effects,
            Err(why) => return nothing(summary).failing(why),
        };
        effects.gives = self.label.clone();
        let reads = |host: &HostEffect| host.method == "GET" || host.method == "HEAD";
        let changes = effects.unknown
            || effects.paths.iter().any(|path| path.access.is_write())
            || !effects.hosts.iter().all(reads);
        let class = if changes { EffectClass::Once } else { EffectClass::Read };
        let confirm = leaves(&effects);
        Plan { confirm, ..Plan::new(class, effects, summary) }
    }

    async fn run(&self, permit: Permit, cx: &ToolContext) -> Raw {
        let host =
            Host { definition: &self.definition, permit: &permit, cx, failed: Mutex::default() };
        let time = cx.timeout_ms.min(CALL_TIME_MS).saturating_sub(EARLIER_MS);
        let script = Script {
            kind: ScriptKind::Module,
            code: self.definition.code.clone(),
            input: permit.input().clone(),
            time: Duration::from_millis(time),
        };
        let done = self.scripts.run(script, &host, &cx.cancel).await;
        let failed = host.failed.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut notes = String::new();
        if !failed.is_empty() {
            let told = failed.iter().take(FAILED_TOLD).cloned().collect::<Vec<_>>().join("; ");
            let steps = text::count(failed.len(), "step");
            notes = format!("\n\n{steps} of {} failed or was refused: {told}", self.spec.name);
        }
        match done {
            Ok(text) => {
                let line = text::one_line(&text, 120);
                Raw::ok(format!("{text}{notes}")).with_summary(line)
            }
            Err(why) => Raw::error(format!("{} failed: {why}{notes}", self.spec.name)),
        }
    }
}

/// What a person must know before a call that both reads and reaches out: what it read can leave in
/// the name of a page.
fn leaves(effects: &Effects) -> Option<String> {
    let reads = |path: &PathEffect| !path.access.is_write();
    let foreign = effects.gives.is_external();
    if effects.hosts.is_empty() || !(effects.paths.iter().any(reads) || foreign) {
        return None;
    }
    let hosts: Vec<&str> = effects.hosts.iter().map(|host| host.host.as_str()).collect();
    let why = if foreign { "foreign words went into its code" } else { "it reads files" };
    Some(format!("{why} and it reaches {}: what it knows can leave that way", hosts.join(", ")))
}

impl Dynamic {
    /// What a call declares, resolved: never more than the definition says.
    async fn effects(&self, input: &Value, cx: &ToolContext) -> Result<Effects, String> {
        let declared = self.definition.declared(input)?;
        let mut effects = Effects::default();
        for (method, host) in &declared.hosts {
            let address = cx.web.check(&format!("https://{host}/"))?;
            let (host, url) = (address.host, address.url);
            effects.hosts.push(HostEffect { method: method.clone(), host, url, secret: None });
        }
        for name in &self.definition.effects.tools {
            let known = cx.knows.toolbox().and_then(|tools| tools.get(name));
            let known = known.ok_or_else(|| {
                format!("{} uses {name}, and there is no such tool here", self.spec.name)
            })?;
            if known.spec().group != Group::Mcp {
                return Err(format!(
                    "{} declares {name}, which is no MCP tool: declare the paths and hosts that it \
                     would touch instead",
                    self.spec.name
                ));
            }
            // Nobody can say in advance what a foreign tool does.
            effects.unknown = true;
        }
        let workspace = cx.workspace.clone();
        effects.paths = blocking(move || paths(&workspace, &declared)).await?;
        Ok(effects)
    }
}

fn paths(workspace: &Workspace, declared: &Declared) -> Vec<PathEffect> {
    let at = |wish: &PathWish, access| match wish.tree {
        true => workspace.resolve_tree(&wish.path, access),
        false => workspace.resolve(&wish.path, access),
    };
    let reads = declared.reads.iter().map(|wish| at(wish, Access::Read));
    let writes = declared.writes.iter().map(|wish| {
        let there = at(wish, Access::Write);
        match wish.tree || workspace.entry(&there).is_ok() {
            true => there,
            false => at(wish, Access::Create),
        }
    });
    let deletes = declared.deletes.iter().map(|wish| at(wish, Access::Delete));
    reads.chain(writes).chain(deletes).collect()
}

/// What answers the code of one call.
struct Host<'a> {
    definition: &'a ToolDefinition,
    permit: &'a Permit,
    cx: &'a ToolContext,
    /// Steps that were refused or failed, whether or not the code went on.
    failed: Mutex<Vec<String>>,
}

#[async_trait]
impl ScriptHost for Host<'_> {
    async fn call(&self, call: HostCall) -> Result<String, String> {
        let done = self.step(&call).await;
        if let Err(why) = &done {
            let line = format!("{}: {}", call.tool, text::one_line(why, 300));
            self.failed.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
        done
    }

    fn log(&self, text: &str) {
        self.cx.progress.send(text);
        self.cx.progress.send("\n");
    }
}

impl Host<'_> {
    async fn step(&self, call: &HostCall) -> Result<String, String> {
        self.declared(call).await?;
        let input = match call.whole {
            // One line is enough to be judged by; the rest is read below.
            true => json!({ "path": call.input["path"], "limit": 1 }),
            false => call.input.clone(),
        };
        let raw = self.cx.nested.call(self.permit, &call.tool, input, self.cx).await;
        let said = plain_text(&raw.blocks);
        if !raw.ok {
            return Err(said);
        }
        if !call.whole {
            return Ok(said);
        }
        let path = call.input["path"].as_str().ok_or("path must be text")?.to_owned();
        let workspace = self.cx.workspace.clone();
        blocking(move || whole(&workspace, &path)).await?
    }

    /// A tool with a foreign part may do anything by that part, and by nothing else.
    async fn declared(&self, call: &HostCall) -> Result<(), String> {
        let effects = self.permit.effects();
        if !effects.unknown || self.definition.effects.tools.contains(&call.tool) {
            return Ok(());
        }
        let tool = self.cx.knows.toolbox().and_then(|tools| tools.get(&call.tool));
        let tool = tool.ok_or_else(|| format!("there is no tool {}", call.tool))?;
        let plan = tool.plan(&call.input, self.cx).await;
        let known = Effects { unknown: false, ..effects.clone() };
        known.covers(&plan.effects).map_err(|what| {
            format!(
                "{} was not allowed to {what}: its declared effects do not say so",
                self.definition.name
            )
        })
    }
}

/// The text of a file that a step has just been allowed to read.
fn whole(workspace: &Workspace, path: &str) -> Result<String, String> {
    let at = workspace.resolve(path, Access::Read);
    match workspace.read(&at, FILE_BYTES_MAX).map_err(|why| why.to_string())? {
        Content::File { bytes, .. } => String::from_utf8(bytes.to_vec())
            .map_err(|_| format!("{path} is not text in UTF-8; a script reads text only")),
        Content::Absent | Content::Folder | Content::Link { .. } => {
            Err(format!("{path} is no file"))
        }
    }
}
