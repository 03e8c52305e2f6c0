//! Words of `weir acp`.

use clap::Args;

use super::{PermissionWord, ThinkingWord};

/// Serve an editor by the Agent Client Protocol (ACP), on standard input and output
#[derive(Debug, Args)]
#[command(
    long_about = "Serve an editor by the Agent Client Protocol (ACP), version 1, on standard input \
                  and output. Editors start it themselves: docs/editors.md has the settings for \
                  Zed, JetBrains, Neovim, VS Code and Obsidian. The editor says in which folder a \
                  session works. A session that was begun here can be continued in a terminal or \
                  browser, and the other way round.",
    after_help = "Examples:\n  weir acp\n  weir acp --permission auto-edit\n  weir acp --setup      \
                  choose a model and set its key, in a terminal"
)]
pub(crate) struct AcpArgs {
    /// Model, as PROVIDER/NAME (see `weir models`) or `script:FILE`
    #[arg(short, long, value_name = "PROVIDER/NAME")]
    pub(crate) model: Option<String>,
    /// Profile: tools, instructions and limits of the agent (see `weir profiles list`)
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// How much the model thinks [default: medium, if the model supports it]
    #[arg(long, value_name = "LEVEL", value_enum)]
    pub(crate) thinking: Option<ThinkingWord>,
    /// Permission mode: what is allowed without asking [default: ask]
    #[arg(long, value_name = "MODE", value_enum)]
    pub(crate) permission: Option<PermissionWord>,
    /// Rule for calls to allow, such as 'Shell(cargo test:*)'; may be repeated
    #[arg(long, value_name = "RULE")]
    pub(crate) allow: Vec<String>,
    /// Rule for calls to deny, such as 'Edit(/etc/**)'; may be repeated
    #[arg(long, value_name = "RULE")]
    pub(crate) deny: Vec<String>,
    /// Choose a model and set its key in this terminal, then exit
    #[arg(long)]
    pub(crate) setup: bool,
}
