//! How large text may be in its box, by estimated widths of letters: no font is at hand, and the one
//! that is used depends on the reader's machine. So the estimate is generous.

use unicode_width::UnicodeWidthChar;

/// A box in units of drawings (914,400 to the inch).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SlideBox {
    pub(super) x: u64,
    pub(super) y: u64,
    pub(super) width: u64,
    pub(super) height: u64,
}

/// Units of drawings in one point.
pub(super) const EMU_PER_POINT: u64 = 12_700;
/// What a box keeps free at its sides and above and below its text.
const SIDE_INSET: u64 = 91_440;
const TOP_INSET: u64 = 45_720;
/// Height of a line and room before a paragraph, as parts of the size of the text.
const LINE: f64 = 1.22;
const BEFORE: f64 = 0.35;
/// How much wider than estimated a text may turn out.
const WIDTH_MARGIN: f64 = 1.06;

/// A paragraph as it is measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct MeasuredText<'a> {
    pub(super) text: &'a str,
    /// How far it stands in, in parts of the size.
    pub(super) indent: f64,
    /// Its size as a part of that of the box.
    pub(super) scale: f64,
}

/// The largest whole size from `most` down to `least` points at which the texts fit; `None`: they do
/// not even at `least`.
pub(super) fn fitting_size(
    texts: &[MeasuredText<'_>],
    area: SlideBox,
    most: u32,
    least: u32,
) -> Option<u32> {
    (least..=most).rev().find(|size| fits_area(texts, area, *size))
}

/// Whether the texts fit at this size.
pub(super) fn fits_area(texts: &[MeasuredText<'_>], area: SlideBox, size: u32) -> bool {
    height_of(texts, area, size) <= convert_to_points(area.height.saturating_sub(2 * TOP_INSET))
}

/// How high the texts are, in points.
fn height_of(texts: &[MeasuredText<'_>], area: SlideBox, size: u32) -> f64 {
    let width = convert_to_points(area.width.saturating_sub(2 * SIDE_INSET));
    let heights = texts.iter().map(|text| {
        let size = f64::from(size) * text.scale;
        let room = (width - text.indent * size).max(size);
        let lines: usize = text.text.split('\n').map(|line| lines_of(line, room / size)).sum();
        #[expect(clippy::cast_precision_loss, reason = "a slide has few lines")]
        let lines = lines as f64;
        lines * size * LINE + size * BEFORE
    });
    heights.sum()
}

#[expect(clippy::cast_precision_loss, reason = "a slide is some ten million units wide")]
fn convert_to_points(units: u64) -> f64 {
    units as f64 / EMU_PER_POINT as f64
}

/// Lines that a text takes where a line holds `room` times the size of the text.
pub(super) fn lines_of(text: &str, room: f64) -> usize {
    let (mut lines, mut used) = (1, 0.0);
    for word in words_of(text) {
        let width = width_of(word.trim_end());
        if used > 0.0 && used + width > room {
            lines += 1;
            used = 0.0;
        }
        // A word that is wider than a line is broken.
        if width > room {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small")]
            let more = (width / room).ceil().min(10_000.0) as usize;
            lines += more.saturating_sub(1);
            used = width % room;
            continue;
        }
        used += width_of(word);
    }
    lines
}

/// Words with the blank that follows; between characters of Chinese and Japanese a line may break
/// anywhere.
fn words_of(text: &str) -> Vec<&str> {
    let (mut words, mut from) = (Vec::new(), 0);
    let mut before_wide = false;
    for (at, c) in text.char_indices() {
        let is_wide = is_ideograph(c);
        if at > from && (is_wide || before_wide || text[..at].ends_with(' ')) {
            words.push(&text[from..at]);
            from = at;
        }
        before_wide = is_wide;
    }
    words.push(&text[from..]);
    words
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{2E80}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}' | '\u{F900}'..='\u{FAFF}'
        | '\u{FF00}'..='\u{FF60}' | '\u{20000}'..='\u{3FFFF}')
}

/// Width of a text at size 1.
pub(super) fn width_of(text: &str) -> f64 {
    text.chars().map(letter_width).sum::<f64>() * WIDTH_MARGIN
}

fn letter_width(c: char) -> f64 {
    match c {
        ' ' | 'i' | 'j' | 'l' | 't' | 'f' | 'r' | 'I' | '.' | ',' | ':' | ';' | '\'' | '!'
        | '|' | '(' | ')' | '[' | ']' | '-' => 0.32,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.88,
        'A'..='Z' => 0.66,
        c if c.is_ascii() => 0.54,
        c if is_ideograph(c) => 1.0,
        c => match c.width() {
            Some(0) | None => 0.0,
            Some(1) => 0.58,
            // Pictures of a font of pictures.
            Some(_) => 1.3,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AREA: SlideBox = SlideBox { x: 0, y: 0, width: 9_144_000, height: 3_000_000 };

    fn plain(text: &str) -> MeasuredText<'_> {
        MeasuredText { text, indent: 0.0, scale: 1.0 }
    }

    #[test]
    fn k8_more_text_is_smaller_and_too_much_does_not_fit() {
        let long = "words of some length ".repeat(40);
        let huge = "words of some length ".repeat(400);
        assert_eq!(fitting_size(&[plain("short")], AREA, 28, 12), Some(28));
        let size = fitting_size(&[plain(&long)], AREA, 28, 12).expect("fits");
        assert!((12..28).contains(&size), "{size}");
        assert_eq!(fitting_size(&[plain(&huge)], AREA, 28, 12), None);
    }

    #[test]
    fn k8_scripts_have_widths_of_their_own() {
        assert!(width_of("漢字漢字") > width_of("abcd"));
        assert!(width_of("🎉🎉") > width_of("ab"));
        assert_eq!(lines_of("漢字漢字漢字", 3.3), 2);
        assert_eq!(lines_of(&"x".repeat(100), 10.0), 6);
        assert_eq!(lines_of("", 10.0), 1);
    }
}
