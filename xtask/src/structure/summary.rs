//! Everything that the table and the JSON show, put together once. Not here: single places; `--list`
//! prints those.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Measured;
use super::circles::{Circle, CrateModules};
use super::lines::{self, CrateLines, LineCount};
use super::maxima::tenths_of_percent;
use super::names::{self, NameGroup, Repeated};
use super::traits::LoneTrait;
use crate::tidy::tree::Tree;

/// How many of the most frequent names are shown.
const OFFENDERS_SHOWN: usize = 40;

/// The whole report.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    pub(super) functions: NameFigures,
    pub(super) types: NameFigures,
    /// One-word names that three types or more bear.
    pub(super) repeated_types: Vec<Repeated>,
    /// Functions that take a tuple, by crate.
    pub(super) tuples: BTreeMap<String, usize>,
    pub(super) circles: Vec<CrateCircles>,
    pub(super) lines: Vec<CrateLines>,
    pub(super) product_lines: LineCount,
    pub(super) development_lines: LineCount,
    pub(super) lone_traits: Vec<LoneTrait>,
}

/// Figures about the names of one kind of thing.
#[derive(Debug, Serialize)]
pub(super) struct NameFigures {
    pub(super) all: usize,
    pub(super) one_word: usize,
    pub(super) one_word_permille: usize,
    pub(super) participles: usize,
    pub(super) participles_permille: usize,
    pub(super) most_frequent: Vec<Repeated>,
}

/// The circles of one crate.
#[derive(Debug, Serialize)]
pub(super) struct CrateCircles {
    pub(super) krate: String,
    pub(super) modules: usize,
    pub(super) arrows: usize,
    pub(super) circles: Vec<Circle>,
}

impl Summary {
    pub(super) fn of(tree: &Tree, measured: &Measured) -> Summary {
        let mut tuples = BTreeMap::new();
        for taker in &measured.tuples {
            *tuples.entry(taker.krate.clone()).or_default() += 1;
        }
        let lines = lines::crate_lines(tree);
        let total = |development: bool| {
            let mut total = LineCount::default();
            for lines in lines.iter().filter(|lines| lines.development == development) {
                total += lines.count;
            }
            total
        };
        Summary {
            functions: name_figures(&measured.functions),
            types: name_figures(&measured.types),
            repeated_types: names::borne_often(&measured.types),
            tuples,
            circles: measured.crates.iter().map(crate_circles).collect(),
            product_lines: total(false),
            development_lines: total(true),
            lines,
            lone_traits: measured.traits.clone(),
        }
    }
}

fn name_figures(group: &NameGroup) -> NameFigures {
    let mut most_frequent = names::by_frequency(group);
    most_frequent.truncate(OFFENDERS_SHOWN);
    NameFigures {
        all: group.all,
        one_word: group.one_word.len(),
        one_word_permille: tenths_of_percent(group.one_word.len(), group.all),
        participles: group.participles(),
        participles_permille: tenths_of_percent(group.participles(), group.all),
        most_frequent,
    }
}

fn crate_circles(krate: &CrateModules) -> CrateCircles {
    CrateCircles {
        krate: krate.krate.clone(),
        modules: krate.modules.len(),
        arrows: krate.edges.len(),
        circles: krate.ordered_circles(),
    }
}
