//! What an expression is for one file. Every step counts, so that no formula runs for long. Not here:
//! functions of values (`functions`, `methods`).

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use jiff::civil::DateTime;

use super::date::{DateValue, DurationValue};
use super::expression::{BinaryOperator, ExpressionKind, ExpressionNode};
use super::file::{RecordsRead, VaultTimes};
use super::methods::CompiledPattern;
use super::value::BaseValue;
use crate::index::{FileSet, NoteIndex};
use crate::resolve::FileNumber;

/// Steps that one query may take.
pub(super) const STEPS_MAX: u64 = 20_000_000;
/// Formulas within formulas.
const DEPTH_MAX: usize = 40;
/// Expressions within expressions, those of formulas included. What a chain goes on from does not lie
/// within it.
const NESTING_MAX: usize = 128;
/// Longest text and list that a step may make.
pub(super) const TEXT_BYTES_MAX: usize = 100_000;
pub(super) const LIST_ITEMS_MAX: usize = 100_000;

/// What a query has for every file.
pub(super) struct BaseFacts<'a> {
    pub(super) index: &'a NoteIndex,
    pub(super) times: &'a dyn VaultTimes,
    pub(super) formulas: &'a BTreeMap<String, ExpressionNode>,
    /// The file that `this` means.
    pub(super) this: Option<String>,
    pub(super) now: DateTime,
    pub(super) offset_minutes: i64,
    /// Steps left.
    pub(super) steps: std::cell::Cell<u64>,
    /// Records that were read last: of the row, and of what `this` means.
    pub(super) records: RefCell<RecordsRead>,
    /// Files by a tag that was asked for.
    pub(super) tagged: RefCell<HashMap<String, FileSet>>,
    /// Patterns that were compiled, by flags and source.
    pub(super) patterns: RefCell<HashMap<String, Rc<CompiledPattern>>>,
}

/// One file, and the names that hold while an expression is worked out for it.
pub(super) struct RowScope<'a> {
    pub(super) base: &'a BaseFacts<'a>,
    /// Path of the file.
    pub(super) row: String,
    /// Its number; `None`: it is no file of the vault.
    pub(super) number: Option<FileNumber>,
    pub(super) locals: Vec<(&'static str, BaseValue)>,
    depth: usize,
    nesting: usize,
}

impl<'a> RowScope<'a> {
    pub(super) fn for_row(base: &'a BaseFacts<'a>, number: FileNumber) -> RowScope<'a> {
        let row = base.index.name_table().path_of(number).to_owned();
        RowScope { number: Some(number), row, ..RowScope::for_summary(base) }
    }
    /// No file: only what is local holds.
    pub(super) fn for_summary(base: &'a BaseFacts<'a>) -> RowScope<'a> {
        let (row, locals) = (String::new(), Vec::new());
        RowScope { base, row, number: None, locals, depth: 0, nesting: 0 }
    }

    /// The value of an expression.
    ///
    /// # Errors
    /// A sentence that says what does not fit, or that it takes too long.
    pub(super) fn evaluate_expression(
        &mut self,
        expression: &ExpressionNode,
    ) -> Result<BaseValue, String> {
        if self.nesting >= NESTING_MAX {
            return Err(format!("it is nested deeper than {NESTING_MAX}, formulas included"));
        }
        self.nesting += 1;
        let found = self.evaluate_chain(&expression.list_chain());
        self.nesting -= 1;
        found
    }

    /// The value of a chain, given backwards.
    fn evaluate_chain(&mut self, chain: &[&ExpressionNode]) -> Result<BaseValue, String> {
        let mut value = BaseValue::Null;
        for (at, node) in chain.iter().rev().enumerate() {
            self.base.charge_steps(1)?;
            value = match at {
                0 => self.evaluate_first(node)?,
                _ => self.evaluate_next(value, node)?,
            };
            self.base.charge_steps(value.measure_weight()?)?;
        }
        Ok(value)
    }

    /// The value of what a chain begins with.
    fn evaluate_first(&mut self, expression: &ExpressionNode) -> Result<BaseValue, String> {
        match &expression.kind {
            ExpressionKind::Null => Ok(BaseValue::Null),
            ExpressionKind::Bool(yes) => Ok(BaseValue::Bool(*yes)),
            ExpressionKind::Number(number) => Ok(BaseValue::Number(*number)),
            ExpressionKind::Text(text) => Ok(BaseValue::Text(text.clone())),
            ExpressionKind::Pattern { source, flags } => {
                Ok(BaseValue::Pattern { source: source.clone(), flags: flags.clone() })
            }
            ExpressionKind::Name(name) => self.evaluate_name(name),
            ExpressionKind::List(items) => items
                .iter()
                .map(|item| self.evaluate_expression(item))
                .collect::<Result<_, _>>()
                .map(BaseValue::List),
            ExpressionKind::Object(fields) => {
                let mut values = Vec::new();
                for (name, value) in fields {
                    values.push((name.clone(), self.evaluate_expression(value)?));
                }
                Ok(BaseValue::Object(values))
            }
            ExpressionKind::Not(of) => {
                Ok(BaseValue::Bool(!self.evaluate_expression(of)?.is_truthy()))
            }
            ExpressionKind::Negative(of) => match self.evaluate_expression(of)? {
                BaseValue::Number(number) => Ok(BaseValue::Number(-number)),
                BaseValue::Duration(duration) => {
                    Ok(BaseValue::Duration(duration.multiply_by(-1.0)))
                }
                BaseValue::Null => Ok(BaseValue::Null),
                other => Err(format!("a {} has no negative", other.type_name())),
            },
            ExpressionKind::Call(name, arguments) => self.call_function(name, arguments),
            ExpressionKind::Field(of, name) => self.evaluate_root_field(of, name),
            ExpressionKind::Index(of, at) => {
                let field = self.evaluate_expression(at)?.to_text_within_bound()?;
                self.evaluate_root_field(of, &field)
            }
            // These go on from something, so they begin no chain.
            ExpressionKind::Binary(..) | ExpressionKind::Method(..) => Ok(BaseValue::Null),
        }
    }

    /// The value of what goes on from `value`.
    fn evaluate_next(
        &mut self,
        value: BaseValue,
        expression: &ExpressionNode,
    ) -> Result<BaseValue, String> {
        match &expression.kind {
            ExpressionKind::Binary(operator, _, right) => {
                self.evaluate_binary(*operator, &value, right)
            }
            ExpressionKind::Field(_, name) => self.value_field(&value, name),
            ExpressionKind::Index(_, at) => {
                let at = self.evaluate_expression(at)?;
                evaluate_index(value, &at)
            }
            ExpressionKind::Method(_, name, arguments) => self.call_method(&value, name, arguments),
            // These begin a chain.
            _ => Ok(value),
        }
    }

    fn evaluate_name(&mut self, name: &str) -> Result<BaseValue, String> {
        if let Some((_, value)) = self.locals.iter().rev().find(|(local, _)| *local == name) {
            return Ok(value.clone());
        }
        Ok(match name {
            "file" => BaseValue::File(self.row.clone()),
            "note" => BaseValue::Object(self.note_properties(&self.row.clone())),
            "this" => self.base.this.clone().map_or(BaseValue::Null, BaseValue::File),
            name => self.note_property(&self.row, name),
        })
    }

    /// `note.x`, `formula.x`, `this.x`.
    fn evaluate_root_field(
        &mut self,
        of: &ExpressionNode,
        name: &str,
    ) -> Result<BaseValue, String> {
        let ExpressionKind::Name(root) = &of.kind else { return Ok(BaseValue::Null) };
        if root == "formula" {
            return self.evaluate_formula(name);
        }
        if root == "note" {
            return Ok(self.note_property(&self.row, name));
        }
        let Some(this) = self.base.this.clone() else { return Ok(BaseValue::Null) };
        if name == "file" {
            return Ok(BaseValue::File(this));
        }
        match self.note_property(&this, name) {
            BaseValue::Null => Ok(self.file_field(&this, name).unwrap_or(BaseValue::Null)),
            property => Ok(property),
        }
    }

    pub(super) fn evaluate_formula(&mut self, name: &str) -> Result<BaseValue, String> {
        let Some(formula) = self.base.formulas.get(name) else {
            return Err(format!("there is no formula {name}"));
        };
        if self.depth >= DEPTH_MAX {
            return Err(format!("the formula {name} leads back to itself"));
        }
        self.depth += 1;
        let locals = std::mem::take(&mut self.locals);
        let found = self.evaluate_expression(formula);
        self.locals = locals;
        self.depth -= 1;
        found
    }

    fn evaluate_binary(
        &mut self,
        operator: BinaryOperator,
        a: &BaseValue,
        right: &ExpressionNode,
    ) -> Result<BaseValue, String> {
        match operator {
            BinaryOperator::And if !a.is_truthy() => return Ok(BaseValue::Bool(false)),
            BinaryOperator::Or if a.is_truthy() => return Ok(BaseValue::Bool(true)),
            _ => {}
        }
        let b = self.evaluate_expression(right)?;
        self.base.charge_steps(a.measure_weight()?)?;
        let compared = |wanted: fn(std::cmp::Ordering) -> bool| {
            Ok(BaseValue::Bool(a.compare_to(&b).is_some_and(wanted)))
        };
        match operator {
            BinaryOperator::And | BinaryOperator::Or => Ok(BaseValue::Bool(b.is_truthy())),
            BinaryOperator::Equal => Ok(BaseValue::Bool(a.is_equal_to(&b))),
            BinaryOperator::Unequal => Ok(BaseValue::Bool(!a.is_equal_to(&b))),
            BinaryOperator::Less => compared(std::cmp::Ordering::is_lt),
            BinaryOperator::LessOrEqual => compared(std::cmp::Ordering::is_le),
            BinaryOperator::Greater => compared(std::cmp::Ordering::is_gt),
            BinaryOperator::GreaterOrEqual => compared(std::cmp::Ordering::is_ge),
            BinaryOperator::Plus | BinaryOperator::Minus => add_values(a, &b, operator),
            BinaryOperator::Times | BinaryOperator::Divide | BinaryOperator::Modulo => {
                multiply_values(a, &b, operator)
            }
        }
    }
}

impl BaseFacts<'_> {
    /// Takes steps: one for each operation, and one for each few bytes and each item of what it looks at
    /// or makes.
    ///
    /// # Errors
    /// There are none left.
    pub(super) fn charge_steps(&self, count: u64) -> Result<(), String> {
        match self.steps.get().checked_sub(count) {
            Some(left) => {
                self.steps.set(left);
                Ok(())
            }
            None => {
                self.steps.set(0);
                Err("the base takes too many steps; narrow its filters".into())
            }
        }
    }
}

fn evaluate_index(of: BaseValue, at: &BaseValue) -> Result<BaseValue, String> {
    match (of, at) {
        (BaseValue::List(items), BaseValue::Number(at)) => Ok(item_at(&items, *at)),
        (BaseValue::Object(fields), BaseValue::Text(name)) => {
            let found = fields.into_iter().find(|(field, _)| field == name);
            Ok(found.map_or(BaseValue::Null, |(_, value)| value))
        }
        (BaseValue::Null, _) => Ok(BaseValue::Null),
        (value, at) => {
            Err(format!("a {} has no place {}", value.type_name(), at.to_text_within_bound()?))
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is checked first")]
fn item_at(items: &[BaseValue], at: f64) -> BaseValue {
    match at >= 0.0 && at.fract() == 0.0 {
        true => items.get(at as usize).cloned().unwrap_or(BaseValue::Null),
        false => BaseValue::Null,
    }
}

/// The length of time that a value means beside a date.
pub(super) fn duration_of(value: &BaseValue) -> Option<DurationValue> {
    match value {
        BaseValue::Duration(duration) => Some(*duration),
        BaseValue::Text(text) => DurationValue::parse_duration(text),
        BaseValue::Number(ms) => Some(DurationValue { months: 0.0, ms: *ms }),
        _ => None,
    }
}

fn add_values(a: &BaseValue, b: &BaseValue, operator: BinaryOperator) -> Result<BaseValue, String> {
    let minus = operator == BinaryOperator::Minus;
    let sign = if minus { -1.0 } else { 1.0 };
    match (a, b) {
        (BaseValue::Number(a), BaseValue::Number(b)) => Ok(BaseValue::Number(a + sign * b)),
        (BaseValue::Date(a), BaseValue::Date(b)) if minus => {
            Ok(BaseValue::Number(a.to_unix_ms() - b.to_unix_ms()))
        }
        (BaseValue::Date(date), by) => {
            let moved = duration_of(by).and_then(|by| DateValue::add_duration(*date, by, sign));
            moved.map(BaseValue::Date).ok_or_else(|| not_a_duration(by))
        }
        (BaseValue::Duration(a), b) => {
            let b = duration_of(b).ok_or_else(|| not_a_duration(b))?;
            let (months, ms) = (a.months + sign * b.months, a.ms + sign * b.ms);
            Ok(BaseValue::Duration(DurationValue { months, ms }))
        }
        (BaseValue::Null, BaseValue::Null) => Ok(BaseValue::Null),
        (BaseValue::Null, _) | (_, BaseValue::Null) if minus => Ok(BaseValue::Null),
        (BaseValue::Null, BaseValue::Number(_) | BaseValue::Date(_))
        | (BaseValue::Number(_), BaseValue::Null) => Ok(BaseValue::Null),
        (BaseValue::List(a), BaseValue::List(b)) if !minus => match a.len() + b.len() {
            0..=LIST_ITEMS_MAX => Ok(BaseValue::List(a.iter().chain(b).cloned().collect())),
            _ => Err(format!("a list of more than {LIST_ITEMS_MAX} items would be made")),
        },
        (a, b) if minus => {
            Err(format!("a {} cannot be taken from a {}", b.type_name(), a.type_name()))
        }
        (a, b) => {
            let text = a.to_text_within_bound()? + &b.to_text_within_bound()?;
            Ok(BaseValue::Text(require_text_bound(text)?))
        }
    }
}

/// That a value is no length of time.
pub(super) fn not_a_duration(value: &BaseValue) -> String {
    format!("{:?} is no duration", value.describe_short())
}

fn multiply_values(
    a: &BaseValue,
    b: &BaseValue,
    operator: BinaryOperator,
) -> Result<BaseValue, String> {
    match (a, b) {
        (BaseValue::Number(a), BaseValue::Number(b)) => Ok(BaseValue::Number(match operator {
            BinaryOperator::Times => a * b,
            BinaryOperator::Divide => a / b,
            _ => a % b,
        })),
        (BaseValue::Duration(a), BaseValue::Number(b)) if operator == BinaryOperator::Times => {
            Ok(BaseValue::Duration(a.multiply_by(*b)))
        }
        (BaseValue::Duration(a), BaseValue::Number(b)) if operator == BinaryOperator::Divide => {
            Ok(BaseValue::Duration(a.multiply_by(1.0 / b)))
        }
        (BaseValue::Null, _) | (_, BaseValue::Null) => Ok(BaseValue::Null),
        (a, b) => Err(format!(
            "a {} and a {} cannot be multiplied or divided",
            a.type_name(),
            b.type_name()
        )),
    }
}

/// A text that is not too long.
pub(super) fn require_text_bound(text: String) -> Result<String, String> {
    match text.len() > TEXT_BYTES_MAX {
        true => Err(format!("a text of more than {TEXT_BYTES_MAX} bytes would be made")),
        false => Ok(text),
    }
}
