//! What each face shows of one journal, as lines. What is shown for a while only stands indented
//! below the fact after which somebody looked.

use std::collections::BTreeMap;

use weir_core::event::Event;
use weir_core::ids::SessionId;
use weir_engine::hub::PublishedFact;
use weir_install::context::InstallationContext;
use weir_server::offscreen::{OffscreenPage, PagePart, shared_entries};
use weir_tui::offscreen::{OffscreenLineMode, OffscreenSession, OffscreenTerminal};
use weir_tui::terminal::TerminalSize;

use super::{facts, html};
use crate::command::run::{self, ApprovalAnswerer};
use crate::command::sessions;

/// The terminal: wide enough for most lines, as high as most are.
const SIZE: TerminalSize = TerminalSize { columns: 100, rows: 24 };
/// Lines of one entry of a page.
const ENTRY_LINES_MAX: usize = 12;
/// Lines of one face; of a longer text the first and the last.
const SECTION_LINES_MAX: usize = 90;
/// Characters of a line: no face breaks them all.
const LINE_CHARACTERS_MAX: usize = 240;
/// Lines of a look that stood in the look before and are counted instead of told again.
const SAME_LINES_MIN: usize = 2;
/// Badges of calls and sub-agents to which something still happens.
const OPEN_BADGES: [&str; 4] =
    ["[requested]", "[warn: waiting for you]", "[info: running]", "[info: working]"];
/// Begins lines of what is seen for a while only.
const LOOK: &str = "  : ";
/// Parts of the page beside the conversation, and what they are called here.
const PARTS: [(PagePart, &str); 5] = [
    (PagePart::Status, "status"),
    (PagePart::Banner, "banner"),
    (PagePart::Plan, "plan"),
    (PagePart::Queue, "queue"),
    (PagePart::Asks, "asks"),
];
/// How the line of a call begins that other faces hold, and one that says nothing.
const ARGUMENTS: &str = "Arguments: ";
const PLAINLY_ALLOWED: &str = "Decision: · Verdict allowed";
/// How the lines of a summary begin that say what waits, and those that are the same everywhere.
const WAITING: [&str; 3] = ["waits for", "asks", "answer"];
const CONSTANT: [&str; 4] = ["session", "workspace", "opened", "last "];

/// A journal, and when somebody looks.
pub(super) struct SeenJournal<'a> {
    pub(super) session: SessionId,
    pub(super) facts: &'a [PublishedFact],
    pub(super) looks: &'a BTreeMap<usize, String>,
}

/// All sections.
pub(super) fn all_sections(seen: &SeenJournal<'_>, cx: &InstallationContext) -> String {
    let sections = [
        ("terminal", terminal_lines(seen)),
        ("line mode", line_mode_lines(seen)),
        ("browser", browser_lines(seen)),
        ("shared link", shared_link_lines(seen)),
        ("headless", headless_lines(seen, cx)),
        ("transcript", transcript_lines(seen)),
    ];
    let mut text = String::new();
    for (name, mut lines) in sections {
        text.push_str(&format!("\n== {name}\n"));
        lines.retain(|line| !line.trim().is_empty());
        for line in with_gap(without_hunks(lines), SECTION_LINES_MAX) {
            text.push_str(html::cut_at(&line, LINE_CHARACTERS_MAX).trim_end());
            text.push('\n');
        }
    }
    text.trim_start().to_owned()
}

/// The first and the last of so many lines.
fn with_gap(mut lines: Vec<String>, lines_max: usize) -> Vec<String> {
    let over = lines.len().saturating_sub(lines_max);
    if over > 1 {
        let from = lines_max / 2;
        lines.splice(from..from + over, [format!("… {over} lines are left out here")]);
    }
    lines
}

/// Without the lines of differences: their heads stay. That one is shown counts here, not how.
fn without_hunks(lines: Vec<String>) -> Vec<String> {
    let mut left = Vec::new();
    let mut lines = lines.into_iter().peekable();
    while let Some(line) = lines.next() {
        let look = if line.starts_with(LOOK) { LOOK } else { "" };
        let head = line[look.len()..].split_once("@@ ").map(|(indent, _)| indent.to_owned());
        left.push(line);
        let Some(indent) = head.filter(|indent| indent.trim().is_empty()) else { continue };
        // Only lines without an indent of their own have numbers.
        let signs: &[char] =
            if indent.is_empty() { &['+', '-', '\\'] } else { &['+', '-', '\\', ' '] };
        let indent = format!("{look}{indent}");
        let is_of_hunk =
            |line: &String| line.strip_prefix(&indent).is_some_and(|line| is_of_hunk(line, signs));
        let hidden = std::iter::from_fn(|| lines.next_if(is_of_hunk)).count();
        if hidden > 0 {
            left.push(format!("{look}({hidden} lines of the change)"));
        }
    }
    left
}

/// Whether this is a line of a difference: one with such a sign, or behind its number. Names of files
/// are none.
fn is_of_hunk(line: &str, signs: &[char]) -> bool {
    let behind = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = behind.len() < line.trim_start().len() && behind.starts_with(' ');
    let is_name = line.starts_with("--- ") || line.starts_with("+++ ");
    is_numbered || line.starts_with(signs) && !is_name
}

/// What is seen after a fact, and not for long.
fn push_look(lines: &mut Vec<String>, name: &str, seen: &[String]) {
    lines.push(format!("@ {name}"));
    lines.extend(seen.iter().map(|line| format!("{LOOK}{line}")));
}

/// `now` with runs of lines that stood in `before` counted.
fn without_same(before: &[String], now: &[String]) -> Vec<String> {
    let mut lines = Vec::new();
    for run in now.chunk_by(|a, b| before.contains(a) == before.contains(b)) {
        match run.first().is_some_and(|line| before.contains(line)) && run.len() > SAME_LINES_MIN {
            true => lines.push(format!("({} lines as before)", run.len())),
            false => lines.extend(run.iter().cloned()),
        }
    }
    lines
}

fn opened_session(seen: &SeenJournal<'_>, known: u64) -> OffscreenSession {
    OffscreenSession { id: seen.session.clone(), folder: facts::FOLDER.into(), known }
}

fn terminal_lines(seen: &SeenJournal<'_>) -> Vec<String> {
    let mut face = OffscreenTerminal::open(&opened_session(seen, 0), SIZE);
    let (mut lines, mut printed, mut live) = (Vec::new(), Vec::new(), Vec::new());
    for (place, fact) in seen.facts.iter().enumerate() {
        face.apply_fact(fact.seq, fact.ts, &fact.event);
        if let Some(name) = seen.looks.get(&place) {
            let frame = face.current_frame();
            printed.extend(frame.printed.iter().cloned());
            lines.extend(frame.printed);
            push_look(&mut lines, name, &without_same(&live, &frame.live));
            live = frame.live;
        }
    }
    face.let_hints_go();
    let frame = face.current_frame();
    printed.extend(frame.printed.iter().cloned());
    lines.extend(frame.printed);
    push_look(&mut lines, "the end", &frame.live);
    let again = reopened_terminal(seen);
    if again.live != frame.live {
        push_look(&mut lines, "taken up again", &again.live);
    }
    let differs = changed_lines(&printed, &again.printed);
    assert!(differs.is_empty(), "taken up again it is printed otherwise:\n{}", differs.join("\n"));
    lines
}

/// The terminal when the session is opened after all of it happened.
fn reopened_terminal(seen: &SeenJournal<'_>) -> weir_tui::offscreen::OffscreenFrame {
    let mut face = OffscreenTerminal::open(&opened_session(seen, seen.facts.len() as u64), SIZE);
    for fact in seen.facts {
        face.apply_fact(fact.seq, fact.ts, &fact.event);
    }
    face.current_frame()
}

/// Lines that only one of two texts has. Empty lines are none.
fn changed_lines(before: &[String], after: &[String]) -> Vec<String> {
    let text = |lines: &[String]| {
        let written = lines.iter().filter(|line| !line.is_empty());
        written.map(|line| format!("{line}\n")).collect::<String>()
    };
    let (before, after) = (text(before), text(after));
    let diff = similar::TextDiff::from_lines(&before, &after);
    let changes = diff.iter_all_changes().filter_map(|change| match change.tag() {
        similar::ChangeTag::Equal => None,
        tag => Some(format!("{tag}{}", change.value().trim_end())),
    });
    with_gap(changes.collect(), ENTRY_LINES_MAX)
}

fn line_mode_lines(seen: &SeenJournal<'_>) -> Vec<String> {
    let text = |known: u64| {
        let mut face = OffscreenLineMode::open(&opened_session(seen, known));
        for fact in seen.facts {
            face.apply_fact(fact.seq, fact.ts, &fact.event);
        }
        face.into_text()
    };
    let mut lines: Vec<String> = text(0).lines().map(str::to_owned).collect();
    let again = text(seen.facts.len() as u64);
    // Folder and settings stand above.
    let again = again.lines().skip_while(|line| lines.iter().any(|above| above == line));
    let again: Vec<String> = again.map(str::to_owned).collect();
    push_look(&mut lines, "taken up again", &again);
    lines
}

fn browser_lines(seen: &SeenJournal<'_>) -> Vec<String> {
    let mut page = OffscreenPage::new(seen.session.clone());
    let (mut lines, mut known) = (Vec::new(), Vec::new());
    for (place, fact) in seen.facts.iter().enumerate() {
        page.take_fact(fact);
        if let Some(name) = seen.looks.get(&place) {
            push_look(&mut lines, name, &changed_parts(&page, &mut known));
        }
    }
    lines.extend(page.entries_html().iter().flat_map(|entry| entry_lines(entry)));
    push_look(&mut lines, "the end", &changed_parts(&page, &mut known));
    lines
}

/// An entry of the conversation: a call with what happened to it, anything else in one line.
fn entry_lines(entry: &str) -> Vec<String> {
    let mut lines = html::text_lines(entry);
    if !lines.first().is_some_and(|head| head.starts_with("call: ")) {
        return vec![join_lines(&lines)];
    }
    lines.retain(|line| {
        let line = line.trim_start();
        !line.starts_with(ARGUMENTS) && line != PLAINLY_ALLOWED
    });
    with_gap(lines, ENTRY_LINES_MAX)
}

fn join_lines(lines: &[String]) -> String {
    lines.iter().map(|line| line.trim_start()).collect::<Vec<_>>().join(" | ")
}

/// The parts beside the conversation and the calls that are not over, where they are others than at
/// the look before.
fn changed_parts(
    page: &OffscreenPage,
    known: &mut Vec<(&'static str, Vec<String>)>,
) -> Vec<String> {
    let entries = page.entries_html();
    let is_open = |line: &String| OPEN_BADGES.iter().any(|badge| line.contains(badge));
    let open = entries.iter().flat_map(|entry| html::text_lines(entry)).filter(is_open);
    let mut now: Vec<(&str, Vec<String>)> = vec![("open calls", open.collect())];
    for (part, name) in PARTS {
        let element = page.part_html(part);
        now.push((name, with_gap(html::text_lines(&element), 2 * ENTRY_LINES_MAX)));
        if part == PagePart::Status {
            let about = |name| html::first_attribute(&element, name);
            let settings = ["data-permission", "data-model", "data-profile", "data-thinking"];
            let settings = settings.map(about).join(" · ");
            now.push(("settings", vec![format!("settings: {settings}")]));
        }
    }
    let mut lines = Vec::new();
    for (name, part) in &now {
        let before = known.iter().find(|(known, _)| known == name).map(|(_, part)| part);
        if before.is_none_or(Vec::is_empty) && part.is_empty() || before == Some(part) {
            continue;
        }
        match part.is_empty() {
            true => lines.push(format!("{name}: nothing")),
            false => lines.extend(part.iter().cloned()),
        }
    }
    *known = now;
    lines
}

fn shared_link_lines(seen: &SeenJournal<'_>) -> Vec<String> {
    let entries = shared_entries(seen.facts);
    entries.iter().map(|entry| join_lines(&html::text_lines(entry))).collect()
}

fn headless_lines(seen: &SeenJournal<'_>, cx: &InstallationContext) -> Vec<String> {
    let asks = if facts::is_attended(seen.facts) {
        ApprovalAnswerer::Here
    } else {
        ApprovalAnswerer::Nobody
    };
    let text = run::offscreen::print_runs(cx, &seen.session, asks, seen.facts);
    text.lines().map(str::to_owned).collect()
}

fn transcript_lines(seen: &SeenJournal<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    let asks = |fact: &PublishedFact| {
        matches!(
            fact.event.as_ref(),
            Event::ApprovalRequested(_) | Event::QuestionAsked(_) | Event::AgentAsked(_)
        )
    };
    for (place, name) in seen.looks {
        let Some(past) = seen.facts.get(..=*place).filter(|past| past.last().is_some_and(asks))
        else {
            continue;
        };
        let summary = sessions::offscreen::summary(&seen.session, past);
        let is_waiting = |line: &&str| WAITING.iter().any(|word| line.starts_with(word));
        let waits: Vec<String> = summary.lines().filter(is_waiting).map(str::to_owned).collect();
        push_look(&mut lines, name, &waits);
    }
    let summary = sessions::offscreen::summary(&seen.session, seen.facts);
    let varies = |line: &&str| !CONSTANT.iter().any(|word| line.starts_with(word));
    lines.extend(summary.lines().filter(varies).map(str::to_owned));
    let conversation = sessions::offscreen::conversation(seen.facts);
    lines.extend(conversation.lines().map(str::to_owned));
    lines
}
