//! What a chat is called, and whether it is pinned or put away (S7). A person's own name wins; else
//! the one that a helper model found after the first answer; else its first words.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weir_core::event::HelperAsked;
use weir_core::ids::SessionId;
use weir_core::input::SessionCommand;
use weir_engine::engine::EngineError;
use weir_engine::helper::HelperReply;
use weir_engine::host::TAKE_UP_ATTEMPTS;
use weir_engine::ports::{PutOutcome, RecordEntry};
use weir_install::user_space::UserSpace;

use super::fold;
use super::tell::session_unstable;
use super::{SessionKey, SessionLocation, SessionRequest};
use crate::app::App;
use crate::problem::{HandlerResult, ProblemDetails};

/// Kind of these entries.
pub(crate) const KIND: &str = "chat";
/// Longest title, in characters.
pub(crate) const TITLE_CHARS_MAX: usize = 120;
/// How often a change is tried against others of the same moment.
const ATTEMPTS_MAX: u32 = 8;

/// What is kept of a chat beside its journal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ChatMetadata {
    /// Its name, where it has one.
    #[serde(default)]
    pub(crate) title: Option<String>,
    /// A person gave it.
    #[serde(default)]
    pub(crate) named: bool,
    /// Kept at the top.
    #[serde(default)]
    pub(crate) pinned: bool,
    /// Put away.
    #[serde(default)]
    pub(crate) archived: bool,
}

/// What is kept of one chat.
///
/// # Errors
/// The database refuses.
pub(crate) async fn load_chat(app: &App, key: &SessionKey) -> HandlerResult<ChatMetadata> {
    let entry = app.records.get(KIND, key.as_str(), app.current_time()).await?;
    Ok(entry.map(|entry| parse_chat(&entry)).unwrap_or_default())
}

fn parse_chat(entry: &RecordEntry) -> ChatMetadata {
    serde_json::from_str(&entry.text).unwrap_or_default()
}

/// All of a person's, by the names of their sessions.
///
/// # Errors
/// The database refuses.
pub(crate) async fn load_all_chats(
    app: &App,
    space: &UserSpace,
) -> HandlerResult<HashMap<String, ChatMetadata>> {
    let found = app.records.list(KIND, Some(space.person().as_str()), app.current_time()).await?;
    let id = |entry: &RecordEntry| entry.name.rsplit('/').next().unwrap_or_default().to_owned();
    Ok(found.iter().map(|entry| (id(entry), parse_chat(entry))).collect())
}

/// Changes what is kept of a chat; others' changes of the same moment stay.
///
/// # Errors
/// The database refuses.
pub(crate) async fn change_chat(
    app: &App,
    space: &UserSpace,
    id: &SessionId,
    change: impl Fn(&mut ChatMetadata),
) -> HandlerResult<ChatMetadata> {
    let key = SessionKey::for_session(space, id);
    for _ in 0..ATTEMPTS_MAX {
        let entry = app.records.get(KIND, key.as_str(), app.current_time()).await?;
        let before = entry.as_ref().map(parse_chat).unwrap_or_default();
        let mut chat = before.clone();
        change(&mut chat);
        if chat == before {
            return Ok(chat);
        }
        let new = RecordEntry {
            kind: KIND.into(),
            name: key.as_str().into(),
            owner: space.person().0.clone(),
            text: serde_json::to_string(&chat).map_err(ProblemDetails::internal_failure)?,
            version: 0,
            expires: None,
            ts: app.current_time(),
        };
        let expected = entry.map_or(0, |entry| entry.version);
        if let PutOutcome::Kept(_) = app.records.put(&new, Some(expected)).await? {
            return Ok(chat);
        }
    }
    Err(ProblemDetails::conflict("others change this chat all the time; try again"))
}

/// Forgets what is kept beside a session that is removed.
///
/// # Errors
/// The database refuses.
pub(crate) async fn forget_chat(app: &App, space: &UserSpace, id: &SessionId) -> HandlerResult<()> {
    let key = SessionKey::for_session(space, id);
    app.chats.forget(&key);
    for kind in [KIND, super::bound_options::KIND, super::recovery::CRASH] {
        app.records.remove(kind, key.as_str()).await?;
    }
    super::begun::forget_begun(app, space, id).await
}

/// A title in one line, without what steers terminals; empty: none.
pub(crate) fn clean_title(title: &str) -> String {
    let line: Vec<&str> = title.split_whitespace().collect();
    let plain = line.join(" ");
    let plain = plain.trim_matches(|c: char| c == '"' || c == '*' || c == '#' || c == ' ');
    plain.chars().filter(|c| !c.is_control()).take(TITLE_CHARS_MAX).collect()
}

/// Names a chat after its first answer, where a helper model is set for it. Nothing waits for it.
pub(super) fn after_run(app: &App, space: &Arc<UserSpace>, id: &SessionId) {
    if !space.names_chats() {
        return;
    }
    let (app, space, id) = (app.clone(), space.clone(), id.clone());
    tokio::spawn(async move {
        if let Err(problem) = name_chat(&app, &space, &id).await {
            tracing::debug!(session = %id, why = %problem.detail, "a chat was not named");
        }
    });
}

async fn name_chat(app: &App, space: &Arc<UserSpace>, id: &SessionId) -> HandlerResult<()> {
    // A run that ends while the name of the one before is waited for asks, and pays, for none.
    let turn = app.sessions.opening_lock(&SessionKey::for_title(space, id));
    let Ok(_turn) = turn.try_lock() else { return Ok(()) };
    if load_chat(app, &SessionKey::for_session(space.as_ref(), id)).await?.title.is_some() {
        return Ok(());
    }
    let folded = fold::load_session_fold(space.store().as_ref(), id).await?;
    let said = folded.session.person_texts().first().cloned().unwrap_or_default();
    let answer = folded.session.last_run_finished().map(|f| f.text.clone()).unwrap_or_default();
    if said.is_empty() || answer.is_empty() {
        return Ok(());
    }
    let Some(asked) = space.suggest_title(id, &said, &answer).await? else { return Ok(()) };
    let HelperReply { text, usage, cost_usd } = asked;
    if !usage.is_nothing() {
        let asked = HelperAsked { work: "title".into(), usage, cost_usd };
        count_asked(SessionRequest::new(app, space, id), asked).await?;
    }
    let title = match text {
        Ok(text) => clean_title(&text),
        Err(why) => {
            tracing::debug!(session = %id, why, "a chat was not named");
            return Ok(());
        }
    };
    if title.is_empty() {
        return Ok(());
    }
    // A person may have named it meanwhile: theirs stays.
    change_chat(app, space.as_ref(), id, |chat| {
        if chat.title.is_none() {
            chat.title = Some(title.clone());
        }
    })
    .await?;
    Ok(())
}

/// Has the session count what its name used (R11), unless another program has it by now: the name is paid for,
/// and would be asked for once more. One that goes down in that moment is taken up again.
///
/// # Errors
/// The session cannot be opened, or does not keep it.
async fn count_asked(request: SessionRequest<'_>, asked: HelperAsked) -> HandlerResult<()> {
    for _ in 0..TAKE_UP_ATTEMPTS {
        let session = match request.app.sessions.take_session(request).await? {
            SessionLocation::Here(session) => session,
            SessionLocation::Elsewhere(holder) => {
                tracing::warn!(session = %request.session, holder, "what a name used is not counted");
                return Ok(());
            }
        };
        match session.handle().send_command(SessionCommand::Helped(asked.clone())).await {
            Err(EngineError::Stopped) => {
                session.handle().wait_until_ended().await;
            }
            done => return Ok(done?),
        }
    }
    Err(session_unstable(request.session))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s7_a_title_is_one_plain_line() {
        for (said, title) in [
            ("\"Fix the\n build\"", "Fix the build"),
            ("# Weekly review", "Weekly review"),
            ("a\u{1b}[31mb", "a[31mb"),
            ("  \n ", ""),
        ] {
            assert_eq!(clean_title(said), title);
        }
        assert_eq!(clean_title(&"x".repeat(500)).len(), TITLE_CHARS_MAX);
    }
}
