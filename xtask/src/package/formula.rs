//! The formula by which Homebrew installs the archive. Not here: the tap in which it is published.

use std::fs;

use anyhow::Context as _;

use super::{Release, sums};

/// Writes the formula; the archive must be there.
pub(super) fn write(release: &Release) -> anyhow::Result<()> {
    let archive = format!("{}.tar.gz", release.name());
    let sum = sums::of(release, &[archive.clone().into()])?;
    let sum = sum.split_whitespace().next().context("sha256sum prints a sum")?;
    let values = [("VERSION", release.version.as_str()), ("SHA256", sum)];
    let formula = release.filled("weir.rb", &values)?;
    fs::write(release.out.join("weir.rb"), formula).context("weir.rb")
}
