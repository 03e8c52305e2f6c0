//! The text below the properties: its blocks by the Markdown parser, then what Obsidian adds to
//! Markdown, in what is not covered.

use pulldown_cmark::{Event, LinkType, OffsetIter, Options, Parser, Tag, TagEnd};

use super::cover::{CoverKind, CoveredPlaces};
use super::{ByteSpan, LinkForm, NoteFacts, NoteHeading, NoteLink, NoteTask, inline, link};

/// Longest line of a task that is kept.
const TASK_BYTES_MAX: usize = 4_000;

/// A Markdown link or image that is open.
struct OpenLink {
    at: ByteSpan,
    embed: bool,
    /// Where what stands in its brackets ends, as far as it is known.
    inner_end: usize,
    display: String,
}

/// What the Markdown parser said.
#[derive(Default)]
struct BodyWalk {
    covered: CoveredPlaces,
    links: Vec<NoteLink>,
    open: Vec<OpenLink>,
    headings: Vec<NoteHeading>,
    items: Vec<ByteSpan>,
}

/// Reads what begins at `start` of `text`; places are those of `text`.
pub(super) fn read_body(text: &str, start: usize, facts: &mut NoteFacts) {
    let body = text.get(start..).unwrap_or_default();
    let mut walk = BodyWalk::default();
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_MATH;
    let mut events = Parser::new_ext(body, options).into_offset_iter();
    for (event, at) in events.by_ref() {
        walk.take_event(text, &event, ByteSpan::new(at.start + start, at.end + start));
    }
    walk.cover_definitions(&events, start);
    walk.covered.merge_overlaps();
    for comment in inline::find_comments(text, start, &walk.covered) {
        walk.covered.add_place(comment, CoverKind::Code);
    }
    walk.covered.merge_overlaps();
    // A link that lies in a comment is none.
    walk.links
        .retain(|link| !walk.covered.has_code_in(ByteSpan::new(link.at.start, link.at.start + 1)));
    let wiki = inline::wiki_links(text, start, &walk.covered);
    for found in wiki.iter().chain(&walk.links) {
        walk.covered.add_place(found.at, CoverKind::Other);
    }
    let words_in = body.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric));
    facts.words = words_in.count();
    facts.links.extend(wiki);
    facts.links.append(&mut walk.links);
    facts.links.sort_by_key(|link| link.at.start);
    walk.covered.merge_overlaps();
    facts.tags.extend(inline::find_tags(text, start, &walk.covered));
    facts.blocks = inline::block_ids(text, start, &walk.covered);
    let visible = |at: &ByteSpan| walk.covered.end_around(at.start).is_none();
    facts.tasks =
        walk.items.iter().filter(|at| visible(at)).filter_map(|at| read_task(text, *at)).collect();
    facts.headings = walk.headings;
}

impl BodyWalk {
    fn take_event(&mut self, text: &str, event: &Event<'_>, at: ByteSpan) {
        match event {
            Event::Start(Tag::CodeBlock(_)) | Event::Code(_) => {
                self.covered.add_place(at, CoverKind::Code)
            }
            Event::Start(Tag::HtmlBlock)
            | Event::Html(_)
            | Event::InlineHtml(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_) => self.covered.add_place(at, CoverKind::Other),
            Event::Start(Tag::Heading { level, .. }) => {
                let level = *level as u8;
                let text = heading_text(at.slice_of(text)).to_owned();
                self.headings.push(NoteHeading { level, text, at });
            }
            Event::Start(Tag::Item) if self.items.len() < super::NOTE_PARTS_MAX => {
                self.items.push(at);
            }
            Event::Start(Tag::Link { link_type, .. }) => self.open_link(*link_type, at),
            Event::Start(Tag::Image { link_type, .. }) => self.open_link(*link_type, at),
            Event::End(TagEnd::Link | TagEnd::Image) => self.close_link(text),
            _ => {}
        }
        self.note_inner(event, at);
    }

    fn open_link(&mut self, link_type: LinkType, at: ByteSpan) {
        // Links by reference and addresses in angle brackets are none of Obsidian's.
        let inline = link_type == LinkType::Inline;
        let at = if inline { at } else { ByteSpan::default() };
        self.open.push(OpenLink { at, embed: false, inner_end: at.start, display: String::new() });
    }

    /// What stands between the brackets of the link that is open.
    fn note_inner(&mut self, event: &Event<'_>, at: ByteSpan) {
        let Some(open) = self.open.last_mut() else { return };
        if at.start <= open.at.start {
            return;
        }
        open.inner_end = open.inner_end.max(at.end);
        if let Event::Text(text) | Event::Code(text) = event {
            open.display.push_str(text);
        }
    }

    fn close_link(&mut self, text: &str) {
        let Some(mut open) = self.open.pop() else { return };
        if let Some(outer) = self.open.last_mut() {
            outer.inner_end = outer.inner_end.max(open.at.end);
        }
        if open.at == ByteSpan::default() {
            return;
        }
        open.embed = open.at.slice_of(text).starts_with('!');
        // The target behind the brackets is no text: `#` in it is no tag.
        let Some(target) = link::destination_place(text, open.inner_end, open.at.end) else {
            return;
        };
        self.covered.add_place(ByteSpan::new(open.inner_end, open.at.end), CoverKind::Other);
        self.links.extend(link::markdown_link(
            LinkForm::Markdown,
            &link::WrittenLink {
                text,
                at: open.at,
                target,
                embed: open.embed,
                display: open.display,
            },
        ));
    }

    /// `[name]: target` lines make no events.
    fn cover_definitions(&mut self, events: &OffsetIter<'_>, start: usize) {
        for (_, definition) in events.reference_definitions().iter() {
            let at = ByteSpan::new(definition.span.start + start, definition.span.end + start);
            self.covered.add_place(at, CoverKind::Other);
        }
    }
}

/// The text of a heading without what makes it one.
fn heading_text(lines: &str) -> &str {
    let lines = lines.trim();
    if let Some(rest) = lines.strip_prefix('#') {
        let rest = rest.trim_start_matches('#').trim();
        let bare = rest.trim_end_matches('#');
        let closed = bare.len() < rest.len() && (bare.is_empty() || bare.ends_with([' ', '\t']));
        return if closed { bare.trim_end() } else { rest };
    }
    // Underlined.
    let first = lines.rsplit_once('\n').map_or(lines, |(above, _)| above);
    first.trim()
}

/// A list item that begins with a box.
fn read_task(text: &str, at: ByteSpan) -> Option<NoteTask> {
    // An item of an item may begin on the same line, and a line may be all of the note.
    let head = at.slice_of(text);
    let head = &head[..head.floor_char_boundary(TASK_BYTES_MAX)];
    let line = head.lines().next()?;
    let rest = line.trim_start();
    let rest = match rest.strip_prefix(['-', '*', '+']) {
        Some(rest) => rest,
        None => rest.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix(['.', ')'])?,
    };
    let boxed = rest.trim_start().strip_prefix('[')?;
    let status = boxed.chars().next()?;
    let after = boxed[status.len_utf8()..].strip_prefix(']')?;
    let said = after.strip_prefix([' ', '\t'])?;
    let at = ByteSpan::new(at.start, at.start + line.len());
    Some(NoteTask { status, text: said.trim().to_owned(), at })
}
