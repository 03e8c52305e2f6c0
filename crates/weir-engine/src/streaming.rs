//! What a model streams, on its way to whoever listens: without the keys in use (Z7). Not here: what of it
//! is kept when a reply is cut, and the reply itself.

use std::sync::{Arc, Mutex, PoisonError};

use weir_core::governance::filter::Veil;
use weir_core::model::Signal;

use crate::hub::{Hub, SignalKind};

/// The stream of one turn.
pub(crate) struct Stream {
    hub: Arc<Hub>,
    subject: String,
    /// Of what it says, and of what it thinks.
    veils: Mutex<[Veil; 2]>,
}

impl Stream {
    pub(crate) fn new(hub: Arc<Hub>, subject: String, secrets: &[String]) -> Stream {
        Stream { hub, subject, veils: Mutex::new([Veil::new(secrets), Veil::new(secrets)]) }
    }

    /// A piece of it.
    pub(crate) fn tell(&self, signal: &Signal) {
        let (number, kind, text) = match signal {
            Signal::Text(text) => (0, SignalKind::Text, text),
            Signal::Thinking(text) => (1, SignalKind::Thinking, text),
            Signal::CallBegun(_) => return,
        };
        let mut veils = self.veils.lock().unwrap_or_else(PoisonError::into_inner);
        let clean = veils[number].push(text.as_bytes());
        self.give(kind, &clean);
    }

    /// The reply is whole.
    pub(crate) fn finish(&self) {
        let mut veils = self.veils.lock().unwrap_or_else(PoisonError::into_inner);
        for (veil, kind) in veils.iter_mut().zip([SignalKind::Text, SignalKind::Thinking]) {
            self.give(kind, &veil.finish());
        }
    }

    /// A value begins where a character does, so no piece ends within one.
    fn give(&self, kind: SignalKind, clean: &[u8]) {
        if !clean.is_empty() {
            self.hub.signal(kind, &self.subject, &String::from_utf8_lossy(clean));
        }
    }
}
