//! The program from outside: the real binary in folders of its own.

mod approvals;
mod cli_small;
mod config;
mod explain;
mod g07_commands;
mod hooks;
mod house;
mod journal_commands;
mod run;
mod secrets;
mod trust;
