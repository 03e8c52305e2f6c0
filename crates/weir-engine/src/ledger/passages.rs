//! What of a fact can be found again by its words (X4, D9), as passages of about 2,000 characters.
//! Not here: the index (the store's), and who looks (the `recall` tool, `weir sessions search`).

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::Value;
use weir_core::event::{CallFinished, CallJudged, Event};
use weir_core::ids::{BlobId, CallId, Seq};
use weir_core::message::plain_text;
use weir_core::tool::{AgentControl, ResultEffect};

use crate::ports::{IndexedText, Store, StoreError};

/// Characters of a passage: a screen or two, so that what is found can be told whole.
const PASSAGE_CHARS: usize = 2_000;
/// Where a passage may end earlier, at a better place.
const EARLY_CHARS: usize = 500;
/// Characters of one text that can be found: about a hundred passages.
const TEXT_CHARS_MAX: usize = 200_000;
/// Characters of a subject.
const SUBJECT_CHARS_MAX: usize = 400;

/// Passages of facts on their way to the store.
#[derive(Default)]
pub(super) struct PassageBuilder {
    /// Calls that are not finished yet.
    calls: HashMap<CallId, CallSubject>,
    texts: Vec<IndexedText>,
    fulls: Vec<FullResult>,
}

/// What a call will be found by when it is finished.
struct CallSubject {
    proposed: Seq,
    tool: String,
    input: String,
    about: Vec<String>,
}

/// A result whose full text lies among the blobs.
#[derive(Debug)]
pub(super) struct FullResult {
    seq: Seq,
    call: CallId,
    subject: String,
    blob: BlobId,
    /// What the model was given: found instead, should the full text be gone.
    given: String,
}

impl PassageBuilder {
    /// Takes the text of a fact.
    pub(super) fn push(&mut self, seq: Seq, event: &Event) {
        match event {
            Event::InputAccepted(f) => {
                self.add_text(seq, None, "", &plain_text(&f.content));
                for added in &f.added {
                    self.add_text(seq, None, &added.source, &added.text);
                }
            }
            Event::ModelReplied(f) => self.add_text(seq, None, "", &plain_text(&f.content)),
            Event::CallProposed(f) => {
                let input = collect_strings(&f.input);
                let begun =
                    CallSubject { proposed: seq, tool: f.tool.clone(), input, about: Vec::new() };
                self.calls.insert(f.call, begun);
            }
            Event::CallJudged(f) => self.note_judged(seq, f),
            Event::CallFinished(f) => self.note_finished(seq, f),
            Event::CallUnknown(f) => {
                let subject = self.take_subject(f.call, &f.tool);
                self.add_text(seq, Some(f.call), &subject, &f.reason);
            }
            Event::QuestionAsked(f) => {
                let text = format!("{}\n{}", f.text, f.options.join("\n"));
                self.add_text(seq, Some(f.call), "", &text);
            }
            Event::QuestionAnswered(f) => {
                self.add_text(seq, None, "", f.answer.as_deref().unwrap_or_default());
            }
            Event::PlanUpdated(f) => {
                let items: Vec<&str> = f.items.iter().map(|item| item.text.as_str()).collect();
                self.add_text(seq, Some(f.call), "", &items.join("\n"));
            }
            Event::ContextSummarised(f) => {
                self.add_text(seq, None, "", f.summary.as_deref().unwrap_or_default());
            }
            Event::MemoryProposed(f) => self.add_text(seq, None, "", &f.note.text),
            Event::MemoryWritten(f) => self.add_text(seq, None, "", &f.note.text),
            _ => {}
        }
    }

    fn note_judged(&mut self, seq: Seq, fact: &CallJudged) {
        let effects = &fact.inspection.effects;
        if let Some(begun) = self.calls.get_mut(&fact.call) {
            let paths = effects.paths.iter().map(|path| path.path.clone());
            begun.about.extend(paths.chain(effects.hosts.iter().map(|host| host.host.clone())));
            // What it asks, plans or remembers is a fact of its own; what it keeps in the brain is none.
            let remembers = !effects.remembers.is_empty() && effects.brain.is_none();
            if effects.control.is_some() || remembers {
                begun.input.clear();
            }
        }
        if let Some(AgentControl::Complete { result }) = &effects.control {
            self.add_text(seq, Some(fact.call), "", result);
        }
    }

    /// A finished call is found by what it was asked and by all of what it gave back.
    fn note_finished(&mut self, seq: Seq, fact: &CallFinished) {
        let begun = self.calls.get_mut(&fact.call);
        // What was recalled is found where it stands, not once more in the answer.
        if fact.news.iter().any(|news| matches!(news, ResultEffect::Recalled { .. })) {
            self.calls.remove(&fact.call);
            return;
        }
        let mut asked = None;
        if let Some(begun) = begun {
            begun.about.extend(fact.changed.iter().cloned());
            asked = Some((begun.proposed, std::mem::take(&mut begun.input)));
        }
        let subject = self.take_subject(fact.call, &fact.tool);
        if let Some((proposed, input)) = asked {
            self.add_text(proposed, Some(fact.call), &subject, &input);
        }
        let given = plain_text(&fact.result);
        match &fact.full {
            Some(blob) => {
                let blob = blob.clone();
                self.fulls.push(FullResult { seq, call: fact.call, subject, blob, given });
            }
            None => self.add_text(seq, Some(fact.call), &subject, &given),
        }
    }

    /// Forgets a call and says what it was about: tool, then paths and hosts.
    fn take_subject(&mut self, call: CallId, tool: &str) -> String {
        let begun = self.calls.remove(&call);
        let tool = begun.as_ref().map_or(tool, |begun| begun.tool.as_str());
        let mut subject = tool.to_string();
        let mut seen = BTreeSet::new();
        for about in begun.iter().flat_map(|begun| &begun.about).filter(|about| seen.insert(*about))
        {
            if subject.len() + about.len() > SUBJECT_CHARS_MAX {
                break;
            }
            subject.push(' ');
            subject.push_str(about);
        }
        subject
    }

    fn add_text(&mut self, seq: Seq, call: Option<CallId>, subject: &str, text: &str) {
        add_passages(
            &mut self.texts,
            &IndexedText { seq, call, subject: subject.into(), text: String::new() },
            text,
        );
    }

    /// Takes the passages that can be written now, and the results whose full text must be read
    /// first.
    pub(super) fn take_pending(&mut self) -> (Vec<IndexedText>, Vec<FullResult>) {
        (std::mem::take(&mut self.texts), std::mem::take(&mut self.fulls))
    }
}

/// Adds the passages of full texts. Their bytes are among those that are written with the facts, or
/// were written before.
pub(super) async fn read_fulls(
    texts: &mut Vec<IndexedText>,
    fulls: Vec<FullResult>,
    blobs: &[(BlobId, Arc<[u8]>)],
    store: &dyn Store,
) -> Result<(), StoreError> {
    for full in fulls {
        let staged = blobs.iter().find(|(id, _)| *id == full.blob);
        let bytes = match staged {
            Some((_, bytes)) => Some(Arc::clone(bytes)),
            None => match store.read_blob(&full.blob).await {
                Ok(bytes) => Some(bytes),
                Err(StoreError::Missing { .. }) => None,
                Err(error) => return Err(error),
            },
        };
        let text = bytes.as_deref().map_or(full.given.as_str().into(), String::from_utf8_lossy);
        let FullResult { seq, call, subject, .. } = &full;
        let like = IndexedText {
            seq: *seq,
            call: Some(*call),
            subject: subject.clone(),
            text: String::new(),
        };
        add_passages(texts, &like, &text);
    }
    Ok(())
}

/// Adds the passages of one text, each `like` that.
fn add_passages(texts: &mut Vec<IndexedText>, like: &IndexedText, text: &str) {
    let passages = split_passages(text).into_iter().filter(|part| !part.trim().is_empty());
    texts.extend(passages.map(|part| IndexedText { text: part.to_string(), ..like.clone() }));
}

/// The strings in a call's arguments, one below the other.
fn collect_strings(input: &Value) -> String {
    fn gather_strings(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::String(text) => found.push(text.clone()),
            Value::Array(items) => items.iter().for_each(|item| gather_strings(item, found)),
            Value::Object(fields) => fields.values().for_each(|field| gather_strings(field, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    let mut found = Vec::new();
    gather_strings(input, &mut found);
    found.join("\n")
}

/// The first 200,000 characters of a text in passages of at most 2,000: cut between paragraphs, else
/// between lines, else between words.
fn split_passages(text: &str) -> Vec<&str> {
    let end = text.char_indices().nth(TEXT_CHARS_MAX).map_or(text.len(), |(at, _)| at);
    let mut rest = &text[..end];
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let Some((full, _)) = rest.char_indices().nth(PASSAGE_CHARS) else {
            parts.push(rest);
            break;
        };
        let early = PASSAGE_CHARS - EARLY_CHARS;
        let early = rest.char_indices().nth(early).map_or(0, |(at, _)| at);
        let last = |part: &str| rest[early..full].rfind(part).map(|at| early + at + part.len());
        let line = || rest[..full].rfind('\n').map(|at| at + 1);
        let at = last("\n\n").or_else(|| last(".\n")).or_else(|| last("\n")).or_else(line);
        // A line that is longer than a passage ends between sentences or words.
        let at = at.or_else(|| last(". ")).or_else(|| last(" ")).unwrap_or(full);
        let (part, more) = rest.split_at(at);
        parts.push(part);
        rest = more;
    }
    parts
}

#[cfg(test)]
mod tests;
