//! `read_document`: documents of many formats as Markdown, page by page.

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::document::{DocumentPage, DocumentRequest, DocumentResult};
use weir_core::tool::{Effects, PathAccess, RawResult, ToolGroup, ToolSpec};
use weir_engine::attach::FILE_BYTES_MAX;
use weir_engine::ports::{CallPlan, FileContent, ToolContext};

use crate::built::{ActionTool, tool_spec};
use crate::draft::{self, plan_blocking, reading_plan};
use crate::{run_blocking, text};

pub(crate) struct ReadDocument;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Path in the workspace.
    path: String,
    /// First page, from 1.
    #[serde(default)]
    page: Option<usize>,
    /// Piece of a page that is too long for one result, from 1.
    #[serde(default)]
    piece: Option<usize>,
    /// Sheet, by name or number.
    #[serde(default)]
    sheet: Option<String>,
    /// Cells, as A1:D20.
    #[serde(default)]
    range: Option<String>,
}

/// Most text of one result, and of one piece of a page, in bytes.
const RESULT_BYTES_MAX: usize = 40_000;
const PIECE_BYTES_MAX: usize = 30_000;
/// Most text of one document, in bytes.
const DOCUMENT_BYTES_MAX: usize = 8_000_000;

#[async_trait]
impl ActionTool for ReadDocument {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            deferred: true,
            parallel_safe: true,
            keeps_result: true,
            ..tool_spec(
                "read_document",
                ToolGroup::Read,
                "Reads PDF, DOCX, PPTX, XLSX, ODT, ODS, ODP, EPUB, RTF, HTML, CSV, IPYNB, EML as \
                 Markdown in pages.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let workspace = cx.workspace.clone();
        plan_blocking(move || {
            let at = workspace.resolve(&input.path, PathAccess::Read);
            let fails =
                workspace.stat_entry(&at).err().map(|_| draft::describe_missing(&workspace, &at));
            let summary = format!("Read {}", at.path);
            reading_plan(at, summary, fails)
        })
        .await
    }

    async fn run_call(input: Input, effects: &Effects, cx: &ToolContext) -> RawResult {
        let Some(at) = effects.paths.first().cloned() else {
            return RawResult::error("the call has no path");
        };
        let (path, workspace) = (at.path.clone(), cx.workspace.clone());
        let read = run_blocking(move || workspace.read(&at, FILE_BYTES_MAX)).await;
        let bytes = match read {
            Ok(Ok(FileContent::File { bytes, .. })) => bytes,
            Ok(Ok(other)) => return RawResult::error(draft::not_a_file(&path, &other)),
            Ok(Err(why)) => return RawResult::error(why.to_string()),
            Err(why) => return RawResult::error(why),
        };
        let wish = DocumentRequest::Markdown {
            name: path.rsplit('/').next().unwrap_or(&path).to_owned(),
            sheet: input.sheet,
            range: input.range,
            bytes_max: DOCUMENT_BYTES_MAX,
        };
        match cx.documents.inspect_document(wish, bytes).await {
            Ok(DocumentResult::Markdown { format, pages, remarks, cut }) => {
                let remarks = remarks.into_iter().chain(cut).collect();
                let from = PagePlace {
                    page: input.page.unwrap_or(1).max(1),
                    piece: input.piece.unwrap_or(1).max(1),
                };
                show_pages(&path, &format, &pages, remarks, from)
            }
            Ok(_) => RawResult::error(format!("{path} cannot be read as text")),
            Err(why) => RawResult::error(format!("{path}: {why}")),
        }
    }
}

/// Where reading begins: a page, and a piece of it, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PagePlace {
    page: usize,
    piece: usize,
}

/// As many pieces of pages as fit, at least one, from `from`.
fn show_pages(
    path: &str,
    format: &str,
    pages: &[DocumentPage],
    remarks: Vec<String>,
    from: PagePlace,
) -> RawResult {
    let count = pages.len();
    if count == 0 || from.page > count {
        let said = text::count_noun(count, "page");
        let mut told = format!("{path} ({format}) has {said} of text");
        remarks.iter().for_each(|remark| told.push_str(&format!("; {remark}")));
        if count == 0 {
            return RawResult::ok(told);
        }
        return RawResult::error(format!("{told}; ask for page 1 to {count}"));
    }
    let mut out = format!("{path} ({format}, {})\n", text::count_noun(count, "page"));
    for remark in remarks {
        out.push_str(&format!("Note: {remark}\n"));
    }
    let (mut last, mut next) = (from.page, None);
    let mut has_text = false;
    'pages: for (at, page) in pages.iter().enumerate().skip(from.page - 1) {
        let number = at + 1;
        let pieces = split_pieces(&page.text);
        let first = if number == from.page { from.piece } else { 1 };
        if first > pieces.len() {
            let said = text::count_noun(pieces.len(), "piece");
            return RawResult::error(format!("page {number} of {path} has {said}"));
        }
        for (piece, content) in pieces.iter().enumerate().skip(first - 1) {
            if has_text && out.len() + content.len() > RESULT_BYTES_MAX {
                next = Some((PagePlace { page: number, piece: piece + 1 }, pieces.len()));
                break 'pages;
            }
            let of = match pieces.len() {
                1 => String::new(),
                pieces => format!(", piece {} of {pieces}", piece + 1),
            };
            out.push_str(&format!("\n--- {number}: {}{of} ---\n{content}\n", page.name));
            has_text = true;
            last = number;
        }
    }
    match next {
        Some((PagePlace { page, .. }, 1)) => out.push_str(&format!("\nGo on with page {page}.")),
        Some((PagePlace { page, piece }, _)) => {
            out.push_str(&format!("\nGo on with page {page}, piece {piece}."));
        }
        None => {}
    }
    let summary = format!("{path}: pages {}-{last} of {count}", from.page);
    RawResult::ok(out).with_summary(summary)
}

/// A page in pieces of at most [`PIECE_BYTES_MAX`], cut after lines, else anywhere; at least one.
fn split_pieces(page: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = page;
    while rest.len() > PIECE_BYTES_MAX {
        let most = rest.floor_char_boundary(PIECE_BYTES_MAX);
        let line = rest[..most].rfind('\n').map(|at| at + 1);
        let cut = line.filter(|at| *at > most / 2).unwrap_or(most);
        let (piece, others) = rest.split_at(cut);
        pieces.push(piece.trim_end_matches('\n'));
        rest = others;
    }
    pieces.push(rest);
    pieces
}

#[cfg(test)]
mod tests {
    use weir_core::message::MessageBlock;

    use super::*;

    fn page(text: String) -> DocumentPage {
        DocumentPage { name: "Sheet S".into(), text }
    }

    fn text_of(result: &RawResult) -> String {
        let texts = result.blocks.iter().filter_map(|block| match block {
            MessageBlock::Text { text, .. } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    #[test]
    fn k7_a_long_page_is_read_on_piece_by_piece() {
        let lines: String = (0..20_000).map(|n| format!("line {n}\n")).collect();
        let pages = [page(lines.clone()), page("second".into())];
        let mut from = PagePlace { page: 1, piece: 1 };
        let mut read = String::new();
        for round in 0..20 {
            let shown = show_pages("a.xlsx", "XLSX", &pages, Vec::new(), from);
            let said = text_of(&shown);
            assert!(shown.ok && said.len() <= RESULT_BYTES_MAX + 200, "{round}");
            let body = said.lines().filter(|line| line.starts_with("line ") || *line == "second");
            body.for_each(|line| read.push_str(&format!("{line}\n")));
            let Some(next) = said.rsplit_once("Go on with page ").map(|(_, next)| next) else {
                break;
            };
            let mut numbers =
                next.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok());
            from = PagePlace {
                page: numbers.next().expect("a page"),
                piece: numbers.next().unwrap_or(1),
            };
        }
        assert_eq!(read, format!("{lines}second\n"), "nothing is left out and nothing comes twice");
        let past = PagePlace { page: 1, piece: 99 };
        assert!(!show_pages("a", "XLSX", &pages, Vec::new(), past).ok);
    }

    #[test]
    fn k7_pieces_are_bounded_and_whole() {
        for text in ["".to_owned(), "x".repeat(30_000), "ü".repeat(100_000), "a\n".repeat(80_000)]
        {
            let pieces = split_pieces(&text);
            assert!(pieces.iter().all(|piece| piece.len() <= PIECE_BYTES_MAX));
            let joined: String = pieces.concat().replace('\n', "");
            assert_eq!(joined, text.replace('\n', ""));
        }
    }
}
