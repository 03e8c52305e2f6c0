//! How the face is to be. Not here: how it was left (`run`).

/// How the face is to be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FaceOptions {
    /// Name of the theme; `None`: what fits the terminal.
    pub theme: Option<String>,
    /// Whether anything may move.
    pub motion: Motion,
    /// Whether thoughts of the model are shown in the conversation.
    pub thoughts: ThoughtDisplay,
    /// Whether Tab also comes to the mode `full`.
    pub full: FullMode,
    /// What stands on the screen first.
    pub start: StartScreen,
    /// What is said as soon as a session is open.
    pub first: Option<String>,
}

/// Whether anything may move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Motion {
    /// A sign moves while something runs.
    #[default]
    Lively,
    /// Nothing moves: slow lines, screen readers.
    Still,
}

/// Whether thoughts of the model are shown in the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ThoughtDisplay {
    /// One line says how long it thought.
    #[default]
    Folded,
    /// All of it.
    Shown,
}

/// Whether the key that changes the permission mode also comes to `full`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FullMode {
    /// Only once the person has typed `/permissions full`.
    #[default]
    Named,
    /// Yes: the program was started in it.
    Cycled,
}

/// What stands on the screen first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StartScreen {
    /// The conversation.
    #[default]
    Chat,
    /// The list of sessions, to choose one.
    Sessions,
}
