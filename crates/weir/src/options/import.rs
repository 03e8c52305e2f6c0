//! The words of `weir import` (C1).

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::JsonFlag;

/// Import MCP servers, rules, permissions and hooks from another agent's settings
#[derive(Debug, Args)]
#[command(
    long_about = "Import MCP servers, rules, permissions and hooks from another agent's settings. \
                  Every entry is listed: what it becomes, what differs, and what is left out and \
                  why. The other agent's files are not changed. What you already have in Weir is \
                  kept, so you can import again.\n\n\
                  Entries that would allow more than before (allow rules, a wider permission mode, \
                  hooks) are imported only if you confirm. No server is started before you approve \
                  it (`weir mcp-servers approve NAME`). Values that look secret are not copied.",
    after_help = "Examples:\n  \
        weir import claude-code --dry-run\n  \
        weir import codex\n  \
        weir import opencode --from ~/backup/home --yes"
)]
pub(crate) struct ImportArgs {
    /// Agent to import from
    #[arg(value_enum)]
    pub(crate) agent: ImportAgent,
    /// Show what would be imported, and change nothing
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// Folder to read instead of your home folder, such as a copy of it
    #[arg(long, value_name = "DIR")]
    pub(crate) from: Option<PathBuf>,
    /// Do not ask for confirmation; also import what allows more
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Another agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportAgent {
    /// ~/.claude.json, ~/.claude/settings.json, .claude/settings.json, .claude/settings.local.json
    ClaudeCode,
    /// ~/.codex/config.toml
    Codex,
    /// ~/.config/opencode/opencode.json (or .jsonc), and the workspace's opencode.json
    Opencode,
}
