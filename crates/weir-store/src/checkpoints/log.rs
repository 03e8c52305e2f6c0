//! The log of a shadow repository: what small checkpoints wrote, and where they pointed their
//! session, appended to one file, so that one sync makes a checkpoint durable. A record says how
//! long it is and proves itself: its head by a sum, its objects by their names. Not here: what is
//! made of the records (`settle`), and the lock under which all of this happens (`repository`).
//!
//! A record is a head of fixed length, a table (JSON) and the objects one after the other. All
//! records since the log was emptied have the same random word in their heads and are counted.
//! After them come zeros: room is made in steps, because an append that does not change the size
//! of the file waits for the disk once and not twice. What a power cut tore was never acknowledged,
//! and is the last record, because each is durable before the next begins.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use git2::{ObjectType, Oid};
use rustix::fs::OFlags;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::objects::WrittenObject;
use crate::filesystem::sync_folder;

/// Bytes of objects in one record. Larger checkpoints are synced where they lie.
pub(super) const RECORD_BYTES_MAX: usize = 1 << 20;
/// Objects in one record.
pub(super) const RECORD_OBJECTS_MAX: usize = 4096;

const LOG_NAME: &str = "weir.log";
/// How a record begins.
const MAGIC: &[u8; 8] = b"weirlog1";
/// Where in a head stand: the word of the log, the number of the record, the lengths of its table
/// and of its objects, and the sum of all that and the table.
const NONCE_AT: usize = 8;
const NUMBER_AT: usize = 24;
const TABLE_AT: usize = 28;
const OBJECTS_AT: usize = 32;
const SUM_AT: usize = 36;
const HEAD_BYTES: usize = 56;
/// Read at once: most heads with their tables.
const READ_BYTES: usize = 2048;
/// The table of so many objects is shorter.
const TABLE_BYTES_MAX: usize = 1 << 20;
/// Room is made in such steps.
const STEP_BYTES: u64 = 64 << 10;
/// A log of so many bytes or records is emptied before the next one comes.
const LOG_BYTES_MAX: u64 = 4 << 20;
const LOG_RECORDS_MAX: u32 = 256;
/// How far behind a record that is none others are looked for.
const LATER_BYTES_MAX: u64 = 2 * LOG_BYTES_MAX;

type LogNonce = [u8; NUMBER_AT - NONCE_AT];

/// The log of one repository. Everything but `new` happens under the repository's lock.
pub(super) struct CheckpointLog {
    path: PathBuf,
    /// This boot of the machine, empty where it cannot be told. `None`: nobody looked yet.
    pub(super) boot: Option<String>,
    place: Option<LogPlace>,
    /// Something stands behind the last record.
    is_torn: bool,
    /// Objects that are in the log as it is now, as far as this process looked at it.
    logged: HashSet<Oid>,
    /// A record that was not acknowledged may still stand in it.
    is_broken: bool,
    /// This process made the name of the file durable. Whoever made the file may have been killed
    /// before that.
    is_named: bool,
}

/// Where the next record goes.
struct LogPlace {
    nonce: LogNonce,
    number: u32,
    /// Where the last record begins.
    last: u64,
    end: u64,
    /// The boot in which the last record was written.
    boot: String,
}

/// What is in a log.
pub(super) enum LogState {
    Empty,
    /// Records, and the boot in which they were written.
    Records(String),
    /// It is not a log, one of its records in the middle is broken, or the last one that was seen is gone.
    Damaged,
}

/// What one checkpoint needs, or where one that was taken away left its session.
pub(super) struct LogRecord {
    /// Name of the session's ref.
    pub(super) name: String,
    /// The commit that it pointed at.
    pub(super) was: Option<Oid>,
    /// The one that it points at since.
    pub(super) tip: Option<Oid>,
    pub(super) objects: Vec<WrittenObject>,
}

/// What can be read of a log.
pub(super) struct LogContent {
    pub(super) records: Vec<LogRecord>,
    /// All of it can: the disk lost nothing since it was written.
    pub(super) is_whole: bool,
}

/// What stands in a record before its objects.
#[derive(Serialize, Deserialize)]
struct RecordTable {
    boot: String,
    name: String,
    was: Option<String>,
    tip: Option<String>,
    objects: Vec<TableEntry>,
}

#[derive(Serialize, Deserialize)]
struct TableEntry {
    id: String,
    kind: LoggedKind,
    bytes: u32,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LoggedKind {
    Blob,
    Tree,
    Commit,
}

/// A head that proved itself.
struct RecordHead {
    nonce: LogNonce,
    number: u32,
    table_bytes: usize,
    objects_bytes: usize,
    table: RecordTable,
}

impl CheckpointLog {
    /// The log of the repository in `folder`. Nothing is opened.
    pub(super) fn new(folder: &Path) -> CheckpointLog {
        CheckpointLog {
            path: folder.join(LOG_NAME),
            boot: None,
            place: None,
            is_torn: false,
            logged: HashSet::new(),
            is_broken: false,
            is_named: false,
        }
    }

    /// Finds where the records end, whoever wrote them.
    pub(super) fn find_end(&mut self) -> io::Result<LogState> {
        let file = match self.open_file(OpenOptions::new().read(true)) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                self.begin_anew();
                return Ok(LogState::Empty);
            }
            Err(e) => return Err(e),
        };
        let bytes = file.metadata()?.len();
        let first = read_head(&file, 0)?.filter(|head| head.number == 0);
        let Some(first) = first else { return self.look_at_no_record(&file, bytes) };
        let known = self.place.take();
        let mut place = match known.filter(|at| at.nonce == first.nonce && at.end <= bytes) {
            Some(place) if place.is_still_there(&file)? => place,
            Some(place) => {
                self.place = Some(place);
                return Ok(LogState::Damaged);
            }
            None => {
                self.begin_anew();
                LogPlace { nonce: first.nonce, number: 0, last: 0, end: 0, boot: String::new() }
            }
        };
        self.logged.extend(place.pass_records(&file)?);
        let behind = read_up_to(&file, place.end, HEAD_BYTES)?;
        self.is_torn = behind.iter().any(|byte| *byte != 0);
        let start = [&MAGIC[..], &place.nonce[..]].concat();
        if self.is_torn && has_later_record(&file, place.end + 1, &start)? {
            self.place = Some(place);
            return Ok(LogState::Damaged);
        }
        if place.number == 0 {
            return Ok(LogState::Empty);
        }
        let boot = place.boot.clone();
        self.place = Some(place);
        Ok(LogState::Records(boot))
    }

    /// Opens the log, and nothing else that lies in its place or at the end of a link there: it is
    /// cut to nothing where it is no log.
    fn open_file(&self, options: &mut OpenOptions) -> io::Result<File> {
        let no_file =
            || io::Error::other(format!("{} is no file: move it away", self.path.display()));
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        match options.custom_flags(flags).open(&self.path) {
            Ok(file) if file.metadata()?.is_file() => Ok(file),
            Ok(_) => Err(no_file()),
            Err(e) if e.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => Err(no_file()),
            Err(e) => Err(e),
        }
    }

    /// What a file is that does not begin with a record.
    fn look_at_no_record(&mut self, file: &File, bytes: u64) -> io::Result<LogState> {
        self.begin_anew();
        self.is_torn = bytes > 0;
        let start = read_up_to(file, 0, HEAD_BYTES)?;
        if start.iter().all(|byte| *byte == 0) {
            return Ok(LogState::Empty);
        }
        let named = start.len().min(MAGIC.len());
        let is_record = start[..named] == MAGIC[..named];
        // Where the first one was torn there is no other.
        let is_damaged = !is_record || has_later_record(file, 1, MAGIC)?;
        Ok(if is_damaged { LogState::Damaged } else { LogState::Empty })
    }

    /// Whether an object is in the log as it is now, whoever put it there.
    pub(super) fn has_object(&self, id: Oid) -> bool {
        self.logged.contains(&id)
    }

    /// Whether the log is to be emptied before more is appended.
    pub(super) fn is_full(&self) -> bool {
        self.place.as_ref().is_some_and(LogPlace::is_full)
    }

    /// Appends a record, durably. Whoever calls has looked at the log under the same lock.
    pub(super) fn append_record(&mut self, record: &LogRecord) -> io::Result<()> {
        if self.is_broken {
            let why = "an earlier record could not be taken back: start Weir again";
            return Err(io::Error::other(why));
        }
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let file = self.open_file(&mut options)?;
        let (nonce, number, end) = match &self.place {
            Some(place) => (place.nonce, place.number, place.end),
            None => (Uuid::now_v7().into_bytes(), 0, 0),
        };
        let boot = self.boot.clone().unwrap_or_default();
        let bytes = encode_record(&boot, &nonce, number, record)?;
        let next = end + bytes.len() as u64;
        if let Err(error) = self.write_record(&file, bytes, end) {
            // It was not acknowledged, so whoever comes next must not find it.
            self.is_broken = file.set_len(end).is_err();
            return Err(error);
        }
        self.is_torn = false;
        self.is_named = true;
        self.place = Some(LogPlace { nonce, number: number + 1, last: end, end: next, boot });
        self.logged.extend(record.objects.iter().map(|object| object.id));
        Ok(())
    }

    fn write_record(&self, file: &File, mut bytes: Vec<u8>, end: u64) -> io::Result<()> {
        if self.is_torn {
            file.set_len(end)?;
        }
        let next = end + bytes.len() as u64;
        if file.metadata()?.len() < next {
            let room = usize::try_from(next.next_multiple_of(STEP_BYTES) - end);
            bytes.resize(room.map_err(io::Error::other)?, 0);
        }
        file.write_all_at(&bytes, end)?;
        file.sync_data()?;
        match self.path.parent() {
            // It may just have been made.
            Some(folder) if end == 0 || !self.is_named => sync_folder(folder),
            _ => Ok(()),
        }
    }

    /// All records. Objects that do not prove themselves are left out.
    pub(super) fn read_records(&self) -> io::Result<LogContent> {
        let mut content = LogContent { records: Vec::new(), is_whole: true };
        let Some(place) = &self.place else { return Ok(content) };
        let file = self.open_file(OpenOptions::new().read(true))?;
        let mut at = 0;
        while at < place.end {
            let Some(head) = read_head(&file, at)? else {
                content.is_whole = false;
                break;
            };
            let (objects, are_whole) = read_objects(&file, at, &head)?;
            content.is_whole &= are_whole;
            at += head.record_bytes();
            let RecordTable { name, was, tip, .. } = head.table;
            let (was, tip) = (was.as_deref().and_then(parse_id), tip.as_deref().and_then(parse_id));
            content.records.push(LogRecord { name, was, tip, objects });
        }
        Ok(content)
    }

    /// Empties the log, durably: everything that it says is durable elsewhere.
    pub(super) fn empty_log(&mut self) -> io::Result<()> {
        self.begin_anew();
        let file = match self.open_file(OpenOptions::new().write(true)) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(e),
        };
        file.set_len(0)?;
        file.sync_all()
    }

    fn begin_anew(&mut self) {
        self.place = None;
        self.is_torn = false;
        self.logged.clear();
    }
}

impl LogPlace {
    fn is_full(&self) -> bool {
        self.number >= LOG_RECORDS_MAX || self.end >= LOG_BYTES_MAX
    }

    /// Whether the last record stands where it stood. It does not where somebody brought an older state of the
    /// file back: what was in it is nowhere durable then.
    fn is_still_there(&self, file: &File) -> io::Result<bool> {
        let last = read_head(file, self.last)?;
        Ok(last.is_some_and(|head| {
            head.nonce == self.nonce
                && self.number.checked_sub(1) == Some(head.number)
                && self.last + head.record_bytes() == self.end
        }))
    }

    /// Passes over the records that follow, and gives back their objects. A record that its process did not
    /// sync becomes durable with the next one, which is in the same file.
    fn pass_records(&mut self, file: &File) -> io::Result<Vec<Oid>> {
        let (mut last, mut passed) = (None::<(u64, RecordHead)>, Vec::new());
        let mut before_last = self.last;
        // Behind a full log no record begins, whatever stands there.
        while !self.is_full()
            && let Some(head) = read_head(file, self.end)?
            && head.nonce == self.nonce
            && head.number == self.number
        {
            if let Some((start, before)) = &last {
                passed.extend(before.object_ids());
                before_last = *start;
            }
            let start = self.end;
            self.end += head.record_bytes();
            self.number += 1;
            last = Some((start, head));
        }
        let Some((start, head)) = last else { return Ok(passed) };
        let (_, is_whole) = read_objects(file, start, &head)?;
        if is_whole {
            passed.extend(head.object_ids());
            self.last = start;
        } else {
            self.last = before_last;
            self.end = start;
            self.number -= 1;
        }
        // Of one boot are all of them.
        self.boot = head.table.boot;
        Ok(passed)
    }
}

impl RecordHead {
    fn record_bytes(&self) -> u64 {
        (HEAD_BYTES + self.table_bytes + self.objects_bytes) as u64
    }

    fn object_ids(&self) -> impl Iterator<Item = Oid> {
        self.table.objects.iter().filter_map(|entry| parse_id(&entry.id))
    }
}

/// Whether something that begins so stands behind `from`.
fn has_later_record(mut file: &File, from: u64, start: &[u8]) -> io::Result<bool> {
    let mut rest = Vec::new();
    file.seek(SeekFrom::Start(from))?;
    file.take(LATER_BYTES_MAX).read_to_end(&mut rest)?;
    Ok(rest.windows(start.len()).any(|bytes| bytes == start))
}

/// The head at `at`. `None`: no record begins there.
fn read_head(file: &File, at: u64) -> io::Result<Option<RecordHead>> {
    let mut bytes = read_up_to(file, at, READ_BYTES)?;
    if !bytes.starts_with(MAGIC) {
        return Ok(None);
    }
    let word = |at: usize| {
        let word = bytes.get(at..at + 4).and_then(|word| <[u8; 4]>::try_from(word).ok());
        word.map(u32::from_le_bytes)
    };
    let (Some(number), Some(table), Some(objects)) =
        (word(NUMBER_AT), word(TABLE_AT), word(OBJECTS_AT))
    else {
        return Ok(None);
    };
    let (table_bytes, objects_bytes) = (table as usize, objects as usize);
    if table_bytes > TABLE_BYTES_MAX || objects_bytes > RECORD_BYTES_MAX {
        return Ok(None);
    }
    let whole = HEAD_BYTES + table_bytes;
    if bytes.len() < whole {
        bytes = read_up_to(file, at, whole)?;
    }
    let (Some(table), Some(nonce)) = (bytes.get(HEAD_BYTES..whole), bytes.get(NONCE_AT..NUMBER_AT))
    else {
        return Ok(None);
    };
    if sum_of(&bytes[..SUM_AT], table)? != bytes[SUM_AT..HEAD_BYTES] {
        return Ok(None);
    }
    let nonce = LogNonce::try_from(nonce).map_err(io::Error::other)?;
    let Ok(table) = serde_json::from_slice::<RecordTable>(table) else { return Ok(None) };
    let said: u64 = table.objects.iter().map(|entry| u64::from(entry.bytes)).sum();
    if said != objects_bytes as u64 {
        return Ok(None);
    }
    Ok(Some(RecordHead { nonce, number, table_bytes, objects_bytes, table }))
}

/// The objects of the record at `at` that prove themselves, and whether all do.
fn read_objects(file: &File, at: u64, head: &RecordHead) -> io::Result<(Vec<WrittenObject>, bool)> {
    let start = at + (HEAD_BYTES + head.table_bytes) as u64;
    let bytes = read_up_to(file, start, head.objects_bytes)?;
    let mut objects = Vec::with_capacity(head.table.objects.len());
    let mut rest = bytes.as_slice();
    for entry in &head.table.objects {
        let Some((bytes, behind)) = rest.split_at_checked(entry.bytes as usize) else { break };
        rest = behind;
        let kind = entry.kind.object_type();
        let id = Oid::hash_object(kind, bytes).map_err(io::Error::other)?;
        if parse_id(&entry.id) == Some(id) {
            objects.push(WrittenObject { id, kind, bytes: bytes.to_vec() });
        }
    }
    let is_whole = objects.len() == head.table.objects.len();
    Ok((objects, is_whole))
}

fn encode_record(
    boot: &str,
    nonce: &LogNonce,
    number: u32,
    record: &LogRecord,
) -> io::Result<Vec<u8>> {
    let length = |bytes: usize| u32::try_from(bytes).map_err(io::Error::other);
    let mut entries = Vec::with_capacity(record.objects.len());
    let mut objects_bytes = 0;
    for object in &record.objects {
        let kind = LoggedKind::from_object(object.kind)
            .ok_or_else(|| io::Error::other("no such object"))?;
        let bytes = length(object.bytes.len())?;
        entries.push(TableEntry { id: object.id.to_string(), kind, bytes });
        objects_bytes += object.bytes.len();
    }
    let table = serde_json::to_vec(&RecordTable {
        boot: boot.to_string(),
        name: record.name.clone(),
        was: record.was.map(|id| id.to_string()),
        tip: record.tip.map(|id| id.to_string()),
        objects: entries,
    })?;
    if table.len() > TABLE_BYTES_MAX || objects_bytes > RECORD_BYTES_MAX {
        return Err(io::Error::other("a record of the log would be too long"));
    }
    let mut bytes = Vec::with_capacity(HEAD_BYTES + table.len() + objects_bytes);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(nonce);
    for word in [number, length(table.len())?, length(objects_bytes)?] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    let sum = sum_of(&bytes, &table)?;
    bytes.extend_from_slice(&sum);
    bytes.extend_from_slice(&table);
    for object in &record.objects {
        bytes.extend_from_slice(&object.bytes);
    }
    Ok(bytes)
}

/// Tells what a disk wrote from what it did not. Git's own hash, as it is here anyway.
fn sum_of(head: &[u8], table: &[u8]) -> io::Result<Vec<u8>> {
    let sum = Oid::hash_object(ObjectType::Blob, &[head, table].concat());
    Ok(sum.map_err(io::Error::other)?.as_bytes().to_vec())
}

/// Git would take the beginning of a name for a whole one.
pub(super) fn parse_id(text: &str) -> Option<Oid> {
    const ID_CHARS: usize = 40;
    if text.len() == ID_CHARS { text.parse().ok() } else { None }
}

/// So many bytes, or as many as there are.
fn read_up_to(file: &File, at: u64, count: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; count];
    let mut filled = 0;
    while filled < count {
        match file.read_at(&mut bytes[filled..], at + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

impl LoggedKind {
    fn from_object(kind: ObjectType) -> Option<LoggedKind> {
        match kind {
            ObjectType::Blob => Some(LoggedKind::Blob),
            ObjectType::Tree => Some(LoggedKind::Tree),
            ObjectType::Commit => Some(LoggedKind::Commit),
            ObjectType::Any | ObjectType::Tag => None,
        }
    }

    fn object_type(self) -> ObjectType {
        match self {
            LoggedKind::Blob => ObjectType::Blob,
            LoggedKind::Tree => ObjectType::Tree,
            LoggedKind::Commit => ObjectType::Commit,
        }
    }
}

#[cfg(test)]
mod tests;
