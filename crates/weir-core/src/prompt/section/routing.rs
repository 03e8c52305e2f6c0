//! Section 5: which tool for what. One line each, there when its tool is.

use crate::prompt::PromptScene;
use crate::tool::built_in::{
    AGENT_STARTER, COMMAND_RUNNER, FILE_EDITOR, MEMORY_FINDER, MEMORY_KEEPER, PAGE_FETCHER,
    PAST_FINDER, PERSON_ASKER, SKILL_READER, TEXT_FINDER,
};

/// A tool, and when to take it.
const ROUTES: &[(&str, &str)] = &[
    (TEXT_FINDER, "Find text with search_files and files by name with glob, not with a shell."),
    (
        FILE_EDITOR,
        "Read a file before you change it, again if it may have changed since. Part of a file: \
         edit_file. Several files at once: apply_patch. Only new or wholly new content: write_file.",
    ),
    (
        COMMAND_RUNNER,
        "Builds, tests, version control and what no other tool does: run_shell. Not for reading or \
         editing files. What runs on and on goes to the background.",
    ),
    (
        PAGE_FETCHER,
        "A page whose address you were given or found: web_fetch. Never guess addresses, and never \
         put what is private into one.",
    ),
    (SKILL_READER, "A listed skill fits the task: read_skill before you begin, then follow it."),
    (
        AGENT_STARTER,
        "A bounded part that needs much reading and a short answer: new_task. It sees nothing of \
         this conversation, so tell it all it needs. Check what it reports before you rely on it.",
    ),
    (
        PAST_FINDER,
        "Something from earlier that you no longer see in full: recall it rather than guess or \
         redo it.",
    ),
    (
        MEMORY_FINDER,
        "What earlier conversations may have settled about the person or project: recall_memory.",
    ),
    (
        MEMORY_KEEPER,
        "The person states a lasting preference or fact, or corrects you: mark_for_memory. Not what \
         the files say, not what matters only today.",
    ),
    (
        PERSON_ASKER,
        "Ask with ask_followup_question only when the answer changes what you do and cannot be \
         found by looking. Else take the sensible choice and name it.",
    ),
];

pub(in crate::prompt) fn routing_section(scene: &PromptScene) -> Option<String> {
    if scene.is_compact() {
        return None;
    }
    let there = ROUTES.iter().filter(|(tool, _)| scene.has_tool(tool));
    let lines: Vec<String> = there.map(|(_, rule)| format!("- {rule}")).collect();
    (!lines.is_empty()).then(|| format!("Which tool for what:\n{}", lines.join("\n")))
}
