//! The program: reads the command line, runs a command, prints what came of it. Not here: settings and
//! wiring (`weir-install`).
//!
//! Nothing is decided here that another crate could decide.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{ArgMatches, CommandFactory, FromArgMatches};
use weir_install::environment::ProcessEnvironment;
use weir_install::{documents, telemetry, wiring};

mod command;
mod failure;
mod familiar;
mod log;
mod named_state;
mod options;
mod review;
mod supervised;
mod terminal;

/// Where memory comes from in a static program: musl's own allocator has one lock for all threads
/// (decision 85).
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Threads for work that blocks (files, git). Few: each costs memory, and they wait for one disk.
const BLOCKING_THREADS_MAX: usize = 8;
/// Threads beside the one that draws, in the terminal interface: one for the engine and what is looked up, since
/// each keeps memory that a long session needed for a moment (Q21).
const TUI_THREADS: usize = 1;
/// Threads for the sessions of an editor, or of whoever speaks MCP.
const EDITOR_THREADS: usize = 2;

fn main() -> ExitCode {
    // A supervisor is started for every command: it pays for nothing else.
    if std::env::args_os().nth(1).is_some_and(|word| word == wiring::SUPERVISE) {
        return weir_sandbox::supervise_main();
    }
    // The same inside a sandbox.
    if std::env::args_os().nth(1).is_some_and(|word| word == weir_sandbox::INSIDE) {
        return weir_sandbox::inside_main();
    }
    // And what gives a command a terminal there.
    if std::env::args_os().nth(1).is_some_and(|word| word == weir_sandbox::TERMINAL) {
        return weir_sandbox::terminal_main();
    }
    // A reader of untrusted bytes has one thread and nothing else.
    if std::env::args_os().nth(1).is_some_and(|word| word == documents::DOCUMENT) {
        return documents::document_main();
    }
    // Code that somebody wrote for the agent has one thread and nothing else.
    if std::env::args_os().nth(1).is_some_and(|word| word == weir_script::SCRIPT) {
        return weir_script::script_main();
    }
    // A terminal of an editor shows what a command prints: it knows nothing else.
    if std::env::args_os().nth(1).is_some_and(|word| word == weir_acp::FOLLOW) {
        return weir_acp::follow_main();
    }
    // Asked by every script that looks whether Weir is there: it needs no tree of commands.
    if is_only_version(std::env::args_os().skip(1)) {
        return match terminal::out_line(concat!("weir ", env!("WEIR_VERSION"))) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    let words: Vec<OsString> = std::env::args_os().collect();
    if let Some(options) = options::parse_run_alone(&words) {
        return report_result(run(options, &[options::RUN]));
    }
    let matches = match parse_command_line(words) {
        Ok(matches) => matches,
        Err(code) => return code,
    };
    match options::CliOptions::from_arg_matches(&matches) {
        Ok(options) => report_result(run(options, &supervised::named_command_words(&matches))),
        Err(error) => print_clap_error(&error),
    }
}

/// The exit status of a command; why it failed is said here.
fn report_result(result: anyhow::Result<ExitCode>) -> ExitCode {
    match result {
        Ok(code) => code,
        Err(error) => match failure::exit_status(&error) {
            Some(status) => {
                terminal::err_message(&format!("{error:#}"));
                ExitCode::from(status)
            }
            None => ExitCode::SUCCESS,
        },
    }
}

/// Whether nothing but the version is asked for, as it is in clap's tree too.
fn is_only_version(mut words: impl Iterator<Item = OsString>) -> bool {
    let is_asked = words.next().is_some_and(|word| word == "--version" || word == "-V");
    is_asked && words.next().is_none()
}

/// Reads the command line; one that has no meaning of its own may have one elsewhere.
fn parse_command_line(words: Vec<OsString>) -> Result<ArgMatches, ExitCode> {
    let mut command = options::CliOptions::command();
    let error = match command.try_get_matches_from_mut(&words) {
        Ok(matches) => return Ok(matches),
        Err(error) => error,
    };
    if !matches!(error.kind(), ErrorKind::InvalidSubcommand | ErrorKind::UnknownArgument) {
        return Err(print_clap_error(&error));
    }
    let is_command = |name: &str| command.find_subcommand(name).is_some();
    match familiar::find_familiar_meaning(words.get(1..).unwrap_or_default(), is_command) {
        Some(familiar::FamiliarMeaning::Words(meant)) => {
            let meant = words.into_iter().take(1).chain(meant);
            options::CliOptions::command()
                .try_get_matches_from(meant)
                .map_err(|error| print_clap_error(&error))
        }
        Some(familiar::FamiliarMeaning::Told(text)) => {
            terminal::err_message(&text);
            Err(ExitCode::from(failure::exit::USAGE))
        }
        None => Err(print_clap_error(&error)),
    }
}

/// Help and version are no errors; a closed pipe while printing them is none either. An error repeats
/// words of the command line, which may be somebody else's: they must not steer the terminal.
fn print_clap_error(error: &clap::Error) -> ExitCode {
    if error.use_stderr() {
        terminal::err_line(&error.render().to_string());
        return ExitCode::from(failure::exit::USAGE);
    }
    let _ = error.print();
    ExitCode::SUCCESS
}

fn run(options: options::CliOptions, words: &[&str]) -> anyhow::Result<ExitCode> {
    let environment = ProcessEnvironment::of_process();
    supervised::refuse_supervised_command(words, &environment)?;
    log::start_logging(options.global.log_file.as_deref(), &environment)?;
    // Keys are in this process's memory: other programs of the same user stay out.
    if let Err(error) = weir_sandbox::protect_process() {
        tracing::warn!(%error, "this process can be read by others of the same user");
    }
    // One thread does the loop: a run waits far more than it works. A server has many at once. The
    // terminal interface has a thread for itself: what the engine does never makes a key wait.
    let mut runtime = match options.command {
        Some(options::CliCommand::Serve(_) | options::CliCommand::Phone(_)) => {
            tokio::runtime::Builder::new_multi_thread()
        }
        None => few_threads(TUI_THREADS),
        Some(options::CliCommand::Acp(_) | options::CliCommand::Mcp(_)) => {
            few_threads(EDITOR_THREADS)
        }
        _ => {
            let mut one = tokio::runtime::Builder::new_current_thread();
            one.max_blocking_threads(BLOCKING_THREADS_MAX);
            one
        }
    };
    let runtime = runtime.enable_all().build()?;
    let result = runtime.block_on(command::run_command(options, environment));
    telemetry::finish_telemetry();
    // What still blocks (a name lookup, a read of a slow disk) is not waited for.
    runtime.shutdown_background();
    result
}

/// A runtime with so many threads beside the one that it is started on.
fn few_threads(workers: usize) -> tokio::runtime::Builder {
    let mut few = tokio::runtime::Builder::new_multi_thread();
    few.worker_threads(workers).max_blocking_threads(BLOCKING_THREADS_MAX);
    few
}
