//! A request in the words of Anthropic Messages.

use serde_json::Value;
use weir_core::model::{ModelRequest, Thinking};
use weir_core::tool::ToolSpec;

use super::super::VendorQuirks;
use super::super::json::{
    is_blank, write_comma, write_field, write_key, write_number, write_raw, write_string,
    write_value,
};
use super::super::ledger::{
    AssistantPart, CallResultPart, GroupShape, LastTurn, MediaRules, RenderDialect, UserPart,
};
use super::super::names::{IdAlphabet, wire_name};
use super::super::schema::{SchemaTarget, reduce_schema};

/// What the vendor asks for at least, and what it gets when a model's limit is not known.
const MAX_TOKENS_FALLBACK: u64 = 4096;
/// The vendor's own least budget of thinking.
const THINKING_BUDGET_MIN: u64 = 1024;

const CACHE_CONTROL: &str = r#","cache_control":{"type":"ephemeral"}"#;

pub(super) struct AnthropicMessages {
    quirks: VendorQuirks,
}

impl AnthropicMessages {
    pub(super) fn new(quirks: &VendorQuirks) -> AnthropicMessages {
        AnthropicMessages { quirks: quirks.clone() }
    }
}

impl RenderDialect for AnthropicMessages {
    const DIALECT: &'static str = super::NAME;
    const MARKER: Option<&'static str> = Some(CACHE_CONTROL);

    fn quirks(&self) -> &VendorQuirks {
        &self.quirks
    }

    fn id_alphabet(&self) -> IdAlphabet {
        IdAlphabet::Word { length_max: 64 }
    }

    fn media_rules(&self) -> MediaRules {
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

    fn write_head(&self, out: &mut Vec<u8>, request: &ModelRequest, thinking: Thinking) {
        write_raw(out, "{");
        write_field(out, "model", &request.model.model.name);
        let max_tokens = match request.model.max_output {
            0 => MAX_TOKENS_FALLBACK,
            known => known,
        };
        write_number(out, "max_tokens", max_tokens);
        write_key(out, "stream");
        write_raw(out, "true");
        write_thinking(out, request, thinking, max_tokens);
        if !is_blank(&request.system) {
            write_key(out, "system");
            write_raw(out, r#"[{"type":"text","text":"#);
            write_string(out, &request.system);
            write_raw(out, CACHE_CONTROL);
            write_raw(out, "}]");
        }
        write_tools(out, &request.tools);
        write_key(out, "messages");
        write_raw(out, "[");
    }

    fn write_assistant(&self, out: &mut Vec<u8>, said: &[AssistantPart<'_>]) {
        write_comma(out);
        write_raw(out, r#"{"role":"assistant","content":["#);
        for said in said {
            write_said(out, said);
        }
        write_raw(out, "]}");
    }

    fn write_user(
        &self,
        out: &mut Vec<u8>,
        answers: &[CallResultPart<'_>],
        parts: &[UserPart<'_>],
    ) -> GroupShape {
        write_comma(out);
        write_raw(out, r#"{"role":"user","content":["#);
        for answer in answers {
            write_comma(out);
            write_raw(out, r#"{"type":"tool_result""#);
            write_field(out, "tool_use_id", answer.wire_id);
            if !answer.ok {
                write_raw(out, r#","is_error":true"#);
            }
            write_key(out, "content");
            match &answer.parts[..] {
                [UserPart::Text(text)] => write_string(out, text),
                parts => {
                    write_raw(out, "[");
                    parts.iter().for_each(|part| write_part(out, part));
                    write_raw(out, "]");
                }
            }
            write_raw(out, "}");
        }
        parts.iter().for_each(|part| write_part(out, part));
        GroupShape::List
    }

    fn extend(
        &self,
        out: &mut Vec<u8>,
        shape: GroupShape,
        parts: &[UserPart<'_>],
    ) -> Option<GroupShape> {
        parts.iter().for_each(|part| write_part(out, part));
        Some(shape)
    }

    fn close_group(&self, out: &mut Vec<u8>, _shape: GroupShape) {
        write_raw(out, "]}");
    }

    fn close_body(&self, out: &mut Vec<u8>) {
        write_raw(out, "]}");
    }
}

fn write_thinking(out: &mut Vec<u8>, request: &ModelRequest, thinking: Thinking, max_tokens: u64) {
    let (effort, budget) = match thinking {
        Thinking::Off => return,
        Thinking::Low => ("low", 2048),
        Thinking::Medium => ("medium", 8192),
        Thinking::High => ("high", 24_576),
    };
    if request.model.has_ability("adaptive") {
        write_raw(
            out,
            r#","thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":""#,
        );
        write_raw(out, effort);
        write_raw(out, "\"}");
        return;
    }
    // Half of the output stays for the answer itself.
    let budget = budget.min(max_tokens / 2).max(THINKING_BUDGET_MIN);
    if request.model.has_ability("thinking") && budget < max_tokens {
        write_raw(out, r#","thinking":{"type":"enabled","budget_tokens":"#);
        write_raw(out, &budget.to_string());
        write_raw(out, "}");
    }
}

fn write_tools(out: &mut Vec<u8>, tools: &[ToolSpec]) {
    let Some(last) = tools.len().checked_sub(1) else { return };
    write_key(out, "tools");
    write_raw(out, "[");
    for (place, tool) in tools.iter().enumerate() {
        write_comma(out);
        write_raw(out, "{");
        write_field(out, "name", &wire_name(&tool.name));
        write_field(out, "description", &tool.description);
        write_key(out, "input_schema");
        write_value(out, &reduce_schema(&tool.input_schema, SchemaTarget::Anthropic));
        if place == last {
            write_raw(out, CACHE_CONTROL);
        }
        write_raw(out, "}");
    }
    write_raw(out, "]");
}

fn write_said(out: &mut Vec<u8>, said: &AssistantPart<'_>) {
    write_comma(out);
    match said {
        AssistantPart::Text { text, .. } => write_text(out, text),
        AssistantPart::Note(text) => write_text(out, text),
        AssistantPart::Thinking { text, seal } => write_sealed(out, text, seal),
        AssistantPart::Call { wire_id, name, input, .. } => {
            write_raw(out, r#"{"type":"tool_use""#);
            write_field(out, "id", wire_id);
            write_field(out, "name", name);
            write_key(out, "input");
            if input.is_object() {
                write_value(out, input)
            } else {
                write_raw(out, "{}")
            }
            write_raw(out, "}");
        }
        // Not reached: this vendor takes no images from the assistant.
        AssistantPart::Image { media_type, .. } => write_text(out, &format!("[{media_type}]")),
    }
}

/// Thinking goes back exactly as it came, in the clear or encrypted.
fn write_sealed(out: &mut Vec<u8>, text: &str, seal: &Value) {
    if let Some(data) = seal.get("redacted").and_then(Value::as_str) {
        write_raw(out, r#"{"type":"redacted_thinking""#);
        write_field(out, "data", data);
    } else {
        write_raw(out, r#"{"type":"thinking""#);
        write_field(out, "thinking", text);
        write_field(
            out,
            "signature",
            seal.get("signature").and_then(Value::as_str).unwrap_or_default(),
        );
    }
    write_raw(out, "}");
}

fn write_text(out: &mut Vec<u8>, text: &str) {
    write_raw(out, r#"{"type":"text""#);
    write_field(out, "text", text);
    write_raw(out, "}");
}

fn write_part(out: &mut Vec<u8>, part: &UserPart<'_>) {
    write_comma(out);
    let (kind, media_type, data) = match part {
        UserPart::Text(text) => return write_text(out, text),
        UserPart::Image { media_type, data } => ("image", media_type, data),
        UserPart::Document { media_type, data, .. } => ("document", media_type, data),
    };
    write_raw(out, "{");
    write_field(out, "type", kind);
    write_raw(out, r#","source":{"type":"base64""#);
    write_field(out, "media_type", media_type);
    write_field(out, "data", data);
    write_raw(out, "}");
    if let UserPart::Document { name, .. } = part {
        write_field(out, "title", name);
    }
    write_raw(out, "}");
}
