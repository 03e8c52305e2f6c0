//! What is wrong with the parameters of a request: the SDK takes one of a method that it knows, whose
//! parameters it cannot read, for one of a method that nobody knows. Not here: what a method does.

#![expect(
    deprecated,
    reason = "which lines it hears is what a client of the older revisions says so"
)]

use rmcp::model::{
    CallToolRequestParams, DiscoverRequestParams, GetPromptRequestParams, InitializeRequestParams,
    PaginatedRequestParams, ReadResourceRequestParams, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionsListenRequestParams, UnsubscribeRequestParams,
};
use serde_json::{Value, from_value, json};

/// The request that begins a connection.
pub(crate) const INITIALIZE: &str = "initialize";

/// Methods that the revision without a handshake has no more.
const REMOVED_METHODS: [&str; 5] =
    [INITIALIZE, "logging/setLevel", "ping", "resources/subscribe", "resources/unsubscribe"];

/// Whether the revision without a handshake has no such method, which older ones had.
pub(crate) fn is_removed_method(method: &str) -> bool {
    REMOVED_METHODS.contains(&method)
}

/// Characters of a reason: it may quote what the client sent.
const REASON_CHARS_MAX: usize = 300;

/// What is wrong with the parameters of a request that could not be read; `None`: there is no such method
/// here.
pub(crate) fn describe_wrong_params(method: &str, params: Option<&Value>) -> Option<String> {
    let mut given = params.cloned().unwrap_or_else(|| json!({}));
    // What it says of the request itself is no parameter of the method.
    if let Value::Object(fields) = &mut given {
        fields.remove("_meta");
    }
    let is_object = given.is_object();
    let error = match method {
        INITIALIZE => from_value::<InitializeRequestParams>(given).err(),
        "server/discover" => from_value::<DiscoverRequestParams>(given).err(),
        "tools/call" => from_value::<CallToolRequestParams>(given).err(),
        "prompts/get" => from_value::<GetPromptRequestParams>(given).err(),
        "resources/read" => from_value::<ReadResourceRequestParams>(given).err(),
        "resources/subscribe" => from_value::<SubscribeRequestParams>(given).err(),
        "resources/unsubscribe" => from_value::<UnsubscribeRequestParams>(given).err(),
        "subscriptions/listen" => from_value::<SubscriptionsListenRequestParams>(given).err(),
        "logging/setLevel" => from_value::<SetLevelRequestParams>(given).err(),
        "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list" => {
            from_value::<PaginatedRequestParams>(given).err()
        }
        "ping" => None,
        _ => return None,
    };
    let reason = match error {
        _ if !is_object => "they must be an object".to_owned(),
        Some(error) => error.to_string().chars().take(REASON_CHARS_MAX).collect(),
        None => "they are not what the protocol has for it".to_owned(),
    };
    Some(format!("Invalid params of {method}: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r2_parameters_that_cannot_be_read_are_told_apart_from_a_method_that_is_not_there() {
        for (method, params, part) in [
            ("tools/call", json!({}), "missing field `name`"),
            ("tools/call", json!({ "name": 5 }), "expected a string"),
            ("tools/call", json!(["read_file"]), "must be an object"),
            ("resources/read", json!({ "url": "x" }), "missing field `uri`"),
            ("tools/list", json!({ "cursor": 5 }), "expected a string"),
            ("initialize", json!({ "protocolVersion": "2025-11-25" }), "missing field"),
            ("ping", json!({ "_meta": 5 }), "not what the protocol has"),
        ] {
            let why = describe_wrong_params(method, Some(&params)).expect("there is such a method");
            assert!(why.starts_with(&format!("Invalid params of {method}: ")), "{why}");
            assert!(why.contains(part), "{method} {params}: {why}");
        }
        let without = describe_wrong_params("prompts/get", None).expect("there is such a method");
        assert!(without.contains("missing field `name`"), "{without}");
        let long = json!({ "level": "x".repeat(9_000) });
        let why = describe_wrong_params("logging/setLevel", Some(&long)).expect("there is such");
        assert!(why.len() < 400, "{why}");
        assert_eq!(describe_wrong_params("tools/sing", Some(&json!({}))), None);
    }

    #[test]
    fn r2_what_the_newest_revision_has_no_more_is_known_from_what_it_has() {
        let named = |method: &str| describe_wrong_params(method, Some(&json!(5))).is_some();
        assert!(REMOVED_METHODS.iter().all(|method| named(method) && is_removed_method(method)));
        for method in ["tools/call", "server/discover", "subscriptions/listen", "tools/list"] {
            assert!(!is_removed_method(method), "{method}");
        }
    }
}
