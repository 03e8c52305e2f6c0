//! A request in the words of Responses: a flat list of items.

use serde_json::Value;
use weir_core::model::{ModelRequest, Thinking};

use super::super::Quirks;
use super::super::json::{comma, field, is_blank, key, number, raw, string, string_inside, value};
use super::super::ledger::{Answer, MediaRules, Part, Render, Said, Shape};
use super::super::names::{IdAlphabet, wire_name};
use super::super::openai_chat::encode::{arguments, cache_key, effort};
use super::super::schema::{Target, reduce};

pub(super) struct Items {
    quirks: Quirks,
}

impl Items {
    pub(super) fn new(quirks: &Quirks) -> Items {
        Items { quirks: quirks.clone() }
    }
}

impl Render for Items {
    const DIALECT: &'static str = super::NAME;

    fn quirks(&self) -> &Quirks {
        &self.quirks
    }

    fn ids(&self) -> IdAlphabet {
        IdAlphabet::Word { length_max: 64 }
    }

    fn media(&self) -> MediaRules {
        MediaRules {
            image_bytes_max: 20 << 20,
            document_bytes_max: 32 << 20,
            documents: true,
            assistant_images: false,
        }
    }

    fn head(&self, out: &mut Vec<u8>, request: &ModelRequest, thinking: Thinking) {
        raw(out, "{");
        field(out, "model", &request.model.model.name);
        raw(out, r#","stream":true,"store":false"#);
        if request.model.max_output > 0 {
            number(out, "max_output_tokens", request.model.max_output);
        }
        if self.quirks.prompt_cache_key {
            field(out, "prompt_cache_key", &cache_key(request.session.as_str()));
        }
        if request.model.can("thinking") {
            raw(out, r#","include":["reasoning.encrypted_content"],"reasoning":{"#);
            if let Some(effort) = effort(thinking) {
                field(out, "effort", effort);
            }
            field(out, "summary", "auto");
            raw(out, "}");
        }
        if !is_blank(&request.system) {
            field(out, "instructions", &request.system);
        }
        // A picture is made by a tool of the vendor's own, which has to be asked for.
        let draws = request.model.can("image_output");
        if draws || !request.tools.is_empty() {
            key(out, "tools");
            raw(out, "[");
            for tool in request.tools.iter() {
                comma(out);
                raw(out, r#"{"type":"function""#);
                field(out, "name", &wire_name(&tool.name));
                field(out, "description", &tool.description);
                key(out, "parameters");
                value(out, &reduce(&tool.input_schema, Target::OpenAi));
                raw(out, r#","strict":false}"#);
            }
            if draws {
                comma(out);
                raw(out, r#"{"type":"image_generation"}"#);
            }
            raw(out, "]");
        }
        key(out, "input");
        raw(out, "[");
    }

    fn assistant(&self, out: &mut Vec<u8>, said: &[Said<'_>]) {
        for said in said {
            comma(out);
            match said {
                Said::Text { text, seal } => {
                    let phase = seal.and_then(|seal| seal.get("phase")?.as_str());
                    write_message(out, text, phase);
                }
                Said::Note(text) => write_message(out, text, None),
                Said::Thinking { text, seal } => write_reasoning(out, text, seal),
                Said::Call { wire_id, name, input, .. } => {
                    raw(out, r#"{"type":"function_call""#);
                    field(out, "call_id", wire_id);
                    field(out, "name", name);
                    field(out, "arguments", &arguments(input));
                    raw(out, "}");
                }
                // Not reached: this vendor takes no images from the assistant.
                Said::Image { media_type, .. } => {
                    write_message(out, &format!("[{media_type}]"), None);
                }
            }
        }
    }

    fn user(&self, out: &mut Vec<u8>, answers: &[Answer<'_>], parts: &[Part<'_>]) -> Shape {
        for answer in answers {
            comma(out);
            raw(out, r#"{"type":"function_call_output""#);
            field(out, "call_id", answer.wire_id);
            key(out, "output");
            if answer.media().next().is_none() {
                string(out, &answer.plain_text(true));
            } else {
                raw(out, "[");
                write_part(out, &Part::Text(answer.plain_text(true).into()));
                answer.media().for_each(|part| write_part(out, part));
                raw(out, "]");
            }
            raw(out, "}");
        }
        if parts.is_empty() { Shape::Closed } else { open_message(out, parts) }
    }

    fn extend(&self, out: &mut Vec<u8>, shape: Shape, parts: &[Part<'_>]) -> Option<Shape> {
        if shape == Shape::Closed {
            return Some(open_message(out, parts));
        }
        parts.iter().for_each(|part| write_part(out, part));
        Some(shape)
    }

    fn close(&self, out: &mut Vec<u8>, shape: Shape) {
        if shape == Shape::List {
            raw(out, "]}");
        }
    }

    fn end(&self, out: &mut Vec<u8>) {
        raw(out, "]}");
    }
}

fn open_message(out: &mut Vec<u8>, parts: &[Part<'_>]) -> Shape {
    comma(out);
    raw(out, r#"{"type":"message","role":"user","content":["#);
    parts.iter().for_each(|part| write_part(out, part));
    Shape::List
}

fn write_message(out: &mut Vec<u8>, text: &str, phase: Option<&str>) {
    raw(out, r#"{"type":"message","role":"assistant""#);
    if let Some(phase) = phase {
        field(out, "phase", phase);
    }
    field(out, "content", text);
    raw(out, "}");
}

/// Reasoning goes back as it came: its id, its summary and the encrypted form.
fn write_reasoning(out: &mut Vec<u8>, text: &str, seal: &Value) {
    raw(out, r#"{"type":"reasoning""#);
    field(out, "id", seal.get("id").and_then(Value::as_str).unwrap_or_default());
    key(out, "summary");
    match seal.get("summary") {
        Some(summary @ Value::Array(_)) => value(out, summary),
        _ if text.is_empty() => raw(out, "[]"),
        _ => {
            raw(out, r#"[{"type":"summary_text""#);
            field(out, "text", text);
            raw(out, "}]");
        }
    }
    if let Some(encrypted) = seal.get("encrypted_content").and_then(Value::as_str) {
        field(out, "encrypted_content", encrypted);
    }
    raw(out, "}");
}

fn write_part(out: &mut Vec<u8>, part: &Part<'_>) {
    comma(out);
    match part {
        Part::Text(text) => {
            raw(out, r#"{"type":"input_text""#);
            field(out, "text", text);
        }
        Part::Image { media_type, data } => {
            raw(out, r#"{"type":"input_image","detail":"auto","image_url":"data:"#);
            raw(out, media_type);
            raw(out, ";base64,");
            string_inside(out, data);
            raw(out, "\"");
        }
        Part::Document { media_type, data, name } => {
            raw(out, r#"{"type":"input_file""#);
            field(out, "filename", name);
            raw(out, r#","file_data":"data:"#);
            raw(out, media_type);
            raw(out, ";base64,");
            string_inside(out, data);
            raw(out, "\"");
        }
    }
    raw(out, "}");
}
