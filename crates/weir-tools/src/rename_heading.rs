//! `rename_heading`: another name for a heading or an alias; links that name it follow.

use std::cell::RefCell;
use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::record::sha256_hex;
use weir_core::tool::{Effects, PathAccess, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ToolContext};
use weir_engine::workspace::Workspace;
use weir_notes::renaming::{NoteTexts, RenamePlan, RenamedPart, plan_rename};

use crate::built::{EditTool, NewContents, tool_spec};
use crate::draft::{PlanDraft, plan_blocking};
use crate::vault_links::{describe_rewritten, draft_rewritten, rewrite_notes};
use crate::{text, vault};

pub(crate) struct RenameHeading;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Path, title or alias of the note.
    note: String,
    /// The heading, without `#`; `Above#Heading` where several are called so. Not with `alias`.
    #[serde(default)]
    heading: Option<String>,
    /// An alias of the note, in place of a heading.
    #[serde(default)]
    alias: Option<String>,
    /// The new name.
    to: String,
}

#[async_trait]
impl EditTool for RenameHeading {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            keeps_result: true,
            deferred: true,
            ..tool_spec(
                "rename_heading",
                ToolGroup::Edit,
                "Renames a heading of a note, or an alias, and rewrites every link of the vault \
                 that names it, as one change.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let workspace = cx.workspace.clone();
        plan_blocking(move || plan_renaming(&input, &workspace)).await
    }

    fn report_result(input: &Input, effects: &Effects, _: &NewContents) -> String {
        let old = input.heading.as_deref().or(input.alias.as_deref()).unwrap_or_default();
        let renamed = format!("Renamed {old} to {}", input.to.trim());
        match effects.changes.len() {
            0 => format!("{old} has that name already"),
            1 => renamed,
            n => format!("{renamed}; {} changed", text::count_noun(n, "note")),
        }
    }
}

fn plan_renaming(input: &Input, workspace: &Workspace) -> CallPlan {
    let mut draft = PlanDraft::default();
    draft.touch(vault::vault_effect(workspace));
    let note = text::one_line(&input.note, 80);
    let (part, what) = match (&input.heading, &input.alias) {
        (Some(heading), None) => (RenamedPart::Heading(heading), "heading"),
        (None, Some(alias)) => (RenamedPart::Alias(alias), "alias"),
        (None, None) | (Some(_), Some(_)) => {
            let why = "give either heading or alias";
            return draft.into_failing_plan(format!("Rename in {note}"), why);
        }
    };
    let to = text::one_line(&input.to, 80);
    let summary = format!("Rename the {what} of {note} to {to}");
    let notes = rewrite_notes(workspace, |vault| {
        let number = vault.require_note(&input.note)?;
        let texts = IndexedTexts { workspace, vault, read: RefCell::default() };
        plan_rename(vault.index(), &RenamePlan { note: number, part, to: &input.to }, &texts)
    });
    match notes {
        Ok(mut notes) => {
            let summary = summary + &describe_rewritten(&notes);
            draft_rewritten(workspace, &mut notes, &BTreeMap::new(), &mut draft);
            draft.into_plan(summary)
        }
        Err(why) => draft.into_failing_plan(summary, why),
    }
}

/// Texts as they were indexed.
struct IndexedTexts<'a> {
    workspace: &'a Workspace,
    vault: &'a vault::NoteVault,
    read: RefCell<BTreeMap<String, String>>,
}

impl NoteTexts for IndexedTexts<'_> {
    fn note_text(&self, path: &str) -> Result<String, String> {
        if let Some(known) = self.read.borrow().get(path) {
            return Ok(known.clone());
        }
        let text =
            vault::read_text(self.workspace, &self.workspace.resolve(path, PathAccess::Read))?;
        let index = self.vault.index();
        let indexed = index.find_file(path).map(|(number, _)| index.hash_of(number));
        if indexed != Some(sha256_hex(text.as_bytes())) {
            return Err(format!("{path} changed while its links were looked at; try again"));
        }
        self.read.borrow_mut().insert(path.to_owned(), text.clone());
        Ok(text)
    }
}
