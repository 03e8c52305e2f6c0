//! The names of the sections of the prompt. Not here: their texts (`section`) and their order
//! (`prompt::SECTIONS`).

use serde::Serialize;

/// A section of the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SectionName {
    /// The role of the agent.
    Profile,
    /// The abilities of the agent.
    Capabilities,
    /// What is usual in the workspace.
    Conventions,
    /// What the schemas of the tools do not say.
    Tools,
    /// The tool to take for each purpose.
    Routing,
    /// How it works.
    Objective,
    /// The form of answers.
    Response,
    /// Whose words count.
    Security,
    /// The word that must never leave.
    Canary,
    /// Skills of plugins.
    PluginSkills,
    /// Skills that can be read.
    Skills,
    /// Skills in force.
    ActiveSkills,
    /// The person, and what is remembered.
    Memory,
    /// That the agent may keep things in the brain.
    Brain,
    /// Known ways to do what is asked.
    Recipes,
    /// Skills that the agent wrote.
    OwnSkills,
    /// Instructions, rules and instruction files.
    Instructions,
    /// Structure and state of the workspace.
    Workspace,
    /// Date and time.
    Clock,
}

impl SectionName {
    /// The word in journals and in `--dry-run`.
    pub const fn as_str(self) -> &'static str {
        match self {
            SectionName::Profile => "profile",
            SectionName::Capabilities => "capabilities",
            SectionName::Conventions => "conventions",
            SectionName::Tools => "tools",
            SectionName::Routing => "routing",
            SectionName::Objective => "objective",
            SectionName::Response => "response",
            SectionName::Security => "security",
            SectionName::Canary => "canary",
            SectionName::PluginSkills => "plugin_skills",
            SectionName::Skills => "skills",
            SectionName::ActiveSkills => "active_skills",
            SectionName::Memory => "memory",
            SectionName::Brain => "brain",
            SectionName::Recipes => "recipes",
            SectionName::OwnSkills => "own_skills",
            SectionName::Instructions => "instructions",
            SectionName::Workspace => "workspace",
            SectionName::Clock => "clock",
        }
    }
}

impl std::fmt::Display for SectionName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}
