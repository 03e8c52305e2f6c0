//! Functions of texts and numbers, and the patterns that texts are looked through with. Not here: which
//! functions there are (`methods`).

use std::rc::Rc;

use regex::{Regex, RegexBuilder};

use super::{MethodCall, first_text, number_at, slice_bounds};
use crate::base::evaluate::{BaseFacts, LIST_ITEMS_MAX};
use crate::base::value::{BYTES_A_STEP, BaseValue, number_text, push_text, require_length};

/// Sizes of compiled patterns in bytes, with the steps that a byte of a text takes then; a larger one
/// cannot be used.
const PATTERN_SIZES: [(usize, u64); 3] = [(20_000, 1), (100_000, 10), (1_000_000, 100)];
/// Steps of compiling one.
const COMPILING_STEPS: u64 = 10_000;

fn steps_for(text: &str) -> u64 {
    (text.len() / BYTES_A_STEP) as u64 + 1
}

/// A function of a text; `None`: texts have none of that name.
pub(super) fn text_method(
    base: &BaseFacts<'_>,
    text: &str,
    call: &MethodCall<'_>,
) -> Option<Result<BaseValue, String>> {
    let values = call.values;
    let found = |wanted: &BaseValue| -> Result<bool, String> {
        base.charge_steps(steps_for(text))?;
        Ok(text.contains(&wanted.to_text_within_bound()?))
    };
    let any = |wanted: bool| -> Result<BaseValue, String> {
        for value in values {
            if found(value)? == wanted {
                return Ok(BaseValue::Bool(wanted));
            }
        }
        Ok(BaseValue::Bool(!wanted))
    };
    let first = || first_text(values);
    Some(match call.name {
        "contains" | "containsAny" => any(true),
        "containsAll" => any(false),
        "endsWith" => first().map(|end| BaseValue::Bool(text.ends_with(&end))),
        "startsWith" => first().map(|start| BaseValue::Bool(text.starts_with(&start))),
        "lower" => Ok(BaseValue::Text(text.to_lowercase())),
        "trim" => Ok(BaseValue::from_text(text.trim())),
        "reverse" => Ok(BaseValue::Text(text.chars().rev().collect())),
        "title" => Ok(BaseValue::Text(title_case(text))),
        "slice" => {
            let letters: Vec<char> = text.chars().collect();
            let part = &letters[slice_bounds(values, letters.len())];
            Ok(BaseValue::Text(part.iter().collect()))
        }
        "repeat" => repeat_text(base, text, number_at(values, 0)),
        "replace" => replace_text(base, text, values),
        "split" => split_text(base, text, values),
        _ => return None,
    })
}

fn title_case(text: &str) -> String {
    let mut begins = true;
    text.chars()
        .flat_map(|letter| {
            let upper: Vec<char> = match begins {
                true => letter.to_uppercase().collect(),
                false => letter.to_lowercase().collect(),
            };
            begins = letter.is_whitespace();
            upper
        })
        .collect()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is bounded first")]
fn repeat_text(base: &BaseFacts<'_>, text: &str, count: Option<f64>) -> Result<BaseValue, String> {
    let count = count.filter(|count| (0.0..=100_000.0).contains(count));
    let count = count.ok_or("repeat() takes a number from 0 to 100000")? as usize;
    require_length(text.len().saturating_mul(count))?;
    base.charge_steps(count as u64)?;
    Ok(BaseValue::Text(text.repeat(count)))
}

fn replace_text(
    base: &BaseFacts<'_>,
    text: &str,
    values: &[BaseValue],
) -> Result<BaseValue, String> {
    let by = values.get(1).map_or(Ok(String::new()), BaseValue::to_text_within_bound)?;
    let mut replaced = String::new();
    let mut from = 0;
    match values.first() {
        Some(BaseValue::Pattern { source, flags }) => {
            let pattern = base.compile_pattern(source, flags)?;
            base.charge_steps(pattern.steps_for(text))?;
            // `$1a` is group 1 and a letter.
            let by = numbered_groups(&by);
            let groups = by.matches('$').count();
            let most = if flags.contains('g') { usize::MAX } else { 1 };
            for found in pattern.regex.captures_iter(text).take(most) {
                let Some(whole) = found.get(0) else { continue };
                require_length(by.len() + groups.saturating_mul(whole.len()))?;
                base.charge_steps(1 + groups as u64)?;
                push_text(&mut replaced, &text[from..whole.start()])?;
                let mut expanded = String::new();
                found.expand(&by, &mut expanded);
                push_text(&mut replaced, &expanded)?;
                from = whole.end();
            }
        }
        Some(of) => {
            let of = of.to_text_within_bound()?;
            for (at, found) in text.match_indices(&of) {
                base.charge_steps(1)?;
                push_text(&mut replaced, &text[from..at])?;
                push_text(&mut replaced, &by)?;
                from = at + found.len();
            }
        }
        None => {}
    }
    push_text(&mut replaced, &text[from..])?;
    Ok(BaseValue::Text(replaced))
}

fn numbered_groups(by: &str) -> String {
    let mut text = String::new();
    let mut letters = by.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '$' {
            text.push(letter);
            continue;
        }
        let mut digits = String::new();
        while let Some(digit) = letters.next_if(char::is_ascii_digit) {
            digits.push(digit);
        }
        if digits.is_empty() {
            text.push_str("$$")
        } else {
            text.push_str(&format!("${{{digits}}}"))
        }
    }
    text
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clamped first")]
fn split_text(base: &BaseFacts<'_>, text: &str, values: &[BaseValue]) -> Result<BaseValue, String> {
    let most = number_at(values, 1).map_or(LIST_ITEMS_MAX, |n| n.clamp(0.0, 100_000.0) as usize);
    // Each part is a text of its own, whatever its length.
    base.charge_steps(text.len() as u64)?;
    let parts: Vec<BaseValue> = match values.first() {
        Some(BaseValue::Pattern { source, flags }) => {
            let pattern = base.compile_pattern(source, flags)?;
            base.charge_steps(pattern.steps_for(text))?;
            pattern.regex.split(text).take(most).map(BaseValue::from_text).collect()
        }
        Some(by) => match by.to_text_within_bound()?.as_str() {
            "" => {
                text.chars().take(most).map(|letter| BaseValue::Text(letter.to_string())).collect()
            }
            by => text.split(by).take(most).map(BaseValue::from_text).collect(),
        },
        None => vec![BaseValue::from_text(text)],
    };
    Ok(BaseValue::List(parts))
}

/// A pattern that can be used.
pub(in crate::base) struct CompiledPattern {
    regex: Regex,
    steps_a_byte: u64,
}

impl CompiledPattern {
    /// What looking for it in a text takes.
    fn steps_for(&self, text: &str) -> u64 {
        (text.len() as u64 + 1).saturating_mul(self.steps_a_byte)
    }
    /// Whether a text has it.
    pub(super) fn is_in(&self, base: &BaseFacts<'_>, text: &str) -> Result<bool, String> {
        base.charge_steps(self.steps_for(text))?;
        Ok(self.regex.is_match(text))
    }
}

impl BaseFacts<'_> {
    /// A pattern, compiled once for a query.
    ///
    /// # Errors
    /// It is none.
    pub(super) fn compile_pattern(
        &self,
        source: &str,
        flags: &str,
    ) -> Result<Rc<CompiledPattern>, String> {
        let key = format!("{flags}/{source}");
        if let Some(known) = self.patterns.borrow().get(&key) {
            return Ok(known.clone());
        }
        self.charge_steps(COMPILING_STEPS)?;
        let mut compiled = None;
        // A large one looks at many of its states for each letter.
        for (bytes, steps_a_byte) in PATTERN_SIZES {
            let built = RegexBuilder::new(source)
                .case_insensitive(flags.contains('i'))
                .multi_line(flags.contains('m'))
                .dot_matches_new_line(flags.contains('s'))
                .size_limit(bytes)
                .build();
            if let Ok(regex) = built {
                compiled = Some(Rc::new(CompiledPattern { regex, steps_a_byte }));
                break;
            }
        }
        let compiled =
            compiled.ok_or_else(|| format!("/{source}/ is no pattern that can be used"))?;
        self.patterns.borrow_mut().insert(key, compiled.clone());
        Ok(compiled)
    }
}

/// A function of a number; `None`: numbers have none of that name.
pub(super) fn number_method(
    number: f64,
    call: &MethodCall<'_>,
) -> Option<Result<BaseValue, String>> {
    let digits = number_at(call.values, 0).unwrap_or(0.0).clamp(0.0, 100.0);
    // Halves go up, as in JavaScript.
    let round = |number: f64| (number + 0.5).floor();
    Some(Ok(BaseValue::Number(match call.name {
        "abs" => number.abs(),
        "ceil" => number.ceil(),
        "floor" => number.floor(),
        "round" if digits == 0.0 => round(number),
        "round" => {
            let scale = 10_f64.powf(digits.min(15.0));
            round(number * scale) / scale
        }
        "toFixed" => return Some(Ok(BaseValue::Text(format_fixed(number, digits)))),
        _ => return None,
    })))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clamped before")]
fn format_fixed(number: f64, digits: f64) -> String {
    match number.is_finite() {
        true => {
            let digits = digits as usize;
            // A half goes up, where the number is exactly that.
            let longer = format!("{number:.*}", digits + 30);
            let is_half = longer.trim_end_matches('0').len() + 29 == longer.len()
                && longer.trim_end_matches('0').ends_with('5');
            let nudge = 10_f64.powi(-i32::try_from(digits + 4).unwrap_or(0)).copysign(number);
            format!("{:.*}", digits, if is_half { number + nudge } else { number })
        }
        false => number_text(number),
    }
}
