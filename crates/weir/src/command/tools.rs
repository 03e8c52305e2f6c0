//! `weir tools`: what a model can be given.

use std::fmt::Write as _;
use std::process::ExitCode;

use serde_json::{Value, json};
use weir_core::tool::ToolSpec;
use weir_install::catalogue::made as custom;
use weir_install::catalogue::tools::group;
use weir_install::cx::Cx;

use crate::failure::usage;
use crate::options::ToolsCommand;
use crate::terminal::{out, out_json, table};

mod made;

/// Lists or shows; makes, accepts, switches off, takes away.
pub(crate) async fn tools(cx: &Cx, command: ToolsCommand) -> anyhow::Result<ExitCode> {
    let tools = weir_tools::tools();
    match command {
        ToolsCommand::List(flag) if flag.json => {
            let (_, made) = custom::survey(cx).await?;
            let rows = tools.iter().map(|tool| row(tool.spec()));
            let rows: Vec<Value> = rows.chain(made.iter().map(made::as_json)).collect();
            out_json(&rows)?;
        }
        ToolsCommand::List(_) => {
            let line = |spec: &ToolSpec| {
                let summary = spec.description.split(". ").next().unwrap_or_default();
                let summary = summary.trim_end_matches('.').to_owned();
                let when = if spec.deferred { "deferred" } else { "" };
                vec![spec.name.clone(), group(spec), when.to_owned(), summary]
            };
            let (_, made) = custom::survey(cx).await?;
            let rows = tools.iter().map(|tool| line(tool.spec()));
            let rows: Vec<Vec<String>> = rows.chain(made.iter().map(made::row)).collect();
            out(&table(&rows))?;
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
                    false => out(&custom::described(&found))?,
                }
                return Ok(ExitCode::SUCCESS);
            };
            if json.json {
                out_json(tool.spec())?;
            } else {
                out(&described(tool.spec()))?;
            }
        }
        ToolsCommand::Add(args) => return made::add(cx, &args).await,
        ToolsCommand::Accept(args) => return made::accept(cx, &args).await,
        ToolsCommand::Disable(args) => return made::disable(cx, &args).await,
        ToolsCommand::Remove(args) => return made::remove(cx, &args).await,
    }
    Ok(ExitCode::SUCCESS)
}

fn row(spec: &ToolSpec) -> Value {
    json!({
        "name": spec.name,
        "group": spec.group,
        "description": spec.description,
        "deferred": spec.deferred,
        "parallel_safe": spec.parallel_safe,
    })
}

fn described(spec: &ToolSpec) -> String {
    let mut text = format!("{} (group {})\n\n{}\n", spec.name, group(spec), spec.description);
    let schema = &spec.input_schema;
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    if let Some(fields) = schema["properties"].as_object() {
        text.push_str("\nArguments:\n");
        for (name, field) in fields {
            let must = if required.iter().any(|r| r == name) { "required" } else { "optional" };
            let kind = kind(field);
            let description = field["description"].as_str().unwrap_or_default();
            let _ = writeln!(text, "  {name} ({kind}, {must})  {description}");
        }
    }
    text
}

fn kind(field: &Value) -> String {
    match &field["type"] {
        Value::String(kind) => kind.clone(),
        Value::Array(kinds) => {
            let kinds = kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null");
            kinds.collect::<Vec<_>>().join(" or ")
        }
        _ => "value".to_owned(),
    }
}
