//! Follows a child to its end: what it asks goes up to the session that started it, what it used
//! counts there once, and its answer becomes the result of the call (G4, L15). Not here: opening it.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use weir_core::event::{
    AgentAnswered, AgentAsked, AgentFinished, AgentNews, CancelCause, Event, RunFinished, RunStatus,
};
use weir_core::governance::frame::frame_mark;
use weir_core::ids::{CallId, SessionId};
use weir_core::input::PersonCommand;
use weir_core::profile::PermissionMode;
use weir_core::session::{Session, SessionConfig};
use weir_core::tool::RawResult;

use super::{ChildTasks, ChildTerms, tell_parent};
use crate::error::EngineError;
use crate::hub::SessionUpdate;
use crate::journal::load;
use crate::ledger::status_text;
use crate::ports::ProgressSink;
use crate::session_handle::SessionHandle;
use crate::worker_context::WorkerContext;

/// Characters of an answer that the parent's journal repeats.
const TEXT_CHARS_MAX: usize = 1_000;
/// The name under which a sub-agent is cancelled.
const PARENT: &str = "the agent that started it";

/// A child that is followed.
pub(super) struct AgentFollower {
    /// The parent's.
    pub(super) context: Arc<WorkerContext>,
    /// The parent's children.
    pub(super) children: ChildTasks,
    pub(super) call: CallId,
    pub(super) agent: SessionId,
    /// The settings that the sub-agent was opened with.
    pub(super) config: Arc<SessionConfig>,
    pub(super) worktree: bool,
    pub(super) progress: ProgressSink,
    /// The call is to end.
    pub(super) cancel: CancellationToken,
    /// The parent stops where it is.
    pub(super) stop: CancellationToken,
}

/// What a child was told to go by.
struct HeldTerms {
    attended: bool,
    permission: PermissionMode,
    /// Whether its run is paused; none: it was not told yet.
    paused: Option<bool>,
}

/// How following ended.
enum FollowOutcome {
    /// It came to rest.
    AtRest,
    /// The parent's program stops; the child goes on with it.
    Stopped,
    /// It went down: why.
    Down(String),
}

enum FollowerWake {
    Stop,
    Cancel,
    Terms,
    Update(Option<SessionUpdate>),
    Down(Result<(), EngineError>),
}

impl AgentFollower {
    fn profile_name(&self) -> &str {
        &self.config.profile.name
    }

    /// Follows the child; without a handle it came to rest before. Its answer.
    pub(super) async fn until_its_end(self, handle: Option<SessionHandle>) -> RawResult {
        let ended = match handle {
            Some(handle) => self.follow_updates(handle).await,
            None => FollowOutcome::AtRest,
        };
        let why = match ended {
            FollowOutcome::Stopped => return RawResult::error("Not finished: the program stops."),
            FollowOutcome::AtRest => None,
            FollowOutcome::Down(why) => Some(why),
        };
        let loaded = load(self.context.parts.store.as_ref(), &self.agent).await;
        match loaded {
            Ok(loaded) => self.build_answer(&loaded.session, why).await,
            Err(error) => RawResult::error(format!("The agent went down: {error}.")),
        }
    }

    async fn follow_updates(&self, mut handle: SessionHandle) -> FollowOutcome {
        let mut updates = handle.listen_to_facts(0);
        let mut cancelled = false;
        let mut held = HeldTerms {
            attended: self.config.attended,
            permission: self.config.permission,
            // One that is taken up may have been paused before.
            paused: None,
        };
        let mut terms = self.children.subscribe_terms();
        terms.mark_changed();
        let ended = loop {
            let woken = tokio::select! {
                biased;
                () = self.stop.cancelled() => FollowerWake::Stop,
                () = self.cancel.cancelled(), if !cancelled => FollowerWake::Cancel,
                Ok(()) = terms.changed() => FollowerWake::Terms,
                update = updates.next() => match update {
                    Ok(update) => FollowerWake::Update(update),
                    Err(error) => FollowerWake::Down(Err(error.into())),
                },
                down = handle.wait_for_failure() => FollowerWake::Down(down),
            };
            match woken {
                FollowerWake::Stop => break FollowOutcome::Stopped,
                FollowerWake::Cancel => {
                    cancelled = true;
                    // Refused: it has ended already, and says so.
                    let _ = handle.cancel_run(CancelCause::Cancelled, PARENT).await;
                }
                FollowerWake::Terms => {
                    let terms = *terms.borrow_and_update();
                    self.pass_terms_on(&handle, &mut held, terms).await;
                }
                FollowerWake::Update(Some(SessionUpdate::Fact(fact))) => {
                    self.relay_event(&fact.event).await;
                    if matches!(*fact.event, Event::RunFinished(_)) {
                        break FollowOutcome::AtRest;
                    }
                }
                FollowerWake::Update(Some(SessionUpdate::Signal { .. })) => (),
                FollowerWake::Down(Err(error)) => break FollowOutcome::Down(error.to_string()),
                FollowerWake::Update(None) | FollowerWake::Down(Ok(())) => {
                    break FollowOutcome::Down("it stopped before its end".into());
                }
            }
        };
        drop(updates);
        match (handle.close().await, ended) {
            (Err(error), FollowOutcome::Down(_) | FollowOutcome::AtRest) => {
                FollowOutcome::Down(error.to_string())
            }
            (_, ended) => ended,
        }
    }

    /// The child goes by what holds for its parent by now; none: nothing has changed since it began.
    async fn pass_terms_on(
        &self,
        handle: &SessionHandle,
        held: &mut HeldTerms,
        terms: Option<ChildTerms>,
    ) {
        let HeldTerms { attended, permission, .. } = *held;
        let parent = terms.unwrap_or(ChildTerms { attended, permission, paused: false });
        if held.paused.replace(parent.paused) != Some(parent.paused) {
            let command = match parent.paused {
                true => PersonCommand::Pause,
                false => PersonCommand::Resume,
            };
            // Refused: it is so already, or it has ended.
            let _ = handle.send_command(command.sent_by(PARENT)).await;
        }
        // No more than the parent lets pass by now, and no more than it began with.
        let permission = within_reach(parent.permission, self.config.permission);
        if (parent.attended, permission) == (held.attended, held.permission) {
            return;
        }
        (held.attended, held.permission) = (parent.attended, permission);
        let mut config = self.config.as_ref().clone();
        (config.attended, config.permission) = (parent.attended, permission);
        let reason = "what holds for the agent that began it".into();
        // Refused: it has ended already, and says so.
        let configure = PersonCommand::Configure { reason, config: Arc::new(config) };
        let _ = handle.send_command(configure.sent_by(PARENT)).await;
    }

    /// What the parent's journal and whoever follows it hear.
    async fn relay_event(&self, event: &Event) {
        let path = |below: &[String]| {
            std::iter::once(self.profile_name().to_owned()).chain(below.iter().cloned()).collect()
        };
        let news = match event {
            Event::ApprovalRequested(f) => AgentNews::Asked(Box::new(AgentAsked {
                agent: self.agent.clone(),
                call: self.call,
                path: path(&[]),
                request: Box::new(f.clone()),
            })),
            Event::ApprovalResolved(f) => AgentNews::Answered(AgentAnswered {
                agent: self.agent.clone(),
                call: self.call,
                approval: f.approval.clone(),
                decision: f.decision,
                by: f.by.clone(),
            }),
            Event::AgentAsked(f) => AgentNews::Asked(Box::new(AgentAsked {
                call: self.call,
                path: path(&f.path),
                ..f.clone()
            })),
            Event::AgentAnswered(f) => {
                AgentNews::Answered(AgentAnswered { call: self.call, ..f.clone() })
            }
            Event::CallFinished(f) => {
                let how = if f.ok { "ok" } else { "failed" };
                let line = format!("{}: {} {how}: {}\n", self.profile_name(), f.tool, f.summary);
                self.progress.send(&line);
                return;
            }
            _ => return,
        };
        if let Err(error) = tell_parent(&self.context, news).await {
            tracing::debug!(agent = %self.agent, %error, "the parent does not listen any more");
        }
    }

    /// Counts what it used, and makes its answer of it.
    async fn build_answer(&self, session: &Session, why: Option<String>) -> RawResult {
        let finished = session.last_run_finished().filter(|_| session.run().is_none());
        let (status, error) = match (finished, why) {
            (Some(f), _) => (f.status, f.error.clone()),
            (None, why) => (RunStatus::Interrupted, why),
        };
        let text = finished.map(|f| f.text.trim().to_owned()).unwrap_or_default();
        let changed = finished.map(|f| f.changed_files.clone()).unwrap_or_default();
        let report = AgentFinished {
            agent: self.agent.clone(),
            call: self.call,
            status,
            text: text.chars().take(TEXT_CHARS_MAX).collect(),
            usage: *session.usage(),
            cost_usd: session.cost_usd(),
            // What it left in a copy of its own is not changed here.
            changed_files: if self.worktree { Vec::new() } else { changed.clone() },
            denials: finished.map(|f| f.denials.clone()).unwrap_or_default(),
            error: error.clone(),
            link_bits: session.link_trail().told_bits(),
        };
        let tokens = report.usage.total_tokens();
        if let Err(error) = tell_parent(&self.context, AgentNews::Finished(Box::new(report))).await
        {
            tracing::debug!(agent = %self.agent, %error, "the parent does not listen any more");
        }
        let diff = self.own_diff(&changed).await;
        let text = agent_answer_text(self.profile_name(), status, &text, error.as_deref());
        let line = agent_summary_line(status, &changed, finished);
        let summary = format!("{}: {line}", self.profile_name());
        let (profile, agent) = (self.profile_name(), &self.agent);
        // Its words may be those of a page: they cannot close this frame, nor open one. An agent may know
        // whose it is, so the mark is of its words too.
        let mark = frame_mark(&self.context.session, &format!("{}\n{text}", self.call));
        let whole = format!(
            "[The answer of agent {profile}, up to {mark}:]\n{text}\n\n\
             [{mark}: agent {profile}: {line}; {tokens} tokens; session {agent}]{diff}"
        );
        let raw = match status {
            RunStatus::Completed => RawResult::ok(whole),
            _ => RawResult::error(whole),
        };
        RawResult { label: session.answer_label(), ..raw.with_summary(summary) }
    }
}

/// What a child that began with `begun` may do where its parent has `parent` by now. To `plan` leads
/// no way while a run is on, and a child is always in one: it asks for everything instead.
fn within_reach(parent: PermissionMode, begun: PermissionMode) -> PermissionMode {
    match parent.narrower_mode(begun) {
        PermissionMode::Plan if begun != PermissionMode::Plan => PermissionMode::Ask,
        narrower => narrower,
    }
}

/// The answer, or why there is none, for the model.
fn agent_answer_text(profile: &str, status: RunStatus, text: &str, error: Option<&str>) -> String {
    let said = if text.is_empty() { "It said nothing." } else { text };
    if status == RunStatus::Completed {
        return said.to_owned();
    }
    let why = error.map(|error| format!(" {error}")).unwrap_or_default();
    let last =
        if text.is_empty() { said.to_owned() } else { format!("What it said last:\n{said}") };
    let status = status_text(status);
    format!("The agent {profile} did not complete its task ({status}).{why}\n{last}")
}

/// One line about it.
fn agent_summary_line(
    status: RunStatus,
    changed: &[String],
    finished: Option<&RunFinished>,
) -> String {
    let mut line = status_text(status).to_owned();
    if !changed.is_empty() {
        line.push_str(&format!("; changed {}", changed.join(", ")));
    }
    if let Some(denied) = finished.map(|f| f.denials.len()).filter(|count| *count > 0) {
        line.push_str(&format!("; {denied} denied"));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_a_child_follows_its_parent_as_far_as_a_run_allows() {
        use PermissionMode::{Ask, AutoEdit, Full, Plan};
        for (parent, begun, expected) in [
            (Plan, Full, Ask),
            (Plan, AutoEdit, Ask),
            (Plan, Ask, Ask),
            (Plan, Plan, Plan),
            (Full, Plan, Plan),
            (Ask, Full, Ask),
            (AutoEdit, Full, AutoEdit),
            (Full, AutoEdit, AutoEdit),
        ] {
            assert_eq!(within_reach(parent, begun), expected, "{parent} {begun}");
        }
    }
}
