//! The prompt: sections in one list, ordered by stability (P1, P2).
//!
//! Sections of stability *session* are the system prompt: assembled once, frozen, journaled.
//! Sections of stability *run* are notes: told with the person's message when they differ from
//! what the model was last told. So the time is always current and the prefix never moves.

use crate::event::Note;
use crate::profile::Profile;
use crate::tool::{Group, ToolSpec};

mod section;

/// How long a section stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stability {
    /// Frozen into the system prompt.
    Session,
    /// A note, when it changed.
    Run,
}

/// Everything that sections are made from. Gathered by the engine; plain data.
#[derive(Debug, Clone, Default)]
pub struct Scene {
    /// The profile.
    pub profile: Option<Profile>,
    /// Tools that the model is told of.
    pub tools: Vec<ToolSpec>,
    /// Identity, values and style of the person's own (`SOUL.md`).
    pub soul: Option<String>,
    /// Kind of workspace: `notes` or `code`.
    pub conventions: Option<String>,
    /// Hosts that need no asking.
    pub allowed_hosts: Vec<String>,
    /// The word that must never leave (gate `canary`), where that guard is on.
    pub canary: Option<String>,
    /// Texts of the `AGENTS.md` chain, from the outermost to the nearest: path and text.
    pub instructions: Vec<(String, String)>,
    /// Structure and state of the workspace.
    pub workspace: Option<String>,
    /// Date and time with zone, as a sentence.
    pub clock: Option<String>,
}

impl Scene {
    /// Whether a tool of this name is there.
    pub fn has_tool(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name == name)
    }
    /// Whether any tool of this group is there.
    pub fn has_group(&self, group: Group) -> bool {
        self.tools.iter().any(|tool| tool.group == group)
    }
}

/// One part of the prompt.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    /// Its word in journals and in `--dry-run`.
    pub name: &'static str,
    /// How long it stays.
    pub stability: Stability,
    /// Left out for sub-agents.
    pub skipped_for_children: bool,
    /// Its text; `None`: it vanishes, heading included.
    pub render: fn(&Scene) -> Option<String>,
}

/// The sections, most stable first. Plugin skills, active skills, memory, recipes and self-written
/// skills stand between `security` and `instructions` once they exist.
pub const SECTIONS: &[Section] = &[
    Section {
        name: "profile",
        stability: Stability::Session,
        skipped_for_children: false,
        render: section::profile,
    },
    Section {
        name: "capabilities",
        stability: Stability::Session,
        skipped_for_children: false,
        render: section::capabilities,
    },
    Section {
        name: "conventions",
        stability: Stability::Session,
        skipped_for_children: false,
        render: section::conventions,
    },
    Section {
        name: "tools",
        stability: Stability::Session,
        skipped_for_children: false,
        render: section::tools,
    },
    Section {
        name: "routing",
        stability: Stability::Session,
        skipped_for_children: false,
        render: section::routing,
    },
    Section {
        name: "objective",
        stability: Stability::Session,
        skipped_for_children: false,
        render: section::objective,
    },
    Section {
        name: "response",
        stability: Stability::Session,
        skipped_for_children: true,
        render: section::response,
    },
    Section {
        name: "security",
        stability: Stability::Session,
        skipped_for_children: false,
        render: section::security,
    },
    Section {
        name: "canary",
        stability: Stability::Session,
        skipped_for_children: false,
        render: section::canary,
    },
    Section {
        name: "instructions",
        stability: Stability::Run,
        skipped_for_children: false,
        render: section::instructions,
    },
    Section {
        name: "workspace",
        stability: Stability::Run,
        skipped_for_children: false,
        render: section::workspace,
    },
    Section {
        name: "clock",
        stability: Stability::Run,
        skipped_for_children: false,
        render: section::clock,
    },
];

/// A section with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// Its name.
    pub name: &'static str,
    /// How long it stays.
    pub stability: Stability,
    /// Its text, never empty.
    pub text: String,
}

/// All sections that have anything to say.
pub fn render(scene: &Scene) -> Vec<Rendered> {
    let text = |s: &Section| (s.render)(scene).filter(|text| !text.trim().is_empty());
    let rendered =
        |s: &Section| text(s).map(|text| Rendered { name: s.name, stability: s.stability, text });
    SECTIONS.iter().filter_map(rendered).collect()
}

/// The system prompt: the session-stable sections, an empty line between.
pub fn system(scene: &Scene) -> String {
    let texts: Vec<String> = render(scene)
        .into_iter()
        .filter(|section| section.stability == Stability::Session)
        .map(|section| section.text)
        .collect();
    texts.join("\n\n")
}

/// The section about the confidential word, for a system prompt that somebody else wrote.
pub fn confidential(scene: &Scene) -> Option<String> {
    section::canary(scene)
}

/// The notes: the run-stable sections.
pub fn notes(scene: &Scene) -> Vec<Note> {
    render(scene)
        .into_iter()
        .filter(|section| section.stability == Stability::Run)
        .map(|section| Note { section: section.name.into(), text: section.text })
        .collect()
}
