//! `weir tools`: what a model can be given.

use std::fmt::Write as _;
use std::process::ExitCode;

use serde_json::{Value, json};
use weir_core::tool::ToolSpec;
use weir_install::catalogue::made as custom;
use weir_install::catalogue::tools::tool_group_name;
use weir_install::context::InstallationContext;

use crate::failure::usage;
use crate::options::ToolsCommand;
use crate::terminal::{format_table, out_json, out_line};

mod made;

/// Lists or shows; makes, accepts, switches off, takes away.
pub(crate) async fn run_tools_command(
    cx: &InstallationContext,
    command: ToolsCommand,
) -> anyhow::Result<ExitCode> {
    let tools = weir_tools::built_in_tools();
    match command {
        ToolsCommand::List(flag) if flag.json => {
            let (_, made) = custom::survey(cx).await?;
            let rows = tools.iter().map(|tool| tool_row_json(tool.spec()));
            let rows: Vec<Value> = rows.chain(made.iter().map(made::as_json)).collect();
            out_json(&rows)?;
        }
        ToolsCommand::List(_) => {
            let line = |spec: &ToolSpec| {
                let summary = spec.description.split(". ").next().unwrap_or_default();
                let summary = summary.trim_end_matches('.').to_owned();
                let when = if spec.deferred { "deferred" } else { "" };
                vec![spec.name.clone(), tool_group_name(spec), when.to_owned(), summary]
            };
            let (_, made) = custom::survey(cx).await?;
            let rows = tools.iter().map(|tool| line(tool.spec()));
            let rows: Vec<Vec<String>> =
                rows.chain(made.iter().map(made::dynamic_tool_row)).collect();
            out_line(&format_table(&rows))?;
        }
        ToolsCommand::Show { name, json } => {
            let Some(tool) = tools.iter().find(|tool| tool.spec().name == name) else {
                let (_, made) = custom::survey(cx).await?;
                if !made.iter().any(|found| found.name == name) {
                    return Err(usage(format!(
                        "there is no tool {name:?}; `weir tools list` lists all tools"
                    )));
                }
                let found = custom::one(made, &name)?;
                match json.json {
                    true => out_json(&made::as_json(&found))?,
                    false => out_line(&custom::described(&found))?,
                }
                return Ok(ExitCode::SUCCESS);
            };
            if json.json {
                out_json(tool.spec())?;
            } else {
                out_line(&describe_tool(tool.spec()))?;
            }
        }
        ToolsCommand::Add(args) => return made::add_tool(cx, &args).await,
        ToolsCommand::Accept(args) => return made::accept_tool(cx, &args).await,
        ToolsCommand::Disable(args) => return made::disable_tool(cx, &args).await,
        ToolsCommand::Remove(args) => return made::remove(cx, &args).await,
    }
    Ok(ExitCode::SUCCESS)
}

fn tool_row_json(spec: &ToolSpec) -> Value {
    json!({
        "name": spec.name,
        "group": spec.group,
        "description": spec.description,
        "deferred": spec.deferred,
        "parallel_safe": spec.parallel_safe,
    })
}

fn describe_tool(spec: &ToolSpec) -> String {
    let mut text =
        format!("{} (group {})\n\n{}\n", spec.name, tool_group_name(spec), spec.description);
    let schema = &spec.input_schema;
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    if let Some(fields) = schema["properties"].as_object() {
        text.push_str("\nArguments:\n");
        for (name, field) in fields {
            let must = if required.iter().any(|r| r == name) { "required" } else { "optional" };
            let kind = field_type_text(field);
            let description = field["description"].as_str().unwrap_or_default();
            let _ = writeln!(text, "  {name} ({kind}, {must})  {description}");
        }
    }
    text
}

fn field_type_text(field: &Value) -> String {
    match &field["type"] {
        Value::String(kind) => kind.clone(),
        Value::Array(kinds) => {
            let kinds = kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null");
            kinds.collect::<Vec<_>>().join(" or ")
        }
        _ => "value".to_owned(),
    }
}
