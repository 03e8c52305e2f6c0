//! `call_plugin_api`: a method of a plugin's API, which is a script, a tool of a foreign server, or a
//! request (T11). Each is judged as what it is: a command, that tool's own effects, a host with the
//! name of a secret. Not here: what the method stands for (`weir_engine::plugins`).

use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value};
use weir_core::governance::Permit;
use weir_core::tool::{EffectClass, Effects, HostEffect, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{
    CallPlan, MethodCall, RequestCall, Tool, ToolContext, WebAddress, WebRequest,
};

use crate::built::{self, BuiltInTool, empty_plan, parse_input};
use crate::{named_command, run_shell, text, web_fetch};

/// Most bytes of an answer.
const ANSWER_BYTES_MAX: usize = 2_000_000;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct Input {
    /// Its id.
    plugin: String,
    /// Name of the method.
    method: String,
    /// By name.
    #[serde(default)]
    arguments: Map<String, Value>,
}

/// The tool: it sees its permit, because a step of it needs one.
struct CallPluginApi {
    spec: ToolSpec,
}

/// The tool for the list.
pub(crate) fn plugin_api_tool() -> Arc<dyn BuiltInTool> {
    Arc::new(CallPluginApi { spec: plugin_api_spec() })
}

/// What the model is told of it.
pub(crate) fn plugin_api_spec() -> ToolSpec {
    ToolSpec {
        deferred: true,
        timeout_ms: Some(run_shell::TIMEOUT_SECONDS_MAX * 1_000),
        ..built::tool_spec(
            "call_plugin_api",
            ToolGroup::Skill,
            "Calls a method of a plugin's API. A method that does not exist is answered with those \
             that do.",
        )
    }
}

impl BuiltInTool for CallPluginApi {
    #[cfg(test)]
    fn derived_schema(&self) -> Value {
        crate::schema::input_schema::<Input>()
    }
}

#[async_trait]
impl Tool for CallPluginApi {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn has_nested_calls(&self) -> bool {
        true
    }

    async fn plan_call(&self, input: &Value, cx: &ToolContext) -> CallPlan {
        let input: Input = match parse_input(input) {
            Ok(input) => input,
            Err(why) => return empty_plan("Arguments that cannot be used").with_failure(why),
        };
        let what = format!("Call {} of the plugin {}", input.method, input.plugin);
        let what = text::one_line(&what, 160);
        match find_method(&input, cx).await {
            Ok(MethodCall::Command(call)) => named_command::plan_command(call, what, cx).await,
            Ok(MethodCall::Request(call)) => plan_request(&call, what, cx),
            Ok(MethodCall::Tool { tool, input }) => plan_tool(&tool, input, what, cx).await,
            Err(why) => empty_plan(what).with_failure(why),
        }
    }

    async fn run(&self, permit: Permit, cx: &ToolContext) -> RawResult {
        let input: Input = match parse_input(permit.input()) {
            Ok(input) => input,
            Err(why) => return RawResult::error(why),
        };
        match find_method(&input, cx).await {
            Ok(MethodCall::Command(call)) => named_command::run(call, permit.effects(), cx).await,
            Ok(MethodCall::Request(call)) => send_request(call, permit.effects(), cx).await,
            Ok(MethodCall::Tool { tool, input }) => {
                cx.nested.call_tool(&permit, &tool, input, cx).await
            }
            Err(why) => RawResult::error(format!("Not called: {why}")),
        }
    }
}

async fn find_method(input: &Input, cx: &ToolContext) -> Result<MethodCall, String> {
    let Input { plugin, method, arguments } = input;
    cx.plugins.resolve_method(&cx.session, plugin, method, arguments).await
}

fn plan_request(call: &RequestCall, what: String, cx: &ToolContext) -> CallPlan {
    let WebAddress { url, host } = match cx.web.check_listed(&call.url, &call.listed) {
        Ok(address) => address,
        Err(why) => return empty_plan(what).with_failure(explain_failure(call, &why)),
    };
    let fails = call.secret.as_ref().and_then(|name| {
        let missing = web_fetch::undeclared_secret(&cx.web.secrets(), name, &host)?;
        Some(explain_failure(call, &missing))
    });
    let reads = matches!(call.method.as_str(), "GET" | "HEAD");
    let class = if reads { EffectClass::Read } else { EffectClass::Once };
    let summary = format!("{what}: {} {}", call.method, text::one_line(&url, 200));
    // What a host shows to a plugin with a key, or on this machine, is not for everybody.
    let private = call.secret.is_some() || !call.listed.is_empty();
    let effects = Effects {
        reads_from: if private { vec![host.clone()] } else { Vec::new() },
        hosts: vec![HostEffect {
            method: call.method.clone(),
            host,
            url,
            secret: call.secret.clone(),
        }],
        ..Effects::default()
    };
    let plan = CallPlan::new(class, effects, summary);
    match fails {
        Some(why) => plan.with_failure(why),
        None => plan,
    }
}

async fn plan_tool(tool: &str, input: Value, what: String, cx: &ToolContext) -> CallPlan {
    let summary = format!("{what}: {tool}");
    match cx.nested.plan_nested_call(tool, input, cx).await {
        Ok(plan) => CallPlan {
            summary: format!("{summary}: {}", text::one_line(&plan.summary, 200)),
            class: EffectClass::Once,
            // Its changes are its own, and are planned again when it is called.
            contents: std::collections::BTreeMap::new(),
            effects: Effects { changes: Vec::new(), ..plan.effects },
            ..plan
        },
        Err(why) => empty_plan(summary).with_failure(why),
    }
}

/// Sends the request that was judged.
async fn send_request(call: RequestCall, effects: &Effects, cx: &ToolContext) -> RawResult {
    let Some(host) = effects.hosts.first() else {
        return RawResult::error("the call has no address");
    };
    let same = cx.web.check_listed(&call.url, &call.listed).is_ok_and(|now| now.url == host.url);
    if !same || call.method != host.method || call.secret != host.secret {
        return RawResult::error(
            "Not sent: the address is another one than was judged; call it again",
        );
    }
    let request = WebRequest {
        method: call.method.clone(),
        address: WebAddress { url: host.url.clone(), host: host.host.clone() },
        headers: call.headers.clone(),
        body: call.body.clone(),
        secret: call.secret.clone(),
        listed: call.listed.clone(),
        certificate: call.certificate.clone(),
        max_bytes: ANSWER_BYTES_MAX,
    };
    match cx.web.request(&request, &cx.cancel).await {
        Ok(fetched) => web_fetch::plugin_answer(&fetched, |why| explain_failure(&call, why)),
        Err(why) => RawResult::error(explain_failure(&call, &why)),
    }
}

/// Why a request failed, with what a person must have set up.
fn explain_failure(call: &RequestCall, why: &str) -> String {
    if call.setup.is_empty() {
        return why.to_owned();
    }
    format!("{why}. What must be set up: {}", call.setup)
}
