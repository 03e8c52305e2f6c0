//! Everything `weir-store` promises, against every store that it has.

mod asks;
mod audit;
mod brain;
mod checkpoints;
mod contract;
mod knowledge;
mod postgres;
mod recall;
mod recipes;
mod records;
mod schedule;
mod snapshots;
mod spending;
mod sqlite;
mod support;
mod upgrade;
mod usage;
mod worktrees;
