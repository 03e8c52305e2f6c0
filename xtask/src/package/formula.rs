//! The formula by which Homebrew installs the archive. Not here: the tap in which it is published.

use std::fs;

use anyhow::Context as _;

use super::{Release, sums};

/// Writes the formula; the archive must be there.
pub(super) fn write(release: &Release) -> anyhow::Result<()> {
    let sum = sums::of_archive(release)?;
    let values = [("VERSION", release.version.as_str()), ("SHA256", sum.as_str())];
    let formula = release.filled("weir.rb", &values)?;
    fs::write(release.out.join("weir.rb"), formula).context("weir.rb")
}
