//! A person's brain (K12), as a call of a tool reaches it: bounded to their own store, with the label of
//! what the call's model had read. Not here: what an entry must look like, and who may change one.

use async_trait::async_trait;
use weir_core::brain::{BrainEdit, BrainEntry, NewBrainEntry};
use weir_core::ids::CallId;

/// An entry that a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct BrainHit {
    /// The entry.
    pub entry: BrainEntry,
    /// Headings above the passage that fits best, from the outermost on.
    pub headings: Vec<String>,
    /// The first line of that passage in the text of the entry, from 1 on.
    pub line: usize,
    /// The passage.
    pub passage: String,
    /// How well its words fit; none: it was not found by words.
    pub words: Option<f32>,
    /// How near its vector is; none: it was not found by vectors.
    pub vectors: Option<f32>,
    /// How near it is to the best by links; none: not at all.
    pub links: Option<f32>,
}

/// The brain for one call.
#[async_trait]
pub trait BrainAccess: Send + Sync {
    /// Entries that answer these words, best first; without words the newest.
    ///
    /// # Errors
    /// A sentence for the model.
    async fn search_brain(&self, words: &str, limit: usize) -> Result<Vec<BrainHit>, String>;
    /// One entry, as it is now; a forgotten one too.
    ///
    /// # Errors
    /// A sentence for the model: there is none.
    async fn read_entry(&self, id: &str) -> Result<BrainEntry, String>;
    /// Keeps a new entry, with the label of the context and without secrets. The same call keeps it
    /// once, however often it is repeated.
    ///
    /// # Errors
    /// A sentence for the model: it has no usable form, or there is no room.
    async fn add_entry(&self, call: CallId, new: NewBrainEntry) -> Result<BrainEntry, String>;
    /// Changes the `version` of an entry that was looked at, and no other.
    ///
    /// # Errors
    /// A sentence for the model: it was changed since, or the change has no usable form.
    async fn update_entry(
        &self,
        id: &str,
        version: u32,
        edit: BrainEdit,
    ) -> Result<BrainEntry, String>;
    /// Takes an entry out of what is found; the person can bring it back.
    ///
    /// # Errors
    /// A sentence for the model: there is none.
    async fn forget_entry(&self, id: &str) -> Result<BrainEntry, String>;
}

/// No brain: for calls that are planned outside a session.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoBrain;

const NO_BRAIN: &str = "there is no session here, and so nobody whose brain it could be";

#[async_trait]
impl BrainAccess for NoBrain {
    async fn search_brain(&self, _: &str, _: usize) -> Result<Vec<BrainHit>, String> {
        Err(NO_BRAIN.into())
    }
    async fn read_entry(&self, _: &str) -> Result<BrainEntry, String> {
        Err(NO_BRAIN.into())
    }
    async fn add_entry(&self, _: CallId, _: NewBrainEntry) -> Result<BrainEntry, String> {
        Err(NO_BRAIN.into())
    }
    async fn update_entry(&self, _: &str, _: u32, _: BrainEdit) -> Result<BrainEntry, String> {
        Err(NO_BRAIN.into())
    }
    async fn forget_entry(&self, _: &str) -> Result<BrainEntry, String> {
        Err(NO_BRAIN.into())
    }
}
