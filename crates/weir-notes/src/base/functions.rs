//! Functions that stand by themselves, and which there are. One row for each, with the arguments that it
//! takes. Not here: functions of a value (`methods`).

use super::date::{DateValue, DurationValue};
use super::evaluate::{RowScope, not_a_duration};
use super::expression::ExpressionNode;
use super::file::start_of_day;
use super::value::{BaseValue, date_time, require_length};

/// Functions with the fewest and most arguments.
pub(super) const FUNCTIONS: &[(&str, usize, usize)] = &[
    ("escapeHTML", 1, 1),
    ("date", 1, 1),
    ("duration", 1, 1),
    ("file", 1, 1),
    ("html", 1, 1),
    ("if", 2, 3),
    ("image", 1, 1),
    ("icon", 1, 1),
    ("link", 1, 2),
    ("list", 1, 1),
    ("max", 1, usize::MAX),
    ("min", 1, usize::MAX),
    ("now", 0, 0),
    ("number", 1, 1),
    ("today", 0, 0),
    ("random", 0, 0),
];

impl RowScope<'_> {
    pub(super) fn call_function(
        &mut self,
        name: &str,
        arguments: &[ExpressionNode],
    ) -> Result<BaseValue, String> {
        if name == "if" {
            let yes = arguments
                .first()
                .map_or(Ok(BaseValue::Null), |first| self.evaluate_expression(first))?
                .is_truthy();
            return arguments
                .get(if yes { 1 } else { 2 })
                .map_or(Ok(BaseValue::Null), |to| self.evaluate_expression(to));
        }
        let values: Vec<BaseValue> = arguments
            .iter()
            .map(|argument| self.evaluate_expression(argument))
            .collect::<Result<_, _>>()?;
        let first = values.first().cloned().unwrap_or(BaseValue::Null);
        match name {
            "escapeHTML" => {
                let escaped = escape_html(&first.to_text_within_bound()?);
                require_length(escaped.len()).map(|()| BaseValue::Text(escaped))
            }
            "date" => read_date(&first),
            "duration" => match &first {
                BaseValue::Duration(_) => Ok(first),
                other => DurationValue::parse_duration(&other.to_text_within_bound()?)
                    .map(BaseValue::Duration)
                    .ok_or_else(|| not_a_duration(other)),
            },
            "file" => Ok(self.file_of(&first).map_or(BaseValue::Null, BaseValue::File)),
            "html" => drawn_value("html", &first),
            "image" => drawn_value("image", &first),
            "icon" => drawn_value("icon", &first),
            "link" => {
                let display = values.get(1).map(BaseValue::to_text);
                let path = match &first {
                    BaseValue::File(path) => path.clone(),
                    BaseValue::Link(link) => link.path.clone(),
                    other => other.to_text_within_bound()?,
                };
                Ok(BaseValue::Link(self.link_to(&path, display, &self.row)))
            }
            "list" => Ok(match first {
                BaseValue::List(_) => first,
                BaseValue::Null => BaseValue::List(Vec::new()),
                other => BaseValue::List(vec![other]),
            }),
            "max" => find_extreme(&values, f64::max),
            "min" => find_extreme(&values, f64::min),
            "now" => Ok(date_time(self.base.now)),
            "today" => Ok(BaseValue::Date(start_of_day(self.base.now))),
            "number" => read_number(&first),
            "random" => Ok(BaseValue::Number(self.random_number())),
            other => Err(format!("there is no function {other}()")),
        }
    }

    /// Another number for every question of a query; the same query at the same moment has the same.
    fn random_number(&self) -> f64 {
        let seed =
            self.base.steps.get() ^ u64::from(self.base.now.subsec_nanosecond().unsigned_abs());
        let mixed = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let part = u32::try_from(mixed >> 32).unwrap_or(0);
        f64::from(part) / (f64::from(u32::MAX) + 1.0)
    }
}

fn drawn_value(what: &'static str, value: &BaseValue) -> Result<BaseValue, String> {
    Ok(BaseValue::Drawn { what, text: value.to_text_within_bound()? })
}

fn escape_html(text: &str) -> String {
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    escaped.replace('"', "&quot;").replace('\'', "&#39;")
}

fn read_date(value: &BaseValue) -> Result<BaseValue, String> {
    match value {
        BaseValue::Date(_) | BaseValue::Null => Ok(value.clone()),
        BaseValue::Number(ms) => {
            let epoch = DateValue {
                at: jiff::civil::DateTime::constant(1970, 1, 1, 0, 0, 0, 0),
                has_time: true,
            };
            let by = DurationValue { months: 0.0, ms: *ms };
            epoch
                .add_duration(by, 1.0)
                .map(BaseValue::Date)
                .ok_or_else(|| format!("{ms} is no date"))
        }
        other => DateValue::parse_date(&other.to_text_within_bound()?)
            .map(BaseValue::Date)
            .ok_or_else(|| format!("{:?} is no date", other.describe_short())),
    }
}

fn read_number(value: &BaseValue) -> Result<BaseValue, String> {
    match value {
        BaseValue::Number(_) | BaseValue::Null => Ok(value.clone()),
        BaseValue::Bool(yes) => Ok(BaseValue::Number(f64::from(u8::from(*yes)))),
        BaseValue::Date(date) => Ok(BaseValue::Number(date.to_unix_ms())),
        BaseValue::Duration(duration) => Ok(BaseValue::Number(duration.ms_about())),
        other => {
            let read = other.to_text_within_bound()?.trim().parse();
            let wrong = || format!("{:?} is no number", other.describe_short());
            read.map(BaseValue::Number).map_err(|_| wrong())
        }
    }
}

fn find_extreme(values: &[BaseValue], of: fn(f64, f64) -> f64) -> Result<BaseValue, String> {
    let mut found: Option<f64> = None;
    for value in values {
        match read_number(value)? {
            BaseValue::Number(number) => {
                found = Some(found.map_or(number, |best| of(best, number)))
            }
            _ => continue,
        }
    }
    Ok(found.map_or(BaseValue::Null, BaseValue::Number))
}
