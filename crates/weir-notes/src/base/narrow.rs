//! Which files the filters of a base may let through, as far as the lists of the index say it. Not here: the
//! filters themselves, which are worked out for each of those files (`query`).

use super::definition::{BaseDefinition, BaseFilter, BaseView};
use super::expression::{BinaryOperator, ExpressionKind, ExpressionNode};
use crate::index::{FileSet, NoteIndex};

/// The files that the filters may let through, where what they ask first is for tags: of the others
/// nothing is read. What they ask later may fail for a file, so nothing is known of it. `None`: any file.
pub(super) fn likely_files(
    base: &BaseDefinition,
    view: &BaseView,
    index: &NoteIndex,
) -> Option<FileSet> {
    let mut likely = None;
    let mut filters = base.filter.iter().chain(&view.filter);
    while let Some(filter) = filters.next()
        && narrow_by_filter(filter, index, &mut likely)
    {}
    likely
}

/// Narrows the files by a filter as far as it asks for tags; whether that was all of it.
fn narrow_by_filter(filter: &BaseFilter, index: &NoteIndex, likely: &mut Option<FileSet>) -> bool {
    match filter {
        BaseFilter::Statement(statement) => narrow_by_expression(statement, index, likely),
        BaseFilter::And(filters) => {
            filters.iter().all(|filter| narrow_by_filter(filter, index, likely))
        }
        BaseFilter::Or(_) | BaseFilter::Not(_) => false,
    }
}

fn narrow_by_expression(
    expression: &ExpressionNode,
    index: &NoteIndex,
    likely: &mut Option<FileSet>,
) -> bool {
    // The left of `&&` may be long: what it begins with is asked first.
    let chain = expression.list_chain();
    let mut operands = Vec::new();
    for node in chain {
        match &node.kind {
            ExpressionKind::Binary(BinaryOperator::And, left, right) => {
                operands.push(&**right);
                if !matches!(&left.kind, ExpressionKind::Binary(BinaryOperator::And, ..)) {
                    operands.push(&**left);
                    break;
                }
            }
            _ => {
                operands.push(node);
                break;
            }
        }
    }
    operands.into_iter().rev().all(|operand| {
        let Some(files) = files_of_tag_call(operand, index) else { return false };
        match likely {
            Some(likely) => likely.keep_common(&files),
            None => *likely = Some(files),
        }
        true
    })
}

/// The files for which `file.hasTag("a", "b")` holds; `None`: it asks for something else.
fn files_of_tag_call(expression: &ExpressionNode, index: &NoteIndex) -> Option<FileSet> {
    let ExpressionKind::Method(of, name, arguments) = &expression.kind else { return None };
    let is_file = matches!(&of.kind, ExpressionKind::Name(name) if name == "file");
    if !is_file || name != "hasTag" {
        return None;
    }
    let mut files = FileSet::default();
    for argument in arguments {
        let ExpressionKind::Text(tag) = &argument.kind else { return None };
        files.insert_all(&index.tagged_files(tag));
    }
    Some(files)
}
