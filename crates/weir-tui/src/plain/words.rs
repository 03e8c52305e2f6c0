//! Markdown in words, for a screen reader: no signs, no boxes, every paragraph one line. Pure. Not
//! here: cleaning, which whoever prints does.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use weir_core::view::diff::DiffLineKind;

/// Deepest nesting that is followed; what lies deeper is said as if it lay there.
const DEPTH_MAX: usize = 16;

/// `text` as lines that are said.
pub(super) fn spoken_lines(text: &str) -> Vec<String> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_STRIKETHROUGH;
    let mut said = SpokenText::default();
    for event in Parser::new_ext(text, options) {
        said.handle_event(event);
    }
    said.end_line();
    said.lines
}

/// A line of a difference in words. `line`: with its sign, where it has one.
pub(super) fn diff_line_words(kind: DiffLineKind, line: &str) -> String {
    let after = |sign: &str| line.strip_prefix(sign).unwrap_or(line);
    match kind {
        DiffLineKind::Hunk => "Another place:".into(),
        DiffLineKind::File => match (line.strip_prefix("+++ "), line.strip_prefix("--- ")) {
            (Some(name), _) => format!("new file: {name}"),
            (None, Some(name)) => format!("old file: {name}"),
            (None, None) => line.to_owned(),
        },
        DiffLineKind::Added => format!("added: {}", after("+")),
        DiffLineKind::Removed => format!("removed: {}", after("-")),
        DiffLineKind::Same => format!("as before: {}", after(" ")),
        DiffLineKind::Note => line.to_owned(),
    }
}

#[derive(Default)]
struct SpokenText {
    lines: Vec<String>,
    line: String,
    /// The next number of each open list; `None`: it has none.
    lists: Vec<Option<u64>>,
    /// Where open links lead.
    links: Vec<String>,
    /// Names of the columns of the open table, and in which one we are.
    columns: Vec<String>,
    column: usize,
    in_head: bool,
    code: bool,
}

impl SpokenText {
    fn handle_event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start_tag(tag),
            Event::End(tag) => self.end_tag(tag),
            Event::Text(text) if self.code => {
                self.line.push_str(&text);
                while let Some(at) = self.line.find('\n') {
                    let rest = self.line.split_off(at + 1);
                    self.line.pop();
                    self.lines.push(std::mem::replace(&mut self.line, rest));
                }
            }
            Event::Text(text)
            | Event::Code(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => self.line.push_str(&text),
            Event::SoftBreak => self.line.push(' '),
            Event::HardBreak => self.end_line(),
            Event::Rule => self.end_line(),
            Event::TaskListMarker(true) => self.line.push_str("done: "),
            Event::TaskListMarker(false) => self.line.push_str("to do: "),
        }
    }

    fn start_tag(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                self.end_line();
                self.line = format!("Heading {}: ", heading_number(level));
            }
            Tag::BlockQuote(_) => {
                self.end_line();
                self.line.push_str("Quotation: ");
            }
            Tag::CodeBlock(kind) => {
                self.end_line();
                self.code = true;
                self.lines.push(match kind {
                    CodeBlockKind::Fenced(language) if !language.is_empty() => {
                        format!("Code, {language}:")
                    }
                    CodeBlockKind::Fenced(_) | CodeBlockKind::Indented => "Code:".into(),
                });
            }
            Tag::List(first) => {
                self.end_line();
                if self.lists.len() < DEPTH_MAX {
                    self.lists.push(first);
                }
            }
            Tag::Item => {
                self.end_line();
                let inner = if self.lists.len() > 1 { "inner " } else { "" };
                match self.lists.last_mut() {
                    Some(Some(number)) => {
                        self.line = format!("{inner}{number}: ");
                        *number = number.saturating_add(1);
                    }
                    Some(None) | None => self.line = format!("{inner}item: "),
                }
            }
            Tag::Link { dest_url, .. } => self.links.push(dest_url.into_string()),
            Tag::Image { dest_url, .. } => {
                self.links.push(dest_url.into_string());
                self.line.push_str("picture: ");
            }
            Tag::Table(_) => {
                self.end_line();
                self.columns.clear();
            }
            Tag::TableHead => self.in_head = true,
            Tag::TableRow => self.column = 0,
            _ => (),
        }
    }

    fn end_tag(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::CodeBlock => {
                self.end_line();
                self.code = false;
                self.lines.push("End of code.".into());
            }
            TagEnd::List(_) => {
                self.end_line();
                self.lists.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                let to = self.links.pop().unwrap_or_default();
                if !to.is_empty() && !self.line.ends_with(&to) {
                    self.line.push_str(&format!(" (link: {to})"));
                }
            }
            TagEnd::TableHead => {
                self.in_head = false;
                let columns = self.columns.join(", ");
                self.lines.push(format!("Table with the columns {columns}."));
            }
            TagEnd::TableCell => self.end_cell(),
            TagEnd::TableRow => {
                let row = self.line.trim_end_matches(['\u{0}', ' ', ';']).to_owned();
                self.line = row;
                self.end_line();
            }
            TagEnd::Table => self.lines.push("End of table.".into()),
            TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::Item | TagEnd::BlockQuote(_) => {
                self.end_line();
            }
            _ => (),
        }
    }

    /// A cell ended: in the head it names a column, below it is said with that name.
    fn end_cell(&mut self) {
        let at = self.line.rfind('\u{0}').map_or(0, |at| at + 1);
        let text = self.line.split_off(at);
        if self.in_head {
            self.columns.push(text);
            return;
        }
        let name = self.columns.get(self.column).map_or("", String::as_str);
        self.column += 1;
        self.line.push_str(&format!("{name}: {text}; \u{0}"));
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let line = line.replace('\u{0}', "");
        if !line.trim().is_empty() {
            self.lines.push(line.trim_end().to_owned());
        }
    }
}

fn heading_number(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

#[cfg(test)]
mod tests {
    use weir_core::view::diff::diff_lines;

    use super::{diff_line_words, spoken_lines};

    #[test]
    fn f1_a_difference_is_said_in_words() {
        for (line, expected) in [
            ("+++ b/a.rs", "new file: b/a.rs"),
            ("--- a/a.rs", "old file: a/a.rs"),
            ("+let a;", "added: let a;"),
            ("-let b;", "removed: let b;"),
            (" same", "as before: same"),
            ("@@ -1 +1 @@", "Another place:"),
            ("diff", "diff"),
        ] {
            let said = diff_lines(line.lines()).map(|line| diff_line_words(line.kind, line.line));
            assert_eq!(said.collect::<String>(), expected);
        }
        let posed = "@@ -1 +0,0 @@\n--- a/other\n";
        let said = diff_lines(posed.lines()).map(|line| diff_line_words(line.kind, line.line));
        assert_eq!(said.last().as_deref(), Some("removed: -- a/other"), "content is no head");
    }

    #[test]
    fn f1_markdown_is_said_in_words() {
        for (text, expected) in [
            ("Some **bold**\nand `code`.", &["Some bold and code."][..]),
            ("## Why\n\nBecause.", &["Heading 2: Why", "Because."]),
            ("- one\n- two\n  1. deep", &["item: one", "item: two", "inner 1: deep"]),
            ("3. three\n4. four", &["3: three", "4: four"]),
            ("- [x] a\n- [ ] b", &["item: done: a", "item: to do: b"]),
            (
                "```rust\nfn a() {\n\n    1\n}\n```",
                &["Code, rust:", "fn a() {", "", "    1", "}", "End of code."],
            ),
            ("> wise", &["Quotation: wise"]),
            ("[here](https://a.b) now", &["here (link: https://a.b) now"]),
            ("<https://a.b>", &["https://a.b"]),
            ("---", &[]),
            (
                "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | **4** |",
                &["Table with the columns a, b.", "a: 1; b: 2", "a: 3; b: 4", "End of table."],
            ),
            ("", &[]),
        ] {
            assert_eq!(spoken_lines(text), expected, "{text}");
        }
    }
}
