//! `list_files`: what is in a folder.

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::tool::{Effects, PathAccess, PathEffect, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ToolContext};
use weir_engine::workspace::{EntryKind, FileError, WalkOptions, Workspace, WorkspaceEntry};

use crate::built::{ActionTool, tool_spec};
use crate::draft::{plan_blocking, reading_plan};
use crate::{run_blocking, text};

const LIMIT_DEFAULT: usize = 500;
const LIMIT_MAX: usize = 5_000;

pub(crate) struct ListFiles;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Folder; default: the workspace.
    #[serde(default)]
    path: Option<String>,
    /// Go into subfolders, leaving out what .gitignore names.
    #[serde(default)]
    recursive: bool,
    /// Most entries; default 500, at most 5000.
    #[serde(default)]
    limit: Option<usize>,
}

#[async_trait]
impl ActionTool for ListFiles {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            parallel_safe: true,
            ..tool_spec(
                "list_files",
                ToolGroup::Read,
                "Lists a folder: paths sorted by name, folders with a trailing slash, files with \
                 their size. To find files by name use glob, by content search_files.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let workspace = cx.workspace.clone();
        plan_blocking(move || {
            let (at, fails) = folder_effect(&workspace, input.path.as_deref(), input.recursive);
            let below = if input.recursive { " and below" } else { "" };
            let summary = format!("List {}{below}", at.path);
            reading_plan(at, summary, fails)
        })
        .await
    }

    async fn run_call(input: Input, effects: &Effects, cx: &ToolContext) -> RawResult {
        let Some(at) = effects.paths.first().cloned() else {
            return RawResult::error("the call has no path");
        };
        let workspace = cx.workspace.clone();
        let listed = run_blocking(move || list_folder(&workspace, &at, &input)).await;
        match listed {
            Ok(Ok((text, summary))) => RawResult::ok(text).with_summary(summary),
            Ok(Err(why)) => RawResult::error(why.to_string()),
            Err(why) => RawResult::error(why),
        }
    }
}

/// The effect of looking into a folder, and why that would fail.
pub(crate) fn folder_effect(
    workspace: &Workspace,
    path: Option<&str>,
    recursive: bool,
) -> (PathEffect, Option<String>) {
    let path = path.unwrap_or(".");
    let at = match recursive {
        true => workspace.resolve_tree(path, PathAccess::List),
        false => workspace.resolve(path, PathAccess::List),
    };
    let fails = match workspace.stat_entry(&at) {
        Ok(entry) if entry.kind == EntryKind::Folder => None,
        Ok(_) => Some(format!("{} is a file, not a folder; read_file shows it", at.path)),
        Err(why) => Some(why.to_string()),
    };
    (at, fails)
}

fn list_folder(
    workspace: &Workspace,
    at: &PathEffect,
    input: &Input,
) -> Result<(String, String), FileError> {
    let limit = input.limit.unwrap_or(LIMIT_DEFAULT).clamp(1, LIMIT_MAX);
    let options = WalkOptions {
        recursive: input.recursive,
        respect_gitignore: input.recursive,
        hidden: true,
        max_entries: limit,
    };
    let walk = workspace.walk(at, options)?;
    let count = walk.entries.len();
    if count == 0 {
        return Ok((format!("{} is empty", at.path), "0 entries".into()));
    }
    let mut lines: Vec<String> = walk.entries.iter().map(entry_line).collect();
    let mut summary = if count == 1 { "1 entry".into() } else { format!("{count} entries") };
    if walk.truncated {
        lines.push(format!(
            "[the first {count} entries; there are more: list a subfolder, raise limit (at most \
             {LIMIT_MAX}) or use glob]"
        ));
        summary.push_str(", cut");
    }
    Ok((lines.join("\n"), summary))
}

fn entry_line(entry: &WorkspaceEntry) -> String {
    match entry.kind {
        EntryKind::Folder => format!("{}/", entry.path),
        EntryKind::File => format!("{}  {}", entry.path, text::size_text(entry.bytes)),
        EntryKind::Link => format!("{}  (link)", entry.path),
        EntryKind::Other => format!("{}  (device, socket or pipe)", entry.path),
    }
}
