//! HTML and CSV to Markdown, and bytes to text in the encodings that such files have.

use std::rc::Rc;

use htmd::{HtmlToMarkdown, Node};
use weir_core::document::{DocumentError, DocumentPage};
use weir_core::html::{
    HTML_BYTES_MAX, HTML_DEPTH_MAX, HTML_SKIPPED, cut_page, is_harmless_page, plain_text,
    visible_page,
};

use super::{ReadDocument, pieces_of};
use crate::markdown::{table_row, table_rule};
use crate::{broken_document, too_large};

/// Rows of a page of a table.
const PAGE_ROWS: usize = 100;
const CELLS_MAX: usize = 2_000_000;

/// HTML as a document.
pub(super) fn read_page(bytes: &[u8]) -> ReadDocument {
    let html = decode_text(bytes);
    let text = page_markdown(&html);
    let blocks = text.split("\n\n").map(str::to_owned);
    let cut = (html.len() > HTML_BYTES_MAX)
        .then(|| format!("the page is cut after {HTML_BYTES_MAX} bytes of HTML"));
    let remarks = page_remark(&html).into_iter().collect();
    ReadDocument { format: "HTML", pages: pieces_of(blocks), cut, remarks }
}

/// A sentence about what a page has beside its text; `None`: nothing.
pub(super) fn page_remark(html: &str) -> Option<String> {
    let lower = cut_page(html).to_ascii_lowercase();
    let parts = [
        ("scripts", ["<script", "javascript:"]),
        ("what nobody sees", ["display:none", " hidden>"]),
        ("pictures and frames from elsewhere", ["<img", "<iframe"]),
    ];
    let found =
        parts.into_iter().filter(|(_, words)| words.iter().any(|word| lower.contains(word)));
    let found: Vec<&str> = found.map(|(name, _)| name).collect();
    (!found.is_empty()).then(|| format!("left out, not run and not fetched: {}", found.join(", ")))
}

/// HTML as Markdown; what is out of measure or cannot be converted, as its text. What nobody sees is
/// left out.
pub(super) fn page_markdown(html: &str) -> String {
    let html = visible_page(cut_page(html));
    if !is_harmless_page(&html) {
        return plain_text(&html);
    }
    let converter = HtmlToMarkdown::builder().skip_tags(HTML_SKIPPED.to_vec()).build();
    let tree = converter.html_to_tree(&html).ok().filter(|tree| !is_deep(tree));
    tree.map_or_else(|| plain_text(&html), |tree| converter.tree_to_markdown(&tree))
}

/// Whether walking the tree by recursion could exhaust the stack.
fn is_deep(tree: &Rc<Node>) -> bool {
    let mut level = vec![tree.clone()];
    for _ in 0..HTML_DEPTH_MAX {
        level = level.iter().flat_map(|node| node.children.borrow().clone()).collect();
        if level.is_empty() {
            return false;
        }
    }
    true
}

/// Bytes as text: UTF-8, UTF-16 with its mark, else what Western programs write.
pub(super) fn decode_text(bytes: &[u8]) -> String {
    match bytes {
        [0xEF, 0xBB, 0xBF, ..] | [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => {
            crate::xml::decode_xml(bytes).into_owned()
        }
        _ => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => bytes.iter().map(|byte| western_char(*byte)).collect(),
        },
    }
}

/// A byte of Windows-1252.
pub(super) fn western_char(byte: u8) -> char {
    const UPPER: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž',
        '\u{8f}', '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}',
        'ž', 'Ÿ',
    ];
    match byte {
        0x80..=0x9F => UPPER.get(usize::from(byte - 0x80)).copied().unwrap_or('?'),
        byte => char::from(byte),
    }
}

/// CSV, with the separator that it has.
pub(super) fn read_table(bytes: &[u8]) -> Result<ReadDocument, DocumentError> {
    if bytes.iter().take(8_192).any(|byte| *byte == 0) && !bytes.starts_with(&[0xFF, 0xFE]) {
        return Err(broken_document("it is no text"));
    }
    let text = decode_text(bytes);
    let separator = separator_of(&text);
    let rows = split_rows(&text, separator)?;
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let mut pages = Vec::new();
    let Some((head, body)) = rows.split_first() else {
        return Err(broken_document("it is empty"));
    };
    let mut from = 0;
    loop {
        let to = body.len().min(from + PAGE_ROWS);
        let mut page = table_row(head);
        page.push_str(&table_rule(columns));
        body[from..to].iter().for_each(|row| page.push_str(&table_row(row)));
        pages.push(DocumentPage { name: format!("Rows {}-{}", from + 2, to + 1), text: page });
        from = to;
        if from >= body.len() {
            break;
        }
    }
    let looks_computed = |cell: &String| {
        let cell = cell.trim_start();
        cell.starts_with(['=', '@'])
            || (cell.starts_with(['+', '-']) && cell.chars().any(char::is_alphabetic))
    };
    let mut remarks = Vec::new();
    if rows.iter().flatten().any(looks_computed) {
        remarks.push(
            "some cells begin like formulas; they are text here, and a spreadsheet that opens the \
             file may compute them"
                .to_owned(),
        );
    }
    Ok(ReadDocument { format: "CSV", pages, remarks, cut: None })
}

/// What stands most often in the first lines.
fn separator_of(text: &str) -> char {
    let head: Vec<&str> = text.lines().take(10).collect();
    let count = |c: char| head.iter().map(|line| line.matches(c).count()).sum::<usize>();
    [',', ';', '\t', '|'].into_iter().rev().max_by_key(|c| count(*c)).unwrap_or(',')
}

fn split_rows(text: &str, separator: char) -> Result<Vec<Vec<String>>, DocumentError> {
    let mut rows = Vec::new();
    let (mut row, mut cell) = (Vec::new(), String::new());
    let (mut quoted, mut cells) = (false, 0);
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                cell.push('"');
            }
            '"' if quoted => quoted = false,
            '"' if cell.is_empty() => quoted = true,
            c if c == separator && !quoted => row.push(std::mem::take(&mut cell)),
            '\n' if !quoted => {
                row.push(std::mem::take(&mut cell));
                cells += row.len();
                rows.push(std::mem::take(&mut row));
            }
            '\r' if !quoted => {}
            c => cell.push(c),
        }
        if cells > CELLS_MAX {
            return Err(too_large(format!("it has more than {CELLS_MAX} cells")));
        }
    }
    if !cell.is_empty() || !row.is_empty() {
        row.push(cell);
        rows.push(row);
    }
    Ok(rows)
}
