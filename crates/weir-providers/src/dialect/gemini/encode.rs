//! A request in the words of Gemini.

use serde_json::Value;
use weir_core::model::{ModelRequest, Thinking};

use super::super::Quirks;
use super::super::json::{comma, field, is_blank, key, number, raw, string, value};
use super::super::ledger::{Answer, MediaRules, Part, Render, Said, Shape};
use super::super::names::{IdAlphabet, wire_name};
use super::super::schema::{Target, reduce};

/// What the vendor documents as the signature of a call that another model made: newer models
/// refuse a first call of a turn without any.
const FOREIGN_SIGNATURE: &str = "skip_thought_signature_validator";

pub(super) struct Contents {
    quirks: Quirks,
}

impl Contents {
    pub(super) fn new(quirks: &Quirks) -> Contents {
        Contents { quirks: quirks.clone() }
    }
}

impl Render for Contents {
    const DIALECT: &'static str = super::NAME;
    const SEALED_BLANK_TEXT: bool = true;

    fn quirks(&self) -> &Quirks {
        &self.quirks
    }

    fn ids(&self) -> IdAlphabet {
        IdAlphabet::Word { length_max: 128 }
    }

    fn media(&self) -> MediaRules {
        // All inline data of a request together may have 20 MB; a single one gets most of it.
        MediaRules {
            image_bytes_max: 14 << 20,
            document_bytes_max: 14 << 20,
            documents: true,
            assistant_images: true,
        }
    }

    fn head(&self, out: &mut Vec<u8>, request: &ModelRequest, thinking: Thinking) {
        raw(out, "{");
        if !is_blank(&request.system) {
            raw(out, r#""systemInstruction":{"parts":[{"text":"#);
            string(out, &request.system);
            raw(out, "}]}");
        }
        if !request.tools.is_empty() {
            key(out, "tools");
            raw(out, r#"[{"functionDeclarations":["#);
            for tool in request.tools.iter() {
                comma(out);
                raw(out, "{");
                field(out, "name", &wire_name(&tool.name));
                field(out, "description", &tool.description);
                key(out, "parametersJsonSchema");
                value(out, &reduce(&tool.input_schema, Target::Gemini));
                raw(out, "}");
            }
            raw(out, "]}]");
        }
        write_config(out, request, thinking);
        key(out, "contents");
        raw(out, "[");
    }

    fn assistant(&self, out: &mut Vec<u8>, said: &[Said<'_>]) {
        comma(out);
        raw(out, r#"{"role":"model","parts":["#);
        let mut first_call = true;
        for said in said {
            comma(out);
            raw(out, "{");
            match said {
                Said::Text { text, seal } => {
                    field(out, "text", text);
                    write_signature(out, seal.as_ref().copied());
                }
                Said::Note(text) => field(out, "text", text),
                Said::Thinking { text, seal } => {
                    field(out, "text", text);
                    raw(out, r#","thought":true"#);
                    write_signature(out, Some(seal));
                }
                Said::Call { echo, name, input, seal, .. } => {
                    raw(out, r#""functionCall":{"#);
                    if let Some(id) = echo {
                        field(out, "id", id);
                    }
                    field(out, "name", name);
                    key(out, "args");
                    if input.is_object() {
                        value(out, input)
                    } else {
                        raw(out, "{}")
                    }
                    raw(out, "}");
                    let signed = write_signature(out, seal.as_ref().copied());
                    if std::mem::take(&mut first_call) && !signed {
                        field(out, "thoughtSignature", FOREIGN_SIGNATURE);
                    }
                }
                Said::Image { media_type, data } => write_inline(out, media_type, data),
            }
            raw(out, "}");
        }
        raw(out, "]}");
    }

    fn user(&self, out: &mut Vec<u8>, answers: &[Answer<'_>], parts: &[Part<'_>]) -> Shape {
        comma(out);
        raw(out, r#"{"role":"user","parts":["#);
        for answer in answers {
            comma(out);
            raw(out, r#"{"functionResponse":{"#);
            if let Some(id) = answer.echo {
                field(out, "id", id);
            }
            field(out, "name", answer.name);
            key(out, "response");
            raw(out, "{");
            field(out, if answer.ok { "output" } else { "error" }, &answer.plain_text(false));
            raw(out, "}}}");
        }
        for answer in answers.iter().filter(|answer| answer.media().next().is_some()) {
            let label = format!("Attached to the result of {}:", answer.name);
            write_part(out, &Part::Text(label.into()));
            answer.media().for_each(|part| write_part(out, part));
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

fn write_config(out: &mut Vec<u8>, request: &ModelRequest, thinking: Thinking) {
    let model = &request.model;
    key(out, "generationConfig");
    raw(out, "{");
    if model.max_output > 0 {
        number(out, "maxOutputTokens", model.max_output);
    }
    if model.can("image_output") {
        key(out, "responseModalities");
        raw(out, r#"["TEXT","IMAGE"]"#);
    }
    if model.can("thinking") {
        let (level, budget) = match thinking {
            Thinking::Off => (None, None),
            Thinking::Low => (Some("low"), Some(2048)),
            // The middle level is not there for every model of the family.
            Thinking::Medium | Thinking::High => (Some("high"), Some(8192)),
        };
        key(out, "thinkingConfig");
        raw(out, r#"{"includeThoughts":true"#);
        // Newer models take levels, older ones budgets; each refuses the other.
        match (model.can("thinking_level"), level, budget) {
            (true, Some(level), _) => field(out, "thinkingLevel", level),
            (false, _, Some(budget)) => number(out, "thinkingBudget", budget),
            _ => {}
        }
        raw(out, "}");
    }
    raw(out, "}");
}

fn write_signature(out: &mut Vec<u8>, seal: Option<&Value>) -> bool {
    let Some(signature) = seal.and_then(|seal| seal.get("signature")?.as_str()) else {
        return false;
    };
    field(out, "thoughtSignature", signature);
    true
}

fn write_inline(out: &mut Vec<u8>, media_type: &str, data: &str) {
    raw(out, r#""inlineData":{"#);
    field(out, "mimeType", media_type);
    field(out, "data", data);
    raw(out, "}");
}

fn write_part(out: &mut Vec<u8>, part: &Part<'_>) {
    comma(out);
    raw(out, "{");
    match part {
        Part::Text(text) => field(out, "text", text),
        Part::Image { media_type, data } | Part::Document { media_type, data, .. } => {
            write_inline(out, media_type, data);
        }
    }
    raw(out, "}");
}
