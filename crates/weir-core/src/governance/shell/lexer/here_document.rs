//! Here-documents: where the text of each begins and ends, and what runs in it. Not here: the words of the line that
//! announces them.

use super::{Lexer, Quotes, ShellWord, is_name};
use crate::governance::shell::NESTING_MAX;

/// Most here-documents that begin on one line; with more it is unreadable.
const PENDING_MAX: usize = 64;
/// What is said where shells do not agree, or nobody could.
const UNCERTAIN: &str = "nobody can tell where the text of a here-document ends";

/// A here-document whose text begins at the next line.
#[derive(Debug)]
pub(super) struct PendingHereDocument {
    serial: usize,
    redirection: usize,
    delimiter: String,
    strip_tabs: bool,
    literal: bool,
}

impl Lexer<'_> {
    /// Remembers that a here-document begins on this line. `before`: what stands in front of it in its command;
    /// `raw`: the word that ends it, as it is written.
    pub(super) fn announce_document(
        &mut self,
        before: &str,
        operator: &str,
        raw: &str,
        end: &ShellWord,
    ) {
        // Shells do not agree on which line ends a text where that is not plain.
        if self.pending.len() > PENDING_MAX
            || raw.contains(['$', '`', '\n'])
            || (!self.calculates && opens_bracket(before))
        {
            self.mark_unreadable(UNCERTAIN);
        }
        self.pending.push(PendingHereDocument {
            serial: self.part.serial,
            redirection: self.part.redirections.len(),
            delimiter: end.text.clone(),
            strip_tabs: operator == "<<-",
            literal: raw.contains(['\'', '"', '\\']),
        });
    }

    /// Reads the text of the here-documents that the line before announced.
    pub(super) fn read_pending(&mut self) {
        for document in std::mem::take(&mut self.pending) {
            let body = self.read_here_document(&document);
            let expands = !document.literal && body.contains(['$', '`']);
            if expands && self.depth < NESTING_MAX {
                let mut inner = Lexer::new(&body, self.depth + 1);
                inner.quotes = Quotes::HereDocument;
                let mut word = ShellWord::default();
                while inner.at < body.len() {
                    inner.quoted_step(&mut word);
                }
                self.absorb_line(inner.line);
            } else if expands {
                self.mark_unreadable("it is nested too deeply");
            }
            let parts = self.line.parts.iter_mut().rev().chain([&mut self.part]);
            for part in parts.filter(|p| p.serial == document.serial && !p.redirections.is_empty())
            {
                if let Some(redirection) = part.redirections.get_mut(document.redirection) {
                    redirection.body = Some(body);
                    redirection.target.expands |= expands;
                    break;
                }
            }
        }
    }

    /// The text of a here-document, up to the line that ends it.
    fn read_here_document(&mut self, document: &PendingHereDocument) -> String {
        let mut body = String::new();
        let end = document.delimiter.as_str();
        let plain_end = end.replace('\t', "");
        let in_list = self.depth > 0;
        // Some shells end it at a parenthesis too that closes a substitution.
        let ends = |line: &str, end: &str| {
            let rest = line.strip_prefix(end);
            rest.is_some_and(|rest| rest.is_empty() || (in_list && rest.starts_with(')')))
        };
        // What the lines come to that a backslash joins to the one that is read.
        let mut joined: Option<String> = None;
        while self.at < self.text.len() {
            let rest = &self.text[self.at..];
            let line = rest.split('\n').next().unwrap_or("");
            self.at = (self.at + line.len() + 1).min(self.text.len());
            let line = if document.strip_tabs { line.trim_start_matches('\t') } else { line };
            let whole = joined.take().map(|before| before + &line.replace('\t', ""));
            let ends_whole = whole.as_ref().is_some_and(|whole| ends(whole, &plain_end));
            if ends_whole || (ends(line, end) && (whole.is_some() || line != end)) {
                self.mark_unreadable(UNCERTAIN);
            }
            if line == end {
                break;
            }
            if !document.literal && is_broken(line) {
                let mut whole = whole.unwrap_or_else(|| line.replace('\t', ""));
                whole.truncate(whole.trim_end_matches('\\').len());
                joined = Some(whole);
            }
            body.push_str(line);
            body.push('\n');
        }
        body
    }
}

/// Whether a line goes on with the next one: a backslash stands at its end, and no other takes what that means.
fn is_broken(line: &str) -> bool {
    line.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

/// Whether what stands in front of a here-document makes it a shift of bits: `a[1 << 2]=x`, `$[1 << 2]`.
fn opens_bracket(before: &str) -> bool {
    let mut open = 0i32;
    before.rmatch_indices(['[', ']']).any(|(at, bracket)| {
        open += if bracket == "[" { 1 } else { -1 };
        let front = &before[..at];
        let name = front.rsplit([' ', '\t', '\n', '[', ']']).next().unwrap_or(front);
        open > 0 && (front.ends_with('$') || is_name(name))
    })
}
