//! One number over all sources of this crate: for its build script, and for the test that holds it. Not
//! part of the crate.

use std::fs;
use std::io;
use std::path::Path;

/// The files below `folder` by their names, `/` between folders on every system, in order.
pub(crate) fn read_sources(folder: &Path) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut sources = Vec::new();
    let mut folders = vec![(String::new(), folder.to_path_buf())];
    while let Some((prefix, folder)) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            match entry.file_type()?.is_dir() {
                true => folders.push((format!("{name}/"), entry.path())),
                false => sources.push((name, fs::read(entry.path())?)),
            }
        }
    }
    sources.sort();
    Ok(sources)
}

/// FNV-1a, 64 bits, over names, lengths and bytes. It tells versions apart; it keeps nobody out.
pub(crate) fn source_number(sources: &[(String, Vec<u8>)]) -> u64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let mut number = BASIS;
    let mut take = |bytes: &[u8]| {
        for byte in bytes {
            number = (number ^ u64::from(*byte)).wrapping_mul(PRIME);
        }
    };
    for (name, bytes) in sources {
        take(name.as_bytes());
        take(&(bytes.len() as u64).to_le_bytes());
        take(bytes);
    }
    number
}
