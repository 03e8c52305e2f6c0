//! Colours by what they mean. Nothing else names a colour.
//!
//! Not here: what the terminal can do (`terminal`); it says its [`ColourDepth`] and every theme keeps to it.

use ratatui::style::{Color, Modifier, Style};
use weir_highlight::CodeWord;

mod palette;

use palette::ThemePalette;

/// How many colours the terminal has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ColourDepth {
    /// None: only bold, dim, underlined, reversed (`NO_COLOR`, `TERM=dumb`).
    None,
    /// The sixteen that the person chose for their terminal.
    Ansi,
    /// 256.
    Many,
    /// 24 bits.
    True,
}

/// Styles by meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Theme {
    /// Its name.
    pub name: &'static str,
    /// How many colours it may use.
    pub depth: ColourDepth,
    /// What is read.
    pub text: Style,
    /// What is looked at seldom: hints, times, thinking.
    pub quiet: Style,
    /// What stands out: marks, the prompt sign, what is chosen.
    pub accent: Style,
    /// It went well.
    pub good: Style,
    /// It went wrong.
    pub bad: Style,
    /// Look at this: waits, unknown outcomes, asks.
    pub warn: Style,
    /// What the person said.
    pub person: Style,
    /// Names of tools.
    pub tool: Style,
    /// Headings.
    pub heading: Style,
    /// Code in a line.
    pub code: Style,
    /// Links.
    pub link: Style,
    /// Quotations.
    pub quote: Style,
    /// Lines that a diff adds.
    pub added: Style,
    /// Lines that a diff takes away.
    pub removed: Style,
    /// The chosen line of a list.
    pub chosen: Style,
    /// The colours of code blocks; none: code has one colour.
    pub syntax: Option<&'static str>,
}

impl Theme {
    /// The names that [`Theme::by_name`] knows, each with one sentence.
    pub const NAMES: &'static [(&'static str, &'static str)] = &[
        ("dark", "Soft colours for a dark background."),
        ("light", "Strong colours for a light background."),
        ("ansi", "The sixteen colours that your terminal is set to."),
        ("contrast", "Few and bright colours, no dim text; differences in blue and orange."),
        ("plain", "No colours: only bold, underlined and reversed."),
    ];

    /// A theme for terminals without colours.
    pub fn plain_theme() -> Theme {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let dim = Style::new().add_modifier(Modifier::DIM);
        Theme {
            name: "plain",
            depth: ColourDepth::None,
            text: Style::new(),
            quiet: dim,
            accent: bold,
            good: Style::new(),
            bad: bold,
            warn: bold,
            person: bold,
            tool: bold,
            heading: bold,
            code: Style::new(),
            link: Style::new().add_modifier(Modifier::UNDERLINED),
            quote: dim,
            added: Style::new(),
            removed: dim,
            chosen: Style::new().add_modifier(Modifier::REVERSED),
            syntax: None,
        }
    }

    /// The theme of this name in this many colours; `None`: there is none of this name.
    pub fn by_name(name: &str, depth: ColourDepth) -> Option<Theme> {
        let (name, _) = *Theme::NAMES.iter().find(|(known, _)| *known == name)?;
        let palette = ThemePalette::by_name(name, depth);
        let Some(palette) = palette else {
            // Contrast means no dim text even where there is no colour.
            let solid = |style: Style| if name == "contrast" { Style::new() } else { style };
            let plain = Theme::plain_theme();
            let (quiet, quote) = (solid(plain.quiet), solid(plain.quote));
            return Some(Theme { name, quiet, quote, removed: solid(plain.removed), ..plain });
        };
        Some(palette.to_theme(name, depth))
    }

    /// How a word of code looks.
    pub fn word_style(&self, word: CodeWord) -> Style {
        let palette = self.syntax.and_then(|name| ThemePalette::by_name(name, self.depth));
        palette.map_or(self.code, |palette| palette.word_style(word))
    }

    /// What changed within a line that a diff adds.
    pub fn added_word(&self) -> Style {
        self.added.add_modifier(Modifier::BOLD | Modifier::UNDERLINED)
    }

    /// What changed within a line that a diff takes away.
    pub fn removed_word(&self) -> Style {
        self.removed
            .remove_modifier(Modifier::DIM)
            .add_modifier(Modifier::BOLD | Modifier::UNDERLINED)
    }
}

/// A colour in as many as the terminal has.
fn degrade_colour(color: Color, depth: ColourDepth) -> Color {
    match (color, depth) {
        (_, ColourDepth::None) => Color::Reset,
        (Color::Rgb(red, green, blue), ColourDepth::Many) => {
            Color::Indexed(nearest_indexed(red, green, blue))
        }
        (same, _) => same,
    }
}

/// The nearest of the 240 colours of a 256-colour terminal that people do not change.
fn nearest_indexed(red: u8, green: u8, blue: u8) -> u8 {
    const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let far = |(r, g, b): (u8, u8, u8)| {
        let part = |one: u8, other: u8| u32::from(one.abs_diff(other)).pow(2);
        part(r, red) + part(g, green) + part(b, blue)
    };
    let step = |part: u8| (0_u8..6).min_by_key(|at| STEPS[usize::from(*at)].abs_diff(part));
    let [r, g, b] = [red, green, blue].map(|part| step(part).unwrap_or(0));
    let of = |at: u8| STEPS[usize::from(at)];
    let cube = (far((of(r), of(g), of(b))), 16 + 36 * r + 6 * g + b);
    let grey = |at: u8| 8 + 10 * at;
    let greys = (0_u8..24).map(|at| (far((grey(at), grey(at), grey(at))), 232 + at)).min();
    greys.map_or(cube, |grey| grey.min(cube)).1
}

#[cfg(test)]
mod tests {
    use ratatui::style::{Color, Style};

    use weir_highlight::CodeWord;

    use super::{ColourDepth, Theme, nearest_indexed};

    fn styles(theme: &Theme) -> Vec<Style> {
        let t = theme;
        let mut all = vec![t.text, t.quiet, t.accent, t.good, t.bad, t.warn, t.person, t.tool];
        all.extend([t.heading, t.code, t.link, t.quote, t.added, t.removed, t.chosen]);
        all.extend(CodeWord::ALL.map(|word| t.word_style(word)));
        all.extend([t.added_word(), t.removed_word()]);
        all
    }

    #[test]
    fn f1_themes_keep_to_the_colours_of_the_terminal() {
        for (name, says) in Theme::NAMES {
            assert!(says.ends_with('.'));
            for depth in
                [ColourDepth::None, ColourDepth::Ansi, ColourDepth::Many, ColourDepth::True]
            {
                let theme = Theme::by_name(name, depth).expect("a name of the list");
                assert_eq!(theme.name, *name);
                assert!(theme.depth <= depth);
                for color in styles(&theme).iter().flat_map(|style| [style.fg, style.bg]).flatten()
                {
                    let fits = match (depth, color) {
                        (_, Color::Reset) => true,
                        (ColourDepth::None, _) => false,
                        (ColourDepth::Ansi, color) => {
                            !matches!(color, Color::Rgb(..) | Color::Indexed(_))
                        }
                        (ColourDepth::Many, color) => !matches!(color, Color::Rgb(..)),
                        (ColourDepth::True, _) => true,
                    };
                    assert!(fits, "{name} {depth:?} {color:?}");
                }
            }
        }
        assert_eq!(Theme::by_name("nothing", ColourDepth::True), None);
        assert_eq!(Theme::by_name("plain", ColourDepth::True), Some(Theme::plain_theme()));
    }

    #[test]
    fn f1_changes_look_different_in_every_theme() {
        for (name, _) in Theme::NAMES {
            for depth in
                [ColourDepth::None, ColourDepth::Ansi, ColourDepth::Many, ColourDepth::True]
            {
                let theme = Theme::by_name(name, depth).expect("a name of the list");
                assert_ne!(theme.added_word(), theme.added, "{name} {depth:?}");
                assert_ne!(theme.removed_word(), theme.removed, "{name} {depth:?}");
                if depth > ColourDepth::None && *name != "plain" {
                    assert_ne!(theme.added, theme.removed, "{name} {depth:?}");
                    assert_ne!(theme.good, theme.bad, "{name} {depth:?}");
                }
            }
        }
    }

    #[test]
    fn f1_the_nearest_of_256_colours() {
        for ((red, green, blue), expected) in [
            ((0, 0, 0), 16),
            ((255, 255, 255), 231),
            ((255, 0, 0), 196),
            ((128, 128, 128), 244),
            ((95, 135, 175), 67),
        ] {
            assert_eq!(nearest_indexed(red, green, blue), expected);
        }
    }
}
