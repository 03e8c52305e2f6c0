//! `apply_patch`: a unified diff over several files, all or nothing.

use std::collections::BTreeMap;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use weir_core::tool::{Access, Effects, Group, Image, PathEffect, ToolSpec};
use weir_engine::ports::{Content, Plan, ToolContext};
use weir_engine::workspace::{FileError, Workspace};

use crate::built::{Contents, Edit, spec};
use crate::draft::{self, Draft, EDIT_BYTES_MAX, planning};
use crate::patch::{self, FilePatch};
use crate::text;

/// Failures that are named in a message.
const ERRORS_SHOWN: usize = 10;

pub(crate) struct ApplyPatch;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// As git diff prints it. `/dev/null` creates or deletes; `rename from` and `rename to` move.
    patch: String,
}

#[async_trait]
impl Edit for ApplyPatch {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            keeps_result: true,
            ..spec::<Input>(
                "apply_patch",
                Group::Edit,
                "Applies a unified diff to one or more files: all of it or, if any hunk does not \
                 fit, nothing. Line numbers may be off, context and removed lines must match \
                 exactly.",
            )
        }
    }

    async fn plan(input: Input, cx: &ToolContext) -> Plan {
        let workspace = cx.workspace.clone();
        planning(move || plan(&input, &workspace)).await
    }

    fn report(_: &Input, effects: &Effects, _: &Contents) -> String {
        let lines: Vec<String> = effects
            .changes
            .iter()
            .map(|change| match (&change.before, &change.after) {
                (Image::Absent, _) => format!("created {}", change.path),
                (_, Image::Absent) => format!("deleted {}", change.path),
                (_, _) => format!("changed {}", change.path),
            })
            .collect();
        let count = text::count(lines.len(), "file");
        format!("Applied the patch to {count}\n{}", text::bullets(&lines, usize::MAX))
    }
}

/// One path while the patch is applied in memory.
struct Held {
    before: Content,
    now: Content,
}

/// All paths that the patch names, as they become.
struct Tree<'a> {
    workspace: &'a Workspace,
    held: BTreeMap<String, Held>,
    draft: Draft,
}

fn plan(input: &Input, workspace: &Workspace) -> Plan {
    let files = match patch::parse(&input.patch) {
        Ok(files) => files,
        Err(why) => return Draft::default().fail("Apply a patch", why),
    };
    let mut tree = Tree { workspace, held: BTreeMap::new(), draft: Draft::default() };
    let errors: Vec<String> = files.iter().filter_map(|file| tree.apply(file).err()).collect();
    let summary = format!("Apply a patch to {}", text::count(files.len(), "file"));
    let Tree { held, draft, .. } = tree;
    if !errors.is_empty() {
        let shown = errors.iter().take(ERRORS_SHOWN).cloned().collect::<Vec<_>>().join("\n");
        let more = match errors.len().saturating_sub(ERRORS_SHOWN) {
            0 => String::new(),
            n => format!("\n… and {n} more failures"),
        };
        return draft.fail(
            summary,
            format!("The patch does not apply; nothing was changed.\n{shown}{more}"),
        );
    }
    // Declared and applied in the order of paths, whatever the patch's own.
    let mut draft = Draft::default();
    for (path, Held { before, now }) in &held {
        let access = match (before, now) {
            (Content::Absent, _) => Access::Create,
            (_, Content::Absent) => Access::Delete,
            (_, _) => Access::Write,
        };
        draft.change(workspace.resolve(path, access), before, now);
    }
    if draft.is_empty() {
        return draft.fail(summary, "The patch leaves every file as it is; there is nothing to do");
    }
    draft.plan(summary)
}

impl Tree<'_> {
    fn apply(&mut self, file: &FilePatch) -> Result<(), String> {
        let old = file.old.as_deref().map(|path| self.hold(path, file.new.is_none()));
        let new = file.new.as_deref().map(|path| self.hold(path, false));
        match (old, new) {
            (None, Some(new)) => self.create(&new?, file),
            (Some(old), None) => self.delete(&old?, file),
            (Some(old), Some(new)) => self.change(&old?, &new?, file),
            (None, None) => Ok(()),
        }
    }

    /// Declares a path and reads it, once.
    fn hold(&mut self, path: &str, deletes: bool) -> Result<String, String> {
        let access = if deletes { Access::Delete } else { Access::Write };
        let at: PathEffect = self.workspace.resolve(path, access);
        let key = at.path.clone();
        if self.held.contains_key(&key) {
            return Ok(key);
        }
        let content = match self.workspace.read(&at, EDIT_BYTES_MAX) {
            Err(FileError::NotFound { .. }) => Ok(Content::Absent),
            content => content,
        };
        // What is created is declared as that alone, or a rule for changes would ask for it.
        let absent = matches!(content, Ok(Content::Absent));
        self.draft.touch(match absent {
            true => self.workspace.resolve(path, Access::Create),
            false => at,
        });
        let before = content.map_err(|why| why.to_string())?;
        self.held.insert(key.clone(), Held { now: before.clone(), before });
        Ok(key)
    }

    fn now(&self, path: &str) -> &Content {
        self.held.get(path).map_or(&Content::Absent, |held| &held.now)
    }

    fn set(&mut self, path: &str, content: Content) {
        if let Some(held) = self.held.get_mut(path) {
            held.now = content;
        }
    }

    fn bytes(&self, path: &str, file: &FilePatch) -> Result<(&[u8], u32), String> {
        match self.now(path) {
            Content::File { bytes, .. } if !file.hunks.is_empty() && draft::is_binary(bytes) => {
                Err(format!("{path} is a binary file; a patch cannot change it"))
            }
            Content::File { bytes, mode } => Ok((bytes, *mode)),
            Content::Absent => {
                Err(draft::missing(self.workspace, &self.workspace.resolve(path, Access::Read)))
            }
            other => Err(draft::not_a_file(path, other)),
        }
    }

    fn create(&mut self, path: &str, file: &FilePatch) -> Result<(), String> {
        if *self.now(path) != Content::Absent {
            return Err(format!("{path} exists already, but the patch creates it"));
        }
        let bytes = patch::apply(path, b"", &file.hunks)?;
        self.set(path, draft::file(bytes, &Content::Absent));
        Ok(())
    }

    fn delete(&mut self, path: &str, file: &FilePatch) -> Result<(), String> {
        let (bytes, _) = self.bytes(path, file)?;
        let left = patch::apply(path, bytes, &file.hunks)?;
        if !left.is_empty() {
            return Err(format!(
                "{path}: the patch deletes the file but leaves {} of it; use delete_file",
                text::count(left.split_inclusive(|byte| *byte == b'\n').count(), "line")
            ));
        }
        self.set(path, Content::Absent);
        Ok(())
    }

    fn change(&mut self, old: &str, new: &str, file: &FilePatch) -> Result<(), String> {
        let (bytes, mode) = self.bytes(old, file)?;
        let bytes = patch::apply(old, bytes, &file.hunks)?.into();
        if old != new {
            if *self.now(new) != Content::Absent {
                return Err(format!("{new} exists already, but the patch moves {old} there"));
            }
            self.set(old, Content::Absent);
        }
        self.set(new, Content::File { bytes, mode });
        Ok(())
    }
}
