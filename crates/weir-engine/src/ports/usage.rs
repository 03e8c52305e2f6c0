//! Tokens and cost as a store keeps them: sums by day, model, profile and agent, written with the
//! facts that they are from. Not here: what a model costs, or how a sum is shown.

use serde::{Deserialize, Serialize};
use weir_core::event::Event;
use weir_core::ids::{SessionId, Timestamp};
use weir_core::model::Usage;
use weir_core::session::{Session, SessionConfig, child, source_number};
use weir_core::tool::ResultEffect;

/// A number over the rules of this file, for whoever keeps what they gave.
pub const USAGE_RULES: u64 = source_number(include_bytes!("usage.rs"));

/// The model of a [`UsageNote`] whose fact does not name it: one that condenses, remembers, plans, judges,
/// names chats or advises beside the session's own.
pub const HELPER_MODELS: &str = "(helper models)";

/// What one fact says was used.
#[derive(Debug, Clone, PartialEq)]
pub struct UsageNote {
    /// When it was used, in microseconds since 1970 (UTC).
    pub ts: Timestamp,
    /// `provider/name`, or [`HELPER_MODELS`].
    pub model: String,
    /// The session's profile.
    pub profile: String,
    /// Tokens.
    pub usage: Usage,
    /// The cost of the tokens in US dollars; `None`: nobody knows.
    pub cost_usd: Option<f64>,
    /// Replies of a model: 0 or 1.
    pub replies: u32,
    /// Finished runs: 0 or 1.
    pub runs: u32,
}

impl UsageNote {
    /// What `event` says, which `session` has just folded in. What a sub-agent used stands in its
    /// own session, and not a second time in the one that began it.
    pub fn notes_for_event(session: &Session, ts: Timestamp, event: &Event) -> Vec<UsageNote> {
        UsageNote::notes_with_config(session.config().map(AsRef::as_ref), ts, event)
    }

    /// The same for a session of which only the settings at that time are known.
    pub fn notes_with_config(
        config: Option<&SessionConfig>,
        ts: Timestamp,
        event: &Event,
    ) -> Vec<UsageNote> {
        let own = || config.map(|config| config.model.model.to_string()).unwrap_or_default();
        let note = |model: String, usage: Usage, cost_usd: Option<f64>| UsageNote {
            ts,
            model,
            profile: config.map(|config| config.profile.name.clone()).unwrap_or_default(),
            cost_usd,
            usage,
            replies: 1,
            runs: 0,
        };
        let helper = |usage: &Usage, cost_usd: Option<f64>| match usage.is_nothing() {
            // Nobody was asked.
            true => Vec::new(),
            false => vec![note(HELPER_MODELS.to_string(), *usage, cost_usd)],
        };
        // Of what a tool asked a vendor may count no tokens, and charge: its price stays unknown.
        let asked = |usage: &Usage, cost_usd: Option<f64>| match usage.is_nothing() {
            true if cost_usd == Some(0.0) => Vec::new(),
            _ => vec![note(HELPER_MODELS.to_string(), *usage, cost_usd)],
        };
        let failed = |usage: &Usage, cost_usd: Option<f64>| match usage.is_nothing() {
            true => Vec::new(),
            false => vec![UsageNote { replies: 0, ..note(own(), *usage, cost_usd) }],
        };
        match event {
            Event::ModelReplied(f) if f.usage.is_nothing() => {
                // As journals of before have it, which estimated nothing.
                vec![note(own(), f.usage, Some(0.0))]
            }
            Event::ModelReplied(f) => vec![note(own(), f.usage, f.cost_usd)],
            Event::ModelRetried(f) => failed(&f.usage, f.cost_usd),
            Event::ModelFailed(f) => failed(&f.usage, f.cost_usd),
            Event::ContextCondensing(f) => {
                f.cut.iter().map(|cut| note(own(), cut.usage, cut.cost_usd)).collect()
            }
            Event::ContextSummarised(f) => helper(&f.usage, f.cost_usd),
            Event::RunRemembered(f) => helper(&f.usage, f.cost_usd),
            Event::RecipePlanned(f) => helper(&f.usage, f.cost_usd),
            Event::HelperAsked(f) => helper(&f.usage, f.cost_usd),
            Event::CallJudged(f) => {
                let used = f.inspection.judge_use.iter();
                used.flat_map(|used| helper(&used.usage, used.cost_usd)).collect()
            }
            Event::CallFinished(f) => {
                let used = f.news.iter().filter_map(|news| match news {
                    ResultEffect::Used { usage, cost_usd } => Some(asked(usage, *cost_usd)),
                    _ => None,
                });
                used.flatten().collect()
            }
            Event::RunFinished(_) => {
                let run = note(own(), Usage::default(), Some(0.0));
                vec![UsageNote { replies: 0, runs: 1, ..run }]
            }
            _ => Vec::new(),
        }
    }

    /// The day on which it counts, UTC: `2026-01-02`.
    pub fn day(&self) -> String {
        self.ts.to_string().chars().take(10).collect()
    }
}

/// A filter of days to sum up, both included, as `2026-01-02` (UTC).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UsageFilter {
    /// From this day on.
    pub from: Option<String>,
    /// To this day.
    pub to: Option<String>,
}

impl UsageFilter {
    /// Whether `day` is one of them.
    pub fn contains_day(&self, day: &str) -> bool {
        self.from.as_deref().is_none_or(|from| from <= day)
            && self.to.as_deref().is_none_or(|to| day <= to)
    }
}

/// The sum of one day, model, profile and agent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct UsageRow {
    /// `2026-01-02`, UTC.
    pub day: String,
    /// `provider/name`, or [`HELPER_MODELS`].
    pub model: String,
    /// Name of the profile.
    pub profile: String,
    /// The scheduled agent whose session it was; empty: no schedule began it.
    pub agent: String,
    /// Tokens.
    pub usage: Usage,
    /// What the priced ones of them cost, in US dollars.
    pub cost_usd: f64,
    /// Replies whose price nobody knows: their cost is missing above.
    pub unpriced: u64,
    /// Replies of the model.
    pub replies: u64,
    /// Runs that finished.
    pub runs: u64,
}

impl UsageRow {
    /// Adds what `note` says.
    pub fn add(&mut self, note: &UsageNote) {
        self.usage.add(&note.usage);
        self.cost_usd += note.cost_usd.unwrap_or(0.0);
        self.unpriced += u64::from(note.cost_usd.is_none());
        self.replies += u64::from(note.replies);
        self.runs += u64::from(note.runs);
    }
}

/// The session whose schedule what `session` used is counted to: the one that a person or a schedule began.
pub fn session_of_usage(session: &SessionId) -> SessionId {
    child::root_of(session)
}
