//! What a session has cost, as its cap counts it (R11): what was asked while the price of the session's
//! model was not known counts at its price of today. So a price that is set brings a session back. Not
//! here: the cap (`limits`), and caps that sessions have in common.

use serde::{Deserialize, Serialize};

use crate::model::Usage;

use super::Session;

/// What a session has cost.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct SessionSpending {
    /// What had a price then, in US dollars.
    priced_usd: f64,
    /// What the session's own models used without one.
    unpriced: Usage,
    /// Somebody else was asked at a price that nobody knows: no price of today says what that was.
    is_unknown: bool,
}

impl SessionSpending {
    /// What the session's model used, or a sub-agent.
    pub(super) fn add_own(&mut self, usage: &Usage, cost_usd: Option<f64>) {
        match cost_usd {
            Some(usd) => self.priced_usd += usd,
            None => self.unpriced.add(usage),
        }
    }

    /// What somebody else was paid.
    pub(super) fn add_other(&mut self, cost_usd: Option<f64>) {
        match cost_usd {
            Some(usd) => self.priced_usd += usd,
            None => self.is_unknown = true,
        }
    }
}

impl Session {
    /// What the session has cost in US dollars; `None`: nobody knows, and its cap cannot be held.
    pub(super) fn spent_in_all(&self) -> Option<f64> {
        let SessionSpending { priced_usd, unpriced, is_unknown } = &self.spent;
        match (*is_unknown, unpriced.is_nothing()) {
            (true, _) => None,
            (false, true) => Some(*priced_usd),
            (false, false) => self.model.cost(unpriced).map(|usd| priced_usd + usd),
        }
    }

    /// What of that is known, in US dollars: what has no price counts as nothing here.
    pub(super) fn known_spending_usd(&self) -> f64 {
        self.spent_in_all().unwrap_or(self.spent.priced_usd)
    }
}
