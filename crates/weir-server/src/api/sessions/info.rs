//! A session as lists and its own address tell it.

use serde::Serialize;
use weir_core::governance::lease::LeaseGrant;
use weir_core::ids::{InputId, RunId, Seq, SessionId, Timestamp};
use weir_core::message::plain_text;
use weir_core::model::Usage;
use weir_core::profile::PermissionMode;
use weir_core::tool::PlanItem;
use weir_engine::ports::SessionMeta;

use crate::api::approvals::{ApprovalInboxItem, waiting_of};
use crate::live::fold;
use crate::live::title::{self, ChatMetadata};
use crate::live::{SessionKey, recovery};
use crate::problem::HandlerResult;
use crate::request::CallerSpace;

/// A session in a list.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct SessionLine {
    /// Its name.
    pub(crate) id: SessionId,
    /// The name of the session.
    pub(crate) title: String,
    /// A person called it so.
    pub(crate) named: bool,
    /// Its folder.
    pub(crate) workspace: String,
    /// Its model.
    pub(crate) model: String,
    /// Its profile.
    pub(crate) profile: String,
    /// `idle`, `running`, `waiting`, `quarantined`, or the status of its last run.
    pub(crate) status: String,
    /// When it began.
    pub(crate) created: Timestamp,
    /// When something last happened.
    pub(crate) updated: Timestamp,
    /// How many facts its journal has.
    pub(crate) facts: Seq,
    /// The session it was forked from or started by.
    pub(crate) parent: Option<SessionId>,
    /// Kept at the top.
    pub(crate) pinned: bool,
    /// Put away.
    pub(crate) archived: bool,
}

/// An input that waits for the agent.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct QueuedInput {
    /// Its number.
    pub(crate) input: InputId,
    /// Its words.
    pub(crate) text: String,
}

/// A session with what is open in it.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct SessionInfo {
    /// As in lists.
    #[serde(flatten)]
    pub(crate) line: SessionLine,
    /// The run that is on.
    pub(crate) run: Option<RunId>,
    /// The name of the person who paused it; `null`: it is not paused.
    pub(crate) paused_by: Option<String>,
    /// Permission mode.
    pub(crate) permission: Option<PermissionMode>,
    /// What waits for a person: approvals, a question, also of sub-agents.
    pub(crate) waiting: Vec<ApprovalInboxItem>,
    /// Inputs that wait for the agent.
    pub(crate) queued: Vec<QueuedInput>,
    /// The agent's list of tasks.
    pub(crate) plan: Vec<PlanItem>,
    /// Rights that were granted for the session.
    pub(crate) leases: Vec<LeaseGrant>,
    /// Tokens so far.
    pub(crate) usage: Usage,
    /// US dollars so far; `null`: not known for all of it.
    pub(crate) cost_usd: Option<f64>,
}

/// A line of a list.
pub(crate) fn session_line(meta: SessionMeta, chat: ChatMetadata, is_broken: bool) -> SessionLine {
    let status = if is_broken { "quarantined".to_owned() } else { meta.status };
    SessionLine {
        id: meta.id,
        title: chat.title.unwrap_or(meta.title),
        named: chat.named,
        workspace: meta.workspace,
        model: meta.model,
        profile: meta.profile,
        status,
        created: meta.created,
        updated: meta.updated,
        facts: meta.facts,
        parent: meta.parent,
        pinned: chat.pinned,
        archived: chat.archived,
    }
}

/// One session, by what lists show of it now.
///
/// # Errors
/// Its journal cannot be read.
pub(crate) async fn load_session_info(
    owner: &CallerSpace,
    meta: SessionMeta,
) -> HandlerResult<SessionInfo> {
    let CallerSpace { app, space, .. } = owner;
    let key = SessionKey::for_session(space.as_ref(), &meta.id);
    let chat = title::load_chat(app, &key).await?;
    let is_broken = recovery::is_quarantined(app, &key).await?;
    let folded = fold::load_session_fold(space.store().as_ref(), &meta.id).await?;
    let line = session_line(meta, chat, is_broken);
    let session = &folded.session;
    let text = |content: &[weir_core::message::MessageBlock]| plain_text(content);
    let queued = session.queued_inputs().iter();
    Ok(SessionInfo {
        run: session.run(),
        paused_by: session.paused_by().map(str::to_owned),
        permission: session.config().map(|config| config.permission),
        waiting: waiting_of(&folded, &line.title),
        queued: queued.map(|q| QueuedInput { input: q.input, text: text(&q.content) }).collect(),
        plan: session.task_list().to_vec(),
        leases: session.leases().to_vec(),
        usage: *session.usage(),
        cost_usd: session.cost_usd(),
        line,
    })
}
