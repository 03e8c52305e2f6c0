//! The face for terminals (F1): a fold of updates to a screen, and keys to wishes.
//!
//! It holds nothing that matters: what happened comes over a `link::Link`, what a person wants goes
//! back over it, and whoever stands at its other end (an engine in this process, a server far away)
//! makes it so. Reading order: `link`, `app`, `run`; then `text`, `compose`, `screen`, `terminal`,
//! `plain`; `offscreen` is for tests that compare faces. Not here: engine, store, network, files.
#![warn(missing_docs)]

mod app;
pub mod compose;
mod decisions;
mod familiar;
pub mod fuzzy;
mod keys;
pub mod link;
pub mod offscreen;
mod options;
pub mod plain;
mod reports;
pub mod run;
mod screen;
pub mod terminal;
pub mod text;
mod words;
