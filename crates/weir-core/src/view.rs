//! Views of the journal: what the human reads and what the auditor reads. The model's view is
//! kept by the session itself, as it is folded forward with every fact.

pub mod audit;
pub mod cache;
pub mod diff;
pub mod first_start;
pub mod markdown_cut;
pub mod streamed;
pub mod told;
pub mod transcript;
pub mod visible;
pub mod wire;

/// The name by which other crates know it.
pub use crate::safe_text as plain;
