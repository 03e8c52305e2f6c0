//! Everything that a run is told, gathered: from the disk, from the store, from the settings of the
//! session. Used by the run itself and by whoever wants to see it first. Not here: hooks, which act.

use std::sync::Arc;

use weir_core::prompt::PromptScene;
use weir_core::session::SessionConfig;

use crate::blocking::run_blocking;
use crate::brain;
use crate::marks::{FoundMarks, marks_in_each};
use crate::memory;
use crate::parts::EngineParts;
use crate::ports::{Store, StoreError};
use crate::recipes;
use crate::workspace::Workspace;

use super::{NestedInstructions, SceneOptions, SceneRequest, gather_scene};

/// What is looked with.
pub(crate) struct SceneGatherer {
    pub(crate) parts: Arc<EngineParts>,
    pub(crate) options: Arc<SceneOptions>,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) deeper: Arc<NestedInstructions>,
}

/// Lets `workspace` know which of its files, and of those in the folders that were added to it, foreign
/// words went into (Z1).
pub(crate) async fn hold_marks(store: &dyn Store, workspace: &Workspace, config: &SessionConfig) {
    match marks_held(store, workspace, config).await {
        Ok(held) => workspace.hold_marks(held),
        Err(error) => mark_all(workspace, &error),
    }
}

/// The same while a run is on: another session may have written here since it began. What a person vouched
/// for meanwhile counts from the next run on.
pub(crate) async fn learn_marks(store: &dyn Store, workspace: &Workspace, config: &SessionConfig) {
    match marks_held(store, workspace, config).await {
        Ok(held) => workspace.learn_marks(held),
        Err(error) => mark_all(workspace, &error),
    }
}

/// Without the list nothing can be vouched for: everything counts as foreign.
fn mark_all(workspace: &Workspace, error: &StoreError) {
    workspace.mark(&[String::new()], &format!("unknown ({error})"));
}

/// The marks as the paths of this workspace have them.
async fn marks_held(
    store: &dyn Store,
    workspace: &Workspace,
    config: &SessionConfig,
) -> Result<Vec<(String, String)>, StoreError> {
    let added = workspace.added_folders().map(str::to_owned);
    let folders = std::iter::once(config.workspace.clone()).chain(added).collect();
    let known = workspace.known_mark_sources();
    let FoundMarks { marks, sources } = marks_in_each(store, folders, &known).await?;
    workspace.keep_mark_sources(sources);
    let held = marks.into_iter().map(|mark| match mark.workspace == config.workspace {
        true => (mark.path, mark.origin),
        // A path that a session of the added folder wrote outside of it is a whole one already.
        false if mark.path.starts_with('/') => (mark.path, mark.origin),
        false => (format!("{}/{}", mark.workspace.trim_end_matches('/'), mark.path), mark.origin),
    });
    Ok(held.collect())
}

impl SceneGatherer {
    /// The scene of a run of a session with these settings.
    pub(crate) async fn gather_scene(
        &self,
        config: &SessionConfig,
        glance: SceneRequest,
    ) -> PromptScene {
        hold_marks(self.parts.store.as_ref(), &self.workspace, config).await;
        if let Some(plugins) = &self.options.skills.plugins {
            plugins.refresh().await;
        }
        let memory = memory::facts_for_message(&self.parts, config, &glance.said).await;
        let recipes =
            recipes::recipes_for_message(&self.parts, &self.options.recipes, config, &glance.said)
                .await;
        let attached = glance.attached;
        let now = self.parts.clock.now();
        let (options, workspace) = (self.options.clone(), self.workspace.clone());
        let (deeper, window) = (self.deeper.clone(), config.model.window);
        let look = move || PromptScene {
            deeper: deeper.reread_instructions(&workspace, &glance.told, window),
            ..gather_scene(&options, &workspace, now, &glance)
        };
        let scene = run_blocking(look).await.unwrap_or_default();
        // Profile, tools and model may be others than those that the session began with.
        let scene = PromptScene { recipes, ..scene };
        PromptScene {
            memory,
            follows: recipes::fast_recipe(&scene, config, attached),
            profile: Some(config.profile.clone()),
            tools: config.tools.clone(),
            deferred: config.deferred.clone(),
            keeps_in_brain: brain::has_standing_permission(config),
            window,
            ..scene
        }
    }
}
