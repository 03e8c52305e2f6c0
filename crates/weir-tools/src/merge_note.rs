//! A note and what is added to it from sources: pure text. Not here: checking passages (`sources`), and
//! files.

use std::fmt::Write as _;

use serde_json::Value;
use weir_notes::note::parse_note;
use weir_notes::properties::PropertyChange;

use crate::ingest::{
    FoundQuote, add_below_heading, file_link, quote_line, statement_lines, statement_text,
};
use crate::sources::ComparableText;

/// A statement with the passages that it rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MergedStatement {
    pub(crate) text: String,
    pub(crate) quotes: Vec<FoundQuote>,
}

/// What is added to one note.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct MergedNote {
    pub(crate) statements: Vec<MergedStatement>,
    /// What is disagreed about, with its sides.
    pub(crate) contradictions: Vec<(String, Vec<MergedStatement>)>,
}

impl MergedNote {
    /// The change that adds its sources to the property `sources` of a note; `None`: all are there.
    pub(crate) fn sources_change(&self, note: &str) -> Option<PropertyChange> {
        let there = parse_note(note).properties.get("sources").cloned();
        let mut list = match there {
            Some(Value::Array(list)) => list,
            Some(Value::Null) | None => Vec::new(),
            Some(one) => vec![one],
        };
        let known = list.len();
        let sides = self.contradictions.iter().flat_map(|(_, sides)| sides);
        for quote in self.statements.iter().chain(sides).flat_map(|statement| &statement.quotes) {
            let link = Value::String(file_link(&quote.source));
            if !list.contains(&link) {
                list.push(link);
            }
        }
        (list.len() > known)
            .then(|| PropertyChange::Set { name: "sources".into(), value: Value::Array(list) })
    }
}

/// `note` with what is not in it yet. What is in it stays.
pub(crate) fn merge_into(note: &str, merged: &MergedNote, links: &[String]) -> String {
    let mut out = note.to_owned();
    for statement in &merged.statements {
        out = add_statement(&out, statement);
    }
    for (question, sides) in &merged.contradictions {
        if !stands_in(&out, question) {
            let lines = contradiction_lines(question, sides);
            out = add_below_heading(&out, "Contradictions", &lines);
        }
    }
    let new_links: String = links
        .iter()
        .map(|path| file_link(path))
        .filter(|link| !out.contains(link.as_str()))
        .map(|link| format!("- {link}\n"))
        .collect();
    add_below_heading(&out, "Links", &new_links)
}

/// A statement that stands there already gets its new passages and is not said twice.
fn add_statement(note: &str, statement: &MergedStatement) -> String {
    let line = format!("- {}", statement_text(&statement.text));
    let mut at = 0;
    let mut inside = false;
    let mut place = None;
    let mut known = String::new();
    for piece in note.split_inclusive('\n') {
        let is_below = piece.starts_with("  ");
        if inside && is_below {
            known.push_str(piece);
        }
        if inside && !is_below {
            break;
        }
        at += piece.len();
        inside = inside || piece.trim_end() == line;
        if inside {
            place = Some(at);
        }
    }
    let Some(place) = place else {
        let lines = match stands_in(note, &statement.text) {
            true => String::new(),
            false => statement_lines(&statement.text, &statement.quotes),
        };
        return add_below_heading(note, "Statements", &lines);
    };
    let new: String = statement
        .quotes
        .iter()
        .map(quote_line)
        .filter(|line| !known.contains(line.trim_end()))
        .collect();
    let (Some(before), Some(after)) = (note.get(..place), note.get(place..)) else {
        return note.to_owned();
    };
    let end = if note.contains("\r\n") { "\r\n" } else { "\n" };
    let gap = if new.is_empty() || before.ends_with('\n') { "" } else { end };
    format!("{before}{gap}{}{after}", new.replace('\n', end))
}

/// The sides beside each other, none before the other but by the order in which they were given.
fn contradiction_lines(question: &str, sides: &[MergedStatement]) -> String {
    let mut lines = format!("- {}\n", statement_text(question));
    for (number, side) in (1..).zip(sides) {
        let _ = writeln!(lines, "  {number}. {}", statement_text(&side.text));
        for quote in &side.quotes {
            let _ = write!(lines, "   {}", quote_line(quote));
        }
    }
    lines
}

/// Whether a sentence stands in a note already, however it is laid out.
fn stands_in(note: &str, sentence: &str) -> bool {
    ComparableText::of_text(note).has_words(&ComparableText::of_text(sentence))
}
