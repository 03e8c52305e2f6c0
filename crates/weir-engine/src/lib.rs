//! The part of Weir that does: runs what a session owes the world.
#![warn(missing_docs)]

pub mod blobs;
mod commands;
pub mod engine;
mod fork;
mod guards;
pub mod hub;
pub mod ledger;
pub mod output;
pub mod pen;
pub mod ports;
mod recover;
pub mod scene;
mod session_loop;
pub mod toolbox;
pub mod undo;
mod workers;
pub mod workspace;
