//! Sessions: list, open, say, cancel, fork, settings, removal (C7). Their events stand in `events`,
//! what they hold (blobs, results, files) in `content`.

use axum::Json;
use axum::extract::{Path, Query, State};
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weir_core::ids::{InputId, Seq, SessionId};
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;
use weir_core::session::child;
use weir_engine::ports::SessionFilter;
use weir_install::user_space::SessionWish;

use super::page::{Page, PageQuery};
use crate::app::App;
use crate::guard::Caller;
use crate::live::tell::{Said, Saying};
use crate::live::{Key, recovery, title};
use crate::problem::{Answer, Problem};
use crate::route::Route;

mod content;
mod events;
mod info;

pub(crate) use info::{SessionInfo, SessionLine, line};

/// Passages that a search looks through.
const HITS_MAX: usize = 500;

/// The routes of this file.
pub(crate) fn routes() -> Vec<Route> {
    let mut all = vec![
        Route::get("/api/v1/sessions", list)
            .summary("Your sessions, pinned ones first, then by their last change")
            .query::<ListQuery>()
            .gives::<Page<SessionLine>>(200),
        Route::post("/api/v1/sessions", open)
            .summary("Begin a session")
            .body::<OpenBody>()
            .gives::<SessionInfo>(201),
        Route::get("/api/v1/sessions/{id}", get)
            .summary("One session, with what is open in it")
            .gives::<SessionInfo>(200),
        Route::patch("/api/v1/sessions/{id}", change)
            .summary("Rename, pin, put away; other settings between runs")
            .body::<ChangeBody>()
            .gives::<SessionInfo>(200),
        Route::delete("/api/v1/sessions/{id}", delete)
            .summary("Remove a session with its sub-agents, files kept and index")
            .gives_nothing(204),
        Route::post("/api/v1/sessions/{id}/input", input)
            .summary("Say something; accepted once it is in the journal")
            .body::<InputBody>()
            .gives::<Said>(202),
        Route::post("/api/v1/sessions/{id}/withdraw", withdraw)
            .summary("Take back an input that waits")
            .body::<WithdrawBody>()
            .gives_nothing(204),
        Route::post("/api/v1/sessions/{id}/cancel", cancel)
            .summary("End the run that is on")
            .gives::<Cancelled>(200),
        Route::post("/api/v1/sessions/{id}/fork", fork)
            .summary("A new session with the history of this one")
            .body::<ForkBody>()
            .gives::<SessionInfo>(201),
        Route::post("/api/v1/sessions/{id}/condense", condense)
            .summary("Make the context shorter now, between runs")
            .body::<CondenseBody>()
            .body_optional()
            .gives_nothing(204),
        Route::post("/api/v1/sessions/{id}/uncondense", uncondense)
            .summary("Take the last condensing back, between runs")
            .gives_nothing(204),
        Route::post("/api/v1/sessions/{id}/revoke", revoke)
            .summary("Take back a right that was granted for the session")
            .body::<RevokeBody>()
            .gives_nothing(204),
        Route::post("/api/v1/sessions/{id}/release", release)
            .summary("Let a session run again that crashed the engine too often")
            .gives::<SessionInfo>(200),
    ];
    all.extend(events::routes());
    all.extend(content::routes());
    all
}

/// Which sessions.
#[derive(Debug, Default, Deserialize, JsonSchema)]
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
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct OpenBody {
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
    /// What it is called.
    title: Option<String>,
    /// These tools and no others, for as long as it exists; `[]`: none.
    only_tools: Option<Vec<String>>,
    /// Most calls of tools in a run (20 where nobody says anything).
    max_tool_calls: Option<u32>,
    /// Most US dollars that a run may cost.
    budget_usd: Option<f64>,
}

/// What is to change.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ChangeBody {
    /// What it is called; empty: its first words again.
    title: Option<String>,
    /// Kept at the top.
    pinned: Option<bool>,
    /// Put away.
    archived: Option<bool>,
    /// `provider/name`.
    model: Option<String>,
    /// Name of a profile.
    profile: Option<String>,
    /// Permission mode.
    permission: Option<PermissionMode>,
    /// How much the model thinks.
    thinking: Option<Thinking>,
}

/// A piece of what is said.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum SaidBlock {
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
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct InputBody {
    /// Unique for what you say: sent again, it is said once.
    #[serde(default)]
    client_id: Option<String>,
    /// What.
    content: Vec<SaidBlock>,
}

/// Which input.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WithdrawBody {
    /// Its number.
    input: InputId,
}

/// Where the copy ends.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ForkBody {
    /// The fact at which the session was at rest; left out: the last such.
    at: Option<Seq>,
    /// The fact that accepted an input, in place of `at`: the copy ends where the session was last
    /// at rest before it.
    before: Option<Seq>,
}

/// What matters when the context is made shorter.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct CondenseBody {
    /// What the summary must keep, in your own words (at most 2000 characters).
    keep: String,
}

/// Which right.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RevokeBody {
    /// Its number in the session.
    lease: u32,
}

/// What came of it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Cancelled {
    /// Whether a run was on.
    cancelled: bool,
}

/// What is said, from its pieces.
pub(crate) fn saying(content: Vec<SaidBlock>, client_id: Option<String>, by: String) -> Saying {
    let mut saying = Saying { client_id, by, ..Saying::default() };
    let mut texts = Vec::new();
    for block in content {
        match block {
            SaidBlock::Text { text } => texts.push(text),
            SaidBlock::Attachment { attachment } => saying.attachments.push(attachment),
        }
    }
    saying.text = texts.join("\n\n");
    saying
}

async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<ListQuery>,
) -> Answer<Json<Page<SessionLine>>> {
    Ok(Json(sessions(&app, &caller, query).await?))
}

/// A part of a person's sessions.
///
/// # Errors
/// The store cannot be read.
pub(crate) async fn sessions(
    app: &App,
    caller: &Caller,
    query: ListQuery,
) -> Answer<Page<SessionLine>> {
    let home = app.home(&caller.person).await?;
    let chats = title::all(app, home.as_ref()).await?;
    let broken = recovery::quarantined(app, home.as_ref()).await?;
    let filter = SessionFilter { workspace: query.workspace.clone(), limit: None };
    let mut lines: Vec<SessionLine> = Vec::new();
    for meta in home.store().list(&filter).await? {
        let is_agent = child::parent_of(&meta.id).is_some();
        if meta.facts == 0 || (is_agent && query.agents != Some(true)) {
            continue;
        }
        let chat = chats.get(meta.id.as_str()).cloned().unwrap_or_default();
        let is_broken = broken.contains(meta.id.as_str());
        lines.push(line(meta, chat, is_broken));
    }
    let archived = query.archived.unwrap_or(false);
    lines.retain(|line| line.archived == archived);
    if let Some(pinned) = query.pinned {
        lines.retain(|line| line.pinned == pinned);
    }
    if let Some(words) = query.q.as_deref().map(str::trim).filter(|words| !words.is_empty()) {
        let hits = home.store().search(words, HITS_MAX).await?;
        let small = words.to_lowercase();
        lines.retain(|line| {
            let in_title = line.title.to_lowercase().contains(&small);
            in_title || hits.iter().any(|hit| hit.session == line.id)
        });
    }
    lines.sort_by_key(|line| !line.pinned);
    let part = PageQuery { limit: query.limit, after: query.after };
    Ok(Page::of(lines, &part, |line| line.id.to_string()))
}

fn wish(
    (model, profile): (Option<String>, Option<String>),
    permission: Option<PermissionMode>,
) -> SessionWish {
    SessionWish { model, profile, permission, ..SessionWish::default() }
}

async fn open(
    State(app): State<App>,
    caller: Caller,
    Json(body): Json<OpenBody>,
) -> Answer<(StatusCode, Json<SessionInfo>)> {
    let home = app.home(&caller.person).await?;
    let OpenBody { workspace, model, profile, permission, thinking, title, .. } = body;
    let wish = SessionWish {
        workspace,
        thinking,
        only_tools: body.only_tools,
        max_tool_calls: body.max_tool_calls,
        budget_usd: body.budget_usd,
        ..wish((model, profile), permission)
    };
    let id = app.rooms.create(&app, &home, wish).await?;
    if let Some(name) = title {
        rename(&app, &caller, &id, &name).await?;
    }
    Ok((StatusCode::CREATED, Json(info::of(&app, &home, &id).await?)))
}

pub(crate) async fn rename(app: &App, caller: &Caller, id: &SessionId, name: &str) -> Answer<()> {
    let home = app.home(&caller.person).await?;
    let name = title::cleaned(name);
    title::change(app, home.as_ref(), id, |chat| {
        chat.named = !name.is_empty();
        chat.title = (!name.is_empty()).then(|| name.clone());
    })
    .await?;
    Ok(())
}

/// The session of this person that a path names.
///
/// # Errors
/// There is none of theirs.
pub(crate) async fn own(app: &App, caller: &Caller, id: &str) -> Answer<SessionId> {
    let home = app.home(&caller.person).await?;
    let id = SessionId::new(id);
    let meta = home.store().meta(&id).await?.filter(|meta| meta.facts > 0);
    meta.map(|_| id.clone()).ok_or_else(|| Problem::missing(format!("session {id}")))
}

async fn get(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Answer<Json<SessionInfo>> {
    let home = app.home(&caller.person).await?;
    Ok(Json(info::of(&app, &home, &SessionId::new(id)).await?))
}

async fn change(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Json(body): Json<ChangeBody>,
) -> Answer<Json<SessionInfo>> {
    let id = own(&app, &caller, &id).await?;
    let home = app.home(&caller.person).await?;
    let ChangeBody { title: name, pinned, archived, model, profile, permission, thinking } = body;
    // Settings first: they may be refused, and then nothing changed.
    if model.is_some() || profile.is_some() || permission.is_some() || thinking.is_some() {
        let wish = SessionWish { thinking, ..wish((model, profile), permission) };
        app.rooms.configure(&app, &home, &id, (wish, caller.by())).await?;
    }
    if let Some(name) = name {
        rename(&app, &caller, &id, &name).await?;
    }
    if pinned.is_some() || archived.is_some() {
        title::change(&app, home.as_ref(), &id, |chat| {
            chat.pinned = pinned.unwrap_or(chat.pinned);
            chat.archived = archived.unwrap_or(chat.archived);
        })
        .await?;
    }
    Ok(Json(info::of(&app, &home, &id).await?))
}

async fn delete(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Answer<StatusCode> {
    let id = own(&app, &caller, &id).await?;
    remove(&app, &caller, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Removes a session with all that is kept of it (D9).
///
/// # Errors
/// A run is on, it is a sub-agent's, or something could not be removed: it can be done again.
pub(crate) async fn remove(app: &App, caller: &Caller, id: &SessionId) -> Answer<()> {
    let home = app.home(&caller.person).await?;
    if let Some((parent, _)) = child::parent_of(id) {
        return Err(Problem::conflict(format!("it is removed with session {parent}")));
    }
    app.rooms.freed(app, &home, id, caller.by()).await?;
    home.delete_session(id).await?;
    title::forget(app, home.as_ref(), id).await
}

async fn input(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Json(body): Json<InputBody>,
) -> Answer<(StatusCode, Json<Said>)> {
    let id = own(&app, &caller, &id).await?;
    let home = app.home(&caller.person).await?;
    let saying = saying(body.content, body.client_id, caller.by());
    let said = app.rooms.say(&app, &home, &id, saying).await?;
    Ok((StatusCode::ACCEPTED, Json(said)))
}

async fn withdraw(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Json(body): Json<WithdrawBody>,
) -> Answer<StatusCode> {
    let id = own(&app, &caller, &id).await?;
    let home = app.home(&caller.person).await?;
    app.rooms.withdraw(&app, &home, &id, (body.input, caller.by())).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn cancel(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Answer<Json<Cancelled>> {
    let id = own(&app, &caller, &id).await?;
    let home = app.home(&caller.person).await?;
    let cancelled = app.rooms.cancel(&app, &home, &id, caller.by()).await?;
    Ok(Json(Cancelled { cancelled }))
}

async fn fork(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Json(body): Json<ForkBody>,
) -> Answer<(StatusCode, Json<SessionInfo>)> {
    let id = own(&app, &caller, &id).await?;
    let home = app.home(&caller.person).await?;
    let until = match (body.at, body.before) {
        (Some(_), Some(_)) => return Err(Problem::bad("name `at` or `before`, not both")),
        (None, Some(before)) => Some(app.rooms.rest_before(&home, &id, before).await?),
        (at, None) => at,
    };
    let fork = app.rooms.fork(&app, &home, (&id, until)).await?;
    Ok((StatusCode::CREATED, Json(info::of(&app, &home, &fork).await?)))
}

async fn condense(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    body: Option<Json<CondenseBody>>,
) -> Answer<StatusCode> {
    let id = own(&app, &caller, &id).await?;
    let home = app.home(&caller.person).await?;
    let keep = body.map(|Json(body)| body.keep).unwrap_or_default();
    app.rooms.condense(&app, &home, &id, (&keep, caller.by())).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn uncondense(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Answer<StatusCode> {
    let id = own(&app, &caller, &id).await?;
    let home = app.home(&caller.person).await?;
    app.rooms.uncondense(&app, &home, &id, caller.by()).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn revoke(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Json(body): Json<RevokeBody>,
) -> Answer<StatusCode> {
    let id = own(&app, &caller, &id).await?;
    let home = app.home(&caller.person).await?;
    app.rooms.revoke(&app, &home, &id, (body.lease, caller.by())).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn release(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Answer<Json<SessionInfo>> {
    let id = own(&app, &caller, &id).await?;
    let home = app.home(&caller.person).await?;
    recovery::release(&app, &Key::of(home.as_ref(), &id)).await?;
    Ok(Json(info::of(&app, &home, &id).await?))
}
