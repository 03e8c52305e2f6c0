//! Everything that is known about recipes in a folder: what was found, how often each worked, and
//! what waits for the person (M5). Not here: how they are matched, learned and followed
//! (`weir_core::recipe`, `weir_engine::recipes`).

use std::collections::BTreeMap;

use weir_core::recipe::{LearnedRecipe, RecipeStanding};
use weir_core::view::plain::visible_text;
use weir_engine::ports::{Proposal, StoredItem};
use weir_engine::recipes::{FoundRecipe, KEPT_RECIPE, REJECTED, RecipeSurvey, survey_recipes};

use crate::context::InstallationContext;
use crate::failure::usage;
use crate::wiring;

pub mod change;
pub mod settle;
pub mod tell;

/// Everything that is known about recipes here.
pub struct RecipeOverview {
    /// Recipes of every place, with those that cannot be used.
    pub survey: RecipeSurvey,
    counts: BTreeMap<String, RecipeStanding>,
    kept: Vec<StoredItem>,
    /// What waits for the person.
    pub waiting: Vec<Proposal>,
}

impl RecipeOverview {
    /// Recipes and proposals of the person, read from files and store.
    pub async fn load_overview(cx: &InstallationContext) -> anyhow::Result<RecipeOverview> {
        let store = cx.session_store()?;
        let kept = store.stored_items(KEPT_RECIPE).await?;
        let survey = survey_recipes(&wiring::recipe_places(cx), &kept);
        let counts = store.recipe_counts().await?;
        let waiting = store.proposals(KEPT_RECIPE).await?;
        Ok(RecipeOverview { survey, counts, kept, waiting })
    }

    /// How often it worked.
    pub fn standing(&self, id: &str) -> RecipeStanding {
        self.counts.get(id).copied().unwrap_or_default()
    }

    /// The recipe of this id that counts.
    pub fn active_recipe(&self, id: &str) -> Option<&FoundRecipe> {
        let named = |found: &&FoundRecipe| found.recipe.id == id && found.shadowed_by.is_none();
        self.survey.recipes.iter().find(named)
    }

    /// The one of this id that waits.
    pub fn proposal(&self, id: &str) -> Option<&Proposal> {
        self.waiting.iter().find(|proposal| proposal.name == id)
    }

    pub fn find_rejected(&self, id: &str) -> Option<&StoredItem> {
        self.rejections().find(|kept| kept.name == id)
    }

    /// Those that a person said no to.
    pub fn rejections(&self) -> impl Iterator<Item = &StoredItem> {
        self.kept.iter().filter(|kept| kept.state == REJECTED)
    }
}

/// The error for an id that no recipe has.
pub fn missing(id: &str) -> anyhow::Error {
    usage(format!("there is no recipe {}; `weir recipes list` lists all recipes", visible_text(id)))
}

/// The recipe that waits, with its runs.
pub fn parse_proposed_recipe(proposal: &Proposal) -> anyhow::Result<LearnedRecipe> {
    serde_json::from_str(&proposal.text).map_err(|error| {
        usage(format!(
            "the proposed recipe {} cannot be read ({error})",
            visible_text(&proposal.name)
        ))
    })
}
