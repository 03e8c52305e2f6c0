//! A step as the pieces of a stream, made one after the other, so that a reply that repeats
//! a million times needs no memory for it.

use std::collections::VecDeque;
use std::sync::Arc;

use super::step::{FoundStep, ScriptStep, ScriptedPiece};

/// Bytes of a repeated text that are made at once.
const REPEATED_BYTES: usize = 4096;

/// One piece of a reply, in no vendor's words.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ReplyPiece {
    ThinkingBegin,
    Thinking(String),
    ThinkingEnd,
    TextBegin,
    Text(String),
    TextEnd,
    CallBegin { id: String, tool: String },
    Arguments(String),
    CallEnd,
    Image { media_type: String, base64: String },
}

/// Makes the pieces of one reply.
#[derive(Debug, Clone)]
pub(super) struct ReplyPieces {
    step: Arc<ScriptStep>,
    round: Option<u64>,
    /// Start of each made id, with the number of the reply.
    id: String,
    say: usize,
    /// How often the current `say` has come.
    times: u64,
    calls: u64,
    queue: VecDeque<ReplyPiece>,
}

impl ReplyPieces {
    pub(super) fn new(found: &FoundStep, id: String) -> ReplyPieces {
        ReplyPieces {
            step: Arc::clone(&found.step),
            round: found.round,
            id,
            say: 0,
            times: 0,
            calls: 0,
            queue: VecDeque::new(),
        }
    }

    /// Bytes of what will be said.
    pub(super) fn total_bytes(&self) -> u64 {
        let each: usize = self
            .step
            .says
            .iter()
            .map(|say| match say {
                ScriptedPiece::Thinking(text) | ScriptedPiece::Text(text) => text.len(),
                ScriptedPiece::Call { tool, arguments } => tool.len() + arguments.len(),
                ScriptedPiece::Image { data, .. } => data.len(),
            })
            .sum();
        (each as u64).saturating_mul(self.step.repeat.max(1))
    }

    fn filled_in(&self, text: &str) -> String {
        let mut text = text.to_owned();
        if let Some(round) = self.round {
            text = text.replace("{{i}}", &round.to_string());
        }
        if self.step.repeat > 0 {
            text = text.replace("{{n}}", &(self.times + 1).to_string());
        }
        text
    }

    fn refill(&mut self) -> Option<()> {
        let step = Arc::clone(&self.step);
        let say = step.says.get(self.say)?;
        let paced = !step.pace.is_zero();
        match say {
            ScriptedPiece::Thinking(text) => {
                let begin = (self.times == 0).then_some(ReplyPiece::ThinkingBegin);
                let text = self.repeat_text(text);
                self.queue.extend(begin);
                self.queue.extend(split_text(&text, paced).map(ReplyPiece::Thinking));
                self.queue.extend((self.repeats_left() == 0).then_some(ReplyPiece::ThinkingEnd));
            }
            ScriptedPiece::Text(text) => {
                let begin = (self.times == 0).then_some(ReplyPiece::TextBegin);
                let text = self.repeat_text(text);
                self.queue.extend(begin);
                self.queue.extend(split_text(&text, paced).map(ReplyPiece::Text));
                self.queue.extend((self.repeats_left() == 0).then_some(ReplyPiece::TextEnd));
            }
            ScriptedPiece::Call { tool, arguments } => {
                let id = self.next_call_id();
                self.queue.push_back(ReplyPiece::CallBegin { id, tool: tool.clone() });
                let arguments = self.filled_in(arguments);
                self.times += 1;
                self.queue.extend(split_text(&arguments, paced).map(ReplyPiece::Arguments));
                self.queue.push_back(ReplyPiece::CallEnd);
            }
            ScriptedPiece::Image { media_type, data } => {
                use base64::Engine as _;
                let base64 = base64::engine::general_purpose::STANDARD.encode(data);
                self.times += 1;
                self.queue.push_back(ReplyPiece::Image { media_type: media_type.clone(), base64 });
            }
        }
        if self.repeats_left() == 0 {
            self.say += 1;
            self.times = 0;
        }
        Some(())
    }

    /// How often the current `say` is still to come.
    fn repeats_left(&self) -> u64 {
        self.step.repeat.max(1).saturating_sub(self.times)
    }

    /// The text as often as fits into one go, at least once.
    fn repeat_text(&mut self, text: &str) -> String {
        let mut out = String::new();
        while self.repeats_left() > 0 && (out.is_empty() || out.len() < REPEATED_BYTES) {
            let before = out.len();
            out.push_str(&self.filled_in(text));
            self.times += 1;
            if out.len() == before {
                // An empty text is as good once as a million times.
                self.times = self.step.repeat.max(1);
            }
        }
        out
    }

    fn next_call_id(&mut self) -> String {
        self.calls += 1;
        let given = usize::try_from(self.calls - 1).ok().and_then(|n| self.step.call_ids.get(n));
        given.cloned().unwrap_or_else(|| format!("{}_{:02}", self.id, self.calls))
    }
}

impl Iterator for ReplyPieces {
    type Item = ReplyPiece;

    fn next(&mut self) -> Option<ReplyPiece> {
        loop {
            if let Some(piece) = self.queue.pop_front() {
                return Some(piece);
            }
            self.refill()?;
        }
    }
}

/// Splits a text as a stream brings it: word by word when paced, else a few pieces of some size.
fn split_text(text: &str, paced: bool) -> impl Iterator<Item = String> + '_ {
    let size = if paced { 1 } else { (text.len() / 6).clamp(8, 4096) };
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut end = rest.ceil_char_boundary(size.min(rest.len()));
        if paced {
            // A word with the blank before it, as tokens are.
            end = rest[end..].find(' ').map_or(rest.len(), |blank| end + blank);
        }
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v6_texts_come_in_several_pieces_and_whole() {
        for text in ["Hello, weir.", "ä", "", "Grüße an alle, die hier lesen und schreiben."] {
            for paced in [false, true] {
                assert_eq!(split_text(text, paced).collect::<String>(), text);
            }
        }
        assert_eq!(
            split_text("one two three", true).collect::<Vec<_>>(),
            ["one", " two", " three"]
        );
        assert!(split_text("a sentence of several words", false).count() > 2);
    }

    #[test]
    fn v6_repeats_count_themselves() {
        let step = ScriptStep {
            says: vec![
                ScriptedPiece::Text("la {{n}} ".to_owned()),
                ScriptedPiece::Call { tool: "t".to_owned(), arguments: "{\"n\":{{n}}}".to_owned() },
            ],
            repeat: 2,
            ..ScriptStep::default()
        };
        let found = FoundStep { step: Arc::new(step), round: None };
        let pieces: Vec<ReplyPiece> = ReplyPieces::new(&found, "c_1".to_owned()).collect();
        let call = |n: u64| ReplyPiece::CallBegin { id: format!("c_1_0{n}"), tool: "t".to_owned() };
        let text = |text: &str| ReplyPiece::Text(text.to_owned());
        let arguments = |text: &str| ReplyPiece::Arguments(text.to_owned());
        assert_eq!(
            pieces,
            [
                ReplyPiece::TextBegin,
                text("la 1 la "),
                text("2 "),
                ReplyPiece::TextEnd,
                call(1),
                arguments("{\"n\":1}"),
                ReplyPiece::CallEnd,
                call(2),
                arguments("{\"n\":2}"),
                ReplyPiece::CallEnd,
            ]
        );
    }
}
