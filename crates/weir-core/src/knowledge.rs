//! The words for what outlives a session: facts of the memory, recipes, skills. Journals, tools and
//! prompts name them. Not here: the rules about each (`memory`, `recipe`, `skill`).

pub mod memory;
pub mod recipe;
pub mod skill;
