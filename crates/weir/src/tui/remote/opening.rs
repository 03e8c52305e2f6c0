//! Opening a session of the server: one that exists, a copy, or a new one that begins with the first
//! message.

use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use weir_core::ids::{Seq, SessionId};
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;
use weir_tui::link::{About, Named, News, Which};

use super::desk::Ground;
use super::http::{Answer, Http, Trouble};
use super::{lists, pause};

/// Sessions that are looked through for the one whose name begins so.
const LOOKED_MAX: usize = 2_000;
/// Commands that are taken from a server.
const NAMED_MAX: usize = 1_000;

/// What a new session is to be like; what is `None` follows from the person's settings there.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct Draft {
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
    pub(super) usual: Usual,
}

/// The settings of a new session where nobody says anything.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Usual {
    model: String,
    profile: String,
    permission: PermissionMode,
    /// Unset it follows from the model, which only the server knows.
    thinking: Thinking,
}

impl Draft {
    /// What a new session would have.
    pub(super) fn told(&self) -> News {
        let usual = &self.usual;
        News::Settings {
            model: self.model.clone().unwrap_or_else(|| usual.model.clone()),
            profile: self.profile.clone().unwrap_or_else(|| usual.profile.clone()),
            permission: self.permission.unwrap_or(usual.permission),
            thinking: self.thinking.unwrap_or(usual.thinking),
        }
    }
}

/// A session that is to be shown.
pub(super) struct Opening {
    /// Which; `None`: a new one that does not exist yet.
    pub(super) session: Option<SessionId>,
    /// Facts that it has.
    pub(super) known: Seq,
    /// Its surroundings.
    pub(super) about: About,
    /// What can be typed as `/name`.
    pub(super) named: Vec<Named>,
    /// What a new one would be like.
    pub(super) draft: Draft,
}

/// What the server says of a session.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Info {
    id: SessionId,
    #[serde(default)]
    workspace: String,
    #[serde(default)]
    facts: Seq,
}

#[derive(Debug, Deserialize)]
struct Command {
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
pub(super) async fn open(ground: Ground, which: Which) -> Answer<Opening> {
    let http = ground.http.as_ref();
    match which {
        Which::New => fresh(&ground).await,
        Which::Existing(id) => existing(&ground, resolved(http, &id).await?).await,
        Which::Fork { of, before } => {
            let of = resolved(http, &of).await?.id;
            existing(&ground, forked(http, &of, before).await?).await
        }
    }
}

/// A copy of a session, up to and without the input at `before`.
///
/// # Errors
/// There is no such input.
pub(super) async fn forked(http: &Http, of: &SessionId, before: Option<Seq>) -> Answer<Info> {
    // The server finds where it was at rest before it: it may have been said while a run was on.
    http.post(&["sessions", of.as_str(), "fork"], &json!({ "before": before })).await
}

/// Removes a copy that is not opened after all. One that stays is in the list of sessions.
pub(super) async fn dropped(http: &Http, copy: &Info) {
    let _ = http.raw(Method::DELETE, &["sessions", copy.id.as_str()], &json!({})).await;
}

/// A new session as the draft wants it. It exists from now on.
///
/// # Errors
/// It is paused, or the draft names what there is not.
pub(super) async fn begun(ground: &Ground) -> Answer<Opening> {
    let info: Info = ground.http.post(&["sessions"], &ground.draft).await?;
    existing(ground, Info { facts: 0, ..info }).await
}

/// What the server says of this session, that which a copy of one is opened as too.
pub(super) async fn existing(ground: &Ground, info: Info) -> Answer<Opening> {
    let http = ground.http.as_ref();
    let id = info.id;
    let resume = format!("weir --attach {} --resume {id}", http.place);
    Ok(Opening {
        known: info.facts,
        about: about(ground, info.workspace, resume).await,
        named: named(http, Some(&id)).await,
        session: Some(id),
        draft: Draft { usual: ground.draft.usual.clone(), ..Draft::default() },
    })
}

async fn fresh(ground: &Ground) -> Answer<Opening> {
    let http = ground.http.as_ref();
    let usual = usual(http).await?;
    let resume = format!("weir --attach {}", http.place);
    Ok(Opening {
        session: None,
        known: 0,
        about: about(ground, "your folder".into(), resume).await,
        named: named(http, None).await,
        draft: Draft { usual, ..Draft::default() },
    })
}

async fn about(ground: &Ground, folder: String, resume: String) -> About {
    let http = ground.http.as_ref();
    let mut notes = vec![format!(
        "you are {} on {}; files and commands are the server's",
        ground.here.name, http.place
    )];
    // What cannot be asked now is no reason to open nothing.
    notes.extend(pause::state(http).await.unwrap_or_default().words());
    let server = Some(http.place.to_string());
    About { folder, branch: None, resume, server, notes, local: false }
}

async fn named(http: &Http, session: Option<&SessionId>) -> Vec<Named> {
    let query: Vec<(&str, &str)> = session.iter().map(|id| ("session", id.as_str())).collect();
    // An older server does not list them; whoever knows a name can type it all the same.
    let found: Vec<Command> = http.get(&["commands"], &query).await.unwrap_or_default();
    let named = found.into_iter().take(NAMED_MAX).map(|command| Named {
        name: command.name,
        about: command.about,
        hint: command.hint,
        kind: command.kind,
    });
    named.collect()
}

async fn usual(http: &Http) -> Answer<Usual> {
    let sheet: Value = http.get(&["settings"], &[]).await?;
    let items = sheet["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    let value = |key: &str| {
        let item = items.iter().find(|item| item["key"] == key);
        item.map(|item| item["value"].clone()).unwrap_or_default()
    };
    let text = |key: &str| value(key).as_str().unwrap_or_default().to_owned();
    Ok(Usual {
        model: text("model"),
        profile: text("profile"),
        permission: serde_json::from_value(value("permission")).unwrap_or_default(),
        thinking: serde_json::from_value(value("thinking")).unwrap_or_default(),
    })
}

/// The session of this name, of `last`, or the only one whose name begins so.
async fn resolved(http: &Http, id: &SessionId) -> Answer<Info> {
    let missing = match http.get::<Info>(&["sessions", id.as_str()], &[]).await {
        Err(trouble) if trouble.is_missing() => trouble,
        answer => return answer,
    };
    if id.as_str() == "last" {
        let mut lines: Vec<Value> = lists::all(http, (&["sessions"], &[]), LOOKED_MAX).await?;
        lines.sort_by_key(|line| line["updated"].as_str().unwrap_or_default().to_owned());
        let last = lines.pop().ok_or(missing)?;
        return serde_json::from_value(last).map_err(|e| Trouble::Strange(e.to_string()));
    }
    let all: Vec<Info> = lists::all(http, (&["sessions"], &[]), LOOKED_MAX).await?;
    let mut fit = all.into_iter().filter(|info| info.id.as_str().starts_with(id.as_str()));
    match (fit.next(), fit.next()) {
        (Some(info), None) => Ok(info),
        (Some(_), Some(_)) => Err(Trouble::Refused {
            status: 409,
            code: String::new(),
            why: format!("several sessions begin with {id}; write more of its name"),
        }),
        (None, _) => Err(missing),
    }
}
