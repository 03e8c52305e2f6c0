//! `weir schema`: contracts generated from the types.

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::options::SchemaKind;
use crate::terminal::out_json;

/// Prints one.
pub(crate) fn print_schema(kind: SchemaKind) -> anyhow::Result<ExitCode> {
    match kind {
        SchemaKind::Events => out_json(&weir_core::view::wire::output_schema())?,
        SchemaKind::Config => out_json(&weir_install::config::settings_schema())?,
        SchemaKind::Tools => out_json(&tool_schemas())?,
        SchemaKind::Openapi => out_json(&weir_server::openapi_document())?,
    }
    Ok(ExitCode::SUCCESS)
}

fn tool_schemas() -> Value {
    let tools = weir_tools::built_in_tools();
    let specs = tools.iter().map(|tool| json!(tool.spec()));
    Value::Array(specs.collect())
}
