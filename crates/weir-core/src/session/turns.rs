//! Turns: retries, what a turn is told, and what a finished one leaves behind.

use crate::event::{MessageOrigin, ModelReplied, PromptNote, RunStatus};
use crate::ids::BlobId;
use crate::message::{Message, MessageBlock};
use crate::model::{StopReason, Usage};
use crate::tool::AgentControl;

use super::call::CallResult;
use super::pending::PendingBlocks;
use super::{CallState, RunPhase, RunState, Session, TurnState};

/// Attempts of one model request before its failure counts as final (L8).
pub(super) const RETRY_ATTEMPTS_MAX: u32 = 6;
/// First wait between attempts; doubled each time.
const RETRY_BASE_MS: u64 = 500;
/// Longest wait of our own choosing.
const RETRY_WAIT_MS_MAX: u64 = 30_000;
/// Longest wait that a vendor may wish for; beyond it the failure is final.
const RETRY_AFTER_MS_MAX: u64 = 10 * 60 * 1000;

/// Wait before the attempt after `attempt`: the vendor's wish, or exponential with up to a quarter
/// of jitter. `None`: the vendor wants longer than anybody will wait.
pub(super) fn retry_wait_ms(attempt: u32, wish: Option<u64>, jitter: u64) -> Option<u64> {
    if let Some(wish) = wish {
        return (wish <= RETRY_AFTER_MS_MAX).then_some(wish);
    }
    let base = (RETRY_BASE_MS << attempt.saturating_sub(1).min(16)).min(RETRY_WAIT_MS_MAX);
    Some(base + jitter % (base / 4 + 1))
}

/// Shorter runs are not looked through for facts worth keeping: model calls.
const REMEMBERED_FROM: u32 = 3;

/// Said to a model that neither wrote nor called anything (L9).
/// What follows a reply that somebody cut off.
const CUT_OFF: &str = "Note: your last reply was cut off there, because the run was ended. What it was \
                       to say or do further did not happen.";
const NUDGE: &str = "Your last reply was empty. Go on with the task: call a tool, or answer.";

/// Blobs that `blocks` mention, results included.
pub(super) fn media_of(blocks: &[MessageBlock], out: &mut Vec<BlobId>) {
    for block in blocks {
        match block {
            MessageBlock::Image { media } | MessageBlock::Document { media } => {
                out.push(media.blob.clone())
            }
            MessageBlock::Result { blocks, .. } => media_of(blocks, out),
            MessageBlock::Text { .. } | MessageBlock::Thinking { .. } | MessageBlock::Call(_) => (),
        }
    }
}

/// The same blocks with quarantined attachments shown as a note.
pub(super) fn without_media(
    blocks: &[MessageBlock],
    gone: &[BlobId],
    why: &str,
) -> Vec<MessageBlock> {
    let replace = |block: &MessageBlock| match block {
        MessageBlock::Image { media } | MessageBlock::Document { media }
            if gone.contains(&media.blob) =>
        {
            let name = media.name.as_deref().unwrap_or(&media.media_type);
            MessageBlock::text(format!("[{name} is withheld: the provider refused it: {why}]"))
        }
        MessageBlock::Result { call, ok, blocks } => {
            MessageBlock::Result { call: *call, ok: *ok, blocks: without_media(blocks, gone, why) }
        }
        other => other.clone(),
    };
    blocks.iter().map(replace).collect()
}

impl TurnState {
    /// The calls that may be worked on now: all, if every one may run beside others; otherwise the
    /// first that is not answered (L7).
    pub(super) fn open_calls<'a>(
        &'a self,
        session: &Session,
    ) -> impl Iterator<Item = &'a CallState> + Clone + use<'a> {
        let parallel = self.calls.iter().all(|call| session.runs_beside(call));
        let open = self.calls.iter().filter(|call| !call.is_done());
        open.take(if parallel { usize::MAX } else { 1 })
    }
}

impl Session {
    /// Tells the model a section that is new, before its next turn.
    pub(super) fn tell_section(&mut self, note: &PromptNote) {
        self.told.insert(note.section.clone(), note.text.clone());
        self.pending.push_recorded(MessageBlock::text(note.text.clone()));
    }

    /// Counts what a helper model used for this session; where nobody asked one, nothing.
    pub(super) fn count_usage(&mut self, usage: &Usage, cost_usd: Option<f64>) {
        let cost_usd = if usage.is_nothing() { Some(0.0) } else { cost_usd };
        self.count_asked(usage, cost_usd);
    }

    /// Counts what a helper used that was asked for no run: one that is on has not asked it.
    pub(super) fn count_beside_runs(&mut self, usage: &Usage, cost_usd: Option<f64>) {
        if usage.is_nothing() {
            return;
        }
        self.spent.add_other(cost_usd);
        self.usage.add(usage);
        self.cost = add_cost(self.cost, cost_usd);
    }

    /// Counts what was asked of a vendor, who may count no tokens and charge all the same.
    pub(super) fn count_asked(&mut self, usage: &Usage, cost_usd: Option<f64>) {
        self.spent.add_other(cost_usd);
        self.add_use(usage, cost_usd);
    }

    /// Counts what the session's own model used in a request that failed, or a sub-agent.
    pub(super) fn count_own_usage(&mut self, usage: &Usage, cost_usd: Option<f64>) {
        if usage.is_nothing() {
            return;
        }
        self.spent.add_own(usage, cost_usd);
        self.add_use(usage, cost_usd);
    }

    fn add_use(&mut self, usage: &Usage, cost_usd: Option<f64>) {
        self.usage.add(usage);
        self.cost = add_cost(self.cost, cost_usd);
        if let Some(run) = &mut self.run {
            run.usage.add(usage);
            run.cost = add_cost(run.cost, cost_usd);
        }
    }

    pub(super) fn push(&mut self, message: Message, origin: MessageOrigin) {
        self.window.add_message(&message);
        self.origins.push(origin);
        let mut blobs = Vec::new();
        media_of(&message.blocks, &mut blobs);
        self.media.extend(blobs);
        std::sync::Arc::make_mut(&mut self.history).push(std::sync::Arc::new(message));
    }

    /// Folds a whole reply in.
    pub(super) fn fold_reply(&mut self, reply: &ModelReplied) {
        self.usage.add(&reply.usage);
        self.cost = add_cost(self.cost, reply.cost_usd);
        self.spent.add_own(&reply.usage, reply.cost_usd);
        if reply.stop == StopReason::Interrupted {
            self.fold_cut_off(reply);
            return;
        }
        // An estimate teaches nothing about how many tokens a byte has.
        if !reply.estimated {
            self.window.note_reply(&reply.usage);
        }
        for block in &reply.content {
            if let MessageBlock::Image { media } = block {
                self.images_due.push_back((reply.turn, media.clone()));
            }
        }
        if !reply.content.is_empty() {
            self.push(Message::assistant(reply.content.clone()), MessageOrigin::Model);
        }
        let text = crate::message::plain_text(&reply.content);
        let Some(run) = &mut self.run else { return };
        run.usage.add(&reply.usage);
        run.cost = add_cost(run.cost, reply.cost_usd);
        if !text.trim().is_empty() {
            run.text.clone_from(&text);
        }
        let calls: Vec<CallState> =
            reply.content.iter().filter_map(CallState::from_block).collect();
        if calls.is_empty() {
            run.phase = run.after_text(&text, reply.stop, &mut self.pending);
            if run.phase == RunPhase::Verify && !self.checks_end() {
                self.complete_run();
            }
            self.turn = None;
            return;
        }
        for block in &reply.content {
            if let MessageBlock::Call(call) = block {
                self.next.call = self.next.call.max(call.call.0);
                self.wire_ids.insert(call.wire_id.clone());
            }
        }
        if let Some(turn) = &mut self.turn {
            let (handles, label) = (&self.handles, &turn.label);
            let calls = calls.into_iter().map(|call| call.with_carried(handles, label)).collect();
            turn.stage = super::TurnStage::Working;
            turn.calls = calls;
        }
    }

    /// A reply that somebody cut off: the model is told what it had said, and that it was no more.
    /// Thoughts without their seal are kept for people alone: no vendor takes them back.
    fn fold_cut_off(&mut self, reply: &ModelReplied) {
        self.turn = None;
        let text = crate::message::plain_text(&reply.content);
        if !text.trim().is_empty() {
            self.push(
                Message::assistant(vec![MessageBlock::text(text.clone())]),
                MessageOrigin::Model,
            );
            self.pending.push_composed(CUT_OFF);
        }
        let Some(run) = &mut self.run else { return };
        run.usage.add(&reply.usage);
        run.cost = add_cost(run.cost, reply.cost_usd);
        if !text.trim().is_empty() {
            run.text = text;
        }
    }

    /// Whether anything is to be asked before a run ends as completed.
    pub(super) fn checks_end(&self) -> bool {
        let config = self.config.as_ref();
        config.is_some_and(|config| config.output_schema.is_some() || config.guards.stop_hooks)
    }

    /// The task is done. Where that is wanted, a run of some length is looked through for facts worth
    /// keeping before it ends (M4).
    pub(super) fn complete_run(&mut self) {
        let policy = self.config.as_ref().map(|config| config.memory).unwrap_or_default();
        let remembers = policy.after_run && !policy.off;
        match &mut self.run {
            Some(run) if remembers && !run.remembered && run.iterations >= REMEMBERED_FROM => {
                run.phase = RunPhase::Remember;
            }
            _ => self.end_run(RunStatus::Completed, None),
        }
    }

    pub(super) fn end_run(&mut self, status: RunStatus, error: Option<String>) {
        if let Some(run) = &mut self.run
            && !matches!(run.phase, RunPhase::Ending(..))
        {
            run.phase = RunPhase::Ending(status, error);
        }
    }

    /// All calls of the turn are answered: results go to the model in the order asked, mistakes
    /// are counted in that order (L5, L7).
    pub(super) fn fold_turn(&mut self) {
        let Some(turn) = self.turn.take() else { return };
        // Whatever became of a program, what its steps gave may have come into the context by it.
        for place in turn.steps.iter().filter_map(|step| step.step.as_ref()) {
            self.label.join(&place.gave);
        }
        if turn.recipe {
            return self.fold_wave(turn);
        }
        let (mut completion, mut follow) = (None, None);
        for mut call in turn.calls {
            let result = call.take_result();
            if let Some(run) = &mut self.run {
                run.count_call(&call, &result);
            }
            let CallResult { ok, blocks, .. } = result;
            if let Some(run) = &mut self.run {
                let guide = run.recipe.as_mut().filter(|_| ok);
                guide.into_iter().for_each(|guide| guide.note_call(&call.tool));
            }
            match call.control().filter(|_| ok) {
                Some(AgentControl::Complete { result }) => completion = Some(result.clone()),
                Some(AgentControl::Switch { profile, reason, widens }) => {
                    self.switching = Some(super::ProfileSwitch {
                        profile: profile.clone(),
                        reason: reason.clone(),
                        widens: widens.clone(),
                    });
                }
                Some(AgentControl::Follow { recipe, calls }) => {
                    follow = Some((recipe.clone(), calls.clone()));
                }
                Some(AgentControl::Ask { .. } | AgentControl::Plan { .. }) | None => (),
            }
            self.pending.push_recorded(MessageBlock::Result { call: call.id, ok, blocks });
        }
        if let Some((recipe, calls)) = follow.filter(|_| completion.is_none()) {
            self.follow_recipe(&recipe, &calls);
        }
        self.after_calls(turn.notes, completion);
    }

    /// What follows once all calls of a turn are answered.
    pub(super) fn after_calls(&mut self, notes: Vec<String>, completion: Option<String>) {
        for note in notes {
            self.pending.push_recorded(MessageBlock::text(note));
        }
        let checks_end = self.checks_end();
        let strict = self.config.as_ref().is_some_and(|config| config.strict);
        let Some(run) = &mut self.run else { return };
        if matches!(run.phase, RunPhase::Ending(..)) {
            return;
        }
        run.phase = RunPhase::Between;
        let denied = strict && !run.denials.is_empty();
        if let Some(result) = completion {
            run.text = result;
            run.phase = RunPhase::Verify;
            if !checks_end {
                self.complete_run();
            }
        } else if denied {
            self.end_run(
                RunStatus::Denied,
                Some("A call was denied, and the run is strict.".into()),
            );
        }
    }
}

impl RunState {
    /// What follows a reply without calls (L3, L9).
    fn after_text(
        &mut self,
        text: &str,
        stop: StopReason,
        pending: &mut PendingBlocks,
    ) -> RunPhase {
        let cut = "The model ran into its output limit; the answer is cut. Ask it to go on, or \
                   raise the model's max_output.";
        match stop {
            StopReason::Refusal => {
                RunPhase::Ending(RunStatus::Failed, Some(format!("The model refused: {text}")))
            }
            // Folded before it comes to this.
            StopReason::Interrupted => RunPhase::Between,
            StopReason::MaxTokens => RunPhase::Ending(RunStatus::Limit, Some(cut.into())),
            StopReason::End | StopReason::Calls if !text.trim().is_empty() => RunPhase::Verify,
            StopReason::End | StopReason::Calls if self.nudged => RunPhase::Ending(
                RunStatus::Failed,
                Some("The model answered with nothing, twice. Try again or use another.".into()),
            ),
            StopReason::End | StopReason::Calls => {
                self.nudged = true;
                pending.push_composed(NUDGE);
                RunPhase::Between
            }
        }
    }

    /// Counts one answered call of a turn, in the order asked (L5).
    pub(super) fn count_call(&mut self, call: &CallState, result: &CallResult) {
        if result.ok {
            self.mistakes = 0;
            self.refusals = 0;
            self.mistake_texts.clear();
        } else if result.mistake {
            self.mistakes += 1;
            let text = crate::message::plain_text(&result.blocks);
            let line: String = text.lines().next().unwrap_or_default().chars().take(160).collect();
            self.mistake_texts.push(format!("{}: {line}", call.tool));
        } else if self.denials.iter().any(|denial| denial.call == call.id) {
            self.refusals += 1;
        }
    }
}

/// A sum of which one part is unknown is unknown.
pub(super) fn add_cost(sum: Option<f64>, part: Option<f64>) -> Option<f64> {
    Some(sum? + part?)
}
