//! A tool of a server as a tool of ours: its effects are what a person declared of it, else
//! everything (G2). Not here: reaching the server.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use weir_core::governance::Permit;
use weir_core::tool::{
    EffectClass, Effects, PathAccess, PathEffect, QueryEffect, RawResult, ResultEffect, ToolGroup,
    ToolSpec, foreign,
};
use weir_engine::ports::{CallPlan, Tool, ToolContext};

use crate::connect::RequestScope;
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
}

impl ForeignTool {
    pub(crate) fn new(server: &Arc<McpServer>, name: &str, listed: &ListedTool) -> ForeignTool {
        let reads = server.spec.declared.is_read_only(name, listed);
        let spec = ToolSpec {
            name: foreign::foreign_tool_name(&server.spec.name, name),
            description: match (&listed.title, listed.description.is_empty()) {
                (Some(title), true) => title.clone(),
                _ => listed.description.clone(),
            },
            group: ToolGroup::Mcp,
            input_schema: listed.input_schema.clone().into(),
            deferred: false,
            parallel_safe: reads,
            poll: false,
            keeps_result: false,
            timeout_ms: None,
        };
        ForeignTool { server: server.clone(), name: name.to_owned(), spec, reads }
    }
}

impl ForeignTool {
    /// Whether its process can change files of the workspace.
    fn may_write_workspace(&self) -> bool {
        let reach = &self.server.spec.reach;
        let is_program = matches!(self.server.spec.transport, ServerTransport::Stdio { .. });
        is_program && (reach.writes_workspace || reach.unconfined)
    }
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

    async fn plan_call(&self, input: &Value, cx: &ToolContext) -> CallPlan {
        let server = &self.server.spec.name;
        let summary = format!("Call {} of the server {server}", self.name);
        let reads_from = vec![origin_label(server)];
        let (unknown, contained) = (!self.reads, !self.reads && self.server.spec.is_contained());
        let acknowledges = unknown && self.server.spec.declared.is_sending(&self.name);
        let mut effects =
            Effects { reads_from, unknown, contained, acknowledges, ..Effects::default() };
        if !self.reads && self.may_write_workspace() {
            // So the workspace is looked at before and after, and what changed can be undone.
            let all =
                PathEffect { recursive: true, ..cx.workspace.resolve(".", PathAccess::Write) };
            effects.paths.push(all);
        }
        if self.reads && !self.server.spec.is_contained() {
            let query =
                QueryEffect::from_arguments(origin_label(server), input, &self.spec.input_schema);
            effects.queries.push(query);
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
        let (cancel, progress, person) = (&cx.cancel, &cx.progress, Some(&cx.person));
        let way = RequestScope { cancel, progress, person, idle_ms, hard_ms };
        let called = self.server.call_tool(&self.name, arguments, &way).await;
        let mut raw = match called {
            Ok(result) => crate::result::of_call(&result, cx),
            Err(why) => RawResult::error(why),
        };
        let used = self.server.take_used().await.into_iter();
        raw.news.extend(used.map(|(usage, cost_usd)| ResultEffect::Used { usage, cost_usd }));
        raw
    }
}
