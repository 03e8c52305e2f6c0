//! The form that an entry of the brain must have (K12): a title of one line, a bounded text, a few
//! topics. What an entry says is not judged here: its label decides.

use super::{BrainEdit, BrainEntry, NewBrainEntry};
use crate::memory;
use crate::safe_text::is_deceptive;

/// Most characters of a title.
pub const TITLE_CHARS_MAX: usize = 200;
/// Most bytes of one text. What needs more is a file, and several entries can point to it.
pub const TEXT_BYTES_MAX: usize = 100_000;
/// Most entries of one person, the forgotten ones included.
pub const ENTRIES_MAX: usize = 2_000;
/// Most bytes of all texts of one person: a search reads all of them.
pub const BYTES_MAX: usize = 20_000_000;
/// Characters of a first line that becomes the title.
const FIRST_LINE_CHARS: usize = 80;

/// `title` as it is kept: one line, its spaces single, nothing invisible.
///
/// # Errors
/// It is empty or too long: what to do about it.
pub fn entry_title(title: &str) -> Result<String, String> {
    let seen: String = title.chars().filter(|c| !is_deceptive(*c)).collect();
    let seen: String = seen.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let title = seen.split_whitespace().collect::<Vec<_>>().join(" ");
    let length = title.chars().count();
    if !title.chars().any(char::is_alphanumeric) {
        return Err("the title has no words: say in a few of them what the entry is about".into());
    }
    if length > TITLE_CHARS_MAX {
        return Err(format!(
            "the title has {length} characters; at most {TITLE_CHARS_MAX}: put the rest into the text"
        ));
    }
    Ok(title)
}

/// `text` as it is kept: line ends as everywhere, no empty lines around it.
///
/// # Errors
/// It is empty, too long or no text: what to do about it.
pub fn entry_text(text: &str) -> Result<String, String> {
    let text = text.replace("\r\n", "\n");
    if text.contains('\0') {
        return Err("this is no text: turn it into text or Markdown first".into());
    }
    let text = text.trim_matches('\n').trim_end();
    if text.trim().is_empty() {
        return Err("the entry has no text: say what is to be kept".into());
    }
    if text.len() > TEXT_BYTES_MAX {
        return Err(format!(
            "the text has {} bytes; at most {TEXT_BYTES_MAX}: shorten it, or split it into several \
             entries",
            text.len()
        ));
    }
    Ok(text.to_owned())
}

/// Topics as they are kept: each once, lower case.
///
/// # Errors
/// There are too many, or one is no short line.
pub fn entry_topics(topics: &[String]) -> Result<Vec<String>, String> {
    memory::fact_topics(topics)
}

/// What a text without a title is called: its first line that says something.
pub fn first_line_title(text: &str) -> String {
    let says_something = |line: &&str| line.chars().any(char::is_alphanumeric);
    let line = text.lines().find(says_something).unwrap_or_default();
    let line = line.trim_start_matches(['#', '-', '*', '>', ' ', '\t']).trim();
    match line.char_indices().nth(FIRST_LINE_CHARS) {
        Some((at, _)) => format!("{}…", line[..at].trim_end()),
        None => line.to_owned(),
    }
}

/// `new` in the form that an entry has.
///
/// # Errors
/// It has none: what to do about it.
pub fn checked_entry(new: NewBrainEntry) -> Result<NewBrainEntry, String> {
    let text = entry_text(&new.text)?;
    let title = match new.title.trim().is_empty() {
        true => entry_title(&first_line_title(&text))?,
        false => entry_title(&new.title)?,
    };
    Ok(NewBrainEntry { topics: entry_topics(&new.topics)?, title, text, ..new })
}

/// `entry` with a change. It never becomes less foreign or less private by it.
///
/// # Errors
/// The change has no usable form: what to do about it.
pub fn changed_entry(entry: &BrainEntry, edit: &BrainEdit) -> Result<BrainEntry, String> {
    let mut changed = entry.clone();
    if let Some(title) = &edit.title {
        changed.title = entry_title(title)?;
    }
    if let Some(text) = &edit.text {
        changed.text = entry_text(text)?;
    }
    if let Some(topics) = &edit.topics {
        changed.topics = entry_topics(topics)?;
    }
    changed.label.join(&edit.label);
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::brain::{BrainEntryKind, BrainEntryState, BrainOrigin};
    use crate::ids::{BrainEntryId, Timestamp};
    use crate::label::Label;

    #[test]
    fn k12_a_title_is_one_line_with_words() {
        assert_eq!(entry_title("  Tide\u{200b}\n tables ").as_deref(), Ok("Tide tables"));
        for wrong in ["", " \n", "***", &"x".repeat(TITLE_CHARS_MAX + 1)] {
            assert!(entry_title(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn k12_a_text_is_bounded_and_has_line_ends_as_everywhere() {
        assert_eq!(entry_text("\n\na\r\n  b  \n\n").as_deref(), Ok("a\n  b"));
        let large = "x".repeat(TEXT_BYTES_MAX + 1);
        for (wrong, said) in
            [(" \n", "no text"), ("a\0b", "no text"), (large.as_str(), "split it into several")]
        {
            let why = entry_text(wrong).expect_err("it has no form");
            assert!(why.contains(said), "{why}");
        }
    }

    #[test]
    fn k12_a_text_without_a_title_is_called_by_its_first_line() {
        for (text, title) in [
            ("# Tides\nHigh at six.", "Tides"),
            ("---\n- buy rope", "buy rope"),
            ("  plain  \nmore", "plain"),
        ] {
            assert_eq!(first_line_title(text), title);
        }
        let long = "word ".repeat(40);
        assert!(first_line_title(&long).ends_with("word…"));
        let new = NewBrainEntry { text: "> Quoted.\n".into(), ..NewBrainEntry::default() };
        assert_eq!(checked_entry(new).map(|entry| entry.title).as_deref(), Ok("Quoted."));
    }

    #[test]
    fn k12_a_change_leaves_what_it_does_not_name_and_cleans_no_label() {
        let entry = BrainEntry {
            id: BrainEntryId::new("a1"),
            title: "Tides".into(),
            text: "High at six.".into(),
            kind: BrainEntryKind::Note,
            origin: BrainOrigin::default(),
            topics: vec!["sea".into()],
            label: Label::external("a.example"),
            created: Timestamp(1),
            changed: Timestamp(1),
            state: BrainEntryState::Active,
            version: 3,
        };
        let edit = BrainEdit { text: Some("High at seven.\n".into()), ..BrainEdit::default() };
        let changed = changed_entry(&entry, &edit).expect("a change");
        assert_eq!(changed, BrainEntry { text: "High at seven.".into(), ..entry.clone() });
        assert!(changed.label.is_external());
        let wrong = BrainEdit { title: Some(" ".into()), ..BrainEdit::default() };
        assert!(changed_entry(&entry, &wrong).is_err());
    }
}
