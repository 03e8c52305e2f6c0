//! What a page makes of what a person sees of a chat (`weir_core::view::transcript`): one update in,
//! the steps that change the page out. Keeps what is being written; all else is in the view.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_core::event::{Event, ModelReplied};
use weir_core::ids::{CallId, TurnId};
use weir_core::view::markdown_cut::BlockSplitter;
use weir_core::view::streamed::{OUTPUT_BYTES_MAX, THINKING_BYTES_MAX, has_own_content, push_tail};
use weir_core::view::told::cut_off;
use weir_core::view::transcript::{
    Activity, CallEntry, CallStage, PendingAsk, PlacedFact, SeenFact, SettledPlace,
    SettledTranscript, Transcript, TranscriptChange as Change,
};
use weir_engine::hub::{PublishedFact, SessionUpdate, SignalKind};

use super::content::{
    ChatContent, ChatView, PageOperation, PageOperationKind, PageRegion, ask_id, entry_id,
    writing_id,
};
use super::notes::{self, ChatNote};
use super::row::output_id;
use super::status::{ChatBanner, ChatStatus};

/// What the model writes now.
#[derive(Debug, Clone, Default)]
struct ReplyInProgress {
    turn: String,
    thinking: String,
    text: String,
    growing: BlockSplitter,
    /// The entry is on the page.
    begun: bool,
    /// What is on the page of its thinking is behind.
    thinks: bool,
    /// Blocks of text that are on the page.
    blocks: usize,
}

/// A chat, folded as far as it was told.
#[derive(Debug, Clone)]
pub(crate) struct ChatFold {
    view: Arc<ChatView>,
    /// What every client sees of it.
    seen: Transcript,
    status: ChatStatus,
    /// Ids of what was withdrawn and stands where it waited, until something is said again.
    returned: Vec<String>,
    writing: ReplyInProgress,
    outputs: BTreeMap<CallId, (String, bool)>,
    dirty: bool,
    ops: Vec<PageOperationKind>,
}

impl ChatFold {
    /// A chat of which nothing is known yet.
    pub(crate) fn new(view: ChatView) -> ChatFold {
        ChatFold {
            view: Arc::new(view),
            seen: Transcript::default(),
            status: ChatStatus::default(),
            returned: Vec::new(),
            writing: ReplyInProgress::default(),
            outputs: BTreeMap::new(),
            dirty: false,
            ops: Vec::new(),
        }
    }

    /// A chat of which so much was seen, and nothing is open.
    pub(crate) fn at_settled_place(view: ChatView, settled: &SettledTranscript) -> ChatFold {
        let seen = settled.to_transcript();
        let status = ChatStatus::from_transcript(&seen);
        ChatFold { seen, status, ..ChatFold::new(view) }
    }

    /// The same chat at an earlier place, for whoever reads again what was said and done after that.
    /// `None`: it has to be read from its beginning.
    pub(super) fn at_earlier_place(&self, place: &SettledPlace) -> Option<ChatFold> {
        let seen = self.seen.at_earlier_place(place)?;
        Some(ChatFold { seen, ..ChatFold::new((*self.view).clone()) })
    }

    /// What is to be kept of it, if nothing is open and nothing stands on the page that goes by itself.
    pub(super) fn to_settled(&self) -> Option<SettledTranscript> {
        if !self.returned.is_empty() {
            return None;
        }
        self.seen.to_settled()
    }

    /// Whether nothing is open: what stands on the page stays as it is.
    pub(super) fn is_settled(&self) -> bool {
        self.seen.is_settled()
    }

    /// Forgets the calls that are over. `settled`: what is seen now.
    pub(super) fn forget_settled(&mut self, settled: &SettledTranscript) {
        self.seen = settled.to_transcript();
    }

    /// What every client sees of it.
    pub(super) fn seen_transcript(&self) -> &Transcript {
        &self.seen
    }

    /// How the chat stands.
    pub(crate) fn status(&self) -> &ChatStatus {
        &self.status
    }

    /// Takes an update in and gives the steps that it means for the page. Signals are gathered:
    /// [`ChatFold::flush_signals`] gives their steps, some twenty times a second at most.
    pub(crate) fn apply_update(&mut self, update: &SessionUpdate) -> Vec<PageOperation> {
        match update {
            SessionUpdate::Fact(fact) => return self.apply_fact(fact),
            SessionUpdate::Signal { kind, subject, text } => {
                self.apply_signal(*kind, subject, text)
            }
        }
        Vec::new()
    }

    /// Takes a fact in.
    pub(crate) fn apply_fact(&mut self, fact: &PublishedFact) -> Vec<PageOperation> {
        let at = PlacedFact { seq: fact.seq, ts: fact.ts, event: fact.event.clone() };
        match at.event.as_ref() {
            Event::InputAccepted(_) => {
                self.ops.extend(
                    std::mem::take(&mut self.returned).into_iter().map(PageOperationKind::Remove),
                );
            }
            Event::SessionResumed(_) => self.outputs.clear(),
            Event::CallFinished(f) => {
                self.outputs.remove(&f.call);
            }
            _ => (),
        }
        for change in self.seen.apply(&at) {
            self.apply_change(change);
        }
        if let Some(((tone, text), link)) = notes::describe_event(&at.event) {
            self.append_to_log(ChatContent::Note(ChatNote {
                seq: at.seq,
                ts: at.ts,
                tone,
                text,
                link,
            }));
        }
        self.take_operations()
    }

    /// Whether signals wait for [`ChatFold::flush_signals`].
    pub(crate) fn is_dirty(&self) -> bool {
        self.dirty
    }

    /// The steps of the signals that were gathered.
    pub(crate) fn flush_signals(&mut self) -> Vec<PageOperation> {
        if !std::mem::take(&mut self.dirty) {
            return Vec::new();
        }
        self.flush_writing();
        self.flush_outputs();
        self.take_operations()
    }

    fn take_operations(&mut self) -> Vec<PageOperation> {
        let status = ChatStatus::from_transcript(&self.seen);
        if status != self.status {
            self.status = status;
            let state = Box::new(self.status.clone());
            self.ops.push(PageOperationKind::Replace("status".into(), ChatContent::Status(state)));
        }
        let verbs = std::mem::take(&mut self.ops);
        verbs.into_iter().map(|verb| PageOperation { view: self.view.clone(), verb }).collect()
    }

    fn append_to_log(&mut self, content: ChatContent) {
        self.ops.push(PageOperationKind::Append(PageRegion::Log, content));
    }

    /// Paints a change of what is seen.
    fn apply_change(&mut self, change: Change) {
        match change {
            Change::InputSaid(at) => self.append_to_log(ChatContent::Said(at)),
            Change::InputQueued(at) => {
                self.ops
                    .push(PageOperationKind::Append(PageRegion::Queue, ChatContent::Queued(at)));
            }
            Change::InputDelivered(at) => {
                self.ops.push(PageOperationKind::Remove(ChatContent::Queued(at.clone()).id()));
                self.append_to_log(ChatContent::Said(at));
            }
            // It stands there with that mark, and the page that said it takes its words back into
            // the composer.
            Change::InputWithdrawn(at) => {
                let (id, returned) =
                    (ChatContent::Queued(at.clone()).id(), ChatContent::Returned(at));
                self.returned.push(id.clone());
                self.ops.push(PageOperationKind::Replace(id, returned));
            }
            Change::InputUnsaid(at) => {
                self.ops.push(PageOperationKind::Remove(entry_id(at.seq)));
                let returned = ChatContent::Returned(at);
                self.returned.push(returned.id());
                self.ops.push(PageOperationKind::Append(PageRegion::Queue, returned));
            }
            Change::RequestStarted(turn) => self.begin_writing(turn),
            Change::StreamAbandoned => self.remove_writing(),
            Change::ReplyAdded(at) => self.apply_reply(&at),
            Change::ImageAdded(at) => self.append_to_log(ChatContent::Image(at)),
            Change::CallAdded(call) => {
                if let Some(entry) = self.seen.find_call(call) {
                    let content = ChatContent::Call(Box::new(entry.clone()));
                    self.append_to_log(content);
                }
            }
            Change::CallChanged(call) => {
                if let Some(entry) = self.seen.find_call(call) {
                    let id = entry_id(entry.proposed.seq);
                    let content = ChatContent::Call(Box::new(entry.clone()));
                    self.ops.push(PageOperationKind::Replace(id, content));
                }
            }
            Change::AskOpened(ask) => {
                self.ops.push(PageOperationKind::Append(PageRegion::Asks, ask_content(&ask)));
            }
            Change::AskClosed { name, .. } => {
                self.ops.push(PageOperationKind::Remove(ask_id(&name)))
            }
            Change::UnknownCallsChanged => {
                let banner = ChatBanner { unknown: self.seen.unknown_calls().to_vec() };
                self.ops
                    .push(PageOperationKind::Replace("banner".into(), ChatContent::Banner(banner)));
            }
            Change::PlanChanged => {
                let plan = ChatContent::Plan(self.seen.task_list().to_vec());
                self.ops.push(PageOperationKind::Replace("plan".into(), plan));
            }
            Change::RunEnded(at) => {
                self.outputs.clear();
                self.append_to_log(ChatContent::Ended(at));
            }
            // The status tells of it, and the row is painted already.
            Change::RunStarted | Change::CallEnded(_) | Change::SettingsChanged => (),
        }
    }

    fn begin_writing(&mut self, turn: TurnId) {
        self.writing = ReplyInProgress { turn: turn.to_string(), ..ReplyInProgress::default() };
    }

    fn apply_reply(&mut self, at: &SeenFact<ModelReplied>) {
        let fact = &at.fact;
        match (self.writing.begun, has_own_content(fact)) {
            // What stands behind its words by now stands before it in the journal.
            (true, true) if cut_off(fact).is_some() => {
                self.remove_writing();
                self.append_to_log(ChatContent::Replied(at.clone()));
            }
            (true, true) => {
                let id = writing_id(&self.writing.turn);
                self.ops.push(PageOperationKind::Replace(id, ChatContent::Replied(at.clone())));
                self.writing = ReplyInProgress::default();
            }
            (false, true) => self.append_to_log(ChatContent::Replied(at.clone())),
            (_, false) => self.remove_writing(),
        }
    }

    /// What was being written is taken away.
    fn remove_writing(&mut self) {
        let writing = std::mem::take(&mut self.writing);
        if writing.begun {
            self.ops.push(PageOperationKind::Remove(writing_id(&writing.turn)));
        }
    }

    fn apply_signal(&mut self, kind: SignalKind, subject: &str, text: &str) {
        match kind {
            SignalKind::Text | SignalKind::Thinking => {
                if self.writing.turn != subject {
                    // A turn that is over, or one that this fold was not told of.
                    return;
                }
                let activity = match kind {
                    SignalKind::Text => {
                        self.writing.text.push_str(text);
                        Activity::Writing
                    }
                    _ => {
                        push_tail(&mut self.writing.thinking, text, THINKING_BYTES_MAX);
                        self.writing.thinks = true;
                        Activity::Thinking
                    }
                };
                self.seen.set_activity(activity);
            }
            SignalKind::Output => {
                let Ok(call) = subject.parse::<CallId>() else { return };
                let is_running = |entry: &CallEntry| entry.stage == CallStage::Running;
                if !self.seen.find_call(call).is_some_and(is_running) {
                    return;
                }
                let (output, fresh) = self.outputs.entry(call).or_default();
                push_tail(output, text, OUTPUT_BYTES_MAX);
                *fresh = true;
            }
        }
        self.dirty = true;
    }

    fn flush_writing(&mut self) {
        let writing = &mut self.writing;
        let id = writing_id(&writing.turn);
        let (text_id, thinking_id) = (format!("{id}-text"), format!("{id}-thinking"));
        if writing.text.is_empty() && writing.thinking.is_empty() {
            return;
        }
        if !std::mem::replace(&mut writing.begun, true) {
            let entry = ChatContent::Writing(writing.turn.clone());
            self.ops.push(PageOperationKind::Append(PageRegion::Log, entry));
        }
        if std::mem::take(&mut writing.thinks) {
            let thinking = ChatContent::Thinking(thinking_id.clone(), writing.thinking.clone());
            self.ops.push(PageOperationKind::Replace(thinking_id, thinking));
        }
        if writing.text.is_empty() {
            return;
        }
        let (_, blocks) = writing.growing.changed_blocks(&writing.text);
        let first = writing.blocks.saturating_sub(1);
        for (n, text) in blocks.iter().enumerate() {
            let at = first + n;
            let block = ChatContent::Block(format!("{text_id}-{at}"), (*text).to_string());
            self.ops.push(match at < writing.blocks {
                true => PageOperationKind::Replace(format!("{text_id}-{at}"), block),
                false => PageOperationKind::Append(PageRegion::Within(text_id.clone()), block),
            });
        }
        writing.blocks = writing.blocks.max(first + blocks.len());
    }

    fn flush_outputs(&mut self) {
        for (call, (text, fresh)) in &mut self.outputs {
            if std::mem::take(fresh)
                && let Some(entry) = self.seen.find_call(*call)
            {
                let id = output_id(entry);
                self.ops.push(PageOperationKind::Replace(
                    id.clone(),
                    ChatContent::Output(id, text.clone()),
                ));
            }
        }
    }
}

/// What is asked, as it stands on the page.
fn ask_content(ask: &PendingAsk) -> ChatContent {
    match ask {
        PendingAsk::Approval(fact) => ChatContent::Approval(Box::new((**fact).clone()), Vec::new()),
        PendingAsk::AgentApproval(fact) => {
            ChatContent::Approval(fact.request.clone(), fact.path.clone())
        }
        PendingAsk::Question(fact) => ChatContent::Question((**fact).clone()),
    }
}
