//! Figures: median, spread, target, and how they are printed. Not here: how they were measured.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

/// One line of the table.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) id: String,
    pub(super) measure: String,
    target: String,
    pub(super) unit: String,
    low: f64,
    pub(super) median: f64,
    high: f64,
    /// Whether the target is met; `None` for what is only watched.
    pub(super) met: Option<bool>,
}

impl Row {
    /// The median of `values` may be `most` at most.
    pub(super) fn at_most(id: &str, measure: &str, values: &[f64], unit: &str, most: f64) -> Row {
        let row = Row::of(id, measure, values, unit);
        let met = Some(row.median <= most);
        Row { target: format!("≤ {} {unit}", number(most)), met, ..row }
    }

    /// The median of `values` must be `least` at least.
    pub(super) fn at_least(id: &str, measure: &str, values: &[f64], unit: &str, least: f64) -> Row {
        let row = Row::of(id, measure, values, unit);
        let met = Some(row.median >= least);
        Row { target: format!("≥ {} {unit}", number(least)), met, ..row }
    }

    /// A figure without a target.
    pub(super) fn watched(id: &str, measure: &str, value: f64, unit: &str) -> Row {
        Row::of(id, measure, &[value], unit)
    }

    /// Median and spread of values without a target.
    pub(super) fn of(id: &str, measure: &str, values: &[f64], unit: &str) -> Row {
        Row {
            id: id.to_owned(),
            measure: measure.to_owned(),
            target: String::new(),
            unit: unit.to_owned(),
            low: quantile(values, 0.1),
            median: quantile(values, 0.5),
            high: quantile(values, 0.9),
            met: None,
        }
    }

    /// Rates and what a core carries: the more, the better. Times and sizes: the less.
    pub(super) fn more_is_better(&self) -> bool {
        self.target.starts_with('≥')
            || self.unit.ends_with("/s")
            || ["sessions", "sockets"].contains(&self.unit.as_str())
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "id": self.id, "measure": self.measure, "target": self.target, "unit": self.unit,
            "low": self.low, "median": self.median, "high": self.high, "met": self.met,
        })
    }
}

/// The value below which this share of `values` lies; 0 when there are none.
pub(super) fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    let at = (last as f64 * share).round() as usize;
    sorted.get(at).copied().unwrap_or(0.0)
}

pub(super) fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

pub(super) fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn number(value: f64) -> String {
    let digits = match value.abs() {
        large if large >= 100.0 => 0,
        middle if middle >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{value:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// All rows, one below the other.
pub(super) fn table(rows: &[Row]) -> String {
    let head = ["", "measure", "target", "median", "10–90 %", ""].map(ToOwned::to_owned);
    let mut lines = vec![head];
    for row in rows {
        let met = match row.met {
            Some(true) => "met",
            Some(false) => "MISSED",
            None => "",
        };
        let spread = if row.low == row.high {
            String::new()
        } else {
            format!("{}–{}", number(row.low), number(row.high))
        };
        lines.push([
            row.id.clone(),
            row.measure.clone(),
            row.target.clone(),
            format!("{} {}", number(row.median), row.unit),
            spread,
            met.to_owned(),
        ]);
    }
    let width =
        |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..6).map(width).collect();
    let mut out = String::new();
    for line in &lines {
        let mut text = String::new();
        for (cell, width) in line.iter().zip(&widths) {
            let _ = write!(text, "{cell:<width$}  ");
        }
        out.push_str(text.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_held_against_targets() {
        let values = [5.0, 1.0, 3.0, 100.0, 2.0];
        assert_eq!(median(&values), 3.0);
        assert_eq!(quantile(&values, 1.0), 100.0);
        assert_eq!(Row::at_most("Q1", "x", &values, "ms", 3.0).met, Some(true));
        assert_eq!(Row::at_most("Q1", "x", &values, "ms", 2.9).met, Some(false));
        assert_eq!(Row::at_least("Q8", "x", &values, "%", 100.0).met, Some(false));
        let text = table(&[Row::at_most("Q1", "x", &values, "ms", 2.9)]);
        assert!(text.contains("MISSED") && text.contains("≤ 2.9 ms"), "{text}");
    }
}
