//! `cargo xtask instructions`: how many instructions seven paths take, counted by `valgrind`, held against
//! what is kept in `xtask/instructions.toml`. A count repeats where a time does not: on a machine with other
//! work it is still the same to a per cent, so that a change can be refused for it.
//!
//! Counted is the profile that CI builds (`dev`, where most crates are not optimised): what a release takes is
//! not said, only what got more or less. Not here: times and memory (`bench`).

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, ensure};
use clap::Args;

mod callgrind;
mod kept;
mod paths;

use kept::{Kept, Verdict};
use paths::CountedPath;

use super::valgrind::ensure_valgrind;

/// Where cargo puts what it builds with the profile `dev`.
const DEV_FOLDER: &str = "debug";

/// Count the instructions of seven paths with valgrind, and hold them against xtask/instructions.toml
#[derive(Debug, Args)]
pub(crate) struct InstructionsArgs {
    /// The binary of the profile dev, with `examples` beside it; without it all is built, as ./test does
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// Count only this path; may be repeated
    #[arg(long, value_name = "PATH", value_enum)]
    only: Vec<CountedPath>,
    /// Write what became less into xtask/instructions.toml
    #[arg(long)]
    lower: bool,
}

/// Counts, compares and prints.
///
/// # Errors
/// There is no valgrind, something cannot be built or started, or the kept figures cannot be read. That a
/// path takes too many is no error but exit status 1.
pub(crate) fn instructions(root: &Path, args: &InstructionsArgs) -> anyhow::Result<ExitCode> {
    ensure_valgrind()?;
    let binary = match &args.binary {
        Some(path) => std::path::absolute(path)?,
        None => build(root)?,
    };
    ensure!(binary.is_file(), "{} is no program; build weir first", binary.display());
    let folder = binary.parent().unwrap_or(Path::new("."));
    ensure!(
        folder.ends_with(DEV_FOLDER),
        "{} is not of the profile dev, whose figures are kept: give target/{DEV_FOLDER}/weir",
        binary.display()
    );
    let mut kept = Kept::read(root)?;
    let wanted: Vec<CountedPath> = CountedPath::ALL
        .into_iter()
        .filter(|path| args.only.is_empty() || args.only.contains(path))
        .collect();
    let counter = paths::Counter::new(&binary)?;
    let mut out = std::io::stdout().lock();
    let (mut more, mut less) = (Vec::new(), Vec::new());
    for path in wanted {
        let counted = counter.count(path)?;
        let figure = kept.figure(path)?;
        writeln!(out, "{}", kept::describe(path.name(), counted, figure))?;
        match kept::judge(counted, figure) {
            Verdict::Holds => (),
            Verdict::More => more.push(path.name()),
            Verdict::Less => less.push(path.name()),
        }
        kept.lower(path, counted);
    }
    if args.lower && kept.write(root)? {
        writeln!(out, "{} has the lower figures now", kept::FILE)?;
    } else if !less.is_empty() {
        writeln!(
            out,
            "{} became less: keep it so with `cargo xtask instructions --lower`",
            less.join(", ")
        )?;
    }
    if more.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(
        out,
        "{} takes over {} % more than {} says. Take the cause away; if it must stay, raise the figure there \
         by hand and say in the commit what it buys",
        more.join(", "),
        kept::TOLERANCE_PERCENT,
        kept::FILE
    )?;
    Ok(ExitCode::FAILURE)
}

/// Builds everything in one go: what is built alone has other features, and other counts.
fn build(root: &Path) -> anyhow::Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["test", "--quiet", "--locked", "--workspace", "--no-run"])
        .current_dir(root)
        .status()
        .context("starting cargo to build the workspace")?;
    ensure!(status.success(), "the workspace does not build");
    Ok(crate::target_folder(root)?.join(DEV_FOLDER).join("weir"))
}
