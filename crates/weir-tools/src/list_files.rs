//! `list_files`: what is in a folder.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use weir_core::tool::{Access, Effects, Group, PathEffect, Raw, ToolSpec};
use weir_engine::ports::{Plan, ToolContext};
use weir_engine::workspace::{Entry, EntryKind, FileError, WalkOptions, Workspace};

use crate::built::{Act, spec};
use crate::draft::{planning, reading};
use crate::{blocking, text};

const LIMIT_DEFAULT: usize = 500;
const LIMIT_MAX: usize = 5_000;

pub(crate) struct ListFiles;

#[derive(Debug, Deserialize, JsonSchema)]
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
impl Act for ListFiles {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            parallel_safe: true,
            ..spec::<Input>(
                "list_files",
                Group::Read,
                "Lists a folder: paths sorted by name, folders with a trailing slash, files with \
                 their size. To find files by name use glob, by content search_files.",
            )
        }
    }

    async fn plan(input: Input, cx: &ToolContext) -> Plan {
        let workspace = cx.workspace.clone();
        planning(move || {
            let (at, fails) = folder(&workspace, input.path.as_deref(), input.recursive);
            let below = if input.recursive { " and below" } else { "" };
            let summary = format!("List {}{below}", at.path);
            reading(at, summary, fails)
        })
        .await
    }

    async fn act(input: Input, effects: &Effects, cx: &ToolContext) -> Raw {
        let Some(at) = effects.paths.first().cloned() else {
            return Raw::error("the call has no path");
        };
        let workspace = cx.workspace.clone();
        let listed = blocking(move || list(&workspace, &at, &input)).await;
        match listed {
            Ok(Ok((text, summary))) => Raw::ok(text).with_summary(summary),
            Ok(Err(why)) => Raw::error(why.to_string()),
            Err(why) => Raw::error(why),
        }
    }
}

/// The effect of looking into a folder, and why that would fail.
pub(crate) fn folder(
    workspace: &Workspace,
    path: Option<&str>,
    recursive: bool,
) -> (PathEffect, Option<String>) {
    let path = path.unwrap_or(".");
    let at = match recursive {
        true => workspace.resolve_tree(path, Access::List),
        false => workspace.resolve(path, Access::List),
    };
    let fails = match workspace.entry(&at) {
        Ok(entry) if entry.kind == EntryKind::Folder => None,
        Ok(_) => Some(format!("{} is a file, not a folder; read_file shows it", at.path)),
        Err(why) => Some(why.to_string()),
    };
    (at, fails)
}

fn list(
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
    let mut lines: Vec<String> = walk.entries.iter().map(line).collect();
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

fn line(entry: &Entry) -> String {
    match entry.kind {
        EntryKind::Folder => format!("{}/", entry.path),
        EntryKind::File => format!("{}  {}", entry.path, text::size(entry.bytes)),
        EntryKind::Link => format!("{}  (link)", entry.path),
        EntryKind::Other => format!("{}  (device, socket or pipe)", entry.path),
    }
}
