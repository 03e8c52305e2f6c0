//! Tests of the tools against a real workspace, with fakes of the ports that are not files.
//!
//! Compiled into the crate's unit tests (see `src/lib.rs`): bodies that in production only a call
//! with a permit reaches can be called here.

mod agent;
mod brain;
mod cases;
mod checkpoints;
mod documents;
mod effects;
mod email;
mod list;
mod made;
mod memory;
mod shell;
mod sub_agents;
mod vault;
mod web;
mod world;
