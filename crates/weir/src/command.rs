//! The commands, one file each, and the one place that knows them all.

use std::process::ExitCode;

use weir_install::environment::Environment;

use crate::failure::usage;
use crate::options::{Command, Options};

pub(crate) mod agents;
pub(crate) mod approvals;
pub(crate) mod audit;
mod auth;
mod backup;
pub(crate) mod checkpoints;
mod config;
mod context;
mod demo;
mod doctor;
mod explain;
mod import;
mod manual;
pub(crate) mod mcp_servers;
pub(crate) mod memory;
pub(crate) mod models;
mod pause;
pub(crate) mod permissions;
pub(crate) mod plugins;
pub(crate) mod profiles;
pub(crate) mod recipes;
mod replay;
pub(crate) mod run;
mod schema;
mod script;
mod serve;
pub(crate) mod sessions;
pub(crate) mod skills;
pub(crate) mod tools;
mod trust;
mod tui;
pub(crate) mod undo;
mod workflows;

#[cfg(test)]
mod faces;
#[cfg(test)]
mod generated;

/// Runs the command that was asked for.
pub(crate) async fn dispatch(
    options: Options,
    environment: Environment,
) -> anyhow::Result<ExitCode> {
    // Made only by the commands that need it: the others work wherever they are called.
    let cx = || options.global.open_cx(environment);
    let Some(command) = options.command else { return tui::tui(cx()?, options.tui).await };
    if let Some(flag) = options.tui.given() {
        return Err(usage(format!(
            "{flag} has no effect before a command; put it after the command, if the command \
             supports it"
        )));
    }
    match command {
        Command::Run(args) => run::run(&cx()?, *args).await,
        Command::Demo(args) => demo::demo(&cx()?, args).await,
        Command::Sessions(command) => sessions::sessions(&cx()?, command).await,
        Command::Checkpoints(command) => checkpoints::checkpoints(&cx()?, command).await,
        Command::Undo(args) => undo::undo(&cx()?, args).await,
        Command::Replay(args) => replay::replay(&cx()?, args).await,
        Command::Audit(command) => audit::audit(&cx()?, command).await,
        Command::Permissions(command) => permissions::permissions(&cx()?, command).await,
        Command::Approvals(command) => approvals::approvals(&cx()?, command).await,
        Command::Trust(args) => trust::trust(&cx()?, &args),
        Command::Context(args) => context::context(&cx()?, args).await,
        Command::Models(args) => models::models(&cx()?, args).await,
        Command::Config(command) => config::config(&cx()?, command),
        Command::Auth(command) => auth::auth(&cx()?, command),
        Command::Doctor(args) => doctor::doctor(&cx()?, args).await,
        Command::Schema { kind } => schema::schema(kind),
        Command::Tools(command) => tools::tools(&cx()?, command).await,
        Command::Profiles(command) => profiles::profiles(&cx()?, command),
        Command::Workflows(command) => workflows::workflows(&cx()?, command).await,
        Command::Memory(command) => memory::memory(&cx()?, command).await,
        Command::Skills(command) => skills::skills(&cx()?, command).await,
        Command::Recipes(command) => recipes::recipes(&cx()?, command).await,
        Command::Plugins(command) => plugins::plugins(&cx()?, command).await,
        Command::McpServers(command) => mcp_servers::mcp_servers(&cx()?, command).await,
        Command::Import(args) => import::import(&cx()?, &args),
        Command::Agents(command) => agents::agents(&cx()?, command).await,
        Command::Serve(args) => serve::serve(cx()?, args).await,
        Command::Backup(args) => backup::backup(&cx()?, &args).await,
        Command::Restore(args) => backup::restore(&cx()?, &args).await,
        Command::Pause { reason } => pause::pause(&cx()?, reason).await,
        Command::Release => pause::release(&cx()?).await,
        Command::Script(command) => script::script(command).await,
        Command::Completions { shell } => manual::completions(shell),
        Command::Man(args) => manual::man(&args),
    }
}
