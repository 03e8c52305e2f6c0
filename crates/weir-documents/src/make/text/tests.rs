//! What is made, read back.

use weir_core::document::{DocumentRequest, DocumentResult};
use weir_core::office::{OfficeDocument, OfficePart};

use super::*;
use crate::answer_question;
use crate::package::PackageScope;

/// Makes a document with files; its bytes.
pub(crate) fn make(document: OfficeDocument, files: &[(&str, &[u8])]) -> Result<Vec<u8>, String> {
    let parts = files
        .iter()
        .map(|(name, bytes)| OfficePart { name: (*name).into(), length: bytes.len() as u64 })
        .collect();
    let bytes: Vec<u8> = files.iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect();
    match answer_question(&DocumentRequest::Make { document, parts }, &bytes) {
        Ok(DocumentResult::Made { bytes, .. }) => Ok(bytes),
        Ok(other) => panic!("{other:?}"),
        Err(why) => Err(why.to_string()),
    }
}

/// Reads a document back; its pages, joined.
pub(crate) fn read_back(name: &str, bytes: &[u8]) -> String {
    let wish = DocumentRequest::Markdown {
        name: name.into(),
        sheet: None,
        range: None,
        bytes_max: 1 << 20,
    };
    match answer_question(&wish, bytes) {
        Ok(DocumentResult::Markdown { pages, .. }) => {
            pages.into_iter().map(|page| page.text).collect::<Vec<_>>().join("\n\n")
        }
        other => panic!("{other:?}"),
    }
}

fn text(content: &str) -> TextDocument {
    TextDocument { content: content.into(), ..TextDocument::default() }
}

const CONTENT: &str = "# One\n\nText with a [link](https://example.org) and <angle> & sign.\n\n\
                       - a\n  - b\n\n| H | I |\n| --- | --- |\n| 1 | x\\|y |\n\nمرحبا\n\n漢字 🎉\n";

#[test]
fn k8_a_text_is_read_back_as_it_was_written() {
    let document = TextDocument {
        title: Some("T".into()),
        header: Some("Head".into()),
        footer: Some("Page {page} of {pages}".into()),
        contents: true,
        ..text(CONTENT)
    };
    let made = make(OfficeDocument::Text(document), &[]).expect("made");
    let read = read_back("a.docx", &made);
    let expected = "# T\n\n## One\n\nText with a [link](https://example.org) and <angle> & sign.\n\n\
                    - a\n  - b\n\n| H | I |\n| --- | --- |\n| 1 | x\\|y |\n\nمرحبا\n\n漢字 🎉\n\n\
                    Footer: Page 1 of 1\n\nHeader: Head";
    assert_eq!(read, expected);
}

#[test]
fn k8_a_link_opens_pages_and_letters_only() {
    let made = make(OfficeDocument::Text(text("[x](javascript:alert) [y](file:///etc)")), &[]);
    assert_eq!(read_back("a.docx", &made.expect("made")), "x y");
}

#[test]
fn k8_a_template_gives_styles_and_page_and_loses_macros() {
    let base = TextDocument { header: Some("Letterhead".into()), landscape: true, ..text("old") };
    let template = make(OfficeDocument::Text(base), &[]).expect("made");
    let mut package = ZipPackage::read_package(&template, PackageScope::Whole).expect("a package");
    package.insert("word/vbaProject.bin", b"macro".to_vec());
    let template = package.into_bytes(CONTENT_TYPES).expect("written");
    let document = TextDocument { template: Some("t.docx".into()), ..text("1. new") };
    let made = make(OfficeDocument::Text(document), &[("t.docx", &template)]).expect("made");
    assert_eq!(read_back("a.docx", &made), "1. new\n\nHeader: Letterhead");
    let package = ZipPackage::read_package(&made, PackageScope::Whole).expect("a package");
    assert!(package.find_part("word/vbaProject.bin").is_none());
    let page = package.find_part("word/document.xml").expect("the text");
    assert!(String::from_utf8_lossy(page).contains("w:w=\"16838\""));
}

#[test]
fn k8_a_template_that_fetches_is_refused() {
    let base = make(OfficeDocument::Text(text("old")), &[]).expect("made");
    let mut package = ZipPackage::read_package(&base, PackageScope::Whole).expect("a package");
    let rows = "<Relationship Id=\"z\" Type=\"x/image\" Target=\"http://e.org/a.png\" \
                TargetMode=\"External\"/>";
    let part = "word/_rels/document.xml.rels";
    package.insert(part, crate::make::parts::relations_xml(rows));
    let template = package.into_bytes(CONTENT_TYPES).expect("written");
    let document = TextDocument { template: Some("t.docx".into()), ..text("new") };
    let said = make(OfficeDocument::Text(document), &[("t.docx", &template)]).expect_err("refused");
    assert!(said.contains("would be fetched"), "{said}");
}

#[test]
fn k8_a_row_that_is_higher_than_a_page_may_break() {
    let long = "word ".repeat(4_000);
    for (rows, kept) in
        [(format!("| {long} |\n| --- |\n| b |\n"), 1), ("| h |\n| --- |\n".into(), 1)]
    {
        let made = make(OfficeDocument::Text(text(&rows)), &[]).expect("made");
        let package = ZipPackage::read_package(&made, PackageScope::Whole).expect("a package");
        let page = String::from_utf8_lossy(package.find_part("word/document.xml").expect("text"));
        assert_eq!(page.matches("<w:cantSplit/>").count(), kept, "{rows:.20}");
        assert!(read_back("a.docx", &made).len() + 200 > rows.len());
    }
}
