//! What a person's agents can use, as a person looks at it and decides about it: skills, recipes,
//! tools, profiles, plugins, foreign servers, models. Commands and pages show the same. Not here:
//! which of it a session has (`wiring`).

pub mod made;
pub mod models;
pub mod own_words;
pub mod plugins;
pub mod profiles;
pub mod proposed_settings;
pub mod recipes;
pub mod rules;
pub mod servers;
pub mod skills;
pub mod tools;
pub mod trust_review;
