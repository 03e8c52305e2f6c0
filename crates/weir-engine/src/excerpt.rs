//! The part of a long text around the words that were looked for. Pure. Not here: how texts are found.

use std::collections::BTreeSet;

/// Characters of a passage around what was found.
pub const AROUND_CHARS: usize = 600;
/// Characters of it before the first hit.
const BEFORE_CHARS: usize = 150;
/// Most places in one text that are looked at.
const PLACES_MAX: usize = 256;

/// About 600 characters of `text`, where most of `words` stand; its beginning when there are none.
/// All of it when they are not to be seen (an index knows more spellings than this does). `words` are
/// single words in lower case.
pub fn text_around(text: &str, words: &BTreeSet<String>) -> String {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= AROUND_CHARS {
        return text.trim().to_string();
    }
    let start = if words.is_empty() {
        0
    } else {
        match best_place(&chars, words) {
            Some(place) => place.saturating_sub(BEFORE_CHARS).min(chars.len() - AROUND_CHARS),
            None => return text.trim().to_string(),
        }
    };
    // Not in the middle of a word, where there is a gap near.
    let gap = |at: &usize| *at == 0 || chars[at - 1].is_whitespace();
    let start = (start..start + BEFORE_CHARS / 3).find(gap).unwrap_or(start);
    let full = (start + AROUND_CHARS).min(chars.len());
    let end = (full - BEFORE_CHARS / 3..=full)
        .rev()
        .find(|at| *at == chars.len() || chars[*at].is_whitespace())
        .unwrap_or(full);
    let part: String = chars[start..end].iter().collect();
    let (before, after) =
        (if start > 0 { "…" } else { "" }, if end < chars.len() { "…" } else { "" });
    format!("{before}{}{after}", part.trim())
}

/// Where the stretch begins that holds most of the different words.
fn best_place(chars: &[char], words: &BTreeSet<String>) -> Option<usize> {
    let lower: Vec<char> = chars.iter().map(|c| c.to_lowercase().next().unwrap_or(*c)).collect();
    let mut places: Vec<(usize, usize)> = Vec::new();
    for (which, word) in words.iter().enumerate() {
        let word: Vec<char> = word.chars().collect();
        let room = PLACES_MAX - places.len().min(PLACES_MAX);
        let here = lower.windows(word.len()).enumerate().filter(|(at, window)| {
            let free = |at: Option<usize>| {
                at.and_then(|at| lower.get(at)).is_none_or(|c| !c.is_alphanumeric())
            };
            *window == word && free(at.checked_sub(1)) && free(Some(at + word.len()))
        });
        places.extend(here.map(|(at, _)| (at, which)).take(room));
    }
    places.sort_unstable();
    let reach = AROUND_CHARS - BEFORE_CHARS;
    let held = |first: usize| {
        let near = places.iter().filter(|(at, _)| (first..first + reach).contains(at));
        near.map(|(_, which)| which).collect::<BTreeSet<_>>().len()
    };
    let most = places.iter().map(|(at, _)| (held(*at), std::cmp::Reverse(*at))).max();
    most.map(|(_, place)| place.0)
}
