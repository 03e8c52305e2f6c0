//! Tables that both databases have: how their rows are written and read, once, over whichever
//! connection. Not here: how a connection is had, what a transaction holds together, and the
//! journal with its full-text index (`sqlite`, `postgres`).

pub(crate) mod agent_runs;
pub(crate) mod asks;
pub(crate) mod definitions;
pub(crate) mod entries;
pub(crate) mod letters;
pub(crate) mod marks;
pub(crate) mod memories;
pub(crate) mod proposals;
pub(crate) mod recipes;
pub(crate) mod sessions;
pub(crate) mod settings;
pub(crate) mod snapshots;
pub(crate) mod usage;
