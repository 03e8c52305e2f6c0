//! The profiles of a session, and what another one would give it (P7). Not here: what a profile is
//! (`weir_core::profile`).

use std::sync::Arc;

use async_trait::async_trait;
use weir_core::session::SessionConfig;

use super::Model;

/// A profile that the agent may propose to go on with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileLine {
    /// Name of the profile.
    pub name: String,
    /// One line about it.
    pub description: String,
    /// It is the one that the session has.
    pub present: bool,
    /// The rights that the profile has and the present one has not, in words; empty: none. Or why
    /// it cannot be used.
    pub widens: Result<Vec<String>, String>,
}

/// The settings that another profile gives a session.
#[derive(Clone)]
pub struct ProfileSettings {
    /// All settings from now on.
    pub config: SessionConfig,
    /// The model that they name, where it is another than before.
    pub model: Option<Arc<dyn Model>>,
    /// What of the profile could not be had: a sentence each.
    pub notes: Vec<String>,
}

/// The profiles of a session, and the settings that each would give it (P7).
#[async_trait]
pub trait Profiles: Send + Sync {
    /// All of them: name and description.
    fn list(&self) -> Vec<(String, String)>;
    /// The settings of a session that has `current` and goes on as `name`. Called whenever a
    /// profile is asked about, and again when the switch is made: the answer must be the same, and
    /// quick.
    ///
    /// # Errors
    /// There is no such profile, or it cannot be used: a sentence.
    fn profile_settings(
        &self,
        current: &SessionConfig,
        name: &str,
    ) -> Result<ProfileSettings, String>;
    /// The settings of a sub-agent of a session that has `current`, with the profile `name` and the
    /// prompt of a sub-agent (M6). Whatever they say, it gets no more than `current` has.
    ///
    /// # Errors
    /// There is no such profile, or it cannot be used: a sentence.
    fn child_settings(
        &self,
        current: &SessionConfig,
        name: &str,
    ) -> Result<ProfileSettings, String>;
    /// The settings of a session that has `current` and goes on with the model of this name (V8), and that
    /// model. A server of one's own may be asked what it holds, so this takes a moment.
    ///
    /// # Errors
    /// It cannot be spoken with here: a sentence.
    async fn model_settings(
        &self,
        _current: &SessionConfig,
        model: &str,
    ) -> Result<ProfileSettings, String> {
        Err(format!("{model} cannot be made ready here"))
    }
}

/// No profile but the session's own.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProfiles;

impl Profiles for NoProfiles {
    fn list(&self) -> Vec<(String, String)> {
        Vec::new()
    }
    fn profile_settings(&self, _: &SessionConfig, name: &str) -> Result<ProfileSettings, String> {
        Err(format!("there is no profile {name} here"))
    }
    fn child_settings(&self, _: &SessionConfig, name: &str) -> Result<ProfileSettings, String> {
        Err(format!("there is no profile {name} here"))
    }
}
