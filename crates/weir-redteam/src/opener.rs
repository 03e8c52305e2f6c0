//! A model that reads everything: what comes as a handle it opens at once, so that whatever it wants next
//! is wanted in a context that has the words. Attacks that rest on foreign words having been read stay what
//! they are where words are kept beside the context. Not here: attacks on what is kept (`classes::handles`).

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;
use weir_core::model::Usage;
use weir_core::tool::built_in::OPEN_HANDLE;

use crate::attacker::{Mind, Move, Seen, Wish};

/// Opens for another mind.
pub(crate) struct Opener {
    mind: Arc<Mutex<dyn Mind>>,
    /// What came before it was opened, and which of it is being opened.
    waiting: Vec<Seen>,
    opening: Vec<usize>,
}

impl Opener {
    /// For this mind.
    pub(crate) fn of(mind: Arc<Mutex<dyn Mind>>) -> Arc<Mutex<Opener>> {
        Arc::new(Mutex::new(Opener { mind, waiting: Vec::new(), opening: Vec::new() }))
    }

    fn inner(&self) -> std::sync::MutexGuard<'_, dyn Mind + 'static> {
        self.mind.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Mind for Opener {
    fn next(&mut self, results: &[Seen]) -> Move {
        if self.opening.is_empty() {
            let kept = results.iter().enumerate();
            let kept = kept.filter_map(|(at, seen)| Some((at, kept_name(&seen.text)?)));
            let (opening, wishes): (Vec<usize>, Vec<Wish>) = kept
                .map(|(at, name)| {
                    (at, Wish::new(OPEN_HANDLE, json!({ "text": format!("{{{{{name}}}}}") })))
                })
                .unzip();
            if !opening.is_empty() {
                self.waiting = results.to_vec();
                self.opening = opening;
                return Move::Call(wishes);
            }
            return self.inner().next(results);
        }
        let mut seen = std::mem::take(&mut self.waiting);
        for (at, opened) in std::mem::take(&mut self.opening).into_iter().zip(results) {
            seen[at].text.clone_from(&opened.text);
        }
        self.inner().next(&seen)
    }
    fn helps(&mut self) -> String {
        self.inner().helps()
    }
    fn usage(&self) -> Usage {
        self.inner().usage()
    }
}

/// The name of what stands outside, as it is told: `[h12: 40 characters from …`.
fn kept_name(text: &str) -> Option<&str> {
    let at = text.rfind("[h")?;
    let name = text[at + 1..].split_once(": ")?.0;
    name[1..].bytes().all(|byte| byte.is_ascii_digit()).then_some(name)
}
