//! T9, Q22: the index of 10,000 and of 100,000 notes, questions to it, one change, and the memory that it
//! holds. What stands in the notes is kept in a file, as in the state directory; what the look at the notes
//! themselves takes is measured where the workspace is.
//! `cargo bench -p weir-notes --bench vault`

use std::fs::File;
use std::os::unix::fs::FileExt;

use weir_notes::base::{BaseQuery, FileTimes, VaultTimes, parse_base, run_query};
use weir_notes::index::{
    IndexedFile, KeptIndex, NoteIndex, RecordFile, facts_of, header_bytes, scan_records,
};

const SIZES: [usize; 2] = [10_000, 100_000];
/// With it, a process measures the memory of an index of so many notes and says it.
const MEASURE: &str = "WEIR_BENCH_NOTES";

fn main() {
    if let Some(notes) = std::env::var(MEASURE).ok().and_then(|notes| notes.parse().ok()) {
        measure_memory(notes);
        return;
    }
    // Each size in a process of its own: what one leaves to the allocator is not the other's.
    for notes in SIZES {
        let program = std::env::current_exe().expect("this program");
        let mut command = std::process::Command::new(program);
        let status = command.env(MEASURE, notes.to_string()).status().expect("it runs");
        assert!(status.success(), "{notes} notes could not be measured");
    }
    divan::main();
}

/// A line for each state, of the same form for each number of notes: bytes in all and for each note.
fn measure_memory(notes: usize) {
    let before = resident_bytes();
    let told = |state: &str| {
        let held = resident_bytes().saturating_sub(before);
        print(&format!("memory notes={notes} state={state} bytes={held} a_note={}", held / notes));
    };
    let made = index_notes(notes);
    told("made");
    let file = made.file;
    drop(made.index);
    let index = reopen(&file);
    told("opened");
    let query = base_query(&index);
    assert!(run_query(&base(), &query).expect("a table").total > 0);
    let all: usize = (0..1_000).map(|at| index.backlinks_of(at * 7 % 1_000).len()).sum();
    assert!(all > 0 && index.take_damage().is_none());
    told("asked");
}

#[expect(clippy::print_stdout, reason = "a figure that divan does not measure")]
fn print(line: &str) {
    println!("{line}");
}

/// Memory of this process, in bytes; 0 where the system does not tell it.
fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok());
    kilobytes.unwrap_or(0) * 1_024
}

/// A file of records on the disk, without a name.
#[derive(Debug)]
struct BenchFile(File);

impl BenchFile {
    fn create() -> BenchFile {
        let mut file = BenchFile(tempfile::tempfile().expect("a file"));
        file.append(&header_bytes()).expect("its header");
        file
    }
    fn share(&self) -> BenchFile {
        BenchFile(self.0.try_clone().expect("the same file"))
    }
}

impl RecordFile for BenchFile {
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<usize, String> {
        let mut read = 0;
        while read < bytes.len() {
            let count = self.0.read_at(&mut bytes[read..], offset + read as u64);
            match count.map_err(|error| error.to_string())? {
                0 => break,
                count => read += count,
            }
        }
        Ok(read)
    }
    fn append(&mut self, bytes: &[u8]) -> Result<u64, String> {
        let end = self.0.metadata().map_err(|error| error.to_string())?.len();
        self.0.write_all_at(bytes, end).map_err(|error| error.to_string())?;
        Ok(end)
    }
}

struct NoTimes;

impl VaultTimes for NoTimes {
    fn file_times(&self, _: &str) -> Option<FileTimes> {
        None
    }
}

/// A note of about two kilobytes with ten links, some tags and properties.
fn note_text(at: usize, notes: usize) -> String {
    let status = ["open", "done", "lost"][at % 3];
    let mut text = format!(
        "---\ntags: [kind/{}, all]\nstatus: {status}\nrating: {}\naliases: [Name {at}]\n---\n# Heading\n",
        at % 50,
        at % 10
    );
    for line in 0..10 {
        let to = (at * 31 + line * 977) % notes;
        text.push_str(&format!(
            "## Part {line}\nSome words about what stands in [[Note {to}]], and why. #tag{}\n- [ ] \
             Something to be done about it, with `code` and more words behind it.\n",
            to % 20
        ));
    }
    text
}

fn indexed_note(at: usize, notes: usize) -> IndexedFile {
    let path = format!("Folder {}/Note {at}.md", at % 100);
    let facts = Some(Box::new(facts_of(&path, &note_text(at, notes))));
    IndexedFile { path, facts, ..IndexedFile::default() }
}

struct BenchIndex {
    index: NoteIndex,
    file: BenchFile,
}

/// Notes as a look at the vault finds them: one folder after the other.
fn index_notes(notes: usize) -> BenchIndex {
    let mut index = NoteIndex::default();
    let file = BenchFile::create();
    index.use_kept(Box::new(file.share()), &KeptIndex::default());
    for folder in 0..100 {
        for at in (folder..notes).step_by(100) {
            index.put_file(&indexed_note(at, notes));
        }
    }
    index.write_waiting().expect("written");
    BenchIndex { index, file }
}

/// The index as the next process opens it.
fn reopen(file: &BenchFile) -> NoteIndex {
    let kept = scan_records(|offset, bytes| file.read_at(offset, bytes).ok());
    let mut kept = kept.expect("its own version");
    let mut index = NoteIndex::default();
    index.use_kept(Box::new(file.share()), &kept);
    let mut files: Vec<_> = std::mem::take(&mut kept.files).into_iter().collect();
    files.sort_by(|a, b| a.0.cmp(&b.0));
    for (path, record) in &files {
        index.put_kept(path, record).expect("its own record");
    }
    index
}

#[divan::bench(args = SIZES, sample_count = 3, sample_size = 1)]
fn index_all_notes(bencher: divan::Bencher<'_, '_>, notes: usize) {
    bencher.bench_local(|| index_notes(notes).index);
}

#[divan::bench(args = SIZES, sample_count = 3, sample_size = 1)]
fn open_the_kept_index(bencher: divan::Bencher<'_, '_>, notes: usize) {
    let made = index_notes(notes);
    bencher.bench_local(|| reopen(&made.file));
}

#[divan::bench(args = SIZES, sample_count = 50, sample_size = 1)]
fn change_one_note(bencher: divan::Bencher<'_, '_>, notes: usize) {
    let mut index = index_notes(notes).index;
    bencher.bench_local(|| {
        index.put_file(&indexed_note(divan::black_box(77), notes));
        index.write_waiting()
    });
}

#[divan::bench(args = SIZES, sample_count = 50, sample_size = 1)]
fn backlinks_after_a_change(bencher: divan::Bencher<'_, '_>, notes: usize) {
    let mut index = index_notes(notes).index;
    bencher.bench_local(|| {
        let number = index.put_file(&indexed_note(divan::black_box(77), notes));
        index.write_waiting().expect("written");
        index.backlinks_of(number).len()
    });
}

/// As `search_by_tag` answers: all are counted, the first hundred are shown with their tags.
#[divan::bench(args = SIZES, sample_count = 50, sample_size = 1)]
fn notes_of_a_tag(bencher: divan::Bencher<'_, '_>, notes: usize) {
    let index = index_notes(notes).index;
    bencher.bench_local(|| {
        let tagged = index.tagged_files(divan::black_box("kind/7"));
        let order = index.path_order();
        let found = order.iter().copied().filter(|number| tagged.contains(*number));
        let found: Vec<u32> = found.collect();
        let shown = found.iter().take(100).map(|number| index.tag_names_of(*number).len());
        (found.len(), shown.sum::<usize>())
    });
}

fn base() -> weir_notes::base::BaseDefinition {
    let yaml = "filters: 'file.hasTag(\"kind\") && status == \"open\"'\nviews:\n  - order: \
                [file.name, rating]\n    limit: 100\n";
    parse_base(yaml).expect("a base")
}

fn base_query(index: &NoteIndex) -> BaseQuery<'_> {
    static NOW: std::sync::LazyLock<jiff::Zoned> =
        std::sync::LazyLock::new(|| "2026-03-02T09:30:15[UTC]".parse().expect("a moment"));
    BaseQuery { index, times: &NoTimes, view: None, this: None, now: &NOW }
}

#[divan::bench(args = SIZES, sample_count = 20, sample_size = 1)]
fn base_over_all_notes(bencher: divan::Bencher<'_, '_>, notes: usize) {
    let index = index_notes(notes).index;
    let (base, query) = (base(), base_query(&index));
    bencher.bench_local(|| run_query(&base, &query).expect("a table").total);
}

#[divan::bench(args = SIZES, sample_count = 20, sample_size = 1)]
fn base_over_notes_of_a_tag(bencher: divan::Bencher<'_, '_>, notes: usize) {
    let index = index_notes(notes).index;
    let yaml = "filters: 'file.hasTag(\"kind/7\") && status == \"open\"'\nviews:\n  - order: \
                [file.name, rating]\n    limit: 100\n";
    let (base, query) = (parse_base(yaml).expect("a base"), base_query(&index));
    bencher.bench_local(|| run_query(&base, &query).expect("a table").total);
}
