//! Tools, calls and results as text, for a model that has no other way: the form of Hermes and Qwen.
//!
//! What was rendered once is kept, so that each request extends the one before. Not here: reading calls.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};
use weir_core::message::{CallBlock, Message, MessageBlock, MessageHistory};
use weir_core::model::ModelRequest;
use weir_core::tool::ToolSpec;

/// What the model is told of how to call.
const HOW_TO_CALL: &str = "# Tools\n\n\
    You can call tools. To call one, write a block like this at the end of your answer, as plain text and \
    never within code:\n\n\
    <tool_call>\n{\"name\": \"NAME\", \"arguments\": {\"ARGUMENT\": \"VALUE\"}}\n</tool_call>\n\n\
    One block for each call; then stop. The results come in the next message, each between \
    <tool_response> and </tool_response>. Never write a result yourself. These are the tools, with the \
    JSON Schema of their arguments:\n\n<tools>\n";
const RESULT_END: &str = "</tool_response>";
/// The same where a result holds it: nothing in a result ends it.
const RESULT_END_INSIDE: &str = "<\\/tool_response>";

/// System prompt and tools, and what they became.
struct RenderedSystem {
    system: Arc<str>,
    tools: Arc<Vec<ToolSpec>>,
    rendered: Arc<str>,
}

/// What was rendered for the requests of one conversation.
#[derive(Default)]
pub(super) struct RenderedTools {
    system: Option<RenderedSystem>,
    /// By the address of the message that each was made of, which is kept beside it.
    messages: HashMap<usize, (Arc<Message>, Arc<Message>)>,
}

impl RenderedTools {
    /// `request` without tools and calls of its own.
    pub(super) fn render_request(&mut self, request: &ModelRequest) -> ModelRequest {
        ModelRequest {
            system: self.render_system(request),
            tools: Arc::default(),
            history: self.render_history(&request.history),
            ..request.clone()
        }
    }

    fn render_system(&mut self, request: &ModelRequest) -> Arc<str> {
        if request.tools.is_empty() {
            return request.system.clone();
        }
        if let Some(last) = &self.system
            && last.system == request.system
            && Arc::ptr_eq(&last.tools, &request.tools)
        {
            return last.rendered.clone();
        }
        let rendered: Arc<str> = system_with_tools(&request.system, &request.tools).into();
        let (system, tools) = (request.system.clone(), request.tools.clone());
        self.system = Some(RenderedSystem { system, tools, rendered: rendered.clone() });
        rendered
    }

    fn render_history(&mut self, history: &MessageHistory) -> MessageHistory {
        let mut kept = HashMap::new();
        let rendered = history.iter().map(|message| {
            let key = Arc::as_ptr(message).addr();
            let entry = self.messages.remove(&key);
            let (_, text) = kept.entry(key).or_insert_with(|| {
                entry.unwrap_or_else(|| (message.clone(), rendered_message(message)))
            });
            text.clone()
        });
        let rendered = Arc::new(rendered.collect());
        self.messages = kept;
        rendered
    }
}

fn system_with_tools(system: &str, tools: &[ToolSpec]) -> String {
    let mut out = String::from(system.trim_end());
    if !out.is_empty() {
        out.push_str("\n\n");
    }
    out.push_str(HOW_TO_CALL);
    for tool in tools {
        let schema: &Value = &tool.input_schema;
        let tool = json!({"type": "function", "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": schema,
        }});
        writeln!(out, "{tool}").expect("writing into a text cannot fail");
    }
    out.push_str("</tools>");
    out
}

fn rendered_message(message: &Arc<Message>) -> Arc<Message> {
    let is_text = |block: &MessageBlock| {
        !matches!(block, MessageBlock::Call(_) | MessageBlock::Result { .. })
    };
    if message.blocks.iter().all(is_text) {
        return message.clone();
    }
    let mut blocks = Vec::new();
    for block in &message.blocks {
        match block {
            MessageBlock::Call(call) => push_text(&mut blocks, &call_text(call)),
            MessageBlock::Result { blocks: result, .. } => push_result(&mut blocks, result),
            MessageBlock::Text { text, .. } => push_text(&mut blocks, text),
            MessageBlock::Thinking { .. }
            | MessageBlock::Image { .. }
            | MessageBlock::Document { .. } => blocks.push(block.clone()),
        }
    }
    Arc::new(Message { role: message.role, blocks })
}

/// Texts side by side become one: many small servers take a message of one text alone.
fn push_text(blocks: &mut Vec<MessageBlock>, more: &str) {
    if let Some(MessageBlock::Text { text, .. }) = blocks.last_mut() {
        text.push('\n');
        text.push_str(more);
    } else {
        blocks.push(MessageBlock::text(more));
    }
}

fn call_text(call: &CallBlock) -> String {
    let written: Value = json!({"name": call.tool, "arguments": call.input});
    format!("<tool_call>\n{written}\n</tool_call>")
}

fn push_result(blocks: &mut Vec<MessageBlock>, result: &[MessageBlock]) {
    let mut words = String::new();
    let mut beside = Vec::new();
    for block in result {
        match block {
            MessageBlock::Text { text, .. } => words.push_str(text),
            other => beside.push(other.clone()),
        }
    }
    let words = words.replace(RESULT_END, RESULT_END_INSIDE);
    push_text(blocks, &format!("<tool_response>\n{words}\n{RESULT_END}"));
    blocks.extend(beside);
}
