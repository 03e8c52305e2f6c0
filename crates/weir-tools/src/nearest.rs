//! Where in a file the text stands that comes nearest to one that was not found, and what differs.
//!
//! Only for messages: nothing is ever replaced by likeness.

use std::fmt::Write as _;

/// Lines of the wanted text that are compared; lines of the file that are looked at.
const WANTED_LINES_MAX: usize = 40;
const FILE_LINES_MAX: usize = 50_000;
const SHOWN_CHARACTERS_MAX: usize = 200;
const SHOWN_LINES_MAX: usize = 15;
/// Below this likeness nothing is shown.
const LIKENESS_MIN: f32 = 0.35;

/// A place in a file, and what it holds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NearestPlace {
    /// Its first line, from 1.
    pub(crate) first: usize,
    pub(crate) lines: usize,
    /// The lines agree but for white space.
    pub(crate) only_space: bool,
}

/// A line reduced to what is compared.
struct ComparedLine<'a> {
    trimmed: &'a str,
    pairs: Vec<u16>,
}

impl<'a> ComparedLine<'a> {
    fn new(line: &'a str) -> ComparedLine<'a> {
        let trimmed = line.trim();
        let bytes = &trimmed.as_bytes()[..trimmed.len().min(SHOWN_CHARACTERS_MAX)];
        let mut pairs: Vec<u16> = bytes.windows(2).map(lowercase_pair).collect();
        pairs.sort_unstable();
        pairs.dedup();
        ComparedLine { trimmed, pairs }
    }

    /// 1 for equal lines, else the share of letter pairs that both have.
    fn similarity_to(&self, other: &ComparedLine<'_>) -> f32 {
        if self.trimmed == other.trimmed {
            return 1.0;
        }
        let all = self.pairs.len() + other.pairs.len();
        if all == 0 {
            return 0.0;
        }
        let (mut common, mut a, mut b) = (0_u16, 0, 0);
        while let (Some(x), Some(y)) = (self.pairs.get(a), other.pairs.get(b)) {
            common += u16::from(x == y);
            a += usize::from(x <= y);
            b += usize::from(y <= x);
        }
        2.0 * f32::from(common) / f32::from(u16::try_from(all).unwrap_or(u16::MAX))
    }
}

/// Two bytes as one number, whatever their case.
fn lowercase_pair(pair: &[u8]) -> u16 {
    u16::from_be_bytes([pair[0].to_ascii_lowercase(), pair[1].to_ascii_lowercase()])
}

/// The place in `file` most like `wanted`; `None` when nothing is like it.
pub(crate) fn find_nearest(file: &[&str], wanted: &[&str]) -> Option<NearestPlace> {
    let shapes: Vec<ComparedLine<'_>> =
        file.iter().take(FILE_LINES_MAX).map(|line| ComparedLine::new(line)).collect();
    let wished: Vec<ComparedLine<'_>> =
        wanted.iter().take(WANTED_LINES_MAX).map(|line| ComparedLine::new(line)).collect();
    let weight = |shape: &ComparedLine<'_>| if shape.trimmed.len() < 3 { 0.2 } else { 1.0_f32 };
    let total: f32 = wished.iter().map(weight).sum();
    let mut best = (LIKENESS_MIN, None);
    for start in 0..shapes.len() {
        let pairs = wished.iter().zip(&shapes[start..]);
        let sum: f32 = pairs.map(|(wish, line)| wish.similarity_to(line) * weight(wish)).sum();
        if sum / total > best.0 {
            best = (sum / total, Some(start));
        }
    }
    let start = best.1?;
    let lines = wanted.len().min(file.len() - start);
    let place = &file[start..start + lines];
    let only_space = lines == wanted.len()
        && place.iter().zip(wanted).all(|(a, b)| squeeze_whitespace(a) == squeeze_whitespace(b));
    Some(NearestPlace { first: start + 1, lines, only_space })
}

fn squeeze_whitespace(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Lines of a file with their numbers, as `read_file` shows them; long parts are cut.
pub(crate) fn numbered_lines(file: &[&str], first: usize, lines: usize) -> String {
    let mut text = String::new();
    let start = first.saturating_sub(1).min(file.len());
    let end = (start + lines).min(file.len());
    for (index, line) in file[start..end].iter().take(SHOWN_LINES_MAX).enumerate() {
        let shown = crate::text::clip_text(line.trim_end_matches('\r'), SHOWN_CHARACTERS_MAX);
        let _ = writeln!(text, "{}\t{shown}", start + 1 + index);
    }
    if end - start > SHOWN_LINES_MAX {
        let _ = writeln!(text, "… ({} more lines)", end - start - SHOWN_LINES_MAX);
    }
    text
}

/// What stands at the nearest place and how it differs from `wanted`.
pub(crate) fn explain_nearest(file: &[&str], wanted: &[&str]) -> String {
    let Some(place) = find_nearest(file, wanted) else {
        return "Nothing in the file is like it; read the file again.".into();
    };
    let mut text =
        format!("The nearest text is:\n{}", numbered_lines(file, place.first, place.lines));
    if place.only_space {
        text.push_str("It differs only in white space");
    } else {
        text.push_str("It differs");
    }
    let here = &file[place.first - 1..place.first - 1 + place.lines];
    let different: Vec<usize> = (0..wanted.len())
        .filter(|i| here.get(*i).is_none_or(|line| line.trim_end_matches('\r') != wanted[*i]))
        .collect();
    match different.first() {
        Some(i) => {
            let line = here.get(*i).map_or("(the file ends)".into(), |line| make_visible(line));
            let _ = write!(
                text,
                ", first at line {}:\nfile:  {line}\nyours: {}",
                place.first + i,
                make_visible(wanted[*i])
            );
        }
        None => text.push_str(" at the ends of its lines or after them."),
    }
    text
}

/// A line with its invisible characters made visible.
fn make_visible(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    let (space, rest) = line.split_at(indent);
    let space = space.replace('\t', "→").replace(' ', "·");
    let shown = rest.trim_end_matches('\r');
    let kept = shown.trim_end();
    let tail = shown[kept.len()..].replace('\t', "→").replace(' ', "·");
    crate::text::clip_text(&format!("{space}{kept}{tail}"), SHOWN_CHARACTERS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_place_is_found() {
        let file = ["fn a() {", "    one();", "}", "", "fn b() {", "    two();", "}"];
        let found = find_nearest(&file, &["fn b() {", "    tow();", "}"]).expect("something near");
        assert_eq!(found, NearestPlace { first: 5, lines: 3, only_space: false });
        let indented = find_nearest(&file, &["fn b() {", "\ttwo();", "}"]).expect("something near");
        assert!(indented.only_space);
        assert_eq!(find_nearest(&file, &["completely different words"]), None);
        assert_eq!(find_nearest(&[], &["x"]), None);
    }

    #[test]
    fn differences_are_made_visible() {
        let text = explain_nearest(&["  x = 1;"], &["\tx = 1;"]);
        assert!(text.contains("only in white space"), "{text}");
        assert!(text.contains("file:  ··x = 1;\nyours: →x = 1;"), "{text}");
    }
}
