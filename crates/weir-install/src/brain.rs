//! The brain as a folder of Markdown on the disk (K12). Not here: what stands in a file
//! (`weir_core::brain`), and which entries are exported.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use weir_core::brain::{BrainEntry, export_files};
use weir_core::ids::Timestamp;
use weir_core::record::sha256_hex;
use weir_core::view::plain::visible_text;

use crate::archive::file_header;
use crate::failure::usage;

/// What an export leaves beside its files, so that the next one knows them again.
const MANIFEST: &str = ".weir-brain.json";
/// The folder in an archive.
const FOLDER: &str = "weir-brain";
/// Files that an error names.
const NAMED_MAX: usize = 3;

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BrainExport {
    /// The folder.
    pub folder: PathBuf,
    /// How many entries, a file each.
    pub entries: usize,
}

/// The files of an export by name, with the digests that each may have: the new one, and while an
/// export is being written the one before.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct ExportManifest {
    files: BTreeMap<String, BTreeSet<String>>,
}

/// Writes a file for each entry into `folder`. Those of an earlier export are replaced; anything else
/// that stands there, or was changed there since, is left alone and nothing is written.
///
/// # Errors
/// A usage error that says what stands in the way, or the disk refuses.
pub fn export_brain(entries: &[BrainEntry], folder: &Path) -> anyhow::Result<BrainExport> {
    let earlier = earlier_files(folder)?;
    fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    let files = export_files(entries);
    let digest = |text: &str| BTreeSet::from([sha256_hex(text.as_bytes())]);
    let digests = files.iter().map(|file| (file.name.clone(), digest(&file.text))).collect();
    let manifest = ExportManifest { files: digests };
    // What is there of both exports is known from now on, wherever this one ends.
    let mut both = ExportManifest { files: earlier.files.clone() };
    for (name, digests) in &manifest.files {
        both.files.entry(name.clone()).or_default().extend(digests.iter().cloned());
    }
    write_manifest(folder, &both)?;
    for name in earlier.files.keys().filter(|name| !manifest.files.contains_key(*name)) {
        fs::remove_file(folder.join(name)).with_context(|| format!("removing {name}"))?;
    }
    for file in &files {
        let path = folder.join(&file.name);
        fs::write(&path, &file.text).with_context(|| format!("writing {}", path.display()))?;
    }
    write_manifest(folder, &manifest)?;
    Ok(BrainExport { folder: folder.to_path_buf(), entries: files.len() })
}

/// The same folder as one file: a tar archive, compressed.
///
/// # Errors
/// It cannot be packed.
pub fn brain_archive(entries: &[BrainEntry], now: Timestamp) -> std::io::Result<Vec<u8>> {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    let seconds = u64::try_from(now.micros() / 1_000_000).unwrap_or(0);
    for file in export_files(entries) {
        let mut header = file_header(file.text.len() as u64, 0o600);
        header.set_mtime(seconds);
        tar.append_data(&mut header, Path::new(FOLDER).join(&file.name), file.text.as_bytes())?;
    }
    tar.into_inner()?.finish()
}

fn write_manifest(folder: &Path, manifest: &ExportManifest) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(manifest)?;
    let path = folder.join(MANIFEST);
    fs::write(&path, text).with_context(|| format!("writing {}", path.display()))
}

/// The files of an earlier export that stand in `folder` as it left them.
///
/// # Errors
/// A usage error: something else stands there.
fn earlier_files(folder: &Path) -> anyhow::Result<ExportManifest> {
    let listing = match fs::read_dir(folder) {
        Ok(listing) => listing,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(ExportManifest::default());
        }
        Err(error) => {
            return Err(usage(format!("{} cannot be used: {error}", folder.display())));
        }
    };
    let known = match fs::read_to_string(folder.join(MANIFEST)) {
        Ok(text) => serde_json::from_str::<ExportManifest>(&text).unwrap_or_default(),
        Err(_) => ExportManifest::default(),
    };
    let (mut there, mut others) = (ExportManifest::default(), Vec::new());
    for entry in listing {
        let entry = entry.with_context(|| format!("reading {}", folder.display()))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == MANIFEST {
            continue;
        }
        match known.files.get(&name) {
            Some(digests) if is_unchanged(&entry.path(), digests) => {
                there.files.insert(name, digests.clone());
            }
            _ => others.push(name),
        }
    }
    if others.is_empty() {
        return Ok(there);
    }
    others.sort_unstable();
    let named: Vec<String> = others.iter().take(NAMED_MAX).map(|name| visible_text(name)).collect();
    let more = match others.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Err(usage(format!(
        "{} holds files that no export wrote, or that were changed since: {}{more}; nothing was \
         written. Name an empty or new folder with --to",
        folder.display(),
        named.join(", ")
    )))
}

/// Whether a file is as an export left it.
fn is_unchanged(path: &Path, digests: &BTreeSet<String>) -> bool {
    let is_file = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file());
    is_file && fs::read(path).is_ok_and(|bytes| digests.contains(&sha256_hex(&bytes)))
}

#[cfg(test)]
mod tests {
    use weir_core::brain::{BrainEntryKind, BrainEntryState, BrainOrigin};
    use weir_core::ids::BrainEntryId;
    use weir_core::label::Label;

    use super::*;

    fn entry(title: &str) -> BrainEntry {
        BrainEntry {
            id: BrainEntryId::new(title),
            title: title.into(),
            text: "High at six.".into(),
            kind: BrainEntryKind::Note,
            origin: BrainOrigin::default(),
            topics: Vec::new(),
            label: Label::default(),
            created: Timestamp(1),
            changed: Timestamp(1),
            state: BrainEntryState::Active,
            version: 1,
        }
    }

    fn names(folder: &Path) -> Vec<String> {
        let listing = fs::read_dir(folder).expect("it is there").flatten();
        let mut names: Vec<String> =
            listing.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn k12_an_export_replaces_its_own_files_and_no_others() {
        let around = tempfile::tempdir().expect("a temporary folder");
        let folder = around.path().join("brain");
        let written = export_brain(&[entry("Tides"), entry("Rope")], &folder).expect("a new one");
        assert_eq!(written.entries, 2);
        assert_eq!(names(&folder), [MANIFEST, "Rope.md", "Tides.md"]);
        export_brain(&[entry("Tides")], &folder).expect("its own files are replaced");
        assert_eq!(names(&folder), [MANIFEST, "Tides.md"]);
        fs::write(folder.join("Tides.md"), "By hand.").expect("writable");
        let why = export_brain(&[entry("Tides")], &folder).expect_err("it was changed").to_string();
        assert!(why.contains("Tides.md") && why.contains("--to"), "{why}");
        assert_eq!(fs::read_to_string(folder.join("Tides.md")).expect("a text"), "By hand.");
        let other = around.path().join("other");
        fs::create_dir(&other).expect("writable");
        export_brain(&[entry("Tides")], &other).expect("an empty folder will do");
        fs::write(other.join("mine.txt"), "x").expect("writable");
        assert!(export_brain(&[], &other).is_err());
        assert_eq!(names(&other).len(), 3, "nothing was taken away");
    }

    #[test]
    fn k12_an_archive_holds_the_same_folder() {
        let entries = [entry("Tides"), entry("A long title ".repeat(15).as_str())];
        let packed = brain_archive(&entries, Timestamp(1)).expect("it is packed");
        let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(packed.as_slice()));
        let listed = tar.entries().expect("an archive").map(|entry| {
            let path = entry.expect("an entry").path().expect("a path").into_owned();
            path.display().to_string()
        });
        let listed: Vec<String> = listed.collect();
        assert_eq!(listed.len(), 2);
        assert_eq!(listed.first().map(String::as_str), Some("weir-brain/Tides.md"));
    }
}
