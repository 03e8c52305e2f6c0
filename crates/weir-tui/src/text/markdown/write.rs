//! What the parser found, as lines. Addresses are never hidden, and what would be more than text (HTML,
//! pictures, formulas) stays text.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Tag, TagEnd};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::super::clean::{clean_line, clean_text};
use super::page::{BreakMode, MarkdownPage};
use super::paint::CodeLines;
use super::table::{MarkdownTable, TableCell};

/// Reads the events of one piece.
pub(super) struct MarkdownLineWriter<'p, 's, 'a> {
    page: &'p mut MarkdownPage<'s, 'a>,
    /// Lines of the text that is being read.
    lines: Vec<Vec<Span<'static>>>,
    /// A block of text is being read.
    in_text: bool,
    /// Nothing stands in the open block yet.
    fresh: bool,
    styles: Vec<Style>,
    links: Vec<OpenMarkdownLink>,
    /// Lists that are open, with the number of the next point.
    lists: Vec<Option<u64>>,
    /// The number of the first point, where the text counts on.
    number: Option<u64>,
    table: Option<MarkdownTable>,
    /// Code or HTML that is being read: what stands behind its fence, and its text.
    source: Option<(String, String)>,
}

/// A link or an image that is being read.
struct OpenMarkdownLink {
    address: String,
    title: String,
    words: String,
    image: bool,
}

impl<'p, 's, 'a> MarkdownLineWriter<'p, 's, 'a> {
    /// For one piece; `number` is that of its first point.
    pub(super) fn new(page: &'p mut MarkdownPage<'s, 'a>, number: Option<u64>) -> Self {
        let styles = vec![page.theme().text];
        MarkdownLineWriter {
            page,
            lines: Vec::new(),
            in_text: false,
            fresh: true,
            styles,
            links: Vec::new(),
            lists: Vec::new(),
            number,
            table: None,
            source: None,
        }
    }

    /// The next of the parser's events.
    pub(super) fn handle_event(&mut self, event: Event<'_>) {
        let theme = self.page.theme();
        match event {
            Event::Start(tag) => self.start_tag(tag),
            Event::End(tag) => self.end_tag(tag),
            Event::Text(text) | Event::Html(text) if self.source.is_some() => {
                if let Some((_, source)) = &mut self.source {
                    source.push_str(&text);
                }
            }
            Event::Text(text) => self.write_words(&text),
            Event::Code(text) => self.write_code(&text),
            Event::InlineMath(text) => self.write_styled(&format!("${text}$"), theme.code),
            Event::DisplayMath(text) => {
                for (at, line) in format!("$${text}$$").split('\n').enumerate() {
                    if at > 0 {
                        self.hard_break();
                    }
                    self.write_styled(line, theme.code);
                }
            }
            Event::Html(text) | Event::InlineHtml(text) => {
                let name = text.trim_matches(['<', '>', '/', ' ']);
                if name.eq_ignore_ascii_case("br") {
                    self.hard_break();
                } else {
                    self.write_styled(&text, theme.quiet);
                }
            }
            Event::FootnoteReference(name) => self.write_styled(&format!("[^{name}]"), theme.link),
            Event::SoftBreak => self.write_words(" "),
            Event::HardBreak => self.hard_break(),
            Event::Rule => {
                self.begin_block();
                self.page.write_rule();
            }
            Event::TaskListMarker(done) => {
                self.write_styled(if done { "[x] " } else { "[ ] " }, theme.accent);
            }
        }
    }

    /// There are no more events.
    pub(super) fn finish(mut self) {
        self.flush_text();
    }

    fn start_tag(&mut self, tag: Tag<'_>) {
        let theme = self.page.theme();
        match tag {
            Tag::Paragraph => {
                self.begin_block();
                self.in_text = true;
            }
            Tag::Heading { level, .. } => {
                self.begin_block();
                self.in_text = true;
                let more = match level {
                    HeadingLevel::H1 => Modifier::BOLD | Modifier::UNDERLINED,
                    HeadingLevel::H2 => Modifier::BOLD,
                    _ => Modifier::BOLD | Modifier::ITALIC,
                };
                self.push_style(theme.heading.add_modifier(more));
            }
            Tag::BlockQuote(_) => {
                self.begin_block();
                self.page.open_quote();
                self.push_style(theme.quote);
                self.fresh = true;
            }
            Tag::CodeBlock(kind) => {
                self.begin_block();
                let info = match kind {
                    CodeBlockKind::Fenced(info) => info.into_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.source = Some((info, String::new()));
            }
            Tag::HtmlBlock => {
                self.begin_block();
                self.source = Some((String::new(), String::new()));
            }
            Tag::List(first) => self.begin_list(first),
            Tag::Item => self.begin_item(),
            Tag::FootnoteDefinition(name) => {
                self.begin_block();
                self.page.open_point(format!("[^{}]: ", clean_line(&name)));
                self.fresh = true;
            }
            Tag::Table(columns) => {
                self.begin_block();
                self.table = Some(MarkdownTable { columns, rows: Vec::new() });
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            Tag::Emphasis => self.push_style(Style::new().add_modifier(Modifier::ITALIC)),
            Tag::Strong => self.push_style(Style::new().add_modifier(Modifier::BOLD)),
            Tag::Strikethrough => self.push_style(Style::new().add_modifier(Modifier::CROSSED_OUT)),
            Tag::Link { dest_url, title, .. } => self.begin_link(&dest_url, &title, false),
            Tag::Image { dest_url, title, .. } => self.begin_link(&dest_url, &title, true),
            // Not asked for.
            Tag::TableCell
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => (),
        }
    }

    fn end_tag(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.flush_text();
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.flush_text();
                self.styles.pop();
                self.page.close_block();
                self.fresh = false;
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::HtmlBlock => self.end_html(),
            TagEnd::List(_) => {
                self.lists.pop();
                self.fresh = false;
            }
            TagEnd::Item | TagEnd::FootnoteDefinition => {
                self.flush_text();
                self.page.close_block();
                self.fresh = false;
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    table.write_to_page(self.page);
                }
            }
            TagEnd::TableCell => {
                let cell: TableCell = self.lines.drain(..).map(Line::from).collect();
                if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => self.end_link(),
            TagEnd::Paragraph => self.flush_text(),
            TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => (),
        }
    }

    /// A block begins: an empty line stands before it, unless it is the first.
    fn begin_block(&mut self) {
        self.flush_text();
        if !std::mem::replace(&mut self.fresh, false) {
            self.page.request_gap();
        }
    }

    fn begin_list(&mut self, first: Option<u64>) {
        let (within_text, fresh) = (!self.lists.is_empty(), self.fresh);
        self.begin_block();
        if within_text && !fresh {
            // A list below the text of a point belongs to it.
            self.page.no_gap();
        }
        let number = self.number.take().filter(|_| first.is_some() && !within_text);
        self.lists.push(number.or(first));
        self.fresh = true;
    }

    fn begin_item(&mut self) {
        self.flush_text();
        if !self.fresh {
            self.page.no_gap();
        }
        let sign = match self.lists.last_mut() {
            Some(Some(number)) => {
                let sign = format!("{number}. ");
                *number = number.saturating_add(1);
                sign
            }
            _ => "• ".to_owned(),
        };
        self.page.open_point(sign);
        self.fresh = true;
    }

    fn end_code(&mut self) {
        let Some((info, text)) = self.source.take() else { return };
        let mut code = CodeLines::begin_code(&info, self.page);
        for line in text.lines() {
            code.paint_line(line, self.page);
        }
    }

    fn end_html(&mut self) {
        let Some((_, text)) = self.source.take() else { return };
        let style = self.page.theme().quiet;
        for line in clean_text(text.trim_end()).lines() {
            let line = Line::from(Span::styled(line.to_owned(), style));
            self.page.write_line(line, BreakMode::AtWords, 0);
        }
    }

    fn push_style(&mut self, more: Style) {
        self.styles.push(self.current_style().patch(more));
    }

    fn current_style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn begin_link(&mut self, address: &str, title: &str, image: bool) {
        let theme = self.page.theme();
        if image {
            self.write_styled("image: ", theme.quiet);
        }
        let words = String::new();
        let (address, title) = (address.to_owned(), title.to_owned());
        self.links.push(OpenMarkdownLink { address, title, words, image });
        self.push_style(theme.link);
    }

    fn end_link(&mut self) {
        self.styles.pop();
        let Some(link) = self.links.pop() else { return };
        let same = link.words == link.address
            || link.address.strip_prefix("mailto:").is_some_and(|address| address == link.words);
        let title = match link.title.as_str() {
            "" => String::new(),
            title => format!(" \"{title}\""),
        };
        let address = if same && !link.image { "" } else { link.address.as_str() };
        let behind = format!("{address}{title}");
        if !behind.is_empty() {
            let gap = if link.words.is_empty() { "" } else { " " };
            self.write_styled(&format!("{gap}({})", behind.trim_start()), self.page.theme().quiet);
        }
    }

    fn write_code(&mut self, text: &str) {
        let style = self.page.theme().code;
        // Where code looks like other text, its signs stay.
        match style == self.page.theme().text {
            true => self.write_styled(&format!("`{text}`"), style),
            false => self.write_styled(text, style),
        }
        if let Some(link) = self.links.last_mut() {
            link.words.push_str(text);
        }
    }

    /// Words of the text.
    fn write_words(&mut self, text: &str) {
        if let Some(link) = self.links.last_mut() {
            link.words.push_str(text);
        }
        self.put_text(text, self.current_style());
    }

    /// Words that have a style of their own.
    fn write_styled(&mut self, text: &str, style: Style) {
        self.put_text(text, self.current_style().patch(style));
    }

    fn put_text(&mut self, text: &str, style: Style) {
        if !self.in_text && self.table.is_none() {
            // The text of a point has no paragraph around it.
            self.begin_text();
        }
        if self.lines.is_empty() {
            self.lines.push(Vec::new());
        }
        let (text, Some(line)) = (clean_line(text), self.lines.last_mut()) else { return };
        match line.last_mut() {
            Some(last) if last.style == style => last.content.to_mut().push_str(&text),
            _ => line.push(Span::styled(text.into_owned(), style)),
        }
    }

    fn begin_text(&mut self) {
        if !std::mem::replace(&mut self.fresh, false) {
            self.page.request_gap();
        }
        self.in_text = true;
    }

    fn hard_break(&mut self) {
        self.lines.push(Vec::new());
    }

    /// The text that is being read is complete.
    fn flush_text(&mut self) {
        self.in_text = false;
        let said = |spans: &Vec<Span<'_>>| spans.iter().any(|span| !span.content.trim().is_empty());
        let end = self.lines.iter().rposition(said).map_or(0, |last| last + 1);
        let first = self.lines.iter().position(said).unwrap_or(0);
        self.lines.truncate(end);
        for spans in self.lines.drain(..).skip(first) {
            self.page.write_line(Line::from(spans), BreakMode::AtWords, 0);
        }
    }
}
