//! Functions of lists. Not here: those that work something out for each item (`methods`).

use super::{MethodCall, first_text, slice_bounds};
use crate::base::evaluate::BaseFacts;
use crate::base::value::{BaseValue, push_text};

/// A function of a list; `None`: lists have none of that name.
pub(super) fn list_method(
    base: &BaseFacts<'_>,
    items: &[BaseValue],
    call: &MethodCall<'_>,
) -> Option<Result<BaseValue, String>> {
    let values = call.values;
    // Whoever looks for a value looks at no more of each item than the item has.
    let has = |wanted: &BaseValue| -> Result<bool, String> {
        base.charge_steps(call.weight)?;
        Ok(items.iter().any(|item| item.is_equal_to(wanted)))
    };
    let any = |wanted: bool| -> Result<BaseValue, String> {
        for value in values {
            if has(value)? == wanted {
                return Ok(BaseValue::Bool(wanted));
            }
        }
        Ok(BaseValue::Bool(!wanted))
    };
    Some(match call.name {
        "contains" | "containsAny" => any(true),
        "containsAll" => any(false),
        "join" => join_items(items, values),
        "flat" => {
            let mut flat = Vec::new();
            flatten_list(items, &mut flat);
            Ok(BaseValue::List(flat))
        }
        "mean" => Ok(mean_value(items)),
        "reverse" => Ok(BaseValue::List(items.iter().rev().cloned().collect())),
        "slice" => Ok(BaseValue::List(items[slice_bounds(values, items.len())].to_vec())),
        "sort" => sort_items(base, items, call.weight),
        "unique" => unique_items(base, items),
        _ => return None,
    })
}

fn join_items(items: &[BaseValue], values: &[BaseValue]) -> Result<BaseValue, String> {
    let between = first_text(values)?;
    let mut text = String::new();
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            push_text(&mut text, &between)?;
        }
        item.write_text(&mut text)?;
    }
    Ok(BaseValue::Text(text))
}

fn sort_items(base: &BaseFacts<'_>, items: &[BaseValue], weight: u64) -> Result<BaseValue, String> {
    // Each item is compared about as often as the count can be halved.
    base.charge_steps(weight.saturating_mul(1 + u64::from(items.len().max(1).ilog2())))?;
    let mut sorted = items.to_vec();
    sorted.sort_by(BaseValue::sort_order);
    Ok(BaseValue::List(sorted))
}

fn unique_items(base: &BaseFacts<'_>, items: &[BaseValue]) -> Result<BaseValue, String> {
    let mut unique: Vec<&BaseValue> = Vec::new();
    for item in items {
        let weight = item.measure_weight()?;
        base.charge_steps(weight.saturating_mul(1 + unique.len() as u64))?;
        if !unique.iter().any(|other| other.is_equal_to(item)) {
            unique.push(item);
        }
    }
    Ok(BaseValue::List(unique.into_iter().cloned().collect()))
}

fn flatten_list(items: &[BaseValue], flat: &mut Vec<BaseValue>) {
    for item in items {
        match item {
            BaseValue::List(inner) => flatten_list(inner, flat),
            other => flat.push(other.clone()),
        }
    }
}

/// The mean of the numbers of a list.
pub(in crate::base) fn mean_value(items: &[BaseValue]) -> BaseValue {
    let numbers: Vec<f64> = numbers_of(items);
    match numbers.len() {
        0 => BaseValue::Null,
        count => BaseValue::Number(
            numbers.iter().sum::<f64>() / f64::from(u32::try_from(count).unwrap_or(1)),
        ),
    }
}

/// The numbers of a list.
pub(in crate::base) fn numbers_of(items: &[BaseValue]) -> Vec<f64> {
    let numbers = items.iter().filter_map(|item| match item {
        BaseValue::Number(number) => Some(*number),
        _ => None,
    });
    numbers.collect()
}
