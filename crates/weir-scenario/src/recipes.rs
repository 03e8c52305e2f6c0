//! The recipes of a scenario: those that were there before, how often each worked, and
//! the law that journals with recipes keep. Not here: which of them fits; that is the engine's business.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use weir_core::event::{Event, RunStatus};
use weir_core::governance::label::Label;
use weir_core::ids::{SessionId, Timestamp};
use weir_core::recipe::{LearnedRecipe, Recipe, RecipeUse, check_recipe};
use weir_core::session::RecipePolicy;
use weir_engine::hub::PublishedFact;
use weir_engine::ports::{Append, Clock, LeaseOwner, SessionMeta, Store, StoredItem};
use weir_engine::recipes::{self, ACTIVE, KEPT_RECIPE, REJECTED, RecipePlaces};

use crate::parse::Setup;

/// How often it is looked for a proposal that follows from a run.
const WAITS_MAX: u32 = 2_000;
/// How long between two looks.
const WAIT: Duration = Duration::from_millis(5);

/// What may be done with recipes: `off`, `slow` (none takes the fast path), `still` (none is learned),
/// `accept` (learned ones count without asking).
///
/// # Errors
/// A word means nothing.
pub fn policy(setup: &Setup) -> anyhow::Result<RecipePolicy> {
    let mut policy = RecipePolicy::default();
    for word in &setup.recipe_policy {
        match word.as_str() {
            "off" => policy.off = true,
            "slow" => policy.fast = false,
            "still" => policy.learn = false,
            "accept" => policy.accepts = true,
            _ => bail!("recipes off, slow, still or accept, not {word:?}"),
        }
    }
    Ok(policy)
}

/// Where recipes are looked for: in the person's own folder, and with the program if the setup says
/// so.
pub fn places(setup: &Setup, folder: &Path) -> RecipePlaces {
    let own = Some(folder.join("config/recipes"));
    RecipePlaces { own, bundled: setup.bundled_recipes, ..RecipePlaces::default() }
}

/// What a person does with the proposed recipe in whose name these words stand. What follows from a
/// run is proposed a moment after it: so long it is waited for.
///
/// # Errors
/// There is no such recipe.
pub async fn settle(
    store: &dyn Store,
    clock: &dyn Clock,
    words: &str,
    accepted: bool,
) -> anyhow::Result<()> {
    let state = if accepted { ACTIVE } else { REJECTED };
    for _ in 0..WAITS_MAX {
        for proposal in store.proposals(KEPT_RECIPE).await? {
            let learned: LearnedRecipe = serde_json::from_str(&proposal.text)?;
            if learned.recipe.name.contains(words) {
                let now = clock.now();
                return Ok(recipes::settle_recipe(store, &proposal, state, now).await.map(drop)?);
            }
        }
        // The program may have died after it was done.
        let done = |kept: &StoredItem| {
            kept.state == state
                && recipes::recipe_of(kept).is_ok_and(|recipe| recipe.name.contains(words))
        };
        if store.stored_items(KEPT_RECIPE).await?.iter().any(done) {
            return Ok(());
        }
        tokio::time::sleep(WAIT).await;
    }
    let kept: Vec<String> =
        store.stored_items(KEPT_RECIPE).await?.into_iter().map(|k| k.name).collect();
    bail!("no recipe with {words:?} waits; kept are {kept:?}")
}

/// Puts the recipes into the store that were there before, with how often each worked. Doing it twice
/// changes nothing.
///
/// # Errors
/// A recipe is none, or the store refuses it.
pub async fn seed(store: &dyn Store, setup: &Setup, now: Timestamp) -> anyhow::Result<()> {
    let kept = store.stored_items(KEPT_RECIPE).await?;
    for (successes, failures, text) in &setup.recipes {
        let recipe: Recipe = serde_json::from_str(text).context("recipe")?;
        if kept.iter().any(|kept| kept.name == recipe.id) {
            continue;
        }
        let wrong = check_recipe(&recipe, None);
        ensure!(wrong.is_empty(), "the recipe {}: {}", recipe.id, wrong.join("; "));
        store
            .store_item(&StoredItem {
                what: KEPT_RECIPE.into(),
                name: recipe.id.clone(),
                text: text.clone(),
                state: ACTIVE.into(),
                hash: String::new(),
                version: 1,
                label: Label::default(),
                by: "person".into(),
                ts: now,
            })
            .await?;
        count(store, &recipe.id, (*successes, *failures), now).await?;
    }
    Ok(())
}

/// Uses are counted with the facts of a run, so an earlier session writes them.
async fn count(
    store: &dyn Store,
    recipe: &str,
    (successes, failures): (u32, u32),
    now: Timestamp,
) -> anyhow::Result<()> {
    let session = SessionId::new(format!("earlier-{recipe}"));
    let owner =
        LeaseOwner { pid: 4_000_000, started: 1, host: "scenario".into(), label: "seed".into() };
    let lease = store.acquire_lease(&session, &owner).await?;
    let used = |ok| (RecipeUse { recipe: recipe.into(), fast: false, ok }, now);
    let uses = (0..successes).map(|_| used(true)).chain((0..failures).map(|_| used(false)));
    store
        .append(Append {
            recipe_use: uses.collect(),
            ..Append::of_records(
                lease.clone(),
                0,
                Vec::new(),
                SessionMeta {
                    id: session,
                    workspace: String::new(),
                    title: "earlier".into(),
                    model: String::new(),
                    profile: String::new(),
                    status: "idle".into(),
                    created: now,
                    updated: now,
                    facts: 0,
                    parent: None,
                },
            )
        })
        .await?;
    Ok(store.release_lease(&lease).await?)
}

/// Law 7: the steps of a recipe are made once and in their order, nothing is made of it once it was
/// left, waves are no model calls, and what the run says about it is what happened.
///
/// # Errors
/// What does not hold.
pub fn steps_are_made_once(facts: &[PublishedFact]) -> anyhow::Result<()> {
    let (mut fast, mut planned, mut stepped, mut left, mut asked) = (false, 0, 0, false, 0);
    for fact in facts {
        match fact.event.as_ref() {
            Event::RunStarted(_) => {
                (fast, planned, stepped, left, asked) = (false, 0, 0, false, 0);
            }
            Event::RecipeMatched(f) => fast = f.fast,
            Event::RecipePlanned(f) => {
                ensure!(fast && planned == 0, "law 7: {} was planned unasked or twice", f.recipe);
                planned = f.calls.len();
            }
            Event::TurnStarted(f) => asked += u32::from(!f.recipe),
            Event::RecipeStepped(f) => {
                ensure!(f.step as usize == stepped + 1, "law 7: step {} after {stepped}", f.step);
                ensure!(!left, "law 7: step {} was made after the recipe was left", f.step);
                stepped += f.calls.len();
            }
            Event::RecipeFallback(f) => {
                ensure!(!left, "law 7: {} was left twice", f.recipe);
                left = true;
            }
            Event::RunFinished(f) => {
                ensure!(f.iterations == asked, "law 7: {} counts waves as model calls", f.run);
                let followed = planned > 0 && stepped == planned && !left;
                let ok = followed && f.status == RunStatus::Completed;
                if let Some(used) = f.recipe.as_ref().filter(|used| used.fast) {
                    ensure!(used.ok == ok, "law 7: {} says {used:?}", f.run);
                } else {
                    ensure!(!fast || !ok, "law 7: {} says nothing of its fast path", f.run);
                }
            }
            _ => (),
        }
    }
    Ok(())
}
