//! Plugins of a scenario: those of the person's own, which of them are on before the session, and
//! commands of the configuration. Plugins of the workspace are files of the setup.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use weir_core::plugin::{NamedCommand, ParamKind, ParamSpec};
use weir_engine::engine::SessionOptions;
use weir_engine::plugins::{InstalledPlugins, PluginOptions};
use weir_engine::ports::{Clock, Plugins as _, Store};

use crate::parse::Setup;

/// The person's own folder of plugins.
pub fn own(folder: &Path) -> PathBuf {
    folder.join("own/plugins")
}

/// Writes a file of the person's own plugins.
///
/// # Errors
/// The disk refuses.
pub fn write(folder: &Path, path: &str, text: &str) -> std::io::Result<()> {
    let path = own(folder).join(path);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::write(path, text)
}

/// Writes what the person has of their own before the session: configuration and plugins.
///
/// # Errors
/// The disk refuses.
pub fn write_own(setup: &Setup, folder: &Path) -> std::io::Result<()> {
    for (path, text) in &setup.own {
        let path = folder.join("config").join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, text)?;
    }
    setup.plugins.iter().try_for_each(|(path, text)| write(folder, path, text))
}

/// Gives a session its plugins; those that the setup names are on. Doing it twice changes nothing.
///
/// # Errors
/// A plugin that is to be on does not exist or is broken.
pub async fn give(
    setup: &Setup,
    folder: &Path,
    (store, clock): (Arc<dyn Store>, Arc<dyn Clock>),
    options: &mut SessionOptions,
) -> anyhow::Result<()> {
    let plugins = InstalledPlugins::new(PluginOptions {
        workspace: options.workspace.clone(),
        trusted: setup.trusted,
        own: Some(own(folder)),
        built_in: true,
        settings: BTreeMap::new(),
        commands: commands(setup)?,
        store: store.clone(),
        clock,
    });
    // What a person switched on once is not switched on again: it may have changed since.
    if !setup.enabled.is_empty() && store.stored_items("plugin").await?.is_empty() {
        for id in &setup.enabled {
            let offer = plugins.plugin_offer(id).await.map_err(|why| anyhow!(why))?;
            let enabled = plugins.enable(id, &offer.hash, "person").await;
            enabled.map_err(|why| anyhow!(why))?;
        }
    }
    options.scene.skills.plugins = Some(Arc::new(plugins));
    Ok(())
}

/// Commands of the configuration: `NAME ARGUMENT… => LINE`.
fn commands(setup: &Setup) -> anyhow::Result<BTreeMap<String, NamedCommand>> {
    let command = |(head, run): &(String, String)| {
        let mut words = head.split_whitespace();
        let name = words.next().context("named NAME ARGUMENT… => LINE")?;
        let param = |name: &str| ParamSpec {
            name: name.into(),
            kind: ParamKind::String,
            required: true,
            description: String::new(),
            allow_dash: false,
        };
        let args = words.map(param).collect();
        let run = Some(run.clone());
        Ok((name.to_owned(), NamedCommand { run, args, ..NamedCommand::default() }))
    };
    setup.named.iter().map(command).collect()
}

#[cfg(test)]
mod tests;
