//! What exists and is not switched on, as the store knows it: for an agent that lacks something and
//! is to say who could give it. Nothing is switched on here.

use crate::ports::{DormantItem, Store, StoredItem};

/// Kinds of things that a person or their agent keeps, the word for each, and who wakes them up.
const KINDS: [(&str, &str, &str); 4] = [
    ("recipe", "recipe", "a person, with `weir recipes accept NAME`"),
    ("tool", "tool made at run time", "a person, with `weir tools accept NAME`"),
    ("agent", "scheduled agent", "a person, with `weir agents resume NAME`"),
    ("mcp", "MCP server", "a person, with `weir mcp-servers approve NAME`"),
];
/// Most of one kind.
const OF_KIND_MAX: usize = 100;
/// Characters of a text that are searched.
const ABOUT_CHARS_MAX: usize = 600;

/// Everything of the store that is kept and does not count, or waits to be accepted.
pub(crate) async fn of_store(store: &dyn Store) -> Vec<DormantItem> {
    let mut found = Vec::new();
    for (what, word, how) in KINDS {
        let kept = store.stored_items(what).await.unwrap_or_default();
        let asleep = kept.iter().filter(|kept| kept.state != "active").take(OF_KIND_MAX);
        found.extend(asleep.map(|kept| dormant_from_stored(word, how, kept)));
        let waiting = store.proposals(what).await.unwrap_or_default();
        found.extend(waiting.into_iter().take(OF_KIND_MAX).map(|proposal| DormantItem {
            what: format!("proposed {word}"),
            about: plain_words(&proposal.text),
            name: proposal.name,
            how: how.into(),
        }));
    }
    found
}

fn dormant_from_stored(word: &str, how: &str, kept: &StoredItem) -> DormantItem {
    let what = format!("{word} ({})", kept.state);
    DormantItem { what, name: kept.name.clone(), about: plain_words(&kept.text), how: how.into() }
}

/// The words of a kept text: it is JSON, and its signs say nothing.
fn plain_words(text: &str) -> String {
    let letters = |c: char| if c.is_alphanumeric() { c } else { ' ' };
    text.chars().take(ABOUT_CHARS_MAX).map(letters).collect()
}
