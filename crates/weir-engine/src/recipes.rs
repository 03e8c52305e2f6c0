//! Recipes at work (M5): which there are, which fit a message, and what is proposed after a run. Not
//! here: the pure rules about them (`weir_core::recipe`), and the session that follows one.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_core::ids::Timestamp;
use weir_core::memory::{BY_PERSON, MemorySource};
use weir_core::prompt::PromptScene;
use weir_core::recipe::{
    LearnedRecipe, Recipe, RecipeCandidate, RecipeMatch, RecipeStanding,
    learn_recipes as learned_from, match_recipes,
};
use weir_core::record::sha256_hex;
use weir_core::session::SessionConfig;

use crate::blocking::run_blocking;
use crate::parts::EngineParts;
use crate::ports::{Proposal, SolvedFilter, Store, StoreError, StoredItem};

mod bundled;
mod file;
mod find;
#[cfg(test)]
mod tests;

pub use bundled::{BUNDLED, BundledRecipe};
pub use file::{FILE_BYTES_MAX, RecipeFault, parse_file};
pub use find::{
    ACTIVE, FoundRecipe, KEPT_RECIPE, REJECTED, REPLACED_RECIPE, RecipePlaces, RecipeSurvey,
    bundled_text, recipe_of, survey_recipes,
};

/// Solved runs that are looked at for what could be learned.
const RUNS_MAX: usize = 400;

/// Recipes that may be used by a session with these settings, with how often each worked: of its
/// profile, with tools that it has. The demoted ones are among them.
///
/// # Errors
/// The store cannot be read.
pub(crate) async fn usable_recipes(
    parts: &Arc<EngineParts>,
    places: &RecipePlaces,
    config: &SessionConfig,
) -> Result<Vec<RecipeMatch>, StoreError> {
    if config.recipes.off || config.depth > 0 {
        return Ok(Vec::new());
    }
    let (survey, counts) = survey_with_counts(parts, places).await?;
    for notice in &survey.notices {
        tracing::debug!("{notice}");
    }
    let has = |tool: &str| config.all_tools().any(|spec| spec.name == tool);
    let fits = |recipe: &Recipe| {
        let profiles = &recipe.profiles;
        (profiles.is_empty() || profiles.contains(&config.profile.name))
            && recipe.steps.iter().all(|step| has(&step.tool))
    };
    let used = survey.recipes.into_iter().filter(|found| found.shadowed_by.is_none());
    let recipes = used.map(|found| found.recipe).filter(fits);
    let with_standing = |recipe: Recipe| {
        let standing = counts.get(&recipe.id).copied().unwrap_or_default();
        RecipeMatch { recipe, score: 0.0, standing }
    };
    Ok(recipes.map(with_standing).collect())
}

/// Recipes that fit what was said, best first. Recipes that cannot be read are as none: the run goes
/// on without them.
pub(crate) async fn recipes_for_message(
    parts: &Arc<EngineParts>,
    places: &RecipePlaces,
    config: &SessionConfig,
    said: &str,
) -> Vec<RecipeMatch> {
    if said.trim().is_empty() {
        return Vec::new();
    }
    match usable_recipes(parts, places, config).await {
        Ok(known) => {
            let candidates = known
                .iter()
                .map(|found| RecipeCandidate { recipe: &found.recipe, standing: found.standing });
            let floor = f64::from(config.recipes.floor) / 100.0;
            match_recipes(said, &config.profile.name, floor, candidates)
        }
        Err(error) => {
            tracing::warn!(%error, "recipes cannot be read and are left out");
            Vec::new()
        }
    }
}

/// The recipe that is followed by itself, if there is one: it is not told beside.
pub(crate) fn fast_recipe(
    scene: &PromptScene,
    config: &SessionConfig,
    attached: bool,
) -> Option<String> {
    let first = scene.recipes.first()?;
    let fast = config.recipes.fast && first.standing.is_fast();
    (fast && (!attached || first.recipe.attachments)).then(|| first.recipe.id.clone())
}

/// Looks through solved runs for recipes, and puts what is new before the person; where a setting
/// says so, and nothing foreign went into it, it counts at once. Doing it again changes nothing: what
/// is known, waits or was rejected is not proposed.
///
/// # Errors
/// The store failed; the next run tries again.
pub(crate) async fn learn_recipes(
    parts: &Arc<EngineParts>,
    places: &RecipePlaces,
    config: &SessionConfig,
) -> Result<Vec<LearnedRecipe>, StoreError> {
    let filter = SolvedFilter { profile: Some(config.profile.name.clone()), limit: Some(RUNS_MAX) };
    let runs = parts.store.solved_runs(&filter).await?;
    if runs.len() < weir_core::recipe::EVIDENCE_RUNS {
        return Ok(Vec::new());
    }
    let known = known_recipes(parts, places).await?;
    let learned = run_blocking(move || learned_from(&runs, &known)).await;
    let learned = learned.unwrap_or_default();
    for made in &learned {
        match config.recipes.accepts && !made.recipe.label.is_external() {
            true => store_recipe(parts, made).await?,
            false => propose_recipe(parts, made).await?,
        }
    }
    Ok(learned)
}

/// Settles a recipe that waits: from then on it is kept as `state` says, and how often one of its name
/// worked is counted anew. Gives the recipe.
///
/// # Errors
/// It cannot be read, or the store failed.
pub async fn settle_recipe(
    store: &dyn Store,
    proposal: &Proposal,
    state: &str,
    now: Timestamp,
) -> Result<Recipe, StoreError> {
    let kept = item_of_proposal(proposal, KEPT_RECIPE, state, now)?;
    let recipe = recipe_of(&kept).map_err(|why| damaged_proposal(proposal, why))?;
    // Kept first: should the program end in between, it waits once more and nothing is lost.
    store.store_item(&kept).await?;
    store.settle_recipe(&proposal.name).await?;
    store.withdraw_proposal(KEPT_RECIPE, &proposal.name).await?;
    Ok(recipe)
}

/// Remembers what was proposed before a person's own words take its place: the same runs, and others like
/// them, speak for it again, and what the person took out of it must not come back by itself.
///
/// # Errors
/// It cannot be read, or the store failed.
pub async fn keep_replaced_recipe(
    store: &dyn Store,
    proposal: &Proposal,
    now: Timestamp,
) -> Result<(), StoreError> {
    let kept = item_of_proposal(proposal, REPLACED_RECIPE, REJECTED, now)?;
    store.store_item(&kept).await.map(drop)
}

/// The recipe of a proposal as something that is kept.
fn item_of_proposal(
    proposal: &Proposal,
    what: &str,
    state: &str,
    now: Timestamp,
) -> Result<StoredItem, StoreError> {
    let damaged = |error: serde_json::Error| damaged_proposal(proposal, error.to_string());
    let learned: LearnedRecipe = serde_json::from_str(&proposal.text).map_err(damaged)?;
    let text = serde_json::to_string(&learned.recipe).map_err(damaged)?;
    Ok(StoredItem {
        what: what.into(),
        name: proposal.name.clone(),
        hash: sha256_hex(text.as_bytes()),
        text,
        state: state.into(),
        version: 1,
        label: learned.recipe.label.joined_with(&proposal.label),
        by: proposal.source.edited_by.clone().unwrap_or_else(|| BY_PERSON.into()),
        ts: now,
    })
}

fn damaged_proposal(proposal: &Proposal, why: String) -> StoreError {
    StoreError::Damaged { what: format!("the proposed recipe {}", proposal.name), why }
}

/// Every recipe that was ever there for a kind of task: in use, shadowed, waiting, rejected, replaced by a
/// person's own words.
async fn known_recipes(
    parts: &Arc<EngineParts>,
    places: &RecipePlaces,
) -> Result<Vec<Recipe>, StoreError> {
    let (survey, _) = survey_with_counts(parts, places).await?;
    let mut known: Vec<Recipe> = survey.recipes.into_iter().map(|found| found.recipe).collect();
    for what in [KEPT_RECIPE, REPLACED_RECIPE] {
        let kept = parts.store.stored_items(what).await?;
        known.extend(kept.iter().filter_map(|kept| recipe_of(kept).ok()));
    }
    let waiting = parts.store.proposals(KEPT_RECIPE).await?;
    let proposed = |proposal: &Proposal| {
        serde_json::from_str::<LearnedRecipe>(&proposal.text).map(|learned| learned.recipe)
    };
    known.extend(waiting.iter().filter_map(|proposal| proposed(proposal).ok()));
    Ok(known)
}

/// What is found, and how often each recipe worked.
async fn survey_with_counts(
    parts: &Arc<EngineParts>,
    places: &RecipePlaces,
) -> Result<(RecipeSurvey, BTreeMap<String, RecipeStanding>), StoreError> {
    let kept = parts.store.stored_items(KEPT_RECIPE).await?;
    let counts = parts.store.recipe_counts().await?;
    let places = places.clone();
    let survey = run_blocking(move || survey_recipes(&places, &kept)).await;
    Ok((survey.unwrap_or_default(), counts))
}

async fn store_recipe(parts: &Arc<EngineParts>, made: &LearnedRecipe) -> Result<(), StoreError> {
    let kept = StoredItem {
        what: KEPT_RECIPE.into(),
        name: made.recipe.id.clone(),
        text: serde_json::to_string(&made.recipe).unwrap_or_default(),
        state: ACTIVE.into(),
        hash: String::new(),
        version: 1,
        label: made.recipe.label.clone(),
        by: "recipes.accept_learned".into(),
        ts: parts.clock.now(),
    };
    parts.store.store_item(&kept).await.map(drop)
}

async fn propose_recipe(parts: &Arc<EngineParts>, made: &LearnedRecipe) -> Result<(), StoreError> {
    let newest = made.evidence.first();
    let proposal = Proposal {
        what: KEPT_RECIPE.into(),
        name: made.recipe.id.clone(),
        text: serde_json::to_string(made).unwrap_or_default(),
        source: MemorySource {
            by: "runs".into(),
            session: newest.map(|run| run.session.clone()),
            ..MemorySource::default()
        },
        label: made.recipe.label.clone(),
        ts: parts.clock.now(),
    };
    parts.store.propose(&proposal).await
}
