//! `get_frontmatter`: the properties of a note, with their types.

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::tool::{Effects, PathAccess, PathEffect, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ToolContext};
use weir_engine::workspace::{EntryKind, Workspace};
use weir_notes::note::parse_note;
use weir_notes::properties::PropertyKind;

use crate::built::{ActionTool, tool_spec};
use crate::draft::{plan_blocking, reading_plan};
use crate::read_file::absent_reason;
use crate::{run_blocking, text, vault};

pub(crate) struct GetFrontmatter;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// The note; `.md` may be left out.
    path: String,
}

#[async_trait]
impl ActionTool for GetFrontmatter {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            parallel_safe: true,
            ..tool_spec(
                "get_frontmatter",
                ToolGroup::Vault,
                "Shows the properties of a note: a line each with name, type and value as JSON, \
                 and its inline tags.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let workspace = cx.workspace.clone();
        plan_blocking(move || {
            let (at, fails) = note_effect(&workspace, &input.path, PathAccess::Read);
            let summary = format!("Read the properties of {}", at.path);
            reading_plan(at, summary, fails)
        })
        .await
    }

    async fn run_call(_: Input, effects: &Effects, cx: &ToolContext) -> RawResult {
        let Some(at) = effects.paths.first().cloned() else {
            return RawResult::error("the call has no path");
        };
        let workspace = cx.workspace.clone();
        match run_blocking(move || describe_note(&workspace, &at)).await {
            Ok(Ok(shown)) => {
                let summary = shown.lines().next().unwrap_or_default().to_owned();
                RawResult::ok(shown).with_summary(summary)
            }
            Ok(Err(why)) | Err(why) => RawResult::error(why),
        }
    }
}

/// The note that is meant by a path, with or without its ending; and why there is none.
pub(crate) fn note_effect(
    workspace: &Workspace,
    path: &str,
    access: PathAccess,
) -> (PathEffect, Option<String>) {
    let at = workspace.resolve(path, access);
    let whole = workspace.resolve(&format!("{}.md", path.trim_end_matches('/')), access);
    match workspace.stat_entry(&at) {
        Ok(entry) if entry.kind == EntryKind::Folder && workspace.stat_entry(&whole).is_err() => {
            let why = format!("{} is a folder; name a note in it", at.path);
            (at, Some(why))
        }
        Ok(entry) if entry.kind != EntryKind::Folder => (at, None),
        Ok(_) => (whole, None),
        Err(_) if workspace.stat_entry(&whole).is_ok() => (whole, None),
        Err(why) => {
            let why = absent_reason(&at.path, &why);
            (at, Some(why))
        }
    }
}

fn describe_note(workspace: &Workspace, at: &PathEffect) -> Result<String, String> {
    let facts = parse_note(&vault::read_text(workspace, at)?);
    if let Some(why) = facts.properties_error {
        return Err(format!(
            "the properties of {} cannot be read: {why}. read_file shows them; repair them with \
             edit_file",
            at.path
        ));
    }
    let mut lines = vec![match facts.properties.len() {
        0 => format!("{} has no properties", at.path),
        n => format!("{} has {n} {}", at.path, if n == 1 { "property" } else { "properties" }),
    }];
    for (name, value) in &facts.properties {
        lines.push(format!("{name} ({}): {value}", PropertyKind::of_value(value).as_str()));
    }
    let mut tags: Vec<String> = facts
        .tags
        .iter()
        .filter(|tag| tag.at.is_some())
        .map(|tag| format!("#{}", tag.name))
        .collect();
    tags.sort();
    tags.dedup();
    if !tags.is_empty() {
        lines.push(format!(
            "{} in the text: {}",
            text::count_noun(tags.len(), "tag"),
            tags.join(" ")
        ));
    }
    Ok(lines.join("\n"))
}
