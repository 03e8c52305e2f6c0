//! Which chat a first message began, by the name that it was sent under: sent again because its answer
//! was lost on the way, it begins no second chat. Not here: beginning the chat, and saying the message
//! once (`tell`).

use tokio::sync::OwnedMutexGuard;
use weir_core::ids::SessionId;
use weir_engine::ports::{PutOutcome, RecordEntry};
use weir_install::user_space::UserSpace;

use super::SessionKey;
use crate::app::App;
use crate::auth::secret;
use crate::problem::{HandlerResult, ProblemDetails};

/// Kind of these entries.
const KIND: &str = "chat_begun";
/// How long it is known, in milliseconds: whoever sends again does so in the same day.
const KEPT_MS: u64 = 24 * 3_600_000;

/// Names come from outside: an entry has the digest of one.
fn entry_name(space: &UserSpace, message: &str) -> String {
    format!("{}/{}", space.person(), secret::secret_digest(message))
}

/// The turn to begin a chat with the message of this name. Of two tries at one moment the second waits for
/// what becomes of the first: refused, it would forget the chat that the first begins.
pub(crate) async fn take_turn(app: &App, space: &UserSpace, message: &str) -> OwnedMutexGuard<()> {
    let key = SessionKey::for_first_message(space, &secret::secret_digest(message));
    app.sessions.opening_lock(&key).lock_owned().await
}

/// The name of the chat that the message of this name begins: the same each time.
///
/// # Errors
/// The database refuses.
pub(crate) async fn reserve_session(
    app: &App,
    space: &UserSpace,
    message: &str,
) -> HandlerResult<SessionId> {
    let id = space.new_session();
    let now = app.current_time();
    let entry = RecordEntry {
        kind: KIND.into(),
        name: entry_name(space, message),
        owner: space.person().0.clone(),
        text: serde_json::to_string(&id).map_err(ProblemDetails::internal_failure)?,
        version: 0,
        expires: Some(now.plus_ms(KEPT_MS)),
        ts: now,
    };
    if let PutOutcome::Kept(_) = app.records.put(&entry, Some(0)).await? {
        return Ok(id);
    }
    let kept = app.records.get(KIND, &entry.name, now).await?;
    let kept = kept.ok_or_else(|| {
        ProblemDetails::conflict("the same message was refused just now; send it again")
    })?;
    serde_json::from_str(&kept.text).map_err(ProblemDetails::internal_failure)
}

/// Forgets it: the message was refused, so that another chat may begin with it.
///
/// # Errors
/// The database refuses.
pub(crate) async fn forget_session(
    app: &App,
    space: &UserSpace,
    message: &str,
) -> HandlerResult<()> {
    app.records.remove(KIND, &entry_name(space, message)).await?;
    Ok(())
}

/// Forgets which message began a chat that is deleted: sent once more, it begins another one, which links to
/// the old one do not show.
///
/// # Errors
/// The database refuses.
pub(super) async fn forget_begun(
    app: &App,
    space: &UserSpace,
    id: &SessionId,
) -> HandlerResult<()> {
    let begun = app.records.list(KIND, Some(space.person().as_str()), app.current_time()).await?;
    for entry in begun {
        if serde_json::from_str::<SessionId>(&entry.text).is_ok_and(|chat| chat == *id) {
            app.records.remove(KIND, &entry.name).await?;
        }
    }
    Ok(())
}
