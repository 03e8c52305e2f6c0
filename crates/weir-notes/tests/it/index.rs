//! The index as it is kept: records that are cut off, damaged, of another version, refused or written anew;
//! and that what it answers does not depend on any of it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use weir_notes::index::{
    FileStamp, HEADER_BYTES, INDEX_VERSION, IndexedFile, KeptIndex, NoteIndex, NoteRecord,
    RecordFile, facts_of, file_record, header_bytes, removal_record, scan_records,
};
use weir_notes::note::{NoteFacts, tag_key};

use crate::vault::load_vault;

/// A file of records in memory, which may refuse, and of which others see the bytes.
#[derive(Debug, Clone, Default)]
struct TestFile {
    bytes: Arc<Mutex<Vec<u8>>>,
    refuses: Arc<Mutex<bool>>,
}

impl TestFile {
    fn of_bytes(bytes: &[u8]) -> TestFile {
        TestFile { bytes: Arc::new(Mutex::new(bytes.to_vec())), ..TestFile::default() }
    }
    fn empty() -> TestFile {
        TestFile::of_bytes(&header_bytes())
    }
    fn bytes(&self) -> Vec<u8> {
        self.bytes.lock().expect("no panic").clone()
    }
    fn scan(&self) -> Option<KeptIndex> {
        scan_records(|offset, bytes| self.read_at(offset, bytes).ok())
    }
}

impl RecordFile for TestFile {
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<usize, String> {
        let held = self.bytes.lock().expect("no panic");
        let from = usize::try_from(offset).expect("small").min(held.len());
        let count = bytes.len().min(held.len() - from);
        bytes[..count].copy_from_slice(&held[from..from + count]);
        Ok(count)
    }
    fn append(&mut self, bytes: &[u8]) -> Result<u64, String> {
        if *self.refuses.lock().expect("no panic") {
            return Err("the disk is full".into());
        }
        let mut held = self.bytes.lock().expect("no panic");
        held.extend_from_slice(bytes);
        Ok((held.len() - bytes.len()) as u64)
    }
}

fn read_file(path: &str, text: &str) -> IndexedFile {
    IndexedFile {
        path: path.into(),
        stamp: FileStamp { bytes: text.len() as u64, modified: 7 },
        hash: format!("hash of {text}"),
        facts: Some(Box::new(facts_of(path, text))),
    }
}

/// All that it answers about its notes.
fn answers(index: &NoteIndex) -> String {
    let mut said = String::new();
    let name = |number| index.name_table().path_of(number).to_owned();
    for (number, file) in index.list_notes() {
        let links: Vec<_> = index.backlinks_of(number).into_iter().collect();
        let links: Vec<_> =
            links.iter().map(|place| (name(place.source), index.link_at(*place))).collect();
        let links: Vec<_> =
            links.into_iter().map(|(path, found)| (path, found.map(|found| found.link))).collect();
        let facts = index.read_facts(number);
        assert_eq!(index.facts_at(number).as_deref(), facts.as_ref());
        if let Some(facts) = &facts {
            check_parts(&index.record_of(number).expect("it is known"), facts);
        }
        let tags = facts.iter().flat_map(|facts| &facts.tags).map(|tag| tag_key(&tag.name));
        for tag in tags {
            assert!(index.tagged_files(&tag).contains(number), "{tag} of {}", file.path);
        }
        let hash = index.hash_of(number);
        said.push_str(&format!("{file:?} {hash} {facts:?} {links:?}\n"));
    }
    said.push_str(&format!("{:?}\n", index.count_tags()));
    said.push_str(&format!("{:?}\n", index.count_properties().collect::<Vec<_>>()));
    for alias in ["Start", "other", "None"] {
        let named: Vec<_> = index.files_with_alias(alias).into_iter().map(name).collect();
        said.push_str(&format!("{alias}: {named:?}\n"));
    }
    assert_eq!(index.take_damage(), None);
    said
}

/// What is read of a record in parts is what all of it says.
fn check_parts(record: &NoteRecord, facts: &NoteFacts) {
    let tags: Vec<String> = facts.tags.iter().map(|tag| tag.name.clone()).collect();
    assert_eq!((record.tag_names(), record.aliases()), (Some(tags), Some(facts.aliases.clone())));
    assert_eq!(record.properties().as_ref(), Some(&facts.properties));
    for (name, value) in &facts.properties {
        assert_eq!(record.property(name).as_ref(), Some(value));
    }
    assert_eq!(record.property("no such name"), None);
    let names: Vec<String> = facts.properties.keys().cloned().collect();
    assert_eq!(record.property_names(), Some(names));
    let mut links = Vec::new();
    let visited = record.visit_links(|at, form, path| links.push((at, form, path.to_owned())));
    let expected = facts.links.iter().zip(0..);
    let expected: Vec<_> = expected.map(|(link, at)| (at, link.form, link.path.clone())).collect();
    assert_eq!((visited, links), (Some(()), expected));
}

#[test]
fn k1_a_property_is_found_whatever_its_case_where_none_is_written_so() {
    let file = read_file("a.md", "---\nStatus: 1\nstatus: 2\nÉtat: 3\n---\n");
    let mut index = NoteIndex::default();
    let number = index.put_file(&file);
    let record = index.record_of(number).expect("it is known");
    for (name, value) in [("status", 2), ("Status", 1), ("STATUS", 1), ("état", 3)] {
        assert_eq!(record.property(name), Some(value.into()), "{name}");
    }
}

/// An index as another process finds it.
fn reopened(file: &TestFile) -> NoteIndex {
    let kept = file.scan().expect("of this version");
    let mut index = NoteIndex::default();
    index.use_kept(Box::new(file.clone()), &kept);
    for (path, record) in &kept.files {
        index.put_kept(path, record).expect("its own record");
    }
    index
}

fn kept_vault() -> (NoteIndex, TestFile) {
    let file = TestFile::empty();
    let (from, mut index) = (load_vault(), NoteIndex::default());
    index.use_kept(Box::new(file.clone()), &KeptIndex::default());
    for (number, listed) in from.list_files() {
        index.put_file(&IndexedFile {
            path: listed.path.into(),
            stamp: listed.stamp,
            hash: "h".into(),
            facts: from.read_facts(number).map(Box::new),
        });
    }
    (index, file)
}

#[test]
fn k1_a_kept_index_answers_as_the_one_that_was_made() {
    let (mut index, file) = kept_vault();
    let made = answers(&index);
    assert!(made.contains("Projects/Garden.md") && made.contains("area/home"), "{made}");
    assert_eq!(file.bytes(), header_bytes(), "it waits until it is written in one piece");
    assert!(index.has_waiting());
    index.write_waiting().expect("written");
    assert!(!index.has_waiting());
    assert_eq!(answers(&index), made);
    assert_eq!(answers(&reopened(&file)), made);
    // Written anew it says the same, and the former file is not asked any more.
    let fresh = TestFile::empty();
    index.rewrite(Some(fresh.clone()), |_| Ok(())).expect("written anew");
    file.bytes.lock().expect("no panic").clear();
    assert_eq!((answers(&index), answers(&reopened(&fresh))), (made.clone(), made.clone()));
    // Without a file it is as it was.
    let mut bare = load_vault();
    let in_memory = answers(&bare);
    bare.rewrite(None::<TestFile>, |_| Ok(())).expect("written anew");
    assert_eq!(answers(&bare), in_memory);
}

#[test]
fn k1_what_is_cut_off_anywhere_is_as_if_it_were_not_there() {
    let mut whole = header_bytes().to_vec();
    let mut ends = vec![whole.len()];
    for record in [
        file_record(&read_file("a.md", "# A\n#t [[b]]")).expect("short"),
        file_record(&read_file("b.md", "---\nx: [1, -2, 0.5, {y: null}]\n---\n")).expect("short"),
        removal_record("a.md"),
        file_record(&read_file("c.canvas", "{}")).expect("short"),
    ] {
        whole.extend_from_slice(&record);
        ends.push(whole.len());
    }
    for cut in 0..=whole.len() {
        let scanned = TestFile::of_bytes(&whole[..cut]).scan();
        let records = ends.iter().filter(|end| **end <= cut).count();
        let Some(scanned) = scanned else {
            assert!(cut < HEADER_BYTES, "{cut}");
            continue;
        };
        assert_eq!((scanned.records, scanned.whole), (records - 1, ends.contains(&cut)), "{cut}");
        let mut paths: Vec<&str> = scanned.files.keys().map(|path| &**path).collect();
        paths.sort_unstable();
        let expected: &[&str] =
            [&[][..], &["a.md"], &["a.md", "b.md"], &["b.md"], &["b.md", "c.canvas"]][records - 1];
        assert_eq!(paths, expected, "{cut}");
    }
    // A bit that is another one anywhere: nothing that was not written is read.
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        let scanned = TestFile::of_bytes(&bytes).scan();
        let intact = ends.iter().filter(|end| **end <= at).count();
        match scanned {
            None => assert!(at < HEADER_BYTES, "{at}"),
            Some(scanned) => {
                assert_eq!((scanned.records, scanned.whole), (intact - 1, false), "{at}");
            }
        }
    }
}

#[test]
fn k1_an_index_of_another_kind_or_version_is_none() {
    let mut older = header_bytes();
    older[8..].copy_from_slice(&(INDEX_VERSION - 1).to_le_bytes());
    for bytes in [
        &b""[..],
        b"{\"version\":2}\n{\"path\":\"a.md\",\"gone\":true}\n",
        &older,
        &[0; 4_096],
        &[0xff; 4_096],
    ] {
        assert!(TestFile::of_bytes(bytes).scan().is_none(), "{bytes:?}");
    }
    // Behind a good header garbage is nothing.
    for garbage in [&[0_u8; 300][..], &[0xff; 300], b"text that is no record at all"] {
        let scanned = TestFile::of_bytes(&[&header_bytes(), garbage].concat()).scan();
        let scanned = scanned.expect("of this version");
        assert_eq!((scanned.records, scanned.whole), (0, false));
    }
}

#[test]
fn k1_what_the_disk_refuses_stays_in_memory() {
    let (mut index, file) = kept_vault();
    let made = answers(&index);
    *file.refuses.lock().expect("no panic") = true;
    assert!(index.write_waiting().is_err());
    let unwritable = TestFile { refuses: Arc::new(Mutex::new(true)), ..TestFile::empty() };
    assert!(index.rewrite(Some(unwritable), |_| Ok(())).is_err());
    assert!(index.rewrite(Some(TestFile::empty()), |_| Err("no place".into())).is_err());
    assert_eq!(answers(&index), made);
    *file.refuses.lock().expect("no panic") = false;
    index.write_waiting().expect("written");
    assert_eq!((answers(&index), answers(&reopened(&file))), (made.clone(), made));
}

#[test]
fn k1_a_record_that_is_no_longer_there_is_told() {
    for change in [
        |bytes: &mut Vec<u8>| bytes.truncate(HEADER_BYTES),
        |bytes: &mut Vec<u8>| {
            bytes.iter_mut().skip(HEADER_BYTES).for_each(|byte| *byte ^= 1);
        },
    ] {
        let (mut index, file) = kept_vault();
        index.write_waiting().expect("written");
        change(&mut file.bytes.lock().expect("no panic"));
        let (home, _) = index.find_file("Home.md").expect("its name is known");
        assert_eq!(index.facts_at(home), None);
        assert!(index.take_damage().is_some(), "whoever asked must know that answers lack it");
        assert_eq!(index.take_damage(), None, "it is told once");
        // A file whose record is gone can still be replaced and removed.
        index.put_file(&read_file("Home.md", "#fresh"));
        let (garden, _) = index.find_file("Projects/Garden.md").expect("its name is known");
        index.remove(garden);
        assert!(index.tagged_files("fresh").contains(home));
        assert!(!index.tagged_files("map").contains(home), "its former tags are forgotten");
    }
}

/// What may happen to an index.
#[derive(Debug, Clone)]
enum Happening {
    Put(usize, usize),
    Touch(usize),
    Remove(usize),
    Write,
    Rewrite,
    Reopen,
}

const PATHS: [&str; 5] = ["a.md", "f/a.md", "b.md", "f/c.md", "A.canvas"];
const TEXTS: [&str; 6] = [
    "",
    "[[a]] [[b#H|x]] #t/u #T/U #t",
    "---\naliases: [Start, other]\ntags: [T, x]\nstatus: open\n---\n[[f/a]] [[c]]",
    "---\nStatus: 3\nalias: Start\n---\n# H\n- [ ] do [[a.md]] ^b\n",
    "#t #tt #t/u/v [[A]]",
    "{\"nodes\":[{\"file\":\"a.md\"}]}",
];

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        6 => (0..PATHS.len(), 0..TEXTS.len()).prop_map(|(at, text)| Happening::Put(at, text)),
        1 => (0..PATHS.len()).prop_map(Happening::Touch),
        2 => (0..PATHS.len()).prop_map(Happening::Remove),
        2 => Just(Happening::Write),
        1 => Just(Happening::Rewrite),
        1 => Just(Happening::Reopen),
    ]
}

proptest! {
    /// However it came about: it answers as one that is made of the files that there are.
    #[test]
    fn k1_an_index_is_what_its_files_are(happened in prop::collection::vec(happening(), 1..40)) {
        let mut file = TestFile::empty();
        let mut index = NoteIndex::default();
        index.use_kept(Box::new(file.clone()), &KeptIndex::default());
        let mut there: BTreeMap<&str, IndexedFile> = BTreeMap::new();
        for (step, happening) in happened.iter().enumerate() {
            match happening {
                Happening::Put(at, text) => {
                    let read = read_file(PATHS[*at], TEXTS[*text]);
                    index.put_file(&read);
                    there.insert(PATHS[*at], read);
                }
                Happening::Touch(at) => {
                    if let Some(known) = there.get_mut(PATHS[*at]) {
                        known.stamp.modified = i64::try_from(step).expect("small") + 100;
                        let found = index.find_file(PATHS[*at]).expect("it is there");
                        index.set_stamp(found.0, known.stamp);
                    }
                }
                Happening::Remove(at) => {
                    if there.remove(PATHS[*at]).is_some() {
                        index.remove(index.find_file(PATHS[*at]).expect("it is there").0);
                    }
                }
                Happening::Write => index.write_waiting().expect("written"),
                Happening::Rewrite => {
                    file = TestFile::empty();
                    index.rewrite(Some(file.clone()), |_| Ok(())).expect("written anew");
                }
                Happening::Reopen => {
                    index.write_waiting().expect("written");
                    index = reopened(&file);
                }
            }
            // Asked on the way, it must forget what it held of the answer.
            let mut made = NoteIndex::default();
            there.values().for_each(|file| {
                made.put_file(file);
            });
            prop_assert_eq!(answers(&index), answers(&made), "after {:?}", &happened[..=step]);
        }
    }
}
