//! What the beginning of a line says of the block that it begins or ends.
//!
//! One line at a time: what stands before it is `scan`'s.

/// A list, as its last point says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ListMarker {
    pub(super) sign: u8,
    /// The number of that point, where it has one.
    pub(super) number: Option<u64>,
}

/// What code stands between.
#[derive(Debug, Clone, Copy)]
pub(super) struct CodeFence {
    pub(super) sign: u8,
    pub(super) length: usize,
    pub(super) indent: usize,
}

impl CodeFence {
    pub(super) fn is_closed_by(&self, line: &str) -> bool {
        let inner = line.trim_start_matches(' ');
        let rest = inner.trim_start_matches(char::from(self.sign));
        line.len() - inner.len() < 4
            && inner.len() - rest.len() >= self.length
            && rest.trim_matches([' ', '\t']).is_empty()
    }
}

/// What the beginning of a line says.
#[derive(Debug, Default)]
pub(super) struct LineShape {
    pub(super) blank: bool,
    /// Columns before its first sign.
    pub(super) indent: usize,
    pub(super) heading: bool,
    pub(super) rule: bool,
    /// The line before it may become a heading by it.
    pub(super) underline: bool,
    pub(super) quote: bool,
    pub(super) footnote: bool,
    pub(super) fence: Option<CodeFence>,
    /// A point of a list, and the column where its text begins.
    pub(super) point: Option<(ListMarker, usize)>,
}

impl LineShape {
    pub(super) fn of_line(line: &str) -> LineShape {
        let (indent, inner) = split_indent(line, 0);
        let mut shape =
            LineShape { blank: inner.trim().is_empty(), indent, ..LineShape::default() };
        let Some(first) = inner.bytes().next().filter(|_| !shape.blank) else { return shape };
        let run = inner.len() - inner.trim_start_matches(char::from(first)).len();
        let rest = &inner[run.min(inner.len())..];
        match first {
            b'#' => shape.heading = run <= 6 && (rest.is_empty() || rest.starts_with([' ', '\t'])),
            b'`' | b'~' if run >= 3 && !(first == b'`' && rest.contains('`')) => {
                shape.fence = Some(CodeFence { sign: first, length: run, indent });
            }
            b'>' => shape.quote = true,
            b'[' => shape.footnote = is_footnote(inner),
            b'-' | b'*' | b'_' => {
                let only = |b: u8| b == first || b == b' ' || b == b'\t';
                let signs = inner.bytes().filter(|b| *b == first).count();
                shape.rule = signs >= 3 && inner.bytes().all(only);
            }
            _ => (),
        }
        shape.underline = matches!(first, b'-' | b'=') && rest.trim().is_empty() && indent < 4;
        if !shape.rule {
            shape.point = list_point(inner, indent);
        }
        if indent >= 4 {
            (shape.heading, shape.rule, shape.footnote) = (false, false, false);
        }
        shape
    }

    /// Whether it begins a block even where text could go on.
    pub(super) fn begins_block(&self, line: &str) -> bool {
        let counts = |list: &ListMarker| list.number.is_none_or(|number| number == 1);
        let empty = line.trim().len() < 3;
        let point = self.point.filter(|(list, _)| counts(list) && !empty);
        let line = self.heading || self.rule || self.quote || self.footnote;
        self.indent < 4 && (line || self.fence.is_some() || point.is_some())
    }
}

/// Columns of blanks before the text, which begins at `column`, and the text.
fn split_indent(line: &str, column: usize) -> (usize, &str) {
    let mut at = column;
    for (byte, c) in line.char_indices() {
        match c {
            ' ' => at += 1,
            '\t' => at += 4 - at % 4,
            _ => return (at - column, &line[byte..]),
        }
    }
    (at - column, "")
}

fn is_footnote(inner: &str) -> bool {
    let label = inner.strip_prefix("[^").and_then(|rest| rest.split_once("]:"));
    label.is_some_and(|(label, _)| !label.is_empty() && !label.contains(['[', ']', ' ']))
}

/// A point of a list that begins here, and the column where its text begins.
fn list_point(inner: &str, indent: usize) -> Option<(ListMarker, usize)> {
    let digits = inner.bytes().take_while(u8::is_ascii_digit).count();
    let sign = *inner.as_bytes().get(digits)?;
    let number = match (digits, sign) {
        (0, b'-' | b'*' | b'+') => None,
        (1..=9, b'.' | b')') => Some(inner[..digits].parse().ok()?),
        _ => return None,
    };
    let width = digits + 1;
    let (blanks, text) = split_indent(&inner[width..], indent + width);
    if blanks == 0 && !text.is_empty() {
        return None;
    }
    let blanks = if text.is_empty() || blanks > 4 { 1 } else { blanks };
    Some((ListMarker { sign, number }, indent + width + blanks))
}
