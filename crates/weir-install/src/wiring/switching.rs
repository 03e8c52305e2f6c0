//! What another profile would give a session that is under way: the port
//! [`weir_engine::ports::Profiles`] over this program's profiles and settings (P7).
//!
//! Everything is as it was when the session was taken up: a file that changes meanwhile changes
//! nothing. Not here: whether a switch passes (gate `switch`), and making it (the session).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use weir_core::model::ModelInfo;
use weir_core::profile::{Limits, PermissionMode, Profile};
use weir_core::prompt::PromptScene;
use weir_core::routing::ModelRouting;
use weir_core::session::SessionConfig;
use weir_core::session::child::{self, BudgetShare};
use weir_core::tool::defer::ToolLoading;
use weir_engine::ports::{Model, ProfileSettings, Profiles};
use weir_engine::toolbox::Toolbox;
use weir_engine::workspace::Workspace;

use crate::context::InstallationContext;
use crate::models::{self, WindowNotice};
use crate::profiles::{self, LoadedProfile};

use super::SessionOverrides;

/// Asks the servers of local models that profiles name which windows hold: a switch to one does not wait for
/// that, and must not guess.
///
/// # Errors
/// A file of the person's own that cannot be understood.
pub(super) async fn ask_profile_windows(
    cx: &InstallationContext,
    wishes: &SessionOverrides,
) -> anyhow::Result<()> {
    // A flag says which model it is, whatever the profile.
    if wishes.model.is_some() {
        return Ok(());
    }
    let loaded = cx.loaded_profiles()?.iter();
    let names = loaded.filter_map(|loaded| loaded.profile.model.as_deref()).collect();
    models::ask_windows_ahead(cx, names, WindowNotice::Never).await;
    Ok(())
}

/// A model of a profile, or why it cannot be asked.
type ProfileModelResult = Result<Arc<dyn Model>, String>;

/// The profiles of one session.
pub(super) struct SessionProfiles {
    /// The program as it was: settings, keys, folder.
    cx: InstallationContext,
    wishes: SessionOverrides,
    toolbox: Arc<Toolbox>,
    loaded: Arc<[LoadedProfile]>,
    /// What the system prompt is made of, beside the profile.
    base: PromptScene,
    /// Models that profiles name, made when first needed: connections are not for nothing.
    models: Mutex<HashMap<String, ProfileModelResult>>,
}

impl SessionProfiles {
    /// Those of the folder that `cx` works in, without those of the workspace that are closed; the person
    /// is told of them.
    ///
    /// # Errors
    /// A file of the person's own that cannot be understood.
    pub(super) fn new(
        cx: &InstallationContext,
        wishes: &SessionOverrides,
        toolbox: &Arc<Toolbox>,
        workspace: &Workspace,
    ) -> anyhow::Result<Self> {
        let is_open = |loaded: &&LoadedProfile| {
            let why = profiles::closed_reason(cx, loaded, workspace);
            if let Some(why) = &why {
                cx.notify(&format!(
                    "warning: {}: the profile {} is left out: {why}",
                    loaded.source, loaded.profile.name
                ));
            }
            why.is_none()
        };
        let narrow = |loaded: &LoadedProfile| LoadedProfile {
            profile: super::mcp::without_unnamed_servers(
                wishes.narrow_profile(loaded.profile.clone()),
                &loaded.mcp_servers,
                toolbox,
            ),
            ..loaded.clone()
        };
        let all = cx.shared_profiles()?;
        let narrowed: Vec<LoadedProfile> = all.iter().filter(is_open).map(narrow).collect();
        Ok(SessionProfiles {
            // Most sessions have all tools of each: they need no copies.
            loaded: if narrowed == **all { all.clone() } else { narrowed.into() },
            cx: cx.in_folder(&cx.folder)?,
            wishes: SessionOverrides { profile: None, ..wishes.clone() },
            toolbox: toolbox.clone(),
            base: PromptScene::default(),
            models: Mutex::default(),
        })
    }

    /// The same for a session whose prompt is made of `base`.
    pub(super) fn with_base_scene(mut self, base: &PromptScene) -> SessionProfiles {
        self.base = base.clone();
        self
    }

    /// The mode in which the profile goes on. Its own where it names one, but never more than the
    /// person's flag or, without one, than settings and present session let pass; else the mode that
    /// is not another profile's.
    fn switched_permission(
        &self,
        current: &SessionConfig,
        profile: &Profile,
    ) -> Result<PermissionMode, String> {
        let config = self.cx.config().map_err(|error| error.to_string())?;
        let rank = |mode: PermissionMode| PermissionMode::ALL.iter().position(|m| *m == mode);
        let narrower = |a: PermissionMode, b: PermissionMode| if rank(a) < rank(b) { a } else { b };
        let ours = config.settings.permission;
        let (rest, bound) = match self.wishes.permission {
            Some(flag) => (flag, flag),
            None => {
                let by_profile = current.profile.permission.is_some();
                let rest = if by_profile { ours } else { current.permission };
                let is_wider = rank(current.permission) > rank(ours);
                (rest, if is_wider { current.permission } else { ours })
            }
        };
        let mode = profile.permission.map_or(rest, |own| narrower(own, bound));
        Ok(match config.permission_ceiling {
            Some(ceiling) if self.wishes.permission.is_none() => narrower(mode, ceiling),
            _ => mode,
        })
    }

    /// The bounds of a session that goes on with another model: what held holds, and where nothing bounds in
    /// USD or in tokens what a run may cost, what a run of a schedule with that model begins with (R11).
    ///
    /// # Errors
    /// The settings cannot be read: a sentence.
    fn limits_with_model(
        &self,
        current: &SessionConfig,
        model: &ModelInfo,
    ) -> Result<Limits, String> {
        let of_session = |loaded: &&LoadedProfile| loaded.profile.name == current.profile.name;
        let Some(loaded) = self.loaded.iter().find(of_session) else { return Ok(current.limits) };
        let own = super::spending::limits_with_caps(&self.cx, &self.wishes, loaded, model)
            .map_err(|error| error.to_string())?;
        let Limits { budget_usd, budget_tokens, .. } = current.limits;
        Ok(Limits {
            budget_usd: budget_usd.or(own.budget_usd),
            budget_tokens: budget_tokens.or(own.budget_tokens),
            ..current.limits
        })
    }

    /// The model that the profile names, where it is another than the session's.
    fn switched_model(
        &self,
        current: &SessionConfig,
        profile: &Profile,
    ) -> Result<Option<Arc<dyn Model>>, String> {
        let Some(text) = profile.model.as_deref().filter(|_| self.wishes.model.is_none()) else {
            return Ok(None);
        };
        if *text == current.model.model.to_string() {
            return Ok(None);
        }
        let mut made = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        let model = made.entry(text.to_owned()).or_insert_with(|| {
            models::model_by_name(&self.cx, text).map_err(|error| error.to_string())
        });
        model.clone().map(|model| Some(model).filter(|m| *m.info().as_ref() != current.model))
    }
}

#[async_trait]
impl Profiles for SessionProfiles {
    fn list(&self) -> Vec<(String, String)> {
        let line = |loaded: &LoadedProfile| {
            (loaded.profile.name.clone(), loaded.profile.description.clone())
        };
        // Whoever has room for this list needs no smaller prompt.
        self.loaded.iter().filter(|loaded| !loaded.profile.compact).map(line).collect()
    }

    fn profile_settings(
        &self,
        current: &SessionConfig,
        name: &str,
    ) -> Result<ProfileSettings, String> {
        let loaded = self.loaded.iter().find(|loaded| loaded.profile.name == name);
        let Some(loaded) = loaded else {
            let names: Vec<&str> = self.loaded.iter().map(|p| p.profile.name.as_str()).collect();
            return Err(format!("there is no profile {name}; there are {}", names.join(", ")));
        };
        let mut notes = loaded.notes.clone();
        let profile = loaded.profile.clone();
        let permission = self.switched_permission(current, &profile)?;
        if let Some(own) = profile.permission.filter(|own| *own != permission) {
            notes.push(format!("its permission {own} is not taken, it is {permission} here"));
        }
        let model = self.switched_model(current, &profile).unwrap_or_else(|why| {
            let named = profile.model.as_deref().unwrap_or_default();
            notes.push(format!(
                "the model stays {}: {named} cannot be had ({why})",
                current.model.model
            ));
            None
        });
        let info = model.as_ref().map_or_else(|| Arc::new(current.model.clone()), |m| m.info());
        let limits = super::spending::limits_with_caps(&self.cx, &self.wishes, loaded, &info)
            .map_err(|error| error.to_string())?;
        let ToolLoading { loaded: tools, deferred } =
            super::load_session_tools(&self.toolbox, &profile, permission, &info);
        let scene = PromptScene {
            canary: current.guards.canary.clone(),
            profile: Some(profile.clone()),
            tools: tools.clone(),
            deferred: deferred.clone(),
            conventions: super::workspace_conventions(&profile, &self.cx.folder),
            window: info.window,
            ..self.base.clone()
        };
        let routing = match &model {
            None => current.routing.clone(),
            // The profile names it: no rule leads it elsewhere.
            Some(model) => ModelRouting {
                home: (!current.routing.is_off()).then(|| model.info().model.to_string()),
                fallback: current.routing.fallback.clone(),
                ..ModelRouting::default()
            },
        };
        let config = SessionConfig {
            limits,
            routing,
            system: super::session_system_prompt(&scene, &self.wishes, None),
            model: info.as_ref().clone(),
            profile,
            permission,
            tools,
            deferred,
            ..current.clone()
        };
        Ok(ProfileSettings { config, model, notes })
    }

    fn child_settings(
        &self,
        current: &SessionConfig,
        name: &str,
    ) -> Result<ProfileSettings, String> {
        let own = match name == current.profile.name {
            // As it is, also when its file has gone since.
            true => ProfileSettings { config: current.clone(), model: None, notes: Vec::new() },
            false => self.profile_settings(current, name)?,
        };
        let config = child::child_config(current, &own.config, &BudgetShare::default());
        let scene = PromptScene {
            child: true,
            canary: config.guards.canary.clone(),
            profile: Some(config.profile.clone()),
            tools: config.tools.clone(),
            deferred: config.deferred.clone(),
            conventions: super::workspace_conventions(&config.profile, &self.cx.folder),
            window: config.model.window,
            ..self.base.clone()
        };
        // What a person puts in place of the prompt is put in place of this one too.
        let system = super::session_system_prompt(&scene, &self.wishes, None);
        Ok(ProfileSettings { config: SessionConfig { system, ..config }, ..own })
    }

    async fn model_settings(
        &self,
        current: &SessionConfig,
        name: &str,
    ) -> Result<ProfileSettings, String> {
        let model = models::choose_stand_in(&self.cx, name).await.map_err(|e| e.to_string())?;
        let info = model.info();
        let (profile, permission) = (&current.profile, current.permission);
        let ToolLoading { loaded: tools, deferred } =
            super::load_session_tools(&self.toolbox, profile, permission, &info);
        let scene = PromptScene {
            child: current.depth > 0,
            canary: current.guards.canary.clone(),
            profile: Some(profile.clone()),
            tools: tools.clone(),
            deferred: deferred.clone(),
            conventions: super::workspace_conventions(profile, &self.cx.folder),
            window: info.window,
            ..self.base.clone()
        };
        let config = self.cx.config().map_err(|error| error.to_string())?;
        // A level that nobody chose goes with its model.
        let chosen = current.thinking != current.model.usual_thinking();
        let thinking = self.wishes.thinking.or(profile.thinking).or(config.settings.thinking);
        let thinking = thinking.or(chosen.then_some(current.thinking));
        let config = SessionConfig {
            limits: self.limits_with_model(current, &info)?,
            system: super::session_system_prompt(&scene, &self.wishes, None),
            thinking: thinking.unwrap_or_else(|| info.usual_thinking()),
            model: info.as_ref().clone(),
            tools,
            deferred,
            ..current.clone()
        };
        models::check_fits_window(&self.cx, &config).map_err(|error| error.to_string())?;
        Ok(ProfileSettings { config, model: Some(model), notes: Vec::new() })
    }
}
