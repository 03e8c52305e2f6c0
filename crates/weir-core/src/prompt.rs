//! The prompt: sections in one list, ordered by stability (P1, P2).
//!
//! Sections of stability *session* are the system prompt: assembled once, frozen, journaled.
//! Sections of stability *run* are notes: told with the person's message when they differ from
//! what the model was last told. So the time is always current and the prefix never moves.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::memory::MemoryFact;
use crate::message::PromptNote;
use crate::profile::Profile;
use crate::recipe::RecipeMatch;
use crate::skill::{SkillLine, SkillNote};
use crate::tool::{ToolGroup, ToolSpec, foreign};

mod budget;
mod section;
mod section_name;
#[cfg(test)]
mod tests;

pub use budget::{BYTES_PER_TOKEN, cut_text, fit_sections};
pub use section_name::SectionName;

/// Name of the section of instructions, rules and instruction files.
pub const INSTRUCTIONS: &str = SectionName::Instructions.as_str();

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
pub struct PromptScene {
    /// The profile that the prompt is made for.
    pub profile: Option<Profile>,
    /// It is a sub-agent: sections that only concern the agent itself are left out.
    pub child: bool,
    /// Tokens of the model's window; 0: nobody knows, and nothing is cut (P4).
    pub window: u64,
    /// Tools that the model is told of.
    pub tools: Arc<Vec<ToolSpec>>,
    /// Identity, values and style of the person's own (`SOUL.md`).
    pub soul: Option<String>,
    /// Kind of workspace: `notes` or `code`.
    pub conventions: Option<String>,
    /// Hosts that need no asking.
    pub allowed_hosts: Vec<String>,
    /// The word that must never leave (gate `canary`), where that guard is on.
    pub canary: Option<String>,
    /// Tools that are named only, until `find_tool` loads them (T4).
    pub deferred: Arc<Vec<ToolSpec>>,
    /// Profiles that the agent may propose to go on with: name and description.
    pub profiles: Vec<(String, String)>,
    /// Skills that can be read, by name: one line each.
    pub skills: Vec<SkillLine>,
    /// Skills that are active, in the order in which they became so.
    pub active: Vec<SkillNote>,
    /// The person's description of themselves, in their own words (`USER.md`).
    pub user: Option<String>,
    /// What is remembered and fits what was said, best first.
    pub memory: Vec<MemoryFact>,
    /// The person lets the agent keep things in their brain without asking (K12).
    pub keeps_in_brain: bool,
    /// The model was told so, and it may no longer hold.
    pub brain_told: bool,
    /// Recipes that fit what was said, best first (M5).
    pub recipes: Vec<RecipeMatch>,
    /// The one of them that is followed by itself: it is not told beside (L16).
    pub follows: Option<String>,
    /// The person's custom instructions, whatever the profile.
    pub custom: Option<String>,
    /// Rules: where each stands, and its text.
    pub rules: Vec<(String, String)>,
    /// Texts of the `AGENTS.md` chain, from the outermost to the nearest: path and text.
    pub instructions: Vec<(String, String)>,
    /// There are no instructions any more, and the model was told of some.
    pub instructions_gone: bool,
    /// Instruction files of folders below, of which the model was told: path and text as it is now.
    pub deeper: Vec<(String, String)>,
    /// Structure and state of the workspace.
    pub workspace: Option<String>,
    /// Date and time with zone, as a sentence.
    pub clock: Option<String>,
}

impl PromptScene {
    /// Whether the prompt is to be as short as can be (R6).
    pub fn is_compact(&self) -> bool {
        self.profile.as_ref().is_some_and(|profile| profile.compact)
    }
    /// Whether a tool of this name is there.
    pub fn has_tool(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name == name)
    }
    /// Whether a tool of this name is there, or can be found.
    pub fn offers_tool(&self, name: &str) -> bool {
        self.has_tool(name) || self.deferred.iter().any(|tool| tool.name == name)
    }
    /// Whether any tool of this group is there.
    pub fn has_group(&self, group: ToolGroup) -> bool {
        self.tools.iter().any(|tool| tool.group == group)
    }
    /// Whether a connected server has a tool, loaded or not.
    pub fn offers_foreign(&self) -> bool {
        let mut all = self.tools.iter().chain(self.deferred.iter());
        all.any(|tool| tool.name.starts_with(foreign::PREFIX))
    }
}

/// One part of the prompt.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    /// Name of the section.
    pub name: SectionName,
    /// How long it stays.
    pub stability: Stability,
    /// Left out for sub-agents.
    pub skipped_for_children: bool,
    /// Its text; `None`: it vanishes, heading included.
    pub render: fn(&PromptScene) -> Option<String>,
}

/// The sixteen sections of P1, most stable first; the guard `canary`, the catalogue of `skills` and the
/// permission for the `brain` have lines of their own.
pub const SECTIONS: &[Section] = &[
    Section {
        name: SectionName::Profile,
        stability: Stability::Session,
        skipped_for_children: false,
        render: section::profile_section,
    },
    Section {
        name: SectionName::Capabilities,
        stability: Stability::Session,
        skipped_for_children: false,
        render: section::capabilities_section,
    },
    Section {
        name: SectionName::Conventions,
        stability: Stability::Session,
        skipped_for_children: false,
        render: section::conventions_section,
    },
    Section {
        name: SectionName::Tools,
        stability: Stability::Session,
        skipped_for_children: false,
        render: section::tools_section,
    },
    Section {
        name: SectionName::Routing,
        stability: Stability::Session,
        skipped_for_children: false,
        render: section::routing_section,
    },
    Section {
        name: SectionName::Objective,
        stability: Stability::Session,
        skipped_for_children: false,
        render: section::objective_section,
    },
    Section {
        name: SectionName::Response,
        stability: Stability::Session,
        skipped_for_children: true,
        render: section::response_section,
    },
    Section {
        name: SectionName::Security,
        stability: Stability::Session,
        skipped_for_children: false,
        render: section::security_section,
    },
    Section {
        name: SectionName::Canary,
        stability: Stability::Session,
        skipped_for_children: false,
        render: section::canary_section,
    },
    Section {
        name: SectionName::PluginSkills,
        stability: Stability::Run,
        skipped_for_children: false,
        render: section::plugin_skills,
    },
    Section {
        name: SectionName::Skills,
        stability: Stability::Run,
        skipped_for_children: true,
        render: section::skills,
    },
    Section {
        name: SectionName::ActiveSkills,
        stability: Stability::Run,
        skipped_for_children: true,
        render: section::active_skills,
    },
    Section {
        name: SectionName::Memory,
        stability: Stability::Run,
        skipped_for_children: true,
        render: section::memory_section,
    },
    Section {
        name: SectionName::Brain,
        stability: Stability::Run,
        skipped_for_children: true,
        render: section::brain_section,
    },
    Section {
        name: SectionName::Recipes,
        stability: Stability::Run,
        skipped_for_children: true,
        render: section::recipes_section,
    },
    Section {
        name: SectionName::OwnSkills,
        stability: Stability::Run,
        skipped_for_children: true,
        render: section::own_skills,
    },
    Section {
        name: SectionName::Instructions,
        stability: Stability::Run,
        skipped_for_children: false,
        render: section::instructions_section,
    },
    Section {
        name: SectionName::Workspace,
        stability: Stability::Run,
        skipped_for_children: false,
        render: section::workspace_section,
    },
    Section {
        name: SectionName::Clock,
        stability: Stability::Run,
        skipped_for_children: false,
        render: section::clock_section,
    },
];

/// A section with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedSection {
    /// Name of the section.
    pub name: SectionName,
    /// How long it stays.
    pub stability: Stability,
    /// Its text, never empty.
    pub text: String,
}

/// All sections that have anything to say, whole. A sub-agent has not all of them.
pub fn render_sections(scene: &PromptScene) -> Vec<RenderedSection> {
    let text = |s: &Section| (s.render)(scene).filter(|text| !text.trim().is_empty());
    let rendered = |s: &Section| {
        text(s).map(|text| RenderedSection { name: s.name, stability: s.stability, text })
    };
    let wanted = SECTIONS.iter().filter(|s| !(scene.child && s.skipped_for_children));
    wanted.filter_map(rendered).collect()
}

/// All sections as they are sent: cut to their share of the model's window (P4).
pub fn fitted_sections(scene: &PromptScene) -> Vec<RenderedSection> {
    let tools = if scene.window == 0 { 0 } else { tool_bytes(&scene.tools) };
    fit_sections(render_sections(scene), scene.window, tools)
}

/// Bytes that the schemas of these tools have in a request.
pub fn tool_bytes(tools: &[ToolSpec]) -> usize {
    tools.iter().map(ToolSpec::bytes).sum()
}

/// The system prompt: the session-stable sections, an empty line between.
pub fn system_prompt(scene: &PromptScene) -> String {
    let texts: Vec<String> = fitted_sections(scene)
        .into_iter()
        .filter(|section| section.stability == Stability::Session)
        .map(|section| section.text)
        .collect();
    texts.join("\n\n")
}

/// The section about the confidential word, for a system prompt that somebody else wrote.
pub fn confidential_section(scene: &PromptScene) -> Option<String> {
    section::canary_section(scene)
}

/// What is told of these skills while they are active.
pub(crate) fn in_force<'a>(skills: impl Iterator<Item = &'a SkillNote>) -> String {
    section::in_force(skills).unwrap_or_default()
}

/// The notes: the run-stable sections, and what is told of folders below.
pub fn prompt_notes(scene: &PromptScene) -> Vec<PromptNote> {
    let mut notes: Vec<PromptNote> = fitted_sections(scene)
        .into_iter()
        .filter(|section| section.stability == Stability::Run)
        .map(|section| PromptNote { section: section.name.as_str().into(), text: section.text })
        .collect();
    notes.extend(scene.deeper.iter().map(|(path, text)| nested_instructions_note(path, text)));
    notes
}

/// What the model is told of the instruction file `path` of a folder below, when a call touches
/// that folder (M2).
pub fn nested_instructions_note(path: &str, text: &str) -> PromptNote {
    PromptNote {
        section: format!("{INSTRUCTIONS}:{path}"),
        text: section::nested_instructions(path, text),
    }
}

/// Text of others on one line, at most `chars` characters.
pub(crate) fn one_line(text: &str, chars: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let flat = words.join(" ");
    match flat.char_indices().nth(chars) {
        Some((at, _)) => format!("{}…", flat[..at].trim_end()),
        None => flat,
    }
}

/// Texts that the model was told, by section, in the order of the sections. Those of folders
/// (`instructions:src/AGENTS.md`) follow their section; what is in no list comes last.
pub fn in_order(told: &BTreeMap<String, String>) -> Vec<String> {
    let place = |name: &str| {
        let name = name.split(':').next().unwrap_or(name);
        SECTIONS.iter().position(|section| section.name.as_str() == name).unwrap_or(SECTIONS.len())
    };
    let mut found: Vec<(&String, &String)> = told.iter().filter(|(_, t)| !t.is_empty()).collect();
    found.sort_by_key(|(name, _)| (place(name), *name));
    found.into_iter().map(|(_, text)| text.clone()).collect()
}
