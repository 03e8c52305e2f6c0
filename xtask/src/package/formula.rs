//! The formula by which Homebrew installs an archive. Not here: the tap in which it is published.

use std::fs;

use anyhow::Context as _;

use super::static_program::{OfferedArchive, Processor};
use super::{Release, archive, sums};

/// Writes the formula; the archives must be there.
pub(super) fn write(release: &Release, offered: &[OfferedArchive]) -> anyhow::Result<()> {
    let mut sources = String::new();
    if offered.len() == 1 {
        sources.push_str("  depends_on arch: :x86_64\n");
    }
    for offer in offered {
        let file = archive::file_name(&offer.folder);
        let (address, sum) = (release.address(&file), sums::of_file(release, &file)?);
        let block = match offer.processor {
            Processor::X86_64 => "on_intel",
            Processor::Aarch64 => "on_arm",
        };
        sources.push_str(&format!(
            "\n  {block} do\n    url \"{address}\"\n    sha256 \"{sum}\"\n  end\n"
        ));
    }
    let values = [("VERSION", release.version.as_str()), ("SOURCES", sources.trim_end())];
    let formula = release.filled("weir.rb", &values)?;
    fs::write(release.out.join("weir.rb"), formula).context("weir.rb")
}
