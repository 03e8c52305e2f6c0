//! The last entries of a conversation, read from the end of its journal: as much of it is read as is shown
//! (Q10). Not here: how an entry looks (`transcript`).
//!
//! An entry is told with what stands before it in two things only: how its call was judged and ran, and
//! foreign words that a reply names. So the end of a journal tells the same as all of it wherever the calls
//! that end there began there too. Where they did not, more is read; at worst all of it.

use std::collections::BTreeSet;

use weir_core::event::Event;
use weir_core::ids::{CallId, Seq, SessionId};
use weir_engine::hub::PublishedFact;
use weir_engine::ledger::fact_of;
use weir_engine::ports::{Store, StoreError};

use super::end::SessionEnd;
use super::transcript::ConversationReader;

/// Facts that are read for an entry at first: a call has some seven, and most of them are no entry.
const FACTS_PER_ENTRY: usize = 4;
/// Fewest facts that are read at once.
const READ_MIN: usize = 64;
/// Most facts that are read at once.
const READ_MAX: usize = 4_096;

/// An entry of a conversation.
pub struct ConversationEntry {
    /// The fact that it tells of.
    pub fact: PublishedFact,
    /// What stands there.
    pub text: String,
}

/// The last `most` entries of the conversation of the session `id`, which stands so at its `end`, as reading
/// its whole journal gives them.
///
/// # Errors
/// The journal cannot be read.
pub async fn read_last_entries(
    store: &dyn Store,
    id: &SessionId,
    end: &SessionEnd,
    most: usize,
) -> Result<Vec<ConversationEntry>, StoreError> {
    let mut facts: Vec<PublishedFact> = Vec::new();
    let mut first = end.fact_count() + 1;
    let mut batch = most.saturating_mul(FACTS_PER_ENTRY).clamp(READ_MIN, READ_MAX);
    while first > 1 {
        let from = first.saturating_sub(batch as Seq).max(1);
        let wanted = usize::try_from(first - from).unwrap_or(READ_MAX);
        let records = store.read_records(id, from, wanted).await?;
        let mut earlier = records.iter().map(fact_of).collect::<Result<Vec<_>, _>>()?;
        earlier.append(&mut facts);
        (facts, first) = (earlier, from);
        batch = batch.saturating_mul(2).min(READ_MAX);
        let found = if first == 1 {
            Some(read_entries(ConversationReader::default(), &facts))
        } else {
            read_end(end, &facts).filter(|entries| entries.len() >= most)
        };
        if let Some(mut entries) = found {
            entries.drain(..entries.len().saturating_sub(most));
            return Ok(entries);
        }
    }
    Ok(Vec::new())
}

/// The entries of the last `facts` of a journal, which stands so at its `end`. `None`: they cannot be told
/// without those before.
pub fn read_end(end: &SessionEnd, facts: &[PublishedFact]) -> Option<Vec<ConversationEntry>> {
    let (mut begun, mut ended) = (BTreeSet::<CallId>::new(), BTreeSet::new());
    for fact in facts {
        match fact.event.as_ref() {
            Event::CallProposed(f) => {
                begun.insert(f.call);
            }
            Event::CallFinished(f) => {
                ended.insert(f.call);
            }
            _ => (),
        }
    }
    if !ended.is_subset(&begun) {
        return None;
    }
    let seen = end.seen_transcript().before_calls(&ended)?;
    Some(read_entries(ConversationReader::new(seen), facts))
}

fn read_entries(mut reader: ConversationReader, facts: &[PublishedFact]) -> Vec<ConversationEntry> {
    let entry = |fact: &PublishedFact| {
        let text = reader.read_brief_text(fact)?;
        Some(ConversationEntry { fact: fact.clone(), text })
    };
    facts.iter().filter_map(entry).collect()
}
