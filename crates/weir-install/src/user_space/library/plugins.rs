//! Plugins: what each may do, switched on as it was read, and off (Z9).

use weir_engine::ports::{PluginLine, PluginState, Plugins as _};

use super::{
    LibraryAction, LibraryDecision, LibraryItem, LibraryLine, LibraryListing, TextKind,
    check_unchanged, unsupported_action,
};
use crate::catalogue::plugins::{described, found};
use crate::context::InstallationContext;
use crate::failure::usage;

fn plugin_line(plugin: &PluginLine) -> LibraryLine {
    let why = match &plugin.state {
        PluginState::Enabled | PluginState::Disabled => String::new(),
        PluginState::Changed(why) | PluginState::Broken(why) => format!(": {why}"),
    };
    LibraryLine {
        name: plugin.id.clone(),
        about: plugin.description.clone(),
        origin: plugin.origin.clone(),
        state: format!("{}{why}", plugin.state.state_word()),
        waits: matches!(plugin.state, PluginState::Changed(_)),
        untrusted: false,
    }
}

/// Every plugin.
pub(super) async fn list_plugins(cx: &InstallationContext) -> anyhow::Result<LibraryListing> {
    let plugins = found(cx).await?;
    let lines = plugins.list().iter().map(plugin_line).collect();
    let commands: Vec<String> =
        plugins.configured_commands().iter().map(|command| command.name.clone()).collect();
    let notes = match commands.is_empty() {
        true => Vec::new(),
        false => vec![format!("Commands of the configuration: {}", commands.join(", "))],
    };
    Ok(LibraryListing { lines, notes })
}

/// One plugin, with what it may do.
pub(super) async fn plugin_item(cx: &InstallationContext, id: &str) -> anyhow::Result<LibraryItem> {
    let plugins = found(cx).await?;
    let lines = plugins.list();
    let plugin = lines.iter().find(|line| line.id == id);
    let plugin = plugin.ok_or_else(|| usage(format!("there is no plugin {id}")))?;
    let offer = plugins.plugin_offer(id).await;
    let (text, hash) = match &offer {
        Ok(offer) => (described(offer), offer.hash.clone()),
        Err(why) => (why.clone(), String::new()),
    };
    let deeds = match &plugin.state {
        PluginState::Enabled => vec![LibraryAction::Disable],
        PluginState::Disabled | PluginState::Changed(_) if offer.is_ok() => {
            vec![LibraryAction::Enable]
        }
        PluginState::Disabled | PluginState::Changed(_) | PluginState::Broken(_) => Vec::new(),
    };
    let callables = plugin.commands.iter().chain(&plugin.methods);
    let facts = callables.map(|one| (one.name.clone(), one.description.clone())).collect();
    let (waiting, text_kind) = (None, TextKind::Plain);
    Ok(LibraryItem { line: plugin_line(plugin), facts, text, text_kind, hash, waiting, deeds })
}

/// Switches on or off.
pub(super) async fn act_on_plugin(
    cx: &InstallationContext,
    id: &str,
    word: &LibraryDecision<'_>,
    by: &str,
) -> anyhow::Result<String> {
    let plugins = found(cx).await?;
    match word.deed {
        LibraryAction::Enable => {
            let offer = plugins.plugin_offer(id).await.map_err(usage)?;
            check_unchanged(word.hash, &offer.hash)?;
            plugins.enable(id, word.hash, by).await.map_err(usage)?;
            Ok(format!("{id} is on. Any change of its files switches it off again."))
        }
        LibraryAction::Disable => {
            plugins.disable(id, by).await.map_err(usage)?;
            Ok(format!("{id} is off."))
        }
        deed @ (LibraryAction::Accept
        | LibraryAction::Reject
        | LibraryAction::Remove
        | LibraryAction::Approve) => Err(unsupported_action(deed)),
    }
}
