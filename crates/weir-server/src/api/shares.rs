//! Links by which anybody may read one chat (S7): made, listed, taken back. The link is a random word
//! of which only the hash is kept. Not here: the page that it leads to (`web::pages::shared`).

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use weir_core::ids::{Seq, SessionId, Timestamp};
use weir_core::session::child;
use weir_core::sorting::sort_stably_by_key;

use super::page::{ListPage, PageQuery};
use crate::app::App;
use crate::auth::secret;
use crate::auth::shelf::{EntrySlot, TypedEntry, TypedRecords};
use crate::caller::Caller;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::CallerSpace;
use crate::request::body::ReplyTo;
use crate::route::Route;

/// Kind of the entries.
const KIND: &str = "share";
/// Links that one person may have at once.
const SHARES_MAX: usize = 500;
/// Longest time that a link may be given, in days.
const DAYS_MAX: u32 = 3650;
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// The routes of this file.
pub(crate) fn share_api_routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/shares", list_shares)
            .summary("Lists the links by which others can read chats of yours")
            .query::<ShareQuery>()
            .gives_json::<ListPage<ShareLine>>(200),
        Route::post("/api/v1/shares", post_share)
            .summary("Makes a link by which anybody can read a chat; the link is shown only now")
            .body::<NewShare>()
            .gives_json::<CreatedShare>(201),
        Route::delete("/api/v1/shares/{id}", revoke_share)
            .summary("Takes a link back")
            .gives_nothing(204),
    ]
}

/// What is kept of a link, under the hash of its word.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ShareRecord {
    /// Its name.
    pub(crate) id: String,
    /// The chat that the link leads to.
    pub(crate) session: SessionId,
    /// Calls of tools and their results are shown too.
    pub(crate) tools: bool,
    /// The last fact that is shown; `None`: also whatever is said later.
    pub(crate) until: Option<Seq>,
    /// When it was made.
    pub(crate) created: Timestamp,
    /// How often it was opened.
    #[serde(default)]
    pub(crate) opened: u64,
    /// When it was opened last.
    #[serde(default)]
    pub(crate) last_opened: Option<Timestamp>,
}

/// A link in a list.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ShareLine {
    /// Its name, by which it is taken back.
    pub(crate) id: String,
    /// The chat that the link leads to.
    pub(crate) session: String,
    /// Calls of tools and their results are shown too.
    pub(crate) tools: bool,
    /// What is said later is shown too.
    pub(crate) follow: bool,
    /// When it was made.
    pub(crate) created: Timestamp,
    /// When it ends by itself.
    pub(crate) expires: Option<Timestamp>,
    /// How often it was opened.
    pub(crate) opened: u64,
    /// When it was opened last.
    pub(crate) last_opened: Option<Timestamp>,
}

/// What is wanted of a new link.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct NewShare {
    /// The chat that the link leads to.
    pub(crate) session: String,
    /// Show calls of tools and their results too. Without it only what was said.
    #[serde(default)]
    pub(crate) tools: bool,
    /// Show what is said later too. Without it the chat as it is now.
    #[serde(default)]
    pub(crate) follow: bool,
    /// Days after which the link ends by itself (1 to 3650).
    #[serde(default)]
    pub(crate) days: Option<u32>,
}

/// A new link.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CreatedShare {
    /// Its name, by which it is taken back.
    pub(crate) id: String,
    /// The path of the link on this server: shown once, kept nowhere.
    pub(crate) path: String,
}

/// A filter of links, and the part of the list that is asked for.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ShareQuery {
    /// Of this chat only.
    #[serde(default)]
    pub(crate) session: Option<String>,
    /// At most so many (1 to 200, default 50).
    pub(crate) limit: Option<usize>,
    /// The `next` of the part before.
    pub(crate) after: Option<String>,
}

fn share_records(app: &App) -> TypedRecords {
    TypedRecords::new(app.records.clone(), app.clock.clone())
}

fn share_line(kept: &TypedEntry<ShareRecord>) -> ShareLine {
    let share = &kept.value;
    ShareLine {
        id: share.id.clone(),
        session: share.session.to_string(),
        tools: share.tools,
        follow: share.until.is_none(),
        created: share.created,
        expires: kept.expires,
        opened: share.opened,
        last_opened: share.last_opened,
    }
}

/// A person's links, newest first.
///
/// # Errors
/// The database refuses.
pub(crate) async fn list_own_shares(
    app: &App,
    caller: &Caller,
    session: Option<&str>,
) -> HandlerResult<Vec<ShareLine>> {
    let owner = caller.person.id.as_str();
    let mut all = share_records(app).list_entries::<ShareRecord>(KIND, Some(owner)).await?;
    all.retain(|kept| session.is_none_or(|session| kept.value.session.as_str() == session));
    sort_stably_by_key(&mut all, |kept| std::cmp::Reverse(kept.value.created));
    Ok(all.iter().map(share_line).collect())
}

/// Makes a link.
///
/// # Errors
/// The chat is not the person's, or they have too many links.
pub(crate) async fn create_share(
    owner: &CallerSpace,
    new: &NewShare,
) -> HandlerResult<CreatedShare> {
    let CallerSpace { app, caller, space } = owner;
    caller.refuse_phone("sharing a chat")?;
    let id = SessionId::new(&new.session);
    let missing = || ProblemDetails::not_found("this chat");
    // What a sub-agent did belongs to the chat that it worked for.
    if child::parent_of(&id).is_some() {
        return Err(missing());
    }
    let meta =
        space.store().session_meta(&id).await?.filter(|meta| meta.facts > 0).ok_or_else(missing)?;
    if new.days.is_some_and(|days| !(1..=DAYS_MAX).contains(&days)) {
        return Err(ProblemDetails::bad_request(format!(
            "a link is given 1 to {DAYS_MAX} days, or none for ever"
        )));
    }
    if list_own_shares(app, caller, None).await?.len() >= SHARES_MAX {
        return Err(ProblemDetails::conflict("there are too many links: take some back first"));
    }
    let now = app.current_time();
    let word = secret::random_token()?;
    let share = ShareRecord {
        id: secret::random_name()?,
        session: id,
        tools: new.tools,
        until: (!new.follow).then_some(meta.facts),
        created: now,
        opened: 0,
        last_opened: None,
    };
    let slot = EntrySlot {
        kind: KIND,
        name: &secret::secret_digest(&word),
        owner: caller.person.id.as_str(),
        expires: new.days.map(|days| now.plus_ms(u64::from(days) * DAY_MS)),
    };
    share_records(app).put_entry(slot, &share, Some(0)).await?;
    Ok(CreatedShare { id: share.id, path: format!("/s/{word}") })
}

/// Takes a link of the caller's back.
///
/// # Errors
/// They have none of this name.
pub(crate) async fn take_back(app: &App, caller: &Caller, id: &str) -> HandlerResult<()> {
    let shelf = share_records(app);
    let owner = caller.person.id.as_str();
    let all = shelf.list_entries::<ShareRecord>(KIND, Some(owner)).await?;
    let found = all.into_iter().find(|kept| kept.value.id == id);
    let found = found.ok_or_else(|| ProblemDetails::not_found("this link"))?;
    shelf.remove(KIND, &found.name).await?;
    Ok(())
}

/// The link of this word, with whose it is.
///
/// # Errors
/// There is none, it has ended, or it was taken back: the same answer for each.
pub(crate) async fn find_share(app: &App, word: &str) -> HandlerResult<TypedEntry<ShareRecord>> {
    let found = share_records(app).get::<ShareRecord>(KIND, &secret::secret_digest(word)).await?;
    found.ok_or_else(|| ProblemDetails::not_found("this link"))
}

/// Counts that a link was opened. One that is opened twice in the same moment may count once.
///
/// # Errors
/// The database refuses.
pub(crate) async fn count_share_opening(
    app: &App,
    kept: &TypedEntry<ShareRecord>,
) -> HandlerResult<()> {
    let mut share = kept.value.clone();
    share.opened += 1;
    share.last_opened = Some(app.current_time());
    let slot =
        EntrySlot { kind: KIND, name: &kept.name, owner: &kept.owner, expires: kept.expires };
    // Only what is there is counted: a link that was taken back meanwhile does not come to life.
    share_records(app).put_entry(slot, &share, Some(kept.version)).await?;
    Ok(())
}

async fn list_shares(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<ShareQuery>,
) -> HandlerResult<Json<ListPage<ShareLine>>> {
    let all = list_own_shares(&app, &caller, query.session.as_deref()).await?;
    let part = PageQuery { limit: query.limit, after: query.after };
    Ok(Json(ListPage::from_list(all, &part, |line| line.id.clone())))
}

async fn post_share(
    owner: CallerSpace,
    Json(new): Json<NewShare>,
) -> HandlerResult<(StatusCode, Json<CreatedShare>)> {
    Ok((StatusCode::CREATED, Json(create_share(&owner, &new).await?)))
}

pub(crate) async fn revoke_share(
    State(app): State<App>,
    caller: Caller,
    reply: ReplyTo,
    Path(id): Path<String>,
) -> HandlerResult<Response> {
    take_back(&app, &caller, &id).await?;
    Ok(reply.answer_done("/shares", StatusCode::NO_CONTENT))
}
