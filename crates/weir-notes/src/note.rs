//! What stands in a note: headings, blocks, links, tags, properties, tasks, each with its place.
//! Not here: where a link leads (`resolve`), how properties are changed (`properties`).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::properties::{self, FrontmatterPlace};
use crate::span::ByteSpan;

mod body;
mod cover;
mod inline;
mod link;
mod tag;

pub use link::{decode_percent, encode_target, heading_key};
pub use tag::{is_tag, property_tags, tag_covers, tag_key};

/// Largest note that is parsed; of a larger one only the name counts.
pub const NOTE_BYTES_MAX: u64 = 10_000_000;
/// Most parts of a note that are known: headings, links, tags, tasks and ids of blocks together.
pub const NOTE_PARTS_MAX: usize = 50_000;

/// A heading.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteHeading {
    /// From 1 to 6.
    pub level: u8,
    /// Its text as it is written, without the signs around it.
    pub text: String,
    /// Its lines.
    pub at: ByteSpan,
}

/// A block that links can name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteBlock {
    /// Its id, without `^`.
    pub id: String,
    /// The id's place, `^` included.
    pub at: ByteSpan,
}

/// How a link is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LinkForm {
    /// `[[target|text]]`
    Wiki,
    /// `[text](target)`
    Markdown,
    /// `key: "[[target]]"`
    PropertyWiki,
    /// `key: "[text](target)"`
    PropertyMarkdown,
    /// `"file": "target"` of a canvas: a whole path, always.
    Canvas,
}

impl LinkForm {
    /// Whether it stands in a property.
    pub fn is_property(self) -> bool {
        match self {
            LinkForm::PropertyWiki | LinkForm::PropertyMarkdown => true,
            LinkForm::Wiki | LinkForm::Markdown | LinkForm::Canvas => false,
        }
    }
    /// Whether its target is written as an address, with `%20` for a blank.
    pub fn is_encoded(self) -> bool {
        match self {
            LinkForm::Markdown | LinkForm::PropertyMarkdown => true,
            LinkForm::Wiki | LinkForm::PropertyWiki | LinkForm::Canvas => false,
        }
    }
}

/// A link to a file of the vault, or an embedded one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteLink {
    /// How it is written.
    pub form: LinkForm,
    /// `!` stands before it: what it names is shown in its place.
    pub embed: bool,
    /// The file it names, decoded; empty: the note itself.
    pub path: String,
    /// What it names in that file: `Heading`, `Heading#Below` or `^block`; empty: all of it.
    pub subpath: String,
    /// What is shown for it, where it says so.
    pub display: Option<String>,
    /// All of it.
    pub at: ByteSpan,
    /// Its path as it is written, without what follows `#`.
    pub path_at: ByteSpan,
}

impl NoteLink {
    /// The link as a person names it: path and what follows.
    pub fn target_text(&self) -> String {
        match self.subpath.is_empty() {
            true => self.path.clone(),
            false => format!("{}#{}", self.path, self.subpath),
        }
    }
}

/// A tag.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteTag {
    /// Its name without `#`, as it is written.
    pub name: String,
    /// Where it stands in the text; `None`: in the properties.
    pub at: Option<ByteSpan>,
}

/// A line with a box.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteTask {
    /// What stands in the box: a blank is open, `x` done, the rest as the person means it.
    pub status: char,
    /// The text behind the box, its first line.
    pub text: String,
    /// The item's first line.
    pub at: ByteSpan,
}

impl NoteTask {
    /// Whether it waits to be done.
    pub fn is_open(&self) -> bool {
        self.status == ' '
    }
}

/// All that stands in a note.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct NoteFacts {
    /// Headings in order.
    pub headings: Vec<NoteHeading>,
    /// Blocks with an id, in order.
    pub blocks: Vec<NoteBlock>,
    /// Links and embeds in order of their places.
    pub links: Vec<NoteLink>,
    /// Tags: those of the properties first.
    pub tags: Vec<NoteTag>,
    /// Other names of the note.
    pub aliases: Vec<String>,
    /// Tasks in order.
    pub tasks: Vec<NoteTask>,
    /// Properties in order, as YAML has them.
    pub properties: Map<String, Value>,
    /// Why the properties cannot be read.
    pub properties_error: Option<String>,
    /// Words of the text.
    pub words: usize,
    /// It has more parts than are known.
    #[serde(default)]
    pub cut: bool,
}

impl NoteFacts {
    /// The heading that a link's subpath names.
    pub fn find_heading(&self, subpath: &str) -> Option<&NoteHeading> {
        link::find_heading(&self.headings, subpath)
    }
    /// The block that a link's subpath names: `^id`.
    pub fn find_block(&self, subpath: &str) -> Option<&NoteBlock> {
        let id = subpath.strip_prefix('^')?;
        self.blocks.iter().find(|block| block.id.eq_ignore_ascii_case(id))
    }
    /// Whether what a link names in this note is there.
    pub fn has_subpath(&self, subpath: &str) -> bool {
        match subpath {
            "" => true,
            block if block.starts_with('^') => self.find_block(block).is_some(),
            heading => self.find_heading(heading).is_some(),
        }
    }
}

/// Reads a note. Total: any text is a note.
pub fn parse_note(text: &str) -> NoteFacts {
    let mut facts = NoteFacts::default();
    let place = properties::find_frontmatter(text);
    // A mark is no part of the first line, which may be a heading.
    let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let body_start = place.map_or(mark, |place: FrontmatterPlace| place.block.end);
    if let Some(place) = place {
        let yaml = place.yaml.slice_of(text);
        match properties::parse_properties(yaml) {
            Ok(read) => facts.properties = read,
            Err(why) => facts.properties_error = Some(why),
        }
        facts.aliases = properties::property_texts(&facts.properties, &["aliases", "alias"]);
        let tags = tag::property_tags(&facts.properties);
        facts.tags.extend(tags.into_iter().map(|name| NoteTag { name, at: None }));
        facts.links = link::property_links(yaml, place.yaml.start);
    }
    body::read_body(text, body_start, &mut facts);
    keep_first_parts(&mut facts);
    facts
}

/// Lets the parts go that are too many: the last ones of the kinds that come last.
fn keep_first_parts(facts: &mut NoteFacts) {
    let mut left = NOTE_PARTS_MAX;
    let mut cut = false;
    let mut take = |count: usize| {
        let taken = count.min(left);
        left -= taken;
        cut |= taken < count;
        taken
    };
    let NoteFacts { headings, links, tags, blocks, tasks, .. } = facts;
    headings.truncate(take(headings.len()));
    links.truncate(take(links.len()));
    tags.truncate(take(tags.len()));
    tasks.truncate(take(tasks.len()));
    blocks.truncate(take(blocks.len()));
    facts.cut |= cut;
    // The notes that were asked for last are held.
    facts.headings.shrink_to_fit();
    facts.links.shrink_to_fit();
    facts.tags.shrink_to_fit();
    facts.tasks.shrink_to_fit();
    facts.blocks.shrink_to_fit();
}

/// The files that a canvas shows, and the links in its texts.
pub fn parse_canvas(text: &str) -> NoteFacts {
    let mut facts = NoteFacts { links: link::canvas_links(text), ..NoteFacts::default() };
    keep_first_parts(&mut facts);
    facts
}
