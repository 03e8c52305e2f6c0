//! What can be pressed and typed, from the tables that decide it. Pure; nothing here knows a key.

use ratatui::text::{Line, Span};

use super::pager::TextPager;
use super::{Screen, ScreenContext, ScreenStep, ScreenView};
use crate::compose;
use crate::keys::BINDINGS;
use crate::link::UiUpdate;
use crate::terminal::TerminalSize;
use crate::text::clean::clean_text;
use crate::text::theme::Theme;
use crate::text::wrap::text_width;
use crossterm::event::KeyEvent;

/// Cells of the column with keys and names.
const NAME_CELLS: usize = 22;

/// Permission modes, in words.
const MODES: &[(&str, &str)] = &[
    ("plan", "it reads and plans; it changes nothing"),
    (
        "ask",
        "it reads files of the folder and runs confined commands that only read; everything else \
         is asked",
    ),
    (
        "auto-edit",
        "it also changes files of the folder, runs every confined command without network, and \
         follows links; everything else is asked",
    ),
    ("full", "nothing is asked but what is always asked or never allowed"),
];

/// The screen: a text made of the tables when it is opened.
pub(crate) struct HelpScreen {
    pager: TextPager,
    /// The style that its lines were made for.
    theme: Option<Theme>,
}

impl HelpScreen {
    /// At its beginning.
    pub(crate) fn new() -> HelpScreen {
        HelpScreen {
            pager: TextPager::with_styled_lines("Help", Vec::new(), NAME_CELLS + 2),
            theme: None,
        }
    }
}

fn help_lines(theme: &Theme, with: &ScreenContext<'_>) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let mut section = |name: &str, rows: Vec<(String, String)>| {
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        lines.push(Line::styled(name.to_owned(), theme.heading));
        lines.extend(rows.into_iter().map(|(name, about)| help_row(&name, &about, theme)));
    };
    let owned = |(name, about): &(&str, &str)| ((*name).to_owned(), (*about).to_owned());
    let keys = BINDINGS.iter().map(|binding| (binding.keys.to_owned(), binding.help.to_owned()));
    section("Keys", keys.collect());
    section("Keys of the box", compose::KEYS.iter().map(owned).collect());
    let named = with.named.iter().map(|named| {
        let gap = if named.hint.is_empty() { "" } else { " " };
        let kind =
            if named.kind == "command" { String::new() } else { format!(" ({})", named.kind) };
        (format!("/{}{gap}{}", named.name, named.hint), format!("{}{kind}", named.about))
    });
    section("Commands", named.collect());
    section("Permission modes", MODES.iter().map(owned).collect());
    lines
}

fn help_row(name: &str, about: &str, theme: &Theme) -> Line<'static> {
    let one = |text: &str| clean_text(text).split_whitespace().collect::<Vec<_>>().join(" ");
    let name = one(name);
    let gap = NAME_CELLS.saturating_sub(text_width(&name)).max(1);
    Line::from(vec![
        Span::raw("  "),
        Span::styled(name, theme.accent),
        Span::raw(" ".repeat(gap)),
        Span::styled(one(about), theme.text),
    ])
}

impl Screen for HelpScreen {
    fn handle_key(&mut self, key: KeyEvent, with: &ScreenContext<'_>) -> ScreenStep {
        self.pager.handle_key(key, with)
    }

    fn handle_paste(&mut self, text: &str, with: &ScreenContext<'_>) -> ScreenStep {
        self.pager.handle_paste(text, with)
    }

    fn handle_update(&mut self, _: &UiUpdate, _: &ScreenContext<'_>) -> ScreenStep {
        ScreenStep::Idle
    }

    fn render_view(
        &mut self,
        size: TerminalSize,
        theme: &Theme,
        with: &ScreenContext<'_>,
    ) -> ScreenView {
        if self.theme.as_ref() != Some(theme) {
            self.theme = Some(theme.clone());
            self.pager.set_styled(help_lines(theme, with));
        }
        self.pager.render_view(size, theme, with)
    }
}
