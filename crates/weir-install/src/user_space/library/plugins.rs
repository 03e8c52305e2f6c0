//! Plugins: what each may do, switched on as it was read, and off (Z9).

use weir_engine::ports::{PluginLine, PluginState, Plugins as _};

use super::{Deed, LibraryItem, LibraryLine, Shelved, TextKind, Word, cannot};
use crate::catalogue::plugins::{described, found};
use crate::cx::Cx;
use crate::failure::usage;

fn line(plugin: &PluginLine) -> LibraryLine {
    let why = match &plugin.state {
        PluginState::Enabled | PluginState::Disabled => String::new(),
        PluginState::Changed(why) | PluginState::Broken(why) => format!(": {why}"),
    };
    LibraryLine {
        name: plugin.id.clone(),
        about: plugin.description.clone(),
        origin: plugin.origin.clone(),
        state: format!("{}{why}", plugin.state.word()),
        waits: matches!(plugin.state, PluginState::Changed(_)),
        untrusted: false,
    }
}

/// Every plugin.
pub(super) async fn all(cx: &Cx) -> anyhow::Result<Shelved> {
    let plugins = found(cx).await?;
    let lines = plugins.list().iter().map(line).collect();
    let commands: Vec<String> =
        plugins.commands().iter().map(|command| command.name.clone()).collect();
    let notes = match commands.is_empty() {
        true => Vec::new(),
        false => vec![format!("Commands of the configuration: {}", commands.join(", "))],
    };
    Ok(Shelved { lines, notes })
}

/// One plugin, with what it may do.
pub(super) async fn one(cx: &Cx, id: &str) -> anyhow::Result<LibraryItem> {
    let plugins = found(cx).await?;
    let lines = plugins.list();
    let plugin = lines.iter().find(|line| line.id == id);
    let plugin = plugin.ok_or_else(|| usage(format!("there is no plugin {id}")))?;
    let offer = plugins.offer(id).await;
    let (text, hash) = match &offer {
        Ok(offer) => (described(offer), offer.hash.clone()),
        Err(why) => (why.clone(), String::new()),
    };
    let deeds = match &plugin.state {
        PluginState::Enabled => vec![Deed::Disable],
        PluginState::Disabled | PluginState::Changed(_) if offer.is_ok() => vec![Deed::Enable],
        PluginState::Disabled | PluginState::Changed(_) | PluginState::Broken(_) => Vec::new(),
    };
    let callables = plugin.commands.iter().chain(&plugin.methods);
    let facts = callables.map(|one| (one.name.clone(), one.description.clone())).collect();
    let (waiting, text_kind) = (None, TextKind::Plain);
    Ok(LibraryItem { line: line(plugin), facts, text, text_kind, hash, waiting, deeds })
}

/// Switches on or off.
pub(super) async fn act(
    cx: &Cx,
    id: &str,
    (word, by): (&Word<'_>, &str),
) -> anyhow::Result<String> {
    let plugins = found(cx).await?;
    match word.deed {
        Deed::Enable => {
            plugins.enable(id, word.hash, by).await.map_err(usage)?;
            Ok(format!("{id} is on. Any change of its files switches it off again."))
        }
        Deed::Disable => {
            plugins.disable(id, by).await.map_err(usage)?;
            Ok(format!("{id} is off."))
        }
        deed @ (Deed::Accept | Deed::Reject | Deed::Remove | Deed::Approve) => Err(cannot(deed)),
    }
}
