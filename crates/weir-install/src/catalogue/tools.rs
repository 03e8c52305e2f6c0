//! Built-in tools in words for people. Not here: which of them a session has (`wiring`).

use serde_json::json;
use weir_core::tool::ToolSpec;

pub fn tool_group_name(spec: &ToolSpec) -> String {
    json!(spec.group).as_str().unwrap_or_default().to_owned()
}
