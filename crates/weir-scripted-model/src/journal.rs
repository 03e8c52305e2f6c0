//! A recorded session as a script (V7), so that what a model once said can be played again offline.

use std::fmt::Write as _;

use serde_json::Value;
use weir_core::message::{CallBlock, MessageBlock};
use weir_core::model::{StopReason, Usage};

/// Makes a script of a journal's facts, in the form of the outside contract: one JSON object each
/// with its `kind`. Facts that no model said are left out; `model.retried` becomes an error before
/// the reply. Played against the same tools and files, the script gives the same session.
///
/// What the journal does not hold cannot come back: the bytes of pictures (a dot stands for each)
/// and the exact text of arguments that were no JSON.
pub fn from_journal<'a>(facts: impl IntoIterator<Item = &'a Value>) -> String {
    let mut out = String::from("# Made from a journal.\n");
    let mut body = String::new();
    let mut errors = String::new();
    let (mut condensed, mut model) = (false, None);
    for fact in facts {
        match fact["kind"].as_str().unwrap_or_default() {
            "session.opened" => model = model.or_else(|| fact["model"].as_str()),
            "context.condensed" => condensed = true,
            "model.retried" => {
                let class = fact["class"].as_str().unwrap_or_default();
                let message = fact["message"].as_str().unwrap_or_default();
                let _ = writeln!(errors, "error: {}", fault_text(class, message));
            }
            "model.replied" => {
                body.push('\n');
                body.push_str(&std::mem::take(&mut errors));
                write_reply(fact, &mut body);
            }
            _ => {}
        }
    }
    if let Some(model) = model.filter(|model| !model.contains(['\n', '#'])) {
        // Of a script's own model only the name is a name; the rest said that it was scripted.
        let name = model.strip_prefix("script/").unwrap_or(model);
        let _ = writeln!(out, "name: {name}");
    }
    if condensed {
        // Condensing shortens the history, so replies can no longer be counted in it.
        out.push_str("order: requests\n");
    }
    if body.is_empty() && errors.is_empty() {
        body = format!("\nsays: {}\n", super::SCRIPT_ENDED);
    } else if !errors.is_empty() {
        // The session ended while its last request was failing.
        let _ = write!(body, "\n{errors}");
    }
    out.push_str(&body);
    out
}

/// The `error:` value that makes a failure of this class.
fn fault_text(class: &str, message: &str) -> String {
    let status = match class {
        "rate_limited" => "429",
        "overloaded" => "529",
        "auth" => "401",
        "not_found" => "404",
        "invalid_request" => "400",
        "network" => return "network".to_owned(),
        "stream_cut" => return "cut".to_owned(),
        // Played again, a stream that stopped would be waited for as long as the first time.
        "timeout" => return "cut".to_owned(),
        "context_overflow" => return "overflow".to_owned(),
        "refused" => return "safety".to_owned(),
        _ => "500",
    };
    let words: Vec<&str> =
        message.split_whitespace().filter(|word| !word.contains(['#', '"'])).collect();
    format!("{status} {}", words.join(" ")).trim_end().to_owned()
}

fn write_reply(fact: &Value, out: &mut String) {
    let content: Vec<MessageBlock> = match &fact["content"] {
        Value::Array(list) => {
            list.iter().filter_map(|block| serde_json::from_value(block.clone()).ok()).collect()
        }
        _ => Vec::new(),
    };
    let mut ids = Vec::new();
    let before = out.len();
    for block in &content {
        match block {
            MessageBlock::Text { text, .. } => write_text_line("says", text, out),
            MessageBlock::Thinking { text, .. } => write_text_line("think", text, out),
            MessageBlock::Call(call) => {
                ids.push(call.wire_id.as_str());
                write_call(call, out);
            }
            MessageBlock::Image { media } | MessageBlock::Document { media } => {
                let _ = writeln!(
                    out,
                    "# {} of {} bytes: {}",
                    media.media_type, media.bytes, media.blob
                );
                out.push_str("image: dot\n");
            }
            MessageBlock::Result { .. } => {}
        }
    }
    if out.len() == before {
        out.push_str("says:\n");
    }
    let plain = |id: &&str| !id.is_empty() && !id.contains([',', '#', '\n']) && id.trim() == *id;
    if !ids.is_empty() && ids.iter().all(plain) {
        let _ = writeln!(out, "call-ids: {}", ids.join(", "));
    }
    if let Ok(usage) = serde_json::from_value::<Usage>(fact["usage"].clone()) {
        let _ = writeln!(
            out,
            "usage: input={} output={} cache_read={} cache_write={} reasoning={}",
            usage.input, usage.output, usage.cache_read, usage.cache_write, usage.reasoning
        );
    }
    match serde_json::from_value::<StopReason>(fact["stop"].clone()) {
        Ok(StopReason::MaxTokens) => out.push_str("stop: max_tokens\n"),
        Ok(StopReason::Refusal) => out.push_str("stop: refusal\n"),
        // A script has nobody who cuts it off: it says as much and ends.
        Ok(StopReason::End | StopReason::Interrupted) => out.push_str("stop: end\n"),
        Ok(StopReason::Calls) => out.push_str("stop: calls\n"),
        Err(_) => {}
    }
}

fn write_call(call: &CallBlock, out: &mut String) {
    if let Some(broken) = &call.broken {
        let broken = broken.replace(['\n', '\r'], " ");
        let _ = writeln!(out, "# its arguments were no JSON object: {broken}");
        let _ = writeln!(out, "raw-arguments: {} {{broken", tool_name(&call.tool));
    } else {
        let _ = writeln!(out, "calls: {} {}", tool_name(&call.tool), call.input);
    }
}

/// A name as it stands, or as a JSON string when it is no single word.
fn tool_name(tool: &str) -> String {
    let odd = |c: char| c.is_whitespace() || matches!(c, '{' | '"');
    if tool.is_empty() || tool.contains(odd) {
        Value::from(tool).to_string()
    } else {
        tool.to_owned()
    }
}

/// A text in the form that reads best and still comes back exactly.
fn write_text_line(word: &str, text: &str, out: &mut String) {
    let odd = text.is_empty()
        || text == "|"
        || text.contains('\r')
        || text.trim_start() != text
        || text.split('\n').any(|line| line.trim_end() != line)
        || text.ends_with('\n');
    if odd {
        let _ = writeln!(out, "{word}-json: {}", Value::from(text));
    } else if text.contains('\n') {
        let _ = writeln!(out, "{word}: |");
        for line in text.split('\n') {
            let _ = if line.is_empty() { writeln!(out) } else { writeln!(out, "  {line}") };
        }
    } else {
        let _ = writeln!(out, "{word}: {text}");
    }
}
