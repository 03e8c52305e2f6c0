//! What goes on, above the box: what is written, calls and agents that run, the task list, what
//! waits to be said, and in a line what it all is at. Pure.

use ratatui::text::{Line, Span};
use weir_core::event::RunStatus;
use weir_core::tool::{PlanItem, PlanStatus};
use weir_core::view::transcript::{Activity, BackgroundJob, CallStage};

use crate::app::App;
use crate::app::entries::CallRow;
use crate::app::lines::row::{agent_line, call_head_line, stage_sign};
use crate::app::lines::{block_lines, tone_style};
use crate::app::notes::Loud;
use crate::options::{Motion, ThoughtDisplay};
use crate::screen::chat::LastPrinted;
use crate::text::clean::{clean_text, plain_output};
use crate::text::theme::Theme;
use crate::text::wrap::cut_line;
use crate::words::{count_text, elapsed_text, one_line, shorten_text};

/// Calls that are shown while they run; the rest is counted.
const CALLS_MAX: usize = 6;
/// Lines of what a running call printed last.
const OUTPUT_LINES: usize = 3;
/// Lines of what a command of the person's own printed last.
const SHELL_LINES: usize = 8;
/// Lines of the task list.
const PLAN_LINES_MAX: usize = 6;
/// Queued messages that are shown.
const QUEUED_MAX: usize = 3;
/// Lines of what the model thinks.
const THINKING_LINES: usize = 4;
/// Characters of a queued message.
const QUEUED_CHARS_MAX: usize = 400;
/// Characters of a command that a job is listed with.
const COMMAND_CHARS_MAX: usize = 200;
/// The sign that moves while something runs.
const MOVING: [&str; 8] = ["⠋", "⠙", "⠸", "⠴", "⠦", "⠇", "⠏", "⠛"];

/// What goes on, in at most `rows` lines.
pub(super) fn live_lines(
    app: &App,
    width: usize,
    rows: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    if rows == 0 {
        return Vec::new();
    }
    // From the most to the least worth keeping when there is too little room.
    let mut left = rows;
    let mut take = |mut lines: Vec<Line<'static>>| {
        lines.truncate(left);
        left -= lines.len();
        lines
    };
    let unknown = take(unknown_call_lines(app, width, theme));
    let state = take(state_line(app, width, theme));
    let queued = take(queued_input_lines(app, width, theme));
    let calls = take(open_call_lines(app, width, theme));
    let shell = take(shell_lines(app, width, theme));
    let plan = take(plan_lines(app.fold.view.task_list(), width, theme));
    let jobs = take(job_lines(app, width, theme));
    let written = last_rows(reply_lines(app, width, theme), left);
    let above = [written, calls, shell, plan, jobs, unknown, queued].concat();
    let gap = !above.is_empty() && !state.is_empty() && above.len() + state.len() < rows;
    let gap = vec![Line::default(); usize::from(gap)];
    let lines = [above, gap, state].concat();
    let apart = app.last == LastPrinted::Text && !app.fold.writing.begun && lines.len() < rows;
    match apart && !lines.is_empty() {
        true => [vec![Line::default()], lines].concat(),
        false => lines,
    }
}

/// The last lines.
fn last_rows(mut lines: Vec<Line<'static>>, rows: usize) -> Vec<Line<'static>> {
    let skipped = lines.len().saturating_sub(rows);
    lines.split_off(skipped)
}

/// The sign of what runs.
fn activity_sign(app: &App) -> &'static str {
    if app.motion == Motion::Still {
        return "●";
    }
    let step = app.now.micros() / 1_000 / i64::try_from(crate::app::TICK_MS).unwrap_or(250);
    MOVING[usize::try_from(step.rem_euclid(8)).unwrap_or(0)]
}

/// What the model writes or thinks, as far as it is not printed.
fn reply_lines(app: &App, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let writing = &app.fold.writing;
    let mut lines = Vec::new();
    if app.thoughts == ThoughtDisplay::Shown && !writing.told && !writing.thinking.is_empty() {
        let text = clean_text(writing.thinking.trim_end()).into_owned();
        let all: Vec<&str> = text.lines().collect();
        let last = all[all.len().saturating_sub(THINKING_LINES)..].join("\n");
        let (thought, _) = block_lines(&last, "  ", theme.quiet, width, usize::MAX);
        lines.extend(last_rows(thought, THINKING_LINES));
    }
    lines.extend(writing.growing.open_lines(width, theme));
    lines
}

/// Calls that are not over, with what they printed last and their sub-agents.
fn open_call_lines(app: &App, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut open = app.fold.transcript.open_calls();
    if app.shown.is_some() {
        // The dialog tells of what waits.
        open.retain(|row| row.stage != CallStage::Waiting);
    }
    let mut lines = Vec::new();
    for row in open.iter().take(CALLS_MAX) {
        lines.push(open_call_line(app, row, width, theme));
        lines.extend(row.agents.iter().map(|agent| agent_line(agent, width, theme)));
        if let Some(output) = app.fold.outputs.get(&row.call) {
            lines.extend(last_lines(output, OUTPUT_LINES, width, theme));
        }
    }
    if open.len() > CALLS_MAX {
        let text = format!("  … {} more", count_text(open.len() - CALLS_MAX, "call"));
        lines.push(cut_line(Line::styled(text, theme.quiet), width));
    }
    lines
}

fn open_call_line(app: &App, row: &CallRow, width: usize, theme: &Theme) -> Line<'static> {
    let mark =
        if row.stage == CallStage::Running { activity_sign(app) } else { stage_sign(row.stage) };
    let time = match (row.stage, row.started) {
        (CallStage::Running, Some(since)) if app.motion == Motion::Lively => {
            Some(elapsed_text(app.now.ms_since(since)))
        }
        (CallStage::Waiting, _) => Some("waits for you".into()),
        _ => None,
    };
    call_head_line(row, mark, time, width, theme)
}

fn last_lines(text: &str, count: usize, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let text = text.trim_end();
    let from = text.rmatch_indices('\n').nth(count - 1).map_or(0, |(n, _)| n + 1);
    let line = |line: &str| cut_line(Line::styled(format!("  {line}"), theme.quiet), width);
    // Colours go, and a line that redraws itself is shown as it stands now.
    plain_output(&text[from..]).lines().map(line).collect()
}

fn shell_lines(app: &App, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let Some(running) = &app.shell.running else { return Vec::new() };
    let time = match app.motion {
        Motion::Lively => format!(" · {}", elapsed_text(app.now.ms_since(running.since))),
        Motion::Still => String::new(),
    };
    let command = one_line(&running.command);
    let text = format!("{} ! {command}{time} · Esc ends it", activity_sign(app));
    let mut lines = vec![cut_line(Line::styled(text, theme.accent), width)];
    lines.extend(last_lines(&running.output, SHELL_LINES, width, theme));
    lines
}

/// The task list around what is under way.
fn plan_lines(items: &[PlanItem], width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let done = items.iter().filter(|item| item.status == PlanStatus::Done).count();
    if done == items.len() {
        return Vec::new();
    }
    let title = format!("Tasks {done}/{}", items.len());
    let mut lines = vec![cut_line(Line::styled(title, theme.heading), width)];
    let now = items.iter().position(|item| item.status != PlanStatus::Done).unwrap_or(0);
    let shown = PLAN_LINES_MAX - 1;
    let first = now.saturating_sub(1).min(items.len().saturating_sub(shown));
    for item in items.iter().skip(first).take(shown) {
        let (mark, style) = match item.status {
            PlanStatus::Done => ("  ✓ ", theme.quiet),
            PlanStatus::InProgress => ("  › ", theme.accent),
            PlanStatus::Pending => ("  · ", theme.text),
        };
        let text = format!("{mark}{}", one_line(&item.text));
        lines.push(cut_line(Line::styled(text, style), width));
    }
    lines
}

fn job_lines(app: &App, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let jobs = app.fold.view.jobs();
    if jobs.is_empty() {
        return Vec::new();
    }
    let command = |job: &BackgroundJob| shorten_text(&one_line(&job.command), COMMAND_CHARS_MAX);
    let named = jobs.iter().map(|job| format!("{} {}", one_line(&job.name), command(job)));
    let text = format!("In the background: {}", named.collect::<Vec<_>>().join(" · "));
    vec![cut_line(Line::styled(text, theme.quiet), width)]
}

/// Calls of which nobody knows whether they happened (D4).
fn unknown_call_lines(app: &App, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if app.fold.view.unknown_calls().is_empty() {
        return lines;
    }
    let text = "! Outcome unknown: check for yourself before it is run again";
    lines.push(cut_line(Line::styled(text, theme.warn), width));
    for unsure in app.fold.view.unknown_calls().iter().take(QUEUED_MAX) {
        let text = format!("  {}: {}", unsure.tool, unsure.why);
        lines.push(cut_line(Line::styled(text, theme.warn), width));
    }
    lines
}

/// What waits to be said.
fn queued_input_lines(app: &App, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let queue = app.fold.queue.iter().filter(|queued| !queued.withdrawing);
    let queue = queue.filter_map(|queued| queued.entry.input_text());
    let sent = app.sent.values().map(|written| written.text.clone());
    let held = app.held.iter().map(|written| written.text.clone());
    let all: Vec<String> = queue.chain(sent).chain(held).collect();
    let mut lines = Vec::new();
    for text in all.iter().take(QUEUED_MAX) {
        let text = one_line(&shorten_text(text, QUEUED_CHARS_MAX));
        let spans = vec![Span::styled("queued ", theme.accent), Span::styled(text, theme.quiet)];
        lines.push(cut_line(Line::from(spans), width));
    }
    if all.len() > QUEUED_MAX {
        let text = format!("… and {} more · Up takes the last one back", all.len() - QUEUED_MAX);
        lines.push(cut_line(Line::styled(text, theme.quiet), width));
    }
    lines
}

/// In a line what it all is at.
fn state_line(app: &App, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let fold = &app.fold;
    let line = |loud: Loud, text: String| {
        vec![cut_line(Line::styled(text, tone_style(loud, theme)), width)]
    };
    if !app.opened {
        return line(Loud::Quiet, "Opening the session…".into());
    }
    if fold.is_old() {
        return line(Loud::Quiet, "Reading the session…".into());
    }
    let words = match (fold.view.activity(), fold.view.asks().is_empty()) {
        (Some(Activity::Stopping), _) => Activity::Stopping.activity_words(),
        (Some(activity @ Activity::Paused(_)), _) => {
            format!("{} · /release lets it go on", activity.activity_words())
        }
        (_, false) if app.answered.is_some() => "Answered".into(),
        // The dialog says so itself.
        (_, false) if !fold.view.has_calls_at_work() => return Vec::new(),
        (Some(activity), _) => match activity {
            Activity::Retrying(at) if *at > app.now => {
                format!("{} in {}", activity.activity_words(), elapsed_text(at.ms_since(app.now)))
            }
            activity => activity.activity_words(),
        },
        (None, _) => {
            return match fold.view.last_run_status() {
                Some(RunStatus::Paused) => {
                    let text = "! Stopped by the kill switch · /release lets runs start again";
                    line(Loud::Warn, text.into())
                }
                _ => Vec::new(),
            };
        }
    };
    let time = match app.motion {
        Motion::Lively => format!(" · {}", elapsed_text(app.now.ms_since(fold.view.run_started()))),
        Motion::Still => String::new(),
    };
    let text = vec![
        Span::styled(format!("{} ", activity_sign(app)), theme.accent),
        Span::styled(words, theme.text),
        Span::styled(format!("{time} · Esc stops it"), theme.quiet),
    ];
    vec![cut_line(Line::from(text), width)]
}
