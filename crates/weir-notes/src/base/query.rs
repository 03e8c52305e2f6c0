//! A view of a base worked out: files that its filters let through, columns, groups, order, summaries.
//! Not here: how it is shown.

use std::cell::{Cell, RefCell};

use jiff::Zoned;
use jiff::civil::DateTime;
use serde_json::json;

use super::definition::{BaseDefinition, BaseFilter, BaseView, SortKey};
use super::evaluate::{BaseFacts, RowScope, STEPS_MAX};
use super::file::VaultTimes;
use super::methods::{mean_value, numbers_of};
use super::narrow::likely_files;
use super::value::BaseValue;
use super::{BaseError, date::DateValue};
use crate::index::NoteIndex;

/// What is asked.
pub struct BaseQuery<'a> {
    /// The vault.
    pub index: &'a NoteIndex,
    /// Times of its files.
    pub times: &'a dyn VaultTimes,
    /// Name of the view; `None`: the first.
    pub view: Option<&'a str>,
    /// Path of the file that `this` means: the base, or the note in which it is shown.
    pub this: Option<&'a str>,
    /// The present moment.
    pub now: &'a Zoned,
}

/// A cell.
#[derive(Debug, Clone, PartialEq)]
pub struct BaseCell {
    /// Its words.
    pub text: String,
    /// Its value.
    pub json: serde_json::Value,
}

/// A row.
#[derive(Debug, Clone, PartialEq)]
pub struct BaseRow {
    /// The file.
    pub path: String,
    /// A cell for each column.
    pub cells: Vec<BaseCell>,
}

/// Rows that have one value of what is grouped by.
#[derive(Debug, Clone, PartialEq)]
pub struct BaseGroup {
    /// The value; `None`: nothing is grouped.
    pub key: Option<String>,
    /// The rows in order.
    pub rows: Vec<BaseRow>,
}

/// What a view shows.
#[derive(Debug, Clone, PartialEq)]
pub struct BaseTable {
    /// Name of the view.
    pub view: String,
    /// Ids of the columns, and what stands above each.
    pub columns: Vec<(String, String)>,
    /// Rows by group.
    pub groups: Vec<BaseGroup>,
    /// Files that the filters let through; the limit may show fewer.
    pub total: usize,
    /// Column, name and value of each summary.
    pub summaries: Vec<(String, String, String)>,
    /// Formulas that failed for a file: the first few, with why.
    pub problems: Vec<String>,
}

/// Failures that are told.
const PROBLEMS_MAX: usize = 5;

struct WorkedRow {
    path: String,
    values: Vec<BaseValue>,
    group: BaseValue,
    keys: Vec<BaseValue>,
}

/// Works a view out.
///
/// # Errors
/// There is no such view, or a filter cannot be worked out.
pub fn run_query(base: &BaseDefinition, query: &BaseQuery<'_>) -> Result<BaseTable, BaseError> {
    let view = find_view(base, query.view)?;
    let facts = BaseFacts {
        index: query.index,
        times: query.times,
        formulas: &base.formulas,
        this: query.this.map(str::to_owned),
        now: query.now.datetime(),
        offset_minutes: i64::from(query.now.offset().seconds()) / 60,
        steps: Cell::new(STEPS_MAX),
        records: RefCell::default(),
        tagged: RefCell::default(),
        patterns: RefCell::default(),
    };
    let likely = likely_files(base, view, query.index);
    let mut rows = Vec::new();
    let mut problems = Vec::new();
    for number in query.index.path_order().iter().copied() {
        if likely.as_ref().is_some_and(|likely| !likely.contains(number)) {
            continue;
        }
        let path = query.index.name_table().path_of(number);
        let mut scope = RowScope::for_row(&facts, number);
        let wrong = |why: String| BaseError::new("filters", format!("{why}, for {path}"));
        let passes = |filter: &Option<BaseFilter>, scope: &mut RowScope<'_>| {
            filter.as_ref().map_or(Ok(true), |filter| filter_holds(filter, scope))
        };
        if passes(&base.filter, &mut scope).map_err(wrong)?
            && passes(&view.filter, &mut scope).map_err(wrong)?
        {
            rows.push(work_row(view, &mut scope, &mut problems));
        }
    }
    sort_rows(&mut rows, view);
    let total = rows.len();
    rows.truncate(view.limit.unwrap_or(usize::MAX));
    let summaries = summarise_columns(base, view, &rows, &facts, &mut problems);
    let columns = view.columns.iter().map(|column| (column.id.clone(), column.title.clone()));
    let (name, columns) = (view.name.clone(), columns.collect());
    Ok(BaseTable {
        view: name,
        columns,
        groups: group_rows(rows, view),
        total,
        summaries,
        problems,
    })
}

fn find_view<'a>(base: &'a BaseDefinition, name: Option<&str>) -> Result<&'a BaseView, BaseError> {
    let named = |name: &str| base.views.iter().find(|view| view.name.eq_ignore_ascii_case(name));
    let found = name.map_or_else(|| base.views.first(), named);
    found.ok_or_else(|| {
        let names: Vec<&str> = base.views.iter().map(|view| view.name.as_str()).collect();
        match (name, names.is_empty()) {
            (_, true) => BaseError::new("views", "the base has no view; add one with update_base"),
            (name, false) => BaseError::new(
                "views",
                format!(
                    "there is no view {}; there are {}",
                    name.unwrap_or_default(),
                    names.join(", ")
                ),
            ),
        }
    })
}

fn filter_holds(filter: &BaseFilter, scope: &mut RowScope<'_>) -> Result<bool, String> {
    match filter {
        BaseFilter::Statement(statement) => {
            scope.evaluate_expression(statement).map(|value| value.is_truthy())
        }
        BaseFilter::And(filters) => {
            for filter in filters {
                if !filter_holds(filter, scope)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        BaseFilter::Or(filters) => any_holds(filters, scope),
        BaseFilter::Not(filters) => any_holds(filters, scope).map(|any| !any),
    }
}

fn any_holds(filters: &[BaseFilter], scope: &mut RowScope<'_>) -> Result<bool, String> {
    for filter in filters {
        if filter_holds(filter, scope)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn work_row(view: &BaseView, scope: &mut RowScope<'_>, problems: &mut Vec<String>) -> WorkedRow {
    let mut values = Vec::new();
    for column in &view.columns {
        values.push(match scope.evaluate_expression(&column.value) {
            Ok(value) => value,
            Err(why) => {
                if problems.len() < PROBLEMS_MAX {
                    problems.push(format!("{} of {}: {why}", column.id, scope.row));
                }
                BaseValue::Null
            }
        });
    }
    // What a column tells about is not told twice.
    let mut quiet =
        |key: &SortKey| scope.evaluate_expression(&key.property).unwrap_or(BaseValue::Null);
    let group = view.group.as_ref().map_or(BaseValue::Null, &mut quiet);
    let keys = view.sort.iter().map(&mut quiet).collect();
    WorkedRow { path: scope.row.clone(), values, group, keys }
}

fn sort_rows(rows: &mut [WorkedRow], view: &BaseView) {
    let directed = |a: &BaseValue, b: &BaseValue, descending: bool| {
        let order = a.sort_order(b);
        // What is empty stays last.
        if descending && !a.is_empty() && !b.is_empty() { order.reverse() } else { order }
    };
    rows.sort_by(|a, b| {
        let group = view.group.as_ref().map(|key| directed(&a.group, &b.group, key.descending));
        let keys = view.sort.iter().zip(a.keys.iter().zip(&b.keys));
        keys.fold(group.unwrap_or(std::cmp::Ordering::Equal), |order, (key, (a, b))| {
            order.then_with(|| directed(a, b, key.descending))
        })
    });
}

fn group_rows(rows: Vec<WorkedRow>, view: &BaseView) -> Vec<BaseGroup> {
    let mut groups: Vec<BaseGroup> = Vec::new();
    for row in rows {
        let key = view.group.is_some().then(|| row.group.to_text());
        let cells = row
            .values
            .iter()
            .map(|value| BaseCell { text: value.to_text(), json: value.to_json() });
        let shown = BaseRow { path: row.path, cells: cells.collect() };
        match groups.last_mut().filter(|group| group.key == key) {
            Some(group) => group.rows.push(shown),
            None => groups.push(BaseGroup { key, rows: vec![shown] }),
        }
    }
    groups
}

fn summarise_columns(
    base: &BaseDefinition,
    view: &BaseView,
    rows: &[WorkedRow],
    facts: &BaseFacts<'_>,
    problems: &mut Vec<String>,
) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    for (at, column) in view.columns.iter().enumerate() {
        let Some(name) = &column.summary else { continue };
        let values: Vec<BaseValue> = rows.iter().map(|row| row.values[at].clone()).collect();
        let value = match base.summaries.get(name) {
            Some(expression) => {
                let mut scope = RowScope::for_summary(facts);
                scope.locals.push(("values", BaseValue::List(values)));
                scope.evaluate_expression(expression).unwrap_or_else(|why| {
                    problems.push(format!("the summary {name}: {why}"));
                    BaseValue::Null
                })
            }
            None => summary_value(name, &values),
        };
        found.push((column.id.clone(), name.clone(), value.to_text()));
    }
    found
}

/// A summary that is there without being written.
pub(super) fn summary_value(name: &str, values: &[BaseValue]) -> BaseValue {
    let numbers = numbers_of(values);
    let least = numbers.iter().copied().reduce(f64::min);
    let most = numbers.iter().copied().reduce(f64::max);
    let number = |found: Option<f64>| found.map_or(BaseValue::Null, BaseValue::Number);
    let mut dates: Vec<DateValue> = values
        .iter()
        .filter_map(|value| if let BaseValue::Date(date) = value { Some(*date) } else { None })
        .collect();
    dates.sort_by_key(|date: &DateValue| -> DateTime { date.at });
    let date =
        |found: Option<&DateValue>| found.map_or(BaseValue::Null, |date| BaseValue::Date(*date));
    let count = |wanted: &dyn Fn(&BaseValue) -> bool| {
        BaseValue::from_count(values.iter().filter(|v| wanted(v)).count())
    };
    match name {
        "Average" => mean_value(values),
        "Min" => number(least),
        "Max" => number(most),
        "Sum" => BaseValue::Number(numbers.iter().sum()),
        "Range" => match (dates.first(), dates.last()) {
            (Some(first), Some(last)) if numbers.is_empty() => {
                let ms = last.to_unix_ms() - first.to_unix_ms();
                BaseValue::Duration(super::date::DurationValue { months: 0.0, ms })
            }
            _ => number(most.zip(least).map(|(most, least)| most - least)),
        },
        "Median" => number(median_of(numbers)),
        "Stddev" => number(deviation_of(&numbers)),
        "Earliest" => date(dates.first()),
        "Latest" => date(dates.last()),
        "Checked" => count(&|value| *value == BaseValue::Bool(true)),
        "Unchecked" => count(&|value| *value == BaseValue::Bool(false)),
        "Empty" => count(&BaseValue::is_empty),
        "Filled" => count(&|value| !value.is_empty()),
        "Unique" => {
            let mut seen: Vec<String> =
                values.iter().map(|value| value.to_json().to_string()).collect();
            seen.sort();
            seen.dedup();
            BaseValue::from_count(seen.len())
        }
        _ => BaseValue::Null,
    }
}

fn median_of(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    match numbers.len() % 2 {
        1 => numbers.get(middle).copied(),
        _ => numbers
            .get(middle)
            .zip(numbers.get(middle.checked_sub(1)?))
            .map(|(a, b)| f64::midpoint(*a, *b)),
    }
}

fn deviation_of(numbers: &[f64]) -> Option<f64> {
    let count = f64::from(u32::try_from(numbers.len()).ok().filter(|count| *count > 0)?);
    let middle = numbers.iter().sum::<f64>() / count;
    Some((numbers.iter().map(|number| (number - middle).powi(2)).sum::<f64>() / count).sqrt())
}

impl BaseTable {
    /// All of it for programs.
    pub fn to_json(&self) -> serde_json::Value {
        let row = |row: &BaseRow| {
            let cells = self.columns.iter().zip(&row.cells);
            let cells: serde_json::Map<String, serde_json::Value> =
                cells.map(|((id, _), cell)| (id.clone(), cell.json.clone())).collect();
            json!({ "path": row.path, "values": cells })
        };
        let groups: Vec<serde_json::Value> = self
            .groups
            .iter()
            .map(|group| json!({ "key": group.key, "rows": group.rows.iter().map(row).collect::<Vec<_>>() }))
            .collect();
        let summaries: Vec<serde_json::Value> = self
            .summaries
            .iter()
            .map(|(column, name, value)| json!({ "column": column, "summary": name, "value": value }))
            .collect();
        json!({ "view": self.view, "total": self.total, "groups": groups, "summaries": summaries })
    }
    /// A Markdown table for each group.
    pub fn to_markdown(&self) -> String {
        let cell = |text: &str| text.replace('|', "\\|").replace(['\n', '\r'], " ");
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut text = String::new();
        for group in &self.groups {
            if let Some(key) = &group.key {
                text.push_str(&format!("\n{}\n\n", if key.is_empty() { "(empty)" } else { key }));
            }
            text.push_str(&line(self.columns.iter().map(|(_, title)| cell(title)).collect()));
            text.push_str(&line(self.columns.iter().map(|_| "---".to_owned()).collect()));
            for row in &group.rows {
                text.push_str(&line(row.cells.iter().map(|found| cell(&found.text)).collect()));
            }
        }
        for (column, name, value) in &self.summaries {
            text.push_str(&format!("{name} of {column}: {value}\n"));
        }
        text
    }
}
