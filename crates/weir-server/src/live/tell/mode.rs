//! Another permission mode for a run that is on: a person who sees what it does lets more or less of
//! it pass from now on (F1). Not here: settings that change between runs.

use std::sync::Arc;

use weir_core::input::PersonCommand;
use weir_core::profile::PermissionMode;
use weir_engine::engine::EngineError;
use weir_install::user_space::SessionPreferences;

use super::super::{SessionKey, SessionRequest, bound_options};
use crate::problem::{HandlerResult, ProblemDetails};
use crate::session_registry::ServerSessions;

/// The mode, where nothing else is wished for.
fn only_permission_mode(preferences: &SessionPreferences) -> Option<PermissionMode> {
    let SessionPreferences { workspace, model, profile, thinking, permission, .. } = preferences;
    let others = workspace.is_some() || model.is_some() || profile.is_some() || thinking.is_some();
    permission.filter(|_| !others)
}

impl ServerSessions {
    /// Changes the mode of the run that is on here; `false`: there is none here, or more than the
    /// mode is to change.
    ///
    /// # Errors
    /// The mode changes only between runs, or cannot be had.
    pub(super) async fn mode_changed(
        &self,
        request: SessionRequest<'_>,
        preferences: &SessionPreferences,
    ) -> HandlerResult<bool> {
        let SessionRequest { app, space, session: id } = request;
        let (Some(_), Some(server_session)) =
            (only_permission_mode(preferences), self.find_session_here(space.as_ref(), id))
        else {
            return Ok(false);
        };
        let state = server_session.live.read_state(|state| (state.run, state.config.clone()));
        let (Some(_), Some(kept)) = state else { return Ok(false) };
        // What somebody may have is decided where all settings are, as between runs.
        let own =
            bound_options::load_bound_options(app, &SessionKey::for_session(space.as_ref(), id))
                .await?;
        let preferences = bound_options::join_bound_options(preferences.clone(), &own);
        let mode =
            space.session_options(&preferences, Some(kept.as_ref())).await?.config.permission;
        if kept.permission == mode {
            return Ok(true);
        }
        let mut config = kept.as_ref().clone();
        config.permission = mode;
        let reason = format!("permission mode {mode}");
        let configure = PersonCommand::Configure { reason, config: Arc::new(config) };
        match server_session.handle().tell_session(space.person().0.as_str(), configure).await {
            Ok(()) => Ok(true),
            Err(EngineError::Stopped) => Ok(false),
            Err(EngineError::Refused(_)) => Err(ProblemDetails::conflict(
                "a run is on: to and from the mode `plan` leads only the time between runs",
            )),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_only_the_mode_alone_changes_while_a_run_is_on() {
        let mode = |permission| SessionPreferences { permission, ..SessionPreferences::default() };
        let ask = Some(PermissionMode::Ask);
        let model = Some("a/b".to_owned());
        for (preferences, expected) in [
            (mode(None), None),
            (mode(ask), ask),
            (SessionPreferences { model: model.clone(), ..mode(ask) }, None),
            (SessionPreferences { profile: model.clone(), ..mode(ask) }, None),
            (SessionPreferences { workspace: model, ..mode(ask) }, None),
        ] {
            assert_eq!(only_permission_mode(&preferences), expected, "{preferences:?}");
        }
    }
}
