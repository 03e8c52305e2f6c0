//! A person's brain (K12): the pure rules about its entries. Not here: the entries themselves
//! (`knowledge`), where they are kept, how they are found, who may put something there.

mod export;
mod owner;
mod wording;

pub use export::{BrainFile, entry_markdown, export_files, file_names};
pub use owner::{person_label, redacted_edit, redacted_entry};
pub use wording::{
    BYTES_MAX, ENTRIES_MAX, TEXT_BYTES_MAX, TITLE_CHARS_MAX, changed_entry, checked_entry,
    entry_text, entry_title, entry_topics, first_line_title,
};

pub use crate::knowledge::brain::{
    BrainEdit, BrainEntry, BrainEntryKind, BrainEntryState, BrainOrigin, NewBrainEntry,
};
