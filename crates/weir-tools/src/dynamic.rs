//! Tools that somebody made (T5): a call declares what the definition says, then runs its code
//! apart from everything; each thing that the code wants done is a step by another tool, judged and
//! held to what was declared. Not here: definitions (`weir_core::dynamic_tool`), running JavaScript (the
//! port `Scripts`), making a tool (`manage_tool`).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use weir_core::dynamic::{CALL_TIME_MS, CallDeclaration, PathWish, ToolDefinition};
use weir_core::governance::Permit;
use weir_core::governance::label::Label;
use weir_core::message::plain_text;
use weir_core::tool::{
    EffectClass, Effects, HostEffect, PathAccess, PathEffect, RawResult, ToolGroup, ToolSpec,
};
use weir_engine::made::{self, MadeTool, ToolSurveyScope};
use weir_engine::ports::{
    CallPlan, FileContent, HostCall, ScriptHost, ScriptKind, ScriptTask, Scripts, Store,
    StoreError, Tool, ToolContext,
};
use weir_engine::toolbox::Toolbox;
use weir_engine::workspace::Workspace;

use crate::built::quoting_failure;
use crate::{run_blocking, text};

/// Largest file that a script is given whole.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// The engine ends a call when its time is over; a script is told a little earlier.
const EARLIER_MS: u64 = 500;
/// Steps that failed which the result names.
const FAILED_TOLD: usize = 5;

/// A tool that somebody made, as the engine knows it.
pub fn dynamic_tool(tool: MadeTool, scripts: Arc<dyn Scripts>) -> Arc<dyn Tool> {
    let MadeTool { definition, label } = tool;
    Arc::new(DynamicTool {
        spec: definition.spec(),
        definition: Arc::new(definition),
        label,
        scripts,
    })
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
pub async fn add_dynamic_tools(
    store: &dyn Store,
    from: ToolFiles<'_>,
    scripts: &Arc<dyn Scripts>,
    toolbox: &Toolbox,
) -> Result<(Vec<ToolSpec>, Vec<String>), StoreError> {
    let ToolFiles { workspace, trusted } = from;
    let names = crate::built_in_names();
    let built_in: Vec<&str> = names.iter().map(String::as_str).collect();
    let look = ToolSurveyScope { workspace, trusted, built_in: &built_in };
    let (tools, mut notes) = made::usable_dynamic_tools(store, look).await?;
    let mut specs = Vec::new();
    for tool in tools {
        let spec = tool.definition.spec();
        // A server or plugin may have brought a tool of this name meanwhile.
        if toolbox.get(&spec.name).is_some() {
            notes.push(format!("the tool {} is off: another one has its name", spec.name));
            continue;
        }
        match toolbox.add(dynamic_tool(tool, scripts.clone())) {
            Ok(()) => specs.push(spec),
            Err(why) => notes.push(format!("the tool {} is off: {why}", spec.name)),
        }
    }
    Ok((specs, notes))
}

struct DynamicTool {
    spec: ToolSpec,
    definition: Arc<ToolDefinition>,
    label: Label,
    scripts: Arc<dyn Scripts>,
}

#[async_trait]
impl Tool for DynamicTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn label(&self) -> Label {
        self.label.clone()
    }

    fn has_nested_calls(&self) -> bool {
        true
    }

    async fn plan_call(&self, input: &Value, cx: &ToolContext) -> CallPlan {
        let arguments = text::one_line(&input.to_string(), 120);
        let summary = format!("Run the made tool {} with {arguments}", self.spec.name);
        let planned = self.declared_effects(input, cx).await;
        let mut effects = match planned {
            Ok(effects) => effects,
            Err(why) => return quoting_failure(summary, self.label.clone(), why),
        };
        effects.gives = self.label.clone();
        let reads = |host: &HostEffect| host.method == "GET" || host.method == "HEAD";
        let changes = effects.unknown
            || effects.paths.iter().any(|path| path.access.is_write())
            || !effects.hosts.iter().all(reads);
        let class = if changes { EffectClass::Once } else { EffectClass::Read };
        let confirm = explain_leak(&effects);
        CallPlan { confirm, ..CallPlan::new(class, effects, summary) }
    }

    async fn run(&self, permit: Permit, cx: &ToolContext) -> RawResult {
        let host = DynamicToolHost {
            definition: &self.definition,
            permit: &permit,
            cx,
            failed: Mutex::default(),
        };
        let time = cx.timeout_ms.min(CALL_TIME_MS).saturating_sub(EARLIER_MS);
        let script = ScriptTask {
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
            let steps = text::count_noun(failed.len(), "step");
            notes = format!("\n\n{steps} of {} failed or was refused: {told}", self.spec.name);
        }
        match done {
            Ok(text) => {
                let line = text::one_line(&text, 120);
                RawResult::ok(format!("{text}{notes}")).with_summary(line)
            }
            Err(why) => RawResult::error(format!("{} failed: {why}{notes}", self.spec.name)),
        }
    }
}

/// What a person must know before a call that both reads and reaches out: what it read can leave in
/// the name of a page.
fn explain_leak(effects: &Effects) -> Option<String> {
    let reads = |path: &PathEffect| !path.access.is_write();
    let foreign = effects.gives.is_external();
    if effects.hosts.is_empty() || !(effects.paths.iter().any(reads) || foreign) {
        return None;
    }
    let hosts: Vec<&str> = effects.hosts.iter().map(|host| host.host.as_str()).collect();
    let why = if foreign { "foreign words went into its code" } else { "it reads files" };
    Some(format!("{why} and it reaches {}: what it knows can leave that way", hosts.join(", ")))
}

impl DynamicTool {
    /// What a call declares, resolved: never more than the definition says.
    async fn declared_effects(&self, input: &Value, cx: &ToolContext) -> Result<Effects, String> {
        let declared = self.definition.declare_call(input)?;
        let mut effects = Effects::default();
        for (method, host) in &declared.hosts {
            let address = cx.web.check_url(&format!("https://{host}/"))?;
            let (host, url) = (address.host, address.url);
            effects.hosts.push(HostEffect { method: method.clone(), host, url, secret: None });
        }
        for name in &self.definition.effects.tools {
            let known = cx.knows.toolbox().and_then(|tools| tools.get(name));
            let known = known.ok_or_else(|| {
                format!("{} uses {name}, and there is no such tool here", self.spec.name)
            })?;
            if known.spec().group != ToolGroup::Mcp {
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
        effects.paths = run_blocking(move || declared_paths(&workspace, &declared)).await?;
        Ok(effects)
    }
}

fn declared_paths(workspace: &Workspace, declared: &CallDeclaration) -> Vec<PathEffect> {
    let at = |wish: &PathWish, access| match wish.tree {
        true => workspace.resolve_tree(&wish.path, access),
        false => workspace.resolve(&wish.path, access),
    };
    let reads = declared.reads.iter().map(|wish| at(wish, PathAccess::Read));
    let writes = declared.writes.iter().map(|wish| {
        let there = at(wish, PathAccess::Write);
        match wish.tree || workspace.stat_entry(&there).is_ok() {
            true => there,
            false => at(wish, PathAccess::Create),
        }
    });
    let deletes = declared.deletes.iter().map(|wish| at(wish, PathAccess::Delete));
    reads.chain(writes).chain(deletes).collect()
}

/// What answers the code of one call.
struct DynamicToolHost<'a> {
    definition: &'a ToolDefinition,
    permit: &'a Permit,
    cx: &'a ToolContext,
    /// Steps that were refused or failed, whether or not the code went on.
    failed: Mutex<Vec<String>>,
}

#[async_trait]
impl ScriptHost for DynamicToolHost<'_> {
    async fn call_host(&self, call: HostCall) -> Result<String, String> {
        let done = self.run_step(&call).await;
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

impl DynamicToolHost<'_> {
    async fn run_step(&self, call: &HostCall) -> Result<String, String> {
        self.check_declared(call).await?;
        let input = match call.whole {
            // One line is enough to be judged by; the rest is read below.
            true => json!({ "path": call.input["path"], "limit": 1 }),
            false => call.input.clone(),
        };
        let raw = self.cx.nested.call_tool(self.permit, &call.tool, input, self.cx).await;
        let said = plain_text(&raw.blocks);
        if !raw.ok {
            return Err(said);
        }
        if !call.whole {
            return Ok(said);
        }
        let path = call.input["path"].as_str().ok_or("path must be text")?.to_owned();
        let workspace = self.cx.workspace.clone();
        run_blocking(move || read_whole_text(&workspace, &path)).await?
    }

    /// A tool with a foreign part may do anything by that part, and by nothing else.
    async fn check_declared(&self, call: &HostCall) -> Result<(), String> {
        let effects = self.permit.effects();
        if !effects.unknown || self.definition.effects.tools.contains(&call.tool) {
            return Ok(());
        }
        let tool = self.cx.knows.toolbox().and_then(|tools| tools.get(&call.tool));
        let tool = tool.ok_or_else(|| format!("there is no tool {}", call.tool))?;
        let plan = tool.plan_call(&call.input, self.cx).await;
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
fn read_whole_text(workspace: &Workspace, path: &str) -> Result<String, String> {
    let at = workspace.resolve(path, PathAccess::Read);
    match workspace.read(&at, FILE_BYTES_MAX).map_err(|why| why.to_string())? {
        FileContent::File { bytes, .. } => String::from_utf8(bytes.to_vec())
            .map_err(|_| format!("{path} is not text in UTF-8; a script reads text only")),
        FileContent::Absent | FileContent::Folder | FileContent::Link { .. } => {
            Err(format!("{path} is no file"))
        }
    }
}
