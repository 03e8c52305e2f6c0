//! How a cell looks, and the fewest bytes from one look to another. Pure.

use ratatui::style::{Color, Modifier, Style};

use crate::text::theme::ColourDepth;

/// The look of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CellStyle {
    front: Color,
    back: Color,
    under: Color,
    marks: Modifier,
}

/// What the terminal draws with after `CSI m`.
pub(super) const PLAIN: CellStyle = CellStyle {
    front: Color::Reset,
    back: Color::Reset,
    under: Color::Reset,
    marks: Modifier::empty(),
};

/// Modifiers, the code that turns them on, and the one that turns them off.
const MARKS: [(Modifier, u8, u8); 9] = [
    (Modifier::BOLD, 1, 22),
    (Modifier::DIM, 2, 22),
    (Modifier::ITALIC, 3, 23),
    (Modifier::UNDERLINED, 4, 24),
    (Modifier::SLOW_BLINK, 5, 25),
    (Modifier::RAPID_BLINK, 6, 25),
    (Modifier::REVERSED, 7, 27),
    (Modifier::HIDDEN, 8, 28),
    (Modifier::CROSSED_OUT, 9, 29),
];

impl CellStyle {
    /// `style` in as many colours as there are.
    pub(super) fn new(style: Style, depth: ColourDepth) -> CellStyle {
        let colour = |given: Option<Color>| nearest_colour(given.unwrap_or(Color::Reset), depth);
        CellStyle {
            front: colour(style.fg),
            back: colour(style.bg),
            under: colour(style.underline_color),
            marks: style.add_modifier.difference(style.sub_modifier),
        }
    }

    /// A blank with this look is not told from an empty cell.
    pub(super) fn leaves_blanks_empty(&self) -> bool {
        let seen = Modifier::UNDERLINED.union(Modifier::REVERSED).union(Modifier::CROSSED_OUT);
        self.back == Color::Reset && !self.marks.intersects(seen)
    }

    /// Writes what turns `from` into this.
    pub(super) fn write_transition(&self, from: &CellStyle, out: &mut Vec<u8>) {
        if self == from {
            return;
        }
        if *self == PLAIN {
            out.extend_from_slice(b"\x1b[m");
            return;
        }
        let mut codes: Vec<String> = Vec::new();
        let gone = from.marks.difference(self.marks);
        let mut lit = from.marks;
        for (mark, _, off) in MARKS {
            if gone.intersects(mark) {
                let code = off.to_string();
                if !codes.contains(&code) {
                    codes.push(code);
                }
                // Bold and dim (and both blinks) are ended by one code, so the other has to be lit
                // again.
                for (other, _, other_off) in MARKS {
                    if other_off == off {
                        lit.remove(other);
                    }
                }
            }
        }
        for (mark, on, _) in MARKS {
            if self.marks.contains(mark) && !lit.contains(mark) {
                codes.push(on.to_string());
            }
        }
        for (now, before, kind) in [
            (self.front, from.front, ColourRole::Front),
            (self.back, from.back, ColourRole::Back),
            (self.under, from.under, ColourRole::Under),
        ] {
            if now != before {
                codes.push(colour_code(now, kind));
            }
        }
        out.extend_from_slice(b"\x1b[");
        out.extend_from_slice(codes.join(";").as_bytes());
        out.push(b'm');
    }
}

/// What a colour is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColourRole {
    Front,
    Back,
    Under,
}

fn colour_code(colour: Color, place: ColourRole) -> String {
    let base = match place {
        ColourRole::Front => 30_u16,
        ColourRole::Back => 40,
        ColourRole::Under => 50,
    };
    match (colour, ansi_index(colour)) {
        (Color::Reset, _) => (base + 9).to_string(),
        (Color::Rgb(red, green, blue), _) => format!("{};2;{red};{green};{blue}", base + 8),
        (Color::Indexed(index), _) => format!("{};5;{index}", base + 8),
        // Colours of underlines have no short codes.
        (_, Some(index)) if place == ColourRole::Under => format!("58;5;{index}"),
        (_, Some(index)) if index < 8 => (base + u16::from(index)).to_string(),
        (_, Some(index)) => (base + 60 + u16::from(index - 8)).to_string(),
        (_, None) => (base + 9).to_string(),
    }
}

/// The number of one of the sixteen.
fn ansi_index(colour: Color) -> Option<u8> {
    Some(match colour {
        Color::Black => 0,
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Magenta => 5,
        Color::Cyan => 6,
        Color::Gray => 7,
        Color::DarkGray => 8,
        Color::LightRed => 9,
        Color::LightGreen => 10,
        Color::LightYellow => 11,
        Color::LightBlue => 12,
        Color::LightMagenta => 13,
        Color::LightCyan => 14,
        Color::White => 15,
        Color::Reset | Color::Rgb(..) | Color::Indexed(_) => return None,
    })
}

/// `colour` where there are only so many. Themes choose well themselves; this is for what comes from
/// elsewhere (colours of code), so that no terminal gets a sequence that it does not know.
fn nearest_colour(colour: Color, depth: ColourDepth) -> Color {
    match (depth, colour) {
        (ColourDepth::None, _) => Color::Reset,
        (ColourDepth::Many, Color::Rgb(red, green, blue)) => {
            let step = |part: u8| (u16::from(part) * 5 + 127) / 255;
            let index = 16 + 36 * step(red) + 6 * step(green) + step(blue);
            Color::Indexed(u8::try_from(index).unwrap_or(15))
        }
        (ColourDepth::Ansi, Color::Rgb(red, green, blue)) => nearest_of_sixteen(red, green, blue),
        (ColourDepth::Ansi, Color::Indexed(index)) if index < 16 => SIXTEEN[usize::from(index)],
        (ColourDepth::Ansi, Color::Indexed(index)) if index < 232 => {
            let index = index - 16;
            let part = |digit: u8| digit * 51;
            nearest_of_sixteen(part(index / 36), part(index / 6 % 6), part(index % 6))
        }
        (ColourDepth::Ansi, Color::Indexed(index)) => {
            let grey = 8 + (index - 232) * 10;
            nearest_of_sixteen(grey, grey, grey)
        }
        (_, colour) => colour,
    }
}

const SIXTEEN: [Color; 16] = [
    Color::Black,
    Color::Red,
    Color::Green,
    Color::Yellow,
    Color::Blue,
    Color::Magenta,
    Color::Cyan,
    Color::Gray,
    Color::DarkGray,
    Color::LightRed,
    Color::LightGreen,
    Color::LightYellow,
    Color::LightBlue,
    Color::LightMagenta,
    Color::LightCyan,
    Color::White,
];

fn nearest_of_sixteen(red: u8, green: u8, blue: u8) -> Color {
    let most = red.max(green).max(blue);
    let least = red.min(green).min(blue);
    if most - least < 32 {
        return match most {
            0..=63 => Color::Black,
            64..=143 => Color::DarkGray,
            144..=215 => Color::Gray,
            _ => Color::White,
        };
    }
    let half = most / 2 + least / 2;
    let bit = |part: u8, value: usize| if part > half { value } else { 0 };
    let index = bit(red, 1) + bit(green, 2) + bit(blue, 4);
    SIXTEEN[index + if most > 191 { 8 } else { 0 }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_a_change_of_look_writes_only_what_changes() {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let dim = Style::new().add_modifier(Modifier::DIM);
        let red = Style::new().fg(Color::Red);
        let deep = Style::new().bg(Color::Rgb(1, 2, 3));
        let under = Style::new().underline_color(Color::Red);
        for (from, to, wanted) in [
            (Style::new(), Style::new(), ""),
            (Style::new(), bold, "\x1b[1m"),
            (bold, Style::new(), "\x1b[m"),
            (bold.patch(dim), bold, "\x1b[22;1m"),
            (bold, dim, "\x1b[22;2m"),
            (bold.patch(red), bold, "\x1b[39m"),
            (bold.patch(red), red, "\x1b[22m"),
            (red, deep, "\x1b[39;48;2;1;2;3m"),
            (Style::new(), Style::new().fg(Color::LightBlue), "\x1b[94m"),
            (Style::new(), Style::new().bg(Color::Indexed(200)), "\x1b[48;5;200m"),
            (Style::new(), under, "\x1b[58;5;1m"),
            (under.patch(bold), bold, "\x1b[59m"),
        ] {
            let mut out = Vec::new();
            CellStyle::new(to, ColourDepth::True)
                .write_transition(&CellStyle::new(from, ColourDepth::True), &mut out);
            assert_eq!(String::from_utf8_lossy(&out), wanted, "{from:?} to {to:?}");
        }
    }

    #[test]
    fn f1_colours_fit_the_depth() {
        for (colour, depth, wanted) in [
            (Color::Red, ColourDepth::None, Color::Reset),
            (Color::Rgb(255, 0, 0), ColourDepth::None, Color::Reset),
            (Color::Rgb(255, 0, 0), ColourDepth::True, Color::Rgb(255, 0, 0)),
            (Color::Rgb(255, 0, 0), ColourDepth::Many, Color::Indexed(196)),
            (Color::Rgb(255, 255, 255), ColourDepth::Many, Color::Indexed(231)),
            (Color::Rgb(255, 0, 0), ColourDepth::Ansi, Color::LightRed),
            (Color::Rgb(0, 128, 0), ColourDepth::Ansi, Color::Green),
            (Color::Rgb(0, 0, 0), ColourDepth::Ansi, Color::Black),
            (Color::Indexed(1), ColourDepth::Ansi, Color::Red),
            (Color::Indexed(196), ColourDepth::Ansi, Color::LightRed),
            (Color::Indexed(255), ColourDepth::Ansi, Color::White),
            (Color::Cyan, ColourDepth::Ansi, Color::Cyan),
        ] {
            assert_eq!(nearest_colour(colour, depth), wanted, "{colour:?} in {depth:?}");
        }
    }
}
