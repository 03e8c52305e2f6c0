//! Looking at what a server offers: its lists, one tool's schema, a resource, a prompt. Everything
//! is foreign text in a result; nothing of it reaches the prompt by another way.

use rmcp::model::{ContentBlock, ResourceContents};
use serde_json::{Map, Value};
use weir_core::tool::{RawResult, foreign};
use weir_engine::ports::{ServerRead, ToolContext};

use crate::connect::{RequestFailure, RequestScope, ServerConnection, ServerListKind};
use crate::result::ResultBuilder;
use crate::server::McpServer;
use crate::text::visible_text;

/// Entries of one list that are shown.
const SHOWN_MAX: usize = 200;
/// Characters of one description in a list.
const ABOUT_CHARS_MAX: usize = 160;

pub(crate) async fn read_server(
    server: &McpServer,
    what: ServerRead,
    cx: &ToolContext,
) -> RawResult {
    let hard_ms = cx.timeout_ms;
    let idle_ms = server.spec.timeouts.call_ms.unwrap_or(hard_ms).min(hard_ms);
    let way =
        RequestScope { cancel: &cx.cancel, progress: &cx.progress, caller: None, idle_ms, hard_ms };
    // A tool's schema was approved and is known.
    if let ServerRead::Tool(tool) = &what {
        return of_tool(server, tool);
    }
    let connection = match server.open_for(&way).await {
        Ok(connection) => connection,
        Err(why) => return RawResult::error(why),
    };
    // What was said while it was connected may have closed it.
    if let Some(why) = server.closed_reason() {
        return RawResult::error(why);
    }
    let done = match what {
        ServerRead::Tool(_) => return RawResult::error("unreachable for a tool"),
        ServerRead::Overview => server_overview(server, &connection, cx).await,
        ServerRead::Resource(uri) => of_resource(&connection, &uri, &way, cx).await,
        ServerRead::Prompt { name, arguments } => {
            of_prompt(&connection, &name, arguments, &way, cx).await
        }
    };
    match done {
        Ok(raw) => {
            server.reset_failures().await;
            raw
        }
        Err(failed) => {
            let why = server.after_failure(&connection, failed).await;
            RawResult::error(format!("Reading from it failed: {why}"))
        }
    }
}

fn of_tool(server: &McpServer, tool: &str) -> RawResult {
    if let Some(why) = server.closed_tool(tool) {
        return RawResult::error(why);
    }
    let listed = server.pin.as_ref().and_then(|pin| pin.listing.tools.get(tool));
    let Some(listed) = listed else {
        let name = &server.spec.name;
        return RawResult::error(format!(
            "The server {name} has no approved tool {tool}. Without `tool` its tools are listed."
        ));
    };
    RawResult::ok(format!(
        "{}\n\n{}\n\n{}",
        foreign::foreign_tool_name(&server.spec.name, tool),
        listed.description,
        serde_json::to_string_pretty(&listed.input_schema).unwrap_or_default()
    ))
}

async fn server_overview(
    server: &McpServer,
    connection: &ServerConnection,
    cx: &ToolContext,
) -> Result<RawResult, RequestFailure> {
    let mut answer = ResultBuilder::new(cx);
    answer.push_text("Tools:");
    let approved = server.pin.iter().flat_map(|pin| &pin.listing.tools);
    let mut left = SHOWN_MAX;
    for (name, tool) in approved {
        if left == 0 {
            answer.push_text("…");
            break;
        }
        left -= 1;
        let about = match server.closed_tool(name) {
            Some(_) => "closed: not as it was approved".to_owned(),
            None => {
                visible_text(tool.description.lines().next().unwrap_or_default(), ABOUT_CHARS_MAX)
            }
        };
        answer.push_text(&format!("- {name}: {about}"));
    }
    let (_, resources, prompts) = connection.offered_features();
    let mut lists = Vec::new();
    if resources {
        lists.push(("Resources:", ServerListKind::Resources, "uri"));
        lists.push(("Resources with a part to fill in:", ServerListKind::Templates, "uriTemplate"));
    }
    if prompts {
        lists.push(("Prompts:", ServerListKind::Prompts, "name"));
    }
    for (title, list, key) in lists {
        let entries = match connection.fetch_list(list).await {
            Ok(entries) => entries,
            // Many have resources and no templates.
            Err(RequestFailure::Refused(_)) => continue,
            Err(failed) => return Err(failed),
        };
        if entries.is_empty() {
            continue;
        }
        answer.push_text(title);
        for entry in entries.iter().take(SHOWN_MAX) {
            answer.push_text(&list_entry_text(entry, key));
        }
        if entries.len() > SHOWN_MAX {
            answer.push_text("…");
        }
    }
    Ok(answer.finish(true))
}

fn list_entry_text(entry: &Value, key: &str) -> String {
    let word = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default();
    let about = if word("description").is_empty() { word("title") } else { word("description") };
    let about = visible_text(about.lines().next().unwrap_or_default(), ABOUT_CHARS_MAX);
    let mut line = format!("- {}: {about}", visible_text(word(key), 500));
    if let Some(Value::Array(arguments)) = entry.get("arguments") {
        let names = arguments.iter().take(20).filter_map(|a| a.get("name").and_then(Value::as_str));
        let names: Vec<String> = names.map(|name| visible_text(name, 60)).collect();
        line.push_str(&format!(" (arguments: {})", names.join(", ")));
    }
    line
}

async fn of_resource(
    connection: &ServerConnection,
    uri: &str,
    way: &RequestScope<'_>,
    cx: &ToolContext,
) -> Result<RawResult, RequestFailure> {
    let found = connection.read_resource(uri, way).await?;
    let mut answer = ResultBuilder::new(cx);
    for content in found.get("contents").and_then(Value::as_array).into_iter().flatten() {
        match serde_json::from_value::<ResourceContents>(content.clone()) {
            Ok(content) => answer.push_resource(&content),
            Err(_) => answer.push_text("[a part of an unknown kind was left out]"),
        }
    }
    Ok(answer.finish(true))
}

async fn of_prompt(
    connection: &ServerConnection,
    name: &str,
    arguments: Value,
    way: &RequestScope<'_>,
    cx: &ToolContext,
) -> Result<RawResult, RequestFailure> {
    let arguments: Map<String, Value> = match arguments {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    let found = connection.fill_prompt(name, arguments, way).await?;
    let mut answer = ResultBuilder::new(cx);
    for message in found.get("messages").and_then(Value::as_array).into_iter().flatten() {
        let role = message.get("role").and_then(Value::as_str).unwrap_or("user");
        answer.push_text(&format!("[{}]", visible_text(role, 20)));
        let content = message.get("content").cloned().unwrap_or_default();
        match serde_json::from_value::<ContentBlock>(content) {
            Ok(content) => answer.push_content(&content),
            Err(_) => answer.push_text("[a part of an unknown kind was left out]"),
        }
    }
    Ok(answer.finish(true))
}
