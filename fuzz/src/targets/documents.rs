//! Documents that are read as Markdown in the confined child: whatever the bytes are.

use weir_core::document::{DocumentRequest, DocumentResult};
use weir_documents::answer_question;

use crate::input::{join, parts, text};

pub(super) const DOCUMENT_WORDS: &[&str] = &[
    "\x1e",
    "{\\rtf1",
    "{\\b ",
    "\\u-10000?",
    "\\bin99999 ",
    "\\pict",
    "}}",
    "<html>",
    "<table><tr><td>",
    "</p>",
    "<!--",
    "<![CDATA[",
    "&#x110000;",
    "\"a\",\"b\"\n",
    "\"\"",
    "=1+1",
    "From: a@b.example\r\n",
    "Content-Type: multipart/mixed; boundary=x\r\n\r\n",
    "--x\r\n",
    "Content-Transfer-Encoding: base64\r\n\r\n",
    "=?utf-8?B?w6Q=?=",
    "{\"cells\":[{\"cell_type\":\"code\",\"source\":[\"",
    "\"outputs\":[{\"data\":{\"text/plain\":",
    "%PDF-1.7\n",
    "1 0 obj<</Type/Page>>endobj\n",
    "PK\u{3}\u{4}",
    "\u{0}",
];

/// Most bytes of text that are asked for.
const BYTES_MAX: usize = 10_000;

/// A reader ends with text of at most what was asked for, or with a sentence.
pub(super) fn document(data: &[u8]) {
    let [name, bytes] = parts::<2>(data);
    let name = text(name);
    let wish = DocumentRequest::Markdown { name, sheet: None, range: None, bytes_max: BYTES_MAX };
    match answer_question(&wish, bytes) {
        Ok(DocumentResult::Markdown { pages, .. }) => {
            let bytes: usize = pages.iter().map(|page| page.text.len()).sum();
            assert!(bytes <= 2 * BYTES_MAX, "{bytes} bytes of text");
        }
        Ok(other) => panic!("asked for Markdown, got {other:?}"),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

pub(super) fn document_seeds() -> Vec<Vec<u8>> {
    let seed = |name: &str, bytes: &[u8]| join(&[name.as_bytes(), bytes]);
    vec![
        seed("a.rtf", br"{\rtf1\ansi{\fonttbl{\f0 Arial;}}Hello {\b there}\par \u228? end}"),
        seed("a.html", b"<h1>Title</h1><p>Text <a href='x'>link</a><table><tr><td>1<td>2</table>"),
        seed("a.csv", b"name,lines\n\"a, b\",3\nc,4\n"),
        seed(
            "a.eml",
            b"From: a@b.example\r\nSubject: =?utf-8?B?w6Q=?=\r\nContent-Type: multipart/mixed; \
              boundary=x\r\n\r\n--x\r\n\r\nHello\r\n--x\r\nContent-Type: text/html\r\n\r\n<p>Hi\r\n\
              --x--\r\n",
        ),
        seed(
            "a.ipynb",
            br##"{"cells":[{"cell_type":"markdown","source":["# A"]},{"cell_type":"code","source":"1+1","outputs":[{"output_type":"execute_result","data":{"text/plain":["2"]}}]}],"nbformat":4}"##,
        ),
        seed("a.pdf", b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\ntrailer<</Root 1 0 R>>"),
        seed("a.docx", b"PK\x03\x04\x14\0\0\0\0\0"),
    ]
}
