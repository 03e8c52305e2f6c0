//! What a model streams, on its way to whoever listens: without the keys in use (Z7). Not here: what of it
//! is kept when a reply is cut, and the reply itself.

use std::sync::{Arc, Mutex, PoisonError};

use weir_core::governance::filter::StreamRedactor;
use weir_core::model::ModelSignal;

use crate::hub::{SignalKind, UpdateHub};

/// The stream of one turn.
pub(crate) struct ReplyStream {
    hub: Arc<UpdateHub>,
    subject: String,
    /// Of what it says, and of what it thinks.
    veils: Mutex<[StreamRedactor; 2]>,
}

impl ReplyStream {
    pub(crate) fn new(hub: Arc<UpdateHub>, subject: String, secrets: &[String]) -> ReplyStream {
        let veil = StreamRedactor::new(secrets);
        ReplyStream { hub, subject, veils: Mutex::new([veil.clone(), veil]) }
    }

    /// A piece of it.
    pub(crate) fn push_signal(&self, signal: &ModelSignal) {
        let (number, kind, text) = match signal {
            ModelSignal::Text(text) => (0, SignalKind::Text, text),
            ModelSignal::Thinking(text) => (1, SignalKind::Thinking, text),
            ModelSignal::CallBegun(_) => return,
        };
        let mut veils = self.veils.lock().unwrap_or_else(PoisonError::into_inner);
        let clean = veils[number].push(text.as_bytes());
        self.send_clean(kind, &clean);
    }

    /// The reply is whole.
    pub(crate) fn finish(&self) {
        let mut veils = self.veils.lock().unwrap_or_else(PoisonError::into_inner);
        for (veil, kind) in veils.iter_mut().zip([SignalKind::Text, SignalKind::Thinking]) {
            self.send_clean(kind, &veil.finish());
        }
    }

    /// A value begins where a character does, so no piece ends within one.
    fn send_clean(&self, kind: SignalKind, clean: &[u8]) {
        if !clean.is_empty() {
            self.hub.send_signal(kind, &self.subject, &String::from_utf8_lossy(clean));
        }
    }
}
