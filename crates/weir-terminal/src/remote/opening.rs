//! Opening a session of the server: one that exists, a copy, or a new one that begins with the first
//! message.

use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use weir_core::ids::{Seq, SessionId};
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;
use weir_core::session::SNAPSHOT_FORMAT;
use weir_core::view::transcript::SettledTranscript;
use weir_tui::link::{OpenSessionInfo, SessionTarget, SlashCommandInfo, UiUpdate};

use super::controller::RequestContext;
use super::http::{ApiResult, RequestError, ServerClient};
use super::{lists, pause};
use crate::local::FirstTold;

/// Sessions that are looked through for the one whose name begins so.
const LOOKED_MAX: usize = 2_000;
/// Facts of a session from which on it is told from a later place: fewer are there in a moment.
const FACTS_MIN: Seq = 1_000;
/// Commands that are taken from a server.
const NAMED_MAX: usize = 1_000;

/// What a new session is to be like; what is `None` follows from the person's settings there.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct SessionDraft {
    /// `provider/name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<String>,
    /// Name of a profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) profile: Option<String>,
    /// Permission mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) permission: Option<PermissionMode>,
    /// How much the model thinks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thinking: Option<Thinking>,
    /// What the settings say where nothing was chosen.
    #[serde(skip)]
    pub(super) usual: DefaultSettings,
}

/// The settings of a new session where nobody says anything.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct DefaultSettings {
    model: String,
    profile: String,
    permission: PermissionMode,
    /// Unset it follows from the model, which only the server knows.
    thinking: Thinking,
}

impl SessionDraft {
    /// What a new session would have.
    pub(super) fn settings_update(&self) -> UiUpdate {
        let usual = &self.usual;
        UiUpdate::Settings {
            model: self.model.clone().unwrap_or_else(|| usual.model.clone()),
            profile: self.profile.clone().unwrap_or_else(|| usual.profile.clone()),
            permission: self.permission.unwrap_or(usual.permission),
            thinking: self.thinking.unwrap_or(usual.thinking),
        }
    }
}

/// A session that is to be shown.
pub(super) struct SessionOpening {
    /// Which; `None`: a new one that does not exist yet.
    pub(super) session: Option<SessionId>,
    /// Facts that it has.
    pub(super) known: Seq,
    /// Its surroundings.
    pub(super) about: OpenSessionInfo,
    /// What can be typed as `/name`.
    pub(super) named: Vec<SlashCommandInfo>,
    /// What a new one would be like.
    pub(super) draft: SessionDraft,
    /// The place from which on its facts are told; `None`: from the first on.
    pub(super) start: Option<Box<SettledTranscript>>,
}

/// What the server says of a session.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct RemoteSessionInfo {
    id: SessionId,
    #[serde(default)]
    workspace: String,
    #[serde(default)]
    facts: Seq,
}

/// What the server says of the place from which on a session can be told.
#[derive(Debug, Deserialize)]
struct RemoteStart {
    #[serde(default)]
    format: String,
    #[serde(default)]
    seen: Value,
}

#[derive(Debug, Deserialize)]
struct SlashCommandEntry {
    name: String,
    #[serde(default)]
    about: String,
    #[serde(default)]
    hint: String,
    #[serde(default)]
    kind: String,
}

/// Opens one.
///
/// # Errors
/// There is none of this person's, or it cannot be copied there.
pub(super) async fn open_session(
    context: RequestContext,
    which: SessionTarget,
) -> ApiResult<SessionOpening> {
    let http = context.http.as_ref();
    match which {
        SessionTarget::New => prepare_new_session(&context).await,
        SessionTarget::Existing(id) => {
            open_existing(&context, resolve_session(http, &id).await?).await
        }
        SessionTarget::Fork { of, before } => {
            let of = resolve_session(http, &of).await?.id;
            open_existing(&context, fork_session(http, &of, before).await?).await
        }
    }
}

/// A copy of a session, up to and without the input at `before`.
///
/// # Errors
/// There is no such input.
pub(super) async fn fork_session(
    http: &ServerClient,
    of: &SessionId,
    before: Option<Seq>,
) -> ApiResult<RemoteSessionInfo> {
    // The server finds where it was at rest before it: it may have been said while a run was on.
    http.post_json(&["sessions", of.as_str(), "fork"], &json!({ "before": before })).await
}

/// Removes a copy that is not opened after all. One that stays is in the list of sessions.
pub(super) async fn remove_unused_fork(http: &ServerClient, copy: &RemoteSessionInfo) {
    let _ =
        http.send_for_response(Method::DELETE, &["sessions", copy.id.as_str()], &json!({})).await;
}

/// A new session as the draft wants it. It exists from now on.
///
/// # Errors
/// It is paused, or the draft names what there is not.
pub(super) async fn create_session(context: &RequestContext) -> ApiResult<SessionOpening> {
    let info: RemoteSessionInfo = context.http.post_json(&["sessions"], &context.draft).await?;
    open_existing(context, RemoteSessionInfo { facts: 0, ..info }).await
}

/// What the server says of this session, that which a copy of one is opened as too.
pub(super) async fn open_existing(
    context: &RequestContext,
    info: RemoteSessionInfo,
) -> ApiResult<SessionOpening> {
    let http = context.http.as_ref();
    let id = info.id;
    let resume = format!("weir --attach {} --resume {id}", http.address);
    Ok(SessionOpening {
        known: info.facts,
        about: describe_surroundings(context, info.workspace, resume).await,
        named: fetch_named_commands(http, Some(&id)).await,
        start: fetch_start(context, &id, info.facts).await,
        session: Some(id),
        draft: SessionDraft { usual: context.draft.usual.clone(), ..SessionDraft::default() },
    })
}

async fn prepare_new_session(context: &RequestContext) -> ApiResult<SessionOpening> {
    let http = context.http.as_ref();
    let usual = fetch_default_settings(http).await?;
    let resume = format!("weir --attach {}", http.address);
    Ok(SessionOpening {
        session: None,
        known: 0,
        about: describe_surroundings(context, "your folder".into(), resume).await,
        named: fetch_named_commands(http, None).await,
        draft: SessionDraft { usual, ..SessionDraft::default() },
        start: None,
    })
}

/// A place from which on a session of so many facts can be told. A server that knows none, or whose
/// form is another, tells it from its first fact on.
async fn fetch_start(
    context: &RequestContext,
    id: &SessionId,
    facts: Seq,
) -> Option<Box<SettledTranscript>> {
    if context.told_from == FirstTold::FirstFact || facts < FACTS_MIN {
        return None;
    }
    let asked = context.http.get::<RemoteStart>(&["sessions", id.as_str(), "start"], &[]).await;
    let found = asked.ok().filter(|found| found.format == SNAPSHOT_FORMAT)?;
    let seen: SettledTranscript = serde_json::from_value(found.seen).ok()?;
    let place = seen.settled_place().seq;
    (place > 0 && place < facts).then(|| Box::new(seen))
}

async fn describe_surroundings(
    context: &RequestContext,
    folder: String,
    resume: String,
) -> OpenSessionInfo {
    let http = context.http.as_ref();
    let mut notes = vec![format!(
        "you are {} on {}; files and commands are the server's",
        context.here.name, http.address
    )];
    // What cannot be asked now is no reason to open nothing.
    notes.extend(pause::fetch_pause_state(http).await.unwrap_or_default().pause_text());
    let server = Some(http.address.to_string());
    OpenSessionInfo { folder, branch: None, resume, server, notes, first_start: None, local: false }
}

async fn fetch_named_commands(
    http: &ServerClient,
    session: Option<&SessionId>,
) -> Vec<SlashCommandInfo> {
    let query: Vec<(&str, &str)> = session.iter().map(|id| ("session", id.as_str())).collect();
    // An older server does not list them; whoever knows a name can type it all the same.
    let found: Vec<SlashCommandEntry> = http.get(&["commands"], &query).await.unwrap_or_default();
    let named = found.into_iter().take(NAMED_MAX).map(|command| SlashCommandInfo {
        name: command.name,
        about: command.about,
        hint: command.hint,
        kind: command.kind,
    });
    named.collect()
}

async fn fetch_default_settings(http: &ServerClient) -> ApiResult<DefaultSettings> {
    let sheet: Value = http.get(&["settings"], &[]).await?;
    let items = sheet["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    let value = |key: &str| {
        let item = items.iter().find(|item| item["key"] == key);
        item.map(|item| item["value"].clone()).unwrap_or_default()
    };
    let text = |key: &str| value(key).as_str().unwrap_or_default().to_owned();
    Ok(DefaultSettings {
        model: text("model"),
        profile: text("profile"),
        permission: serde_json::from_value(value("permission")).unwrap_or_default(),
        thinking: serde_json::from_value(value("thinking")).unwrap_or_default(),
    })
}

/// The session of this name, of `last`, or the only one whose name begins so.
async fn resolve_session(http: &ServerClient, id: &SessionId) -> ApiResult<RemoteSessionInfo> {
    let missing = match http.get::<RemoteSessionInfo>(&["sessions", id.as_str()], &[]).await {
        Err(trouble) if trouble.is_missing() => trouble,
        answer => return answer,
    };
    if id.as_str() == "last" {
        let mut lines: Vec<Value> =
            lists::fetch_whole_list(http, &["sessions"], &[], LOOKED_MAX).await?;
        lines.sort_by_key(|line| line["updated"].as_str().unwrap_or_default().to_owned());
        let last = lines.pop().ok_or(missing)?;
        return serde_json::from_value(last).map_err(|e| RequestError::Strange(e.to_string()));
    }
    let all: Vec<RemoteSessionInfo> =
        lists::fetch_whole_list(http, &["sessions"], &[], LOOKED_MAX).await?;
    let mut fit = all.into_iter().filter(|info| info.id.as_str().starts_with(id.as_str()));
    match (fit.next(), fit.next()) {
        (Some(info), None) => Ok(info),
        (Some(_), Some(_)) => Err(RequestError::Refused {
            status: 409,
            code: String::new(),
            why: format!("several sessions begin with {id}; write more of its name"),
        }),
        (None, _) => Err(missing),
    }
}
