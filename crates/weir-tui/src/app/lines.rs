//! Entries of the transcript as lines. Pure. Everything passes [`crate::text::clean`].

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use weir_core::event::{ImageProduced, InputAccepted, ModelReplied, RunFinished};
use weir_core::ids::Timestamp;
use weir_core::message::{MessageBlock, StoredMedia};
use weir_core::view::told;

use super::entries::{EntryContent, ShellRun, TranscriptEntry};
use super::notes::Loud;
use crate::text::clean::{clean_text, plain_output};
use crate::text::markdown;
use crate::text::theme::Theme;
use crate::text::wrap::wrap_line;
use crate::words::{
    count_text, elapsed_text, format_dollars, one_line, run_status_text, shorten_text, stopped_by,
    token_count_text,
};

pub(crate) mod row;

/// Lines of something said that the scrollback shows whole. Of more it shows the first and the last:
/// what was folded in the box is not unfolded by being sent.
const SAID_LINES_MAX: usize = 16;
const SAID_FIRST_LINES: usize = 3;
/// Rows of one of those lines.
const SAID_ROWS_MAX: usize = 2;
/// Lines of a text that the full transcript shows of one part of an entry; all of any usual one.
const FULL_LINES_MAX: usize = 5_000;
/// Lines that a command of the person's own leaves in the scrollback.
const SHELL_LINES_MAX: usize = 20;
/// Files or denials that the end of a run names.
const NAMED_MAX: usize = 10;
/// Characters of a source that is named.
const CITED_CHARS_MAX: usize = 300;

/// How much of an entry is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DetailLevel {
    /// As in the scrollback: calls and thoughts folded.
    Brief,
    /// All of it: arguments, whole results, thoughts.
    Full,
}

/// `entry` in lines of at most `width` cells, but for lines of code, which stay whole; an empty line
/// first where one belongs before it.
pub(crate) fn transcript_entry_lines(
    entry: &TranscriptEntry,
    width: usize,
    theme: &Theme,
    detail: DetailLevel,
) -> Vec<Line<'static>> {
    let mut lines = entry_body_lines(entry, width, theme, detail);
    if !lines.is_empty() && !matches!(entry.what, EntryContent::Note(..)) {
        lines.insert(0, Line::default());
    }
    lines
}

/// The same without the empty line.
pub(crate) fn entry_body_lines(
    entry: &TranscriptEntry,
    width: usize,
    theme: &Theme,
    detail: DetailLevel,
) -> Vec<Line<'static>> {
    match (&entry.what, entry.accepted_input()) {
        (_, Some(fact)) => {
            let mut lines = match detail {
                DetailLevel::Brief => Vec::new(),
                DetailLevel::Full => author_lines(fact, entry.ts, width, theme),
            };
            lines.extend(input_lines(fact, width, theme, detail));
            lines
        }
        (EntryContent::Replied { fact, thought_ms }, _) => {
            let mut lines = reply_thought_lines(fact, *thought_ms, width, theme, detail);
            lines.extend(answer_lines(fact, width, theme));
            lines.extend(media_and_source_lines(fact, width, theme));
            lines
        }
        (EntryContent::Image(fact), _) => image_lines(fact, width, theme),
        (EntryContent::Call(row), _) => row::call_lines(row, width, theme, detail),
        (EntryContent::Note(loud, text), _) => note_lines(*loud, text, width, theme),
        (EntryContent::Ended(fact), _) => {
            run_end_lines(fact, fact.error.as_deref(), width, theme, detail)
        }
        (EntryContent::Shell(ran), _) => shell_run_lines(ran, width, theme, detail),
        (EntryContent::Said(_), None) => Vec::new(),
    }
}

/// The style of a line by how loud it is.
pub(crate) fn tone_style(loud: Loud, theme: &Theme) -> Style {
    match loud {
        Loud::Quiet | Loud::Mark => theme.quiet,
        Loud::Good => theme.good,
        Loud::Warn => theme.warn,
        Loud::Bad => theme.bad,
    }
}

/// A note in the conversation.
pub(crate) fn note_lines(
    loud: Loud,
    text: &str,
    width: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let sign = match loud {
        Loud::Quiet | Loud::Good => "· ",
        Loud::Mark => "─ ",
        Loud::Warn | Loud::Bad => "! ",
    };
    wrap_line(&Line::styled(format!("{sign}{text}"), tone_style(loud, theme)), width, 2)
}

/// `text` as lines after a sign, at most `lines_max` of them, and how many were left out.
pub(crate) fn block_lines(
    text: &str,
    sign: &'static str,
    style: Style,
    width: usize,
    lines_max: usize,
) -> (Vec<Line<'static>>, usize) {
    let text = clean_text(text);
    let hang = crate::text::wrap::text_width(sign);
    let mut lines = Vec::new();
    let mut left = text.lines();
    for part in left.by_ref() {
        // A line that fills screens is cut before it is wrapped: nobody reads it here.
        let part = shorten_text(part, width.max(1).saturating_mul(lines_max.saturating_add(1)));
        let line = Line::from(vec![Span::styled(sign, style), Span::styled(part, style)]);
        lines.extend(wrap_line(&line, width, hang));
        if lines.len() >= lines_max {
            break;
        }
    }
    let cut = lines.len().saturating_sub(lines_max);
    lines.truncate(lines_max);
    (lines, left.count() + cut)
}

/// Who said something, and when.
fn author_lines(
    fact: &InputAccepted,
    ts: Timestamp,
    width: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let ts = ts.to_string();
    // `2026-11-22T19:03:12.000000Z`: to the minute.
    let (day, time) = (ts.get(..10).unwrap_or_default(), ts.get(11..16).unwrap_or_default());
    let text = format!("{}, {day} {time} UTC", one_line(&fact.by));
    wrap_line(&Line::styled(text, theme.quiet), width, 2)
}

fn input_lines(
    fact: &InputAccepted,
    width: usize,
    theme: &Theme,
    detail: DetailLevel,
) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for part in &fact.content {
        match part {
            MessageBlock::Text { text, .. } => {
                let sign = if lines.is_empty() { "> " } else { "  " };
                lines.extend(said_text(text.trim_end(), sign, width, theme, detail));
            }
            MessageBlock::Image { media } | MessageBlock::Document { media } => {
                lines.extend(attachment_lines(media, width, theme));
            }
            MessageBlock::Thinking { .. } | MessageBlock::Call(_) | MessageBlock::Result { .. } => {
            }
        }
    }
    for added in &fact.added {
        let text = format!("  + {}", one_line(&added.source));
        lines.extend(wrap_line(&Line::styled(text, theme.quiet), width, 4));
        if detail == DetailLevel::Full {
            lines.extend(block_lines(&added.text, "    ", theme.quiet, width, FULL_LINES_MAX).0);
        }
    }
    lines
}

fn said_text(
    text: &str,
    sign: &'static str,
    width: usize,
    theme: &Theme,
    detail: DetailLevel,
) -> Vec<Line<'static>> {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let count = text.lines().count();
    if detail == DetailLevel::Brief && count > SAID_LINES_MAX {
        let part = |line: &str, sign| {
            let line = shorten_text(line, width.max(1) * SAID_ROWS_MAX);
            block_lines(&line, sign, theme.person, width, SAID_ROWS_MAX).0
        };
        let mut lines = part(first, sign);
        lines.extend(rest.lines().take(SAID_FIRST_LINES - 1).flat_map(|line| part(line, "  ")));
        lines.extend(left_out(count - SAID_FIRST_LINES - 1, detail, width, theme));
        lines.extend(rest.lines().next_back().into_iter().flat_map(|line| part(line, "  ")));
        return lines;
    }
    let lines_max = match detail {
        DetailLevel::Brief => SAID_LINES_MAX,
        DetailLevel::Full => FULL_LINES_MAX,
    };
    let (mut lines, left) = block_lines(first, sign, theme.person, width, lines_max);
    let room = lines_max.saturating_sub(lines.len());
    let (more, left_then) = match rest.is_empty() {
        true => (Vec::new(), 0),
        false => block_lines(rest, "  ", theme.person, width, room),
    };
    lines.extend(more);
    lines.extend(left_out(left + left_then, detail, width, theme));
    lines
}

/// A line that says how many lines were left out; none when none were.
pub(crate) fn left_out(
    count: usize,
    detail: DetailLevel,
    width: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    if count == 0 {
        return Vec::new();
    }
    let how = match detail {
        DetailLevel::Brief => " · Ctrl-O shows all",
        DetailLevel::Full => "",
    };
    let text = format!("  … {}{how}", count_text(count, "more line"));
    wrap_line(&Line::styled(text, theme.quiet), width, 4)
}

fn attachment_lines(media: &StoredMedia, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let name = media.name.as_deref().unwrap_or("attachment");
    let (kind, bytes) = (one_line(&media.media_type), media.bytes.div_ceil(1_000));
    let text = format!("  [{}: {kind}, {bytes} kB]", one_line(name));
    wrap_line(&Line::styled(text, theme.accent), width, 4)
}

/// The line about thoughts, or all of them.
fn reply_thought_lines(
    fact: &ModelReplied,
    ms: Option<u64>,
    width: usize,
    theme: &Theme,
    detail: DetailLevel,
) -> Vec<Line<'static>> {
    let thought = fact.content.iter().filter_map(|block| match block {
        MessageBlock::Thinking { text, .. } if !text.trim().is_empty() => Some(text.as_str()),
        _ => None,
    });
    let text = thought.collect::<Vec<_>>().join("\n\n");
    match (text.is_empty(), detail) {
        (true, _) => Vec::new(),
        (false, DetailLevel::Brief) => thought_line(ms, width, theme),
        (false, DetailLevel::Full) => all_thoughts(&text, width, theme),
    }
}

/// How long the model thought.
pub(crate) fn thought_line(ms: Option<u64>, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let long = match ms {
        Some(ms) if ms >= 1_000 => format!("Thought for {}", elapsed_text(ms)),
        Some(_) => "Thought for a moment".into(),
        None => "Thought".into(),
    };
    wrap_line(&Line::styled(format!("· {long} · Ctrl-O shows it"), theme.quiet), width, 2)
}

/// What the model thought.
pub(crate) fn all_thoughts(text: &str, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = vec![Line::styled("· Thoughts", theme.quiet)];
    let (more, left) = block_lines(text.trim(), "  ", theme.quiet, width, FULL_LINES_MAX);
    lines.extend(more);
    lines.extend(left_out(left, DetailLevel::Full, width, theme));
    lines
}

fn answer_lines(fact: &ModelReplied, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for block in &fact.content {
        if let MessageBlock::Text { text, .. } = block
            && !text.trim().is_empty()
        {
            lines.extend(markdown::render_whole(text, width, theme));
        }
    }
    lines
}

/// A picture that the model made and that no answer shows.
fn image_lines(fact: &ImageProduced, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let at = fact.path.as_deref().map(|path| format!(", {}", one_line(path)));
    let kind = one_line(&fact.media_type);
    let text = format!("  [A picture that the model made: {kind}{}]", at.unwrap_or_default());
    wrap_line(&Line::styled(text, theme.accent), width, 4)
}

/// A picture in an answer, by the name of its file: a terminal draws none by itself.
fn saved_picture_lines(media: &StoredMedia, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let path = one_line(media.name.as_deref().unwrap_or_default());
    let (kind, bytes) = (one_line(&media.media_type), media.bytes.div_ceil(1_000));
    let text = format!("  [{path}: {kind}, {bytes} kB; /file shows it]");
    wrap_line(&Line::styled(text, theme.accent), width, 4)
}

/// What an answer has beside its words: pictures, documents, sources. Sources are shown as text:
/// one is no reason to open it.
pub(crate) fn media_and_source_lines(
    fact: &ModelReplied,
    width: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let (mut lines, mut sources) = (Vec::new(), Vec::new());
    for block in &fact.content {
        match block {
            MessageBlock::Image { media } if media.name.is_some() => {
                lines.extend(saved_picture_lines(media, width, theme));
            }
            MessageBlock::Image { media } | MessageBlock::Document { media } => {
                lines.extend(attachment_lines(media, width, theme));
            }
            MessageBlock::Text { citations, .. } => {
                sources.extend(citations.iter().filter_map(|one| {
                    let field = |name: &str| one.get(name).and_then(serde_json::Value::as_str);
                    let words = field("title").or(field("cited_text")).or(field("url"))?;
                    Some(shorten_text(&one_line(words), CITED_CHARS_MAX))
                }))
            }
            MessageBlock::Thinking { .. } | MessageBlock::Call(_) | MessageBlock::Result { .. } => {
            }
        }
    }
    if let Some(mark) = told::cut_off(fact) {
        lines.extend(wrap_line(&Line::styled(format!("  ({mark})"), theme.quiet), width, 4));
    }
    for (n, source) in sources.iter().enumerate() {
        let text = format!("  [{}] {source}", n + 1);
        lines.extend(wrap_line(&Line::styled(text, theme.quiet), width, 6));
    }
    lines
}

/// The end of a run. `error`: what went wrong, unless the line above says so already.
pub(crate) fn run_end_lines(
    fact: &RunFinished,
    error: Option<&str>,
    width: usize,
    theme: &Theme,
    detail: DetailLevel,
) -> Vec<Line<'static>> {
    let (loud, word) = run_status_text(fact.status);
    let stopped = stopped_by(fact);
    let word = stopped.as_deref().unwrap_or(word);
    let mut rest = format!(" · {} tokens", token_count_text(fact.usage.total_tokens()));
    if let Some(usd) = fact.cost_usd.filter(|usd| *usd > 0.0) {
        rest.push_str(&format!(" · {}", format_dollars(usd)));
    }
    if fact.tool_calls > 0 {
        let calls = count_text(usize::try_from(fact.tool_calls).unwrap_or(usize::MAX), "tool call");
        rest.push_str(&format!(" · {calls}"));
    }
    if !fact.changed_files.is_empty() {
        rest.push_str(&format!(" · {} changed", count_text(fact.changed_files.len(), "file")));
    }
    if !fact.denials.is_empty() {
        rest.push_str(&format!(" · {} not allowed", count_text(fact.denials.len(), "call")));
    }
    let line = Line::from(vec![
        Span::styled(format!("─ {word}"), tone_style(loud, theme)),
        Span::styled(rest, theme.quiet),
    ]);
    let mut lines = wrap_line(&line, width, 2);
    if let Some(error) = error.filter(|_| stopped.is_none()) {
        lines.extend(block_lines(error, "  ", theme.bad, width, SHELL_LINES_MAX).0);
    }
    if !fact.marked_files.is_empty() {
        let text = format!(
            "  Read these before you use them: they were written while text from outside and \
             private data were in the context: {}",
            list_names(&fact.marked_files)
        );
        lines.extend(wrap_line(&Line::styled(text, theme.warn), width, 2));
    }
    let denials = if detail == DetailLevel::Full { fact.denials.as_slice() } else { &[] };
    for one in denials.iter().take(NAMED_MAX) {
        let what = if one.summary.is_empty() { &one.tool } else { &one.summary };
        let (what, by) = (one_line(what), one_line(&one.by));
        let text = format!("  Not allowed: {what}, by {by}: {}", one_line(&one.reason));
        lines.extend(wrap_line(&Line::styled(text, theme.quiet), width, 4));
    }
    lines
}

/// Names in a row, at most [`NAMED_MAX`].
fn list_names(names: &[String]) -> String {
    let mut text: Vec<String> = names.iter().take(NAMED_MAX).map(|name| one_line(name)).collect();
    if names.len() > NAMED_MAX {
        text.push(format!("and {} more", names.len() - NAMED_MAX));
    }
    text.join(", ")
}

fn shell_run_lines(
    ran: &ShellRun,
    width: usize,
    theme: &Theme,
    detail: DetailLevel,
) -> Vec<Line<'static>> {
    let lines_max = match detail {
        DetailLevel::Brief => SHELL_LINES_MAX,
        DetailLevel::Full => FULL_LINES_MAX,
    };
    let (mut lines, left) = block_lines(&ran.command, "! ", theme.person, width, SHELL_LINES_MAX);
    lines.extend(left_out(left, detail, width, theme));
    // What a command printed last is what matters.
    let output = plain_output(&ran.output);
    let all = output.lines().count();
    let skipped = all.saturating_sub(lines_max);
    lines.extend(left_out(skipped, detail, width, theme));
    let shown: Vec<&str> = output.lines().skip(skipped).collect();
    lines.extend(block_lines(&shown.join("\n"), "  ", theme.text, width, lines_max).0);
    let style = if ran.ok { theme.quiet } else { theme.bad };
    lines.extend(wrap_line(&Line::styled(format!("  {}", one_line(&ran.status)), style), width, 2));
    lines
}
