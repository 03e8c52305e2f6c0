//! Tests of the pure machine against whole sessions.

mod canary;
mod policy;
mod random_sessions;
mod recipe_law;
mod unknown;
mod unknown_law;
