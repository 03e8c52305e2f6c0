//! `bench --compare`: what got worse and better since figures that were kept before. Not here: how they
//! are measured, and no verdict: machines are shared, so a person judges (instruction counts repeat).

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};
use serde::Deserialize;

use super::figures::Row;

/// A median must be so much beyond the spread of before to be told: a share of one.
const BEYOND_SPREAD: f64 = 0.05;

/// A row as it was kept.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct KeptRow {
    id: String,
    measure: String,
    low: f64,
    median: f64,
    high: f64,
}

#[derive(Deserialize)]
struct KeptFigures {
    rows: Vec<KeptRow>,
    profile: String,
}

/// The newest figures of a file: one JSON value, or one a line.
///
/// # Errors
/// It cannot be read, or has none.
pub(super) fn read_kept(path: &Path) -> anyhow::Result<Vec<KeptRow>> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let Some(last) = text.lines().rev().find(|line| !line.trim().is_empty()) else {
        bail!(
            "{} has no figures: it is a line of what `bench` keeps, or --json prints",
            path.display()
        );
    };
    let kept: KeptFigures = serde_json::from_str(last)
        .with_context(|| format!("{} has no figures of this bench", path.display()))?;
    if kept.rows.is_empty() {
        bail!("{} has no figures (profile {})", path.display(), kept.profile);
    }
    Ok(kept.rows)
}

/// What got worse, better and what is missing, a line each.
pub(super) fn describe_changes(before: &[KeptRow], now: &[Row]) -> String {
    let mut said = String::new();
    for row in now {
        let found = before.iter().find(|old| old.id == row.id && old.measure == row.measure);
        let Some(old) = found else {
            let _ = writeln!(said, "new     {} {}", row.id, row.measure);
            continue;
        };
        let (more, less) = (
            row.median > old.high + old.median.abs() * BEYOND_SPREAD,
            row.median < old.low - old.median.abs() * BEYOND_SPREAD,
        );
        let verdict = match (more, less, row.more_is_better()) {
            (true, _, true) | (_, true, false) => "better",
            (true, _, false) | (_, true, true) => "WORSE ",
            _ => continue,
        };
        let change = (row.median / old.median - 1.0) * 100.0;
        let _ = writeln!(
            said,
            "{verdict}  {} {}: {:.3} → {:.3} {} ({change:+.1} %)",
            row.id, row.measure, old.median, row.median, row.unit
        );
    }
    for old in before {
        if !now.iter().any(|row| row.id == old.id && row.measure == old.measure) {
            let _ = writeln!(said, "gone    {} {}", old.id, old.measure);
        }
    }
    match said.is_empty() {
        true => "Nothing changed beyond its spread.\n".to_owned(),
        false => said,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(measure: &str, values: &[f64]) -> KeptRow {
        serde_json::from_value(Row::of("Q1", measure, values, "ms").json()).expect("a row")
    }

    #[test]
    fn what_lies_beyond_the_spread_is_told_with_its_direction() {
        let before =
            [kept("start", &[9.0, 10.0, 11.0]), kept("rate", &[100.0]), kept("left", &[1.0])];
        let now = [
            Row::at_most("Q1", "start", &[12.0], "ms", 10.0),
            Row::at_least("Q1", "rate", &[120.0], "M facts/s", 1.0),
            Row::watched("Q1", "first seen", 1.0, "ms"),
        ];
        let said = describe_changes(&before, &now);
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines[0], "WORSE   Q1 start: 10.000 → 12.000 ms (+20.0 %)");
        assert_eq!(lines[1], "better  Q1 rate: 100.000 → 120.000 M facts/s (+20.0 %)");
        assert_eq!(lines[2..], ["new     Q1 first seen", "gone    Q1 left"]);
        let same = [Row::at_most("Q1", "start", &[11.4], "ms", 10.0)];
        assert_eq!(describe_changes(&before[..1], &same), "Nothing changed beyond its spread.\n");
    }

    #[test]
    fn a_file_without_figures_is_said_to_have_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("old.jsonl");
        for text in ["", "\n", "{}", "{\"rows\":[],\"profile\":\"dist\"}"] {
            fs::write(&path, text).expect("written");
            let error = read_kept(&path).expect_err("nothing is in it").to_string();
            assert!(error.contains("figures"), "{error}");
        }
        let row = Row::watched("Q1", "start", 1.0, "ms").json();
        let line = |profile: &str| serde_json::json!({ "rows": [row], "profile": profile });
        fs::write(&path, format!("{}\n{}\n", line("release"), line("dist"))).expect("written");
        assert_eq!(read_kept(&path).expect("figures").len(), 1);
    }
}
