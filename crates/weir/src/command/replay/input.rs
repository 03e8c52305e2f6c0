//! From a fact back to what came in from outside when it was recorded.

use serde_json::Value;
use weir_core::effect::Effect;
use weir_core::event::{
    AgentNews, AlertName, CallFinished, CallProposed, CondenseReason, Event, SERVER,
};
use weir_core::ids::InputId;
use weir_core::input::{
    ApprovalAnswer, EffectAnswer, PersonCommand, PersonMessage, SessionCommand, SessionInput,
};
use weir_core::session::Session;

/// What came in.
pub(super) enum ReplayInput {
    /// This, in full: the session must record the fact for it.
    Whole(Box<SessionInput>),
    /// More than the journal keeps (a vendor's own words, the bytes of a picture): the fact is
    /// taken as it stands, and what follows from it is checked.
    Fact,
    /// Nothing: it follows from state and time alone.
    Nothing,
}

/// What came in when `event` was recorded in `session`, where nothing more followed from state.
#[expect(clippy::too_many_lines, reason = "one exhaustive match, an input for each fact")]
pub(super) fn input_of_event(session: &Session, event: &Event) -> ReplayInput {
    let command = |command| ReplayInput::Whole(Box::new(SessionInput::Command(command)));
    let person = |told: PersonCommand, by: &str| command(told.sent_by(by));
    let answer = |answer| ReplayInput::Whole(Box::new(SessionInput::Answer(answer)));
    match event {
        Event::SessionOpened(f) => {
            let (engine, config, parent) = (f.engine.clone(), f.config.clone(), f.parent.clone());
            command(SessionCommand::Open { engine, config, parent })
        }
        Event::SessionResumed(f) => command(SessionCommand::Resume { engine: f.engine.clone() }),
        Event::SessionConfigured(f) => {
            let (reason, config) = (f.reason.clone(), f.config.clone());
            person(PersonCommand::Configure { reason, config }, "")
        }
        Event::InputAccepted(f) => {
            let (content, added) = (f.content.clone(), f.added.clone());
            let (client_id, blobs) = (f.client_id.clone(), Vec::new());
            person(PersonMessage { content, added, client_id, blobs }.into(), &f.by)
        }
        Event::InputWithdrawn(f) => person(PersonCommand::Withdraw { input: f.input }, ""),
        Event::ApprovalResolved(f) => {
            let (approval, decision) = (f.approval.clone(), f.decision);
            let (reason, terms) = (f.reason.clone(), f.terms);
            let answer = ApprovalAnswer { approval, decision, reason, terms };
            person(PersonCommand::Decide(answer), &f.by)
        }
        Event::RunPaused(f) => person(PersonCommand::Pause, &f.by),
        Event::RunResumed(f) => person(PersonCommand::Resume, &f.by),
        Event::LeaseRevoked(f) => person(PersonCommand::Revoke { lease: f.lease }, &f.by),
        Event::QuestionAnswered(f) => match &f.answer {
            Some(answer) => {
                let (question, answer) = (f.question.clone(), answer.clone());
                person(PersonCommand::Reply { question, answer }, &f.by)
            }
            None if f.by == SERVER => session
                .call_asking(&f.question)
                .map_or(ReplayInput::Nothing, |call| command(SessionCommand::Unask { call })),
            None => ReplayInput::Nothing,
        },
        Event::QuestionAsked(f) => match f.server.clone() {
            Some(server) => {
                let (call, text, options) = (f.call, f.text.clone(), f.options.clone());
                let field = f.field.clone();
                command(SessionCommand::Ask { call, server, text, options, field })
            }
            None => ReplayInput::Nothing,
        },
        Event::CancelRequested(f) => {
            command(SessionCommand::Cancel { cause: f.cause, by: f.by.clone() })
        }
        Event::CheckpointRestored(f) => command(SessionCommand::Restored(f.clone())),
        Event::WorkspaceMerged(f) => command(SessionCommand::Merged(f.clone())),
        Event::HelperAsked(f) => command(SessionCommand::Helped(f.clone())),
        Event::AgentSpawned(_)
        | Event::AgentAsked(_)
        | Event::AgentAnswered(_)
        | Event::AgentFinished(_) => AgentNews::from_event(event)
            .map_or(ReplayInput::Nothing, |news| command(SessionCommand::Agent(news))),
        Event::SceneSeen(f) => answer(EffectAnswer::Seen {
            notes: f.notes.clone(),
            skills: f.skills.clone(),
            label: f.label.clone(),
            input: f.input.unwrap_or(InputId(0)),
            recipe: f.recipe.clone(),
        }),
        Event::RecipePlanned(f) => answer(EffectAnswer::RecipePlanned(f.clone())),
        Event::ContextSummarised(f) => answer(EffectAnswer::Summarised(f.clone())),
        Event::RunRemembered(f) => answer(EffectAnswer::Remembered(f.clone())),
        Event::ProfileSwitched(f) => {
            let config = match f.reason.strip_prefix("not switched: ") {
                Some(why) if f.profile == f.from => Err(why.to_owned()),
                _ => Ok(f.config.clone()),
            };
            answer(EffectAnswer::Switched { config, notes: f.notes.clone() })
        }
        Event::ModelSwitched(f) => {
            let config = f.config.clone().ok_or_else(|| f.refused.clone().unwrap_or_default());
            answer(EffectAnswer::ModelReady { model: f.model.clone(), config })
        }
        Event::ContextCondensing(f) => match f.reason {
            CondenseReason::Asked => person(PersonCommand::Condense { keep: f.keep.clone() }, ""),
            CondenseReason::Threshold => ReplayInput::Nothing,
            CondenseReason::Overflow => ReplayInput::Fact,
        },
        Event::ContextUncondensed(f) => person(PersonCommand::Uncondense, &f.by),
        Event::ModelRequested(f) => answer(EffectAnswer::Prepared {
            turn: f.turn,
            bytes: f.bytes,
            prefix_bytes: f.prefix_bytes,
            // How much more should have been kept is not recorded, only that it was more.
            prefix_expected: f.prefix_bytes + u64::from(f.prefix_lost.is_some()),
        }),
        Event::ModelReplied(_)
        | Event::ModelRetried(_)
        | Event::ModelFailed(_)
        | Event::HistoryQuarantined(_)
        | Event::ToolsRefused(_) => ReplayInput::Fact,
        Event::CallProposed(f) => input_of_proposed_call(f),
        Event::CallJudged(f) => {
            answer(EffectAnswer::Inspected { call: f.call, inspection: f.inspection.clone() })
        }
        Event::CheckpointTaken(f) => {
            let (checkpoint, paths) = (f.checkpoint.clone(), f.paths.clone());
            answer(EffectAnswer::Saved { call: f.call, checkpoint, paths })
        }
        Event::CallFinished(f) => input_of_finished_call(session, f),
        Event::CallReconciled(f) => {
            answer(EffectAnswer::NotRun { call: f.call, evidence: f.evidence.clone() })
        }
        Event::CallUnknown(f) => {
            answer(EffectAnswer::Lost { call: f.call, reason: f.reason.clone() })
        }
        Event::OutputChecked(f) => {
            let result = f.mismatch.clone().map_or_else(|| Ok(f.output.clone()), Err);
            answer(EffectAnswer::Verified { result, kept_going: f.kept_going.clone() })
        }
        Event::LimitReached(f) if f.limit.is_told_from_outside() => {
            let due = session.todo().into_iter().find_map(|effect| match effect {
                Effect::Prepare { turn, .. } => Some(turn),
                _ => None,
            });
            let (limit, max) = (f.limit.clone(), f.max);
            let spent = (f.value < f64::from(u32::MAX)).then_some(f.value);
            due.map_or(ReplayInput::Nothing, |turn| {
                answer(EffectAnswer::Unaffordable { turn, limit, spent, max })
            })
        }
        Event::AlertRaised(f) if f.alert == AlertName::ToolsChanged => {
            command(SessionCommand::ToolsChanged(f.detail.clone()))
        }
        Event::RunStarted(_)
        | Event::AlertRaised(_)
        | Event::TurnStarted(_)
        | Event::ImageProduced(_)
        | Event::ApprovalRequested(_)
        | Event::CallStarted(_)
        | Event::PlanUpdated(_)
        | Event::LimitReached(_)
        | Event::ContextCondensed(_)
        | Event::ContextRecalled(_)
        | Event::RecipeMatched(_)
        | Event::RecipeStepped(_)
        | Event::RecipeFallback(_)
        | Event::SteeringReminded(_)
        | Event::SkillActivated(_)
        | Event::MemoryProposed(_)
        | Event::MemoryWritten(_)
        | Event::RunFinished(_) => ReplayInput::Nothing,
    }
}

/// A step that a program asked for; what a model asks for follows from its reply.
fn input_of_proposed_call(proposed: &CallProposed) -> ReplayInput {
    let CallProposed { tool, input, of: Some(of), step, .. } = proposed else {
        return ReplayInput::Nothing;
    };
    let (of, number) = (*of, step.unwrap_or_default());
    let (tool, input) = (tool.clone(), input.clone());
    let step = SessionCommand::Step { of, number, tool, input };
    ReplayInput::Whole(Box::new(SessionInput::Command(step)))
}

/// A result that came back; or the files of the call could not be saved.
fn input_of_finished_call(session: &Session, f: &CallFinished) -> ReplayInput {
    let answer = |answer| ReplayInput::Whole(Box::new(SessionInput::Answer(answer)));
    if session.find_call(f.call).is_none_or(|call| call.is_running()) {
        return answer(session.recorded_answer(f));
    }
    let text = weir_core::message::plain_text(&f.result);
    let reason = text.split_once("saved first (").and_then(|(_, rest)| rest.rsplit_once("). "));
    reason.map_or(ReplayInput::Nothing, |(reason, _)| {
        answer(EffectAnswer::NotSaved { call: f.call, reason: reason.to_owned() })
    })
}

/// The fields of a fact, for comparing and for people.
pub(super) fn event_fields(event: &Event) -> Value {
    serde_json::from_str(&event.payload()).unwrap_or_default()
}

/// Whether two facts say the same. Sums of money may differ in their last binary digit: they were
/// added before they were written, and are read before they are added here.
pub(super) fn is_same_event(a: &Event, b: &Event) -> bool {
    a == b || a.kind() == b.kind() && same_value(&event_fields(a), &event_fields(b))
}

fn same_value(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) if x.is_f64() || y.is_f64() => {
            let (x, y) = (x.as_f64().unwrap_or(0.0), y.as_f64().unwrap_or(0.0));
            (x - y).abs() <= 1e-9 * x.abs().max(y.abs())
        }
        (Value::Array(x), Value::Array(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same_value(x, y))
        }
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len()
                && x.iter().all(|(name, x)| y.get(name).is_some_and(|y| same_value(x, y)))
        }
        _ => a == b,
    }
}
