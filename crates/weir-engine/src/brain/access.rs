//! The brain as one call of a tool has it (K12): what it keeps is without secrets and has the label of
//! what its model had read. Not here: whether the call may (the gate).

use std::sync::Arc;

use async_trait::async_trait;
use weir_core::brain::{
    BrainEdit, BrainEntry, BrainEntryState, BrainOrigin, NewBrainEntry, redacted_edit,
    redacted_entry,
};
use weir_core::governance::label::Label;
use weir_core::ids::{CallId, SessionId};
use weir_core::tool::built_in::BRAIN_KEEPER;

use super::BrainFilter;
use crate::blocking::run_blocking;
use crate::memory;
use crate::parts::EngineParts;
use crate::ports::{BrainAccess, BrainHit};

/// The brain for one call.
pub(crate) struct CallBrain {
    pub(crate) parts: Arc<EngineParts>,
    pub(crate) session: SessionId,
    /// What the model had read when it asked for the call.
    pub(crate) label: Label,
}

impl CallBrain {
    /// The label of what this call keeps: a model wrote it down, whatever it read.
    fn kept_label(&self) -> Label {
        self.label.clone().told_by_model()
    }
}

/// Checks that more is left of a text than what was taken out of it.
///
/// # Errors
/// It is a secret and nothing else.
fn check_says_more(before: &str, after: &str) -> Result<(), String> {
    match before != after && !memory::says_more(after) {
        true => Err("it is a secret and nothing else; secrets are not kept".into()),
        false => Ok(()),
    }
}

#[async_trait]
impl BrainAccess for CallBrain {
    async fn search_brain(&self, words: &str, limit: usize) -> Result<Vec<BrainHit>, String> {
        let store = self.parts.store.as_ref();
        let entries = super::list_entries(store, BrainFilter::active_only())
            .await
            .map_err(|error| error.to_string())?;
        let words = words.to_owned();
        let search = move || super::search_entries(entries, &words, limit);
        let found = run_blocking(search).await;
        found.map_err(|_| "searching the brain failed; try other words".to_owned())
    }

    async fn read_entry(&self, id: &str) -> Result<BrainEntry, String> {
        super::find_entry(self.parts.store.as_ref(), id).await.map_err(|error| error.to_string())
    }

    async fn add_entry(&self, call: CallId, new: NewBrainEntry) -> Result<BrainEntry, String> {
        let session = &self.session;
        let said = new.text.clone();
        let origin = BrainOrigin {
            by: BRAIN_KEEPER.into(),
            session: Some(session.clone()),
            call: Some(call),
            from: new.origin.from,
        };
        let new = NewBrainEntry { origin, label: self.kept_label(), ..new };
        let new = redacted_entry(new, &self.parts.secrets);
        check_says_more(&said, &new.text)?;
        let (store, now) = (self.parts.store.as_ref(), self.parts.clock.now());
        let id = super::call_entry_id(session, call);
        super::add_entry(store, &id, new, now).await.map_err(|error| error.to_string())
    }

    async fn update_entry(
        &self,
        id: &str,
        version: u32,
        edit: BrainEdit,
    ) -> Result<BrainEntry, String> {
        let said = edit.text.clone().unwrap_or_default();
        let edit = BrainEdit { label: self.kept_label(), ..edit };
        let edit = redacted_edit(edit, &self.parts.secrets);
        check_says_more(&said, edit.text.as_deref().unwrap_or_default())?;
        let (store, now) = (self.parts.store.as_ref(), self.parts.clock.now());
        super::update_entry(store, id, version, &edit, now).await.map_err(|error| error.to_string())
    }

    async fn forget_entry(&self, id: &str) -> Result<BrainEntry, String> {
        let (store, now) = (self.parts.store.as_ref(), self.parts.clock.now());
        let forgotten = BrainEntryState::Forgotten;
        super::set_entry_state(store, id, forgotten, now).await.map_err(|error| error.to_string())
    }
}
