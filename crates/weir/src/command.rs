//! The commands, one file each, and the one place that knows them all.

use std::future::ready;
use std::pin::Pin;
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

/// A command that runs.
type CommandRun<'a> = Pin<Box<dyn Future<Output = anyhow::Result<ExitCode>> + 'a>>;

/// A command that is made and runs in frames of its own. What each of them keeps while it waits would else
/// lie in one frame, more than a megabyte in a build that shares no place among them.
macro_rules! boxed {
    ($command:expr) => {
        box_command(|| async move { $command.await })
    };
}

/// The one place where it is made: no optimisation puts it into the frame of who asks.
#[inline(never)]
fn box_command<'a, F>(make: impl FnOnce() -> F) -> CommandRun<'a>
where
    F: Future<Output = anyhow::Result<ExitCode>> + 'a,
{
    Box::pin(make())
}

/// Runs the command that was asked for.
pub(crate) async fn run_command(
    options: CliOptions,
    environment: ProcessEnvironment,
) -> anyhow::Result<ExitCode> {
    check_named_state(&options, &environment)?;
    // Made only by the commands that need it: the others work wherever they are called.
    let cx = || options.global.open_context(environment);
    let Some(command) = options.command else {
        return boxed!(tui::run_terminal_interface(cx()?, options.tui)).await;
    };
    if let Some(flag) = options.tui.first_given_flag() {
        return Err(usage(format!(
            "{flag} has no effect before a command; put it after the command, if the command \
             supports it"
        )));
    }
    start_command(command, cx).await
}

fn start_command<'a>(
    command: CliCommand,
    cx: impl FnOnce() -> anyhow::Result<InstallationContext> + 'a,
) -> CommandRun<'a> {
    match command {
        CliCommand::Run(args) => boxed!(run::run(&cx()?, *args)),
        CliCommand::Demo(args) => boxed!(demo::run_demo(&cx()?, args)),
        CliCommand::Sessions(SessionsCommand::Attach(args)) => {
            boxed!(tui::attach_to_session(cx()?, args))
        }
        CliCommand::Sessions(command) => boxed!(sessions::run_sessions_command(&cx()?, command)),
        CliCommand::Checkpoints(command) => {
            boxed!(checkpoints::run_checkpoints_command(&cx()?, command))
        }
        CliCommand::Undo(args) => boxed!(undo::undo_run_changes(&cx()?, args)),
        CliCommand::Worktrees(command) => boxed!(worktrees::run_worktrees_command(&cx()?, command)),
        CliCommand::Replay(args) => boxed!(replay::replay_journal(&cx()?, args)),
        CliCommand::Audit(command) => boxed!(audit::run_audit_command(&cx()?, command)),
        CliCommand::Permissions(command) => {
            boxed!(permissions::run_permissions_command(&cx()?, command))
        }
        CliCommand::Approvals(command) => boxed!(approvals::run_approvals_command(&cx()?, command)),
        CliCommand::Trust(args) => boxed!(ready(trust::run_trust_command(&cx()?, &args))),
        CliCommand::Context(args) => boxed!(context::run_context_command(&cx()?, args)),
        CliCommand::Models(args) => boxed!(models::list_models(&cx()?, args)),
        CliCommand::Usage(args) => boxed!(usage::show_usage(&cx()?, args)),
        CliCommand::Config(command) => boxed!(config::run_config_command(&cx()?, command)),
        CliCommand::Auth(command) => boxed!(ready(auth::run_auth_command(&cx()?, command))),
        CliCommand::Doctor(args) => boxed!(doctor::run_doctor(&cx()?, args)),
        CliCommand::Schema { kind } => boxed!(ready(schema::print_schema(kind))),
        CliCommand::Tools(command) => boxed!(tools::run_tools_command(&cx()?, command)),
        CliCommand::Profiles(command) => {
            boxed!(ready(profiles::run_profiles_command(&cx()?, command)))
        }
        CliCommand::Workflows(command) => boxed!(workflows::run_workflows_command(&cx()?, command)),
        CliCommand::Memory(command) => boxed!(memory::run_memory_command(&cx()?, command)),
        CliCommand::Brain(command) => boxed!(brain::run_brain_command(&cx()?, command)),
        CliCommand::Skills(command) => boxed!(skills::run_skills_command(&cx()?, command)),
        CliCommand::Recipes(command) => boxed!(recipes::run_recipes_command(&cx()?, command)),
        CliCommand::Plugins(command) => boxed!(plugins::run_plugins_command(&cx()?, command)),
        CliCommand::McpServers(command) => boxed!(mcp_servers::mcp_servers(&cx()?, command)),
        CliCommand::Mcp(args) => boxed!(mcp::serve_client(cx()?, args)),
        CliCommand::Import(args) => boxed!(ready(import::run_import(&cx()?, &args))),
        CliCommand::Agents(command) => boxed!(agents::run_agents_command(&cx()?, command)),
        CliCommand::Serve(args) => boxed!(serve::run_server(cx()?, args)),
        CliCommand::Phone(args) => boxed!(phone::run_phone_command(cx()?, args)),
        CliCommand::Acp(args) => boxed!(acp::serve_editor(cx()?, args)),
        CliCommand::Backup(args) => boxed!(backup::write_backup(&cx()?, &args)),
        CliCommand::Restore(args) => boxed!(backup::restore_backup(&cx()?, &args)),
        CliCommand::Pause { session: Some(session), .. } => {
            boxed!(approvals::pause_run(&cx()?, &session))
        }
        CliCommand::Pause { reason, session: None } => boxed!(pause::pause_store(&cx()?, reason)),
        CliCommand::Release { session: Some(session) } => {
            boxed!(approvals::resume_run(&cx()?, &session))
        }
        CliCommand::Release { session: None } => boxed!(pause::release_pause(&cx()?)),
        CliCommand::Script(command) => boxed!(script::run_script_command(command)),
        CliCommand::Completions { shell } => boxed!(ready(manual::print_shell_completions(shell))),
        CliCommand::Man(args) => boxed!(ready(manual::print_manual_page(&args))),
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
