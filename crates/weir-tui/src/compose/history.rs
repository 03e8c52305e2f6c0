//! The file in which a person's earlier messages are kept: one JSON string a line, the oldest
//! first, for the person alone (0600). Several processes may use it at once. Not here: how one goes
//! through them (`recall`).

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

#[cfg(unix)]
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

/// Messages that are read, from the end.
pub const ENTRIES_MAX: usize = 1000;
/// Longest message that is kept.
pub const ENTRY_BYTES_MAX: usize = 64 << 10;
/// Bytes that are read, from the end.
const READ_BYTES_MAX: u64 = 16 << 20;
/// A file that is larger is made smaller when it is read.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// Bytes that are left then.
const LEFT_BYTES_MAX: usize = 2 << 20;
/// Times that a file is opened again because another process has put a new one in its place.
const OPENED_TIMES_MAX: usize = 10;

/// The last messages, the oldest first. Lines that are none are left out; a file that is not there
/// has none.
///
/// # Errors
/// The file is there and cannot be read.
pub fn read_history_file(path: &Path) -> io::Result<Vec<String>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let bytes = file.metadata()?.len();
    let entries = read_last_entries(&mut file, bytes)?;
    drop(file);
    if bytes > FILE_BYTES_MAX {
        shorten_history_file(path)?;
    }
    Ok(entries)
}

/// Adds a message with one write; one that is too long is left out.
///
/// # Errors
/// It cannot be written.
pub fn append_to_history(path: &Path, text: &str) -> io::Result<()> {
    if text.len() > ENTRY_BYTES_MAX {
        return Ok(());
    }
    let mut file = open_locked(path)?;
    let mut line = Vec::new();
    // Another process may have been stopped in the middle of a line.
    if is_last_line_torn(&mut file)? {
        line.push(b'\n');
    }
    serde_json::to_writer(&mut line, text).map_err(io::Error::from)?;
    line.push(b'\n');
    file.write_all(&line)
}

fn is_last_line_torn(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut byte = [0];
    file.read_exact(&mut byte)?;
    Ok(byte != *b"\n")
}

fn read_last_entries(file: &mut File, bytes: u64) -> io::Result<Vec<String>> {
    let skipped = bytes.saturating_sub(READ_BYTES_MAX);
    file.seek(SeekFrom::Start(skipped))?;
    let mut content = Vec::new();
    file.take(READ_BYTES_MAX).read_to_end(&mut content)?;
    let lines = content.rsplit(|byte| *byte == b'\n');
    let parsed = lines
        .filter(|line| !line.is_empty())
        .filter_map(|line| serde_json::from_slice::<String>(line).ok())
        .filter(|text| text.len() <= ENTRY_BYTES_MAX);
    let mut entries: Vec<String> = parsed.take(ENTRIES_MAX).collect();
    entries.reverse();
    Ok(entries)
}

/// The file, locked for this process alone. A lock is on a file and not on its name: if another
/// process has put a new file there in the meantime, that one is taken.
fn open_locked(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    options.mode(0o600);
    for _ in 0..OPENED_TIMES_MAX {
        let file = options.open(path)?;
        file.lock()?;
        if is_at(&file, path)? {
            return Ok(file);
        }
    }
    Err(io::Error::new(io::ErrorKind::WouldBlock, "the file is replaced again and again"))
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let held = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (held.dev(), held.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}

/// Puts a file with the last messages only in the place of one that has become large.
fn shorten_history_file(path: &Path) -> io::Result<()> {
    let mut file = open_locked(path)?;
    let bytes = file.metadata()?.len();
    if bytes <= FILE_BYTES_MAX {
        return Ok(());
    }
    let mut lines: Vec<Vec<u8>> = Vec::new();
    let mut left = 0;
    for entry in read_last_entries(&mut file, bytes)?.iter().rev() {
        let mut line = serde_json::to_vec(entry).map_err(io::Error::from)?;
        line.push(b'\n');
        left += line.len();
        if left > LEFT_BYTES_MAX {
            break;
        }
        lines.push(line);
    }
    lines.reverse();
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut fresh = tempfile::NamedTempFile::new_in(folder)?;
    fresh.write_all(&lines.concat())?;
    fresh.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("a folder for the test")
    }

    #[test]
    fn f1_messages_are_read_as_they_were_written() {
        let folder = folder();
        let path = folder.path().join("new/history.jsonl");
        assert_eq!(read_history_file(&path).unwrap(), Vec::<String>::new());
        let long = "x".repeat(ENTRY_BYTES_MAX + 1);
        for text in ["one", "two\nlines \"quoted\"", "漢字", &long] {
            append_to_history(&path, text).unwrap();
        }
        assert_eq!(read_history_file(&path).unwrap(), ["one", "two\nlines \"quoted\"", "漢字"]);
        #[cfg(unix)]
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn f1_lines_that_are_no_messages_are_left_out() {
        let folder = folder();
        let path = folder.path().join("history.jsonl");
        let long = format!("\"{}\"", "y".repeat(ENTRY_BYTES_MAX + 1));
        let content = format!("nonsense\n\"a\"\n{{\"b\":1}}\n\n{long}\n\"c\"\n\"torn");
        let mut bytes = content.into_bytes();
        bytes.extend([0xff, 0xfe]);
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(read_history_file(&path).unwrap(), ["a", "c"]);
        append_to_history(&path, "d").unwrap();
        assert_eq!(read_history_file(&path).unwrap(), ["a", "c", "d"]);
    }

    #[test]
    fn f1_only_the_last_messages_are_read() {
        let folder = folder();
        let path = folder.path().join("history.jsonl");
        let lines: String = (0..1500).map(|n| format!("\"{n}\"\n")).collect();
        std::fs::write(&path, lines).unwrap();
        let entries = read_history_file(&path).unwrap();
        assert_eq!((entries.len(), entries[0].as_str()), (ENTRIES_MAX, "500"));
    }

    #[test]
    fn f1_a_large_file_becomes_small_again() {
        let folder = folder();
        let path = folder.path().join("history.jsonl");
        let line = format!("\"{}\"\n", "z".repeat(50_000));
        std::fs::write(&path, line.repeat(100)).unwrap();
        assert_eq!(read_history_file(&path).unwrap().len(), 100);
        let bytes = std::fs::metadata(&path).unwrap().len();
        assert!((1 << 20..=LEFT_BYTES_MAX as u64).contains(&bytes), "{bytes}");
        append_to_history(&path, "last").unwrap();
        assert_eq!(read_history_file(&path).unwrap().last().map(String::as_str), Some("last"));
    }

    #[test]
    fn f1_several_write_at_once_and_no_message_is_lost() {
        let folder = folder();
        let path = folder.path().join("history.jsonl");
        let line = format!("\"{}\"\n", "z".repeat(50_000));
        std::fs::write(&path, line.repeat(100)).unwrap();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let path = &path;
                scope.spawn(move || {
                    for n in 0..50 {
                        append_to_history(path, &format!("{writer}-{n}")).unwrap();
                        if n % 10 == 0 {
                            read_history_file(path).unwrap();
                        }
                    }
                });
            }
        });
        let entries = read_history_file(&path).unwrap();
        for writer in 0..4 {
            for n in 0..50 {
                assert!(entries.contains(&format!("{writer}-{n}")), "{writer}-{n}");
            }
        }
    }
}
