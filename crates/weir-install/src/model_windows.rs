//! What local servers said of the windows of their models, kept for a short while. Not here: asking
//! them (`crate::models`).

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use weir_providers::window::WindowReport;

/// How long an answer counts: whoever starts their server anew with another window is believed soon.
const KEPT: Duration = Duration::from_secs(60);

/// What servers said, by model.
#[derive(Debug, Default)]
pub struct LocalModelWindows(Mutex<BTreeMap<String, (Instant, WindowReport)>>);

impl LocalModelWindows {
    pub(crate) fn recent_window(&self, model: &str) -> Option<WindowReport> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(model).filter(|(at, _)| at.elapsed() < KEPT).map(|(_, window)| *window)
    }

    pub(crate) fn remember_window(&self, model: &str, window: WindowReport) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(model.to_owned(), (Instant::now(), window));
    }
}
