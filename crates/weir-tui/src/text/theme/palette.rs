//! The colours of the themes, and which of them means what. Not here: names and depths (`theme`).

use ratatui::style::{Color, Modifier, Style};

use weir_highlight::CodeWord;

use super::{ColourDepth, Theme, degrade_colour};

/// A handful of colours.
#[derive(Clone, Copy)]
pub(super) struct ThemePalette {
    name: &'static str,
    depth: ColourDepth,
    quiet: Style,
    accent: Color,
    good: Color,
    bad: Color,
    warn: Color,
    purple: Color,
    cyan: Color,
    added: Color,
    removed: Color,
    /// Background of the chosen line; none: it is reversed.
    chosen: Option<Color>,
}

const fn rgb_colour(code: u32) -> Color {
    Color::from_u32(code)
}

const DARK: ThemePalette = ThemePalette {
    name: "dark",
    depth: ColourDepth::True,
    quiet: Style::new().fg(rgb_colour(0x008b_949e)),
    accent: rgb_colour(0x006c_b6ff),
    good: rgb_colour(0x0056_d364),
    bad: rgb_colour(0x00ff_7b72),
    warn: rgb_colour(0x00e3_b341),
    purple: rgb_colour(0x00d2_a8ff),
    cyan: rgb_colour(0x0076_e3ea),
    // The two also differ in brightness, for those who do not tell green from red.
    added: rgb_colour(0x007e_e7b0),
    removed: rgb_colour(0x00f0_886e),
    chosen: Some(rgb_colour(0x0026_3a5e)),
};

const LIGHT: ThemePalette = ThemePalette {
    name: "light",
    depth: ColourDepth::True,
    quiet: Style::new().fg(rgb_colour(0x0059_636e)),
    accent: rgb_colour(0x0009_50ae),
    good: rgb_colour(0x0011_6329),
    bad: rgb_colour(0x00a4_0e26),
    warn: rgb_colour(0x007d_4e00),
    purple: rgb_colour(0x0066_39ba),
    cyan: rgb_colour(0x0005_6470),
    added: rgb_colour(0x0004_5c3a),
    removed: rgb_colour(0x00b3_3a00),
    chosen: Some(rgb_colour(0x00cf_e2ff)),
};

const CONTRAST: ThemePalette = ThemePalette {
    name: "contrast",
    depth: ColourDepth::True,
    quiet: Style::new(),
    accent: rgb_colour(0x0000_d7ff),
    good: rgb_colour(0x005f_d7ff),
    bad: rgb_colour(0x00ff_af00),
    warn: rgb_colour(0x00ff_ff00),
    purple: rgb_colour(0x00ff_afff),
    cyan: rgb_colour(0x0000_ffff),
    added: rgb_colour(0x005f_d7ff),
    removed: rgb_colour(0x00ff_af00),
    chosen: None,
};

const ANSI: ThemePalette = ThemePalette {
    name: "ansi",
    depth: ColourDepth::Ansi,
    // Grey is invisible in some sets of colours; dim text is not.
    quiet: Style::new().add_modifier(Modifier::DIM),
    accent: Color::Cyan,
    good: Color::Green,
    bad: Color::Red,
    warn: Color::Yellow,
    purple: Color::Magenta,
    cyan: Color::Cyan,
    added: Color::Green,
    removed: Color::Red,
    chosen: None,
};

const ANSI_CONTRAST: ThemePalette = ThemePalette {
    name: "contrast",
    quiet: Style::new(),
    accent: Color::LightCyan,
    good: Color::LightBlue,
    bad: Color::LightYellow,
    warn: Color::LightYellow,
    purple: Color::LightMagenta,
    cyan: Color::LightCyan,
    added: Color::LightBlue,
    removed: Color::LightYellow,
    ..ANSI
};

impl ThemePalette {
    /// The colours of a theme in at most so many; none where there are none.
    pub(super) fn by_name(name: &str, depth: ColourDepth) -> Option<ThemePalette> {
        let palette = match (name, depth) {
            (_, ColourDepth::None) | ("plain", _) => return None,
            ("contrast", ColourDepth::Ansi) => ANSI_CONTRAST,
            (_, ColourDepth::Ansi) | ("ansi", _) => ANSI,
            ("light", _) => LIGHT,
            ("contrast", _) => CONTRAST,
            _ => DARK,
        };
        let quiet = match palette.quiet.fg {
            Some(color) => palette.quiet.fg(degrade_colour(color, depth)),
            None => palette.quiet,
        };
        let of = |color: Color| degrade_colour(color, depth);
        Some(ThemePalette {
            depth: depth.min(palette.depth),
            quiet,
            accent: of(palette.accent),
            good: of(palette.good),
            bad: of(palette.bad),
            warn: of(palette.warn),
            purple: of(palette.purple),
            cyan: of(palette.cyan),
            added: of(palette.added),
            removed: of(palette.removed),
            chosen: palette.chosen.map(of),
            ..palette
        })
    }

    /// The theme of these colours.
    pub(super) fn to_theme(self, name: &'static str, depth: ColourDepth) -> Theme {
        let of = |color: Color| Style::new().fg(color);
        let bold = |color: Color| of(color).add_modifier(Modifier::BOLD);
        Theme {
            name,
            depth: depth.min(self.depth),
            text: Style::new(),
            quiet: self.quiet,
            accent: of(self.accent),
            good: of(self.good),
            bad: bold(self.bad),
            warn: bold(self.warn),
            person: bold(self.accent),
            tool: bold(self.purple),
            heading: bold(self.accent),
            code: of(self.cyan),
            link: of(self.accent).add_modifier(Modifier::UNDERLINED),
            quote: self.quiet,
            added: of(self.added),
            removed: of(self.removed),
            chosen: match self.chosen {
                Some(color) => Style::new().bg(color).add_modifier(Modifier::BOLD),
                None => Style::new().add_modifier(Modifier::REVERSED),
            },
            syntax: Some(self.name),
        }
    }

    /// How a word of code looks.
    pub(super) fn word_style(&self, word: CodeWord) -> Style {
        match word {
            CodeWord::Keyword | CodeWord::Operator => Style::new().fg(self.purple),
            CodeWord::Text => Style::new().fg(self.good),
            CodeWord::Comment => self.quiet,
            CodeWord::Constant | CodeWord::Number | CodeWord::Escape => Style::new().fg(self.warn),
            CodeWord::Function | CodeWord::Attribute => Style::new().fg(self.accent),
            CodeWord::Type | CodeWord::Tag | CodeWord::Heading => Style::new().fg(self.cyan),
            CodeWord::Added => Style::new().fg(self.added),
            CodeWord::Removed => Style::new().fg(self.removed),
            CodeWord::Parameter | CodeWord::Invalid => Style::new(),
        }
    }
}
