//! What a foreign server is and offers now, against what was approved: what a person reads before
//! they say yes. Not here: asking them.

use anyhow::anyhow;
use weir_core::view::plain::visible_text;
use weir_mcp::{PinDifference, ServerListing, ServerPin, ServerSpec, in_words};

use super::words;
use crate::context::InstallationContext;
use crate::wiring::mcp::{self, KnownMcpServer};

/// What a server is and offers now, started and asked, and what of it differs from what was
/// approved.
///
/// # Errors
/// It cannot be started, or does not answer.
pub async fn offer(
    cx: &InstallationContext,
    known: &KnownMcpServer,
    spec: &ServerSpec,
) -> anyhow::Result<(ServerPin, Vec<PinDifference>)> {
    let name = &known.declared.name;
    let hub = mcp::build_mcp_hub(cx, std::slice::from_ref(known))?;
    let listing = hub.fetch_listing(name).await;
    hub.close().await;
    let listing = listing.map_err(|why| anyhow!("{name}: {why}"))?;
    Ok(compare_offer(known, spec, listing))
}

/// What a server is with this declaration and this listing, and what of it differs from what was
/// approved.
pub fn compare_offer(
    known: &KnownMcpServer,
    spec: &ServerSpec,
    listing: ServerListing,
) -> (ServerPin, Vec<PinDifference>) {
    let offered = ServerPin::from_listing(spec, listing);
    let mut differences = Vec::new();
    if let Some(pin) = &known.pin {
        differences.extend(pin.of_declaration(spec));
        differences.extend(pin.of_listing(&offered.listing));
        differences.extend(pin.of_declared_tools(&offered.declared));
    }
    (offered, differences)
}

/// What a person has to read before they approve a server as it is now, and its hash.
///
/// # Errors
/// It is switched off, cannot be started, or does not answer.
pub async fn asked(
    cx: &InstallationContext,
    known: &KnownMcpServer,
) -> anyhow::Result<(ServerPin, String)> {
    let (pin, differences) = offer(cx, known, known.enabled_spec()?).await?;
    let text = shown(known, &pin.listing, &differences);
    Ok((pin, text))
}

/// Everything, if it was never approved; else what differs, with the tools as they are now.
pub fn shown(
    known: &KnownMcpServer,
    listing: &ServerListing,
    differences: &[PinDifference],
) -> String {
    let mut text = words::describe_server(known);
    let declared = known.declarations();
    if known.pin.is_none() {
        text.push_str(&words::describe_listing(&known.declared.name, listing, declared));
        text.push_str(&words::ways_out(known, listing));
        return text;
    }
    text.push_str(&words::ways_out(known, listing));
    if differences.is_empty() {
        return text;
    }
    text.push_str("Changes since you approved it:\n");
    for line in in_words(differences).lines() {
        text.push_str(&format!("  {}\n", visible_text(line)));
    }
    let named = differences.iter().filter_map(|difference| difference.tool.as_ref());
    for name in named {
        if let Some(tool) = listing.tools.get(name) {
            text.push_str(&words::describe_tool(&known.declared.name, name, tool, declared));
        }
    }
    text
}
