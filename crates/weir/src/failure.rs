//! Errors for people: one clear message, what to do, and the exit status (C2).

use std::fmt;

use weir_install::failure::UsageError;

pub(crate) use weir_install::failure::{engine_failure, usage};

/// Exit statuses (C2).
pub(crate) mod exit {
    /// It failed: provider or engine error.
    pub(crate) const FAILED: u8 = 1;
    /// Usage or configuration error, nothing was run.
    pub(crate) const USAGE: u8 = 2;
    /// Stopped by a limit.
    pub(crate) const LIMIT: u8 = 3;
    /// Needs a person.
    pub(crate) const PERSON: u8 = 4;
    /// Refused because Weir is paused, or the run that was to be resumed.
    pub(crate) const PAUSED: u8 = 5;
    /// Cancelled by SIGINT; SIGTERM is 143.
    pub(crate) const INTERRUPTED: u8 = 130;
    /// Cancelled by SIGTERM.
    pub(crate) const TERMINATED: u8 = 143;
}

/// An error with its own exit status. Any other error that reaches `main` is status 1.
#[derive(Debug)]
pub(crate) struct CommandFailure {
    /// What failed, why, what to do.
    message: String,
    /// The exit status.
    status: u8,
}

impl CommandFailure {
    /// The exit status.
    pub(crate) fn status(&self) -> u8 {
        self.status
    }
}

impl fmt::Display for CommandFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for CommandFailure {}

/// An error with this exit status.
pub(crate) fn failure_with_status(status: u8, message: impl Into<String>) -> anyhow::Error {
    CommandFailure { message: message.into(), status }.into()
}

/// The status with which the program ends for `error`; `None`: whoever read standard output has
/// gone, so there is nobody to tell and nothing went wrong.
pub(crate) fn exit_status(error: &anyhow::Error) -> Option<u8> {
    let is_closed_pipe = |cause: &(dyn std::error::Error + 'static)| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
    };
    if error.chain().any(is_closed_pipe) {
        return None;
    }
    if error.is::<UsageError>() {
        return Some(exit::USAGE);
    }
    Some(error.downcast_ref::<CommandFailure>().map_or(exit::FAILED, CommandFailure::status))
}

#[cfg(test)]
mod tests {
    use super::exit;

    #[test]
    fn c1_the_page_about_ci_has_every_exit_status() {
        let page = include_str!("../../../docs/ci.md");
        let mut rows: Vec<u8> = page
            .lines()
            .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next())
            .flat_map(|cell| cell.split(", ").filter_map(|word| word.parse().ok()))
            .collect();
        rows.sort_unstable();
        let own = [exit::FAILED, exit::USAGE, exit::LIMIT, exit::PERSON, exit::PAUSED];
        let all = [&[0][..], &own, &[exit::INTERRUPTED, exit::TERMINATED]].concat();
        assert_eq!(rows, all);
    }
}
