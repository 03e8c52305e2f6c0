//! Everything `weir-store` promises, against every store that it has.

mod audit;
mod checkpoints;
mod contract;
mod sqlite;
mod support;
