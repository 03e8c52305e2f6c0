//! Section 1: who the agent is: its role, and the identity that the person gave it (`SOUL.md`) or a
//! short one of its own (P5). Not here: what it can do.

use crate::prompt::PromptScene;

/// The character of the agent where the person did not say.
const IDENTITY: &str = "As Weir you are direct, honest and careful. You say what you know and how \
                        you know it, admit a mistake at once, and treat the person's files and \
                        accounts as theirs.";

pub(in crate::prompt) fn profile_section(scene: &PromptScene) -> Option<String> {
    let role = scene.profile.as_ref()?.role.trim();
    let soul = scene.soul.as_deref().map(str::trim).filter(|soul| !soul.is_empty());
    let identity = match soul {
        Some(soul) => format!("Your identity, values and style, as the person wrote them:\n{soul}"),
        None => IDENTITY.to_string(),
    };
    Some(format!("{role}\n\n{identity}").trim_start().to_string())
}
