//! Functions and fields of values, by type. One row for each function. Not here: fields of files
//! (`file`).

use super::evaluate::RowScope;
use super::expression::ExpressionNode;
use super::value::{BaseValue, LinkValue};
use crate::moment::format_moment;

mod lists;
mod texts;

pub(super) use lists::{mean_value, numbers_of};
pub(super) use texts::CompiledPattern;

/// A call of a function of a value.
struct MethodCall<'a> {
    name: &'a str,
    values: &'a [BaseValue],
    /// How much the value is whose function it is.
    weight: u64,
}

/// Functions of values: type, name, fewest and most arguments. `any` is every type.
pub(super) const METHODS: &[(&str, &str, usize, usize)] = &[
    ("any", "isTruthy", 0, 0),
    ("any", "isType", 1, 1),
    ("any", "toString", 0, 0),
    ("date", "date", 0, 0),
    ("date", "format", 1, 1),
    ("date", "time", 0, 0),
    ("date", "relative", 0, 0),
    ("date", "isEmpty", 0, 0),
    ("string", "contains", 1, 1),
    ("string", "containsAll", 1, usize::MAX),
    ("string", "containsAny", 1, usize::MAX),
    ("string", "endsWith", 1, 1),
    ("string", "isEmpty", 0, 0),
    ("string", "lower", 0, 0),
    ("string", "replace", 2, 2),
    ("string", "repeat", 1, 1),
    ("string", "reverse", 0, 0),
    ("string", "slice", 1, 2),
    ("string", "split", 1, 2),
    ("string", "startsWith", 1, 1),
    ("string", "title", 0, 0),
    ("string", "trim", 0, 0),
    ("number", "abs", 0, 0),
    ("number", "ceil", 0, 0),
    ("number", "floor", 0, 0),
    ("number", "isEmpty", 0, 0),
    ("number", "round", 0, 1),
    ("number", "toFixed", 1, 1),
    ("list", "contains", 1, 1),
    ("list", "containsAll", 1, usize::MAX),
    ("list", "containsAny", 1, usize::MAX),
    ("list", "filter", 1, 1),
    ("list", "flat", 0, 0),
    ("list", "isEmpty", 0, 0),
    ("list", "join", 1, 1),
    ("list", "map", 1, 1),
    ("list", "mean", 0, 0),
    ("list", "reduce", 2, 2),
    ("list", "reverse", 0, 0),
    ("list", "slice", 1, 2),
    ("list", "sort", 0, 0),
    ("list", "unique", 0, 0),
    ("link", "asFile", 0, 0),
    ("link", "linksTo", 1, 1),
    ("file", "asLink", 0, 1),
    ("file", "hasLink", 1, 1),
    ("file", "hasProperty", 1, 1),
    ("file", "hasTag", 1, usize::MAX),
    ("file", "inFolder", 1, 1),
    ("object", "isEmpty", 0, 0),
    ("object", "keys", 0, 0),
    ("object", "values", 0, 0),
    ("regexp", "matches", 1, 1),
];

impl RowScope<'_> {
    pub(super) fn call_method(
        &mut self,
        of: &BaseValue,
        name: &str,
        arguments: &[ExpressionNode],
    ) -> Result<BaseValue, String> {
        if let (BaseValue::List(items), "filter" | "map" | "reduce") = (of, name) {
            return self.evaluate_each(items, name, arguments);
        }
        let values: Vec<BaseValue> = arguments
            .iter()
            .map(|argument| self.evaluate_expression(argument))
            .collect::<Result<_, _>>()?;
        let weight = of.measure_weight()?;
        self.base.charge_steps(weight)?;
        match name {
            "isTruthy" => return Ok(BaseValue::Bool(of.is_truthy())),
            "toString" => return of.to_text_within_bound().map(BaseValue::Text),
            "isType" => return Ok(BaseValue::Bool(of.type_name() == first_text(&values)?)),
            "isEmpty" => return Ok(BaseValue::Bool(of.is_empty())),
            _ => {}
        }
        let base = self.base;
        let call = MethodCall { name, values: &values, weight };
        let found = match of {
            BaseValue::Null => Some(Ok(absent_value(name))),
            BaseValue::Text(text) => texts::text_method(base, text, &call),
            BaseValue::Number(number) => texts::number_method(*number, &call),
            BaseValue::Date(_) => self.date_method(of, name, &values),
            BaseValue::List(items) => lists::list_method(base, items, &call),
            BaseValue::Link(link) => self.link_method(link, name, &values),
            BaseValue::File(path) => self.file_method(path, name, &values),
            BaseValue::Object(fields) => object_method(fields, name),
            BaseValue::Pattern { source, flags } if name == "matches" => {
                let pattern = base.compile_pattern(source, flags);
                Some(pattern.and_then(|pattern| {
                    pattern.is_in(base, &first_text(&values)?).map(BaseValue::Bool)
                }))
            }
            BaseValue::Bool(_)
            | BaseValue::Duration(_)
            | BaseValue::Pattern { .. }
            | BaseValue::Drawn { .. } => None,
        };
        found.unwrap_or_else(|| Err(format!("a {} has no function {name}()", of.type_name())))
    }

    /// A field of a value.
    pub(super) fn value_field(&self, of: &BaseValue, name: &str) -> Result<BaseValue, String> {
        let whole = |number: i32| BaseValue::Number(f64::from(number));
        let found = match (of, name) {
            (BaseValue::Null, _) => Some(BaseValue::Null),
            (BaseValue::Text(text), "length") => Some(BaseValue::from_count(text.chars().count())),
            (BaseValue::List(items), "length") => Some(BaseValue::from_count(items.len())),
            (BaseValue::Date(date), "year") => Some(whole(date.at.year().into())),
            (BaseValue::Date(date), "month") => Some(whole(date.at.month().into())),
            (BaseValue::Date(date), "day") => Some(whole(date.at.day().into())),
            (BaseValue::Date(date), "hour") => Some(whole(date.at.hour().into())),
            (BaseValue::Date(date), "minute") => Some(whole(date.at.minute().into())),
            (BaseValue::Date(date), "second") => Some(whole(date.at.second().into())),
            (BaseValue::Date(date), "millisecond") => Some(whole(date.at.millisecond().into())),
            (BaseValue::Object(fields), name) => {
                let found = fields.iter().find(|(field, _)| field == name);
                Some(found.map_or(BaseValue::Null, |(_, value)| value.clone()))
            }
            (BaseValue::File(path), name) => {
                let field = self.file_field(path, name);
                field.or_else(|| {
                    Some(self.note_property(path, name)).filter(|value| *value != BaseValue::Null)
                })
            }
            _ => None,
        };
        found.ok_or_else(|| format!("a {} has no field {name}", of.type_name()))
    }

    /// `value`, `index` and `acc` stand for what is looked at.
    fn evaluate_each(
        &mut self,
        items: &[BaseValue],
        name: &str,
        arguments: &[ExpressionNode],
    ) -> Result<BaseValue, String> {
        let Some(expression) = arguments.first() else { return Ok(BaseValue::Null) };
        let reduces = name == "reduce";
        let mut acc = match arguments.get(1) {
            Some(start) if reduces => self.evaluate_expression(start)?,
            _ => BaseValue::Null,
        };
        let mut kept = Vec::new();
        for (at, item) in items.iter().enumerate() {
            let before = self.locals.len();
            self.base.charge_steps(item.measure_weight()?)?;
            self.locals.push(("value", item.clone()));
            self.locals.push(("index", BaseValue::from_count(at)));
            if reduces {
                self.base.charge_steps(acc.measure_weight()?)?;
                self.locals.push(("acc", acc.clone()));
            }
            let found = self.evaluate_expression(expression);
            self.locals.truncate(before);
            let found = found?;
            match name {
                "filter" if found.is_truthy() => kept.push(item.clone()),
                "filter" => {}
                "map" => kept.push(found),
                _ => acc = found,
            }
        }
        Ok(if reduces { acc } else { BaseValue::List(kept) })
    }

    fn date_method(
        &self,
        of: &BaseValue,
        name: &str,
        values: &[BaseValue],
    ) -> Option<Result<BaseValue, String>> {
        let BaseValue::Date(date) = of else { return None };
        Some(Ok(match name {
            "date" => BaseValue::Date(super::file::start_of_day(date.at)),
            "format" => {
                return Some(first_text(values).map(|format| {
                    let text = format_moment(date.at, &format, self.base.offset_minutes);
                    BaseValue::Text(text)
                }));
            }
            "time" => BaseValue::Text(date.at.strftime("%H:%M:%S").to_string()),
            "relative" => BaseValue::Text(date.describe_distance(self.base.now)),
            _ => return None,
        }))
    }

    fn link_method(
        &self,
        link: &LinkValue,
        name: &str,
        values: &[BaseValue],
    ) -> Option<Result<BaseValue, String>> {
        Some(Ok(match name {
            "asFile" => link.target.clone().map_or(BaseValue::Null, BaseValue::File),
            "linksTo" => {
                let target = values.first().unwrap_or(&BaseValue::Null);
                BaseValue::Bool(
                    link.target.as_deref().is_some_and(|file| self.has_link(file, target)),
                )
            }
            _ => return None,
        }))
    }

    fn file_method(
        &self,
        path: &str,
        name: &str,
        values: &[BaseValue],
    ) -> Option<Result<BaseValue, String>> {
        let first = values.first().unwrap_or(&BaseValue::Null);
        Some(Ok(match name {
            "asLink" => {
                let display = values.first().map(BaseValue::to_text);
                BaseValue::Link(LinkValue {
                    path: path.to_owned(),
                    target: Some(path.to_owned()),
                    display,
                })
            }
            "hasLink" => BaseValue::Bool(self.has_link(path, first)),
            "hasProperty" => {
                let wanted = first.to_text().to_lowercase();
                BaseValue::Bool(
                    self.note_properties(path)
                        .iter()
                        .any(|(name, _)| name.to_lowercase() == wanted),
                )
            }
            "hasTag" => {
                BaseValue::Bool(values.iter().any(|tag| self.has_tag(path, &tag.to_text())))
            }
            "inFolder" => {
                let folder = first.to_text();
                let folder = folder.trim_matches('/');
                let own = crate::resolve::parent_folder(path);
                let below = own.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
                BaseValue::Bool(folder.is_empty() || own == folder || below)
            }
            _ => return None,
        }))
    }
}

/// What a function says of a property that is not there.
fn absent_value(name: &str) -> BaseValue {
    match name {
        "contains" | "containsAll" | "containsAny" | "startsWith" | "endsWith" | "hasTag"
        | "hasLink" | "hasProperty" | "inFolder" | "linksTo" | "matches" => BaseValue::Bool(false),
        _ => BaseValue::Null,
    }
}

fn first_text(values: &[BaseValue]) -> Result<String, String> {
    values.first().map_or(Ok(String::new()), BaseValue::to_text_within_bound)
}

fn object_method(fields: &[(String, BaseValue)], name: &str) -> Option<Result<BaseValue, String>> {
    Some(Ok(BaseValue::List(match name {
        "keys" => fields.iter().map(|(name, _)| BaseValue::from_text(name.as_str())).collect(),
        "values" => fields.iter().map(|(_, value)| value.clone()).collect(),
        _ => return None,
    })))
}

fn number_at(values: &[BaseValue], at: usize) -> Option<f64> {
    match values.get(at) {
        Some(BaseValue::Number(number)) => Some(*number),
        Some(other) => other.to_text().parse().ok(),
        None => None,
    }
}

/// The bounds of a part as JavaScript counts them: negative ones from the end.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "they are clamped first"
)]
fn slice_bounds(values: &[BaseValue], length: usize) -> std::ops::Range<usize> {
    let size = f64::from(u32::try_from(length).unwrap_or(u32::MAX));
    let place = |at: f64| (if at < 0.0 { size + at } else { at }).clamp(0.0, size) as usize;
    let start = place(number_at(values, 0).unwrap_or(0.0));
    let end = place(number_at(values, 1).unwrap_or(size));
    start..end.max(start)
}
