//! Words of `weir mcp`.

use clap::{Args, ValueEnum};
use weir_install::config::ApprovalWay;

use super::PermissionWord;

/// Serve another agent by MCP, on standard input and output: its tools under Weir's rules
#[derive(Debug, Args)]
#[command(
    long_about = "Serve another agent by the Model Context Protocol (MCP), on standard input and \
                  output: the tools of a profile, in this folder (or --workspace). Every call is \
                  judged by the same rules as a call of Weir's own agent, is kept in a session, \
                  and what it changes can be undone. The other agent starts this command itself: \
                  docs/mcp-server.md has the settings for Claude Code and Codex. To use the tools \
                  of MCP servers in Weir, see `weir mcp-servers`.",
    after_help = "Examples:\n  weir mcp\n  weir mcp -C ~/site --permission auto-edit\n  \
                  weir mcp --profile ask --approvals deny      look only, ask nobody"
)]
pub(crate) struct McpArgs {
    /// Profile: which tools there are, and the rules of the agent (see `weir profiles list`)
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Permission mode: what is allowed without asking [default: ask]
    #[arg(long, value_name = "MODE", value_enum)]
    pub(crate) permission: Option<PermissionWord>,
    /// Rule for calls to allow, such as 'Shell(cargo test:*)'; may be repeated
    #[arg(long, value_name = "RULE")]
    pub(crate) allow: Vec<String>,
    /// Rule for calls to deny, such as 'Edit(/etc/**)'; may be repeated
    #[arg(long, value_name = "RULE")]
    pub(crate) deny: Vec<String>,
    /// How a person is asked about a call [default: mcp_server.approvals, which is ask]
    #[arg(long, value_name = "WAY", value_enum)]
    pub(crate) approvals: Option<ApprovalWayWord>,
}

/// How a person is asked, as it is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ApprovalWayWord {
    /// By the other agent's program, if it can show a form, and with `weir approvals` at the same time
    Ask,
    /// Only with `weir approvals`, in a browser or a terminal of Weir's
    Elsewhere,
    /// Not at all: what needs an answer is refused
    Deny,
}

impl From<ApprovalWayWord> for ApprovalWay {
    fn from(word: ApprovalWayWord) -> ApprovalWay {
        match word {
            ApprovalWayWord::Ask => ApprovalWay::Ask,
            ApprovalWayWord::Elsewhere => ApprovalWay::Elsewhere,
            ApprovalWayWord::Deny => ApprovalWay::Deny,
        }
    }
}
