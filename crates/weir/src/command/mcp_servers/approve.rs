//! `weir mcp-servers approve`: what a server is and offers now, against what was approved.

use std::process::ExitCode;

use serde_json::json;
use weir_install::catalogue::servers::approval::{offer, shown};
use weir_install::cx::Cx;
use weir_install::wiring::mcp::{self, Known};

use crate::failure::{exit, usage};
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
