//! Functions that take a tuple as a parameter: at the call nothing in it has a name.

use serde::Serialize;

use super::walk::Declared;
use super::{Listed, Place};

/// A function that takes one tuple or more.
#[derive(Debug, Clone, Serialize)]
pub(super) struct TupleTaker {
    pub(super) krate: String,
    pub(super) function: String,
    pub(super) place: Place,
    pub(super) tuples: usize,
}

/// All of them in the product. What a trait dictates is counted once, where the trait says so.
pub(super) fn tuple_takers(sources: &[Declared]) -> Vec<TupleTaker> {
    let mut takers = Vec::new();
    for source in sources.iter().filter(|source| source.product) {
        let ours = |function: &&super::walk::Function| {
            function.tuples > 0 && !function.for_tests && !function.dictated
        };
        for function in source.functions.iter().filter(ours) {
            takers.push(TupleTaker {
                krate: source.krate.clone(),
                function: function.name.clone(),
                place: function.place.clone(),
                tuples: function.tuples,
            });
        }
    }
    takers
}

pub(super) fn listed(takers: &[TupleTaker]) -> Vec<Listed> {
    let row = |taker: &TupleTaker| Listed {
        place: taker.place.clone(),
        what: format!("fn {}", taker.function),
        note: if taker.tuples > 1 { format!("{} tuples", taker.tuples) } else { String::new() },
        key: format!("{} {}", taker.place.path, taker.function),
    };
    takers.iter().map(row).collect()
}
