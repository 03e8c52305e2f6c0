//! The conversation as people read it: each fact with a heading and what belongs below it. How that
//! looks in a terminal is here; in Markdown and HTML, in the files beside this one.

use serde_json::Value;
use weir_core::event::{Event, ModelReplied, NOBODY};
use weir_core::governance::filter::one_line;
use weir_core::governance::{GateName, Verdict};
use weir_core::ids::{BlobId, Seq, Timestamp};
use weir_core::message::{MessageBlock, StoredMedia};
use weir_core::tool::AgentControl;
use weir_core::view::plain::{push_visible_text, visible_text};
use weir_core::view::told::cut_off;
use weir_core::view::transcript::{CallStage, PlacedFact, Transcript, TranscriptChange};
use weir_engine::hub::PublishedFact;
use weir_engine::ledger::status_text;

use crate::wording::timestamp_text;

/// Lines of a result that the terminal shows.
const RESULT_LINES: usize = 6;

/// One fact for people.
pub struct TranscriptItem {
    pub seq: u64,
    pub ts: Timestamp,
    pub kind: &'static str,
    /// One line, not escaped.
    pub heading: String,
    pub parts: Vec<TranscriptPart>,
    /// Belongs to the conversation itself.
    pub is_told: bool,
}

/// What stands below a heading.
pub enum TranscriptPart {
    /// Running text.
    Text(String),
    /// Text to be shown exactly, with what it is.
    Exact(&'static str, String),
    /// A picture or document.
    Media(StoredMedia),
    /// The full text of a result that was put elsewhere.
    Full(BlobId),
}

/// Reads a conversation fact by fact, each once and in order.
#[derive(Default)]
pub struct ConversationReader {
    seen: Transcript,
}

impl ConversationReader {
    /// One that goes on behind what was `seen`.
    pub fn new(seen: Transcript) -> ConversationReader {
        ConversationReader { seen }
    }

    /// The next fact for people: everything that it says.
    pub fn read_item(&mut self, fact: &PublishedFact) -> TranscriptItem {
        self.read_fact(fact);
        let (heading, parts, is_told) = match conversation_parts(&fact.event, &self.seen) {
            Some((heading, parts)) => (heading, parts, true),
            None => (
                String::new(),
                vec![TranscriptPart::Exact("json", event_fields_json(&fact.event))],
                false,
            ),
        };
        let kind = fact.event.kind();
        let heading = if heading.is_empty() { kind.to_owned() } else { heading };
        TranscriptItem { seq: fact.seq, ts: fact.ts, kind, heading, parts, is_told }
    }

    /// The last fact that was read in one line: number, moment, kind and the beginning of what it says.
    pub(super) fn line_text(&self, fact: &PublishedFact) -> String {
        let what = match conversation_parts(&fact.event, &self.seen) {
            Some((heading, parts)) => {
                let first = parts.iter().find_map(|part| match part {
                    TranscriptPart::Text(text) | TranscriptPart::Exact(_, text) => {
                        Some(text.as_str())
                    }
                    TranscriptPart::Media(_) | TranscriptPart::Full(_) => None,
                });
                format!("{heading}  {}", first.unwrap_or_default())
            }
            None => fact.event.payload(),
        };
        let kind = fact.event.kind();
        format!("{:>5}  {}  {kind:<20}  {}", fact.seq, timestamp_text(fact.ts), one_line(&what))
    }

    /// The next fact, where it is of the conversation, with the beginning of long results; `None`
    /// for the others.
    pub fn read_brief_text(&mut self, fact: &PublishedFact) -> Option<String> {
        self.read_fact(fact);
        self.brief_text(fact)
    }

    /// The same of the last fact that was read.
    pub(super) fn brief_text(&self, fact: &PublishedFact) -> Option<String> {
        let limit = match fact.event.as_ref() {
            Event::ApprovalRequested(_) | Event::CheckpointTaken(_) => return None,
            Event::CallFinished(_) => RESULT_LINES,
            _ => usize::MAX,
        };
        // What is of no conversation is not made into text: that is most of a journal.
        let (heading, parts) = conversation_parts(&fact.event, &self.seen)?;
        let heading = if heading.is_empty() { fact.event.kind() } else { heading.as_str() };
        Some(brief_item_text(fact.seq, heading, &parts, limit))
    }

    /// Takes the next fact in: what is seen otherwise after it.
    pub(super) fn read_fact(&mut self, fact: &PublishedFact) -> Vec<TranscriptChange> {
        let at = PlacedFact { seq: fact.seq, ts: fact.ts, event: fact.event.clone() };
        self.seen.apply(&at)
    }

    /// Keeps no call that is over: each is looked at when its facts are read, and never later.
    pub(super) fn forget_settled_calls(&mut self) {
        self.seen.forget_settled_calls();
    }

    /// What is seen after the last fact that was read.
    pub(super) fn seen_transcript(&self) -> &Transcript {
        &self.seen
    }
}

/// The fields of a fact, indented.
fn event_fields_json(event: &Event) -> String {
    let value: Value = serde_json::from_str(&event.payload()).unwrap_or_default();
    serde_json::to_string_pretty(&value).unwrap_or_default()
}

/// Heading and parts of what belongs to the conversation.
#[expect(clippy::too_many_lines, reason = "one exhaustive match, a few lines for each fact")]
fn conversation_parts(event: &Event, seen: &Transcript) -> Option<(String, Vec<TranscriptPart>)> {
    Some(match event {
        Event::InputAccepted(f) => (f.by.clone(), block_parts(&f.content)),
        Event::ModelReplied(f) => {
            let as_read = seen.reply_as_read(f);
            ("model".into(), reply_parts(as_read.as_ref().unwrap_or(f)))
        }
        Event::CallJudged(f) => {
            let control = f.inspection.effects.control.as_ref();
            let verdict = match (f.verdict, control) {
                (Verdict::Allow, Some(AgentControl::Complete { result })) => {
                    let parts = vec![TranscriptPart::Text(result.clone())];
                    return Some((format!("{} ends the task", f.call), parts));
                }
                (Verdict::Allow, _) => return None,
                (Verdict::Ask, _) => "asks",
                _ => "denied",
            };
            let gate = f.gate.as_ref().map_or("gate", GateName::as_str);
            let why = f.rule.iter().chain(&f.reason).map(String::as_str);
            let why: Vec<&str> = why.collect();
            (format!("{} {verdict} by {gate}", f.call), vec![TranscriptPart::Text(why.join(": "))])
        }
        Event::ApprovalRequested(f) => {
            let mut parts = vec![TranscriptPart::Text(f.reason.clone())];
            parts.extend(f.diff.clone().map(|diff| TranscriptPart::Exact("diff", diff)));
            (format!("{} asked: {}", f.call, f.summary), parts)
        }
        Event::ApprovalResolved(f) => {
            let decision = if f.decision.allows() { "approved" } else { "not approved" };
            let by = if f.by == NOBODY { "nobody could be asked" } else { f.by.as_str() };
            let reason = f.reason.clone().map(TranscriptPart::Text);
            (format!("{} {decision}: {by}", f.call), reason.into_iter().collect())
        }
        Event::AgentAsked(f) => {
            let agents = f.path.join(", then ");
            let parts = vec![TranscriptPart::Text(f.request.reason.clone())];
            (format!("{} the agent {agents} asks: {}", f.call, f.request.summary), parts)
        }
        Event::AgentAnswered(f) => {
            let decision = if f.decision.allows() { "approved" } else { "not approved" };
            (format!("{} the agent's call {decision}: {}", f.call, f.by), Vec::new())
        }
        Event::CheckpointTaken(f) => (
            format!("{} saved first", f.call),
            vec![TranscriptPart::Text(format!("{}: {}", f.checkpoint, f.paths.join(", ")))],
        ),
        Event::CheckpointRestored(f) => {
            (format!("{} undid changes", f.by), vec![TranscriptPart::Text(f.paths.join(", "))])
        }
        Event::WorkspaceMerged(f) => (
            format!("{} took its changes over into {}", f.by, f.into),
            vec![TranscriptPart::Text(f.paths.join(", "))],
        ),
        Event::CallFinished(f) => {
            let how = match seen.find_call(f.call).map(|entry| entry.stage) {
                Some(CallStage::Done) => "result",
                Some(stage) => stage.stage_words(),
                // A fork may begin behind its proposal.
                None if f.ok => "result",
                None => CallStage::Failed.stage_words(),
            };
            let mut parts = block_parts(&f.result);
            parts.extend(f.full.clone().map(TranscriptPart::Full));
            (format!("{} {} {how}: {}", f.call, f.tool, f.summary), parts)
        }
        Event::CallUnknown(f) => (
            format!("{} {} outcome unknown", f.call, f.tool),
            vec![TranscriptPart::Text(f.reason.clone())],
        ),
        Event::QuestionAsked(f) => {
            let options = f.options.iter().map(|option| format!("\n- {option}"));
            let text = format!("{}{}", f.text, options.collect::<String>());
            ("question".into(), vec![TranscriptPart::Text(text)])
        }
        Event::QuestionAnswered(f) => {
            let answer = f.answer.clone().unwrap_or_else(|| "not answered".into());
            (format!("{} answered", f.by), vec![TranscriptPart::Text(answer)])
        }
        Event::ModelFailed(f) => {
            ("model failed".into(), vec![TranscriptPart::Text(f.message.clone())])
        }
        Event::ModelSwitched(f) => {
            let text = f.refused.clone().unwrap_or_else(|| f.reason.clone());
            let how = if f.refused.is_some() { "cannot go on" } else { "goes on" };
            (format!("{} {how}, after {}", f.model, f.from), vec![TranscriptPart::Text(text)])
        }
        Event::HistoryQuarantined(f) => {
            ("an attachment was withheld".into(), vec![TranscriptPart::Text(f.message.clone())])
        }
        Event::ToolsRefused(f) => (
            format!("{} is told its tools in its prompt from now on", f.model),
            vec![TranscriptPart::Text(f.message.clone())],
        ),
        Event::RunFinished(f) => {
            let mut parts = Vec::new();
            parts.extend(f.error.clone().map(TranscriptPart::Text));
            let output = f.output.as_ref().map(ToString::to_string);
            parts.extend(output.map(|output| TranscriptPart::Exact("json", output)));
            (format!("run {} {}", f.run, status_text(f.status)), parts)
        }
        _ => return None,
    })
}

/// A reply, with the mark of one that was cut off.
fn reply_parts(reply: &ModelReplied) -> Vec<TranscriptPart> {
    let mark = cut_off(reply).map(|mark| TranscriptPart::Text(format!("({mark})")));
    block_parts(&reply.content).into_iter().chain(mark).collect()
}

fn block_parts(blocks: &[MessageBlock]) -> Vec<TranscriptPart> {
    let mut parts = Vec::new();
    for block in blocks {
        match block {
            MessageBlock::Text { text, .. } => parts.push(TranscriptPart::Text(text.clone())),
            MessageBlock::Thinking { text, .. } if text.is_empty() => (),
            MessageBlock::Thinking { text, .. } => {
                parts.push(TranscriptPart::Exact("thinking", text.clone()))
            }
            MessageBlock::Call(call) => {
                let input = match &call.broken {
                    Some(why) => why.clone(),
                    None => call.input.to_string(),
                };
                parts.push(TranscriptPart::Exact(
                    "call",
                    format!("{} {} {input}", call.call, call.tool),
                ));
            }
            MessageBlock::Result { blocks: inner, .. } => parts.extend(self::block_parts(inner)),
            MessageBlock::Image { media } | MessageBlock::Document { media } => {
                parts.push(TranscriptPart::Media(media.clone()));
            }
        }
    }
    parts
}

/// An entry with at most `limit` lines of each of its parts.
fn brief_item_text(seq: Seq, heading: &str, parts: &[TranscriptPart], limit: usize) -> String {
    let mut text = format!("\n[{seq}] {}", visible_text(&one_line(heading)));
    for part in parts {
        match part {
            // A result of one line stands in its heading.
            TranscriptPart::Text(shown) if heading.ends_with(shown.trim_end()) => (),
            TranscriptPart::Text(shown) => push_indented_lines(&mut text, "", shown, limit),
            TranscriptPart::Exact("call", shown) => {
                push_indented_lines(&mut text, "-> ", shown, limit)
            }
            TranscriptPart::Exact(_, shown) => push_indented_lines(&mut text, "| ", shown, limit),
            TranscriptPart::Media(media) => {
                let name = media.name.as_deref().unwrap_or(&media.media_type);
                let shown = format!("({}, {} bytes)", visible_text(name), media.bytes);
                push_indented_lines(&mut text, "", &shown, limit);
            }
            TranscriptPart::Full(_) => (),
        }
    }
    text
}

fn push_indented_lines(text: &mut String, mark: &str, shown: &str, limit: usize) {
    let mut lines = shown.lines();
    for line in lines.by_ref().take(limit) {
        text.push_str("\n    ");
        text.push_str(mark);
        push_visible_text(text, line);
    }
    let left = lines.count();
    if left > 0 {
        text.push_str(&format!("\n    … ({left} more lines)"));
    }
}
