//! Plays scenarios: one Markdown file per feature, documentation, test and golden log at once.
//!
//! A scenario sets a session up, gives the scripted model its replies and the people their
//! actions, and says what the journal and the files must be afterwards. It is played through the
//! real engine, gate, tools, codec and store; faked are only the ports to the machine (commands,
//! network, time). The laws of the journal are checked on every play without being asked, and the
//! sweep plays each scenario again with a crash at every crossing of a port (D7).
//!
//! `scenarios/README.md` describes the format for people who write one.

pub mod brain;
pub mod counting;
pub mod crash;
mod documents;
pub mod guards;
pub mod laws;
pub mod long;
pub mod made;
mod mail;
pub mod memory;
mod models;
pub mod parse;
pub mod pictures;
pub mod planner;
pub mod play;
pub mod plugins;
pub mod profiles;
pub mod programs;
pub mod recipes;
pub mod render;
pub mod servers;
pub mod skills;
pub mod tools;
mod vendor_search;
pub mod wire;
mod worktree;
pub mod world;
