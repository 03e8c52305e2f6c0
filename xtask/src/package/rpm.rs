//! The package for Fedora, openSUSE and their kin, made by rpmbuild. It runs no script of its own, and
//! nothing of the machine that builds it stands in it. Not here: what it needs, which rpm finds out.

use std::fs;
use std::path::Path;

use anyhow::Context as _;

use super::Release;
use super::tree::{self, System};
use crate::programs::bytes_of;

/// Packs the tree.
pub(super) fn write(release: &Release, staged: &Path) -> anyhow::Result<()> {
    let work = tempfile::tempdir().context("a folder for the package")?;
    let goal = work.path().join("tree");
    tree::stage_for(System::Rpm, release, staged, &goal)?;
    let mut list = String::new();
    for file in tree::files(&goal)? {
        list.push_str(&format!("\"/{}\"\n", file.display()));
    }
    let version = release.package_version();
    let spec = release
        .filled("weir.spec", &[("VERSION", &version), ("LEVEL", &release.level.to_string())])?;
    tree::put(work.path(), "weir.spec", spec.as_bytes())?;
    tree::put(work.path(), "files", list.as_bytes())?;
    let define =
        |name: &str, folder: &str| format!("{name} {}", work.path().join(folder).display());
    let mut build = release.command("rpmbuild");
    // No settings of whoever builds; rpm reads them from the home.
    build
        .env("HOME", work.path())
        .args(["-bb", "--target", "x86_64-linux"])
        .args(["--define", &define("_topdir", "top"), "--define", &define("weir_tree", "tree")])
        .args(["--define", &define("weir_files", "files")])
        .arg(work.path().join("weir.spec"));
    bytes_of(&mut build)?;
    let name = format!("weir-{version}-1.x86_64.rpm");
    let made = work.path().join("top/RPMS/x86_64").join(&name);
    fs::copy(&made, release.out.join(&name)).with_context(|| format!("rpmbuild made no {name}"))?;
    Ok(())
}
