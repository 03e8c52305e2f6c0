//! What asks the person in line mode: approvals and questions one after the other, and what a typed
//! line means to them (G4). Pure. Fails closed: only a clear yes allows; unclear words are asked
//! again. Not here: where lines come from.

use std::collections::VecDeque;
use std::mem::take;

use weir_core::event::{ApprovalRequested, Decision, Event, QuestionAsked};
use weir_core::ids::{ApprovalId, QuestionId};

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

/// What is put to the person.
#[derive(Debug, Clone)]
pub(super) enum LineModeAsk {
    /// A call, with the profiles on the way to the agent that asks.
    Approval(Box<ApprovalRequested>, Vec<String>),
    /// A question of the agent.
    Question(Box<QuestionAsked>),
}

/// What a typed line means to what is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TypedAnswer {
    /// A decision about an approval.
    Decide(ApprovalId, Decision, Option<String>),
    /// An answer to a question.
    Reply(QuestionId, String),
    /// It cannot be told: it is asked again with these words.
    Again(String),
}

/// All that waits for the person, the oldest first.
#[derive(Debug, Default)]
pub(super) struct AskQueue {
    manner: WordingStyle,
    waiting: VecDeque<LineModeAsk>,
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

/// How something that was asked came to its end, as far as this face cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AskSettlement {
    /// The answer was typed here.
    Here,
    /// Not here: elsewhere, too late, or the run ended.
    Elsewhere,
}

impl AskQueue {
    /// Nothing waits.
    pub(super) fn new(manner: WordingStyle) -> AskQueue {
        AskQueue { manner, ..AskQueue::default() }
    }

    /// Takes in a fact; says how it settled something that was printed or waited.
    pub(super) fn apply_fact(&mut self, event: &Event) -> Option<AskSettlement> {
        let place = match event {
            Event::ApprovalRequested(f) => {
                self.waiting.push_back(LineModeAsk::Approval(Box::new(f.clone()), Vec::new()));
                return None;
            }
            Event::AgentAsked(f) => {
                self.waiting.push_back(LineModeAsk::Approval(f.request.clone(), f.path.clone()));
                return None;
            }
            Event::QuestionAsked(f) => {
                self.waiting.push_back(LineModeAsk::Question(Box::new(f.clone())));
                return None;
            }
            Event::ApprovalResolved(f) => self.position_of(|ask| ask.is_approval(&f.approval)),
            Event::AgentAnswered(f) => self.position_of(|ask| ask.is_approval(&f.approval)),
            Event::QuestionAnswered(f) => self.position_of(|ask| ask.is_question(&f.question)),
            _ => None,
        }?;
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
        Some(if here { AskSettlement::Here } else { AskSettlement::Elsewhere })
    }

    fn position_of(&self, is: impl Fn(&LineModeAsk) -> bool) -> Option<usize> {
        self.waiting.iter().position(is)
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

    /// How often something that asks was printed.
    pub(super) fn print_count(&self) -> usize {
        self.printed
    }

    /// Whether it is the agent's question, and no call.
    pub(super) fn is_question(&self) -> bool {
        matches!(self.waiting.front(), Some(LineModeAsk::Question(_)))
    }

    /// Whether an answer is on its way.
    pub(super) fn is_sent(&self) -> bool {
        self.sent
    }

    /// The lines of the next one, where it was not printed yet.
    pub(super) fn show_next(&mut self) -> Option<Vec<String>> {
        let ask = self.waiting.front()?;
        if self.shown {
            return None;
        }
        self.shown = true;
        self.printed += 1;
        Some(match ask {
            LineModeAsk::Approval(asked, path) => {
                let (number, count) = (self.settled + 1, self.settled + self.waiting.len());
                approval_lines(asked, path, number, count, self.manner)
            }
            LineModeAsk::Question(asked) => question_lines(asked),
        })
    }

    /// It is printed again, whole.
    pub(super) fn show_again(&mut self) -> Option<Vec<String>> {
        self.shown = false;
        self.show_next()
    }

    /// The whole change or arguments of what is asked, for reading.
    pub(super) fn full_subject_lines(&self) -> Option<Vec<String>> {
        match self.waiting.front()? {
            LineModeAsk::Approval(asked, _) => Some(subject_lines(asked, usize::MAX, self.manner)),
            LineModeAsk::Question(asked) => Some(question_lines(asked)),
        }
    }

    /// What a typed line means to what is asked. `None`: nothing is asked.
    pub(super) fn interpret_line(&mut self, line: &str) -> Option<TypedAnswer> {
        let swapped = take(&mut self.swapped);
        if !self.is_open() {
            return None;
        }
        let answer = match self.waiting.front()? {
            LineModeAsk::Approval(asked, _) => {
                match parse_decision(line, !asked.rules.is_empty(), self.manner) {
                    Ok((decision, _)) if decision.allows() && swapped => self.ask_after_swap(),
                    Ok((decision, reason)) => {
                        TypedAnswer::Decide(asked.approval.clone(), decision, reason)
                    }
                    Err(words) => TypedAnswer::Again(words),
                }
            }
            LineModeAsk::Question(asked) if line.trim().is_empty() => {
                let how = if asked.options.is_empty() { "words" } else { "words or a number" };
                TypedAnswer::Again(format!("The question waits for an answer: {how}."))
            }
            LineModeAsk::Question(_) if swapped => self.ask_after_swap(),
            LineModeAsk::Question(asked) => {
                TypedAnswer::Reply(asked.question.clone(), parse_choice(line, &asked.options))
            }
        };
        self.sent = !matches!(answer, TypedAnswer::Again(_));
        Some(answer)
    }

    /// The answer when nobody is there to type one.
    pub(super) fn answer_unattended(&mut self, line: &str) -> Option<TypedAnswer> {
        self.swapped = false;
        self.interpret_line(line)
    }

    /// What asks is printed again before an answer counts.
    fn ask_after_swap(&mut self) -> TypedAnswer {
        self.shown = false;
        TypedAnswer::Again(SWAPPED.into())
    }
}

const SWAPPED: &str = "What was asked before was settled elsewhere, and this is another one: it is \
                       asked again, so that no answer meets the wrong call.";

impl LineModeAsk {
    fn is_approval(&self, id: &ApprovalId) -> bool {
        matches!(self, LineModeAsk::Approval(asked, _) if asked.approval == *id)
    }

    fn is_question(&self, id: &QuestionId) -> bool {
        matches!(self, LineModeAsk::Question(asked) if asked.question == *id)
    }
}

/// What a line decides. An error says what can be typed: nothing is decided by unclear words.
/// `lasting`: there are rules that "session" and "always" would add.
pub(super) fn parse_decision(
    line: &str,
    lasting: bool,
    manner: WordingStyle,
) -> Result<(Decision, Option<String>), String> {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let word = word.trim_end_matches([',', '.', ':', '!']).to_lowercase();
    let rest = rest.trim();
    let only = |decision| {
        if rest.is_empty() {
            return Ok((decision, None));
        }
        Err(format!("That is not clear: a yes stands alone. {}", choices_prompt(lasting, manner)))
    };
    match word.as_str() {
        "once" | "yes" | "y" | "allow" => only(Decision::Once),
        "session" | "s" if lasting => only(Decision::Session),
        "always" | "a" if lasting => only(Decision::Always),
        "session" | "s" | "always" | "a" => Err(format!(
            "This call can be allowed once only: no rule describes it. {}",
            choices_prompt(lasting, manner)
        )),
        "no" | "n" | "deny" => {
            let reason: String = rest.chars().take(REASON_CHARACTERS_MAX).collect();
            Ok((Decision::Deny, (!reason.is_empty()).then_some(reason)))
        }
        "" => Err(format!(
            "The call waits, and nothing was typed. {}",
            choices_prompt(lasting, manner)
        )),
        _ => Err(format!("That is neither a yes nor a no. {}", choices_prompt(lasting, manner))),
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
            assert_eq!(
                parse_decision(line, lasting, WordingStyle::Signs).ok(),
                expected,
                "{line:?}"
            );
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
