//! Markdown of a slide as paragraphs: two levels of bullets, marks, links. Not here: sizes, places.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::fit::MeasuredText;
use super::look::SECOND_LEVEL;
use crate::markdown::is_plain_link;

/// A paragraph of a slide.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SlideParagraph {
    /// 0 or 1.
    pub(super) level: usize,
    /// What stands before it; `None`: it is no item of a list.
    pub(super) bullet: Option<SlideBullet>,
    pub(super) runs: Vec<SlideRun>,
}

/// What stands before an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SlideBullet {
    Dot,
    Number(u64),
}

/// A piece of text with the same marks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SlideRun {
    pub(super) text: String,
    pub(super) bold: bool,
    pub(super) italic: bool,
    pub(super) code: bool,
    pub(super) link: Option<String>,
}

impl SlideParagraph {
    /// A paragraph of plain text.
    pub(super) fn from_text(text: &str) -> SlideParagraph {
        let run = SlideRun { text: text.to_owned(), ..SlideRun::default() };
        SlideParagraph { runs: vec![run], ..SlideParagraph::default() }
    }

    /// Its text without marks.
    pub(super) fn collect_text(&self) -> String {
        self.runs.iter().map(|run| run.text.as_str()).collect()
    }

    /// As it is measured; `text` is its text.
    pub(super) fn measure_text<'a>(&self, text: &'a str) -> MeasuredText<'a> {
        let indent = if self.bullet.is_some() { 1.2 } else { 0.0 };
        let scale = if self.level == 0 { 1.0 } else { SECOND_LEVEL };
        #[expect(clippy::cast_precision_loss, reason = "0 or 1")]
        let indent = indent + 1.2 * self.level as f64;
        MeasuredText { text, indent, scale }
    }
}

/// Reads the Markdown of a slide.
pub(super) fn slide_paragraphs(markdown: &str) -> Vec<SlideParagraph> {
    let mut reader = WordReader::default();
    for event in Parser::new_ext(markdown, Options::ENABLE_STRIKETHROUGH) {
        reader.read_event(event);
    }
    reader.end_paragraph();
    reader.done
}

#[derive(Default)]
struct WordReader {
    done: Vec<SlideParagraph>,
    runs: Vec<SlideRun>,
    /// The next number of each open list; `None`: bullets.
    lists: Vec<Option<u64>>,
    marks: SlideRun,
    bullet: Option<SlideBullet>,
}

impl WordReader {
    fn read_event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(Tag::List(first)) => {
                self.end_paragraph();
                self.lists.push(first);
            }
            Event::End(TagEnd::List(_)) => {
                self.lists.pop();
            }
            Event::Start(Tag::Item) => {
                self.bullet = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        let bullet = SlideBullet::Number(*number);
                        *number = number.saturating_add(1);
                        Some(bullet)
                    }
                    _ => Some(SlideBullet::Dot),
                };
            }
            Event::End(
                TagEnd::Item | TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::CodeBlock,
            ) => self.end_paragraph(),
            Event::Start(Tag::Heading { .. }) => {
                self.end_paragraph();
                self.marks.bold = true;
            }
            Event::Start(Tag::Strong) => self.marks.bold = true,
            Event::End(TagEnd::Strong) => self.marks.bold = false,
            Event::Start(Tag::Emphasis) => self.marks.italic = true,
            Event::End(TagEnd::Emphasis) => self.marks.italic = false,
            Event::Start(Tag::CodeBlock(_)) => {
                self.end_paragraph();
                self.marks.code = true;
            }
            Event::Start(Tag::Link { dest_url, .. }) => {
                self.marks.link = is_plain_link(&dest_url).then(|| dest_url.into_string());
            }
            Event::End(TagEnd::Link) => self.marks.link = None,
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.add_run(&text),
            Event::Code(text) => {
                self.marks.code = true;
                self.add_run(&text);
                self.marks.code = false;
            }
            Event::SoftBreak => self.add_run(" "),
            Event::HardBreak => self.add_run("\n"),
            _ => {}
        }
    }

    fn add_run(&mut self, text: &str) {
        self.runs.push(SlideRun { text: text.to_owned(), ..self.marks.clone() });
    }

    fn end_paragraph(&mut self) {
        let runs = std::mem::take(&mut self.runs);
        self.marks = SlideRun::default();
        if runs.iter().all(|run| run.text.trim().is_empty()) {
            return;
        }
        let level = self.lists.len().saturating_sub(1).min(1);
        self.done.push(SlideParagraph { level, bullet: self.bullet.take(), runs });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k8_bullets_have_levels_marks_and_links() {
        let read = slide_paragraphs("Intro\n\n- one **two**\n  - deep [x](https://e.org)\n1. n\n");
        let told: Vec<_> = read.iter().map(|p| (p.level, p.bullet, p.collect_text())).collect();
        assert_eq!(
            told,
            [
                (0, None, "Intro".to_owned()),
                (0, Some(SlideBullet::Dot), "one two".to_owned()),
                (1, Some(SlideBullet::Dot), "deep x".to_owned()),
                (0, Some(SlideBullet::Number(1)), "n".to_owned()),
            ]
        );
        assert!(read[1].runs[1].bold);
        assert_eq!(read[2].runs[1].link.as_deref(), Some("https://e.org"));
    }
}
