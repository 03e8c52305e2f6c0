//! What each key means in the box. Pure; not here: what is done then.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// A place to go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CursorTarget {
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
pub(super) enum KillRange {
    LineRest,
    LineStart,
    WordAfter,
    WordBefore,
    BlankWordBefore,
}

/// What a key means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EditAction {
    Type(char),
    Enter,
    NewLine,
    Tab,
    Escape,
    Go(CursorTarget),
    Up,
    Down,
    Backspace,
    Delete,
    /// Deletes if there is something, and is somebody else's if not.
    DeleteOrLeave,
    Kill(KillRange),
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
pub(super) fn action_for_key(key: KeyEvent) -> Option<EditAction> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    let held = key.modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SUPER);
    let shift = key.modifiers.contains(KeyModifiers::SHIFT);
    if held.is_empty() {
        return action_without_modifier(key.code, shift);
    }
    if held == KeyModifiers::CONTROL {
        return with_control(key.code);
    }
    (held == KeyModifiers::ALT).then(|| with_alt(key.code)).flatten()
}

fn action_without_modifier(code: KeyCode, shift: bool) -> Option<EditAction> {
    Some(match code {
        KeyCode::Char(c) if !c.is_control() => EditAction::Type(c),
        KeyCode::Enter if shift => EditAction::NewLine,
        KeyCode::Enter => EditAction::Enter,
        KeyCode::Tab if !shift => EditAction::Tab,
        KeyCode::Esc => EditAction::Escape,
        KeyCode::Backspace => EditAction::Backspace,
        KeyCode::Delete => EditAction::Delete,
        KeyCode::Left => EditAction::Go(CursorTarget::Previous),
        KeyCode::Right => EditAction::Go(CursorTarget::Next),
        KeyCode::Up => EditAction::Up,
        KeyCode::Down => EditAction::Down,
        KeyCode::Home => EditAction::Go(CursorTarget::LineStart),
        KeyCode::End => EditAction::Go(CursorTarget::LineEnd),
        _ => return None,
    })
}

fn with_control(code: KeyCode) -> Option<EditAction> {
    Some(match code {
        KeyCode::Char(c) => match c.to_ascii_lowercase() {
            'a' => EditAction::Go(CursorTarget::LineStart),
            'b' => EditAction::Go(CursorTarget::Previous),
            'c' => EditAction::Clear,
            'd' => EditAction::DeleteOrLeave,
            'e' => EditAction::Go(CursorTarget::LineEnd),
            'f' => EditAction::Go(CursorTarget::Next),
            'g' => EditAction::Editor,
            'h' => EditAction::Backspace,
            'j' => EditAction::NewLine,
            'k' => EditAction::Kill(KillRange::LineRest),
            'n' => EditAction::Down,
            'p' => EditAction::Up,
            'r' => EditAction::Search,
            's' => EditAction::SearchOn,
            'u' => EditAction::Kill(KillRange::LineStart),
            'v' => EditAction::Clipboard,
            'w' => EditAction::Kill(KillRange::BlankWordBefore),
            'x' => EditAction::Prefix,
            'y' => EditAction::Yank,
            // A terminal sends one byte for `_`, `/`, `-` and `7`, which is read as the last.
            '_' | '/' | '-' | '7' => EditAction::Undo,
            _ => return None,
        },
        KeyCode::Enter => EditAction::NewLine,
        KeyCode::Left => EditAction::Go(CursorTarget::PreviousWord),
        KeyCode::Right => EditAction::Go(CursorTarget::NextWord),
        KeyCode::Home => EditAction::Go(CursorTarget::Start),
        KeyCode::End => EditAction::Go(CursorTarget::End),
        KeyCode::Backspace => EditAction::Kill(KillRange::WordBefore),
        KeyCode::Delete => EditAction::Kill(KillRange::WordAfter),
        _ => return None,
    })
}

fn with_alt(code: KeyCode) -> Option<EditAction> {
    Some(match code {
        KeyCode::Char(c) => match c.to_ascii_lowercase() {
            'b' => EditAction::Go(CursorTarget::PreviousWord),
            'd' => EditAction::Kill(KillRange::WordAfter),
            'f' => EditAction::Go(CursorTarget::NextWord),
            'u' => EditAction::Unfold,
            'y' => EditAction::YankOther,
            '_' => EditAction::Redo,
            '<' => EditAction::Go(CursorTarget::Start),
            '>' => EditAction::Go(CursorTarget::End),
            _ => return None,
        },
        KeyCode::Enter => EditAction::NewLine,
        KeyCode::Left => EditAction::Go(CursorTarget::PreviousWord),
        KeyCode::Right => EditAction::Go(CursorTarget::NextWord),
        KeyCode::Backspace => EditAction::Kill(KillRange::WordBefore),
        KeyCode::Delete => EditAction::Kill(KillRange::WordAfter),
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
            assert_eq!(action_for_key(KeyEvent::new(code, modifiers)), None, "{code:?}");
        }
        let (code, kind) = (KeyCode::Char('a'), KeyEventKind::Release);
        assert_eq!(action_for_key(KeyEvent::new_with_kind(code, M::NONE, kind)), None);
    }
}
