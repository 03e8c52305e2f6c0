//! A request in the words of Gemini.

use serde_json::Value;
use weir_core::model::{ModelRequest, Thinking};

use super::super::VendorQuirks;
use super::super::json::{
    is_blank, write_comma, write_field, write_key, write_number, write_raw, write_string,
    write_value,
};
use super::super::ledger::{
    AssistantPart, CallResultPart, GroupShape, MediaRules, RenderDialect, UserPart,
};
use super::super::names::{IdAlphabet, wire_name};
use super::super::schema::{SchemaTarget, reduce_schema};

/// What the vendor documents as the signature of a call that another model made: newer models
/// refuse a first call of a turn without any.
const FOREIGN_SIGNATURE: &str = "skip_thought_signature_validator";

pub(super) struct GeminiContents {
    quirks: VendorQuirks,
}

impl GeminiContents {
    pub(super) fn new(quirks: &VendorQuirks) -> GeminiContents {
        GeminiContents { quirks: quirks.clone() }
    }
}

impl RenderDialect for GeminiContents {
    const DIALECT: &'static str = super::NAME;
    const SEALED_BLANK_TEXT: bool = true;

    fn quirks(&self) -> &VendorQuirks {
        &self.quirks
    }

    fn id_alphabet(&self) -> IdAlphabet {
        IdAlphabet::Word { length_max: 128 }
    }

    fn media_rules(&self) -> MediaRules {
        // All inline data of a request together may have 20 MB; a single one gets most of it.
        MediaRules {
            image_bytes_max: 14 << 20,
            document_bytes_max: 14 << 20,
            documents: true,
            assistant_images: true,
        }
    }

    fn write_head(&self, out: &mut Vec<u8>, request: &ModelRequest, thinking: Thinking) {
        write_raw(out, "{");
        if !is_blank(&request.system) {
            write_raw(out, r#""systemInstruction":{"parts":[{"text":"#);
            write_string(out, &request.system);
            write_raw(out, "}]}");
        }
        if !request.tools.is_empty() {
            write_key(out, "tools");
            write_raw(out, r#"[{"functionDeclarations":["#);
            for tool in request.tools.iter() {
                write_comma(out);
                write_raw(out, "{");
                write_field(out, "name", &wire_name(&tool.name));
                write_field(out, "description", &tool.description);
                write_key(out, "parametersJsonSchema");
                write_value(out, &reduce_schema(&tool.input_schema, SchemaTarget::Gemini));
                write_raw(out, "}");
            }
            write_raw(out, "]}]");
        }
        write_config(out, request, thinking);
        write_key(out, "contents");
        write_raw(out, "[");
    }

    fn write_assistant(&self, out: &mut Vec<u8>, said: &[AssistantPart<'_>]) {
        write_comma(out);
        write_raw(out, r#"{"role":"model","parts":["#);
        let mut first_call = true;
        for said in said {
            write_comma(out);
            write_raw(out, "{");
            match said {
                AssistantPart::Text { text, seal } => {
                    write_field(out, "text", text);
                    write_signature(out, seal.as_ref().copied());
                }
                AssistantPart::Note(text) => write_field(out, "text", text),
                AssistantPart::Thinking { text, seal } => {
                    write_field(out, "text", text);
                    write_raw(out, r#","thought":true"#);
                    write_signature(out, Some(seal));
                }
                AssistantPart::Call { echo, name, input, seal, .. } => {
                    write_raw(out, r#""functionCall":{"#);
                    if let Some(id) = echo {
                        write_field(out, "id", id);
                    }
                    write_field(out, "name", name);
                    write_key(out, "args");
                    if input.is_object() {
                        write_value(out, input)
                    } else {
                        write_raw(out, "{}")
                    }
                    write_raw(out, "}");
                    let signed = write_signature(out, seal.as_ref().copied());
                    if std::mem::take(&mut first_call) && !signed {
                        write_field(out, "thoughtSignature", FOREIGN_SIGNATURE);
                    }
                }
                AssistantPart::Image { media_type, data } => write_inline(out, media_type, data),
            }
            write_raw(out, "}");
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
        write_raw(out, r#"{"role":"user","parts":["#);
        for answer in answers {
            write_comma(out);
            write_raw(out, r#"{"functionResponse":{"#);
            if let Some(id) = answer.echo {
                write_field(out, "id", id);
            }
            write_field(out, "name", answer.name);
            write_key(out, "response");
            write_raw(out, "{");
            write_field(out, if answer.ok { "output" } else { "error" }, &answer.plain_text(false));
            write_raw(out, "}}}");
        }
        for answer in answers.iter().filter(|answer| answer.media_parts().next().is_some()) {
            let label = format!("Attached to the result of {}:", answer.name);
            write_part(out, &UserPart::Text(label.into()));
            answer.media_parts().for_each(|part| write_part(out, part));
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

fn write_config(out: &mut Vec<u8>, request: &ModelRequest, thinking: Thinking) {
    let model = &request.model;
    write_key(out, "generationConfig");
    write_raw(out, "{");
    if model.max_output > 0 {
        write_number(out, "maxOutputTokens", model.max_output);
    }
    if model.has_ability("image_output") {
        write_key(out, "responseModalities");
        write_raw(out, r#"["TEXT","IMAGE"]"#);
    }
    if model.has_ability("thinking") {
        let (level, budget) = match thinking {
            Thinking::Off => (None, None),
            Thinking::Low => (Some("low"), Some(2048)),
            // The middle level is not there for every model of the family.
            Thinking::Medium | Thinking::High => (Some("high"), Some(8192)),
        };
        write_key(out, "thinkingConfig");
        write_raw(out, r#"{"includeThoughts":true"#);
        // Newer models take levels, older ones budgets; each refuses the other.
        match (model.has_ability("thinking_level"), level, budget) {
            (true, Some(level), _) => write_field(out, "thinkingLevel", level),
            (false, _, Some(budget)) => write_number(out, "thinkingBudget", budget),
            _ => {}
        }
        write_raw(out, "}");
    }
    write_raw(out, "}");
}

fn write_signature(out: &mut Vec<u8>, seal: Option<&Value>) -> bool {
    let Some(signature) = seal.and_then(|seal| seal.get("signature")?.as_str()) else {
        return false;
    };
    write_field(out, "thoughtSignature", signature);
    true
}

fn write_inline(out: &mut Vec<u8>, media_type: &str, data: &str) {
    write_raw(out, r#""inlineData":{"#);
    write_field(out, "mimeType", media_type);
    write_field(out, "data", data);
    write_raw(out, "}");
}

fn write_part(out: &mut Vec<u8>, part: &UserPart<'_>) {
    write_comma(out);
    write_raw(out, "{");
    match part {
        UserPart::Text(text) => write_field(out, "text", text),
        UserPart::Image { media_type, data } | UserPart::Document { media_type, data, .. } => {
            write_inline(out, media_type, data);
        }
    }
    write_raw(out, "}");
}
