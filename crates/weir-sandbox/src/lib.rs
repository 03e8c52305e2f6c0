//! The part of Weir that contains: every command runs under a small supervisor process, so that
//! no process outlives a killed engine (D6), and one place says which confinement holds (Z4).
//!
//! For each command the engine starts its own executable again with a hidden subcommand that calls
//! [`supervise_main`]. That process is in its own session and adopts every descendant that loses
//! its parent; it starts the shell, keeps its output, watches the engine, and ends the whole tree
//! when the command is over, cancelled, out of time, or orphaned. What happened to a call is kept
//! in a folder of its own, so that an engine which comes back after a crash can look it up.
//!
//! This crate does not judge commands, does not ask anyone and does not start a runtime in the
//! supervisor. Whether a command may run is decided before it gets here.
#![warn(missing_docs)]

mod ancestry;
mod crossing;
mod environment;
mod history;
mod inside;
mod inside_orders;
mod lending;
mod limits;
mod output;
mod places;
mod process;
mod process_tree;
mod processes;
mod pseudo_terminal;
mod reader;
mod record;
mod refusal;
mod supervise;
mod tier;
mod wire;

pub use ancestry::is_below_supervisor;
pub use environment::filtered_environment;
pub use inside::inside_main;
pub use inside_orders::INSIDE;
pub use lending::{EnvironmentLending, LentSecret, persons_environment};
pub use limits::CommandLimits;
pub use process::protect_process;
pub use processes::{ServiceProcess, ServiceSpec, SupervisedProcesses, SupervisorOptions};
pub use pseudo_terminal::{TERMINAL, terminal_main};
pub use reader::{ReaderLimits, confine_reader, limit_reader};
pub use record::{SweepReport, remove_session_records, sweep_records};
pub use supervise::supervise_main;
pub use tier::{TierCheck, TierReport, TierWish, holding_tier, probe_tiers, tier_weakness};
pub use weir_core::tool::Tier;
