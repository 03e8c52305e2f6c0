//! The files that the calls of a session touched, as many as are remembered. Not here: how they are told
//! (`condense`).

use std::collections::{BTreeMap, BTreeSet, btree_map};

use serde::{Deserialize, Serialize};

use crate::ids::CallId;

/// Files that are remembered; those that were only read go first, the longest ago before the others.
const FILES_MAX: usize = 300;

/// What became of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::session) struct FileTouch {
    pub(in crate::session) what: FileTouchKind,
    pub(in crate::session) call: CallId,
}

/// What was done with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::session) enum FileTouchKind {
    Read,
    Changed,
    Created,
    MovedAway,
    MovedHere,
    Deleted,
}

impl FileTouchKind {
    /// Nothing of it is another than before.
    pub(in crate::session) fn is_read(self) -> bool {
        self == FileTouchKind::Read
    }

    /// The words that condensing tells it by.
    pub(in crate::session) fn as_str(self) -> &'static str {
        match self {
            FileTouchKind::Read => "read",
            FileTouchKind::Changed => "changed",
            FileTouchKind::Created => "created",
            FileTouchKind::MovedAway => "moved away",
            FileTouchKind::MovedHere => "moved here",
            FileTouchKind::Deleted => "deleted",
        }
    }
}

/// The files, by their paths. A session that reads one after the other forgets one with each, so the next to
/// go is kept at hand; it is no part of what is written down.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "BTreeMap<String, FileTouch>", into = "BTreeMap<String, FileTouch>")]
pub(in crate::session) struct TouchedFiles {
    by_path: BTreeMap<String, FileTouch>,
    /// All of them in the order in which they go: whether changed, the last call, the path.
    by_age: BTreeSet<(bool, CallId, String)>,
}

impl TouchedFiles {
    /// In the order of their paths.
    pub(in crate::session) fn iter(&self) -> btree_map::Iter<'_, String, FileTouch> {
        self.by_path.iter()
    }

    /// The call that touched it last.
    pub(super) fn last_call(&self, path: &str) -> Option<CallId> {
        self.by_path.get(path).map(|touch| touch.call)
    }

    pub(super) fn touch_file(&mut self, path: &str, what: FileTouchKind, call: CallId) {
        let old = self.by_path.get(path);
        // What was changed stays told as changed, also when it is read again.
        if what.is_read() && old.is_some_and(|old| !old.what.is_read()) {
            return;
        }
        if let Some(old) = old.map(|old| file_age(path, old)) {
            self.by_age.remove(&old);
        }
        let touch = FileTouch { what, call };
        self.by_age.insert(file_age(path, &touch));
        self.by_path.insert(path.to_owned(), touch);
        while self.by_path.len() > FILES_MAX
            && let Some((_, _, oldest)) = self.by_age.pop_first()
        {
            self.by_path.remove(&oldest);
        }
    }
}

fn file_age(path: &str, touch: &FileTouch) -> (bool, CallId, String) {
    (!touch.what.is_read(), touch.call, path.to_owned())
}

impl From<BTreeMap<String, FileTouch>> for TouchedFiles {
    fn from(by_path: BTreeMap<String, FileTouch>) -> TouchedFiles {
        let by_age = by_path.iter().map(|(path, touch)| file_age(path, touch)).collect();
        TouchedFiles { by_path, by_age }
    }
}

impl From<TouchedFiles> for BTreeMap<String, FileTouch> {
    fn from(files: TouchedFiles) -> BTreeMap<String, FileTouch> {
        files.by_path
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same without anything kept at hand: all are looked at for the one that goes.
    fn touch_plainly(
        files: &mut BTreeMap<String, FileTouch>,
        path: &str,
        what: FileTouchKind,
        call: CallId,
    ) {
        let keeps = what.is_read() && files.get(path).is_some_and(|old| !old.what.is_read());
        if !keeps {
            files.insert(path.to_owned(), FileTouch { what, call });
        }
        while files.len() > FILES_MAX {
            let age = |touch: &FileTouch| (!touch.what.is_read(), touch.call);
            let oldest = files.iter().min_by_key(|(_, touch)| age(touch));
            let Some(oldest) = oldest.map(|(path, _)| path.clone()) else { return };
            files.remove(&oldest);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20))]

        /// Also where it was kept and read again on the way (Q10).
        #[test]
        fn x02_the_files_that_are_told_are_those_touched_last(
            touches in prop::collection::vec((0..500_u32, 0..4_u32, any::<bool>()), 600..900),
        ) {
            let (mut files, mut plain) = (TouchedFiles::default(), BTreeMap::new());
            for (number, (path, later, reads)) in (1_u32..).zip(touches) {
                let what = if reads { FileTouchKind::Read } else { FileTouchKind::Changed };
                // A call touches several; and not every call is later than those before.
                let call = CallId((number / 3).saturating_sub(later));
                let path = format!("src/{path}.rs");
                files.touch_file(&path, what, call);
                touch_plainly(&mut plain, &path, what, call);
                if number.is_multiple_of(200) {
                    let kept = serde_json::to_string(&files).expect("JSON");
                    prop_assert_eq!(&kept, &serde_json::to_string(&plain).expect("JSON"));
                    let read: TouchedFiles = serde_json::from_str(&kept).expect("the same");
                    prop_assert_eq!(format!("{read:?}"), format!("{files:?}"));
                    files = read;
                }
                prop_assert!(files.iter().eq(plain.iter()));
            }
            prop_assert_eq!(plain.len(), FILES_MAX);
        }
    }
}
