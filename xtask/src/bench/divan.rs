//! The tables that divan prints, read: what stands at which place, with its times and its rate. Not here: which
//! of them is held against which target (`crates`).

/// One figure of a table.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DivanFigure {
    /// The names that lead to it, without that of the bench: `decode`, `anthropic`.
    pub(super) path: Vec<String>,
    /// Seconds.
    pub(super) time: Columns,
    /// Bytes or items a second, where the bench counts them.
    pub(super) rate: Option<Columns>,
}

/// The columns of a line that are read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Columns {
    pub(super) fastest: f64,
    pub(super) slowest: f64,
    pub(super) median: f64,
}

impl Columns {
    /// Its three figures times `factor`, for a row.
    pub(super) fn scaled_by(self, factor: f64) -> [f64; 3] {
        [self.fastest, self.median, self.slowest].map(|value| value * factor)
    }

    fn parse(cells: &[&str], value_of: fn(&str) -> Option<f64>) -> Option<Columns> {
        let [fastest, slowest, median, ..] = cells else { return None };
        Some(Columns {
            fastest: value_of(fastest)?,
            slowest: value_of(slowest)?,
            median: value_of(median)?,
        })
    }
}

/// Where a name begins: what stands before it are the lines of the tree, three characters a level.
const BRANCHES: [&str; 2] = ["├─ ", "╰─ "];
const LEVEL_CHARS: usize = 3;

/// All figures of what a bench printed, in their order. What is no line of a table is passed over.
pub(super) fn read_table(printed: &str) -> Vec<DivanFigure> {
    let mut figures: Vec<DivanFigure> = Vec::new();
    let mut path: Vec<String> = Vec::new();
    for line in printed.lines() {
        let branch = BRANCHES.iter().find_map(|branch| line.split_once(branch));
        let Some((tree, rest)) = branch else {
            let rate = Columns::parse(&cells_of(line), rate_per_second);
            // Further lines of a figure are what it counts.
            if let (Some(last), Some(_)) = (figures.last_mut(), rate) {
                last.rate = rate;
            }
            continue;
        };
        // A name ends where the columns begin; an argument may be empty text.
        let (name, columns) = rest.split_once("  ").unwrap_or((rest, ""));
        path.truncate(tree.chars().count() / LEVEL_CHARS);
        path.push(name.trim().to_owned());
        if let Some(time) = Columns::parse(&cells_of(columns), seconds) {
            figures.push(DivanFigure { path: path.clone(), time, rate: None });
        }
    }
    figures
}

/// The columns that hold something.
fn cells_of(line: &str) -> Vec<&str> {
    line.split('│').map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

fn seconds(cell: &str) -> Option<f64> {
    let (value, unit) = cell.split_once(' ')?;
    let factor = match unit {
        "ps" => 1e-12,
        "ns" => 1e-9,
        "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3_600.0,
        _ => return None,
    };
    Some(value.parse::<f64>().ok()? * factor)
}

fn rate_per_second(cell: &str) -> Option<f64> {
    let (value, unit) = cell.split_once(' ')?;
    let unit = unit.strip_suffix("/s")?;
    let scale = unit.strip_suffix("item").or_else(|| unit.strip_suffix('B'))?;
    let factor = match scale {
        "" => 1.0,
        "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        _ => return None,
    };
    Some(value.parse::<f64>().ok()? * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As divan 0.1.21 printed it.
    const RECORDED: &str = include_str!("divan/recorded.txt");

    fn find<'a>(figures: &'a [DivanFigure], path: &[&str]) -> &'a DivanFigure {
        figures.iter().find(|figure| figure.path == path).expect("it stands in the table")
    }

    fn assert_near(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 1e-9, "{value} is not {expected}");
    }

    #[test]
    fn q9_times_and_rates_are_read_from_a_table_that_was_recorded() {
        let figures = read_table(RECORDED);
        let paths: Vec<String> = figures.iter().map(|figure| figure.path.join("/")).collect();
        assert_eq!(
            paths,
            [
                "around_a_command/(\"true\", \"clean\")",
                "decode/anthropic",
                "decode/openai-chat",
                "index_all_notes/10000",
                "index_all_notes/100000",
                "q10_fold",
                "recall/",
                "recall/word17 word4021",
            ]
        );
        let first = find(&figures, &["decode", "anthropic"]);
        assert_near(first.time.median, 252.1e-6);
        assert_near(first.rate.expect("it counts bytes").median, 15.86e9);
        let last = find(&figures, &["decode", "openai-chat"]);
        assert_near(last.rate.expect("it counts bytes").fastest, 12.7e9);
        let fold = find(&figures, &["q10_fold"]);
        assert_near(fold.time.slowest, 710.7e-6);
        assert_near(fold.rate.expect("it counts items").slowest, 25.32e6);
        let notes = find(&figures, &["index_all_notes", "100000"]);
        assert_eq!(notes.rate, None);
        assert_near(notes.time.median, 1.216);
        assert_near(find(&figures, &["recall", ""]).time.fastest, 572.9e-9);
    }

    #[test]
    fn what_is_no_table_has_no_figures() {
        for printed in ["", "memory notes=10 bytes=7\n", "error: 1 │ 2 │ 3\n", "├─ absent\n"]
        {
            assert!(read_table(printed).is_empty(), "{printed:?}");
        }
    }
}
