//! Foreign servers (MCP): how each stands, what it offers, and what of it a person approved (Z8).

use weir_server::ports::{Deed, LibraryItem, LibraryLine, Shelved, TextKind, Waiting, Word};

use super::{anew, cannot, same};
use crate::command::mcp_servers::{approve, standing, words};
use crate::cx::Cx;
use crate::wiring::mcp::{self, Known};

/// Whether the server is started and asked what it offers now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// It is shown as it was approved.
    No,
    /// It is started, asked and ended.
    Yes,
}

fn line(known: &Known) -> LibraryLine {
    let standing = standing(known);
    LibraryLine {
        name: known.declared.name.clone(),
        about: words::reached(&known.declared.settings),
        origin: known.declared.place.clone(),
        state: standing.detail,
        waits: matches!(standing.word, "unapproved" | "changed"),
        untrusted: true,
    }
}

/// Every declared server.
pub(super) async fn all(cx: &Cx) -> anyhow::Result<Shelved> {
    let (known, notes) = mcp::known(cx).await?;
    Ok(Shelved { lines: known.iter().map(line).collect(), notes })
}

/// One server; where it is asked, what it offers now waits for a person's word.
pub(super) async fn one(cx: &Cx, name: &str, asked: Asked) -> anyhow::Result<LibraryItem> {
    let known = mcp::find(cx, name).await?;
    let mut text = words::server(&known);
    if let Some(pin) = &known.pin {
        text.push('\n');
        text.push_str(&words::listing(name, &pin.listing));
    }
    let waiting = match asked {
        Asked::No => None,
        Asked::Yes => {
            let (pin, text) = approve::asked(cx, &known).await?;
            let same = known.pin.as_ref().is_some_and(|kept| kept.hash() == pin.hash());
            (!same).then(|| Waiting {
                what: match known.pin.is_some() {
                    true => "not as it was approved".into(),
                    false => "not approved yet".into(),
                },
                text,
                diff: String::new(),
                whose: "the words of its maker".into(),
                // Approving it is reading it.
                untrusted: false,
                hash: pin.hash(),
            })
        }
    };
    let mut deeds = Vec::new();
    if waiting.is_some() {
        deeds.push(Deed::Approve);
    }
    if known.pin.is_some() {
        deeds.push(Deed::Disable);
    }
    let facts =
        known.pin.iter().map(|pin| ("Approved as SHA-256".to_owned(), pin.hash())).collect();
    let (hash, text_kind) = (String::new(), TextKind::Plain);
    Ok(LibraryItem { line: line(&known), facts, text, text_kind, hash, waiting, deeds })
}

/// Approves what was shown, or forgets what was approved.
pub(super) async fn act(cx: &Cx, name: &str, word: &Word<'_>) -> anyhow::Result<String> {
    let known = mcp::find(cx, name).await?;
    match word.deed {
        Deed::Approve => {
            let (pin, _) = approve::asked(&anew(cx)?, &known).await?;
            same(word.hash, &pin.hash())?;
            mcp::keep(cx, &known.declared, &pin).await?;
            Ok(format!("{name} is approved: {} tools.", pin.listing.tools.len()))
        }
        Deed::Disable => {
            mcp::forget(cx, &known.declared).await?;
            Ok(format!("{name} is not approved any more: none of its tools can be called."))
        }
        deed @ (Deed::Accept | Deed::Reject | Deed::Enable | Deed::Remove) => Err(cannot(deed)),
    }
}
