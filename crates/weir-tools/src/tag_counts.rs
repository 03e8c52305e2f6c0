//! Tags of a vault by how many notes have them. Not here: which notes have which (`search_by_tag`).

use std::collections::{BTreeMap, BTreeSet};

use weir_notes::index::NoteIndex;
use weir_notes::note::tag_key;

/// All tags with the number of notes that have them, the most used first.
pub(crate) fn count_tags(index: &NoteIndex) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<String, (String, usize)> = BTreeMap::new();
    for (_, _, facts) in index.list_notes() {
        let mut own = BTreeSet::new();
        for tag in &facts.tags {
            let key = tag_key(&tag.name);
            if own.insert(key.clone()) {
                counts.entry(key).or_insert_with(|| (tag.name.clone(), 0)).1 += 1;
            }
        }
    }
    let mut counts: Vec<(String, usize)> = counts.into_values().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counts
}
