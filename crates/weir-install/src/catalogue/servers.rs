//! Foreign servers (MCP) as a person decides about them: how each stands against what was approved
//! (C9, Z8). Starting one and comparing it with what was approved is in `weir_mcp`.

use futures::future::join_all;
use weir_mcp::{ServerListing, in_words};

use crate::context::InstallationContext;
use crate::wiring::mcp::{self, KnownMcpServer};

pub mod approval;
pub mod brought;
pub mod words;

/// How a server stands: a word for programs, and more for people.
pub struct McpServerStatus {
    /// `approved`, `changed`, …
    pub word: &'static str,
    /// The same for people.
    pub detail: String,
    /// What it offers: as it says now if it was asked, else as it was approved.
    pub listing: Option<ServerListing>,
}

/// How a server stands, without starting it.
pub fn server_status(known: &KnownMcpServer) -> McpServerStatus {
    let stands = |word, detail: String| {
        let listing = known.pin.as_ref().map(|pin| pin.listing.clone());
        McpServerStatus { word, detail, listing }
    };
    let spec = match &known.spec {
        Err(why) if known.uninstalled => return stands("uninstalled", why.clone()),
        Err(why) => return stands("broken", why.clone()),
        Ok(spec) if !spec.enabled => return stands("disabled", "disabled".into()),
        Ok(spec) => spec,
    };
    let Some(pin) = &known.pin else {
        return stands("unapproved", "not approved yet".into());
    };
    let differences = pin.of_declaration(spec);
    match differences.is_empty() {
        true => {
            let unseen = known.unseen_declarations().unwrap_or_default();
            stands("approved", format!("approved, {} tools{unseen}", pin.listing.tools.len()))
        }
        false => stands("changed", in_words(&differences)),
    }
}

/// The same for servers that are started and asked, all at once.
pub async fn checked(
    cx: &InstallationContext,
    all: &[KnownMcpServer],
) -> anyhow::Result<Vec<McpServerStatus>> {
    let hub = mcp::build_mcp_hub(cx, all)?;
    let asked = all.iter().map(async |known| {
        let before = server_status(known);
        if matches!(before.word, "broken" | "uninstalled" | "disabled") {
            return before;
        }
        let listing = match hub.fetch_listing(&known.declared.name).await {
            Ok(listing) => listing,
            Err(detail) => return McpServerStatus { word: "failed", detail, listing: None },
        };
        let words = format!("{} tools, protocol {}", listing.tools.len(), listing.protocol);
        let (word, detail) = match &known.pin {
            _ if before.word == "changed" => ("changed", before.detail),
            None => ("unapproved", format!("not approved yet; it offers {words}")),
            Some(pin) => match pin.of_listing(&listing) {
                differences if words::closes_anything(&differences) => {
                    ("changed", in_words(&differences))
                }
                _ => {
                    let unseen = known.unseen_declarations().unwrap_or_default();
                    ("ready", format!("works as approved: {words}{unseen}"))
                }
            },
        };
        McpServerStatus { word, detail, listing: Some(listing) }
    });
    let standings = join_all(asked).await;
    hub.close().await;
    Ok(standings)
}
