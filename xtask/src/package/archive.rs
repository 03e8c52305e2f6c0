//! The archive that people unpack, that the installer downloads, and that Homebrew takes. Not here: what
//! stands in it.

use std::path::Path;

use anyhow::Context as _;

use super::Release;
use crate::programs::bytes_of;

/// Packs the tree.
pub(super) fn write(release: &Release, staged: &Path) -> anyhow::Result<()> {
    let above = staged.parent().context("the tree lies in a folder")?;
    let mut tar = release.command("tar");
    tar.args(["--sort=name", "--format=ustar", "--owner=root:0", "--group=root:0"])
        .arg(format!("--mtime=@{}", release.epoch))
        .arg(format!("--use-compress-program=gzip -n -{}", release.level))
        .arg("-cf")
        .arg(release.out.join(release.archive_name()))
        .arg("-C")
        .arg(above)
        .arg(release.name());
    bytes_of(&mut tar).map(|_| ())
}
