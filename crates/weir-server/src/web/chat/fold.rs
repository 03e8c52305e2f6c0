//! The fold itself: one update in, the steps that change the page out. Keeps no more than later
//! facts can touch: calls of the run that is on, what waits, what is being written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use weir_core::event::{AgentNews, ApprovalResolved, Event, QuestionAnswered};
use weir_core::ids::{ApprovalId, BlobId, CallId, InputId};
use weir_core::message::Block;
use weir_core::model::Usage;
use weir_core::session::SessionConfig;
use weir_core::view::plain::visible;
use weir_core::view::told::cut_off;
use weir_engine::hub::{Fact, SignalKind, Update};

use super::content::{Content, Op, Placed, Region, Verb, View, ask_id, entry_id, writing_id};
use super::notes::{self, Note};
use super::row::{Agent, Row, Stage, output_id};
use super::said;
use super::status::{Banner, Doing, Status, Unsure};
use crate::render;

/// Most of what a call shows while it runs, in bytes; the end of it.
const OUTPUT_MAX: usize = 8 * 1024;
/// Most of what the model thinks that is shown while it does, in bytes; the end of it.
const THINKING_MAX: usize = 8 * 1024;

/// What the model writes now.
#[derive(Debug, Clone, Default)]
struct Writing {
    turn: String,
    thinking: String,
    text: String,
    growing: render::Growing,
    /// The entry is on the page.
    begun: bool,
    /// What is on the page of its thinking is behind.
    thinks: bool,
    /// Blocks of text that are on the page.
    blocks: usize,
}

/// A chat, folded as far as it was told.
#[derive(Debug, Clone)]
pub(crate) struct Fold {
    view: Arc<View>,
    status: Status,
    shown: Status,
    banner: Banner,
    running: bool,
    asks: usize,
    queue: Vec<(InputId, Placed)>,
    /// Ids of what was withdrawn and stands where it waited, until something is said again.
    returned: Vec<String>,
    rows: BTreeMap<CallId, Row>,
    /// The calls that approvals are about.
    asked: BTreeMap<ApprovalId, CallId>,
    /// Calls of unknown outcome that open questions told of (D4).
    told: BTreeMap<ApprovalId, Vec<CallId>>,
    writing: Writing,
    outputs: BTreeMap<CallId, (String, bool)>,
    /// Pictures that the last reply shows: the fact that tells of each shows none again.
    pictures: BTreeSet<BlobId>,
    dirty: bool,
    ops: Vec<Verb>,
}

impl Fold {
    /// A chat of which nothing is known yet.
    pub(crate) fn new(view: View) -> Fold {
        Fold {
            view: Arc::new(view),
            status: Status::default(),
            shown: Status::default(),
            banner: Banner::default(),
            running: false,
            asks: 0,
            queue: Vec::new(),
            returned: Vec::new(),
            rows: BTreeMap::new(),
            asked: BTreeMap::new(),
            told: BTreeMap::new(),
            writing: Writing::default(),
            outputs: BTreeMap::new(),
            pictures: BTreeSet::new(),
            dirty: false,
            ops: Vec::new(),
        }
    }

    /// How the chat stands.
    pub(crate) fn status(&self) -> &Status {
        &self.status
    }

    /// Takes an update in and gives the steps that it means for the page. Signals are gathered:
    /// [`Fold::flush`] gives their steps, some twenty times a second at most.
    pub(crate) fn update(&mut self, update: &Update) -> Vec<Op> {
        match update {
            Update::Fact(fact) => return self.fact(fact),
            Update::Signal { kind, subject, text } => self.signal(*kind, subject, text),
        }
        Vec::new()
    }

    /// Takes a fact in.
    pub(crate) fn fact(&mut self, fact: &Fact) -> Vec<Op> {
        let at = Placed { seq: fact.seq, ts: fact.ts, event: fact.event.clone() };
        self.conversation(&at);
        self.calls(&at);
        self.questions(&at);
        self.agents(&at);
        self.settings(&at);
        if let Some(((tone, text), link)) = notes::told(&at.event) {
            self.append(Content::Note(Note { seq: at.seq, ts: at.ts, tone, text, link }));
        }
        self.taken()
    }

    /// Whether signals wait for [`Fold::flush`].
    pub(crate) fn is_dirty(&self) -> bool {
        self.dirty
    }

    /// The steps of the signals that were gathered.
    pub(crate) fn flush(&mut self) -> Vec<Op> {
        if !std::mem::take(&mut self.dirty) {
            return Vec::new();
        }
        self.flush_writing();
        self.flush_outputs();
        self.taken()
    }

    fn taken(&mut self) -> Vec<Op> {
        self.status.doing = self.doing();
        if self.status != self.shown {
            self.shown = self.status.clone();
            let state = Box::new(self.status.clone());
            self.ops.push(Verb::Replace("status".into(), Content::Status(state)));
        }
        let verbs = std::mem::take(&mut self.ops);
        verbs.into_iter().map(|verb| Op { view: self.view.clone(), verb }).collect()
    }

    fn doing(&self) -> Option<Doing> {
        if !self.running {
            return match self.status.doing {
                Some(Doing::Condensing) => Some(Doing::Condensing),
                _ => None,
            };
        }
        if self.asks > 0 {
            return Some(Doing::Waiting);
        }
        Some(match &self.status.doing {
            None | Some(Doing::Waiting) => Doing::Working,
            Some(doing) => doing.clone(),
        })
    }

    fn append(&mut self, content: Content) {
        self.ops.push(Verb::Append(Region::Log, content));
    }

    fn doing_now(&mut self, doing: Doing) {
        if self.status.doing != Some(Doing::Stopping) {
            self.status.doing = Some(doing);
        }
    }

    fn used(&mut self, usage: &Usage, cost_usd: Option<f64>) {
        self.status.tokens = self.status.tokens.saturating_add(usage.total());
        self.status.cost_usd += cost_usd.unwrap_or(0.0);
        self.status.cost_open |= cost_usd.is_none() && usage.total() > 0;
    }

    /// What is said, and the course of a run.
    fn conversation(&mut self, at: &Placed) {
        match at.event.as_ref() {
            Event::InputAccepted(f) => {
                self.ops.extend(std::mem::take(&mut self.returned).into_iter().map(Verb::Remove));
                if self.running {
                    self.queue.push((f.input, at.clone()));
                    self.ops.push(Verb::Append(Region::Queue, Content::Queued(at.clone())));
                } else {
                    self.append(Content::Said(at.clone()));
                }
            }
            Event::InputWithdrawn(f) => self.give_back(f.input),
            // Whoever took it up asks the model again: what streamed streams anew.
            Event::SessionResumed(_) => {
                self.unwrite();
                self.outputs.clear();
            }
            Event::RunStarted(_) => {
                self.running = true;
                self.status.doing = Some(Doing::Working);
            }
            Event::TurnStarted(f) => {
                for input in &f.inputs {
                    self.unqueue(*input);
                }
            }
            Event::ModelRequested(f) => {
                self.status.context = f.tokens_estimated;
                self.writing = Writing { turn: f.turn.to_string(), ..Writing::default() };
                self.doing_now(Doing::Working);
            }
            Event::ModelRetried(f) => {
                self.unwrite();
                self.writing.turn = f.turn.to_string();
            }
            Event::ModelFailed(_) => self.unwrite(),
            Event::ModelReplied(f) => {
                self.used(&f.usage, f.cost_usd);
                self.pictures = pictures_of(&f.content);
                match (self.writing.begun, said::shows(f)) {
                    // What stands behind its words by now stands before it in the journal.
                    (true, true) if cut_off(f).is_some() => {
                        self.unwrite();
                        self.append(Content::Replied(at.clone()));
                    }
                    (true, true) => {
                        let id = writing_id(&self.writing.turn);
                        self.ops.push(Verb::Replace(id, Content::Replied(at.clone())));
                        self.writing = Writing::default();
                    }
                    (false, true) => self.append(Content::Replied(at.clone())),
                    (_, false) => self.unwrite(),
                }
                self.doing_now(Doing::Working);
            }
            Event::ImageProduced(f) => {
                let is_shown = self.pictures.remove(&f.blob);
                if !is_shown {
                    self.append(Content::Image(at.clone()));
                }
            }
            Event::RunFinished(_) => self.run_finished(at),
            _ => (),
        }
    }

    fn run_finished(&mut self, at: &Placed) {
        self.unwrite();
        self.running = false;
        self.status.doing = None;
        self.rows.retain(|_, row| row.stage == Stage::Unknown);
        self.outputs.clear();
        self.append(Content::Ended(at.clone()));
    }

    /// An input leaves the queue into the conversation.
    fn unqueue(&mut self, input: InputId) {
        let Some(at) = self.taken_from_queue(input) else { return };
        self.ops.push(Verb::Remove(Content::Queued(at.clone()).id()));
        self.append(Content::Said(at));
    }

    /// An input was not told: it stands there with that mark, and the page that said it takes its
    /// words back into the composer.
    fn give_back(&mut self, input: InputId) {
        let Some(at) = self.taken_from_queue(input) else { return };
        let (id, returned) = (Content::Queued(at.clone()).id(), Content::Returned(at));
        self.returned.push(id.clone());
        self.ops.push(Verb::Replace(id, returned));
    }

    fn taken_from_queue(&mut self, input: InputId) -> Option<Placed> {
        let n = self.queue.iter().position(|(queued, _)| *queued == input)?;
        Some(self.queue.remove(n).1)
    }

    /// What was being written is taken away.
    fn unwrite(&mut self) {
        let writing = std::mem::take(&mut self.writing);
        if writing.begun {
            self.ops.push(Verb::Remove(writing_id(&writing.turn)));
        }
    }

    fn row(&mut self, call: CallId, change: impl FnOnce(&mut Row)) {
        let Some(row) = self.rows.get_mut(&call) else { return };
        change(row);
        let content = Content::Call(Box::new(row.clone()));
        self.ops.push(Verb::Replace(entry_id(row.at.seq), content));
    }

    /// Calls of tools, from their proposal to their end.
    fn calls(&mut self, at: &Placed) {
        match at.event.as_ref() {
            Event::CallProposed(f) => {
                let row = Row::new(f.call, at.clone());
                self.append(Content::Call(Box::new(row.clone())));
                self.rows.insert(f.call, row);
            }
            Event::CallJudged(f) => {
                let event = at.event.clone();
                self.row(f.call, |row| row.judged = Some(event));
            }
            Event::CheckpointTaken(f) if !f.paths.is_empty() => {
                let note = format!("Saved before the change: {}", visible(&f.paths.join(", ")));
                self.row(f.call, |row| row.notes.push(note));
            }
            Event::CallStarted(f) => {
                if let Some(Event::CallProposed(call)) =
                    self.rows.get(&f.call).map(|row| row.at.event.clone()).as_deref()
                {
                    self.doing_now(Doing::Calling(call.tool.clone()));
                }
                self.row(f.call, |row| row.stage = Stage::Running);
            }
            Event::CallReconciled(f) => {
                let note = format!("It did not happen: {}", visible(&f.evidence));
                self.row(f.call, |row| row.notes.push(note));
            }
            Event::CallFinished(f) => {
                let event = at.event.clone();
                self.outputs.remove(&f.call);
                self.row(f.call, |row| {
                    row.stage = ended(row.stage, f.ok, f.duration_ms);
                    row.finished = Some(event);
                });
            }
            Event::CallUnknown(f) => {
                let place = self.rows.get(&f.call).map_or(at.seq, |row| row.at.seq);
                let (call, tool, why) = (f.call, f.tool.clone(), f.reason.clone());
                self.banner.unknown.push(Unsure { place, call, tool, why });
                self.show_banner();
                let note = visible(&f.reason);
                self.row(f.call, |row| {
                    row.stage = Stage::Unknown;
                    row.notes.push(note);
                });
            }
            _ => (),
        }
    }

    fn show_banner(&mut self) {
        self.ops.push(Verb::Replace("banner".into(), Content::Banner(self.banner.clone())));
    }

    /// What people are asked, and the task list.
    fn questions(&mut self, at: &Placed) {
        match at.event.as_ref() {
            Event::ApprovalRequested(f) => {
                self.ask(Content::Approval(Box::new(f.clone()), Vec::new()));
                self.asked.insert(f.approval.clone(), f.call);
                if !f.unknown.is_empty() {
                    self.told.insert(f.approval.clone(), f.unknown.clone());
                }
                self.row(f.call, |row| row.stage = Stage::Waiting);
            }
            Event::ApprovalResolved(f) => self.resolved(f),
            Event::QuestionAsked(f) => self.ask(Content::Question(f.clone())),
            Event::QuestionAnswered(f) => self.answered(f),
            Event::PlanUpdated(_) => {
                let plan = Content::Plan(Some(at.event.clone()));
                self.ops.push(Verb::Replace("plan".into(), plan));
            }
            _ => (),
        }
    }

    fn ask(&mut self, content: Content) {
        self.asks += 1;
        self.ops.push(Verb::Append(Region::Asks, content));
    }

    fn unask(&mut self, name: &str) {
        self.asks = self.asks.saturating_sub(1);
        self.ops.push(Verb::Remove(ask_id(name)));
    }

    fn resolved(&mut self, fact: &ApprovalResolved) {
        self.asked.remove(&fact.approval);
        self.unask(fact.approval.as_str());
        let note = notes::decided(fact.decision, &fact.by, fact.reason.as_deref());
        self.row(fact.call, |row| {
            row.stage = if fact.decision.allows() { Stage::Proposed } else { Stage::Refused };
            row.notes.push(note);
        });
        // Whoever allows a call settles what its question told them of, and nothing else (D4).
        let told = self.told.remove(&fact.approval).unwrap_or_default();
        if fact.decision.allows() && !told.is_empty() {
            self.banner.unknown.retain(|unsure| !told.contains(&unsure.call));
            self.show_banner();
        }
    }

    fn answered(&mut self, fact: &QuestionAnswered) {
        self.unask(fact.question.as_str());
        if let Some(input) = fact.input {
            self.unqueue(input);
        }
    }

    /// Sub-agents, within the row of the call that started them.
    fn agents(&mut self, at: &Placed) {
        let Some(news) = AgentNews::of(&at.event) else { return };
        let call = news.call();
        match news {
            AgentNews::Spawned(f) => {
                let (id, spawned) = (f.agent, at.event.clone());
                let agent = Agent { id, spawned, asks: false, ended: None };
                self.row(call, |row| row.agents.push(agent));
            }
            AgentNews::Asked(f) => {
                self.ask(Content::asked(&f));
                self.asked.insert(f.request.approval.clone(), call);
                self.row(call, |row| row.agents.iter_mut().for_each(|a| a.asks |= a.id == f.agent));
            }
            AgentNews::Answered(f) => {
                self.asked.remove(&f.approval);
                self.unask(f.approval.as_str());
                let note = notes::decided(f.decision, &f.by, None);
                self.row(call, |row| {
                    row.agents.iter_mut().for_each(|a| a.asks &= a.id != f.agent);
                    row.notes.push(note);
                });
            }
            AgentNews::Finished(f) => {
                self.used(&f.usage, f.cost_usd);
                let over = (f.status, f.error.clone().unwrap_or_else(|| f.text.clone()));
                self.row(call, |row| {
                    if let Some(agent) = row.agents.iter_mut().find(|a| a.id == f.agent) {
                        (agent.asks, agent.ended) = (false, Some(over));
                    }
                });
            }
        }
    }

    /// Settings, and what is done to the context.
    fn settings(&mut self, at: &Placed) {
        match at.event.as_ref() {
            Event::SessionOpened(f) => self.configured(&f.config),
            Event::SessionConfigured(f) => self.configured(&f.config),
            Event::ProfileSwitched(f) => self.configured(&f.config),
            Event::ContextCondensing(f) => {
                self.status.context = f.tokens;
                self.doing_now(Doing::Condensing);
            }
            Event::ContextSummarised(f) => self.used(&f.usage, f.cost_usd),
            Event::ContextCondensed(f) => {
                self.status.context = f.tokens_after;
                self.status.doing = self.running.then_some(Doing::Working);
            }
            Event::RunRemembered(f) => self.used(&f.usage, f.cost_usd),
            Event::RecipePlanned(f) => self.used(&f.usage, f.cost_usd),
            Event::CancelRequested(_) => self.status.doing = Some(Doing::Stopping),
            _ => (),
        }
    }

    fn configured(&mut self, config: &SessionConfig) {
        self.status.window = config.model.window;
        self.status.model = config.model.model.to_string();
        self.status.profile = config.profile.name.clone();
        self.status.thinking = config.thinking.as_str().into();
        self.status.permission = config.permission.as_str().into();
    }

    fn signal(&mut self, kind: SignalKind, subject: &str, text: &str) {
        match kind {
            SignalKind::Text | SignalKind::Thinking => {
                if self.writing.turn != subject {
                    // A turn that is over, or one that this fold was not told of.
                    return;
                }
                match kind {
                    SignalKind::Text => self.writing.text.push_str(text),
                    _ => {
                        push_tail(&mut self.writing.thinking, text, THINKING_MAX);
                        self.writing.thinks = true;
                    }
                }
                self.doing_now(Doing::Writing);
            }
            SignalKind::Output => {
                let Ok(call) = subject.parse::<CallId>() else { return };
                if !self.rows.get(&call).is_some_and(|row| row.stage == Stage::Running) {
                    return;
                }
                let (output, fresh) = self.outputs.entry(call).or_default();
                push_tail(output, text, OUTPUT_MAX);
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
            let entry = Content::Writing(writing.turn.clone());
            self.ops.push(Verb::Append(Region::Log, entry));
        }
        if std::mem::take(&mut writing.thinks) {
            let thinking = Content::Thinking(thinking_id.clone(), writing.thinking.clone());
            self.ops.push(Verb::Replace(thinking_id, thinking));
        }
        if writing.text.is_empty() {
            return;
        }
        let (_, blocks) = writing.growing.blocks(&writing.text);
        let first = writing.blocks.saturating_sub(1);
        for (n, text) in blocks.iter().enumerate() {
            let at = first + n;
            let block = Content::Block(format!("{text_id}-{at}"), (*text).to_string());
            self.ops.push(match at < writing.blocks {
                true => Verb::Replace(format!("{text_id}-{at}"), block),
                false => Verb::Append(Region::Within(text_id.clone()), block),
            });
        }
        writing.blocks = writing.blocks.max(first + blocks.len());
    }

    fn flush_outputs(&mut self) {
        for (call, (text, fresh)) in &mut self.outputs {
            if std::mem::take(fresh)
                && let Some(row) = self.rows.get(call)
            {
                let id = output_id(row);
                self.ops.push(Verb::Replace(id.clone(), Content::Output(id, text.clone())));
            }
        }
    }
}

/// The pictures that stand in what a model said.
fn pictures_of(content: &[Block]) -> BTreeSet<BlobId> {
    let blobs = content.iter().filter_map(|block| match block {
        Block::Image { media } => Some(media.blob.clone()),
        _ => None,
    });
    blobs.collect()
}

/// The stage of a call that was answered.
fn ended(before: Stage, ok: bool, duration_ms: u64) -> Stage {
    match (before, ok) {
        (Stage::Unknown, _) => Stage::Unknown,
        (_, true) => Stage::Done,
        (Stage::Running, false) => Stage::Failed,
        (Stage::Refused, false) => Stage::Refused,
        (_, false) if duration_ms > 0 => Stage::Failed,
        // It was answered without having run.
        (_, false) => Stage::Refused,
    }
}

/// Puts `text` at the end and keeps the last `max` bytes.
fn push_tail(kept: &mut String, text: &str, max: usize) {
    kept.push_str(text);
    if kept.len() > max * 2 {
        let cut = kept.floor_char_boundary(kept.len() - max);
        kept.drain(..cut);
    }
}
