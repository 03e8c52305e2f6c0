//! Other programs, run for what they print: git, cargo and the tools of a release. Not here: programs
//! that are watched while they run (`bench`, `kill`).

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};
use cargo_metadata::{Metadata, MetadataCommand};

/// What a program prints. Whatever it says beside that is shown when it fails.
///
/// # Errors
/// It cannot be started, or it fails.
pub(crate) fn bytes_of(command: &mut Command) -> anyhow::Result<Vec<u8>> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("{name} cannot be started"))?;
    ensure!(
        output.status.success(),
        "{name} failed ({}): {}",
        output.status,
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(output.stdout)
}

/// The same as text.
///
/// # Errors
/// As above, or what it prints is no text.
pub(crate) fn text_of(command: &mut Command) -> anyhow::Result<String> {
    String::from_utf8(bytes_of(command)?).context("a program printed no text")
}

/// What git prints when it is asked in the folder `root`.
///
/// # Errors
/// There is no git, or it refuses.
pub(crate) fn bytes_of_git(root: &Path, args: &[&str]) -> anyhow::Result<Vec<u8>> {
    bytes_of(Command::new("git").arg("-C").arg(root).args(args))
        .with_context(|| format!("git {}", args.join(" ")))
}

/// What cargo knows of the workspace by its lock file; `more` are further words of the question.
///
/// # Errors
/// Cargo cannot say it.
pub(crate) fn locked_metadata(root: &Path, more: &[&str]) -> anyhow::Result<Metadata> {
    let ask = |first: &[&str]| {
        let options = first.iter().chain(more).map(|&option| option.to_owned()).collect::<Vec<_>>();
        MetadataCommand::new().manifest_path(root.join("Cargo.toml")).other_options(options).exec()
    };
    // Packages of other systems may never have been fetched here; then cargo must fetch them.
    ask(&["--locked", "--offline"])
        .or_else(|_| ask(&["--locked"]))
        .context("cargo metadata --locked")
}
