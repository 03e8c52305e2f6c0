//! A request in the words of Ollama's chat. Results of calls have no ids there: they stand in the order of the
//! calls, each with the name of its tool.

use serde_json::{Value, json};
use weir_core::model::{ModelInfo, ModelRequest, Thinking};

use super::super::VendorQuirks;
use super::super::json::{
    is_blank, string_inside, write_comma, write_field, write_key, write_number, write_raw,
    write_string, write_value,
};
use super::super::ledger::{
    AssistantPart, CallResultPart, GroupShape, MediaRules, RenderDialect, UserPart,
};
use super::super::names::IdAlphabet;
use super::super::openai_chat::encode::write_functions;

/// The family of models that take a level of thinking; the others think or do not.
const LEVELLED: &str = "gpt-oss";

pub(super) struct OllamaMessages {
    quirks: VendorQuirks,
}

impl OllamaMessages {
    pub(super) fn new(quirks: &VendorQuirks) -> OllamaMessages {
        OllamaMessages { quirks: quirks.clone() }
    }
}

/// How thinking is asked for; `None`: the model cannot.
fn think_value(model: &ModelInfo, thinking: Thinking) -> Option<Value> {
    if !model.has_ability("thinking") {
        return None;
    }
    Some(match thinking {
        // It cannot be kept from thinking.
        Thinking::Off if model.model.name.contains(LEVELLED) => json!("low"),
        _ if model.model.name.contains(LEVELLED) => json!(thinking.as_str()),
        Thinking::Off => json!(false),
        Thinking::Low | Thinking::Medium | Thinking::High => json!(true),
    })
}

/// Opens a user message. Pictures stand before the text, which can then be extended.
fn open_message(out: &mut Vec<u8>, parts: &[UserPart<'_>]) -> GroupShape {
    write_comma(out);
    write_raw(out, r#"{"role":"user""#);
    let pictures = parts.iter().filter_map(|part| match part {
        UserPart::Image { data, .. } => Some(*data),
        UserPart::Text(_) | UserPart::Document { .. } => None,
    });
    let pictures: Vec<&str> = pictures.collect();
    if !pictures.is_empty() {
        write_key(out, "images");
        write_raw(out, "[");
        for picture in pictures {
            write_comma(out);
            write_string(out, picture);
        }
        write_raw(out, "]");
    }
    write_key(out, "content");
    write_raw(out, "\"");
    let texts = parts.iter().filter_map(|part| match part {
        UserPart::Text(text) => Some(text),
        UserPart::Image { .. } | UserPart::Document { .. } => None,
    });
    for (place, text) in texts.enumerate() {
        write_raw(out, if place > 0 { r"\n\n" } else { "" });
        string_inside(out, text);
    }
    GroupShape::Text
}

impl RenderDialect for OllamaMessages {
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
            document_bytes_max: 0,
            documents: false,
            assistant_images: false,
        }
    }

    fn write_head(&self, out: &mut Vec<u8>, request: &ModelRequest, thinking: Thinking) {
        write_raw(out, "{");
        write_field(out, "model", &request.model.model.name);
        write_raw(out, r#","stream":true"#);
        if let Some(think) = think_value(&request.model, thinking) {
            write_key(out, "think");
            write_value(out, &think);
        }
        write_key(out, "options");
        write_raw(out, "{");
        // The server holds as much as it is asked for: without this, whatever it was started with.
        if request.model.window > 0 {
            write_number(out, "num_ctx", request.model.window);
        }
        if request.model.max_output > 0 {
            write_number(out, "num_predict", request.model.max_output);
        }
        write_raw(out, "}");
        write_functions(out, request);
        write_key(out, "messages");
        write_raw(out, "[");
        if !is_blank(&request.system) {
            write_raw(out, "{");
            write_field(out, "role", "system");
            write_field(out, "content", &request.system);
            write_raw(out, "}");
        }
    }

    fn write_assistant(&self, out: &mut Vec<u8>, said: &[AssistantPart<'_>]) {
        write_comma(out);
        write_raw(out, "{");
        write_field(out, "role", "assistant");
        let texts: Vec<&str> = said
            .iter()
            .filter_map(|part| match part {
                AssistantPart::Text { text, .. } => Some(*text),
                AssistantPart::Note(text) => Some(text.as_str()),
                AssistantPart::Thinking { .. }
                | AssistantPart::Call { .. }
                | AssistantPart::Image { .. } => None,
            })
            .collect();
        write_field(out, "content", &texts.join("\n\n"));
        if said.iter().any(|part| matches!(part, AssistantPart::Call { .. })) {
            write_key(out, "tool_calls");
            write_raw(out, "[");
            for part in said {
                let AssistantPart::Call { name, input, .. } = part else { continue };
                write_comma(out);
                write_raw(out, r#"{"function":{"#);
                write_field(out, "name", name);
                write_key(out, "arguments");
                match input.is_object() {
                    true => write_value(out, input),
                    false => write_raw(out, "{}"),
                }
                write_raw(out, "}}");
            }
            write_raw(out, "]");
        }
        write_raw(out, "}");
    }

    fn write_user(
        &self,
        out: &mut Vec<u8>,
        answers: &[CallResultPart<'_>],
        parts: &[UserPart<'_>],
    ) -> GroupShape {
        for answer in answers {
            write_comma(out);
            write_raw(out, "{");
            write_field(out, "role", "tool");
            write_field(out, "tool_name", answer.name);
            write_field(out, "content", &answer.plain_text(true));
            write_raw(out, "}");
        }
        // Results are plain text, so their pictures follow in the user's name.
        let mut all: Vec<UserPart<'_>> = Vec::new();
        for answer in answers.iter().filter(|answer| answer.media_parts().next().is_some()) {
            all.push(UserPart::Text(format!("Attached to the result of {}:", answer.name).into()));
            all.extend(answer.media_parts().cloned());
        }
        all.extend(parts.iter().cloned());
        if all.is_empty() {
            return GroupShape::Closed;
        }
        open_message(out, &all)
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
        if !parts.iter().all(|part| matches!(part, UserPart::Text(_))) {
            return None;
        }
        for part in parts {
            if let UserPart::Text(text) = part {
                write_raw(out, r"\n\n");
                string_inside(out, text);
            }
        }
        Some(shape)
    }

    fn close_group(&self, out: &mut Vec<u8>, shape: GroupShape) {
        if shape != GroupShape::Closed {
            write_raw(out, "\"}");
        }
    }

    fn close_body(&self, out: &mut Vec<u8>) {
        write_raw(out, "]}");
    }
}
