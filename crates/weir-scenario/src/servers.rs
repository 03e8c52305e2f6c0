//! Tools of foreign servers in a scenario: declared as a person would declare them, and answering what the
//! scenario says. Not here: the protocol, which `weir-mcp` speaks and outside judges test.

use std::sync::Arc;

use anyhow::Context as _;
use async_trait::async_trait;
use serde_json::{Value, json};
use weir_core::governance::Permit;
use weir_core::tool::built_in::HANDLE_TOOLS;
use weir_core::tool::{
    ActKind, EffectClass, Effects, RawResult, ToolDeclaration, ToolGroup, ToolSpec, foreign,
};
use weir_engine::engine::SessionOptions;
use weir_engine::ports::{CallPlan, Tool, ToolContext};
use weir_engine::toolbox::Toolbox;

use crate::crash::{CrashPoint, CrashTool};
use crate::parse::Setup;

/// One tool of a server: its server and name, what is declared of it, and its answer.
#[derive(Debug, Clone)]
pub struct ForeignToolSetup {
    server: String,
    name: String,
    declared: ToolDeclaration,
    answer: String,
}

impl ForeignToolSetup {
    /// `SERVER TOOL DECLARATION => ANSWER`; an answer that begins with `fails ` is a failure.
    ///
    /// # Errors
    /// It does not read so.
    pub fn parse(text: &str) -> anyhow::Result<ForeignToolSetup> {
        let how = "server-tool SERVER TOOL DECLARATION => ANSWER";
        let (head, answer) = text.split_once(" => ").context(how)?;
        let mut words = head.splitn(3, ' ');
        let (server, name) = (words.next().context(how)?, words.next().context(how)?);
        let declared = serde_json::from_str(words.next().context(how)?).context(how)?;
        let (server, name, answer) = (server.to_owned(), name.to_owned(), answer.to_owned());
        Ok(ForeignToolSetup { server, name, declared, answer })
    }

    fn acts_on_others(&self) -> bool {
        matches!(self.declared.act_kind(), Ok(Some(kind)) if kind != ActKind::Own)
    }
}

/// Gives a session the tools of the scenario's servers, and those of handles where one of them acts.
///
/// # Errors
/// There is a tool of that name.
pub(crate) fn bind_server_tools(
    setup: &Setup,
    point: &Arc<CrashPoint>,
    toolbox: &Arc<Toolbox>,
    options: &mut SessionOptions,
) -> anyhow::Result<()> {
    if setup.server_tools.is_empty() {
        return Ok(());
    }
    let toolbox = options.resources.toolbox.clone().unwrap_or_else(|| Arc::new(toolbox.copy()));
    let tools = Arc::make_mut(&mut options.config.tools);
    for declared in &setup.server_tools {
        let inner = Arc::new(ScriptedServerTool::new(declared.clone()));
        let tool: Arc<dyn Tool> = Arc::new(CrashTool { inner, point: point.clone() });
        tools.push(tool.spec().clone());
        toolbox.add(tool)?;
    }
    if setup.server_tools.iter().any(ForeignToolSetup::acts_on_others) {
        let of_handles = HANDLE_TOOLS.iter().filter_map(|name| toolbox.get(name));
        tools.extend(of_handles.map(|tool| tool.spec().clone()));
    }
    options.resources.toolbox = Some(toolbox);
    Ok(())
}

struct ScriptedServerTool {
    setup: ForeignToolSetup,
    spec: ToolSpec,
}

impl ScriptedServerTool {
    fn new(setup: ForeignToolSetup) -> ScriptedServerTool {
        let spec = ToolSpec {
            name: foreign::foreign_tool_name(&setup.server, &setup.name),
            description: format!("{} of {}", setup.name, setup.server),
            group: ToolGroup::Mcp,
            input_schema: json!({ "type": "object" }).into(),
            deferred: false,
            parallel_safe: setup.declared.reads,
            poll: false,
            keeps_result: false,
            timeout_ms: None,
        };
        ScriptedServerTool { setup, spec }
    }
}

#[async_trait]
impl Tool for ScriptedServerTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn plan_call(&self, input: &Value, _: &ToolContext) -> CallPlan {
        let ForeignToolSetup { server, name, declared, .. } = &self.setup;
        let server_label = format!("mcp:{server}");
        let effects: Effects =
            declared.effects_of_call(&server_label, input, &self.spec.input_schema);
        let acts: Vec<String> =
            effects.acts.iter().map(|act| format!(": {}", act.describe_act())).collect();
        let summary = format!("Call {name} of the server {server}{}", acts.concat());
        let class = if declared.reads { EffectClass::Read } else { EffectClass::Once };
        CallPlan::new(class, effects, summary)
    }

    async fn run(&self, _: Permit, _: &ToolContext) -> RawResult {
        let raw = match self.setup.answer.strip_prefix("fails ") {
            Some(why) => RawResult::error(why),
            None => RawResult::ok(self.setup.answer.clone()),
        };
        RawResult { typed: self.setup.declared.gives.clone(), ..raw }
    }
}
