//! `edit_file`: exact replacement of text in a file.
//!
//! Never by likeness: on a miss the nearest text is shown, and nothing is changed.

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::tool::{Effects, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, FileContent, ToolContext};
use weir_engine::sniff::{self, FileKind};
use weir_engine::workspace::Workspace;

use crate::built::{EditTool, NewContents, tool_spec};
use crate::draft::{self, PlanDraft, plan_blocking};
use crate::stored_text::{self, StoredText, has_crlf, with_crlf};
use crate::{nearest, text};

/// Places that are named in a message.
const PLACES_SHOWN: usize = 10;

pub(crate) struct EditFile;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// File to change.
    path: String,
    /// Text to replace, exactly as in the file: with white space, without line numbers.
    old_text: String,
    /// Text to put there; empty deletes.
    new_text: String,
    /// How often old_text must occur; all are replaced. Default 1.
    #[serde(default)]
    expected_replacements: Option<usize>,
}

#[async_trait]
impl EditTool for EditFile {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            keeps_result: true,
            ..tool_spec(
                "edit_file",
                ToolGroup::Edit,
                "Replaces text in a file. old_text must match exactly and occur exactly \
                 expected_replacements times: include enough lines around it to be unique. A miss \
                 changes nothing and shows the nearest text. The file's line ends are kept.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let workspace = cx.workspace.clone();
        plan_blocking(move || plan_edit(&input, &workspace)).await
    }

    fn report_result(input: &Input, effects: &Effects, contents: &NewContents) -> String {
        let path = effects.paths.first().map_or(input.path.as_str(), |at| at.path.as_str());
        let lines = contents.get(path).map_or(0, |bytes| stored_text::count_lines(bytes));
        format!(
            "Replaced {} in {path}; it now has {}",
            text::count_noun(input.expected_replacements.unwrap_or(1), "occurrence"),
            text::count_noun(lines, "line")
        )
    }
}

fn plan_edit(input: &Input, workspace: &Workspace) -> CallPlan {
    let (at, content) = draft::at_for_writing(workspace, &input.path);
    let path = at.path.clone();
    let mut draft = PlanDraft::default();
    draft.touch(at.clone());
    let summary = format!("Edit {path}");
    let before = match content {
        Ok(before) => before,
        Err(why) => return draft.into_failing_plan(summary, why.to_string()),
    };
    if before == FileContent::Absent {
        let missing = draft::describe_missing(workspace, &at);
        return draft
            .into_failing_plan(summary, format!("{missing}. To make a new file use write_file"));
    }
    let FileContent::File { bytes, .. } = &before else {
        return draft.into_failing_plan(summary, draft::not_a_file(&path, &before));
    };
    let stored = match StoredText::of_file(bytes) {
        Ok(stored) => stored,
        Err(why) => {
            let why = format!("{path} cannot be changed here: {why}");
            return draft.into_failing_plan(summary, why);
        }
    };
    if stored.is_binary() {
        let size = text::size_text(bytes.len() as u64);
        let what = match sniff::detect_file_kind(bytes) {
            FileKind::Binary(name) => name,
            FileKind::Text | FileKind::Image(_) | FileKind::Pdf => "binary data",
        };
        let why = format!(
            "{path} is {what} of {size}, not text that can be edited here; change it with a program \
             through run_shell"
        );
        return draft.into_failing_plan(summary, why);
    }
    let replaced = replace_exact(stored.plain(), input, &path);
    match replaced.and_then(|plain| stored.store(plain)) {
        Ok(new) => {
            let after = draft::file_content(new, &before);
            let n = input.expected_replacements.unwrap_or(1);
            draft.add_change(at, &before, &after);
            draft.into_plan(format!("Replace {} in {path}", text::count_noun(n, "occurrence")))
        }
        Err(message) => draft.into_failing_plan(summary, message),
    }
}

/// The new bytes, or what is wrong.
pub(crate) fn replace_exact(bytes: &[u8], input: &Input, path: &str) -> Result<Vec<u8>, String> {
    let expected = input.expected_replacements.unwrap_or(1).max(1);
    if input.old_text.is_empty() {
        return Err(
            "old_text is empty; to add text use append_to_file, to fill or replace a whole \
                    file write_file"
                .into(),
        );
    }
    if input.old_text == input.new_text {
        return Err("old_text and new_text are equal: nothing to change".into());
    }
    // Bytes that are not UTF-8 are edited as Latin-1, where each byte is one character: what is
    // not replaced stays as it is.
    let utf8 = std::str::from_utf8(bytes).is_ok();
    let wide = |bytes: &[u8]| -> String { bytes.iter().map(|byte| char::from(*byte)).collect() };
    let decode = |bytes: &[u8]| match std::str::from_utf8(bytes) {
        Ok(text) if utf8 => text.to_owned(),
        Ok(_) | Err(_) => wide(bytes),
    };
    let file = decode(bytes);
    let (old, new) = (decode(input.old_text.as_bytes()), decode(input.new_text.as_bytes()));
    let (old, new) = with_line_ends(&file, old, new);
    let places: Vec<usize> = file.match_indices(&old).map(|(place, _)| place).collect();
    if places.is_empty() {
        return Err(describe_miss(&file, &old, path));
    }
    if places.len() != expected {
        return Err(describe_miscount(&file, &places, expected, path));
    }
    let changed = file.replace(&old, &new);
    Ok(if utf8 {
        changed.into_bytes()
    } else {
        // Every character is one byte of the file or of the texts.
        changed.chars().map(|c| u8::try_from(c).unwrap_or(b'?')).collect()
    })
}

/// In a file with CRLF, line feeds of both texts mean its own line ends.
fn with_line_ends(file: &str, old: String, new: String) -> (String, String) {
    if !has_crlf(file) {
        return (old, new);
    }
    let old = if file.contains(&old) { old } else { with_crlf(&old) };
    (old, with_crlf(&new))
}

fn describe_miss(file: &str, old: &str, path: &str) -> String {
    let lines: Vec<&str> = file.lines().collect();
    let wanted: Vec<&str> = old.lines().collect();
    format!(
        "old_text does not occur in {path}; nothing was changed. {}",
        nearest::explain_nearest(&lines, &wanted)
    )
}

fn describe_miscount(file: &str, places: &[usize], expected: usize, path: &str) -> String {
    let mut numbers = Vec::new();
    let (mut line, mut from) = (1, 0);
    for place in places.iter().take(PLACES_SHOWN) {
        line += file[from..*place].matches('\n').count();
        from = *place;
        numbers.push(line.to_string());
    }
    let more = if places.len() > PLACES_SHOWN { ", …" } else { "" };
    format!(
        "old_text occurs {} in {path} (lines {}{more}), expected {expected}; nothing was changed. \
         Add lines around it until it is unique, or set expected_replacements: {} to replace all",
        if places.len() == 1 { "once".into() } else { format!("{} times", places.len()) },
        numbers.join(", "),
        places.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(file: &[u8], old: &str, new: &str) -> Result<Vec<u8>, String> {
        let input = Input {
            path: "x".into(),
            old_text: old.into(),
            new_text: new.into(),
            expected_replacements: None,
        };
        replace_exact(file, &input, "x")
    }

    #[test]
    fn crlf_files_keep_their_line_ends() {
        assert_eq!(edit(b"a\r\nb\r\n", "a\nb", "c\nd").as_deref(), Ok(&b"c\r\nd\r\n"[..]));
        assert_eq!(edit(b"a\r\nb\r\n", "a", "c\nd").as_deref(), Ok(&b"c\r\nd\r\nb\r\n"[..]));
    }

    #[test]
    fn latin_1_bytes_survive_an_edit_beside_them() {
        assert_eq!(edit(b"caf\xe9 old", "old", "new").as_deref(), Ok(&b"caf\xe9 new"[..]));
        assert_eq!(edit(b"\xe9 old", "old", "ä").as_deref(), Ok(&b"\xe9 \xc3\xa4"[..]));
    }
}
