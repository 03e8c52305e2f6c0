//! How much of a text stands in other texts already, part by part: by runs of words that both have.
//! Exact, whatever the language. Not here: what two texts mean, and reading files.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::sources::words_of;

/// Words of a run.
const RUN_WORDS: usize = 5;
/// Most words of a text that are compared.
const WORDS_MAX: usize = 400_000;

/// A text in parts, with what of each was met elsewhere.
pub(crate) struct NoveltyMeter {
    /// The parts in which a run stands.
    parts_of: HashMap<u64, Vec<usize>>,
    parts: Vec<MeasuredPart>,
}

/// A part and what was met of it.
#[derive(Default)]
struct MeasuredPart {
    words: usize,
    runs: usize,
    met: HashSet<u64>,
    /// The text that has most of it, with how many of its runs.
    nearest: Option<(usize, String)>,
}

/// What was found of a part.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PartNovelty {
    pub(crate) words: usize,
    /// From 0 (none of it was met) to 1.
    pub(crate) known: f64,
    /// The name of the text that has most of it.
    pub(crate) nearest: Option<String>,
}

fn runs_of(words: &[String]) -> HashSet<u64> {
    let hash = |run: &[String]| {
        let mut hasher = DefaultHasher::new();
        run.hash(&mut hasher);
        hasher.finish()
    };
    match words.len() {
        0 => HashSet::new(),
        1..RUN_WORDS => HashSet::from([hash(words)]),
        _ => words.windows(RUN_WORDS).map(hash).collect(),
    }
}

impl NoveltyMeter {
    pub(crate) fn new<'a>(parts: impl Iterator<Item = &'a str>) -> NoveltyMeter {
        let mut meter = NoveltyMeter { parts_of: HashMap::new(), parts: Vec::new() };
        let mut left = WORDS_MAX;
        for (at, part) in parts.enumerate() {
            let mut words = words_of(part);
            let count = words.len();
            words.truncate(left);
            left -= words.len();
            let runs = runs_of(&words);
            let measured =
                MeasuredPart { words: count, runs: runs.len(), ..MeasuredPart::default() };
            meter.parts.push(measured);
            for run in runs {
                meter.parts_of.entry(run).or_default().push(at);
            }
        }
        meter
    }

    /// Takes note of what of the parts stands in another text.
    pub(crate) fn meet_text(&mut self, name: &str, text: &str) {
        let mut here: HashMap<usize, usize> = HashMap::new();
        for run in runs_of(&words_of(text)) {
            for at in self.parts_of.get(&run).into_iter().flatten() {
                if let Some(part) = self.parts.get_mut(*at) {
                    part.met.insert(run);
                    *here.entry(*at).or_default() += 1;
                }
            }
        }
        for (at, count) in here {
            let Some(part) = self.parts.get_mut(at) else { continue };
            if part.nearest.as_ref().is_none_or(|(best, _)| count > *best) {
                part.nearest = Some((count, name.to_owned()));
            }
        }
    }

    /// What was found of each part.
    pub(crate) fn into_parts(self) -> Vec<PartNovelty> {
        let part = |part: MeasuredPart| PartNovelty {
            words: part.words,
            known: if part.runs == 0 { 0.0 } else { part.met.len() as f64 / part.runs as f64 },
            nearest: part.nearest.map(|(_, name)| name),
        };
        self.parts.into_iter().map(part).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k9_what_stands_elsewhere_is_told_from_what_is_new() {
        let parts = [
            "The engine needs twelve percent less energy than before.",
            "Nobody wrote about the moons of that planet until now.",
            "",
        ];
        let mut meter = NoveltyMeter::new(parts.into_iter());
        meter.meet_text("far.md", "than before and after");
        meter.meet_text(
            "near.md",
            "Note: the ENGINE needs twelve percent, less energy than before!",
        );
        let found = meter.into_parts();
        let known: Vec<f64> = found.iter().map(|part| part.known).collect();
        assert_eq!(known, [1.0, 0.0, 0.0]);
        assert_eq!(found[0].nearest.as_deref(), Some("near.md"));
        assert_eq!((found[1].nearest.as_deref(), found[1].words), (None, 10));
    }
}
