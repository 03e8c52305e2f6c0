//! What a session used, told by its facts alone: the same sums as its fold has (`weir_core::session::Session`), for
//! whoever reads its facts and needs nothing else of that fold. Not here: what it used day by day
//! (`crate::usage`).

use serde::{Deserialize, Serialize};
use weir_core::event::{CondenseReason, Event};
use weir_core::model::Usage;
use weir_core::session::Session;
use weir_core::tool::ResultEffect;

/// What was used as far as the facts of a session were read, each once and in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct UsedSoFar {
    usage: Usage,
    /// US dollars by their bits: JSON has no infinity. `None`: some price is not known.
    cost_usd_bits: Option<u64>,
}

impl Default for UsedSoFar {
    fn default() -> UsedSoFar {
        UsedSoFar { usage: Usage::default(), cost_usd_bits: Some(0.0_f64.to_bits()) }
    }
}

impl UsedSoFar {
    /// What was used up to the end of `session`.
    pub(super) fn of_session(session: &Session) -> UsedSoFar {
        let cost_usd_bits = session.cost_usd().map(f64::to_bits);
        UsedSoFar { usage: *session.usage(), cost_usd_bits }
    }

    /// Tokens.
    pub(super) fn usage(&self) -> Usage {
        self.usage
    }

    /// US dollars, where every price is known.
    pub(super) fn cost_usd(&self) -> Option<f64> {
        self.cost_usd_bits.map(f64::from_bits)
    }

    /// Counts what the next fact says was used.
    pub(super) fn count_event(&mut self, event: &Event) {
        match event {
            Event::ModelReplied(f) => self.add(&f.usage, f.cost_usd),
            Event::ModelRetried(f) => self.add_if_asked(&f.usage, f.cost_usd),
            Event::ModelFailed(f) => self.add_if_asked(&f.usage, f.cost_usd),
            Event::ContextCondensing(f) if f.reason == CondenseReason::Overflow => {
                f.cut.iter().for_each(|cut| self.add_if_asked(&cut.usage, cut.cost_usd));
            }
            Event::ContextSummarised(f) => self.add_if_asked(&f.usage, f.cost_usd),
            Event::RunRemembered(f) => self.add_if_asked(&f.usage, f.cost_usd),
            Event::RecipePlanned(f) => self.add_if_asked(&f.usage, f.cost_usd),
            Event::HelperAsked(f) => self.add_if_asked(&f.usage, f.cost_usd),
            Event::AgentFinished(f) => self.add_if_asked(&f.usage, f.cost_usd),
            Event::CallJudged(f) => {
                let used = f.inspection.judge_use.iter();
                used.for_each(|used| self.add_if_asked(&used.usage, used.cost_usd));
            }
            Event::CallFinished(f) => {
                for news in &f.news {
                    if let ResultEffect::Used { usage, cost_usd } = news {
                        // A vendor may count no tokens and charge all the same.
                        self.add(usage, *cost_usd);
                    }
                }
            }
            _ => (),
        }
    }

    /// Of nothing that was used the price is known.
    fn add_if_asked(&mut self, usage: &Usage, cost_usd: Option<f64>) {
        if !usage.is_nothing() {
            self.add(usage, cost_usd);
        }
    }

    fn add(&mut self, usage: &Usage, cost_usd: Option<f64>) {
        self.usage.add(usage);
        let sum = self.cost_usd().zip(cost_usd).map(|(sum, part)| sum + part);
        self.cost_usd_bits = sum.map(f64::to_bits);
    }
}
