//! Every request of every scenario, as each dialect would send it: the prefix law on real bytes,
//! and lines for the judges from outside.

use std::collections::BTreeMap;
use std::sync::Mutex;

use serde_json::{Value, json};
use weir_core::model::ModelRequest;
use weir_engine::ports::MediaMap;
use weir_providers::DIALECTS;
use weir_providers::dialect::{RequestEncoder, VendorQuirks};

/// Encodes what it hears in every dialect.
pub struct Wire {
    state: Mutex<State>,
}

struct State {
    encoders: Vec<Box<dyn RequestEncoder>>,
    /// Lines for the judges, by dialect.
    lines: BTreeMap<&'static str, Vec<Value>>,
    /// Requests that did not keep the whole one before, by dialect.
    lost: Vec<(&'static str, u64, u64)>,
}

impl Default for Wire {
    fn default() -> Wire {
        let state = State { encoders: encoders(), lines: BTreeMap::new(), lost: Vec::new() };
        Wire { state: Mutex::new(state) }
    }
}

/// A fresh encoder of each dialect, in their order.
pub(crate) fn encoders() -> Vec<Box<dyn RequestEncoder>> {
    let quirks =
        VendorQuirks { stream_usage: true, max_completion_tokens: true, ..VendorQuirks::default() };
    DIALECTS.iter().map(|dialect| dialect.new_encoder(&quirks)).collect()
}

impl Wire {
    /// Hears a request.
    pub fn hear(&self, request: &ModelRequest, media: &MediaMap) {
        let mut state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let State { encoders, lines, lost } = &mut *state;
        for (dialect, encoder) in DIALECTS.iter().zip(encoders) {
            let prepared = encoder.encode(request, media);
            if prepared.prefix_bytes < prepared.prefix_expected {
                lost.push((dialect.name(), prepared.prefix_bytes, prepared.prefix_expected));
            }
            let body: Value = serde_json::from_slice(&encoder.last_body()).unwrap_or(Value::Null);
            let path = dialect.request_path(&request.model.model.name);
            let line =
                json!({ "m": "POST", "path": path, "body": body, "status": 200, "resp": "" });
            lines.entry(dialect.name()).or_default().push(line);
        }
    }

    /// A new life of the program begins: encoders remember nothing.
    pub fn forget(&self) {
        let mut state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        state.encoders = encoders();
    }

    /// Requests that did not keep the whole one before: dialect, bytes kept, bytes expected.
    pub fn lost(&self) -> Vec<(&'static str, u64, u64)> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner).lost.clone()
    }

    /// Lines for the judges.
    pub fn lines(&self) -> Vec<Value> {
        let state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        state.lines.values().flatten().cloned().collect()
    }
}
