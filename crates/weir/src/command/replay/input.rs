//! From a fact back to what came in from outside when it was recorded.

use serde_json::{Value, json};
use weir_core::event::{AgentNews, CondenseReason, Event, InputAccepted, SERVER};
use weir_core::ids::InputId;
use weir_core::input::{Answer, ApprovalAnswer, Command, Input, PersonCommand, PersonMessage};
use weir_core::session::Session;
use weir_core::tool::Clean;

/// What came in.
pub(super) enum Came {
    /// This, in full: the session must record the fact for it.
    Whole(Box<Input>),
    /// More than the journal keeps (a vendor's own words, the bytes of a picture): the fact is
    /// taken as it stands, and what follows from it is checked.
    Fact,
    /// Nothing: it follows from state and time alone.
    Nothing,
}

/// What came in when `event` was recorded in `session`, where nothing more followed from state.
#[expect(clippy::too_many_lines, reason = "one exhaustive match, an input for each fact")]
pub(super) fn came(session: &Session, event: &Event) -> Came {
    let command = |command| Came::Whole(Box::new(Input::Command(command)));
    let person = |told: PersonCommand, by: String| command(told.sent_by(by));
    let answer = |answer| Came::Whole(Box::new(Input::Answer(answer)));
    match event.clone() {
        Event::SessionOpened(f) => {
            command(Command::Open { engine: f.engine, config: f.config, parent: f.parent })
        }
        Event::SessionResumed(f) => command(Command::Resume { engine: f.engine }),
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
                .map_or(Came::Nothing, |call| command(Command::Unask { call })),
            None => Came::Nothing,
        },
        Event::QuestionAsked(f) => match f.server {
            Some(server) => {
                let (call, text, options) = (f.call, f.text, f.options);
                command(Command::Ask { call, server, text, options })
            }
            None => Came::Nothing,
        },
        Event::CancelRequested(f) => command(Command::Cancel { cause: f.cause, by: f.by }),
        Event::CheckpointRestored(f) => command(Command::Restored(f)),
        Event::AgentSpawned(_)
        | Event::AgentAsked(_)
        | Event::AgentAnswered(_)
        | Event::AgentFinished(_) => {
            AgentNews::of(event).map_or(Came::Nothing, |news| command(Command::Agent(news)))
        }
        Event::SceneSeen(f) => answer(Answer::Seen {
            notes: f.notes.clone(),
            skills: f.skills,
            label: f.label,
            input: f.input.unwrap_or(InputId(0)),
            recipe: f.recipe,
        }),
        Event::RecipePlanned(f) => answer(Answer::RecipePlanned(f)),
        Event::ContextSummarised(f) => answer(Answer::Summarised(f)),
        Event::RunRemembered(f) => answer(Answer::Remembered(f)),
        Event::ProfileSwitched(f) => {
            let config = match f.reason.strip_prefix("not switched: ") {
                Some(why) if f.profile == f.from => Err(why.to_owned()),
                _ => Ok(f.config),
            };
            answer(Answer::Switched { config, notes: f.notes })
        }
        Event::ContextCondensing(f) => match f.reason {
            CondenseReason::Asked => {
                person(PersonCommand::Condense { keep: f.keep }, String::new())
            }
            CondenseReason::Threshold => Came::Nothing,
            CondenseReason::Overflow => Came::Fact,
        },
        Event::ContextUncondensed(f) => person(PersonCommand::Uncondense, f.by),
        Event::ModelRequested(f) => answer(Answer::Prepared {
            turn: f.turn,
            bytes: f.bytes,
            prefix_bytes: f.prefix_bytes,
            // How much more should have been kept is not recorded, only that it was more.
            prefix_expected: f.prefix_bytes + u64::from(f.prefix_lost.is_some()),
        }),
        Event::ModelReplied(_)
        | Event::ModelRetried(_)
        | Event::ModelFailed(_)
        | Event::HistoryQuarantined(_) => Came::Fact,
        Event::CallJudged(f) => {
            answer(Answer::Inspected { call: f.call, inspection: f.inspection })
        }
        Event::CheckpointTaken(f) => {
            answer(Answer::Saved { call: f.call, checkpoint: f.checkpoint, paths: f.paths })
        }
        Event::CallFinished(_) => finished(session, event),
        Event::CallReconciled(f) => answer(Answer::NotRun { call: f.call, evidence: f.evidence }),
        Event::CallUnknown(f) => answer(Answer::Lost { call: f.call, reason: f.reason }),
        Event::OutputChecked(f) => {
            let result = match (f.output, f.mismatch) {
                (_, Some(mismatch)) => Err(mismatch),
                (output, None) => Ok(output),
            };
            answer(Answer::Verified { result, kept_going: f.kept_going })
        }
        Event::RunStarted(_)
        | Event::AlertRaised(_)
        | Event::TurnStarted(_)
        | Event::ImageProduced(_)
        | Event::CallProposed(_)
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
        | Event::RunFinished(_) => Came::Nothing,
    }
}

/// A result that came back; or the files of the call could not be saved.
fn finished(session: &Session, event: &Event) -> Came {
    let Event::CallFinished(f) = event else { return Came::Nothing };
    if session.call(f.call).is_some_and(|call| !call.is_running()) {
        let text = weir_core::message::plain_text(&f.result);
        let reason = text.split_once("saved first (").and_then(|(_, rest)| rest.rsplit_once("). "));
        return match reason {
            Some((reason, _)) => Came::Whole(Box::new(Input::Answer(Answer::NotSaved {
                call: f.call,
                reason: reason.to_owned(),
            }))),
            None => Came::Nothing,
        };
    }
    // A result that the filters have passed is only ever made by them; here it was, back then.
    let clean = json!({
        "ok": f.ok, "blocks": f.result, "summary": f.summary, "bytes": f.bytes,
        "externalized": f.externalized, "full": f.full, "changed": f.changed,
        "label": f.label, "withheld": f.withheld, "news": f.news,
    });
    match serde_json::from_value::<Clean>(clean) {
        Ok(clean) => Came::Whole(Box::new(Input::Answer(Answer::Returned {
            call: f.call,
            clean,
            notes: f.notes.clone(),
        }))),
        Err(_) => Came::Fact,
    }
}

/// The fields of a fact, for comparing and for people.
pub(super) fn fields(event: &Event) -> Value {
    serde_json::from_str(&event.payload()).unwrap_or_default()
}

/// Whether two facts say the same. Sums of money may differ in their last binary digit: they were
/// added before they were written, and are read before they are added here.
pub(super) fn same(a: &Event, b: &Event) -> bool {
    a == b || a.kind() == b.kind() && same_value(&fields(a), &fields(b))
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
