//! What notes that are memory have in common (K11): the property that marks one, and the statements that
//! stand in it word for word. Each is proposed to the person as a fact; the note alone is told to nobody.
//! Not here: what a fact must look like (`weir_core::memory`).

use serde_json::Value;
use weir_core::memory::{FACT_CHARS_MAX, FACT_TOPICS_MAX, TOPIC_CHARS_MAX};
use weir_notes::note::parse_note;
use weir_notes::properties::find_frontmatter;

use crate::text;

/// The property that marks a note.
pub(crate) const PROPERTY: &str = "memory-source";
/// Fewest words of a statement: what is shorter says nothing alone.
const WORDS_MIN: usize = 3;

/// A statement of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NoteStatement {
    /// One line, as it stands there, without marks of lists and links.
    pub(crate) text: String,
    /// The heading above it, where there is one.
    pub(crate) topics: Vec<String>,
}

/// What stands in a note.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct NoteStatements {
    /// In their order, each once.
    pub(crate) statements: Vec<NoteStatement>,
    /// So many are longer than a fact may be.
    pub(crate) too_long: usize,
}

/// Whether a note is marked.
pub(crate) fn is_marked(note: &str) -> bool {
    parse_note(note).properties.get(PROPERTY) == Some(&Value::Bool(true))
}

/// The statements of a note: items of lists and paragraphs. What is quoted, code, a table or a comment
/// says nothing in the person's own words.
pub(crate) fn statements_of(note: &str) -> NoteStatements {
    let body = find_frontmatter(note).and_then(|place| note.get(place.block.end..)).unwrap_or(note);
    let mut found = NoteStatements::default();
    let mut heading = String::new();
    let mut open = String::new();
    let mut fence: Option<&str> = None;
    let (mut is_comment, mut is_html_comment) = (false, false);
    for line in body.lines() {
        let trimmed = line.trim();
        if let Some(sign) = fence {
            if trimmed.starts_with(sign) {
                fence = None;
            }
            continue;
        }
        let sign = ["```", "~~~", "$$"].into_iter().find(|sign| trimmed.starts_with(sign));
        let turns = trimmed.matches("%%").count() % 2 == 1;
        let has_html_comment = is_html_comment || trimmed.contains("<!--");
        is_html_comment = match trimmed.rfind("-->") {
            Some(end) => trimmed.rfind("<!--").is_some_and(|begin| begin > end),
            None => has_html_comment,
        };
        let is_left_out = is_comment
            || trimmed.contains("%%")
            || has_html_comment
            || trimmed.is_empty()
            || trimmed.starts_with(['>', '|', '<', '!']);
        if sign.is_some() || is_left_out {
            close_statement(&mut open, &heading, &mut found);
            fence = sign.filter(|sign| trimmed.len() == sign.len() || !trimmed.ends_with(sign));
            is_comment ^= turns;
            continue;
        }
        if let Some(title) = heading_text(trimmed) {
            close_statement(&mut open, &heading, &mut found);
            title.clone_into(&mut heading);
        } else if let Some(item) = list_item(trimmed) {
            close_statement(&mut open, &heading, &mut found);
            item.clone_into(&mut open);
        } else {
            if !open.is_empty() {
                open.push(' ');
            }
            open.push_str(trimmed);
        }
    }
    close_statement(&mut open, &heading, &mut found);
    found
}

fn heading_text(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    ((1..=6).contains(&level) && rest.starts_with(' '))
        .then(|| rest.trim().trim_end_matches('#').trim())
}

fn list_item(line: &str) -> Option<&str> {
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = (digits.len() < line.len())
        .then(|| digits.strip_prefix(". ").or_else(|| digits.strip_prefix(") ")))
        .flatten();
    let item =
        ["- ", "* ", "+ "].into_iter().find_map(|sign| line.strip_prefix(sign)).or(numbered)?;
    let item = item.trim_start();
    let unchecked = ["[ ] ", "[x] ", "[X] "].into_iter().find_map(|sign| item.strip_prefix(sign));
    Some(unchecked.unwrap_or(item).trim())
}

fn close_statement(open: &mut String, heading: &str, found: &mut NoteStatements) {
    let statement = plain_statement(&std::mem::take(open));
    if statement.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).count()
        < WORDS_MIN
    {
        return;
    }
    if statement.chars().count() > FACT_CHARS_MAX {
        found.too_long += 1;
        return;
    }
    if found.statements.iter().any(|known| known.text == statement) {
        return;
    }
    let topic = text::first_chars(heading.trim(), TOPIC_CHARS_MAX).trim().to_owned();
    let topics: Vec<String> =
        Some(topic).into_iter().filter(|topic| !topic.is_empty()).take(FACT_TOPICS_MAX).collect();
    found.statements.push(NoteStatement { text: statement, topics });
}

/// A statement without marks of links and emphasis: `[[Ann Lee|Ann]]` is `Ann`.
fn plain_statement(given: &str) -> String {
    let mut out = String::with_capacity(given.len());
    let mut rest = given;
    while let Some(at) = rest.find("[[") {
        let (before, link) = rest.split_at(at);
        out.push_str(before);
        let Some(end) = link.find("]]") else {
            rest = link;
            break;
        };
        let inner = link.get(2..end).unwrap_or_default();
        out.push_str(inner.rsplit('|').next().unwrap_or(inner));
        rest = link.get(end + 2..).unwrap_or_default();
    }
    out.push_str(rest);
    let shown = out.replace("**", "").replace("==", "");
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k11_statements_are_what_the_person_wrote_and_nothing_else() {
        let note = "---\nmemory-source: true\nrole: cook\n---\n# Me\n\nI live in **Bern** and\nwork at \
                    [[Acme Inc|Acme]].\n\n## Food\n- I eat no meat\n- [x] Likes plain rice\n1. Tea before \
                    coffee, always\n- ok\n> Somebody said all of this\n\n```\nnot this line here\n```\n\
                    %% nor this one here %%\n%%\nnor all of this\n%%\n| not | this | row |\n![[picture of \
                    me.png]]\nseen <!-- but this is\nnot seen by anybody --> here\n- I eat no meat\n";
        assert!(is_marked(note));
        let found = statements_of(note);
        let texts: Vec<(&str, &[String])> =
            found.statements.iter().map(|one| (one.text.as_str(), one.topics.as_slice())).collect();
        let food = ["Food".to_owned()];
        assert_eq!(
            texts,
            [
                ("I live in Bern and work at Acme.", &["Me".to_owned()][..]),
                ("I eat no meat", &food[..]),
                ("Likes plain rice", &food[..]),
                ("Tea before coffee, always", &food[..]),
            ]
        );
        assert!(!is_marked("memory-source: true\n") && !is_marked("---\nmemory-source: no\n---\n"));
    }

    #[test]
    fn k11_what_is_too_long_for_a_fact_is_counted() {
        let note = format!("- {}\n- short but long enough\n", "word ".repeat(100));
        let found = statements_of(&note);
        assert_eq!((found.statements.len(), found.too_long), (1, 1));
        assert_eq!(statements_of(""), NoteStatements::default());
        assert_eq!(statements_of("- see [[the open link").statements.len(), 1);
    }
}
