//! The engine's integration tests: one binary, one module for each part.
#![expect(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod behind;
mod embed;
mod examples;
mod loaded;
mod marks;
mod marks_meanwhile;
mod undo;
mod workspace_changes;
mod workspace_confine;
mod workspace_found;
mod workspace_lists;
mod workspace_paths;
mod workspace_race;
mod workspace_walk;
mod world;
