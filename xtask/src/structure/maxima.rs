//! What may not get worse: the figures in `xtask/structure.toml`, and the same as measured. Not
//! here: what `tidy` says when one did (`tidy/ratchet`).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Context as _;
use serde::Deserialize;

use super::Measured;

/// Where the maxima stand.
pub(crate) const MAXIMA: &str = "xtask/structure.toml";

const HEADER: &str = "\
# The shape of the product's sources as `cargo xtask structure` measured it when it was best. Each
# figure is a maximum that `cargo xtask tidy` holds; `cargo xtask structure --lower` writes what got
# better. Raising one by hand is a decision that its commit explains.

";

/// The figures that are held.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Maxima {
    pub(crate) one_word_functions_percent: f64,
    pub(crate) participle_functions_percent: f64,
    pub(crate) one_word_types_percent: f64,
    pub(crate) participle_types: usize,
    pub(crate) tuple_parameters: usize,
    /// The most modules in one circle, by crate; a crate that is not named has none.
    #[serde(default)]
    pub(crate) circles: BTreeMap<String, usize>,
}

impl Maxima {
    /// What is measured now.
    pub(crate) fn of(measured: &Measured) -> Maxima {
        let (functions, types) = (&measured.functions, &measured.types);
        let circles = measured.crates.iter().filter(|krate| !krate.circles.is_empty());
        Maxima {
            one_word_functions_percent: percent(functions.one_word.len(), functions.all),
            participle_functions_percent: percent(functions.participles(), functions.all),
            one_word_types_percent: percent(types.one_word.len(), types.all),
            participle_types: types.participles(),
            tuple_parameters: measured.tuples.len(),
            circles: circles.map(|krate| (krate.krate.clone(), krate.largest_circle())).collect(),
        }
    }

    /// The committed ones, with their text; none where there is no such file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn read(root: &Path) -> anyhow::Result<Option<(Maxima, String)>> {
        let text = match fs::read_to_string(root.join(MAXIMA)) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).context(MAXIMA),
        };
        let maxima = toml::from_str(&text).context(MAXIMA)?;
        Ok(Some((maxima, text)))
    }

    /// Of each figure the better one. A crate without a maximum is given none: it may have no circle.
    fn lowered_to(&self, now: &Maxima) -> Maxima {
        let circles = self.circles.iter().filter_map(|(krate, most)| {
            now.circles.get(krate).map(|circle| (krate.clone(), *circle.min(most)))
        });
        Maxima {
            one_word_functions_percent: self
                .one_word_functions_percent
                .min(now.one_word_functions_percent),
            participle_functions_percent: self
                .participle_functions_percent
                .min(now.participle_functions_percent),
            one_word_types_percent: self.one_word_types_percent.min(now.one_word_types_percent),
            participle_types: self.participle_types.min(now.participle_types),
            tuple_parameters: self.tuple_parameters.min(now.tuple_parameters),
            circles: circles.collect(),
        }
    }

    fn to_text(&self) -> String {
        let mut text = HEADER.to_owned();
        let mut figure = |key: &str, value: String| {
            // Writing to a text cannot fail.
            let _ = writeln!(text, "{key} = {value}");
        };
        figure("one_word_functions_percent", format!("{:.1}", self.one_word_functions_percent));
        figure("participle_functions_percent", format!("{:.1}", self.participle_functions_percent));
        figure("one_word_types_percent", format!("{:.1}", self.one_word_types_percent));
        figure("participle_types", self.participle_types.to_string());
        figure("tuple_parameters", self.tuple_parameters.to_string());
        text.push_str("\n# The largest circle of modules; a crate that is not named has none.\n");
        text.push_str("[circles]\n");
        for (krate, most) in &self.circles {
            let _ = writeln!(text, "{krate} = {most}");
        }
        text
    }
}

/// Parts of a thousand, rounded up, so that a maximum written from it holds.
pub(super) fn tenths_of_percent(part: usize, all: usize) -> usize {
    (part * 1000).div_ceil(all.max(1))
}

fn percent(part: usize, all: usize) -> f64 {
    tenths_of_percent(part, all) as f64 / 10.0
}

/// The text of the maxima as they are to stand: lowered to what is measured, or made anew.
///
/// # Errors
/// The file cannot be read.
pub(super) fn lowered(root: &Path, measured: &Measured) -> anyhow::Result<String> {
    let now = Maxima::of(measured);
    let maxima = match Maxima::read(root)? {
        Some((maxima, _)) => maxima.lowered_to(&now),
        None => now,
    };
    Ok(maxima.to_text())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn maxima(figure: usize, circles: &[(&str, usize)]) -> Maxima {
        Maxima {
            one_word_functions_percent: percent(figure, 100),
            participle_functions_percent: 1.5,
            one_word_types_percent: 20.0,
            participle_types: figure,
            tuple_parameters: figure,
            circles: circles.iter().map(|(krate, most)| ((*krate).to_owned(), *most)).collect(),
        }
    }

    #[test]
    fn figures_are_lowered_and_never_raised() {
        let old = maxima(10, &[("a", 5), ("b", 3), ("c", 2)]);
        let now = maxima(7, &[("a", 4), ("b", 9), ("d", 2)]);
        assert_eq!(old.lowered_to(&now), maxima(7, &[("a", 4), ("b", 3)]));
        assert_eq!(now.lowered_to(&old), maxima(7, &[("a", 4), ("b", 3)]));
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        let maxima = maxima(73, &[("weir", 10), ("weir-core", 13)]);
        let read: Maxima = toml::from_str(&maxima.to_text()).expect("it is TOML");
        assert_eq!(read, maxima);
    }

    #[test]
    fn a_share_is_rounded_up() {
        assert_eq!(tenths_of_percent(1, 3), 334);
        assert_eq!(tenths_of_percent(1, 2), 500);
        assert_eq!(tenths_of_percent(0, 0), 0);
    }
}
