//! The words for what outlives a session: facts of the memory, entries of the brain, recipes, skills.
//! Journals, tools and prompts name them. Not here: the rules about each (`memory`, `brain`, `recipe`,
//! `skill`).

pub mod brain;
pub mod memory;
pub mod recipe;
pub mod skill;
