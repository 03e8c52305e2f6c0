//! Tags of a vault by how many notes have them. Not here: which notes have which (`search_by_tag`).

use weir_core::sorting::sort_stably;
use weir_notes::index::NoteIndex;

/// All tags with the number of notes that have them, the most used first.
pub(crate) fn count_tags(index: &NoteIndex) -> Vec<(String, usize)> {
    let mut counts = index.count_tags();
    sort_stably(&mut counts, |a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counts
}
