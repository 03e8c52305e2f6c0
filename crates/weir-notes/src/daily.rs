//! The daily note: where Obsidian's settings put that of a day, and what stands in a new one. Not here:
//! which day is meant.

use jiff::civil::{Date, DateTime};
use serde::Deserialize;

use crate::moment::format_moment;
use crate::resolve::file_name;

/// Where the settings are.
pub const DAILY_SETTINGS: &str = ".obsidian/daily-notes.json";

/// Obsidian's settings for daily notes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct DailySettings {
    /// Folder of daily notes; empty: the vault.
    pub folder: String,
    /// Format of their names, in Moment's signs; empty: `YYYY-MM-DD`.
    pub format: String,
    /// Path of the template, without its ending; empty: none.
    pub template: String,
}

impl DailySettings {
    /// Reads the settings; what cannot be read is as if it were not set.
    pub fn parse_settings(json: &str) -> DailySettings {
        serde_json::from_str(json).unwrap_or_default()
    }
    /// The format that counts.
    pub fn format_in_force(&self) -> &str {
        if self.format.trim().is_empty() { "YYYY-MM-DD" } else { self.format.trim() }
    }
    /// The path of a day's note.
    pub fn note_path(&self, day: Date) -> String {
        let name = format_moment(
            day.to_datetime(jiff::civil::Time::midnight()),
            self.format_in_force(),
            0,
        );
        let folder = self.folder.trim().trim_matches('/');
        match folder {
            "" => format!("{name}.md"),
            folder => format!("{folder}/{name}.md"),
        }
    }
    /// The path of the template.
    pub fn template_path(&self) -> Option<String> {
        let path = self.template.trim().trim_start_matches('/');
        (!path.is_empty()).then(|| match crate::resolve::is_note(path) {
            true => path.to_owned(),
            false => format!("{path}.md"),
        })
    }
}

/// What stands in a new note made from a template: `{{date}}`, `{{time}}`, `{{title}}`, each of the first
/// two also with a format behind a colon.
pub fn fill_template(template: &str, path: &str, at: DateTime) -> String {
    let title = crate::resolve::strip_note_ending(file_name(path));
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(open) = rest.find("{{") {
        text.push_str(&rest[..open]);
        let inner = &rest[open + 2..];
        let Some(close) = inner.find("}}") else {
            rest = &rest[open..];
            break;
        };
        let (name, format) = match inner[..close].split_once(':') {
            Some((name, format)) => (name.trim(), Some(format.trim())),
            None => (inner[..close].trim(), None),
        };
        match name.to_lowercase().as_str() {
            "title" => text.push_str(title),
            "date" => text.push_str(&format_moment(at, format.unwrap_or("YYYY-MM-DD"), 0)),
            "time" => text.push_str(&format_moment(at, format.unwrap_or("HH:mm"), 0)),
            _ => text.push_str(&rest[open..open + 2 + close + 2]),
        }
        rest = &inner[close + 2..];
    }
    text.push_str(rest);
    text
}
