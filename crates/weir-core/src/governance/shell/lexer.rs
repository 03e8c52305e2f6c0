//! The reader of command lines: one pass, no backtracking, bounded depth.
//!
//! It follows the POSIX and bash grammar of words, quotes, operators, redirections and
//! here-documents, and marks everything beyond it.

mod case;
mod escapes;
mod here_document;

use std::borrow::Cow;

use case::CasePlace;
use here_document::PendingHereDocument;

use super::braces::BraceSigns;
use super::{
    COMMAND_CHARS_MAX, CommandLine, CommandPart, NESTING_MAX, PARTS_MAX, Redirection, ShellWord,
};

/// Words that the shell takes for itself where a command could begin, and which a command follows.
const RESERVED: &[&str] =
    &["if", "then", "elif", "else", "fi", "while", "until", "do", "done", "{", "}", "!", "esac"];
/// Reserved words whose own words follow them.
const HEADERS: &[&str] = &["for", "select", "case", "[[", "in", "function"];

pub(super) fn lex_command_line(text: &str) -> CommandLine {
    let mut lexer = Lexer::new(text, 0);
    if text.len() > COMMAND_CHARS_MAX && text.chars().count() > COMMAND_CHARS_MAX {
        lexer.line.unreadable = Some("it is too long");
        return lexer.line;
    }
    if text.contains('\0') {
        lexer.line.unreadable = Some("it contains a NUL character");
    }
    lexer.read_list(ListEnd::End);
    lexer.line
}

/// The commands in a text, as if it stood in double quotes.
pub(super) fn lex_quoted_text(text: &str) -> CommandLine {
    let mut lexer = Lexer::new(text, 1);
    lexer.quotes = Quotes::Double;
    let mut word = ShellWord::default();
    while lexer.at < text.len() {
        lexer.quoted_step(&mut word);
    }
    lexer.line
}

/// What the shell takes off a text, and leaves in it, depends on these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quotes {
    None,
    Double,
    /// None, but that it is read as if it stood in double ones.
    HereDocument,
}

/// Where a list of commands ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListEnd {
    End,
    Paren,
}

#[derive(Debug)]
struct Lexer<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    line: CommandLine,
    part: CommandPart,
    part_start: Option<usize>,
    part_end: usize,
    serial: usize,
    pending: Vec<PendingHereDocument>,
    /// The next word names a function.
    names_function: bool,
    nested: bool,
    /// It stands between doubled parentheses, where the shell calculates: `((1 << 2))`.
    calculates: bool,
    /// What quotes are around what is read.
    quotes: Quotes,
    /// Where in a `case` of this list it stands, and how many of them are open.
    case: CasePlace,
    cases: usize,
}

impl<'a> Lexer<'a> {
    fn new(text: &'a str, depth: usize) -> Lexer<'a> {
        Lexer {
            text,
            at: 0,
            depth,
            line: CommandLine::default(),
            part: CommandPart::default(),
            part_start: None,
            part_end: 0,
            serial: 0,
            pending: Vec::new(),
            names_function: false,
            nested: depth > 0,
            calculates: false,
            quotes: Quotes::None,
            case: CasePlace::Elsewhere,
            cases: 0,
        }
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }
    fn starts(&self, prefix: &str) -> bool {
        self.text[self.at..].starts_with(prefix)
    }
    fn bump(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }
    fn mark_unreadable(&mut self, why: &'static str) {
        self.line.unreadable.get_or_insert(why);
    }

    /// Reads commands until the end, or until the parenthesis that closes this list.
    fn read_list(&mut self, until: ListEnd) {
        while let Some(next) = self.peek() {
            match next {
                '\\' if self.starts("\\\n") => self.at += 2,
                _ if self.stands_at_pattern() => self.pattern_step(next),
                ' ' | '\t' => self.at += 1,
                '\n' => {
                    self.finish();
                    self.at += 1;
                    self.read_pending();
                }
                ';' => {
                    self.finish();
                    self.end_clause();
                }
                '|' => {
                    self.finish();
                    self.line.pipes |= !self.starts("||");
                    self.at += if self.starts("||") || self.starts("|&") { 2 } else { 1 };
                }
                '&' if self.starts("&>") => self.redirection(),
                '&' => {
                    self.finish();
                    if self.starts("&&") {
                        self.at += 2;
                    } else {
                        self.line.background = true;
                        self.at += 1;
                    }
                }
                '(' => self.open_paren(),
                ')' => {
                    self.finish();
                    self.at += 1;
                    if until == ListEnd::Paren {
                        return self.expect_no_case();
                    }
                    self.mark_unreadable("a parenthesis is closed that was never opened");
                }
                '<' | '>' => self.redirection(),
                '#' => {
                    if self.calculates {
                        self.mark_unreadable("a comment begins where the shell calculates");
                    }
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.bump();
                    }
                }
                _ => self.word_in_command(),
            }
            if self.line.parts.len() > PARTS_MAX {
                self.mark_unreadable("it has too many parts");
                self.at = self.text.len();
            }
        }
        self.finish();
        self.expect_no_case();
        if until == ListEnd::Paren {
            self.mark_unreadable("a parenthesis is never closed");
        }
        self.read_pending();
    }

    /// `( … )` as a subshell, or the parentheses of a function's definition.
    fn open_paren(&mut self) {
        if self.part.words.len() == 1 && self.part.redirections.is_empty() {
            self.line.functions.push(self.part.words[0].text.clone());
            self.line.control = true;
        } else if self.part_start.is_some() {
            // An array, an extended pattern: words stand here that are no commands.
            self.mark_unreadable("a parenthesis stands where none can be read");
        }
        self.finish();
        let is_second = self.text[..self.at].trim_end_matches("\\\n").ends_with('(');
        self.at += 1;
        self.line.computes |= opens_again(&self.text[self.at..]);
        self.line.subshell = true;
        let (start, pending, around) = (self.at, self.pending.len(), self.calculates);
        self.calculates |= is_second;
        self.inner_list(self.nested);
        self.calculates = around;
        if is_second && self.starts(")") {
            self.end_calculation(start, pending);
        }
    }

    /// What was read since `start` is a calculation: what looked like a here-document in it is a shift.
    /// `pending`: how many there were before.
    fn end_calculation(&mut self, start: usize, pending: usize) {
        let text = &self.text[start..self.at];
        if text.contains('\n') && (pending > 0 || text.contains("<<")) {
            self.mark_unreadable("a calculation is broken into lines");
        }
        self.pending.truncate(pending);
    }

    /// The list of a substitution, up to its closing parenthesis. The text of a here-document that begins before it
    /// stands behind it, and of one that begins in it within it.
    fn substituted_list(&mut self) {
        self.line.substitution = true;
        let pending = std::mem::take(&mut self.pending);
        let calculates = std::mem::take(&mut self.calculates);
        let quotes = std::mem::replace(&mut self.quotes, Quotes::None);
        self.inner_list(true);
        self.quotes = quotes;
        if !self.pending.is_empty() {
            self.mark_unreadable("a substitution ends before the text of a here-document in it");
        }
        (self.pending, self.calculates) = (pending, calculates);
    }

    /// A list up to its closing parenthesis, apart from the command around it.
    fn inner_list(&mut self, nested: bool) {
        if self.depth >= NESTING_MAX {
            self.mark_unreadable("it is nested too deeply");
            return;
        }
        let part = std::mem::take(&mut self.part);
        let bounds = (self.part_start.take(), self.part_end, self.nested, self.names_function);
        self.depth += 1;
        self.nested = nested;
        self.names_function = false;
        let cases = (std::mem::take(&mut self.case), std::mem::take(&mut self.cases));
        self.read_list(ListEnd::Paren);
        (self.case, self.cases) = cases;
        self.depth -= 1;
        self.part = part;
        (self.part_start, self.part_end, self.nested, self.names_function) = bounds;
    }

    /// Ends the simple command that is being read.
    fn finish(&mut self) {
        self.names_function = false;
        self.end_subject();
        let Some(start) = self.part_start.take() else {
            return;
        };
        let mut part = std::mem::take(&mut self.part);
        if part.words.is_empty() && part.assignments.is_empty() && part.redirections.is_empty() {
            return;
        }
        part.raw = self.text[start..self.part_end.max(start)].trim().to_string();
        part.nested = self.nested;
        self.line.parts.push(part);
    }

    /// Marks that the command being read begins here, if it has not begun.
    fn begin(&mut self, at: usize) {
        if self.part_start.is_none() {
            self.part_start = Some(at);
            self.serial += 1;
            self.part.serial = self.serial;
        }
    }

    /// A word where a command's words stand.
    fn word_in_command(&mut self) {
        let start = self.at;
        let word = self.word();
        let raw: &str = &join_broken_lines(&self.text[start..self.at]);
        if matches!(self.peek(), Some('<' | '>')) && is_descriptor(raw) {
            self.begin(start);
            self.redirection();
            return;
        }
        if (RESERVED.contains(&raw) || HEADERS.contains(&raw)) && stands_before(&self.part.words) {
            self.finish();
        }
        if self.part.words.is_empty() {
            if RESERVED.contains(&raw) {
                self.line.control = true;
                self.cases = self.cases.saturating_sub(usize::from(raw == "esac"));
                return;
            }
            if HEADERS.contains(&raw) {
                self.line.control = true;
                if raw == "function" {
                    self.names_function = true;
                    return;
                }
                self.begin_case(raw);
            }
        }
        self.begin(start);
        self.part_end = self.at;
        if std::mem::take(&mut self.names_function) {
            // What follows is its body, in which a command begins.
            self.line.functions.push(word.text.clone());
            self.part.words.push(word);
            self.finish();
            return;
        }
        if self.part.words.is_empty() && is_assignment(raw) {
            self.part.assignments.push(word);
        } else {
            self.part.words.push(word);
            self.follow_subject(raw);
        }
    }

    /// `>`, `<<EOF`, `2>&1`, `<( … )`.
    fn redirection(&mut self) {
        const OPERATORS: &[&str] =
            &["&>>", "&>", "<<<", "<<-", "<<", "<&", "<>", "<(", "<", ">>", ">&", ">|", ">(", ">"];
        let start = self.at;
        let begins = self.part_start.is_none();
        self.begin(start);
        let operator = OPERATORS.iter().find(|op| self.starts(op)).copied().unwrap_or("<");
        if operator.ends_with('(') {
            let follows = !begins && self.part_end == start;
            let word = self.process_substitution();
            return self.push_substitution(word, follows);
        }
        self.at += operator.len();
        while matches!(self.peek(), Some(' ' | '\t')) || self.starts("\\\n") {
            self.at += if self.starts("\\\n") { 2 } else { 1 };
        }
        let word_start = self.at;
        let is_substitution = self.starts("<(") || self.starts(">(");
        let mut target = if is_substitution { self.process_substitution() } else { self.word() };
        let raw = &self.text[word_start..self.at];
        if raw.is_empty() {
            self.mark_unreadable("a redirection has no target");
        }
        self.part_end = self.at;
        if matches!(operator, "<<" | "<<-") {
            let (text, part_start) = (self.text, self.part_start.unwrap_or(start));
            target.expands = false;
            self.announce_document(&text[part_start..start], operator, raw, &target);
        }
        let operator = operator.to_string();
        self.part.redirections.push(Redirection { operator, target, body: None });
    }

    /// `<( … )` or `>( … )`, and what stands behind it without a blank: that is a part of the same word.
    fn process_substitution(&mut self) -> ShellWord {
        let start = self.at;
        self.at += "<(".len();
        self.substituted_list();
        let rest = self.word();
        let text = self.text[start..self.at].to_string();
        ShellWord { text, expands: true, splits: rest.splits }
    }

    /// Adds the word of a process substitution. `follows`: it belongs to what stands right in front of it.
    fn push_substitution(&mut self, word: ShellWord, follows: bool) {
        self.part_end = self.at;
        let part = &mut self.part;
        let before = part.words.last_mut().or(part.assignments.last_mut());
        match before.filter(|_| follows) {
            Some(before) => {
                before.text.push_str(&word.text);
                before.expands = true;
                before.splits |= word.splits;
            }
            None => part.words.push(word),
        }
    }

    /// Takes over what a reader of an inner text found.
    fn absorb_line(&mut self, inner: CommandLine) {
        for mut part in inner.parts {
            part.serial = 0;
            self.line.parts.push(part);
        }
        self.line.functions.extend(inner.functions);
        self.line.substitution |= inner.substitution;
        self.line.control |= inner.control;
        self.line.subshell |= inner.subshell;
        self.line.pipes |= inner.pipes;
        self.line.background |= inner.background;
        self.line.computes |= inner.computes;
        if let Some(why) = inner.unreadable {
            self.mark_unreadable(why);
        }
    }

    /// One word, up to the next blank or operator.
    fn word(&mut self) -> ShellWord {
        let mut word = ShellWord::default();
        let mut braces = BraceSigns::Nothing;
        let start = self.at;
        while let Some(next) = self.peek() {
            match next {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>' => break,
                '\'' => self.single_quoted(&mut word),
                '"' => self.double_quoted(&mut word),
                '\\' => {
                    self.at += 1;
                    match self.bump() {
                        Some('\n') => {}
                        Some(literal) => word.text.push(literal),
                        None => word.text.push('\\'),
                    }
                }
                '$' => {
                    let (from, before) = (self.at, word.expands);
                    word.expands = false;
                    self.read_dollar(&mut word);
                    word.splits |= word.expands && !is_number(&self.text[from..self.at]);
                    word.expands |= before;
                }
                '`' => {
                    self.read_backquoted(&mut word);
                    word.splits = true;
                }
                '*' | '?' | '[' => {
                    word.expands = true;
                    word.text.push(next);
                    self.at += 1;
                }
                '~' => {
                    let before = self.text[start..self.at].chars().next_back();
                    word.expands |= matches!(before, None | Some('=' | ':'));
                    word.text.push('~');
                    self.at += 1;
                }
                _ => {
                    // All that is what it says, at once.
                    let rest = &self.text[self.at..];
                    let end = rest.bytes().position(is_sign).unwrap_or(rest.len());
                    word.text.push_str(&rest[..end]);
                    braces = braces.add_signs(&rest[..end]);
                    self.at += end;
                }
            }
        }
        let raw = &self.text[start..self.at];
        // What a line is broken in may be put together to a pair.
        let may_be_whole = || {
            let is_pair = raw.contains('{') && raw.contains('}');
            raw.contains('\n') && is_pair && (raw.contains(',') || raw.contains('.'))
        };
        word.expands |= braces == BraceSigns::Whole || may_be_whole();
        word
    }

    fn single_quoted(&mut self, word: &mut ShellWord) {
        self.at += 1;
        loop {
            match self.bump() {
                Some('\'') => return,
                Some(literal) => word.text.push(literal),
                None => return self.mark_unreadable("a quote is never closed"),
            }
        }
    }

    fn double_quoted(&mut self, word: &mut ShellWord) {
        self.at += 1;
        let around = std::mem::replace(&mut self.quotes, Quotes::Double);
        while self.peek().is_some_and(|next| next != '"') {
            self.quoted_step(word);
        }
        self.quotes = around;
        if self.bump().is_none() {
            self.mark_unreadable("a quote is never closed");
        }
    }

    /// One step inside double quotes or a here-document.
    fn quoted_step(&mut self, word: &mut ShellWord) {
        match self.peek() {
            Some('\\') => {
                self.at += 1;
                match self.peek() {
                    Some('\n') => self.at += 1,
                    Some(literal @ ('$' | '`' | '"' | '\\')) => {
                        word.text.push(literal);
                        self.at += 1;
                    }
                    Some(_) | None => word.text.push('\\'),
                }
            }
            Some('$') if !self.starts("$'") && !self.starts("$\"") => self.read_dollar(word),
            Some('`') => self.read_backquoted(word),
            Some(literal) => {
                word.text.push(literal);
                self.bump();
            }
            None => {}
        }
    }

    /// Everything that begins with `$`.
    fn read_dollar(&mut self, word: &mut ShellWord) {
        let start = self.at;
        self.at += 1;
        match self.peek() {
            Some('\'') => return self.ansi_quoted(word),
            Some('"') => return self.double_quoted(word),
            Some('(') => {
                self.at += 1;
                self.substituted_list();
            }
            Some('{') => self.braced_parameter(),
            Some(c) if c == '_' || c.is_ascii_alphanumeric() => {
                while self.peek().is_some_and(|c| c == '_' || c.is_ascii_alphanumeric()) {
                    self.at += 1;
                }
            }
            Some('@' | '*' | '#' | '?' | '$' | '!' | '-') => self.at += 1,
            Some(next) => {
                self.line.computes |= next == '[';
                if self.starts("\\\n") {
                    self.mark_unreadable("a line is broken after a dollar sign");
                }
                word.text.push('$');
                return;
            }
            None => {
                word.text.push('$');
                return;
            }
        }
        word.expands = true;
        let text = &self.text[start..self.at];
        self.line.computes |= is_computing(text);
        // Quotes do not keep a list together.
        word.splits |= text == "$@" || (text.starts_with("${") && text.contains('@'));
        word.text.push_str(text);
    }

    /// `${ … }` with whatever stands in it.
    fn braced_parameter(&mut self) {
        self.at += 1;
        if self.depth >= NESTING_MAX {
            return self.mark_unreadable("it is nested too deeply");
        }
        if matches!(self.peek(), Some(' ' | '\t' | '\n' | '|')) {
            self.mark_unreadable("commands stand in braces behind a dollar sign");
        }
        self.depth += 1;
        let mut inner = ShellWord::default();
        while let Some(next) = self.peek().filter(|next| *next != '}') {
            self.braced_step(next, &mut inner);
        }
        self.depth -= 1;
        if self.bump().is_none() {
            self.mark_unreadable("a brace is never closed");
        }
    }

    /// One step inside of braces, at the letter `next`.
    fn braced_step(&mut self, next: char, inner: &mut ShellWord) {
        match next {
            // The letter behind it ends nothing.
            '\\' => {
                self.at += 1;
                self.bump();
            }
            '\'' if self.quotes == Quotes::None => self.single_quoted(inner),
            '\'' => self.quote_in_quotes(),
            '"' => self.double_quoted(inner),
            // In quotes it may stand for itself.
            '$' if self.quotes != Quotes::None && self.starts("$'") => self.at += 1,
            '$' => self.read_dollar(inner),
            '<' | '>'
                if self.quotes == Quotes::None && self.text[self.at + 1..].starts_with('(') =>
            {
                self.mark_unreadable("a substitution stands in braces");
                self.at += 1;
            }
            _ => self.quoted_step(inner),
        }
    }

    /// A single quote in braces in double ones: behind some signs it quotes and behind others it is a letter. Where
    /// nothing stands up to the next one that could end anything, that is all the same.
    fn quote_in_quotes(&mut self) {
        self.at += 1;
        let rest = &self.text[self.at..];
        match rest.find(['\'', '"', '`', '\\', '$', '{', '}']) {
            Some(end) if rest[end..].starts_with('\'') => self.at += end + 1,
            Some(_) | None => self.mark_unreadable("a quote stands in braces in quotes"),
        }
    }

    /// `` `…` ``: its text is read again, with one level of backslashes removed.
    fn read_backquoted(&mut self, word: &mut ShellWord) {
        let start = self.at;
        self.at += 1;
        let mut inner = String::new();
        loop {
            match self.bump() {
                Some('`') => break,
                Some('\\') => match self.peek() {
                    Some(escaped @ ('`' | '\\' | '$')) => {
                        inner.push(escaped);
                        self.at += 1;
                    }
                    // In double quotes this one is taken off too.
                    Some('"') if self.quotes != Quotes::None => {
                        if self.quotes == Quotes::HereDocument {
                            self.mark_unreadable("shells do not agree on a quote in backquotes");
                        }
                        inner.push('"');
                        self.at += 1;
                    }
                    Some(_) | None => inner.push('\\'),
                },
                Some(other) => inner.push(other),
                None => {
                    self.mark_unreadable("a backquote is never closed");
                    break;
                }
            }
        }
        self.line.substitution = true;
        word.expands = true;
        word.text.push_str(&self.text[start..self.at]);
        if self.depth >= NESTING_MAX {
            return self.mark_unreadable("it is nested too deeply");
        }
        let mut lexer = Lexer::new(&inner, self.depth + 1);
        lexer.read_list(ListEnd::End);
        self.absorb_line(lexer.line);
    }
}

/// Whether a word ends at this letter, or the shell may read it as more than it says.
fn is_sign(byte: u8) -> bool {
    matches!(
        byte,
        b' ' | b'\t'
            | b'\n'
            | b';'
            | b'&'
            | b'|'
            | b'('
            | b')'
            | b'<'
            | b'>'
            | b'\''
            | b'"'
            | b'\\'
            | b'$'
            | b'`'
            | b'*'
            | b'?'
            | b'['
            | b'~'
    )
}

/// A word as the shell looks it up: a line that is broken within it leaves it whole.
fn join_broken_lines(raw: &str) -> Cow<'_, str> {
    match raw.contains('\n') {
        true => Cow::Owned(raw.replace("\\\n", "")),
        false => Cow::Borrowed(raw),
    }
}

/// Whether a word in front of a redirection says which descriptor is meant: `2>`, `{NAME}>`. Anything else in
/// braces is a word of the command.
fn is_descriptor(raw: &str) -> bool {
    let named = raw.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    named.is_some_and(is_name) || raw.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|byte| byte == b'_' || byte.is_ascii_alphabetic())
        && bytes.all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}

/// A parameter that is a number and nothing else, whatever happened before.
fn is_number(text: &str) -> bool {
    matches!(text, "$?" | "$#" | "$$" | "$!")
}

/// Whether the shell does more with it than put in what a variable holds or a command prints.
fn is_computing(text: &str) -> bool {
    if let Some(inner) = text.strip_prefix("${") {
        let name = inner.strip_suffix('}').unwrap_or(inner);
        let special = matches!(name, "?" | "@" | "*" | "#" | "$" | "!" | "-");
        let plain = name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
        return !special && !is_shortened(name) && (name.is_empty() || !plain);
    }
    text.strip_prefix("$(").is_some_and(opens_again)
}

/// `${NAME#START}`, `${NAME%END}` and `${#NAME}`: what a variable holds without a beginning or an end, or
/// how long it is. The pattern stands there as it is, so nothing in it is evaluated.
fn is_shortened(inner: &str) -> bool {
    if let Some(name) = inner.strip_prefix('#') {
        return is_name(name);
    }
    let Some(at) = inner.find(['#', '%']) else { return false };
    let (name, pattern) = inner.split_at(at);
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./-*?,+= ".contains(&byte);
    is_name(name) && pattern.trim_start_matches(['#', '%']).bytes().all(is_plain)
}

/// Whether a second parenthesis stands right after a first one.
fn opens_again(after: &str) -> bool {
    after.trim_start_matches("\\\n").starts_with('(')
}

/// Whether these words of the shell stand before a compound command, which begins behind them: `time {`,
/// `time -p -- {`, `coproc NAME {`.
fn stands_before(words: &[ShellWord]) -> bool {
    let is_timed = words.first().is_some_and(|word| word.text == "time");
    let of_time = |word: &&ShellWord| matches!(word.text.as_str(), "time" | "-p" | "--");
    let timing = if is_timed { words.iter().take_while(of_time).count() } else { 0 };
    match &words[timing..] {
        [] => is_timed,
        [word] | [word, _] => word.text == "coproc",
        _ => false,
    }
}

/// `NAME=`, `NAME+=`, `NAME[1]=`.
fn is_assignment(raw: &str) -> bool {
    let Some((name, _)) = raw.split_once('=') else {
        return false;
    };
    let name = name.strip_suffix('+').unwrap_or(name);
    is_name(name.split('[').next().unwrap_or(name))
}
