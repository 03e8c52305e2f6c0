//! A file of settings whose values are marked as a reader looks at them, so that what nobody looked
//! at can be named: nothing of a file is left silently. It knows no agent and no meaning. Not here:
//! how the line of a value is found (`place`).

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use serde_json::Value;

use place::PlaceFinder;

pub(super) use place::NameForm;

use super::{ImportFindings, ImportItem, ImportMapping, ImportTarget};

mod place;

/// Entries that a reader sees of one table or list, and unknown ones that are named one by one.
const ENTRIES_MAX: usize = 2_000;
const UNKNOWN_MAX: usize = 100;

/// What a reader did with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadMark {
    /// It looked into it: what is within has marks of its own.
    Entered,
    /// It took or left all of it.
    Settled,
}

/// A file of settings.
pub(super) struct MarkedDocument {
    /// Its path, for people.
    pub(super) name: String,
    /// Whose it is.
    pub(super) target: ImportTarget,
    places: PlaceFinder,
    root: Value,
    /// By where each value is in memory: the values stay where they are as long as the document.
    marks: RefCell<HashMap<*const Value, ReadMark>>,
    /// A table or list has more entries than a reader sees.
    is_cut: Cell<bool>,
}

/// Keys that no reader looked at: some by their names, the others counted.
#[derive(Default)]
struct UnknownKeys {
    named: Vec<Vec<String>>,
    more: usize,
}

impl UnknownKeys {
    fn add_path(&mut self, path: &[String]) {
        match self.named.len() < UNKNOWN_MAX {
            true => self.named.push(path.to_vec()),
            false => self.more += 1,
        }
    }
}

/// A value in such a file.
#[derive(Clone)]
pub(super) struct MarkedField<'a> {
    /// Its name in the table that it is in; of an entry of a list its number.
    pub(super) key: String,
    document: &'a MarkedDocument,
    path: Vec<String>,
    value: &'a Value,
}

impl MarkedDocument {
    /// Values with the text that they were read from.
    pub(super) fn new(
        name: String,
        text: String,
        form: NameForm,
        root: Value,
        target: ImportTarget,
    ) -> MarkedDocument {
        let places = PlaceFinder::new(text, form);
        let (marks, is_cut) = (RefCell::default(), Cell::new(false));
        MarkedDocument { name, target, places, root, marks, is_cut }
    }

    /// All of it.
    pub(super) fn root_field(&self) -> MarkedField<'_> {
        MarkedField { key: String::new(), document: self, path: Vec::new(), value: &self.root }
    }

    /// Names everything that no reader looked at. Names only: values may be secret.
    pub(super) fn leave_rest(&self, found: &mut ImportFindings) {
        if self.is_cut.get() {
            // What is denied may be among the entries that no reader saw.
            found.unsaid.add_denial("*", &self.name);
        }
        let mut unknown = UnknownKeys::default();
        self.collect_unknown(&mut Vec::new(), &self.root, &mut unknown);
        for path in unknown.named {
            let says = path.join(".");
            found.leave_item(self.place_of_path(&path), says, "is not known here", self.target);
        }
        if unknown.more > 0 {
            let says = format!("{} more keys", unknown.more);
            found.leave_item(self.name.clone(), says, "are not known here", self.target);
        }
    }

    fn collect_unknown(&self, at: &mut Vec<String>, value: &Value, out: &mut UnknownKeys) {
        let mark = match at.is_empty() {
            true => Some(ReadMark::Entered),
            false => self.marks.borrow().get(&std::ptr::from_ref(value)).copied(),
        };
        match (mark, value) {
            (Some(ReadMark::Settled), _) => {}
            (Some(ReadMark::Entered), Value::Object(fields)) => {
                for (key, value) in fields {
                    at.push(key.clone());
                    self.collect_unknown(at, value, out);
                    at.pop();
                }
            }
            (Some(ReadMark::Entered), Value::Array(items)) => {
                for (number, value) in items.iter().enumerate() {
                    at.push(number.to_string());
                    self.collect_unknown(at, value, out);
                    at.pop();
                }
            }
            (Some(ReadMark::Entered), _) | (None, _) => out.add_path(at),
        }
    }

    /// File and line, where the line can be found.
    fn place_of_path(&self, path: &[String]) -> String {
        match self.places.line_of_path(&self.root, path) {
            None => self.name.clone(),
            Some(line) => format!("{}:{line}", self.name),
        }
    }
}

impl<'a> MarkedField<'a> {
    /// The value of this name, if there is one.
    pub(super) fn enter_key(&self, key: &str) -> Option<MarkedField<'a>> {
        let value = self.value.as_object()?.get(key)?;
        self.mark_read(ReadMark::Entered);
        Some(self.child_field(key.to_owned(), value))
    }

    /// The value below these names.
    pub(super) fn field_at(&self, path: &[&str]) -> Option<MarkedField<'a>> {
        path.iter().try_fold(self.clone(), |field, key| field.enter_key(key))
    }

    /// The entries of a table; nothing where it is none.
    pub(super) fn table_fields(&self) -> Vec<MarkedField<'a>> {
        let Some(fields) = self.value.as_object() else { return Vec::new() };
        self.mark_read(ReadMark::Entered);
        self.note_length(fields.len());
        let fields = fields.iter().take(ENTRIES_MAX);
        fields.map(|(key, value)| self.child_field(key.clone(), value)).collect()
    }

    /// The entries of a list; nothing where it is none.
    pub(super) fn list_entries(&self) -> Vec<MarkedField<'a>> {
        let Some(items) = self.value.as_array() else { return Vec::new() };
        self.mark_read(ReadMark::Entered);
        self.note_length(items.len());
        let items = items.iter().take(ENTRIES_MAX).enumerate();
        items.map(|(at, value)| self.child_field(at.to_string(), value)).collect()
    }

    /// All of it: whoever takes it says what becomes of it.
    pub(super) fn take_value(&self) -> &'a Value {
        self.mark_read(ReadMark::Settled);
        self.value
    }

    /// It, without a mark.
    pub(super) fn peek_value(&self) -> &'a Value {
        self.value
    }

    /// A text; what is none stays unread.
    pub(super) fn take_text(&self) -> Option<&'a str> {
        let text = self.value.as_str()?;
        self.mark_read(ReadMark::Settled);
        Some(text)
    }

    /// The texts of a list, or one text.
    pub(super) fn take_texts(&self) -> Vec<MarkedField<'a>> {
        match self.value {
            Value::String(_) => vec![self.clone()],
            _ => self.list_entries().into_iter().filter(|entry| entry.value.is_string()).collect(),
        }
    }

    /// File and line.
    pub(super) fn place_text(&self) -> String {
        self.document.place_of_path(&self.path)
    }

    /// The names that lead to it, with dots between.
    pub(super) fn dotted_name(&self) -> String {
        self.path.join(".")
    }

    /// Whose file it stands in.
    pub(super) fn import_target(&self) -> ImportTarget {
        self.document.target
    }

    /// Leaves all of it, under its name.
    pub(super) fn leave_value(&self, why: &str, found: &mut ImportFindings) {
        self.settle_value(
            self.dotted_name(),
            ImportMapping::Nothing(why.to_owned()),
            Vec::new(),
            found,
        );
    }

    /// Settles all of it: this is what it becomes.
    pub(super) fn settle_value<'f>(
        &self,
        says: String,
        becomes: ImportMapping,
        notes: Vec<String>,
        found: &'f mut ImportFindings,
    ) -> &'f mut ImportItem {
        self.take_value();
        let (place, target) = (self.place_text(), self.import_target());
        found.push_item(ImportItem { place, says, becomes, target, notes })
    }

    fn child_field(&self, key: String, value: &'a Value) -> MarkedField<'a> {
        let mut path = self.path.clone();
        path.push(key.clone());
        MarkedField { key, document: self.document, path, value }
    }

    fn note_length(&self, entries: usize) {
        if entries > ENTRIES_MAX {
            self.document.is_cut.set(true);
        }
    }

    fn mark_read(&self, mark: ReadMark) {
        let mut marks = self.document.marks.borrow_mut();
        let known = marks.entry(std::ptr::from_ref(self.value)).or_insert(mark);
        if mark == ReadMark::Settled {
            *known = mark;
        }
    }
}

/// Leaves what is known and has no counterpart: each key with its reason.
pub(super) fn leave_known(
    table: &MarkedField<'_>,
    reasons: &[(&str, &str)],
    found: &mut ImportFindings,
) {
    for (path, why) in reasons {
        let names: Vec<&str> = path.split('.').collect();
        if let Some(field) = table.field_at(&names) {
            field.leave_value(why, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn r8_what_no_reader_looked_at_is_named_with_its_line() {
        let text =
            "{\n\"a\": {\"b\": 1,\n \"c\": [1,\n 2]},\n \"d\": {},\n\"e\": {}, \"f\": \"x\"}";
        let root = serde_json::from_str(text).expect("JSON");
        let document = MarkedDocument::new(
            "f".into(),
            text.into(),
            NameForm::Quoted,
            root,
            ImportTarget::User,
        );
        let root = document.root_field();
        assert_eq!(root.field_at(&["a", "b"]).map(|b| b.take_value().clone()), Some(json!(1)));
        assert!(root.enter_key("d").expect("there").table_fields().is_empty());
        // A value of another kind than was looked for is unread.
        assert_eq!(root.enter_key("f").expect("there").table_fields().len(), 0);
        let mut found = ImportFindings::default();
        document.leave_rest(&mut found);
        let told: Vec<_> = found.items.iter().map(|i| format!("{} {}", i.place, i.says)).collect();
        assert_eq!(told, ["f:3 a.c", "f:6 e", "f:6 f"]);
    }

    #[test]
    fn r8_a_file_of_countless_keys_is_told_within_a_bound() {
        let keys: String = (0..100_000).map(|at| format!("\"k{at}\":1,")).collect();
        let text = format!("{{{}\"z\":1}}", keys);
        let root = serde_json::from_str(&text).expect("JSON");
        let document =
            MarkedDocument::new("f".into(), text, NameForm::Quoted, root, ImportTarget::User);
        document.root_field().table_fields();
        let mut found = ImportFindings::default();
        document.leave_rest(&mut found);
        assert_eq!(found.items.len(), UNKNOWN_MAX + 1);
        assert_eq!(found.items[UNKNOWN_MAX].says, "99901 more keys");
        // A denial may be among those that no reader saw.
        assert!(found.unsaid.denial_against("Shell(ls)").is_some());
    }
}
