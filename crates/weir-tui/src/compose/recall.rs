//! Earlier messages: going back and forth through them, and searching. Pure; not here: the file
//! that they are kept in ([`super::history`]).

use super::buffer::{TextPos, end_of};
use super::history::{ENTRIES_MAX, ENTRY_BYTES_MAX};

/// Longest text that is searched for, in bytes.
const QUERY_BYTES_MAX: usize = 256;

/// What stood in the box before an earlier message was taken up.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ComposerDraft {
    pub(super) text: String,
    pub(super) cursor: TextPos,
}

impl ComposerDraft {
    fn from_text(text: &str) -> ComposerDraft {
        ComposerDraft { text: text.to_owned(), cursor: end_of(TextPos::default(), text) }
    }
}

/// Earlier messages, the oldest first.
#[derive(Debug, Default)]
pub(super) struct HistoryRecall {
    entries: Vec<String>,
    at: Option<(usize, ComposerDraft)>,
}

impl HistoryRecall {
    pub(super) fn new(mut entries: Vec<String>) -> HistoryRecall {
        entries.drain(..entries.len().saturating_sub(ENTRIES_MAX));
        HistoryRecall { entries, at: None }
    }

    pub(super) fn entries(&self) -> &[String] {
        &self.entries
    }

    /// Keeps a message: whether it is worth being written to the file.
    pub(super) fn push(&mut self, text: &str) -> bool {
        self.at = None;
        let again = self.entries.last().is_some_and(|last| last == text);
        if text.trim().is_empty() || text.len() > ENTRY_BYTES_MAX || again {
            return false;
        }
        if self.entries.len() >= ENTRIES_MAX {
            self.entries.remove(0);
        }
        self.entries.push(text.to_owned());
        true
    }

    /// The message before the one that is shown.
    pub(super) fn older_message(
        &mut self,
        now: impl FnOnce() -> ComposerDraft,
    ) -> Option<ComposerDraft> {
        let shown = self.at.as_ref().map_or(self.entries.len(), |(index, _)| *index);
        let index = shown.checked_sub(1)?;
        let draft = match self.at.take() {
            Some((_, draft)) => draft,
            None => now(),
        };
        self.at = Some((index, draft));
        self.entries.get(index).map(|text| ComposerDraft::from_text(text))
    }

    /// The message after the one that is shown; after the last, what was being written.
    pub(super) fn newer_message(&mut self) -> Option<ComposerDraft> {
        let (index, draft) = self.at.take()?;
        match self.entries.get(index + 1) {
            Some(text) => {
                self.at = Some((index + 1, draft));
                Some(ComposerDraft::from_text(text))
            }
            None => Some(draft),
        }
    }

    /// Whether an earlier message is shown.
    pub(super) fn is_on(&self) -> bool {
        self.at.is_some()
    }

    /// What is shown is the draft from now on.
    pub(super) fn leave_history(&mut self) {
        self.at = None;
    }
}

/// A search that is on.
#[derive(Debug)]
pub(super) struct HistorySearch {
    pub(super) query: String,
    /// The message that was found.
    pub(super) found: Option<usize>,
    /// There was none when it was last looked for.
    pub(super) failed: Option<SearchDirection>,
    pub(super) before: ComposerDraft,
}

/// Where a search goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SearchDirection {
    Older,
    Newer,
}

impl HistorySearch {
    pub(super) fn new(before: ComposerDraft) -> HistorySearch {
        HistorySearch { query: String::new(), found: None, failed: None, before }
    }

    /// Adds to what is searched.
    pub(super) fn add_text(&mut self, text: &str, entries: &[String]) {
        let text = text.lines().next().unwrap_or_default();
        if self.query.len() + text.len() <= QUERY_BYTES_MAX {
            self.query.push_str(text);
            self.find_match(entries, SearchDirection::Older, self.found);
        }
    }

    /// Takes the last letter of what is searched away, and begins anew.
    pub(super) fn delete_last_letter(&mut self, entries: &[String]) {
        self.query.pop();
        self.found = None;
        self.find_match(entries, SearchDirection::Older, None);
    }

    /// The next one.
    pub(super) fn find_next(&mut self, entries: &[String], direction: SearchDirection) {
        let from = match (self.found, direction) {
            (None, _) => None,
            (Some(index), SearchDirection::Newer) => Some(index + 1),
            (Some(0), SearchDirection::Older) => {
                self.failed = Some(direction);
                return;
            }
            (Some(index), SearchDirection::Older) => Some(index - 1),
        };
        self.find_match(entries, direction, from);
    }

    fn find_match(&mut self, entries: &[String], direction: SearchDirection, from: Option<usize>) {
        self.failed = None;
        if self.query.is_empty() {
            self.found = None;
            return;
        }
        let exact = self.query.chars().any(char::is_uppercase);
        let fits = |index: &usize| {
            let entry = &entries[*index];
            if exact { entry.contains(&self.query) } else { contains_query(entry, &self.query) }
        };
        let end = from.map_or(entries.len(), |from| from + 1).min(entries.len());
        let found = match direction {
            SearchDirection::Older => (0..end).rev().find(fits),
            SearchDirection::Newer => (from.unwrap_or(0)..entries.len()).find(fits),
        };
        match found {
            Some(index) => self.found = Some(index),
            None => self.failed = Some(direction),
        }
    }
}

fn contains_query(entry: &str, query: &str) -> bool {
    entry.contains(query) || entry.to_lowercase().contains(query)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(texts: &[&str]) -> Vec<String> {
        texts.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn f1_earlier_messages_are_gone_through_and_the_draft_is_kept() {
        let mut recall = HistoryRecall::new(entries(&["one", "two"]));
        let draft = || ComposerDraft { text: "draft".into(), cursor: TextPos { line: 0, byte: 2 } };
        assert_eq!(recall.newer_message(), None);
        let text = |draft: Option<ComposerDraft>| draft.map(|draft| draft.text);
        assert_eq!(text(recall.older_message(draft)), Some("two".into()));
        assert_eq!(text(recall.older_message(draft)), Some("one".into()));
        assert_eq!(recall.older_message(draft), None);
        assert_eq!(text(recall.newer_message()), Some("two".into()));
        assert_eq!(recall.newer_message(), Some(draft()));
        assert_eq!(recall.newer_message(), None);
    }

    #[test]
    fn f1_what_is_kept_is_bounded() {
        let mut recall = HistoryRecall::new((0..2000).map(|n| n.to_string()).collect());
        assert_eq!((recall.entries().len(), recall.entries()[0].as_str()), (ENTRIES_MAX, "1000"));
        for (text, kept) in [
            ("new", true),
            ("new", false),
            (" \n", false),
            ("older", true),
            ("new", true),
            (&"x".repeat(ENTRY_BYTES_MAX + 1), false),
        ] {
            assert_eq!(recall.push(text), kept);
        }
        assert_eq!(recall.entries().len(), ENTRIES_MAX);
    }

    #[test]
    fn f1_earlier_messages_are_searched_backwards() {
        let entries = entries(&["Fix the test", "run tests", "fix it", "look"]);
        let mut search = HistorySearch::new(ComposerDraft::default());
        let mut seen = Vec::new();
        search.add_text("fix", &entries);
        seen.push((search.found, search.failed));
        search.find_next(&entries, SearchDirection::Older);
        seen.push((search.found, search.failed));
        search.find_next(&entries, SearchDirection::Older);
        seen.push((search.found, search.failed));
        search.find_next(&entries, SearchDirection::Newer);
        seen.push((search.found, search.failed));
        search.add_text("zzz", &entries);
        seen.push((search.found, search.failed));
        assert_eq!(
            seen,
            [
                (Some(2), None),
                (Some(0), None),
                (Some(0), Some(SearchDirection::Older)),
                (Some(2), None),
                (Some(2), Some(SearchDirection::Older)),
            ]
        );
        for _ in 0..9 {
            search.delete_last_letter(&entries);
        }
        assert_eq!((search.query.as_str(), search.found), ("", None));
        search.add_text("Fix", &entries);
        assert_eq!(search.found, Some(0));
    }
}
