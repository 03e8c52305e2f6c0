//! Notes that are made from sources: each statement stands beside the passage and the page that it came
//! from. Shared by the tools that ingest. Not here: checking quotes (`sources`), files (`draft`).

use std::fmt::Write as _;
use std::sync::Arc;

use serde::Deserialize;
use tokio_util::sync::CancellationToken;
use weir_core::tool::PathEffect;
use weir_core::view::plain::visible_text;
use weir_engine::ports::ToolContext;
use weir_engine::workspace::Workspace;

use crate::draft::PlanDraft;
use crate::sources::{self, SourceText};
use crate::text;

/// Most notes of one call.
pub(crate) const NOTES_MAX: usize = 40;
/// Most statements of one call.
pub(crate) const STATEMENTS_MAX: usize = 400;
/// Most sources of one call.
pub(crate) const SOURCES_MAX: usize = 30;
/// Most passages of one call.
pub(crate) const QUOTES_MAX: usize = 600;
/// Longest statement, in characters.
const STATEMENT_CHARACTERS_MAX: usize = 600;

/// Where a statement comes from.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct StatementEvidence {
    /// Path of the source.
    pub(crate) source: String,
    /// Copied word for word from one page.
    pub(crate) quote: String,
    /// From 1, as read_document counts.
    #[serde(default)]
    pub(crate) page: Option<usize>,
}

/// A passage that was found where it was said to stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundQuote {
    /// Path of its source.
    pub(crate) source: String,
    /// The link or name that stands beside the statement.
    place: String,
    /// As it was given, without what acts.
    quote: String,
}

/// The sources of one call, each read once.
pub(crate) struct SourceShelf {
    workspace: Arc<Workspace>,
    cancel: CancellationToken,
    sources: Vec<SourceText>,
    /// What could not be read, and why.
    unread: Vec<(String, String)>,
}

impl SourceShelf {
    pub(crate) fn new(cx: &ToolContext) -> SourceShelf {
        SourceShelf {
            workspace: cx.workspace.clone(),
            cancel: cx.cancel.clone(),
            sources: Vec::new(),
            unread: Vec::new(),
        }
    }

    /// Reads what is named and was not read yet, and declares it.
    pub(crate) async fn take_source(
        &mut self,
        path: &str,
        draft: &mut PlanDraft,
        cx: &ToolContext,
    ) {
        let at: PathEffect = sources::source_effect(path, &self.workspace);
        let known = self.sources.iter().any(|source| source.path == at.path)
            || self.unread.iter().any(|(known, _)| *known == at.path);
        if known {
            return;
        }
        draft.touch(at.clone());
        let path = at.path.clone();
        match sources::read_source(at, cx).await {
            Ok(source) => self.sources.push(source),
            Err(why) => self.unread.push((path, why)),
        }
    }

    /// The source of a path.
    ///
    /// # Errors
    /// Why it could not be read.
    pub(crate) fn find_source(&self, path: &str) -> Result<&SourceText, String> {
        let at = sources::source_effect(path, &self.workspace);
        if let Some(source) = self.sources.iter().find(|source| source.path == at.path) {
            return Ok(source);
        }
        let unread = self.unread.iter().find(|(known, _)| *known == at.path);
        Err(unread.map_or_else(|| format!("{path} was not read"), |(_, why)| why.clone()))
    }

    /// Checks that a passage stands where it is said to stand. Not on the loop's thread.
    ///
    /// # Errors
    /// Why it is refused.
    pub(crate) fn check_quote(&self, given: &StatementEvidence) -> Result<FoundQuote, String> {
        if self.cancel.is_cancelled() {
            return Err("the call was cancelled".into());
        }
        let source = self.find_source(&given.source)?;
        let page = source.find_quote(&given.quote, given.page)?;
        Ok(FoundQuote {
            source: source.path.clone(),
            place: page_link(&source.path, page, &source.page_label(page)),
            quote: inert_line(&given.quote),
        })
    }
}

/// A statement as it stands in a note, with what it rests on.
pub(crate) fn statement_lines(text: &str, quotes: &[FoundQuote]) -> String {
    let mut lines = format!("- {}\n", statement_text(text));
    quotes.iter().for_each(|quote| lines.push_str(&quote_line(quote)));
    lines
}

/// A passage below its statement.
pub(crate) fn quote_line(quote: &FoundQuote) -> String {
    format!("  > {} ({})\n", quote.quote, quote.place)
}

/// A statement as one line. It is in the agent's words and may link to notes, but a document may have
/// led to them: nothing in it loads anything, hides anything or leads out of the vault when the note is
/// opened.
pub(crate) fn statement_text(text: &str) -> String {
    let line = visible_text(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    line.replace('<', "\\<")
        .replace("![", "!\\[")
        .replace("](", "]\\(")
        .replace("%%", "%\\%")
        .replace("://", "\\://")
}

/// Why a statement cannot be taken; `None`: it can.
pub(crate) fn statement_problem(statement: &str) -> Option<String> {
    let length = statement.chars().count();
    match length {
        _ if statement.trim().is_empty() => Some("a statement needs words".into()),
        _ if length > STATEMENT_CHARACTERS_MAX => Some(format!(
            "a statement of {length} characters is too long; at most {STATEMENT_CHARACTERS_MAX}: split it"
        )),
        _ => None,
    }
}

/// A refused statement, for the model and for a person who looks at the plan.
pub(crate) fn refusal(note: &str, statement: &str, why: &str) -> String {
    format!("{note}: \u{201c}{}\u{201d}: {why}", text::one_line(statement, 80))
}

/// A link to a file of the workspace, as Obsidian reads it. A name that would end the link or the line is
/// shown as words.
pub(crate) fn file_link(path: &str) -> String {
    let line = visible_text(&path.replace(char::is_control, " "));
    let is_plain = line == path && !path.contains(['[', ']', '|', '#', '^']);
    let shown = path.strip_suffix(".md").unwrap_or(path);
    match is_plain {
        true => format!("[[{shown}]]"),
        false => format!("`{}`", line.replace('`', "'")),
    }
}

fn page_link(path: &str, page: usize, label: &str) -> String {
    let link = file_link(path);
    let is_pdf = path.to_lowercase().ends_with(".pdf");
    match (label, is_pdf && link.starts_with("[[")) {
        ("", _) => link,
        (label, true) => format!("[[{path}#page={page}|{label}]]"),
        (label, false) => format!("{link}, {}", inert_line(label)),
    }
}

/// Words of somebody else as one line in which nothing acts: no link, embed, tag, code, formula,
/// comment or HTML comes out of it.
pub(crate) fn inert_line(text: &str) -> String {
    let line = visible_text(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    let mut out = String::with_capacity(line.len());
    let mut before = ' ';
    for c in line.chars() {
        let acts = match c {
            '[' | ']' | '<' | '`' | '$' | '\\' | '|' | '*' | '_' | '~' | '{' => true,
            '#' | '^' => !before.is_alphanumeric(),
            '%' | '=' => before == c,
            _ => false,
        };
        if acts {
            out.push('\\');
        }
        out.push(c);
        before = c;
    }
    // An address is no link when its scheme is broken.
    out.replace("://", "\\://")
}

/// Adds lines below the heading `## title` of a note, at the end of its section; where there is none, at
/// the end of the note. Nothing else changes.
pub(crate) fn add_below_heading(note: &str, title: &str, lines: &str) -> String {
    if lines.is_empty() {
        return note.to_owned();
    }
    let facts = weir_notes::note::parse_note(note);
    let found = facts.headings.iter().position(|h| h.level == 2 && h.text.trim() == title);
    let crlf = note.contains("\r\n");
    let lines = if crlf { lines.replace('\n', "\r\n") } else { lines.to_owned() };
    let end = if crlf { "\r\n" } else { "\n" };
    let Some(at) = found else {
        let mut out = note.trim_end().to_owned();
        let gap = if out.is_empty() { String::new() } else { format!("{end}{end}") };
        let _ = write!(out, "{gap}## {title}{end}{end}{lines}");
        return out;
    };
    let next = facts.headings.iter().skip(at + 1).find(|heading| heading.level <= 2);
    let split = next.map_or(note.len(), |heading| heading.at.start);
    let (Some(before), Some(after)) = (note.get(..split), note.get(split..)) else {
        return note.to_owned();
    };
    let gap = if after.is_empty() { "" } else { end };
    format!("{}{end}{lines}{gap}{after}", before.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k9_nothing_acts_in_a_quote() {
        for (given, shown) in [
            (
                "See [[Secret]] and ![x](http://a/b)",
                "See \\[\\[Secret\\]\\] and !\\[x\\](http\\://a/b)",
            ),
            ("<img src=x> #tag a#b `cmd`", "\\<img src=x> \\#tag a#b \\`cmd\\`"),
            ("a\n# b\n- c", "a \\# b - c"),
            ("%%gone%% 5 % $x$", "%\\%gone%\\% 5 % \\$x\\$"),
        ] {
            assert_eq!(inert_line(given), shown, "{given}");
        }
    }

    #[test]
    fn k9_lines_go_to_the_end_of_their_section() {
        for (note, expected) in [
            ("", "## S\n\n- x\n"),
            ("# A\n\ntext\n", "# A\n\ntext\n\n## S\n\n- x\n"),
            ("## S\n\n- a\n\n## T\n\nz\n", "## S\n\n- a\n- x\n\n## T\n\nz\n"),
            ("## S\n\n- a\n### sub\n\nb\n", "## S\n\n- a\n### sub\n\nb\n- x\n"),
            ("```\n## S\n```\n", "```\n## S\n```\n\n## S\n\n- x\n"),
            ("a\r\n", "a\r\n\r\n## S\r\n\r\n- x\r\n"),
        ] {
            assert_eq!(add_below_heading(note, "S", "- x\n"), expected, "{note:?}");
        }
        assert_eq!(add_below_heading("a\n", "S", ""), "a\n");
    }

    #[test]
    fn k9_a_link_names_file_and_page() {
        assert_eq!(page_link("p/a.pdf", 3, "p. 3"), "[[p/a.pdf#page=3|p. 3]]");
        assert_eq!(page_link("a.pdf", 1, ""), "[[a.pdf]]");
        assert_eq!(page_link("a.xlsx", 2, "Sheet [1]"), "[[a.xlsx]], Sheet \\[1\\]");
        assert_eq!(page_link("a[1].pdf", 2, "p. 2"), "`a[1].pdf`, p. 2");
        assert_eq!(file_link("Notes/X.md"), "[[Notes/X]]");
        assert_eq!(file_link("a\n- b `c`.pdf"), "`a - b 'c'.pdf`");
    }

    #[test]
    fn k9_a_statement_links_to_notes_and_loads_nothing() {
        for (given, shown) in [
            ("The [[Bridge]] is\n**old**.", "The [[Bridge]] is **old**."),
            ("![x](http://a/?q=1)", "!\\[x]\\(http\\://a/?q=1)"),
            ("![[keys.txt]] <img src=x>", "!\\[[keys.txt]] \\<img src=x>"),
            ("a %%hidden%% b", "a %\\%hidden%\\% b"),
        ] {
            assert_eq!(statement_text(given), shown, "{given}");
        }
    }
}
