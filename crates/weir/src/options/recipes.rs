//! The words of `weir recipes` (C9, M5).

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::JsonFlag;

/// What `weir recipes` can do.
#[derive(Debug, Subcommand)]
pub(crate) enum RecipesCommand {
    /// Every recipe: where it is from, how often it worked, what waits for you
    #[command(after_help = "Examples:\n  weir recipes list\n  weir recipes list --json")]
    List(JsonFlag),
    /// A recipe whole, in use or waiting: triggers, parameters, steps, the runs it was made from
    #[command(after_help = "Example:\n  weir recipes show weekly-review")]
    Show(RecipeArgs),
    /// Put a recipe's file among your own: it is checked, copied, and holds in every workspace
    #[command(after_help = "Example:\n  weir recipes add ./release.toml")]
    Add(RecipesAddArgs),
    /// Accept a recipe that was learned; give one that failed too often, or was rejected, another
    /// chance
    #[command(
        visible_alias = "approve",
        after_help = "Examples:\n  weir recipes accept learned-add-shopping-1f2e3d4c\n  \
                      weir recipes accept rename-across-files"
    )]
    Accept(RecipesAcceptArgs),
    /// Say no to a recipe for good, or (--for) to messages with certain words
    #[command(after_help = "Examples:\n  weir recipes reject learned-add-shopping-1f2e3d4c\n  \
                      weir recipes reject find-todos --for \"todo app\"")]
    Reject(RecipesRejectArgs),
    /// Take a recipe of your own, or a learned one, away
    #[command(after_help = "Example:\n  weir recipes remove release")]
    Remove(RecipeArgs),
}

/// One recipe.
#[derive(Debug, Args)]
pub(crate) struct RecipeArgs {
    /// Its id
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Which file becomes a recipe of the person's own.
#[derive(Debug, Args)]
pub(crate) struct RecipesAddArgs {
    /// The file: TOML with id, name, description, triggers and steps
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Which recipe is accepted.
#[derive(Debug, Args)]
pub(crate) struct RecipesAcceptArgs {
    /// Its id
    pub(crate) id: String,
    /// Accept it although words from outside went into it: read it first
    #[arg(long)]
    pub(crate) untrusted: bool,
    /// Do not ask: for scripts
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Which recipe is rejected, and for what.
#[derive(Debug, Args)]
pub(crate) struct RecipesRejectArgs {
    /// Its id
    pub(crate) id: String,
    /// Only for messages in which these words stand: the recipe stays for all others
    #[arg(long = "for", value_name = "WORDS")]
    pub(crate) words: Option<String>,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}
