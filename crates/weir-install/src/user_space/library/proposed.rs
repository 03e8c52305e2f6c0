//! Settings that an agent proposed: each is shown with what holds now, and accepted or rejected.

use std::collections::BTreeMap;

use weir_core::view::plain::visible_text;
use weir_engine::ports::Proposal;

use super::{
    LibraryAction, LibraryDecision, LibraryItem, LibraryLine, LibraryListing, PendingLibraryChange,
    TextKind, UserSpace, check_unchanged, check_unchanged_if_seen, hash_of, unsupported_action,
};
use crate::catalogue::proposed_settings as proposed;
use crate::config;
use crate::context::InstallationContext;
use crate::failure::stale;
use crate::user_space::{SettingsChange, SettingsChangeOutcome};

fn setting_line(proposal: &Proposal) -> LibraryLine {
    let about = proposed::read_proposal(proposal).map_or_else(
        |error| error.to_string(),
        |read| format!("{}: {}", read.describe_change(), read.reason),
    );
    LibraryLine {
        name: proposal.name.clone(),
        about: visible_text(&about),
        origin: "proposed by your agent".into(),
        state: "waits".into(),
        waits: true,
        untrusted: proposal.label.is_external(),
    }
}

/// Every proposed setting.
pub(super) async fn list_proposed_settings(
    cx: &InstallationContext,
) -> anyhow::Result<LibraryListing> {
    let waiting = proposed::list_waiting(cx).await?;
    Ok(LibraryListing { lines: waiting.iter().map(setting_line).collect(), notes: Vec::new() })
}

/// One of them, with what holds now.
pub(super) async fn proposed_setting_item(
    cx: &InstallationContext,
    key: &str,
) -> anyhow::Result<LibraryItem> {
    let proposal = proposed::find_waiting(cx, key).await?;
    let mut facts = Vec::new();
    let entries = config::setting_entries(cx.config()?);
    if let Some(entry) = entries.into_iter().find(|entry| entry.key == key) {
        facts.push(("Now".to_owned(), entry.value.to_string()));
        facts.push(("Meaning".to_owned(), entry.description));
    }
    let text = match proposed::read_proposal(&proposal) {
        Ok(read) => {
            format!("{}\n\n{}", visible_text(&read.describe_change()), visible_text(&read.reason))
        }
        Err(error) => visible_text(&error.to_string()),
    };
    let waiting = PendingLibraryChange {
        what: "to be set for you".into(),
        text,
        diff: String::new(),
        whose: proposed::describe_label(&proposal),
        untrusted: proposal.label.is_external(),
        hash: hash_of(&proposal.text),
        editable: None,
    };
    Ok(LibraryItem {
        line: setting_line(&proposal),
        facts,
        text: String::new(),
        text_kind: TextKind::Plain,
        hash: String::new(),
        waiting: Some(waiting),
        deeds: vec![LibraryAction::Accept, LibraryAction::Reject],
    })
}

/// Accepts or rejects.
pub(super) async fn act_on_proposed_setting(
    space: &UserSpace,
    cx: &InstallationContext,
    key: &str,
    word: &LibraryDecision<'_>,
) -> anyhow::Result<String> {
    let proposal = proposed::find_waiting(cx, key).await?;
    match word.deed {
        LibraryAction::Accept => {
            check_unchanged(word.hash, &hash_of(&proposal.text))?;
            let read = proposed::check_acceptable(cx, &proposal, word.untrusted)?;
            let values = BTreeMap::from([(read.key.clone(), read.value)]);
            let change = SettingsChange { for_all: false, version: None, values };
            match space.change_settings(&change).await? {
                SettingsChangeOutcome::Kept(_) => {}
                SettingsChangeOutcome::Stale(_) => {
                    return Err(stale(
                        "your settings changed meanwhile, so nothing was changed; try again",
                    ));
                }
            }
            proposed::withdraw(cx, &proposal).await?;
            Ok(format!("{key} is set for you. It holds from the next session on."))
        }
        LibraryAction::Reject => {
            check_unchanged_if_seen(word.hash, &hash_of(&proposal.text))?;
            proposed::withdraw(cx, &proposal).await?;
            Ok(format!("{key} is rejected; nothing was changed."))
        }
        deed @ (LibraryAction::Remove
        | LibraryAction::Enable
        | LibraryAction::Disable
        | LibraryAction::Approve) => Err(unsupported_action(deed)),
    }
}
