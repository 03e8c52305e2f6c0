//! Looking at what a server offers: its lists, one tool's schema, a resource, a prompt. Everything
//! is foreign text in a result; nothing of it reaches the prompt by another way.

use rmcp::model::{ContentBlock, ResourceContents};
use serde_json::{Map, Value};
use weir_core::tool::{Raw, foreign};
use weir_engine::ports::{ServerRead, ToolContext};

use crate::connect::{Connection, Failed, List, Way};
use crate::result::Answer;
use crate::server::Server;
use crate::text::plain;

/// Entries of one list that are shown.
const SHOWN_MAX: usize = 200;
/// Characters of one description in a list.
const ABOUT_CHARS_MAX: usize = 160;

pub(crate) async fn read(server: &Server, what: ServerRead, cx: &ToolContext) -> Raw {
    let hard_ms = cx.timeout_ms;
    let idle_ms = server.spec.timeouts.call_ms.unwrap_or(hard_ms).min(hard_ms);
    let way = Way { cancel: &cx.cancel, progress: &cx.progress, person: None, idle_ms, hard_ms };
    // A tool's schema was approved and is known.
    if let ServerRead::Tool(tool) = &what {
        return of_tool(server, tool);
    }
    let connection = match server.open_for(&way).await {
        Ok(connection) => connection,
        Err(why) => return Raw::error(why),
    };
    // What was said while it was connected may have closed it.
    if let Some(why) = server.closed() {
        return Raw::error(why);
    }
    let done = match what {
        ServerRead::Tool(_) => return Raw::error("unreachable for a tool"),
        ServerRead::Overview => overview(server, &connection, cx).await,
        ServerRead::Resource(uri) => of_resource(&connection, &uri, &way, cx).await,
        ServerRead::Prompt { name, arguments } => {
            of_prompt(&connection, &name, arguments, &way, cx).await
        }
    };
    match done {
        Ok(raw) => {
            server.worked().await;
            raw
        }
        Err(failed) => {
            let why = server.after_failure(&connection, failed).await;
            Raw::error(format!("Reading from it failed: {why}"))
        }
    }
}

fn of_tool(server: &Server, tool: &str) -> Raw {
    if let Some(why) = server.closed_tool(tool) {
        return Raw::error(why);
    }
    let listed = server.pin.as_ref().and_then(|pin| pin.listing.tools.get(tool));
    let Some(listed) = listed else {
        let name = &server.spec.name;
        return Raw::error(format!(
            "The server {name} has no approved tool {tool}. Without `tool` its tools are listed."
        ));
    };
    Raw::ok(format!(
        "{}\n\n{}\n\n{}",
        foreign::name(&server.spec.name, tool),
        listed.description,
        serde_json::to_string_pretty(&listed.input_schema).unwrap_or_default()
    ))
}

async fn overview(
    server: &Server,
    connection: &Connection,
    cx: &ToolContext,
) -> Result<Raw, Failed> {
    let mut answer = Answer::new(cx);
    answer.say("Tools:");
    let approved = server.pin.iter().flat_map(|pin| &pin.listing.tools);
    let mut left = SHOWN_MAX;
    for (name, tool) in approved {
        if left == 0 {
            answer.say("…");
            break;
        }
        left -= 1;
        let about = match server.closed_tool(name) {
            Some(_) => "closed: not as it was approved".to_owned(),
            None => plain(tool.description.lines().next().unwrap_or_default(), ABOUT_CHARS_MAX),
        };
        answer.say(&format!("- {name}: {about}"));
    }
    let (_, resources, prompts) = connection.offers();
    let mut lists = Vec::new();
    if resources {
        lists.push(("Resources:", List::Resources, "uri"));
        lists.push(("Resources with a part to fill in:", List::Templates, "uriTemplate"));
    }
    if prompts {
        lists.push(("Prompts:", List::Prompts, "name"));
    }
    for (title, list, key) in lists {
        let entries = match connection.list(list).await {
            Ok(entries) => entries,
            // Many have resources and no templates.
            Err(Failed::Refused(_)) => continue,
            Err(failed) => return Err(failed),
        };
        if entries.is_empty() {
            continue;
        }
        answer.say(title);
        for entry in entries.iter().take(SHOWN_MAX) {
            answer.say(&line(entry, key));
        }
        if entries.len() > SHOWN_MAX {
            answer.say("…");
        }
    }
    Ok(answer.finish(true))
}

fn line(entry: &Value, key: &str) -> String {
    let word = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default();
    let about = if word("description").is_empty() { word("title") } else { word("description") };
    let about = plain(about.lines().next().unwrap_or_default(), ABOUT_CHARS_MAX);
    let mut line = format!("- {}: {about}", plain(word(key), 500));
    if let Some(Value::Array(arguments)) = entry.get("arguments") {
        let names = arguments.iter().take(20).filter_map(|a| a.get("name").and_then(Value::as_str));
        let names: Vec<String> = names.map(|name| plain(name, 60)).collect();
        line.push_str(&format!(" (arguments: {})", names.join(", ")));
    }
    line
}

async fn of_resource(
    connection: &Connection,
    uri: &str,
    way: &Way<'_>,
    cx: &ToolContext,
) -> Result<Raw, Failed> {
    let found = connection.read(uri, way).await?;
    let mut answer = Answer::new(cx);
    for content in found.get("contents").and_then(Value::as_array).into_iter().flatten() {
        match serde_json::from_value::<ResourceContents>(content.clone()) {
            Ok(content) => answer.resource(&content),
            Err(_) => answer.say("[a part of an unknown kind was left out]"),
        }
    }
    Ok(answer.finish(true))
}

async fn of_prompt(
    connection: &Connection,
    name: &str,
    arguments: Value,
    way: &Way<'_>,
    cx: &ToolContext,
) -> Result<Raw, Failed> {
    let arguments: Map<String, Value> = match arguments {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    let found = connection.prompt(name, arguments, way).await?;
    let mut answer = Answer::new(cx);
    for message in found.get("messages").and_then(Value::as_array).into_iter().flatten() {
        let role = message.get("role").and_then(Value::as_str).unwrap_or("user");
        answer.say(&format!("[{}]", plain(role, 20)));
        let content = message.get("content").cloned().unwrap_or_default();
        match serde_json::from_value::<ContentBlock>(content) {
            Ok(content) => answer.part(&content),
            Err(_) => answer.say("[a part of an unknown kind was left out]"),
        }
    }
    Ok(answer.finish(true))
}
