//! Tools that somebody made at run time: all of their code is shown before they count (Z9).

use weir_core::dynamic::ToolDefinition;
use weir_engine::made::DynamicToolFinding;

use super::{
    LibraryAction, LibraryDecision, LibraryItem, LibraryLine, LibraryListing, TextKind,
    check_unchanged, unsupported_action,
};
use crate::catalogue::made;
use crate::context::InstallationContext;

fn dynamic_tool_line(found: &DynamicToolFinding) -> LibraryLine {
    let about = found.definition.as_ref().map(|definition| definition.description.clone());
    let accepted = found.kept.is_some();
    let state = match &found.why_not {
        None => "used".to_owned(),
        Some(why) => why.clone(),
    };
    LibraryLine {
        name: found.name.clone(),
        about: about.unwrap_or_default(),
        origin: match found.source.as_str() {
            "kept" => "made by your agents".into(),
            file => file.to_owned(),
        },
        state,
        waits: found.why_not.is_some() && !accepted,
        untrusted: found.label.is_external(),
    }
}

/// Every made tool.
pub(super) async fn list_dynamic_tools(cx: &InstallationContext) -> anyhow::Result<LibraryListing> {
    let (_, found) = made::survey(cx).await?;
    let mut lines: Vec<LibraryLine> = Vec::new();
    for found in &found {
        match lines.iter_mut().find(|line| line.name == found.name) {
            Some(there) if found.why_not.is_none() => *there = dynamic_tool_line(found),
            Some(_) => (),
            None => lines.push(dynamic_tool_line(found)),
        }
    }
    Ok(LibraryListing { lines, notes: Vec::new() })
}

fn hash(found: &DynamicToolFinding) -> String {
    found.definition.as_ref().map(ToolDefinition::hash).unwrap_or_default()
}

/// One made tool with its code.
pub(super) async fn dynamic_tool_item(
    cx: &InstallationContext,
    name: &str,
) -> anyhow::Result<LibraryItem> {
    let (_, found) = made::survey(cx).await?;
    let found = made::one(found, name)?;
    let mut deeds = Vec::new();
    if found.why_not.is_some() && found.definition.is_some() {
        deeds.push(LibraryAction::Accept);
    }
    if found.kept.is_some() {
        if found.why_not.is_none() {
            deeds.push(LibraryAction::Disable);
        }
        deeds.push(LibraryAction::Remove);
    }
    Ok(LibraryItem {
        line: dynamic_tool_line(&found),
        facts: Vec::new(),
        text: made::described(&found),
        text_kind: TextKind::Plain,
        hash: hash(&found),
        waiting: None,
        deeds,
    })
}

/// Accepts, switches off or takes away.
pub(super) async fn act_on_dynamic_tool(
    cx: &InstallationContext,
    name: &str,
    word: &LibraryDecision<'_>,
) -> anyhow::Result<String> {
    match word.deed {
        LibraryAction::Accept => {
            let (_, found) = made::survey(cx).await?;
            let found = made::one(found, name)?;
            check_unchanged(word.hash, &hash(&found))?;
            made::accepted(cx, &found, word.untrusted).await?;
            Ok(format!("{name} is accepted; sessions have it from their next run on."))
        }
        LibraryAction::Disable => {
            made::disable_tool_by_name(cx, name).await?;
            Ok(format!("{name} is off."))
        }
        LibraryAction::Remove => {
            made::removed(cx, name).await?;
            Ok(format!("{name} is removed."))
        }
        deed @ (LibraryAction::Reject | LibraryAction::Enable | LibraryAction::Approve) => {
            Err(unsupported_action(deed))
        }
    }
}
