//! Taking over what another agent's files say: instructions, agents, commands, skills, servers,
//! rules, permissions, hooks, the model, and what was said in its sessions.
//!
//! Each reader (`claude`, `codex`, …) turns its files into items; here it is settled what becomes
//! of each. What would let more pass than before is never taken by the way: a person says yes to it.
//! Servers come unpinned: none is started before it was approved. Not here: what a reader knows of
//! its files, how it is written down (`write`) and taken back (`undo`).

use std::path::Path;

use serde::Serialize;
use weir_core::governance::rules::RuleAction;
use weir_core::profile::PermissionMode;

use crate::config::{HookSettings, McpServerSettings, SecretSettings};
use crate::context::InstallationContext;
use crate::failure::usage;
use crate::models::load_catalogue;

use findings::ImportFindings;

pub use history::{HistoryLine, ImportedHistory, ImportedHistoryHead};
pub use imported::{find_imported_history, list_imported_histories, search_imported_histories};
pub use skills::ImportedSkillFile;
pub use undo::{ImportUndoResult, undo_import};
pub use write::write_import;

mod command_rules;
mod definitions;
mod files;
mod findings;
mod history;
mod hook;
mod imported;
mod listing;
mod marked;
mod model;
mod outcome;
mod rules;
mod server;
mod skills;
mod texts;
mod undo;
mod unsaid;
mod write;

/// The readers, one file each; the name is what a person says.
macro_rules! readers {
    ($($reader:ident)*) => {
        $(mod $reader;)*

        /// Agents whose files can be read.
        pub const IMPORT_READERS: &[ImportReader] = &[$($reader::READER),*];
    };
}

readers! { claude codex cursor gemini goose opencode }

/// How the files of one agent are read.
#[derive(Debug, Clone, Copy)]
pub struct ImportReader {
    /// What it is called on the command line.
    pub name: &'static str,
    /// Where its files are, for help.
    pub files: &'static str,
    read: fn(&files::ImportPlaces<'_>, &mut ImportFindings),
}

/// Which of the two files of settings, and which of the two folders, something goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ImportTarget {
    /// The person's own.
    User,
    /// The workspace's.
    Project,
}

/// One thing that stands in a file of another agent.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportItem {
    /// File and line.
    pub place: String,
    /// What stands there.
    pub says: String,
    /// Kind of thing that the item becomes in Weir.
    pub becomes: ImportMapping,
    /// File or table that the item is written to.
    pub target: ImportTarget,
    /// What is not the same, for the person.
    pub notes: Vec<String>,
}

/// What a thing is here.
#[derive(Debug, Clone, PartialEq)]
pub enum ImportMapping {
    /// A rule.
    Rule(RuleAction, String),
    /// The permission mode.
    Mode(PermissionMode),
    /// The model, by its name here.
    Model(String),
    /// A server, and the secrets that it is given.
    Server(String, Box<McpServerSettings>, Vec<(String, SecretSettings)>),
    /// A hook for an event.
    Hook(String, HookSettings),
    /// A file below the person's own folder or the workspace's `.weir`, and its text.
    File(String, String),
    /// A skill of this name, and its files.
    Skill(String, Vec<ImportedSkillFile>),
    /// What was said in a session: to be read, never to be gone on with.
    History(Box<ImportedHistory>),
    /// Nothing, and why.
    Nothing(String),
}

/// The outcome of importing one item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportOutcome {
    /// It is taken over.
    Taken,
    /// It lets more pass than before: only with a yes.
    Widens,
    /// It stands here already.
    There,
    /// It is left, and why.
    Left(String),
}

/// Everything that was found, and what becomes of it.
pub struct ImportPlan {
    /// Whose files they are.
    pub agent: &'static str,
    /// Files that were read.
    pub read: Vec<String>,
    /// Files that could not be, with the reason; each is an item too.
    pub broken: Vec<String>,
    /// The items in the order of their files.
    pub items: Vec<(ImportItem, ImportOutcome)>,
}

/// Reads the files of the agent called `agent` below `home` and in the workspace.
///
/// # Errors
/// There is no such agent, or none of its files can be understood: file and line.
pub fn plan_import(
    cx: &InstallationContext,
    agent: &str,
    home: &Path,
) -> anyhow::Result<ImportPlan> {
    let Some(reader) = IMPORT_READERS.iter().find(|reader| reader.name == agent) else {
        let names: Vec<&str> = IMPORT_READERS.iter().map(|reader| reader.name).collect();
        return Err(usage(format!("{agent:?} is no agent to import from: {}", names.join(", "))));
    };
    let models = load_catalogue(cx)?;
    let places = files::ImportPlaces {
        home,
        workspace: &cx.folder,
        environment: &cx.environment,
        models,
        is_own_home: cx.dirs.home.as_deref().is_some_and(|own| files::is_same(own, home)),
    };
    let mut found = ImportFindings::default();
    (reader.read)(&places, &mut found);
    if let Some(why) = found.only_failure() {
        return Err(usage(format!("{why}; nothing was imported")));
    }
    found.close_findings();
    let known = outcome::ExistingSetup::load_existing(cx)?;
    let items = known.settle_items(found.items, found.unsaid);
    Ok(ImportPlan { agent: reader.name, read: found.read, broken: found.broken, items })
}
