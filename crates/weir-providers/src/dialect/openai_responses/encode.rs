//! A request in the words of Responses: a flat list of items.

use serde_json::Value;
use weir_core::model::{ModelRequest, Thinking};

use super::super::VendorQuirks;
use super::super::json::{
    is_blank, string_inside, write_comma, write_field, write_key, write_number, write_raw,
    write_string, write_value,
};
use super::super::ledger::{
    AssistantPart, CallResultPart, GroupShape, MediaRules, RenderDialect, UserPart,
};
use super::super::names::{IdAlphabet, wire_name};
use super::super::openai_chat::encode::{arguments_text, cache_key, effort_word};
use super::super::schema::{SchemaTarget, reduce_schema};

pub(super) struct ResponsesItems {
    quirks: VendorQuirks,
}

impl ResponsesItems {
    pub(super) fn new(quirks: &VendorQuirks) -> ResponsesItems {
        ResponsesItems { quirks: quirks.clone() }
    }
}

impl RenderDialect for ResponsesItems {
    const DIALECT: &'static str = super::NAME;

    fn quirks(&self) -> &VendorQuirks {
        &self.quirks
    }

    fn id_alphabet(&self) -> IdAlphabet {
        IdAlphabet::Word { length_max: 64 }
    }

    fn media_rules(&self) -> MediaRules {
        MediaRules {
            image_bytes_max: 20 << 20,
            document_bytes_max: 32 << 20,
            documents: true,
            assistant_images: false,
        }
    }

    fn write_head(&self, out: &mut Vec<u8>, request: &ModelRequest, thinking: Thinking) {
        write_raw(out, "{");
        write_field(out, "model", &request.model.model.name);
        write_raw(out, r#","stream":true,"store":false"#);
        if request.model.max_output > 0 {
            write_number(out, "max_output_tokens", request.model.max_output);
        }
        if self.quirks.prompt_cache_key {
            write_field(out, "prompt_cache_key", &cache_key(request.session.as_str()));
        }
        if request.model.has_ability("thinking") {
            write_raw(out, r#","include":["reasoning.encrypted_content"],"reasoning":{"#);
            if let Some(effort) = effort_word(thinking) {
                write_field(out, "effort", effort);
            }
            write_field(out, "summary", "auto");
            write_raw(out, "}");
        }
        if !is_blank(&request.system) {
            write_field(out, "instructions", &request.system);
        }
        // A picture is made by a tool of the vendor's own, which has to be asked for.
        let draws = request.model.has_ability("image_output");
        if draws || !request.tools.is_empty() {
            write_key(out, "tools");
            write_raw(out, "[");
            for tool in request.tools.iter() {
                write_comma(out);
                write_raw(out, r#"{"type":"function""#);
                write_field(out, "name", &wire_name(&tool.name));
                write_field(out, "description", &tool.description);
                write_key(out, "parameters");
                write_value(out, &reduce_schema(&tool.input_schema, SchemaTarget::OpenAi));
                write_raw(out, r#","strict":false}"#);
            }
            if draws {
                write_comma(out);
                write_raw(out, r#"{"type":"image_generation"}"#);
            }
            write_raw(out, "]");
        }
        write_key(out, "input");
        write_raw(out, "[");
    }

    fn write_assistant(&self, out: &mut Vec<u8>, said: &[AssistantPart<'_>]) {
        for said in said {
            write_comma(out);
            match said {
                AssistantPart::Text { text, seal } => {
                    let phase = seal.and_then(|seal| seal.get("phase")?.as_str());
                    write_message(out, text, phase);
                }
                AssistantPart::Note(text) => write_message(out, text, None),
                AssistantPart::Thinking { text, seal } => write_reasoning(out, text, seal),
                AssistantPart::Call { wire_id, name, input, .. } => {
                    write_raw(out, r#"{"type":"function_call""#);
                    write_field(out, "call_id", wire_id);
                    write_field(out, "name", name);
                    write_field(out, "arguments", &arguments_text(input));
                    write_raw(out, "}");
                }
                // Not reached: this vendor takes no images from the assistant.
                AssistantPart::Image { media_type, .. } => {
                    write_message(out, &format!("[{media_type}]"), None);
                }
            }
        }
    }

    fn write_user(
        &self,
        out: &mut Vec<u8>,
        answers: &[CallResultPart<'_>],
        parts: &[UserPart<'_>],
    ) -> GroupShape {
        for answer in answers {
            write_comma(out);
            write_raw(out, r#"{"type":"function_call_output""#);
            write_field(out, "call_id", answer.wire_id);
            write_key(out, "output");
            if answer.media_parts().next().is_none() {
                write_string(out, &answer.plain_text(true));
            } else {
                write_raw(out, "[");
                write_part(out, &UserPart::Text(answer.plain_text(true).into()));
                answer.media_parts().for_each(|part| write_part(out, part));
                write_raw(out, "]");
            }
            write_raw(out, "}");
        }
        if parts.is_empty() { GroupShape::Closed } else { open_message(out, parts) }
    }

    fn extend(
        &self,
        out: &mut Vec<u8>,
        shape: GroupShape,
        parts: &[UserPart<'_>],
    ) -> Option<GroupShape> {
        if shape == GroupShape::Closed {
            return Some(open_message(out, parts));
        }
        parts.iter().for_each(|part| write_part(out, part));
        Some(shape)
    }

    fn close_group(&self, out: &mut Vec<u8>, shape: GroupShape) {
        if shape == GroupShape::List {
            write_raw(out, "]}");
        }
    }

    fn close_body(&self, out: &mut Vec<u8>) {
        write_raw(out, "]}");
    }
}

fn open_message(out: &mut Vec<u8>, parts: &[UserPart<'_>]) -> GroupShape {
    write_comma(out);
    write_raw(out, r#"{"type":"message","role":"user","content":["#);
    parts.iter().for_each(|part| write_part(out, part));
    GroupShape::List
}

fn write_message(out: &mut Vec<u8>, text: &str, phase: Option<&str>) {
    write_raw(out, r#"{"type":"message","role":"assistant""#);
    if let Some(phase) = phase {
        write_field(out, "phase", phase);
    }
    write_field(out, "content", text);
    write_raw(out, "}");
}

/// Reasoning goes back as it came: its id, its summary and the encrypted form.
fn write_reasoning(out: &mut Vec<u8>, text: &str, seal: &Value) {
    write_raw(out, r#"{"type":"reasoning""#);
    write_field(out, "id", seal.get("id").and_then(Value::as_str).unwrap_or_default());
    write_key(out, "summary");
    match seal.get("summary") {
        Some(summary @ Value::Array(_)) => write_value(out, summary),
        _ if text.is_empty() => write_raw(out, "[]"),
        _ => {
            write_raw(out, r#"[{"type":"summary_text""#);
            write_field(out, "text", text);
            write_raw(out, "}]");
        }
    }
    if let Some(encrypted) = seal.get("encrypted_content").and_then(Value::as_str) {
        write_field(out, "encrypted_content", encrypted);
    }
    write_raw(out, "}");
}

fn write_part(out: &mut Vec<u8>, part: &UserPart<'_>) {
    write_comma(out);
    match part {
        UserPart::Text(text) => {
            write_raw(out, r#"{"type":"input_text""#);
            write_field(out, "text", text);
        }
        UserPart::Image { media_type, data } => {
            write_raw(out, r#"{"type":"input_image","detail":"auto","image_url":"data:"#);
            write_raw(out, media_type);
            write_raw(out, ";base64,");
            string_inside(out, data);
            write_raw(out, "\"");
        }
        UserPart::Document { media_type, data, name } => {
            write_raw(out, r#"{"type":"input_file""#);
            write_field(out, "filename", name);
            write_raw(out, r#","file_data":"data:"#);
            write_raw(out, media_type);
            write_raw(out, ";base64,");
            string_inside(out, data);
            write_raw(out, "\"");
        }
    }
    write_raw(out, "}");
}
