//! T9, Q22: the index of 10,000 and of 100,000 notes, questions to it, one change, and the memory that it
//! holds. Without the disk: what the look at the files takes is measured where the workspace is.
//! `cargo bench -p weir-notes --bench vault`

use weir_notes::base::{BaseQuery, FileTimes, VaultTimes, parse_base, run_query};
use weir_notes::index::{IndexedFile, NoteIndex, facts_of};
use weir_notes::note::tag_key;

const SIZES: [usize; 2] = [10_000, 100_000];

fn main() {
    for notes in SIZES {
        let before = resident_bytes();
        let index = index_notes(notes);
        let held = resident_bytes().saturating_sub(before);
        print(&format!("{notes} notes in memory: {} MB", held / 1_000_000));
        drop(index);
    }
    divan::main();
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

fn index_notes(notes: usize) -> NoteIndex {
    let mut index = NoteIndex::default();
    for at in 0..notes {
        index.put_file(indexed_note(at, notes));
    }
    index
}

#[divan::bench(args = SIZES, sample_count = 3, sample_size = 1)]
fn index_all_notes(bencher: divan::Bencher<'_, '_>, notes: usize) {
    bencher.bench_local(|| index_notes(notes));
}

#[divan::bench(args = SIZES, sample_count = 50, sample_size = 1)]
fn change_one_note(bencher: divan::Bencher<'_, '_>, notes: usize) {
    let mut index = index_notes(notes);
    bencher.bench_local(|| index.put_file(indexed_note(divan::black_box(77), notes)));
}

#[divan::bench(args = SIZES, sample_count = 50, sample_size = 1)]
fn backlinks_after_a_change(bencher: divan::Bencher<'_, '_>, notes: usize) {
    let mut index = index_notes(notes);
    bencher.bench_local(|| {
        let number = index.put_file(indexed_note(divan::black_box(77), notes));
        index.backlinks_of(number).len()
    });
}

#[divan::bench(args = SIZES, sample_count = 50, sample_size = 1)]
fn notes_of_a_tag(bencher: divan::Bencher<'_, '_>, notes: usize) {
    let index = index_notes(notes);
    let wanted = tag_key("kind/7");
    bencher.bench_local(|| {
        let all = index.list_notes();
        let has = |name: &str| tag_key(name) == wanted;
        all.iter().filter(|(_, _, facts)| facts.tags.iter().any(|tag| has(&tag.name))).count()
    });
}

#[divan::bench(args = SIZES, sample_count = 20, sample_size = 1)]
fn base_over_all_notes(bencher: divan::Bencher<'_, '_>, notes: usize) {
    let index = index_notes(notes);
    let yaml = "filters: 'file.hasTag(\"kind\") && status == \"open\"'\nviews:\n  - order: \
                [file.name, rating]\n    limit: 100\n";
    let base = parse_base(yaml).expect("a base");
    let now = "2026-03-02T09:30:15[UTC]".parse().expect("a moment");
    let query = BaseQuery { index: &index, times: &NoTimes, view: None, this: None, now: &now };
    bencher.bench_local(|| run_query(&base, &query).expect("a table").total);
}
