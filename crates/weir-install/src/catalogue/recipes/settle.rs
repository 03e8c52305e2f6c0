//! A person's word about a recipe: yes, no, not for this, once more. Not here: how it is shown
//! before.

use std::path::{Path, PathBuf};

use toml_edit::DocumentMut;
use weir_core::governance::label::Label;
use weir_core::recipe::{LearnedRecipe, Recipe, RecipeSource, check_recipe};
use weir_core::view::plain::visible_text;
use weir_engine::ports::{Clock, Proposal};
use weir_engine::recipes::{
    self, ACTIVE, FILE_BYTES_MAX, FoundRecipe, KEPT_RECIPE, REJECTED, bundled_text,
};

use super::{RecipeOverview, change, missing, parse_proposed_recipe};
use crate::catalogue::own_words::OwnWords;
use crate::context::InstallationContext;
use crate::failure::{stale, usage};
use crate::files;
use crate::wiring::{SystemClock, secret_texts};

/// Forgets what spoke against a recipe.
///
/// # Errors
/// There is none, or it has words from outside and nobody said that they were read.
pub async fn reinstate_recipe(
    cx: &InstallationContext,
    all: &RecipeOverview,
    id: &str,
    untrusted_is_fine: bool,
) -> anyhow::Result<()> {
    if let Some(kept) = all.find_rejected(id) {
        // A recipe of the program was switched off by the name alone; a learned one comes back.
        let learned = recipes::recipe_of(kept).ok().filter(|_| bundled_text(id).is_none());
        match learned {
            Some(recipe) if recipe.label.is_external() && !untrusted_is_fine => {
                return Err(untrusted(id, &recipe.label.to_string()));
            }
            Some(recipe) => change::save_recipe_state(cx, &recipe, ACTIVE).await?,
            None => drop(cx.session_store()?.remove_stored_item(KEPT_RECIPE, id).await?),
        }
    } else if all.active_recipe(id).is_none() {
        return Err(missing(id));
    }
    cx.session_store()?.settle_recipe(id).await?;
    Ok(())
}

pub fn untrusted(id: &str, whose: &str) -> anyhow::Error {
    usage(format!(
        "{id} was learned from runs in which the agent had read outside content ({}). Whoever \
         wrote that content may have influenced this recipe, which later sessions would follow. \
         Read it; if it does what you want, accept it with `weir recipes accept {id} --untrusted`",
        visible_text(whose)
    ))
}

/// A learned recipe as a file that a person may change; `None`: no file can hold it.
pub fn editable_text(recipe: &Recipe) -> Option<String> {
    let bare = Recipe { label: Label::default(), ..recipe.clone() };
    let text = toml::to_string_pretty(&bare).ok()?;
    let mut document: DocumentMut = text.parse().ok()?;
    // Where it is from is not a person's to say.
    document.remove("source");
    Some(document.to_string())
}

/// The proposal in other words, checked as a recipe of the person's own is. It is from the runs that
/// taught it, and as foreign as they were.
///
/// # Errors
/// A usage error: it is no recipe, has another id, or a secret stands in it.
pub fn edited_proposal(
    cx: &InstallationContext,
    proposal: &Proposal,
    own: &OwnWords<'_>,
) -> anyhow::Result<Proposal> {
    own.check_length(FILE_BYTES_MAX)?;
    own.check_secrets(&secret_texts(cx)?)?;
    let learned = parse_proposed_recipe(proposal)?;
    let written = change::parsed(Path::new("your words"), own.text)?;
    if written.id != learned.recipe.id {
        return Err(usage(format!(
            "the id of a recipe that waits stays {}; `weir recipes add FILE` adds one of another id",
            visible_text(&learned.recipe.id)
        )));
    }
    let Recipe { source, label, .. } = learned.recipe;
    let recipe = Recipe { source, label, ..written };
    let text = serde_json::to_string(&LearnedRecipe { recipe, ..learned })?;
    Ok(own.in_place_of(proposal, text))
}

/// Accepts a proposal that a person read, or what `edited` makes of it.
///
/// # Errors
/// It has words from outside and nobody said that they were read, or it is another one meanwhile.
pub async fn accepted(
    cx: &InstallationContext,
    proposal: &Proposal,
    edited: Option<&Proposal>,
    untrusted_is_fine: bool,
) -> anyhow::Result<Recipe> {
    if proposal.label.is_external() && !untrusted_is_fine {
        return Err(untrusted(&proposal.name, &proposal.label.to_string()));
    }
    // Between reading and accepting it may have become another one.
    let store = cx.session_store()?;
    if !store.proposals(KEPT_RECIPE).await?.contains(proposal) {
        return Err(stale("the proposal has changed meanwhile; review it again"));
    }
    let at = SystemClock::default().now();
    if edited.is_some() {
        recipes::keep_replaced_recipe(store.as_ref(), proposal, at).await?;
    }
    let kept = edited.unwrap_or(proposal);
    Ok(recipes::settle_recipe(store.as_ref(), kept, ACTIVE, at).await?)
}

/// Says no to what waits or counts.
///
/// # Errors
/// There is none of this id, or it is the person's own file.
pub async fn reject_recipe_by_id(
    cx: &InstallationContext,
    all: &RecipeOverview,
    id: &str,
) -> anyhow::Result<()> {
    if let Some(proposal) = all.proposal(id) {
        let at = SystemClock::default().now();
        recipes::settle_recipe(cx.session_store()?.as_ref(), proposal, REJECTED, at).await?;
        return Ok(());
    }
    let Some(found) = all.active_recipe(id) else { return Err(missing(id)) };
    if found.recipe.source == RecipeSource::Written {
        return Err(usage(format!(
            "{id} is your own ({}); `weir recipes remove {id}` removes it",
            found.place
        )));
    }
    change::save_recipe_state(cx, &found.recipe, REJECTED).await
}

/// Adds words that rule a recipe out, where it stands. One of the program is copied among the
/// person's own first: the copy counts instead.
pub async fn not_for(
    cx: &InstallationContext,
    found: &FoundRecipe,
    words: &str,
) -> anyhow::Result<String> {
    let words = words.trim();
    match found.recipe.source {
        RecipeSource::Learned => {
            let mut recipe: Recipe = found.recipe.clone();
            recipe.excludes.push(words.to_owned());
            if let Some(wrong) = check_recipe(&recipe, None).first() {
                return Err(usage(visible_text(wrong)));
            }
            change::save_recipe_state(cx, &recipe, ACTIVE).await?;
            Ok("learned".into())
        }
        RecipeSource::Written => {
            let path = Path::new(&found.place);
            let text = files::named_text("weir recipes reject", path)?;
            change::add_recipe_excludes(&text, path, words)?;
            Ok(found.place.clone())
        }
        RecipeSource::Bundled => {
            let path: PathBuf = change::folder(cx).join(format!("{}.toml", found.recipe.id));
            let text = bundled_text(&found.recipe.id).unwrap_or_default();
            change::add_recipe_excludes(text, &path, words)?;
            Ok(path.display().to_string())
        }
    }
}
