//! `unmark_note_as_memory_source`: a note is memory no more. Facts that the person accepted from it stay
//! theirs, and only they forget them.

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::memory::MemoryStatus;
use weir_core::tool::{Effects, PathAccess, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ToolContext};
use weir_engine::workspace::Workspace;
use weir_notes::note::parse_note;
use weir_notes::properties::{PropertyChange, change_properties};

use crate::built::{EditTool, NewContents, tool_spec};
use crate::draft::{self, PlanDraft, plan_blocking};
use crate::get_frontmatter::note_effect;
use crate::memory_note::PROPERTY;
use crate::text;

pub(crate) struct UnmarkNoteAsMemorySource;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct UnmarkNoteAsMemorySourceInput {
    /// The note; `.md` may be left out.
    path: String,
}

#[async_trait]
impl EditTool for UnmarkNoteAsMemorySource {
    type Input = UnmarkNoteAsMemorySourceInput;

    fn spec() -> ToolSpec {
        ToolSpec {
            deferred: true,
            keeps_result: true,
            ..tool_spec(
                "unmark_note_as_memory_source",
                ToolGroup::Edit,
                "Takes the mark of memory from a note. Facts that the person accepted stay theirs.",
            )
        }
    }

    async fn plan_call(input: UnmarkNoteAsMemorySourceInput, cx: &ToolContext) -> CallPlan {
        let workspace = cx.workspace.clone();
        plan_blocking(move || plan_unmark(&input, &workspace)).await
    }

    fn report_result(
        input: &UnmarkNoteAsMemorySourceInput,
        effects: &Effects,
        _: &NewContents,
    ) -> String {
        let path = effects.paths.first().map_or(input.path.as_str(), |at| at.path.as_str());
        match effects.changes.is_empty() {
            true => format!("{path} is not marked as memory"),
            false => format!("{path} is no memory any more"),
        }
    }

    async fn describe_aftermath(
        input: UnmarkNoteAsMemorySourceInput,
        _: &Effects,
        cx: &ToolContext,
    ) -> String {
        let (at, _) = note_effect(&cx.workspace, &input.path, PathAccess::Read);
        let facts = cx.knows.facts_from_files().await.unwrap_or_default();
        let of_note = facts.iter().filter(|fact| fact.fact.source.file.as_ref() == Some(&at.path));
        let kept: Vec<&str> = of_note
            .filter(|fact| fact.fact.status == MemoryStatus::Kept)
            .map(|fact| fact.id.as_str())
            .collect();
        match kept.is_empty() {
            true => String::new(),
            false => format!(
                "\n{} accepted from it stay until the person forgets them: weir memory forget {}",
                text::count_noun(kept.len(), "fact"),
                kept.join(" ")
            ),
        }
    }
}

fn plan_unmark(input: &UnmarkNoteAsMemorySourceInput, workspace: &Workspace) -> CallPlan {
    let (at, fails) = note_effect(workspace, &input.path, PathAccess::Write);
    let summary = format!("Take the mark of memory from {}", at.path);
    let mut draft = PlanDraft::default();
    draft.touch(at.clone());
    if let Some(why) = fails {
        return draft.into_failing_plan(summary, why);
    }
    let (before, note) = match draft::read_text_to_change(workspace, &at) {
        Ok(found) => found,
        Err(why) => return draft.into_failing_plan(summary, why),
    };
    if !parse_note(&note).properties.contains_key(PROPERTY) {
        return draft.into_plan(summary);
    }
    match change_properties(&note, &[PropertyChange::Remove { name: PROPERTY.into() }]) {
        Ok(new) => {
            let after = draft::file_content(new.into_bytes(), &before);
            draft.add_change(at, &before, &after);
            draft.into_plan(summary)
        }
        Err(why) => draft.into_failing_plan(summary, format!("{}: {why}", at.path)),
    }
}
