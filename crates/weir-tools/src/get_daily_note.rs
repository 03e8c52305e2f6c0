//! `get_daily_note`: the note of a day, where Obsidian's own settings put it. On request it makes the
//! note, as Obsidian would begin it; else one that is not there is told with its path and that text.

use async_trait::async_trait;
use jiff::ToSpan;
use jiff::civil::{Date, DateTime};
use serde::Deserialize;
use weir_core::tool::{Effects, PathAccess, PathEffect, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, FileContent, ToolContext};
use weir_engine::workspace::Workspace;
use weir_notes::daily::{DAILY_SETTINGS, DailySettings, fill_template};

use crate::built::{EditTool, NewContents, empty_plan, tool_spec};
use crate::draft::{self, NEW_FILE_MODE, PlanDraft, plan_blocking, reading_plan};
use crate::{run_blocking, text, vault};

/// Longest text of a note that is shown; `read_file` pages the rest.
const NOTE_CHARS_MAX: usize = 20_000;

pub(crate) struct GetDailyNote;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// `today` (default), `yesterday`, `tomorrow` or `2026-01-31`.
    #[serde(default)]
    date: Option<String>,
    /// Make the note where there is none, by the vault's template.
    #[serde(default)]
    create: bool,
}

#[async_trait]
impl EditTool for GetDailyNote {
    type Input = Input;

    fn spec() -> ToolSpec {
        tool_spec(
            "get_daily_note",
            ToolGroup::Vault,
            "Shows the daily note of a day: its path by the vault's settings and its text. With \
             create it is made where there is none; else its path and the text to begin it with \
             are told.",
        )
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let (workspace, now) = (cx.workspace.clone(), cx.now.clone());
        plan_blocking(move || {
            let day = match parse_day(input.date.as_deref(), now.date()) {
                Ok(day) => day,
                Err(why) => return empty_plan("Read a daily note").with_failure(why),
            };
            plan_note(&workspace, day.to_datetime(now.time()), input.create)
        })
        .await
    }

    fn report_result(_: &Input, _: &Effects, _: &NewContents) -> String {
        // All that is said stands in the note as it is once it is there.
        String::new()
    }

    async fn describe_aftermath(input: Input, effects: &Effects, cx: &ToolContext) -> String {
        let Some(note) = effects.paths.first().cloned() else {
            return "the call has no path".into();
        };
        let made = !effects.changes.is_empty();
        let template = effects.paths.get(TEMPLATE_PATH).cloned();
        let (workspace, now) = (cx.workspace.clone(), cx.now.clone());
        let looked = run_blocking(move || {
            if workspace.stat_entry(&note).is_ok() {
                let content = vault::read_text(&workspace, &note).unwrap_or_else(|why| why);
                let made = if made { " (new)" } else { "" };
                let content = text::clip_text(&content, NOTE_CHARS_MAX);
                return format!("{}{made}\n\n{content}", note.path);
            }
            let day = parse_day(input.date.as_deref(), now.date()).unwrap_or(now.date());
            describe_absent(&workspace, &note.path, template, day.to_datetime(now.time()))
        });
        looked.await.unwrap_or_else(|why| why)
    }
}

/// Which path of the effects is the template's, where there is one: behind the note and the settings.
const TEMPLATE_PATH: usize = 2;

fn plan_note(workspace: &Workspace, at: DateTime, create: bool) -> CallPlan {
    let settings_at = workspace.resolve(DAILY_SETTINGS, PathAccess::Read);
    let settings = read_settings(workspace, &settings_at);
    let path = settings.note_path(at.date());
    let template = settings.template_path().map(|path| workspace.resolve(&path, PathAccess::Read));
    if !create {
        let note = workspace.resolve(&path, PathAccess::Read);
        let summary = format!("Read the daily note {}", note.path);
        return with_sources(reading_plan(note, summary, None), settings_at, template);
    }
    let (note, content) = draft::at_for_writing(workspace, &path);
    match content {
        Ok(FileContent::Absent) => {
            let begun = match &template {
                Some(from) => vault::read_text(workspace, from)
                    .map(|text| fill_template(&text, &note.path, at))
                    .map_err(|why| format!("its template {} cannot be read: {why}", from.path)),
                None => Ok(String::new()),
            };
            let summary = format!("Make the daily note {}", note.path);
            let mut made = PlanDraft::default();
            made.touch(note.clone());
            let plan = match begun {
                Ok(text) => {
                    let bytes = text.into_bytes().into();
                    let after = FileContent::File { bytes, mode: NEW_FILE_MODE };
                    made.add_change(note, &FileContent::Absent, &after);
                    made.into_plan(summary)
                }
                Err(why) => made.into_failing_plan(summary, why),
            };
            with_sources(plan, settings_at, template)
        }
        // It is there already, so it is only read.
        Ok(_) => {
            let note = workspace.resolve(&path, PathAccess::Read);
            let summary = format!("Read the daily note {}", note.path);
            with_sources(reading_plan(note, summary, None), settings_at, template)
        }
        Err(why) => {
            let summary = format!("Make the daily note {}", note.path);
            reading_plan(note, summary, Some(why.to_string()))
        }
    }
}

/// The call is judged for what it reads beside the note.
fn with_sources(
    mut plan: CallPlan,
    settings: PathEffect,
    template: Option<PathEffect>,
) -> CallPlan {
    plan.effects.paths.push(settings);
    plan.effects.paths.extend(template);
    plan
}

fn read_settings(workspace: &Workspace, at: &PathEffect) -> DailySettings {
    let read = vault::read_text(workspace, at);
    read.map(|json| DailySettings::parse_settings(&json)).unwrap_or_default()
}

fn describe_absent(
    workspace: &Workspace,
    path: &str,
    template: Option<PathEffect>,
    at: DateTime,
) -> String {
    let template = template.map(|from| (from.path.clone(), vault::read_text(workspace, &from)));
    let begin = match template {
        None => "Set create: true to make it; the vault has no template for it.".to_owned(),
        Some((from, Ok(text))) => format!(
            "Set create: true to make it with this text (of {from}):\n\n{}",
            fill_template(&text, path, at)
        ),
        Some((from, Err(why))) => {
            format!("Make it with write_file; its template {from} cannot be read: {why}")
        }
    };
    format!("{path} does not exist.\n{begin}")
}

fn parse_day(day: Option<&str>, today: Date) -> Result<Date, String> {
    let shifted =
        |days: i64| today.checked_add(days.days()).map_err(|_| "there is no such day".to_owned());
    match day.map(str::trim).unwrap_or("today") {
        "" | "today" => Ok(today),
        "yesterday" => shifted(-1),
        "tomorrow" => shifted(1),
        day => day.parse::<Date>().map_err(|_| {
            format!("{day:?} is no day; write today, yesterday, tomorrow or 2026-01-31")
        }),
    }
}
