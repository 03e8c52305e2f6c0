//! What comes in: one input, at most one fact of its own. Stale answers record nothing but what was paid for them.

use std::sync::Arc;

use crate::config::describe_widening;
use crate::event::{
    ApprovalResolved, CallFinished, CallJudged, CallReconciled, CallUnknown, CancelCause,
    CancelRequested, CheckpointTaken, Decision, Event, HelperAsked, HistoryQuarantined,
    InputAccepted, InputWithdrawn, LeaseRevoked, ModelFailed, ModelReplied, ModelRequested,
    ModelRetried, OutputChecked, QuestionAnswered, QuestionAsked, QuestionField, SERVER, SceneSeen,
    SessionConfigured, SessionOpened, SessionResumed,
};
use crate::event::{
    CondenseReason, ContextCondensing, ContextUncondensed, ProfileSwitched, PromptNote,
};
use crate::governance::lease::{LeaseCall, LeaseGrant, with_leases};
use crate::governance::plain_content::diff_without;
use crate::governance::rules::RuleSet;
use crate::governance::{CallFacts, GateContext, Verdict, judge_call};
use crate::ids::{ApprovalId, BlobId, CallId, InputId, Timestamp, TurnId};
use crate::input::{
    ApprovalAnswer, EffectAnswer, PersonCommand, PersonMessage, SessionCommand, SessionInput,
};
use crate::message::{CallBlock, MessageBlock, Role, StoredMedia};
use crate::model::{
    FailureClass, ModelReply, NESTING_MAX, ReplyBlock, ReplyCall, StopReason, Usage,
    nests_too_deep, parse_arguments,
};
use crate::profile::PermissionMode;
use crate::tool::built_in::{CARRIER, FOREIGN_CALLER};
use crate::tool::defer::carried_call;
use crate::tool::foreign;
use crate::tool::{CleanResult, Inspection, JudgeUse};

use super::calls::{taken_out_text, unknown_text};
use super::condense::PendingCondensing;
use super::turns::{RETRY_ATTEMPTS_MAX, retry_wait_ms};
use super::{CallStage, CallState, RunPhase, Session, SessionConfig, TurnStage, TurnState, limits};

/// A reply that came whole.
struct WholeReply {
    blocks: Vec<ReplyBlock>,
    stop: StopReason,
    usage: Usage,
    repairs: Vec<String>,
}

/// What a foreign server wants to know.
struct ServerQuestion {
    server: String,
    text: String,
    options: Vec<String>,
    field: Option<Box<QuestionField>>,
}

/// A request of which no reply came, or no whole one.
struct RequestFailure {
    class: FailureClass,
    message: String,
    /// How long the vendor asks to wait before the next attempt.
    retry_after_ms: Option<u64>,
    /// Bytes that had come of a reply.
    streamed: usize,
}

impl Session {
    /// Takes one input and returns the facts that follow, already folded in. The driver appends
    /// them, then publishes them, then does what [`Session::todo`] says.
    pub fn handle(&mut self, now: Timestamp, input: SessionInput) -> Vec<Event> {
        let outside = match input {
            SessionInput::Command(command) => self.handle_command(now, command),
            SessionInput::Answer(answer) => self.handle_answer(now, answer),
            SessionInput::Tick => None,
        };
        let mut facts = Vec::new();
        if let Some(event) = outside {
            self.apply(now, &event);
            facts.push(event);
        }
        while let Some(event) = super::derive::next(self, now) {
            self.apply(now, &event);
            facts.push(event);
        }
        facts
    }

    fn handle_command(&mut self, now: Timestamp, command: SessionCommand) -> Option<Event> {
        if let SessionCommand::Open { engine, config, parent } = command {
            let fresh = self.config.is_none();
            return fresh.then(|| {
                Event::from(SessionOpened {
                    workspace: config.workspace.clone(),
                    profile: config.profile.name.clone(),
                    permission: config.permission,
                    model: config.model.model.to_string(),
                    engine,
                    tools: config.tools.iter().map(|tool| tool.name.clone()).collect(),
                    parent,
                    config,
                })
            });
        }
        self.config.as_ref()?;
        match command {
            SessionCommand::Open { .. } => None,
            SessionCommand::Resume { engine } => {
                Some(SessionResumed { engine, run: self.run() }.into())
            }
            SessionCommand::From { by, command } => self.person_command(now, by, command),
            SessionCommand::Ask { call, server, text, options, field } => {
                self.server_asks(call, ServerQuestion { server, text, options, field })
            }
            SessionCommand::Unask { call } => self.server_waits_no_more(call),
            SessionCommand::Step { of, number, tool, input } => {
                self.step_proposal(of, number, tool, input)
            }
            SessionCommand::Cancel { cause, by } => self.cancel_run(cause, by),
            SessionCommand::Restored(restored) => Some(restored.into()),
            SessionCommand::Merged(merged) => Some(merged.into()),
            SessionCommand::Helped(asked) => Some(asked.into()),
            SessionCommand::ToolsChanged(detail) => self.tools_change_fact(detail),
            SessionCommand::Agent(news) => self.new_agent_fact(news),
        }
    }

    fn person_command(
        &mut self,
        now: Timestamp,
        by: String,
        command: PersonCommand,
    ) -> Option<Event> {
        match command {
            PersonCommand::Say(message) => {
                // The bytes that it may bring were kept before it came here.
                let PersonMessage { content, added, client_id, blobs: _ } = *message;
                let known = client_id.as_deref().and_then(|name| self.sent_input(name));
                let input = InputId(self.next.input + 1);
                let said = || InputAccepted { input, content, by, added, client_id };
                known.is_none().then(|| said().into())
            }
            PersonCommand::Decide(answer) => {
                let ApprovalAnswer { approval, decision, reason, terms } = answer;
                let (decision, call) = self.decidable_approval(now, &approval, decision)?;
                let terms = terms.filter(|_| decision == Decision::Session);
                Some(ApprovalResolved { approval, call, decision, by, reason, terms }.into())
            }
            PersonCommand::Reply { question, answer } => {
                let open = self.open_questions().any(|(open, _)| *open == question);
                (open && self.run.is_some()).then(|| {
                    QuestionAnswered { question, answer: Some(answer), by, input: None }.into()
                })
            }
            PersonCommand::Cancel => self.cancel_run(CancelCause::Cancelled, by),
            PersonCommand::Pause => self.pause_fact(by),
            PersonCommand::Resume => self.resume_fact(by),
            PersonCommand::Withdraw { input } => {
                let queued = self.queue.iter().any(|queued| queued.input == input);
                queued.then(|| InputWithdrawn { input }.into())
            }
            PersonCommand::Revoke { lease } => {
                let held = self.leases.iter().any(|grant| grant.lease == lease);
                held.then(|| LeaseRevoked { lease, by }.into())
            }
            PersonCommand::Condense { keep } => self.may_condense().then(|| {
                let begin = self.begin_condensing(CondenseReason::Asked);
                ContextCondensing { keep, ..begin }.into()
            }),
            PersonCommand::Uncondense => {
                self.may_uncondense().then(|| ContextUncondensed { by }.into())
            }
            PersonCommand::Configure { reason, config } => {
                if self.run.is_none() {
                    return Some(SessionConfigured { reason, config }.into());
                }
                self.reconfigure_during_run(&config)
            }
            // Whoever runs the session gives it back; the session itself stays as it is.
            PersonCommand::Yield => None,
        }
    }

    fn cancel_run(&self, cause: CancelCause, by: String) -> Option<Event> {
        let run = self.run.as_ref()?;
        run.cancel.is_none().then(|| CancelRequested { cause, by }.into())
    }

    /// A foreign server wants to know something of the person, while its call runs.
    fn server_asks(&self, call: CallId, asked: ServerQuestion) -> Option<Event> {
        let found = self.find_call(call)?;
        let free = found.is_started() && found.during.is_none();
        let goes_on = self.run.as_ref().is_some_and(|run| run.cancel.is_none());
        let question = self.question_id(self.next.asked + 1);
        let ServerQuestion { server, text, options, field } = asked;
        let (multiple, server) = (false, Some(server));
        let asked = || QuestionAsked { question, call, text, options, multiple, server, field };
        (free && goes_on).then(|| asked().into())
    }

    fn server_waits_no_more(&self, call: CallId) -> Option<Event> {
        let (question, _) = self.find_call(call)?.during.clone()?;
        let by = SERVER.into();
        Some(QuestionAnswered { question, answer: None, by, input: None }.into())
    }

    /// Whether a person can be asked what a foreign server wants to know: not below another agent,
    /// where nobody sees whose call it is.
    pub(super) fn hears_servers(&self) -> bool {
        self.config.as_ref().is_some_and(|config| config.attended && config.depth == 0)
    }

    /// While a run is under way settings stay, but for two. Whether anybody can be asked is told at
    /// once: what waits for a person who has gone must not wait for ever (C2). And a person who sees
    /// what the run does may let more or less of it pass from now on (F1): calls that were judged
    /// stay as judged. The mode `plan` has other tools and another prompt: to it and from it leads
    /// only the time between runs.
    fn reconfigure_during_run(&self, wanted: &SessionConfig) -> Option<Event> {
        let kept = self.config.as_ref()?;
        let mut config = kept.as_ref().clone();
        let mut reasons = Vec::new();
        if wanted.attended != kept.attended {
            config.attended = wanted.attended;
            let who = if wanted.attended { "somebody" } else { "nobody" };
            reasons.push(format!("{who} can be asked from now on"));
        }
        let plan = PermissionMode::Plan;
        let in_reach = kept.permission != plan && wanted.permission != plan;
        if in_reach && wanted.permission != kept.permission {
            config.permission = wanted.permission;
            reasons.push(format!("permission mode {} from now on", wanted.permission));
        }
        let reason = reasons.join(", ");
        (!reason.is_empty()).then(|| SessionConfigured { reason, config: Arc::new(config) }.into())
    }

    fn handle_answer(&mut self, now: Timestamp, answer: EffectAnswer) -> Option<Event> {
        match answer {
            EffectAnswer::Seen { notes, skills, label, input, recipe } => {
                let recipe = self.usable_match(recipe);
                self.accept_scene(SceneSeen { notes, skills, label, input: Some(input), recipe })
            }
            EffectAnswer::RecipePlanned(fact) => self.recipe_planned(fact),
            EffectAnswer::Prepared { turn, bytes, prefix_bytes, prefix_expected } => {
                self.accept_prepared_request(turn, bytes, prefix_bytes, prefix_expected)
            }
            EffectAnswer::Unaffordable { turn, limit, spent, max } => {
                self.in_stage(turn, TurnStage::Due)?;
                limits::shared_limit_fact(limit, spent, max)
            }
            EffectAnswer::Replied { turn, reply, images, jitter, streamed } => {
                self.in_stage(turn, TurnStage::Thinking)?;
                Some(match reply {
                    ModelReply::Whole { blocks, stop, usage, repairs } => {
                        let reply = WholeReply { blocks, stop, usage, repairs };
                        self.accept_reply(turn, reply, images)
                    }
                    ModelReply::Failed { class, message, retry_after_ms } => {
                        let failure = RequestFailure { class, message, retry_after_ms, streamed };
                        self.accept_failure(turn, failure, jitter)
                    }
                })
            }
            EffectAnswer::Salvaged { turn, text, thinking } => {
                self.accept_partial_reply(turn, text, thinking)
            }
            EffectAnswer::Inspected { call, inspection } => {
                let used = inspection.judge_use;
                let judged = self.take_inspection(now, call, inspection);
                judged.or_else(|| self.judge_asked_in_vain(used?))
            }
            EffectAnswer::Saved { call, checkpoint, paths } => {
                self.unsaved(call)?;
                Some(CheckpointTaken { checkpoint, call, paths }.into())
            }
            EffectAnswer::NotSaved { call, reason } => self.refuse_unsaved(call, &reason),
            EffectAnswer::Returned { call, clean, notes } => {
                self.accept_result(now, call, clean, notes)
            }
            EffectAnswer::Summarised(fact) => {
                let looking = matches!(self.condensing, Some(PendingCondensing::Looking(..)));
                looking.then(|| fact.into())
            }
            EffectAnswer::Remembered(fact) => {
                self.run.as_ref().filter(|run| run.phase == RunPhase::Remember)?;
                Some(fact.into())
            }
            EffectAnswer::Switched { config, notes } => self.accept_switch(config, notes),
            EffectAnswer::ModelReady { model, config } => self.accept_model(&model, config),
            EffectAnswer::NotRun { call, evidence } => {
                self.find_call(call).filter(|c| matches!(c.stage, CallStage::Reconciling(_)))?;
                Some(CallReconciled { call, evidence }.into())
            }
            EffectAnswer::Lost { call, reason } => {
                let found = self.find_call(call).filter(|c| c.is_running())?;
                let class = found.inspection.as_ref().map(|inspection| inspection.class);
                let told = Some(unknown_text(&reason, class));
                Some(CallUnknown { call, tool: found.tool.clone(), reason, told }.into())
            }
            EffectAnswer::Verified { result, kept_going } => {
                self.run.as_ref().filter(|run| run.phase == RunPhase::Verify)?;
                let (output, mismatch) = checked_output(result);
                Some(OutputChecked { output, mismatch, kept_going }.into())
            }
        }
    }

    fn refuse_unsaved(&mut self, call: CallId, reason: &str) -> Option<Event> {
        self.unsaved(call)?;
        let text = format!(
            "Not run: the files it touches could not be saved first ({reason}). Nothing was changed."
        );
        Some(self.refusal_result(call, &text).into())
    }

    /// A call that waits until its files are saved.
    fn unsaved(&self, id: CallId) -> Option<&CallState> {
        let waits = |call: &&CallState| matches!(&call.stage, CallStage::Ready(clearance) if !clearance.saved);
        self.find_call(id).filter(waits)
    }

    /// The decision that may be recorded about an open approval, and its call.
    fn decidable_approval(
        &self,
        now: Timestamp,
        approval: &ApprovalId,
        decision: Decision,
    ) -> Option<(Decision, CallId)> {
        let call = self.approval_call(approval)?;
        let open = call.open_approval()?;
        // Too late: that it expired follows from state.
        if open.expires.is_some_and(|expires| expires <= now) {
            return None;
        }
        // A lasting answer needs a rule that would have allowed this very call (G4).
        let lasting = matches!(decision, Decision::Session | Decision::Always);
        let decision = match decision {
            _ if lasting && open.lent.rules.is_empty() => Decision::Once,
            // What had been read is the session's: nothing of it lasts longer.
            Decision::Always if open.lent.bound.is_some() => Decision::Session,
            other => other,
        };
        Some((decision, call.id))
    }

    /// Of what was seen, what the model was not told yet.
    fn accept_scene(&self, mut seen: SceneSeen) -> Option<Event> {
        let run = self.run.as_ref().filter(|run| run.cancel.is_none())?;
        let anew = run.phase == RunPhase::Between && !self.unexamined_inputs().is_empty();
        if run.phase != RunPhase::Look && !anew {
            return None;
        }
        seen.notes.retain(|note| self.told.get(&note.section) != Some(&note.text));
        seen.skills.retain(|skill| self.skills.get(&skill.name) != Some(skill));
        Some(seen.into())
    }

    fn accept_prepared_request(
        &self,
        turn: TurnId,
        bytes: u64,
        prefix_bytes: u64,
        prefix_expected: u64,
    ) -> Option<Event> {
        self.in_stage(turn, TurnStage::Due)?;
        let unknown = || "the history was rendered differently".to_string();
        let lost = || self.prefix_break.clone().unwrap_or_else(unknown);
        let is_lost = prefix_bytes < prefix_expected || self.asks_other_model;
        let requested = ModelRequested {
            turn,
            provider: self.model.model.provider.clone(),
            model: self.model.model.name.clone(),
            bytes,
            prefix_bytes,
            tokens_estimated: self.next_tokens(),
            prefix_lost: is_lost.then(lost),
            label: self.label.clone(),
        };
        Some(requested.into())
    }

    /// Another profile, or the one before with a word to the model why not. What it would widen
    /// must have been known when the call was judged: a profile whose file changed since widens
    /// nothing that nobody saw (G5).
    fn accept_switch(
        &self,
        config: Result<Arc<SessionConfig>, String>,
        notes: Vec<String>,
    ) -> Option<Event> {
        let to = self.switching.as_ref()?;
        let kept = self.config.as_ref()?;
        let from = kept.profile.name.clone();
        let config = config.and_then(|config| {
            let more = describe_widening(kept, &config);
            match more.iter().find(|what| !to.widens.contains(what)) {
                None => Ok(config),
                Some(what) => Err(format!(
                    "{} would have {what} by now, which nobody was asked about",
                    to.profile
                )),
            }
        });
        let (config, reason) = match config {
            Ok(config) => (config, to.reason.clone()),
            Err(why) => (kept.clone(), format!("not switched: {why}")),
        };
        let profile = config.profile.name.clone();
        Some(ProfileSwitched { profile, from, reason, notes, config }.into())
    }

    fn in_stage(&self, turn: TurnId, stage: TurnStage) -> Option<&TurnState> {
        let run = self.run.as_ref().filter(|run| run.cancel.is_none())?;
        // A request that was not sent when somebody paused the run is made ready again afterwards.
        if stage == TurnStage::Due && run.paused.is_some() {
            return None;
        }
        let found = self.turn.as_ref().filter(|t| t.id == turn && t.stage == stage)?;
        (run.phase == RunPhase::Turning).then_some(found)
    }

    fn accept_reply(
        &self,
        turn: TurnId,
        reply: WholeReply,
        images: Vec<Result<StoredMedia, String>>,
    ) -> Event {
        let WholeReply { blocks, stop, usage, repairs: repaired } = reply;
        if let Some(cut) = self.cut_fact(turn, &usage) {
            return cut;
        }
        let mut next_call = self.next.call;
        let mut used = std::collections::HashSet::new();
        let mut images = images.into_iter();
        let mut content = Vec::new();
        for block in blocks {
            match block {
                ReplyBlock::Said(MessageBlock::Text { text, .. }) if text.is_empty() => (),
                ReplyBlock::Said(block) => content.push(block),
                ReplyBlock::Call(call) => {
                    next_call += 1;
                    let block = self.number_call(CallId(next_call), call, &mut used);
                    content.push(MessageBlock::Call(block));
                }
                ReplyBlock::Image { .. } => content.extend(images.next().map(|kept| match kept {
                    Ok(media) => MessageBlock::Image { media },
                    Err(why) => MessageBlock::text(format!(
                        "[A picture of this reply cannot be used: {why}.]"
                    )),
                })),
            }
        }
        // An endpoint that counts nothing was paid all the same.
        let estimated = usage.is_nothing();
        let usage = if estimated { self.window.estimate_reply(&content) } else { usage };
        let cost_usd = self.model.cost(&usage);
        ModelReplied { turn, content, stop, usage, cost_usd, repaired, estimated }.into()
    }

    /// What had come of a reply when somebody ended the run. Nobody counted it: what was sent and
    /// what had come are estimated, also where nothing had come yet: it was sent.
    fn accept_partial_reply(&self, turn: TurnId, text: String, thinking: String) -> Option<Event> {
        self.run.as_ref().filter(|run| run.cancel.is_some())?;
        self.turn.as_ref().filter(|t| t.id == turn && t.stage == TurnStage::Thinking)?;
        let usage = self.window.cut_off(text.len() + thinking.len());
        let thinking = Some(MessageBlock::Thinking { text: thinking, seal: None });
        let said = Some(MessageBlock::text(text));
        let is_something = |block: &MessageBlock| match block {
            MessageBlock::Thinking { text, .. } | MessageBlock::Text { text, .. } => {
                !text.is_empty()
            }
            _ => false,
        };
        let content = [thinking, said].into_iter().flatten().filter(is_something).collect();
        let cost_usd = self.model.cost(&usage);
        let (stop, repaired) = (StopReason::Interrupted, Vec::new());
        let estimated = false;
        Some(ModelReplied { turn, content, stop, usage, cost_usd, repaired, estimated }.into())
    }

    /// Numbers a call, repairs a missing or doubled id, and parses its arguments (L9).
    fn number_call(
        &self,
        call: CallId,
        reply: ReplyCall,
        used: &mut std::collections::HashSet<String>,
    ) -> CallBlock {
        let taken = |id: &str| id.is_empty() || self.wire_ids.contains(id) || used.contains(id);
        let wire_id = if taken(&reply.wire_id) {
            // Session and call number make it unique; the prefix is what vendors' own ids look like.
            format!("call_{}_{}", short_id(self.id.as_str()), call)
        } else {
            reply.wire_id
        };
        used.insert(wire_id.clone());
        let (input, broken) = match parse_arguments(&reply.arguments) {
            Ok(input) => (input, None),
            Err(message) => (serde_json::json!({}), Some(message)),
        };
        // What was found is not declared in the request, so it is called by way of another tool.
        let carrier = reply.tool == CARRIER && self.visible.iter().any(|name| name == CARRIER);
        let (tool, input) = match carried_call(&input) {
            Some(own) if carrier && broken.is_none() => own,
            _ => (reply.tool, input),
        };
        // The same for a foreign tool that is named with its server: it has rules of its own.
        let user = tool == FOREIGN_CALLER
            && (self.found.contains(FOREIGN_CALLER)
                || self.visible.iter().any(|name| name == FOREIGN_CALLER));
        let (tool, input) = match foreign::used_call(&input) {
            Some(own) if user && broken.is_none() => own,
            _ => (tool, input),
        };
        CallBlock { call, wire_id, tool, input, broken, seal: reply.seal }
    }

    /// `jitter`: the random number from which the wait before the next attempt is made.
    fn accept_failure(&self, turn: TurnId, failure: RequestFailure, jitter: u64) -> Event {
        let usage = self.used_by_failure(&failure);
        let cost_usd = self.model.cost(&usage).filter(|_| !usage.is_nothing());
        let RequestFailure { class, message, retry_after_ms, streamed } = failure;
        let attempt = self.turn.as_ref().map_or(0, |t| t.attempts) + 1;
        if class.is_retryable()
            && attempt < RETRY_ATTEMPTS_MAX
            && let Some(wait_ms) = retry_wait_ms(attempt, retry_after_ms, jitter)
        {
            return ModelRetried { turn, attempt, class, wait_ms, message, usage, cost_usd }.into();
        }
        if class == FailureClass::ContextOverflow && self.may_shorten() {
            return self.begin_condensing(CondenseReason::Overflow).into();
        }
        if class == FailureClass::ToolsRefused
            && let Some(fact) = self.refused_tools_fact(turn, &message)
        {
            return fact;
        }
        if class == FailureClass::InvalidRequest {
            let blobs = self.newest_media();
            if !blobs.is_empty() {
                return HistoryQuarantined { turn, blobs, message }.into();
            }
        }
        let failure = RequestFailure { class, message, retry_after_ms, streamed };
        self.final_failure(turn, failure, attempt)
    }

    /// A failure that no other attempt cures: another model goes on, where one is left (V8).
    fn final_failure(&self, turn: TurnId, failure: RequestFailure, attempts: u32) -> Event {
        let usage = self.used_by_failure(&failure);
        let cost_usd = self.model.cost(&usage).filter(|_| !usage.is_nothing());
        let RequestFailure { class, message, .. } = failure;
        let next = self.fallback_after(class).map(String::from);
        let message = match &next {
            Some(next) => format!("{} {next} goes on.", what_failed(&message, attempts)),
            None => failure_advice(class, &message, attempts),
        };
        ModelFailed { turn, class, message, usage, cost_usd, next }.into()
    }

    /// What a failed request may be charged for: a vendor had it and worked on it.
    fn used_by_failure(&self, failure: &RequestFailure) -> Usage {
        match failure.class.may_be_charged() || failure.streamed > 0 {
            true => self.window.cut_off(failure.streamed),
            false => Usage::default(),
        }
    }

    /// Attachments of the newest message that has any and was not quarantined yet.
    fn newest_media(&self) -> Vec<BlobId> {
        for message in self.history.iter().rev().filter(|m| m.role == Role::User) {
            let mut found = Vec::new();
            super::turns::media_of(&message.blocks, &mut found);
            found.retain(|blob| !self.quarantined.contains(blob));
            if !found.is_empty() {
                return found;
            }
        }
        Vec::new()
    }

    /// What the judge model used for a call that is not judged by it: the run was cancelled meanwhile, or the call
    /// is looked at once more. No other fact says so (R11).
    fn judge_asked_in_vain(&self, used: JudgeUse) -> Option<Event> {
        let JudgeUse { usage, cost_usd } = used;
        let counts = self.config.is_some() && !usage.is_nothing();
        counts.then(|| HelperAsked { work: "judge".into(), usage, cost_usd }.into())
    }

    pub(super) fn accept_inspection(
        &self,
        now: Timestamp,
        id: CallId,
        inspection: Arc<Inspection>,
    ) -> Option<Event> {
        let config = self.config.as_ref()?;
        self.run.as_ref().filter(|run| run.cancel.is_none())?;
        let call = self.find_call(id).filter(|call| call.stage == CallStage::Proposed)?;
        let facts = CallFacts {
            call: id,
            tool: &call.tool,
            input: &call.input,
            broken: call.broken.as_deref(),
            inspection: &inspection,
        };
        let found = self.callable_by(call);
        let context = self.gate_context_of_call(&config.rules, call)?;
        let labels = self.labels_of_carrier(call, &inspection.effects);
        let mut context = GateContext { found: found.as_ref(), ..context };
        if let Some(labels) = &labels {
            context.provenance.label = &labels.chosen;
            context.provenance.carries = Some(&labels.carries);
            context.provenance.extracted_bits = self.handles.extracted_bits(&call.carried_label());
        }
        let by = |rules: &RuleSet| judge_call(&facts, &GateContext { rules, ..context });
        let live = self.leases.iter().any(|lease| lease.is_live(now));
        let leased = LeaseCall { tool: &call.tool, effects: &inspection.effects };
        // What a lease is bound to is what decided that this very call is made: also what its program has
        // read, and words in its arguments.
        let label = context.provenance.label;
        let with = |but: &[u32]| with_leases(&config.rules, &self.leases, label, now, but, leased);
        let with_all = live.then(|| with(&[]));
        let rules = with_all.as_ref().unwrap_or(&config.rules);
        let judgement = by(rules);
        let mut leases = Vec::new();
        // Leases only ever allow: where nothing is stricter without all of them, none was used.
        if live && by(&config.rules).verdict > judgement.verdict {
            // Taken away one after the other, those that are counted first: what cannot go was used. So
            // of two that cover the call one is.
            let mut order: Vec<&LeaseGrant> =
                self.leases.iter().filter(|lease| lease.is_live(now)).collect();
            order.sort_by_key(|lease| lease.uses_left.is_none());
            let mut without = Vec::new();
            for lease in order {
                without.push(lease.lease);
                if by(&with(&without)).verdict > judgement.verdict {
                    without.pop();
                    leases.push(lease.lease);
                }
            }
            leases.sort_unstable();
        }
        let followed = || context.provenance.followed_bits(&call.tool, &inspection.effects);
        let link_bits = (judgement.verdict != Verdict::Deny).then(followed).flatten();
        let taken_out = context.provenance.taken_out_of(&call.input, &inspection.effects);
        let ways = self.ways_of_call(&facts, &GateContext { rules, ..context }, &judgement);
        let mut inspection = inspection;
        if !taken_out.is_empty()
            && let Some(diff) = &mut Arc::make_mut(&mut inspection).diff
        {
            // Faces show this one, also when the call is done: what is sent, not the draft.
            *diff = diff_without(diff, &self.said);
        }
        Some(
            CallJudged {
                call: id,
                verdict: judgement.verdict,
                gate: judgement.gate,
                rule: judgement.rule,
                reason: judgement.reason,
                gates: judgement.gates,
                inspection,
                leases,
                link_bits,
                taken_out,
                ways,
                carries: labels.map(|labels| labels.carries),
            }
            .into(),
        )
    }

    /// From where the foreign words are that stood in the context, or in what the call read, while
    /// it changed files (Z2: the files are marked).
    fn mark_source(&self, call: &CallState, changed: &[String]) -> Option<String> {
        if changed.is_empty() {
            return None;
        }
        let label = self.label_of_call(call).clone().joined_with(&call.planned_label());
        let origins = || label.origins.iter().cloned().collect::<Vec<_>>().join(", ");
        label.is_external().then(origins)
    }

    fn accept_result(
        &self,
        now: Timestamp,
        id: CallId,
        clean: CleanResult,
        notes: Vec<PromptNote>,
    ) -> Option<Event> {
        let call = self.find_call(id)?;
        let start = call.run_start()?;
        let mut result = clean.blocks;
        if !call.taken_out.is_empty() {
            result.push(MessageBlock::text(taken_out_text(&call.taken_out)));
        }
        Some(
            CallFinished {
                call: id,
                tool: call.tool.clone(),
                ok: clean.ok,
                summary: clean.summary,
                result,
                confirmed: start.confirmed,
                bytes: clean.bytes,
                duration_ms: now.ms_since(start.at),
                externalized: clean.externalized,
                full: clean.full,
                marks: self.mark_source(call, &clean.changed),
                changed: clean.changed,
                label: self.given_label(call, clean.label),
                withheld: clean.withheld,
                notes: notes
                    .into_iter()
                    .filter(|note| self.told.get(&note.section) != Some(&note.text))
                    .collect(),
                handle: clean.handle,
                news: clean.news,
            }
            .into(),
        )
    }
}

/// At most the last 8 characters of an id.
fn short_id(id: &str) -> String {
    let tail: Vec<char> = id.chars().filter(char::is_ascii_alphanumeric).collect();
    tail[tail.len().saturating_sub(8)..].iter().collect()
}

/// What a person can do about a failure that retries do not cure (L8).
fn failure_advice(class: FailureClass, message: &str, attempts: u32) -> String {
    let what_to_do = match class {
        FailureClass::Auth => "Check the key: `weir auth list` shows which is used.",
        FailureClass::NotFound => {
            "Check the model's name and the endpoint: `weir models --probe` lists what it has."
        }
        FailureClass::ContextOverflow => {
            "The conversation no longer fits the model's window and could not be made shorter. \
             Start a new session, or use a model with a larger window."
        }
        FailureClass::InvalidRequest | FailureClass::ToolsRefused => {
            "The provider will not accept this request. `weir doctor` checks the endpoint; \
             another model may accept it."
        }
        FailureClass::Refused => "The provider declined to answer. Rephrase the task.",
        FailureClass::RateLimited | FailureClass::Overloaded => {
            "The provider is busy. Try again later: `weir run --resume` goes on here."
        }
        FailureClass::Network | FailureClass::StreamCut | FailureClass::Timeout => {
            "Check the connection and the endpoint: `weir doctor`. `weir run --resume` goes on \
             here."
        }
    };
    format!("{} {what_to_do}", what_failed(message, attempts))
}

/// A failure as a sentence, with how often it was tried.
fn what_failed(message: &str, attempts: u32) -> String {
    let tried = if attempts > 1 { format!(" (tried {attempts} times)") } else { String::new() };
    format!("{}{tried}.", message.trim_end_matches('.'))
}

/// A checked answer, or what is wrong with it: a fact holds it, so it must be one that can be read again.
fn checked_output(
    result: Result<Option<serde_json::Value>, String>,
) -> (Option<serde_json::Value>, Option<String>) {
    match result {
        Ok(Some(output)) if nests_too_deep(&output) => {
            (None, Some(format!("it is nested more than {NESTING_MAX} levels deep")))
        }
        Ok(output) => (output, None),
        Err(mismatch) => (None, Some(mismatch)),
    }
}
