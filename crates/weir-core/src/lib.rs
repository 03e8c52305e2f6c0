//! The part of Weir that decides. Pure: no I/O, no clock, no randomness.
#![warn(missing_docs)]

pub mod address;
pub mod config;
pub mod document;
pub mod dynamic;
pub mod effect;
pub mod event;
pub mod governance;
pub mod ids;
pub mod input;
pub mod knowledge;
pub mod label;
pub mod memory;
pub mod message;
pub mod model;
mod open_name;
pub mod plugin;
pub mod profile;
pub mod prompt;
pub mod recipe;
pub mod record;
pub mod run_status;
pub mod safe_text;
pub mod schedule;
pub mod secret;
pub mod session;
pub mod skill;
pub mod slash;
pub mod tool;
pub mod usage;
pub mod view;
