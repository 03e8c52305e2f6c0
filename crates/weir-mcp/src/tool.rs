//! A tool of a server as a tool of ours: its effects are what a person declared of it, else
//! everything (G2). Not here: reaching the server.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use weir_core::governance::Permit;
use weir_core::safe_text::visible_text;
use weir_core::tool::{
    ActKind, EffectClass, Effects, PathAccess, PathEffect, QueryEffect, RawResult, ToolDeclaration,
    ToolGroup, ToolSpec, foreign,
};
use weir_engine::ports::{CallPlan, Tool, ToolContext};

use crate::connect::RequestScope;
use crate::handler::RequestCaller;
use crate::listing::ListedTool;
use crate::server::McpServer;
use crate::spec::ServerTransport;

/// One tool of a server.
pub(crate) struct ForeignTool {
    server: Arc<McpServer>,
    /// Its name at the server.
    name: String,
    spec: ToolSpec,
    /// A person said that it only reads.
    reads: bool,
    /// A person said that it confirms what it sent.
    confirms: bool,
    /// What it is declared to do, argument by argument, as a person saw it.
    declared: Option<ToolDeclaration>,
}

impl ForeignTool {
    pub(crate) fn new(server: &Arc<McpServer>, name: &str, listed: &ListedTool) -> ForeignTool {
        let of = &server.spec.declared;
        let now = of.find_declaration(name, listed);
        let is_declared = now.is_some();
        // It counts as a person saw it.
        let seen = server.pin.as_ref().and_then(|pin| pin.declared.get(name));
        let declared = now
            .filter(|now| now.problem.is_none() && seen == Some(&now.declaration))
            .map(|now| now.declaration);
        let reads = match is_declared {
            true => declared.as_ref().is_some_and(|declared| declared.reads),
            false => of.is_read_by_pattern(name, listed),
        };
        let confirms = of.is_sending(name);
        let spec = ToolSpec {
            name: foreign::foreign_tool_name(&server.spec.name, name),
            description: told_description(listed, declared.as_ref()),
            group: ToolGroup::Mcp,
            input_schema: listed.input_schema.clone().into(),
            deferred: false,
            parallel_safe: reads,
            poll: false,
            keeps_result: false,
            timeout_ms: None,
        };
        let (server, name) = (server.clone(), name.to_owned());
        ForeignTool { server, name, spec, reads, confirms, declared }
    }
}

/// What the model reads of a tool: also what it gives back, which a program must know beforehand, and what
/// of that is a value where words stand beside the context (U6, U7).
fn told_description(listed: &ListedTool, declared: Option<&ToolDeclaration>) -> String {
    let mut told = match (&listed.title, listed.description.is_empty()) {
        (Some(title), true) => title.clone(),
        _ => listed.description.clone(),
    };
    if let Some(kind) = &listed.result_type {
        told.push_str(&format!("\nReturns {kind}"));
    }
    let typed: Vec<&str> =
        declared.into_iter().flat_map(|said| said.gives.iter()).map(|(path, _)| path).collect();
    if !typed.is_empty() {
        told.push_str(&format!("\nNever a handle: {}", typed.join(", ")));
    }
    told
}

/// How long a call that has its answer waits for a list that changed, and at most which part of its time.
const LOOK_MS_MAX: u64 = 2_000;
const LOOK_SHARE: u64 = 10;
/// Most characters of what a call does that stand in its summary.
const ACT_CHARS_MAX: usize = 300;

impl ForeignTool {
    /// What a call with these arguments does at the server, as far as anybody said.
    fn declared_effects(&self, input: &Value) -> Effects {
        let spec = &self.server.spec;
        let origin = origin_label(&spec.name);
        if let Some(declared) = self.declared.as_ref().filter(|declared| !declared.reads) {
            return declared.effects_of_call(&origin, input, &self.spec.input_schema);
        }
        let reads_from = vec![origin.clone()];
        if self.reads {
            let asks = (!spec.is_contained())
                .then(|| QueryEffect::from_arguments(origin, input, &self.spec.input_schema));
            return Effects {
                reads_from,
                queries: asks.into_iter().collect(),
                ..Effects::default()
            };
        }
        let acknowledges = self.confirms;
        let contained = spec.is_contained();
        Effects { reads_from, unknown: true, contained, acknowledges, ..Effects::default() }
    }

    /// Whether its process can change files of the workspace.
    fn may_write_workspace(&self) -> bool {
        let reach = &self.server.spec.reach;
        let is_program = matches!(self.server.spec.transport, ServerTransport::Stdio { .. });
        is_program && (reach.writes_workspace || reach.unconfined)
    }
}

/// What a call does, as a person reads it in one line: what cannot be seen is written out, so that no
/// value looks like another.
fn shown_acts(acts: &str) -> String {
    let shown = visible_text(acts);
    let cut: String = shown.chars().take(ACT_CHARS_MAX).collect();
    let rest = if cut.len() < shown.len() { "…" } else { "" };
    format!("{cut}{rest}")
}

/// What stands in labels for words of this server.
pub(crate) fn origin_label(server: &str) -> String {
    format!("mcp:{server}")
}

#[async_trait]
impl Tool for ForeignTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn acts_on_others(&self) -> bool {
        let kind = self.declared.as_ref().and_then(|declared| declared.act_kind().ok().flatten());
        match kind {
            None | Some(ActKind::Own) => false,
            // What a checkpoint keeps of the workspace comes back.
            Some(ActKind::Destroy) => !self.server.spec.changes_workspace_only(),
            Some(ActKind::Send | ActKind::Identity | ActKind::Commit) => true,
        }
    }

    fn asks_model(&self) -> bool {
        self.server.sampler().is_some()
    }

    async fn plan_call(&self, input: &Value, cx: &ToolContext) -> CallPlan {
        let server = &self.server.spec.name;
        let mut effects = self.declared_effects(input);
        let acts = effects.acts.iter().map(|act| format!(": {}", act.describe_act()));
        let acts = shown_acts(&acts.collect::<String>());
        let summary = format!("Call {} of the server {server}{acts}", self.name);
        if !self.reads && self.may_write_workspace() {
            // So the workspace is looked at before and after, and what changed can be undone.
            let all =
                PathEffect { recursive: true, ..cx.workspace.resolve(".", PathAccess::Write) };
            effects.paths.push(all);
        }
        let class = if self.reads { EffectClass::Read } else { EffectClass::Once };
        let plan = CallPlan::new(class, effects, summary);
        match self.server.closed_tool(&self.name) {
            Some(why) => plan.with_failure(why),
            None => plan,
        }
    }

    async fn run(&self, permit: Permit, cx: &ToolContext) -> RawResult {
        let Value::Object(arguments) = permit.input().clone() else {
            return RawResult::error("The arguments of this tool are an object.");
        };
        let hard_ms = cx.timeout_ms;
        let idle_ms = self.server.spec.timeouts.call_ms.unwrap_or(hard_ms).min(hard_ms);
        let caller = RequestCaller { person: cx.person.clone(), model: cx.model_prompter.clone() };
        let (cancel, progress, caller) = (&cx.cancel, &cx.progress, Some(&caller));
        let way = RequestScope { cancel, progress, caller, idle_ms, hard_ms };
        let called = self.server.call_tool(&self.name, arguments, &way).await;
        let mut raw = match called {
            Ok(result) => {
                let is_public =
                    self.server.spec.declared.trust_labels && crate::result::says_public(&result);
                RawResult { is_public, ..crate::result::of_call(&result, cx) }
            }
            Err(why) => RawResult::error(why),
        };
        raw.typed =
            self.declared.as_ref().map(|declared| declared.gives.clone()).unwrap_or_default();
        // What the server said of its list while the call ran is told with the call, where that comes soon: the
        // call is done, and its answer must not be lost over it.
        let look_ms = LOOK_MS_MAX.min(hard_ms / LOOK_SHARE);
        tokio::select! {
            () = self.server.look_if_stale_within(look_ms) => (),
            () = cx.cancel.cancelled() => (),
        }
        raw
    }
}
