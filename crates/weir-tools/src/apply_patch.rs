//! `apply_patch`: a unified diff over several files, all or nothing.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::tool::{Effects, FileState, PathAccess, PathEffect, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, FileContent, ToolContext};
use weir_engine::workspace::{FileError, Workspace};

use crate::built::{EditTool, NewContents, tool_spec};
use crate::draft::{self, EDIT_BYTES_MAX, PlanDraft, plan_blocking};
use crate::patch::{self, FilePatch};
use crate::stored_text::{self, StoredText};
use crate::text;

/// Failures that are named in a message.
const ERRORS_SHOWN: usize = 10;

pub(crate) struct ApplyPatch;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// As git diff prints it. `/dev/null` creates or deletes; `rename from` and `rename to` move.
    patch: String,
}

#[async_trait]
impl EditTool for ApplyPatch {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            keeps_result: true,
            ..tool_spec(
                "apply_patch",
                ToolGroup::Edit,
                "Applies a unified diff to one or more files: all of it or, if any hunk does not \
                 fit, nothing. Line numbers may be off, context and removed lines must match \
                 exactly.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let workspace = cx.workspace.clone();
        plan_blocking(move || plan_patch(&input, &workspace)).await
    }

    fn report_result(_: &Input, effects: &Effects, _: &NewContents) -> String {
        let lines: Vec<String> = effects
            .changes
            .iter()
            .map(|change| match (&change.before, &change.after) {
                (FileState::Absent, _) => format!("created {}", change.path),
                (_, FileState::Absent) => format!("deleted {}", change.path),
                (_, _) => format!("changed {}", change.path),
            })
            .collect();
        let count = text::count_noun(lines.len(), "file");
        format!("Applied the patch to {count}\n{}", text::bullet_list(&lines, usize::MAX))
    }
}

/// One path while the patch is applied in memory.
struct PatchedPath {
    before: FileContent,
    now: FileContent,
}

/// All paths that the patch names, as they become.
struct PatchTree<'a> {
    workspace: &'a Workspace,
    held: BTreeMap<String, PatchedPath>,
    draft: PlanDraft,
}

fn plan_patch(input: &Input, workspace: &Workspace) -> CallPlan {
    let files = match patch::parse_patch(&input.patch) {
        Ok(files) => files,
        Err(why) => return PlanDraft::default().into_failing_plan("Apply a patch", why),
    };
    let mut tree = PatchTree { workspace, held: BTreeMap::new(), draft: PlanDraft::default() };
    let errors: Vec<String> =
        files.iter().filter_map(|file| tree.apply_file_patch(file).err()).collect();
    let summary = format!("Apply a patch to {}", text::count_noun(files.len(), "file"));
    let PatchTree { held, draft, .. } = tree;
    if !errors.is_empty() {
        let shown = errors.iter().take(ERRORS_SHOWN).cloned().collect::<Vec<_>>().join("\n");
        let more = match errors.len().saturating_sub(ERRORS_SHOWN) {
            0 => String::new(),
            n => format!("\n… and {n} more failures"),
        };
        return draft.into_failing_plan(
            summary,
            format!("The patch does not apply; nothing was changed.\n{shown}{more}"),
        );
    }
    // Declared and applied in the order of paths, whatever the patch's own.
    let mut draft = PlanDraft::default();
    for (path, PatchedPath { before, now }) in &held {
        let access = match (before, now) {
            (FileContent::Absent, _) => PathAccess::Create,
            (_, FileContent::Absent) => PathAccess::Delete,
            (_, _) => PathAccess::Write,
        };
        draft.add_change(workspace.resolve(path, access), before, now);
    }
    if draft.is_empty() {
        return draft.into_failing_plan(
            summary,
            "The patch leaves every file as it is; there is nothing to do",
        );
    }
    draft.into_plan(summary)
}

impl PatchTree<'_> {
    fn apply_file_patch(&mut self, file: &FilePatch) -> Result<(), String> {
        let old = file.old.as_deref().map(|path| self.load_path(path, file.new.is_none()));
        let new = file.new.as_deref().map(|path| self.load_path(path, false));
        match (old, new) {
            (None, Some(new)) => self.create_file(&new?, file),
            (Some(old), None) => self.delete_file(&old?, file),
            (Some(old), Some(new)) => self.change_file(&old?, &new?, file),
            (None, None) => Ok(()),
        }
    }

    /// Declares a path and reads it, once.
    fn load_path(&mut self, path: &str, deletes: bool) -> Result<String, String> {
        let access = if deletes { PathAccess::Delete } else { PathAccess::Write };
        let at: PathEffect = self.workspace.resolve(path, access);
        let key = at.path.clone();
        if self.held.contains_key(&key) {
            return Ok(key);
        }
        let content = match self.workspace.read_current(&at, EDIT_BYTES_MAX) {
            Err(FileError::NotFound { .. }) => Ok(FileContent::Absent),
            content => content,
        };
        // What is created is declared as that alone, or a rule for changes would ask for it.
        let absent = matches!(content, Ok(FileContent::Absent));
        self.draft.touch(match absent {
            true => self.workspace.resolve(path, PathAccess::Create),
            false => at,
        });
        let before = content.map_err(|why| why.to_string())?;
        self.held.insert(key.clone(), PatchedPath { now: before.clone(), before });
        Ok(key)
    }

    fn current_content(&self, path: &str) -> &FileContent {
        self.held.get(path).map_or(&FileContent::Absent, |held| &held.now)
    }

    fn set_content(&mut self, path: &str, content: FileContent) {
        if let Some(held) = self.held.get_mut(path) {
            held.now = content;
        }
    }

    fn current_bytes(&self, path: &str) -> Result<(&[u8], u32), String> {
        match self.current_content(path) {
            FileContent::File { bytes, mode } => Ok((bytes, *mode)),
            FileContent::Absent => Err(draft::describe_missing(
                self.workspace,
                &self.workspace.resolve(path, PathAccess::Read),
            )),
            other => Err(draft::not_a_file(path, other)),
        }
    }

    fn create_file(&mut self, path: &str, file: &FilePatch) -> Result<(), String> {
        if *self.current_content(path) != FileContent::Absent {
            return Err(format!("{path} exists already, but the patch creates it"));
        }
        let bytes = patch::apply_hunks(path, b"", &file.hunks)?;
        self.set_content(path, draft::file_content(bytes, &FileContent::Absent));
        Ok(())
    }

    fn delete_file(&mut self, path: &str, file: &FilePatch) -> Result<(), String> {
        let (bytes, _) = self.current_bytes(path)?;
        let left = patched_bytes(path, bytes, file)?;
        if !StoredText::of_file(&left)?.plain().is_empty() {
            return Err(format!(
                "{path}: the patch deletes the file but leaves {} of it; use delete_file",
                text::count_noun(stored_text::count_lines(&left), "line")
            ));
        }
        self.set_content(path, FileContent::Absent);
        Ok(())
    }

    fn change_file(&mut self, old: &str, new: &str, file: &FilePatch) -> Result<(), String> {
        let (bytes, mode) = self.current_bytes(old)?;
        let bytes = patched_bytes(old, bytes, file)?.into();
        if old != new {
            if *self.current_content(new) != FileContent::Absent {
                return Err(format!("{new} exists already, but the patch moves {old} there"));
            }
            self.set_content(old, FileContent::Absent);
        }
        self.set_content(new, FileContent::File { bytes, mode });
        Ok(())
    }
}

/// The bytes of a file after its hunks, in the form that it had.
fn patched_bytes(path: &str, bytes: &[u8], file: &FilePatch) -> Result<Vec<u8>, String> {
    if file.hunks.is_empty() {
        return Ok(bytes.to_vec());
    }
    let stored = StoredText::of_file(bytes).map_err(|why| format!("{path}: {why}"))?;
    if stored.is_binary() {
        return Err(format!("{path} is a binary file; a patch cannot change it"));
    }
    stored.store(patch::apply_hunks(path, stored.plain(), &file.hunks)?)
}
