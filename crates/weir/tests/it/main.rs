//! The program from outside: the real binary in folders of its own.

mod cli_small;
mod config;
mod house;
mod journal_commands;
mod run;
