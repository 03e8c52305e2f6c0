//! From a fact back to what came in from outside when it was recorded.

use serde_json::{Value, json};
use weir_core::effect::Effect;
use weir_core::event::{AgentNews, CallProposed, CondenseReason, Event, InputAccepted, SERVER};
use weir_core::ids::InputId;
use weir_core::input::{
    ApprovalAnswer, EffectAnswer, PersonCommand, PersonMessage, SessionCommand, SessionInput,
};
use weir_core::session::Session;
use weir_core::tool::CleanResult;

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
    let person = |told: PersonCommand, by: String| command(told.sent_by(by));
    let answer = |answer| ReplayInput::Whole(Box::new(SessionInput::Answer(answer)));
    match event.clone() {
        Event::SessionOpened(f) => {
            command(SessionCommand::Open { engine: f.engine, config: f.config, parent: f.parent })
        }
        Event::SessionResumed(f) => command(SessionCommand::Resume { engine: f.engine }),
        Event::SessionConfigured(f) => {
            let (reason, config) = (f.reason, f.config);
            person(PersonCommand::Configure { reason, config }, String::new())
        }
        Event::InputAccepted(f) => {
            let InputAccepted { content, by, added, client_id, .. } = f;
            person(PersonMessage { content, added, client_id, blobs: Vec::new() }.into(), by)
        }
        Event::InputWithdrawn(f) => {
            person(PersonCommand::Withdraw { input: f.input }, String::new())
        }
        Event::ApprovalResolved(f) => {
            let (approval, decision, reason, terms) = (f.approval, f.decision, f.reason, f.terms);
            let answer = ApprovalAnswer { approval, decision, reason, terms };
            person(PersonCommand::Decide(answer), f.by)
        }
        Event::LeaseRevoked(f) => person(PersonCommand::Revoke { lease: f.lease }, f.by),
        Event::QuestionAnswered(f) => match f.answer {
            Some(answer) => person(PersonCommand::Reply { question: f.question, answer }, f.by),
            None if f.by == SERVER => session
                .call_asking(&f.question)
                .map_or(ReplayInput::Nothing, |call| command(SessionCommand::Unask { call })),
            None => ReplayInput::Nothing,
        },
        Event::QuestionAsked(f) => match f.server {
            Some(server) => {
                let (call, text, options) = (f.call, f.text, f.options);
                command(SessionCommand::Ask { call, server, text, options })
            }
            None => ReplayInput::Nothing,
        },
        Event::CancelRequested(f) => command(SessionCommand::Cancel { cause: f.cause, by: f.by }),
        Event::CheckpointRestored(f) => command(SessionCommand::Restored(f)),
        Event::WorkspaceMerged(f) => command(SessionCommand::Merged(f)),
        Event::AgentSpawned(_)
        | Event::AgentAsked(_)
        | Event::AgentAnswered(_)
        | Event::AgentFinished(_) => AgentNews::from_event(event)
            .map_or(ReplayInput::Nothing, |news| command(SessionCommand::Agent(news))),
        Event::SceneSeen(f) => answer(EffectAnswer::Seen {
            notes: f.notes.clone(),
            skills: f.skills,
            label: f.label,
            input: f.input.unwrap_or(InputId(0)),
            recipe: f.recipe,
        }),
        Event::RecipePlanned(f) => answer(EffectAnswer::RecipePlanned(f)),
        Event::ContextSummarised(f) => answer(EffectAnswer::Summarised(f)),
        Event::RunRemembered(f) => answer(EffectAnswer::Remembered(f)),
        Event::ProfileSwitched(f) => {
            let config = match f.reason.strip_prefix("not switched: ") {
                Some(why) if f.profile == f.from => Err(why.to_owned()),
                _ => Ok(f.config),
            };
            answer(EffectAnswer::Switched { config, notes: f.notes })
        }
        Event::ModelSwitched(f) => {
            let config = match (f.config, f.refused) {
                (Some(config), _) => Ok(config),
                (None, refused) => Err(refused.unwrap_or_default()),
            };
            answer(EffectAnswer::ModelReady { model: f.model, config })
        }
        Event::ContextCondensing(f) => match f.reason {
            CondenseReason::Asked => {
                person(PersonCommand::Condense { keep: f.keep }, String::new())
            }
            CondenseReason::Threshold => ReplayInput::Nothing,
            CondenseReason::Overflow => ReplayInput::Fact,
        },
        Event::ContextUncondensed(f) => person(PersonCommand::Uncondense, f.by),
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
        | Event::HistoryQuarantined(_) => ReplayInput::Fact,
        Event::CallProposed(CallProposed { tool, input, of: Some(of), step, .. }) => {
            let number = step.unwrap_or_default();
            command(SessionCommand::Step { of, number, tool, input })
        }
        Event::CallProposed(_) => ReplayInput::Nothing,
        Event::CallJudged(f) => {
            answer(EffectAnswer::Inspected { call: f.call, inspection: f.inspection })
        }
        Event::CheckpointTaken(f) => {
            answer(EffectAnswer::Saved { call: f.call, checkpoint: f.checkpoint, paths: f.paths })
        }
        Event::CallFinished(_) => input_of_finished_call(session, event),
        Event::CallReconciled(f) => {
            answer(EffectAnswer::NotRun { call: f.call, evidence: f.evidence })
        }
        Event::CallUnknown(f) => answer(EffectAnswer::Lost { call: f.call, reason: f.reason }),
        Event::OutputChecked(f) => {
            let result = match (f.output, f.mismatch) {
                (_, Some(mismatch)) => Err(mismatch),
                (output, None) => Ok(output),
            };
            answer(EffectAnswer::Verified { result, kept_going: f.kept_going })
        }
        Event::LimitReached(f) if f.limit.is_told_from_outside() => {
            let due = session.todo().into_iter().find_map(|effect| match effect {
                Effect::Prepare { turn, .. } => Some(turn),
                _ => None,
            });
            let spent = (f.value < f64::from(u32::MAX)).then_some(f.value);
            due.map_or(ReplayInput::Nothing, |turn| {
                answer(EffectAnswer::Unaffordable { turn, limit: f.limit, spent, max: f.max })
            })
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

/// A result that came back; or the files of the call could not be saved.
fn input_of_finished_call(session: &Session, event: &Event) -> ReplayInput {
    let Event::CallFinished(f) = event else { return ReplayInput::Nothing };
    if session.find_call(f.call).is_some_and(|call| !call.is_running()) {
        let text = weir_core::message::plain_text(&f.result);
        let reason = text.split_once("saved first (").and_then(|(_, rest)| rest.rsplit_once("). "));
        return match reason {
            Some((reason, _)) => {
                ReplayInput::Whole(Box::new(SessionInput::Answer(EffectAnswer::NotSaved {
                    call: f.call,
                    reason: reason.to_owned(),
                })))
            }
            None => ReplayInput::Nothing,
        };
    }
    // A result that the filters have passed is only ever made by them; here it was, back then.
    let clean = json!({
        "ok": f.ok, "blocks": f.result, "summary": f.summary, "bytes": f.bytes,
        "externalized": f.externalized, "full": f.full, "changed": f.changed,
        "label": f.label, "withheld": f.withheld, "handle": f.handle, "news": f.news,
    });
    match serde_json::from_value::<CleanResult>(clean) {
        Ok(clean) => ReplayInput::Whole(Box::new(SessionInput::Answer(EffectAnswer::Returned {
            call: f.call,
            clean,
            notes: f.notes.clone(),
        }))),
        Err(_) => ReplayInput::Fact,
    }
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
