//! Texts that notes are made from, and the one check of what is quoted from them: a quote stands word
//! for word in the text of its source, at the page that is named, or it is refused. Shared by the tools
//! that ingest. Not here: what a note looks like (`ingest`).

use std::sync::OnceLock;

use weir_core::document::{DocumentPage, DocumentRequest, DocumentResult};
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
    /// The pages as quotes are compared with them, in both readings of a broken word: made for the
    /// first quote.
    compared: OnceLock<Vec<[String; 2]>>,
}

/// What a hyphen at the end of a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineHyphen {
    /// A part of the word: `well-` and `known`.
    Kept,
    /// A mark that the word goes on: `exam-` and `ples`.
    Dropped,
}

/// A text as it is compared, in both readings.
fn both_readings(text: &str) -> [String; 2] {
    [LineHyphen::Kept, LineHyphen::Dropped].map(|hyphen| comparable_text(text, hyphen))
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
        let wanted = both_readings(quote);
        let letters = wanted[0].chars().filter(|c| c.is_alphanumeric()).count();
        if letters < QUOTE_LETTERS_MIN {
            return Err(format!(
                "the quote is too short: give {QUOTE_LETTERS_MIN} letters or more"
            ));
        }
        if quote.chars().count() > QUOTE_CHARACTERS_MAX {
            return Err(format!("the quote has more than {QUOTE_CHARACTERS_MAX} characters"));
        }
        let has_quote = |page: &[String; 2]| {
            page.iter().any(|text| wanted.iter().any(|wanted| has_words(text, wanted)))
        };
        let readings = || self.pages.iter().map(|page| both_readings(&page.text)).collect();
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

/// A text as it is compared: what only lays it out is gone (line breaks, marks of Markdown, hyphens
/// within a broken word, kinds of quotation marks and dashes), its words, numbers and signs are all
/// there, in their order and case.
pub(crate) fn comparable_text(text: &str, hyphen: LineHyphen) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let line = line.trim_start_matches([' ', '\t', '>', '#']).trim_end();
        // `exam-` at the end of a line goes on in the next one.
        let broken = out.ends_with('-')
            && out.chars().rev().nth(1).is_some_and(char::is_lowercase)
            && line.starts_with(char::is_lowercase);
        if broken && hyphen == LineHyphen::Dropped {
            out.pop();
        } else if broken {
            // The word goes on after its hyphen.
        } else if !out.is_empty() && !out.ends_with(' ') {
            out.push(' ');
        }
        for c in line.chars() {
            match c {
                '*' | '_' | '`' | '\\' | '\u{ad}' | '\u{200b}' => {}
                '\u{2018}' | '\u{2019}' | '\u{201a}' => out.push('\''),
                '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{ab}' | '\u{bb}' => out.push('"'),
                '\u{2010}'..='\u{2015}' | '\u{2212}' => out.push('-'),
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

/// Whether `wanted` stands in `text` as whole words.
fn has_words(text: &str, wanted: &str) -> bool {
    if wanted.is_empty() {
        return false;
    }
    text.match_indices(wanted).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + wanted.len()..).and_then(|after| after.chars().next());
        let glued = |outer: Option<char>, inner: Option<char>| {
            outer.is_some_and(char::is_alphanumeric) && inner.is_some_and(char::is_alphanumeric)
        };
        !glued(before, wanted.chars().next()) && !glued(after, wanted.chars().next_back())
    })
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
        ]);
        for (quote, page, found) in [
            ("The new method needs 12.5 % less energy", Some(1), Some(1)),
            ("The new method needs 12.5 % less energy", None, Some(1)),
            ("as the examples \"show\"", Some(1), Some(1)),
            ("as the exam-ples \"show\"", Some(1), Some(1)),
            ("does not hold below -5 °C", None, Some(2)),
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
