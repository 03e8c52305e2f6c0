//! The words of the smaller commands: models, config, auth, doctor, schema, tools, profiles,
//! script, man.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{JsonFlag, ModelsCommand, ReviewFlags};

/// List known models: context window, prices, capabilities, and whether a key is set
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    long_about = "List known models with context window, output limit, prices (US dollars per \
                  million tokens) and capabilities, and whether a key is set for their provider. \
                  --probe asks providers with a key, and local servers, which models they offer.",
    after_help = "Examples:\n  \
        weir models\n  \
        weir models anthropic --json\n  \
        weir models ollama --probe\n  \
        weir models prices"
)]
pub(crate) struct ModelsArgs {
    /// List only models of this provider
    pub(crate) provider: Option<String>,
    /// Ask providers with a key, and local servers, which models they offer
    #[arg(long)]
    pub(crate) probe: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
    /// Something else about them
    #[command(subcommand)]
    pub(crate) command: Option<ModelsCommand>,
}

/// `weir config`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show every setting with its value and where it comes from
    #[command(after_help = "Examples:\n  weir config show\n  weir config show --json")]
    Show(JsonFlag),
    /// Print one setting
    #[command(after_help = "Examples:\n  \
            weir config get limits.max_iterations\n  \
            weir config get permissions.deny --json")]
    Get {
        /// Key of the setting, such as limits.max_iterations
        key: String,
        #[command(flatten)]
        json: JsonFlag,
    },
    Set(ConfigSetArgs),
    Unset(ConfigUnsetArgs),
    /// Open your configuration file in your editor ($VISUAL or $EDITOR) and check it afterwards
    #[command(after_help = "Examples:\n  weir config edit\n  weir config edit --project")]
    Edit {
        /// Edit this workspace's .weir/config.toml instead
        #[arg(long)]
        project: bool,
    },
    /// Show which files are read and where data is stored
    #[command(after_help = "Examples:\n  weir config path\n  weir config path --json")]
    Path(JsonFlag),
    /// Show settings that agents proposed: value, reason, and what content was involved
    #[command(after_help = "Examples:\n  weir config inbox\n  weir config inbox --json")]
    Inbox(JsonFlag),
    /// Accept a proposed setting: it is set in your own configuration
    #[command(
        visible_alias = "approve",
        after_help = "Examples:\n  weir config accept limits.max_iterations\n  \
                      weir config accept limits.max_iterations 20\n  \
                      weir config accept model acme/large --untrusted"
    )]
    Accept(ConfigAcceptArgs),
    /// Reject a proposed setting
    #[command(after_help = "Example:\n  weir config reject limits.max_iterations")]
    Reject(ConfigRejectArgs),
    /// Print the JSON Schema of config.toml
    #[command(after_help = "Example:\n  weir config schema > weir-config.schema.json")]
    Schema,
}

/// Change a setting
#[derive(Debug, Args)]
#[command(
    long_about = "Change a setting in a configuration file. What would hold then is checked first, \
                  as a run checks it: a model, profile, address or file that is none is refused, \
                  and nothing is written. Comments and order in the file are kept. `weir config \
                  unset` takes a setting away. A value is TOML (25, true, [\"a\"], \"text\"); \
                  anything that is not valid TOML is taken as text.",
    after_help = "Examples:\n  \
        weir config set model anthropic/claude-sonnet-5-5\n  \
        weir config set limits.max_iterations 50 --project\n  \
        weir config set web.allow_hosts '[\"docs.rs\"]'"
)]
pub(crate) struct ConfigSetArgs {
    /// Key of the setting, such as limits.max_iterations
    pub(crate) key: String,
    /// New value
    #[arg(allow_hyphen_values = true)]
    pub(crate) value: String,
    /// Change this workspace's .weir/config.toml
    #[arg(long, conflicts_with = "user")]
    pub(crate) project: bool,
    /// Change your own configuration (default)
    #[arg(long)]
    pub(crate) user: bool,
    #[command(flatten)]
    pub(crate) review: ReviewFlags,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Remove a setting from a configuration file
#[derive(Debug, Args)]
#[command(
    long_about = "Remove a setting, or a whole table of settings, from a configuration file: what \
                  the next source says holds again, and is printed with its origin. Comments and \
                  order of everything else are kept. Nothing is changed where it is not set.",
    after_help = "Examples:\n  \
        weir config unset model\n  \
        weir config unset limits.max_iterations --project\n  \
        weir config unset providers.acme"
)]
pub(crate) struct ConfigUnsetArgs {
    /// Key of the setting or table, such as limits.max_iterations
    pub(crate) key: String,
    /// Change this workspace's .weir/config.toml
    #[arg(long, conflicts_with = "user")]
    pub(crate) project: bool,
    /// Change your own configuration (default)
    #[arg(long)]
    pub(crate) user: bool,
    #[command(flatten)]
    pub(crate) review: ReviewFlags,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Which proposed setting is accepted, and how.
#[derive(Debug, Args)]
pub(crate) struct ConfigAcceptArgs {
    /// Key of the setting (`weir config inbox`)
    pub(crate) key: String,
    /// The value that you read; without it you are shown the proposal and asked
    pub(crate) value: Option<String>,
    /// Accept it although outside content was involved; read it first
    #[arg(long)]
    pub(crate) untrusted: bool,
    #[command(flatten)]
    pub(crate) review: ReviewFlags,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Which proposed setting is rejected.
#[derive(Debug, Args)]
pub(crate) struct ConfigRejectArgs {
    /// Key of the setting (`weir config inbox`)
    pub(crate) key: String,
    #[command(flatten)]
    pub(crate) review: ReviewFlags,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// `weir auth`.
#[derive(Debug, Subcommand)]
pub(crate) enum AuthCommand {
    /// Save a provider's API key, typed at a prompt or read from standard input
    #[command(
        long_about = "Save a provider's API key in the system keyring, or in keys.toml in your \
                      configuration folder, which only you can read (mode 0600); the setting \
                      keys.store says which. You type the key at a hidden prompt, or it is \
                      read from standard input; it is never taken from the command line, where \
                      other users could see it. An environment variable takes precedence over a \
                      saved key.",
        after_help = "Examples:\n  \
            weir auth set anthropic\n  \
            pass show anthropic | weir auth set anthropic"
    )]
    Set {
        /// Provider: anthropic, openai, gemini, openrouter, …, or one from your configuration
        provider: String,
    },
    /// List which keys and secrets are set and where each comes from, without their values
    #[command(after_help = "Examples:\n  weir auth list\n  weir auth list --json")]
    List(JsonFlag),
    /// Remove a saved key
    #[command(after_help = "Example:\n  weir auth remove anthropic")]
    Remove {
        /// Provider whose key is removed
        provider: String,
    },
}

/// Check what works on this machine and say how to fix the rest
#[derive(Debug, Args)]
#[command(
    long_about = "Check keys, endpoints, the sandbox for commands, git, the store and the \
                  terminal, and say what works, what does not, and how to fix it. Only endpoints \
                  that you configured or have a key for are contacted.",
    after_help = "Examples:\n  \
        weir doctor\n  \
        weir doctor --json\n\n\
        Exit status: 0 everything required works, 1 something required does not."
)]
pub(crate) struct DoctorArgs {
    /// Contact no endpoint
    #[arg(long)]
    pub(crate) offline: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// The schemas that can be printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaKind {
    /// JSON Schema of every event that `--output jsonl` prints
    Events,
    /// JSON Schema of config.toml
    Config,
    /// OpenAPI document of the server
    Openapi,
    /// Name, description and input schema of every tool
    Tools,
}

/// `weir profiles`.
#[derive(Debug, Subcommand)]
pub(crate) enum ProfilesCommand {
    /// List profiles: built-in ones, your own, and this workspace's
    #[command(after_help = "Examples:\n  weir profiles list\n  weir profiles list --json")]
    List(JsonFlag),
    /// Show a profile: role, instructions, tools, limits, and where it comes from
    #[command(
        after_help = "Examples:\n  weir profiles show code\n  weir profiles show code --json"
    )]
    Show {
        /// Name of the profile
        name: String,
        #[command(flatten)]
        json: JsonFlag,
    },
}

/// `weir workflows`.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkflowsCommand {
    /// List slash commands and workflows: this workspace's, then your own
    #[command(after_help = "Examples:\n  weir workflows list\n  weir workflows list --json")]
    List(JsonFlag),
    /// Show a slash command or workflow: its file, arguments and text
    #[command(
        after_help = "Examples:\n  weir workflows show review\n  weir workflows show git:commit"
    )]
    Show {
        /// Name, with or without the leading `/`
        name: String,
        #[command(flatten)]
        json: JsonFlag,
    },
}

/// `weir script`.
#[derive(Debug, Subcommand)]
pub(crate) enum ScriptCommand {
    Serve(ScriptServeArgs),
}

/// Serve a script as a model over HTTP, in every API format on one port
#[derive(Debug, Args)]
#[command(
    long_about = "Serve a script as a model over HTTP: Anthropic Messages, OpenAI Responses, \
                  OpenAI Chat Completions and Gemini, all on one port. It requires no key, so do \
                  not expose it to a network. The first line on standard output is its address.",
    after_help = "Examples:\n  \
        weir script serve tour.script\n  \
        weir script serve tour.script --bind 127.0.0.1:8080 --record requests.jsonl\n  \
        ANTHROPIC_BASE_URL=http://127.0.0.1:8080 ANTHROPIC_API_KEY=any \\\n    \
        weir run -m anthropic/any \"…\""
)]
pub(crate) struct ScriptServeArgs {
    /// Script file
    pub(crate) file: PathBuf,
    /// Address to listen on; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub(crate) bind: std::net::SocketAddr,
    /// Append every request and response to this file, one JSON object per line
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
}

/// Print a manual page
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  weir man | man -l -\n  weir man run | man -l -")]
pub(crate) struct ManArgs {
    /// Command to print the page of [default: weir itself]
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}
