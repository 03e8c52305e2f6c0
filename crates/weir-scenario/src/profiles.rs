//! The profiles of a scenario: the built-in ones, over the settings that the session has. Not here:
//! what a switch means (the session), whether it passes (the gate).

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use weir_core::profile::{Limits, PermissionMode, Profile, built_in_profiles};
use weir_core::prompt::PromptScene;
use weir_core::session::SessionConfig;
use weir_core::session::child::{self, BudgetShare};
use weir_core::tool::ToolSpec;
use weir_core::tool::defer::{self, ToolLoading};
use weir_engine::ports::{ProfileSettings, Profiles};
use weir_engine::toolbox::Toolbox;

use crate::crash::{CrashPoint, Listener};
use crate::models::ModelScripts;

/// The tools of a profile but those that are `idle`: with their schemas, and by name only.
///
/// # Errors
/// Two tools have one name.
pub fn loading(
    profile: &Profile,
    permission: PermissionMode,
    window: u64,
    idle: &[String],
) -> anyhow::Result<ToolLoading> {
    let toolbox = Toolbox::new(weir_tools::built_in_tools())?.without_use_for(idle.iter().cloned());
    let visible = toolbox.visible_specs(profile, permission != PermissionMode::Plan);
    Ok(match profile.compact {
        true => defer::split_compact(visible),
        false => defer::split_loading(visible, window),
    })
}

/// Tools that search the web.
pub const OF_ENGINES: [&str; 2] = ["web_search", "anti_echo_search"];

/// Tools with nothing behind them in a scenario: nobody searches the web unless the scenario says what is
/// found, and those of a vault in a folder that is none.
pub fn idle_tool_names(folder: impl AsRef<Path>) -> Vec<String> {
    let of_vault = match weir_engine::scene::kind_of(folder.as_ref()) {
        Some("notes") => &[],
        _ => weir_tools::VAULT_TOOLS,
    };
    OF_ENGINES.iter().chain(of_vault).map(|name| (*name).to_owned()).collect()
}

/// Names and descriptions of the profiles that a scenario has.
pub fn listed() -> Vec<(String, String)> {
    let listed = built_in_profiles().into_iter().filter(|profile| !profile.compact);
    listed.map(|p| (p.name, p.description)).collect()
}

/// What the system prompt of a session is made of.
pub fn scene(
    profile: &Profile,
    tools: &Arc<Vec<ToolSpec>>,
    deferred: &Arc<Vec<ToolSpec>>,
    canary: Option<&str>,
) -> PromptScene {
    PromptScene {
        profile: Some(profile.clone()),
        tools: tools.clone(),
        deferred: deferred.clone(),
        profiles: listed(),
        canary: canary.map(String::from),
        ..PromptScene::default()
    }
}

/// The built-in profiles, and the models of the scenario.
pub struct FakeProfiles {
    /// The mode of a profile that names none.
    pub permission: PermissionMode,
    /// The bounds, where a profile names none.
    pub limits: Limits,
    /// Every model.
    pub(crate) models: ModelScripts,
    /// Where the program dies.
    pub(crate) point: Arc<CrashPoint>,
    /// Hears every request.
    pub(crate) listener: Listener,
    /// Tools that the session is not told of.
    pub(crate) idle: Vec<String>,
}

#[async_trait]
impl Profiles for FakeProfiles {
    fn list(&self) -> Vec<(String, String)> {
        listed()
    }

    fn profile_settings(
        &self,
        current: &SessionConfig,
        name: &str,
    ) -> Result<ProfileSettings, String> {
        let profile = built_in_profiles().into_iter().find(|profile| profile.name == name);
        let profile = profile.ok_or_else(|| format!("there is no profile {name}"))?;
        let permission = profile.permission.unwrap_or(self.permission);
        let ToolLoading { loaded: tools, deferred } = loading(
            &profile,
            permission,
            current.model.window,
            &idle_tool_names(&current.workspace),
        )
        .map_err(|why| why.to_string())?;
        let mut scene = scene(&profile, &tools, &deferred, current.guards.canary.as_deref());
        scene.window = current.model.window;
        let max_iterations = profile.max_iterations.unwrap_or(self.limits.max_iterations);
        let limits = Limits { max_iterations, ..self.limits };
        let system = weir_core::prompt::system_prompt(&scene).into();
        let config = SessionConfig {
            profile,
            permission,
            tools,
            deferred,
            system,
            limits,
            ..current.clone()
        };
        Ok(ProfileSettings { config, model: None, notes: Vec::new() })
    }

    fn child_settings(
        &self,
        current: &SessionConfig,
        name: &str,
    ) -> Result<ProfileSettings, String> {
        let own = match name == current.profile.name {
            true => current.clone(),
            false => self.profile_settings(current, name)?.config,
        };
        let config = child::child_config(current, &own, &BudgetShare::default());
        let canary = config.guards.canary.as_deref();
        let mut scene = scene(&config.profile, &config.tools, &config.deferred, canary);
        (scene.window, scene.child) = (config.model.window, true);
        let system = weir_core::prompt::system_prompt(&scene).into();
        let config = SessionConfig { system, ..config };
        Ok(ProfileSettings { config, model: None, notes: Vec::new() })
    }

    async fn model_settings(
        &self,
        current: &SessionConfig,
        name: &str,
    ) -> Result<ProfileSettings, String> {
        self.point.cross().await;
        let model = self.models.model(name, &self.point, &self.listener)?;
        let info = model.info();
        let (profile, permission) = (&current.profile, current.permission);
        let ToolLoading { loaded: tools, deferred } = match info.takes_tools() {
            true => loading(profile, permission, info.window, &self.idle)
                .map_err(|why| why.to_string())?,
            false => ToolLoading::default(),
        };
        let mut scene = scene(profile, &tools, &deferred, current.guards.canary.as_deref());
        (scene.window, scene.child) = (info.window, current.depth > 0);
        let system = weir_core::prompt::system_prompt(&scene).into();
        let model_info = info.as_ref().clone();
        let config =
            SessionConfig { model: model_info, tools, deferred, system, ..current.clone() };
        Ok(ProfileSettings { config, model: Some(model), notes: Vec::new() })
    }
}
