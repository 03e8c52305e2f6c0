//! The words of the smaller commands: models, config, auth, doctor, schema, tools, profiles,
//! script, man.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::JsonFlag;

/// Known models: window, prices, abilities, and whether there is a key
#[derive(Debug, Args)]
#[command(
    long_about = "Known models with window, output limit, prices (USD per million tokens) and \
                  abilities, and whether there is a key for their provider. --probe asks the \
                  endpoints that are configured which models they offer.",
    after_help = "Examples:\n  \
        weir models\n  \
        weir models anthropic --json\n  \
        weir models ollama --probe"
)]
pub(crate) struct ModelsArgs {
    /// Only of this provider
    pub(crate) provider: Option<String>,
    /// Ask the endpoints (those with a key, and local servers)
    #[arg(long)]
    pub(crate) probe: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// `weir config`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Every setting with its value and where that came from
    #[command(after_help = "Examples:\n  weir config show\n  weir config show --json")]
    Show(JsonFlag),
    /// One setting
    #[command(after_help = "Examples:\n  \
            weir config get limits.max_iterations\n  \
            weir config get permissions.deny --json")]
    Get {
        /// Its key: limits.max_iterations
        key: String,
        #[command(flatten)]
        json: JsonFlag,
    },
    Set(ConfigSetArgs),
    /// Open the file of your settings in your editor ($VISUAL, $EDITOR), and check it afterwards
    #[command(after_help = "Examples:\n  weir config edit\n  weir config edit --project")]
    Edit {
        /// This workspace's .weir/config.toml instead
        #[arg(long)]
        project: bool,
    },
    /// Which files are read, and where things are kept
    #[command(after_help = "Examples:\n  weir config path\n  weir config path --json")]
    Path(JsonFlag),
    /// The JSON Schema of config.toml
    #[command(after_help = "Example:\n  weir config schema > weir-config.schema.json")]
    Schema,
}

/// Change a setting; comments in the file stay
#[derive(Debug, Args)]
#[command(
    long_about = "Change a setting in a file. The value is checked first; comments and order stay. \
                  A value is TOML (25, true, [\"a\"], \"text\"); what is no valid TOML is text.",
    after_help = "Examples:\n  \
        weir config set model anthropic/claude-sonnet-5-5\n  \
        weir config set limits.max_iterations 50 --project\n  \
        weir config set web.allow_hosts '[\"docs.rs\"]'"
)]
pub(crate) struct ConfigSetArgs {
    /// Its key: limits.max_iterations
    pub(crate) key: String,
    /// The value
    #[arg(allow_hyphen_values = true)]
    pub(crate) value: String,
    /// In this workspace's .weir/config.toml
    #[arg(long, conflicts_with = "user")]
    pub(crate) project: bool,
    /// In your own configuration, the default
    #[arg(long)]
    pub(crate) user: bool,
}

/// `weir auth`.
#[derive(Debug, Subcommand)]
pub(crate) enum AuthCommand {
    /// Keep a provider's key; it is asked for, or read from standard input
    #[command(
        long_about = "Keep a provider's key in keys.toml in your configuration folder, readable by \
                      you alone (mode 0600). The key is asked for without showing it, or read from \
                      standard input; it is never taken from the command line, where other users \
                      could see it. A variable of the environment beats the file. The operating \
                      system's keyring is not built into this program.",
        after_help = "Examples:\n  \
            weir auth set anthropic\n  \
            pass show anthropic | weir auth set anthropic"
    )]
    Set {
        /// anthropic, openai, gemini, openrouter, … or a name of your config
        provider: String,
    },
    /// Which providers have a key, which secrets tools may name, and from where; never a value
    #[command(after_help = "Examples:\n  weir auth list\n  weir auth list --json")]
    List(JsonFlag),
    /// Forget a kept key
    #[command(after_help = "Example:\n  weir auth remove anthropic")]
    Remove {
        /// Whose key
        provider: String,
    },
}

/// What works here, and what to do about the rest
#[derive(Debug, Args)]
#[command(
    long_about = "Looks at keys, endpoints, the confinement of commands, git, the store and the \
                  terminal, and says what works, what does not, and what to do. Only endpoints \
                  that you configured or have a key for are asked.",
    after_help = "Examples:\n  \
        weir doctor\n  \
        weir doctor --json\n\n\
        Exit status: 0 nothing needed is broken, 1 something is."
)]
pub(crate) struct DoctorArgs {
    /// Ask no endpoint
    #[arg(long)]
    pub(crate) offline: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// The contracts that can be printed.
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
    /// Every profile: built in, your own, this workspace's
    #[command(after_help = "Examples:\n  weir profiles list\n  weir profiles list --json")]
    List(JsonFlag),
    /// One profile: role, instructions, tools, limits, and where it comes from
    #[command(
        after_help = "Examples:\n  weir profiles show code\n  weir profiles show code --json"
    )]
    Show {
        /// Its name
        name: String,
        #[command(flatten)]
        json: JsonFlag,
    },
}

/// `weir workflows`.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkflowsCommand {
    /// Every command and workflow: this workspace's, then your own
    #[command(after_help = "Examples:\n  weir workflows list\n  weir workflows list --json")]
    List(JsonFlag),
    /// One of them: where it stands, what it takes, its text
    #[command(
        after_help = "Examples:\n  weir workflows show review\n  weir workflows show git:commit"
    )]
    Show {
        /// Its name, with or without the `/`
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

/// Serve a script as a model over HTTP, in every dialect on one port
#[derive(Debug, Args)]
#[command(
    long_about = "Serve a script as a model over HTTP: Anthropic Messages, OpenAI Responses, \
                  OpenAI Chat Completions and Gemini, all on one port. It needs no key and is not \
                  for the open network. The first line on standard output is its address.",
    after_help = "Examples:\n  \
        weir script serve tour.script\n  \
        weir script serve tour.script --bind 127.0.0.1:8080 --record requests.jsonl\n  \
        ANTHROPIC_BASE_URL=http://127.0.0.1:8080 ANTHROPIC_API_KEY=any \\\n    \
        weir run -m anthropic/any \"…\""
)]
pub(crate) struct ScriptServeArgs {
    /// The script
    pub(crate) file: PathBuf,
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub(crate) bind: std::net::SocketAddr,
    /// Append every request and answer to this file, one JSON object a line
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
}

/// Print a manual page
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  weir man | man -l -\n  weir man run | man -l -")]
pub(crate) struct ManArgs {
    /// Of this command; without it the page of weir itself
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}
