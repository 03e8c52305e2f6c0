//! `weir mcp-servers approve`: what a server is and offers now, against what was approved.

use std::process::ExitCode;

use serde_json::json;
use weir_core::view::plain::visible;
use weir_install::cx::Cx;
use weir_install::wiring::mcp::{self, Known};
use weir_mcp::{Difference, Listing, Pin, ServerSpec, in_words};

use super::words;
use crate::failure::{exit, failure, usage};
use crate::options::McpApproveArgs;
use crate::terminal::{confirm, is_attended, out, out_json};

pub(super) async fn approve(cx: &Cx, args: &McpApproveArgs) -> anyhow::Result<ExitCode> {
    let known = mcp::find(cx, &args.name).await?;
    look(cx, &known, How { yes: args.yes, json: args.json.json }).await
}

/// How a person is asked.
#[derive(Clone, Copy)]
pub(super) struct How {
    /// They said yes already.
    pub(super) yes: bool,
    /// Nothing but JSON is printed.
    pub(super) json: bool,
}

impl How {
    /// Somebody can be asked, or said yes.
    pub(super) fn check(self) -> anyhow::Result<()> {
        if self.yes || (is_attended() && !self.json) {
            return Ok(());
        }
        Err(usage(
            "nobody can be asked here; run this in a terminal, or confirm with --yes (`weir \
                   mcp-servers list --check` shows the server)",
        ))
    }
}

/// Starts the server, shows it, asks, and keeps the answer.
pub(super) async fn look(cx: &Cx, known: &Known, how: How) -> anyhow::Result<ExitCode> {
    how.check()?;
    let name = &known.declared.name;
    if known.uninstalled && known.declared.settings.enabled {
        let cx = super::install::installed(cx, known, how).await?;
        let known = mcp::find(&cx, name).await?;
        return Box::pin(look(&cx, &known, how)).await;
    }
    let spec = known.spec.as_ref().map_err(|why| usage(format!("{name}: {why}")))?;
    if !spec.enabled {
        return Err(usage(format!("{name} is disabled ({})", known.declared.place)));
    }
    let (pin, differences) = offer(cx, known, spec).await?;
    let same = known.pin.is_some() && differences.is_empty();
    if !how.json {
        out(&shown(known, &pin.listing, &differences))?;
    }
    if !same && !how.yes && !confirm(&format!("Approve {name} as it is now?"))? {
        out("Not approved; none of its tools can be called.")?;
        return Ok(ExitCode::from(exit::FAILED));
    }
    mcp::keep(cx, &known.declared, &pin).await?;
    if how.json {
        let words: Vec<&str> = differences.iter().map(|d| d.words.as_str()).collect();
        let tools: Vec<&String> = pin.listing.tools.keys().collect();
        out_json(&json!({
            "name": name, "approved": true, "hash": pin.hash(), "differences": words,
            "protocol": pin.listing.protocol, "tools": tools, "package": known.installed(),
        }))?;
    } else {
        let count = pin.listing.tools.len();
        let word = if same { "is unchanged since you approved it" } else { "is approved" };
        out(&format!("{name} {word}: {count} tools."))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What a server is and offers now, started and asked, and what of it differs from what was
/// approved.
///
/// # Errors
/// It cannot be started, or does not answer.
async fn offer(
    cx: &Cx,
    known: &Known,
    spec: &ServerSpec,
) -> anyhow::Result<(Pin, Vec<Difference>)> {
    let name = &known.declared.name;
    let hub = mcp::hub(cx, std::slice::from_ref(known))?;
    let listing = hub.show(name).await;
    hub.close().await;
    let listing = listing.map_err(|why| failure(exit::FAILED, format!("{name}: {why}")))?;
    let mut differences = Vec::new();
    if let Some(pin) = &known.pin {
        differences.extend(pin.of_declaration(spec));
        differences.extend(pin.of_listing(&listing));
    }
    Ok((Pin::of(spec, listing), differences))
}

/// What a person has to read before they approve a server as it is now, and its hash.
///
/// # Errors
/// It is switched off, cannot be started, or does not answer.
pub(crate) async fn asked(cx: &Cx, known: &Known) -> anyhow::Result<(Pin, String)> {
    let name = &known.declared.name;
    let spec = known.spec.as_ref().map_err(|why| usage(format!("{name}: {why}")))?;
    if !spec.enabled {
        return Err(usage(format!("{name} is disabled ({})", known.declared.place)));
    }
    let (pin, differences) = offer(cx, known, spec).await?;
    let text = shown(known, &pin.listing, &differences);
    Ok((pin, text))
}

/// Everything, if it was never approved; else what differs, with the tools as they are now.
fn shown(known: &Known, listing: &Listing, differences: &[Difference]) -> String {
    let mut text = words::server(known);
    if known.pin.is_none() {
        text.push_str(&words::listing(&known.declared.name, listing));
        text.push_str(&words::ways_out(known, listing));
        return text;
    }
    text.push_str(&words::ways_out(known, listing));
    if differences.is_empty() {
        return text;
    }
    text.push_str("Changes since you approved it:\n");
    for line in in_words(differences).lines() {
        text.push_str(&format!("  {}\n", visible(line)));
    }
    let named = differences.iter().filter_map(|difference| difference.tool.as_ref());
    for name in named {
        if let Some(tool) = listing.tools.get(name) {
            text.push_str(&words::tool(&known.declared.name, name, tool));
        }
    }
    text
}
