//! Files as values: fields and functions of `file`, properties of a note. Not here: other types.

use std::collections::HashSet;
use std::rc::Rc;

use jiff::civil::DateTime;

use super::date::DateValue;
use super::evaluate::RowScope;
use super::value::{BaseValue, LinkValue, date_time};
use crate::index::{IndexedLink, NoteRecord};
use crate::note::{LinkForm, tag_key};
use crate::resolve::{FileNumber, file_name, note_title, parent_folder};

/// When a file was made and last changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileTimes {
    /// When it was made.
    pub created: DateTime,
    /// When its text last changed.
    pub modified: DateTime,
}

/// Times of files, asked only where a base names them.
pub trait VaultTimes {
    /// Those of the file at this path. `None`: nobody knows.
    fn file_times(&self, path: &str) -> Option<FileTimes>;
}

/// Fields of a file.
pub(super) const FILE_FIELDS: &[&str] = &[
    "name",
    "basename",
    "path",
    "folder",
    "ext",
    "size",
    "properties",
    "tags",
    "links",
    "embeds",
    "backlinks",
    "ctime",
    "mtime",
    "file",
];

/// Tags of which it is held which files have them; a base that asks for more asks for each anew.
const TAGS_HELD_MAX: usize = 50;

/// Records that were read last.
#[derive(Debug, Default)]
pub(super) struct RecordsRead {
    held: [Option<(FileNumber, Rc<NoteRecord>)>; 2],
    /// Which goes next.
    next: usize,
}

impl RowScope<'_> {
    /// The number of a file; `None`: the vault has none of this path.
    fn number_of(&self, path: &str) -> Option<FileNumber> {
        match path == self.row {
            true => self.number,
            false => self.base.index.find_file(path).map(|(number, _)| number),
        }
    }

    /// A file's record. `None`: nothing is known of what stands in it.
    fn record_of(&self, path: &str) -> Option<Rc<NoteRecord>> {
        let number = self.number_of(path)?;
        let mut read = self.base.records.borrow_mut();
        let held = read.held.iter().flatten().find(|(other, _)| *other == number);
        if let Some((_, record)) = held {
            return Some(Rc::clone(record));
        }
        let record = Rc::new(self.base.index.record_of(number)?);
        let next = read.next;
        read.held[next] = Some((number, Rc::clone(&record)));
        read.next = 1 - next;
        Some(record)
    }

    /// A field of a file; `None`: files have no such field.
    pub(super) fn file_field(&self, path: &str, field: &str) -> Option<BaseValue> {
        let index = self.base.index;
        let number = || self.number_of(path);
        let links = |embed: bool| {
            let Some(source) = number() else { return BaseValue::List(Vec::new()) };
            let facts = index.facts_at(source);
            let links = facts.iter().flat_map(|facts| IndexedLink::all_of(source, facts));
            let wanted = links.filter(|link| link.link.embed == embed);
            BaseValue::List(wanted.map(|link| self.link_value(link)).collect())
        };
        // Of what is no file of the vault nothing is known, whatever its path is.
        let times = || number().and_then(|_| self.base.times.file_times(path));
        Some(match field {
            "name" => BaseValue::from_text(file_name(path)),
            "basename" => BaseValue::from_text(file_basename(path)),
            "path" => BaseValue::from_text(path),
            "folder" => BaseValue::from_text(parent_folder(path)),
            "ext" => {
                BaseValue::from_text(file_name(path).rsplit_once('.').map_or("", |(_, ext)| ext))
            }
            "size" => {
                number().and_then(|number| index.file_at(number)).map_or(BaseValue::Null, |file| {
                    BaseValue::from_count(usize::try_from(file.stamp.bytes).unwrap_or(usize::MAX))
                })
            }
            "properties" => BaseValue::Object(self.note_properties(path)),
            "tags" => {
                BaseValue::List(self.note_tags(path).into_iter().map(BaseValue::Text).collect())
            }
            "links" => links(false),
            "embeds" => links(true),
            "backlinks" => {
                let mut sources: Vec<String> = number()
                    .into_iter()
                    .flat_map(|number| index.backlinks_of(number))
                    .map(|link| index.name_table().path_of(link.source).to_owned())
                    .collect();
                sources.dedup();
                BaseValue::List(sources.into_iter().map(BaseValue::File).collect())
            }
            "ctime" => times().map_or(BaseValue::Null, |times| date_time(times.created)),
            "mtime" => times().map_or(BaseValue::Null, |times| date_time(times.modified)),
            "file" => BaseValue::File(path.to_owned()),
            _ => return None,
        })
    }

    fn link_value(&self, link: IndexedLink<'_>) -> BaseValue {
        let index = self.base.index;
        let target =
            index.link_target(link).map(|number| index.name_table().path_of(number).to_owned());
        let (path, display) = (link.link.target_text(), link.link.display.clone());
        BaseValue::Link(LinkValue { path, target, display })
    }

    /// A link with this text, from a file.
    pub(super) fn link_to(&self, text: &str, display: Option<String>, source: &str) -> LinkValue {
        let inner = text.trim().trim_start_matches("[[").trim_end_matches("]]");
        let (path, shown) = match inner.split_once('|') {
            Some((path, shown)) => (path, Some(shown.to_owned())),
            None => (inner, None),
        };
        let bare = path.split('#').next().unwrap_or(path).trim();
        let names = self.base.index.name_table();
        let target = names.resolve_link(LinkForm::Wiki, bare, source).filter(|_| !bare.is_empty());
        let target = target.map(|number| names.path_of(number).to_owned());
        LinkValue { path: path.to_owned(), target, display: display.or(shown) }
    }

    /// The properties of a note, links in them as links.
    pub(super) fn note_properties(&self, path: &str) -> Vec<(String, BaseValue)> {
        let fields = self.record_of(path).and_then(|record| record.properties());
        let fields = fields.iter().flatten();
        fields.map(|(name, value)| (name.clone(), self.property_value(value, path))).collect()
    }

    /// One property; `Null` where the note has none.
    pub(super) fn note_property(&self, path: &str, name: &str) -> BaseValue {
        let found = self.record_of(path).and_then(|record| record.property(name));
        found.map_or(BaseValue::Null, |value| self.property_value(&value, path))
    }

    fn property_value(&self, value: &serde_json::Value, source: &str) -> BaseValue {
        let link = |text: &str| {
            let is_link = text.starts_with("[[") && text.ends_with("]]") && text.len() > 4;
            is_link.then(|| BaseValue::Link(self.link_to(text, None, source)))
        };
        BaseValue::of_property(value, &link)
    }

    /// Tags with `#`, each once.
    fn note_tags(&self, path: &str) -> Vec<String> {
        let names = self.record_of(path).and_then(|record| record.tag_names());
        let mut seen = HashSet::new();
        let first = names.into_iter().flatten().filter(|name| seen.insert(tag_key(name)));
        first.map(|name| format!("#{name}")).collect()
    }

    pub(super) fn has_tag(&self, path: &str, wanted: &str) -> bool {
        let Some(number) = self.number_of(path) else { return false };
        let mut held = self.base.tagged.borrow_mut();
        if let Some(files) = held.get(wanted) {
            return files.contains(number);
        }
        let files = self.base.index.tagged_files(wanted);
        // Which files have a tag is looked for among all of them.
        self.charge_parts(self.base.index.len() / 64);
        if held.len() >= TAGS_HELD_MAX {
            held.clear();
        }
        let has = files.contains(number);
        held.insert(wanted.to_owned(), files);
        has
    }

    /// What looking at so many parts of a note takes. Where there are not so many steps left, whatever
    /// comes next says so.
    fn charge_parts(&self, count: usize) {
        let _ = self.base.charge_steps(count as u64);
    }

    /// Whether one file links to another, or to a name that leads nowhere.
    pub(super) fn has_link(&self, source: &str, target: &BaseValue) -> bool {
        let index = self.base.index;
        let Some(number) = self.number_of(source) else { return false };
        let Some(facts) = index.facts_at(number) else { return false };
        self.charge_parts(facts.links.len());
        let wanted = self.file_of(target);
        let name = target.to_text().trim_start_matches("[[").trim_end_matches("]]").to_lowercase();
        IndexedLink::all_of(number, &facts).any(|link| {
            let led = index.link_target(link).map(|number| index.name_table().path_of(number));
            match (&wanted, led) {
                (Some(wanted), Some(led)) => wanted == led,
                (None, None) => link.link.path.to_lowercase() == name,
                _ => false,
            }
        })
    }

    /// The file that a value names: a file, a link, a path.
    pub(super) fn file_of(&self, value: &BaseValue) -> Option<String> {
        match value {
            BaseValue::File(path) => Some(path.clone()),
            BaseValue::Link(link) => link.target.clone(),
            BaseValue::Text(text) => self.link_to(text, None, &self.row).target,
            _ => None,
        }
    }
}

/// The name of a file without its ending.
pub(super) fn file_basename(path: &str) -> &str {
    let title = note_title(path);
    match title.rsplit_once('.') {
        Some((bare, _)) if title.len() == file_name(path).len() && !bare.is_empty() => bare,
        _ => title,
    }
}

/// The present moment of a query.
pub(super) fn start_of_day(now: DateTime) -> DateValue {
    let at = now.date().to_datetime(jiff::civil::Time::midnight());
    DateValue { at, has_time: false }
}
