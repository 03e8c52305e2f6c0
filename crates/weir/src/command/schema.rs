//! `weir schema`: contracts generated from the types.

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::options::SchemaKind;
use crate::terminal::out_json;

/// Prints one.
pub(crate) fn schema(kind: SchemaKind) -> anyhow::Result<ExitCode> {
    match kind {
        SchemaKind::Events => out_json(&weir_core::view::wire::schema())?,
        SchemaKind::Config => out_json(&weir_install::config::schema())?,
        SchemaKind::Tools => out_json(&tools())?,
        SchemaKind::Openapi => out_json(&weir_server::openapi())?,
    }
    Ok(ExitCode::SUCCESS)
}

fn tools() -> Value {
    let tools = weir_tools::tools();
    let specs = tools.iter().map(|tool| json!(tool.spec()));
    Value::Array(specs.collect())
}
