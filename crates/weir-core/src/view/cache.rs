//! Cache misses: what a vendor's cache could have served and did not, with the cause and what that
//! cost (R11). A fold of facts. Not here: sums of what was used, and what the cache did serve
//! (`meter`).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::config::SessionConfig;
use crate::event::{Event, ModelReplied, ModelRequested};
use crate::ids::{Timestamp, TurnId};
use crate::model::{Price, StopReason, Usage};

/// Fewer tokens are no miss: vendors keep nothing shorter, and count in steps.
const TOKENS_MIN: u64 = 1_024;
/// Nor is less than this share of what could have been served.
const SHARE_MIN: f64 = 0.1;
/// How long vendors keep a cache that nobody asks for, in milliseconds: five minutes, the least that
/// any of them promises.
pub const CACHE_KEPT_MS: u64 = 5 * 60 * 1_000;

/// Why the cache did not serve what it could have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum MissCause {
    /// The request did not begin as the one before: why, in the words of the journal.
    Changed {
        /// What changed.
        why: String,
    },
    /// Another model was asked before: a cache belongs to one.
    OtherModel {
        /// The model before, as `provider/name`.
        from: String,
    },
    /// Nothing was asked for longer than vendors keep a cache.
    Idle {
        /// For how long, in milliseconds.
        ms: u64,
    },
    /// Weir was started again in between, so nobody saw whether the request began as the one before.
    Restarted,
    /// The request began as the one before, in time: the vendor served less all the same.
    Vendor,
}

impl MissCause {
    /// The word of the kind, by which misses are summed up.
    pub fn as_str(&self) -> &'static str {
        match self {
            MissCause::Changed { .. } => "changed",
            MissCause::OtherModel { .. } => "other_model",
            MissCause::Idle { .. } => "idle",
            MissCause::Restarted => "restarted",
            MissCause::Vendor => "vendor",
        }
    }

    /// The cause as the end of a sentence.
    pub fn as_words(&self) -> String {
        match self {
            MissCause::Changed { why } => {
                format!("the request did not begin as the one before: {why}")
            }
            MissCause::OtherModel { from } => format!("another model was asked before: {from}"),
            MissCause::Idle { ms } => format!(
                "nothing was asked for {}, and a cache is kept for about {}",
                minutes_text(*ms),
                minutes_text(CACHE_KEPT_MS)
            ),
            MissCause::Restarted => "Weir was started again in between".into(),
            MissCause::Vendor => {
                "the request began as the one before, and the vendor served less all the same"
                    .into()
            }
        }
    }
}

fn minutes_text(ms: u64) -> String {
    match ms / 60_000 {
        0..=119 => format!("{} minutes", ms / 60_000),
        minutes @ 120..=2_879 => format!("{} hours", minutes / 60),
        minutes => format!("{} days", minutes / 1_440),
    }
}

/// One request of which the cache served less than it could have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CacheMiss {
    /// When the reply came, in microseconds since 1970 (UTC).
    pub ts: Timestamp,
    /// Number of the turn in its session.
    pub turn: TurnId,
    /// The model, as `provider/name`.
    pub model: String,
    /// Why.
    #[serde(flatten)]
    pub cause: MissCause,
    /// Tokens that could have come from the cache.
    pub expected: u64,
    /// Tokens that did.
    pub served: u64,
    /// What the difference cost more, in US dollars, at the price that held then; `None`: a price is
    /// not known.
    pub cost_usd: Option<f64>,
}

impl CacheMiss {
    /// Tokens that were paid for once more.
    pub fn lost_tokens(&self) -> u64 {
        self.expected.saturating_sub(self.served)
    }
}

/// What is known of the requests of one session so far. Feed it every fact of its journal, in order.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct CacheWatch {
    config: Option<Arc<SessionConfig>>,
    /// Some reply said something of a cache: whoever says nothing of one has none to miss.
    has_cache: bool,
    restarted: bool,
    asked: Option<AskedRequest>,
    last: Option<CountedRequest>,
}

/// A request that waits for its reply.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct AskedRequest {
    ts: Timestamp,
    lost: Option<String>,
    model: String,
}

/// The last request that a vendor counted.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct CountedRequest {
    replied: Timestamp,
    model: String,
    tokens: u64,
}

impl CacheWatch {
    /// Whether a fact of this kind tells anything here: the others need not be read at all.
    pub fn reads_kind(kind: &str) -> bool {
        matches!(
            kind,
            "session.opened"
                | "session.configured"
                | "session.resumed"
                | "profile.switched"
                | "model.switched"
                | "model.requested"
                | "model.replied"
        )
    }

    /// The settings that hold now.
    pub fn config(&self) -> Option<&SessionConfig> {
        self.config.as_deref()
    }

    /// The same without the prompt and the tools of the settings, which nothing here looks at: small enough
    /// to be kept.
    #[must_use]
    pub fn without_prompt(&self) -> CacheWatch {
        let shorten = |config: &Arc<SessionConfig>| {
            let mut config = SessionConfig::clone(config);
            config.system = Arc::from("");
            (config.tools, config.deferred) = (Arc::default(), Arc::default());
            Arc::new(config)
        };
        CacheWatch { config: self.config.as_ref().map(shorten), ..self.clone() }
    }

    /// Folds a fact in, and says what the cache missed, where it did.
    pub fn note_fact(&mut self, ts: Timestamp, event: &Event) -> Option<CacheMiss> {
        match event {
            Event::SessionOpened(f) => self.config = Some(f.config.clone()),
            Event::SessionConfigured(f) => self.config = Some(f.config.clone()),
            Event::ProfileSwitched(f) => self.config = Some(f.config.clone()),
            Event::ModelSwitched(f) => self.config = f.config.clone().or(self.config.take()),
            Event::SessionResumed(_) => self.restarted = true,
            Event::ModelRequested(f) => self.note_request(ts, f),
            Event::ModelReplied(f) => return self.note_reply(ts, f),
            _ => (),
        }
        None
    }

    fn note_request(&mut self, ts: Timestamp, f: &ModelRequested) {
        let model = format!("{}/{}", f.provider, f.model);
        self.asked = Some(AskedRequest { ts, lost: f.prefix_lost.clone(), model });
    }

    fn note_reply(&mut self, ts: Timestamp, f: &ModelReplied) -> Option<CacheMiss> {
        let asked = self.asked.take()?;
        let restarted = std::mem::take(&mut self.restarted);
        if f.stop == StopReason::Interrupted || f.estimated {
            // Nobody counted it, and nobody knows what the vendor kept of it.
            self.last = None;
            return None;
        }
        let usage = &f.usage;
        let tokens = input_tokens(usage);
        let price = self.config.as_ref().and_then(|config| config.model.price);
        let offers = price.is_some_and(|price| price.cache_read > 0.0);
        self.has_cache |= usage.cache_read > 0 || usage.cache_write > 0;
        let model = asked.model.clone();
        let now = CountedRequest { replied: ts, model: model.clone(), tokens };
        let before = self.last.replace(now)?;
        // What is shorter than before could not have been served whole.
        let expected = before.tokens.min(tokens);
        let served = usage.cache_read.min(expected);
        let lost = expected - served;
        let is_miss = (self.has_cache || offers)
            && lost >= TOKENS_MIN
            && lost as f64 >= expected as f64 * SHARE_MIN;
        is_miss.then(|| CacheMiss {
            ts,
            turn: f.turn,
            cause: cause_of(asked, &before, restarted),
            model,
            expected,
            served,
            cost_usd: price.and_then(|price| lost_cost(&price, usage, lost)),
        })
    }
}

fn input_tokens(usage: &Usage) -> u64 {
    usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write)
}

fn cause_of(asked: AskedRequest, before: &CountedRequest, restarted: bool) -> MissCause {
    let idle = asked.ts.ms_since(before.replied);
    match asked.lost {
        Some(why) => MissCause::Changed { why },
        None if asked.model != before.model => MissCause::OtherModel { from: before.model.clone() },
        None if idle > CACHE_KEPT_MS => MissCause::Idle { ms: idle },
        None if restarted => MissCause::Restarted,
        None => MissCause::Vendor,
    }
}

/// What `lost` tokens cost more than from the cache. They were charged as written to the cache, as far as
/// the vendor wrote any, and as plain input beyond that.
fn lost_cost(price: &Price, usage: &Usage, lost: u64) -> Option<f64> {
    // A vendor that names no price for reading its cache: what was lost is not known.
    if price.cache_read <= 0.0 {
        return None;
    }
    let written = lost.min(usage.cache_write);
    let paid = written as f64 * price.counted_cache_write() + (lost - written) as f64 * price.input;
    Some(((paid - lost as f64 * price.cache_read) / 1e6).max(0.0))
}

#[cfg(test)]
mod tests;
