//! Settings as far as they can be read, for commands that only show something (C8): a file that is damaged
//! hides nothing of the others. Not here: what runs and servers work with, which is all of them or nothing.

use super::file::ConfigLayer;
use super::{BrowserSettings, ConfigFiles, SettingOrigin, SourceLayers, WorkspaceConfig};
use crate::environment::ProcessEnvironment;

/// What can be read of the settings.
#[derive(Debug, Clone, Default)]
pub struct ReadableConfig {
    /// The settings without the sources that are wrong.
    pub config: WorkspaceConfig,
    /// What is wrong with those, each once: file, line, key.
    pub problems: Vec<String>,
}

/// One source among those that are put together.
type SourceSlot = fn(&mut SourceLayers) -> &mut Option<ConfigLayer>;

/// The sources in the order in which one is left out, where all of them together are wrong.
const LEFT_OUT: [SourceSlot; 4] = [
    |sources| &mut sources.project,
    |sources| &mut sources.here,
    |sources| &mut sources.environment,
    |sources| &mut sources.user,
];

impl WorkspaceConfig {
    /// Reads and merges what can be read for a workspace.
    pub(crate) fn load_readable(
        files: &ConfigFiles,
        environment: &ProcessEnvironment,
        trusted: bool,
        made: &BrowserSettings,
    ) -> ReadableConfig {
        let mut problems = Vec::new();
        let mut usable = |layer: anyhow::Result<Option<ConfigLayer>>| {
            layer.unwrap_or_else(|error| {
                problems.push(error.to_string());
                None
            })
        };
        let mut sources = SourceLayers {
            user: usable(files.read_layer(&files.user, SettingOrigin::User)),
            environment: usable(ConfigLayer::of_environment(environment)),
            project: usable(files.read_layer(&files.project, SettingOrigin::Project)),
            here: usable(files.read_here()),
        };
        // Each round leaves out one of them.
        for _ in 0..=LEFT_OUT.len() {
            match WorkspaceConfig::combine_sources(sources.clone(), trusted, made) {
                Ok(config) => return ReadableConfig { config, problems },
                Err(error) => problems.push(error.to_string()),
            }
            let without = |slot: &SourceSlot| {
                let mut left = sources.clone();
                slot(&mut left).take().map(|_| left)
            };
            let fits = |left: &SourceLayers| {
                WorkspaceConfig::combine_sources(left.clone(), trusted, made).is_ok()
            };
            let candidates: Vec<SourceLayers> = LEFT_OUT.iter().filter_map(without).collect();
            let culprit = candidates.iter().position(fits).unwrap_or(0);
            match candidates.into_iter().nth(culprit) {
                Some(left) => sources = left,
                None => break,
            }
        }
        ReadableConfig { config: WorkspaceConfig::default(), problems }
    }
}
