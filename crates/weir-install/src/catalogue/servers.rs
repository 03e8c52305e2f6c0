//! Foreign servers (MCP) as a person decides about them: how each stands against what was approved
//! (C9, Z8). Starting one and comparing it with what was approved is in `weir_mcp`.

use futures::future::join_all;
use weir_mcp::{Listing, in_words};

use crate::cx::Cx;
use crate::wiring::mcp::{self, Known};

pub mod approval;
pub mod words;

/// How a server stands: a word for programs, and more for people.
pub struct Standing {
    /// `approved`, `changed`, …
    pub word: &'static str,
    /// The same for people.
    pub detail: String,
    /// What it offers: as it says now if it was asked, else as it was approved.
    pub listing: Option<Listing>,
}

/// How a server stands, without starting it.
pub fn standing(known: &Known) -> Standing {
    let stands = |word, detail: String| {
        let listing = known.pin.as_ref().map(|pin| pin.listing.clone());
        Standing { word, detail, listing }
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
        true => stands("approved", format!("approved, {} tools", pin.listing.tools.len())),
        false => stands("changed", in_words(&differences)),
    }
}

/// The same for servers that are started and asked, all at once.
pub async fn checked(cx: &Cx, all: &[Known]) -> anyhow::Result<Vec<Standing>> {
    let hub = mcp::hub(cx, all)?;
    let asked = all.iter().map(async |known| {
        let before = standing(known);
        if matches!(before.word, "broken" | "uninstalled" | "disabled") {
            return before;
        }
        let listing = match hub.show(&known.declared.name).await {
            Ok(listing) => listing,
            Err(detail) => return Standing { word: "failed", detail, listing: None },
        };
        let words = format!("{} tools, protocol {}", listing.tools.len(), listing.protocol);
        let (word, detail) = match &known.pin {
            _ if before.word == "changed" => ("changed", before.detail),
            None => ("unapproved", format!("not approved yet; it offers {words}")),
            Some(pin) => match pin.of_listing(&listing) {
                differences if words::closes(&differences) => ("changed", in_words(&differences)),
                _ => ("ready", format!("works as approved: {words}")),
            },
        };
        Standing { word, detail, listing: Some(listing) }
    });
    let standings = join_all(asked).await;
    hub.close().await;
    Ok(standings)
}
