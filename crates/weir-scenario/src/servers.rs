//! Tools of foreign servers in a scenario: declared as a person would declare them, and answering what the
//! scenario says; what they ask the model, and what is heard of their lists. Not here: the protocol, which
//! `weir-mcp` speaks and outside judges test.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use async_trait::async_trait;
use serde_json::{Value, json};
use weir_core::governance::Permit;
use weir_core::tool::built_in::HANDLE_TOOLS;
use weir_core::tool::{
    ActKind, EffectClass, Effects, RawResult, ToolDeclaration, ToolGroup, ToolSpec, foreign,
};
use weir_engine::engine::SessionOptions;
use weir_engine::ports::{CallPlan, McpServers, ServerRead, Tool, ToolContext};
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
    /// `SERVER TOOL DECLARATION => ANSWER`; an answer that begins with `fails ` is a failure, one that begins
    /// with `asks ` is what the model answered to the rest of it (R3).
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

    /// What the server asks the model while its call runs.
    fn asked(&self) -> Option<&str> {
        self.answer.strip_prefix("asks ")
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
    if !setup.tool_changes.is_empty() {
        let untold = Mutex::new(setup.tool_changes.clone());
        options.resources.servers = Some(Arc::new(ScriptedServers { untold }));
    }
    if setup.server_tools.is_empty() {
        return Ok(());
    }
    let toolbox = options.resources.toolbox.clone().unwrap_or_else(|| Arc::new(toolbox.copy()));
    let tools = Arc::make_mut(&mut options.config.tools);
    for declared in &setup.server_tools {
        if declared.asked().is_some() {
            let inner = Arc::new(ScriptedSampling::of_server(&declared.server));
            toolbox.add(Arc::new(CrashTool { inner, point: point.clone() }))?;
        }
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

    fn asks_model(&self) -> bool {
        self.setup.asked().is_some()
    }

    async fn run(&self, _: Permit, cx: &ToolContext) -> RawResult {
        if let Some(question) = self.setup.asked() {
            let name = foreign::sampling_name(&self.setup.server);
            let input = json!({ "messages": [{ "role": "user", "text": question }],
                "tokens_max": 100 });
            return RawResult::ok(match cx.model_prompter.ask_model(&name, input).await {
                Ok(text) => format!("the model said: {text}"),
                Err(why) => format!("no answer: {why}"),
            });
        }
        let raw = match self.setup.answer.strip_prefix("fails ") {
            Some(why) => RawResult::error(why),
            None => RawResult::ok(self.setup.answer.clone()),
        };
        RawResult { typed: self.setup.declared.gives.clone(), ..raw }
    }
}

/// What a server asks the model, as a call; the model's answer is always the same.
struct ScriptedSampling {
    server: String,
    spec: ToolSpec,
}

impl ScriptedSampling {
    fn of_server(server: &str) -> ScriptedSampling {
        let (name, schema) = (foreign::sampling_name(server), json!({ "type": "object" }));
        let spec = ToolSpec {
            poll: true,
            ..ToolSpec::new(name, "Asks the model.", ToolGroup::Mcp, schema)
        };
        ScriptedSampling { server: server.to_owned(), spec }
    }
}

#[async_trait]
impl Tool for ScriptedSampling {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn is_offered(&self) -> bool {
        false
    }

    async fn plan_call(&self, input: &Value, _: &ToolContext) -> CallPlan {
        let effects = Effects {
            samples: Some(self.server.clone()),
            reads_from: vec![format!("mcp:{}", self.server)],
            ..Effects::default()
        };
        let asked = input["messages"][0]["text"].as_str().unwrap_or_default();
        let summary = format!("The server {} asks the model: {asked}", self.server);
        CallPlan::new(EffectClass::Read, effects, summary)
    }

    async fn run(&self, _: Permit, _: &ToolContext) -> RawResult {
        RawResult::ok("42")
    }
}

/// Servers of which only one thing is known: what of their lists is to be told.
struct ScriptedServers {
    untold: Mutex<Vec<String>>,
}

#[async_trait]
impl McpServers for ScriptedServers {
    fn server_states(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    fn take_tool_changes(&self) -> Vec<String> {
        std::mem::take(&mut *self.untold.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn read_server(&self, _: &str, _: ServerRead, _: &ToolContext) -> RawResult {
        RawResult::error("Nothing is read of it here.")
    }
}
