//! Texts that notes are made from, and the one check of what is quoted from them: a quote stands word
//! for word in the text of its source, at the page that is named, or it is refused. Shared by the tools
//! that ingest. Not here: what a note looks like (`ingest`).

use std::sync::OnceLock;

use weir_core::document::{DocumentPage, DocumentRequest, DocumentResult, ligature_letters};
use weir_core::tool::{PathAccess, PathEffect};
use weir_engine::attach::FILE_BYTES_MAX;
use weir_engine::ports::{FileContent, ToolContext};
use weir_engine::workspace::{FileError, Workspace};

use crate::draft;
use crate::{run_blocking, text};

/// Most text of one source, in bytes.
const SOURCE_BYTES_MAX: usize = 8_000_000;
/// Fewest letters and digits of a quote: what is shorter stands anywhere.
const QUOTE_LETTERS_MIN: usize = 12;
/// Longest quote, in characters.
pub(crate) const QUOTE_CHARACTERS_MAX: usize = 1_000;
/// Files that are read as they are, as one page.
const PLAIN_ENDINGS: &[&str] = &["md", "markdown", "txt", "text", "org", "rst", "adoc"];

/// The text of a source.
pub(crate) struct SourceText {
    /// Path in the workspace.
    pub(crate) path: String,
    /// Format in words.
    pub(crate) format: String,
    /// At least one.
    pub(crate) pages: Vec<DocumentPage>,
    /// What a reader should know beside the text.
    pub(crate) remarks: Vec<String>,
    /// The pages as quotes are compared with them: made for the first quote.
    compared: OnceLock<Vec<ComparableText>>,
}

/// A text as it is compared: what only lays it out is gone (line breaks, marks of Markdown, kinds of
/// quotation marks and dashes), its words, numbers and signs are all there, in their order and case.
pub(crate) struct ComparableText {
    /// Without the hyphens within words.
    text: String,
    /// Where those stood, in bytes of `text`, in their order.
    hyphens: Vec<WordHyphen>,
}

/// A hyphen between two small letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct WordHyphen {
    at: usize,
    /// It ends a line, so nobody knows whether it is a part of the word (`well-` and `known`) or a mark
    /// that the word goes on (`exam-` and `ples`).
    ends_line: bool,
}

impl SourceText {
    /// A text without a file.
    pub(crate) fn of_text(text: String) -> SourceText {
        SourceText::new(String::new(), "text".into(), vec![one_page(text)], Vec::new())
    }

    fn new(
        path: String,
        format: String,
        pages: Vec<DocumentPage>,
        remarks: Vec<String>,
    ) -> SourceText {
        SourceText { path, format, pages, remarks, compared: OnceLock::new() }
    }

    /// The page on which a quote stands, from 1. Takes as long as the source is, so not on the loop's
    /// thread.
    ///
    /// # Errors
    /// Why the quote is refused.
    pub(crate) fn find_quote(&self, quote: &str, page: Option<usize>) -> Result<usize, String> {
        let wanted = ComparableText::of_text(quote);
        let letters = wanted.text.chars().filter(|c| c.is_alphanumeric()).count();
        if letters < QUOTE_LETTERS_MIN {
            return Err(format!(
                "the quote is too short: give {QUOTE_LETTERS_MIN} letters or more"
            ));
        }
        if quote.chars().count() > QUOTE_CHARACTERS_MAX {
            return Err(format!("the quote has more than {QUOTE_CHARACTERS_MAX} characters"));
        }
        let has_quote = |page: &ComparableText| page.has_words(&wanted);
        let readings =
            || self.pages.iter().map(|page| ComparableText::of_text(&page.text)).collect();
        let compared = self.compared.get_or_init(readings);
        let named = page.and_then(|page| Some((page, compared.get(page.checked_sub(1)?)?)));
        if let Some((page, text)) = named
            && has_quote(text)
        {
            return Ok(page);
        }
        let stands: Vec<usize> = (1..)
            .zip(compared)
            .filter(|(_, page)| has_quote(page))
            .map(|(number, _)| number)
            .collect();
        let (path, count) = (&self.path, self.pages.len());
        match (page, stands.first()) {
            (None, Some(first)) => Ok(*first),
            (Some(page), _) if page == 0 || page > count => {
                Err(format!("{path} has {}, no page {page}", text::count_noun(count, "page")))
            }
            (Some(page), Some(first)) => {
                Err(format!("the quote does not stand on page {page} of {path}, but on {first}"))
            }
            (_, None) => Err(format!(
                "the quote does not stand in {path}: copy it word for word, from one page"
            )),
        }
    }

    /// How a page is called beside a statement: `p. 3`, `Sheet Budget`; nothing where there is but one.
    pub(crate) fn page_label(&self, page: usize) -> String {
        let name = self.pages.get(page.saturating_sub(1)).map_or("", |page| page.name.as_str());
        match (self.pages.len(), name) {
            (0 | 1, _) => String::new(),
            (_, "") => format!("p. {page}"),
            (_, name) if name.eq_ignore_ascii_case(&format!("page {page}")) => format!("p. {page}"),
            (_, name) => text::one_line(name, 60),
        }
    }
}

fn one_page(text: String) -> DocumentPage {
    DocumentPage { name: String::new(), text }
}

/// The effect of reading a source.
pub(crate) fn source_effect(path: &str, workspace: &Workspace) -> PathEffect {
    workspace.resolve(path.trim(), PathAccess::Read)
}

/// Reads a source whose effect is declared.
///
/// # Errors
/// A sentence for the model.
pub(crate) async fn read_source(at: PathEffect, cx: &ToolContext) -> Result<SourceText, String> {
    let path = at.path.clone();
    if let Some(why) = &at.ignored {
        return Err(format!("{path} cannot be read: {why}"));
    }
    let workspace = cx.workspace.clone();
    let read = run_blocking(move || {
        workspace.read(&at, FILE_BYTES_MAX).map_err(|why| match why {
            FileError::NotFound { .. } => draft::describe_missing(&workspace, &at),
            other => other.to_string(),
        })
    })
    .await?;
    let bytes = match read? {
        FileContent::File { bytes, .. } => bytes,
        other => return Err(draft::not_a_file(&path, &other)),
    };
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending).to_lowercase();
    if PLAIN_ENDINGS.contains(&ending.as_str()) {
        if bytes.len() > SOURCE_BYTES_MAX {
            return Err(format!(
                "{path} has more than {}",
                text::size_text(SOURCE_BYTES_MAX as u64)
            ));
        }
        let plain = std::str::from_utf8(&bytes).map(str::to_owned);
        let plain = plain.map_err(|_| format!("{path} is no text in UTF-8"))?;
        return Ok(SourceText::new(path, "text".into(), vec![one_page(plain)], Vec::new()));
    }
    let wish = DocumentRequest::Markdown {
        name: path.rsplit('/').next().unwrap_or(&path).to_owned(),
        sheet: None,
        range: None,
        bytes_max: SOURCE_BYTES_MAX,
    };
    match cx.documents.inspect_document(wish, bytes).await {
        Ok(DocumentResult::Markdown { pages, .. }) if pages.is_empty() => {
            Err(format!("{path} has no text"))
        }
        Ok(DocumentResult::Markdown { format, pages, remarks, cut }) => {
            let remarks = remarks.into_iter().chain(cut).collect();
            Ok(SourceText::new(path, format, pages, remarks))
        }
        Ok(_) => Err(format!("{path} cannot be read as text")),
        Err(why) => Err(format!("{path}: {why}")),
    }
}

/// Stands for a hyphen that ends a line while a text is laid out anew.
const LINE_HYPHEN: char = '\u{2}';

impl ComparableText {
    /// Takes the layout away.
    pub(crate) fn of_text(text: &str) -> ComparableText {
        let laid_out = without_layout(text);
        let (mut text, mut hyphens) = (String::with_capacity(laid_out.len()), Vec::new());
        let mut rest = laid_out.chars().peekable();
        while let Some(c) = rest.next() {
            let within_word = c == '-'
                && text.ends_with(char::is_lowercase)
                && rest.peek().is_some_and(|next| next.is_lowercase());
            match c {
                LINE_HYPHEN => hyphens.push(WordHyphen { at: text.len(), ends_line: true }),
                '-' if within_word => hyphens.push(WordHyphen { at: text.len(), ends_line: false }),
                c => text.push(c),
            }
        }
        ComparableText { text, hyphens }
    }

    /// Whether `wanted` stands in it as whole words.
    pub(crate) fn has_words(&self, wanted: &ComparableText) -> bool {
        let (text, words) = (self.text.as_str(), wanted.text.as_str());
        let is_here = |(at, _): (usize, &str)| {
            let end = at + words.len();
            let before = text.get(..at).and_then(|before| before.chars().next_back());
            let after = text.get(end..).and_then(|after| after.chars().next());
            let glued = |place: usize, outer: Option<char>, inner: Option<char>| {
                outer.is_some_and(char::is_alphanumeric)
                    && inner.is_some_and(char::is_alphanumeric)
                    && self.hyphens.binary_search_by_key(&place, |hyphen| hyphen.at).is_err()
            };
            !glued(at, before, words.chars().next())
                && !glued(end, after, words.chars().next_back())
                && self.has_hyphens(at, wanted)
        };
        !words.is_empty() && text.match_indices(words).any(is_here)
    }

    /// Whether the hyphens of `wanted` are those here, from `start` on, as far as anybody knows of them.
    fn has_hyphens(&self, start: usize, wanted: &ComparableText) -> bool {
        let end = start + wanted.text.len();
        let first = self.hyphens.partition_point(|hyphen| hyphen.at <= start);
        let here: Vec<WordHyphen> = self.hyphens[first..]
            .iter()
            .take_while(|hyphen| hyphen.at < end)
            .map(|hyphen| WordHyphen { at: hyphen.at - start, ..*hyphen })
            .collect();
        let all_in = |some: &[WordHyphen], others: &[WordHyphen]| {
            let mut known = some.iter().filter(|hyphen| !hyphen.ends_line);
            known.all(|hyphen| others.iter().any(|other| other.at == hyphen.at))
        };
        all_in(&here, &wanted.hyphens) && all_in(&wanted.hyphens, &here)
    }
}

/// The words of a text in one line, with [`LINE_HYPHEN`] for a hyphen that ends a line.
fn without_layout(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let line = line.trim_start_matches([' ', '\t', '>', '#']).trim_end();
        // `exam-` at the end of a line goes on in the next one.
        let broken = out.ends_with('-')
            && out.chars().rev().nth(1).is_some_and(char::is_lowercase)
            && line.starts_with(char::is_lowercase);
        if broken {
            out.pop();
            out.push(LINE_HYPHEN);
        } else if !out.is_empty() && !out.ends_with(' ') {
            out.push(' ');
        }
        for c in line.chars() {
            match c {
                '*' | '_' | '`' | '\\' | '\u{ad}' | '\u{200b}' | LINE_HYPHEN => {}
                '\u{2018}' | '\u{2019}' | '\u{201a}' => out.push('\''),
                '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{ab}' | '\u{bb}' => out.push('"'),
                '\u{2010}'..='\u{2015}' | '\u{2212}' => out.push('-'),
                c if !ligature_letters(c).is_empty() => out.push_str(ligature_letters(c)),
                c if c.is_whitespace() || c == '|' => {
                    if !out.is_empty() && !out.ends_with(' ') {
                        out.push(' ');
                    }
                }
                c => out.push(c),
            }
        }
    }
    out.trim().to_owned()
}

/// The words of a text in lower case; of writing without spaces each sign is one.
pub(crate) fn words_of(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut open = false;
    for c in text.chars() {
        let alone = matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}');
        match (c.is_alphanumeric(), open && !alone) {
            (true, true) => {
                words.last_mut().into_iter().for_each(|word| word.extend(c.to_lowercase()))
            }
            (true, false) => words.push(c.to_lowercase().collect()),
            (false, _) => {}
        }
        open = c.is_alphanumeric() && !alone;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(pages: &[&str]) -> SourceText {
        let page = |(n, text): (usize, &&str)| DocumentPage {
            name: format!("Page {n}"),
            text: (*text).to_owned(),
        };
        let pages = (1..).zip(pages).map(page).collect();
        SourceText::new("a.pdf".into(), "PDF".into(), pages, Vec::new())
    }

    #[test]
    fn k9_a_quote_stands_word_for_word_on_its_page_or_is_refused() {
        let source = source(&[
            "# Results\nThe **new** method needs 12.5 % less\nenergy, as the exam-\nples “show”.",
            "It does not hold below -5 °C.",
            "Two kinds of line: a well-\nknown one, which the exam-\nples show signi\u{fb01}cantly.",
        ]);
        for (quote, page, found) in [
            ("The new method needs 12.5 % less energy", Some(1), Some(1)),
            ("The new method needs 12.5 % less energy", None, Some(1)),
            ("as the examples \"show\"", Some(1), Some(1)),
            ("as the exam-ples \"show\"", Some(1), Some(1)),
            ("does not hold below -5 °C", None, Some(2)),
            // What ends a line may be a part of the word or not, each for itself; letters that are drawn as one
            // are letters.
            ("a well-known one, which the examples show significantly", None, Some(3)),
            ("known one, which the exam-ples", None, Some(3)),
            ("a wellknown one, which", None, Some(3)),
            ("Two kinds of li-ne: a well-known", None, None),
            // Another page, another number, another sign, another word, another case.
            ("The new method needs 12.5 % less energy", Some(2), None),
            ("The new method needs 12.6 % less energy", Some(1), None),
            ("does not hold below 5 °C", None, None),
            ("The method needs 12.5 % less energy", None, None),
            ("the New method needs", None, None),
            // A part of a word, and too few letters to say anything.
            ("he new method needs 12.5 %", None, None),
            ("energy", None, None),
            ("", None, None),
            ("The new method needs", Some(9), None),
            ("The new method needs", Some(0), None),
            // Over the end of a page.
            ("\"show\". It does not hold", None, None),
        ] {
            let told = source.find_quote(quote, page);
            assert_eq!(told.clone().ok(), found, "{quote:?} {page:?}: {told:?}");
        }
        let why = source.find_quote("It does not hold below", Some(1)).expect_err("refused");
        assert!(why.contains("not stand on page 1") && why.contains("but on 2"), "{why}");
        let long = "word ".repeat(300);
        assert!(source.find_quote(&long, None).is_err_and(|why| why.contains("more than")));
    }

    #[test]
    fn k9_words_are_told_apart_in_every_writing() {
        assert_eq!(words_of("Größe: 3,5 m!"), ["größe", "3", "5", "m"]);
        assert_eq!(words_of("知識x"), ["知", "識", "x"]);
        assert_eq!(words_of(" -- "), Vec::<String>::new());
    }
}
