//! `weir mcp-servers approve`: what a server is and offers now, against what was approved.

use std::process::ExitCode;

use serde_json::{Value, json};
use weir_install::catalogue::servers::approval::{offer, shown};
use weir_install::context::InstallationContext;
use weir_install::wiring::mcp::{self, KnownMcpServer};
use weir_mcp::{PinDifference, ServerPin};

use crate::failure::{exit, usage};
use crate::options::McpApproveArgs;
use crate::review::{ReviewOutcome, ReviewSubject, settle_review};
use crate::terminal::{confirm_by_person, is_attended, out_json, out_line};

pub(super) async fn approve_server(
    cx: &InstallationContext,
    args: &McpApproveArgs,
) -> anyhow::Result<ExitCode> {
    let known = mcp::find_known_server(cx, &args.name).await?;
    if args.review.is_given() {
        return approve_as_shown(cx, &known, args).await;
    }
    review_server(cx, &known, ApprovalPrompting { yes: args.yes, json: args.json.json }).await
}

/// Starts the server and shows what it is and offers, or approves what was shown.
async fn approve_as_shown(
    cx: &InstallationContext,
    known: &KnownMcpServer,
    args: &McpApproveArgs,
) -> anyhow::Result<ExitCode> {
    if known.uninstalled && known.declared.settings.enabled {
        return Err(usage(format!(
            "its package is not installed: `weir mcp-servers install {}` shows and installs it",
            args.name
        )));
    }
    let (pin, differences) = offer(cx, known, known.enabled_spec()?).await?;
    let text = shown(known, &pin.listing, &differences);
    let (identity, question) = (pin.hash(), format!("Approve {} as it is now?", args.name));
    let reviewed = ReviewSubject {
        deed: "mcp-servers approve",
        text: &text,
        question: &question,
        identity: &identity,
        editable: None,
    };
    if settle_review(&args.review, &reviewed, args.json.json)? != ReviewOutcome::Agreed {
        return Ok(ExitCode::SUCCESS);
    }
    mcp::save_approval(cx, &known.declared, &pin).await?;
    match args.json.json {
        true => out_json(&approval_report(known, &pin, &differences))?,
        false => {
            let count = pin.listing.tools.len();
            out_line(&format!("{} is approved: {count} tools.", args.name))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What programs are told of an approval.
fn approval_report(
    known: &KnownMcpServer,
    pin: &ServerPin,
    differences: &[PinDifference],
) -> Value {
    let words: Vec<&str> = differences.iter().map(|d| d.words.as_str()).collect();
    let tools: Vec<&String> = pin.listing.tools.keys().collect();
    json!({
        "name": known.declared.name, "approved": true, "hash": pin.hash(), "differences": words,
        "protocol": pin.listing.protocol, "tools": tools, "package": known.pinned_package(),
    })
}

/// How a server that is declared is looked at.
pub(super) const LIST_SHOWS: &str = "`weir mcp-servers list --check` shows the server";

/// How a person is asked.
#[derive(Clone, Copy)]
pub(super) struct ApprovalPrompting {
    /// They said yes already.
    pub(super) yes: bool,
    /// Nothing but JSON is printed.
    pub(super) json: bool,
}

impl ApprovalPrompting {
    /// Somebody can be asked, or said yes.
    /// `look`: how the server can be looked at before, as a part of a sentence.
    ///
    /// # Errors
    /// A usage error: nobody is there.
    pub(super) fn check_can_ask(self, look: &str) -> anyhow::Result<()> {
        if self.yes || (is_attended() && !self.json) {
            return Ok(());
        }
        Err(usage(format!(
            "nobody can be asked here; run this in a terminal, or confirm with --yes ({look})"
        )))
    }
}

/// Starts the server, shows it, asks, and keeps the answer.
pub(super) async fn review_server(
    cx: &InstallationContext,
    known: &KnownMcpServer,
    how: ApprovalPrompting,
) -> anyhow::Result<ExitCode> {
    how.check_can_ask(LIST_SHOWS)?;
    let name = &known.declared.name;
    if known.uninstalled && known.declared.settings.enabled {
        let cx = super::install::install_missing_package(cx, known, how).await?;
        let known = mcp::find_known_server(&cx, name).await?;
        return Box::pin(review_server(&cx, &known, how)).await;
    }
    let (pin, differences) = offer(cx, known, known.enabled_spec()?).await?;
    let (code, report) = confirm_offer(cx, known, pin, differences, how).await?;
    if how.json {
        out_json(&report)?;
    }
    Ok(code)
}

/// Shows what a server is and offers, asks, and keeps the answer. Beside the status what programs are
/// told; nothing, if the person said no.
pub(super) async fn confirm_offer(
    cx: &InstallationContext,
    known: &KnownMcpServer,
    pin: ServerPin,
    differences: Vec<PinDifference>,
    how: ApprovalPrompting,
) -> anyhow::Result<(ExitCode, Value)> {
    let name = &known.declared.name;
    let same = known.pin.is_some() && differences.is_empty();
    if !how.json {
        out_line(&shown(known, &pin.listing, &differences))?;
    }
    if !same && !how.yes && !confirm_by_person(&format!("Approve {name} as it is now?"))? {
        out_line("Not approved; none of its tools can be called.")?;
        return Ok((ExitCode::from(exit::FAILED), Value::Null));
    }
    mcp::save_approval(cx, &known.declared, &pin).await?;
    if !how.json {
        let count = pin.listing.tools.len();
        let word = if same { "is unchanged since you approved it" } else { "is approved" };
        out_line(&format!("{name} {word}: {count} tools."))?;
    }
    Ok((ExitCode::SUCCESS, approval_report(known, &pin, &differences)))
}
