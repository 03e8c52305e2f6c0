//! What the terminal can do, from what the environment says. Nothing is asked of the terminal, for
//! an answer may never come. Pure.

use crate::text::theme::Depth;

/// Which ends of the program are a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminals {
    /// What is typed comes from one.
    pub input: bool,
    /// What is written goes to one.
    pub output: bool,
}

/// How a terminal is told that something happened while nobody looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notify {
    /// `OSC 9`: iTerm2, WezTerm, Ghostty, Windows Terminal, kitty.
    Osc9,
    /// `OSC 777`: urxvt, foot, gnome-terminal of some distributions.
    Osc777,
    /// The bell.
    Bell,
}

/// What the terminal can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// It moves its cursor: without that only plain mode is possible.
    pub moves: bool,
    /// How many colours it has.
    pub depth: Depth,
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
    pub notify: Notify,
}

impl Caps {
    /// A terminal without features, or none at all.
    pub const fn none() -> Caps {
        Caps {
            moves: false,
            depth: Depth::None,
            sync: false,
            reflows: false,
            keys: false,
            reports: false,
            title: false,
            answers: false,
            notify: Notify::Bell,
        }
    }

    /// From the environment (`read` gives the value of a variable) and what is a terminal.
    pub fn detect(read: &dyn Fn(&str) -> Option<String>, terminals: Terminals) -> Caps {
        let var = |name: &str| read(name).filter(|value| !value.is_empty());
        let term = var("TERM").unwrap_or_default();
        if !terminals.input || !terminals.output || term.is_empty() || term == "dumb" {
            return Caps { depth: forced(read), ..Caps::none() };
        }
        let program = var("TERM_PROGRAM").unwrap_or_default();
        let old =
            ["linux", "vt", "ansi", "cons", "sun", "wy"].iter().any(|name| term.starts_with(name));
        let screen = var("STY").is_some() && var("TMUX").is_none();
        let xterm = var("XTERM_VERSION").is_some() && var("TMUX").is_none();
        Caps {
            moves: true,
            depth: Depth::detect(read),
            sync: !old,
            reflows: !old && !screen && !xterm,
            // Apple's terminal shows what follows `CSI >` as text.
            keys: !old && !screen && program != "Apple_Terminal",
            reports: !old,
            title: !old,
            answers: true,
            notify: notify(&var, &term, &program),
        }
    }

    /// The whole interface can be shown; otherwise the program uses its plain mode.
    pub fn usable(&self) -> bool {
        self.moves
    }
}

fn notify(var: &dyn Fn(&str) -> Option<String>, term: &str, program: &str) -> Notify {
    // What runs inside another (tmux, screen) is understood by that one only: it knows the bell.
    if var("TMUX").is_some() || var("STY").is_some() {
        return Notify::Bell;
    }
    let nine = ["iTerm.app", "WezTerm", "ghostty"].contains(&program)
        || term == "xterm-kitty"
        || term == "xterm-ghostty"
        || var("WT_SESSION").is_some()
        || var("KITTY_WINDOW_ID").is_some();
    let triple = term.starts_with("foot") || term.starts_with("rxvt-unicode");
    match (nine, triple) {
        (true, _) => Notify::Osc9,
        (_, true) => Notify::Osc777,
        _ => Notify::Bell,
    }
}

/// Colours that are wanted although there is no terminal.
fn forced(read: &dyn Fn(&str) -> Option<String>) -> Depth {
    let set = |name: &str| read(name).is_some_and(|value| !value.is_empty() && value != "0");
    let none = read("NO_COLOR").is_some_and(|value| !value.is_empty());
    if !none && set("CLICOLOR_FORCE") { Depth::Ansi } else { Depth::None }
}

impl Depth {
    /// From the environment: `read` gives the value of a variable. `NO_COLOR` wins over all.
    pub fn detect(read: &dyn Fn(&str) -> Option<String>) -> Depth {
        let var = |name: &str| read(name).filter(|value| !value.is_empty());
        if var("NO_COLOR").is_some() {
            return Depth::None;
        }
        let term = var("TERM").unwrap_or_default();
        let program = var("TERM_PROGRAM").unwrap_or_default();
        let colour = var("COLORTERM").unwrap_or_default();
        if term.is_empty() || term == "dumb" {
            return forced(read);
        }
        let vivid = ["kitty", "ghostty", "alacritty", "foot", "wezterm", "direct", "truecolor"];
        if colour == "truecolor"
            || colour == "24bit"
            || vivid.iter().any(|name| term.contains(name))
            || ["iTerm.app", "WezTerm", "ghostty", "vscode"].contains(&program.as_str())
            || var("WT_SESSION").is_some()
        {
            return Depth::True;
        }
        if term.contains("256") || program == "Apple_Terminal" || !colour.is_empty() {
            return Depth::Many;
        }
        let mono = ["vt", "wy", "sun"].iter().any(|name| term.starts_with(name));
        if mono { forced(read) } else { Depth::Ansi }
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
        let cases: [(&'static [(&str, &str)], Depth); 16] = [
            (&[], Depth::None),
            (&[("TERM", "dumb")], Depth::None),
            (&[("TERM", "dumb"), ("CLICOLOR_FORCE", "1")], Depth::Ansi),
            (&[("TERM", "dumb"), ("CLICOLOR_FORCE", "0")], Depth::None),
            (&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], Depth::None),
            (&[("TERM", "xterm")], Depth::Ansi),
            (&[("TERM", "linux")], Depth::Ansi),
            (&[("TERM", "vt100")], Depth::None),
            (&[("TERM", "xterm-256color")], Depth::Many),
            (&[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")], Depth::True),
            (&[("TERM", "xterm-256color"), ("COLORTERM", "24bit")], Depth::True),
            (&[("TERM", "xterm-kitty")], Depth::True),
            (&[("TERM", "xterm-kitty"), ("NO_COLOR", "1")], Depth::None),
            (&[("TERM", "xterm-kitty"), ("NO_COLOR", "")], Depth::True),
            (&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "iTerm.app")], Depth::True),
            (&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "Apple_Terminal")], Depth::Many),
        ];
        for (given, wanted) in cases {
            assert_eq!(Depth::detect(&reader(given)), wanted, "{given:?}");
        }
    }

    #[test]
    fn f1_what_a_terminal_can_is_taken_from_the_environment() {
        let both = Terminals { input: true, output: true };
        let of = |given| Caps::detect(&reader(given), both);
        let xterm = of(&[("TERM", "xterm-256color")]);
        assert!(xterm.usable() && xterm.sync && xterm.reflows && xterm.keys && xterm.title);
        let linux = of(&[("TERM", "linux")]);
        assert!(linux.usable() && !linux.sync && !linux.reflows && !linux.keys && !linux.title);
        assert!(!of(&[("TERM", "dumb")]).usable());
        assert!(!of(&[]).usable());
        assert!(!of(&[("TERM", "xterm"), ("XTERM_VERSION", "XTerm(390)")]).reflows);
        assert!(of(&[("TERM", "tmux"), ("TMUX", "x"), ("XTERM_VERSION", "X")]).reflows);
        assert!(!of(&[("TERM", "screen"), ("STY", "1.x")]).reflows);
        assert_eq!(of(&[("TERM", "xterm-kitty")]).notify, Notify::Osc9);
        assert_eq!(of(&[("TERM", "xterm-kitty"), ("TMUX", "x")]).notify, Notify::Bell);
        assert_eq!(of(&[("TERM", "foot")]).notify, Notify::Osc777);
        for (input, output) in [(false, true), (true, false), (false, false)] {
            let none = Caps::detect(
                &reader(&[("TERM", "xterm-kitty"), ("CLICOLOR_FORCE", "1")]),
                Terminals { input, output },
            );
            assert_eq!(none, Caps { depth: Depth::Ansi, ..Caps::none() });
        }
    }
}
