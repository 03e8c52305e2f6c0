//! Entries of a YAML table by their bytes: what of the text belongs to which name. It reads only what
//! it must to find where one ends and the next begins.

use crate::span::ByteSpan;

/// One name with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TableEntry {
    /// The name without quotes.
    pub(super) name: String,
    /// The name as it is written.
    pub(super) name_at: ByteSpan,
    /// All its lines, line end included; comments and blank lines behind it are not its own.
    pub(super) at: ByteSpan,
    /// Behind the colon.
    pub(super) after_colon: usize,
}

/// Why a table's text is not taken apart.
pub(super) type EntryError = &'static str;

/// The entries of the outermost table.
pub(super) fn table_entries(yaml: &str) -> Result<Vec<TableEntry>, EntryError> {
    let mut entries: Vec<TableEntry> = Vec::new();
    let mut indent: Option<usize> = None;
    let mut state = ValueState::default();
    let mut at = 0;
    for line in yaml.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let bare = line.trim_end();
        let column = bare.len() - bare.trim_start_matches(' ').len();
        let content = bare.trim_start();
        let base = indent.unwrap_or(column);
        let inside = state.take_continuation(content, column, base);
        if inside || (!entries.is_empty() && column > base && !content.is_empty()) {
            if inside || !content.starts_with('#') {
                extend_last(&mut entries, at);
                state.read_brackets(content);
            }
            continue;
        }
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        if content == "-" || content.starts_with("- ") {
            // A list may stand as far left as the name that it belongs to.
            if entries.is_empty() {
                return Err("the properties are a list");
            }
            extend_last(&mut entries, at);
            state = ValueState::default();
            state.read_brackets(content.strip_prefix('-').unwrap_or(content).trim_start());
            continue;
        }
        if column != base {
            return Err("the properties are indented in a way that is not understood");
        }
        indent = Some(base);
        let entry = read_name(content, start + column, at)?;
        state = ValueState::default();
        state.begin_value(yaml[entry.after_colon..start + bare.len()].trim_start());
        entries.push(entry);
    }
    Ok(entries)
}

fn extend_last(entries: &mut [TableEntry], end: usize) {
    if let Some(last) = entries.last_mut() {
        last.at.end = end;
    }
}

/// `name: …` of a line whose content begins at `start` and which ends at `end`.
fn read_name(content: &str, start: usize, end: usize) -> Result<TableEntry, EntryError> {
    let unknown = "a line of the properties is no `name: value`";
    if content.starts_with(['{', '[', '?', '&', '*', '!', '|', '>', '%']) {
        return Err("the properties are written as one value, not as names on lines of their own");
    }
    let (name, length) = match content.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let close = closing_quote(content, quote).ok_or(unknown)?;
            (unquote_name(&content[..=close]), close + 1)
        }
        _ => {
            let colon = content
                .match_indices(':')
                .map(|(at, _)| at)
                .find(|at| {
                    content[at + 1..].is_empty() || content[at + 1..].starts_with([' ', '\t'])
                })
                .ok_or(unknown)?;
            let name = content[..colon].trim_end();
            (name.to_owned(), name.len())
        }
    };
    let rest = &content[length..];
    let colon = length + (rest.len() - rest.trim_start().len());
    if !content[colon..].starts_with(':') {
        return Err(unknown);
    }
    Ok(TableEntry {
        name,
        name_at: ByteSpan::new(start, start + length),
        at: ByteSpan::new(start, end),
        after_colon: start + colon + 1,
    })
}

/// Where the quote that begins a text is closed.
pub(super) fn closing_quote(text: &str, quote: char) -> Option<usize> {
    let mut letters = text.char_indices().skip(1).peekable();
    while let Some((at, letter)) = letters.next() {
        if quote == '"' && letter == '\\' {
            letters.next();
        } else if letter == quote {
            if quote == '\'' && letters.peek().is_some_and(|(_, next)| *next == '\'') {
                letters.next();
                continue;
            }
            return Some(at);
        }
    }
    None
}

fn unquote_name(text: &str) -> String {
    match super::parse_yaml(text) {
        Ok(serde_json::Value::String(name)) => name,
        _ => text.to_owned(),
    }
}

/// What of a value is still open at the end of a line.
#[derive(Debug, Default)]
struct ValueState {
    /// A text of lines: `|` or `>`.
    block: bool,
    quote: Option<char>,
    depth: usize,
}

impl ValueState {
    /// Whether a line belongs to the value, whatever stands in it.
    fn take_continuation(&mut self, content: &str, column: usize, base: usize) -> bool {
        if self.block {
            self.block = content.is_empty() || column > base;
            return self.block;
        }
        self.quote.is_some() || self.depth > 0
    }
    /// The value's first line.
    fn begin_value(&mut self, value: &str) {
        let marked = value.trim_start_matches(['!', '&']);
        let header = marked.split_whitespace().next().unwrap_or_default();
        self.block = header.starts_with(['|', '>']);
        if !self.block {
            self.read_brackets(value);
        }
    }
    /// Opens and closes brackets and quotes.
    fn read_brackets(&mut self, line: &str) {
        if self.block {
            return;
        }
        let structured =
            self.depth > 0 || self.quote.is_some() || line.starts_with(['[', '{', '"', '\'']);
        if !structured {
            return;
        }
        let mut before = ' ';
        let mut letters = line.chars().peekable();
        while let Some(letter) = letters.next() {
            match self.quote {
                Some('"') if letter == '\\' => {
                    letters.next();
                }
                Some('\'') if letter == '\'' && letters.peek() == Some(&'\'') => {
                    letters.next();
                }
                Some(quote) if letter == quote => self.quote = None,
                Some(_) => {}
                None => match letter {
                    '#' if before.is_whitespace() => return,
                    '"' | '\'' if " \t[{,:".contains(before) => self.quote = Some(letter),
                    '[' | '{' => self.depth += 1,
                    ']' | '}' => self.depth = self.depth.saturating_sub(1),
                    _ => {}
                },
            }
            before = letter;
        }
    }
}
