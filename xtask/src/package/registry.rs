//! The entry by which the registry of the Agent Client Protocol offers the archive to editors, and its
//! icon. Not here: handing them in.

use std::fs;

use anyhow::Context as _;

use super::{Release, sums};

/// Writes the entry and the icon; the archive must be there.
pub(super) fn write(release: &Release) -> anyhow::Result<()> {
    let (folder, archive) = (release.name(), release.archive_name());
    let sum = sums::of_archive(release)?;
    let version = release.version.as_str();
    let values =
        [("VERSION", version), ("SHA256", &sum), ("ARCHIVE", &archive), ("FOLDER", &folder)];
    let entry = release.filled("agent.json", &values)?;
    fs::write(release.out.join("agent.json"), entry).context("agent.json")?;
    let icon = release.root.join("deploy/package/icon.svg");
    fs::copy(&icon, release.out.join("icon.svg")).with_context(|| icon.display().to_string())?;
    Ok(())
}
