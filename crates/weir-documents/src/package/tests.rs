//! Archives that mean harm, and honest ones.

use std::io::{Cursor, Write};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;

/// An archive of these files.
pub(crate) fn archive_of(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        let options = SimpleFileOptions::default();
        writer.start_file(*name, options).expect("an entry");
        writer.write_all(bytes).expect("its bytes");
    }
    writer.finish().expect("an archive").into_inner()
}

fn unpacked(bytes: &[u8]) -> Result<Vec<(String, Vec<u8>)>, String> {
    match unpack_archive(bytes, 64 << 20, 100) {
        Ok(DocumentResult::Unpacked { files }) => {
            Ok(files.into_iter().map(|file| (file.path, file.bytes)).collect())
        }
        Ok(other) => panic!("{other:?}"),
        Err(why) => Err(why.to_string()),
    }
}

#[test]
fn k9_an_honest_archive_is_unpacked() {
    let archive = archive_of(&[("a.txt", b"one"), ("b/c.txt", b"two"), ("b\\d.txt", b"three")]);
    let files = unpacked(&archive).expect("unpacked");
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["a.txt", "b/c.txt", "b/d.txt"]);
    assert_eq!(files[1].1, b"two");
}

#[test]
fn k9_paths_that_lead_out_and_doubles_are_refused() {
    for name in ["../x", "a/../../x", "/etc/x", "C:\\x", "..\\x"] {
        let said = unpacked(&archive_of(&[("ok.txt", b""), (name, b"x")])).expect_err(name);
        assert!(said.contains("leads out"), "{name}: {said}");
    }
    let said = unpacked(&archive_of(&[("a.txt", b"1"), ("A.txt", b"2")])).expect_err("twice");
    assert!(said.contains("twice"), "{said}");
}

#[test]
fn k9_entries_of_one_name_are_refused() {
    let archive = archive_of(&[("a.txt", b"seen"), ("b.txt", b"hidden")]);
    let twice: Vec<u8> = archive.iter().map(|b| if *b == b'b' { b'a' } else { *b }).collect();
    let said = unpacked(&twice).expect_err("twice");
    assert!(said.contains("twice under the same name"), "{said}");
    let package = ZipPackage::read_package(&twice, PackageScope::Whole);
    assert!(package.is_err_and(|why| why.to_string().contains("twice")));
}

#[test]
fn k9_links_are_refused() {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    writer.add_symlink("link", "/etc/passwd", SimpleFileOptions::default()).expect("a link");
    let archive = writer.finish().expect("an archive").into_inner();
    let said = unpacked(&archive).expect_err("refused");
    assert!(said.contains("link"), "{said}");
}

#[test]
fn k9_bombs_are_refused() {
    let zeros = vec![0_u8; 16 << 20];
    let said = unpacked(&archive_of(&[("zeros", &zeros)])).expect_err("refused");
    assert!(said.contains("bomb"), "{said}");
    let many: Vec<String> = (0..101).map(|n| n.to_string()).collect();
    let many: Vec<(&str, &[u8])> = many.iter().map(|name| (name.as_str(), &b""[..])).collect();
    let said = unpacked(&archive_of(&many)).expect_err("refused");
    assert!(said.contains("more than 100 files"), "{said}");
}

#[test]
fn k9_broken_archives_are_errors() {
    let archive = archive_of(&[("a.txt", b"one two three one two three")]);
    assert!(unpacked(&archive[..archive.len() / 2]).is_err(), "cut");
    assert!(unpacked(b"PK\x03\x04 nothing").is_err(), "no archive");
    let mut changed = archive.clone();
    changed[40] ^= 0xFF;
    assert!(unpacked(&changed).is_err(), "its sum is wrong");
}

#[test]
fn k8_the_same_parts_are_the_same_bytes() {
    let made = || {
        let mut package = ZipPackage::default();
        package.insert("b", b"2".to_vec());
        package.insert("a", b"1".to_vec());
        package.into_bytes("b").expect("written")
    };
    assert_eq!(made(), made());
}
