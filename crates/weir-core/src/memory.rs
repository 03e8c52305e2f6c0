//! What is remembered beyond one session (M4): the pure rules about it. Not here: the facts
//! themselves (`knowledge`), where they are kept, and who asks for them.

mod choose;
mod decide;
mod export;
mod found;
mod identity;
mod similar;
mod wording;
pub(crate) mod words;

pub use choose::{
    FactQuery, TOLD_CHARS_MAX, TOLD_MAX, choose_told_facts, has_faded, search_facts, usable_facts,
};
pub use decide::{
    DecidedFact, MemoryAction, MemoryDecision, MemoryEdit, MemoryKeep, MemoryOutcome,
    decide_about_fact, edited_fact_id, fact_hash,
};
pub use export::export_markdown;
pub use found::{FOUND_MAX, FoundFact, found_by_model};
pub use identity::{
    first_said, id_of, marked_private, private_by_person, said_again, settle_fact, takes_place,
};
pub use similar::is_similar_text;
pub use wording::{
    FACT_CHARS_MAX, FACT_TOPICS_MAX, IMPORTANCE_DEFAULT, TOPIC_CHARS_MAX, fact_importance,
    fact_text, fact_topics,
};

pub use crate::knowledge::memory::{
    BY_PERSON, MemoryFact, MemoryKind, MemoryNote, MemorySource, MemoryStatus, NewMemory,
};
