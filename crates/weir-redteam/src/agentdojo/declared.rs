//! What a person declares of the suite's tools in their settings (G2), and the tools with these
//! effects. What nobody declared has every effect.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use weir_core::governance::Permit;
use weir_core::tool::{
    EffectClass, Effects, HostEffect, RawResult, SendEffect, ToolGroup, ToolSpec,
};
use weir_engine::ports::{CallPlan, Tool, ToolContext, Web};
use weir_web::GuardedWeb;

use super::server::{Server, SuiteTool};

/// The name by which the settings know the server.
const SLACK: &str = "slack";
/// Before every name of its tools, as the names of an MCP server's tools are written.
const PREFIX: &str = "mcp__slack__";

/// What a tool does to the world.
#[derive(Debug, Clone, Copy)]
enum Touch {
    /// Reads what the team wrote: anybody's words, and nobody else's business.
    ReadsServer,
    /// Something reaches whom this argument names.
    SendsTo(&'static str),
    /// A page is fetched from the address in this argument.
    Fetches(&'static str),
    /// Something is put on the page at the address in this argument.
    Posts(&'static str),
}

impl Touch {
    /// The argument that names who or what is touched.
    fn argument(self, input: &Value) -> Option<&str> {
        match self {
            Touch::ReadsServer => None,
            Touch::SendsTo(field) | Touch::Fetches(field) | Touch::Posts(field) => {
                Some(input[field].as_str().unwrap_or_default())
            }
        }
    }

    /// The effects of a call with this input, or why its address is none.
    fn effects(self, input: &Value, web: &dyn Web) -> Result<Effects, String> {
        let argument = self.argument(input).unwrap_or_default();
        let mut effects = Effects::default();
        match self {
            Touch::ReadsServer => effects.reads_from.push(SLACK.into()),
            Touch::SendsTo(_) => {
                // Whatever a server answers is foreign (Z8), an acknowledgement too.
                effects.reads_from.push(SLACK.into());
                effects.sends.push(SendEffect { recipient: argument.into(), by: SLACK.into() });
            }
            // What a page says is foreign, but no secret of the team.
            Touch::Fetches(_) => effects.hosts.push(host("GET", argument, web)?),
            Touch::Posts(_) => effects.hosts.push(host("POST", argument, web)?),
        }
        Ok(effects)
    }
}

/// A line of the settings: tool, what it does, and the words for a person.
struct Declared(&'static str, Touch, &'static str);

const DECLARED: &[Declared] = &[
    Declared("get_channels", Touch::ReadsServer, "List the channels"),
    // Names of channels and users are words that other people chose.
    Declared("get_users_in_channel", Touch::ReadsServer, "List who is in a channel"),
    Declared("read_channel_messages", Touch::ReadsServer, "Read a channel"),
    Declared("read_inbox", Touch::ReadsServer, "Read an inbox"),
    Declared("send_direct_message", Touch::SendsTo("recipient"), "Send a message"),
    Declared("send_channel_message", Touch::SendsTo("channel"), "Send a message to a channel"),
    // Whoever is added to a channel gets everything that stands in it.
    Declared("add_user_to_channel", Touch::SendsTo("user"), "Add somebody to a channel"),
    // The invitation goes to the address; the name is only what they will be called.
    Declared("invite_user_to_slack", Touch::SendsTo("user_email"), "Invite somebody"),
    // Others notice it, and it cannot be taken back: as grave as a message to that person.
    Declared("remove_user_from_slack", Touch::SendsTo("user"), "Remove somebody"),
    Declared("get_webpage", Touch::Fetches("url"), "Fetch a page"),
    Declared("post_webpage", Touch::Posts("url"), "Put something on a page"),
];

/// The suite's name of a tool.
pub(super) fn without_prefix(name: &str) -> &str {
    name.strip_prefix(PREFIX).unwrap_or(name)
}

/// The name by which the model calls a tool of the suite.
pub(super) fn with_prefix(name: &str) -> String {
    format!("{PREFIX}{name}")
}

/// The suite's tools as tools of an engine.
pub(super) fn tools(server: &Arc<Server>, web: &Arc<GuardedWeb>) -> Vec<Arc<dyn Tool>> {
    let foreign = |tool: &SuiteTool| {
        let spec = ToolSpec {
            name: with_prefix(&tool.name),
            description: tool.description.clone(),
            group: ToolGroup::Mcp,
            input_schema: tool.schema.clone().into(),
            deferred: false,
            parallel_safe: false,
            poll: false,
            keeps_result: false,
            timeout_ms: None,
        };
        let declared = DECLARED.iter().find(|declared| declared.0 == tool.name);
        let (server, web) = (server.clone(), web.clone());
        Arc::new(Foreign { spec, declared, server, web }) as Arc<dyn Tool>
    };
    server.tools.iter().map(foreign).collect()
}

/// A tool of the suite: its effects are what was declared, its calls go to the child.
struct Foreign {
    spec: ToolSpec,
    declared: Option<&'static Declared>,
    server: Arc<Server>,
    /// Only for the form of addresses: nothing is fetched with it.
    web: Arc<GuardedWeb>,
}

#[async_trait]
impl Tool for Foreign {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn plan_call(&self, input: &Value, _cx: &ToolContext) -> CallPlan {
        let Some(Declared(_, touch, words)) = self.declared else {
            let effects = Effects { unknown: true, ..Effects::default() };
            return CallPlan::new(EffectClass::Once, effects, format!("Call {}", self.spec.name));
        };
        let class = match touch {
            Touch::ReadsServer | Touch::Fetches(_) => EffectClass::Read,
            Touch::SendsTo(_) | Touch::Posts(_) => EffectClass::Once,
        };
        let summary = match touch.argument(input) {
            Some(argument) => format!("{words}: {argument}"),
            None => (*words).to_owned(),
        };
        match touch.effects(input, self.web.as_ref()) {
            Ok(effects) => CallPlan::new(class, effects, summary),
            Err(why) => CallPlan::new(class, Effects::default(), summary).with_failure(why),
        }
    }

    async fn run(&self, permit: Permit, cx: &ToolContext) -> RawResult {
        let called = self.server.call(without_prefix(permit.tool()), permit.input());
        let called = tokio::select! {
            () = cx.cancel.cancelled() => return RawResult::error("the call was ended"),
            called = called => called,
        };
        match called {
            Ok((true, text)) => RawResult::ok(text),
            Ok((false, text)) => RawResult::error(text),
            Err(error) => RawResult::error(format!("{error:#}")),
        }
    }
}

/// The suite writes addresses without a scheme, and its tools drop one that is there.
fn host(method: &str, address: &str, web: &dyn Web) -> Result<HostEffect, String> {
    let bare = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://"));
    let at = web.check_url(&format!("https://{}", bare.unwrap_or(address)))?;
    Ok(HostEffect { method: method.into(), host: at.host, url: at.url, secret: None })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weir_web::WebOptions;

    use super::*;

    fn effects(tool: &str, input: &Value) -> Effects {
        let web = GuardedWeb::new(WebOptions::default()).unwrap();
        let declared = DECLARED.iter().find(|declared| declared.0 == tool).unwrap();
        declared.1.effects(input, &web).unwrap()
    }

    #[test]
    fn g2_what_sends_names_its_recipient_and_what_reads_changes_nothing() {
        let sends =
            effects("invite_user_to_slack", &json!({"user": "F", "user_email": "f@x.example"}));
        assert_eq!(sends.sends, [SendEffect { recipient: "f@x.example".into(), by: SLACK.into() }]);
        for declared in DECLARED {
            let Declared(tool, touch, _) = declared;
            let input = json!({"recipient": "a", "channel": "a", "user": "a", "user_email": "a",
                "url": "a.example"});
            let changes = matches!(touch, Touch::SendsTo(_) | Touch::Posts(_));
            assert_eq!(effects(tool, &input).changes_world(), changes, "{tool}");
        }
    }

    #[test]
    fn g2_one_page_has_one_address_however_it_is_written() {
        let of = |url: &str| effects("get_webpage", &json!({ "url": url })).hosts;
        assert_eq!(of("www.A.example"), of("https://www.a.example/"));
        assert_eq!(of("http://www.a.example"), of("www.a.example"));
        assert_ne!(of("www.a.example"), of("www.a.example/page"));
    }
}
