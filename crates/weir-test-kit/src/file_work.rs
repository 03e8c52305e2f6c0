//! Work whose effects can be counted: a script that writes one file after the other, the files that it
//! wrote, and a database that is damaged meanwhile.

use std::collections::BTreeSet;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use crate::installation::TestInstallation;

/// Bytes of a page of a database.
const PAGE_BYTES: u64 = 4096;
/// Words in each file.
const WORDS: usize = 4_000;

/// A script of so many turns, each with a file of its own outside the state (`w0.txt` and so on) and
/// words that fill the journal.
pub fn file_writing_script(turns: usize) -> String {
    let mut noise = 7_u32;
    let mut word = || {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        format!("{noise:08x} ")
    };
    let mut script = String::from("name: test\n");
    for turn in 0..turns {
        let text: String = (0..WORDS).map(|_| word()).collect();
        script.push_str(&format!(
            "\nsays: Turn {turn}.\ncalls: write_file {{\"path\": \"w{turn}.txt\", \"content\": \
             \"{text}\"}}\n"
        ));
    }
    script + "\nsays: All is written.\n"
}

/// The files in the workspace that such a script wrote.
pub fn written_files(installation: &TestInstallation) -> BTreeSet<String> {
    let files = std::fs::read_dir(installation.work()).expect("readable");
    let names = files.map(|file| file.expect("readable").file_name().into_string().expect("text"));
    names.filter(|name| name.starts_with('w')).collect()
}

/// Writes over a page of a database; the first is 1.
pub fn damage_page(database: &Path, page: u64) {
    let file = std::fs::OpenOptions::new().write(true).open(database).expect("it is there");
    file.write_all_at(&[0xa5; PAGE_BYTES as usize], (page - 1) * PAGE_BYTES).expect("writable");
}
