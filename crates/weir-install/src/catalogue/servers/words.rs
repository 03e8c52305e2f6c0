//! A server and its tools in words for a person who decides: everything that a model would read,
//! and nothing that hides.

use serde_json::Value;
use weir_core::tool::foreign;
use weir_core::view::plain::visible_text;
use weir_mcp::{
    DeclaredTool, DifferenceKind, ListedTool, PinDifference, ServerListing, ToolDeclarations,
    propose_declaration,
};

use crate::config::McpServerSettings;
use crate::wiring::mcp::KnownMcpServer;

/// Lines of one description that are shown; `show --json` has all.
const LINES_MAX: usize = 60;

/// The command line, or the address.
pub fn describe_server_address(settings: &McpServerSettings) -> String {
    if !settings.url.is_empty() {
        return settings.url.clone();
    }
    let quoted = |word: &String| {
        let plain = |c: char| c.is_alphanumeric() || "-_./:=@,+%".contains(c);
        match !word.is_empty() && word.chars().all(plain) {
            true => word.clone(),
            false => format!("'{}'", word.replace('\'', r"'\''")),
        }
    };
    std::iter::once(&settings.command)
        .chain(&settings.args)
        .map(quoted)
        .collect::<Vec<_>>()
        .join(" ")
}

/// At most `max` characters.
pub fn truncate_chars(text: &str, max: usize) -> String {
    match text.chars().count() > max {
        true => text.chars().take(max - 1).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

/// Whether any of them closes something.
pub fn closes_anything(differences: &[PinDifference]) -> bool {
    differences.iter().any(|difference| difference.kind != DifferenceKind::Told)
}

/// How a server is reached and what it may touch.
pub fn describe_server(known: &KnownMcpServer) -> String {
    let of = &known.declared.settings;
    let mut text = format!("{} ({})\n", known.declared.name, visible_text(&known.declared.place));
    let mut line = |what: &str, words: String| {
        if !words.is_empty() {
            text.push_str(&format!("  {what}: {}\n", visible_text(&words)));
        }
    };
    let names = |table: &std::collections::BTreeMap<String, String>| {
        table.keys().cloned().collect::<Vec<_>>().join(", ")
    };
    if of.url.is_empty() {
        line("starts", describe_server_address(of));
        line("from", known.pinned_package().unwrap_or_default().to_owned());
        line("in", of.cwd.clone());
        line("variables", names(&of.env));
        line("secrets in", names(&of.secrets));
        let confined = match of.unconfined {
            true => "outside the sandbox, with your rights",
            false => "in the sandbox",
        };
        line("runs", confined.to_owned());
        let hosts = if of.hosts.is_empty() { "nothing".into() } else { of.hosts.join(", ") };
        line("reaches", hosts);
        line("reads besides the workspace", of.reads.join(", "));
        let writes = if of.writes.is_empty() { "nothing".into() } else { of.writes.join(", ") };
        line("changes", writes);
    } else {
        line("connects to", of.url.clone());
        line("headers", names(&of.headers));
        line("secrets in", names(&of.secrets));
    }
    line("only reads", of.read_tools.join(", "));
    let tools = of.tools.iter().map(|(name, declared)| format!("{name}: {}", declared.describe()));
    line("declared by you", tools.collect::<Vec<_>>().join(" · "));
    line("sends and confirms", of.send_tools.join(", "));
    let yes = |yes: bool, words: &str| if yes { words.to_owned() } else { String::new() };
    line("believed", yes(of.trust_annotations, "what tools declare about themselves"));
    line("believed", yes(of.trust_labels, "what it says is public"));
    line("may ask", yes(of.sampling, "the session's model"));
    text
}

/// Every tool, and what `declared` says of each.
pub fn describe_listing(
    server: &str,
    listing: &ServerListing,
    declared: Option<&ToolDeclarations>,
) -> String {
    let (name, version) = (visible_text(&listing.server), visible_text(&listing.version));
    let mut text = format!(
        "It identifies itself as {name} {version}, uses protocol {} and offers {} tools:\n",
        visible_text(&listing.protocol),
        listing.tools.len()
    );
    for (name, listed) in &listing.tools {
        text.push_str(&describe_tool(server, name, listed, declared));
    }
    for note in &listing.notes {
        text.push_str(&format!("note: {}\n", visible_text(note)));
    }
    text
}

/// A warning of tools that were declared to only read, and could carry something out all the same: they
/// take words, and the server reaches others. Empty: there are none.
pub fn ways_out(known: &KnownMcpServer, listing: &ServerListing) -> String {
    let Ok(spec) = &known.spec else { return String::new() };
    if spec.is_contained() || !reaches_others(&known.declared.settings) {
        return String::new();
    }
    let reads = |(name, tool): &(&String, &ListedTool)| spec.declared.is_read_only(name, tool);
    let open = listing.tools.iter().filter(reads).filter_map(|(name, tool)| {
        let fields = free_text(&tool.input_schema);
        (!fields.is_empty()).then(|| format!("{name} ({})", fields.join(", ")))
    });
    let open: Vec<String> = open.collect();
    if open.is_empty() {
        return String::new();
    }
    format!(
        "warning: data can leave through these tools: they are declared read-only, but accept any \
         text, and the server connects to other machines: {}. What a model writes there leaves \
         this machine. Once a session has read outside content and private data, each such call \
         needs approval.\n",
        visible_text(&open.join("; "))
    )
}

fn reaches_others(of: &McpServerSettings) -> bool {
    !of.url.is_empty() || of.unconfined || !of.hosts.is_empty()
}

/// The fields of a schema that take any text.
fn free_text(schema: &Value) -> Vec<&str> {
    let fields = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    fields.filter(|(_, field)| takes_text(field)).map(|(name, _)| name.as_str()).collect()
}

/// Whether text that nobody listed fits: said nowhere, it does.
fn takes_text(schema: &Value) -> bool {
    if schema.get("enum").is_some() || schema.get("const").is_some() {
        return false;
    }
    let parts = ["anyOf", "oneOf"].iter().filter_map(|key| schema.get(*key)?.as_array());
    let parts: Vec<&Value> = parts.flatten().collect();
    if !parts.is_empty() {
        return parts.iter().any(|part| takes_text(part));
    }
    let kinds: Vec<&str> = match schema.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => return true,
    };
    let is = |kind: &str| kinds.contains(&kind);
    is("string")
        || (is("array") && schema.get("items").is_none_or(takes_text))
        || (is("object") && (!free_text(schema).is_empty() || schema.get("properties").is_none()))
}

/// What is said of a tool's effects, and by whom.
pub fn describe_effects(name: &str, listed: &ListedTool, declared: &ToolDeclarations) -> String {
    match declared.find_declaration(name, listed) {
        Some(DeclaredTool { problem: Some(problem), .. }) => {
            format!("nobody knows: its declaration {problem}")
        }
        Some(found) => format!("{} ({})", found.declaration.describe(), found.source.as_str()),
        None if declared.is_read_only(name, listed) => "only reads".to_owned(),
        None if declared.is_sending(name) => {
            "nobody knows, but it confirms what it sent".to_owned()
        }
        None => {
            let known = declared.shipped.get(name);
            let other = known
                .map(|known| format!("; Weir knows it as it was in {}", known.looked_at))
                .unwrap_or_default();
            let proposed = propose_declaration(name, listed).map(|proposal| {
                let (says, why) = (proposal.declaration.describe(), proposal.because);
                format!("; proposed, since {why}: {says}")
            });
            format!("nobody knows: each call is asked about{other}{}", proposed.unwrap_or_default())
        }
    }
}

/// One tool: the name under which it is called, what the model reads, what it takes, what it does.
pub fn describe_tool(
    server: &str,
    name: &str,
    listed: &ListedTool,
    declared: Option<&ToolDeclarations>,
) -> String {
    let mut text = format!("\n  {}", visible_text(&foreign::foreign_tool_name(server, name)));
    if listed.says_read_only {
        text.push_str("  (declares itself read-only)");
    }
    text.push('\n');
    let lines: Vec<&str> = listed.description.lines().collect();
    for line in lines.iter().take(LINES_MAX) {
        text.push_str(&format!("      {}\n", visible_text(line)));
    }
    if lines.len() > LINES_MAX {
        let more = lines.len() - LINES_MAX;
        text.push_str(&format!(
            "      … {more} more lines (`weir mcp-servers show {server} --json`)\n"
        ));
    }
    let takes = schema_field_lines(&listed.input_schema);
    if !takes.is_empty() {
        text.push_str(&format!("      takes: {}\n", takes.join(", ")));
    }
    if let Some(declared) = declared {
        let does = describe_effects(name, listed, declared);
        text.push_str(&format!("      does: {}\n", visible_text(&does)));
    }
    text
}

/// The fields of a schema with their types.
fn schema_field_lines(schema: &Value) -> Vec<String> {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let fields = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let field = |(name, field): (&String, &Value)| {
        let kind = match field.get("type") {
            Some(Value::String(kind)) => kind.clone(),
            Some(Value::Array(kinds)) => {
                kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or ")
            }
            _ if field.get("enum").is_some() => "one of a list".into(),
            _ => "anything".into(),
        };
        let must = if required.contains(&name.as_str()) { ", required" } else { "" };
        visible_text(&format!("{name} ({kind}{must})"))
    };
    fields.map(field).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn z8_fields_that_take_any_words_are_found() {
        let schema = json!({"type": "object", "properties": {
            "query": {"type": "string"},
            "page": {"type": "integer"},
            "order": {"type": "string", "enum": ["up", "down"]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "sizes": {"type": "array", "items": {"type": "number"}},
            "maybe": {"anyOf": [{"type": "null"}, {"type": "string"}]},
            "filter": {"type": "object", "properties": {"name": {"type": "string"}}},
            "any": {},
        }});
        assert_eq!(free_text(&schema), ["query", "tags", "maybe", "filter", "any"]);
        assert!(free_text(&json!({})).is_empty());
    }

    #[test]
    fn z8_a_person_reads_what_the_model_would() {
        let raw = json!({
            "name": "a tool",
            "description": "Reads.\nAnd \u{1b}[31mmore.",
            "inputSchema": {
                "type": "object",
                "properties": {"path": {"type": "string"}, "n": {"type": ["integer", "null"]}},
                "required": ["path"]
            }
        });
        let all = ServerListing::from_tools("srv", "1", "2025-11-25", vec![raw]);
        let text = describe_listing("s", &all, Some(&ToolDeclarations::default()));
        assert!(text.contains("does: nobody knows"), "{text}");
        assert!(text.contains("mcp__s__"), "{text}");
        assert!(text.contains("Reads.\n      And "), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
        assert!(text.contains("path (string, required)") && text.contains("n (integer or null)"));
    }
}
