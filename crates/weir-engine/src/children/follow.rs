//! Follows a child to its end: what it asks goes up to the session that started it, what it used
//! counts there once, and its answer becomes the result of the call (G4, L15). Not here: opening it.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use weir_core::event::{
    AgentAnswered, AgentAsked, AgentFinished, AgentNews, CancelCause, Event, RunFinished, RunStatus,
};
use weir_core::ids::{CallId, SessionId};
use weir_core::input::PersonCommand;
use weir_core::profile::PermissionMode;
use weir_core::session::{Session, SessionConfig};
use weir_core::tool::Raw;

use super::{Children, Terms, tell_parent};
use crate::error::EngineError;
use crate::hub::Update;
use crate::journal::load;
use crate::ledger::status_text;
use crate::ports::ProgressSink;
use crate::session_handle::SessionHandle;
use crate::worker_context::WorkerContext;

/// Characters of an answer that the parent's journal repeats.
const TEXT_CHARS_MAX: usize = 1_000;
/// Who cancels a child.
const PARENT: &str = "the agent that started it";

/// A child that is followed.
pub(super) struct Follow {
    /// The parent's.
    pub(super) context: Arc<WorkerContext>,
    /// The parent's children.
    pub(super) children: Children,
    pub(super) call: CallId,
    pub(super) agent: SessionId,
    /// What it was opened with.
    pub(super) config: Arc<SessionConfig>,
    pub(super) worktree: bool,
    pub(super) progress: ProgressSink,
    /// The call is to end.
    pub(super) cancel: CancellationToken,
    /// The parent stops where it is.
    pub(super) stop: CancellationToken,
}

/// How following ended.
enum Ended {
    /// It came to rest.
    AtRest,
    /// The parent's program stops; the child goes on with it.
    Stopped,
    /// It went down: why.
    Down(String),
}

enum Woken {
    Stop,
    Cancel,
    Terms,
    Update(Option<Update>),
    Down(Result<(), EngineError>),
}

impl Follow {
    fn profile(&self) -> &str {
        &self.config.profile.name
    }

    /// Follows the child; without a handle it came to rest before. Its answer.
    pub(super) async fn until_its_end(self, handle: Option<SessionHandle>) -> Raw {
        let ended = match handle {
            Some(handle) => self.follow(handle).await,
            None => Ended::AtRest,
        };
        let why = match ended {
            Ended::Stopped => return Raw::error("Not finished: the program stops."),
            Ended::AtRest => None,
            Ended::Down(why) => Some(why),
        };
        let loaded = load(self.context.parts.store.as_ref(), &self.agent).await;
        match loaded {
            Ok(loaded) => self.answer(&loaded.session, why).await,
            Err(error) => Raw::error(format!("The agent went down: {error}.")),
        }
    }

    async fn follow(&self, mut handle: SessionHandle) -> Ended {
        let mut updates = handle.facts(0);
        let mut cancelled = false;
        let mut held = Terms { attended: self.config.attended, permission: self.config.permission };
        let mut terms = self.children.terms();
        terms.mark_changed();
        let ended = loop {
            let woken = tokio::select! {
                biased;
                () = self.stop.cancelled() => Woken::Stop,
                () = self.cancel.cancelled(), if !cancelled => Woken::Cancel,
                Ok(()) = terms.changed() => Woken::Terms,
                update = updates.next() => match update {
                    Ok(update) => Woken::Update(update),
                    Err(error) => Woken::Down(Err(error.into())),
                },
                down = handle.down() => Woken::Down(down),
            };
            match woken {
                Woken::Stop => break Ended::Stopped,
                Woken::Cancel => {
                    cancelled = true;
                    // Refused: it has ended already, and says so.
                    let _ = handle.cancel(CancelCause::Cancelled, PARENT).await;
                }
                Woken::Terms => {
                    let parent = terms.borrow_and_update().unwrap_or(held);
                    // No more than the parent lets pass by now, and no more than it began with.
                    let permission = within_reach(parent.permission, self.config.permission);
                    let now = Terms { permission, ..parent };
                    if now != held {
                        held = now;
                        let mut config = self.config.as_ref().clone();
                        (config.attended, config.permission) = (now.attended, now.permission);
                        let reason = "what holds for the agent that began it".into();
                        // Refused: it has ended already, and says so.
                        let configure =
                            PersonCommand::Configure { reason, config: Arc::new(config) };
                        let _ = handle.command(configure.sent_by(PARENT)).await;
                    }
                }
                Woken::Update(Some(Update::Fact(fact))) => {
                    self.relay(&fact.event).await;
                    if matches!(*fact.event, Event::RunFinished(_)) {
                        break Ended::AtRest;
                    }
                }
                Woken::Update(Some(Update::Signal { .. })) => (),
                Woken::Down(Err(error)) => break Ended::Down(error.to_string()),
                Woken::Update(None) | Woken::Down(Ok(())) => {
                    break Ended::Down("it stopped before its end".into());
                }
            }
        };
        drop(updates);
        match (handle.close().await, ended) {
            (Err(error), Ended::Down(_) | Ended::AtRest) => Ended::Down(error.to_string()),
            (_, ended) => ended,
        }
    }

    /// What the parent's journal and whoever follows it hear.
    async fn relay(&self, event: &Event) {
        let path = |below: &[String]| {
            std::iter::once(self.profile().to_owned()).chain(below.iter().cloned()).collect()
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
                let line = format!("{}: {} {how}: {}\n", self.profile(), f.tool, f.summary);
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
    async fn answer(&self, session: &Session, why: Option<String>) -> Raw {
        let finished = session.finished().filter(|_| session.run().is_none());
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
        };
        let tokens = report.usage.total();
        if let Err(error) = tell_parent(&self.context, AgentNews::Finished(Box::new(report))).await
        {
            tracing::debug!(agent = %self.agent, %error, "the parent does not listen any more");
        }
        let diff = self.own_diff(&changed).await;
        let text = worded(self.profile(), status, &text, error.as_deref());
        let line = about(status, &changed, finished);
        let summary = format!("{}: {line}", self.profile());
        let (profile, agent) = (self.profile(), &self.agent);
        let whole =
            format!("{text}\n\n[agent {profile}: {line}; {tokens} tokens; session {agent}]{diff}");
        let raw = match status {
            RunStatus::Completed => Raw::ok(whole),
            _ => Raw::error(whole),
        };
        Raw { label: session.label().clone(), ..raw.with_summary(summary) }
    }
}

/// What a child that began with `begun` may do where its parent has `parent` by now. To `plan` leads
/// no way while a run is on, and a child is always in one: it asks for everything instead.
fn within_reach(parent: PermissionMode, begun: PermissionMode) -> PermissionMode {
    match parent.narrower(begun) {
        PermissionMode::Plan if begun != PermissionMode::Plan => PermissionMode::Ask,
        narrower => narrower,
    }
}

/// The answer, or why there is none, for the model.
fn worded(profile: &str, status: RunStatus, text: &str, error: Option<&str>) -> String {
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
fn about(status: RunStatus, changed: &[String], finished: Option<&RunFinished>) -> String {
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
