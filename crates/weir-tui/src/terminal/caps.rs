//! What the terminal can do, from what the environment says. Nothing is asked of the terminal, for
//! an answer may never come. Pure.

use crate::text::theme::ColourDepth;

/// Which ends of the program are a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalEnds {
    /// What is typed comes from one.
    pub input: bool,
    /// What is written goes to one.
    pub output: bool,
}

/// How a terminal is told that something happened while nobody looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotifyMethod {
    /// `OSC 9`: iTerm2, WezTerm, Ghostty, Windows Terminal, kitty.
    Osc9,
    /// `OSC 777`: urxvt, foot, gnome-terminal of some distributions.
    Osc777,
    /// The bell.
    Bell,
}

/// What the terminal can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalCaps {
    /// It moves its cursor: without that only plain mode is possible.
    pub moves: bool,
    /// How many colours it has.
    pub depth: ColourDepth,
    /// Paints can be bracketed so that it shows only whole ones.
    pub sync: bool,
    /// It breaks rows anew when it becomes narrower.
    pub reflows: bool,
    /// Keys can be told apart that were one (`CSI > 1 u`).
    pub keys: bool,
    /// It brackets pastes and tells of its focus.
    pub reports: bool,
    /// It has a title.
    pub title: bool,
    /// It answers `CSI 5 n`, as far as is known.
    pub answers: bool,
    /// How it is told of news.
    pub notify: NotifyMethod,
}

impl TerminalCaps {
    /// A terminal without features, or none at all.
    pub const fn none() -> TerminalCaps {
        TerminalCaps {
            moves: false,
            depth: ColourDepth::None,
            sync: false,
            reflows: false,
            keys: false,
            reports: false,
            title: false,
            answers: false,
            notify: NotifyMethod::Bell,
        }
    }

    /// From the environment (`read` gives the value of a variable) and what is a terminal.
    pub fn detect(read: &dyn Fn(&str) -> Option<String>, terminals: TerminalEnds) -> TerminalCaps {
        let var = |name: &str| read(name).filter(|value| !value.is_empty());
        let term = var("TERM").unwrap_or_default();
        if !terminals.input || !terminals.output || term.is_empty() || term == "dumb" {
            return TerminalCaps { depth: forced_depth(read), ..TerminalCaps::none() };
        }
        let program = var("TERM_PROGRAM").unwrap_or_default();
        let old =
            ["linux", "vt", "ansi", "cons", "sun", "wy"].iter().any(|name| term.starts_with(name));
        let screen = var("STY").is_some() && var("TMUX").is_none();
        let xterm = var("XTERM_VERSION").is_some() && var("TMUX").is_none();
        TerminalCaps {
            moves: true,
            depth: ColourDepth::detect(read),
            sync: !old,
            reflows: !old && !screen && !xterm,
            // Apple's terminal shows what follows `CSI >` as text.
            keys: !old && !screen && program != "Apple_Terminal",
            reports: !old,
            title: !old,
            answers: true,
            notify: notify_method(&var, &term, &program),
        }
    }

    /// The whole interface can be shown; otherwise the program uses its plain mode.
    pub fn is_usable(&self) -> bool {
        self.moves
    }
}

fn notify_method(var: &dyn Fn(&str) -> Option<String>, term: &str, program: &str) -> NotifyMethod {
    // What runs inside another (tmux, screen) is understood by that one only: it knows the bell.
    if var("TMUX").is_some() || var("STY").is_some() {
        return NotifyMethod::Bell;
    }
    let nine = ["iTerm.app", "WezTerm", "ghostty"].contains(&program)
        || term == "xterm-kitty"
        || term == "xterm-ghostty"
        || var("WT_SESSION").is_some()
        || var("KITTY_WINDOW_ID").is_some();
    let triple = term.starts_with("foot") || term.starts_with("rxvt-unicode");
    match (nine, triple) {
        (true, _) => NotifyMethod::Osc9,
        (_, true) => NotifyMethod::Osc777,
        _ => NotifyMethod::Bell,
    }
}

/// Colours that are wanted although there is no terminal.
fn forced_depth(read: &dyn Fn(&str) -> Option<String>) -> ColourDepth {
    let set = |name: &str| read(name).is_some_and(|value| !value.is_empty() && value != "0");
    let none = read("NO_COLOR").is_some_and(|value| !value.is_empty());
    if !none && set("CLICOLOR_FORCE") { ColourDepth::Ansi } else { ColourDepth::None }
}

impl ColourDepth {
    /// From the environment: `read` gives the value of a variable. `NO_COLOR` wins over all.
    pub fn detect(read: &dyn Fn(&str) -> Option<String>) -> ColourDepth {
        let var = |name: &str| read(name).filter(|value| !value.is_empty());
        if var("NO_COLOR").is_some() {
            return ColourDepth::None;
        }
        let term = var("TERM").unwrap_or_default();
        let program = var("TERM_PROGRAM").unwrap_or_default();
        let colour = var("COLORTERM").unwrap_or_default();
        if term.is_empty() || term == "dumb" {
            return forced_depth(read);
        }
        let vivid = ["kitty", "ghostty", "alacritty", "foot", "wezterm", "direct", "truecolor"];
        if colour == "truecolor"
            || colour == "24bit"
            || vivid.iter().any(|name| term.contains(name))
            || ["iTerm.app", "WezTerm", "ghostty", "vscode"].contains(&program.as_str())
            || var("WT_SESSION").is_some()
        {
            return ColourDepth::True;
        }
        if term.contains("256") || program == "Apple_Terminal" || !colour.is_empty() {
            return ColourDepth::Many;
        }
        let mono = ["vt", "wy", "sun"].iter().any(|name| term.starts_with(name));
        if mono { forced_depth(read) } else { ColourDepth::Ansi }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(given: &'static [(&str, &str)]) -> impl Fn(&str) -> Option<String> {
        move |name| {
            given.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        }
    }

    #[test]
    fn f1_colours_are_taken_from_the_environment() {
        let cases: [(&'static [(&str, &str)], ColourDepth); 16] = [
            (&[], ColourDepth::None),
            (&[("TERM", "dumb")], ColourDepth::None),
            (&[("TERM", "dumb"), ("CLICOLOR_FORCE", "1")], ColourDepth::Ansi),
            (&[("TERM", "dumb"), ("CLICOLOR_FORCE", "0")], ColourDepth::None),
            (&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], ColourDepth::None),
            (&[("TERM", "xterm")], ColourDepth::Ansi),
            (&[("TERM", "linux")], ColourDepth::Ansi),
            (&[("TERM", "vt100")], ColourDepth::None),
            (&[("TERM", "xterm-256color")], ColourDepth::Many),
            (&[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")], ColourDepth::True),
            (&[("TERM", "xterm-256color"), ("COLORTERM", "24bit")], ColourDepth::True),
            (&[("TERM", "xterm-kitty")], ColourDepth::True),
            (&[("TERM", "xterm-kitty"), ("NO_COLOR", "1")], ColourDepth::None),
            (&[("TERM", "xterm-kitty"), ("NO_COLOR", "")], ColourDepth::True),
            (&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "iTerm.app")], ColourDepth::True),
            (&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "Apple_Terminal")], ColourDepth::Many),
        ];
        for (given, wanted) in cases {
            assert_eq!(ColourDepth::detect(&reader(given)), wanted, "{given:?}");
        }
    }

    #[test]
    fn f1_what_a_terminal_can_is_taken_from_the_environment() {
        let both = TerminalEnds { input: true, output: true };
        let of = |given| TerminalCaps::detect(&reader(given), both);
        let xterm = of(&[("TERM", "xterm-256color")]);
        assert!(xterm.is_usable() && xterm.sync && xterm.reflows && xterm.keys && xterm.title);
        let linux = of(&[("TERM", "linux")]);
        assert!(linux.is_usable() && !linux.sync && !linux.reflows && !linux.keys && !linux.title);
        assert!(!of(&[("TERM", "dumb")]).is_usable());
        assert!(!of(&[]).is_usable());
        assert!(!of(&[("TERM", "xterm"), ("XTERM_VERSION", "XTerm(390)")]).reflows);
        assert!(of(&[("TERM", "tmux"), ("TMUX", "x"), ("XTERM_VERSION", "X")]).reflows);
        assert!(!of(&[("TERM", "screen"), ("STY", "1.x")]).reflows);
        assert_eq!(of(&[("TERM", "xterm-kitty")]).notify, NotifyMethod::Osc9);
        assert_eq!(of(&[("TERM", "xterm-kitty"), ("TMUX", "x")]).notify, NotifyMethod::Bell);
        assert_eq!(of(&[("TERM", "foot")]).notify, NotifyMethod::Osc777);
        for (input, output) in [(false, true), (true, false), (false, false)] {
            let none = TerminalCaps::detect(
                &reader(&[("TERM", "xterm-kitty"), ("CLICOLOR_FORCE", "1")]),
                TerminalEnds { input, output },
            );
            assert_eq!(none, TerminalCaps { depth: ColourDepth::Ansi, ..TerminalCaps::none() });
        }
    }
}
