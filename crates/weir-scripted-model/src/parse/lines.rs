//! From physical lines to logical ones: comments, breaks between steps, continued text.

use super::error_at;
use crate::ScriptError;

/// A logical line with the number of its first physical one.
#[derive(Debug, Clone)]
pub(super) struct ScriptLine<'a> {
    pub(super) number: usize,
    pub(super) what: LineContent<'a>,
    /// What stands after the colon.
    pub(super) first: &'a str,
    /// Indented lines below, as they stand.
    pub(super) more: Vec<&'a str>,
}

#[derive(Debug, Clone)]
pub(super) enum LineContent<'a> {
    /// An empty line or `---`.
    Break,
    End,
    /// `key: value`.
    Pair {
        key: &'a str,
    },
}

pub(super) fn logical_lines(text: &str) -> Result<Vec<ScriptLine<'_>>, ScriptError> {
    let mut out: Vec<ScriptLine<'_>> = Vec::new();
    // Empty lines that belong to a text if an indented line follows, and end the step if not.
    let mut empty = 0usize;
    for (index, physical) in text.trim_start_matches('\u{feff}').split('\n').enumerate() {
        let number = index + 1;
        let physical = physical.strip_suffix('\r').unwrap_or(physical);
        if physical.trim().is_empty() {
            empty += 1;
            continue;
        }
        if physical.starts_with([' ', '\t']) {
            let Some(ScriptLine { what: LineContent::Pair { .. }, more, .. }) = out.last_mut()
            else {
                let why = "an indented line goes on with a text; there is none before it";
                return Err(error_at(number, why));
            };
            more.extend(std::iter::repeat_n("", empty));
            empty = 0;
            more.push(physical);
            continue;
        }
        if empty > 0 {
            out.push(ScriptLine { number, what: LineContent::Break, first: "", more: Vec::new() });
            empty = 0;
        }
        if physical.starts_with('#') {
            continue;
        }
        out.push(parse_unindented(physical.trim_end(), number)?);
    }
    Ok(out)
}

fn parse_unindented(physical: &str, number: usize) -> Result<ScriptLine<'_>, ScriptError> {
    let bare = |what| Ok(ScriptLine { number, what, first: "", more: Vec::new() });
    if physical.len() >= 3 && physical.bytes().all(|byte| byte == b'-') {
        return bare(LineContent::Break);
    }
    if physical == "end"
        || physical.strip_prefix("end").is_some_and(|r| r.trim_start().starts_with('#'))
    {
        return bare(LineContent::End);
    }
    let is_key = |key: &str| {
        !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
    };
    match physical.split_once(':') {
        Some((key, first)) if is_key(key) => Ok(ScriptLine {
            number,
            what: LineContent::Pair { key },
            first: first.strip_prefix(' ').unwrap_or(first).trim_start(),
            more: Vec::new(),
        }),
        _ => {
            let shown: String = physical.chars().take(40).collect();
            let why = format!(
                "`{shown}` is not `word: value`, `---`, `end`, an indented text line or a # comment"
            );
            Err(error_at(number, why))
        }
    }
}

impl ScriptLine<'_> {
    /// The value as a text: the first line unless it is `|` or empty, and the lines below without their indent.
    pub(super) fn value_text(&self) -> String {
        let mut parts: Vec<&str> = Vec::with_capacity(self.more.len() + 1);
        if self.more.is_empty() || !matches!(self.first, "|" | "") {
            parts.push(self.first);
        }
        let indent = self
            .more
            .iter()
            .find(|line| !line.is_empty())
            .map_or(0, |line| line.len() - line.trim_start_matches([' ', '\t']).len());
        for line in &self.more {
            let own = line.len() - line.trim_start_matches([' ', '\t']).len();
            parts.push(&line[own.min(indent)..]);
        }
        parts.join("\n")
    }

    /// The value as words: a comment after ` #` is left out.
    pub(super) fn plain_value(&self) -> String {
        let text = self.value_text();
        let end = text.find(" #").unwrap_or(text.len());
        text[..end].trim().to_owned()
    }
}
