//! `extract_zip`: the files of a ZIP archive, as one planned change. What would leave the folder,
//! links and bombs are refused by the confined reader; what is there already is not replaced.

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::document::{DocumentRequest, DocumentResult, UnpackedFile};
use weir_core::tool::{Effects, PathAccess, ToolGroup, ToolSpec};
use weir_engine::attach::FILE_BYTES_MAX;
use weir_engine::ports::{CallPlan, FileContent, ToolContext};
use weir_engine::workspace::Workspace;

use crate::built::{EditTool, NewContents, tool_spec};
use crate::draft::{self, PlanDraft};
use crate::{run_blocking, text};

pub(crate) struct ExtractZip;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// ZIP archive in the workspace.
    path: String,
    /// Folder for its files; default: named as the archive.
    #[serde(default)]
    folder: Option<String>,
}

/// Most bytes and files of one archive.
const TOTAL_BYTES_MAX: u64 = 64 << 20;
const FILES_MAX: usize = 2_000;
/// Files that are named to who decides.
const SHOWN_MAX: usize = 200;

#[async_trait]
impl EditTool for ExtractZip {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            deferred: true,
            ..tool_spec(
                "extract_zip",
                ToolGroup::Edit,
                "Unpacks a ZIP archive into a folder (64 MB, 2000 files); never replaces files.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let at = cx.workspace.resolve(&input.path, PathAccess::Read);
        let mut draft = PlanDraft::default();
        draft.touch(at.clone());
        let path = at.path.clone();
        let summary = format!("Unpack {path}");
        let workspace = cx.workspace.clone();
        let read = run_blocking(move || workspace.read(&at, FILE_BYTES_MAX)).await;
        let bytes = match read {
            Ok(Ok(FileContent::File { bytes, .. })) => bytes,
            Ok(Ok(other)) => {
                let why = draft::not_a_file(&path, &other);
                return draft.into_failing_plan(summary, why);
            }
            Ok(Err(why)) => return draft.into_failing_plan(summary, why.to_string()),
            Err(why) => return draft.into_failing_plan(summary, why),
        };
        let wish = DocumentRequest::Unpack { bytes_max: TOTAL_BYTES_MAX, files_max: FILES_MAX };
        let files = match cx.documents.inspect_document(wish, bytes).await {
            Ok(DocumentResult::Unpacked { files }) => files,
            Ok(_) => return draft.into_failing_plan(summary, format!("{path} is no archive")),
            Err(why) => return draft.into_failing_plan(summary, format!("{path}: {why}")),
        };
        let folder = input.folder.unwrap_or_else(|| folder_of(&path));
        let workspace = cx.workspace.clone();
        let planned = run_blocking(move || {
            let shown = if folder.is_empty() { "the workspace" } else { folder.as_str() };
            let summary =
                format!("{summary} to {shown} ({})", text::count_noun(files.len(), "file"));
            match add_files(&mut draft, &workspace, &folder, files) {
                Ok(()) => draft.into_plan(summary),
                Err(why) => draft.into_failing_plan(summary, why),
            }
        });
        planned
            .await
            .unwrap_or_else(|why| PlanDraft::default().into_failing_plan("Unpack an archive", why))
    }

    fn report_result(_: &Input, effects: &Effects, _: &NewContents) -> String {
        let count = effects.changes.len();
        let names: Vec<&str> =
            effects.changes.iter().take(SHOWN_MAX).map(|change| change.path.as_str()).collect();
        let more = more_files(count).map(|more| format!("\n{more}")).unwrap_or_default();
        format!("Unpacked {}:\n{}{more}", text::count_noun(count, "file"), names.join("\n"))
    }
}

fn folder_of(path: &str) -> String {
    match path.rsplit_once('.') {
        Some((stem, ending)) if ending.eq_ignore_ascii_case("zip") && !stem.is_empty() => {
            stem.to_owned()
        }
        _ => format!("{path}-files"),
    }
}

/// A line for the files that are not named; `None`: all are.
fn more_files(count: usize) -> Option<String> {
    let more = count.checked_sub(SHOWN_MAX).filter(|more| *more > 0)?;
    Some(format!("… and {}", text::count_noun(more, "more file")))
}

/// Where a file goes; an empty folder is the workspace itself.
fn path_below(folder: &str, path: &str) -> String {
    match folder.trim_end_matches('/') {
        "" if folder.is_empty() => path.to_owned(),
        "" => format!("/{path}"),
        "." => path.to_owned(),
        folder => format!("{folder}/{path}"),
    }
}

fn add_files(
    draft: &mut PlanDraft,
    workspace: &Workspace,
    folder: &str,
    files: Vec<UnpackedFile>,
) -> Result<(), String> {
    if files.is_empty() {
        return Err("there are no files in it, so there is nothing to unpack".into());
    }
    let more = more_files(files.len());
    for (number, file) in files.into_iter().enumerate() {
        let path = path_below(folder, &file.path);
        let (at, before) = draft::at_for_writing(workspace, &path);
        if at.access != PathAccess::Create {
            draft.touch(at.clone());
            return Err(match before {
                Err(why) => why.to_string(),
                Ok(_) => format!("{} is there already; name another folder", at.path),
            });
        }
        if number < SHOWN_MAX {
            let size = text::size_text(file.bytes.len() as u64);
            draft.add_note(&format!("{}: new, {size}\n", at.path));
        }
        let after = draft::file_content(file.bytes, &FileContent::Absent);
        draft.change_unshown(at, &FileContent::Absent, &after);
    }
    if let Some(more) = more {
        draft.add_note(&format!("{more}\n"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k9_files_go_where_the_folder_says() {
        for (folder, path) in
            [("out", "out/a"), ("out/", "out/a"), ("", "a"), (".", "a"), ("./", "a"), ("/", "/a")]
        {
            assert_eq!(path_below(folder, "a"), path, "{folder}");
        }
        assert_eq!(more_files(SHOWN_MAX), None);
        assert_eq!(more_files(SHOWN_MAX + 2).as_deref(), Some("… and 2 more files"));
        assert_eq!(more_files(SHOWN_MAX + 1).as_deref(), Some("… and 1 more file"));
    }
}
