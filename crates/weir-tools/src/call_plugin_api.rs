//! `call_plugin_api`: a method of a plugin's API, which is a script, a tool of a foreign server, or a
//! request (T11). Each is judged as what it is: a command, that tool's own effects, a host with the
//! name of a secret. Not here: what the method stands for (`weir_engine::plugins`).

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use weir_core::governance::Permit;
use weir_core::tool::{EffectClass, Effects, Group, HostEffect, Raw, ToolSpec};
use weir_engine::ports::{Address, MethodCall, Plan, RequestCall, Tool, ToolContext, WebRequest};

use crate::built::{self, nothing, parse};
use crate::{named_command, run_shell, text, web_fetch};

/// Most bytes of an answer.
const ANSWER_BYTES_MAX: usize = 2_000_000;

#[derive(Debug, Deserialize, JsonSchema)]
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

/// The tool as the engine knows it.
pub(crate) fn tool() -> Arc<dyn Tool> {
    Arc::new(CallPluginApi { spec: spec() })
}

/// What the model is told of it.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        deferred: true,
        timeout_ms: Some(run_shell::TIMEOUT_SECONDS_MAX * 1_000),
        ..built::spec::<Input>(
            "call_plugin_api",
            Group::Skill,
            "Calls a method of a plugin's API. A method that does not exist is answered with those \
             that do.",
        )
    }
}

#[async_trait]
impl Tool for CallPluginApi {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn nests(&self) -> bool {
        true
    }

    async fn plan(&self, input: &Value, cx: &ToolContext) -> Plan {
        let input: Input = match parse(input) {
            Ok(input) => input,
            Err(why) => return nothing("Arguments that cannot be used").failing(why),
        };
        let what = format!("Call {} of the plugin {}", input.method, input.plugin);
        let what = text::one_line(&what, 160);
        match found(&input, cx).await {
            Ok(MethodCall::Command(call)) => named_command::plan(call, what, cx).await,
            Ok(MethodCall::Request(call)) => plan_request(&call, what, cx),
            Ok(MethodCall::Tool { tool, input }) => plan_tool(&tool, input, what, cx).await,
            Err(why) => nothing(what).failing(why),
        }
    }

    async fn run(&self, permit: Permit, cx: &ToolContext) -> Raw {
        let input: Input = match parse(permit.input()) {
            Ok(input) => input,
            Err(why) => return Raw::error(why),
        };
        match found(&input, cx).await {
            Ok(MethodCall::Command(call)) => named_command::run(call, permit.effects(), cx).await,
            Ok(MethodCall::Request(call)) => send(call, permit.effects(), cx).await,
            Ok(MethodCall::Tool { tool, input }) => cx.nested.call(&permit, &tool, input, cx).await,
            Err(why) => Raw::error(format!("Not called: {why}")),
        }
    }
}

async fn found(input: &Input, cx: &ToolContext) -> Result<MethodCall, String> {
    let Input { plugin, method, arguments } = input;
    cx.plugins.method(&cx.session, plugin, method, arguments).await
}

fn plan_request(call: &RequestCall, what: String, cx: &ToolContext) -> Plan {
    let Address { url, host } = match cx.web.check_listed(&call.url, &call.listed) {
        Ok(address) => address,
        Err(why) => return nothing(what).failing(because(call, &why)),
    };
    let fails = call.secret.as_ref().and_then(|name| {
        let missing = web_fetch::undeclared(&cx.web.secrets(), name, &host)?;
        Some(because(call, &missing))
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
    let plan = Plan::new(class, effects, summary);
    match fails {
        Some(why) => plan.failing(why),
        None => plan,
    }
}

async fn plan_tool(tool: &str, input: Value, what: String, cx: &ToolContext) -> Plan {
    let summary = format!("{what}: {tool}");
    match cx.nested.foresee(tool, input, cx).await {
        Ok(plan) => Plan {
            summary: format!("{summary}: {}", text::one_line(&plan.summary, 200)),
            class: EffectClass::Once,
            // Its changes are its own, and are planned again when it is called.
            contents: std::collections::BTreeMap::new(),
            effects: Effects { changes: Vec::new(), ..plan.effects },
            ..plan
        },
        Err(why) => nothing(summary).failing(why),
    }
}

/// Sends the request that was judged.
async fn send(call: RequestCall, effects: &Effects, cx: &ToolContext) -> Raw {
    let Some(host) = effects.hosts.first() else {
        return Raw::error("the call has no address");
    };
    let same = cx.web.check_listed(&call.url, &call.listed).is_ok_and(|now| now.url == host.url);
    if !same || call.method != host.method || call.secret != host.secret {
        return Raw::error("Not sent: the address is another one than was judged; call it again");
    }
    let request = WebRequest {
        method: call.method.clone(),
        address: Address { url: host.url.clone(), host: host.host.clone() },
        headers: call.headers.clone(),
        body: call.body.clone(),
        secret: call.secret.clone(),
        listed: call.listed.clone(),
        certificate: call.certificate.clone(),
        max_bytes: ANSWER_BYTES_MAX,
    };
    match cx.web.request(&request, &cx.cancel).await {
        Ok(fetched) => web_fetch::answered(&fetched, |why| because(&call, why)),
        Err(why) => Raw::error(because(&call, &why)),
    }
}

/// Why a request failed, with what a person must have set up.
fn because(call: &RequestCall, why: &str) -> String {
    if call.setup.is_empty() {
        return why.to_owned();
    }
    format!("{why}. What must be set up: {}", call.setup)
}
