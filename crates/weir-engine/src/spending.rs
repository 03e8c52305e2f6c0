//! Holding caps that sessions have in common (R11): before a model is asked, what the request costs at
//! most is set aside; when the reply is durable, it is given back, and the sums that the store wrote
//! with the reply count instead. So at most one request goes beyond a cap, however many sessions,
//! processes and replicas ask at once.
//!
//! Whoever asks reads first what is set aside, then what was spent, and sets aside only where nobody
//! changed the first meanwhile. What a process set aside that was killed is void after
//! [`HOLD_MS`]. Not here: which caps there are (settings), sums (the store), a run's own budget (the
//! core).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weir_core::governance::label::Label;
use weir_core::ids::{SessionId, Timestamp};
use weir_core::model::{ModelInfo, Usage};
use weir_core::profile::LimitName;
use weir_core::session::family_budget::SpentSum;

use crate::ports::{
    Clock, Model, ServerSpending, SpendingCap, SpendingCaps, Store, StoreError, StoredItem,
    UsageFilter,
};
use crate::session_time::SessionTime;

mod capped_model;
mod family;
mod held;
mod shared_bounds;
mod tool_spending;

pub(crate) use capped_model::{CappedModel, HelperBounds};
use capped_model::{call_prefix, is_counted};
pub use family::FamilySpending;
pub(crate) use family::{EndedHelp, FamilySeat, HelperTurn};
pub(crate) use held::HeldSpending;
pub(crate) use shared_bounds::SharedCallBounds;
pub(crate) use tool_spending::ToolSpending;

/// How long what was set aside holds without being renewed, in milliseconds.
pub const HOLD_MS: u64 = 60_000;
/// How often it is renewed while a model is asked, in milliseconds.
pub(crate) const RENEW_MS: u64 = 20_000;
/// How often somebody looks again who waits for others to end, in milliseconds.
pub(crate) const LOOK_AGAIN_MS: u64 = 250;
/// The kind and name under which a store keeps what is set aside.
const BOOK: (&str, &str) = ("spending", "holds");
/// Most things that are set aside at once: more would be a mistake, and no memory is without end. Whoever
/// comes then waits.
const HOLDS_MAX: usize = 10_000;
/// The name of what stands in place of a book that nobody can read.
const UNREADABLE: &str = "(unreadable)";
/// An estimate of tokens may be so much too low.
const ESTIMATE_FACTOR: f64 = 2.0;

/// What is set aside, by the name of who did it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
struct SpendingBook {
    holds: BTreeMap<String, SpendingHold>,
}

/// What one request may cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct SpendingHold {
    /// The most, in US dollars.
    usd: f64,
    /// Void from this moment on.
    until: Timestamp,
    /// The scheduled agent for which it is; empty: none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    agent: String,
    /// It was answered, and this is what it cost: until the fact that says so is durable.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    settled: bool,
}

impl SpendingBook {
    /// What is kept; `None`: it cannot be read, and may have set anything aside.
    fn parse(text: &str, now: Timestamp) -> Option<SpendingBook> {
        if text.is_empty() {
            return Some(SpendingBook::default());
        }
        let mut book: SpendingBook = serde_json::from_str(text).ok()?;
        book.holds.retain(|_, hold| hold.until > now && hold.usd.is_finite());
        Some(book)
    }

    /// What stands in place of a book that cannot be read: nobody asks until everything that it could have
    /// held is void.
    fn all_held(now: Timestamp) -> SpendingBook {
        let usd = f64::MAX / HOLDS_MAX as f64;
        let all =
            SpendingHold { usd, until: now.plus_ms(HOLD_MS), agent: String::new(), settled: false };
        SpendingBook { holds: BTreeMap::from([(UNREADABLE.to_owned(), all)]) }
    }

    /// Whether there is room for what `name` sets aside.
    fn has_room(&self, name: &str) -> bool {
        self.holds.len() < HOLDS_MAX || self.holds.contains_key(name)
    }

    /// What others than `name` set aside, for `agent` or for all.
    fn held_by_others(&self, name: &str, agent: Option<&str>) -> f64 {
        let of = |hold: &SpendingHold| agent.is_none_or(|agent| hold.agent == agent);
        let others = self
            .holds
            .iter()
            .filter(|(held, hold)| *held != name && (of(hold) || *held == UNREADABLE));
        others.map(|(_, hold)| hold.usd).sum()
    }

    /// What was answered for the same call as `name`. It is spent and in no sum yet: no fact says so before the
    /// call is over.
    fn used_for_call_of(&self, name: &str, agent: Option<&str>) -> f64 {
        let Some(call) = call_prefix(name) else { return 0.0 };
        let of = |hold: &SpendingHold| agent.is_none_or(|agent| hold.agent == agent);
        let used = self.holds.iter().filter(|(held, hold)| {
            hold.settled && *held != name && held.starts_with(call) && of(hold)
        });
        used.map(|(_, hold)| hold.usd).sum()
    }

    /// What was answered for the same call as `name` holds until then too: its call goes on.
    fn renew_call_of(&mut self, name: &str, until: Timestamp) {
        let Some(call) = call_prefix(name) else { return };
        let used =
            self.holds.iter_mut().filter(|(held, hold)| hold.settled && held.starts_with(call));
        used.for_each(|(_, hold)| hold.until = until);
    }
}

/// A cap that is reached.
#[derive(Debug, Clone, PartialEq)]
pub struct ReachedCap {
    /// Which.
    pub limit: LimitName,
    /// What it has counted, in US dollars; `None`: the price of the model is not known.
    pub spent: Option<f64>,
    /// The cap, in US dollars.
    pub max: f64,
}

impl std::fmt::Display for ReachedCap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ReachedCap { limit, spent, max } = self;
        match spent {
            Some(spent) => write!(f, "the cap {limit} is reached: {spent:.4} of {max} USD"),
            None => write!(f, "the cap {limit} of {max} USD cannot be held: the price is unknown"),
        }
    }
}

/// Whether a request may be sent.
#[derive(Debug, Clone, PartialEq)]
pub enum SpendingAnswer {
    /// It may: what it costs at most is set aside.
    Granted,
    /// It may not: nothing is left.
    Reached(ReachedCap),
    /// Not yet: what others are about to spend may be all that is left. They will be done.
    Busy,
}

/// What may be spent by one session.
#[derive(Clone)]
pub struct SharedSpending {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    caps: SpendingCaps,
}

impl SharedSpending {
    /// Holds `caps` over `store`; none: there is nothing to hold.
    pub fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        caps: SpendingCaps,
    ) -> Option<SharedSpending> {
        (!caps.is_empty()).then_some(SharedSpending { store, clock, caps })
    }

    /// Whether a cap holds under which a model without a known price is not asked.
    pub fn holds_unpriced(&self) -> bool {
        self.caps.server.is_some() || self.caps.own.iter().any(|cap| !cap.lets_unpriced_pass)
    }

    /// Sets aside what a request costs at most under `name`, in place of what stood there. `at_most`:
    /// US dollars; `None`: the price is not known.
    ///
    /// # Errors
    /// The store does not answer. Then nothing may be asked.
    pub async fn reserve(
        &self,
        name: &str,
        at_most: Option<f64>,
    ) -> Result<SpendingAnswer, StoreError> {
        loop {
            let now = self.clock.now();
            let (version, mut book) = self.read_own_book(now).await?;
            match self.judge_own(&book, name, at_most, now).await? {
                SpendingAnswer::Granted => (),
                other => return Ok(other),
            }
            if !book.has_room(name) {
                return Ok(SpendingAnswer::Busy);
            }
            match self.reserve_of_server(name, at_most, now).await? {
                SpendingAnswer::Granted => (),
                other => return Ok(other),
            }
            self.put_hold(&mut book, name, at_most.unwrap_or(0.0), now.plus_ms(HOLD_MS));
            if self.replace_own_book(&book, version, now).await? {
                return Ok(SpendingAnswer::Granted);
            }
        }
    }

    /// What is set aside under `name` holds on from now.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn renew(&self, name: &str) -> Result<(), StoreError> {
        self.change_books(|book, now| {
            let until = now.plus_ms(HOLD_MS);
            book.renew_call_of(name, until);
            book.holds.get_mut(name).map(|hold| hold.until = until).is_some()
        })
        .await
    }

    /// From now `usd` is set aside under `name`, also where that was void meanwhile: what was used, until it
    /// is durable.
    ///
    /// # Errors
    /// The store does not answer.
    pub(crate) async fn settle(&self, name: &str, usd: f64) -> Result<(), StoreError> {
        if usd <= 0.0 {
            return self.release(name).await;
        }
        self.change_books(|book, now| {
            self.settle_hold(book, name, usd, now);
            true
        })
        .await
    }

    /// Gives back what was used by requests of `session` that were answered and are counted in facts, which are
    /// durable.
    ///
    /// # Errors
    /// The store does not answer. What is set aside is void after a while all the same.
    pub(crate) async fn release_settled(
        &self,
        session: &str,
        ended: &EndedHelp,
    ) -> Result<(), StoreError> {
        let is_over = |name: &str| is_counted(name, session, ended);
        let (_, book) = self.read_own_book(self.clock.now()).await?;
        if !book.holds.iter().any(|(name, hold)| hold.settled && is_over(name)) {
            return Ok(());
        }
        self.change_books(|book, _| {
            let before = book.holds.len();
            book.holds.retain(|name, hold| !(hold.settled && is_over(name)));
            book.holds.len() != before
        })
        .await
    }

    /// Gives back what is set aside under `name`: what was used is durable.
    ///
    /// # Errors
    /// The store does not answer. What is set aside is void after a while all the same.
    pub async fn release(&self, name: &str) -> Result<(), StoreError> {
        self.change_books(|book, _| book.holds.remove(name).is_some()).await
    }

    /// Judges the caps of the person.
    async fn judge_own(
        &self,
        book: &SpendingBook,
        name: &str,
        at_most: Option<f64>,
        now: Timestamp,
    ) -> Result<SpendingAnswer, StoreError> {
        let mut answer = SpendingAnswer::Granted;
        for cap in &self.caps.own {
            let (limit, max) = (cap.limit.clone(), cap.max_usd);
            if at_most.is_none() {
                if cap.lets_unpriced_pass {
                    continue;
                }
                return Ok(SpendingAnswer::Reached(ReachedCap { limit, spent: None, max }));
            }
            let spent = self.spent_of_cap(cap, now).await?;
            let used = spent + book.used_for_call_of(name, cap.agent.as_deref());
            if used >= max {
                return Ok(SpendingAnswer::Reached(ReachedCap { limit, spent: Some(used), max }));
            }
            if spent + book.held_by_others(name, cap.agent.as_deref()) >= max {
                answer = SpendingAnswer::Busy;
            }
        }
        Ok(answer)
    }

    async fn spent_of_cap(&self, cap: &SpendingCap, now: Timestamp) -> Result<f64, StoreError> {
        let today = utc_day(now);
        let from = match cap.limit {
            LimitName::PersonUsd => format!("{}-01", today.get(..7).unwrap_or(&today)),
            _ => today,
        };
        let filter = UsageFilter { from: Some(from), to: None };
        let rows = self.store.usage_rows(&filter).await?;
        let of = |agent: &str| cap.agent.as_deref().is_none_or(|wanted| wanted == agent);
        Ok(rows.iter().filter(|row| of(&row.agent)).map(|row| row.cost_usd).sum())
    }

    /// Judges the cap of everybody, and sets aside there.
    async fn reserve_of_server(
        &self,
        name: &str,
        at_most: Option<f64>,
        now: Timestamp,
    ) -> Result<SpendingAnswer, StoreError> {
        let Some(server) = &self.caps.server else { return Ok(SpendingAnswer::Granted) };
        let (limit, max) = (LimitName::ServerUsd, server.max_usd);
        let Some(at_most) = at_most else {
            return Ok(SpendingAnswer::Reached(ReachedCap { limit, spent: None, max }));
        };
        loop {
            // What is set aside first, then what was spent: what somebody gave back in between is among
            // the latter, and changed the version.
            let (version, mut book) = read_server_book(server, now).await?;
            let spent = server.book.spent_on(&utc_day(now)).await?;
            let used = spent + book.used_for_call_of(name, None);
            if used >= max {
                return Ok(SpendingAnswer::Reached(ReachedCap { limit, spent: Some(used), max }));
            }
            if spent + book.held_by_others(name, None) >= max || !book.has_room(name) {
                return Ok(SpendingAnswer::Busy);
            }
            self.put_hold(&mut book, name, at_most, now.plus_ms(HOLD_MS));
            if server.book.replace_book(book_text(&book), version, now).await? {
                return Ok(SpendingAnswer::Granted);
            }
        }
    }

    fn put_hold(&self, book: &mut SpendingBook, name: &str, usd: f64, until: Timestamp) {
        let agent = self.caps.own.iter().find_map(|cap| cap.agent.clone()).unwrap_or_default();
        let hold = SpendingHold { usd, until, agent, settled: false };
        book.holds.insert(name.to_owned(), hold);
        book.renew_call_of(name, until);
    }

    fn settle_hold(&self, book: &mut SpendingBook, name: &str, usd: f64, now: Timestamp) {
        self.put_hold(book, name, usd, now.plus_ms(HOLD_MS));
        book.holds.entry(name.to_owned()).and_modify(|hold| hold.settled = true);
    }

    /// Changes both books, each until nobody else has changed it meanwhile. `change` says whether there is
    /// anything to write.
    async fn change_books(
        &self,
        change: impl Fn(&mut SpendingBook, Timestamp) -> bool,
    ) -> Result<(), StoreError> {
        loop {
            let now = self.clock.now();
            let (version, mut book) = self.read_own_book(now).await?;
            if !change(&mut book, now) || self.replace_own_book(&book, version, now).await? {
                break;
            }
        }
        let Some(server) = &self.caps.server else { return Ok(()) };
        loop {
            let now = self.clock.now();
            let (version, mut book) = read_server_book(server, now).await?;
            if !change(&mut book, now)
                || server.book.replace_book(book_text(&book), version, now).await?
            {
                return Ok(());
            }
        }
    }

    async fn read_own_book(&self, now: Timestamp) -> Result<(u32, SpendingBook), StoreError> {
        loop {
            let Some(kept) = self.store.stored_item(BOOK.0, BOOK.1).await? else {
                return Ok((0, SpendingBook::default()));
            };
            if let Some(book) = SpendingBook::parse(&kept.text, now) {
                return Ok((kept.version, book));
            }
            self.replace_own_book(&SpendingBook::all_held(now), kept.version, now).await?;
        }
    }

    /// A number for a name.
    fn random_number(&self) -> u64 {
        self.clock.random_number()
    }

    async fn replace_own_book(
        &self,
        book: &SpendingBook,
        version: u32,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let item = StoredItem {
            what: BOOK.0.into(),
            name: BOOK.1.into(),
            text: book_text(book),
            state: "active".into(),
            hash: String::new(),
            version,
            label: Label::default(),
            by: String::new(),
            ts: now,
        };
        Ok(self.store.replace_stored_item(&item, version).await?.is_some())
    }
}

/// The book of everybody; one that cannot be read is replaced.
async fn read_server_book(
    server: &ServerSpending,
    now: Timestamp,
) -> Result<(u64, SpendingBook), StoreError> {
    loop {
        let (version, text) = server.book.read_book(now).await?;
        if let Some(book) = SpendingBook::parse(&text, now) {
            return Ok((version, book));
        }
        server.book.replace_book(book_text(&SpendingBook::all_held(now)), version, now).await?;
    }
}

fn book_text(book: &SpendingBook) -> String {
    serde_json::to_string(book).unwrap_or_default()
}

fn utc_day(now: Timestamp) -> String {
    now.to_string().chars().take(10).collect()
}

/// `model` under the caps of `spending`, for what asks it outside of any session's own work: `whose` names it.
pub fn capped_model(
    model: Arc<dyn Model>,
    spending: Option<&SharedSpending>,
    whose: &str,
) -> Arc<dyn Model> {
    let Some(spending) = spending else { return model };
    let bounds = HelperBounds {
        session: SessionId::new(whose),
        call: None,
        // No run is behind it: nothing but the caps bounds it.
        family: FamilySpending::default(),
        spending: Some(spending.clone()),
        time: SessionTime::from_last_fact(spending.clock.clone(), Timestamp(0)),
    };
    CappedModel::wrap(model, bounds)
}

/// The most that a request of about `tokens` to `model` uses, for the bounds of a run and of a session.
pub(crate) fn most_used_by_request(model: &ModelInfo, tokens: u64) -> SpentSum {
    let input = (tokens as f64 * ESTIMATE_FACTOR) as u64;
    SpentSum {
        usd: most_of_request(model, tokens).unwrap_or(0.0),
        tokens: input.saturating_add(model.max_output),
    }
}

/// The most that a request of about `tokens` to `model` costs, in US dollars; `None`: its price is not
/// known.
pub(crate) fn most_of_request(model: &ModelInfo, tokens: u64) -> Option<f64> {
    let price = model.price?;
    let input = (tokens as f64 * ESTIMATE_FACTOR) as u64;
    let output = Usage { output: model.max_output, ..Usage::default() };
    let plain = model.cost(&Usage { input, ..Usage::default() })?;
    let written = model.cost(&Usage { cache_write: input, ..Usage::default() })?;
    let input_cost = if price.cache_write > price.input { written } else { plain };
    Some(input_cost + model.cost(&output)?)
}

#[cfg(test)]
mod tests;
