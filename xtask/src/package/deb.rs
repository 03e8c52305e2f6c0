//! The package for Debian and Ubuntu, made by dpkg-deb. Not here: a source package as Debian's own
//! archive wants it.

use std::fs;
use std::path::Path;

use anyhow::Context as _;

use super::Release;
use super::tree::{self, System};
use crate::programs::bytes_of;

/// Packs the tree; `needed` are the packages that it depends on.
pub(super) fn write(release: &Release, staged: &Path, needed: &str) -> anyhow::Result<()> {
    let work = tempfile::tempdir().context("a folder for the package")?;
    let goal = work.path().join("deb");
    tree::stage_for(System::Debian, release, staged, &goal)?;
    let files = tree::files(&goal)?;
    let mut kbytes = 0;
    for file in &files {
        kbytes += fs::metadata(goal.join(file))?.len().div_ceil(1024);
    }
    let sums = bytes_of(release.command("md5sum").current_dir(&goal).arg("--").args(&files))?;
    let version = release.package_version();
    let values =
        [("VERSION", version.as_str()), ("KBYTES", &kbytes.to_string()), ("DEPENDS", needed)];
    tree::put(&goal, "DEBIAN/control", release.filled("control", &values)?.as_bytes())?;
    tree::put(&goal, "DEBIAN/md5sums", &sums)?;
    tree::settle(&goal, release.epoch)?;
    let mut build = release.command("dpkg-deb");
    build
        .args(["--root-owner-group", "-Zzstd", &format!("-z{}", release.level), "--build"])
        .arg(&goal)
        .arg(release.out.join(format!("weir_{version}_amd64.deb")));
    bytes_of(&mut build).map(|_| ())
}
