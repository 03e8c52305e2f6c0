//! Lines of the values of a file of settings: each name of a path is looked for behind the one
//! before it. It is for people only, so it is bounded: a file that would have to be looked through
//! too often is named without lines. Nothing here knows what a value means.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;

use serde_json::Value;

/// Bytes of one file that are looked through, all searches together.
const SEARCHED_BYTES_MAX: usize = 256 << 20;

/// How names stand in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::import) enum NameForm {
    /// With quotation marks, as in JSON.
    Quoted,
    /// Bare or quoted, as in TOML and YAML.
    Bare,
}

/// The text of a file, and what is known of its places.
pub(super) struct PlaceFinder {
    text: String,
    form: NameForm,
    /// Where each line begins.
    lines: OnceCell<Vec<usize>>,
    /// Where the entries of a list begin, by the path of the list: found once, in order.
    entries: RefCell<HashMap<Vec<String>, Vec<usize>>>,
    searched: Cell<usize>,
}

impl PlaceFinder {
    pub(super) fn new(text: String, form: NameForm) -> PlaceFinder {
        PlaceFinder {
            text,
            form,
            lines: OnceCell::new(),
            entries: RefCell::default(),
            searched: Cell::new(0),
        }
    }

    /// The line of the value at this path, as far as it can be found.
    pub(super) fn line_of_path(&self, root: &Value, path: &[String]) -> Option<usize> {
        let (mut from, mut value, mut is_found) = (0, root, false);
        for (depth, key) in path.iter().enumerate() {
            let inner = match value {
                Value::Object(fields) => fields.get(key),
                Value::Array(items) => key.parse().ok().and_then(|at: usize| items.get(at)),
                _ => None,
            };
            let found = match (value, inner) {
                (Value::Array(_), Some(Value::String(text))) => self.find_word(text, from),
                (Value::Array(items), _) => {
                    let at = key.parse().unwrap_or_default();
                    self.find_entry(items, at, &path[..depth], from)
                }
                _ => self.find_word(key, from),
            };
            if let Some(at) = found {
                (from, is_found) = (at, true);
            }
            let Some(inner) = inner else { break };
            value = inner;
        }
        (is_found && !self.is_spent()).then(|| self.line_at(from))
    }

    fn line_at(&self, at: usize) -> usize {
        let lines = self.lines.get_or_init(|| {
            std::iter::once(0).chain(self.text.match_indices('\n').map(|(at, _)| at + 1)).collect()
        });
        lines.partition_point(|begin| *begin <= at)
    }

    /// Where a table in a list begins: behind the names of those before it.
    fn find_entry(
        &self,
        items: &[Value],
        at: usize,
        list: &[String],
        from: usize,
    ) -> Option<usize> {
        let mut known = self.entries.borrow_mut();
        let starts = known.entry(list.to_vec()).or_insert_with(|| vec![from]);
        while starts.len() <= at && !self.is_spent() {
            let start = starts.last().copied().unwrap_or(from);
            let names = items.get(starts.len() - 1).and_then(Value::as_object);
            let names = names.into_iter().flat_map(|fields| fields.keys());
            let end = names.filter_map(|name| self.find_word(name, start)).max();
            starts.push(end.map_or(start, |end| end + 1));
        }
        let start = *starts.get(at)?;
        let names = items.get(at)?.as_object()?.keys();
        names.filter_map(|name| self.find_word(name, start)).min()
    }

    fn find_word(&self, word: &str, from: usize) -> Option<usize> {
        let rest = self.text.get(from..)?;
        // In TOML and YAML a name stands bare: not as a part of a longer one.
        let joins = |sign: Option<char>| {
            sign.is_some_and(|sign| sign.is_alphanumeric() || matches!(sign, '_' | '-'))
        };
        let is_whole = |at: &usize| {
            !joins(rest[..*at].chars().next_back())
                && !joins(rest[at + word.len()..].chars().next())
        };
        let quoted = || rest.find(&serde_json::to_string(word).unwrap_or_default());
        let bare = || rest.match_indices(word).map(|(at, _)| at).find(is_whole);
        let first = match self.form {
            NameForm::Quoted => self.paid_search(rest, quoted),
            NameForm::Bare => None,
        };
        let found = first
            .or_else(|| self.paid_search(rest, bare))
            .or_else(|| self.paid_search(rest, || rest.find(word)));
        found.map(|at| from + at)
    }

    /// A search that is counted; none is made once the bound is reached.
    fn paid_search(&self, rest: &str, search: impl Fn() -> Option<usize>) -> Option<usize> {
        if self.is_spent() {
            return None;
        }
        let found = search();
        let cost = found.map_or(rest.len(), |at| at + 1);
        self.searched.set(self.searched.get().saturating_add(cost));
        found
    }

    fn is_spent(&self) -> bool {
        self.searched.get() > SEARCHED_BYTES_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r8_lines_of_many_entries_are_found_without_walking_them_again_and_again() {
        const ENTRIES: usize = 1_000;
        let entry = "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"git\"\n\
                     decision = \"allow\"\npriority = 100\n";
        let text = entry.repeat(ENTRIES);
        let root: Value = toml::from_str(&text).expect("TOML");
        let finder = PlaceFinder::new(text.clone(), NameForm::Bare);
        for at in 0..ENTRIES {
            let path = ["rule".to_owned(), at.to_string()];
            // The first of its names stands in the second line of each.
            assert_eq!(finder.line_of_path(&root, &path), Some(at * 5 + 2), "{at}");
        }
        assert!(finder.searched.get() < 10 * text.len(), "{}", finder.searched.get());
    }

    #[test]
    fn r8_a_file_whose_names_cannot_be_found_is_named_without_lines_in_the_end() {
        // Escaped, so that no name stands in the text as it is.
        let names: String =
            (0..2_000).map(|at| format!("\"\\u0061{at}\": \"{}\",", "y".repeat(1_000))).collect();
        let text = format!("{{{names}\"z\": 1}}");
        let root: Value = serde_json::from_str(&text).expect("JSON");
        let finder = PlaceFinder::new(text.clone(), NameForm::Quoted);
        for name in root.as_object().expect("a table").keys() {
            finder.line_of_path(&root, std::slice::from_ref(name));
        }
        assert!(finder.searched.get() <= SEARCHED_BYTES_MAX + text.len());
        assert_eq!(finder.line_of_path(&root, &["z".to_owned()]), None);
    }
}
