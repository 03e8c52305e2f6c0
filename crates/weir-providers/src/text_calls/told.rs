//! What a model was told, as bare words: a call that stands in it is repeated and not called.
//!
//! Bare words have no line numbers, white space, quotes or escapes, so that a file shown with numbers, or one
//! that was indented or escaped anew, is found again. Not here: which messages a model was told.

/// Longest path that a search puts before what it found.
const PATH_BYTES_MAX: usize = 200;
/// Stands between two texts, and in no words: control characters are left out.
const BETWEEN: char = '\u{0}';
/// What readers, changes and replies by mail put before a line.
const LINE_MARKS: &[char] = &['>', '+', '-', '|'];
/// Quotes, what escapes them, and the comma that may be one too many. The letters of `\n`, `\r` and `\t` go
/// too, wherever they stand: nothing tells which text is escaped, and without them an escaped text has the
/// words of the text itself.
const LEFT_OUT: &[char] =
    &['"', '\'', '\\', '`', ',', '“', '”', '„', '‘', '’', '«', '»', 'n', 'r', 't'];

/// The bare words of everything that a model was told.
#[derive(Debug, Default)]
pub struct ToldWords(String);

impl ToldWords {
    /// Of texts that each stand alone: nothing that begins in one ends in the next.
    pub fn of_texts<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> ToldWords {
        let mut words = String::new();
        for text in texts {
            push_words(&mut words, text.as_ref());
            words.push(BETWEEN);
        }
        ToldWords(words)
    }

    /// Whether what is written in `call` was told.
    pub fn holds_call(&self, call: &str) -> bool {
        let mut words = String::new();
        push_words(&mut words, without_closing_mark(call));
        // A bracket that was missing where it was read, a model adds, as it does a mark.
        let words = words.trim_end_matches(['}', ']', ')']);
        !words.is_empty() && self.0.contains(words)
    }
}

/// Without the mark with which a call ends: `</function>`, `[/TOOL_CALLS]`.
fn without_closing_mark(call: &str) -> &str {
    let call = call.trim_end();
    let opening = match call.chars().next_back() {
        Some('>') => "<",
        Some(']') => "[/",
        Some(_) | None => return call,
    };
    call.rfind(opening).map_or(call, |at| &call[..at])
}

fn push_words(words: &mut String, text: &str) {
    let mut rest = behind_prefixes(text);
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '\n' => rest = behind_prefixes(rest),
            '\\' => rest = push_escaped(words, rest),
            _ if is_of_words(c) => words.push(c),
            _ => (),
        }
    }
}

/// What follows a backslash: a line that ends, a character by its number, or what stands there anyway. Gives
/// back where to go on.
fn push_escaped<'a>(words: &mut String, rest: &'a str) -> &'a str {
    if let Some(line) = rest.strip_prefix('n') {
        return behind_prefixes(line);
    }
    let Some((escaped, more)) = unicode_escape(rest) else { return rest };
    words.extend(escaped.filter(|c| is_of_words(*c)));
    more
}

fn is_of_words(c: char) -> bool {
    !(LEFT_OUT.contains(&c) || LINE_MARKS.contains(&c) || c.is_whitespace() || c.is_control())
}

/// Behind `u` and four digits: the character, and what follows. Half of a pair is no character.
fn unicode_escape(rest: &str) -> Option<(Option<char>, &str)> {
    let digits = rest.strip_prefix('u')?.get(..4)?;
    let is_number = digits.bytes().all(|b| b.is_ascii_hexdigit());
    let code = u32::from_str_radix(digits, 16).ok().filter(|_| is_number)?;
    Some((char::from_u32(code), &rest[5..]))
}

/// A line without what a reader, a search, a change or a reply by mail puts before it, however much of it:
/// so a line has the same words with and without a number before it.
fn behind_prefixes(line: &str) -> &str {
    let mut line = line;
    loop {
        line = line.trim_start_matches(|c: char| c.is_whitespace() || LINE_MARKS.contains(&c));
        match behind_number(line).or_else(|| behind_place(line)) {
            Some(rest) => line = rest,
            None => return line,
        }
    }
}

/// `12:`, as a search writes it, `12-` of a line beside, or a tab behind the number, however often escaped.
fn behind_number(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let escaped = || rest.strip_prefix('\\')?.trim_start_matches('\\').strip_prefix('t');
    let behind = rest.strip_prefix(['\t', ':', '|', '-']).or_else(escaped);
    behind.filter(|_| rest.len() < line.len())
}

/// `notes.md:12:` as a search writes it.
fn behind_place(line: &str) -> Option<&str> {
    let near = &line[..line.floor_char_boundary(PATH_BYTES_MAX)];
    let is_path = |c: char| c.is_alphanumeric() || matches!(c, '.' | '/' | '_' | '-');
    let path = near.find(|c: char| !is_path(c)).filter(|length| *length > 0)?;
    behind_number(line[path..].strip_prefix(':')?)
}
