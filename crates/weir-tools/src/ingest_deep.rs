//! `ingest_deep`: notes from many sources, merged with those that exist. What is there stays to the byte;
//! statements, contradictions and links are added below headings of their own. Sides of a contradiction
//! stand beside each other with their sources, and none is chosen.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value};
use weir_core::tool::{Effects, PathAccess, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, FileContent, ToolContext};
use weir_notes::properties::{PropertyChange, change_properties};

use crate::built::{EditTool, NewContents, tool_spec};
use crate::draft::{self, EDIT_BYTES_MAX, PlanDraft};
use crate::ingest::{
    FoundQuote, NOTES_MAX, QUOTES_MAX, SOURCES_MAX, STATEMENTS_MAX, SourceShelf, StatementEvidence,
    refusal, statement_problem,
};
use crate::ingest_document::{note_path, refused_text};
use crate::merge_note::{MergedNote, MergedStatement, merge_into};
use crate::{run_blocking, text};

pub(crate) struct IngestDeep;

#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct IngestDeepInput {
    notes: Vec<DeepNote>,
}

#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct DeepNote {
    /// Path of a note, new or not; `.md` may be left out.
    path: String,
    /// Properties by name, for a new note; `sources` is added.
    #[serde(default)]
    properties: Map<String, Value>,
    #[serde(default)]
    statements: Vec<DeepStatement>,
    #[serde(default)]
    contradictions: Vec<DeepContradiction>,
    /// Paths of notes that it belongs to: existing ones, or of this call.
    #[serde(default)]
    links: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct DeepStatement {
    /// One fact in your words.
    text: String,
    /// Passages that say it.
    evidence: Vec<StatementEvidence>,
}

#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct DeepContradiction {
    /// What the sources disagree about.
    question: String,
    /// Each with its own evidence; an existing note may be the source of one.
    sides: Vec<DeepStatement>,
}

#[async_trait]
impl EditTool for IngestDeep {
    type Input = IngestDeepInput;

    fn spec() -> ToolSpec {
        ToolSpec {
            deferred: true,
            keeps_result: true,
            ..tool_spec(
                "ingest_deep",
                ToolGroup::Edit,
                "Merges what many sources say into new and existing notes: statements with their \
                 passages, contradictions side by side with their sources, links. Passages that do \
                 not stand there are refused; what is in a note stays.",
            )
        }
    }

    async fn plan_call(input: IngestDeepInput, cx: &ToolContext) -> CallPlan {
        let mut plan = PlannedMerge::default();
        let summary = format!(
            "Merge sources into {}: {}",
            text::count_noun(input.notes.len(), "note"),
            text::one_line(&note_names(&input), 160)
        );
        if let Some(problem) = input_problem(&input) {
            return plan.draft.into_failing_plan(summary, problem);
        }
        let notes = match plan.check_notes(&input, cx).await {
            Ok(notes) => notes,
            Err(why) => return plan.draft.into_failing_plan(summary, why),
        };
        for (given, merged) in input.notes.iter().zip(&notes) {
            if let Err(why) = plan.add_note(given, merged, &input, cx) {
                return plan.draft.into_failing_plan(summary, why);
            }
        }
        let PlannedMerge { mut draft, refused } = plan;
        if draft.is_empty() {
            let why = match refused.is_empty() {
                true => "all of it stands in these notes already".to_owned(),
                false => format!("nothing of it can be added\n{}", refused_text(&refused)),
            };
            return draft.into_failing_plan(summary, why);
        }
        if !refused.is_empty() {
            draft.add_note(&format!("\n{}\n", refused_text(&refused)));
        }
        draft.into_plan(summary)
    }

    fn report_result(_: &IngestDeepInput, effects: &Effects, _: &NewContents) -> String {
        let paths: Vec<&str> = effects.changes.iter().map(|change| change.path.as_str()).collect();
        format!("Merged into {}: {}", text::count_noun(paths.len(), "note"), paths.join(", "))
    }

    async fn describe_aftermath(input: IngestDeepInput, _: &Effects, cx: &ToolContext) -> String {
        let mut plan = PlannedMerge::default();
        if plan.check_notes(&input, cx).await.is_err() {
            return String::new();
        }
        for note in &input.notes {
            plan.keep_links(note, &input, cx);
        }
        match plan.refused.is_empty() {
            true => String::new(),
            false => format!("\n{}", refused_text(&plan.refused)),
        }
    }
}

/// A plan while it is being made, and what of the call cannot be kept.
#[derive(Default)]
struct PlannedMerge {
    draft: PlanDraft,
    refused: Vec<String>,
}

fn note_names(input: &IngestDeepInput) -> String {
    input.notes.iter().map(|note| note.path.as_str()).collect::<Vec<_>>().join(", ")
}

fn all_evidence(input: &IngestDeepInput) -> impl Iterator<Item = &StatementEvidence> {
    input.notes.iter().flat_map(|note| {
        let sides = note.contradictions.iter().flat_map(|one| &one.sides);
        note.statements.iter().chain(sides).flat_map(|statement| &statement.evidence)
    })
}

fn input_problem(input: &IngestDeepInput) -> Option<String> {
    let count = |note: &DeepNote| {
        let sides: usize = note.contradictions.iter().map(|one| one.sides.len()).sum();
        note.statements.len() + sides
    };
    let statements: usize = input.notes.iter().map(count).sum();
    let mut paths: Vec<String> = input.notes.iter().map(|note| note_path(&note.path)).collect();
    paths.sort();
    if paths.windows(2).any(|pair| pair.first() == pair.last()) {
        return Some("a note is named twice: put all of it into one".into());
    }
    let mut sources: Vec<&str> = all_evidence(input).map(|given| given.source.trim()).collect();
    sources.sort_unstable();
    sources.dedup();
    let quotes = all_evidence(input).count();
    if quotes > QUOTES_MAX {
        return Some(format!("{quotes} passages are too many at once; at most {QUOTES_MAX}"));
    }
    match (input.notes.len(), statements, sources.len()) {
        (0, _, _) => Some("give notes".into()),
        (notes, _, _) if notes > NOTES_MAX => {
            Some(format!("{notes} notes are too many at once; at most {NOTES_MAX}"))
        }
        (_, statements, _) if statements > STATEMENTS_MAX => {
            Some(format!("{statements} statements are too many at once; at most {STATEMENTS_MAX}"))
        }
        (_, _, sources) if sources > SOURCES_MAX => {
            Some(format!("{sources} sources are too many at once; at most {SOURCES_MAX}"))
        }
        _ => input.notes.iter().find_map(|note| {
            let reserved = note.properties.contains_key("sources");
            reserved.then(|| "the property sources is set by this tool; leave it out".to_owned())
        }),
    }
}

/// What of each note can be kept, and what is refused.
fn checked_notes(input: &IngestDeepInput, shelf: &SourceShelf) -> (Vec<MergedNote>, Vec<String>) {
    let mut refused = Vec::new();
    let mut notes = Vec::new();
    for note in &input.notes {
        let mut take = |statements: &[DeepStatement]| -> Vec<MergedStatement> {
            let check = |one: &DeepStatement| check_statement(note, one, shelf, &mut refused);
            statements.iter().filter_map(check).collect()
        };
        let statements = take(&note.statements);
        let mut contradictions: Vec<(String, Vec<MergedStatement>)> = note
            .contradictions
            .iter()
            .map(|one| (one.question.clone(), take(&one.sides)))
            .collect();
        contradictions.retain(|(question, sides)| {
            let problem = match sides.len() {
                0 | 1 => Some("it needs two sides with evidence".to_owned()),
                _ => statement_problem(question),
            };
            refused.extend(problem.iter().map(|why| refusal(&note.path, question, why)));
            problem.is_none()
        });
        notes.push(MergedNote { statements, contradictions });
    }
    (notes, refused)
}

/// A statement with the passages that stand where they are said to stand; `None`: it has none.
fn check_statement(
    note: &DeepNote,
    statement: &DeepStatement,
    shelf: &SourceShelf,
    refused: &mut Vec<String>,
) -> Option<MergedStatement> {
    let mut refuse = |why: &str| refused.push(refusal(&note.path, &statement.text, why));
    if let Some(problem) = statement_problem(&statement.text) {
        refuse(&problem);
        return None;
    }
    if statement.evidence.is_empty() {
        refuse("it has no evidence");
        return None;
    }
    let mut quotes: Vec<FoundQuote> = Vec::new();
    for given in &statement.evidence {
        match shelf.check_quote(given) {
            Ok(found) if quotes.contains(&found) => {}
            Ok(found) => quotes.push(found),
            Err(why) => refuse(&why),
        }
    }
    (!quotes.is_empty()).then(|| MergedStatement { text: statement.text.clone(), quotes })
}

impl PlannedMerge {
    /// What of each note can be kept. Reads the sources.
    async fn check_notes(
        &mut self,
        input: &IngestDeepInput,
        cx: &ToolContext,
    ) -> Result<Vec<MergedNote>, String> {
        let mut shelf = SourceShelf::new(cx);
        let sources: Vec<String> = all_evidence(input).map(|given| given.source.clone()).collect();
        for source in sources {
            shelf.take_source(&source, &mut self.draft, cx).await;
        }
        let input = input.clone();
        let (notes, refused) = run_blocking(move || checked_notes(&input, &shelf)).await?;
        self.refused.extend(refused);
        Ok(notes)
    }

    /// The links of a note that lead somewhere.
    fn keep_links(
        &mut self,
        note: &DeepNote,
        input: &IngestDeepInput,
        cx: &ToolContext,
    ) -> Vec<String> {
        let made: Vec<String> = input.notes.iter().map(|note| note_path(&note.path)).collect();
        let mut kept = Vec::new();
        for link in &note.links {
            let path = note_path(link);
            let at = cx.workspace.resolve(&path, PathAccess::Read);
            let is_there = at.ignored.is_none() && cx.workspace.stat_entry(&at).is_ok();
            if made.contains(&path) {
                kept.push(path);
            } else if is_there {
                kept.push(at.path.clone());
                self.draft.touch(at);
            } else {
                let why = "there is no such note to link to";
                self.refused.push(refusal(&note.path, link, why));
            }
        }
        kept
    }

    fn add_note(
        &mut self,
        given: &DeepNote,
        merged: &MergedNote,
        input: &IngestDeepInput,
        cx: &ToolContext,
    ) -> Result<(), String> {
        let links = self.keep_links(given, input, cx);
        let (at, before) = draft::at_for_writing(&cx.workspace, &note_path(&given.path));
        self.draft.touch(at.clone());
        if self.draft.changes_path(&at.path) {
            return Err(format!("{} is named twice: put all of it into one", at.path));
        }
        let before = before.map_err(|why| why.to_string())?;
        let old = match &before {
            FileContent::Absent => String::new(),
            FileContent::File { bytes, .. } => {
                let old = std::str::from_utf8(bytes).map(str::to_owned);
                old.map_err(|_| format!("{} is no text in UTF-8", at.path))?
            }
            other => return Err(draft::not_a_file(&at.path, other)),
        };
        let body = merge_into(&old, merged, &links);
        if body == old {
            return Ok(());
        }
        let mut changes: Vec<PropertyChange> = Vec::new();
        if matches!(before, FileContent::Absent) {
            let set = |(name, value): (&String, &Value)| PropertyChange::Set {
                name: name.clone(),
                value: value.clone(),
            };
            changes.extend(given.properties.iter().map(set));
        }
        changes.extend(merged.sources_change(&old));
        let changed = match changes.is_empty() {
            true => Ok(body),
            false => change_properties(&body, &changes),
        };
        let new = changed.map_err(|why| format!("{}: {why}", at.path))?;
        if new.len() as u64 > EDIT_BYTES_MAX {
            return Err(format!("{} would become too long", at.path));
        }
        let after = draft::file_content(new.into_bytes(), &before);
        self.draft.add_change(at, &before, &after);
        Ok(())
    }
}
