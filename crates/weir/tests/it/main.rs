//! The program from outside: the real binary in folders of its own.

mod approvals;
mod attach;
mod cli_small;
mod config;
mod context;
mod explain;
mod g07_commands;
mod hooks;
mod house;
mod journal_commands;
mod memory;
mod profiles_commands;
mod recall;
mod run;
mod secrets;
mod skills;
mod trust;
