//! What somebody waits for who works on Weir (`--build`, Q23): building the program again after one file changed.
//! Not here: a whole build, which docs/building.md has figures of.

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::{Instant, SystemTime};

use anyhow::{Context as _, ensure};

use super::figures::Row;

/// How often each is measured.
const TIMES: usize = 3;
/// Seconds that a change of the program itself may take.
const LEAF_SECONDS_MAX: f64 = 15.0;
/// A file that nothing but the program is made of.
const LEAF: &str = "crates/weir/src/command/pause.rs";
/// A file that everything is made of.
const ROOT: &str = "crates/weir-core/src/session/limits.rs";

/// Builds the profile `dev` after a change of each.
///
/// # Errors
/// The program does not build.
pub(super) fn rows(cargo: fn() -> Command, root: &Path) -> anyhow::Result<Vec<Row>> {
    // What was changed before is not what is measured.
    build(cargo, root)?;
    let leaf = builds_after(cargo, root, LEAF)?;
    let whole = builds_after(cargo, root, ROOT)?;
    let program = "built again after a change of one file of crates/weir";
    let core = "built again after a change of one file of crates/weir-core";
    Ok(vec![
        Row::at_most("Q23", program, &leaf, "s", LEAF_SECONDS_MAX),
        Row::of("Q23", core, &whole, "s"),
    ])
}

/// Seconds, each time after the file was changed: its time is, and that is all that cargo looks at.
fn builds_after(cargo: fn() -> Command, root: &Path, file: &str) -> anyhow::Result<Vec<f64>> {
    let path = root.join(file);
    let mut seconds = Vec::new();
    for _ in 0..TIMES {
        let changed = File::options().append(true).open(&path).context(file.to_owned())?;
        changed.set_modified(SystemTime::now()).context(file.to_owned())?;
        let began = Instant::now();
        build(cargo, root)?;
        seconds.push(began.elapsed().as_secs_f64());
    }
    Ok(seconds)
}

fn build(cargo: fn() -> Command, root: &Path) -> anyhow::Result<()> {
    let status = cargo()
        .args(["build", "--quiet", "-p", "weir"])
        .current_dir(root)
        .status()
        .context("starting cargo to build weir")?;
    ensure!(status.success(), "weir does not build");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q23_the_files_that_are_changed_are_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for file in [LEAF, ROOT] {
            assert!(root.join(file).is_file(), "{file}");
        }
    }
}
