//! `query_base`: the rows of a view of an Obsidian base.

use async_trait::async_trait;
use jiff::tz::TimeZone;
use serde::Deserialize;
use weir_core::tool::{Effects, PathAccess, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ToolContext};
use weir_engine::workspace::Workspace;
use weir_notes::base::{BaseQuery, BaseTable, FileTimes, VaultTimes, parse_base, run_query};

use crate::built::{ActionTool, tool_spec};
use crate::draft::plan_blocking;
use crate::search_by_tag::vault_notes;
use crate::vault::{self, NoteVault};
use crate::{run_blocking, text};

const ROWS_DEFAULT: usize = 100;
const ROWS_MAX: usize = 2_000;

pub(crate) struct QueryBase;

/// How rows are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum RowFormat {
    /// A Markdown table.
    #[default]
    Table,
    /// JSON.
    Json,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// The `.base` file.
    path: String,
    /// Name of the view; default: the first.
    #[serde(default)]
    view: Option<String>,
    /// Path of the note that `this` means; default: the base.
    #[serde(default)]
    this: Option<String>,
    /// `table` (default) or `json`.
    #[serde(default)]
    output: RowFormat,
    /// Most rows; default 100, at most 2000.
    #[serde(default)]
    limit: Option<usize>,
}

#[async_trait]
impl ActionTool for QueryBase {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            parallel_safe: true,
            ..tool_spec(
                "query_base",
                ToolGroup::Vault,
                "Works out a view of an Obsidian .base file over the vault: filters, formulas, \
                 groups, order, limit, summaries.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let workspace = cx.workspace.clone();
        plan_blocking(move || {
            let at = workspace.resolve(&input.path, PathAccess::Read);
            let mut plan = vault::asking_plan(&workspace, format!("Query the base {}", at.path));
            if let Err(why) = workspace.stat_entry(&at) {
                plan = plan.with_failure(why.to_string());
            }
            plan.effects.paths.insert(0, at);
            plan
        })
        .await
    }

    async fn run_call(input: Input, effects: &Effects, cx: &ToolContext) -> RawResult {
        if let Err(why) = vault::require_vault(effects) {
            return RawResult::error(why);
        }
        let Some(at) = effects.paths.first().cloned() else {
            return RawResult::error("the call has no path");
        };
        let (workspace, now) = (cx.workspace.clone(), cx.now.clone());
        let worked = run_blocking(move || {
            let yaml = vault::read_text(&workspace, &at)?;
            let base = parse_base(&yaml).map_err(|why| format!("{}: {why}", at.path))?;
            let times = WorkspaceTimes { workspace: &workspace, zone: now.time_zone().clone() };
            vault::ask_vault(&workspace, |vault| {
                let this = match input.this.as_deref() {
                    Some(name) => {
                        let number =
                            vault.require_note(name).map_err(|why| format!("this: {why}"))?;
                        vault.index().name_table().path_of(number).to_owned()
                    }
                    None => at.path.clone(),
                };
                let query = BaseQuery {
                    index: vault.index(),
                    times: &times,
                    view: input.view.as_deref(),
                    this: Some(&this),
                    now: &now,
                };
                let table =
                    run_query(&base, &query).map_err(|why| format!("{}: {why}", at.path))?;
                Ok(describe_table(vault, table, &input))
            })?
        });
        match worked.await {
            Ok(Ok(shown)) => {
                let summary = shown.lines().next().unwrap_or_default().to_owned();
                RawResult::ok(shown).with_summary(summary)
            }
            Ok(Err(why)) | Err(why) => RawResult::error(why),
        }
    }
}

/// Times as the disk has them, in the person's zone.
struct WorkspaceTimes<'a> {
    workspace: &'a Workspace,
    zone: TimeZone,
}

impl VaultTimes for WorkspaceTimes<'_> {
    fn file_times(&self, path: &str) -> Option<FileTimes> {
        let at = self.workspace.resolve(path, PathAccess::Read);
        let about = self.workspace.open_file(&at).ok()?.metadata().ok()?;
        let local = |time: std::time::SystemTime| {
            let moment = jiff::Timestamp::try_from(time).ok()?;
            Some(self.zone.to_datetime(moment))
        };
        let modified = local(about.modified().ok()?)?;
        // Not every file system says when a file was made.
        let created = about.created().ok().and_then(local).unwrap_or(modified);
        Some(FileTimes { created, modified })
    }
}

fn describe_table(vault: &NoteVault, mut table: BaseTable, input: &Input) -> String {
    let limit = input.limit.unwrap_or(ROWS_DEFAULT).clamp(1, ROWS_MAX);
    let mut left = limit;
    let mut shown = 0;
    for group in &mut table.groups {
        group.rows.truncate(left);
        left -= group.rows.len();
        shown += group.rows.len();
    }
    table.groups.retain(|group| !group.rows.is_empty());
    let mut said = format!("{}: {}", table.view, text::count_noun(table.total, "file"));
    if shown < table.total {
        said.push_str(&format!(", {shown} shown"));
    }
    said.push('\n');
    match input.output {
        RowFormat::Table => said.push_str(&table.to_markdown()),
        RowFormat::Json => said.push_str(&table.to_json().to_string()),
    }
    for note in table.problems.iter().map(|why| format!("[{why}]")).chain(vault_notes(vault)) {
        said.push_str(&format!("\n{note}"));
    }
    said.trim_end().to_owned()
}
