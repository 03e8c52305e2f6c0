//! `weir recipes add` and `remove`. Not here: how recipes are kept on the disk
//! (`weir_install::catalogue::recipes`).

use std::process::ExitCode;

use serde_json::json;
use weir_core::recipe::{RecipeSource, check_recipe};
use weir_core::view::plain::visible_text;
use weir_install::catalogue::recipes::change::{folder, parsed, removed};
use weir_install::context::InstallationContext;
use weir_install::{files, wiring};

use crate::failure::usage;
use crate::options::{RecipeArgs, RecipesAddArgs};
use crate::terminal::{err_message, out_json, out_line};

/// Copies a file among the person's own recipes.
pub(super) fn add_recipe(
    cx: &InstallationContext,
    args: &RecipesAddArgs,
) -> anyhow::Result<ExitCode> {
    let text = files::named_text("weir recipes add", &args.file)?;
    let recipe = parsed(&args.file, &text)?;
    let tools = wiring::build_toolbox()?.all_tools();
    let names: Vec<&str> = tools.iter().map(|tool| tool.spec().name.as_str()).collect();
    // Tools of servers and those that were made come and go: what is missing is said, no more.
    for unknown in
        check_recipe(&recipe, Some(&names)).iter().filter(|text| text.contains(".tool: "))
    {
        err_message(&format!("warning: {}", visible_text(unknown)));
    }
    let path = folder(cx).join(format!("{}.toml", recipe.id));
    if path.exists() {
        return Err(usage(format!(
            "you already have a recipe {} ({}); `weir recipes remove {}` removes it",
            recipe.id,
            path.display(),
            recipe.id
        )));
    }
    files::replace_file(&path, text.as_bytes(), 0o644)?;
    let place = path.display().to_string();
    if args.json.json {
        out_json(&json!({ "id": recipe.id, "place": place }))?;
    } else {
        out_line(&format!("Added {}: {place}. It is used from the next run on.", recipe.id))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Takes a recipe away: a file is put aside, a learned one is marked, so that it is not proposed
/// again from the same runs.
pub(super) async fn remove(
    cx: &InstallationContext,
    args: &RecipeArgs,
) -> anyhow::Result<ExitCode> {
    let id = &args.id;
    let (source, kept) = removed(cx, id).await?;
    if args.json.json {
        out_json(&json!({ "id": id, "kept": kept }))?;
    } else if source == RecipeSource::Written {
        out_line(&format!("Removed {id}; it was moved to {kept}."))?;
    } else {
        out_line(&format!("Removed {id}; it is not proposed again."))?;
    }
    Ok(ExitCode::SUCCESS)
}
