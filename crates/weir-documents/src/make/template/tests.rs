//! Templates that say things twice, in odd capitals, or that have more than is used.

use weir_core::office::{DeckSlide, OfficeDocument, SlideDeck, SlidePicture, TextDocument};

use super::*;
use crate::make::text::tests::{make, read_back};

fn opened(bytes: &[u8]) -> ZipPackage {
    ZipPackage::read_package(bytes, PackageScope::Whole).expect("a package")
}

fn text_of(package: &ZipPackage, part: &str) -> String {
    String::from_utf8_lossy(package.find_part(part).expect(part)).into_owned()
}

fn packed(package: ZipPackage) -> Vec<u8> {
    package.into_bytes(CONTENT_TYPES).expect("written")
}

/// Every relationship has an id of its own and leads somewhere, every part is reached and has one type.
fn assert_whole(bytes: &[u8]) {
    let mut package = opened(bytes);
    let before: Vec<String> = package.list_names().map(str::to_owned).collect();
    for part in before.iter().filter(|part| part.ends_with(".rels")) {
        let root = package.needed_xml(part).expect(part);
        let mut ids = BTreeSet::new();
        let folder = part.rsplit_once("_rels/").map_or("", |(folder, _)| folder);
        for row in root.find_elements("Relationship") {
            let id = row.find_attribute("Id").expect("an id");
            assert!(ids.insert(id.to_owned()), "{part}: {id} stands there twice");
            if row.find_attribute("TargetMode").is_none() {
                let target = row.find_attribute("Target").unwrap_or_default();
                let target = join_path(folder.trim_end_matches('/'), target);
                assert!(package.find_part(&target).is_some(), "{part}: {target} is missing");
            }
        }
    }
    let types = package.needed_xml(CONTENT_TYPES).expect("types");
    let mut known = BTreeSet::new();
    for row in types.list_elements() {
        let of = row.find_attribute("PartName").or_else(|| row.find_attribute("Extension"));
        assert!(known.insert(of.expect("a part").to_ascii_lowercase()), "{of:?} has two types");
    }
    drop_unreached(&mut package).expect("walked");
    let after: Vec<&str> = package.list_names().collect();
    assert_eq!(before, after, "every part is reached");
}

fn letter() -> TextDocument {
    TextDocument {
        content: "# Old\n\n1. old ![p](p.png)".into(),
        header: Some("Letterhead".into()),
        author: Some("Before".into()),
        ..TextDocument::default()
    }
}

fn picture() -> Vec<u8> {
    crate::image::tests::png(30, 20)
}

/// A document of a template.
fn filled(template: &[u8], content: &str) -> Result<Vec<u8>, String> {
    let document = TextDocument {
        content: content.into(),
        template: Some("t.docx".into()),
        title: Some("New title".into()),
        footer: Some("Foot".into()),
        ..TextDocument::default()
    };
    make(OfficeDocument::Text(document), &[("t.docx", template), ("p.png", &picture())])
}

#[test]
fn k8_a_document_of_a_template_is_whole_again_and_again() {
    let first = make(OfficeDocument::Text(letter()), &[("p.png", &picture())]).expect("made");
    assert_whole(&first);
    let mut template = first;
    for _ in 0..3 {
        template = filled(&template, "1. new ![p](p.png)\n\n- [l](https://e.org)").expect("made");
        assert_whole(&template);
    }
    let read = read_back("a.docx", &template);
    assert!(read.contains("1. new ![p]()") && read.contains("Letterhead"), "{read}");
    let numbering = opened(&template).needed_xml("word/numbering.xml").expect("lists");
    for (name, key) in [("abstractNum", "abstractNumId"), ("num", "numId")] {
        let ids: Vec<&str> =
            numbering.find_elements(name).filter_map(|e| e.find_attribute(key)).collect();
        let unique: BTreeSet<&&str> = ids.iter().collect();
        assert_eq!(ids.len(), unique.len(), "{name}: {ids:?}");
    }
}

#[test]
fn k8_what_a_template_says_twice_is_said_once() {
    let base = make(OfficeDocument::Text(letter()), &[("p.png", &picture())]).expect("made");
    let mut package = opened(&base);
    let types = text_of(&package, CONTENT_TYPES);
    let double = "<Override PartName=\"/word/document.xml\" ContentType=\"a\"/><Override \
                  PartName=\"/WORD/styles.xml\" ContentType=\"b\"/><Default Extension=\"PNG\" \
                  ContentType=\"image/png\"/><Default Extension=\"emf\" ContentType=\"c\"/><Default \
                  Extension=\"EMF\" ContentType=\"d\"/></Types>";
    package.insert(CONTENT_TYPES, types.replace("</Types>", double));
    let rows = text_of(&package, "word/_rels/document.xml.rels");
    let double = "<Relationship Id=\"rId1\" Type=\"x/theme\" Target=\"theme.xml\"/><Relationship \
                  Id=\"rIdW1\" Type=\"x/settings\" Target=\"settings.xml\"/></Relationships>";
    package.insert("word/_rels/document.xml.rels", rows.replace("</Relationships>", double));
    package.insert("word/settings.xml", "<w:settings xmlns:w=\"w\"/>");
    let made = filled(&packed(package), "new [l](https://e.org)").expect("made");
    let package = opened(&made);
    let types = text_of(&package, CONTENT_TYPES);
    for word in ["/word/document.xml\"", "/word/styles.xml\"", "Extension=\"emf\""] {
        assert_eq!(types.matches(word).count(), 1, "{word}: {types}");
    }
    let rows = text_of(&package, "word/_rels/document.xml.rels");
    assert_eq!(rows.matches("Id=\"rId1\"").count(), 1, "{rows}");
}

#[test]
fn k8_parts_of_relationships_are_known_whatever_their_capitals() {
    let base = make(OfficeDocument::Text(letter()), &[("p.png", &picture())]).expect("made");
    let far = relations_xml(
        "<Relationship Id=\"z\" Type=\"x/image\" Target=\"http://e.org/a.png\" \
         TargetMode=\"EXTERNAL\"/>",
    );
    for part in ["word/_rels/header1.xml.RELS", "word/_RELS/header1.xml.rels"] {
        let mut package = opened(&base);
        package.insert(part, far.clone());
        let said = filled(&packed(package), "new").expect_err(part);
        assert!(said.contains("would be fetched"), "{part}: {said}");
    }
    let mut package = opened(&base);
    package.insert("word/_rels/Document.xml.rels", far);
    let said = filled(&packed(package), "new").expect_err("twice");
    assert!(said.contains("but for capitals"), "{said}");
}

#[test]
fn k8_what_nothing_leads_to_and_old_words_are_left_out() {
    let base = make(OfficeDocument::Text(letter()), &[("p.png", &picture())]).expect("made");
    let mut package = opened(&base);
    package.insert("word/secret.xml", "<old/>");
    package.insert("docProps/app.xml", "<old/>");
    let made = filled(&packed(package), "new").expect("made");
    let package = opened(&made);
    let left: Vec<&str> = package
        .list_names()
        .filter(|name| {
            name.contains("secret") || name.contains("app.xml") || name.contains("media")
        })
        .collect();
    assert!(left.is_empty(), "{left:?}");
    let core = text_of(&package, "docProps/core.xml");
    assert!(core.contains("New title") && !core.contains("Before"), "{core}");
}

#[test]
fn k8_a_link_of_a_template_starts_nothing() {
    let rows = "<Relationships><Relationship Id=\"a\" Type=\"x/hyperlink\" \
                Target=\"javascript:x\" TargetMode=\"External\"/><Relationship Id=\"b\" \
                Type=\"x/hyperlink\" Target=\"https://e.org\" TargetMode=\"External\"/>\
                </Relationships>";
    let cleaned = clean_relations(&parse_xml("p", rows.as_bytes()).expect("xml")).expect("rows");
    assert!(cleaned.contains("about:blank") && cleaned.contains("https://e.org"), "{cleaned}");
    assert!(!cleaned.contains("javascript"), "{cleaned}");
}

fn deck(title: &str) -> SlideDeck {
    let picture = |path: &str| Some(SlidePicture { path: path.into(), alt: None });
    let slide = |title: &str, path: &str| DeckSlide {
        title: title.into(),
        picture: picture(path),
        notes: Some("Say it.".into()),
        ..DeckSlide::default()
    };
    SlideDeck {
        slides: vec![slide(title, "a.png"), slide("Again", "a.png"), slide("Copy", "b.png")],
        author: Some(format!("Author of {title}")),
        ..SlideDeck::default()
    }
}

#[test]
fn k8_a_picture_is_stored_once() {
    let png = picture();
    let files: [(&str, &[u8]); 2] = [("a.png", &png), ("b.png", &png)];
    let made = make(OfficeDocument::Slides(deck("T")), &files).expect("made");
    assert_whole(&made);
    let media = |bytes: &[u8]| opened(bytes).list_names().filter(|n| n.contains("/media/")).count();
    assert_eq!(media(&made), 1);
    let content = "![x](a.png) ![y](a.png)\n\n![z](b.png)";
    let text = TextDocument { content: content.into(), ..TextDocument::default() };
    let made = make(OfficeDocument::Text(text), &files).expect("made");
    assert_whole(&made);
    assert_eq!(media(&made), 1);
    assert_eq!(read_back("a.docx", &made), "![x]() ![y]()\n\n![z]()");
}

#[test]
fn k8_slides_of_a_template_say_whose_they_are_and_are_whole() {
    let png = picture();
    let files: [(&str, &[u8]); 2] = [("a.png", &png), ("b.png", &png)];
    let mut template = make(OfficeDocument::Slides(deck("Old")), &files).expect("made");
    for round in ["New", "Newer"] {
        let document = SlideDeck { template: Some("t.pptx".into()), ..deck(round) };
        let files: [(&str, &[u8]); 3] = [("a.png", &png), ("b.png", &png), ("t.pptx", &template)];
        let made = make(OfficeDocument::Slides(document), &files).expect("made");
        assert_whole(&made);
        let core = text_of(&opened(&made), "docProps/core.xml");
        assert!(core.contains(&format!("<dc:title>{round}</dc:title>")), "{core}");
        assert!(core.contains(&format!("Author of {round}")), "{core}");
        template = made;
    }
}
