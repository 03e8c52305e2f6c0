//! Knows notes: what stands in one, where its links lead, what a vault holds, what a base asks.
//!
//! Pure: texts, names and times come in. Nothing here opens a file, asks the time or knows a tool.
//! The rules are those of Obsidian, whose vaults these are.
#![warn(missing_docs)]

pub mod base;
pub mod daily;
pub mod diagram;
pub mod health;
pub mod index;
pub mod moment;
pub mod note;
pub mod properties;
pub mod reading;
pub mod renaming;
pub mod resolve;
pub mod rewrite;
pub mod span;
