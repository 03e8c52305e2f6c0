//! The benches of the crates (`--crates`, `--all`): each is started by cargo, and what it prints becomes rows with
//! their targets. Not here: how a table of divan is read (`divan`), and what the benches do.
//!
//! The spread of such a row is the fastest and the slowest sample: divan prints no others.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};

use super::context::printed_rows;
use super::divan::{Columns, DivanFigure, read_table};
use super::figures::{Row, median};
use super::house::House;

/// How often the disk is asked what a sync takes, before the store is measured and after it.
const SYNCS: u32 = 300;
/// The share of a sync that an append may take (Q11).
const OF_A_SYNC_MAX: f64 = 1.2;
/// Appends of one sample of the bench with a thousand sessions.
const SESSIONS_AT_ONCE: f64 = 1_000.0;
/// Points of evidence@10 that the search by all ways must have above that by words (Q27).
const POINTS_MIN: f64 = 10.0;
const READ_MS: Unit = Unit { name: "ms", factor: 1e3, of: Quantity::Time };
const READ_US: Unit = Unit { name: "µs", factor: 1e6, of: Quantity::Time };
const FACTS: Unit = Unit { name: "M facts/s", factor: 1e-6, of: Quantity::Rate };
const BYTES: Unit = Unit { name: "MB/s", factor: 1e-6, of: Quantity::Rate };

/// Which figure a row has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quantity {
    Time,
    Rate,
}

#[derive(Debug, Clone, Copy)]
struct Unit {
    name: &'static str,
    /// From seconds, or from bytes or items a second.
    factor: f64,
    of: Quantity,
}

#[derive(Debug, Clone, Copy)]
enum Target {
    AtMost(f64),
    AtLeast(f64),
    Watched,
}

/// What becomes a row.
struct Wanted {
    /// Where it stands in the table, `index_all_notes/10000`; the name of a function alone: each of its arguments.
    place: &'static str,
    id: &'static str,
    measure: &'static str,
    unit: Unit,
    target: Target,
}

/// A bench that divan prints the table of.
struct CrateBench {
    package: &'static str,
    name: &'static str,
    wanted: &'static [Wanted],
}

const fn wanted(
    place: &'static str,
    id: &'static str,
    measure: &'static str,
    unit: Unit,
    target: Target,
) -> Wanted {
    Wanted { place, id, measure, unit, target }
}

use Target::{AtLeast, AtMost, Watched};

const BENCHES: &[CrateBench] = &[
    CrateBench {
        package: "weir-providers",
        name: "decoders",
        wanted: &[wanted("decode", "Q9", "stream decoder", BYTES, AtLeast(300.0))],
    },
    CrateBench {
        package: "weir-core",
        name: "fold",
        wanted: &[
            wanted("q10_fold", "Q10", "fold of a journal", FACTS, AtLeast(1.0)),
            wanted("q10_read_and_fold", "Q10", "the same, each fact read first", FACTS, Watched),
        ],
    },
    CrateBench {
        package: "weir-core",
        name: "gate",
        wanted: &[
            wanted("q12_judge_with_200_rules", "Q12", "one call, 200 rules", READ_US, AtMost(20.0)),
            wanted("load_200_rules", "Q12", "loading 200 rules", READ_US, Watched),
        ],
    },
    CrateBench {
        package: "weir-engine",
        name: "command",
        wanted: &[wanted(
            "around_a_command",
            "Q24",
            "around a command, 20,000 tracked and 30,000 ignored files",
            READ_MS,
            AtMost(100.0),
        )],
    },
    CrateBench { package: "weir-notes", name: "vault", wanted: VAULT },
    CrateBench {
        package: "weir-meaning",
        name: "flat_search",
        wanted: &[
            wanted(
                "question_over_100_000_passages",
                "Q27",
                "question over 100,000 passages",
                READ_MS,
                AtMost(50.0),
            ),
            wanted(
                "nearest_of_100_000",
                "Q27",
                "nearest of 100,000 passages, dimensions",
                READ_MS,
                AtMost(50.0),
            ),
        ],
    },
];

const VAULT: &[Wanted] = &[
    wanted("index_all_notes/10000", "Q22", "index of 10,000 notes", READ_MS, AtMost(3_000.0)),
    wanted("index_all_notes/100000", "Q22", "index of 100,000 notes", READ_MS, Watched),
    wanted("notes_of_a_tag/10000", "Q22", "10,000 notes: those of a tag", READ_MS, AtMost(20.0)),
    wanted("notes_of_a_tag/100000", "Q22", "100,000 notes: those of a tag", READ_MS, Watched),
    wanted("base_over_all_notes/10000", "Q22", "10,000 notes: a base", READ_MS, AtMost(20.0)),
    wanted("base_over_all_notes/100000", "Q22", "100,000 notes: a base", READ_MS, Watched),
    wanted(
        "base_over_notes_of_a_tag/10000",
        "Q22",
        "10,000 notes: a base over those of a tag",
        READ_MS,
        AtMost(20.0),
    ),
    wanted("change_one_note/10000", "Q22", "10,000 notes: one change", READ_MS, AtMost(10.0)),
    wanted("change_one_note/100000", "Q22", "100,000 notes: one change", READ_MS, Watched),
    wanted(
        "backlinks_after_a_change/10000",
        "Q22",
        "10,000 notes: backlinks after a change",
        READ_MS,
        AtMost(20.0),
    ),
    wanted("open_the_kept_index/10000", "Q22", "opening the index of 10,000", READ_MS, Watched),
    wanted("open_the_kept_index/100000", "Q22", "opening the index of 100,000", READ_MS, Watched),
];

const STORE: CrateBench = CrateBench {
    package: "weir-store",
    name: "store",
    wanted: &[
        wanted(
            "q1_open_acquire_and_close_an_existing_store",
            "Q1",
            "opening and closing a store",
            READ_MS,
            Watched,
        ),
        wanted("q10_read_100000_facts", "Q10", "reading facts from the store", FACTS, Watched),
        wanted(
            "q14_checkpoint_and_undo_of_one_file",
            "Q14",
            "checkpoint and undo of one file of 100 kB",
            READ_MS,
            AtMost(3.0),
        ),
        wanted(
            "q14_checkpoint_and_undo_of_1000_files",
            "Q14",
            "checkpoint and undo of 1,000 files",
            READ_MS,
            AtMost(1_000.0),
        ),
        wanted("x4_recall_in_10000_turns", "Q16", "recall in 10,000 turns", READ_MS, AtMost(50.0)),
    ],
};

const SANDBOX: CrateBench = CrateBench { package: "weir-sandbox", name: "supervisor", wanted: &[] };

/// Ways to confine a command, with what one may take beyond running it bare where the specification says so.
const TIERS: &[(&str, Target)] = &[
    ("none", Watched),
    ("landlock", AtMost(3.0)),
    ("bubblewrap", AtMost(10.0)),
    ("namespaces", Watched),
];

/// Runs all of them.
///
/// # Errors
/// One cannot be built, or fails.
pub(super) fn rows(cargo: fn() -> Command, root: &Path, house: &House) -> anyhow::Result<Vec<Row>> {
    let runner = Runner { cargo, root };
    let mut rows = Vec::new();
    for bench in BENCHES {
        let figures = runner.figures_of(bench)?;
        rows.extend(wanted_rows(bench.wanted, &figures));
    }
    rows.extend(store_rows(&runner, house)?);
    rows.extend(sandbox_rows(&runner.figures_of(&SANDBOX)?));
    let chat = CrateBench { package: "weir-server", name: "chat", wanted: &[] };
    rows.extend(printed_rows(&runner.output_of(&chat, &["--rows"], None)?)?);
    let evidence = CrateBench { package: "weir-meaning", name: "evidence", wanted: &[] };
    let documents = root.join("docs").display().to_string();
    rows.extend(evidence_rows(&runner.output_of(&evidence, &[&documents], None)?));
    Ok(rows)
}

struct Runner<'a> {
    cargo: fn() -> Command,
    root: &'a Path,
}

impl Runner<'_> {
    fn figures_of(&self, bench: &CrateBench) -> anyhow::Result<Vec<DivanFigure>> {
        Ok(read_table(&self.output_of(bench, &[], None)?))
    }

    /// What a bench prints; `disk`: where the store is to make its folders.
    fn output_of(
        &self,
        bench: &CrateBench,
        words: &[&str],
        disk: Option<&Path>,
    ) -> anyhow::Result<String> {
        let CrateBench { package, name, .. } = bench;
        let mut command = (self.cargo)();
        command.args(["bench", "--quiet", "-p", package, "--bench", name]).current_dir(self.root);
        if !words.is_empty() {
            command.arg("--").args(words);
        }
        if let Some(disk) = disk {
            command.env("WEIR_BENCH_DIR", disk);
        }
        let output = command
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("starting cargo bench -p {package}"))?;
        ensure!(output.status.success(), "the bench {name} of {package} failed");
        String::from_utf8(output.stdout).with_context(|| format!("the bench {name} of {package}"))
    }
}

/// A row for each figure that is wanted; what is not there is said.
fn wanted_rows(wanted: &[Wanted], figures: &[DivanFigure]) -> Vec<Row> {
    let mut rows = Vec::new();
    for wish in wanted {
        let before = rows.len();
        for figure in figures {
            let Some(argument) = argument_at(wish.place, &figure.path.join("/")) else { continue };
            let columns = match wish.unit.of {
                Quantity::Time => Some(figure.time),
                Quantity::Rate => figure.rate,
            };
            let Some(columns) = columns else { continue };
            let measure = match argument.as_str() {
                "" => wish.measure.to_owned(),
                argument => format!("{}: {argument}", wish.measure),
            };
            rows.push(row(wish, &measure, columns));
        }
        if rows.len() == before {
            say_missing(wish.id, wish.place);
        }
    }
    rows
}

/// What stands behind a place, where this is a path below it: the argument. Empty text is told as such.
fn argument_at(place: &str, path: &str) -> Option<String> {
    match path.strip_prefix(place)? {
        "" => Some(String::new()),
        "/" => Some("no words".to_owned()),
        below => below.strip_prefix('/').map(str::to_owned),
    }
}

fn row(wish: &Wanted, measure: &str, columns: Columns) -> Row {
    targeted(wish.target, (wish.id, measure), &columns.scaled_by(wish.unit.factor), wish.unit.name)
}

fn targeted(target: Target, (id, measure): (&str, &str), values: &[f64], unit: &str) -> Row {
    match target {
        AtMost(most) => Row::at_most(id, measure, values, unit, most),
        AtLeast(least) => Row::at_least(id, measure, values, unit, least),
        Watched => Row::of(id, measure, values, unit),
    }
}

/// What a person must know who looks for a row that is not there.
fn say_missing(id: &str, what: &str) {
    // Nobody who hears it: then nobody looks for it.
    let _ = writeln!(std::io::stderr(), "{id}: not measured here: {what}");
}

/// The store, with what appends take held against the syncs of the same disk in the same minutes (Q11).
fn store_rows(runner: &Runner<'_>, house: &House) -> anyhow::Result<Vec<Row>> {
    let disk = house.at("home");
    let mut syncs = house.syncs(SYNCS)?;
    let printed = runner.output_of(&STORE, &[], Some(&disk))?;
    syncs.extend(house.syncs(SYNCS)?);
    let figures = read_table(&printed);
    let mut rows = wanted_rows(STORE.wanted, &figures);
    rows.push(Row::of("Q11", "the disk's own sync of 4 kB, same minutes", &syncs, "ms"));
    rows.extend(append_rows(&figures, median(&syncs)));
    Ok(rows)
}

/// Appends against a sync of so many milliseconds.
fn append_rows(figures: &[DivanFigure], sync: f64) -> Vec<Row> {
    let mut rows = Vec::new();
    for (place, what, appends) in [
        ("q11_append_of_one_session", "one session", 1.0),
        ("q11_append_of_1000_sessions_at_once", "1,000 sessions at once", SESSIONS_AT_ONCE),
    ] {
        let Some(figure) = figures.iter().find(|figure| figure.path.join("/") == place) else {
            say_missing("Q11", place);
            continue;
        };
        let each = figure.time.scaled_by(1e3 / appends);
        let a_second = each.map(|each| 1e3 / each.max(f64::MIN_POSITIVE));
        let of_a_sync = each.map(|each| each / sync.max(f64::MIN_POSITIVE));
        let measure = format!("{what}: time of an append against that of a sync");
        rows.push(Row::at_most("Q11", &measure, &of_a_sync, "×", OF_A_SYNC_MAX));
        rows.push(Row::of("Q11", &format!("{what}: durable appends"), &a_second, "appends/s"));
    }
    rows
}

/// Commands in each kind of sandbox, less what one takes that is started bare (Q13).
fn sandbox_rows(figures: &[DivanFigure]) -> Vec<Row> {
    let at = |place: &str| figures.iter().find(|figure| figure.path.join("/") == place);
    let Some(bare) = at("bare") else {
        say_missing("Q13", "a bare command");
        return Vec::new();
    };
    let bare = bare.time.scaled_by(1e3);
    let mut rows = vec![Row::of("Q13", "a bare command", &bare, "ms")];
    for (tier, target) in TIERS {
        let Some(figure) = at(&format!("supervised/{tier}")) else {
            say_missing("Q13", tier);
            continue;
        };
        // From sample to sample both differ: what is added is told beyond the median of the bare one.
        let beyond = figure.time.scaled_by(1e3).map(|time| time - median(&bare));
        let measure = format!("a command beyond running it bare: {tier}");
        rows.push(targeted(*target, ("Q13", &measure), &beyond, "ms"));
    }
    rows
}

/// The table of evidence: what all ways find beyond what words find.
fn evidence_rows(printed: &str) -> Vec<Row> {
    let found = |questions: &str, way: &str| {
        printed.lines().find_map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let [of, by, _, _, at_10] = cells[..] else { return None };
            if of == questions && by == way { at_10.parse::<f64>().ok() } else { None }
        })
    };
    let mut rows = Vec::new();
    for questions in ["headings", "paraphrases"] {
        let ways = (found(questions, "words"), found(questions, "both and links"));
        let (Some(words), Some(all)) = ways else {
            say_missing("Q27", questions);
            continue;
        };
        let named = |what: &str| format!("evidence@10 over docs, {questions}: {what}");
        rows.push(Row::of("Q27", &named("words"), &[words], "%"));
        rows.push(Row::of("Q27", &named("words, vectors and links"), &[all], "%"));
        let points = [all - words];
        rows.push(Row::at_least("Q27", &named("beyond words"), &points, "points", POINTS_MIN));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(path: &[&str], median: f64, rate: Option<f64>) -> DivanFigure {
        let columns =
            |value: f64| Columns { fastest: value / 2.0, slowest: value * 2.0, median: value };
        let path = path.iter().map(|name| (*name).to_owned()).collect();
        DivanFigure { path, time: columns(median), rate: rate.map(columns) }
    }

    #[test]
    fn q9_each_argument_of_a_bench_is_a_row_with_its_target() {
        let figures = [
            figure(&["decode", "anthropic"], 1.0, Some(299e6)),
            figure(&["decode", "gemini"], 1.0, Some(301e6)),
            figure(&["decoded"], 1.0, Some(1.0)),
        ];
        let rows = wanted_rows(BENCHES[0].wanted, &figures);
        let told: Vec<_> = rows.iter().map(|row| (row.measure.as_str(), row.met)).collect();
        assert_eq!(
            told,
            [("stream decoder: anthropic", Some(false)), ("stream decoder: gemini", Some(true))]
        );
        assert_eq!(argument_at("x4_recall", "x4_recall/").as_deref(), Some("no words"));
    }

    #[test]
    fn q11_appends_are_held_against_the_syncs_of_the_disk() {
        let figures = [
            figure(&["q11_append_of_one_session"], 0.3e-3, None),
            figure(&["q11_append_of_1000_sessions_at_once"], 0.1, None),
        ];
        let rows = append_rows(&figures, 0.2);
        assert_eq!(
            rows.iter().map(|row| row.met).collect::<Vec<_>>(),
            [Some(false), None, Some(true), None]
        );
        assert!((rows[0].median - 1.5).abs() < 1e-9 && (rows[3].median - 10_000.0).abs() < 1e-6);
    }

    #[test]
    fn q13_what_a_sandbox_adds_is_beyond_the_bare_command() {
        let mut figures = vec![figure(&["bare"], 1e-3, None)];
        for (tier, time) in [("landlock", 3.9e-3), ("bubblewrap", 11.5e-3), ("namespaces", 5e-3)] {
            figures.push(figure(&["supervised", tier], time, None));
        }
        let rows = sandbox_rows(&figures);
        let met: Vec<_> = rows.iter().map(|row| row.met).collect();
        assert_eq!(met, [None, Some(true), Some(false), None]);
        assert!(sandbox_rows(&figures[1..]).is_empty(), "nothing to hold them against");
    }

    #[test]
    fn q27_evidence_of_all_ways_is_held_against_that_of_words() {
        let printed = "2 notes, 3 passages, 4 questions\n\
                       | questions | ways | evidence@1 | @5 | @10 |\n|---|---|---|---|---|\n\
                       | headings | words | 33.3 | 58.7 | 68.4 |\n\
                       | headings | both and links | 32.7 | 59.3 | 78.6 |\n\
                       | paraphrases | words | 15.3 | 32.1 | 46.6 |\n\
                       | paraphrases | both and links | 19.1 | 35.1 | 50.4 |\n";
        let rows = evidence_rows(printed);
        let met: Vec<_> = rows.iter().map(|row| row.met).collect();
        assert_eq!(met, [None, None, Some(true), None, None, Some(false)]);
    }

    #[test]
    fn every_figure_that_is_wanted_is_of_a_function_of_its_bench() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for bench in BENCHES.iter().chain([&STORE]) {
            let path = format!("crates/{}/benches/{}.rs", bench.package, bench.name);
            let text = std::fs::read_to_string(root.join(&path)).expect("a bench");
            for wish in bench.wanted {
                let function = wish.place.split('/').next().unwrap_or_default();
                assert!(text.contains(&format!("fn {function}(")), "{path} has no {function}");
            }
        }
    }
}
