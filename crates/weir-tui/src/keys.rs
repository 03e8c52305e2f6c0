//! The keys of the chat, in one table: what they do and what the help says of them. Not here: what
//! the box does with keys ([`crate::compose`]), keys within a dialog or screen.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What a key does in the chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChatAction {
    /// Ends what runs; twice when nothing does: goes back to an earlier message.
    Interrupt,
    /// Ends what runs, else clears the box; twice when idle: leaves.
    Stop,
    /// Leaves.
    Leave,
    /// Gives the terminal back for a while.
    Suspend,
    /// The next permission mode.
    NextMode,
    /// The one before.
    PreviousMode,
    /// More thinking, or none again.
    Thinking,
    /// The whole conversation.
    Transcript,
    /// Paints everything anew.
    Repaint,
    /// What can be done.
    Help,
    /// The last queued message back into the box.
    TakeBack,
}

/// When a key is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyStage {
    /// Before the box sees it.
    First,
    /// When the box did not want it.
    Passed,
    /// When the box is empty, before it sees it.
    Empty,
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyBinding {
    /// The key, as people write it.
    pub(crate) keys: &'static str,
    code: KeyCode,
    modifiers: KeyModifiers,
    when: KeyStage,
    act: ChatAction,
    /// A sentence for the help.
    pub(crate) help: &'static str,
}

/// A key that is looked at before the box sees it.
const fn before_box(
    keys: &'static str,
    code: KeyCode,
    modifiers: KeyModifiers,
    act: ChatAction,
    help: &'static str,
) -> KeyBinding {
    KeyBinding { keys, code, modifiers, when: KeyStage::First, act, help }
}

/// A key that is looked at when the box did not want it.
const fn after_box(
    keys: &'static str,
    code: KeyCode,
    modifiers: KeyModifiers,
    act: ChatAction,
    help: &'static str,
) -> KeyBinding {
    KeyBinding { keys, code, modifiers, when: KeyStage::Passed, act, help }
}

/// A key that is looked at when the box is empty.
const fn on_empty_box(
    keys: &'static str,
    code: KeyCode,
    modifiers: KeyModifiers,
    act: ChatAction,
    help: &'static str,
) -> KeyBinding {
    KeyBinding { keys, code, modifiers, when: KeyStage::Empty, act, help }
}

const NONE: KeyModifiers = KeyModifiers::NONE;
const CONTROL: KeyModifiers = KeyModifiers::CONTROL;

/// Every key of the chat.
pub(crate) const BINDINGS: &[KeyBinding] = &[
    after_box(
        "Esc",
        KeyCode::Esc,
        NONE,
        ChatAction::Interrupt,
        "stops the run and gives back what was not said yet; twice when idle: an earlier message",
    ),
    before_box(
        "Ctrl-C",
        KeyCode::Char('c'),
        CONTROL,
        ChatAction::Stop,
        "stops the run, else clears the box; twice when idle: leaves",
    ),
    on_empty_box(
        "Ctrl-D",
        KeyCode::Char('d'),
        CONTROL,
        ChatAction::Leave,
        "leaves, on an empty box",
    ),
    after_box(
        "Tab",
        KeyCode::Tab,
        NONE,
        ChatAction::NextMode,
        "on an empty box: the next permission mode (plan, ask, auto-edit); or answers what waits",
    ),
    after_box(
        "Shift-Tab",
        KeyCode::BackTab,
        NONE,
        ChatAction::PreviousMode,
        "the permission mode before; one that asks less holds when Enter says so",
    ),
    before_box(
        "Ctrl-T",
        KeyCode::Char('t'),
        CONTROL,
        ChatAction::Thinking,
        "how much the model thinks: off, low, medium, high",
    ),
    before_box(
        "Ctrl-O",
        KeyCode::Char('o'),
        CONTROL,
        ChatAction::Transcript,
        "the whole conversation: calls, results, thoughts",
    ),
    before_box(
        "Ctrl-L",
        KeyCode::Char('l'),
        CONTROL,
        ChatAction::Repaint,
        "paints the screen anew",
    ),
    before_box(
        "Ctrl-Z",
        KeyCode::Char('z'),
        CONTROL,
        ChatAction::Suspend,
        "back to the shell; fg returns",
    ),
    on_empty_box(
        "Up",
        KeyCode::Up,
        NONE,
        ChatAction::TakeBack,
        "on an empty box: takes the last queued message back, else an earlier one",
    ),
    on_empty_box(
        "Backspace",
        KeyCode::Backspace,
        NONE,
        ChatAction::TakeBack,
        "on an empty box: takes the last queued message back",
    ),
    on_empty_box("?", KeyCode::Char('?'), NONE, ChatAction::Help, "this help, on an empty box"),
];

/// What this key does at this point.
pub(crate) fn action_for_key(key: KeyEvent, when: KeyStage) -> Option<ChatAction> {
    // Terminals report Shift with characters that need it.
    let modifiers = match key.code {
        KeyCode::Char(_) | KeyCode::BackTab => key.modifiers - KeyModifiers::SHIFT,
        _ => key.modifiers,
    };
    let found = BINDINGS.iter().find(|binding| {
        binding.when == when && binding.code == key.code && binding.modifiers == modifiers
    });
    found.map(|binding| binding.act)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_every_key_stands_once_and_has_help() {
        for (n, one) in BINDINGS.iter().enumerate() {
            assert!(!one.help.is_empty() && !one.keys.is_empty());
            let same =
                |other: &KeyBinding| other.code == one.code && other.modifiers == one.modifiers;
            assert!(!BINDINGS[n + 1..].iter().any(same), "{} stands twice", one.keys);
            assert_eq!(
                action_for_key(KeyEvent::new(one.code, one.modifiers), one.when),
                Some(one.act)
            );
        }
    }

    #[test]
    fn f1_shift_does_not_hide_a_character() {
        let question = KeyEvent::new(KeyCode::Char('?'), KeyModifiers::SHIFT);
        assert_eq!(action_for_key(question, KeyStage::Empty), Some(ChatAction::Help));
        assert_eq!(action_for_key(question, KeyStage::First), None);
        let back = KeyEvent::new(KeyCode::BackTab, KeyModifiers::SHIFT);
        assert_eq!(action_for_key(back, KeyStage::Passed), Some(ChatAction::PreviousMode));
    }
}
