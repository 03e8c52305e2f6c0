//! Small pieces of Markdown from what a server tells. Pure. What it tells stays text: it opens no
//! heading, list or code block of its own.

use std::fmt::Write as _;

use serde_json::Value;
use weir_install::wording::inline_code;

/// Longest piece of a line, in characters.
const PIECE_CHARS_MAX: usize = 500;
/// Values of a list that are named.
const VALUES_MAX: usize = 100;

/// A field that is text; empty where there is none.
pub(super) fn text_field(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_default().to_owned()
}

/// A field that is a number; 0 where there is none.
pub(super) fn number_field(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_default()
}

/// The things of a list.
pub(super) fn list_items(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Text as it is: in one line, and no Markdown.
pub(super) fn escape_to_plain(words: &str) -> String {
    let mut out = String::new();
    for word in words.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        for sign in word.chars() {
            if "\\`*_{}[]<>#|~!&".contains(sign) {
                out.push('\\');
            }
            out.push(sign);
        }
        if out.chars().count() > PIECE_CHARS_MAX {
            return out.chars().take(PIECE_CHARS_MAX).chain(['…']).collect();
        }
    }
    out
}

/// A name as code.
pub(super) fn format_code(name: &str) -> String {
    inline_code(&name.chars().take(PIECE_CHARS_MAX).collect::<String>())
}

/// A line of a list: a name, what it is, and notes that are Markdown already.
pub(super) fn format_bullet(name: &str, about: &str, notes: &str) -> String {
    let mut out = format!("- {}", format_code(name));
    if !about.is_empty() {
        let _ = write!(out, " {}", escape_to_plain(about));
    }
    if !notes.is_empty() {
        let _ = write!(out, " — {notes}");
    }
    out
}

/// A line of a list: a word and its value.
pub(super) fn format_named_line(name: &str, value: &str) -> String {
    format!("- {name}: {}", escape_to_plain(value))
}

/// A part with its heading; `none`: what stands where there is nothing.
pub(super) fn format_section(
    title: &str,
    lines: impl Iterator<Item = String>,
    none: &str,
) -> String {
    let mut out = String::new();
    if !title.is_empty() {
        let _ = writeln!(out, "## {title}\n");
    }
    let before = out.len();
    for line in lines {
        let _ = writeln!(out, "{line}");
    }
    if out.len() == before && !none.is_empty() {
        let _ = writeln!(out, "{none}");
    }
    out.push('\n');
    out
}

/// Tokens, in words.
pub(super) fn describe_usage(usage: &Value) -> String {
    let named = [
        ("input", "read"),
        ("cache_read", "from the cache"),
        ("cache_write", "to the cache"),
        ("output", "written"),
    ];
    let parts = named.iter().map(|(name, word)| (number_field(usage, name), word));
    let parts = parts.filter(|(tokens, _)| *tokens > 0);
    let words: Vec<String> = parts.map(|(tokens, word)| format!("{tokens} {word}")).collect();
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}

/// What a usage report says, by model and in all.
pub(super) fn spending_lines(told: &Value) -> Vec<String> {
    let mut models: Vec<(String, f64, u64)> = Vec::new();
    for one in list_items(&told["lines"]) {
        let (name, cost) = (text_field(one, "model"), one["cost_usd"].as_f64().unwrap_or_default());
        match models.iter_mut().find(|(known, _, _)| *known == name) {
            Some((_, sum, replies)) => {
                *sum += cost;
                *replies += number_field(one, "replies");
            }
            None => models.push((name, cost, number_field(one, "replies"))),
        }
    }
    let mut lines: Vec<String> = models
        .iter()
        .take(VALUES_MAX)
        .map(|(name, cost, replies)| {
            format_bullet(name, "", &format!("${cost:.4}, {replies} replies"))
        })
        .collect();
    let total = &told["total"];
    if number_field(total, "replies") > 0 {
        let cost = total["cost_usd"].as_f64().unwrap_or_default();
        lines.push(format!("- together: ${cost:.4}, {}", describe_usage(total)));
        let unpriced = number_field(total, "unpriced");
        if unpriced > 0 {
            lines.push(format!("- the price of {unpriced} replies is not known"));
        }
    }
    lines
}

/// Caps, and what caches missed with the cause of each, as a usage report tells them.
pub(super) fn spending_details(told: &Value) -> Vec<String> {
    let details = &told["details"];
    let cap = |cap: &Value| {
        format_bullet(&text_field(cap, "key"), "", &escape_to_plain(&text_field(cap, "told")))
    };
    let mut lines: Vec<String> =
        list_items(&details["caps"]).iter().take(VALUES_MAX).map(cap).collect();
    lines.extend(list_items(&details["misses"]).iter().take(VALUES_MAX).map(|miss| {
        let cost = miss["cost_usd"].as_f64();
        let cost = cost.map_or_else(|| "cost unknown".to_owned(), |usd| format!("${usd:.4} more"));
        format!(
            "- missed by the cache: {} tokens of {}, {cost}: {}",
            number_field(miss, "tokens"),
            format_code(&text_field(miss, "model")),
            escape_to_plain(&text_field(miss, "why"))
        )
    }));
    lines
}

/// A right that was granted.
pub(super) fn describe_lease(lease: &Value) -> String {
    let rules = list_items(&lease["rules"]).iter().map(|rule| match rule.as_str() {
        Some(rule) => format_code(rule),
        None => format_code(&rule.to_string()),
    });
    let named = lease["grant"]["name"].as_str().map(format_code);
    let all: Vec<String> = named.into_iter().chain(rules).take(VALUES_MAX).collect();
    format!("- {} {}", number_field(lease, "lease"), all.join(", "))
}

/// A setting with its origin.
pub(super) fn describe_setting(setting: &Value) -> String {
    let value = match &setting["value"] {
        Value::Array(values) if values.is_empty() => "none".to_owned(),
        Value::Array(values) => {
            let named = values.iter().take(VALUES_MAX);
            let named =
                named.map(|value| format_code(value.as_str().unwrap_or(&value.to_string())));
            named.collect::<Vec<_>>().join(", ")
        }
        Value::String(text) => format_code(text),
        Value::Null => "none".to_owned(),
        other => format_code(&other.to_string()),
    };
    format_bullet(
        &text_field(setting, "key"),
        "",
        &format!("{value} ({})", escape_to_plain(&text_field(setting, "origin"))),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn f1_attach_words_of_a_server_stay_words() {
        for (given, expected) in [
            ("", ""),
            ("plain words", "plain words"),
            ("# no\nheading", "\\# no heading"),
            ("`x` *y* [z](w)", "\\`x\\` \\*y\\* \\[z\\](w)"),
        ] {
            assert_eq!(escape_to_plain(given), expected);
        }
        assert!(escape_to_plain(&"word ".repeat(1_000)).chars().count() <= PIECE_CHARS_MAX + 1);
        assert_eq!(format_code("a`b\nc"), "`a'b'c`");
        assert_eq!(format_bullet("a", "b*", "c"), "- `a` b\\* — c");
        assert_eq!(format_section("T", std::iter::empty(), "none"), "## T\n\nnone\n\n");
    }

    #[test]
    fn f1_attach_costs_are_summed_up_by_model() {
        let told = json!({
            "lines": [
                { "model": "a/b", "cost_usd": 0.5, "replies": 2 },
                { "model": "c/d", "cost_usd": 0.25, "replies": 1 },
                { "model": "a/b", "cost_usd": 0.5, "replies": 1 },
            ],
            "total": { "cost_usd": 1.25, "replies": 4, "input": 10, "output": 3, "unpriced": 1 },
        });
        assert_eq!(
            spending_lines(&told),
            [
                "- `a/b` — $1.0000, 3 replies",
                "- `c/d` — $0.2500, 1 replies",
                "- together: $1.2500, 10 read, 3 written",
                "- the price of 1 replies is not known",
            ]
        );
        assert_eq!(spending_lines(&json!("nonsense")), Vec::<String>::new());
        let rule =
            json!({ "key": "permissions.deny", "value": ["Read(**/.env)"], "origin": "yours" });
        assert_eq!(describe_setting(&rule), "- `permissions.deny` — `Read(**/.env)` (yours)");
    }
}
