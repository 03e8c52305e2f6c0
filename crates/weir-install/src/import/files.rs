//! Files of other agents: read within a bound, and understood with the line of a mistake.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::ImportFindings;
use crate::config::read_text;
use crate::environment::ProcessEnvironment;

/// Where files are looked for.
pub(super) struct ImportPlaces<'a> {
    /// The folder that stands for the home of the person.
    pub(super) home: &'a Path,
    /// The workspace.
    pub(super) workspace: &'a Path,
    /// Variables, for what files name.
    pub(super) environment: &'a ProcessEnvironment,
}

/// A file that was read.
pub(super) struct ImportedFile {
    /// Its path, for people.
    pub(super) name: String,
    /// What stands in it.
    pub(super) text: String,
}

impl ImportedFile {
    /// The file, if there is one; it is noted as read.
    pub(super) fn read_noted(
        path: &Path,
        found: &mut ImportFindings,
    ) -> Result<Option<ImportedFile>, String> {
        let name = path.display().to_string();
        let text = read_text(path).map_err(|why| format!("{name}: {why}"))?;
        if text.is_some() {
            found.read.push(name.clone());
        }
        Ok(text.map(|text| ImportedFile { name, text }))
    }

    /// As JSON; an empty file is an empty object.
    pub(super) fn to_json(&self) -> Result<Value, String> {
        if self.text.trim().is_empty() {
            return Ok(Value::Object(serde_json::Map::new()));
        }
        self.parse_json_object(&self.text)
    }

    /// As JSON with comments and commas before a closing bracket.
    pub(super) fn json_with_comments(&self) -> Result<Value, String> {
        let plain = without_comments(&self.text);
        if plain.trim().is_empty() {
            return Ok(Value::Object(serde_json::Map::new()));
        }
        self.parse_json_object(&plain)
    }

    fn parse_json_object(&self, text: &str) -> Result<Value, String> {
        let json: Value = serde_json::from_str(text).map_err(|error| {
            let told = error.to_string();
            let why = told.split(" at line ").next().unwrap_or(&told).to_owned();
            format!("{}:{}: {why}", self.name, error.line().max(1))
        })?;
        if !json.is_object() {
            return Err(format!("{}:1: is no JSON object", self.name));
        }
        Ok(json)
    }

    /// File and line of the first place where `word` stands as a JSON text.
    pub(super) fn place_of_quoted(&self, word: &str) -> String {
        let quoted = serde_json::to_string(word).unwrap_or_default();
        self.place_of(&quoted)
    }

    /// File and line of the first place where these characters stand.
    pub(super) fn place_of(&self, characters: &str) -> String {
        match self.text.find(characters) {
            Some(at) => {
                let line = self.text[..at].matches('\n').count() + 1;
                format!("{}:{line}", self.name)
            }
            None => self.name.clone(),
        }
    }
}

/// Whether two paths are one file or folder.
pub(super) fn is_same(a: &Path, b: &Path) -> bool {
    let real = |path: &Path| -> Option<PathBuf> { std::fs::canonicalize(path).ok() };
    real(a).is_some_and(|a| Some(a) == real(b))
}

/// The text with blanks where comments and needless commas stood: every other sign keeps its line
/// and column.
fn without_comments(text: &str) -> String {
    let mut plain: Vec<char> = text.chars().collect();
    let (mut at, mut comma) = (0, None);
    while at < plain.len() {
        match (plain[at], plain.get(at + 1)) {
            ('"', _) => {
                comma = None;
                at = end_of_text(&plain, at);
            }
            ('/', Some('/')) => {
                while at < plain.len() && plain[at] != '\n' {
                    plain[at] = ' ';
                    at += 1;
                }
            }
            ('/', Some('*')) => at = blank_block(&mut plain, at),
            (',', _) => {
                comma = Some(at);
                at += 1;
            }
            ('}' | ']', _) => {
                if let Some(comma) = comma.take() {
                    plain[comma] = ' ';
                }
                at += 1;
            }
            (sign, _) => {
                if !sign.is_whitespace() {
                    comma = None;
                }
                at += 1;
            }
        }
    }
    plain.into_iter().collect()
}

/// The place behind the text that begins at `at`.
fn end_of_text(plain: &[char], at: usize) -> usize {
    let mut at = at + 1;
    while at < plain.len() && plain[at] != '"' && plain[at] != '\n' {
        at += if plain[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

/// Blanks the comment that begins at `at`; the place behind it.
fn blank_block(plain: &mut [char], mut at: usize) -> usize {
    let begin = at;
    at += 2;
    while at < plain.len() && !(plain[at] == '/' && plain[at - 1] == '*' && at >= begin + 3) {
        at += 1;
    }
    let end = (at + 1).min(plain.len());
    for sign in plain[begin..end].iter_mut().filter(|sign| **sign != '\n') {
        *sign = ' ';
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c1_import_reads_json_with_comments_and_keeps_its_lines() {
        for (text, plain) in [
            ("{} // a", "{}     "),
            ("{/* a */\"b\": 1,}", "{       \"b\": 1 }"),
            ("[1, 2, // x\n]", "[1, 2      \n]"),
            ("{\"a//b\": \"/* c */\"}", "{\"a//b\": \"/* c */\"}"),
            ("{\"a\\\"//\": 1}", "{\"a\\\"//\": 1}"),
            ("/* \n */{}", "   \n   {}"),
            ("/*/ {}", "      "),
            ("\"open", "\"open"),
            ("/", "/"),
        ] {
            assert_eq!(without_comments(text), plain, "{text}");
        }
    }
}
