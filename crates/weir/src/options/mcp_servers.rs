//! The words of `weir mcp-servers` (C1, C9).

use clap::{Args, Subcommand};

use super::{JsonFlag, ReviewFlags};
use super::{TimeSpan, parse_time_span};

/// What `weir mcp-servers` can do.
#[derive(Debug, Subcommand)]
pub(crate) enum McpServersCommand {
    /// List MCP servers, where each is declared, and whether it may be used
    #[command(
        after_help = "Examples:\n  weir mcp-servers list\n  weir mcp-servers list --check --json"
    )]
    List(McpListArgs),
    /// Show a server: how it is started, what it may access, and every approved tool
    #[command(
        after_help = "Examples:\n  weir mcp-servers show github\n  weir mcp-servers show github --json"
    )]
    Show(McpServerArgs),
    Add(Box<McpAddArgs>),
    /// Review what changed in a server since you approved it, and approve it
    #[command(
        long_about = "Start a server, show what differs from what you approved before (everything, \
                      if it is new), ask for approval and save the answer. None of its tools can \
                      be called before that; a tool that changed cannot be called until you \
                      approve the server again.",
        after_help = "Examples:\n  weir mcp-servers approve github\n  weir mcp-servers approve github --yes"
    )]
    Approve(McpApproveArgs),
    /// Declare what tools do as their names suggest, after you have read each proposal
    #[command(
        long_about = "Show what is proposed for the tools of a server that nobody has declared, each \
                      as the lines of config.toml with the word that it rests on, and ask about \
                      each. What you accept is written below the server in your config.toml; then \
                      you see what has changed and approve the server again, as with `approve`. A \
                      proposal rests on names alone: read the description of the tool first. \
                      Without asking (--yes), only the tools that you name are declared.",
        after_help = "Examples:\n  weir mcp-servers declare forge\n  \
                      weir mcp-servers declare forge create_note close_issue --yes"
    )]
    Declare(McpDeclareArgs),
    /// Install the package of a server, then review and approve the server
    #[command(
        long_about = "Install the package that a server is started from (npx, bunx, pnpm dlx, uvx, \
                      pipx run). You see its name, exact version, origin and checksum and are \
                      asked first. It is installed once, with network access and without running \
                      its scripts; the server is then started from it in the sandbox, without \
                      network. After that you review and approve the server, as with `approve`.",
        after_help = "Examples:\n  weir mcp-servers install files\n  weir mcp-servers install files --yes"
    )]
    Install(McpApproveArgs),
    /// Update the package of a server, then review and approve the server again
    #[command(
        long_about = "Look for a newer version of the package that a server is started from. You \
                      are asked before it is installed, and then see what differs from what you \
                      approved. If you refuse, the previous version is kept.",
        after_help = "Examples:\n  weir mcp-servers update files\n  weir mcp-servers update files --yes"
    )]
    Update(McpApproveArgs),
    /// Restart a server: sign in if needed, and compare it with what you approved
    #[command(
        visible_alias = "login",
        long_about = "Restart a server and show its state. If a remote server requires signing in, \
                      your browser opens (the program in the variable BROWSER, or xdg-open); \
                      --forget deletes the saved sign-in first. Running sessions keep their own \
                      connections: each session starts its servers when it first uses them.",
        after_help = "Examples:\n  weir mcp-servers restart github\n  weir mcp-servers login linear --forget"
    )]
    Restart(McpRestartArgs),
    /// Remove a server from your settings, with its approval and saved sign-in
    #[command(after_help = "Example:\n  weir mcp-servers remove github")]
    Remove(McpServerArgs),
}

/// What is listed.
#[derive(Debug, Args)]
pub(crate) struct McpListArgs {
    /// Start each server and check its state
    #[arg(long)]
    pub(crate) check: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// One server.
#[derive(Debug, Args)]
pub(crate) struct McpServerArgs {
    /// Name of the server
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Which server is approved.
#[derive(Debug, Args)]
pub(crate) struct McpApproveArgs {
    /// Name of the server
    pub(crate) name: String,
    /// Do not ask for confirmation, for use in scripts
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) review: ReviewFlags,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Which tools are declared.
#[derive(Debug, Args)]
pub(crate) struct McpDeclareArgs {
    /// Name of the server
    pub(crate) name: String,
    /// Names of tools, as the server has them [default: all with a proposal, one after the other]
    #[arg(value_name = "TOOL")]
    pub(crate) tools: Vec<String>,
    /// Do not ask for confirmation, for use in scripts; the tools must be named
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Which server is started anew.
#[derive(Debug, Args)]
pub(crate) struct McpRestartArgs {
    /// Name of the server
    pub(crate) name: String,
    /// Delete the saved sign-in first
    #[arg(long)]
    pub(crate) forget: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Add an MCP server to your settings, review it and approve it
#[derive(Debug, Args)]
#[command(
    long_about = "Add an MCP server to your settings, start it, show every tool it offers with \
                  name, description and input, ask for approval and save the answer. A server \
                  started as a program runs in the sandbox: it can read the workspace, and has no \
                  network and none of your environment variables. Grant whatever else it needs \
                  with the options below; they are part of what you approve.",
    after_help = "Examples:\n  \
        weir mcp-servers add files --write . -- npx -y @modelcontextprotocol/server-filesystem .\n  \
        weir mcp-servers add time -- uvx mcp-server-time\n  \
        weir mcp-servers add linear --url https://mcp.linear.app/mcp\n  \
        weir mcp-servers add hub --host api.github.com --secret GITHUB_TOKEN=github -- hub-server"
)]
pub(crate) struct McpAddArgs {
    /// Name of the server: letters, digits, - and _
    pub(crate) name: String,
    /// Address of a remote server, instead of a program
    #[arg(long, conflicts_with = "command")]
    pub(crate) url: Option<String>,
    /// Environment variable for the program; may be repeated
    #[arg(long, value_name = "K=V")]
    pub(crate) env: Vec<String>,
    /// HTTP header for every request to the address; may be repeated
    #[arg(long, value_name = "K=V")]
    pub(crate) header: Vec<String>,
    /// Variable or header K whose value is the secret NAME of your settings ([secrets.NAME])
    #[arg(long, value_name = "K=NAME")]
    pub(crate) secret: Vec<String>,
    /// Host that the program may connect to; may be repeated [default: none]
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Vec<String>,
    /// Folder that the program may read, besides the workspace; may be repeated
    #[arg(long, value_name = "DIR")]
    pub(crate) read: Vec<String>,
    /// Folder that the program may write to (`.` is the workspace); may be repeated
    #[arg(long, value_name = "DIR")]
    pub(crate) write: Vec<String>,
    /// Tools that only read, as a pattern for their names, such as 'list_*'; may be repeated
    #[arg(long, value_name = "GLOB")]
    pub(crate) read_tool: Vec<String>,
    /// Tools that send something and only confirm it, as a pattern for their names; may be
    /// repeated
    #[arg(long, value_name = "GLOB")]
    pub(crate) send_tool: Vec<String>,
    /// Trust tools that declare themselves read-only
    #[arg(long)]
    pub(crate) trust_annotations: bool,
    /// Let the server request text from the session's model (MCP sampling)
    #[arg(long)]
    pub(crate) sampling: bool,
    /// Run the program outside the sandbox, with your own rights
    #[arg(long)]
    pub(crate) unconfined: bool,
    /// Maximum duration of a tool call, such as 60s
    #[arg(long, value_name = "DURATION", value_parser = parse_time_span)]
    pub(crate) timeout: Option<TimeSpan>,
    /// Maximum time for starting the server, such as 30s
    #[arg(long, value_name = "DURATION", value_parser = parse_time_span)]
    pub(crate) start_timeout: Option<TimeSpan>,
    /// MCP protocol revision to use [default: the newest that both sides support]
    #[arg(long, value_name = "DATE")]
    pub(crate) protocol: Option<String>,
    /// OAuth client id of Weir at this server
    #[arg(long, value_name = "ID")]
    pub(crate) client_id: Option<String>,
    /// OAuth client secret, as the name of a secret of your settings ([secrets.NAME])
    #[arg(long, value_name = "NAME", requires = "client_id")]
    pub(crate) client_secret: Option<String>,
    /// HTTPS address of the OAuth client metadata document that describes Weir
    #[arg(long, value_name = "URL")]
    pub(crate) client_metadata_url: Option<String>,
    /// OAuth scope to request when signing in; may be repeated
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Vec<String>,
    /// Only add it to the settings; neither start nor approve it
    #[arg(long)]
    pub(crate) no_start: bool,
    /// Do not ask for confirmation, for use in scripts
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
    /// Program and its arguments, after `--`
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}
