//! The dialog about a call: what it would do, why a person is asked, and the ways to answer. Pure.
//! It stands in the live region of the chat. Not here: when it may take keys (the app guards
//! against answers by mistake).

use std::cell::Cell;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::{Line, Span};
use weir_core::event::{ApprovalRequested, Decision};
use weir_core::governance::label::Taint;
use weir_core::view::told::{
    OFTEN_ASKED, bound_rules_text, grant_text, lines_head, offers_always, permission_command,
    question_line, question_lines,
};
use weir_core::view::transcript::PendingAsk;
use weir_core::view::visible::lookalike_remarks;

use super::typed::DialogLineInput;
use crate::app::lines::row::argument_lines;
use crate::text::diff;
use crate::text::theme::Theme;
use crate::text::wrap::{cut_line, wrap_line};
use crate::words::{count_text, one_line};

/// Lines of what would be done that are made at most; more never fit a screen.
const LINES_MAX: usize = 500;
/// Lines of what would be done that are seen at least: its name, its beginning, and how much more
/// there is.
const WHAT_LINES_MIN: usize = 3;
/// How the rest of a difference is seen, which may be allowed by its beginning.
const REST_BY_KEY: &str = "v shows all";
/// How a command is allowed whose end had no room.
const REST_BEFORE_YES: &str = "v shows all, then y";
/// Lines that words around the command or difference take at most, each.
const WORDS_LINES_MAX: usize = 4;

/// Rows beside title and answers from which on the words around it may take several lines each.
const ROOMY_ROWS: usize = 11;
/// Cells from which on the answers are written out.
const ROOMY_CELLS: usize = 66;

/// What of it could be read when it was shown last: nobody allows what they could not see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VisiblePart {
    /// All that an answer is about; of a difference, or of what was opened whole, its beginning and
    /// how to see the rest.
    All,
    /// Not the rules that an answer that lasts would add.
    ButRules,
    /// Of a command only its beginning: what stands at its end is not agreed to unseen.
    Beginning,
    /// Nothing of the command or change.
    Nothing,
}

/// The dialog.
#[derive(Debug, Clone)]
pub(crate) struct ApprovalDialog {
    ask: PendingAsk,
    /// The reason of a no, while it is typed.
    reason: Option<DialogLineInput>,
    /// What the last view had room for.
    seen: Cell<VisiblePart>,
    /// All of it was opened: then also what had no room was there to be read.
    opened: bool,
}

/// What a key meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ApprovalKeyOutcome {
    /// Nothing here.
    Passed,
    /// It changed.
    Took,
    /// This was decided.
    Decide(Decision, Option<String>),
    /// All of it is to be shown.
    All,
    /// The run is to end.
    Interrupt,
}

/// How the dialog stands among others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DialogState {
    /// Others that wait behind it.
    pub(crate) others: usize,
    /// It takes keys.
    pub(crate) focused: bool,
}

/// What stands below, and where the cursor does in it.
type DialogFooter = (Vec<Line<'static>>, Option<(usize, usize)>);

impl ApprovalDialog {
    /// A dialog about a call of the session or of a sub-agent.
    pub(crate) fn new(ask: PendingAsk) -> ApprovalDialog {
        ApprovalDialog { ask, reason: None, seen: Cell::new(VisiblePart::All), opened: false }
    }

    /// What is asked.
    pub(crate) fn request(&self) -> Option<&ApprovalRequested> {
        self.ask.request()
    }

    fn path(&self) -> &[String] {
        self.ask.agent_path()
    }

    /// A reason is being typed.
    pub(crate) fn is_typed_into(&self) -> bool {
        self.reason.is_some()
    }

    /// Pasted text: it belongs to the reason, if to anything.
    pub(crate) fn handle_paste(&mut self, text: &str) -> ApprovalKeyOutcome {
        match &mut self.reason {
            Some(typed) => {
                typed.handle_paste(text);
                ApprovalKeyOutcome::Took
            }
            None => ApprovalKeyOutcome::Passed,
        }
    }

    /// A key.
    pub(crate) fn handle_key(&mut self, key: KeyEvent) -> ApprovalKeyOutcome {
        if let Some(typed) = &mut self.reason {
            return match key.code {
                KeyCode::Enter => {
                    let reason = Some(typed.text().to_owned()).filter(|text| !text.is_empty());
                    ApprovalKeyOutcome::Decide(Decision::Deny, reason)
                }
                KeyCode::Esc => {
                    self.reason = None;
                    ApprovalKeyOutcome::Took
                }
                _ if typed.handle_key(key) => ApprovalKeyOutcome::Took,
                _ => ApprovalKeyOutcome::Passed,
            };
        }
        if key.modifiers == KeyModifiers::CONTROL && key.code == KeyCode::Char('o') {
            self.opened = true;
            return ApprovalKeyOutcome::All;
        }
        // Esc and a letter behind it may come as Alt and the letter: that decides nothing.
        if !(key.modifiers - KeyModifiers::SHIFT).is_empty() {
            return ApprovalKeyOutcome::Passed;
        }
        let once = self.offers_once();
        let lasting = self.offers_lasting_answer();
        match key.code {
            KeyCode::Char('y' | 'Y') if once => ApprovalKeyOutcome::Decide(Decision::Once, None),
            // Too little of it was there to be read: a yes is none, and no message that begins with y.
            KeyCode::Char('y' | 'Y') => ApprovalKeyOutcome::Took,
            KeyCode::Char('s' | 'S') if lasting => {
                ApprovalKeyOutcome::Decide(Decision::Session, None)
            }
            KeyCode::Char('a' | 'A') if lasting && self.offers_always() => {
                ApprovalKeyOutcome::Decide(Decision::Always, None)
            }
            KeyCode::Char('s' | 'S' | 'a' | 'A') if !once && self.has_rules() => {
                ApprovalKeyOutcome::Took
            }
            KeyCode::Char('n' | 'N') => {
                self.reason = Some(DialogLineInput::default());
                ApprovalKeyOutcome::Took
            }
            KeyCode::Char('v' | 'V') => {
                self.opened = true;
                ApprovalKeyOutcome::All
            }
            KeyCode::Esc => ApprovalKeyOutcome::Interrupt,
            _ => ApprovalKeyOutcome::Passed,
        }
    }

    fn offers_always(&self) -> bool {
        self.request().is_some_and(offers_always)
    }

    /// Whether it can be allowed: enough of it was in sight, or all of it was opened.
    fn offers_once(&self) -> bool {
        matches!(self.seen.get(), VisiblePart::All | VisiblePart::ButRules)
    }

    fn has_rules(&self) -> bool {
        self.request().is_some_and(|fact| !fact.rules.is_empty())
    }

    /// Whether an answer that lasts is offered: only with the rules that it would add in sight.
    fn offers_lasting_answer(&self) -> bool {
        self.has_rules() && self.seen.get() == VisiblePart::All
    }

    /// Whether nothing is allowed before its end was in sight: so it is with commands and arguments,
    /// of which a line at the end can do anything, until they were opened whole.
    fn wants_its_end(&self, fact: &ApprovalRequested) -> bool {
        !self.opened && fact.lines.is_empty() && fact.diff.is_none()
    }

    /// Of so many lines of what would be done, those that must have room before it can be allowed.
    fn lines_to_see(
        &self,
        fact: &ApprovalRequested,
        count: usize,
        width: usize,
        theme: &Theme,
    ) -> usize {
        if self.wants_its_end(fact) {
            return count;
        }
        // Of several steps none is allowed that could not be read: its line, or all of it by `v`.
        let rows = if self.opened { 0 } else { step_table(fact, width, theme).len() };
        count.min(WHAT_LINES_MIN.max(rows + usize::from(rows > 0)))
    }

    /// Rows beside `what` and the answers that a yes wants: the title, what must not be overlooked, and
    /// of the other words a line or how many there are.
    fn rows_of_head(&self, fact: &ApprovalRequested) -> usize {
        let remarks = match self.wants_its_end(fact) {
            true => {
                let is_foreign = matches!(fact.label.taint(), Taint::External | Taint::Both);
                let of_agent = !self.path().is_empty();
                lookalike_remarks(fact).len() + usize::from(is_foreign) + usize::from(of_agent)
            }
            false => 0,
        };
        2 + remarks
    }

    /// Everything about it as lines: for the pager.
    pub(crate) fn all_lines(&self, width: usize, theme: &Theme) -> Vec<Line<'static>> {
        let Some(fact) = self.request() else { return Vec::new() };
        let mut lines = self.context_lines(fact, width, theme, LINES_MAX);
        lines.extend(rule_lines(fact, width, theme, LINES_MAX));
        for rule in fact.rules.iter().filter(|_| offers_always(fact)) {
            let text = format!("In every project: {}", permission_command(rule.text()));
            lines.extend(wrap_line(&Line::styled(text, theme.quiet), width, 2));
        }
        lines.push(Line::default());
        if !fact.lines.is_empty() {
            lines.extend(step_lines(fact, width, theme));
            return lines;
        }
        lines.extend(argument_lines(&fact.input, width, theme));
        if let Some(text) = &fact.diff {
            lines.push(Line::default());
            lines.extend(diff::render_diff(text, width, usize::MAX, theme));
        }
        lines
    }

    /// The dialog in at most `rows_max` lines, and where the cursor stands. The ways to answer
    /// stand in it whatever has to give way; where nothing of the command or change is left to see,
    /// nothing can be allowed.
    pub(crate) fn render_dialog(
        &self,
        width: usize,
        rows_max: usize,
        theme: &Theme,
        standing: DialogState,
    ) -> (Vec<Line<'static>>, Option<(usize, usize)>) {
        let Some(fact) = self.request() else { return (Vec::new(), None) };
        let what = subject_lines(fact, width, theme);
        let must = self.lines_to_see(fact, what.len(), width, theme);
        let least = what.len().min(WHAT_LINES_MIN);
        let (foot, mut cursor) = self.fitting_footer(fact, rows_max, [must, least], |rules_max| {
            let rules = rule_lines(fact, width, theme, rules_max);
            self.footer_lines(rules, width, theme, standing)
        });
        let mut head = vec![title_line(width, theme, standing.others)];
        let room = rows_max.saturating_sub(head.len() + foot.len());
        if self.seen.get() == VisiblePart::Nothing {
            let text = "Too little room: v shows it";
            head.push(cut_line(Line::styled(text, theme.warn), width));
            head.truncate(rows_max.saturating_sub(foot.len()));
        } else {
            let is_part = self.seen.get() == VisiblePart::Beginning;
            let seen_min = if is_part { least } else { must };
            let mut words = self.context_lines(
                fact,
                width,
                theme,
                if room >= ROOMY_ROWS { WORDS_LINES_MAX } else { 1 },
            );
            // What repeats the command gives way to it.
            if self.wants_its_end(fact) && words.len() + what.len() > room {
                words = self.context_lines(fact, width, theme, 1);
            }
            let words = bound_lines(words, room - seen_min, width, theme);
            let room = room - words.len();
            head.extend(words);
            let how = if is_part { REST_BEFORE_YES } else { REST_BY_KEY };
            head.extend(cut_lines(what, room, width, theme, how));
        }
        if let Some((row, _)) = &mut cursor {
            *row += head.len();
        }
        head.extend(foot);
        (head, cursor)
    }

    /// Finds how much of it there is room for, and what stands below it then. `see`: lines of what would
    /// be done that a yes wants, and those that are worth to be shown at all.
    fn fitting_footer(
        &self,
        fact: &ApprovalRequested,
        rows_max: usize,
        see: [usize; 2],
        footer: impl Fn(usize) -> DialogFooter,
    ) -> DialogFooter {
        let [must, least] = see;
        let head = self.rows_of_head(fact);
        for (seen, rules_max, needs) in [
            (VisiblePart::All, 2, head + must),
            (VisiblePart::ButRules, 0, head + must),
            (VisiblePart::Beginning, 0, 2 + least),
        ] {
            if seen == VisiblePart::Beginning && !self.wants_its_end(fact) {
                continue;
            }
            self.seen.set(seen);
            let foot = footer(rules_max);
            if rows_max >= needs + foot.0.len() {
                return foot;
            }
        }
        self.seen.set(VisiblePart::Nothing);
        footer(0)
    }

    /// `rules`, which would be added, and the ways to answer or the reason that is typed.
    fn footer_lines(
        &self,
        rules: Vec<Line<'static>>,
        width: usize,
        theme: &Theme,
        standing: DialogState,
    ) -> DialogFooter {
        let mut foot = rules;
        let Some(typed) = &self.reason else {
            foot.extend(self.choice_lines(width, theme, standing));
            return (foot, None);
        };
        let (line, cell) = typed.render_line("Why not (Enter: no reason)? ", width, theme);
        let cursor = (foot.len(), cell);
        foot.push(line);
        (foot, Some(cursor))
    }

    /// Who asks, what for, why, and what to look at.
    fn context_lines(
        &self,
        fact: &ApprovalRequested,
        width: usize,
        theme: &Theme,
        lines_max: usize,
    ) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        let mut say = |line: Line<'static>| match lines_max {
            1 => lines.push(cut_line(line, width)),
            _ => lines.extend(bound_lines(wrap_line(&line, width, 2), lines_max, width, theme)),
        };
        if !self.path().is_empty() {
            let path = one_line(&self.path().join(" › "));
            say(Line::styled(format!("Asked by the sub-agent {path}"), theme.quiet));
        }
        // What must not be overlooked stands first: it is not what gives way.
        let read = one_line(&fact.label.to_string());
        match fact.label.taint() {
            Taint::Clean | Taint::Private => (),
            Taint::External | Taint::Both => {
                say(Line::styled(format!("! It had read: {read}"), theme.warn));
            }
        }
        for remark in lookalike_remarks(fact) {
            say(Line::styled(format!("! Look closely: {}", one_line(&remark)), theme.warn));
        }
        say(Line::from(vec![
            Span::styled(one_line(&fact.tool), theme.tool),
            Span::styled(format!(": {}", one_line(&fact.summary)), theme.text),
        ]));
        say(Line::styled(format!("Why you are asked: {}", one_line(&fact.reason)), theme.quiet));
        if fact.often {
            say(Line::styled(OFTEN_ASKED, theme.accent));
        }
        lines
    }

    /// The keys that answer.
    fn choice_lines(
        &self,
        width: usize,
        theme: &Theme,
        standing: DialogState,
    ) -> Vec<Line<'static>> {
        if !standing.focused {
            let text = "Tab: answer this · what you type goes into the box below";
            return wrap_line(&Line::styled(text, theme.accent), width, 2);
        }
        let roomy = width >= ROOMY_CELLS;
        let words = |long: &'static str, short: &'static str| if roomy { long } else { short };
        let mut all = Vec::new();
        if self.offers_once() {
            all.push(("y", words("yes, once", "yes")));
        }
        if self.offers_lasting_answer() {
            let often = self.request().is_some_and(|fact| fact.often);
            // What saves the next question stands first; the keys stay.
            let at = if often { 0 } else { all.len() };
            all.insert(at, ("s", words("this session", "session")));
            if self.offers_always() {
                all.push(("a", words("always in this project", "always")));
            }
        }
        all.extend([
            ("n", "no…"),
            ("v", words("show all", "all")),
            ("Esc", words("stop the run", "stop")),
        ]);
        on_rows(&all, width, theme)
    }
}

fn title_line(width: usize, theme: &Theme, others: usize) -> Line<'static> {
    let more = match others {
        0 => String::new(),
        n => format!(" ({n} more after it)"),
    };
    cut_line(Line::styled(format!("─ Allow this?{more} ─"), theme.warn), width)
}

/// The command, or what would change, in full.
fn subject_lines(fact: &ApprovalRequested, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    if !fact.lines.is_empty() {
        return step_lines(fact, width, theme);
    }
    match &fact.diff {
        Some(text) => diff::render_diff(text, width, LINES_MAX, theme),
        None => argument_lines(&fact.input, width, theme),
    }
}

/// All of a question about several steps: first a row for each, then each whole.
fn step_lines(fact: &ApprovalRequested, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = step_table(fact, width, theme);
    lines.extend(step_details(fact, width, theme));
    lines
}

/// A row for each step that is asked about: number, tool, what it does, whom it reaches.
fn step_table(fact: &ApprovalRequested, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let head = std::iter::once(lines_head(fact)).filter(|_| !fact.lines.is_empty());
    let rows = head.chain(question_lines(fact));
    // Whole: whom a step reaches is not to be lost behind the edge.
    rows.flat_map(|row| wrap_line(&Line::styled(row, theme.text), width, 2)).collect()
}

/// Each of these steps with why it is asked about, and its difference or arguments.
fn step_details(fact: &ApprovalRequested, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for line in &fact.lines {
        lines.push(Line::default());
        let head = Line::styled(question_line(line), theme.tool);
        lines.extend(wrap_line(&head, width, 2));
        let why = format!("Why you are asked: {}", one_line(&line.reason));
        lines.extend(wrap_line(&Line::styled(why, theme.quiet), width, 2));
        lines.extend(match &line.diff {
            Some(text) => diff::render_diff(text, width, usize::MAX, theme),
            None => argument_lines(&line.input, width, theme),
        });
    }
    lines
}

/// At most `rows_max` lines, the last of which says how many were left out.
fn bound_lines(
    lines: Vec<Line<'static>>,
    rows_max: usize,
    width: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    cut_lines(lines, rows_max, width, theme, REST_BY_KEY)
}

/// The same; `how` says how the rest is seen.
fn cut_lines(
    mut lines: Vec<Line<'static>>,
    rows_max: usize,
    width: usize,
    theme: &Theme,
    how: &str,
) -> Vec<Line<'static>> {
    if lines.len() > rows_max && rows_max > 0 {
        let left = lines.len() - (rows_max - 1);
        lines.truncate(rows_max - 1);
        let text = format!("  … {} · {how}", count_text(left, "more line"));
        lines.push(cut_line(Line::styled(text, theme.warn), width));
    }
    lines.truncate(rows_max);
    lines
}

/// The rules that an answer that lasts would add.
fn rule_lines(
    fact: &ApprovalRequested,
    width: usize,
    theme: &Theme,
    rows: usize,
) -> Vec<Line<'static>> {
    if fact.rules.is_empty() {
        return Vec::new();
    }
    let rules: Vec<String> = fact.rules.iter().map(|rule| one_line(rule.text())).collect();
    let rules = rules.join("  ");
    let text = match &fact.grant {
        Some(grant) => format!(
            "This session grants: {}. Always in this project adds: {rules}",
            grant_text(grant)
        ),
        None if fact.bound => format!("This session adds: {}", bound_rules_text(&rules)),
        None => format!("Session, or always in this project, adds: {rules}"),
    };
    bound_lines(wrap_line(&Line::styled(text, theme.quiet), width, 2), rows, width, theme)
}

/// Keys and what they do in rows. A key and its word stay on one.
fn on_rows(
    all: &[(&'static str, &'static str)],
    width: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let mut lines = vec![Line::default()];
    for &(key, word) in all {
        let choice =
            [Span::styled(key, theme.accent), Span::styled(format!(" {word}"), theme.text)];
        let cells: usize = choice.iter().map(Span::width).sum();
        let gap = Span::styled(" · ", theme.quiet);
        let taken = lines.last().map_or(0, Line::width);
        if taken > 0 && taken + gap.width() + cells > width {
            lines.push(Line::default());
        }
        if let Some(line) = lines.last_mut() {
            if !line.spans.is_empty() {
                line.push_span(gap);
            }
            choice.into_iter().for_each(|span| line.push_span(span));
        }
    }
    lines.iter().flat_map(|line| wrap_line(line, width, 2)).collect()
}

#[cfg(test)]
#[path = "approval_tests.rs"]
mod tests;
