//! Words of a server made harmless for people and models. Not here: their labels.

/// At most `max` characters, without those that cannot be seen: what hides from a person who
/// approves a text must not reach a model either.
pub(crate) fn visible_text(text: &str, max: usize) -> String {
    let hidden = |c: char| {
        matches!(c,
            '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{ad}' | '\u{180e}' | '\u{e0000}'..='\u{e007f}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
            || (c.is_control() && !matches!(c, '\n' | '\t'))
    };
    text.chars().filter(|c| !hidden(*c)).take(max).collect()
}
