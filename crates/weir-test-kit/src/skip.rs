//! Tests that need what a machine may lack: at home they are left out and it is said, in CI they fail.

use std::fmt::Display;
use std::io::Write as _;

/// Says that a test is left out, and why.
///
/// # Panics
/// In CI (the variable `CI` is set), where nothing may be left out.
pub fn skip_test(why: impl Display) {
    let is_ci = std::env::var("CI").is_ok_and(|value| !value.is_empty() && value != "false");
    assert!(!is_ci, "CI must not leave this out: {why}");
    // Past the runner, which would keep it to itself. Nothing is lost where nobody reads it.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

/// What a test needs; `None`: it is not to be had here, so the test is left out, and that was said.
///
/// # Panics
/// In CI, where it must be there.
pub fn or_skipped<T, E: Display>(needed: Result<T, E>) -> Option<T> {
    match needed {
        Ok(needed) => Some(needed),
        Err(why) => {
            skip_test(why);
            None
        }
    }
}
