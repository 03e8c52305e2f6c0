//! A request in the words of Anthropic Messages.

use serde_json::Value;
use weir_core::model::{ModelRequest, Thinking};
use weir_core::tool::ToolSpec;

use super::super::Quirks;
use super::super::json::{comma, field, is_blank, key, number, raw, string, value};
use super::super::ledger::{Answer, LastTurn, MediaRules, Part, Render, Said, Shape};
use super::super::names::{IdAlphabet, wire_name};
use super::super::schema::{Target, reduce};

/// What the vendor asks for at least, and what it gets when a model's limit is not known.
const MAX_TOKENS_FALLBACK: u64 = 4096;
/// The vendor's own least budget of thinking.
const THINKING_BUDGET_MIN: u64 = 1024;

const CACHE_CONTROL: &str = r#","cache_control":{"type":"ephemeral"}"#;

pub(super) struct Messages {
    quirks: Quirks,
}

impl Messages {
    pub(super) fn new(quirks: &Quirks) -> Messages {
        Messages { quirks: quirks.clone() }
    }
}

impl Render for Messages {
    const DIALECT: &'static str = super::NAME;
    const MARKER: Option<&'static str> = Some(CACHE_CONTROL);

    fn quirks(&self) -> &Quirks {
        &self.quirks
    }

    fn ids(&self) -> IdAlphabet {
        IdAlphabet::Word { length_max: 64 }
    }

    fn media(&self) -> MediaRules {
        MediaRules {
            image_bytes_max: 5 << 20,
            document_bytes_max: 24 << 20,
            documents: true,
            assistant_images: false,
        }
    }

    /// The vendor refuses thinking when its last turn has calls without the thinking that led to
    /// them, which happens after a change of model.
    fn may_think(&self, last: &LastTurn) -> bool {
        !last.calls || last.thinking
    }

    fn head(&self, out: &mut Vec<u8>, request: &ModelRequest, thinking: Thinking) {
        raw(out, "{");
        field(out, "model", &request.model.model.name);
        let max_tokens = match request.model.max_output {
            0 => MAX_TOKENS_FALLBACK,
            known => known,
        };
        number(out, "max_tokens", max_tokens);
        key(out, "stream");
        raw(out, "true");
        write_thinking(out, request, thinking, max_tokens);
        if !is_blank(&request.system) {
            key(out, "system");
            raw(out, r#"[{"type":"text","text":"#);
            string(out, &request.system);
            raw(out, CACHE_CONTROL);
            raw(out, "}]");
        }
        write_tools(out, &request.tools);
        key(out, "messages");
        raw(out, "[");
    }

    fn assistant(&self, out: &mut Vec<u8>, said: &[Said<'_>]) {
        comma(out);
        raw(out, r#"{"role":"assistant","content":["#);
        for said in said {
            write_said(out, said);
        }
        raw(out, "]}");
    }

    fn user(&self, out: &mut Vec<u8>, answers: &[Answer<'_>], parts: &[Part<'_>]) -> Shape {
        comma(out);
        raw(out, r#"{"role":"user","content":["#);
        for answer in answers {
            comma(out);
            raw(out, r#"{"type":"tool_result""#);
            field(out, "tool_use_id", answer.wire_id);
            if !answer.ok {
                raw(out, r#","is_error":true"#);
            }
            key(out, "content");
            match &answer.parts[..] {
                [Part::Text(text)] => string(out, text),
                parts => {
                    raw(out, "[");
                    parts.iter().for_each(|part| write_part(out, part));
                    raw(out, "]");
                }
            }
            raw(out, "}");
        }
        parts.iter().for_each(|part| write_part(out, part));
        Shape::List
    }

    fn extend(&self, out: &mut Vec<u8>, shape: Shape, parts: &[Part<'_>]) -> Option<Shape> {
        parts.iter().for_each(|part| write_part(out, part));
        Some(shape)
    }

    fn close(&self, out: &mut Vec<u8>, _shape: Shape) {
        raw(out, "]}");
    }

    fn end(&self, out: &mut Vec<u8>) {
        raw(out, "]}");
    }
}

fn write_thinking(out: &mut Vec<u8>, request: &ModelRequest, thinking: Thinking, max_tokens: u64) {
    let (effort, budget) = match thinking {
        Thinking::Off => return,
        Thinking::Low => ("low", 2048),
        Thinking::Medium => ("medium", 8192),
        Thinking::High => ("high", 24_576),
    };
    if request.model.can("adaptive") {
        raw(
            out,
            r#","thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":""#,
        );
        raw(out, effort);
        raw(out, "\"}");
        return;
    }
    // Half of the output stays for the answer itself.
    let budget = budget.min(max_tokens / 2).max(THINKING_BUDGET_MIN);
    if request.model.can("thinking") && budget < max_tokens {
        raw(out, r#","thinking":{"type":"enabled","budget_tokens":"#);
        raw(out, &budget.to_string());
        raw(out, "}");
    }
}

fn write_tools(out: &mut Vec<u8>, tools: &[ToolSpec]) {
    let Some(last) = tools.len().checked_sub(1) else { return };
    key(out, "tools");
    raw(out, "[");
    for (place, tool) in tools.iter().enumerate() {
        comma(out);
        raw(out, "{");
        field(out, "name", &wire_name(&tool.name));
        field(out, "description", &tool.description);
        key(out, "input_schema");
        value(out, &reduce(&tool.input_schema, Target::Anthropic));
        if place == last {
            raw(out, CACHE_CONTROL);
        }
        raw(out, "}");
    }
    raw(out, "]");
}

fn write_said(out: &mut Vec<u8>, said: &Said<'_>) {
    comma(out);
    match said {
        Said::Text { text, .. } => write_text(out, text),
        Said::Note(text) => write_text(out, text),
        Said::Thinking { text, seal } => write_sealed(out, text, seal),
        Said::Call { wire_id, name, input, .. } => {
            raw(out, r#"{"type":"tool_use""#);
            field(out, "id", wire_id);
            field(out, "name", name);
            key(out, "input");
            if input.is_object() {
                value(out, input)
            } else {
                raw(out, "{}")
            }
            raw(out, "}");
        }
        // Not reached: this vendor takes no images from the assistant.
        Said::Image { media_type, .. } => write_text(out, &format!("[{media_type}]")),
    }
}

/// Thinking goes back exactly as it came, in the clear or encrypted.
fn write_sealed(out: &mut Vec<u8>, text: &str, seal: &Value) {
    if let Some(data) = seal.get("redacted").and_then(Value::as_str) {
        raw(out, r#"{"type":"redacted_thinking""#);
        field(out, "data", data);
    } else {
        raw(out, r#"{"type":"thinking""#);
        field(out, "thinking", text);
        field(out, "signature", seal.get("signature").and_then(Value::as_str).unwrap_or_default());
    }
    raw(out, "}");
}

fn write_text(out: &mut Vec<u8>, text: &str) {
    raw(out, r#"{"type":"text""#);
    field(out, "text", text);
    raw(out, "}");
}

fn write_part(out: &mut Vec<u8>, part: &Part<'_>) {
    comma(out);
    let (kind, media_type, data) = match part {
        Part::Text(text) => return write_text(out, text),
        Part::Image { media_type, data } => ("image", media_type, data),
        Part::Document { media_type, data, .. } => ("document", media_type, data),
    };
    raw(out, "{");
    field(out, "type", kind);
    raw(out, r#","source":{"type":"base64""#);
    field(out, "media_type", media_type);
    field(out, "data", data);
    raw(out, "}");
    if let Part::Document { name, .. } = part {
        field(out, "title", name);
    }
    raw(out, "}");
}
