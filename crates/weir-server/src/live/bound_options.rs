//! In which surroundings a session was begun, where those are not a person's own: they bind it each
//! time that it is taken up again (T3). Kept beside the session, before it exists.

use serde::{Deserialize, Serialize};
use weir_core::schedule::ScheduledAgent;
use weir_engine::ports::RecordEntry;
use weir_install::user_space::{SessionContext, SessionPreferences, UserSpace};

use super::SessionKey;
use crate::app::App;
use crate::problem::{HandlerResult, ProblemDetails};

/// Kind of these entries.
pub(super) const KIND: &str = "session_wish";

/// What of what a person wants binds a session for ever.
#[derive(Debug, Default, Serialize, Deserialize)]
struct BoundOptions {
    context: String,
    #[serde(default)]
    only_tools: Option<Vec<String>>,
    #[serde(default)]
    budget_usd: Option<f64>,
    #[serde(default)]
    max_tool_calls: Option<u32>,
    #[serde(default)]
    agent: Option<Box<ScheduledAgent>>,
}

fn context_word(context: SessionContext) -> &'static str {
    match context {
        SessionContext::Interactive => "interactive",
        SessionContext::Scheduled => "scheduled",
        SessionContext::Injected => "injected",
    }
}

/// Keeps what of `preferences` binds the session. Durable when it returns.
///
/// # Errors
/// The database refuses.
pub(super) async fn store_bound_options(
    app: &App,
    space: &UserSpace,
    key: &SessionKey,
    preferences: &SessionPreferences,
) -> HandlerResult<()> {
    let SessionPreferences { context, only_tools, budget_usd, max_tool_calls, agent, .. } =
        preferences.clone();
    let bound = only_tools.is_some() || budget_usd.is_some() || max_tool_calls.is_some();
    if super::is_interactive(preferences) && !bound {
        return Ok(());
    }
    let context = context_word(context).into();
    let kept = BoundOptions { context, only_tools, budget_usd, max_tool_calls, agent };
    let entry = RecordEntry {
        kind: KIND.into(),
        name: key.as_str().into(),
        owner: space.person().0.clone(),
        text: serde_json::to_string(&kept).map_err(ProblemDetails::internal_failure)?,
        version: 0,
        expires: None,
        ts: app.current_time(),
    };
    app.records.put(&entry, None).await?;
    Ok(())
}

/// What binds the session.
///
/// # Errors
/// The database refuses, or it holds what cannot be read: then nothing is opened.
pub(super) async fn load_bound_options(
    app: &App,
    key: &SessionKey,
) -> HandlerResult<SessionPreferences> {
    let Some(entry) = app.records.get(KIND, key.as_str(), app.current_time()).await? else {
        return Ok(SessionPreferences::default());
    };
    let kept: BoundOptions =
        serde_json::from_str(&entry.text).map_err(ProblemDetails::internal_failure)?;
    let context = match kept.context.as_str() {
        "interactive" => SessionContext::Interactive,
        "scheduled" => SessionContext::Scheduled,
        "injected" => SessionContext::Injected,
        other => {
            return Err(ProblemDetails::internal_failure(format!(
                "unknown surroundings {other:?}"
            )));
        }
    };
    let BoundOptions { only_tools, budget_usd, max_tool_calls, agent, .. } = kept;
    let preferences =
        SessionPreferences { context, only_tools, budget_usd, ..SessionPreferences::default() };
    Ok(SessionPreferences { max_tool_calls, agent, ..preferences })
}

/// New preferences for a session that is bound: it loosens nothing.
pub(super) fn join_bound_options(
    preferences: SessionPreferences,
    own: &SessionPreferences,
) -> SessionPreferences {
    SessionPreferences {
        context: own.context,
        only_tools: own.only_tools.clone(),
        budget_usd: own.budget_usd,
        max_tool_calls: own.max_tool_calls,
        agent: own.agent.clone(),
        ..preferences
    }
}
