//! The plugins of a folder, and what each may do (T11, Z9). Not here: finding and reading them
//! (`weir_engine::plugins`).

use std::fmt::Write as _;
use std::sync::Arc;

use weir_core::view::plain::visible_text;
use weir_engine::marks::marks_in;
use weir_engine::plugins::InstalledPlugins;
use weir_engine::ports::{PluginOffer, Plugins as _};

use crate::context::InstallationContext;
use crate::wiring;

/// The plugins of this folder, with the marks of its files.
pub async fn found(cx: &InstallationContext) -> anyhow::Result<Arc<InstalledPlugins>> {
    let workspace = cx.open_workspace()?;
    let root = workspace.root().display().to_string();
    let marks = marks_in(&*cx.session_store()?, &root).await?;
    workspace.hold_marks(marks.into_iter().map(|mark| (mark.path, mark.origin)));
    let plugins = wiring::installed_plugins(cx, &workspace)?;
    plugins.refresh().await;
    Ok(plugins)
}

/// What a person reads before they switch it on.
pub fn described(offer: &PluginOffer) -> String {
    let origin = visible_text(&offer.origin);
    let mut text = format!("{} ({}), from {origin}\n", offer.id, offer.title);
    let _ = writeln!(text, "SHA-256: {}", offer.hash);
    let _ = writeln!(text, "Files: {}", offer.files.join(", "));
    text.push_str(if offer.powers.is_empty() {
        "It has no permissions of its own.\n"
    } else {
        "It may:\n"
    });
    for power in &offer.powers {
        let _ = writeln!(text, "  {power}");
    }
    for note in &offer.notes {
        let _ = writeln!(text, "Note: {note}");
    }
    text
}
