//! A Jupyter notebook to Markdown: its cells in order, with what they printed. Pictures are named.

use serde_json::Value;
use weir_core::document::DocumentError;

use super::{ReadDocument, pieces_of};
use crate::broken_document;

/// Longest output of one cell that is shown, in bytes.
const OUTPUT_BYTES_MAX: usize = 8_000;

/// Reads a notebook.
pub(super) fn read_notebook(bytes: &[u8]) -> Result<ReadDocument, DocumentError> {
    let book: Value = serde_json::from_slice(bytes).map_err(broken_document)?;
    let cells = book["cells"].as_array().ok_or_else(|| broken_document("it has no cells"))?;
    let language = book["metadata"]["kernelspec"]["language"]
        .as_str()
        .or_else(|| book["metadata"]["language_info"]["name"].as_str())
        .unwrap_or_default();
    let mut blocks = Vec::new();
    let mut remarks = Vec::new();
    let outputs = cells.iter().filter_map(|cell| cell["outputs"].as_array()).flatten();
    let mut kinds = outputs.filter_map(|output| output["data"].as_object()).flat_map(|d| d.keys());
    if kinds.any(|kind| kind == "text/html" || kind.contains("javascript")) {
        remarks.push("outputs that are pages or scripts are left out and were not run".to_owned());
    }
    for cell in cells {
        let source = join_lines(&cell["source"]);
        match cell["cell_type"].as_str() {
            Some("code") => {
                blocks.push(fence_code(language, &source));
                for output in cell["outputs"].as_array().into_iter().flatten() {
                    blocks.push(output_text(output));
                }
            }
            Some("markdown") => blocks.push(source),
            _ => blocks.push(fence_code("", &source)),
        }
    }
    Ok(ReadDocument { format: "Jupyter", pages: pieces_of(blocks), remarks, cut: None })
}

/// A text, or a list of lines.
fn join_lines(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

fn fence_code(language: &str, text: &str) -> String {
    let fence = if text.contains("```") { "~~~~" } else { "```" };
    format!("{fence}{language}\n{}\n{fence}", text.trim_end())
}

fn output_text(output: &Value) -> String {
    let mut text = join_lines(&output["text"]);
    if text.is_empty() {
        text = join_lines(&output["data"]["text/plain"]);
    }
    if text.is_empty()
        && let Some(name) = output["ename"].as_str()
    {
        text = format!("{name}: {}", output["evalue"].as_str().unwrap_or_default());
    }
    let has_picture = output["data"]
        .as_object()
        .is_some_and(|data| data.keys().any(|kind| kind.starts_with("image/")));
    if text.len() > OUTPUT_BYTES_MAX {
        text.truncate(text.floor_char_boundary(OUTPUT_BYTES_MAX));
        text.push_str("\n…");
    }
    let picture = if has_picture { "\n\n(a picture)" } else { "" };
    match text.trim() {
        "" => picture.trim().to_owned(),
        text => format!("Output:\n\n{}{picture}", fence_code("", text)),
    }
}
