//! Recipes of the person's own on the disk: changed whole or not at all, and nothing is lost when
//! one goes. Not here: what a command says of it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use toml_edit::{Array, DocumentMut};
use weir_core::recipe::{Recipe, RecipeSource, is_id};
use weir_core::view::plain::visible_text;
use weir_engine::ports::{Clock, StoredItem};
use weir_engine::recipes::{KEPT_RECIPE, REJECTED, parse_file};

use super::{RecipeOverview, missing};
use crate::context::InstallationContext;
use crate::failure::usage;
use crate::files;
use crate::wiring::{self, SystemClock};

/// Ending of a file that was put away: it is no recipe any more.
const REMOVED: &str = "removed";

/// The person's folder of recipes.
pub fn folder(cx: &InstallationContext) -> PathBuf {
    cx.dirs.config.join("recipes")
}

/// The recipe in a text.
///
/// # Errors
/// A usage error with every fault and its line.
pub fn parsed(place: &Path, text: &str) -> anyhow::Result<Recipe> {
    parse_file(text).map_err(|faults| {
        let place = place.display();
        let lines: Vec<String> =
            faults.iter().map(|fault| format!("{place}:{}: {}", fault.line, fault.says)).collect();
        usage(format!("this is not a valid recipe:\n{}", visible_lines(&lines)))
    })
}

fn visible_lines(lines: &[String]) -> String {
    lines.iter().map(|line| visible_text(line)).collect::<Vec<_>>().join("\n")
}

/// Takes a recipe away; whose it was, and what is left of it.
///
/// # Errors
/// There is none of this id, it waits, or it comes with the program.
pub async fn removed(cx: &InstallationContext, id: &str) -> anyhow::Result<(RecipeSource, String)> {
    if !is_id(id) {
        return Err(missing(id));
    }
    let all = RecipeOverview::load_overview(cx).await?;
    let Some(found) = all.active_recipe(id) else {
        return match all.proposal(id) {
            Some(_) => Err(usage(format!(
                "{id} waits for your decision; reject it with `weir recipes reject {id}`"
            ))),
            None => Err(missing(id)),
        };
    };
    let kept = match found.recipe.source {
        RecipeSource::Written => put_away(Path::new(&found.place))?.display().to_string(),
        RecipeSource::Learned => {
            save_recipe_state(cx, &found.recipe, REJECTED).await?;
            "learned; it is not proposed again".to_owned()
        }
        RecipeSource::Bundled => {
            return Err(usage(format!(
                "{id} comes with the program; `weir recipes reject {id}` disables it"
            )));
        }
    };
    // Another one of this id begins with nothing.
    cx.session_store()?.settle_recipe(id).await?;
    Ok((found.recipe.source, kept))
}

fn put_away(path: &Path) -> anyhow::Result<PathBuf> {
    let now = SystemClock::default().now().0;
    let kept = path.with_extension(format!("toml.{now}.{REMOVED}"));
    let doing = || format!("moving {} to {}", path.display(), kept.display());
    fs::rename(path, &kept).with_context(doing)?;
    Ok(kept)
}

/// Keeps a recipe in a state.
pub async fn save_recipe_state(
    cx: &InstallationContext,
    recipe: &Recipe,
    state: &str,
) -> anyhow::Result<()> {
    let kept = StoredItem {
        what: KEPT_RECIPE.into(),
        name: recipe.id.clone(),
        text: serde_json::to_string(recipe)?,
        state: state.into(),
        hash: String::new(),
        version: 1,
        label: recipe.label.clone(),
        by: wiring::principal_name(cx),
        ts: SystemClock::default().now(),
    };
    cx.session_store()?.store_item(&kept).await?;
    Ok(())
}

/// Adds words that rule the recipe in a file out. Comments and order stay.
///
/// # Errors
/// It would be no recipe then.
pub fn add_recipe_excludes(from: &str, to: &Path, words: &str) -> anyhow::Result<Recipe> {
    let mut document: DocumentMut =
        from.parse().with_context(|| format!("reading {}", to.display()))?;
    let list = document.entry("excludes").or_insert(toml_edit::value(Array::new()));
    let Some(list) = list.as_array_mut() else {
        return Err(usage(format!("{}: excludes is not a list", to.display())));
    };
    list.push(words);
    let text = document.to_string();
    let recipe = parsed(to, &text)?;
    files::replace_file(to, text.as_bytes(), 0o644)?;
    Ok(recipe)
}
