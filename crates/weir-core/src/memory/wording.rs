//! The form that a fact must have (M4): one short line, a few topics. What a fact says is not judged
//! here, and a text that reads like an instruction is no safer for its form: its label decides.

use crate::safe_text::is_deceptive;

/// Most characters of a fact: two sentences. What needs more belongs into a file.
pub const FACT_CHARS_MAX: usize = 400;
/// Most topics that come with a fact.
pub const FACT_TOPICS_MAX: usize = 8;
/// Most characters of a topic.
pub const TOPIC_CHARS_MAX: usize = 40;
/// Importance of a fact of which nobody says how important it is.
pub const IMPORTANCE_DEFAULT: u8 = 3;

/// `text` as it is kept: invisible characters and spaces at the ends are gone.
///
/// # Errors
/// It is empty, too long or more than one line: what to do about it.
pub fn fact_text(text: &str) -> Result<String, String> {
    let text = visible_characters(text);
    let length = text.chars().count();
    if !text.chars().any(char::is_alphanumeric) {
        return Err("the fact has no words".into());
    }
    if text.chars().any(char::is_control) {
        return Err("a fact is one line without control characters; write it as one or two \
                    sentences"
            .into());
    }
    if length > FACT_CHARS_MAX {
        return Err(format!(
            "the fact has {length} characters; at most {FACT_CHARS_MAX}: shorten it, or split it"
        ));
    }
    Ok(text)
}

/// Topics as they are kept: each once, lower case.
///
/// # Errors
/// There are too many, or one is no short line.
pub fn fact_topics(topics: &[String]) -> Result<Vec<String>, String> {
    let mut kept: Vec<String> = Vec::new();
    for topic in topics {
        let topic = visible_characters(topic).to_lowercase();
        let fits = topic.chars().count() <= TOPIC_CHARS_MAX && !topic.chars().any(char::is_control);
        if topic.is_empty() || !fits {
            return Err(format!(
                "a topic is one or a few words, at most {TOPIC_CHARS_MAX} characters"
            ));
        }
        if !kept.contains(&topic) {
            kept.push(topic);
        }
    }
    if kept.len() > FACT_TOPICS_MAX {
        return Err(format!("{} topics are too many; at most {FACT_TOPICS_MAX}", kept.len()));
    }
    Ok(kept)
}

/// Checks an importance.
///
/// # Errors
/// It is none.
pub fn fact_importance(importance: u8) -> Result<u8, String> {
    match importance {
        1..=5 => Ok(importance),
        _ => Err(format!("the importance is 1 (may be lost) to 5 (always told), not {importance}")),
    }
}

/// What of a text can be seen.
fn visible_characters(text: &str) -> String {
    let line_break = |c: char| matches!(c, '\u{2028}' | '\u{2029}');
    let text: String = text
        .chars()
        .map(|c| if line_break(c) { '\n' } else { c })
        .filter(|c| !is_deceptive(*c))
        .collect();
    text.trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m4_a_fact_is_one_short_line() {
        assert_eq!(fact_text("  Uses\u{200b} tabs. ").as_deref(), Ok("Uses tabs."));
        assert_eq!(fact_text(&"ä".repeat(FACT_CHARS_MAX)).map(|t| t.len()), Ok(2 * FACT_CHARS_MAX));
        for bad in ["", "  ", "...", "a\nb", "a\tb", "a\u{1b}[2Jb", "a\u{2028}b", "a\0b"] {
            assert!(fact_text(bad).is_err(), "{bad:?}");
        }
        assert!(fact_text(&"a".repeat(FACT_CHARS_MAX + 1)).is_err());
        // Instructions in letters that nobody sees are gone.
        let hidden = "Uses tabs.\u{e0049}\u{e0067}\u{e006e}";
        assert_eq!(fact_text(hidden).as_deref(), Ok("Uses tabs."));
    }

    #[test]
    fn m4_topics_are_few_and_short() {
        let topics = |list: &[&str]| {
            let list: Vec<String> = list.iter().map(|topic| (*topic).to_string()).collect();
            fact_topics(&list)
        };
        assert_eq!(topics(&["Rust", "rust ", "CI"]), Ok(vec!["rust".into(), "ci".into()]));
        assert_eq!(topics(&[]), Ok(Vec::new()));
        for bad in [&[""][..], &["a\nb"], &["x".repeat(41).as_str()]] {
            assert!(topics(bad).is_err(), "{bad:?}");
        }
        assert!(topics(&["1", "2", "3", "4", "5", "6", "7", "8", "9"]).is_err());
    }

    #[test]
    fn m4_importance_is_one_to_five() {
        assert_eq!([1, 5].map(fact_importance), [Ok(1), Ok(5)]);
        assert!(fact_importance(0).is_err() && fact_importance(6).is_err());
    }
}
