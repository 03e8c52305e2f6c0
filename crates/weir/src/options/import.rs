//! The words of `weir import` (C1).

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::JsonFlag;

/// Take over MCP servers, rules, permissions and hooks from another agent's files
#[derive(Debug, Args)]
#[command(
    long_about = "Take over MCP servers, rules, permissions and hooks from another agent's files. \
                  Everything that stands there is listed: what it becomes, what is not the same, \
                  and what is left and why. Their files are not changed. What is there already is \
                  left alone, so it can be done again.\n\n\
                  What would let more pass than before (allow rules, a wider mode, hooks) is taken \
                  only when you say yes. Servers are not started before you approve each \
                  (`weir mcp-servers approve NAME`). Values that look secret are not copied.",
    after_help = "Examples:\n  \
        weir import claude-code --dry-run\n  \
        weir import codex\n  \
        weir import opencode --from ~/backup/home --yes"
)]
pub(crate) struct ImportArgs {
    /// Whose files
    #[arg(value_enum)]
    pub(crate) agent: ImportAgent,
    /// Show it and change nothing
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// The folder that stands for your home folder there
    #[arg(long, value_name = "DIR")]
    pub(crate) from: Option<PathBuf>,
    /// Do not ask: take what lets more pass too
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
    /// ~/.config/opencode/opencode.json (or .jsonc), and that of the workspace
    Opencode,
}
