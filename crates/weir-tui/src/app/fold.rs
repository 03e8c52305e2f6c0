//! What a terminal makes of what a person sees of a session (`weir_core::view::transcript`): entries
//! to scroll through, what is being written, and what is to be printed. Nothing is decided and
//! nothing forgotten here. Pure; time comes in.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use ratatui::text::Line;
use weir_core::event::{Event, InputAccepted, ModelReplied, RunFinished, RunStatus};
use weir_core::ids::{CallId, Seq, Timestamp};
use weir_core::message::plain_text;
use weir_core::view::streamed::{OUTPUT_BYTES_MAX, has_own_content, push_tail};
use weir_core::view::transcript::{
    self, Activity, AskOutcome, PlacedFact, SeenFact, TranscriptChange as Change,
};

use super::entries::{CallRow, EntryContent, EntryTranscript, ShellRun, TranscriptEntry};
use super::notes::{self, Loud};
use super::writing::{PrintItem, StreamedReply};
use crate::compose::WrittenMessage;
use crate::link::{SignalKind, SlashCommandInfo};
use crate::screen::SessionSettings;

mod earlier;
mod queue;
mod settings;

use earlier::EarlierFacts;
use queue::WaitingInput;

/// Lines and bytes of a long output that are kept of its end.
const LAST_LINES: usize = 4;
const LAST_BYTES_MAX: usize = 2_000;

/// Entries of a session that is taken up again that are printed at once; earlier ones are counted.
pub(crate) const OLD_ENTRIES_MAX: usize = 200;

/// What the app should do about something that happened.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FoldEvent {
    /// A person is needed, and was not before.
    Asked,
    /// An ask went: its name, and in words what was decided and by whom.
    Answered(String, String, AskOutcome),
    /// A run ended.
    Ended(RunStatus),
    /// What was sent under this name arrived.
    Arrived(String),
    /// What was to be taken back was not told: it is this.
    TakenBack(WrittenMessage),
    /// The same, without having been asked for: the run was ended first. The first one said comes
    /// first.
    GivenBack(WrittenMessage),
}

/// A session, folded as far as it was told.
#[derive(Debug, Default)]
pub(crate) struct SessionFold {
    /// What every client sees of it.
    pub(crate) view: transcript::Transcript,
    /// What was said and done, to scroll through.
    pub(crate) transcript: EntryTranscript,
    /// What holds.
    pub(crate) settings: SessionSettings,
    /// What can be typed beside the commands of the face.
    pub(crate) named: Vec<SlashCommandInfo>,
    /// How many facts are from before the session was opened here.
    pub(crate) known: Seq,
    /// The last fact.
    pub(crate) seq: Seq,
    /// What was said and not told yet.
    pub(crate) queue: Vec<WaitingInput>,
    /// What running calls print.
    pub(crate) outputs: BTreeMap<CallId, String>,
    /// What the model writes.
    pub(crate) writing: StreamedReply,
    /// What goes to the scrollback.
    pub(crate) prints: VecDeque<PrintItem>,
    /// What the last fact changed, for who prints each change as it comes.
    pub(crate) changes: Vec<Change>,
    /// What the app has not heard of.
    pub(crate) happened: Vec<FoldEvent>,
    /// What the old facts would have printed, in that order: the newest of it is printed with the
    /// last of them. So a session that is taken up again reads as it did while somebody looked on,
    /// where calls stand in the order in which they came to their end.
    pub(super) old_prints: VecDeque<PrintItem>,
    /// How many of them were left out.
    pub(super) old_prints_left_out: usize,
    /// The engine went down: what is on stands still until a fact is told again.
    pub(crate) is_engine_down: bool,
    /// What stands before the settled place at which the session began here and was not read; `None`: all
    /// was told.
    pub(super) earlier: Option<EarlierFacts>,
}

impl SessionFold {
    /// Whether a run is on.
    pub(crate) fn is_running(&self) -> bool {
        self.settings.running && !self.is_engine_down
    }

    /// Whether what is told now happened before the session was opened here.
    pub(crate) fn is_old(&self) -> bool {
        self.seq < self.known
    }

    /// Takes a fact in. `now`: the time here; facts from before keep their own.
    pub(crate) fn apply_fact(
        &mut self,
        seq: Seq,
        ts: Timestamp,
        event: Arc<Event>,
        now: Timestamp,
    ) {
        self.is_engine_down = false;
        let old = seq <= self.known;
        let at = PlacedFact { seq, ts: if old { ts } else { now }, event };
        let changed = match at.event.as_ref() {
            Event::SessionConfigured(f) => self.describe_changes(&f.config),
            _ => None,
        };
        if matches!(at.event.as_ref(), Event::SessionResumed(_)) {
            self.outputs.clear();
        }
        self.changes = self.view.apply(&at);
        for change in self.changes.clone() {
            self.apply_change(change, at.ts);
        }
        if let Some((loud, text)) = notes::fact_note(&at.event) {
            // What a person chose is said by its name, not by what else comes with it.
            self.add_note(loud, changed.unwrap_or(text), at.ts);
        }
        self.seq = seq;
        if old && seq == self.known {
            self.caught_up();
        }
    }

    /// Paints a change of what is seen.
    fn apply_change(&mut self, change: Change, now: Timestamp) {
        match change {
            Change::InputSaid(at) => {
                self.input_arrived(&at.fact);
                self.push(input_entry(at));
            }
            Change::InputQueued(at) => {
                self.input_arrived(&at.fact);
                self.enqueue_input(input_entry(at));
            }
            Change::InputDelivered(at) => self.deliver_input(&at),
            Change::InputWithdrawn(at) => self.give_back(&at),
            Change::RunStarted => self.settings.running = true,
            Change::RequestStarted(turn) => {
                self.writing = StreamedReply::for_turn(turn.to_string())
            }
            Change::StreamAbandoned => self.cut_off_writing(now),
            Change::ReplyAdded(at) => self.add_reply(&at),
            Change::ImageAdded(at) => {
                self.push(TranscriptEntry {
                    seq: at.seq,
                    ts: at.ts,
                    what: EntryContent::Image(at.fact),
                });
            }
            Change::CallAdded(call) => {
                if let Some(row) = self.view.find_call(call).map(CallRow::new) {
                    let (seq, ts) = (row.proposed.seq, row.proposed.ts);
                    let what = EntryContent::Call(Box::new(row));
                    self.transcript.push(TranscriptEntry { seq, ts, what });
                }
            }
            Change::CallChanged(call) => {
                if let (Some(entry), Some(row)) =
                    (self.view.find_call(call), self.transcript.row_mut(call))
                {
                    row.entry.clone_from(entry);
                }
            }
            Change::CallEnded(call) => self.finish_call(call),
            Change::AskOpened(_) => self.push_event(FoldEvent::Asked),
            Change::AskClosed { name, words, outcome } => {
                self.push_event(FoldEvent::Answered(name, words, outcome))
            }
            Change::SettingsChanged => self.adopt_settings(),
            Change::RunEnded(at) => self.run_ended(at),
            // Looked up when it is painted, or printed already.
            Change::InputUnsaid(_) | Change::UnknownCallsChanged | Change::PlanChanged => (),
        }
    }

    /// Whoever sent it may know its name.
    fn input_arrived(&mut self, fact: &InputAccepted) {
        self.happened.extend(fact.client_id.clone().map(FoldEvent::Arrived));
    }

    /// A call is over: its row is printed.
    fn finish_call(&mut self, call: CallId) {
        let printed = self.outputs.remove(&call).unwrap_or_default();
        if let Some(row) = self.transcript.row_mut(call)
            && row.finished.as_ref().is_some_and(|fact| fact.full.is_some())
        {
            row.last = last_lines(&printed).to_owned();
        }
        if let Some(place) = self.transcript.close_call(call) {
            self.queue_call(place);
        }
    }

    /// Puts a line into the conversation.
    pub(crate) fn add_note(&mut self, loud: Loud, text: String, ts: Timestamp) {
        self.push(TranscriptEntry { seq: self.seq, ts, what: EntryContent::Note(loud, text) });
    }

    /// Puts a line into the conversation of a session of which nothing was told yet.
    pub(crate) fn add_greeting(&mut self, loud: Loud, text: String, now: Timestamp) {
        let entry = TranscriptEntry { seq: 0, ts: now, what: EntryContent::Note(loud, text) };
        let place = self.transcript.push(entry);
        self.prints.push_back(PrintItem::Entry(place));
    }

    /// Puts a command of the person's own into the conversation.
    pub(crate) fn add_shell_run(&mut self, ran: ShellRun, now: Timestamp) {
        self.push(TranscriptEntry {
            seq: self.seq,
            ts: now,
            what: EntryContent::Shell(Box::new(ran)),
        });
    }

    /// An entry that is whole: it stands in the transcript and is printed.
    fn push(&mut self, entry: TranscriptEntry) {
        let place = self.transcript.push(entry);
        self.queue_print(PrintItem::Entry(place));
    }

    /// What is to be printed: at once, or with the last of the old facts.
    pub(crate) fn queue_print(&mut self, print: PrintItem) {
        if !self.is_old() {
            self.prints.push_back(print);
            return;
        }
        if self.old_prints.len() == OLD_ENTRIES_MAX {
            self.old_prints.pop_front();
            self.old_prints_left_out += 1;
        }
        self.old_prints.push_back(print);
    }

    /// The row of a call is printed as it is now: what comes later, an answer after the end of the
    /// run, prints it anew.
    fn queue_call(&mut self, place: usize) {
        if let Some(entry) = self.transcript.get(place).cloned() {
            self.queue_print(PrintItem::AsItWas(Box::new(entry)));
        }
    }

    fn push_event(&mut self, happened: FoldEvent) {
        if !self.is_old() {
            self.happened.push(happened);
        }
    }

    /// The last old fact was told: the newest entries are printed.
    fn caught_up(&mut self) {
        let left_out = std::mem::take(&mut self.old_prints_left_out);
        let above = match self.earlier {
            Some(_) => vec![Line::from("… earlier entries: Ctrl-O shows them")],
            None => earlier_entries_line(left_out),
        };
        self.prints.push_back(PrintItem::Lines(above));
        self.prints.append(&mut self.old_prints);
        self.happened.clear();
        if !self.view.asks().is_empty() {
            self.happened.push(FoldEvent::Asked);
        }
    }

    fn add_reply(&mut self, at: &SeenFact<ModelReplied>) {
        let fact = &at.fact;
        let thought = self.writing.end_thinking(at.ts);
        let writing = std::mem::take(&mut self.writing);
        let (thought_ms, told) = (writing.thought_ms, writing.told);
        if !has_own_content(fact) {
            self.prints.extend(thought);
            return;
        }
        let what = EntryContent::Replied { fact: fact.clone(), thought_ms };
        let place = self.transcript.push(TranscriptEntry { seq: at.seq, ts: at.ts, what });
        match writing.finish_reply(&plain_text(&fact.content)) {
            Some(rest) => {
                self.prints.extend(thought);
                self.queue_print(rest);
                self.queue_print(PrintItem::Beside(fact.clone()));
            }
            None if told && plain_text(&fact.content).trim().is_empty() => {
                self.prints.extend(thought);
                self.queue_print(PrintItem::Beside(fact.clone()));
            }
            None => self.queue_print(PrintItem::Entry(place)),
        }
    }

    fn run_ended(&mut self, at: SeenFact<RunFinished>) {
        self.settings.running = false;
        for row in self.open_rows() {
            self.queue_call(row);
        }
        self.transcript.settle_calls();
        self.outputs.clear();
        self.push_event(FoldEvent::Ended(at.fact.status));
        self.push(TranscriptEntry { seq: at.seq, ts: at.ts, what: EntryContent::Ended(at.fact) });
    }

    /// Places of calls that never came to an end.
    fn open_rows(&self) -> Vec<usize> {
        let calls = self.transcript.open_calls();
        calls.iter().filter_map(|row| self.transcript.place_of(row.call)).collect()
    }

    /// What was being written is not the answer: what stands of it stays, cut off.
    fn cut_off_writing(&mut self, now: Timestamp) {
        let thought = self.writing.end_thinking(now);
        let writing = std::mem::take(&mut self.writing);
        let text = writing.growing.text().to_owned();
        self.prints.extend(thought);
        if let Some(rest) = writing.finish_reply(&text) {
            self.queue_print(rest);
            self.add_note(Loud::Quiet, "(The answer was cut off here.)".into(), now);
        }
    }

    /// Streamed text or progress.
    pub(crate) fn apply_signal(
        &mut self,
        kind: SignalKind,
        subject: &str,
        text: &str,
        now: Timestamp,
    ) {
        match kind {
            // A turn that is over, or one that this fold was not told of.
            SignalKind::Text | SignalKind::Thinking if self.writing.turn != subject => (),
            SignalKind::Text => {
                let thought = self.writing.push_text(text, now);
                self.prints.extend(thought);
                self.view.set_activity(Activity::Writing);
            }
            SignalKind::Thinking => {
                self.writing.push_thinking(text, now);
                self.view.set_activity(Activity::Thinking);
            }
            SignalKind::Output => {
                let Ok(call) = subject.parse::<CallId>() else { return };
                if self.transcript.call_row(call).is_some_and(|row| !row.stage.is_over()) {
                    push_tail(self.outputs.entry(call).or_default(), text, OUTPUT_BYTES_MAX);
                }
            }
        }
    }
}

/// An entry of what was said.
fn input_entry(at: SeenFact<InputAccepted>) -> TranscriptEntry {
    TranscriptEntry { seq: at.seq, ts: at.ts, what: EntryContent::Said(at.fact) }
}

/// The last lines of what a call printed.
fn last_lines(text: &str) -> &str {
    let text = text.trim_end();
    let from = text.rmatch_indices('\n').nth(LAST_LINES - 1).map_or(0, |(at, _)| at + 1);
    let from = from.max(text.len().saturating_sub(LAST_BYTES_MAX));
    text.get(text.floor_char_boundary(from)..).unwrap_or_default()
}

/// What stands above the newest entries of a session that is taken up again.
fn earlier_entries_line(left_out: usize) -> Vec<Line<'static>> {
    match left_out {
        0 => Vec::new(),
        1 => vec![Line::from("… 1 earlier entry: Ctrl-O shows it")],
        n => vec![Line::from(format!("… {n} earlier entries: Ctrl-O shows them"))],
    }
}
