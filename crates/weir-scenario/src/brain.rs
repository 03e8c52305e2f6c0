//! The brain of a scenario: what stood there before the session, and what a person changes in it
//! meanwhile. Not here: what an agent does with it; that is the engine's business.

use weir_core::brain::{BrainEdit, BrainOrigin, NewBrainEntry};
use weir_core::governance::label::{Integrity, Label};
use weir_core::ids::{BrainEntryId, Timestamp};
use weir_core::memory::BY_PERSON;
use weir_engine::brain;
use weir_engine::ports::Store;

use crate::parse::Setup;

/// Keeps the entries that were there before. Doing it twice changes nothing.
///
/// # Errors
/// An entry has no usable form, or the store refuses it.
pub async fn seed_brain(store: &dyn Store, setup: &Setup, now: Timestamp) -> anyhow::Result<()> {
    for (id, label, text) in &setup.brain {
        let new = NewBrainEntry {
            text: text.clone(),
            origin: BrainOrigin { by: BY_PERSON.into(), ..BrainOrigin::default() },
            label: match label.as_str() {
                "own" => Label::default(),
                "private" => Label::private(Integrity::Workspace, "workspace"),
                origin => Label::external(origin),
            },
            ..NewBrainEntry::default()
        };
        brain::add_entry(store, &BrainEntryId::new(id.as_str()), new, now).await?;
    }
    Ok(())
}

/// The person writes another text into an entry. Doing it twice changes nothing.
///
/// # Errors
/// There is none, or the store refuses.
pub async fn edit_brain_entry(
    store: &dyn Store,
    id: &str,
    text: &str,
    now: Timestamp,
) -> anyhow::Result<()> {
    let entry = brain::find_entry(store, id).await?;
    if entry.text != text {
        let edit = BrainEdit { text: Some(text.to_owned()), ..BrainEdit::default() };
        brain::update_entry(store, id, entry.version, &edit, now).await?;
    }
    Ok(())
}
