//! `list_memory_source_notes`: the notes that are marked as memory, and how much of each the person
//! accepted. Not here: what the facts say, which `recall_memory` finds.

use std::fmt::Write as _;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value;
use weir_core::memory::{MemoryFact, MemoryStatus};
use weir_core::tool::{Effects, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ToolContext};
use weir_engine::workspace::Workspace;
use weir_notes::resolve::FileNumber;

use crate::built::{ActionTool, tool_spec};
use crate::draft::plan_blocking;
use crate::memory_note::{self, PROPERTY};
use crate::vault;
use crate::{run_blocking, text};

/// So many notes are shown.
const SHOWN_MAX: usize = 200;

pub(crate) struct ListMemorySourceNotes;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct ListMemorySourceNotesInput {}

#[async_trait]
impl ActionTool for ListMemorySourceNotes {
    type Input = ListMemorySourceNotesInput;

    fn spec() -> ToolSpec {
        ToolSpec {
            deferred: true,
            parallel_safe: true,
            ..tool_spec(
                "list_memory_source_notes",
                ToolGroup::Vault,
                "Lists notes that are marked as memory: how many of their statements the person \
                 accepted, which wait, and which are new.",
            )
        }
    }

    async fn plan_call(_: ListMemorySourceNotesInput, cx: &ToolContext) -> CallPlan {
        let workspace = cx.workspace.clone();
        let summary = "List notes that are memory".to_owned();
        plan_blocking(move || vault::asking_plan(&workspace, summary)).await
    }

    async fn run_call(
        _: ListMemorySourceNotesInput,
        effects: &Effects,
        cx: &ToolContext,
    ) -> RawResult {
        if let Err(why) = vault::require_vault(effects) {
            return RawResult::error(why);
        }
        let facts = cx.knows.facts_from_files().await.unwrap_or_default();
        let workspace = cx.workspace.clone();
        match run_blocking(move || list_notes(&workspace, &facts)).await {
            Ok(Ok((shown, count))) => {
                RawResult::ok(shown).with_summary(text::count_noun(count, "note"))
            }
            Ok(Err(why)) | Err(why) => RawResult::error(why),
        }
    }
}

fn list_notes(workspace: &Workspace, facts: &[MemoryFact]) -> Result<(String, usize), String> {
    let marked: Vec<String> = vault::ask_vault(workspace, |vault| {
        let index = vault.index();
        let is_marked = |number: &FileNumber| {
            let marked = index.record_of(*number).and_then(|record| record.property(PROPERTY));
            marked == Some(Value::Bool(true))
        };
        let having = index.notes_with_property(PROPERTY).into_iter().filter(is_marked);
        having.map(|number| index.name_table().path_of(number).to_owned()).collect()
    })?;
    if marked.is_empty() {
        let none = "No note is marked as memory; mark_note_as_memory_source marks one.";
        return Ok((none.into(), 0));
    }
    let mut shown = String::new();
    for path in marked.iter().take(SHOWN_MAX) {
        let _ = writeln!(shown, "{}", describe_note(workspace, path, facts));
    }
    if marked.len() > SHOWN_MAX {
        let _ = writeln!(shown, "… and {} more", marked.len() - SHOWN_MAX);
    }
    Ok((shown.trim_end().to_owned(), marked.len()))
}

fn describe_note(workspace: &Workspace, path: &str, facts: &[MemoryFact]) -> String {
    let at = workspace.resolve(path, weir_core::tool::PathAccess::Read);
    let note = match vault::read_text(workspace, &at) {
        Ok(note) => note,
        Err(why) => return format!("- {path}: {why}"),
    };
    let statements = memory_note::statements_of(&note).statements;
    let of_note = |fact: &&MemoryFact| fact.fact.source.file.as_deref() == Some(path);
    let of_note: Vec<&MemoryFact> = facts.iter().filter(of_note).collect();
    let with = |status: MemoryStatus| {
        let is = |fact: &&&MemoryFact| fact.fact.status == status;
        of_note.iter().filter(is).count()
    };
    let is_known = |text: &str| of_note.iter().any(|fact| fact.fact.text == text);
    let new = statements.iter().filter(|one| !is_known(&one.text)).count();
    let stands = |fact: &&&MemoryFact| statements.iter().any(|one| one.text == fact.fact.text);
    let gone = of_note.len() - of_note.iter().filter(stands).count();
    let mut line = format!(
        "- {path}: {}; {} accepted, {} waiting, {new} new",
        text::count_noun(statements.len(), "statement"),
        with(MemoryStatus::Kept),
        with(MemoryStatus::Proposed),
    );
    if gone > 0 {
        let _ = write!(line, "; {} no longer in it", text::count_noun(gone, "fact"));
    }
    line
}
