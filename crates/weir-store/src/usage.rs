//! Sums of what was used, as every store keeps them. Pure; nothing here reads or writes a store.

use std::collections::BTreeMap;

use weir_core::model::Usage;
use weir_engine::ports::{UsageNote, UsageRow};

/// Most tokens of one kind that one reply can count: a vendor may report any number, and no sum of
/// them may leave what a database can hold.
const TOKENS_MAX: u64 = 1_000_000_000_000;
/// Most US dollars that one reply can count.
const COST_MAX: f64 = 1_000_000.0;

/// Day, model, profile, agent.
type UsageKey = (String, String, String, String);

/// Rows by their key, in its order: whoever writes several locks them in the same order.
#[derive(Debug, Default)]
pub(crate) struct UsageSums(BTreeMap<UsageKey, UsageRow>);

impl UsageSums {
    /// Adds what a fact of a session that `agent` began (empty: none did) says.
    pub(crate) fn add_note(&mut self, note: &UsageNote, agent: &str) {
        let row = UsageRow {
            day: note.day(),
            model: note.model.clone(),
            profile: note.profile.clone(),
            agent: agent.to_string(),
            ..UsageRow::default()
        };
        let key = (row.day.clone(), row.model.clone(), row.profile.clone(), row.agent.clone());
        self.0.entry(key).or_insert(row).add(&bounded_note(note));
    }

    /// The rows, by day, model, profile and agent.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &UsageRow> {
        self.0.values()
    }
}

fn bounded_note(note: &UsageNote) -> UsageNote {
    let small = |tokens: u64| tokens.min(TOKENS_MAX);
    let Usage { input, output, cache_read, cache_write, reasoning } = note.usage;
    UsageNote {
        usage: Usage {
            input: small(input),
            output: small(output),
            cache_read: small(cache_read),
            cache_write: small(cache_write),
            reasoning: small(reasoning),
        },
        cost_usd: note
            .cost_usd
            .filter(|cost| cost.is_finite())
            .map(|cost| cost.clamp(0.0, COST_MAX)),
        ..note.clone()
    }
}

#[cfg(test)]
mod tests {
    use weir_core::ids::Timestamp;

    use super::*;

    #[test]
    fn s10_no_number_of_a_vendor_makes_a_sum_break() {
        let usage = Usage { input: u64::MAX, output: 7, ..Usage::default() };
        let mut note = UsageNote {
            ts: Timestamp(1_767_367_800_000_000),
            model: "acme/large".into(),
            profile: "code".into(),
            usage,
            cost_usd: Some(f64::NAN),
            replies: 1,
            runs: 0,
        };
        let mut sums = UsageSums::default();
        sums.add_note(&note, "");
        note.cost_usd = Some(f64::MAX);
        sums.add_note(&note, "");
        note.cost_usd = Some(-3.0);
        sums.add_note(&note, "nightly");
        let rows: Vec<&UsageRow> = sums.rows().collect();
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].usage.input, rows[0].usage.output), (2 * TOKENS_MAX, 14));
        assert_eq!((rows[0].cost_usd, rows[0].unpriced, rows[0].replies), (COST_MAX, 1, 2));
        assert_eq!((rows[1].agent.as_str(), rows[1].cost_usd), ("nightly", 0.0));
    }
}
