//! What in a person's message makes a skill active (M1): keywords, or a regular expression. Keywords
//! are matched here; an expression is compiled by the engine, with its bounds.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Most keywords of one skill.
const WORDS_MAX: usize = 50;
/// Longest keyword, in characters.
const WORD_CHARS_MAX: usize = 100;
/// Longest regular expression, in characters.
const PATTERN_CHARS_MAX: usize = 500;

/// What makes a skill active.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkillTrigger {
    /// Nothing in a message does.
    #[default]
    None,
    /// One of these words or phrases, whole, in any case.
    Words(Vec<String>),
    /// A regular expression that is found somewhere.
    Pattern {
        /// Without its slashes.
        text: String,
        /// It was written `/…/i`: upper and lower case are the same.
        any_case: bool,
    },
}

impl SkillTrigger {
    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        *self == SkillTrigger::None
    }

    /// Reads it from the value of a head: `review, code review`, a list of these, or `/…/`.
    ///
    /// # Errors
    /// What is wrong, and what to write.
    pub fn from_value(value: &Value) -> Result<SkillTrigger, (String, String)> {
        let form = "write keywords with commas between, a list of keywords, or `/…/`";
        let wrong = |what: &str| (what.to_owned(), form.to_owned());
        let words: Vec<&str> = match value {
            Value::String(text) => match parse_pattern(text) {
                Some((text, any_case)) => return parse_expression(text, any_case),
                None => text.split(',').collect(),
            },
            Value::Array(items) => {
                let texts: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
                let texts = texts.ok_or_else(|| wrong("has an item that is not a text"))?;
                match texts.as_slice() {
                    [one] if parse_pattern(one).is_some() => {
                        return SkillTrigger::from_value(&items[0]);
                    }
                    _ => texts,
                }
            }
            _ => return Err(wrong("is neither a text nor a list")),
        };
        if words.first().is_some_and(|word| word.trim_start().starts_with('/')) {
            return Err((
                "begins with a slash and does not end with one".into(),
                "write the expression in quotes, so that YAML cuts nothing off: `'/…/'`".into(),
            ));
        }
        let words = words.into_iter().map(str::trim).filter(|word| !word.is_empty());
        let words: Vec<String> = words.map(str::to_owned).collect();
        if words.is_empty() {
            return Err(wrong("is empty"));
        }
        if words.len() > WORDS_MAX {
            return Err(wrong(&format!("has more than {WORDS_MAX} keywords")));
        }
        if words.iter().any(|word| word.chars().count() > WORD_CHARS_MAX) {
            return Err(wrong(&format!("has a keyword of more than {WORD_CHARS_MAX} characters")));
        }
        if words.iter().any(|word| !word.chars().any(char::is_alphanumeric)) {
            return Err(wrong("has a keyword without a letter or digit"));
        }
        Ok(SkillTrigger::Words(words))
    }
}

/// The trigger as it would be written into a head.
impl std::fmt::Display for SkillTrigger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SkillTrigger::None => Ok(()),
            SkillTrigger::Words(words) => f.write_str(&words.join(", ")),
            SkillTrigger::Pattern { text, any_case } => {
                write!(f, "/{text}/{}", if *any_case { "i" } else { "" })
            }
        }
    }
}

fn parse_pattern(text: &str) -> Option<(&str, bool)> {
    let rest = text.trim().strip_prefix('/')?;
    match rest.strip_suffix('/') {
        Some(inner) => Some((inner, false)),
        None => rest.strip_suffix("/i").map(|inner| (inner, true)),
    }
}

fn parse_expression(text: &str, any_case: bool) -> Result<SkillTrigger, (String, String)> {
    if text.is_empty() {
        return Err((
            "is an empty expression".into(),
            "write something between the slashes".into(),
        ));
    }
    if text.chars().count() > PATTERN_CHARS_MAX {
        let wrong = format!("is an expression of more than {PATTERN_CHARS_MAX} characters");
        return Err((wrong, "write a shorter one, or keywords".into()));
    }
    Ok(SkillTrigger::Pattern { text: text.to_owned(), any_case })
}

/// Text made ready for finding keywords in it: lower case, one space between words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriggerWords(String);

impl TriggerWords {
    /// Makes `said` ready. The caller brings it and the keywords into one Unicode form.
    pub fn new(said: &str) -> TriggerWords {
        TriggerWords(fold_text(said))
    }

    /// Whether `word` stands in it as a whole: no letter, digit or `_` before or after. In scripts
    /// without spaces between words it may stand anywhere.
    pub fn has_word(&self, word: &str) -> bool {
        let word = fold_text(word);
        let (Some(first), Some(last)) = (word.chars().next(), word.chars().next_back()) else {
            return false;
        };
        let text = &self.0;
        text.match_indices(&word).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let after = text[at + word.len()..].chars().next();
            !joins_word(before, first) && !joins_word(after, last)
        })
    }
}

fn fold_text(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for part in text.split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.extend(part.chars().flat_map(char::to_lowercase));
    }
    folded
}

/// Whether a neighbour makes one word with the end of a keyword.
fn joins_word(neighbour: Option<char>, end: char) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    neighbour.is_some_and(|c| {
        part(c) && part(end) && !(is_unspaced_script(c) || is_unspaced_script(end))
    })
}

/// Letters of scripts that put no spaces between words: Thai to Khmer, kana, Han.
fn is_unspaced_script(c: char) -> bool {
    matches!(u32::from(c),
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF | 0x3040..=0x30FF | 0x3400..=0x9FFF
        | 0xF900..=0xFAFF | 0x2_0000..=0x3_FFFF)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn m1_keywords_are_whole_words_in_any_case_and_script() {
        for (said, word, found) in [
            ("Please review this", "review", true),
            ("a preview of it", "review", false),
            ("reviewed", "review", false),
            ("re-view", "view", true),
            ("my_review", "review", false),
            ("CODE\n  Review, please", "code review", true),
            ("code reviews", "code review", false),
            ("STRASSE und ÜBUNG", "übung", true),
            ("Übungen", "übung", false),
            ("Ревью кода", "ревью", true),
            ("請檢查程式碼", "檢查", true),
            ("c++ is hard", "c++", true),
            ("", "x", false),
            ("x", "", false),
            ("İstanbul", "istanbul", false),
        ] {
            assert_eq!(TriggerWords::new(said).has_word(word), found, "{word:?} in {said:?}");
        }
    }

    #[test]
    fn m1_a_trigger_is_read_from_text_list_or_expression() {
        let pattern = |text: &str, any_case| SkillTrigger::Pattern { text: text.into(), any_case };
        for (value, trigger) in [
            (json!("/fix(es)?/"), pattern("fix(es)?", false)),
            (json!(" /a/b/i "), pattern("a/b", true)),
            (json!(["/x/"]), pattern("x", false)),
            (json!("one,, two ,"), SkillTrigger::Words(vec!["one".into(), "two".into()])),
        ] {
            assert_eq!(SkillTrigger::from_value(&value), Ok(trigger.clone()));
            assert_eq!(SkillTrigger::from_value(&json!(trigger.to_string())), Ok(trigger));
        }
        for bad in [
            json!(""),
            json!(","),
            json!("//"),
            json!(3),
            json!([1]),
            json!([]),
            json!("!!"),
            json!("/fix"),
            json!(format!("/{}/", "a".repeat(501))),
            json!(vec!["a"; 51]),
        ] {
            assert!(SkillTrigger::from_value(&bad).is_err(), "{bad}");
        }
    }
}
