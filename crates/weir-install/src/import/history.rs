//! What was said in sessions of other agents, as text to be read and searched. It is never made a
//! journal: nothing of it was judged or recorded here, so it must not look as if it was. Only words
//! of the person and the agent are taken, and names of tools; what tools returned is not. Not here:
//! the files and databases that they are read from (`files`, `database`), and those that are kept
//! (`imported`).

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(super) use database::{DatabaseSession, HistoryDatabase, HistoryTable, read_from_database};
pub(super) use files::{HistoryFile, SessionFiles, list_history_files, parse_bounded};

mod database;
mod files;

/// Lines of one session, bytes of their text, and characters of one line.
const LINES_MAX: usize = 20_000;
const SESSION_BYTES_MAX: usize = 16 << 20;
const LINE_CHARS_MAX: usize = 50_000;
/// Characters of what stands in the head: it is read back in one line of a bounded length.
const TITLE_CHARS_MAX: usize = 100;
const ID_CHARS_MAX: usize = 80;
const FOLDER_CHARS_MAX: usize = 1_000;
const TIME_CHARS_MAX: usize = 64;

/// What programs say to the agent in the person's name stands in elements of these names.
const WRAPPERS: &[&str] = &[
    "bash-stdout",
    "bash-stderr",
    "local-command-stdout",
    "local-command-stderr",
    "local-command-caveat",
    "command-name",
    "command-message",
    "command-args",
    "user-prompt-submit-hook",
    "session-start-hook",
    "task-notification",
    "ide_selection",
    "ide_opened_file",
    "environment_context",
    "user_instructions",
    "turn_aborted",
    "INSTRUCTIONS",
    "system-reminder",
];

/// Something that was said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryLine {
    /// `user`, `assistant` or `tool`.
    pub role: String,
    /// The words; of a tool its name.
    pub text: String,
    /// When, as the other agent wrote it; empty: it did not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub at: String,
}

/// What an imported session is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ImportedHistoryHead {
    /// Whose it is.
    pub agent: String,
    /// Its id there, as far as it can be the name of a file.
    pub id: String,
    /// What it was about.
    pub title: String,
    /// The folder that was worked in.
    pub workspace: String,
    /// When it began, as the other agent wrote it.
    pub started: String,
    /// The file that it was read from.
    pub source: String,
    /// Whose words they are: `external`, whatever they say.
    pub label: String,
    /// How many things were said.
    pub lines: usize,
}

/// A session of another agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ImportedHistory {
    /// What it is.
    pub head: ImportedHistoryHead,
    /// What was said, in order.
    pub lines: Vec<HistoryLine>,
    /// Bytes of their text.
    bytes: usize,
    /// More was said than is imported of one session.
    is_cut: bool,
}

impl ImportedHistory {
    /// An empty one.
    pub(super) fn new(agent: &str, id: &str, source: &str) -> ImportedHistory {
        let head = ImportedHistoryHead {
            agent: agent.to_owned(),
            source: source.to_owned(),
            label: "external".to_owned(),
            ..ImportedHistoryHead::default()
        };
        let mut history = ImportedHistory { head, ..ImportedHistory::default() };
        history.set_id(id);
        history
    }

    /// Its id there, as one that can be the name of a file.
    pub(super) fn set_id(&mut self, id: &str) {
        let plain = |sign: char| match sign.is_ascii_alphanumeric() || sign == '-' || sign == '_' {
            true => sign,
            false => '-',
        };
        let id: String = id.chars().take(ID_CHARS_MAX).map(plain).collect();
        self.head.id = if id.trim_matches('-').is_empty() { "session".into() } else { id };
    }

    /// Whether no more is taken of it.
    pub(super) fn is_full(&self) -> bool {
        self.lines.len() >= LINES_MAX || self.bytes >= SESSION_BYTES_MAX
    }

    /// More was said than what is imported of it.
    pub(super) fn cut_rest(&mut self) {
        self.is_cut = true;
    }

    /// Adds what somebody said, where it is anything.
    pub(super) fn add_line(&mut self, role: &str, text: &str, at: &str) {
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        if self.is_full() {
            self.is_cut = true;
            return;
        }
        let mut kept = cut_text(text, LINE_CHARS_MAX);
        if kept.len() < text.len() {
            kept.push_str("\n[cut: the rest of it was not imported]");
        }
        if self.head.started.is_empty() {
            self.head.started = at.to_owned();
        }
        let (role, at) = (role.to_owned(), cut_text(at, TIME_CHARS_MAX));
        self.bytes += kept.len();
        self.lines.push(HistoryLine { role, text: kept, at });
    }

    /// Adds a message: its text, and the names of tools in it.
    pub(super) fn say_content(&mut self, role: &str, content: &Value, at: &str) {
        // Of the person only what they said themselves.
        let own = |text| if role == "user" { without_wrappers(text) } else { text };
        let Some(blocks) = content.as_array() else {
            return self.add_line(role, own(content.as_str().unwrap_or_default()), at);
        };
        for block in blocks {
            let word = |key: &str| block.get(key).and_then(Value::as_str);
            match word("type") {
                None | Some("text" | "input_text" | "output_text") => {
                    self.add_line(role, own(word("text").unwrap_or_default()), at);
                }
                Some("tool_use" | "tool-call" | "tool") => {
                    self.add_line("tool", word("name").or_else(|| word("tool")).unwrap_or("?"), at);
                }
                Some("toolRequest") => {
                    let name = block.pointer("/toolCall/value/name").and_then(Value::as_str);
                    self.add_line("tool", name.unwrap_or("?"), at);
                }
                Some(_) => {}
            }
        }
    }

    /// The head, once everything was said.
    fn close_head(&mut self) {
        let first = || self.lines.iter().find(|line| line.role == "user").map(|line| &line.text);
        let text = match self.head.title.trim() {
            "" => first().map_or("", |text| text.as_str()),
            title => title,
        };
        let words = text.split_whitespace().take(TITLE_CHARS_MAX).collect::<Vec<_>>().join(" ");
        self.head.title = cut_text(&words, TITLE_CHARS_MAX);
        self.head.workspace = cut_text(&self.head.workspace, FOLDER_CHARS_MAX);
        self.head.started = cut_text(&self.head.started, TIME_CHARS_MAX);
        self.head.lines = self.lines.len();
    }

    /// As the file that is kept: what it is first, then a line for each thing said.
    pub(super) fn to_lines(&self) -> String {
        let lines = self.lines.iter().map(|line| serde_json::json!(line).to_string() + "\n");
        format!("{}\n{}", serde_json::json!(self.head), lines.collect::<String>())
    }
}

fn cut_text(text: &str, chars: usize) -> String {
    text.chars().take(chars).collect()
}

/// The text without what programs put before it.
fn without_wrappers(text: &str) -> &str {
    let mut rest = text.trim_start();
    while let Some(inner) = rest.strip_prefix('<') {
        let begins = |name: &&&str| {
            inner.strip_prefix(**name).is_some_and(|after| after.starts_with(['>', ' ', '/']))
        };
        let Some(name) = WRAPPERS.iter().find(begins) else { break };
        let end = format!("</{name}>");
        rest = match inner.split_once(&end) {
            Some((_, behind)) => behind.trim_start(),
            // Without an end all of it is the program's.
            None => "",
        };
    }
    rest
}

/// The text of a key of a value.
pub(super) fn text_at<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn r8_what_programs_say_in_the_persons_name_is_not_theirs() {
        for (text, own) in [
            ("Mend it", "Mend it"),
            ("<p>Why does this tag fail?</p>", "<p>Why does this tag fail?</p>"),
            ("<bash-stdout>secret</bash-stdout><bash-stderr></bash-stderr>", ""),
            ("<local-command-stdout>secret", ""),
            ("<system-reminder>x</system-reminder>\nMend it", "Mend it"),
            ("<environment_context>x</environment_context>", ""),
            ("<user_instructions>\nx\n</user_instructions>", ""),
            ("<command-names>Mend it", "<command-names>Mend it"),
        ] {
            let mut history = ImportedHistory::new("a", "1", "f");
            history.say_content("user", &json!(text), "");
            let mut blocks = ImportedHistory::new("a", "1", "f");
            blocks.say_content("user", &json!([{"type": "text", "text": text}]), "");
            for history in [history, blocks] {
                let said: Vec<_> = history.lines.iter().map(|line| line.text.as_str()).collect();
                assert_eq!(said.join("|"), own, "{text}");
            }
        }
        let mut history = ImportedHistory::new("a", "1", "f");
        history.say_content("assistant", &json!("<system-reminder> is a tag"), "");
        assert_eq!(history.lines.len(), 1, "the agent's words are its own");
    }

    #[test]
    fn r8_the_head_of_a_session_is_read_back_whatever_its_file_says() {
        let mut history = ImportedHistory::new("a", &"i".repeat(1 << 20), "f");
        history.head.workspace = "\u{1}".repeat(1 << 20);
        history.head.started = "t".repeat(1 << 20);
        history.add_line("user", &"w".repeat(1 << 20), &"t".repeat(1 << 20));
        history.close_head();
        let lines = history.to_lines();
        let first = lines.lines().next().expect("a head");
        assert!(first.len() < 32 * 1024, "{}", first.len());
        let head: ImportedHistoryHead = serde_json::from_str(first).expect("a head");
        assert_eq!(head, history.head);
        assert_eq!((head.lines, head.label.as_str()), (1, "external"));
    }

    #[test]
    fn r8_of_one_session_a_bounded_text_is_kept() {
        let mut history = ImportedHistory::new("a", "1", "f");
        let text = "w".repeat(LINE_CHARS_MAX);
        for _ in 0..SESSION_BYTES_MAX / LINE_CHARS_MAX + 10 {
            history.add_line("user", &text, "");
        }
        assert!(history.bytes <= SESSION_BYTES_MAX + LINE_CHARS_MAX);
        assert!(history.is_full() && history.is_cut);
    }
}
