//! The commands, one file each, and the one place that knows them all.

use std::process::ExitCode;

use weir_core::ids::Timestamp;
use weir_core::view::plain::visible_text;
use weir_install::context::InstallationContext;
use weir_install::environment::ProcessEnvironment;

use crate::failure::usage;
use crate::named_state::check_named_state;
use crate::options::{CliCommand, CliOptions, SessionsCommand};
use crate::terminal::err_message;

mod acp;
pub(crate) mod agents;
pub(crate) mod approvals;
pub(crate) mod audit;
mod auth;
mod backup;
pub(crate) mod brain;
pub(crate) mod checkpoints;
mod config;
mod context;
mod demo;
mod doctor;
mod explain;
mod import;
mod manual;
pub(crate) mod mcp;
mod mcp_servers;
pub(crate) mod memory;
pub(crate) mod models;
mod pause;
pub(crate) mod permissions;
mod phone;
pub(crate) mod plugins;
mod prices;
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
mod usage;
mod workflows;
mod worktrees;

#[cfg(test)]
mod faces;
#[cfg(test)]
mod generated;

/// Runs the command that was asked for.
pub(crate) async fn run_command(
    options: CliOptions,
    environment: ProcessEnvironment,
) -> anyhow::Result<ExitCode> {
    check_named_state(&options, &environment)?;
    // Made only by the commands that need it: the others work wherever they are called.
    let cx = || options.global.open_context(environment);
    let Some(command) = options.command else {
        return tui::run_terminal_interface(cx()?, options.tui).await;
    };
    if let Some(flag) = options.tui.first_given_flag() {
        return Err(usage(format!(
            "{flag} has no effect before a command; put it after the command, if the command \
             supports it"
        )));
    }
    match command {
        CliCommand::Run(args) => run::run(&cx()?, *args).await,
        CliCommand::Demo(args) => demo::run_demo(&cx()?, args).await,
        CliCommand::Sessions(SessionsCommand::Attach(args)) => {
            tui::attach_to_session(cx()?, args).await
        }
        CliCommand::Sessions(command) => sessions::run_sessions_command(&cx()?, command).await,
        CliCommand::Checkpoints(command) => {
            checkpoints::run_checkpoints_command(&cx()?, command).await
        }
        CliCommand::Undo(args) => undo::undo_run_changes(&cx()?, args).await,
        CliCommand::Worktrees(command) => worktrees::run_worktrees_command(&cx()?, command).await,
        CliCommand::Replay(args) => replay::replay_journal(&cx()?, args).await,
        CliCommand::Audit(command) => audit::run_audit_command(&cx()?, command).await,
        CliCommand::Permissions(command) => {
            permissions::run_permissions_command(&cx()?, command).await
        }
        CliCommand::Approvals(command) => approvals::run_approvals_command(&cx()?, command).await,
        CliCommand::Trust(args) => trust::run_trust_command(&cx()?, &args),
        CliCommand::Context(args) => context::run_context_command(&cx()?, args).await,
        CliCommand::Models(args) => models::list_models(&cx()?, args).await,
        CliCommand::Usage(args) => usage::show_usage(&cx()?, args).await,
        CliCommand::Config(command) => config::run_config_command(&cx()?, command).await,
        CliCommand::Auth(command) => auth::run_auth_command(&cx()?, command),
        CliCommand::Doctor(args) => doctor::run_doctor(&cx()?, args).await,
        CliCommand::Schema { kind } => schema::print_schema(kind),
        CliCommand::Tools(command) => tools::run_tools_command(&cx()?, command).await,
        CliCommand::Profiles(command) => profiles::run_profiles_command(&cx()?, command),
        CliCommand::Workflows(command) => workflows::run_workflows_command(&cx()?, command).await,
        CliCommand::Memory(command) => memory::run_memory_command(&cx()?, command).await,
        CliCommand::Brain(command) => brain::run_brain_command(&cx()?, command).await,
        CliCommand::Skills(command) => skills::run_skills_command(&cx()?, command).await,
        CliCommand::Recipes(command) => recipes::run_recipes_command(&cx()?, command).await,
        CliCommand::Plugins(command) => plugins::run_plugins_command(&cx()?, command).await,
        CliCommand::McpServers(command) => mcp_servers::mcp_servers(&cx()?, command).await,
        CliCommand::Mcp(args) => mcp::serve_client(cx()?, args).await,
        CliCommand::Import(args) => import::run_import(&cx()?, &args),
        CliCommand::Agents(command) => agents::run_agents_command(&cx()?, command).await,
        CliCommand::Serve(args) => serve::run_server(cx()?, args).await,
        CliCommand::Phone(args) => phone::run_phone_command(cx()?, args).await,
        CliCommand::Acp(args) => acp::serve_editor(cx()?, args).await,
        CliCommand::Backup(args) => backup::write_backup(&cx()?, &args).await,
        CliCommand::Restore(args) => backup::restore_backup(&cx()?, &args).await,
        CliCommand::Pause { reason } => pause::pause_store(&cx()?, reason).await,
        CliCommand::Release => pause::release_pause(&cx()?).await,
        CliCommand::Script(command) => script::run_script_command(command).await,
        CliCommand::Completions { shell } => manual::print_shell_completions(shell),
        CliCommand::Man(args) => manual::print_manual_page(&args),
    }
}

/// The surroundings of a command that only shows something: what cannot be read of the settings is told once,
/// and left out.
fn context_for_looking(cx: &InstallationContext) -> anyhow::Result<InstallationContext> {
    let looking = cx.for_looking()?;
    for problem in &looking.problems {
        err_message(&format!(
            "warning: {}; nothing of that file counts here. Correct that line (`weir config path` \
             shows the files)",
            visible_text(problem)
        ));
    }
    Ok(looking.cx)
}

fn current_timestamp() -> Timestamp {
    Timestamp(jiff::Timestamp::now().as_microsecond())
}
