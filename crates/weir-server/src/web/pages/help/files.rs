//! The documents that the help shows: the pages of `docs` for people who use the program. Not here: how they are
//! shown and searched (`help`).

use std::borrow::Cow;

use crate::embedded::embedded_text;

macro_rules! help_files {
    ($($name:literal)*) => {
        /// The name and the text of each document.
        pub(super) fn all_files() -> Vec<(&'static str, Cow<'static, str>)> {
            vec![$(($name, embedded_text!("../../docs/", $name, ".md"))),*]
        }
    };
}

help_files! {
    "README"
    "added-folders"
    "approvals"
    "attachments"
    "background-runs"
    "behind-a-proxy"
    "brain"
    "browser"
    "building"
    "checkpoints-and-undo"
    "ci"
    "commands"
    "condensing"
    "configuration"
    "declarations"
    "documents"
    "dynamic-tools"
    "editors"
    "events"
    "fallback"
    "fast-path"
    "fuzzing"
    "gate"
    "glossary"
    "guards"
    "handles"
    "helpers"
    "hooks"
    "http-api"
    "images"
    "import"
    "install"
    "journal-and-recovery"
    "library"
    "live"
    "local-models"
    "loop"
    "mail"
    "mcp"
    "mcp-server"
    "mcp-servers"
    "meaning"
    "memory"
    "money"
    "network"
    "notes"
    "observability"
    "operations"
    "people"
    "performance"
    "phone"
    "plugins"
    "postgresql"
    "profiles"
    "programs"
    "prompt"
    "providers"
    "reach"
    "recipes"
    "rendering"
    "rules"
    "sandbox"
    "scheduled-agents"
    "scripted-model"
    "security"
    "server"
    "settings-in-the-browser"
    "skills"
    "sub-agents"
    "team"
    "terminal"
    "tool-scope"
    "tools"
    "trust"
    "worktrees"
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::embedded::names_in;

    #[test]
    fn s10_every_document_for_people_is_in_the_help() {
        let names = names_in("../../docs").into_iter();
        let there: BTreeSet<String> = names
            .filter_map(|name| name.strip_suffix(".md").map(str::to_owned))
            // Who works on the program reads this one.
            .filter(|name| name != "requirements")
            .collect();
        let files = all_files();
        let listed: BTreeSet<String> = files.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(listed, there);
        assert_eq!(listed.len(), files.len(), "none stands there twice");
        for (name, text) in files {
            assert!(text.starts_with("# "), "{name}");
        }
    }
}
