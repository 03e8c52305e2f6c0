//! The text of one page of a PDF: its letters in the order in which they are drawn, with spaces and ends of
//! lines where they stand apart. Not here: opening the file, the list of pages, pictures of them (`pdf`).

use hayro::hayro_interpret::font::{Glyph, GlyphRun, PositionedGlyph};
use hayro::hayro_interpret::hayro_cmap::{BfString, WritingMode};
use hayro::hayro_interpret::util::TransformExt as _;
use hayro::hayro_interpret::{
    BlendMode, ClipPath, Context, Device, DrawMode, DrawProps, Image, ImageDrawProps,
    InterpreterCache, InterpreterSettings, SoftMask, interpret_page,
};
use hayro::hayro_syntax::page::Page;
use hayro::kurbo::{Affine, BezPath, Point, Rect, Vec2};

/// Most bytes of one page: a small file can draw the same words again and again.
const PAGE_BYTES_MAX: usize = 4 << 20;
/// Fonts are drawn in so many units of their size.
const UNITS: f64 = 1000.0;

// Distances, in sizes of the font.

/// So far apart stand two words.
const WORD_GAP: f64 = 0.1;
/// So far apart may all letters of a word stand, for its looks; what stands wider is a table.
const LETTER_GAP_MAX: f64 = 0.25;
/// So far beside the line is another line.
const LINE_GAP: f64 = 0.5;
/// So far beside the line is a line after an empty one.
const PARAGRAPH_GAP: f64 = 1.5;
/// So far back on its line stands what was drawn in another order than it is read.
const BACK: f64 = -1.0;
/// So near to each other is the same word drawn twice, to look bold.
const TWICE: f64 = 0.1;

/// Letters from which it is told how far apart those of a word stand.
const SPACED_LETTERS_MIN: usize = 4;
/// The product of two directions that are the same one, roughly.
const SAME_DIRECTION: f64 = 0.9;

/// The text of `page`; `None`: what is drawn on it cannot be read.
pub(super) fn page_text<'a>(page: &Page<'a>, cache: &InterpreterCache<'a>) -> Option<String> {
    if page.raw().contains_key(b"Contents") && page.page_stream().is_none() {
        return None;
    }
    let (width, height) = page.render_dimensions();
    let area = Rect::new(0.0, 0.0, f64::from(width), f64::from(height));
    let upright = page.initial_transform(true).to_kurbo();
    let settings = InterpreterSettings::default();
    let mut context = Context::new(upright, area, cache, page.xref(), settings);
    let mut drawn = DrawnText::default();
    interpret_page(page, &mut context, &mut drawn);
    Some(drawn.text)
}

/// A letter, or a few that are drawn as one, where they stand on the page.
struct PlacedLetters {
    /// None where the file does not tell what is drawn.
    letters: Option<BfString>,
    begin: Point,
    end: Point,
    /// Where its line goes, of length one.
    direction: Vec2,
    /// Of the font, as it is drawn.
    size: f64,
}

impl PlacedLetters {
    fn new(glyph: &PositionedGlyph<'_>, page: Affine, mode: WritingMode) -> PlacedLetters {
        let [a, b, c, d, x, y] = (page * glyph.transform()).as_coeffs();
        let (right, up) = (Vec2::new(a, b), Vec2::new(c, d));
        let size = up.hypot() * UNITS;
        let advance = match &**glyph {
            Glyph::Outline(glyph) => glyph.advance_width(),
            Glyph::Type3(glyph) => glyph.advance_width(),
        };
        let (line, length) = match mode {
            // A font that stands in for one that is not in the file is drawn wider or narrower than
            // itself; the advance is that of the other.
            WritingMode::Horizontal => {
                (right, f64::from(advance.unwrap_or_default()) * right.hypot().min(up.hypot()))
            }
            WritingMode::Vertical => (Vec2::new(-c, -d), size),
        };
        let direction = line / line.hypot();
        let begin = Point::new(x, y);
        let end = begin + direction * length;
        PlacedLetters { letters: glyph.as_unicode(), begin, end, direction, size }
    }

    /// How far it stands after what ends at `end` and beside its line, in sizes of its font.
    fn distance_from(&self, end: Point) -> (f64, f64) {
        let way = self.begin - end;
        (way.dot(self.direction) / self.size, way.cross(self.direction).abs() / self.size)
    }

    fn begins_with_space(&self) -> bool {
        match &self.letters {
            None => false,
            Some(BfString::Char(letter)) => letter.is_whitespace(),
            Some(BfString::String(letters)) => letters.starts_with(char::is_whitespace),
        }
    }

    fn push_to(&self, text: &mut String) {
        match &self.letters {
            None => (),
            Some(BfString::Char(letter)) => text.push(*letter),
            Some(BfString::String(letters)) => text.push_str(letters),
        }
    }
}

/// How far apart the letters of a run stand beyond their own widths.
fn letter_gap(run: &[PlacedLetters]) -> f64 {
    let pairs = run.iter().zip(run.iter().skip(1));
    let gaps = pairs.map(|(before, next)| next.distance_from(before.end).0);
    let least = gaps.fold(f64::INFINITY, f64::min);
    let is_told = run.len() >= SPACED_LETTERS_MIN && (0.0..LETTER_GAP_MAX).contains(&least);
    if is_told { least } else { 0.0 }
}

/// Draws nothing, and keeps the text that is drawn; also what nobody sees, for that is how the text of a
/// scanned page lies over its picture.
#[derive(Default)]
struct DrawnText {
    text: String,
    /// Where the last letter ended, and in which direction its line went.
    last: Option<(Point, Vec2)>,
    /// Where the last run began, and what it was.
    last_run: Option<(Point, String)>,
}

impl DrawnText {
    fn add_run(&mut self, run: &[PlacedLetters]) {
        let Some(first) = run.first() else { return };
        if self.text.len() > PAGE_BYTES_MAX || self.is_drawn_again(first, run) {
            return;
        }
        let inside = letter_gap(run);
        // Before the first letter stands another run, which says nothing of such a distance.
        let mut apart = 0.0;
        for placed in run {
            self.push_gap_before(placed, apart);
            placed.push_to(&mut self.text);
            self.last = Some((placed.end, placed.direction));
            apart = inside;
        }
    }

    fn is_drawn_again(&mut self, first: &PlacedLetters, run: &[PlacedLetters]) -> bool {
        let mut letters = String::new();
        run.iter().for_each(|placed| placed.push_to(&mut letters));
        let again = self.last_run.as_ref().is_some_and(|(begin, before)| {
            *before == letters && (first.begin - *begin).hypot() < TWICE * first.size
        });
        self.last_run = Some((first.begin, letters));
        again
    }

    /// Puts before `next` what stands between it and the last letter.
    fn push_gap_before(&mut self, next: &PlacedLetters, apart: f64) {
        let Some((end, direction)) = self.last else { return };
        let (along, beside) = next.distance_from(end);
        let is_turned = direction.dot(next.direction) < SAME_DIRECTION;
        if beside > PARAGRAPH_GAP || is_turned {
            self.text.push('\n');
        }
        if along < 0.0 && beside > LINE_GAP {
            self.text.push('\n');
        }
        let is_word = along > WORD_GAP + apart || along < BACK;
        if is_word && !self.text.ends_with(char::is_whitespace) && !next.begins_with_space() {
            self.text.push(' ');
        }
    }
}

impl<'a> Device<'a> for DrawnText {
    fn draw_path(&mut self, _: &BezPath, _: DrawProps<'a>, _: &DrawMode) {}

    fn push_clip_path(&mut self, _: &ClipPath) {}

    fn push_transparency_group(&mut self, _: f32, _: Option<SoftMask<'a>>, _: BlendMode) {}

    fn draw_glyph_run(&mut self, run: &GlyphRun<'_, 'a>, props: DrawProps<'a>, _: &DrawMode) {
        let (page, mode) = (props.transform, run.writing_mode());
        let placed: Vec<PlacedLetters> =
            run.glyphs().iter().map(|glyph| PlacedLetters::new(glyph, page, mode)).collect();
        self.add_run(&placed);
    }

    fn draw_image(&mut self, _: Image<'a, '_>, _: ImageDrawProps<'a>) {}

    fn pop_clip(&mut self) {}

    fn pop_transparency_group(&mut self) {}
}
