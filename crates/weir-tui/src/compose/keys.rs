//! What each key means in the box. Pure; not here: what is done then.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// A place to go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum To {
    Previous,
    Next,
    PreviousWord,
    NextWord,
    LineStart,
    LineEnd,
    Start,
    End,
}

/// Something to cut out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kill {
    LineRest,
    LineStart,
    WordAfter,
    WordBefore,
    BlankWordBefore,
}

/// What a key means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    Type(char),
    Enter,
    NewLine,
    Tab,
    Escape,
    Go(To),
    Up,
    Down,
    Backspace,
    Delete,
    /// Deletes if there is something, and is somebody else's if not.
    DeleteOrLeave,
    Kill(Kill),
    Yank,
    YankOther,
    Undo,
    Redo,
    Search,
    SearchOn,
    Editor,
    Unfold,
    /// What the clipboard holds.
    Clipboard,
    Clear,
    /// The first of two keys.
    Prefix,
}

/// What a key means; `None`: nothing here.
pub(super) fn act(key: KeyEvent) -> Option<Act> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    let held = key.modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SUPER);
    let shift = key.modifiers.contains(KeyModifiers::SHIFT);
    if held.is_empty() {
        return bare(key.code, shift);
    }
    if held == KeyModifiers::CONTROL {
        return with_control(key.code);
    }
    (held == KeyModifiers::ALT).then(|| with_alt(key.code)).flatten()
}

fn bare(code: KeyCode, shift: bool) -> Option<Act> {
    Some(match code {
        KeyCode::Char(c) if !c.is_control() => Act::Type(c),
        KeyCode::Enter if shift => Act::NewLine,
        KeyCode::Enter => Act::Enter,
        KeyCode::Tab if !shift => Act::Tab,
        KeyCode::Esc => Act::Escape,
        KeyCode::Backspace => Act::Backspace,
        KeyCode::Delete => Act::Delete,
        KeyCode::Left => Act::Go(To::Previous),
        KeyCode::Right => Act::Go(To::Next),
        KeyCode::Up => Act::Up,
        KeyCode::Down => Act::Down,
        KeyCode::Home => Act::Go(To::LineStart),
        KeyCode::End => Act::Go(To::LineEnd),
        _ => return None,
    })
}

fn with_control(code: KeyCode) -> Option<Act> {
    Some(match code {
        KeyCode::Char(c) => match c.to_ascii_lowercase() {
            'a' => Act::Go(To::LineStart),
            'b' => Act::Go(To::Previous),
            'c' => Act::Clear,
            'd' => Act::DeleteOrLeave,
            'e' => Act::Go(To::LineEnd),
            'f' => Act::Go(To::Next),
            'g' => Act::Editor,
            'h' => Act::Backspace,
            'j' => Act::NewLine,
            'k' => Act::Kill(Kill::LineRest),
            'n' => Act::Down,
            'p' => Act::Up,
            'r' => Act::Search,
            's' => Act::SearchOn,
            'u' => Act::Kill(Kill::LineStart),
            'v' => Act::Clipboard,
            'w' => Act::Kill(Kill::BlankWordBefore),
            'x' => Act::Prefix,
            'y' => Act::Yank,
            // A terminal sends one byte for `_`, `/`, `-` and `7`, which is read as the last.
            '_' | '/' | '-' | '7' => Act::Undo,
            _ => return None,
        },
        KeyCode::Enter => Act::NewLine,
        KeyCode::Left => Act::Go(To::PreviousWord),
        KeyCode::Right => Act::Go(To::NextWord),
        KeyCode::Home => Act::Go(To::Start),
        KeyCode::End => Act::Go(To::End),
        KeyCode::Backspace => Act::Kill(Kill::WordBefore),
        KeyCode::Delete => Act::Kill(Kill::WordAfter),
        _ => return None,
    })
}

fn with_alt(code: KeyCode) -> Option<Act> {
    Some(match code {
        KeyCode::Char(c) => match c.to_ascii_lowercase() {
            'b' => Act::Go(To::PreviousWord),
            'd' => Act::Kill(Kill::WordAfter),
            'f' => Act::Go(To::NextWord),
            'u' => Act::Unfold,
            'y' => Act::YankOther,
            '_' => Act::Redo,
            '<' => Act::Go(To::Start),
            '>' => Act::Go(To::End),
            _ => return None,
        },
        KeyCode::Enter => Act::NewLine,
        KeyCode::Left => Act::Go(To::PreviousWord),
        KeyCode::Right => Act::Go(To::NextWord),
        KeyCode::Backspace => Act::Kill(Kill::WordBefore),
        KeyCode::Delete => Act::Kill(Kill::WordAfter),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_keys_of_others_mean_nothing_here() {
        use KeyModifiers as M;
        for (code, modifiers) in [
            (KeyCode::Char('t'), M::CONTROL),
            (KeyCode::Char('o'), M::CONTROL),
            (KeyCode::Char('l'), M::CONTROL),
            (KeyCode::Char('v'), M::ALT),
            (KeyCode::Char('z'), M::CONTROL),
            (KeyCode::Char('a'), M::SUPER),
            (KeyCode::Char('q'), M::CONTROL | M::ALT),
            (KeyCode::Char('\u{1b}'), M::NONE),
            (KeyCode::Tab, M::SHIFT),
            (KeyCode::BackTab, M::SHIFT),
            (KeyCode::PageUp, M::NONE),
            (KeyCode::F(1), M::NONE),
        ] {
            assert_eq!(act(KeyEvent::new(code, modifiers)), None, "{code:?}");
        }
        let (code, kind) = (KeyCode::Char('a'), KeyEventKind::Release);
        assert_eq!(act(KeyEvent::new_with_kind(code, M::NONE, kind)), None);
    }
}
