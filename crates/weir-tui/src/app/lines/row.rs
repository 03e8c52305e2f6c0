//! A call of a tool as lines: in brief a line with what it does and a little of what came of it, in
//! full everything that is known.

use std::borrow::Cow;

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use serde_json::Value;
use weir_core::governance::filter::parse_reference;
use weir_core::governance::{GateName, Verdict};
use weir_core::message::{MessageBlock, plain_text};
use weir_core::tool::ResultEffect;
use weir_core::view::transcript::{CallNote, CallStage, ChildAgent};

use super::super::entries::CallRow;
use super::{DetailLevel, FULL_LINES_MAX, block_lines, left_out, tone_style};
use crate::text::clean::plain_output;
use crate::text::diff;
use crate::text::theme::Theme;
use crate::text::wrap::{cut_line, wrap_line};
use crate::words::{duration_text, one_line, path_text, run_status_text, shorten_text};

/// Characters of arguments that stand in the row itself; it is cut to the width besides.
const ARGUMENT_CHARS_MAX: usize = 400;
/// Lines of a command's output in the row; of a longer one so many of its beginning and its end.
const OUTPUT_LINES_MAX: usize = 7;
const OUTPUT_FIRST_LINES: usize = 3;
const OUTPUT_LAST_LINES: usize = 4;
/// Rows of one of those lines.
const OUTPUT_ROWS_MAX: usize = 2;
/// Lines of an error in the row.
const ERROR_LINES_MAX: usize = 4;
/// Lines of a difference in the row.
const DIFF_LINES_MAX: usize = 16;
/// Sub-agents that a row names.
const AGENTS_MAX: usize = 16;
/// Arguments that say most about a call, the best first.
const TELLING: [&str; 12] = [
    "command",
    "path",
    "file_path",
    "pattern",
    "query",
    "url",
    "task",
    "question",
    "name",
    "tool",
    "text",
    "job",
];

/// A call in lines.
pub(crate) fn call_lines(
    row: &CallRow,
    width: usize,
    theme: &Theme,
    detail: DetailLevel,
) -> Vec<Line<'static>> {
    match detail {
        DetailLevel::Brief => brief_call_lines(row, width, theme),
        DetailLevel::Full => full_call_lines(row, width, theme),
    }
}

/// Sign, tool, what it is about, how long it took: one line.
pub(crate) fn call_head_line(
    row: &CallRow,
    sign: &str,
    time: Option<String>,
    width: usize,
    theme: &Theme,
) -> Line<'static> {
    let mark = match row.stage {
        CallStage::Done => theme.good,
        CallStage::Failed | CallStage::NotDone | CallStage::Refused => theme.bad,
        CallStage::Unknown | CallStage::Waiting => theme.warn,
        CallStage::Proposed | CallStage::Running => theme.accent,
    };
    let tail = time.map(|time| format!(" · {time}")).unwrap_or_default();
    // Steps stand below the program that asks for them.
    let step = row.proposed.fact.step.map(|number| format!(" (step {number})"));
    let first = vec![
        Span::raw(if step.is_some() { "  " } else { "" }),
        Span::styled(format!("{sign} "), mark),
        Span::styled(row.tool_name(), theme.tool),
        Span::styled(step.unwrap_or_default(), theme.quiet),
        Span::styled(format!(" {}", call_subject(row)), theme.text),
    ];
    let room = width.saturating_sub(crate::text::wrap::text_width(&tail));
    let mut line = cut_line(Line::from(first), room);
    line.push_span(Span::styled(tail, theme.quiet));
    cut_line(line, width)
}

/// The sign of a call by how far it is, where nothing moves.
pub(crate) fn stage_sign(stage: CallStage) -> &'static str {
    match stage {
        CallStage::Proposed | CallStage::Running => "●",
        CallStage::Waiting | CallStage::Unknown => "?",
        CallStage::Done => "✓",
        CallStage::Failed | CallStage::NotDone => "✗",
        CallStage::Refused => "⊘",
    }
}

/// What a call is about: the argument that tells most.
pub(crate) fn call_subject(row: &CallRow) -> String {
    let fact = &row.proposed.fact;
    let text = match &fact.input {
        Value::Object(fields) => {
            let telling = TELLING.iter().find_map(|name| fields.get(*name)?.as_str());
            let any = || fields.values().find_map(Value::as_str);
            match telling.or_else(any) {
                Some(text) => text.to_owned(),
                None if fields.is_empty() => String::new(),
                None => fact.input.to_string(),
            }
        }
        other => other.to_string(),
    };
    shorten_text(&one_line(&shorten_text(&text, ARGUMENT_CHARS_MAX)), ARGUMENT_CHARS_MAX)
}

fn brief_call_lines(row: &CallRow, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let time =
        row.finished.as_ref().filter(|f| f.duration_ms > 0).map(|f| duration_text(f.duration_ms));
    let mut lines = vec![call_head_line(row, stage_sign(row.stage), time, width, theme)];
    for note in &row.notes {
        // What was saved first is of use only when something is taken back.
        if let CallNote::Told(text) = note {
            lines.extend(wrap_line(&Line::styled(format!("  {text}"), theme.quiet), width, 2));
        }
    }
    lines.extend(row.agents.iter().take(AGENTS_MAX).map(|agent| agent_line(agent, width, theme)));
    // Who refused it and why stands there already.
    if row.stage != CallStage::Refused || row.notes.is_empty() {
        lines.extend(outcome_lines(row, width, theme));
    }
    lines
}

/// A little of what came of it.
fn outcome_lines(row: &CallRow, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let Some(fact) = &row.finished else { return Vec::new() };
    let judged = row.judged.as_ref();
    let changes = judged.and_then(|fact| fact.inspection.diff.as_deref());
    if let (Some(text), CallStage::Done) = (changes, row.stage) {
        return diff::render_diff(text, width, DIFF_LINES_MAX, theme);
    }
    let said = plain_text(&fact.blocks_for_person());
    let commands = judged.is_some_and(|fact| !fact.inspection.effects.commands.is_empty());
    // Only what a program printed: elsewhere what steers a terminal is written out.
    let said = if commands { plain_output(&said) } else { Cow::Borrowed(said.as_str()) };
    if commands && !said.trim().is_empty() {
        let style = if fact.ok { theme.quiet } else { theme.bad };
        let quoted = parse_reference(&said).filter(|_| fact.full.is_some());
        let last = plain_output(&row.last);
        return match &quoted {
            Some(quoted) => {
                let last = last.lines().collect::<Vec<_>>();
                let ends = OutputEnds { first: &quoted.first, last: &last, count: quoted.lines };
                output_lines(ends, style, width, theme)
            }
            None => {
                let all: Vec<&str> = said.trim_end().lines().collect();
                let ends = OutputEnds { first: &all, last: &all, count: all.len() };
                output_lines(ends, style, width, theme)
            }
        };
    }
    if !fact.ok {
        let text = if said.trim().is_empty() { fact.summary.as_str() } else { said.trim() };
        let (mut lines, left) = block_lines(text, "  ", theme.bad, width, ERROR_LINES_MAX);
        lines.extend(left_out(left, DetailLevel::Brief, width, theme));
        return lines;
    }
    match fact.summary.trim() {
        "" => Vec::new(),
        summary => {
            vec![cut_line(Line::styled(format!("  {}", one_line(summary)), theme.quiet), width)]
        }
    }
}

/// What is there of the two ends of an output of `count` lines; each may be all of it.
#[derive(Clone, Copy)]
struct OutputEnds<'a> {
    first: &'a [&'a str],
    last: &'a [&'a str],
    count: usize,
}

/// The beginning and the end of an output, and how many lines stand between.
fn output_lines(
    ends: OutputEnds<'_>,
    style: Style,
    width: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let OutputEnds { first, last, count } = ends;
    let part = |line: &&str| {
        let line =
            shorten_text(line, width.max(1).saturating_mul(OUTPUT_ROWS_MAX).saturating_sub(4));
        block_lines(&line, "  ", style, width, OUTPUT_ROWS_MAX).0
    };
    if count <= OUTPUT_LINES_MAX && first.len() == count {
        return first.iter().flat_map(part).collect();
    }
    let last = last.get(last.len().saturating_sub(OUTPUT_LAST_LINES)..).unwrap_or_default();
    let begins = if last.is_empty() { OUTPUT_LINES_MAX } else { OUTPUT_FIRST_LINES };
    let first = first.get(..begins.min(first.len())).unwrap_or_default();
    let between = count.saturating_sub(first.len() + last.len());
    let mut lines: Vec<Line<'static>> = first.iter().flat_map(part).collect();
    lines.extend(left_out(between, DetailLevel::Brief, width, theme));
    lines.extend(last.iter().flat_map(part));
    lines
}

/// A sub-agent in one line.
pub(crate) fn agent_line(agent: &ChildAgent, width: usize, theme: &Theme) -> Line<'static> {
    let fact = &agent.spawned;
    let (mark, word) = match &agent.ended {
        Some((ended, _)) => {
            let (loud, word) = run_status_text(*ended);
            (tone_style(loud, theme), word)
        }
        None if agent.asks => (theme.warn, "waits for you"),
        None => (theme.accent, "working"),
    };
    let task = fact.task.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let line = Line::from(vec![
        Span::styled("  ↳ ", theme.quiet),
        Span::styled(one_line(&fact.profile), theme.tool),
        Span::styled(format!(" {word}"), mark),
        Span::styled(
            format!(" · {}", one_line(&shorten_text(task, ARGUMENT_CHARS_MAX))),
            theme.quiet,
        ),
    ]);
    cut_line(line, width)
}

fn full_call_lines(row: &CallRow, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let time =
        row.finished.as_ref().filter(|f| f.duration_ms > 0).map(|f| duration_text(f.duration_ms));
    let mut lines = vec![call_head_line(row, stage_sign(row.stage), time, width, theme)];
    lines.extend(argument_lines(&row.proposed.fact.input, width, theme));
    lines.extend(judgement_lines(row, width, theme));
    for note in &row.notes {
        lines.extend(wrap_line(&Line::styled(format!("  {}", note.text()), theme.quiet), width, 2));
    }
    for agent in row.agents.iter().take(AGENTS_MAX) {
        lines.push(agent_line(agent, width, theme));
        if let Some((_, text)) = &agent.ended {
            lines.extend(block_lines(text, "    ", theme.text, width, FULL_LINES_MAX).0);
        }
    }
    lines.extend(result_lines(row, width, theme));
    lines
}

/// Arguments by name: texts as they are, everything else as JSON.
pub(crate) fn argument_lines(input: &Value, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let Value::Object(fields) = input else {
        return block_lines(&input.to_string(), "  ", theme.code, width, FULL_LINES_MAX).0;
    };
    let mut lines = Vec::new();
    for (name, value) in fields {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let name = one_line(name);
        if text.contains('\n') {
            lines.extend(wrap_line(&Line::styled(format!("  {name}:"), theme.quiet), width, 4));
            let (more, left) = block_lines(&text, "    ", theme.code, width, FULL_LINES_MAX);
            lines.extend(more);
            lines.extend(left_out(left, DetailLevel::Full, width, theme));
        } else {
            let text = crate::text::clean::clean_text(&text).into_owned();
            let line = Line::from(vec![
                Span::styled(format!("  {name}: "), theme.quiet),
                Span::styled(text, theme.code),
            ]);
            lines.extend(wrap_line(&line, width, 4));
        }
    }
    lines
}

fn judgement_lines(row: &CallRow, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let Some(fact) = &row.judged else { return Vec::new() };
    let verdict = match fact.verdict {
        Verdict::Allow => "allowed",
        Verdict::Ask => "a person is asked",
        Verdict::Deny => "not allowed",
    };
    let mut text = format!("  Decision: {verdict}");
    let gate = fact.gate.as_ref().map(GateName::as_str);
    for (what, said) in [("rule", fact.rule.as_deref()), ("gate", gate)] {
        if let Some(said) = said {
            text.push_str(&format!(", {what} {}", one_line(said)));
        }
    }
    if let Some(reason) = &fact.reason {
        text.push_str(&format!(": {}", one_line(reason)));
    }
    let mut lines = wrap_line(&Line::styled(text, theme.quiet), width, 4);
    if let Some(changes) = &fact.inspection.diff {
        lines.extend(diff::render_diff(changes, width, FULL_LINES_MAX, theme));
    }
    lines
}

fn result_lines(row: &CallRow, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let Some(fact) = &row.finished else { return Vec::new() };
    let mut lines = Vec::new();
    let mut told =
        |text: String, style| lines.extend(wrap_line(&Line::styled(text, style), width, 4));
    if let Some(why) = &fact.withheld {
        told(format!("  Withheld from the model: {}", one_line(why)), theme.bad);
    }
    for news in &fact.news {
        if let ResultEffect::Step { tool, ok, summary } = news {
            let failed = if *ok { "" } else { " (failed)" };
            told(format!("  ↳ {} {}{failed}", one_line(tool), one_line(summary)), theme.quiet);
        }
    }
    if !fact.changed.is_empty() {
        let paths: Vec<String> = fact.changed.iter().map(|path| path_text(path)).collect();
        told(format!("  Changed: {}", paths.join(", ")), theme.quiet);
    }
    if let Some(from) = &fact.marks {
        let text = format!("  What it wrote counts as untrusted from now on: {}", one_line(from));
        told(text, theme.warn);
    }
    if !fact.label.is_clean() {
        told(format!("  Source: {}", one_line(&fact.label.to_string())), theme.quiet);
    }
    let shade = if fact.ok { theme.text } else { theme.bad };
    let blocks = fact.blocks_for_person();
    let text = plain_text(&blocks);
    let (more, left) = block_lines(text.trim_end(), "  ", shade, width, FULL_LINES_MAX);
    lines.extend(more);
    lines.extend(left_out(left, DetailLevel::Full, width, theme));
    for part in blocks.iter() {
        if let MessageBlock::Image { media } | MessageBlock::Document { media } = part {
            lines.extend(super::attachment_lines(media, width, theme));
        }
    }
    lines
}
