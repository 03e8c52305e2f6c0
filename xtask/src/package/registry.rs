//! The entry by which the registry of the Agent Client Protocol offers the archives to editors, and its
//! icon. Not here: handing them in.

use std::fs;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::static_program::OfferedArchive;
use super::{Release, archive, sums, tree};

/// Writes the entry and the icon; the archives must be there.
pub(super) fn write(release: &Release, offered: &[OfferedArchive]) -> anyhow::Result<()> {
    let entry = release.filled("agent.json", &[("VERSION", &release.version)])?;
    let mut entry: Value = serde_json::from_str(&entry).context("the template of agent.json")?;
    for offer in offered {
        let file = archive::file_name(&offer.folder);
        let platform = format!("linux-{}", offer.processor.as_str());
        entry["distribution"]["binary"][platform] = json!({
            "archive": release.address(&file),
            "sha256": sums::of_file(release, &file)?,
            "cmd": format!("./{}/{}", offer.folder, tree::PROGRAM),
            "args": ["acp"],
        });
    }
    let text = serde_json::to_string_pretty(&entry).context("agent.json")?;
    fs::write(release.out.join("agent.json"), text + "\n").context("agent.json")?;
    let icon = release.root.join("deploy/package/icon.svg");
    fs::copy(&icon, release.out.join("icon.svg")).with_context(|| icon.display().to_string())?;
    Ok(())
}
