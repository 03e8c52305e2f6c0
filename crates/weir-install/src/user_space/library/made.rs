//! Tools that somebody made at run time: all of their code is shown before they count (Z9).

use weir_core::dynamic::ToolDefinition;
use weir_engine::made::Found;

use super::{Deed, LibraryItem, LibraryLine, Shelved, TextKind, Word, cannot, same};
use crate::catalogue::made;
use crate::cx::Cx;

fn line(found: &Found) -> LibraryLine {
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
pub(super) async fn all(cx: &Cx) -> anyhow::Result<Shelved> {
    let (_, found) = made::survey(cx).await?;
    let mut lines: Vec<LibraryLine> = Vec::new();
    for found in &found {
        match lines.iter_mut().find(|line| line.name == found.name) {
            Some(there) if found.why_not.is_none() => *there = line(found),
            Some(_) => (),
            None => lines.push(line(found)),
        }
    }
    Ok(Shelved { lines, notes: Vec::new() })
}

fn hash(found: &Found) -> String {
    found.definition.as_ref().map(ToolDefinition::hash).unwrap_or_default()
}

/// One made tool with its code.
pub(super) async fn one(cx: &Cx, name: &str) -> anyhow::Result<LibraryItem> {
    let (_, found) = made::survey(cx).await?;
    let found = made::one(found, name)?;
    let mut deeds = Vec::new();
    if found.why_not.is_some() && found.definition.is_some() {
        deeds.push(Deed::Accept);
    }
    if found.kept.is_some() {
        if found.why_not.is_none() {
            deeds.push(Deed::Disable);
        }
        deeds.push(Deed::Remove);
    }
    Ok(LibraryItem {
        line: line(&found),
        facts: Vec::new(),
        text: made::described(&found),
        text_kind: TextKind::Plain,
        hash: hash(&found),
        waiting: None,
        deeds,
    })
}

/// Accepts, switches off or takes away.
pub(super) async fn act(cx: &Cx, name: &str, word: &Word<'_>) -> anyhow::Result<String> {
    match word.deed {
        Deed::Accept => {
            let (_, found) = made::survey(cx).await?;
            let found = made::one(found, name)?;
            same(word.hash, &hash(&found))?;
            made::accepted(cx, &found, word.untrusted).await?;
            Ok(format!("{name} is accepted; sessions have it from their next run on."))
        }
        Deed::Disable => {
            made::disabled(cx, name).await?;
            Ok(format!("{name} is off."))
        }
        Deed::Remove => {
            made::removed(cx, name).await?;
            Ok(format!("{name} is removed."))
        }
        deed @ (Deed::Reject | Deed::Enable | Deed::Approve) => Err(cannot(deed)),
    }
}
