//! What the core must know of a tool beside its description and its effects: one row per tool. The
//! only place of the core where code asks for a tool by its name.
//!
//! By name, since a journal holds the tools of its session as they were described that day, and those
//! descriptions say nothing of this: a session that is taken up has a row for each tool all the same.
//! A tool without a row has none of these traits. Not here: what a call touches (`Effects`), and
//! sentences for the model (sections of the prompt, notes, refusals): they name tools as it calls them,
//! and a section leaves a sentence out where its tool is not there.

use super::ToolSpec;

/// The tool that loads what is only named. Without it nothing can be left out without being lost.
pub const FINDER: &str = "find_tool";
/// The tool under whose name every other can be called: `{"tool": NAME, "arguments": {…}}`. Vendors
/// let a model call what the request declares, and what was found is not declared in it. On the wire
/// such a call has this name; everywhere else it has its own.
pub const CARRIER: &str = "call_tool";
/// The tool by which any tool of a foreign server can be called:
/// `{"server": NAME, "tool": NAME, "arguments": {…}}`. A call of it is a call of that tool, under
/// the name of `super::foreign::name`: so the same rules and gates hold for it.
pub const FOREIGN_CALLER: &str = "use_mcp_tool";
/// The tool that runs command lines.
pub const COMMAND_RUNNER: &str = "run_shell";
/// The tool that keeps the agent's task list.
pub const TASK_LIST_KEEPER: &str = "update_todo_list";
/// The tool that proposes another profile to go on with.
pub const AGENT_SWITCHER: &str = "switch_agent";
/// The tool that starts a sub-agent.
pub const AGENT_STARTER: &str = "new_task";
/// The tool that reads a skill.
pub const SKILL_READER: &str = "read_skill";
/// The tool that finds what was said and done earlier in the session.
pub const PAST_FINDER: &str = "recall";
/// The tool that finds remembered facts by their words.
pub const MEMORY_FINDER: &str = "recall_memory";
/// The tool that remembers a fact for later sessions.
pub const MEMORY_KEEPER: &str = "mark_for_memory";
/// The tool that finds, keeps and changes entries of the person's brain.
pub const BRAIN_KEEPER: &str = "brain";
/// The tool that makes all steps of a recipe.
pub const RECIPE_EXECUTOR: &str = "execute_recipe";
/// The tool that runs a program whose steps are calls (U7).
pub const PROGRAM_RUNNER: &str = "run_program";
/// The tool by which the agent ends its run with a result.
pub const RUN_COMPLETER: &str = "attempt_completion";
/// The tool that finds text in files.
pub const TEXT_FINDER: &str = "search_files";
/// The tool that changes a part of a file.
pub const FILE_EDITOR: &str = "edit_file";
/// The tool that fetches a page from the network.
pub const PAGE_FETCHER: &str = "web_fetch";
/// The tool that asks the person a question.
pub const PERSON_ASKER: &str = "ask_followup_question";

/// The tool that puts the words of a handle into the context (U6).
pub const OPEN_HANDLE: &str = "open_handle";
/// Has a model that can do nothing answer about the words of a handle.
pub const EXTRACT_FIELDS: &str = "extract_fields";
/// The tools that a session has where foreign words are kept beside its context.
pub const HANDLE_TOOLS: [&str; 2] = [OPEN_HANDLE, EXTRACT_FIELDS];

/// What is special about a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolTrait {
    /// No window is too small for its schema: reading, changing, running, asking, ending, and
    /// finding the rest.
    Essential,
    /// With its schema in the smallest prompt too (R6): what nearly every task needs, and finding the
    /// rest.
    InCompact,
    /// Of the group `agent`, and changes nothing but the agent itself.
    Tame,
    /// Controls the agent and cannot change or spend: a switch that widens asks a person. Profiles
    /// that only read have it.
    ForReaders,
    /// Finds the session's own past (X4, M4).
    FindsPast,
    /// A sub-agent never has it: it asks its person nothing, stays who it is, and keeps nothing
    /// beyond its task.
    NotForChildren,
    /// It steers the agent itself, and a step of a recipe is work.
    NoRecipeStep,
    /// Starts sub-agents: absent where no deeper one may stand.
    StartsAgents,
    /// With its schema wherever tools of foreign servers have theirs: what a server offers is called in
    /// loops, and finding this tool first would cost a request (U7).
    BesideForeign,
    /// Its results have a number and a tab before each line.
    NumbersLines,
}

use ToolTrait::{
    BesideForeign, Essential, FindsPast, ForReaders, InCompact, NoRecipeStep, NotForChildren,
    NumbersLines, StartsAgents, Tame,
};

/// Every tool with a trait. The order is that in which profiles name them.
const ROWS: &[(&str, &[ToolTrait])] = &[
    ("read_file", &[Essential, InCompact, NumbersLines]),
    (FILE_EDITOR, &[Essential, InCompact]),
    ("write_file", &[Essential, InCompact]),
    (TEXT_FINDER, &[Essential, InCompact]),
    (COMMAND_RUNNER, &[Essential, InCompact]),
    (RUN_COMPLETER, &[Essential, Tame, ForReaders, NoRecipeStep]),
    (PERSON_ASKER, &[Essential, ForReaders, NotForChildren, NoRecipeStep]),
    (TASK_LIST_KEEPER, &[Essential, Tame, ForReaders, NoRecipeStep]),
    (FINDER, &[Essential, InCompact, Tame, ForReaders, NoRecipeStep]),
    (CARRIER, &[Essential, InCompact, Tame, ForReaders, NoRecipeStep]),
    (AGENT_SWITCHER, &[ForReaders, NotForChildren, NoRecipeStep]),
    (SKILL_READER, &[ForReaders, NotForChildren]),
    ("invoke_skill", &[ForReaders, NotForChildren]),
    (PAST_FINDER, &[Tame, FindsPast]),
    (MEMORY_FINDER, &[FindsPast, NotForChildren]),
    (MEMORY_KEEPER, &[NotForChildren]),
    ("mark_note_as_memory_source", &[NotForChildren]),
    (BRAIN_KEEPER, &[NotForChildren]),
    (RECIPE_EXECUTOR, &[NotForChildren, NoRecipeStep]),
    (PROGRAM_RUNNER, &[BesideForeign]),
    ("manage_skill", &[NotForChildren, NoRecipeStep]),
    ("run_skill_script", &[NotForChildren]),
    ("manage_tool", &[NotForChildren, NoRecipeStep]),
    (OPEN_HANDLE, &[Tame]),
    (EXTRACT_FIELDS, &[Tame]),
    ("inspect_self", &[Tame]),
    ("read_agent_logs", &[Tame]),
    ("update_settings", &[NotForChildren, NoRecipeStep]),
    ("configure_model", &[NotForChildren, NoRecipeStep]),
    (AGENT_STARTER, &[Tame, StartsAgents, NoRecipeStep]),
];

/// Whether the tool of this name has a trait.
pub fn has_trait(tool: &str, wanted: ToolTrait) -> bool {
    ROWS.iter().any(|(name, traits)| *name == tool && traits.contains(&wanted))
}

/// The names of all tools with a trait.
pub fn names_with(wanted: ToolTrait) -> impl Iterator<Item = &'static str> {
    ROWS.iter().filter(move |(_, traits)| traits.contains(&wanted)).map(|(name, _)| *name)
}

impl ToolSpec {
    /// Whether it has a trait.
    pub fn has_trait(&self, wanted: ToolTrait) -> bool {
        has_trait(&self.name, wanted)
    }
}
