//! The daily audit files: `audit/YYYY-MM-DD.jsonl`, appended to by every process that uses the
//! store.
//!
//! A line goes into the file of its entry's day (UTC), but never into one older than the newest
//! file, so that the files, read in the order of their names, hold the chain in order even when a
//! clock jumped back.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, FlockOperation};
use weir_core::ids::Timestamp;
use weir_engine::ports::StoreError;

use super::{FileLine, StoredLine};
use crate::filesystem::{io_error, private_folder};

/// Bytes reserved on disk at a time: that a later write finds its place must be known before the
/// facts are committed.
const RESERVE_BYTES: u64 = 64 * 1024;
/// Bytes read from the end of a file to find its last line.
const TAIL_BYTES: u64 = 64 * 1024;

/// The folder of the daily files, with the one that is being written.
#[derive(Debug)]
pub(crate) struct AuditFolder {
    folder: PathBuf,
    current: Option<DayFile>,
}

/// Whether a line of `now` could be written to the audit log in a state folder.
///
/// # Errors
/// What is in the way, and what to do.
pub fn check_audit_writable(state_dir: &Path, now: Timestamp) -> Result<(), StoreError> {
    AuditFolder::new(state_dir).prepare_day_file(now, 1)
}

#[derive(Debug)]
struct DayFile {
    day: String,
    file: File,
    /// Up to here space is reserved.
    reserved: u64,
    /// Length when this process last looked, and the number of the last line then.
    known: Option<(u64, u64)>,
}

impl AuditFolder {
    pub(crate) fn new(state_dir: &Path) -> AuditFolder {
        AuditFolder { folder: state_dir.join("audit"), current: None }
    }

    /// Opens the file of the day of `ts` and makes sure that `bytes` more fit on the disk.
    ///
    /// # Errors
    /// When the file cannot be written: nothing may be committed then.
    pub(crate) fn prepare_day_file(&mut self, ts: Timestamp, bytes: u64) -> Result<(), StoreError> {
        self.open_day(ts).and_then(|()| self.reserve(bytes)).map_err(|e| {
            // What was open may have been moved away: look again next time.
            self.current = None;
            unwritable_audit_error(&self.folder, &e)
        })
    }

    fn open_day(&mut self, ts: Timestamp) -> io::Result<()> {
        let day = day_of(ts);
        match &self.current {
            // Deleted under us: a name must stand in the folder for every line.
            Some(current) if current.day >= day && is_linked(&current.file)? => return Ok(()),
            Some(_) | None => {}
        }
        private_folder(&self.folder).map_err(|e| io::Error::other(e.to_string()))?;
        let newest = daily_files(&self.folder)?.pop().map(|(name, _)| name);
        let day = newest.filter(|newest| *newest > day).unwrap_or(day);
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .open(self.folder.join(format!("{day}.jsonl")))?;
        self.current = Some(DayFile { day, file, reserved: 0, known: None });
        Ok(())
    }

    fn reserve(&mut self, bytes: u64) -> io::Result<()> {
        let Some(current) = &mut self.current else { return Ok(()) };
        let length = current.file.metadata()?.len();
        if length + bytes <= current.reserved {
            return Ok(());
        }
        let more = bytes.max(RESERVE_BYTES);
        match rustix::fs::fallocate(&current.file, FallocateFlags::KEEP_SIZE, length, more) {
            Ok(()) => current.reserved = length + more,
            // The file system cannot reserve: the write itself will tell.
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {
                current.reserved = u64::MAX;
            }
            Err(e) => return Err(e.into()),
        }
        Ok(())
    }

    /// Writes the lines that the files do not have yet. `lines` were committed just now; `missing`
    /// gives committed lines of the numbers from its first to its second argument, for those that
    /// another process (or a crash) left behind. Returns the number of the last line in the files.
    pub(crate) fn export(
        &mut self,
        lines: &[StoredLine],
        exported: u64,
        missing: &mut dyn FnMut(u64, u64) -> Result<Vec<StoredLine>, StoreError>,
    ) -> Result<u64, StoreError> {
        let (Some(first), Some(last)) = (lines.first(), lines.last()) else { return Ok(exported) };
        let folder = self.folder.clone();
        let failed = |e: &io::Error| unwritable_audit_error(&folder, e);
        self.open_day(first.ts).map_err(|e| failed(&e))?;
        let Some(current) = &mut self.current else { return Ok(exported) };
        rustix::fs::flock(&current.file, FlockOperation::LockExclusive)
            .map_err(|e| failed(&e.into()))?;
        let result = (|| {
            let (length, in_file) = current.measure_file_end(&folder).map_err(|e| failed(&e))?;
            let done = in_file.max(exported);
            let mut text = String::new();
            let next = done.saturating_add(1);
            if next < first.n {
                for line in missing(next, first.n - 1)? {
                    text.push_str(&line.render_json_line());
                }
            }
            for line in lines.iter().filter(|line| line.n > done) {
                text.push_str(&line.render_json_line());
            }
            current.file.write_all(text.as_bytes()).map_err(|e| failed(&e))?;
            let end = last.n.max(done);
            current.known = Some((length + text.len() as u64, end));
            Ok(end)
        })();
        if result.is_err() {
            current.known = None;
        }
        // Unlocking cannot fail for a descriptor that was locked a moment ago.
        let _ = rustix::fs::flock(&current.file, FlockOperation::Unlock);
        result
    }
}

impl DayFile {
    /// Length of the file and number of the last line in it or in a file before it. A last line
    /// that a crash tore is cut off: it was never complete, and the table has it.
    fn measure_file_end(&mut self, folder: &Path) -> io::Result<(u64, u64)> {
        let length = self.file.metadata()?.len();
        if let Some((known, n)) = self.known
            && known == length
        {
            return Ok((length, n));
        }
        let (kept, found) = last_line(&mut self.file, length)?;
        if kept < length {
            self.file.set_len(kept)?;
        }
        if let Some(n) = found {
            return Ok((kept, n));
        }
        let mut older = daily_files(folder)?;
        older.retain(|(day, _)| *day < self.day);
        while let Some((_, path)) = older.pop() {
            let mut file = File::open(path)?;
            let length = file.metadata()?.len();
            if let (_, Some(n)) = last_line(&mut file, length)? {
                return Ok((kept, n));
            }
        }
        Ok((kept, 0))
    }
}

/// Where the last whole line ends, and its number. A line that cannot be read counts as number 0:
/// `verify` will name it.
fn last_line(file: &mut File, length: u64) -> io::Result<(u64, Option<u64>)> {
    let mut window = TAIL_BYTES.min(length);
    loop {
        file.seek(SeekFrom::Start(length - window))?;
        let mut tail = vec![0; usize::try_from(window).unwrap_or(usize::MAX)];
        file.read_exact(&mut tail)?;
        let Some(end) = tail.iter().rposition(|byte| *byte == b'\n') else {
            if window == length {
                return Ok((0, None));
            }
            window = length.min(window * 2);
            continue;
        };
        let start = tail[..end].iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
        if start.is_none() && window < length {
            window = length.min(window * 2);
            continue;
        }
        let line = &tail[start.unwrap_or(0)..end];
        let n = serde_json::from_slice::<FileLine<'_>>(line).map_or(0, |line| line.n);
        return Ok((length - window + end as u64 + 1, Some(n)));
    }
}

/// The daily files, oldest first, by day.
pub(super) fn daily_files(folder: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    let entries = match folder.read_dir() {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(found),
        Err(e) => return Err(e),
    };
    for entry in entries {
        let path = entry?.path();
        let day = path.file_name().and_then(|name| name.to_str()).and_then(day_of_name);
        if let Some(day) = day {
            found.push((day.to_string(), path));
        }
    }
    found.sort();
    Ok(found)
}

fn day_of_name(name: &str) -> Option<&str> {
    let day = name.strip_suffix(".jsonl")?;
    let shape = day.len() == 10
        && day.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    shape.then_some(day)
}

fn day_of(ts: Timestamp) -> String {
    ts.to_string().chars().take(10).collect()
}

fn is_linked(file: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    Ok(file.metadata()?.nlink() > 0)
}
/// No effect is let through whose line cannot be written (G10), so this is all that anybody hears
/// of why everything stopped.
fn unwritable_audit_error(folder: &Path, error: &io::Error) -> StoreError {
    let doing = format!("writing the audit log in {}", folder.display());
    match io_error(doing, error) {
        StoreError::Io { doing, why } => StoreError::Io {
            doing,
            why: format!(
                "{why}. Nothing is done that cannot be put on record: make that a folder which \
                 this user can write and that has room, then go on with the session"
            ),
        },
        other => other,
    }
}
