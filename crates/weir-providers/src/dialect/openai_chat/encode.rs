//! A request in the words of Chat Completions.

use serde_json::Value;
use weir_core::model::{ModelRequest, Thinking};

use super::super::Quirks;
use super::super::json::{comma, field, is_blank, key, number, raw, string, string_inside, value};
use super::super::ledger::{Answer, MediaRules, Part, Render, Said, Shape};
use super::super::names::{IdAlphabet, wire_name};
use super::super::schema::{Target, reduce};

pub(super) struct Messages {
    quirks: Quirks,
}

impl Messages {
    pub(super) fn new(quirks: &Quirks) -> Messages {
        Messages { quirks: quirks.clone() }
    }

    fn write_options(&self, out: &mut Vec<u8>, request: &ModelRequest, thinking: Thinking) {
        if self.quirks.stream_usage {
            raw(out, r#","stream_options":{"include_usage":true}"#);
        }
        if request.model.max_output > 0 {
            let renamed = self.quirks.max_completion_tokens;
            let name = if renamed { "max_completion_tokens" } else { "max_tokens" };
            number(out, name, request.model.max_output);
        }
        if self.quirks.prompt_cache_key {
            field(out, "prompt_cache_key", &cache_key(request.session.as_str()));
        }
        if self.quirks.modalities && request.model.can("image_output") {
            raw(out, r#","modalities":["image","text"]"#);
        }
        if !request.model.can("thinking") {
            return;
        }
        let Some(effort) = effort(thinking) else { return };
        match self.quirks.reasoning_param.as_deref() {
            Some("effort") => field(out, "reasoning_effort", effort),
            Some("object") => {
                key(out, "reasoning");
                raw(out, "{");
                field(out, "effort", effort);
                raw(out, "}");
            }
            Some(_) | None => {}
        }
    }

    /// Opens a user message. Plain text stays a plain string, which every server takes; anything
    /// else becomes a list of parts.
    fn open_message(&self, out: &mut Vec<u8>, parts: &[Part<'_>]) -> Shape {
        comma(out);
        raw(out, r#"{"role":"user","content":"#);
        if parts.iter().all(|part| matches!(part, Part::Text(_))) {
            raw(out, "\"");
            for (place, part) in parts.iter().enumerate() {
                if let Part::Text(text) = part {
                    raw(out, if place > 0 { r"\n\n" } else { "" });
                    string_inside(out, text);
                }
            }
            return Shape::Text;
        }
        raw(out, "[");
        parts.iter().for_each(|part| write_part(out, part));
        Shape::List
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

/// The word for an effort.
pub(in crate::dialect) fn effort(thinking: Thinking) -> Option<&'static str> {
    match thinking {
        Thinking::Off => None,
        Thinking::Low => Some("low"),
        Thinking::Medium => Some("medium"),
        Thinking::High => Some("high"),
    }
}

impl Render for Messages {
    const DIALECT: &'static str = super::NAME;

    fn quirks(&self) -> &Quirks {
        &self.quirks
    }

    fn ids(&self) -> IdAlphabet {
        if self.quirks.short_call_ids {
            IdAlphabet::NineAlphanumeric
        } else {
            IdAlphabet::Word { length_max: 40 }
        }
    }

    fn media(&self) -> MediaRules {
        MediaRules {
            image_bytes_max: 20 << 20,
            document_bytes_max: 32 << 20,
            documents: self.quirks.file_parts,
            assistant_images: false,
        }
    }

    fn head(&self, out: &mut Vec<u8>, request: &ModelRequest, thinking: Thinking) {
        raw(out, "{");
        field(out, "model", &request.model.model.name);
        raw(out, r#","stream":true"#);
        self.write_options(out, request, thinking);
        if !request.tools.is_empty() {
            key(out, "tools");
            raw(out, "[");
            for tool in request.tools.iter() {
                comma(out);
                raw(out, r#"{"type":"function","function":{"#);
                field(out, "name", &wire_name(&tool.name));
                field(out, "description", &tool.description);
                key(out, "parameters");
                value(out, &reduce(&tool.input_schema, Target::OpenAi));
                raw(out, "}}");
            }
            raw(out, "]");
        }
        key(out, "messages");
        raw(out, "[");
        if !is_blank(&request.system) {
            raw(out, "{");
            let role = if self.quirks.developer_role { "developer" } else { "system" };
            field(out, "role", role);
            field(out, "content", &request.system);
            raw(out, "}");
        }
    }

    fn assistant(&self, out: &mut Vec<u8>, said: &[Said<'_>]) {
        comma(out);
        raw(out, r#"{"role":"assistant""#);
        let texts: Vec<&str> = said.iter().filter_map(text_of).collect();
        let has_calls = said.iter().any(|said| matches!(said, Said::Call { .. }));
        key(out, "content");
        match (texts.is_empty(), has_calls) {
            (true, true) => raw(out, "null"),
            (true, false) => raw(out, "\"\""),
            (false, _) => string(out, &texts.join("\n\n")),
        }
        self.write_reasoning(out, said);
        if has_calls {
            key(out, "tool_calls");
            raw(out, "[");
            for said in said {
                if let Said::Call { wire_id, name, input, .. } = said {
                    write_call(out, wire_id, name, input);
                }
            }
            raw(out, "]");
        }
        raw(out, "}");
    }

    fn user(&self, out: &mut Vec<u8>, answers: &[Answer<'_>], parts: &[Part<'_>]) -> Shape {
        for answer in answers {
            comma(out);
            raw(out, r#"{"role":"tool""#);
            field(out, "tool_call_id", answer.wire_id);
            field(out, "content", &answer.plain_text(true));
            raw(out, "}");
        }
        // Results are plain text here, so their images follow in the user's name.
        let mut all: Vec<Part<'_>> = Vec::new();
        for answer in answers.iter().filter(|answer| answer.media().next().is_some()) {
            all.push(Part::Text(format!("Attached to the result {}:", answer.wire_id).into()));
            all.extend(answer.media().cloned());
        }
        all.extend(parts.iter().cloned());
        if all.is_empty() {
            return Shape::Closed;
        }
        if !answers.is_empty() {
            self.bridge(out);
        }
        self.open_message(out, &all)
    }

    fn extend(&self, out: &mut Vec<u8>, shape: Shape, parts: &[Part<'_>]) -> Option<Shape> {
        match shape {
            Shape::Closed => {
                self.bridge(out);
                Some(self.open_message(out, parts))
            }
            Shape::List => {
                parts.iter().for_each(|part| write_part(out, part));
                Some(shape)
            }
            Shape::Text if parts.iter().all(|part| matches!(part, Part::Text(_))) => {
                for part in parts {
                    if let Part::Text(text) = part {
                        raw(out, r"\n\n");
                        string_inside(out, text);
                    }
                }
                Some(shape)
            }
            Shape::Text => None,
        }
    }

    fn close(&self, out: &mut Vec<u8>, shape: Shape) {
        match shape {
            Shape::Closed => {}
            Shape::List => raw(out, "]}"),
            Shape::Text => raw(out, "\"}"),
        }
    }

    fn end(&self, out: &mut Vec<u8>) {
        raw(out, "]}");
    }
}

impl Messages {
    /// Some vendors want the assistant to speak between results and the user's next words.
    fn bridge(&self, out: &mut Vec<u8>) {
        if self.quirks.assistant_after_results {
            comma(out);
            raw(out, r#"{"role":"assistant","content":"Noted."}"#);
        }
    }

    fn write_reasoning(&self, out: &mut Vec<u8>, said: &[Said<'_>]) {
        if !self.quirks.replay_reasoning {
            return;
        }
        let mut text = String::new();
        let mut details: Vec<&Value> = Vec::new();
        for said in said {
            if let Said::Thinking { text: thought, seal } = said {
                text.push_str(thought);
                details.extend(seal.get("details").and_then(Value::as_array).into_iter().flatten());
            }
        }
        // The vendor's own structured form says more than the text; both together would be double.
        if !details.is_empty() {
            key(out, "reasoning_details");
            raw(out, "[");
            for detail in details {
                comma(out);
                value(out, detail);
            }
            raw(out, "]");
        } else if let Some(name) =
            self.quirks.reasoning_field.as_deref().filter(|_| !text.is_empty())
        {
            comma(out);
            string(out, name);
            raw(out, ":");
            string(out, &text);
        }
    }
}

fn text_of<'a>(said: &'a Said<'_>) -> Option<&'a str> {
    match said {
        Said::Text { text, .. } => Some(text),
        Said::Note(text) => Some(text),
        Said::Thinking { .. } | Said::Call { .. } | Said::Image { .. } => None,
    }
}

fn write_call(out: &mut Vec<u8>, wire_id: &str, name: &str, input: &Value) {
    comma(out);
    raw(out, "{");
    field(out, "id", wire_id);
    raw(out, r#","type":"function","function":{"#);
    field(out, "name", name);
    key(out, "arguments");
    string(out, &arguments(input));
    raw(out, "}}");
}

/// Arguments as JSON text: always an object.
pub(in crate::dialect) fn arguments(input: &Value) -> String {
    if input.is_object() { input.to_string() } else { "{}".into() }
}

fn write_part(out: &mut Vec<u8>, part: &Part<'_>) {
    comma(out);
    match part {
        Part::Text(text) => {
            raw(out, r#"{"type":"text""#);
            field(out, "text", text);
        }
        Part::Image { media_type, data } => {
            raw(out, r#"{"type":"image_url","image_url":{"url":"data:"#);
            raw(out, media_type);
            raw(out, ";base64,");
            string_inside(out, data);
            raw(out, "\"}");
        }
        Part::Document { media_type, data, name } => {
            raw(out, r#"{"type":"file","file":{"#);
            field(out, "filename", name);
            raw(out, r#","file_data":"data:"#);
            raw(out, media_type);
            raw(out, ";base64,");
            string_inside(out, data);
            raw(out, "\"}");
        }
    }
    raw(out, "}");
}
