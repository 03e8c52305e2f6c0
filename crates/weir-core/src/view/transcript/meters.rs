//! What is going on, and the numbers of a session. Not here: how they are written.

use serde::{Deserialize, Serialize};

use crate::ids::Timestamp;
use crate::model::Usage;
use crate::view::told::one_line;

/// What is going on. Whether a person is waited for is not said here: [`super::Transcript::asks`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Activity {
    /// A request is being made.
    Working,
    /// The model thinks.
    Thinking,
    /// The model writes.
    Writing,
    /// Calls are under way: the tool of the last one, as the model named it.
    Calling(String),
    /// The context is being made shorter.
    Condensing,
    /// A request failed; the next one begins then.
    Retrying(Timestamp),
    /// Somebody wants the run to end.
    Stopping,
    /// This person paused the run.
    Paused(String),
}

impl Activity {
    /// The words of every face for it, made safe. When a request is tried again is not in them.
    pub fn activity_words(&self) -> String {
        match self {
            Activity::Working => "Working".into(),
            Activity::Thinking => "Thinking".into(),
            Activity::Writing => "Writing".into(),
            Activity::Calling(tool) => format!("Using {}", one_line(tool)),
            Activity::Condensing => "Condensing the context".into(),
            Activity::Retrying(_) => "Retrying".into(),
            Activity::Stopping => "Stopping".into(),
            Activity::Paused(by) => format!("Paused by {}", one_line(by)),
        }
    }
}

/// Numbers of a session.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SessionMeters {
    /// Tokens of the last request: as its vendor counted them, until then estimated.
    pub context: u64,
    /// Tokens that fit; 0: nobody knows.
    pub window: u64,
    /// Tokens that were used.
    pub tokens: u64,
    /// US dollars, where every price is known.
    pub cost_usd: f64,
    /// Some price is not known: the cost is at least this.
    pub cost_open: bool,
    /// Per cent of the last request that the vendor's cache served.
    pub cache: Option<u8>,
}

impl SessionMeters {
    /// Something was used.
    pub fn add(&mut self, usage: &Usage, cost_usd: Option<f64>) {
        self.tokens = self.tokens.saturating_add(usage.total_tokens());
        self.cost_usd += cost_usd.unwrap_or(0.0);
        self.cost_open |= cost_usd.is_none() && usage.total_tokens() > 0;
    }

    /// A request of the session itself was counted by its vendor.
    pub fn count_request(&mut self, usage: &Usage) {
        let input = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
        if input > 0 {
            self.context = input.saturating_add(usage.output);
            self.cache = Some(whole_percent(usage.cache_read, input));
        }
    }

    /// Per cent of the window that is used; `None`: the window is not known.
    pub fn context_share(&self) -> Option<u8> {
        (self.window > 0 && self.context > 0).then(|| whole_percent(self.context, self.window))
    }
}

fn whole_percent(part: u64, whole: u64) -> u8 {
    let share = u128::from(part) * 100 / u128::from(whole.max(1));
    u8::try_from(share.min(100)).unwrap_or(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_shares_and_open_costs() {
        let mut meters = SessionMeters { window: 1_000, ..SessionMeters::default() };
        assert_eq!(meters.context_share(), None);
        let usage = Usage { input: 100, cache_read: 300, output: 50, ..Usage::default() };
        meters.add(&usage, Some(0.5));
        meters.count_request(&usage);
        let found = (meters.context_share(), meters.cache, meters.cost_open);
        assert_eq!(found, (Some(45), Some(75), false));
        meters.add(&usage, None);
        assert!(meters.cost_open);
        assert_eq!(whole_percent(u64::MAX, 1), 100);
    }
}
