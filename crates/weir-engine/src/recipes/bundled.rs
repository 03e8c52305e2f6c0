//! Recipes that come with the program: their files stand in `crates/weir-engine/recipes`. Another one
//! is a file there and a line here.

use std::sync::LazyLock;

use weir_core::recipe::Recipe;

/// A recipe of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BundledRecipe {
    /// Id of the recipe, by which settings and commands name it.
    pub id: &'static str,
    /// Its file.
    pub text: &'static str,
}

/// All of them, by id.
pub const BUNDLED: &[BundledRecipe] = &[
    BundledRecipe {
        id: "changelog-from-git",
        text: include_str!("../../recipes/changelog-from-git.toml"),
    },
    BundledRecipe { id: "find-todos", text: include_str!("../../recipes/find-todos.toml") },
    BundledRecipe {
        id: "rename-across-files",
        text: include_str!("../../recipes/rename-across-files.toml"),
    },
    BundledRecipe {
        id: "summarise-daily-note",
        text: include_str!("../../recipes/summarise-daily-note.toml"),
    },
    BundledRecipe { id: "untagged-notes", text: include_str!("../../recipes/untagged-notes.toml") },
    BundledRecipe { id: "weekly-review", text: include_str!("../../recipes/weekly-review.toml") },
];

/// What the files say, a recipe a line, in the form that is read fastest: every run looks whether one fits
/// before it asks a model (Q1). A test writes and compares it.
const READ: &str = include_str!("../../recipes/bundled.jsonl");

static PARSED: LazyLock<Vec<Recipe>> =
    LazyLock::new(|| READ.lines().filter_map(|line| serde_json::from_str(line).ok()).collect());

/// All of them, read.
pub(super) fn bundled_recipes() -> &'static [Recipe] {
    &PARSED
}
