//! How far the caps on money are used up, for faces (R11). Not here: holding them (`weir_engine::spending`).

use serde::Serialize;
use weir_core::ids::Timestamp;
use weir_core::view::told::format_dollars;
use weir_engine::ports::{Store, StoreError, UsageFilter};

use crate::context::InstallationContext;

/// One cap, and what it has counted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CapState {
    /// The setting: `spending.day_usd`.
    pub key: String,
    /// What it bounds, in words: `today`.
    pub span: String,
    /// The cap, in US dollars.
    pub max_usd: f64,
    /// What was spent in its span so far; `None`: it is counted for each session or schedule by itself.
    pub spent_usd: Option<f64>,
}

impl CapState {
    /// In words: `$1.20 of $5.00 today`.
    pub fn in_words(&self) -> String {
        let max = format_dollars(self.max_usd);
        match self.spent_usd {
            Some(spent) => format!("{} of {max} {}", format_dollars(spent), self.span),
            None => format!("{max} {}", self.span),
        }
    }
}

/// The caps of the settings, with what was spent of each.
///
/// # Errors
/// The settings or the store cannot be read.
pub async fn cap_states(
    cx: &InstallationContext,
    store: &dyn Store,
    now: Timestamp,
) -> anyhow::Result<Vec<CapState>> {
    let caps = &cx.config()?.settings.spending;
    let today: String = now.to_string().chars().take(10).collect();
    let month = format!("{}-01", today.get(..7).unwrap_or(&today));
    let mut states = Vec::new();
    let mut state = |key: &str, span: &str, max: Option<f64>, spent: Option<f64>| {
        states.extend(max.map(|max_usd| CapState {
            key: format!("spending.{key}"),
            span: span.to_owned(),
            max_usd,
            spent_usd: spent,
        }));
    };
    let spent_today = spent_since(store, &today).await?;
    state("session_usd", "for each session", caps.session_usd, None);
    state("day_usd", "today", caps.day_usd, Some(spent_today));
    if caps.person_usd.is_some() {
        let spent = spent_since(store, &month).await?;
        state("person_usd", "this month", caps.person_usd, Some(spent));
    }
    let schedule = (caps.schedule_usd > 0.0).then_some(caps.schedule_usd);
    state("schedule_usd", "a day for each scheduled agent", schedule, None);
    if caps.server_usd.is_some() {
        let spent = match cx.server_book() {
            Some(book) => book.spent_on(&today).await?,
            None => spent_today,
        };
        state("server_usd", "today, of everybody", caps.server_usd, Some(spent));
    }
    Ok(states)
}

async fn spent_since(store: &dyn Store, day: &str) -> Result<f64, StoreError> {
    let filter = UsageFilter { from: Some(day.to_owned()), to: None };
    Ok(store.usage_rows(&filter).await?.iter().map(|row| row.cost_usd).sum())
}
