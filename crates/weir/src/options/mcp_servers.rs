//! The words of `weir mcp-servers` (C1, C9).

use clap::{Args, Subcommand};

use super::JsonFlag;
use super::duration::{Span, span};

/// What `weir mcp-servers` can do.
#[derive(Debug, Subcommand)]
pub(crate) enum McpServersCommand {
    /// Every server, where it is declared, and whether it may be used
    #[command(
        after_help = "Examples:\n  weir mcp-servers list\n  weir mcp-servers list --check --json"
    )]
    List(McpListArgs),
    /// A server whole: how it is started, what it may touch, every tool as it was approved
    #[command(
        after_help = "Examples:\n  weir mcp-servers show github\n  weir mcp-servers show github --json"
    )]
    Show(McpServerArgs),
    Add(Box<McpAddArgs>),
    /// Look at what a server is and offers now, against what you approved, and approve it
    #[command(
        long_about = "Start a server, show what differs from what you approved (all of it, if you \
                      never did), ask, and keep the answer. Until then none of its tools can be \
                      called; a tool that changed cannot be called until you do this again.",
        after_help = "Examples:\n  weir mcp-servers approve github\n  weir mcp-servers approve github --yes"
    )]
    Approve(McpApproveArgs),
    /// Install the package that a server is started from, look at the server and approve it
    #[command(
        long_about = "Install the package that a server is started from (npx, bunx, pnpm dlx, uvx, \
                      pipx run): you are asked with its name, exact version, origin and checksum; \
                      it is installed once, with network and without running any script of it, and \
                      started from there in the sandbox, without network. Then the server is shown \
                      and you are asked, as in `approve`.",
        after_help = "Examples:\n  weir mcp-servers install files\n  weir mcp-servers install files --yes"
    )]
    Install(McpApproveArgs),
    /// Look for a newer version of a server's package, install it and approve the server anew
    #[command(
        long_about = "Look for a newer version of the package that a server is started from. You are \
                      asked before it is installed, and shown what of the server differs from what \
                      you approved; with a no, the version before stays.",
        after_help = "Examples:\n  weir mcp-servers update files\n  weir mcp-servers update files --yes"
    )]
    Update(McpApproveArgs),
    /// Start a server anew: sign in where that is needed, and compare it with what was approved
    #[command(
        visible_alias = "login",
        long_about = "Start a server anew and say what it is. An address that wants you to sign in \
                      opens your browser (the program in the variable BROWSER, or xdg-open); a \
                      sign-in that is kept is forgotten first with --forget. Sessions that run \
                      keep their own connections; each starts its servers when it first uses them.",
        after_help = "Examples:\n  weir mcp-servers restart github\n  weir mcp-servers login linear --forget"
    )]
    Restart(McpRestartArgs),
    /// Take a server out of your settings, with what was approved and how you signed in
    #[command(after_help = "Example:\n  weir mcp-servers remove github")]
    Remove(McpServerArgs),
}

/// What is listed.
#[derive(Debug, Args)]
pub(crate) struct McpListArgs {
    /// Start each of them and see
    #[arg(long)]
    pub(crate) check: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// One server.
#[derive(Debug, Args)]
pub(crate) struct McpServerArgs {
    /// Its name
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Which server is approved.
#[derive(Debug, Args)]
pub(crate) struct McpApproveArgs {
    /// Its name
    pub(crate) name: String,
    /// Do not ask: for scripts
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Which server is started anew.
#[derive(Debug, Args)]
pub(crate) struct McpRestartArgs {
    /// Its name
    pub(crate) name: String,
    /// Forget how you signed in before
    #[arg(long)]
    pub(crate) forget: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Declare a server in your settings, look at it and approve it
#[derive(Debug, Args)]
#[command(
    long_about = "Declare an MCP server in your settings, start it, show every tool that it offers \
                  with name, description and input, ask, and keep the answer. A program runs in the \
                  sandbox: it reads the workspace, has no network and none of your variables. What \
                  else it needs is said here, and is part of what you approve.",
    after_help = "Examples:\n  \
        weir mcp-servers add files --write . -- npx -y @modelcontextprotocol/server-filesystem .\n  \
        weir mcp-servers add time -- uvx mcp-server-time\n  \
        weir mcp-servers add linear --url https://mcp.linear.app/mcp\n  \
        weir mcp-servers add hub --host api.github.com --secret GITHUB_TOKEN=github -- hub-server"
)]
pub(crate) struct McpAddArgs {
    /// Its name: letters, digits, - and _
    pub(crate) name: String,
    /// Its address, instead of a program
    #[arg(long, conflicts_with = "command")]
    pub(crate) url: Option<String>,
    /// A variable of the program
    #[arg(long, value_name = "K=V")]
    pub(crate) env: Vec<String>,
    /// A header of every request to the address
    #[arg(long, value_name = "K=V")]
    pub(crate) header: Vec<String>,
    /// A variable or header that holds a secret of your settings ([secrets.NAME])
    #[arg(long, value_name = "K=NAME")]
    pub(crate) secret: Vec<String>,
    /// A host that the program may reach
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Vec<String>,
    /// A folder that the program may read beside the workspace
    #[arg(long, value_name = "DIR")]
    pub(crate) read: Vec<String>,
    /// A folder that the program may change; `.` is the workspace
    #[arg(long, value_name = "DIR")]
    pub(crate) write: Vec<String>,
    /// Tools that only read, as a pattern over their names
    #[arg(long, value_name = "GLOB")]
    pub(crate) read_tool: Vec<String>,
    /// Tools that send something and answer that it was sent, as a pattern over their names
    #[arg(long, value_name = "GLOB")]
    pub(crate) send_tool: Vec<String>,
    /// Believe a tool that says of itself that it only reads
    #[arg(long)]
    pub(crate) trust_annotations: bool,
    /// The server may ask the session's model to write something
    #[arg(long)]
    pub(crate) sampling: bool,
    /// The program may run outside the sandbox
    #[arg(long)]
    pub(crate) unconfined: bool,
    /// Most time that a call may take
    #[arg(long, value_name = "DURATION", value_parser = span)]
    pub(crate) timeout: Option<Span>,
    /// Most time that it may take to start
    #[arg(long, value_name = "DURATION", value_parser = span)]
    pub(crate) start_timeout: Option<Span>,
    /// The revision of the protocol to speak, instead of the newest that both know
    #[arg(long, value_name = "DATE")]
    pub(crate) protocol: Option<String>,
    /// The id under which Weir is registered at the address
    #[arg(long, value_name = "ID")]
    pub(crate) client_id: Option<String>,
    /// The secret of that id: a name of the table secrets
    #[arg(long, value_name = "NAME", requires = "client_id")]
    pub(crate) client_secret: Option<String>,
    /// The https address of a document that describes Weir to servers
    #[arg(long, value_name = "URL")]
    pub(crate) client_metadata_url: Option<String>,
    /// What is asked for when signing in
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Vec<String>,
    /// Only declare it: neither start nor approve it
    #[arg(long)]
    pub(crate) no_start: bool,
    /// Do not ask: for scripts
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
    /// The program and its arguments, after `--`
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}
