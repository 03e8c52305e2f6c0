//! Section 14: the person's custom instructions, those of the profile, rules, and the chain of
//! instruction files, the nearest last (M2). Not here: where they are found.

use crate::prompt::PromptScene;

const HEAD: &str = "## Instructions\nWhere two disagree the later one holds; what the person says \
                    in the conversation holds over all.";
const GONE: &str = "## Instructions\nThe instructions that stood here were taken away: none of them \
                    holds any more.";

pub(in crate::prompt) fn instructions_section(scene: &PromptScene) -> Option<String> {
    let mut parts = Vec::new();
    let mut add = |name: &str, text: &str| {
        if !text.trim().is_empty() {
            parts.push(format!("### {name}\n{}", text.trim()));
        }
    };
    // A sub-agent has the rules and the chain, but not what was said to the agent itself (P1).
    if !scene.child {
        add("From the person", scene.custom.as_deref().unwrap_or_default());
        if let Some(profile) = &scene.profile {
            add(&format!("From the profile {}", profile.name), &profile.instructions);
        }
    }
    scene.rules.iter().for_each(|(name, text)| add(&format!("Rule {name}"), text));
    scene.instructions.iter().for_each(|(path, text)| add(path, text));
    match parts.is_empty() {
        true => scene.instructions_gone.then(|| GONE.to_string()),
        false => Some(format!("{HEAD}\n\n{}", parts.join("\n\n"))),
    }
}

/// What is told of the instruction file of a folder below.
pub(in crate::prompt) fn nested_instructions(path: &str, text: &str) -> String {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    format!("## Instructions from {path}, for work below {folder}/\n{}", text.trim())
}
