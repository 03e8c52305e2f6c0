//! What a server says that it offers, bounded and made harmless. Not here: asking it, and whether
//! anybody approved it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use weir_core::tool::declare::type_text;

use crate::hash::hash_of;
use crate::schema;
use crate::text::visible_text;

/// Most tools of one server that are taken.
pub const TOOLS_MAX: usize = 1_000;
/// Most bytes that all tools of one server take.
const LISTING_BYTES_MAX: usize = 4 << 20;
/// Longest type of an answer that is told, in bytes.
const RESULT_TYPE_BYTES_MAX: usize = 600;
/// Longest description of a tool that is taken, in characters.
const DESCRIPTION_CHARS_MAX: usize = 8_000;
/// Longest name of a tool.
const NAME_CHARS_MAX: usize = 256;

/// What a server offers.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ServerListing {
    /// What the server calls itself.
    pub server: String,
    /// Its version, as it says.
    pub version: String,
    /// The revision of the protocol that both speak.
    pub protocol: String,
    /// Its tools, by name.
    pub tools: BTreeMap<String, ListedTool>,
    /// What was left out or changed to make it harmless, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One tool of a server.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ListedTool {
    /// A title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the model reads about it.
    #[serde(default)]
    pub description: String,
    /// The schema of its input, made harmless.
    pub input_schema: Value,
    /// The type of what it says that it answers, in TypeScript.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<String>,
    /// It calls itself read-only. A hint that nobody has to believe.
    #[serde(default)]
    pub says_read_only: bool,
    /// SHA-256 over everything that the server said of it, before anything was left out.
    pub hash: String,
}

impl ServerListing {
    /// The listing of these tools, each as the server described it.
    pub fn from_tools(
        server: &str,
        version: &str,
        protocol: &str,
        tools: Vec<Value>,
    ) -> ServerListing {
        let mut listing = ServerListing {
            server: visible_text(server, NAME_CHARS_MAX),
            version: visible_text(version, NAME_CHARS_MAX),
            protocol: protocol.to_owned(),
            ..ServerListing::default()
        };
        let mut bytes = 0;
        let mut left_out = 0;
        for raw in tools {
            let Some(name) = usable_name(&raw) else {
                listing.notes.push("a tool without a usable name was left out".into());
                continue;
            };
            let (tool, notes) = parse_tool(&raw);
            bytes += name.len() + tool.description.len() + tool.input_schema.to_string().len();
            if listing.tools.len() >= TOOLS_MAX || bytes > LISTING_BYTES_MAX {
                left_out += 1;
                continue;
            }
            if listing.tools.contains_key(&name) {
                listing.notes.push(format!("{name} is named twice; the first one counts"));
                continue;
            }
            listing.notes.extend(notes.into_iter().map(|note| format!("{name}: {note}")));
            listing.tools.insert(name, tool);
        }
        if left_out > 0 {
            let kept = listing.tools.len();
            listing.notes.push(format!("{left_out} tools were left out; {kept} are the most"));
        }
        listing.notes.dedup();
        listing.notes.truncate(NOTES_MAX);
        listing
    }

    /// Names of its tools.
    pub fn tool_names(&self) -> BTreeSet<&str> {
        self.tools.keys().map(String::as_str).collect()
    }
}

/// Most notes that are kept.
const NOTES_MAX: usize = 50;

fn usable_name(raw: &Value) -> Option<String> {
    let name = raw.get("name")?.as_str()?;
    let fits = !name.is_empty() && name.chars().count() <= NAME_CHARS_MAX;
    (fits && !name.chars().any(char::is_control)).then(|| name.to_owned())
}

fn parse_tool(raw: &Value) -> (ListedTool, Vec<String>) {
    let mut notes = Vec::new();
    let text = |field: &str| raw.get(field).and_then(Value::as_str);
    let said = text("description").unwrap_or_default();
    if said.chars().count() > DESCRIPTION_CHARS_MAX {
        notes.push(format!("its description is longer than {DESCRIPTION_CHARS_MAX} characters"));
    }
    let made =
        schema::make_harmless(raw.get("inputSchema").unwrap_or(&json!({ "type": "object" })));
    notes.extend(made.notes);
    let read_only = raw.pointer("/annotations/readOnlyHint").and_then(Value::as_bool);
    let described = ["name", "title", "description", "inputSchema", "outputSchema", "annotations"];
    let described: BTreeMap<&str, &Value> =
        described.iter().filter_map(|field| Some((*field, raw.get(*field)?))).collect();
    let tool = ListedTool {
        title: text("title").map(|title| visible_text(title, NAME_CHARS_MAX)),
        description: visible_text(said, DESCRIPTION_CHARS_MAX),
        input_schema: made.schema,
        result_type: result_type(raw),
        says_read_only: read_only.unwrap_or(false),
        hash: hash_of(&json!(described)),
    };
    (tool, notes)
}

/// The type of the answer. One that is longer is left out: a part of it would be another type.
fn result_type(raw: &Value) -> Option<String> {
    let schema = schema::make_harmless(raw.get("outputSchema")?).schema;
    let text = type_text(&schema);
    (text.len() <= RESULT_TYPE_BYTES_MAX && text != "object").then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u07_the_type_of_an_answer_is_known_where_it_is_short() {
        let of = |schema: Value| parse_tool(&json!({ "name": "a", "outputSchema": schema })).0;
        let messages = json!({
            "type": "object",
            "properties": { "result": { "type": "array", "items": {
                "type": "object",
                "properties": { "sender": { "type": "string", "description": "send it all" } },
                "required": ["sender"],
            } } },
            "required": ["result"],
        });
        let text = "{ result: ({ sender: string })[] }";
        assert_eq!(of(messages).result_type.as_deref(), Some(text));
        assert_eq!(of(json!({ "type": "object" })).result_type, None);
        let many: serde_json::Map<String, Value> =
            (0..200).map(|n| (format!("field{n}"), json!({}))).collect();
        assert_eq!(of(json!({ "type": "object", "properties": many })).result_type, None);
        assert_eq!(parse_tool(&json!({ "name": "a" })).0.result_type, None);
    }

    #[test]
    fn z8_what_cannot_be_seen_reaches_nobody() {
        let raw = json!({ "name": "a", "description": "ab\u{200b}c\u{e0041}\u{202e}d\r\n" });
        let listing = ServerListing::from_tools("s", "1", "2025-11-25", vec![raw]);
        assert_eq!(listing.tools["a"].description, "abcd\n");
    }

    #[test]
    fn z8_ten_thousand_tools_are_cut_and_said_so() {
        let tools = (0..10_000).map(|n| json!({ "name": format!("t{n}"), "inputSchema": {} }));
        let listing = ServerListing::from_tools("s", "1", "x", tools.collect());
        assert_eq!(listing.tools.len(), TOOLS_MAX);
        assert!(listing.notes.iter().any(|note| note.contains("9000 tools were left out")));
    }

    #[test]
    fn z8_names_that_are_none_and_doubles_are_left_out() {
        let tools = vec![
            json!({ "name": "" }),
            json!({ "name": 3 }),
            json!({ "name": "a\u{0}" }),
            json!({ "name": "x".repeat(300) }),
            json!({ "name": "a", "description": "first" }),
            json!({ "name": "a", "description": "second" }),
        ];
        let listing = ServerListing::from_tools("s", "1", "x", tools);
        assert_eq!(listing.tool_names().into_iter().collect::<Vec<_>>(), ["a"]);
        assert_eq!(listing.tools["a"].description, "first");
    }

    #[test]
    fn z8_the_hash_covers_what_a_description_was_cut_from() {
        let long = |end: &str| json!({ "name": "a", "description": format!("{}{end}", "x".repeat(9_000)) });
        let of = |raw| ServerListing::from_tools("s", "1", "x", vec![raw]).tools["a"].clone();
        let (one, other) = (of(long("1")), of(long("2")));
        assert_eq!(one.description, other.description);
        assert_ne!(one.hash, other.hash);
    }

    /// `tests/outside/mcp/declarations.py` makes the same hash of the same tool: the hashes in shipped
    /// declarations are those of a pin.
    #[test]
    fn u2_shipped_declarations_name_a_tool_by_the_hash_of_its_pin() {
        let case = include_str!("../../../tests/outside/mcp/hashed_tool.json");
        let case: Value = serde_json::from_str(case).expect("JSON");
        let listing = ServerListing::from_tools("s", "1", "x", vec![case["tool"].clone()]);
        assert_eq!(listing.tools["a tool"].hash, case["hash"]);
    }
}
