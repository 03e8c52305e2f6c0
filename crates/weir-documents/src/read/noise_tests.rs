//! Documents with noise in them: whatever the bytes, a reader gives an answer. What libraries parse
//! may panic and is caught (`answer_question`); what is parsed here may not.

use proptest::prelude::*;
use weir_core::document::DocumentRequest;

use super::*;
use crate::package::tests::archive_of;

const WORDS: &str = "<w:document xmlns:w='w' xmlns:r='r'><w:body><w:p><w:pPr><w:pStyle \
    w:val='Heading1'/><w:numPr><w:ilvl w:val='2'/><w:numId w:val='1'/></w:numPr></w:pPr>\
    <w:hyperlink r:id='a'><w:r><w:t>Hello</w:t><w:tab/><w:br/></w:r></w:hyperlink></w:p><w:tbl>\
    <w:tr><w:tc><w:p><w:r><w:t>cell</w:t></w:r></w:p></w:tc></w:tr></w:tbl></w:body></w:document>";
const OPEN: &str = "<office:document-content xmlns:office='o' xmlns:text='t' xmlns:table='b'>\
    <office:body><office:text><text:h text:outline-level='1'>Head</text:h><text:p>A<text:s \
    text:c='2'/>b</text:p><text:list><text:list-item><text:p>item</text:p></text:list-item>\
    </text:list><table:table><table:table-row><table:table-cell \
    table:number-columns-repeated='9'><text:p>c</text:p></table:table-cell></table:table-row>\
    </table:table></office:text></office:body></office:document-content>";
const SLIDE: &str = "<p:sld xmlns:p='p' xmlns:a='a' xmlns:r='r'><p:sp><p:nvSpPr><p:nvPr><p:ph \
    type='title'/></p:nvPr></p:nvSpPr><p:txBody><a:p><a:pPr lvl='1'/><a:r><a:rPr/><a:t>x</a:t>\
    </a:r></a:p></p:txBody></p:sp><p:graphicFrame><c:chart r:id='c'/></p:graphicFrame></p:sld>";
const CHART: &str = "<c:chartSpace xmlns:c='c'><c:ser><c:tx><c:pt idx='0'><c:v>n</c:v></c:pt>\
    </c:tx><c:cat><c:pt idx='3'><c:v>a</c:v></c:pt></c:cat><c:val><c:pt idx='2'><c:v>1</c:v>\
    </c:pt></c:val></c:ser></c:chartSpace>";
const SLIDES: &str = "<p xmlns:r='r'><sldIdLst><sldId r:id='a'/></sldIdLst></p>";
const SLIDE_ROWS: &str =
    "<Relationships><Relationship Id='a' Type='x/slide' Target='slides/s.xml'/></Relationships>";
const CHART_ROWS: &str =
    "<Relationships><Relationship Id='c' Type='x/chart' Target='../c.xml'/></Relationships>";
const OPF: &str = "<package><metadata><title>Book</title></metadata><manifest><item id='c' \
    href='c.xhtml'/></manifest><spine><itemref idref='c'/></spine></package>";
const CONTAINER: &str =
    "<container><rootfiles><rootfile full-path='O/b.opf'/></rootfiles></container>";
const RICH: &str = "{\\rtf1{\\fonttbl{\\f0 Arial;}}Gr\\u252?\\'dfe\\par two\\tab \\u-3913?\\bin3 abc\
    \\uc2\\u55357??\\u56842??{\\*\\hidden no}\\row}";
const NOTEBOOK: &str = "{\"cells\":[{\"cell_type\":\"code\",\"source\":[\"1+1\"],\"outputs\":\
    [{\"data\":{\"text/plain\":[\"2\"]}}]}]}";
const LETTER: &str = "From: Ann <ann@example.org>\r\nSubject: =?utf-8?B?UGxhbg==?=\r\nMIME-Version: \
    1.0\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\nContent-Type: text/html\r\n\r\n\
    <p>Hello</p>\r\n--x--\r\n";
const PAGE: &str = "<html><head><title>t</title></head><body><h1>Big</h1><p style='display:none'>x\
    </p><table><tr><td>1</td></tr></table><!-- c --><a href='javascript:x'>l</a></body></html>";

/// A package of one kind, with `noisy` in place of the part that says most.
fn package_with(kind: usize, noisy: &[u8]) -> (&'static str, Vec<u8>) {
    match kind {
        0 => ("a.docx", archive_of(&[("word/document.xml", noisy)])),
        1 => (
            "a.odt",
            archive_of(&[
                ("mimetype", b"application/vnd.oasis.opendocument.text"),
                ("content.xml", noisy),
            ]),
        ),
        2 | 3 => {
            let (slide, chart) =
                if kind == 2 { (noisy, CHART.as_bytes()) } else { (SLIDE.as_bytes(), noisy) };
            let files = [
                ("ppt/presentation.xml", SLIDES.as_bytes()),
                ("ppt/_rels/presentation.xml.rels", SLIDE_ROWS.as_bytes()),
                ("ppt/slides/s.xml", slide),
                ("ppt/slides/_rels/s.xml.rels", CHART_ROWS.as_bytes()),
                ("ppt/c.xml", chart),
            ];
            ("a.pptx", archive_of(&files))
        }
        _ => {
            let files = [
                ("mimetype", &b"application/epub+zip"[..]),
                ("META-INF/container.xml", CONTAINER.as_bytes()),
                ("O/b.opf", OPF.as_bytes()),
                ("O/c.xhtml", noisy),
            ];
            ("a.epub", archive_of(&files))
        }
    }
}

/// Some bytes of `base` changed, left out, or said again.
fn noise(base: &str, edits: &[(usize, u8)], cut: usize) -> Vec<u8> {
    let mut bytes = base.as_bytes().to_vec();
    for (at, byte) in edits {
        let at = at % bytes.len().max(1);
        match byte % 4 {
            0 => bytes.truncate(at.max(1)),
            1 => bytes.extend_from_within(at..),
            _ => bytes[at] = *byte,
        }
        bytes.truncate(20_000);
    }
    let cut = cut % (bytes.len() + 1);
    bytes.rotate_left(if cut.is_multiple_of(5) { cut } else { 0 });
    bytes
}

fn edits() -> impl Strategy<Value = Vec<(usize, u8)>> {
    prop::collection::vec((any::<usize>(), any::<u8>()), 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn k7_no_bytes_panic_the_readers_of_packages(
        kind in 0_usize..5, edits in edits(), cut in any::<usize>(),
    ) {
        let base = [WORDS, OPEN, SLIDE, CHART, PAGE][kind];
        let (name, file) = package_with(kind, &noise(base, &edits, cut));
        let _ = read_document(&file, name, ReadPart::default(), 1 << 20);
    }

    #[test]
    fn k7_no_bytes_panic_the_readers_of_flat_files(
        kind in 0_usize..5, edits in edits(), cut in any::<usize>(),
    ) {
        let (name, base) = [
            ("a.rtf", RICH),
            ("a.ipynb", NOTEBOOK),
            ("a.eml", LETTER),
            ("a.html", PAGE),
            ("a.csv", "a;b\n\"x;1\";\"y \"\"z\"\"\"\n1;2\n"),
        ][kind];
        let _ = read_document(&noise(base, &edits, cut), name, ReadPart::default(), 1 << 20);
    }

    #[test]
    fn k7_no_bytes_at_all_panic_a_reader(
        head in 0_usize..4, bytes in prop::collection::vec(any::<u8>(), 0..400), ending in 0_usize..8,
    ) {
        let heads: [&[u8]; 4] = [b"", b"PK\x03\x04", b"{\\rtf", b"\xD0\xCF\x11\xE0"];
        let ending = ["docx", "csv", "html", "eml", "ipynb", "tsv", "odt", "bin"][ending];
        let file = [heads[head], bytes.as_slice()].concat();
        let _ = read_document(&file, &format!("a.{ending}"), ReadPart::default(), 1 << 20);
        let _ = crate::package::unpack_archive(&file, 1 << 20, 10);
    }

    #[test]
    fn k7_what_libraries_read_ends_in_an_answer(
        is_pdf in any::<bool>(), edits in edits(), cut in any::<usize>(),
    ) {
        let whole = if is_pdf {
            crate::pdf::tests::with_text(&["Hello there", ""])
        } else {
            let sheet = weir_core::office::WorkbookSheet { name: "S".into(), ..Default::default() };
            crate::make::text::tests::make(
                weir_core::office::OfficeDocument::Workbook(weir_core::office::WorkbookDocument {
                    sheets: vec![sheet],
                    author: None,
                }),
                &[],
            )
            .expect("made")
        };
        let mut file = whole;
        for (at, byte) in &edits {
            let at = at % file.len().max(1);
            file[at] = *byte;
        }
        if cut % 3 == 0 {
            file.truncate(cut % (file.len() + 1));
        }
        let name = if is_pdf { "a.pdf" } else { "a.xlsx" };
        let wish = DocumentRequest::Markdown {
            name: name.into(), sheet: None, range: None, bytes_max: 1 << 20,
        };
        let _ = crate::answer_question(&wish, &file);
    }
}
