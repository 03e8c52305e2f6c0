//! Asks the person at the terminal: approvals and questions on standard error, answers from
//! standard input (G4). Fails closed: what is not clearly a yes is a no.

use std::collections::VecDeque;
use std::io::BufRead;

use tokio::task::JoinHandle;
use weir_core::event::{ApprovalRequested, Decision, Event, QuestionAsked};
use weir_core::ids::{ApprovalId, QuestionId};
use weir_core::view::plain::visible;
use weir_engine::engine::{EngineError, SessionHandle};

use crate::command::permissions;
use crate::cx::Cx;
use crate::failure::engine_failure;
use crate::terminal;

/// Lines of a diff that are shown before it is cut, visibly.
const DIFF_LINES_MAX: usize = 200;

/// What is put to the person.
#[derive(Clone)]
enum Open {
    Approval(Box<ApprovalRequested>),
    Question(QuestionAsked),
}

/// What the person answered.
pub(super) struct Answered {
    open: Open,
    line: Option<String>,
}

/// Questions that wait, and the one that is being read.
pub(super) struct Asking {
    attended: bool,
    waiting: VecDeque<Open>,
    reading: Option<JoinHandle<Answered>>,
}

impl Asking {
    pub(super) fn new(attended: bool) -> Asking {
        Asking { attended, waiting: VecDeque::new(), reading: None }
    }

    /// Hears a fact: something is asked, or was settled elsewhere.
    pub(super) fn fact(&mut self, event: &Event) {
        match event {
            Event::ApprovalRequested(f) if self.attended => {
                self.waiting.push_back(Open::Approval(Box::new(f.clone())));
            }
            Event::QuestionAsked(f) if self.attended => {
                self.waiting.push_back(Open::Question(f.clone()));
            }
            Event::ApprovalResolved(f) => self.settled_approval(&f.approval),
            Event::QuestionAnswered(f) => self.settled_question(&f.question),
            _ => (),
        }
        if self.reading.is_none()
            && let Some(open) = self.waiting.front().cloned()
        {
            show(&open);
            self.reading = Some(tokio::task::spawn_blocking(move || read(open)));
        }
    }

    fn settled_approval(&mut self, id: &ApprovalId) {
        self.waiting.retain(|open| !matches!(open, Open::Approval(f) if f.approval == *id));
    }

    fn settled_question(&mut self, id: &QuestionId) {
        self.waiting.retain(|open| !matches!(open, Open::Question(f) if f.question == *id));
    }

    /// The next answer; never, while nothing is asked.
    pub(super) async fn answered(&mut self) -> Answered {
        if let Some(reading) = &mut self.reading {
            let answer = reading.await;
            self.reading = None;
            if let Ok(answer) = answer {
                return answer;
            }
        }
        std::future::pending().await
    }

    /// Passes an answer on.
    pub(super) async fn settle(
        &mut self,
        cx: &Cx,
        handle: &SessionHandle,
        answer: Answered,
    ) -> anyhow::Result<()> {
        let result = match answer.open {
            Open::Approval(asked) => {
                let (decision, reason) = decision(answer.line.as_deref(), &asked);
                if decision == Decision::Always {
                    for rule in &asked.rules {
                        permissions::remember(cx, rule)?;
                    }
                }
                handle.decide(asked.approval.clone(), decision, "person", reason).await
            }
            Open::Question(asked) => {
                let line = answer.line.unwrap_or_default();
                let text = choice(&line, &asked.options);
                handle.reply(asked.question.clone(), text, "person").await
            }
        };
        match result {
            // Somebody else was quicker.
            Ok(()) | Err(EngineError::Refused(_)) => Ok(()),
            Err(error) => Err(engine_failure(error)),
        }
    }
}

fn read(open: Open) -> Answered {
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    let line = matches!(read, Ok(length) if length > 0).then(|| line.trim().to_string());
    Answered { open, line }
}

fn show(open: &Open) {
    match open {
        Open::Approval(asked) => {
            terminal::err_line(&format!("\n{}", visible(&asked.summary)));
            terminal::err_line(&format!("  why it is asked: {}", visible(&asked.reason)));
            match &asked.diff {
                Some(diff) => {
                    for line in diff.lines().take(DIFF_LINES_MAX) {
                        terminal::err_line(&format!("  {}", visible(line)));
                    }
                    let left = diff.lines().count().saturating_sub(DIFF_LINES_MAX);
                    if left > 0 {
                        terminal::err_line(&format!("  … {left} more lines are not shown"));
                    }
                }
                None => {
                    terminal::err_line(&format!(
                        "  {} {}",
                        asked.tool,
                        visible(&asked.input.to_string())
                    ));
                }
            }
            let rules: Vec<String> = asked.rules.iter().map(|r| r.text().to_string()).collect();
            if rules.is_empty() {
                terminal::err_line("[y] once  [n reason] no");
            } else {
                terminal::err_line(&format!(
                    "[y] once  [s] this session  [a] always  [n reason] no    (s and a allow: {})",
                    rules.join(", ")
                ));
            }
        }
        Open::Question(asked) => {
            terminal::err_line(&format!("\n{}", visible(&asked.text)));
            for (number, option) in asked.options.iter().enumerate() {
                terminal::err_line(&format!("  {}. {}", number + 1, visible(option)));
            }
        }
    }
}

/// What a typed line decides. The end of input is a no, like everything that is not clearly a yes.
fn decision(line: Option<&str>, asked: &ApprovalRequested) -> (Decision, Option<String>) {
    let line = line.unwrap_or_default();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let lasting = !asked.rules.is_empty();
    match word.to_lowercase().as_str() {
        "y" | "yes" | "once" => (Decision::Once, None),
        "s" | "session" if lasting => (Decision::Session, None),
        "a" | "always" if lasting => (Decision::Always, None),
        "n" | "no" | "deny" => {
            (Decision::Deny, Some(rest.trim().to_string()).filter(|r| !r.is_empty()))
        }
        _ => (Decision::Deny, Some(line.to_string()).filter(|l| !l.is_empty())),
    }
}

/// Numbers stand for options; everything else is the answer itself.
fn choice(line: &str, options: &[String]) -> String {
    let named = |word: &str| {
        let number: usize = word.trim().parse().ok()?;
        options.get(number.checked_sub(1)?).cloned()
    };
    let words: Option<Vec<String>> = line.split(',').map(named).collect();
    words.map_or_else(|| line.to_string(), |words| words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::choice;

    #[test]
    fn l13_numbers_choose_options() {
        let options = ["red".to_string(), "blue".to_string()];
        assert_eq!(choice("2", &options), "blue");
        assert_eq!(choice("1, 2", &options), "red, blue");
        assert_eq!(choice("green", &options), "green");
        assert_eq!(choice("9", &options), "9");
    }
}
