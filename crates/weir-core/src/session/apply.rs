//! The fold: what each fact means for the state. One exhaustive match; total.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::event::CancelCause;
use crate::event::{
    AlertName, CallFinished, CallJudged, CallUnknown, Denial, Event, HistoryQuarantined,
    QuestionAnswered, RunStarted, RunStatus, SceneSeen, TurnStarted,
};
use crate::event::{ContextRecalled, MemoryProposed, MemoryWritten, MessageOrigin, SkillActivated};
use crate::governance::gate::{CanaryText, is_out_of_calls};
use crate::governance::outcome::UnknownOutcome;
use crate::governance::way_out::ways_text;
use crate::governance::{GateName, Provenance, RECENT_CALLS, RecentCall, Verdict, same_form};
use crate::ids::{CallId, Timestamp};
use crate::label::{Integrity, Label, Taint};
use crate::memory::{MemoryNote, MemoryStatus};
use crate::message::{Message, MessageBlock, plain_text, plain_texts};
use crate::prompt::{self, SectionName};
use crate::record::texts_sha256_hex;
use crate::skill::SkillNote;
use crate::tool::built_in::FOREIGN_CALLER;
use crate::tool::{
    AgentControl, EffectClass, JudgeUse, PlanItem, PlanStatus, ResultEffect, foreign,
};

use super::call::{CallClearance, CallResult};
use super::calls::{unknown_text, workspace_root};
use super::child;
use super::condense;
use super::link_bits;
use super::recipe;
use super::solving;
use super::turns::without_media;
use super::{
    CallStage, CallState, RunPhase, RunState, SentInput, Session, SessionConfig, TurnStage,
    TurnState, UndeliveredInput,
};

mod approval;
mod ending;

use approval::approval_resolved;
use ending::{limit_reached, output_checked, run_finished};

#[expect(clippy::too_many_lines, reason = "the fold is one exhaustive match, read in one place")]
pub(super) fn apply_fact(s: &mut Session, ts: Timestamp, event: &Event) {
    let before = s.last;
    s.facts += 1;
    s.last = ts;
    match event {
        Event::SessionOpened(f) => {
            apply_config(s, &f.config);
            lend_answer(s, &f.config);
        }
        Event::SessionConfigured(f) => {
            s.prefix_break = Some(f.reason.clone());
            apply_config(s, &f.config);
        }
        Event::SessionResumed(_) => apply_resumption(s, ts.ms_since(before)),
        Event::InputAccepted(f) => {
            s.next.input = f.input.0;
            if let Some(name) = &f.client_id {
                let run = s.run.as_ref().map(|run| run.id);
                s.sent.note_accepted(name, SentInput { input: f.input, seq: s.facts, run });
            }
            let child = s.config.as_ref().is_some_and(|config| config.depth > 0);
            if child {
                s.tasks.extend(f.added.iter().map(|added| added.text.clone()));
            }
            if s.title.is_empty() {
                let text = s.tasks.first().cloned().unwrap_or_else(|| plain_text(&f.content));
                s.title = text.lines().next().unwrap_or_default().chars().take(80).collect();
            }
            let text = plain_text(&f.content);
            if !text.is_empty() {
                s.said.push(text);
            }
            s.label.join(&attachment_label(&f.content));
            f.added.iter().for_each(|added| s.label.join(&added.label));
            let (content, added) = (f.content.clone(), f.added.clone());
            let scheduled = crate::schedule::is_schedule(&f.by);
            s.queue.push_back(UndeliveredInput { input: f.input, content, added, scheduled });
        }
        Event::InputWithdrawn(f) => s.queue.retain(|queued| queued.input != f.input),
        Event::RunStarted(f) => run_started(s, ts, f),
        Event::RunPaused(f) => s.apply_pause(ts, f),
        Event::RunResumed(_) => s.apply_resume(ts),
        Event::SceneSeen(f) => scene_seen(s, f),
        Event::TurnStarted(f) => turn_started(s, ts, f),
        Event::ModelRequested(f) => {
            let tail = s.tail.clone();
            s.window.note_request(f, tail.as_deref());
            (s.prefix_break, s.asks_other_model) = (None, false);
            if let Some(turn) = &mut s.turn {
                turn.stage = TurnStage::Thinking;
            }
        }
        Event::ModelRetried(f) => {
            s.count_own_usage(&f.usage, f.cost_usd);
            if let Some(turn) = &mut s.turn {
                turn.attempts = f.attempt;
                turn.stage = TurnStage::Due;
                turn.not_before = ts.plus_ms(f.wait_ms);
            }
        }
        Event::ModelFailed(f) => {
            s.count_own_usage(&f.usage, f.cost_usd);
            s.apply_failure(f);
        }
        Event::ModelSwitched(f) => s.apply_model(f),
        Event::ModelReplied(f) => s.fold_reply(f),
        Event::ImageProduced(f) => {
            s.images_due.pop_front();
            if let (Some(run), Some(path)) = (&mut s.run, &f.path) {
                run.pictures.push(path.clone());
            }
        }
        Event::HistoryQuarantined(f) => quarantine_history(s, f),
        Event::ToolsRefused(f) => s.apply_refused_tools(f),
        Event::CallProposed(f) => match (f.of, &mut s.turn) {
            (Some(of), _) => s.step_proposed(f, of),
            (None, Some(turn)) => turn.proposed += 1,
            (None, None) => (),
        },
        Event::CallJudged(f) => apply_judgement(s, f),
        Event::ApprovalRequested(f) => {
            s.next.asked += 1;
            match f.lines.is_empty() {
                true => with_call(s, f.call, |call| call.open_ask(f)),
                false => f.lines.iter().for_each(|line| {
                    with_call(s, line.call, |call| call.open_line(f, line));
                }),
            }
        }
        Event::ApprovalResolved(f) => approval_resolved(s, ts, f),
        Event::LeaseRevoked(f) => {
            s.leases.retain(|lease| lease.lease != f.lease);
            s.trail.revoke_lease(f.lease);
        }
        Event::CheckpointTaken(f) => with_call(s, f.call, CallState::note_saved),
        Event::CheckpointRestored(f) => {
            let text = format!(
                "Note: {} took changes back in these files: {}. Read them again before you rely \
                 on them.",
                f.by,
                f.paths.join(", ")
            );
            s.pending.push_composed(text);
        }
        Event::WorkspaceMerged(f) => {
            let text = format!(
                "Note: {} took these files over into {}: {}.",
                f.by,
                f.into,
                f.paths.join(", ")
            );
            s.pending.push_composed(text);
        }
        Event::CallStarted(f) => {
            with_call(s, f.call, |call| call.begin_run(ts));
            s.lend_link_bits(f.call);
        }
        Event::CallReconciled(f) => {
            s.issued.remove(&f.call);
            with_call(s, f.call, |call| {
                if let CallStage::Reconciling(start) = call.stage {
                    call.stage = CallStage::Started(start);
                }
            });
        }
        Event::CallFinished(f) => call_finished(s, f),
        Event::CallUnknown(f) => call_unknown(s, f),
        Event::QuestionAsked(f) => {
            s.next.asked += 1;
            with_call(s, f.call, |call| match &f.server {
                Some(_) => {
                    let (text, options) = (f.text.clone(), f.options.clone());
                    let control = AgentControl::Ask { text, options, multiple: f.multiple };
                    call.during = Some((f.question.clone(), control));
                }
                None => call.stage = CallStage::Questioning(f.question.clone()),
            });
        }
        Event::QuestionAnswered(f) => question_answered(s, f),
        Event::PlanUpdated(f) => {
            s.plan.clone_from(&f.items);
            let told = f.told.clone().or_else(|| task_list(&f.items));
            s.tail = told.map(Arc::from);
        }
        Event::OutputChecked(f) => output_checked(s, f),
        Event::ProfileSwitched(f) => {
            let text = if f.profile == f.from {
                format!("Note: you are still the agent {}: {}", f.from, f.reason)
            } else {
                s.prefix_break = Some(format!("the profile is {} now", f.profile));
                let mut text =
                    format!("Note: you go on as the agent {} ({}).", f.profile, f.reason);
                f.notes.iter().for_each(|note| text.push_str(&format!(" Note: {note}.")));
                text
            };
            s.switching = None;
            apply_config(s, &f.config);
            s.pending.push_composed(text);
        }
        Event::ContextCondensing(f) => condense::apply_condensing(s, f),
        Event::ContextSummarised(f) => condense::apply_summary(s, f),
        Event::ContextCondensed(f) => condense::apply_condensed(s, f),
        Event::ContextUncondensed(_) => condense::apply_uncondensed(s),
        Event::SteeringReminded(f) => {
            s.pending.push_recorded(MessageBlock::text(f.text.clone()));
            if let Some(run) = &mut s.run {
                run.reminded = f.iteration;
            }
        }
        Event::RecipePlanned(f) => recipe::apply_plan(s, f),
        Event::RecipeStepped(f) => recipe::apply_steps(s, f),
        Event::RecipeFallback(f) => recipe::fell_back(s, f),
        Event::RecipeMatched(_)
        | Event::ContextRecalled(_)
        | Event::SkillActivated(_)
        | Event::MemoryProposed(_)
        | Event::MemoryWritten(_) => {
            s.due.pop_front();
        }
        Event::RunRemembered(f) => {
            f.memories.iter().for_each(|note| s.due.push_back(memory_fact(note)));
            s.count_usage(&f.usage, f.cost_usd);
            if let Some(run) = &mut s.run {
                run.remembered = true;
            }
            s.end_run(RunStatus::Completed, None);
        }
        Event::HelperAsked(f) => s.count_beside_runs(&f.usage, f.cost_usd),
        Event::AgentSpawned(f) => s.agent_spawned(f),
        Event::AgentAsked(f) => s.agent_asked(f),
        Event::AgentAnswered(f) => s.agent_answered(f.call, &f.approval),
        Event::AgentFinished(f) => s.agent_finished(f),
        Event::LimitReached(f) => limit_reached(s, f),
        Event::AlertRaised(f) => {
            s.alerts_due.pop_front();
            s.note_tools_change(f);
            if f.alert == AlertName::Canary
                && let Some(run) = &mut s.run
            {
                run.cancel = Some((CancelCause::Alert, format!("the gate {}", GateName::Canary)));
            }
        }
        Event::CancelRequested(f) => {
            if let Some(run) = &mut s.run {
                run.cancel = Some((f.cause, f.by.clone()));
            }
        }
        Event::RunFinished(f) => run_finished(s, f),
    }
}

fn with_call(s: &mut Session, id: CallId, change: impl FnOnce(&mut CallState)) {
    let mut calls = s.turn.iter_mut().flat_map(TurnState::all_calls_mut);
    if let Some(call) = calls.find(|call| call.id == id) {
        change(call);
    }
}

pub(super) fn apply_config(s: &mut Session, config: &Arc<SessionConfig>) {
    s.model = Arc::new(config.model.clone());
    if *s.system != *config.system {
        s.system = config.system.clone();
    }
    s.window.apply_config(config);
    s.tools = config.tools.clone();
    // No deeper agent than the limit says, wherever the list of tools comes from.
    if config.depth >= config.limits.max_subtask_depth {
        child::within_depth(Arc::make_mut(&mut s.tools), config.depth, &config.limits);
    }
    s.visible = s.tools.iter().map(|tool| tool.name.clone()).collect();
    // What was found is callable only as long as the session has it: not after a narrowing switch.
    s.found.retain(|name| config.deferred.iter().any(|tool| tool.name == *name));
    if let Some(most) = config.link_bits {
        s.trail.limit_bits(most);
    }
    s.config = Some(config.clone());
}

/// The right to answer whoever's mail began the session is a lease from its first fact on (U5).
fn lend_answer(s: &mut Session, config: &SessionConfig) {
    let Some(right) = config.answer.clone() else { return };
    if let Some(lease) = right.into_lease(s.next.lease + 1) {
        s.next.lease += 1;
        s.leases.push(lease);
    }
}

/// A program took the session up: what was in flight is owed again, what may have happened is to
/// be found out (D4, D5). Counters stay (L4).
fn apply_resumption(s: &mut Session, gap_ms: u64) {
    s.issued.clear();
    s.looked_ahead.clear();
    let Some(run) = &mut s.run else { return };
    // The time of a pause is counted when it ends.
    if run.paused.is_none() {
        run.away_ms += gap_ms;
    }
    let Some(turn) = &mut s.turn else { return };
    if turn.stage == TurnStage::Thinking {
        turn.stage = TurnStage::Due;
    }
    for call in turn.all_calls_mut() {
        let again = |class| matches!(class, EffectClass::Read | EffectClass::Program);
        let again = call.inspection.as_ref().is_some_and(|found| again(found.class));
        let found_out = !again && !call.asks_person();
        if let CallStage::Started(start) = call.stage
            && found_out
        {
            call.stage = CallStage::Reconciling(start);
        }
    }
}

fn run_started(s: &mut Session, ts: Timestamp, f: &RunStarted) {
    s.next.run = f.run.0;
    s.finished = None;
    s.sent.note_run(f.run);
    let phase = if s.turn.is_some() { RunPhase::Turning } else { RunPhase::Look };
    s.run = Some(RunState {
        id: f.run,
        trigger: f.trigger,
        started: ts,
        away_ms: 0,
        phase,
        cancel: None,
        paused: None,
        iterations: 0,
        turn_started: None,
        tool_calls: 0,
        consulted: 0,
        over_limit: false,
        mistakes: 0,
        refusals: 0,
        mistake_texts: Vec::new(),
        soft_said: false,
        nudged: false,
        unanswered: false,
        mismatches: 0,
        usage: crate::model::Usage::default(),
        cost: Some(0.0),
        text: String::new(),
        output: None,
        denials: Vec::new(),
        changed: BTreeSet::new(),
        marked: BTreeSet::new(),
        pictures: Vec::new(),
        stops_refused: 0,
        reminded: 0,
        condensed: None,
        failed_models: BTreeSet::new(),
        remembered: false,
        solving: solving::SolvingRun::for_trigger(f.trigger),
        recipe: None,
    });
}

fn scene_seen(s: &mut Session, f: &SceneSeen) {
    f.notes.iter().for_each(|note| s.tell_section(note));
    s.label.join(&f.label);
    for skill in &f.skills {
        activate_skill(s, skill);
    }
    s.looked = f.input.map_or(s.next.input, |input| input.0);
    if let Some(run) = &mut s.run {
        run.phase = RunPhase::Between;
    }
    if let Some(found) = &f.recipe {
        s.adopt_recipe(found);
    }
}

/// A skill is active from now on; that it is follows as a fact of its own.
fn activate_skill(s: &mut Session, skill: &SkillNote) {
    s.label.join(&skill.label);
    let fact = SkillActivated {
        skill: skill.name.clone(),
        source: skill.source.clone(),
        by: skill.by.clone(),
    };
    s.due.push_back(fact.into());
    s.skills.insert(skill.name.clone(), skill.clone());
}

/// The fact about something that was put into memory or proposed.
pub(super) fn memory_fact(note: &MemoryNote) -> Event {
    let note = note.clone();
    match note.status {
        MemoryStatus::Kept => MemoryWritten { note }.into(),
        _ => MemoryProposed { note }.into(),
    }
}

/// What a finished call means beside its text.
fn apply_result_effects(s: &mut Session, f: &CallFinished) {
    for news in &f.news {
        match news {
            ResultEffect::Recalled { words, passages } => {
                let (words, passages) = (words.clone(), passages.clone());
                s.due.push_back(ContextRecalled { call: f.call, words, passages }.into());
            }
            ResultEffect::Remembered { note } => s.due.push_back(memory_fact(note)),
            ResultEffect::Skill { skill } => {
                activate_skill(s, skill);
                // The result shows it now; what is told again after condensing has it too.
                let text = prompt::in_force(s.skills.values());
                s.told.insert(SectionName::ActiveSkills.as_str().into(), text);
            }
            // A job is followed where all activity is.
            ResultEffect::Step { .. } | ResultEffect::Job { .. } | ResultEffect::Links { .. } => (),
            ResultEffect::Unapproved { tool, reason } => s.miss_person_for_step(f, tool, reason),
            ResultEffect::Used { usage, cost_usd } => s.count_asked(usage, *cost_usd),
            ResultEffect::Made { tool } => s.add_dynamic_tool(tool),
            ResultEffect::Unmade { name } => s.remove_dynamic_tool(name),
            ResultEffect::Found { tools } => {
                let deferred = s.config.iter().flat_map(|config| config.deferred.iter());
                let names = deferred.map(|tool| &tool.name).filter(|name| tools.contains(name));
                s.found.extend(names.cloned());
                // Who loaded the way to every foreign tool can go it to each of them.
                if s.found.contains(FOREIGN_CALLER) {
                    let deferred = s.config.iter().flat_map(|config| config.deferred.iter());
                    let foreign = deferred.filter(|tool| tool.name.starts_with(foreign::PREFIX));
                    s.found.extend(foreign.map(|tool| tool.name.clone()));
                }
            }
        }
    }
    for note in &f.notes {
        s.told.insert(note.section.clone(), note.text.clone());
        if let Some(turn) = &mut s.turn {
            turn.notes.push(note.text.clone());
        }
    }
}

fn turn_started(s: &mut Session, ts: Timestamp, f: &TurnStarted) {
    s.next.turn = f.turn.0;
    let pending = s.pending.take_blocks(f.told.as_deref());
    if !pending.is_empty() {
        s.push(Message::user(pending), MessageOrigin::Told);
    }
    for input in &f.inputs {
        if let Some(at) = s.queue.iter().position(|queued| queued.input == *input)
            && let Some(queued) = s.queue.remove(at)
        {
            if let Some(run) = &mut s.run {
                run.solving.note_input(&queued);
            }
            let mut content = queued.content;
            let mut added = queued.added.into_iter();
            content.extend(added.by_ref().map(|added| MessageBlock::text(added.text)));
            s.push(Message::user(content), MessageOrigin::Person);
        }
    }
    s.looked_ahead.clear();
    s.turn = Some(TurnState {
        id: f.turn,
        stage: if f.recipe { TurnStage::Stepping } else { TurnStage::Due },
        not_before: Timestamp::default(),
        attempts: 0,
        label: s.label.clone(),
        calls: Vec::new(),
        steps: Vec::new(),
        answered_steps: Vec::new(),
        proposed: 0,
        notes: Vec::new(),
        overflows: 0,
        refit: false,
        recipe: f.recipe,
    });
    if let Some(run) = &mut s.run {
        run.phase = RunPhase::Turning;
        run.iterations = f.iteration;
        // What is paced are requests to the model.
        if !f.recipe {
            run.turn_started = Some(ts);
        }
    }
}

fn quarantine_history(s: &mut Session, f: &HistoryQuarantined) {
    let why: String = f.message.chars().take(200).collect();
    for message in Arc::make_mut(&mut s.history) {
        let mut found = Vec::new();
        super::turns::media_of(&message.blocks, &mut found);
        if found.iter().any(|blob| f.blobs.contains(blob)) {
            let blocks = without_media(&message.blocks, &f.blobs, &why);
            *message = Arc::new(Message { role: message.role, blocks });
        }
    }
    s.quarantined.extend(f.blobs.iter().cloned());
    s.media.retain(|blob| !f.blobs.contains(blob));
    s.prefix_break = Some(format!("an attachment was withheld: {why}"));
    if let Some(turn) = &mut s.turn {
        turn.stage = TurnStage::Due;
    }
}

fn apply_judgement(s: &mut Session, f: &CallJudged) {
    let changes_before = s.changes;
    let root = workspace_root(s.config.as_deref());
    let input = s.find_call(f.call).map(|call| same_form(&call.input, &f.inspection.effects, root));
    let poll = s.find_call(f.call).and_then(|call| s.find_tool(&call.tool)).is_some_and(|t| t.poll);
    let mut recent = None;
    let mut denial = None;
    let reason = f.reason.as_deref().unwrap_or_default();
    let chosen = s.chosen_label_of_carrier(f.call, &f.inspection.effects);
    let decided = chosen.as_ref().or_else(|| s.find_call(f.call).map(|call| s.label_of_call(call)));
    let foreign = decided.unwrap_or_else(|| s.turn_label()).is_external();
    let no_denial = f.gate.as_ref().is_some_and(GateName::refuses_mistakes);
    let steers = s
        .step_refusal(f.call, &f.inspection)
        .or_else(|| s.steering_refusal(f.call, f.inspection.effects.control.as_ref()));
    with_call(s, f.call, |call| {
        recent = Some(RecentCall {
            tool: call.tool.clone(),
            input: input.unwrap_or_default(),
            words: crate::governance::gate::search_words(&f.inspection.effects),
            changes_before,
            result: None,
            changed: false,
            poll,
            canary: CanaryText::default(),
        });
        call.inspection = Some(f.inspection.clone());
        let clearance = CallClearance::of_judgement(f);
        call.stage = match f.verdict {
            Verdict::Allow => CallStage::Ready(clearance),
            Verdict::Ask => CallStage::ToAsk(clearance),
            Verdict::Deny if no_denial => CallStage::Refused(reason.to_owned()),
            Verdict::Deny => CallStage::Refused(format!("Denied: {reason}{}", ways_text(&f.ways))),
        };
        if let Some(why) = steers.filter(|_| f.verdict != Verdict::Deny) {
            call.stage = CallStage::Refused(why.into());
        }
        call.foreign = foreign;
        call.chosen = chosen.or_else(|| call.chosen.take());
        call.taken_out.clone_from(&f.taken_out);
        if f.verdict == Verdict::Deny && !no_denial {
            denial = Some(Denial {
                call: call.id,
                tool: call.tool.clone(),
                summary: f.inspection.summary.clone(),
                by: f.gate.as_ref().map(GateName::to_string).unwrap_or_default(),
                reason: reason.to_owned(),
            });
        }
    });
    if let Some(JudgeUse { usage, cost_usd }) = f.inspection.judge_use {
        s.count_usage(&usage, cost_usd);
    }
    s.note_carried(f);
    note_web_call(s, f);
    for lease in s.leases.iter_mut().filter(|lease| f.leases.contains(&lease.lease)) {
        lease.uses_left = lease.uses_left.map(|left| left.saturating_sub(1));
    }
    if f.verdict == Verdict::Deny && f.gate == Some(GateName::Canary) {
        s.alerts_due.push_back((AlertName::Canary, reason.to_owned()));
    }
    if let Some(recent) = recent {
        note_recent_call(s, recent);
    }
    if let Some(run) = &mut s.run {
        run.tool_calls += 1;
        run.denials.extend(denial);
        let refused = f.verdict == Verdict::Deny;
        run.consulted += u32::from(f.inspection.effects.consults && !refused);
        run.over_limit |= refused && is_out_of_calls(f.gate.as_ref(), f.rule.as_deref());
    }
}

fn note_recent_call(s: &mut Session, recent: RecentCall) {
    s.recent.push_back(recent);
    while s.recent.len() > RECENT_CALLS {
        s.recent.pop_front();
    }
}

/// Counts what the call tells by the link that it follows, and whether its own links will count (K10).
fn note_web_call(s: &mut Session, f: &CallJudged) {
    if f.verdict == Verdict::Deny || f.inspection.effects.hosts.is_empty() {
        return;
    }
    let source = s.find_call(f.call).and_then(|call| {
        let links = Provenance { label: s.label_of_call(call), ..s.link_provenance() };
        links.link_source(&call.tool, &f.inspection.effects)
    });
    if let Some(source) = source {
        s.trail.note_source(f.call, source);
    }
    s.trail.count_bits(f.link_bits.unwrap_or(0));
}

/// Whether the same call was refused before, not long ago.
fn is_refused_again(s: &Session, f: &CallFinished) -> bool {
    let Some(call) = s.find_call(f.call) else { return false };
    let input = call.same_form(workspace_root(s.config.as_deref()));
    // The call itself is among them.
    let same = |r: &&RecentCall| r.tool == call.tool && r.input == input && r.result.is_none();
    s.recent.iter().filter(same).count() > 1
}

fn call_finished(s: &mut Session, f: &CallFinished) {
    let cancelled = s.run.as_ref().is_some_and(|run| run.cancel.is_some());
    let mut changed_world = false;
    let mut ran = false;
    let root = workspace_root(s.config.as_deref());
    let input = s.find_call(f.call).map(|call| call.same_form(root)).unwrap_or_default();
    let denials = s.run.iter().flat_map(|run| &run.denials);
    let denied = denials.into_iter().any(|denial| denial.call == f.call) && !is_refused_again(s, f);
    with_call(s, f.call, |call| {
        // What a crash interrupted is no mistake of the model, nor is what a person or the gate
        // refused, unless it asks for that again (L5).
        let interrupted = matches!(call.stage, CallStage::Proposed | CallStage::Reconciling(_));
        let mistake = !f.ok && !cancelled && !interrupted && !denied;
        ran = call.is_running();
        changed_world =
            f.ok && ran && call.inspection.as_ref().is_some_and(|i| i.effects.changes_world());
        let given: usize = plain_texts(&f.result).map(str::len).sum();
        let whole = f.withheld.is_none() && f.bytes <= given as u64;
        let (blocks, summary) = (f.result.clone(), f.summary.clone());
        let as_handle = f.handle.is_some();
        let whole = whole || as_handle;
        let result = CallResult { ok: f.ok, blocks, whole, as_handle, mistake, summary };
        call.stage = CallStage::Done(result);
    });
    let is_step = s.find_call(f.call).is_some_and(|call| call.step.is_some());
    s.note_step_answered(f.call, &f.label);
    if changed_world {
        s.changes += 1;
    }
    link_bits::take_links(s, f, ran);
    s.keep_words(f);
    s.return_unused_bits(f.call);
    let same = |r: &&mut RecentCall| r.tool == f.tool && r.input == input;
    if let Some(recent) = s.recent.iter_mut().rev().find(same) {
        recent.result = ran.then(|| texts_sha256_hex(plain_texts(&f.result)));
        recent.changed = changed_world;
    }
    let mut log = std::mem::take(&mut s.activity);
    log.record_call(f, s.find_call(f.call));
    s.activity = log;
    if !is_step {
        solving::note_finished_call(s, f);
    }
    apply_result_effects(s, f);
    let chosen = s.find_call(f.call).map_or(s.turn_label(), |call| s.label_of_call(call));
    let both = chosen.taint() == Taint::Both;
    if let Some(run) = &mut s.run {
        run.changed.extend(f.changed.iter().cloned());
        if both {
            run.marked.extend(f.changed.iter().cloned());
        }
    }
    // What a step gave is in the hands of its program until that gives it on.
    if !is_step {
        s.label.join(&f.label);
    }
    if let Some(why) = &f.withheld {
        s.alerts_due.push_back((AlertName::Injection, format!("call {}: {why}", f.call)));
    }
    fold_turn_if_done(s);
}

fn call_unknown(s: &mut Session, f: &CallUnknown) {
    let mut unknown = None;
    with_call(s, f.call, |call| {
        let class = call.inspection.as_ref().map(|i| i.class);
        let text = f.told.clone().unwrap_or_else(|| unknown_text(&f.reason, class));
        let form = call.canonical_form();
        unknown = Some(UnknownOutcome { call: call.id, form, settled: false });
        let blocks = vec![MessageBlock::text(text)];
        let summary = format!("outcome unknown: {}", f.reason);
        call.stage = CallStage::Done(CallResult { blocks, summary, ..CallResult::default() });
    });
    let touched = s.find_call(f.call).map(CallState::planned_label).unwrap_or_default();
    s.note_step_answered(f.call, &touched);
    s.unknown.extend(unknown);
    if let Some(run) = &mut s.run {
        run.solving.spoil_example();
    }
    fold_turn_if_done(s);
}

fn fold_turn_if_done(s: &mut Session) {
    let done = |turn: &TurnState| {
        turn.proposed == turn.calls.len() && turn.all_calls().all(CallState::is_done)
    };
    if s.turn.as_ref().is_some_and(done) {
        s.fold_turn();
    }
}

/// The label of what a person attached: theirs, but the words in it are anybody's (Z1).
fn attachment_label(content: &[MessageBlock]) -> Label {
    let mut label = Label::default();
    for block in content {
        if let MessageBlock::Image { media } | MessageBlock::Document { media } = block {
            let name = format!("attachment {}", media.name.as_deref().unwrap_or(&media.media_type));
            label.join(&Label::external(name.as_str()));
            label.join(&Label::private(Integrity::External, name));
        }
    }
    label
}

fn question_answered(s: &mut Session, f: &QuestionAnswered) {
    let mut calls = s.turn.iter_mut().flat_map(TurnState::all_calls_mut);
    let asked =
        |call: &&mut CallState| call.during.as_ref().is_some_and(|(id, _)| *id == f.question);
    // What is said to a server is not said to the agent.
    if let Some(call) = calls.find(asked) {
        call.during = None;
        return;
    }
    if f.input.is_none() {
        s.said.extend(f.answer.clone());
    }
    let calls = s.turn.iter_mut().flat_map(TurnState::all_calls_mut);
    for call in calls.filter(|call| call.open_question() == Some(&f.question)) {
        call.stage = match &f.answer {
            Some(answer) => CallStage::Answered(format!("The person answered: {answer}")),
            None => CallStage::Refused("The question was not answered: the run was ended.".into()),
        };
    }
    if let Some(input) = f.input {
        s.queue.retain(|queued| queued.input != input);
    }
}

/// The task list as the model sees it at the end of every request (L11).
pub(super) fn task_list(items: &[PlanItem]) -> Option<String> {
    if items.is_empty() {
        return None;
    }
    let mut text = String::from("Task list (keep it current with update_todo_list):");
    for item in items {
        let mark = match item.status {
            PlanStatus::Pending => "[ ]",
            PlanStatus::InProgress => "[>]",
            PlanStatus::Done => "[x]",
        };
        text.push_str(&format!("\n{mark} {}", item.text));
    }
    Some(text)
}
