//! The kill switch (S4): of one person, which is their store's own, and of the installation, which
//! every user space honours, also one that is opened later or at another replica.

use std::sync::Arc;

use futures::StreamExt as _;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use weir_engine::ports::{RecordEntry, StorePause};
use weir_install::people::Person;
use weir_install::user_space::UserSpace;

use crate::app::App;
use crate::problem::{HandlerResult, ProblemDetails};

/// Kind and name of the entry that stops the installation.
const KIND: &str = "pause";
const ALL: &str = "all";
/// User spaces that are stopped at once.
const AT_ONCE: usize = 8;

/// The installation's switch, as it is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct StoredPause {
    pause: StorePause,
}

/// Whether the whole installation is paused.
///
/// # Errors
/// The database refuses, or holds what cannot be read: then nothing runs.
pub(crate) async fn of_installation(app: &App) -> HandlerResult<Option<StorePause>> {
    let Some(entry) = app.records.get(KIND, ALL, app.current_time()).await? else {
        return Ok(None);
    };
    let kept: StoredPause =
        serde_json::from_str(&entry.text).map_err(ProblemDetails::internal_failure)?;
    Ok(Some(kept.pause))
}

/// What stops the sessions of a user space now.
///
/// # Errors
/// The database refuses: then nothing runs.
pub(crate) async fn of_space(app: &App, space: &UserSpace) -> HandlerResult<Option<StorePause>> {
    match of_installation(app).await? {
        Some(pause) => Ok(Some(pause)),
        None => Ok(space.store().pause_state().await?),
    }
}

/// Refuses while the user space or the installation is paused.
///
/// # Errors
/// It is, with who and since when; or the database refuses.
pub(crate) async fn may_run(app: &App, space: &UserSpace) -> HandlerResult<()> {
    let Some(pause) = of_space(app, space).await? else { return Ok(()) };
    let StorePause { since, by, reason } = pause;
    let because = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    Err(ProblemDetails::new(
        StatusCode::CONFLICT,
        "paused",
        format!("paused since {since} by {by}{because}; release it to go on"),
    ))
}

/// Pauses the installation: the switch first, then every user space, so that whoever opens one in
/// between finds the switch.
///
/// # Errors
/// The database refuses, or a user space could not be reached: the switch is thrown all the same.
pub(crate) async fn pause_all(app: &App, pause: &StorePause) -> HandlerResult<()> {
    let entry = RecordEntry {
        kind: KIND.into(),
        name: ALL.into(),
        owner: String::new(),
        text: serde_json::to_string(&StoredPause { pause: pause.clone() })
            .map_err(ProblemDetails::internal_failure)?,
        version: 0,
        expires: None,
        ts: app.current_time(),
    };
    app.records.put(&entry, None).await?;
    each_space(app, |space| {
        let pause = pause.clone();
        async move {
            let store = space.store();
            // Who paused their own user space keeps it paused when the installation goes on.
            if store.pause_state().await?.is_none() {
                store.set_paused(Some(pause)).await?;
            }
            Ok(())
        }
    })
    .await
}

/// Lets the installation go on. User spaces that their person paused stay so.
///
/// # Errors
/// The database refuses, or a user space could not be reached.
pub(crate) async fn release_all(app: &App) -> HandlerResult<()> {
    let Some(installation) = of_installation(app).await? else { return Ok(()) };
    app.records.remove(KIND, ALL).await?;
    each_space(app, |space| {
        let installation = installation.clone();
        async move {
            let store = space.store();
            if store.pause_state().await? == Some(installation) {
                store.set_paused(None).await?;
            }
            Ok(())
        }
    })
    .await
}

async fn each_space<F>(app: &App, act: impl Fn(Arc<UserSpace>) -> F) -> HandlerResult<()>
where
    F: Future<Output = HandlerResult<()>>,
{
    let people = super::recovery::list_active_people(app).await?;
    let act = &act;
    let one = |person: Person| async move {
        let space = app.user_space(&person).await?;
        act(space).await
    };
    let done: Vec<HandlerResult<()>> =
        futures::stream::iter(people).map(one).buffer_unordered(AT_ONCE).collect().await;
    done.into_iter().collect()
}
