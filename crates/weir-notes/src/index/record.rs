//! The index as records of a file: one for each file of the vault, the last for a path counts. So a change
//! is a record more, and one that a crash cut off, or that is damaged, is one that is not there. Not here:
//! opening and writing the file (whoever holds the index), which records are held in memory (`store`).

use std::collections::HashMap;
use std::convert::Infallible;

use minicbor::{Decoder, Encoder};
use serde_json::{Map, Value};

use super::store::RecordPlace;
use super::{FileStamp, IndexedFile};
use crate::note::{LinkForm, NoteFacts};

mod read;
mod write;

use read::{
    form_of, read_facts, read_fields, read_tags, read_text, read_texts, read_value, skip_to_aliases,
};
use write::write_facts;

/// What records mean; a file of another version is made anew.
pub const INDEX_VERSION: u32 = 3;
/// Bytes before the first record.
pub const HEADER_BYTES: usize = 12;
/// What the file begins with.
const MAGIC: &[u8; 8] = b"weirnote";
/// Before each record: its length and its checksum (CRC-32), four bytes each.
pub(super) const FRAME_BYTES: usize = 8;
/// Longest record: several times what stands in the largest note that is parsed (`NOTE_BYTES_MAX`).
const RECORD_BYTES_MAX: usize = 1 << 28;
/// So much of the file is looked through at once.
const SCAN_BYTES: usize = 1 << 20;
/// Parts of a tag, a link, a heading, a block and a task.
const TAG_PARTS: u64 = 4;
const LINK_PARTS: u64 = 9;
const HEADING_PARTS: u64 = 4;
const BLOCK_PARTS: u64 = 3;
const TASK_PARTS: u64 = 4;
/// Kinds of records.
const KIND_FILE: u8 = 1;
const KIND_GONE: u8 = 2;

type WrittenRecord = Result<(), minicbor::encode::Error<Infallible>>;
type RecordEncoder = Encoder<Vec<u8>>;

/// The first bytes of an index.
pub fn header_bytes() -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(MAGIC);
    header[8..].copy_from_slice(&INDEX_VERSION.to_le_bytes());
    header
}

/// A file as a record. `None`: it would be longer than a record may be.
pub fn file_record(file: &IndexedFile) -> Option<Vec<u8>> {
    frame_record(|out| {
        out.u8(KIND_FILE)?.str(&file.path)?;
        out.u64(file.stamp.bytes)?.i64(file.stamp.modified)?.str(&file.hash)?;
        out.bool(file.facts.is_some())?;
        file.facts.as_deref().map_or(Ok(()), |facts| write_facts(out, facts))
    })
}

/// That a file is gone, as a record.
pub fn removal_record(path: &str) -> Vec<u8> {
    frame_record(|out| out.u8(KIND_GONE)?.str(path)?.ok()).unwrap_or_default()
}

fn frame_record(write: impl FnOnce(&mut RecordEncoder) -> WrittenRecord) -> Option<Vec<u8>> {
    let mut out = Encoder::new(vec![0; FRAME_BYTES]);
    // A vector takes whatever is put into it.
    write(&mut out).ok()?;
    let mut bytes = out.into_writer();
    let length = bytes.len() - FRAME_BYTES;
    if length > RECORD_BYTES_MAX {
        return None;
    }
    let sum = crc32fast::hash(&bytes[FRAME_BYTES..]);
    bytes[..4].copy_from_slice(&u32::try_from(length).ok()?.to_le_bytes());
    bytes[4..FRAME_BYTES].copy_from_slice(&sum.to_le_bytes());
    Some(bytes)
}

/// The length of the record, frame included, that begins `bytes`, and whether all of it is there and as it
/// was written. `None`: no record begins there.
fn look_at_frame(bytes: &[u8]) -> Option<(usize, bool)> {
    let length = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
    if length == 0 || length > RECORD_BYTES_MAX {
        return None;
    }
    let all = length + FRAME_BYTES;
    Some((all, bytes.get(..all).is_some_and(is_intact)))
}

/// Whether the bytes of a record, frame included, are as they were written.
pub(super) fn is_intact(bytes: &[u8]) -> bool {
    let Some((frame, body)) = bytes.split_at_checked(FRAME_BYTES) else { return false };
    let length = u32::try_from(body.len()).map(u32::to_le_bytes);
    length.is_ok_and(|length| frame[..4] == length)
        && frame[4..] == crc32fast::hash(body).to_le_bytes()
}

/// A file as its record tells it: parts are read where they are asked for.
#[derive(Debug, Clone)]
pub struct NoteRecord {
    /// Frame and body; the frame was held against the body.
    bytes: Vec<u8>,
}

/// What a record begins with.
struct RecordHead<'a> {
    path: &'a str,
    stamp: FileStamp,
    hash: &'a str,
    known: bool,
    gone: bool,
}

impl NoteRecord {
    /// Takes the bytes of a record that is intact.
    pub(super) fn of_intact(bytes: Vec<u8>) -> NoteRecord {
        NoteRecord { bytes }
    }
    /// Before what stands in the note.
    fn open_facts(&self) -> Option<Decoder<'_>> {
        let mut read = Decoder::new(self.bytes.get(FRAME_BYTES..)?);
        read_head(&mut read)?.known.then_some(read)
    }
    /// The hash of the text.
    pub fn hash(&self) -> Option<String> {
        let mut read = Decoder::new(self.bytes.get(FRAME_BYTES..)?);
        Some(read_head(&mut read)?.hash.to_owned())
    }
    /// The property of this name; where there is none, the first one whose name differs only by case.
    pub fn property(&self, name: &str) -> Option<Value> {
        let mut read = self.open_facts()?;
        let mut alike = None;
        for _ in 0..read.map().ok()?? {
            let own = read.str().ok()?;
            if own == name {
                return read_value(&mut read, 0);
            }
            if alike.is_none() && is_alike(own, name) {
                alike = Some(read_value(&mut read, 0)?);
            } else {
                read.skip().ok()?;
            }
        }
        alike
    }
    /// Names of its properties as it writes them.
    pub fn property_names(&self) -> Option<Vec<String>> {
        let mut read = self.open_facts()?;
        let mut names = Vec::new();
        for _ in 0..read.map().ok()?? {
            names.push(read_text(&mut read)?);
            read.skip().ok()?;
        }
        Some(names)
    }
    /// All properties.
    pub fn properties(&self) -> Option<Map<String, Value>> {
        read_fields(&mut self.open_facts()?, 0)
    }
    /// The names of its tags as they are written, those of the properties first.
    pub fn tag_names(&self) -> Option<Vec<String>> {
        let mut read = self.open_facts()?;
        read.skip().ok()?;
        Some(read_tags(&mut read)?.into_iter().map(|tag| tag.name).collect())
    }
    /// Other names of the note.
    pub fn aliases(&self) -> Option<Vec<String>> {
        let mut read = self.open_facts()?;
        skip_to_aliases(&mut read)?;
        read_texts(&mut read)
    }
    /// Goes over its links: the number of each, how it is written and its path.
    pub fn visit_links(&self, mut visit: impl FnMut(u32, LinkForm, &str)) -> Option<()> {
        let mut read = self.open_facts()?;
        skip_to_aliases(&mut read)?;
        read.skip().ok()?;
        let count = u32::try_from(read.array().ok()??).ok()?;
        for at in 0..count {
            read.array().ok()?.filter(|parts| *parts == LINK_PARTS)?;
            let form = form_of(read.u8().ok()?)?;
            visit(at, form, read.str().ok()?);
            // Those behind how it is written and its path.
            for _ in 2..LINK_PARTS {
                read.skip().ok()?;
            }
        }
        Some(())
    }
    /// All of it.
    pub fn to_file(&self) -> Option<IndexedFile> {
        let mut read = Decoder::new(self.bytes.get(FRAME_BYTES..)?);
        let RecordHead { path, stamp, hash, known, gone } = read_head(&mut read)?;
        let facts = match known {
            true => Some(Box::new(read_facts(&mut read)?)),
            false => None,
        };
        let file = IndexedFile { path: path.to_owned(), stamp, hash: hash.to_owned(), facts };
        (!gone).then_some(file)
    }
    /// What stands in the note.
    pub fn facts(&self) -> Option<NoteFacts> {
        read_facts(&mut self.open_facts()?)
    }
}

/// Whether two names of properties differ by nothing but case.
fn is_alike(a: &str, b: &str) -> bool {
    match a.is_ascii() && b.is_ascii() {
        true => a.eq_ignore_ascii_case(b),
        false => a.to_lowercase() == b.to_lowercase(),
    }
}

fn read_head<'a>(read: &mut Decoder<'a>) -> Option<RecordHead<'a>> {
    let kind = read.u8().ok()?;
    let path = read.str().ok()?;
    if kind == KIND_GONE {
        let stamp = FileStamp::default();
        return Some(RecordHead { path, stamp, hash: "", known: false, gone: true });
    }
    if kind != KIND_FILE {
        return None;
    }
    let stamp = FileStamp { bytes: read.u64().ok()?, modified: read.i64().ok()? };
    let hash = read.str().ok()?;
    let known = read.bool().ok()?;
    Some(RecordHead { path, stamp, hash, known, gone: false })
}

/// A file as an index that was kept knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptRecord {
    /// What it was when it was read.
    pub stamp: FileStamp,
    /// Where its record stands.
    pub place: RecordPlace,
}

/// An index as it was kept.
#[derive(Debug, Default)]
pub struct KeptIndex {
    /// Files by path.
    pub files: HashMap<Box<str>, KeptRecord>,
    /// Records, those that count no more included.
    pub records: usize,
    /// Nothing in it was cut off or damaged. Behind what is, nothing was read.
    pub whole: bool,
}

/// Looks a file of records through; `read_at` reads bytes from a place, fewer than wanted only at the end.
/// `None`: it is no such file, or one of another version, or cannot be read.
pub fn scan_records(read_at: impl Fn(u64, &mut [u8]) -> Option<usize>) -> Option<KeptIndex> {
    let mut header = [0; HEADER_BYTES];
    if read_at(0, &mut header)? < HEADER_BYTES || header != header_bytes() {
        return None;
    }
    let mut kept = KeptIndex::default();
    let mut from = HEADER_BYTES as u64;
    let mut wanted = SCAN_BYTES;
    let mut bytes = vec![0; wanted];
    loop {
        bytes.resize(wanted, 0);
        let read = read_at(from, &mut bytes)?;
        let is_end = read < wanted;
        let mut at = 0;
        wanted = SCAN_BYTES;
        while at < read {
            let rest = &bytes[at..read];
            match look_at_frame(rest) {
                Some((length, true)) => {
                    take_record(&mut kept, &rest[..length], from + at as u64)?;
                    at += length;
                }
                // Its end may stand behind what was read.
                Some((length, false)) if length > rest.len() && !is_end => {
                    // A length that was never written makes no room for more than there is.
                    let last = from + (at + length) as u64 - 1;
                    if read_at(last, &mut [0])? == 0 {
                        return Some(kept);
                    }
                    wanted = wanted.max(length);
                    break;
                }
                None if rest.len() < FRAME_BYTES && !is_end => break,
                Some((_, false)) | None => return Some(kept),
            }
        }
        from += at as u64;
        if is_end {
            kept.whole = true;
            return Some(kept);
        }
    }
}

fn take_record(kept: &mut KeptIndex, bytes: &[u8], offset: u64) -> Option<()> {
    kept.records += 1;
    let RecordHead { path, stamp, known, gone, .. } =
        read_head(&mut Decoder::new(bytes.get(FRAME_BYTES..)?))?;
    match known && !gone {
        true => {
            let place = RecordPlace::new(offset, bytes.len())?;
            kept.files.insert(path.into(), KeptRecord { stamp, place });
        }
        false => {
            kept.files.remove(path);
        }
    }
    Some(())
}
