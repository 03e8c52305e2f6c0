//! The program from outside: the real binary in folders of its own.

mod agents;
mod approvals;
mod attach;
mod cli_small;
mod config;
mod context;
mod explain;
mod g07_commands;
mod hooks;
mod house;
mod import;
mod journal_commands;
mod mcp_servers;
mod mcp_servers_run;
mod memory;
mod plugins;
mod profiles_commands;
mod recall;
mod recipes;
mod run;
mod secrets;
mod skills;
mod sub_agents;
mod tools;
mod trust;
