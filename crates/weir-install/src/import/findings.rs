//! What a reader finds, within bounds: items, files that were read, and files that could not be.
//! It knows no agent; what becomes of an item is settled later (`outcome`).

use std::borrow::Cow;

use weir_core::governance::filter::redact_text;

use super::unsaid::UnsaidDenials;
use super::{ImportItem, ImportMapping, ImportTarget};

/// Items of one import; what is more is counted and said in one item.
pub(super) const ITEMS_MAX: usize = 10_000;
/// Characters of what an item says: a name in a foreign file may be as long as the file.
const SAYS_CHARS_MAX: usize = 1_000;

/// What a reader finds.
#[derive(Debug, Default)]
pub(super) struct ImportFindings {
    /// Files that were read.
    pub(super) read: Vec<String>,
    /// Files that could not be, with the reason.
    pub(super) broken: Vec<String>,
    /// The items in the order of their files.
    pub(super) items: Vec<ImportItem>,
    /// Denials that no rule here says: what they are about is not allowed either.
    pub(super) unsaid: UnsaidDenials,
    /// Sessions of all folders, and bytes of text of all of them.
    pub(super) sessions: usize,
    pub(super) history_bytes: usize,
    /// Bytes of all skills.
    pub(super) skill_bytes: u64,
    /// How many items are beyond the bound, and the last of them, which nobody sees.
    beyond: usize,
    spare: Option<ImportItem>,
}

impl ImportFindings {
    /// Adds an item within the bound; who adds it may add notes.
    pub(super) fn push_item(&mut self, mut item: ImportItem) -> &mut ImportItem {
        if item.says.len() > SAYS_CHARS_MAX {
            let mut says: String = item.says.chars().take(SAYS_CHARS_MAX).collect();
            says.push('…');
            item.says = says;
        }
        if let Cow::Owned(plain) = redact_text(&item.says, &[]) {
            item.says = plain;
        }
        if self.items.len() >= ITEMS_MAX {
            self.beyond += 1;
            return self.spare.insert(item);
        }
        let at = self.items.len();
        self.items.push(item);
        &mut self.items[at]
    }

    /// Something that becomes something here.
    pub(super) fn add_item(
        &mut self,
        place: String,
        says: String,
        becomes: ImportMapping,
        target: ImportTarget,
    ) -> &mut ImportItem {
        self.push_item(ImportItem { place, says, becomes, target, notes: Vec::new() })
    }

    /// Something that is left.
    pub(super) fn leave_item(
        &mut self,
        place: String,
        says: String,
        why: &str,
        target: ImportTarget,
    ) {
        self.add_item(place, says, ImportMapping::Nothing(why.to_owned()), target);
    }

    /// A file that cannot be read or understood.
    pub(super) fn break_file(&mut self, place: &str, why: &str, target: ImportTarget) {
        self.broken.push(format!("{place}: {why}"));
        self.leave_item(place.to_owned(), "a file that cannot be understood".into(), why, target);
    }

    /// The first reason, where nothing but files that cannot be understood was found.
    pub(super) fn only_failure(&self) -> Option<&str> {
        let is_all = self.broken.len() >= self.read.len() && self.items.len() == self.broken.len();
        self.broken.first().map(String::as_str).filter(|_| is_all)
    }

    /// Says what is beyond the bound. What is denied may be among it, so nothing is allowed then.
    pub(super) fn close_findings(&mut self) {
        if self.beyond == 0 {
            return;
        }
        let place = "all files together".to_owned();
        self.unsaid.add_denial("*", &place);
        self.items.push(ImportItem {
            place,
            says: format!("{} more", self.beyond),
            becomes: ImportMapping::Nothing(format!("at most {ITEMS_MAX} things are read")),
            target: ImportTarget::User,
            notes: Vec::new(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r8_countless_items_are_held_within_a_bound_and_what_is_more_is_said() {
        let mut found = ImportFindings::default();
        for at in 0..ITEMS_MAX + 7 {
            found
                .add_item(
                    "f".into(),
                    format!("{at}{}", "x".repeat(2 * SAYS_CHARS_MAX)),
                    ImportMapping::Model("a/b".into()),
                    ImportTarget::User,
                )
                .notes
                .push("noted".into());
        }
        found.close_findings();
        assert_eq!(found.items.len(), ITEMS_MAX + 1);
        assert!(found.items.iter().all(|item| item.says.chars().count() <= SAYS_CHARS_MAX + 1));
        assert_eq!(found.items[ITEMS_MAX].says, "7 more");
        assert!(found.unsaid.denial_against("Shell(ls:*)").is_some());
    }

    #[test]
    fn z7_what_a_person_is_shown_has_no_secret() {
        let mut found = ImportFindings::default();
        let token = format!("ghp_{}", "a1B2c3D4e5".repeat(3));
        found.leave_item("f".into(), format!("allow x {token}"), "why", ImportTarget::User);
        assert!(!found.items[0].says.contains(&token), "{}", found.items[0].says);
    }
}
