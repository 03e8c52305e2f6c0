//! The engine's integration tests: one binary, one module for each part.

mod workspace_changes;
mod workspace_lists;
mod workspace_paths;
mod workspace_race;
mod workspace_walk;
mod world;
