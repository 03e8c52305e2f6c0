//! What must not stand in a recipe as it is: texts that something was taken out of, and values that
//! look like a person's own. Not here: tokens and known secrets (`governance::filter::redact`).

use serde_json::Value;

/// What the filter `redact` leaves in the place of a secret begins so.
const REDACTED: &str = "[redacted";
/// So many digits in a row, spaces and dashes between them aside, are a number of somebody's:
/// telephone, account, card.
const DIGITS_MIN: usize = 9;
/// Names of the folders that hold those of persons.
const HOMES: [&str; 2] = ["home", "Users"];

/// Whether a secret stood in a text.
pub(super) fn is_redacted(text: &str) -> bool {
    text.contains(REDACTED)
}

/// Whether one stood anywhere in a value.
pub(super) fn is_redacted_value(value: &Value) -> bool {
    is_redacted(&value.to_string())
}

/// Whether a text looks like something of a person's own: an address, a number, a home.
pub(super) fn looks_private(text: &str) -> bool {
    has_home(text) || has_address(text) || has_long_number(text)
}

fn has_home(text: &str) -> bool {
    let mut parts = text.split(['/', '\\']).skip(1);
    text.contains("~/") || parts.any(|part| HOMES.contains(&part))
}

fn has_address(text: &str) -> bool {
    text.split(|c: char| c.is_whitespace() || matches!(c, '<' | '>' | ',' | ';' | '"' | '(' | ')'))
        .any(|word| match word.split_once('@') {
            Some((name, host)) => {
                !name.is_empty() && host.split('.').filter(|part| !part.is_empty()).count() > 1
            }
            None => false,
        })
}

fn has_long_number(text: &str) -> bool {
    let mut digits = 0;
    for c in text.chars() {
        match c {
            '0'..='9' => digits += 1,
            ' ' | '-' | '/' | '.' | '(' | ')' if digits > 0 => (),
            _ => digits = 0,
        }
        if digits >= DIGITS_MIN {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m5_what_looks_private_is_seen() {
        for text in [
            "ada@example.org",
            "write to <ada@mail.example.org>, please",
            "+41 44 123 45 67",
            "CH93 0076 2011 6238 5295 7",
            "/home/ada/notes.md",
            "~/secret.md",
            "read C:\\Users\\ada",
        ] {
            assert!(looks_private(text), "{text}");
        }
        for text in ["notes/2026-11-22.md", "@decorator", "a@b", "src/lib.rs:120", "", "v1.2.3"] {
            assert!(!looks_private(text), "{text}");
        }
    }

    #[test]
    fn m5_what_was_taken_out_is_seen() {
        assert!(is_redacted("key [redacted: GitHub token]"));
        assert!(is_redacted_value(&serde_json::json!({"a": [{"b": "[redacted: secret]"}]})));
        assert!(!is_redacted("nothing was redacted"));
    }
}
