//! Whether `valgrind` is there, which sees what a program executes. Not here: what it is asked to see.

use std::process::Command;

use anyhow::bail;

/// Without it nothing can be said of what a program executes.
///
/// # Errors
/// It cannot be started.
pub(super) fn ensure_valgrind() -> anyhow::Result<()> {
    let asked = Command::new("valgrind").arg("--version").output();
    match asked {
        Ok(output) if output.status.success() => Ok(()),
        _ => bail!(
            "valgrind is not installed, and nothing else here sees what a program executes: install the \
             package valgrind (apt-get install valgrind)"
        ),
    }
}
