//! The plugins of a folder (T11): where they are looked for, and what settings say of them. Not
//! here: what a plugin is (`weir_engine::installed_plugins`).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use weir_engine::plugins::{InstalledPlugins, PluginOptions, PluginSettings};
use weir_engine::workspace::Workspace;

use super::SystemClock;
use crate::context::InstallationContext;

/// The plugins that count in this workspace.
///
/// # Errors
/// Settings or store cannot be read.
pub fn installed_plugins(
    cx: &InstallationContext,
    workspace: &Arc<Workspace>,
) -> anyhow::Result<Arc<InstalledPlugins>> {
    let settings = &cx.config()?.settings;
    let set = |url: &str| (!url.is_empty()).then(|| url.to_owned());
    let of = |plugin: &crate::config::PluginSettings| PluginSettings {
        url: set(&plugin.url),
        certificate: set(&plugin.certificate).map(|path| home_path(cx, &path)),
    };
    let commands = settings.commands.named.iter();
    Ok(Arc::new(InstalledPlugins::new(PluginOptions {
        workspace: workspace.clone(),
        trusted: cx.is_trusted(),
        own: Some(own_plugins(cx)),
        built_in: true,
        settings: settings.plugins.iter().map(|(id, plugin)| (id.clone(), of(plugin))).collect(),
        commands: commands
            .map(|(name, command)| (name.clone(), command.to_named_command()))
            .collect(),
        store: cx.session_store()?,
        clock: Arc::new(SystemClock::default()),
    })))
}

/// The folder in which the person's own plugins stand.
pub(crate) fn own_plugins(cx: &InstallationContext) -> PathBuf {
    cx.dirs.config.join("plugins")
}

/// A path of a setting, with its `~`.
fn home_path(cx: &InstallationContext, path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), &cx.dirs.home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => Path::new(path).to_path_buf(),
    }
}
