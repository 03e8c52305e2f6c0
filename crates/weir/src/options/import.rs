//! The words of `weir import` (C1, R8). The agents are those of the readers: help names each with its
//! files.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use weir_install::import::IMPORT_READERS;

use super::JsonFlag;

/// Import instructions, agents, commands, skills, rules, hooks, servers and sessions of another agent
#[derive(Debug, Args)]
#[command(
    long_about = "Import what you have in another agent: instructions, agents, commands, skills, \
                  permission rules, hooks, MCP servers, the model, and what was said in its \
                  sessions. Every entry is listed: what it becomes, what differs, and what is left \
                  out and why. The other agent's files are not changed. What you already have in \
                  Weir is kept, so you can import again. `--undo` takes an import back.\n\n\
                  Entries that would allow more than before (allow rules, a wider permission mode, \
                  hooks) are imported only if you confirm. No server is started before you approve \
                  it (`weir mcp-servers approve NAME`). Values that look secret are not copied. \
                  Sessions are kept as foreign text to read and search (`weir sessions list \
                  --imported`); they cannot be continued.",
    after_help = "Examples:\n  \
        weir import claude-code --dry-run\n  \
        weir import codex\n  \
        weir import opencode --from ~/backup/home --yes\n  \
        weir import --undo"
)]
pub(crate) struct ImportArgs {
    /// Agent to import from
    #[arg(value_parser = agent_names(), required_unless_present = "undo")]
    pub(crate) agent: Option<String>,
    /// Show what would be imported, and change nothing
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// Folder to read instead of your home folder, such as a copy of it
    #[arg(long, value_name = "DIR")]
    pub(crate) from: Option<PathBuf>,
    /// Do not ask for confirmation; also import what allows more
    #[arg(long)]
    pub(crate) yes: bool,
    /// Take back an import: the newest, or the one with this number
    #[arg(long, value_name = "ID", num_args = 0..=1, conflicts_with_all = ["agent", "dry_run", "from", "yes"])]
    pub(crate) undo: Option<Option<u64>>,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

fn agent_names() -> PossibleValuesParser {
    let value = |reader: &weir_install::import::ImportReader| {
        PossibleValue::new(reader.name).help(reader.files)
    };
    PossibleValuesParser::new(IMPORT_READERS.iter().map(value))
}
