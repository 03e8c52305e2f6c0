//! What this program refuses to do when a command of an agent started it: no tool may change
//! trust, rules, keys, settings or the kill switch, in any mode (G5).
//!
//! The first line of defence is elsewhere: the gate refuses commands that touch Weir's own folders
//! and settings. This is the second one, and only that: a command may clear its environment, leave
//! its process tree, or use another program to write a file.

use clap::ArgMatches;
use weir_install::environment::ProcessEnvironment;
use weir_install::wiring::SUPERVISE;
use weir_sandbox::is_below_supervisor;

use crate::failure::usage;

/// What only a person does: command and subcommand; an empty one means all of them.
const REFUSED: &[(&str, &str)] = &[
    ("acp", ""),
    ("mcp", ""),
    ("phone", ""),
    ("trust", ""),
    ("permissions", "add"),
    ("permissions", "remove"),
    ("permissions", "unmark"),
    ("approvals", "answer"),
    ("approvals", "revoke"),
    ("release", ""),
    ("sessions", "attach"),
    ("worktrees", "merge"),
    ("worktrees", "drop"),
    ("import", ""),
    ("mcp-servers", "add"),
    ("mcp-servers", "approve"),
    ("mcp-servers", "declare"),
    ("mcp-servers", "install"),
    ("mcp-servers", "update"),
    ("mcp-servers", "restart"),
    ("mcp-servers", "remove"),
    ("config", "set"),
    ("config", "unset"),
    ("config", "edit"),
    ("config", "accept"),
    ("config", "reject"),
    ("auth", "set"),
    ("auth", "remove"),
    ("tools", "add"),
    ("tools", "accept"),
    ("tools", "disable"),
    ("tools", "remove"),
    ("skills", "add"),
    ("skills", "remove"),
    ("skills", "accept"),
    ("skills", "reject"),
    ("plugins", "enable"),
    ("plugins", "disable"),
    ("recipes", "add"),
    ("recipes", "accept"),
    ("recipes", "reject"),
    ("recipes", "remove"),
    ("memory", "add"),
    ("memory", "accept"),
    ("memory", "reject"),
    ("memory", "forget"),
    ("brain", "add"),
    ("brain", "edit"),
    ("brain", "forget"),
    ("brain", "restore"),
    ("brain", "delete"),
    ("agents", "add"),
    ("agents", "run"),
    ("agents", "pause"),
    ("agents", "resume"),
    ("agents", "remove"),
    ("agents", "daemon"),
];

/// The commands that were named, from the outside in: `permissions`, `add`.
pub(crate) fn named_command_words(matches: &ArgMatches) -> Vec<&str> {
    let mut words = Vec::new();
    let mut inner = matches;
    while let Some((name, below)) = inner.subcommand() {
        words.push(name);
        inner = below;
    }
    words
}

/// Refuses what an agent may not do, if an agent does it.
///
/// # Errors
/// A usage error that says who may.
pub(crate) fn refuse_supervised_command(
    words: &[&str],
    environment: &ProcessEnvironment,
) -> anyhow::Result<()> {
    if is_refused(words) && is_below_supervisor(environment.all_variables(), SUPERVISE) {
        return Err(refusal(&words.join(" ")));
    }
    Ok(())
}

/// The same for what only some flags of a command do. `command`: with such a flag.
///
/// # Errors
/// A usage error that says who may.
pub(crate) fn refuse_supervised_flag(
    command: &str,
    environment: &ProcessEnvironment,
) -> anyhow::Result<()> {
    match is_below_supervisor(environment.all_variables(), SUPERVISE) {
        true => Err(refusal(command)),
        false => Ok(()),
    }
}

fn refusal(command: &str) -> anyhow::Error {
    usage(format!(
        "`weir {command}` is refused: it was started by a command that an agent runs, and only a \
         person may do this; run it in a terminal of your own"
    ))
}

fn is_refused(words: &[&str]) -> bool {
    let first = words.first().copied().unwrap_or_default();
    let second = words.get(1).copied().unwrap_or_default();
    REFUSED
        .iter()
        .any(|(command, below)| *command == first && (below.is_empty() || *below == second))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::options::CliOptions;

    #[test]
    fn g5_every_refused_command_exists_by_that_name() {
        let command = CliOptions::command();
        for (name, below) in REFUSED {
            let Some(found) = command.find_subcommand(name) else {
                assert_eq!(*name, "approvals", "there is no `weir {name}` yet");
                continue;
            };
            assert!(below.is_empty() || found.find_subcommand(below).is_some(), "{name} {below}");
        }
    }

    #[test]
    fn g5_an_agents_command_is_refused_and_a_persons_is_not() {
        let of_agent = ProcessEnvironment::of(&[("WEIR_SUPERVISED", "/state/commands/1")]);
        for words in [&["trust"][..], &["permissions", "add"], &["release"], &["auth", "set"]] {
            let why =
                refuse_supervised_command(words, &of_agent).expect_err("an agent").to_string();
            assert!(why.contains(&words.join(" ")) && why.contains("only a person"), "{why}");
        }
        for words in [&[][..], &["run"], &["pause"], &["permissions", "list"], &["config", "get"]] {
            assert!(refuse_supervised_command(words, &of_agent).is_ok(), "{words:?}");
        }
    }

    #[test]
    fn g5_an_agents_command_sets_no_price() {
        let of_agent = ProcessEnvironment::of(&[("WEIR_SUPERVISED", "/state/commands/1")]);
        let why = refuse_supervised_flag("models prices --input", &of_agent).expect_err("an agent");
        assert!(why.to_string().contains("only a person"), "{why}");
        assert!(refuse_supervised_flag("models prices", &ProcessEnvironment::of(&[])).is_ok());
    }

    #[test]
    fn g5_flags_do_not_hide_the_command() {
        let given = ["weir", "-C", "/", "permissions", "--state-dir", "/x", "add", "allow", "*"];
        let matches = CliOptions::command().try_get_matches_from(given).expect("it is right");
        assert_eq!(named_command_words(&matches), ["permissions", "add"]);
    }
}
