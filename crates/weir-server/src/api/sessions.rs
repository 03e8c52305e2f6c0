//! Sessions: list, open, say, cancel, fork, settings, removal (C7). Their events stand in `events`,
//! what they hold (blobs, results, files) in `content`.

use axum::Json;
use axum::extract::Query;
use axum::response::Response;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use weir_core::ids::{InputId, Seq, SessionId};
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;
use weir_core::session::child;
use weir_core::sorting::sort_stably_by_key;
use weir_engine::ports::SessionFilter;
use weir_install::user_space::SessionPreferences;

use super::page::{ListPage, PageQuery};
use crate::live::tell::{AcceptedInput, NewInput};
use crate::live::{SessionKey, recovery, title};
use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::body::{ReplyTo, SentBody};
use crate::request::{CallerSession, CallerSpace};
use crate::route::Route;

mod content;
mod events;
mod info;

pub(crate) use info::{SessionInfo, SessionLine, session_line};

/// Passages that a search looks through.
const HITS_MAX: usize = 500;

/// The routes of this file.
pub(crate) fn session_api_routes() -> Vec<Route> {
    let mut all = vec![
        Route::get("/api/v1/sessions", get_sessions)
            .summary("Your sessions, pinned ones first, then by their last change")
            .query::<ListQuery>()
            .gives_json::<ListPage<SessionLine>>(200),
        Route::post("/api/v1/sessions", open_session)
            .summary("Begin a session")
            .body::<OpenSessionBody>()
            .gives_json::<SessionInfo>(201),
        Route::get("/api/v1/sessions/{id}", get)
            .summary("One session, with what is open in it")
            .gives_json::<SessionInfo>(200),
        Route::patch("/api/v1/sessions/{id}", change_session)
            .summary("Rename, pin, put away; other settings between runs")
            .body::<ChangeSessionBody>()
            .gives_json::<SessionInfo>(200),
        Route::delete("/api/v1/sessions/{id}", delete_session)
            .summary("Remove a session with its sub-agents, files kept and index")
            .gives_nothing(204),
        Route::post("/api/v1/sessions/{id}/input", post_input)
            .summary("Say something; accepted once it is in the journal")
            .body::<InputBody>()
            .gives_json::<AcceptedInput>(202),
        Route::post("/api/v1/sessions/{id}/withdraw", withdraw_input)
            .summary("Take back an input that waits")
            .body::<WithdrawBody>()
            .gives_nothing(204),
        Route::post("/api/v1/sessions/{id}/cancel", cancel_run)
            .summary("End the run that is on")
            .gives_json::<CancelResult>(200),
        Route::post("/api/v1/sessions/{id}/pause", pause_run)
            .summary("Pause the run that is on: what is under way is finished, nothing new begins")
            .gives_json::<RunPauseStatus>(200),
        Route::post("/api/v1/sessions/{id}/resume", resume_run)
            .summary("Let the run go on that was paused")
            .gives_json::<RunPauseStatus>(200),
        Route::post("/api/v1/sessions/{id}/fork", fork_session)
            .summary("A new session with the history of this one")
            .body::<ForkBody>()
            .gives_json::<SessionInfo>(201),
        Route::post("/api/v1/sessions/{id}/condense", condense_session)
            .summary("Make the context shorter now, between runs")
            .body::<CondenseBody>()
            .body_optional()
            .gives_nothing(204),
        Route::post("/api/v1/sessions/{id}/uncondense", uncondense_session)
            .summary("Take the last condensing back, between runs")
            .gives_nothing(204),
        Route::post("/api/v1/sessions/{id}/revoke", revoke_lease)
            .summary("Take back a right that was granted for the session")
            .body::<RevokeLeaseBody>()
            .gives_nothing(204),
        Route::post("/api/v1/sessions/{id}/release", release_session)
            .summary("Let a session run again that crashed the engine too often")
            .gives_json::<SessionInfo>(200),
    ];
    all.extend(events::session_event_routes());
    all.extend(content::session_content_routes());
    all
}

/// A filter of sessions, and the part of the list that is asked for.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ListQuery {
    /// At most so many (1 to 200, default 50).
    pub(crate) limit: Option<usize>,
    /// The `next` of the part before.
    pub(crate) after: Option<String>,
    /// Words that title or text must have.
    pub(crate) q: Option<String>,
    /// Only those that are put away (`true`) or not (`false`, the default).
    pub(crate) archived: Option<bool>,
    /// Only those that are pinned, or not.
    pub(crate) pinned: Option<bool>,
    /// Only those of this folder.
    pub(crate) workspace: Option<String>,
    /// With the sessions of sub-agents.
    pub(crate) agents: Option<bool>,
}

/// Settings of a new session; what is left out follows from yours.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub(crate) struct OpenSessionBody {
    /// Its folder.
    workspace: Option<String>,
    /// `provider/name`.
    model: Option<String>,
    /// Name of a profile.
    profile: Option<String>,
    /// Permission mode.
    permission: Option<PermissionMode>,
    /// How much the model thinks.
    thinking: Option<Thinking>,
    /// The name of the session.
    title: Option<String>,
    /// These tools and no others, for as long as it exists; `[]`: none.
    only_tools: Option<Vec<String>>,
    /// Most calls of tools in a run (20 where nobody says anything).
    max_tool_calls: Option<u32>,
    /// Most US dollars that a run may cost.
    budget_usd: Option<f64>,
}

/// What is to change.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ChangeSessionBody {
    /// The name of the session; empty: its first words again.
    pub(crate) title: Option<String>,
    /// Kept at the top.
    pub(crate) pinned: Option<bool>,
    /// Put away.
    pub(crate) archived: Option<bool>,
    /// `provider/name`.
    pub(crate) model: Option<String>,
    /// Name of a profile.
    pub(crate) profile: Option<String>,
    /// Permission mode.
    pub(crate) permission: Option<PermissionMode>,
    /// How much the model thinks.
    pub(crate) thinking: Option<Thinking>,
}

/// A piece of what is said.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum InputBlock {
    /// Words; `@path` in them attaches a file of the workspace.
    Text {
        /// The words.
        text: String,
    },
    /// An uploaded file.
    Attachment {
        /// Its `id` (`POST /api/v1/attachments`).
        attachment: String,
    },
}

/// Something to be said.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct InputBody {
    /// Unique for what you say: sent again, it is said once.
    #[serde(default)]
    client_id: Option<String>,
    /// The pieces of what is said.
    content: Vec<InputBlock>,
}

/// The input that is taken back.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct WithdrawBody {
    /// Its number.
    input: InputId,
}

/// Where the copy ends.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ForkBody {
    /// The fact at which the session was at rest; left out: the last such.
    at: Option<Seq>,
    /// The fact that accepted an input, in place of `at`: the copy ends where the session was last
    /// at rest before it.
    before: Option<Seq>,
}

/// What matters when the context is made shorter.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub(crate) struct CondenseBody {
    /// What the summary must keep, in your own words (at most 2000 characters).
    keep: String,
}

/// The right that is taken back.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct RevokeLeaseBody {
    /// Its number in the session.
    lease: u32,
}

/// The outcome of cancelling.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CancelResult {
    /// Whether a run was on.
    cancelled: bool,
}

/// Whether the run of a session is paused.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RunPauseStatus {
    /// It is.
    paused: bool,
    /// The name of the person who paused it.
    by: Option<String>,
}

/// What is said, from its pieces.
pub(crate) fn new_input_from_blocks(
    content: Vec<InputBlock>,
    client_id: Option<String>,
    by: String,
) -> NewInput {
    let mut saying = NewInput { client_id, by, ..NewInput::default() };
    let mut texts = Vec::new();
    for block in content {
        match block {
            InputBlock::Text { text } => texts.push(text),
            InputBlock::Attachment { attachment } => saying.attachments.push(attachment),
        }
    }
    saying.text = texts.join("\n\n");
    saying
}

async fn get_sessions(
    owner: CallerSpace,
    Query(query): Query<ListQuery>,
) -> HandlerResult<Json<ListPage<SessionLine>>> {
    Ok(Json(list_sessions(&owner, query).await?))
}

/// A part of a person's sessions.
///
/// # Errors
/// The store cannot be read.
pub(crate) async fn list_sessions(
    owner: &CallerSpace,
    query: ListQuery,
) -> HandlerResult<ListPage<SessionLine>> {
    let CallerSpace { app, space, .. } = owner;
    let chats = title::load_all_chats(app, space.as_ref()).await?;
    let broken = recovery::list_quarantined(app, space.as_ref()).await?;
    let filter = SessionFilter { workspace: query.workspace.clone(), limit: None };
    let mut lines: Vec<SessionLine> = Vec::new();
    for meta in space.store().list_sessions(&filter).await? {
        let is_agent = child::parent_of(&meta.id).is_some();
        if meta.facts == 0 || (is_agent && query.agents != Some(true)) {
            continue;
        }
        let chat = chats.get(meta.id.as_str()).cloned().unwrap_or_default();
        let is_broken = broken.contains(meta.id.as_str());
        lines.push(session_line(meta, chat, is_broken));
    }
    let archived = query.archived.unwrap_or(false);
    lines.retain(|line| line.archived == archived);
    if let Some(pinned) = query.pinned {
        lines.retain(|line| line.pinned == pinned);
    }
    if let Some(words) = query.q.as_deref().map(str::trim).filter(|words| !words.is_empty()) {
        let hits = space.store().search_passages(words, HITS_MAX).await?;
        let small = words.to_lowercase();
        lines.retain(|line| {
            let in_title = line.title.to_lowercase().contains(&small);
            in_title || hits.iter().any(|hit| hit.session == line.id)
        });
    }
    sort_stably_by_key(&mut lines, |line| !line.pinned);
    let part = PageQuery { limit: query.limit, after: query.after };
    Ok(ListPage::from_list(lines, &part, |line| line.id.to_string()))
}

fn session_overrides(
    model: Option<String>,
    profile: Option<String>,
    permission: Option<PermissionMode>,
) -> SessionPreferences {
    SessionPreferences { model, profile, permission, ..SessionPreferences::default() }
}

async fn open_session(
    owner: CallerSpace,
    Json(body): Json<OpenSessionBody>,
) -> HandlerResult<(StatusCode, Json<SessionInfo>)> {
    let CallerSpace { app, space, .. } = &owner;
    let OpenSessionBody { workspace, model, profile, permission, thinking, title, .. } = body;
    let preferences = SessionPreferences {
        workspace,
        thinking,
        only_tools: body.only_tools,
        max_tool_calls: body.max_tool_calls,
        budget_usd: body.budget_usd,
        ..session_overrides(model, profile, permission)
    };
    let id = app.sessions.create_session(app, space, preferences).await?;
    if let Some(name) = title {
        rename_session(&owner, &id, &name).await?;
    }
    created_session(&owner, &id).await
}

/// The answer about a session that was made just now.
async fn created_session(
    owner: &CallerSpace,
    id: &SessionId,
) -> HandlerResult<(StatusCode, Json<SessionInfo>)> {
    let meta = owner.find_session(id).await?;
    Ok((StatusCode::CREATED, Json(info::load_session_info(owner, meta).await?)))
}

async fn rename_session(owner: &CallerSpace, id: &SessionId, name: &str) -> HandlerResult<()> {
    let CallerSpace { app, space, .. } = owner;
    let name = title::clean_title(name);
    title::change_chat(app, space.as_ref(), id, |chat| {
        chat.named = !name.is_empty();
        chat.title = (!name.is_empty()).then(|| name.clone());
    })
    .await?;
    Ok(())
}

async fn get(session: CallerSession) -> HandlerResult<Json<SessionInfo>> {
    Ok(Json(info::load_session_info(&session.owner, session.meta).await?))
}

async fn change_session(
    session: CallerSession,
    Json(body): Json<ChangeSessionBody>,
) -> HandlerResult<Json<SessionInfo>> {
    apply_session_changes(&session, body).await?;
    // Other settings are another line of lists.
    let meta = session.owner.find_session(&session.id).await?;
    Ok(Json(info::load_session_info(&session.owner, meta).await?))
}

/// Changes what a session is called, where it stands among the others, and its settings.
///
/// # Errors
/// The settings are refused: then nothing is changed.
pub(crate) async fn apply_session_changes(
    session: &CallerSession,
    changes: ChangeSessionBody,
) -> HandlerResult<()> {
    let CallerSpace { app, caller, space } = &session.owner;
    let ChangeSessionBody { title: name, pinned, archived, model, profile, permission, thinking } =
        changes;
    // Settings first: they may be refused, and then nothing changed.
    if model.is_some() || profile.is_some() || permission.is_some() || thinking.is_some() {
        let preferences =
            SessionPreferences { thinking, ..session_overrides(model, profile, permission) };
        app.sessions
            .configure_session(session.session_request(), preferences, caller.journal_name())
            .await?;
    }
    if let Some(name) = name {
        rename_session(&session.owner, &session.id, &name).await?;
    }
    if pinned.is_some() || archived.is_some() {
        title::change_chat(app, space.as_ref(), &session.id, |chat| {
            chat.pinned = pinned.unwrap_or(chat.pinned);
            chat.archived = archived.unwrap_or(chat.archived);
        })
        .await?;
    }
    Ok(())
}

pub(crate) async fn delete_session(
    CallerSession { owner, id, .. }: CallerSession,
    reply: ReplyTo,
) -> HandlerResult<Response> {
    remove(&owner, &id).await?;
    Ok(reply.answer_done("/chats", StatusCode::NO_CONTENT))
}

/// Where a browser goes that told a session something.
pub(crate) fn composer_address(id: &SessionId) -> String {
    format!("/chats/{id}#composer")
}

/// Removes a session with all that is kept of it (D9).
///
/// # Errors
/// A run is on, it is a sub-agent's, or something could not be removed: it can be done again.
async fn remove(owner: &CallerSpace, id: &SessionId) -> HandlerResult<()> {
    let CallerSpace { app, caller, space } = owner;
    if let Some((parent, _)) = child::parent_of(id) {
        return Err(ProblemDetails::conflict(format!("it is removed with session {parent}")));
    }
    app.sessions.free_idle_session(owner.session_request(id), caller.journal_name()).await?;
    space.delete_session(id).await?;
    title::forget_chat(app, space.as_ref(), id).await
}

async fn post_input(
    CallerSession { owner, id, .. }: CallerSession,
    Json(body): Json<InputBody>,
) -> HandlerResult<(StatusCode, Json<AcceptedInput>)> {
    let CallerSpace { app, caller, .. } = &owner;
    let saying = new_input_from_blocks(body.content, body.client_id, caller.journal_name());
    let said = app.sessions.submit_input(owner.session_request(&id), saying).await?;
    Ok((StatusCode::ACCEPTED, Json(said)))
}

pub(crate) async fn withdraw_input(
    CallerSession { owner, id, .. }: CallerSession,
    reply: ReplyTo,
    SentBody(body): SentBody<WithdrawBody>,
) -> HandlerResult<Response> {
    let CallerSpace { app, caller, .. } = &owner;
    app.sessions
        .withdraw_input(owner.session_request(&id), body.input, caller.journal_name())
        .await?;
    Ok(reply.answer_done(&composer_address(&id), StatusCode::NO_CONTENT))
}

pub(crate) async fn cancel_run(
    CallerSession { owner, id, .. }: CallerSession,
    reply: ReplyTo,
) -> HandlerResult<Response> {
    let CallerSpace { app, caller, .. } = &owner;
    let cancelled =
        app.sessions.cancel_run(owner.session_request(&id), caller.journal_name()).await?;
    Ok(reply.answer_done(&composer_address(&id), Json(CancelResult { cancelled })))
}

pub(crate) async fn pause_run(
    CallerSession { owner, id, .. }: CallerSession,
    reply: ReplyTo,
) -> HandlerResult<Response> {
    let CallerSpace { app, caller, .. } = &owner;
    let by = app.sessions.pause_run(owner.session_request(&id), caller.journal_name()).await?;
    let status = RunPauseStatus { paused: true, by: Some(by) };
    Ok(reply.answer_done(&composer_address(&id), Json(status)))
}

pub(crate) async fn resume_run(
    CallerSession { owner, id, .. }: CallerSession,
    reply: ReplyTo,
) -> HandlerResult<Response> {
    let CallerSpace { app, caller, .. } = &owner;
    app.sessions.resume_run(owner.session_request(&id), caller.journal_name()).await?;
    let status = RunPauseStatus { paused: false, by: None };
    Ok(reply.answer_done(&composer_address(&id), Json(status)))
}

async fn fork_session(
    CallerSession { owner, id, .. }: CallerSession,
    Json(body): Json<ForkBody>,
) -> HandlerResult<(StatusCode, Json<SessionInfo>)> {
    let CallerSpace { app, space, .. } = &owner;
    let until = match (body.at, body.before) {
        (Some(_), Some(_)) => {
            return Err(ProblemDetails::bad_request("name `at` or `before`, not both"));
        }
        (None, Some(before)) => Some(app.sessions.rest_before(space, &id, before).await?),
        (at, None) => at,
    };
    let fork = app.sessions.fork_session(owner.session_request(&id), until).await?;
    created_session(&owner, &fork).await
}

pub(crate) async fn condense_session(
    CallerSession { owner, id, .. }: CallerSession,
    reply: ReplyTo,
    body: Option<SentBody<CondenseBody>>,
) -> HandlerResult<Response> {
    let CallerSpace { app, caller, .. } = &owner;
    let keep = body.map(|SentBody(body)| body.keep).unwrap_or_default();
    app.sessions.condense_context(owner.session_request(&id), &keep, caller.journal_name()).await?;
    Ok(reply.answer_done(&composer_address(&id), StatusCode::NO_CONTENT))
}

async fn uncondense_session(
    CallerSession { owner, id, .. }: CallerSession,
) -> HandlerResult<StatusCode> {
    let CallerSpace { app, caller, .. } = &owner;
    app.sessions.uncondense_context(owner.session_request(&id), caller.journal_name()).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn revoke_lease(
    CallerSession { owner, id, .. }: CallerSession,
    Json(body): Json<RevokeLeaseBody>,
) -> HandlerResult<StatusCode> {
    let CallerSpace { app, caller, .. } = &owner;
    app.sessions
        .revoke_lease(owner.session_request(&id), body.lease, caller.journal_name())
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn release_session(
    CallerSession { owner, id, meta }: CallerSession,
) -> HandlerResult<Json<SessionInfo>> {
    let CallerSpace { app, space, .. } = &owner;
    recovery::release_quarantine(app, &SessionKey::for_session(space.as_ref(), &id)).await?;
    Ok(Json(info::load_session_info(&owner, meta).await?))
}
