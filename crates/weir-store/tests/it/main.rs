//! Everything `weir-store` promises, against every store that it has.

mod audit;
mod checkpoints;
mod contract;
mod knowledge;
mod recall;
mod recipes;
mod schedule;
mod sqlite;
mod support;
mod worktrees;
