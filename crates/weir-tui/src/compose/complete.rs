//! What can be completed where the cursor is: a command after `/`, a file after `@`. Pure; not
//! here: which files there are.

use super::buffer::{Buffer, TextPos};
use crate::decisions::{VerbOffer, verbs_of_command};
use crate::fuzzy;
use crate::link::SlashCommandInfo;

/// Things that are offered.
pub(super) const ITEMS_MAX: usize = 100;
/// Bytes before the cursor in which an `@` is sought.
const LOOKED_BACK_BYTES: usize = 4096;
/// What may stand before an `@`, as the engine reads mentions (`attach::file_mention`).
const OPENING: [char; 6] = ['(', '[', '{', '<', '"', '\''];

/// What is completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CompletionKind {
    Command,
    /// What follows a command: `accept`.
    Verb,
    File,
}

/// A word that can be completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CompletionWord {
    pub(super) kind: CompletionKind,
    /// Where its sign stands.
    pub(super) start: TextPos,
    /// What was typed of it.
    pub(super) query: String,
}

/// Something that is offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CompletionItem {
    pub(super) name: String,
    pub(super) hint: String,
    pub(super) about: String,
}

/// What is offered for a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CompletionList {
    pub(super) word: CompletionWord,
    pub(super) items: Vec<CompletionItem>,
    pub(super) chosen: usize,
    /// The person went through the list.
    pub(super) moved: bool,
}

impl CompletionList {
    pub(super) fn new(word: CompletionWord, items: Vec<CompletionItem>) -> Option<CompletionList> {
        (!items.is_empty()).then_some(CompletionList { word, items, chosen: 0, moved: false })
    }

    /// Goes up or down the list, round its ends.
    pub(super) fn move_choice(&mut self, on: isize) {
        let count = self.items.len() as isize;
        self.chosen = (self.chosen as isize + on).rem_euclid(count) as usize;
        self.moved = true;
    }

    pub(super) fn chosen_item(&self) -> &CompletionItem {
        &self.items[self.chosen]
    }
}

/// The word at the cursor that can be completed.
pub(super) fn completable_word(buffer: &Buffer, cursor: TextPos) -> Option<CompletionWord> {
    let line = &buffer.line(cursor.line)[..cursor.byte];
    if cursor.line == 0
        && let Some(typed) = line.strip_prefix('/')
        && !typed.contains(char::is_whitespace)
    {
        let query = typed.to_owned();
        return Some(CompletionWord {
            kind: CompletionKind::Command,
            start: TextPos::default(),
            query,
        });
    }
    if cursor.line == 0
        && let Some((command, query)) = split_verb(line)
        && !verbs_of_command(command).is_empty()
    {
        let start = TextPos { line: 0, byte: line.len() - query.len() };
        return Some(CompletionWord { kind: CompletionKind::Verb, start, query: query.to_owned() });
    }
    let mut from = line.len().saturating_sub(LOOKED_BACK_BYTES);
    while !line.is_char_boundary(from) {
        from += 1;
    }
    let mut rest = &line[from..];
    // The last `@` that begins a word counts; one within a quoted name belongs to the name.
    while let Some(at) = rest.rfind('@') {
        let start = from + at;
        rest = &rest[..at];
        let before = line[..start].chars().next_back();
        if !before.is_none_or(|c| c.is_whitespace() || OPENING.contains(&c)) {
            continue;
        }
        let typed = &line[start + 1..];
        let query = match typed.chars().next().filter(|c| ['"', '\''].contains(c)) {
            Some(quote) if typed[1..].contains(quote) => continue,
            Some(_) => &typed[1..],
            None if typed.contains(char::is_whitespace) => continue,
            None => typed,
        };
        let start = TextPos { line: cursor.line, byte: start };
        return Some(CompletionWord { kind: CompletionKind::File, start, query: query.to_owned() });
    }
    None
}

/// The command of a line, and the one word that was begun behind it.
pub(super) fn split_verb(line: &str) -> Option<(&str, &str)> {
    let (command, query) = line.strip_prefix('/')?.split_once(' ')?;
    (!query.contains(char::is_whitespace)).then_some((command, query))
}

/// What can follow a command and begins like what was typed.
pub(super) fn matching_verbs(command: &str, query: &str) -> Vec<CompletionItem> {
    let fits = verbs_of_command(command).into_iter().filter(|offer| offer.verb.starts_with(query));
    let item = |offer: VerbOffer| CompletionItem {
        name: offer.verb.to_owned(),
        hint: offer.hint.to_owned(),
        about: offer.about.to_owned(),
    };
    fits.map(item).collect()
}

/// The commands that are like what was typed.
pub(super) fn matching_commands(named: &[SlashCommandInfo], query: &str) -> Vec<CompletionItem> {
    let mut seen: Vec<&str> = Vec::new();
    let names = named.iter().filter(|command| {
        let fresh = !seen.contains(&command.name.as_str());
        seen.push(&command.name);
        fresh
    });
    let found = fuzzy::best_matches(query, names.map(CommandCandidate), ITEMS_MAX);
    let item = |CommandCandidate(command): CommandCandidate<'_>| CompletionItem {
        name: command.name.clone(),
        hint: command.hint.clone(),
        about: command.about.clone(),
    };
    found.into_iter().map(item).collect()
}

struct CommandCandidate<'a>(&'a SlashCommandInfo);

impl AsRef<str> for CommandCandidate<'_> {
    fn as_ref(&self) -> &str {
        &self.0.name
    }
}

/// A path as it is written after an `@`, so that the engine reads just this name; `None`: it cannot
/// be written. A folder (it ends with `/`) is left open, for what is in it.
pub(super) fn file_mention(path: &str) -> Option<String> {
    if path.contains('\n') || path.is_empty() {
        return None;
    }
    if !path.contains(char::is_whitespace) && !path.starts_with(['"', '\'']) {
        return Some(format!("@{path}"));
    }
    let quote = ['"', '\''].into_iter().find(|quote| !path.contains(*quote))?;
    let close = if path.ends_with('/') { String::new() } else { quote.to_string() };
    Some(format!("@{quote}{path}{close}"))
}

/// A path as a word of a shell.
pub(super) fn quote_for_shell(path: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_./+-,=:@%".contains(c);
    // A word that begins with `-` would be an option.
    let path = if path.starts_with('-') { format!("./{path}") } else { path.to_owned() };
    if path.chars().all(plain) {
        return path;
    }
    format!("'{}'", path.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Option<(CompletionKind, usize, String)> {
        let mut buffer = Buffer::new();
        buffer.splice(TextPos::default(), TextPos::default(), text);
        let word = completable_word(&buffer, buffer.end())?;
        Some((word.kind, word.start.byte, word.query))
    }

    #[test]
    fn f1_words_that_can_be_completed_are_found() {
        let file = |start, query: &str| Some((CompletionKind::File, start, query.to_owned()));
        let command = |query: &str| Some((CompletionKind::Command, 0, query.to_owned()));
        for (text, expected) in [
            ("/", command("")),
            ("/mo", command("mo")),
            ("/model x", None),
            (" /mo", None),
            ("a\n/mo", None),
            ("/open @a", file(6, "a")),
            ("@", file(0, "")),
            ("see @src/ma", file(4, "src/ma")),
            ("(@a", file(1, "a")),
            ("me@example", None),
            ("@a b", None),
            ("@\"my fi", file(0, "my fi")),
            ("@\"my file\" ", None),
            ("@\"my @fi", file(5, "fi")),
            ("@a@b", file(0, "a@b")),
            ("a\n@b", file(0, "b")),
            ("", None),
        ] {
            assert_eq!(at(text), expected, "{text:?}");
        }
    }

    #[test]
    fn f1_paths_are_words_of_a_shell() {
        for (path, expected) in [
            ("src/a.rs", "src/a.rs"),
            ("my file", "'my file'"),
            ("it's", "'it'\\''s'"),
            ("$(x)", "'$(x)'"),
            ("-rf", "./-rf"),
            ("größe", "größe"),
        ] {
            assert_eq!(quote_for_shell(path), expected);
        }
    }

    #[test]
    fn f1_paths_are_written_so_that_they_are_attached() {
        for (path, expected) in [
            ("src/a.rs", Some("@src/a.rs")),
            ("src/", Some("@src/")),
            ("my file.txt", Some("@\"my file.txt\"")),
            ("my folder/", Some("@\"my folder/")),
            ("a \"b\".txt", Some("@'a \"b\".txt'")),
            ("\"a\"", Some("@'\"a\"'")),
            ("a 'b' \"c\"", None),
            ("a\nb", None),
        ] {
            assert_eq!(file_mention(path).as_deref(), expected, "{path:?}");
        }
    }
}
