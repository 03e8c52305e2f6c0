//! The area "context": one session so long that it is condensed again and again, on the disk. It is
//! measured by the bench `long` of weir-scenario, in its own process; here its rows are read, and those of
//! other benches that print such rows.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use serde::Deserialize;

use super::figures::Row;

/// A row as the bench prints it.
#[derive(Deserialize)]
struct Raw {
    id: String,
    measure: String,
    unit: String,
    most: Option<f64>,
    values: Vec<f64>,
}

/// Runs the bench with a session of `turns` and reads what it prints.
///
/// # Errors
/// It cannot be built, fails, or prints something else.
pub(super) fn rows(mut cargo: Command, root: &Path, turns: u32) -> anyhow::Result<Vec<Row>> {
    let output = cargo
        .args(["bench", "--quiet", "-p", "weir-scenario", "--bench", "long", "--", "--rows"])
        .args(["--turns", &turns.to_string()])
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .context("starting cargo bench -p weir-scenario")?;
    ensure!(output.status.success(), "the bench long of weir-scenario failed");
    let text = String::from_utf8(output.stdout).context("the bench long")?;
    printed_rows(&text)
}

/// The rows among what a bench printed.
///
/// # Errors
/// One of them is another thing.
pub(super) fn printed_rows(text: &str) -> anyhow::Result<Vec<Row>> {
    text.lines().filter(|line| line.starts_with('{')).map(row).collect()
}

fn row(line: &str) -> anyhow::Result<Row> {
    let raw: Raw = serde_json::from_str(line).with_context(|| format!("a row: {line}"))?;
    let Raw { id, measure, unit, most, values } = raw;
    Ok(match most {
        Some(most) => Row::at_most(&id, &measure, &values, &unit, most),
        None => Row::of(&id, &measure, &values, &unit),
    })
}

#[cfg(test)]
mod tests {
    use super::row;

    #[test]
    fn a_row_of_the_bench_is_read_with_its_target() {
        let line =
            r#"{"id":"Q16","measure":"recall","unit":"ms","most":50.0,"values":[1.0,9.0,3.0]}"#;
        let row = row(line).expect("a row");
        assert_eq!((row.id.as_str(), row.met), ("Q16", Some(true)));
        assert!(super::row("{}").is_err());
    }
}
