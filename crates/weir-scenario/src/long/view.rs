//! A request as a person can read it: who says what, long texts by their beginning. For documents;
//! what is really sent are the bytes of a dialect.

use std::fmt::Write as _;

use weir_core::message::{MessageBlock, Role, plain_text};
use weir_core::model::ModelRequest;

/// Characters of a line, and lines of a text, that are shown.
const LINE_MAX: usize = 96;
const LINES_MAX: usize = 30;
/// Name of the workspace.
const WORKSPACE: &str = "/home/ada/loom";
/// Lines of a result that are shown.
const RESULT_LINES_MAX: usize = 2;

/// What the model sees: its messages and the tail. The workspace has another name in each play, and
/// one name here.
pub fn view(request: &ModelRequest, workspace: &str) -> String {
    let mut out = String::from("system   (the prompt and the tools)\n");
    for message in request.history.iter() {
        let who = match message.role {
            Role::User => "user",
            Role::Assistant => "model",
        };
        for block in &message.blocks {
            let (text, lines) = match block {
                MessageBlock::Text { text, .. } => (text.clone(), LINES_MAX),
                MessageBlock::Thinking { .. } => continue,
                MessageBlock::Call(call) => (format!("calls {} {}", call.tool, call.input), 1),
                MessageBlock::Result { call, blocks, .. } => {
                    (format!("result of {call}: {}", plain_text(blocks)), RESULT_LINES_MAX)
                }
                MessageBlock::Image { .. } | MessageBlock::Document { .. } => {
                    ("(a picture)".into(), 1)
                }
            };
            shown(&mut out, who, &text.replace(workspace, WORKSPACE), lines);
        }
    }
    if let Some(tail) = &request.tail {
        shown(&mut out, "tail", tail, LINES_MAX);
    }
    out
}

fn shown(out: &mut String, who: &str, text: &str, lines_max: usize) {
    let lines = text.trim_end().lines();
    let count = lines.clone().count();
    for (at, line) in lines.take(lines_max).enumerate() {
        let who = if at == 0 { who } else { "" };
        let cut: String = line.chars().take(LINE_MAX).collect();
        let more = if line.chars().count() > LINE_MAX { "…" } else { "" };
        let _ = writeln!(out, "{}", format!("{who:<8} {cut}{more}").trim_end());
    }
    if count > lines_max {
        let _ = writeln!(out, "         … {} more lines", count - lines_max);
    }
}
