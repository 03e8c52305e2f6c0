//! A ZIP package of parts: read within bounds, written the same way every time. Not here: what the
//! parts mean.

use std::collections::BTreeMap;
use std::io::{Cursor, Read, Write};

use weir_core::document::{DocumentError, DocumentResult, UnpackedFile};
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

use crate::xml::{XmlElement, parse_xml};
use crate::{broken_document, too_large, unfit_description};

/// Most entries of a package.
const ENTRIES_MAX: usize = 5_000;
/// Most bytes of all parts of a document together.
const TOTAL_BYTES_MAX: u64 = 200 << 20;
/// From this size on, how much an entry may have been compressed is looked at.
const RATIO_BYTES_MIN: u64 = 4 << 20;
/// How many times larger than its compressed form an entry may be; plain XML reaches 60.
const RATIO_MAX: u64 = 250;

/// Parts by name.
#[derive(Debug, Default)]
pub(crate) struct ZipPackage {
    parts: BTreeMap<String, Vec<u8>>,
    /// Names whose bytes were not read: pictures, fonts, films.
    unread: Vec<String>,
}

/// What is read of a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PackageScope {
    /// Text only.
    Texts,
    /// Everything.
    Whole,
}

impl ZipPackage {
    /// Reads a package.
    pub(crate) fn read_package(
        bytes: &[u8],
        scope: PackageScope,
    ) -> Result<ZipPackage, DocumentError> {
        let mut archive = open_archive(bytes, ENTRIES_MAX)?;
        let mut package = ZipPackage::default();
        let mut left = TOTAL_BYTES_MAX;
        for at in 0..archive.len() {
            let Some(entry) = ArchiveEntry::inspect_entry(&mut archive, at)? else { continue };
            // A link in a document leads nowhere that is read.
            if entry.is_link || (scope == PackageScope::Texts && !is_text_part(&entry.path)) {
                package.unread.push(entry.path);
                continue;
            }
            let content = read_entry(&mut archive, at, &entry, left)?;
            left -= content.len() as u64;
            package.parts.insert(entry.path, content);
        }
        Ok(package)
    }

    pub(crate) fn find_part(&self, name: &str) -> Option<&[u8]> {
        self.parts.get(name).map(Vec::as_slice)
    }

    /// The tree of a part, when it is there.
    pub(crate) fn parse_part(&self, name: &str) -> Result<Option<XmlElement>, DocumentError> {
        self.find_part(name).map(|bytes| parse_xml(name, bytes)).transpose()
    }

    /// The tree of a part that must be there.
    pub(crate) fn needed_xml(&self, name: &str) -> Result<XmlElement, DocumentError> {
        self.parse_part(name)?.ok_or_else(|| broken_document(format!("{name} is missing in it")))
    }

    /// All names, also of what was not read.
    pub(crate) fn list_names(&self) -> impl Iterator<Item = &str> {
        self.parts.keys().chain(&self.unread).map(String::as_str)
    }

    pub(crate) fn insert(&mut self, name: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.parts.insert(name.into(), bytes.into());
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.parts.remove(name);
    }

    /// Gives a part another name.
    pub(crate) fn rename(&mut self, name: &str, other: String) {
        if let Some(bytes) = self.parts.remove(name) {
            self.parts.insert(other, bytes);
        }
    }

    /// The package as a file: `first` leads, the others follow by name, all of the same day, so that
    /// the same parts are the same bytes.
    pub(crate) fn into_bytes(mut self, first: &str) -> Result<Vec<u8>, DocumentError> {
        let failed = |error: ZipError| DocumentError::Failed { why: error.to_string() };
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .last_modified_time(DateTime::default());
        let leading = self.parts.remove_entry(first);
        for (name, bytes) in leading.into_iter().chain(self.parts) {
            writer.start_file(name, options).map_err(failed)?;
            writer.write_all(&bytes).map_err(|error| failed(ZipError::Io(error)))?;
        }
        Ok(writer.finish().map_err(failed)?.into_inner())
    }
}

/// The part with the relationships of `part`; of the whole package where that is empty.
pub(crate) fn relations_part(part: &str) -> String {
    match part.rsplit_once('/') {
        Some((folder, name)) => format!("{folder}/_rels/{name}.rels"),
        None => format!("_rels/{part}.rels"),
    }
}

/// The part that a relationship in `folder` leads to.
pub(crate) fn join_path(folder: &str, target: &str) -> String {
    if let Some(whole) = target.strip_prefix('/') {
        return whole.to_owned();
    }
    let mut steps: Vec<&str> = folder.split('/').filter(|step| !step.is_empty()).collect();
    for step in target.split('/') {
        match step {
            ".." => drop(steps.pop()),
            "." => {}
            step => steps.push(step),
        }
    }
    steps.join("/")
}

fn is_text_part(path: &str) -> bool {
    const TEXTS: [&str; 10] =
        ["xml", "rels", "xhtml", "html", "htm", "opf", "ncx", "txt", "css", "mimetype"];
    let name = path.rsplit('/').next().unwrap_or(path);
    let ending = name.rsplit('.').next().unwrap_or(name).to_ascii_lowercase();
    TEXTS.contains(&ending.as_str()) && ending != "css"
}

/// An entry before it is read.
struct ArchiveEntry {
    /// As it stands in the archive.
    path: String,
    size: u64,
    compressed: u64,
    is_link: bool,
}

impl ArchiveEntry {
    /// `None`: a folder.
    fn inspect_entry(
        archive: &mut ZipArchive<Cursor<&[u8]>>,
        at: usize,
    ) -> Result<Option<ArchiveEntry>, DocumentError> {
        let file = archive.by_index_raw(at).map_err(|error| archive_error(&error))?;
        if file.encrypted() {
            return Err(DocumentError::Encrypted);
        }
        let path = file.name().map_err(|error| archive_error(&error))?.into_owned();
        let is_link = file.is_symlink();
        let entry =
            ArchiveEntry { path, size: file.size(), compressed: file.compressed_size(), is_link };
        Ok((!file.is_dir()).then_some(entry))
    }

    fn refuse_bomb(&self, left: u64) -> Result<(), DocumentError> {
        if self.size > left {
            return Err(too_large("what is packed in it is larger than what is unpacked here"));
        }
        if self.size > RATIO_BYTES_MIN && self.size / self.compressed.max(1) > RATIO_MAX {
            return Err(unfit_description(format!(
                "{} in it is packed {} times smaller, as in a bomb, and more than {RATIO_MAX} \
                 times is not unpacked",
                self.path,
                self.size / self.compressed.max(1)
            )));
        }
        Ok(())
    }
}

fn open_archive(
    bytes: &[u8],
    entries_max: usize,
) -> Result<ZipArchive<Cursor<&[u8]>>, DocumentError> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| archive_error(&error))?;
    if archive.len() > entries_max {
        let count = archive.len();
        return Err(too_large(format!(
            "it has {count} entries, and at most {entries_max} are read"
        )));
    }
    // Of two entries of one name, one program sees this and another that.
    if archive.has_duplicate_names() {
        return Err(unfit_description(
            "an entry is in it twice under the same name, and it is not opened; pack it anew",
        ));
    }
    // Entries that share their bytes: small on the disk, endless when unpacked.
    if archive.has_overlapping_files().map_err(|error| archive_error(&error))? {
        return Err(unfit_description("its entries overlap, as in a bomb, and it is not unpacked"));
    }
    Ok(archive)
}

/// What a header says may be a lie: no more is read than it says.
fn read_entry(
    archive: &mut ZipArchive<Cursor<&[u8]>>,
    at: usize,
    entry: &ArchiveEntry,
    left: u64,
) -> Result<Vec<u8>, DocumentError> {
    entry.refuse_bomb(left)?;
    let file = archive.by_index(at).map_err(|error| archive_error(&error))?;
    let mut content = Vec::new();
    file.take(entry.size + 1)
        .read_to_end(&mut content)
        .map_err(|error| broken_document(format!("{}: {error}", entry.path)))?;
    if content.len() as u64 != entry.size {
        return Err(broken_document(format!("{} is not as long as it says", entry.path)));
    }
    Ok(content)
}

fn archive_error(error: &ZipError) -> DocumentError {
    match error {
        ZipError::InvalidPassword => DocumentError::Encrypted,
        error => broken_document(error),
    }
}

/// The files of an archive, all or none.
pub(crate) fn unpack_archive(
    bytes: &[u8],
    bytes_max: u64,
    files_max: usize,
) -> Result<DocumentResult, DocumentError> {
    let mut archive = open_archive(bytes, ENTRIES_MAX)?;
    let (mut files, mut left) = (Vec::<UnpackedFile>::new(), bytes_max);
    let mut known = std::collections::BTreeSet::new();
    for at in 0..archive.len() {
        let Some(entry) = ArchiveEntry::inspect_entry(&mut archive, at)? else { continue };
        let path = inner_path(&entry.path)?;
        if entry.is_link {
            return Err(unfit_description(format!("{path} in it is a link; nothing is unpacked")));
        }
        if files.len() >= files_max {
            return Err(too_large(format!("it has more than {files_max} files")));
        }
        if !known.insert(path.to_lowercase()) {
            return Err(unfit_description(format!(
                "{path} is in it twice, but for capitals; nothing is unpacked"
            )));
        }
        if entry.size > left {
            let max = bytes_max >> 20;
            return Err(too_large(format!("its files have more than {max} MB together")));
        }
        let bytes = read_entry(&mut archive, at, &entry, left)?;
        left -= bytes.len() as u64;
        files.push(UnpackedFile { path, bytes });
    }
    Ok(DocumentResult::Unpacked { files })
}

/// The path of an entry, when it stays where the archive is unpacked.
fn inner_path(raw: &str) -> Result<String, DocumentError> {
    let path = raw.replace('\\', "/");
    let leads_out = path.starts_with('/')
        || path.split('/').any(|step| step == "..")
        || path.as_bytes().get(1) == Some(&b':');
    if leads_out {
        let shown: String = raw.chars().filter(|c| !c.is_control()).take(200).collect();
        return Err(unfit_description(format!(
            "the path {shown} in it leads out of the folder; nothing is unpacked"
        )));
    }
    if path.chars().any(char::is_control) {
        return Err(broken_document("a path in it has control characters"));
    }
    let steps: Vec<&str> =
        path.split('/').filter(|step| !step.is_empty() && *step != ".").collect();
    if steps.is_empty() {
        return Err(broken_document("a path in it is empty"));
    }
    Ok(steps.join("/"))
}

#[cfg(test)]
pub(crate) mod tests;
