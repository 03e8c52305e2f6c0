//! A request in the words of Chat Completions.

use serde_json::Value;
use weir_core::model::{ModelInfo, ModelRequest, Thinking};

use super::super::VendorQuirks;
use super::super::json::{
    is_blank, string_inside, write_comma, write_field, write_key, write_number, write_raw,
    write_string, write_value,
};
use super::super::ledger::{
    AssistantPart, CallResultPart, GroupShape, MediaRules, RenderDialect, UserPart,
};
use super::super::names::{IdAlphabet, wire_name};
use super::super::schema::{SchemaTarget, reduce_schema};

pub(super) struct OpenAiChatMessages {
    quirks: VendorQuirks,
}

impl OpenAiChatMessages {
    pub(super) fn new(quirks: &VendorQuirks) -> OpenAiChatMessages {
        OpenAiChatMessages { quirks: quirks.clone() }
    }

    fn write_options(&self, out: &mut Vec<u8>, request: &ModelRequest, thinking: Thinking) {
        if self.quirks.stream_usage {
            write_raw(out, r#","stream_options":{"include_usage":true}"#);
        }
        if request.model.max_output > 0 {
            let renamed = self.quirks.max_completion_tokens;
            let name = if renamed { "max_completion_tokens" } else { "max_tokens" };
            write_number(out, name, request.model.max_output);
        }
        if self.quirks.prompt_cache_key {
            write_field(out, "prompt_cache_key", &cache_key(request.session.as_str()));
        }
        if self.quirks.modalities && request.model.has_ability("image_output") {
            write_key(out, "modalities");
            write_value(out, &output_modalities(&request.model));
        }
        if !request.model.has_ability("thinking") {
            return;
        }
        let Some(effort) = effort_word(thinking) else { return };
        match self.quirks.reasoning_param.as_deref() {
            Some("effort") => write_field(out, "reasoning_effort", effort),
            Some("object") => {
                write_key(out, "reasoning");
                write_raw(out, "{");
                write_field(out, "effort", effort);
                write_raw(out, "}");
            }
            Some(_) | None => {}
        }
    }

    /// Opens a user message. Plain text stays a plain string, which every server takes; anything
    /// else becomes a list of parts.
    fn open_message(&self, out: &mut Vec<u8>, parts: &[UserPart<'_>]) -> GroupShape {
        write_comma(out);
        write_raw(out, r#"{"role":"user","content":"#);
        if parts.iter().all(|part| matches!(part, UserPart::Text(_))) {
            write_raw(out, "\"");
            for (place, part) in parts.iter().enumerate() {
                if let UserPart::Text(text) = part {
                    write_raw(out, if place > 0 { r"\n\n" } else { "" });
                    string_inside(out, text);
                }
            }
            return GroupShape::Text;
        }
        write_raw(out, "[");
        parts.iter().for_each(|part| write_part(out, part));
        GroupShape::List
    }
}

/// What the vendor routes by. It must be short and reveal nothing.
pub(in crate::dialect) fn cache_key(session: &str) -> String {
    /// The vendor's own bound.
    const LENGTH_MAX: usize = 64;
    if session.len() <= LENGTH_MAX {
        return session.to_owned();
    }
    weir_core::record::sha256_hex(session.as_bytes())
}

/// What a model that draws is asked for: one that makes nothing but pictures refuses to make words.
pub(crate) fn output_modalities(model: &ModelInfo) -> Value {
    match model.has_ability("image_only") {
        true => serde_json::json!(["image"]),
        false => serde_json::json!(["image", "text"]),
    }
}

/// The word for an effort.
pub(in crate::dialect) fn effort_word(thinking: Thinking) -> Option<&'static str> {
    match thinking {
        Thinking::Off => None,
        Thinking::Low => Some("low"),
        Thinking::Medium => Some("medium"),
        Thinking::High => Some("high"),
    }
}

impl RenderDialect for OpenAiChatMessages {
    const DIALECT: &'static str = super::NAME;

    fn quirks(&self) -> &VendorQuirks {
        &self.quirks
    }

    fn id_alphabet(&self) -> IdAlphabet {
        if self.quirks.short_call_ids {
            IdAlphabet::NineAlphanumeric
        } else {
            IdAlphabet::Word { length_max: 40 }
        }
    }

    fn media_rules(&self) -> MediaRules {
        MediaRules {
            image_bytes_max: 20 << 20,
            document_bytes_max: 32 << 20,
            documents: self.quirks.file_parts,
            assistant_images: false,
        }
    }

    fn write_head(&self, out: &mut Vec<u8>, request: &ModelRequest, thinking: Thinking) {
        write_raw(out, "{");
        write_field(out, "model", &request.model.model.name);
        write_raw(out, r#","stream":true"#);
        self.write_options(out, request, thinking);
        write_functions(out, request);
        write_key(out, "messages");
        write_raw(out, "[");
        if !is_blank(&request.system) {
            write_raw(out, "{");
            let role = if self.quirks.developer_role { "developer" } else { "system" };
            write_field(out, "role", role);
            write_field(out, "content", &request.system);
            write_raw(out, "}");
        }
    }

    fn write_assistant(&self, out: &mut Vec<u8>, said: &[AssistantPart<'_>]) {
        write_comma(out);
        write_raw(out, r#"{"role":"assistant""#);
        let texts: Vec<&str> = said.iter().filter_map(text_of).collect();
        let has_calls = said.iter().any(|said| matches!(said, AssistantPart::Call { .. }));
        write_key(out, "content");
        match (texts.is_empty(), has_calls) {
            (true, true) => write_raw(out, "null"),
            (true, false) => write_raw(out, "\"\""),
            (false, _) => write_string(out, &texts.join("\n\n")),
        }
        self.write_reasoning(out, said);
        if has_calls {
            write_key(out, "tool_calls");
            write_raw(out, "[");
            for said in said {
                if let AssistantPart::Call { wire_id, name, input, .. } = said {
                    write_call(out, wire_id, name, input);
                }
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
            write_raw(out, r#"{"role":"tool""#);
            write_field(out, "tool_call_id", answer.wire_id);
            write_field(out, "content", &answer.plain_text(true));
            write_raw(out, "}");
        }
        // Results are plain text here, so their images follow in the user's name.
        let mut all: Vec<UserPart<'_>> = Vec::new();
        for answer in answers.iter().filter(|answer| answer.media_parts().next().is_some()) {
            all.push(UserPart::Text(format!("Attached to the result {}:", answer.wire_id).into()));
            all.extend(answer.media_parts().cloned());
        }
        all.extend(parts.iter().cloned());
        if all.is_empty() {
            return GroupShape::Closed;
        }
        if !answers.is_empty() {
            self.write_bridge(out);
        }
        self.open_message(out, &all)
    }

    fn extend(
        &self,
        out: &mut Vec<u8>,
        shape: GroupShape,
        parts: &[UserPart<'_>],
    ) -> Option<GroupShape> {
        match shape {
            GroupShape::Closed => {
                self.write_bridge(out);
                Some(self.open_message(out, parts))
            }
            GroupShape::List => {
                parts.iter().for_each(|part| write_part(out, part));
                Some(shape)
            }
            GroupShape::Text if parts.iter().all(|part| matches!(part, UserPart::Text(_))) => {
                for part in parts {
                    if let UserPart::Text(text) = part {
                        write_raw(out, r"\n\n");
                        string_inside(out, text);
                    }
                }
                Some(shape)
            }
            GroupShape::Text => None,
        }
    }

    fn close_group(&self, out: &mut Vec<u8>, shape: GroupShape) {
        match shape {
            GroupShape::Closed => {}
            GroupShape::List => write_raw(out, "]}"),
            GroupShape::Text => write_raw(out, "\"}"),
        }
    }

    fn close_body(&self, out: &mut Vec<u8>) {
        write_raw(out, "]}");
    }
}

impl OpenAiChatMessages {
    /// Some vendors want the assistant to speak between results and the user's next words.
    fn write_bridge(&self, out: &mut Vec<u8>) {
        if self.quirks.assistant_after_results {
            write_comma(out);
            write_raw(out, r#"{"role":"assistant","content":"Noted."}"#);
        }
    }

    fn write_reasoning(&self, out: &mut Vec<u8>, said: &[AssistantPart<'_>]) {
        if !self.quirks.replay_reasoning {
            return;
        }
        let mut text = String::new();
        let mut details: Vec<&Value> = Vec::new();
        for said in said {
            if let AssistantPart::Thinking { text: thought, seal } = said {
                text.push_str(thought);
                details.extend(seal.get("details").and_then(Value::as_array).into_iter().flatten());
            }
        }
        // The vendor's own structured form says more than the text; both together would be double.
        if !details.is_empty() {
            write_key(out, "reasoning_details");
            write_raw(out, "[");
            for detail in details {
                write_comma(out);
                write_value(out, detail);
            }
            write_raw(out, "]");
        } else if let Some(name) =
            self.quirks.reasoning_field.as_deref().filter(|_| !text.is_empty())
        {
            write_comma(out);
            write_string(out, name);
            write_raw(out, ":");
            write_string(out, &text);
        }
    }
}

fn text_of<'a>(said: &'a AssistantPart<'_>) -> Option<&'a str> {
    match said {
        AssistantPart::Text { text, .. } => Some(text),
        AssistantPart::Note(text) => Some(text),
        AssistantPart::Thinking { .. }
        | AssistantPart::Call { .. }
        | AssistantPart::Image { .. } => None,
    }
}

fn write_call(out: &mut Vec<u8>, wire_id: &str, name: &str, input: &Value) {
    write_comma(out);
    write_raw(out, "{");
    write_field(out, "id", wire_id);
    write_raw(out, r#","type":"function","function":{"#);
    write_field(out, "name", name);
    write_key(out, "arguments");
    write_string(out, &arguments_text(input));
    write_raw(out, "}}");
}

/// The tools that a request offers, as functions.
pub(in crate::dialect) fn write_functions(out: &mut Vec<u8>, request: &ModelRequest) {
    if request.tools.is_empty() {
        return;
    }
    write_key(out, "tools");
    write_raw(out, "[");
    for tool in request.tools.iter() {
        write_comma(out);
        write_raw(out, r#"{"type":"function","function":{"#);
        write_field(out, "name", &wire_name(&tool.name));
        write_field(out, "description", &tool.description);
        write_key(out, "parameters");
        write_value(out, &reduce_schema(&tool.input_schema, SchemaTarget::OpenAi));
        write_raw(out, "}}");
    }
    write_raw(out, "]");
}

/// Arguments as JSON text: always an object.
pub(in crate::dialect) fn arguments_text(input: &Value) -> String {
    if input.is_object() { input.to_string() } else { "{}".into() }
}

fn write_part(out: &mut Vec<u8>, part: &UserPart<'_>) {
    write_comma(out);
    match part {
        UserPart::Text(text) => {
            write_raw(out, r#"{"type":"text""#);
            write_field(out, "text", text);
        }
        UserPart::Image { media_type, data } => {
            write_raw(out, r#"{"type":"image_url","image_url":{"url":"data:"#);
            write_raw(out, media_type);
            write_raw(out, ";base64,");
            string_inside(out, data);
            write_raw(out, "\"}");
        }
        UserPart::Document { media_type, data, name } => {
            write_raw(out, r#"{"type":"file","file":{"#);
            write_field(out, "filename", name);
            write_raw(out, r#","file_data":"data:"#);
            write_raw(out, media_type);
            write_raw(out, ";base64,");
            string_inside(out, data);
            write_raw(out, "\"}");
        }
    }
    write_raw(out, "}");
}
