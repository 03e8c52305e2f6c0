//! Small words and measures for texts that models read: sizes, counts, cuts, lists.
//!
//! Nothing here knows a tool.

/// `1 line`, `3 lines`.
pub(crate) fn count_noun(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// `713 bytes`, `1.4 kB`, `12.0 MB`.
pub(crate) fn size_text(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
    for (unit, scale) in UNITS {
        if bytes >= scale {
            let tenths = bytes / (scale / 10);
            return format!("{}.{} {unit}", tenths / 10, tenths % 10);
        }
    }
    if bytes == 1 { "1 byte".into() } else { format!("{bytes} bytes") }
}

/// The first `max` characters of `text`.
pub(crate) fn first_chars(text: &str, max: usize) -> &str {
    text.char_indices().nth(max).map_or(text, |(at, _)| &text[..at])
}

/// The first `max` characters of `text`, with `…` where something was cut.
pub(crate) fn clip_text(text: &str, max: usize) -> String {
    let kept = first_chars(text, max);
    if kept.len() == text.len() { text.to_owned() } else { format!("{kept}…") }
}

/// One line of at most `max` characters, for summaries: line breaks become spaces.
pub(crate) fn one_line(text: &str, max: usize) -> String {
    clip_text(&text.split_whitespace().collect::<Vec<_>>().join(" "), max)
}

/// The first `max` of `items`, one per line with a dash, and how many there are beyond.
pub(crate) fn bullet_list(items: &[String], max: usize) -> String {
    let mut list: Vec<String> = items.iter().take(max).map(|item| format!("- {item}")).collect();
    if items.len() > max {
        list.push(format!("- … and {} more", items.len() - max));
    }
    list.join("\n")
}

/// `12.3 s`, `480 ms`, `3 min 4 s`.
pub(crate) fn duration_text(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        _ => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1_000),
    }
}

/// A part of a text by characters, and the sentence that says how to go on.
pub(crate) struct TextExcerpt<'a> {
    pub(crate) text: &'a str,
    /// `Characters 0-50000 of 61234; go on with offset: 50000`. `None`: it is all there is.
    pub(crate) more: Option<String>,
}

/// At most `limit` characters of `text` from character `offset` on.
pub(crate) fn text_excerpt(
    text: &str,
    offset: usize,
    limit: usize,
) -> Result<TextExcerpt<'_>, String> {
    let total = text.chars().count();
    if offset > 0 && offset >= total {
        return Err(format!("offset {offset} is past the end: the text has {total} characters"));
    }
    let rest = text.char_indices().nth(offset).map_or("", |(at, _)| &text[at..]);
    let part = first_chars(rest, limit);
    let end = offset + part.chars().count();
    let more = match (offset, end == total) {
        (0, true) => None,
        (_, true) => Some(format!("Characters {offset}-{end} of {total}: the end")),
        (_, false) => {
            Some(format!("Characters {offset}-{end} of {total}; go on with offset: {end}"))
        }
    };
    Ok(TextExcerpt { text: part, more })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_durations_are_short() {
        assert_eq!(
            [size_text(1), size_text(999), size_text(1_449), size_text(12_000_000)],
            ["1 byte", "999 bytes", "1.4 kB", "12.0 MB"]
        );
        assert_eq!(
            [duration_text(480), duration_text(12_345), duration_text(184_000)],
            ["480 ms", "12.3 s", "3 min 4 s"]
        );
    }

    #[test]
    fn cuts_fall_between_characters() {
        assert_eq!(clip_text("äöü", 2), "äö…");
        assert_eq!(clip_text("äöü", 3), "äöü");
        assert_eq!(one_line("a\n  b\tc", 10), "a b c");
    }

    #[test]
    fn excerpts_say_how_to_go_on() {
        let page = text_excerpt("äöüß", 1, 2).expect("inside");
        assert_eq!(page.text, "öü");
        assert_eq!(page.more.as_deref(), Some("Characters 1-3 of 4; go on with offset: 3"));
        assert!(text_excerpt("abc", 0, 9).expect("inside").more.is_none());
        assert!(text_excerpt("", 0, 9).expect("empty").text.is_empty());
        assert!(text_excerpt("abc", 3, 9).is_err());
    }
}
