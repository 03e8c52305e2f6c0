//! `weir usage` and `weir models prices`.

use clap::{Args, Subcommand, ValueEnum};

use super::JsonFlag;

/// `weir usage`.
#[derive(Debug, Args)]
#[command(
    about = "Show tokens and cost by day, model, session, profile or agent, and what caches missed",
    long_about = "Show tokens and cost by day, model, session, profile or scheduled agent, the caps in \
                  effect with what is left of them, and every cache miss with its cause and cost. Days \
                  are those of UTC.",
    after_help = "Examples:\n  \
        weir usage\n  \
        weir usage --by model --days 7\n  \
        weir usage --by session --from 2026-11-01 --to 2026-11-30\n  \
        weir usage --misses\n  \
        weir usage --json"
)]
pub(crate) struct UsageArgs {
    /// Sum up by
    #[arg(long, value_enum, default_value = "day")]
    pub(crate) by: UsageBy,
    /// Show so many days, up to the last one
    #[arg(long, value_name = "N", default_value_t = 30, conflicts_with = "from",
        value_parser = clap::value_parser!(u32).range(1..=3_660))]
    pub(crate) days: u32,
    /// First day, such as 2026-11-01
    #[arg(long, value_name = "DAY")]
    pub(crate) from: Option<String>,
    /// Last day [default: today]
    #[arg(long, value_name = "DAY")]
    pub(crate) to: Option<String>,
    /// List every cache miss, not only sums by cause
    #[arg(long)]
    pub(crate) misses: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// What is summed up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum UsageBy {
    /// Days
    Day,
    /// Models
    Model,
    /// Sessions, with their sub-agents
    Session,
    /// Profiles
    Profile,
    /// Scheduled agents
    Agent,
}

impl UsageBy {
    /// The word of it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            UsageBy::Day => "day",
            UsageBy::Model => "model",
            UsageBy::Session => "session",
            UsageBy::Profile => "profile",
            UsageBy::Agent => "agent",
        }
    }
}

/// Below `weir models`.
#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    Prices(PricesArgs),
}

/// `weir models prices`.
#[derive(Debug, Args)]
#[command(
    about = "Show prices with the day they are from, or set the price of a model",
    long_about = "Show what models cost in USD per million tokens, and the day each price is from; or \
                  set the price of a model in your settings, above the one that Weir brings. An unknown \
                  price is never nothing: set 0 for a model that costs nothing.",
    after_help = "Examples:\n  \
        weir models prices\n  \
        weir models prices anthropic/claude-sonnet-5-5\n  \
        weir models prices acme/large --input 1.5 --output 6 --cache-read 0.15 --on 2026-11-29\n  \
        weir models prices ollama/qwen3:8b --input 0 --output 0\n  \
        weir models prices acme/large --unset"
)]
pub(crate) struct PricesArgs {
    /// Model, as provider/name, or a provider; without it: all with a price
    pub(crate) model: Option<String>,
    /// Set: USD per million tokens of input
    #[arg(
        long,
        value_name = "USD",
        requires = "output",
        requires = "model",
        allow_negative_numbers = true
    )]
    pub(crate) input: Option<f64>,
    /// Set: USD per million tokens of output
    #[arg(long, value_name = "USD", requires = "input", allow_negative_numbers = true)]
    pub(crate) output: Option<f64>,
    /// Set: USD per million tokens read from the cache
    #[arg(long, value_name = "USD", requires = "input", allow_negative_numbers = true)]
    pub(crate) cache_read: Option<f64>,
    /// Set: USD per million tokens written to the cache
    #[arg(long, value_name = "USD", requires = "input", allow_negative_numbers = true)]
    pub(crate) cache_write: Option<f64>,
    /// Set: day that the price is from [default: today]
    #[arg(long, value_name = "DAY", requires = "input")]
    pub(crate) on: Option<String>,
    /// Go back to the price that Weir brings
    #[arg(long, requires = "model", conflicts_with = "input")]
    pub(crate) unset: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}
