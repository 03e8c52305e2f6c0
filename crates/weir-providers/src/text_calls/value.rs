//! Reads one value as weak models write JSON, Python and Gemma's own notation.
//!
//! Total and bounded: the depth is limited, nothing is read twice, and what stays ambiguous (a text that
//! never closes, two values side by side) is no value. Not here: which value is a call.

use std::ops::Range;

use serde_json::{Map, Number, Value};

use super::repair::{Repair, Repairs};

/// Deepest nesting that is read.
const DEPTH_MAX: usize = 64;
/// Most brackets that are added at the end.
const ADDED_BRACKETS_MAX: usize = 3;
/// Names under which arguments stand.
pub(super) const ARGUMENT_NAMES: &[&str] = &[
    "arguments",
    "parameters",
    "args",
    "params",
    "input",
    "action_input",
    "tool_input",
    "tool_arguments",
    "kwargs",
];
/// What Gemma's models write around a text: no escapes inside.
const GEMMA_QUOTES: &[&str] = &["<escape>", "<|\"|>"];
/// Quotes that word processors make, and what closes each.
const TYPOGRAPHIC: &[(char, char)] =
    &[('“', '”'), ('”', '”'), ('„', '“'), ('‘', '’'), ('’', '’'), ('«', '»')];

/// Whose notation a value is in: what is usual in one is a repair in another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Notation {
    Json,
    Python,
    Gemma,
}

/// Whether brackets may be added where the text ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenEnd {
    /// The model said that the call ends here: what is open is closed.
    Marked,
    /// The reply just ends: only brackets around whole arguments are added.
    Unmarked,
}

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ValueForm {
    pub(super) notation: Notation,
    pub(super) open_end: OpenEnd,
}

/// Reads values from `text[at..]`.
pub(super) struct ValueReader<'a> {
    text: &'a str,
    pub(super) at: usize,
    notation: Notation,
    open_end: OpenEnd,
    added: usize,
    depth: usize,
    /// Where the entries stand of a list that may be one of calls.
    pub(super) entries: Vec<Range<usize>>,
    pub(super) repairs: Repairs,
}

impl<'a> ValueReader<'a> {
    pub(super) fn new(text: &'a str, at: usize, form: ValueForm) -> Self {
        let ValueForm { notation, open_end } = form;
        ValueReader {
            text,
            at,
            notation,
            open_end,
            added: 0,
            depth: 0,
            entries: Vec::new(),
            repairs: Repairs::default(),
        }
    }

    fn unread_text(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn next_char(&self) -> Option<char> {
        self.unread_text().chars().next()
    }

    pub(super) fn skip_space(&mut self) {
        let rest = self.unread_text();
        self.at += rest.len() - rest.trim_start().len();
    }

    pub(super) fn skip_token(&mut self, token: &str) -> bool {
        let found = self.unread_text().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    /// Notes a repair that only this notation does not have by nature.
    fn note_unless(&mut self, natural: &[Notation], repair: Repair) {
        if !natural.contains(&self.notation) {
            self.repairs.add_repair(repair);
        }
    }

    /// One value; `None`: there is none that could be read without guessing.
    pub(super) fn read_value(&mut self) -> Option<Value> {
        self.read_under(None)
    }

    /// The value of the entry `name`.
    fn read_under(&mut self, name: Option<&str>) -> Option<Value> {
        self.skip_space();
        match self.next_char()? {
            '{' => self.read_nested(|reader| reader.read_object(name)),
            '[' => self.read_nested(|reader| reader.read_list(']', name)),
            '(' if self.notation == Notation::Python => {
                self.read_nested(|reader| reader.read_list(')', name))
            }
            c if is_quote(c) || self.at_gemma_quote().is_some() => {
                self.read_text().map(Value::String)
            }
            _ => self.read_word(),
        }
    }

    fn read_nested(&mut self, read: impl FnOnce(&mut Self) -> Option<Value>) -> Option<Value> {
        if self.depth == DEPTH_MAX {
            return None;
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn at_gemma_quote(&self) -> Option<&'static str> {
        let gemma = self.notation == Notation::Gemma;
        GEMMA_QUOTES.iter().find(|quote| gemma && self.unread_text().starts_with(**quote)).copied()
    }

    fn read_object(&mut self, name: Option<&str>) -> Option<Value> {
        self.at += 1;
        let doubled = self.depth == 1 && self.skip_token("{");
        if doubled {
            self.repairs.add_repair(Repair::DoubledBraces);
        }
        let mut map = Map::new();
        loop {
            self.skip_space();
            if self.skip_token("}") {
                break;
            }
            if self.unread_text().is_empty() {
                self.add_bracket(name)?;
                break;
            }
            let key = self.read_key()?;
            let value = self.read_under(Some(&key))?;
            // Two values for one name: nobody can know which is meant.
            if map.insert(key, value).is_some() {
                return None;
            }
            if self.ends_after_entry('}', name)? {
                break;
            }
        }
        if doubled {
            self.skip_space();
            self.skip_token("}");
        }
        Some(Value::Object(map))
    }

    fn read_list(&mut self, close: char, name: Option<&str>) -> Option<Value> {
        self.at += 1;
        let mut list = Vec::new();
        loop {
            self.skip_space();
            if self.next_char() == Some(close) {
                self.at += close.len_utf8();
                return Some(Value::Array(list));
            }
            if self.unread_text().is_empty() {
                self.add_bracket(name)?;
                return Some(Value::Array(list));
            }
            let start = self.at;
            list.push(self.read_under(None)?);
            if self.depth == 1 || (self.depth == 2 && name == Some("tool_calls")) {
                self.entries.push(start..self.at);
            }
            if self.ends_after_entry(close, name)? {
                return Some(Value::Array(list));
            }
        }
    }

    /// After an entry: whether its bracket ends here. `None`: something else stands there.
    fn ends_after_entry(&mut self, close: char, name: Option<&str>) -> Option<bool> {
        self.skip_space();
        match self.next_char() {
            Some(',') => {
                self.at += 1;
                self.skip_space();
                if self.next_char() == Some(close) {
                    self.at += close.len_utf8();
                    self.note_unless(&[Notation::Python], Repair::TrailingComma);
                    return Some(true);
                }
                Some(false)
            }
            Some(c) if c == close => {
                self.at += close.len_utf8();
                Some(true)
            }
            Some(_) => None,
            None => self.add_bracket(name).map(|()| true),
        }
    }

    /// Closes a bracket that the text leaves open.
    fn add_bracket(&mut self, name: Option<&str>) -> Option<()> {
        let of_arguments = name.is_some_and(|name| ARGUMENT_NAMES.contains(&name));
        if self.added == ADDED_BRACKETS_MAX || (of_arguments && self.open_end == OpenEnd::Unmarked)
        {
            return None;
        }
        self.added += 1;
        self.repairs.add_repair(Repair::MissingBracket);
        Some(())
    }

    fn read_key(&mut self) -> Option<String> {
        let quoted = self.next_char().is_some_and(is_quote) || self.at_gemma_quote().is_some();
        let key = match quoted {
            true => self.read_text()?,
            false => {
                self.note_unless(&[Notation::Gemma], Repair::BareKeys);
                take_name(self.unread_text())?.to_owned()
            }
        };
        if !quoted {
            self.at += key.len();
        }
        self.skip_space();
        (self.skip_token(":")).then_some(key)
    }

    /// A text in whatever quotes it begins with.
    pub(super) fn read_text(&mut self) -> Option<String> {
        if let Some(quote) = self.at_gemma_quote() {
            let inside = &self.unread_text()[quote.len()..];
            let length = inside.find(quote)?;
            self.at += 2 * quote.len() + length;
            return Some(inside[..length].to_owned());
        }
        let open = self.next_char()?;
        if self.notation == Notation::Python {
            for fence in ["\"\"\"", "'''"] {
                if self.skip_token(fence) {
                    let length = self.unread_text().find(fence)?;
                    let text = self.unread_text()[..length].to_owned();
                    self.at += length + fence.len();
                    return Some(text);
                }
            }
        }
        self.at += open.len_utf8();
        match open {
            '"' => self.read_until('"'),
            '\'' => {
                self.note_unless(&[Notation::Python], Repair::Quotes);
                self.read_until('\'')
            }
            _ => {
                let (_, close) = TYPOGRAPHIC.iter().find(|(one, _)| *one == open)?;
                self.repairs.add_repair(Repair::Quotes);
                self.read_until(*close)
            }
        }
    }

    fn read_until(&mut self, close: char) -> Option<String> {
        let mut out = String::new();
        loop {
            let c = self.next_char()?;
            self.at += c.len_utf8();
            match c {
                _ if c == close => return Some(out),
                '\\' => self.read_escape(&mut out)?,
                '\u{0}'..='\u{1f}' => {
                    self.repairs.add_repair(Repair::LineBreaks);
                    out.push(c);
                }
                _ => out.push(c),
            }
        }
    }

    fn read_escape(&mut self, out: &mut String) -> Option<()> {
        let c = self.next_char()?;
        self.at += c.len_utf8();
        match c {
            '"' | '\\' | '/' => out.push(c),
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            'u' => out.push(self.read_unicode()?),
            '\'' => {
                self.note_unless(&[Notation::Python], Repair::Escapes);
                out.push('\'');
            }
            // `\d` of a pattern, `\ ` of a path: the model meant the backslash.
            other => {
                self.note_unless(&[Notation::Python], Repair::Escapes);
                out.extend(['\\', other]);
            }
        }
        Some(())
    }

    fn read_unicode(&mut self) -> Option<char> {
        let first = self.read_hex()?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first);
        }
        if !self.skip_token("\\u") {
            return None;
        }
        let second = self.read_hex()?;
        let low = second.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
        char::from_u32(0x10000 + ((first - 0xd800) << 10) + low)
    }

    fn read_hex(&mut self) -> Option<u32> {
        let digits = self.unread_text().get(..4)?;
        if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }

    /// A number, or a word that stands for a value.
    fn read_word(&mut self) -> Option<Value> {
        let rest = self.unread_text();
        let end = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.' | '_')))
            .unwrap_or(rest.len());
        let word = &rest[..end];
        let value = match word {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" => Value::Null,
            "True" | "False" | "None" => {
                self.note_unless(&[Notation::Python], Repair::PythonWords);
                if word == "None" { Value::Null } else { Value::Bool(word == "True") }
            }
            _ => Value::Number(word.parse::<Number>().ok()?),
        };
        self.at += end;
        Some(value)
    }
}

pub(super) fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'') || TYPOGRAPHIC.iter().any(|(open, _)| *open == c)
}

/// The name that `text` begins with: letters, digits, `_`, `-`, and not empty.
pub(super) fn take_name(text: &str) -> Option<&str> {
    let end =
        text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-'))).unwrap_or(text.len());
    (end > 0).then(|| &text[..end])
}

/// The name that `text` begins with, dots and all, as tools of servers have.
pub(super) fn take_dotted_name(text: &str) -> Option<&str> {
    let mut end = take_name(text)?.len();
    while let Some(more) = text[end..].strip_prefix('.').and_then(take_name) {
        end += more.len() + 1;
    }
    Some(&text[..end])
}
