//! The part of Weir that does: runs what a session owes the world.
#![warn(missing_docs)]

pub mod attach;
pub mod blobs;
mod commands;
mod condensing;
pub mod engine;
mod fork;
mod guards;
mod helper;
pub mod hub;
mod knowledge;
pub mod ledger;
mod media;
mod memory;
mod nested;
pub mod output;
pub mod pen;
pub mod ports;
mod recover;
pub mod scene;
mod session_loop;
pub mod skills;
pub mod slash;
pub mod sniff;
pub mod toolbox;
pub mod undo;
mod workers;
pub mod workspace;
