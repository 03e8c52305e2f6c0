//! CommonMark with GitHub's additions to HTML: the first lock. Events of the parser that could do
//! more than set text are replaced before anything is written.

use std::collections::HashMap;
use std::fmt::Write as _;

use maud::Render as _;
use pulldown_cmark::{
    Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd,
    TextMergeWithOffset,
};
use sha2::{Digest as _, Sha256};
use weir_core::view::plain::visible_text;

use super::links::{
    LinkResolver, LinkTarget, NoAddresses, address_host, find_bare_address, is_own, link_target,
};
use super::{code, maths, plain};

/// Most of a text that is read as Markdown, in bytes; what is longer is shown as it is written.
pub const TEXT_MAX: usize = 1 << 20;
/// How deep quotes, lists and emphasis go; deeper ones are flat.
const NESTING_MAX: usize = 32;
/// Cells of all tables of a text; a narrow row of a wide table has empty ones.
const CELLS_MAX: usize = 50_000;
/// Most HTML that comes of one text before what is left is shown as text.
const HTML_MAX: usize = 16 << 20;
/// Refused addresses are shown up to so many characters.
const SHOWN_ADDRESS_MAX: usize = 200;

/// How a text stands on its page.
#[derive(Clone, Copy)]
pub struct MarkdownStyle<'a> {
    /// Level of its highest heading on the page: 2 to 6.
    pub heading: u8,
    /// What is ours.
    pub addresses: &'a dyn LinkResolver,
}

impl Default for MarkdownStyle<'_> {
    /// Below a heading of second level; nothing of one's own.
    fn default() -> Self {
        MarkdownStyle { heading: 3, addresses: &NoAddresses }
    }
}

/// The HTML of `text`, before the second lock.
pub(super) fn markdown_html(text: &str, style: &MarkdownStyle<'_>) -> String {
    if text.len() > TEXT_MAX {
        return plain::plain_block(text);
    }
    let mut options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
    options |= Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS | Options::ENABLE_MATH;
    let parser = Parser::new_ext(text, options).into_offset_iter();
    let mut filter = MarkdownHtmlWriter::new(text, *style);
    for (event, range) in TextMergeWithOffset::new(parser) {
        filter.write_event(event, &text[range]);
        if filter.is_full() {
            return plain::plain_block(text);
        }
    }
    filter.finish()
}

/// A link that is open now.
enum OpenHtmlLink {
    /// `</a>` closes it: its address, and its words so far.
    Link(String, String),
    /// It leads nowhere: its words, and the address as text behind them.
    Words(String),
    /// It leads nowhere, and this is said behind its words.
    Broken(String),
}

/// A table whose cells are being written.
struct TableState {
    columns: Vec<Alignment>,
    column: usize,
    head: bool,
}

/// A footnote.
struct FootnoteEntry {
    body: String,
    /// How often it is pointed at.
    uses: usize,
}

/// What an image says in place of itself, and where it lies.
struct ImageState {
    address: String,
    title: String,
    words: String,
    /// Images in its words.
    deeper: usize,
}

struct MarkdownHtmlWriter<'a> {
    style: MarkdownStyle<'a>,
    out: String,
    /// What is open, outermost first: whether it was written.
    open: Vec<bool>,
    depth: usize,
    links: Vec<OpenHtmlLink>,
    /// Levels of the headings that the next one stands below.
    outline: Vec<HeadingLevel>,
    /// Headings so far.
    headings: usize,
    table: Option<TableState>,
    cells: usize,
    /// A block of code that is being read: what it says it is, and its text.
    code: Option<(String, String)>,
    image: Option<ImageState>,
    notes: Vec<FootnoteEntry>,
    note_names: HashMap<String, usize>,
    /// What was written before the footnote that is being read, and which one it is.
    aside: Vec<(String, usize)>,
    colours: code::ColourBudget,
    formulas: maths::FormulaBudget,
    /// Makes the anchors of this text differ from those of others on the page.
    salt: String,
}

impl<'a> MarkdownHtmlWriter<'a> {
    fn new(text: &str, style: MarkdownStyle<'a>) -> MarkdownHtmlWriter<'a> {
        let hash = Sha256::digest(text.as_bytes());
        let salt = hash.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        MarkdownHtmlWriter {
            style,
            out: String::with_capacity(text.len() * 2),
            open: Vec::new(),
            depth: 0,
            links: Vec::new(),
            outline: Vec::new(),
            headings: 0,
            table: None,
            cells: 0,
            code: None,
            image: None,
            notes: Vec::new(),
            note_names: HashMap::new(),
            aside: Vec::new(),
            colours: code::ColourBudget::default(),
            formulas: maths::FormulaBudget::default(),
            salt,
        }
    }

    fn is_full(&self) -> bool {
        self.out.len() > HTML_MAX
    }

    fn write_event(&mut self, event: Event<'_>, source: &str) {
        if self.image.is_some() {
            return self.in_image(event);
        }
        match event {
            Event::Start(tag) => self.start_tag(tag),
            Event::End(tag) => self.end_tag(tag, source),
            Event::Text(text) if self.code.is_some() => {
                if let Some((_, code)) = &mut self.code {
                    code.push_str(&text);
                }
            }
            Event::Text(text) => self.write_text(&text),
            Event::Code(text) => {
                self.note_link_words(&text);
                self.push_raw("<code>");
                escape_html(&mut self.out, &plain::visible_text(&text));
                self.push_raw("</code>");
            }
            Event::InlineMath(formula) => {
                maths::write_inline_formula(&mut self.out, &formula, &mut self.formulas);
            }
            Event::DisplayMath(formula) => {
                maths::write_display_formula(&mut self.out, &formula, &mut self.formulas);
            }
            Event::InlineHtml(html) if is_break(&html) => self.push_raw("<br>\n"),
            Event::Html(text) | Event::InlineHtml(text) => self.write_words(&text),
            Event::SoftBreak => self.push_raw("\n"),
            Event::HardBreak => self.push_raw("<br>\n"),
            Event::Rule => self.push_raw("<hr>\n"),
            Event::FootnoteReference(name) => self.write_reference(&name),
            Event::TaskListMarker(done) => self.push_raw(match done {
                true => "<input type=\"checkbox\" disabled checked aria-label=\"done\"> ",
                false => "<input type=\"checkbox\" disabled aria-label=\"to do\"> ",
            }),
        }
    }

    fn push_raw(&mut self, html: &str) {
        self.out.push_str(html);
    }

    /// Words of the text, which may hold bare addresses.
    fn write_text(&mut self, text: &str) {
        let mut rest = text;
        while self.links.is_empty() {
            let Some((start, end)) = find_bare_address(rest) else { break };
            let address = &rest[start..end];
            self.write_words(&rest[..start]);
            match link_target(address, &NoAddresses) {
                LinkTarget::Away(href) => {
                    self.open_away(&href, "");
                    escape_html(&mut self.out, &plain::visible_prose(address));
                    self.push_raw("</a>");
                }
                LinkTarget::Here(_) | LinkTarget::Nowhere => self.write_words(address),
            }
            rest = &rest[end..];
        }
        self.write_words(rest);
    }

    /// Words, and nothing but words.
    fn write_words(&mut self, text: &str) {
        self.note_link_words(text);
        escape_html(&mut self.out, &plain::visible_prose(text));
    }

    fn note_link_words(&mut self, text: &str) {
        if let Some(OpenHtmlLink::Link(_, words)) = self.links.last_mut() {
            words.push_str(text);
        }
    }

    fn start_tag(&mut self, tag: Tag<'_>) {
        let written = match tag {
            Tag::Item => self.open.last().copied().unwrap_or_default(),
            _ => self.depth < NESTING_MAX,
        };
        match tag {
            Tag::Paragraph => self.push_raw("<p>"),
            Tag::Heading { level, .. } => self.open_heading(level),
            Tag::BlockQuote(_) => self.open_container(written, "<blockquote>\n"),
            Tag::CodeBlock(kind) => {
                let info = match kind {
                    CodeBlockKind::Fenced(info) => info.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((info, String::new()));
            }
            Tag::HtmlBlock => self.push_raw("<pre class=\"raw\" tabindex=\"0\"><code>"),
            Tag::List(None) => self.open_container(written, "<ul>\n"),
            Tag::List(Some(1)) => self.open_container(written, "<ol>\n"),
            Tag::List(Some(first)) => {
                self.open_container(written, &format!("<ol start=\"{first}\">\n"))
            }
            Tag::Item => self.open_container(written, "<li>"),
            Tag::Emphasis => self.open_container(written, "<em>"),
            Tag::Strong => self.open_container(written, "<strong>"),
            Tag::Strikethrough => self.open_container(written, "<del>"),
            Tag::Table(columns) => {
                self.push_raw(TABLE);
                self.table = Some(TableState { columns, column: 0, head: false });
            }
            Tag::TableHead => self.open_row(true),
            Tag::TableRow => self.open_row(false),
            Tag::TableCell => self.open_cell(),
            Tag::Link { link_type, dest_url, title, .. } => {
                let email = link_type == pulldown_cmark::LinkType::Email;
                let scheme = if email { "mailto:" } else { "" };
                self.open_link(&format!("{scheme}{dest_url}"), &title);
            }
            Tag::Image { dest_url, title, .. } => {
                let (address, title) = (dest_url.to_string(), title.to_string());
                self.image = Some(ImageState { address, title, words: String::new(), deeper: 0 });
            }
            Tag::FootnoteDefinition(name) => {
                let note = self.footnote_index(&name);
                let before = std::mem::take(&mut self.out);
                self.aside.push((before, note));
            }
            // Not asked of the parser: what is in them is shown as words.
            Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => (),
        }
    }

    fn end_tag(&mut self, tag: TagEnd, source: &str) {
        match tag {
            TagEnd::Paragraph => self.push_raw("</p>\n"),
            TagEnd::Heading(_) => {
                let level = self.heading_level();
                let _ = writeln!(self.out, "</h{level}>");
            }
            TagEnd::BlockQuote(_) => self.close_container("</blockquote>\n"),
            TagEnd::CodeBlock => {
                let (info, text) = self.code.take().unwrap_or_default();
                let fenced =
                    code::FencedCode { info: &info, text: &text, closed: is_closed(source) };
                code::write_fenced_code(&mut self.out, &fenced, &mut self.colours);
            }
            TagEnd::HtmlBlock => self.push_raw("</code></pre>\n"),
            TagEnd::List(false) => self.close_container("</ul>\n"),
            TagEnd::List(true) => self.close_container("</ol>\n"),
            TagEnd::Item => self.close_container("</li>\n"),
            TagEnd::Emphasis => self.close_container("</em>"),
            TagEnd::Strong => self.close_container("</strong>"),
            TagEnd::Strikethrough => self.close_container("</del>"),
            TagEnd::Table => {
                self.table = None;
                self.push_raw("</tbody></table></div>\n");
            }
            TagEnd::TableHead => self.push_raw("</tr></thead><tbody>\n"),
            TagEnd::TableRow => self.push_raw("</tr>\n"),
            TagEnd::TableCell => self.end_cell(),
            TagEnd::Link => self.end_link(),
            TagEnd::FootnoteDefinition => {
                if let Some((before, note)) = self.aside.pop() {
                    self.notes[note].body = std::mem::replace(&mut self.out, before);
                }
            }
            TagEnd::Image
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => (),
        }
    }

    fn open_container(&mut self, written: bool, html: &str) {
        self.open.push(written);
        if written {
            self.depth += 1;
            self.push_raw(html);
        }
    }

    fn close_container(&mut self, html: &str) {
        if self.open.pop().unwrap_or_default() {
            self.depth -= 1;
            self.push_raw(html);
        }
    }

    /// A heading stands one level below the one that it belongs to, however many `#` it has: levels
    /// of a page have no gaps. How large it looks says its class.
    fn open_heading(&mut self, level: HeadingLevel) {
        while self.outline.last().is_some_and(|above| *above >= level) {
            self.outline.pop();
        }
        self.outline.push(level);
        self.headings += 1;
        let (on_page, class) = (self.heading_level(), level as usize);
        let _ = write!(self.out, "<h{on_page} class=\"heading-{class}");
        if let Some(anchor) = self.style.addresses.heading_anchor(self.headings) {
            self.push_raw("\" id=\"");
            escape_html(&mut self.out, &anchor);
        }
        self.push_raw("\">");
    }

    fn heading_level(&self) -> usize {
        (usize::from(self.style.heading) + self.outline.len()).saturating_sub(1).clamp(2, 6)
    }

    fn open_row(&mut self, head: bool) {
        if let Some(table) = &mut self.table {
            (table.head, table.column) = (head, 0);
        }
        self.push_raw(if head { "<table><thead><tr>" } else { "<tr>" });
    }

    fn open_cell(&mut self) {
        self.cells += 1;
        let Some(table) = &mut self.table else { return };
        let class = match table.columns.get(table.column) {
            Some(Alignment::Left) => " class=\"align-left\"",
            Some(Alignment::Center) => " class=\"align-centre\"",
            Some(Alignment::Right) => " class=\"align-right\"",
            Some(Alignment::None) | None => "",
        };
        table.column += 1;
        let head = table.head;
        if self.cells > CELLS_MAX {
            return;
        }
        let _ = match head {
            true => write!(self.out, "<th scope=\"col\"{class}>"),
            false => write!(self.out, "<td{class}>"),
        };
    }

    fn end_cell(&mut self) {
        if self.cells <= CELLS_MAX {
            let head = self.table.as_ref().is_some_and(|table| table.head);
            self.push_raw(if head { "</th>" } else { "</td>" });
        }
    }

    fn open_link(&mut self, address: &str, title: &str) {
        match link_target(address, self.style.addresses) {
            LinkTarget::Away(href) => {
                self.open_away(&href, title);
                self.links.push(OpenHtmlLink::Link(href, String::new()));
            }
            LinkTarget::Here(path) => {
                self.push_raw("<a href=\"");
                escape_html(&mut self.out, &path);
                self.write_title(title);
                self.push_raw("\">");
                self.links.push(OpenHtmlLink::Link(path, String::new()));
            }
            LinkTarget::Nowhere => match self.style.addresses.link_mark(address) {
                Some(mark) => {
                    self.push_raw("<span class=\"nowhere\">");
                    self.links.push(OpenHtmlLink::Broken(mark));
                }
                None => self.links.push(OpenHtmlLink::Words(address.to_string())),
            },
        }
    }

    /// What is said behind a link, in words: a colour alone would tell some people nothing.
    fn write_mark(&mut self, mark: &str) {
        self.push_raw(" <span class=\"host\">(");
        let end = mark.floor_char_boundary(SHOWN_ADDRESS_MAX);
        escape_html(&mut self.out, &visible_text(&mark[..end]));
        self.push_raw(")</span>");
    }

    fn open_away(&mut self, href: &str, title: &str) {
        self.push_raw("<a href=\"");
        escape_html(&mut self.out, href);
        self.write_title(title);
        self.push_raw("\" target=\"_blank\" rel=\"noopener noreferrer nofollow\">");
    }

    fn write_title(&mut self, title: &str) {
        if !title.is_empty() {
            self.push_raw("\" title=\"");
            escape_html(&mut self.out, &plain::visible_prose(title));
        }
    }

    fn end_link(&mut self) {
        match self.links.pop() {
            Some(OpenHtmlLink::Link(href, words)) => {
                self.push_raw("</a>");
                // Words that look like one host and lead to another say so.
                if let Some(host) = other_host(&words, &href) {
                    self.push_raw(" <span class=\"host\">(");
                    escape_html(&mut self.out, &host);
                    self.push_raw(")</span>");
                }
            }
            Some(OpenHtmlLink::Words(address))
                if !address.is_empty() && !address.starts_with('#') =>
            {
                let end = address.floor_char_boundary(SHOWN_ADDRESS_MAX);
                self.push_raw(" <code class=\"address\">");
                escape_html(&mut self.out, &visible_text(&address[..end]));
                self.push_raw("</code>");
            }
            Some(OpenHtmlLink::Broken(mark)) => {
                self.write_mark(&mark);
                self.push_raw("</span>");
            }
            Some(OpenHtmlLink::Words(_)) | None => (),
        }
    }

    fn in_image(&mut self, event: Event<'_>) {
        let Some(image) = &mut self.image else { return };
        match event {
            Event::Text(text) | Event::Code(text) => image.words.push_str(&text),
            Event::InlineMath(text) | Event::DisplayMath(text) => image.words.push_str(&text),
            Event::Html(text) | Event::InlineHtml(text) => image.words.push_str(&text),
            Event::SoftBreak | Event::HardBreak => image.words.push(' '),
            Event::Start(Tag::Image { .. }) => image.deeper += 1,
            Event::End(TagEnd::Image) if image.deeper > 0 => image.deeper -= 1,
            Event::End(TagEnd::Image) => {
                if let Some(image) = self.image.take() {
                    self.show_image(&image);
                }
            }
            Event::Start(_)
            | Event::End(_)
            | Event::FootnoteReference(_)
            | Event::Rule
            | Event::TaskListMarker(_) => (),
        }
    }

    /// An image of our own is shown; any other would tell its host who reads this.
    fn show_image(&mut self, image: &ImageState) {
        let own = self.style.addresses.resolve_image(&image.address).filter(|path| is_own(path));
        if let Some(path) = own {
            self.push_raw("<img loading=\"lazy\" src=\"");
            escape_html(&mut self.out, &path);
            self.push_raw("\" alt=\"");
            escape_html(&mut self.out, &plain::visible_prose(&image.words));
            self.write_title(&image.title);
            return self.push_raw("\">");
        }
        let words = if image.words.is_empty() { "image" } else { &image.words };
        let mark = self.style.addresses.link_mark(&image.address);
        match link_target(&image.address, self.style.addresses) {
            LinkTarget::Away(href) if self.links.is_empty() => {
                self.open_away(&href, "");
                escape_html(&mut self.out, &plain::visible_prose(words));
                self.push_raw("</a> <span class=\"host\">(image at ");
                escape_html(&mut self.out, &address_host(&href));
                self.push_raw(")</span>");
            }
            LinkTarget::Away(href) => {
                escape_html(&mut self.out, &plain::visible_prose(words));
                self.push_raw(" <span class=\"host\">(image at ");
                escape_html(&mut self.out, &address_host(&href));
                self.push_raw(")</span>");
            }
            LinkTarget::Here(path) if self.links.is_empty() => {
                self.push_raw("<a href=\"");
                escape_html(&mut self.out, &path);
                self.push_raw("\">");
                escape_html(&mut self.out, &plain::visible_prose(words));
                self.push_raw("</a>");
                self.write_mark(mark.as_deref().unwrap_or("image, not shown"));
            }
            target @ (LinkTarget::Here(_) | LinkTarget::Nowhere) => {
                let is_broken = target == LinkTarget::Nowhere && mark.is_some();
                self.push_raw(if is_broken { "<span class=\"nowhere\">" } else { "" });
                escape_html(&mut self.out, &plain::visible_prose(words));
                self.write_mark(mark.as_deref().unwrap_or("image, not shown"));
                self.push_raw(if is_broken { "</span>" } else { "" });
            }
        }
    }

    fn footnote_index(&mut self, name: &str) -> usize {
        if let Some(at) = self.note_names.get(name) {
            return *at;
        }
        let at = self.notes.len();
        self.note_names.insert(name.to_string(), at);
        self.notes.push(FootnoteEntry { body: String::new(), uses: 0 });
        at
    }

    fn write_reference(&mut self, name: &str) {
        let at = self.footnote_index(name);
        self.notes[at].uses += 1;
        let (number, uses, salt) = (at + 1, self.notes[at].uses, &self.salt);
        // Only the first mention is what the footnote leads back to.
        let id = if uses == 1 { format!(" id=\"ref-{salt}-{number}\"") } else { String::new() };
        let _ = write!(
            self.out,
            "<sup{id}><a href=\"#note-{salt}-{number}\" aria-label=\"footnote {number}\">{number}</a></sup>"
        );
    }

    fn finish(mut self) -> String {
        if self.notes.iter().all(|note| note.body.is_empty()) {
            return self.out;
        }
        let mut out = std::mem::take(&mut self.out);
        let salt = &self.salt;
        out.push_str("<hr class=\"footnotes\">\n<ol class=\"footnotes\">\n");
        for (at, note) in self.notes.iter().enumerate() {
            let number = at + 1;
            let _ = write!(out, "<li id=\"note-{salt}-{number}\">{}", note.body);
            if note.uses > 0 {
                let _ = write!(
                    out,
                    "<a href=\"#ref-{salt}-{number}\" aria-label=\"back to the text\">↩</a>"
                );
            }
            out.push_str("</li>\n");
        }
        out.push_str("</ol>\n");
        out
    }
}

/// Wide tables scroll by themselves, by keyboard too.
const TABLE: &str = "<div class=\"table-wrap\" role=\"group\" aria-label=\"Table\" tabindex=\"0\">";

/// Text as HTML shows it.
pub(super) fn escape_html(out: &mut String, text: &str) {
    text.render_to(out);
}

/// The one element that models write in tables and mean well by.
fn is_break(html: &str) -> bool {
    matches!(html.trim(), "<br>" | "<br/>" | "<br />")
}

/// Whether the fence of a block of code has been closed: until then more of it may come.
fn is_closed(source: &str) -> bool {
    let bare = |line: &str| line.trim_start_matches(['>', ' ', '\t']).trim_end().to_string();
    let mut lines = source.lines();
    let first = bare(lines.next().unwrap_or_default());
    let last = bare(lines.next_back().unwrap_or_default());
    let fence: String = first.chars().take_while(|c| matches!(c, '`' | '~')).collect();
    fence.len() >= 3 && last.len() >= fence.len() && last.chars().all(|c| fence.starts_with(c))
}

/// The host that a link leads to, where its words name another.
fn other_host(words: &str, href: &str) -> Option<String> {
    let words = words.trim();
    if !words.contains('.') || words.contains(char::is_whitespace) {
        return None;
    }
    let named = match words.contains("://") {
        true => address_host(words),
        false => address_host(&format!("https://{words}")),
    };
    let real = address_host(href);
    (!named.is_empty() && !real.is_empty() && named != real).then_some(real)
}
