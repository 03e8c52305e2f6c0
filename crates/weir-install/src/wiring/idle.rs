//! Tools with nothing behind them in a folder: a session that begins there is not told of them. Not
//! here: how one of them is made known later (`ResultEffect::Made`), and what a profile leaves out.

use std::sync::Arc;

use weir_core::tool::built_in::HANDLE_TOOLS;
use weir_engine::blocking::run_blocking;
use weir_engine::ports::{PluginLine, PluginState, Plugins as _};
use weir_engine::scene;
use weir_engine::workspace::Workspace;

use crate::config::HandleSetting;
use crate::context::InstallationContext;

/// Tools that reach servers.
const OF_SERVERS: [&str; 2] = ["use_mcp_tool", "read_mcp_tool"];
/// Tools that ask a search engine, or a vendor that searches.
pub(super) const OF_ENGINES: [&str; 2] = ["web_search", "anti_echo_search"];
/// The plugin that comes with the program speaks for a vault of notes.
const BUILT_IN: &str = "built in";

/// Their names.
///
/// # Errors
/// Settings, declarations of servers or the store cannot be read.
pub(super) async fn idle_tool_names(
    cx: &InstallationContext,
    workspace: &Arc<Workspace>,
) -> anyhow::Result<Vec<String>> {
    let settings = &cx.config()?.settings;
    let mut idle: Vec<&str> = Vec::new();
    if cx.declared_servers()?.0.is_empty() {
        idle.extend(OF_SERVERS);
    }
    if settings.helpers.flagship.trim().is_empty() {
        idle.push("consult_flagship");
    }
    if settings.helpers.image.trim().is_empty() {
        idle.push("generate_image");
    }
    if settings.context.handles == HandleSetting::Off {
        idle.extend(HANDLE_TOOLS);
    }
    if !crate::search::is_web_searched(cx)? {
        idle.extend(OF_ENGINES);
    }
    let plugins = super::installed_plugins(cx, workspace)?;
    plugins.refresh().await;
    let commands = !plugins.configured_commands().is_empty();
    let root = workspace.root().to_path_buf();
    let looked = run_blocking(move || (plugins.list(), scene::kind_of(&root) == Some("notes")));
    let (plugins, is_vault) = looked.await?;
    if !is_vault {
        idle.extend(weir_tools::VAULT_TOOLS);
    }
    let fits = |plugin: &PluginLine| {
        plugin.origin != BUILT_IN || is_vault || settings.plugins.contains_key(&plugin.id)
    };
    let on = |plugin: &&PluginLine| plugin.state == PluginState::Enabled;
    let can_be_switched_on = |plugin: &PluginLine| {
        fits(plugin) && matches!(plugin.state, PluginState::Disabled | PluginState::Changed(_))
    };
    if !commands && !plugins.iter().filter(on).any(|plugin| !plugin.commands.is_empty()) {
        idle.push("execute_command");
    }
    if !plugins.iter().filter(on).any(|plugin| !plugin.methods.is_empty()) {
        idle.push("call_plugin_api");
    }
    if !plugins.iter().any(can_be_switched_on) {
        idle.push("enable_plugin");
    }
    Ok(idle.into_iter().map(String::from).collect())
}
