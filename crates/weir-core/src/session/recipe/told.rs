//! How the model is told what a step of a recipe gave. Not here: what it gave, and to later steps.

use crate::message::{MessageBlock, plain_text};

use super::super::CallState;
use super::super::pending::PendingBlocks;

/// Characters of a call's arguments that are told with its result.
const INPUT_CHARS_MAX: usize = 400;

/// The line above a result.
pub(super) fn result_heading(name: &str, step: u32, call: &CallState, how: &str) -> String {
    let input = call.written_input().to_string();
    let mut shown: String = input.chars().take(INPUT_CHARS_MAX).collect();
    if shown.len() < input.len() {
        shown.push('…');
    }
    format!("[recipe {name}, step {step}] {} {shown} -> {how}", call.tool)
}

/// Adds one result to what the model will be told: its text within marks that it cannot close
/// itself, then its pictures.
pub(super) fn push_result(
    head: &str,
    blocks: &[MessageBlock],
    max: usize,
    so_far: &mut usize,
    pending: &mut PendingBlocks,
) {
    let text = plain_text(blocks).replace("</result", "<\\/result");
    let chars = text.chars().count();
    let left = max.saturating_sub(*so_far);
    *so_far = so_far.saturating_add(chars.min(left));
    let shown = match text.char_indices().nth(left) {
        None => text.as_str(),
        Some((end, _)) => &text[..end],
    };
    let cut = match chars > left {
        true => format!("\n[cut here: {} more characters; read it again if needed]", chars - left),
        false => String::new(),
    };
    pending.push_composed(format!("{head}\n<result>\n{shown}{cut}\n</result>"));
    for block in blocks.iter().filter(|block| !matches!(block, MessageBlock::Text { .. })) {
        pending.push_recorded(block.clone());
    }
}
