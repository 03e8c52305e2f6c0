//! Everything that a run is told, gathered: from the disk, from the store, from the settings of the
//! session. Used by the run itself and by whoever wants to see it first. Not here: hooks, which act.

use std::sync::Arc;

use weir_core::prompt::PromptScene;
use weir_core::session::SessionConfig;

use crate::blocking::run_blocking;
use crate::brain;
use crate::memory;
use crate::parts::EngineParts;
use crate::ports::Store;
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
    let mut held: Vec<(String, String)> = Vec::new();
    for folder in std::iter::once(config.workspace.as_str()).chain(workspace.added_folders()) {
        let marks = match store.file_marks(folder).await {
            Ok(marks) => marks,
            // Without the list nothing can be vouched for: everything counts as foreign.
            Err(error) => {
                return workspace.mark(&[String::new()], &format!("unknown ({error})"));
            }
        };
        held.extend(marks.into_iter().map(|mark| match folder == config.workspace {
            true => (mark.path, mark.origin),
            // A path that a session of the added folder wrote outside of it is a whole one already.
            false if mark.path.starts_with('/') => (mark.path, mark.origin),
            false => (format!("{}/{}", folder.trim_end_matches('/'), mark.path), mark.origin),
        }));
    }
    workspace.hold_marks(held);
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
