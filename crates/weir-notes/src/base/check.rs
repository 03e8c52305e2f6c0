//! Whether an expression names only what there is: functions, fields of files, formulas. Said before
//! anything is worked out, with its place. Not here: what types fit, which only values show.

use super::expression::{ExpressionKind, ExpressionNode};
use super::file::FILE_FIELDS;
use super::functions::FUNCTIONS;
use super::methods::METHODS;

/// Looks an expression over.
///
/// # Errors
/// What there is not, with the character at which it stands.
pub(super) fn check_expression(
    text: &str,
    expression: &ExpressionNode,
    formulas: &dyn Fn(&str) -> bool,
) -> Result<(), String> {
    let chain = expression.list_chain();
    chain.into_iter().rev().try_for_each(|node| check_node(text, node, formulas))
}

/// A node and what stands beside its chain, not what the chain goes on from.
fn check_node(
    text: &str,
    expression: &ExpressionNode,
    formulas: &dyn Fn(&str) -> bool,
) -> Result<(), String> {
    let place = |at: usize| text.get(..at).map_or(0, |before| before.chars().count()) + 1;
    let check = |inner: &ExpressionNode| check_expression(text, inner, formulas);
    match &expression.kind {
        ExpressionKind::Null
        | ExpressionKind::Bool(_)
        | ExpressionKind::Number(_)
        | ExpressionKind::Text(_)
        | ExpressionKind::Pattern { .. }
        | ExpressionKind::Name(_) => Ok(()),
        ExpressionKind::List(items) => items.iter().try_for_each(check),
        ExpressionKind::Object(fields) => fields.iter().try_for_each(|(_, value)| check(value)),
        ExpressionKind::Not(of) | ExpressionKind::Negative(of) => check(of),
        ExpressionKind::Binary(_, _, right) => check(right),
        ExpressionKind::Index(_, at) => check(at),
        ExpressionKind::Field(of, name) => {
            let root = match &of.kind {
                ExpressionKind::Name(root) => root.as_str(),
                _ => "",
            };
            match root {
                "file" if !FILE_FIELDS.contains(&name.as_str()) => Err(format!(
                    "file.{name} is unknown, at character {}; there are {}",
                    place(expression.at),
                    FILE_FIELDS.join(", ")
                )),
                "formula" if !formulas(name) => Err(format!(
                    "there is no formula {name}, at character {}",
                    place(expression.at)
                )),
                _ => Ok(()),
            }
        }
        ExpressionKind::Call(name, arguments) => {
            let known = FUNCTIONS.iter().find(|(function, _, _)| function == name);
            let Some((_, least, most)) = known else {
                let at = place(expression.at);
                return Err(format!("the function {name}() is unknown, at character {at}"));
            };
            check_count(name, arguments.len(), *least..=*most)?;
            arguments.iter().try_for_each(check)
        }
        ExpressionKind::Method(_, name, arguments) => {
            let known: Vec<_> = METHODS.iter().filter(|(_, method, _, _)| method == name).collect();
            if known.is_empty() {
                let at = place(expression.at);
                return Err(format!("the function .{name}() is unknown, at character {at}"));
            }
            let least = known.iter().map(|row| row.2).min().unwrap_or(0);
            let most = known.iter().map(|row| row.3).max().unwrap_or(0);
            check_count(name, arguments.len(), least..=most)?;
            arguments.iter().try_for_each(check)
        }
    }
}

fn check_count(
    name: &str,
    given: usize,
    fits: std::ops::RangeInclusive<usize>,
) -> Result<(), String> {
    if fits.contains(&given) {
        return Ok(());
    }
    let wanted = match (*fits.start(), *fits.end()) {
        (0, 0) => "no arguments".to_owned(),
        (least, most) if least == most => format!("{least}"),
        (least, usize::MAX) => format!("at least {least}"),
        (least, most) => format!("{least} to {most}"),
    };
    Err(format!("{name}() takes {wanted}, not {given}"))
}
