//! The words of `weir recipes` (C9, M5).

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{EditFlags, JsonFlag, ReviewFlags};

/// What `weir recipes` can do.
#[derive(Debug, Subcommand)]
pub(crate) enum RecipesCommand {
    /// List recipes: where each comes from, how often it worked, and what waits for your decision
    #[command(after_help = "Examples:\n  weir recipes list\n  weir recipes list --json")]
    List(JsonFlag),
    /// Show a recipe: triggers, parameters, steps, and the runs it was learned from
    #[command(after_help = "Example:\n  weir recipes show weekly-review")]
    Show(RecipeArgs),
    /// Add a recipe of your own: checks and copies the file; it applies in all workspaces
    #[command(after_help = "Example:\n  weir recipes add ./release.toml")]
    Add(RecipesAddArgs),
    /// Accept a learned recipe, or reinstate one that failed too often or was rejected
    #[command(
        visible_alias = "approve",
        after_help = "Examples:\n  weir recipes accept learned-add-shopping-1f2e3d4c\n  \
                      weir recipes accept rename-across-files\n  \
                      weir recipes accept learned-add-shopping-1f2e3d4c --edit"
    )]
    Accept(RecipesAcceptArgs),
    /// Reject a recipe permanently, or (--for) only for messages with certain words
    #[command(after_help = "Examples:\n  weir recipes reject learned-add-shopping-1f2e3d4c\n  \
                      weir recipes reject find-todos --for \"todo app\"")]
    Reject(RecipesRejectArgs),
    /// Remove a recipe of your own or a learned one
    #[command(after_help = "Example:\n  weir recipes remove release")]
    Remove(RecipeArgs),
}

/// One recipe.
#[derive(Debug, Args)]
pub(crate) struct RecipeArgs {
    /// Id of the recipe
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Which file becomes a recipe of the person's own.
#[derive(Debug, Args)]
pub(crate) struct RecipesAddArgs {
    /// TOML file with id, name, description, triggers and steps
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Which recipe is accepted.
#[derive(Debug, Args)]
pub(crate) struct RecipesAcceptArgs {
    /// Id of the recipe
    pub(crate) id: String,
    /// Accept it although outside content was involved; read it first
    #[arg(long)]
    pub(crate) untrusted: bool,
    /// Do not ask for confirmation, for use in scripts
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) words: EditFlags,
    #[command(flatten)]
    pub(crate) review: ReviewFlags,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Which recipe is rejected, and for what.
#[derive(Debug, Args)]
pub(crate) struct RecipesRejectArgs {
    /// Id of the recipe
    pub(crate) id: String,
    /// Reject it only for messages that contain these words; it stays in use for all others
    #[arg(long = "for", value_name = "WORDS")]
    pub(crate) words: Option<String>,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}
