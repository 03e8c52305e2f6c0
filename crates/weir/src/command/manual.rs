//! `weir completions` and `weir man`: made from the same words as the help.

use std::process::ExitCode;

use clap::CommandFactory;

use crate::failure::usage;
use crate::options::{CliOptions, ManArgs};
use crate::terminal::out_bytes;

/// Completions for a shell.
pub(crate) fn print_shell_completions(shell: clap_complete::Shell) -> anyhow::Result<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut CliOptions::command(), "weir", &mut text);
    out_bytes(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// A manual page.
pub(crate) fn print_manual_page(args: &ManArgs) -> anyhow::Result<ExitCode> {
    let mut command = CliOptions::command();
    command.build();
    let mut name = "weir".to_owned();
    for word in &args.command {
        let found = command.find_subcommand(word).cloned();
        command = found.ok_or_else(|| {
            usage(format!("{name} has no command {word:?}; `{name} --help` lists the commands"))
        })?;
        name = format!("{name}-{word}");
    }
    let page = clap_mangen::Man::new(command.display_name(name));
    let mut text = Vec::new();
    page.render(&mut text)?;
    out_bytes(&text)?;
    Ok(ExitCode::SUCCESS)
}
