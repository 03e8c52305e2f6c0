//! What servers of one's own answer, read: windows, and what a model can do. Written after the vendors' own
//! documentation of their wire. Not here: asking them, and who is asked what (`window`).

use serde_json::Value;

use super::{ModelCapabilities, ServerReport, WindowReport};
use crate::catalogue::ServerKind;

/// Most tokens that a window is believed to have: far more than any model takes, and little enough that sums of
/// tokens stay sums.
pub(super) const WINDOW_TOKENS_MAX: u64 = 100_000_000;
/// How lists of models name a window, where they do.
const WINDOW_WORDS: [&str; 4] =
    ["context_window", "context_length", "max_context_length", "max_input_tokens"];

/// A number of tokens that can be believed.
pub(super) fn tokens_of(value: &Value) -> Option<u64> {
    value.as_u64().filter(|tokens| (1..=WINDOW_TOKENS_MAX).contains(tokens))
}

/// The row of a model in a list as OpenAI's API gives it.
pub(super) fn row_of<'a>(list: &'a Value, model: &str) -> Option<&'a Value> {
    list["data"].as_array()?.iter().find(|row| row["id"] == model)
}

/// vLLM's list of models.
pub(super) fn read_vllm(list: &Value, model: &str) -> Option<ServerReport> {
    list["data"].as_array()?;
    let held = row_of(list, model).and_then(|row| tokens_of(&row["max_model_len"]));
    Some(report_of(held, None, None))
}

/// What `llama-server` says of itself.
pub(super) fn read_llamacpp(props: &Value) -> ServerReport {
    let held = tokens_of(&props["default_generation_settings"]["n_ctx"]);
    report_of(held, None, llamacpp_capabilities(props))
}

/// LM Studio's own list of models. A model that is not loaded is loaded with a window that only LM Studio knows.
pub(super) fn read_lmstudio(list: &Value, model: &str) -> Option<ServerReport> {
    list["data"].as_array()?;
    let Some(row) = row_of(list, model) else { return Some(report_of(None, None, None)) };
    let can = tokens_of(&row["max_context_length"]);
    let held = tokens_of(&row["loaded_context_length"]).filter(|_| row["state"] == "loaded");
    Some(report_of(held, can, lmstudio_capabilities(row)))
}

/// What was answered by a server of which nobody said what it is.
#[derive(Debug, Default)]
pub(super) struct StrangerAnswers {
    /// To `/models` of its OpenAI-compatible endpoint.
    pub(super) list: Option<Value>,
    /// To llama.cpp's `/props`.
    pub(super) props: Option<Value>,
    /// To LM Studio's `/api/v0/models`.
    pub(super) own_list: Option<Value>,
}

impl StrangerAnswers {
    /// What they tell of a model, by what only one of the known servers says; or the window that its list of
    /// models names. `None`: neither.
    pub(super) fn read_report(&self, model: &str) -> Option<ServerReport> {
        let listed = self.listed_row(model);
        let by = |kind: ServerKind| {
            move |report: ServerReport| ServerReport { server: Some(kind), ..report }
        };
        if let Some(list) = self.list.as_ref().filter(|_| has_tokens(listed, "max_model_len")) {
            return read_vllm(list, model).map(by(ServerKind::Vllm));
        }
        let is_llamacpp = |props: &&Value| props["default_generation_settings"].is_object();
        if let Some(props) = self.props.as_ref().filter(is_llamacpp) {
            return Some(by(ServerKind::LlamaCpp)(read_llamacpp(props)));
        }
        let own_row = self.own_list.as_ref().and_then(|list| row_of(list, model));
        if let Some(list) =
            self.own_list.as_ref().filter(|_| has_tokens(own_row, "max_context_length"))
        {
            return read_lmstudio(list, model).map(by(ServerKind::LmStudio));
        }
        let said = WINDOW_WORDS.iter().find_map(|word| tokens_of(&listed?[*word]));
        said.map(|tokens| report_of(Some(tokens), None, None))
    }

    /// Whether it is Ollama: its list names the library that a model is from as its owner.
    pub(super) fn is_ollama(&self, model: &str) -> bool {
        self.listed_row(model).is_some_and(|row| row["owned_by"] == "library")
    }

    fn listed_row(&self, model: &str) -> Option<&Value> {
        self.list.as_ref().and_then(|list| row_of(list, model))
    }
}

fn has_tokens(row: Option<&Value>, word: &str) -> bool {
    row.is_some_and(|row| tokens_of(&row[word]).is_some())
}

fn report_of(
    held: Option<u64>,
    can: Option<u64>,
    capabilities: Option<ModelCapabilities>,
) -> ServerReport {
    let window = match held {
        Some(tokens) => WindowReport::Holds { tokens, can },
        None => WindowReport::Unsaid { can },
    };
    ServerReport { window, capabilities, server: None }
}

/// Newer versions say whether the template has a way to call tools; of older ones it is seen in the template.
fn llamacpp_capabilities(props: &Value) -> Option<ModelCapabilities> {
    let template = |name: &str| props[name].as_str().filter(|text| !text.trim().is_empty());
    let caps = &props["chat_template_caps"];
    let said = caps["supports_tools"].as_bool().or(caps["supports_tool_calls"].as_bool());
    let tools = match (said, template("chat_template_tool_use")) {
        (Some(said), _) => said,
        (None, Some(_)) => true,
        (None, None) => template("chat_template")?.contains("tools"),
    };
    let images = props["modalities"]["vision"] == true;
    Some(ModelCapabilities { tools, thinking: false, images })
}

/// `"capabilities": ["tool_use"]`; older versions have no such list.
fn lmstudio_capabilities(row: &Value) -> Option<ModelCapabilities> {
    let list = row["capabilities"].as_array()?;
    let tools = list.iter().any(|word| word == "tool_use");
    Some(ModelCapabilities { tools, thinking: false, images: row["type"] == "vlm" })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tools_of(report: ServerReport) -> Option<bool> {
        report.capabilities.map(|can| can.tools)
    }

    #[test]
    fn r6_a_number_of_tokens_that_cannot_be_is_not_believed() {
        for value in [
            json!(-1),
            json!(0),
            json!(1e12),
            json!(1_000_000_000_000_u64),
            json!("9"),
            json!(null),
        ] {
            assert_eq!(tokens_of(&value), None, "{value}");
        }
        assert_eq!(tokens_of(&json!(10_000_000)), Some(10_000_000));
    }

    #[test]
    fn v5_servers_say_whether_a_model_knows_tools() {
        for (props, expected) in [
            (json!({ "chat_template_caps": { "supports_tools": true } }), Some(true)),
            (
                json!({ "chat_template_caps": { "supports_tools": false }, "chat_template": "tools" }),
                Some(false),
            ),
            (json!({ "chat_template": "{% if tools %}{% endif %}" }), Some(true)),
            (json!({ "chat_template": "{{ messages }}" }), Some(false)),
            (
                json!({ "chat_template": "{{ messages }}", "chat_template_tool_use": "{{ x }}" }),
                Some(true),
            ),
            (json!({ "chat_template_caps": { "supports_tool_calls": true } }), Some(true)),
            (json!({ "chat_template": " " }), None),
            (json!({ "chat_template": 7 }), None),
            (json!([]), None),
        ] {
            assert_eq!(tools_of(read_llamacpp(&props)), expected, "{props}");
        }
        let images =
            read_llamacpp(&json!({ "chat_template": "tools", "modalities": { "vision": true } }));
        assert!(images.capabilities.expect("said").images);
        for (row, expected) in [
            (json!({ "id": "m", "capabilities": ["tool_use"] }), Some(true)),
            (json!({ "id": "m", "capabilities": [] }), Some(false)),
            (json!({ "id": "m" }), None),
            (json!({ "id": "other", "capabilities": ["tool_use"] }), None),
        ] {
            let report = read_lmstudio(&json!({ "data": [row] }), "m").expect("a list");
            assert_eq!(tools_of(report), expected, "{row}");
        }
    }

    #[test]
    fn r6_a_server_is_known_by_what_only_it_says() {
        let list = |row: Value| Some(json!({ "object": "list", "data": [row] }));
        let answers = |list, props, own_list| StrangerAnswers { list, props, own_list };
        let holds = |tokens, can| Some(WindowReport::Holds { tokens, can });
        let props = || Some(json!({ "default_generation_settings": { "n_ctx": 12_000 } }));
        let cases = [
            (
                answers(list(json!({ "id": "m", "max_model_len": 8_192 })), None, None),
                holds(8_192, None),
                Some(ServerKind::Vllm),
            ),
            (
                answers(list(json!({ "id": "m" })), props(), None),
                holds(12_000, None),
                Some(ServerKind::LlamaCpp),
            ),
            (
                answers(
                    list(json!({ "id": "m" })),
                    Some(json!({ "error": "Unexpected endpoint or method. (GET /props)" })),
                    list(json!({ "id": "m", "state": "loaded", "max_context_length": 32_768,
                        "loaded_context_length": 10_000 })),
                ),
                holds(10_000, Some(32_768)),
                Some(ServerKind::LmStudio),
            ),
            (
                answers(list(json!({ "id": "m", "context_length": 64_000 })), None, None),
                holds(64_000, None),
                None,
            ),
            (answers(list(json!({ "id": "x", "context_length": 64_000 })), None, None), None, None),
            (answers(list(json!({ "id": "m", "max_model_len": 1e12 })), None, None), None, None),
            (answers(Some(json!("no")), Some(json!([])), Some(json!({ "data": 7 }))), None, None),
            (StrangerAnswers::default(), None, None),
        ];
        for (answers, window, server) in cases {
            let report = answers.read_report("m");
            assert_eq!(report.map(|report| report.window), window, "{answers:?}");
            assert_eq!(report.and_then(|report| report.server), server, "{answers:?}");
        }
        let ollama = answers(list(json!({ "id": "m", "owned_by": "library" })), None, None);
        assert!(ollama.is_ollama("m") && !ollama.is_ollama("other"));
    }
}
