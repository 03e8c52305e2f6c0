//! What local servers said of their models, of the windows above all, kept for a short while. Not here: asking
//! them (`crate::models`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use weir_providers::window::ServerReport;

/// How long an answer counts: whoever starts their server anew with another window is believed soon.
const KEPT: Duration = Duration::from_secs(60);

/// What servers said, by model.
#[derive(Debug, Default)]
pub struct LocalModelWindows {
    /// With the moment until which nobody is asked again; none: whoever speaks with the model asks.
    reports: Mutex<BTreeMap<String, (Option<Instant>, ServerReport)>>,
    /// Models of which it was said that their window is a guess.
    guesses: Mutex<BTreeSet<String>>,
}

impl LocalModelWindows {
    pub(crate) fn recent_report(&self, model: &str) -> Option<ServerReport> {
        let kept = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        let (until, report) = kept.get(model)?;
        until.is_some_and(|until| Instant::now() < until).then_some(*report)
    }

    /// The last answer, however old: more than a guess, where nobody is asked again.
    pub(crate) fn last_report(&self, model: &str) -> Option<ServerReport> {
        let kept = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(model).map(|(_, report)| *report)
    }

    pub(crate) fn remember_report(&self, model: &str, report: ServerReport) {
        let mut kept = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(model.to_owned(), (Some(Instant::now() + KEPT), report));
    }

    /// Keeps an answer that was given before anybody spoke with the model, and without loading it.
    pub(crate) fn remember_ahead(&self, model: &str, report: ServerReport) {
        let mut kept = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(model.to_owned(), (None, report));
    }

    /// Whether it is to be said that the window of this model is a guess: once.
    pub(crate) fn tells_guess(&self, model: &str) -> bool {
        let mut told = self.guesses.lock().unwrap_or_else(PoisonError::into_inner);
        told.insert(model.to_owned())
    }
}
