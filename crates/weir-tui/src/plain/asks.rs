//! What asks the person in line mode: approvals and questions one after the other, and what a typed
//! line means to them (G4). Pure. Fails closed: only a clear yes allows; unclear words are asked
//! again. Not here: where lines come from.

use std::collections::VecDeque;
use std::mem::take;

use weir_core::event::ApprovalRequested;
use weir_core::event::Decision;
use weir_core::view::transcript::{AskOutcome, PendingAsk, TranscriptChange};

use super::asked::{approval_lines, choices_prompt, question_lines, subject_lines};

/// Longest reason that goes along with a no, in characters.
const REASON_CHARACTERS_MAX: usize = 2_000;

/// How it is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum WordingStyle {
    /// With the signs that people know from diffs and prompts.
    #[default]
    Signs,
    /// In words, for a screen reader.
    Words,
}

/// What a typed line means to what is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TypedAnswer {
    /// A decision about an approval.
    Decide(Decision, Option<String>),
    /// An answer to a question.
    Reply(String),
    /// It cannot be told: it is asked again with these words.
    Again(String),
}

/// How what waits for the person is printed and answered: one after the other, the oldest first. What
/// is asked is the app's.
#[derive(Debug, Default)]
pub(super) struct AskQueue {
    manner: WordingStyle,
    /// The names of what waits, the oldest first.
    waiting: VecDeque<String>,
    /// The first of them was printed.
    shown: bool,
    /// It was answered here; the fact that says so has not come yet.
    sent: bool,
    /// What stood on the screen was settled by somebody else, and no line was typed since: an answer
    /// that was meant for it must not answer the next one.
    swapped: bool,
    /// How often something was printed.
    printed: usize,
    /// How many approvals were settled since nothing waited, for "2 of 3".
    settled: usize,
}

/// Where something that was asked came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerPlace {
    /// The answer was typed here.
    Here,
    /// Not here: elsewhere, too late, or the run ended.
    Elsewhere,
}

/// Something that was asked and waits no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AskSettlement {
    pub(super) place: AnswerPlace,
    pub(super) outcome: AskOutcome,
    /// What was decided and by whom.
    pub(super) words: String,
}

impl AskQueue {
    /// Nothing waits.
    pub(super) fn new(manner: WordingStyle) -> AskQueue {
        AskQueue { manner, ..AskQueue::default() }
    }

    /// Takes in a change of what is seen; says how it settled something that was printed or waited.
    pub(super) fn apply_change(&mut self, change: &TranscriptChange) -> Option<AskSettlement> {
        let (name, outcome, words) = match change {
            TranscriptChange::AskOpened(ask) => {
                self.waiting.push_back(ask.name().to_owned());
                return None;
            }
            TranscriptChange::AskClosed { name, outcome, words } => (name, *outcome, words),
            _ => return None,
        };
        let place = self.waiting.iter().position(|waits| waits == name)?;
        self.waiting.remove(place);
        self.settled += 1;
        let here = place == 0 && self.sent;
        if place == 0 {
            self.swapped |= self.shown && !self.sent;
            self.shown = false;
            self.sent = false;
        }
        if self.waiting.is_empty() {
            self.settled = 0;
        }
        let place = if here { AnswerPlace::Here } else { AnswerPlace::Elsewhere };
        Some(AskSettlement { place, outcome, words: words.clone() })
    }

    /// Nothing waits any more: another session is open.
    pub(super) fn forget_all(&mut self) {
        let swapped = self.swapped || self.is_open();
        *self = AskQueue { swapped, printed: self.printed, ..AskQueue::new(self.manner) };
    }

    /// What was answered could not be done: it waits as before.
    pub(super) fn reopen_sent(&mut self) {
        if take(&mut self.sent) {
            self.shown = false;
        }
    }

    /// Whether the next typed line is an answer.
    pub(super) fn is_open(&self) -> bool {
        self.shown && !self.sent && !self.waiting.is_empty()
    }

    /// Whether something waits for an answer, printed or not.
    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// How often something that asks was printed.
    pub(super) fn print_count(&self) -> usize {
        self.printed
    }

    /// Whether an answer is on its way.
    pub(super) fn is_sent(&self) -> bool {
        self.sent
    }

    /// The lines of the next one, where it was not printed yet. `ask`: the first that waits.
    pub(super) fn show_next(&mut self, ask: Option<&PendingAsk>) -> Option<Vec<String>> {
        let ask = ask.filter(|_| !self.shown)?;
        self.shown = true;
        self.printed += 1;
        let (number, count) = (self.settled + 1, self.settled + self.waiting.len());
        let approval = ask
            .request()
            .map(|asked| approval_lines(asked, ask.agent_path(), number, count, self.manner));
        approval.or_else(|| ask.question().map(question_lines))
    }

    /// It is printed again, whole.
    pub(super) fn show_again(&mut self, ask: Option<&PendingAsk>) -> Option<Vec<String>> {
        self.shown = false;
        self.show_next(ask)
    }

    /// The whole change or arguments of what is asked, for reading.
    pub(super) fn full_subject_lines(&self, ask: &PendingAsk) -> Option<Vec<String>> {
        let subject = ask.request().map(|asked| subject_lines(asked, usize::MAX, self.manner));
        subject.or_else(|| ask.question().map(question_lines))
    }

    /// What a typed line means to what is asked. `None`: nothing is asked.
    pub(super) fn interpret_line(
        &mut self,
        line: &str,
        ask: Option<&PendingAsk>,
    ) -> Option<TypedAnswer> {
        let swapped = take(&mut self.swapped);
        let ask = ask.filter(|_| self.is_open())?;
        let answer = match (ask.request(), ask.question()) {
            (Some(asked), _) => match read_decision(line, asked, self.manner) {
                Ok((decision, _)) if decision.allows() && swapped => self.ask_after_swap(),
                Ok((decision, reason)) => TypedAnswer::Decide(decision, reason),
                Err(words) => TypedAnswer::Again(words),
            },
            (None, Some(asked)) if line.trim().is_empty() => {
                let how = if asked.options.is_empty() { "words" } else { "words or a number" };
                TypedAnswer::Again(format!("The question waits for an answer: {how}."))
            }
            (None, Some(_)) if swapped => self.ask_after_swap(),
            (None, Some(asked)) => TypedAnswer::Reply(parse_choice(line, &asked.options)),
            (None, None) => return None,
        };
        self.sent = !matches!(answer, TypedAnswer::Again(_));
        Some(answer)
    }

    /// What asks is printed again before an answer counts.
    fn ask_after_swap(&mut self) -> TypedAnswer {
        self.shown = false;
        TypedAnswer::Again(SWAPPED.into())
    }
}

const SWAPPED: &str = "What was asked before was settled elsewhere, and this is another one: it is \
                       asked again, so that no answer meets the wrong call.";

/// What a line decides about what is asked.
fn read_decision(
    line: &str,
    asked: &ApprovalRequested,
    manner: WordingStyle,
) -> Result<(Decision, Option<String>), String> {
    parse_decision(line, !asked.rules.is_empty(), &choices_prompt(asked, manner))
}

/// What a line decides. An error says what can be typed: nothing is decided by unclear words.
/// `lasting`: there are rules that "session" and "always" would add.
fn parse_decision(
    line: &str,
    lasting: bool,
    choices: &str,
) -> Result<(Decision, Option<String>), String> {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let word = word.trim_end_matches([',', '.', ':', '!']).to_lowercase();
    let rest = rest.trim();
    let only = |decision| {
        if rest.is_empty() {
            return Ok((decision, None));
        }
        Err(format!("That is not clear: a yes stands alone. {}", choices))
    };
    match word.as_str() {
        "once" | "yes" | "y" | "allow" => only(Decision::Once),
        "session" | "s" if lasting => only(Decision::Session),
        "always" | "a" if lasting => only(Decision::Always),
        "session" | "s" | "always" | "a" => {
            Err(format!("This call can be allowed once only: no rule describes it. {}", choices))
        }
        "no" | "n" | "deny" => {
            let reason: String = rest.chars().take(REASON_CHARACTERS_MAX).collect();
            Ok((Decision::Deny, (!reason.is_empty()).then_some(reason)))
        }
        "" => Err(format!("The call waits, and nothing was typed. {}", choices)),
        _ => Err(format!("That is neither a yes nor a no. {}", choices)),
    }
}

/// What a typed answer means: numbers stand for options, everything else is the answer itself.
pub(super) fn parse_choice(line: &str, options: &[String]) -> String {
    let named = |word: &str| {
        let number: usize = word.trim().parse().ok()?;
        options.get(number.checked_sub(1)?).cloned()
    };
    let words: Option<Vec<String>> = line.split(',').map(named).collect();
    words.map_or_else(|| line.to_owned(), |words| words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_only_a_clear_yes_allows_and_unclear_words_are_asked_again() {
        let deny = |reason: &str| Some((Decision::Deny, Some(reason.to_owned())));
        for (line, lasting, expected) in [
            ("once", true, Some((Decision::Once, None))),
            (" YES ", true, Some((Decision::Once, None))),
            ("y.", true, Some((Decision::Once, None))),
            ("session", true, Some((Decision::Session, None))),
            ("always", true, Some((Decision::Always, None))),
            ("no", true, Some((Decision::Deny, None))),
            ("no, use tabs", true, deny("use tabs")),
            ("n not  today", true, deny("not  today")),
            ("session", false, None),
            ("a", false, None),
            ("yes but only tests", true, None),
            ("once more", true, None),
            ("", true, None),
            ("   ", true, None),
            ("maybe", true, None),
            ("yess", true, None),
            ("\u{443}", true, None),
            ("ok", true, None),
            ("1", true, None),
        ] {
            assert_eq!(parse_decision(line, lasting, "").ok(), expected, "{line:?}");
        }
    }

    #[test]
    fn f1_numbers_stand_for_options() {
        let options = ["red".to_owned(), "blue".to_owned()];
        for (line, expected) in [
            ("1", "red"),
            ("2", "blue"),
            ("2, 1", "blue, red"),
            ("3", "3"),
            ("0", "0"),
            ("1, green", "1, green"),
            ("neither", "neither"),
        ] {
            assert_eq!(parse_choice(line, &options), expected, "{line}");
        }
    }
}
