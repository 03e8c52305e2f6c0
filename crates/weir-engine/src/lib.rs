//! The part of Weir that does: runs what a session owes the world.
#![warn(missing_docs)]

mod asking;
pub mod attach;
pub mod blobs;
mod children;
mod command_channel;
mod commands;
mod condensing;
mod dormant;
pub mod engine;
mod error;
pub mod family;
mod flagship;
pub mod folded;
mod fork;
pub mod git_index;
mod guards;
pub mod helper;
pub mod host;
pub mod hub;
mod journal;
mod knowledge;
pub mod ledger;
pub mod made;
mod media;
mod memory;
mod nested;
pub mod output;
mod parts;
pub mod pen;
mod planner;
pub mod plugins;
pub mod ports;
pub mod recipes;
mod recover;
pub mod rewind;
pub mod scene;
pub mod schedule;
mod session_handle;
mod session_loop;
mod session_options;
mod session_time;
pub mod skills;
pub mod slash;
pub mod sniff;
mod streaming;
mod submit;
pub mod toolbox;
pub mod undo;
mod worker_context;
mod workers;
pub mod workspace;

#[doc(hidden)]
pub use commands::measure as commands_course;
