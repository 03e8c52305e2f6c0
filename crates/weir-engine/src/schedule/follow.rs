//! A run of a scheduled agent, watched until it is at rest: the same for every program that starts
//! one. Not here: opening its session, and when it begins.

use tokio_util::sync::CancellationToken;
use weir_core::schedule::{AgentCause, AgentRun, OnAsk, ScheduledAgent};

use super::calendar::time_zone;
use super::course::ScheduledRunProgress;
use crate::attach::{Attachment, PromptInput};
use crate::engine::{EngineError, SessionHandle};
use crate::hub::SessionUpdate;
use crate::ports::{AtRest, KEPT_GIVEN, RunDesk, Store, StoreError, StoredItem};

/// What the agent is told first. Its prompt stands in the system prompt.
pub fn first_prompt_input(agent: &ScheduledAgent, run: &AgentRun) -> PromptInput {
    let zone = time_zone(&agent.timezone).unwrap_or(jiff::tz::TimeZone::UTC);
    let due = jiff::Timestamp::from_microsecond(run.due.0).unwrap_or_default();
    // A schedule knows seconds; what a person began has more, and nobody needs it.
    let due = jiff::Timestamp::from_second(due.as_second()).unwrap_or(due);
    let text = agent.input(run, &due.to_zoned(zone).to_string());
    PromptInput { text, attachments: Vec::new() }
}

/// The name under which what a run is given is kept until it was said.
pub fn given_name(agent: &str, tick: &str) -> String {
    format!("{agent}/{tick}")
}

/// What a run is given beside its instructions: a mail. Somebody else's words.
async fn load_given_mail(
    store: &dyn Store,
    agent: &ScheduledAgent,
    run: &AgentRun,
) -> Result<Option<StoredItem>, StoreError> {
    if run.cause != AgentCause::Mail {
        return Ok(None);
    }
    let name = given_name(&agent.name, &run.tick);
    store.stored_item(KEPT_GIVEN, &name).await
}

/// One run of an agent.
#[derive(Debug, Clone, Copy)]
pub struct ScheduledRun<'a> {
    /// The agent that runs.
    pub agent: &'a ScheduledAgent,
    /// The run.
    pub run: &'a AgentRun,
}

/// Says what is to be said, and watches until the run is at rest or is to stop. `course` has heard
/// the facts that the session had.
///
/// # Errors
/// The session went down, or its store refused.
pub async fn follow_agent_run(
    handle: &SessionHandle,
    course: &mut ScheduledRunProgress,
    scheduled: ScheduledRun<'_>,
    desk: &dyn RunDesk,
    stop: CancellationToken,
) -> Result<AtRest, EngineError> {
    let ScheduledRun { agent, run } = scheduled;
    let mut updates = handle.listen_to_facts(course.facts);
    if !course.spoken {
        let mut saying = first_prompt_input(agent, run);
        let given = load_given_mail(handle.store(), agent, run).await?;
        saying
            .attachments
            .extend(given.iter().map(|kept| Attachment::words_of(&kept.by, &kept.text)));
        handle.say_with(saying, &agent.actor_name()).await?;
        if let Some(kept) = given {
            handle.store().remove_stored_item(KEPT_GIVEN, &kept.name).await?;
        }
    }
    // Without a person what asks is settled at once, and keeps its place.
    let waits = |course: &ScheduledRunProgress| agent.on_ask == OnAsk::Queue && course.is_asking();
    if waits(course) {
        desk.set_asking(true).await;
    }
    loop {
        let update = tokio::select! {
            biased;
            () = stop.cancelled() => return Ok(AtRest::Closed),
            update = updates.next() => update?,
        };
        match update {
            None => return Err(EngineError::Stopped),
            Some(SessionUpdate::Signal { .. }) => (),
            Some(SessionUpdate::Fact(fact)) => {
                let asked = waits(course);
                course.apply_fact(&fact);
                if waits(course) != asked {
                    desk.set_asking(!asked).await;
                }
                if let Some(rest) = course.at_rest() {
                    return Ok(rest);
                }
            }
        }
    }
}
