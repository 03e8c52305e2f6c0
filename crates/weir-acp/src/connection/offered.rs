//! What an editor is told when it begins: what is spoken, what is there, how a model is made ready.

use crate::rpc::RpcError;
use crate::wire::{
    AgentCapabilities, AuthMethod, ClientAuth, EmptyCapability, Implementation, InitializeResult,
    McpCapabilities, PROTOCOL_VERSION, PromptCapabilities, SessionCapabilities,
};

/// A model is made ready elsewhere, and it is looked whether one is.
const AUTH_ELSEWHERE: &str = "weir-auth";
/// A model is made ready in a terminal that the editor opens.
const AUTH_TERMINAL: &str = "weir-setup";

/// The answer to `initialize`; `able`: how somebody can sign in at the editor.
pub(super) fn initialize_result(able: &ClientAuth) -> InitializeResult {
    InitializeResult {
        // Whatever version the editor would rather have: it decides whether it goes on with this one.
        protocol_version: PROTOCOL_VERSION,
        agent_capabilities: AgentCapabilities {
            load_session: true,
            prompt_capabilities: PromptCapabilities {
                image: true,
                audio: false,
                embedded_context: true,
            },
            mcp_capabilities: McpCapabilities { http: true, sse: false },
            session_capabilities: SessionCapabilities {
                list: EmptyCapability {},
                resume: EmptyCapability {},
                close: EmptyCapability {},
                delete: EmptyCapability {},
                fork: EmptyCapability {},
                additional_directories: EmptyCapability {},
            },
        },
        auth_methods: auth_methods(able),
        agent_info: Implementation {
            name: "weir",
            title: "Weir",
            version: env!("CARGO_PKG_VERSION"),
        },
    }
}

fn auth_methods(able: &ClientAuth) -> Vec<AuthMethod> {
    let elsewhere = AuthMethod {
        kind: None,
        id: AUTH_ELSEWHERE,
        name: "Key of a model provider",
        description: "Run `weir` or `weir auth set PROVIDER` in a terminal, or start a local model \
                      server; then continue here",
        args: Vec::new(),
    };
    let terminal = AuthMethod {
        kind: Some("terminal"),
        id: AUTH_TERMINAL,
        name: "Set up a model in a terminal",
        description: "Choose a provider and paste its key, or use a model on this machine",
        args: vec!["--setup"],
    };
    // One that is started in a terminal is offered only where there is one.
    let offered = [(able.terminal, terminal), (true, elsewhere)];
    offered.into_iter().filter_map(|(is_offered, method)| is_offered.then_some(method)).collect()
}

/// A way that `authenticate` may name.
///
/// # Errors
/// It is none.
pub(super) fn check_auth_method(id: &str) -> Result<(), RpcError> {
    match id {
        AUTH_ELSEWHERE | AUTH_TERMINAL => Ok(()),
        _ => Err(RpcError::invalid_params(format!("there is no way to authenticate named {id:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn r1_what_is_offered_is_what_the_protocol_calls_it() {
        let told =
            serde_json::to_value(initialize_result(&ClientAuth::default())).expect("plain data");
        assert_eq!(told["protocolVersion"], 1);
        let able = json!({
            "loadSession": true,
            "promptCapabilities": {"image": true, "audio": false, "embeddedContext": true},
            "mcpCapabilities": {"http": true, "sse": false},
            "sessionCapabilities": {
                "list": {}, "resume": {}, "close": {}, "delete": {}, "fork": {}, "additionalDirectories": {},
            },
        });
        assert_eq!(told["agentCapabilities"], able);
        let ways = |told: &serde_json::Value| -> Vec<String> {
            let ways = told["authMethods"].as_array().expect("a list").iter();
            ways.map(|way| way["id"].as_str().expect("a name").to_owned()).collect()
        };
        assert_eq!(ways(&told), ["weir-auth"]);
        let told = serde_json::to_value(initialize_result(&ClientAuth { terminal: true }))
            .expect("plain data");
        assert_eq!(ways(&told), ["weir-setup", "weir-auth"]);
        assert_eq!(told["authMethods"][0]["type"], "terminal");
        assert_eq!(told["authMethods"][0]["args"], json!(["--setup"]));
    }
}
