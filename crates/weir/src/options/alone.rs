//! A run's own command line, read without the other commands. Not here: what its words mean (`run`), and
//! what is said of words that mean nothing.

use std::ffi::OsString;

use clap::{Parser, Subcommand};

use super::{CliCommand, CliOptions, GlobalOptions, RunArgs, TuiArgs};

/// The command that has a tree of its own: it is started most, by scripts and by other programs.
pub(crate) const RUN: &str = "run";

/// The command line of a run, without the other commands: describing all of those takes much longer than
/// reading the words (Q1). Whatever it refuses goes to [`CliOptions`], which says why, and so do help and
/// whatever stands before the command.
#[derive(Debug, Parser)]
#[command(name = "weir", disable_help_subcommand = true)]
struct RunAlone {
    #[command(flatten)]
    global: GlobalOptions,
    #[command(subcommand)]
    command: RunCommand,
}

#[derive(Debug, Subcommand)]
enum RunCommand {
    Run(Box<RunArgs>),
}

/// What `words` mean, where they are a run and nothing is wrong with them. The first is the program's name.
pub(crate) fn parse_run_alone(words: &[OsString]) -> Option<CliOptions> {
    words.get(1).filter(|word| *word == RUN)?;
    let RunAlone { global, command } = RunAlone::try_parse_from(words).ok()?;
    let RunCommand::Run(args) = command;
    Some(CliOptions { global, tui: TuiArgs::default(), command: Some(CliCommand::Run(args)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words after `weir`, by spaces.
    fn words_of(line: &str) -> Vec<OsString> {
        std::iter::once("weir")
            .chain(line.split(' ').filter(|word| !word.is_empty()))
            .map(OsString::from)
            .collect()
    }

    #[test]
    fn q1_a_run_means_without_the_other_commands_what_it_means_among_them() {
        let alone = [
            "run task",
            "run",
            "run -",
            "run task -",
            "run -- --task",
            "run -C / --state-dir /x --log-file /l task",
            "run --model a/b --profile p --thinking high --permission auto-edit task",
            "run -m a/b --allow Read(*) --allow Edit(*) --deny Shell(*) --add-dir /a --add-dir /b t",
            "run --worktree",
            "run --worktree=name t",
            "run --output jsonl --deltas --quiet --strict --max-iterations 3 --max-tool-calls 0 t",
            "run --budget-usd 0.5 --budget-tokens 7 --timeout 1h30m t",
            "run --resume id",
            "run --continue t",
            "run --fork id t",
            "run --attach a --attach b --system-prompt f --output-schema s t",
            "run --append-system-prompt f --ask-elsewhere --detach t",
            "run --detached id -q",
            "run --dry-run t",
        ];
        for line in alone {
            let words = words_of(line);
            let among = CliOptions::try_parse_from(&words).expect(line);
            let run = parse_run_alone(&words).expect(line);
            assert_eq!(format!("{run:?}"), format!("{among:?}"), "{line}");
        }
    }

    #[test]
    fn q1_whatever_else_is_said_goes_to_the_whole_command_line() {
        for line in [
            "",
            "-C / run t",
            "--plain run t",
            "--help",
            "run --help",
            "run -h",
            "run --version",
            "run --no-such-flag t",
            "run --model",
            "run a b c",
            "run --output yaml t",
            "run --max-iterations 0 t",
            "run --resume a --continue",
            "run --dry-run --fork a t",
            "run --worktree --continue",
            "run --plain t",
            "runs t",
            "RUN t",
            "sessions list",
            "demo",
        ] {
            assert!(parse_run_alone(&words_of(line)).is_none(), "{line}");
        }
        // A task may be a command's name.
        let words = words_of("run sessions");
        let run = parse_run_alone(&words).expect("a task");
        let among = CliOptions::try_parse_from(&words).expect("a task");
        assert_eq!(format!("{run:?}"), format!("{among:?}"));
    }
}
