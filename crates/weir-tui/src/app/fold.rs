//! The fold: facts and signals of a session become its transcript, what is going on, and what is to
//! be printed. Nothing is decided and nothing forgotten here. Pure; time comes in.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use ratatui::text::Line;
use weir_core::event::{Event, ModelReplied, RunFinished, RunStatus};
use weir_core::ids::{ApprovalId, CallId, Seq, Timestamp};
use weir_core::message::{Block, plain_text};
use weir_core::tool::PlanItem;

use super::entries::{Entry, Ran, Row, Stage, Transcript, What};
use super::notes::{self, Loud};
use super::status::{Doing, Meters};
use super::writing::{Print, Writing, push_tail};
use crate::compose::Written;
use crate::link::{Named, SignalKind};
use crate::screen::Settings;

mod calls;
mod queue;
mod settings;

use queue::{Queued, Told};

/// Most of what a call shows while it runs, in bytes; the end of it.
const OUTPUT_BYTES_MAX: usize = 8 * 1024;
/// Entries of a session that is taken up again that are printed at once.
pub(crate) const OLD_ENTRIES_MAX: usize = 200;

/// Something that waits for a person.
#[derive(Debug, Clone)]
pub(crate) enum Ask {
    /// A call: `approval.requested`, or `agent.asked` of a sub-agent.
    Approval {
        /// Its name.
        approval: ApprovalId,
        /// The fact.
        event: Arc<Event>,
    },
    /// A question: `question.asked`.
    Question(Arc<Event>),
}

impl Ask {
    /// The name of the approval or question.
    pub(crate) fn name(&self) -> &str {
        match self {
            Ask::Approval { approval, .. } => approval.as_str(),
            Ask::Question(event) => match event.as_ref() {
                Event::QuestionAsked(fact) => fact.question.as_str(),
                _ => "",
            },
        }
    }

    /// Calls of unknown outcome of this session that it tells of (D4).
    pub(crate) fn unknown(&self) -> &[CallId] {
        match self {
            Ask::Approval { event, .. } => match event.as_ref() {
                Event::ApprovalRequested(fact) => &fact.unknown,
                _ => &[],
            },
            Ask::Question(_) => &[],
        }
    }
}

/// A job in the background, as far as calls told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Job {
    /// Its name: `j1`.
    pub(crate) name: String,
    /// The command line.
    pub(crate) command: String,
}

/// A call of which nobody knows whether it happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unsure {
    /// Which.
    pub(crate) call: CallId,
    /// Its tool, made safe.
    pub(crate) tool: String,
    /// Why nobody knows, made safe.
    pub(crate) why: String,
}

/// What the app should do about something that happened.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Happened {
    /// A person is needed, and was not before.
    Asked,
    /// An ask went: its name, and in words what was decided and by whom.
    Answered(String, String),
    /// A run ended.
    Ended(RunStatus),
    /// What was sent under this name arrived.
    Arrived(String),
    /// What was to be taken back was not told: it is this.
    TakenBack(Written),
    /// The same, without having been asked for: the run was ended first. The first one said comes
    /// first.
    GivenBack(Written),
}

/// A session, folded as far as it was told.
#[derive(Debug, Default)]
pub(crate) struct Fold {
    /// What was said and done.
    pub(crate) transcript: Transcript,
    /// What holds.
    pub(crate) settings: Settings,
    /// What can be typed beside the commands of the face.
    pub(crate) named: Vec<Named>,
    /// How many facts are from before the session was opened here.
    pub(crate) known: Seq,
    /// The last fact.
    pub(crate) seq: Seq,
    /// What is going on; `None`: nothing.
    pub(crate) doing: Option<Doing>,
    /// When the run began.
    pub(crate) since: Timestamp,
    /// What was said and not told yet.
    pub(crate) queue: Vec<Queued>,
    /// What waits for a person, the first one first.
    pub(crate) asks: VecDeque<Ask>,
    /// The task list.
    pub(crate) plan: Vec<PlanItem>,
    /// Calls of which nobody knows whether they happened.
    pub(crate) unknown: Vec<Unsure>,
    /// Jobs in the background.
    pub(crate) jobs: Vec<Job>,
    /// What running calls print.
    pub(crate) outputs: BTreeMap<CallId, String>,
    /// What the model writes.
    pub(crate) writing: Writing,
    /// Numbers of the footer.
    pub(crate) meters: Meters,
    /// How the last run ended, until the next one begins.
    pub(crate) ended: Option<RunStatus>,
    /// What goes to the scrollback.
    pub(crate) prints: VecDeque<Print>,
    /// What the app has not heard of.
    pub(crate) happened: Vec<Happened>,
    /// Entries that were printed before the old facts were told.
    pub(crate) greeted: usize,
}

/// A fact with its place.
#[derive(Debug, Clone)]
pub(crate) struct Placed {
    /// Its place.
    pub(crate) seq: Seq,
    /// When it happened, by the clock of this face where it was seen happening.
    pub(crate) ts: Timestamp,
    /// What.
    pub(crate) event: Arc<Event>,
}

impl Fold {
    /// Whether a run is on.
    pub(crate) fn running(&self) -> bool {
        self.settings.running
    }

    /// Whether what is told now happened before the session was opened here.
    pub(crate) fn is_old(&self) -> bool {
        self.seq < self.known
    }

    /// Takes a fact in. `now`: the time here; facts from before keep their own.
    pub(crate) fn fact(&mut self, seq: Seq, ts: Timestamp, event: Arc<Event>, now: Timestamp) {
        let old = seq <= self.known;
        let at = Placed { seq, ts: if old { ts } else { now }, event };
        let changed = match at.event.as_ref() {
            Event::SessionConfigured(f) => self.changed(&f.config),
            _ => None,
        };
        self.conversation(&at);
        self.calls(&at);
        self.questions(&at);
        self.agents(&at);
        self.configure(&at);
        if let Some((loud, text)) = notes::told(&at.event) {
            // What a person chose is said by its name, not by what else comes with it.
            self.note(loud, changed.unwrap_or(text), at.ts);
        }
        self.seq = seq;
        if old && seq == self.known {
            self.caught_up();
        }
    }

    /// Puts a line into the conversation.
    pub(crate) fn note(&mut self, loud: Loud, text: String, ts: Timestamp) {
        self.push(Entry { seq: self.seq, ts, what: What::Note(loud, text) });
    }

    /// Puts a line into the conversation of a session of which nothing was told yet.
    pub(crate) fn greet(&mut self, loud: Loud, text: String, now: Timestamp) {
        let entry = Entry { seq: 0, ts: now, what: What::Note(loud, text) };
        let place = self.transcript.push(entry);
        self.prints.push_back(Print::Entry(place));
        self.greeted = self.transcript.len();
    }

    /// Whether a call runs, and not only waits for the person with its sub-agent.
    pub(crate) fn calls_run(&self) -> bool {
        let waits = |row: &Row| row.agents.iter().any(|agent| agent.asks);
        let calls = self.transcript.open_calls();
        calls.into_iter().any(|row| row.stage == Stage::Running && !waits(row))
    }

    /// Puts a command of the person's own into the conversation.
    pub(crate) fn ran(&mut self, ran: Ran, now: Timestamp) {
        self.push(Entry { seq: self.seq, ts: now, what: What::Shell(Box::new(ran)) });
    }

    /// An entry that is whole: it stands in the transcript and is printed.
    fn push(&mut self, entry: Entry) {
        let place = self.transcript.push(entry);
        self.print(Print::Entry(place));
    }

    /// What is to be printed; nothing while old facts are told.
    pub(crate) fn print(&mut self, print: Print) {
        if !self.is_old() {
            self.prints.push_back(print);
        }
    }

    fn happened(&mut self, happened: Happened) {
        if !self.is_old() {
            self.happened.push(happened);
        }
    }

    /// The last old fact was told: the newest entries are printed.
    fn caught_up(&mut self) {
        let entries = self.transcript.entries();
        let first = entries.len().saturating_sub(OLD_ENTRIES_MAX).max(self.greeted);
        let over = |entry: &Entry| match &entry.what {
            What::Call(row) => row.stage.is_over(),
            _ => true,
        };
        let shown: Vec<usize> = (first..entries.len()).filter(|n| over(&entries[*n])).collect();
        self.prints.push_back(Print::Lines(earlier(first - self.greeted)));
        self.prints.extend(shown.into_iter().map(Print::Entry));
        self.happened.clear();
        if !self.asks.is_empty() {
            self.happened.push(Happened::Asked);
        }
    }

    /// What is said, and the course of a run.
    fn conversation(&mut self, at: &Placed) {
        match at.event.as_ref() {
            Event::InputAccepted(f) => {
                if let Some(name) = &f.client_id {
                    self.happened.push(Happened::Arrived(name.clone()));
                }
                let what = What::Said(at.event.clone());
                let entry = Entry { seq: at.seq, ts: at.ts, what };
                if self.running() {
                    let (own, withdrawing) = (None, false);
                    self.queue.push(Queued { input: f.input, entry, own, withdrawing });
                } else {
                    self.push(entry);
                }
            }
            Event::InputWithdrawn(f) => self.unqueue(f.input, Told::Withdrawn),
            // Whoever took it up asks the model again: what streamed streams anew.
            Event::SessionResumed(_) => {
                self.unwrite(at.ts);
                self.outputs.clear();
            }
            Event::RunStarted(_) => {
                self.settings.running = true;
                self.ended = None;
                self.since = at.ts;
                self.doing = Some(Doing::Working);
            }
            Event::TurnStarted(f) => {
                for input in &f.inputs {
                    self.unqueue(*input, Told::Delivered);
                }
            }
            Event::ModelRequested(f) => {
                self.meters.context = f.tokens_estimated;
                self.writing = Writing::of(f.turn.to_string());
                self.doing_now(Doing::Working);
            }
            Event::ModelRetried(f) => {
                self.unwrite(at.ts);
                self.writing.turn = f.turn.to_string();
                self.doing_now(Doing::Retrying(at.ts.plus_ms(f.wait_ms)));
            }
            Event::ModelFailed(_) => self.unwrite(at.ts),
            Event::ModelReplied(f) => self.replied(f, at),
            Event::ImageProduced(_) => {
                let what = What::Image(at.event.clone());
                self.push(Entry { seq: at.seq, ts: at.ts, what });
            }
            Event::RunFinished(f) => self.run_finished(f, at),
            _ => (),
        }
    }

    fn replied(&mut self, fact: &ModelReplied, at: &Placed) {
        self.meters.used(&fact.usage, fact.cost_usd);
        self.meters.counted(&fact.usage);
        self.doing_now(Doing::Working);
        let thought = self.writing.end_thinking(at.ts);
        let writing = std::mem::take(&mut self.writing);
        let (thought_ms, told) = (writing.thought_ms, writing.told);
        if !shows(fact) {
            self.prints.extend(thought);
            return;
        }
        let what = What::Replied { event: at.event.clone(), thought_ms };
        let place = self.transcript.push(Entry { seq: at.seq, ts: at.ts, what });
        match writing.end(&plain_text(&fact.content)) {
            Some(rest) => {
                self.prints.extend(thought);
                self.print(rest);
                self.print(Print::Beside(at.event.clone()));
            }
            None if told && plain_text(&fact.content).trim().is_empty() => {
                self.prints.extend(thought);
                self.print(Print::Beside(at.event.clone()));
            }
            None => self.print(Print::Entry(place)),
        }
    }

    fn run_finished(&mut self, fact: &RunFinished, at: &Placed) {
        self.unwrite(at.ts);
        self.settings.running = false;
        self.doing = None;
        self.ended = Some(fact.status);
        for row in self.open_rows() {
            self.print(Print::Entry(row));
        }
        self.transcript.settle();
        self.outputs.clear();
        self.happened(Happened::Ended(fact.status));
        self.push(Entry { seq: at.seq, ts: at.ts, what: What::Ended(at.event.clone()) });
    }

    /// Places of calls that never came to an end.
    fn open_rows(&self) -> Vec<usize> {
        let calls = self.transcript.open_calls();
        calls.iter().filter_map(|row| self.transcript.place_of(row.call)).collect()
    }

    /// What was being written is not the answer: what stands of it stays, cut off.
    fn unwrite(&mut self, now: Timestamp) {
        let thought = self.writing.end_thinking(now);
        let writing = std::mem::take(&mut self.writing);
        let text = writing.growing.text().to_owned();
        self.prints.extend(thought);
        if let Some(rest) = writing.end(&text) {
            self.print(rest);
            self.note(Loud::Quiet, "(The answer was cut off here.)".into(), now);
        }
    }

    /// What is going on, unless it is being stopped.
    fn doing_now(&mut self, doing: Doing) {
        if self.doing != Some(Doing::Stopping) {
            self.doing = Some(doing);
        }
    }

    /// Streamed text or progress.
    pub(crate) fn signal(&mut self, kind: SignalKind, subject: &str, text: &str, now: Timestamp) {
        match kind {
            // A turn that is over, or one that this fold was not told of.
            SignalKind::Text | SignalKind::Thinking if self.writing.turn != subject => (),
            SignalKind::Text => {
                let thought = self.writing.write(text, now);
                self.prints.extend(thought);
                self.doing_now(Doing::Writing);
            }
            SignalKind::Thinking => {
                self.writing.think(text, now);
                self.doing_now(Doing::Thinking);
            }
            SignalKind::Output => {
                let Ok(call) = subject.parse::<CallId>() else { return };
                if self.transcript.row(call).is_some_and(|row| !row.stage.is_over()) {
                    push_tail(self.outputs.entry(call).or_default(), text, OUTPUT_BYTES_MAX);
                }
            }
        }
    }
}

/// Whether a reply has anything of its own to show.
fn shows(fact: &ModelReplied) -> bool {
    fact.content.iter().any(|block| match block {
        Block::Text { text, .. } | Block::Thinking { text, .. } => !text.trim().is_empty(),
        Block::Image { .. } | Block::Document { .. } => true,
        Block::Call(_) | Block::Result { .. } => false,
    })
}

/// What stands above the newest entries of a session that is taken up again.
fn earlier(left_out: usize) -> Vec<Line<'static>> {
    match left_out {
        0 => Vec::new(),
        1 => vec![Line::from("… 1 earlier entry: Ctrl-O shows it")],
        n => vec![Line::from(format!("… {n} earlier entries: Ctrl-O shows them"))],
    }
}
