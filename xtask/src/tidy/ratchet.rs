//! The shape of the sources gets no worse: what `cargo xtask structure` measures, against the maxima
//! in `xtask/structure.toml`. What got better is to be written down, so that it stays.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::Path;

use super::tree::Tree;
use super::{Finding, line_of};
use crate::structure::{self, List, Listed, MAXIMA, Maxima};

/// How many points a share may get better before its maximum must follow.
const POINTS_BETTER_MAX: f64 = 0.5;
/// The same for what is counted.
const COUNT_BETTER_MAX: f64 = 3.0;
/// A circle that opened by one module stays open by it.
const CIRCLE_BETTER_MAX: f64 = 0.0;
/// How many places are named for one figure.
const PLACES_NAMED_MAX: usize = 12;

/// One figure beside its maximum.
struct Figure {
    key: String,
    what: String,
    now: f64,
    most: f64,
    /// How much better it may be without anybody writing it down.
    slack: f64,
    help: Help,
}

/// What to do about a figure that got worse.
#[derive(Clone, Copy)]
struct Help {
    list: List,
    /// Only rows whose note has this, and whose thing begins with that.
    note: &'static str,
    instead: &'static str,
}

const ONE_WORD_FUNCTIONS: Help = Help {
    list: List::Names,
    note: "",
    instead: "name a function by its verb and its object, `describe_fact`",
};
const PARTICIPLE_FUNCTIONS: Help = Help {
    list: List::Names,
    note: "participle",
    instead: "name a function by its verb and its object, `describe_fact` instead of `told`",
};
const ONE_WORD_TYPES: Help = Help {
    list: List::Types,
    note: "",
    instead: "name a type by the noun of the thing and what kind it is of, `LastSentNote`",
};
const PARTICIPLE_TYPES: Help = Help {
    list: List::Types,
    note: "participle",
    instead: "name a type by the noun of the thing, `UserMessage` instead of `Said`",
};
const TUPLES: Help = Help {
    list: List::Tuples,
    note: "",
    instead: "make what belongs together a struct with named fields",
};
const CIRCLES: Help = Help {
    list: List::Circles,
    note: "",
    instead: "move what both need below both, or hand it in",
};

/// Every figure that is worse than its maximum, or much better.
///
/// # Errors
/// The maxima cannot be read.
pub(super) fn findings(root: &Path, tree: &Tree) -> anyhow::Result<Vec<Finding>> {
    let Some((maxima, text)) = Maxima::read(root)? else {
        let what = "is missing: `cargo xtask structure --lower` writes it";
        return Ok(vec![Finding::new("structure", (MAXIMA, 1), what)]);
    };
    let measured = structure::measure(tree);
    // Read only when something got worse.
    let before = OnceCell::new();
    let figures = figures(&maxima, &Maxima::of(&measured));
    let found = figures.iter().filter_map(|figure| {
        let places = || {
            let before = before.get_or_init(|| structure::measured_at_maxima(root));
            let rows = before
                .as_ref()
                .map_or_else(Vec::new, |before| measured.list_new_since(before, figure.help.list));
            new_places(&rows, figure)
        };
        let what = verdict(figure, places)?;
        Some(Finding::new("structure", (MAXIMA, line_of(&text, &figure.key)), what))
    });
    Ok(found.collect())
}

fn figures(maxima: &Maxima, now: &Maxima) -> Vec<Figure> {
    let share = |key: &str, what: &str, values: [f64; 2], help: Help| Figure {
        key: key.to_owned(),
        what: format!("per cent of {what}"),
        now: values[0],
        most: values[1],
        slack: POINTS_BETTER_MAX,
        help,
    };
    let count = |key: &str, what: &str, values: [usize; 2], help: Help| Figure {
        key: key.to_owned(),
        what: what.to_owned(),
        now: to_figure(values[0]),
        most: to_figure(values[1]),
        slack: COUNT_BETTER_MAX,
        help,
    };
    let mut figures = vec![
        share(
            "one_word_functions_percent",
            "functions with a one-word name",
            [now.one_word_functions_percent, maxima.one_word_functions_percent],
            ONE_WORD_FUNCTIONS,
        ),
        share(
            "participle_functions_percent",
            "functions named by a bare participle",
            [now.participle_functions_percent, maxima.participle_functions_percent],
            PARTICIPLE_FUNCTIONS,
        ),
        share(
            "one_word_types_percent",
            "types with a one-word name",
            [now.one_word_types_percent, maxima.one_word_types_percent],
            ONE_WORD_TYPES,
        ),
        count(
            "participle_types",
            "types named by a bare participle",
            [now.participle_types, maxima.participle_types],
            PARTICIPLE_TYPES,
        ),
        count(
            "tuple_parameters",
            "functions that take a tuple",
            [now.tuple_parameters, maxima.tuple_parameters],
            TUPLES,
        ),
    ];
    let crates = maxima.circles.keys().chain(now.circles.keys());
    let crates: BTreeSet<&String> = crates.collect();
    for krate in crates {
        let size = |of: &Maxima| to_figure(of.circles.get(krate).copied().unwrap_or(0));
        figures.push(Figure {
            key: format!("{krate} = "),
            what: format!("modules in one circle of {krate}"),
            now: size(now),
            most: size(maxima),
            slack: CIRCLE_BETTER_MAX,
            help: CIRCLES,
        });
    }
    figures
}

fn to_figure(count: usize) -> f64 {
    count as f64
}

/// What is to be said of a figure, if anything; `places` names what is new of it.
fn verdict(figure: &Figure, places: impl FnOnce() -> String) -> Option<String> {
    let Figure { now, most, what, help, .. } = figure;
    if *now > *most {
        let instead = help.instead;
        return Some(format!("{now} {what}, at most {most}: {instead}. {}", places()));
    }
    let better = *most - *now;
    (better > figure.slack).then(|| {
        format!(
            "{now} {what}, better than the maximum of {most}: `cargo xtask structure --lower`, and \
             commit it, so that it stays"
        )
    })
}

/// What is new since the maxima were written, in words.
fn new_places(rows: &[Listed], figure: &Figure) -> String {
    let rows: Vec<&Listed> = rows.iter().filter(|row| figure.concerns(row)).collect();
    let name = |row: &&Listed| format!("{}:{} {}", row.place.path, row.place.line, row.what);
    let named: Vec<String> = rows.iter().take(PLACES_NAMED_MAX).map(name).collect();
    let more = rows.len() - named.len();
    let list = figure.help.list.as_word();
    match (named.is_empty(), more) {
        (true, _) => format!("`cargo xtask structure --list {list}` names all"),
        (false, 0) => format!("New since the maximum was written: {}", named.join(", ")),
        (false, _) => format!(
            "New since the maximum was written: {}, and {more} more (`cargo xtask structure --list \
             {list} --since REVISION`)",
            named.join(", ")
        ),
    }
}

impl Figure {
    fn concerns(&self, row: &Listed) -> bool {
        // A row of a circle begins with its crate, as the key does.
        let krate = self.key.strip_suffix(" = ");
        row.note.contains(self.help.note)
            && krate.is_none_or(|krate| row.what.starts_with(&format!("{krate}: ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn maxima(percent: f64, count: usize, circle: usize) -> Maxima {
        Maxima {
            one_word_functions_percent: percent,
            participle_functions_percent: 1.0,
            one_word_types_percent: 2.0,
            participle_types: 3,
            tuple_parameters: count,
            circles: [("weir-core".to_owned(), circle)].into_iter().collect(),
        }
    }

    fn verdicts(most: &Maxima, now: &Maxima) -> Vec<String> {
        let figures = figures(most, now);
        figures.iter().filter_map(|figure| verdict(figure, || "Here.".to_owned())).collect()
    }

    #[test]
    fn what_is_as_good_as_before_or_a_little_better_is_let_be() {
        let most = maxima(73.1, 124, 13);
        assert!(verdicts(&most, &most).is_empty());
        assert!(verdicts(&most, &maxima(72.7, 121, 13)).is_empty());
    }

    #[test]
    fn what_got_worse_is_found_with_what_to_do() {
        let most = maxima(73.1, 124, 13);
        let found = verdicts(&most, &maxima(73.2, 125, 14));
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(
            found[1],
            "125 functions that take a tuple, at most 124: make what belongs together a struct \
             with named fields. Here."
        );
        assert!(found[2].starts_with("14 modules in one circle of weir-core, at most 13"));
    }

    #[test]
    fn what_got_much_better_is_to_be_written_down() {
        let most = maxima(73.1, 124, 13);
        let found = verdicts(&most, &maxima(72.0, 100, 12));
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found.iter().all(|what| what.contains("structure --lower")), "{found:?}");
    }

    #[test]
    fn a_crate_without_a_maximum_may_have_no_circle() {
        let mut most = maxima(73.1, 124, 13);
        most.circles.clear();
        assert_eq!(verdicts(&most, &maxima(73.1, 124, 2)).len(), 1);
        let mut gone = maxima(73.1, 124, 0);
        gone.circles.clear();
        assert_eq!(verdicts(&maxima(73.1, 124, 2), &gone).len(), 1);
    }

    #[test]
    fn what_is_new_is_named_by_its_place() {
        let row = |what: &str, note: &str| Listed {
            place: structure::Place { path: "a.rs".to_owned(), line: 7 },
            what: what.to_owned(),
            note: note.to_owned(),
            key: what.to_owned(),
        };
        let rows = [row("fn told", "participle"), row("fn tell", "")];
        let most = maxima(73.1, 124, 13);
        let figures = figures(&most, &most);
        let [_, participles, ..] = figures.as_slice() else { panic!("there are more") };
        assert_eq!(
            new_places(&rows, participles),
            "New since the maximum was written: a.rs:7 fn told"
        );
        let none = new_places(&rows[1..], participles);
        assert_eq!(none, "`cargo xtask structure --list names` names all");
        let many = vec![row("fn told", "participle"); PLACES_NAMED_MAX + 2];
        assert!(new_places(&many, participles).contains(", and 2 more ("));
        let circle = figures.last().expect("there is one");
        let rows = [row("weir-core: a -> b", ""), row("weir: a -> b", "")];
        assert!(new_places(&rows, circle).ends_with(": a.rs:7 weir-core: a -> b"));
    }
}
