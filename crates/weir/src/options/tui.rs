//! The words of `weir` without a command: the terminal interface (C1, F1).

use clap::Args;

use super::SessionFlags;

/// Heading of these flags.
const HEADING: &str = "Terminal interface (without a command)";

/// How the terminal interface is begun.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = HEADING)]
pub(crate) struct TuiArgs {
    #[command(flatten)]
    pub(crate) session: SessionFlags,
    /// Work in a copy of the last commit, in a git worktree [default name: the session's id]; see
    /// `weir worktrees`
    #[arg(
        long,
        value_name = "NAME",
        num_args = 0..=1,
        require_equals = true,
        conflicts_with_all = ["opened", "attach"]
    )]
    pub(crate) worktree: Option<Option<String>>,
    /// Continue a session; without ID, choose one from a list
    #[arg(long, value_name = "ID", group = "opened", num_args = 0..=1)]
    pub(crate) resume: Option<Option<String>>,
    /// Continue the newest session of this folder
    #[arg(long = "continue", group = "opened")]
    pub(crate) continue_last: bool,
    /// Start a new session with the history of this one
    #[arg(long, value_name = "ID", group = "opened")]
    pub(crate) fork: Option<String>,
    /// Connect to a running `weir serve`; its sessions can be open in a browser at the same time
    #[arg(long, value_name = "URL")]
    pub(crate) attach: Option<String>,
    /// Plain text mode, line by line, for pipes and terminals without cursor control
    #[arg(long)]
    pub(crate) plain: bool,
    /// Plain text mode for screen readers
    #[arg(long)]
    pub(crate) screen_reader: bool,
    /// Colour theme: `dark`, `light` or another that `/theme` lists
    #[arg(long, value_name = "NAME")]
    pub(crate) theme: Option<String>,
}

impl TuiArgs {
    /// The first of these flags that was given, as it is written.
    pub(crate) fn first_given_flag(&self) -> Option<&'static str> {
        let given = [
            (self.session.model.is_some(), "--model"),
            (self.session.profile.is_some(), "--profile"),
            (self.session.thinking.is_some(), "--thinking"),
            (self.session.permission.is_some(), "--permission"),
            (!self.session.allow.is_empty(), "--allow"),
            (!self.session.deny.is_empty(), "--deny"),
            (!self.session.add_dir.is_empty(), "--add-dir"),
            (self.worktree.is_some(), "--worktree"),
            (self.resume.is_some(), "--resume"),
            (self.continue_last, "--continue"),
            (self.fork.is_some(), "--fork"),
            (self.attach.is_some(), "--attach"),
            (self.plain, "--plain"),
            (self.screen_reader, "--screen-reader"),
            (self.theme.is_some(), "--theme"),
        ];
        given.into_iter().find_map(|(is_given, flag)| is_given.then_some(flag))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use crate::options::{CliCommand, CliOptions};

    fn parsed(words: &[&str]) -> CliOptions {
        CliOptions::try_parse_from(words).expect("it is right")
    }

    #[test]
    fn f1_resume_takes_a_session_or_asks_for_one() {
        assert_eq!(parsed(&["weir"]).tui.resume, None);
        assert_eq!(parsed(&["weir", "--resume"]).tui.resume, Some(None));
        let named = parsed(&["weir", "--resume", "0198"]).tui.resume;
        assert_eq!(named, Some(Some("0198".to_owned())));
        for two in [["--continue", "--resume"], ["--continue", "--fork=x"]] {
            assert!(CliOptions::try_parse_from([["weir"].as_slice(), &two].concat()).is_err());
        }
    }

    #[test]
    fn f1_flags_of_the_interface_and_of_commands_are_told_apart() {
        for (words, given) in [
            (&["weir"][..], None),
            (&["weir", "-C", "/", "--state-dir", "/x"], None),
            (&["weir", "-m", "a/b"], Some("--model")),
            (&["weir", "--plain", "run", "x"], Some("--plain")),
            (&["weir", "run", "-m", "a/b", "x"], None),
        ] {
            assert_eq!(parsed(words).tui.first_given_flag(), given, "{words:?}");
        }
        let run = parsed(&["weir", "run", "-m", "a/b", "x"]).command;
        assert!(
            matches!(run, Some(CliCommand::Run(args)) if args.session.model.as_deref() == Some("a/b"))
        );
    }
}
