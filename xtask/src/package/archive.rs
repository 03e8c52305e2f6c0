//! The archives that people unpack, that the installer downloads, and that Homebrew takes. Not here: what
//! stands in them.

use std::path::Path;

use anyhow::Context as _;

use super::Release;
use crate::programs::bytes_of;

/// The name of an archive's file, by that of the folder in it.
pub(super) fn file_name(folder: &str) -> String {
    format!("{folder}.tar.gz")
}

/// Packs a tree, under the name of its folder.
pub(super) fn write(release: &Release, staged: &Path) -> anyhow::Result<()> {
    let above = staged.parent().context("the tree lies in a folder")?;
    let folder = staged.file_name().and_then(|name| name.to_str()).context("its name is plain")?;
    let mut tar = release.command("tar");
    tar.args(["--sort=name", "--format=ustar", "--owner=root:0", "--group=root:0"])
        .arg(format!("--mtime=@{}", release.epoch))
        .arg(format!("--use-compress-program=gzip -n -{}", release.level))
        .arg("-cf")
        .arg(release.out.join(file_name(folder)))
        .arg("-C")
        .arg(above)
        .arg(folder);
    bytes_of(&mut tar).map(|_| ())
}
