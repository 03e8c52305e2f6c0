//! `mark_note_as_memory_source`: proposes what stands in a note to the person, fact by fact, and marks
//! the note as memory. Nothing of it is told in a session before they accepted it, whatever the mark
//! says. It sees its permit, since it changes a file and remembers. Not here: what a statement is (`memory_note`).

use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value;
use weir_core::governance::Permit;
use weir_core::governance::label::{Label, of_result};
use weir_core::memory::{IMPORTANCE_DEFAULT, MemoryKind, MemoryStatus};
use weir_core::tool::{
    EffectClass, Effects, PathAccess, RawResult, ResultEffect, ToolGroup, ToolSpec,
};
use weir_engine::ports::{CallPlan, MemoryRequest, Tool, ToolContext};
use weir_engine::workspace::Workspace;
use weir_notes::properties::{PropertyChange, change_properties};

use crate::built::{BuiltInTool, empty_plan, parse_input, tool_spec};
use crate::draft::{self, PlanDraft, plan_blocking};
use crate::get_frontmatter::note_effect;
use crate::mark_for_memory::MemoryFactKind;
use crate::memory_note::{self, NoteStatement};
use crate::{run_blocking, text};

/// Most facts that one call proposes.
const FACTS_MAX: usize = 30;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct MarkNoteAsMemorySourceInput {
    /// The note; `.md` may be left out.
    path: String,
    /// What its facts are about; default: project, which is this workspace.
    #[serde(default)]
    kind: Option<MemoryFactKind>,
    /// Skip so many of its statements: for a note with more than 30.
    #[serde(default)]
    offset: usize,
}

struct MarkNoteAsMemorySource {
    spec: ToolSpec,
}

/// The tool as the engine knows it.
pub(crate) fn mark_note_tool() -> Arc<dyn BuiltInTool> {
    let spec = ToolSpec {
        deferred: true,
        keeps_result: true,
        ..tool_spec(
            "mark_note_as_memory_source",
            ToolGroup::Edit,
            "Marks a note as memory: its statements are proposed to the person as facts for later \
             sessions. Call it again when the note has changed.",
        )
    };
    Arc::new(MarkNoteAsMemorySource { spec })
}

#[async_trait]
impl Tool for MarkNoteAsMemorySource {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn plan_call(&self, input: &Value, cx: &ToolContext) -> CallPlan {
        let input: MarkNoteAsMemorySourceInput = match parse_input(input) {
            Ok(input) => input,
            Err(why) => return empty_plan("Arguments that cannot be used").with_failure(why),
        };
        let workspace = cx.workspace.clone();
        plan_blocking(move || plan_mark(&input, &workspace)).await
    }

    async fn run(&self, permit: Permit, cx: &ToolContext) -> RawResult {
        let input: MarkNoteAsMemorySourceInput = match parse_input(permit.input()) {
            Ok(input) => input,
            Err(why) => return RawResult::error(why),
        };
        // Facts first: a mark on the disk then says that they wait, whenever the program ends.
        let told = propose_statements(&input, permit.effects(), cx).await;
        if !told.ok {
            return told;
        }
        let (workspace, contents) = (cx.workspace.clone(), cx.contents.clone());
        let applied =
            run_blocking(move || workspace.apply_permitted_changes(&permit, &contents)).await;
        let why = match applied {
            Ok(Ok(changed)) => return RawResult { changed, ..told },
            Ok(Err(refused)) => format!("The note is not marked: {refused}"),
            Err(why) => format!("The note may not be marked: {why}"),
        };
        let proposed = weir_core::message::plain_text(&told.blocks);
        RawResult { news: told.news, ..RawResult::error(format!("{why}. {proposed}")) }
    }
}

#[async_trait]
impl BuiltInTool for MarkNoteAsMemorySource {
    #[cfg(test)]
    fn derived_schema(&self) -> Value {
        crate::schema::input_schema::<MarkNoteAsMemorySourceInput>()
    }

    #[cfg(test)]
    async fn play_call(&self, input: &Value, plan: CallPlan, cx: &ToolContext) -> RawResult {
        let input: MarkNoteAsMemorySourceInput = match parse_input(input) {
            Ok(input) => input,
            Err(why) => return RawResult::error(why),
        };
        let told = propose_statements(&input, &plan.effects, cx).await;
        if told.ok {
            let made = cx.workspace.apply_changes(&plan.effects.changes, &plan.contents);
            assert!(made.is_ok(), "{made:?}");
        }
        told
    }
}

fn plan_mark(input: &MarkNoteAsMemorySourceInput, workspace: &Workspace) -> CallPlan {
    let (at, fails) = note_effect(workspace, &input.path, PathAccess::Write);
    let summary = format!("Mark {} as memory", at.path);
    let mut draft = PlanDraft::default();
    draft.touch(at.clone());
    if let Some(why) = fails {
        return draft.into_failing_plan(summary, why);
    }
    let (before, note) = match draft::read_text_to_change(workspace, &at) {
        Ok(found) => found,
        Err(why) => return draft.into_failing_plan(summary, why),
    };
    let chosen = chosen_statements(&note, input.offset);
    if chosen.is_empty() {
        let why = format!("{} has no statements that could be remembered", at.path);
        return draft.into_failing_plan(summary, why);
    }
    if !memory_note::is_marked(&note) {
        let set =
            PropertyChange::Set { name: memory_note::PROPERTY.into(), value: Value::Bool(true) };
        match change_properties(&note, &[set]) {
            Ok(new) => {
                let after = draft::file_content(new.into_bytes(), &before);
                draft.add_change(at, &before, &after);
            }
            Err(why) => return draft.into_failing_plan(summary, format!("{}: {why}", at.path)),
        }
    }
    let facts: Vec<String> = chosen.into_iter().map(|one| one.text).collect();
    draft.add_note(&format!("Proposed as facts:\n{}\n", text::bullet_list(&facts, FACTS_MAX)));
    let mut plan = draft.into_plan(summary);
    plan.effects.remembers = facts;
    if plan.effects.changes.is_empty() {
        // The store knows a fact by its words: said twice it is said once.
        plan.class = EffectClass::Keyed;
    }
    plan
}

fn chosen_statements(note: &str, offset: usize) -> Vec<NoteStatement> {
    memory_note::statements_of(note).statements.into_iter().skip(offset).take(FACTS_MAX).collect()
}

/// What became of the statements of a note.
#[derive(Default)]
struct ProposedFacts {
    news: Vec<ResultEffect>,
    waiting: usize,
    kept: usize,
    /// What a person said no to, or has otherwise.
    settled: usize,
    /// Why the others could not be proposed.
    failed: Vec<String>,
}

/// Proposes what was judged and still stands in the note.
pub(crate) async fn propose_statements(
    input: &MarkNoteAsMemorySourceInput,
    effects: &Effects,
    cx: &ToolContext,
) -> RawResult {
    let Some(at) = effects.paths.first().cloned() else {
        return RawResult::error("the call has no path");
    };
    let (path, workspace) = (at.path.clone(), cx.workspace.clone());
    let read = run_blocking(move || crate::vault::read_text(&workspace, &at)).await;
    let note = match read.and_then(|read| read) {
        Ok(note) => note,
        Err(why) => return RawResult::error(why),
    };
    let label = of_result(effects);
    let mut facts = ProposedFacts::default();
    for statement in chosen_statements(&note, input.offset) {
        if effects.remembers.contains(&statement.text) {
            let wish = memory_request(statement, input, &path, label.clone());
            facts.propose(wish, cx).await;
        }
    }
    if facts.waiting + facts.kept + facts.settled == 0 && !facts.failed.is_empty() {
        let why = text::bullet_list(&facts.failed, 5);
        return RawResult::error(format!("Nothing was proposed, and {path} is not marked:\n{why}"));
    }
    let all = memory_note::statements_of(&note);
    let rest = all.statements.len().saturating_sub(input.offset + FACTS_MAX);
    let mut told = format!(
        "Of the {} of {path}: {} for the person, who accepts each with `weir memory accept`; {} kept \
         already; {} settled before.",
        text::count_noun(all.statements.len(), "statement"),
        match facts.waiting {
            1 => "1 waits".to_owned(),
            more => format!("{more} wait"),
        },
        facts.kept,
        facts.settled,
    );
    if rest > 0 {
        told.push_str(&format!(" {rest} more: go on with offset {}.", input.offset + FACTS_MAX));
    }
    if all.too_long > 0 {
        told.push_str(&format!(" {} too long for a fact: shorten them.", all.too_long));
    }
    if !facts.failed.is_empty() {
        told.push_str(&format!("\nNot proposed:\n{}", text::bullet_list(&facts.failed, 5)));
    }
    let summary = format!("{} proposed", text::count_noun(facts.waiting, "fact"));
    RawResult { news: facts.news, ..RawResult::ok(told).with_summary(summary) }
}

fn memory_request(
    statement: NoteStatement,
    input: &MarkNoteAsMemorySourceInput,
    path: &str,
    label: Label,
) -> MemoryRequest {
    MemoryRequest {
        text: statement.text,
        kind: input.kind.map_or(MemoryKind::Project, MemoryKind::from),
        topics: statement.topics,
        importance: IMPORTANCE_DEFAULT,
        file: Some(path.to_owned()),
        replaces: None,
        label,
    }
}

impl ProposedFacts {
    async fn propose(&mut self, wish: MemoryRequest, cx: &ToolContext) {
        let shown = text::one_line(&wish.text, 60);
        match cx.knows.remember_fact(cx.call, wish).await {
            Ok(note) => {
                match note.status {
                    MemoryStatus::Proposed => self.waiting += 1,
                    MemoryStatus::Kept => self.kept += 1,
                    MemoryStatus::Rejected | MemoryStatus::Forgotten | MemoryStatus::Superseded => {
                        self.settled += 1;
                        return;
                    }
                }
                self.news.push(ResultEffect::Remembered { note });
            }
            Err(why) => self.failed.push(format!("\u{201c}{shown}\u{201d}: {why}")),
        }
    }
}
