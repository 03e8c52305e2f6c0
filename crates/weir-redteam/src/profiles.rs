//! The profiles that a session of the bench may ask to go on with: the built-in ones.

use weir_core::profile::{PermissionMode, Profile, built_in_profiles};
use weir_core::prompt::PromptScene;
use weir_core::session::SessionConfig;
use weir_core::session::child::{self, BudgetShare};
use weir_core::tool::defer::{self, ToolLoading};
use weir_engine::ports::{ProfileSettings, Profiles};
use weir_engine::toolbox::Toolbox;

/// The built-in profile of this name.
///
/// # Errors
/// There is none.
pub(crate) fn built_in(name: &str) -> Result<Profile, String> {
    let profile = built_in_profiles().into_iter().find(|profile| profile.name == name);
    profile.ok_or_else(|| format!("there is no profile {name}"))
}

/// The tools of a profile: with their schemas, and by name only.
///
/// # Errors
/// Two tools have one name.
pub(crate) fn loading(
    profile: &Profile,
    mode: PermissionMode,
    window: u64,
) -> Result<ToolLoading, String> {
    let toolbox = Toolbox::new(weir_tools::built_in_tools()).map_err(|why| why.to_string())?;
    // The workspaces of the bench are no vaults.
    let idle = weir_tools::VAULT_TOOLS.iter().map(|name| (*name).to_owned());
    let toolbox = toolbox.without_use_for(idle);
    let visible = toolbox.visible_specs(profile, mode != PermissionMode::Plan);
    Ok(match profile.compact {
        true => defer::split_compact(visible),
        false => defer::split_loading(visible, window),
    })
}

/// The built-in profiles, over the settings that the session has.
pub(crate) struct OtherProfiles {
    /// The mode of a profile that names none.
    pub(crate) mode: PermissionMode,
}

impl Profiles for OtherProfiles {
    fn list(&self) -> Vec<(String, String)> {
        let listed = built_in_profiles().into_iter().filter(|profile| !profile.compact);
        listed.map(|p| (p.name, p.description)).collect()
    }

    fn profile_settings(
        &self,
        current: &SessionConfig,
        name: &str,
    ) -> Result<ProfileSettings, String> {
        let profile = built_in(name)?;
        let permission = profile.permission.unwrap_or(self.mode);
        let ToolLoading { loaded: tools, deferred } =
            loading(&profile, permission, current.model.window)?;
        let scene = PromptScene {
            profile: Some(profile.clone()),
            tools: tools.clone(),
            deferred: deferred.clone(),
            profiles: self.list(),
            ..PromptScene::default()
        };
        let system = weir_core::prompt::system_prompt(&scene).into();
        let config =
            SessionConfig { profile, permission, tools, deferred, system, ..current.clone() };
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
        let scene = PromptScene {
            child: true,
            profile: Some(config.profile.clone()),
            tools: config.tools.clone(),
            deferred: config.deferred.clone(),
            ..PromptScene::default()
        };
        let system = weir_core::prompt::system_prompt(&scene).into();
        let config = SessionConfig { system, ..config };
        Ok(ProfileSettings { config, model: None, notes: Vec::new() })
    }
}
