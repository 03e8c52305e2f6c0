//! Tests of the pure machine against whole sessions.

mod canary;
mod dead_ends;
mod judge_use;
mod pause_law;
mod played;
mod policy;
mod program_law;
mod random_sessions;
mod recipe_law;
mod sampling;
mod snapshots;
mod unknown;
mod unknown_law;
mod vouching;
