//! A person's word about a recipe. What waits is shown whole before it is accepted, with the runs it
//! was made from and whose words went into it. Not here: what the word changes
//! (`weir_install::catalogue::recipes::settle`).

use std::process::ExitCode;

use serde_json::json;
use weir_core::view::plain::visible_text;
use weir_engine::ports::{Proposal, SolvedFilter};
use weir_engine::recipes::{ACTIVE, REJECTED};
use weir_install::catalogue::recipes::settle::{
    accepted, not_for, reinstate_recipe, reject_recipe_by_id, untrusted,
};
use weir_install::catalogue::recipes::{RecipeOverview, missing, parse_proposed_recipe, tell};
use weir_install::context::InstallationContext;

use crate::failure::exit;
use crate::options::{RecipesAcceptArgs, RecipesRejectArgs};
use crate::terminal::{confirm_by_person, is_attended, out_json, out_line};

/// Accepts what waits; otherwise forgets what spoke against a recipe.
pub(super) async fn accept_recipe(
    cx: &InstallationContext,
    args: &RecipesAcceptArgs,
) -> anyhow::Result<ExitCode> {
    let all = RecipeOverview::load_overview(cx).await?;
    if let Some(proposal) = all.proposal(&args.id) {
        return accept_waiting(cx, args, proposal).await;
    }
    reinstate_recipe(cx, &all, &args.id, args.untrusted).await?;
    let id = &args.id;
    if args.json.json {
        out_json(&json!({ "id": id, "points": 0 }))?;
    } else {
        out_line(&format!("{id} is in use again; its points start from zero."))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn accept_waiting(
    cx: &InstallationContext,
    args: &RecipesAcceptArgs,
    proposal: &Proposal,
) -> anyhow::Result<ExitCode> {
    let store = cx.session_store()?;
    let learned = parse_proposed_recipe(proposal)?;
    let runs = store.solved_runs(&SolvedFilter::default()).await?;
    if !args.json.json {
        out_line(&tell::describe_proposal(proposal, &learned, &runs))?;
    }
    if proposal.label.is_external() && !args.untrusted {
        return Err(untrusted(&proposal.name, &proposal.label.to_string()));
    }
    if is_attended() && !args.yes && !args.json.json && !confirm_by_person("Accept it?")? {
        out_line("Not accepted; it still waits for your decision.")?;
        return Ok(ExitCode::from(exit::FAILED));
    }
    let recipe = accepted(cx, proposal, args.untrusted).await?;
    if args.json.json {
        out_json(&json!({ "id": recipe.id, "recipe": recipe, "state": ACTIVE }))?;
    } else {
        out_line(&format!("Accepted {}. It is used from the next run on.", recipe.id))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Says no to what waits or counts, or to certain messages.
pub(super) async fn reject_recipe(
    cx: &InstallationContext,
    args: &RecipesRejectArgs,
) -> anyhow::Result<ExitCode> {
    let all = RecipeOverview::load_overview(cx).await?;
    let id = &args.id;
    if let Some(words) = &args.words {
        let Some(found) = all.active_recipe(id) else { return Err(missing(id)) };
        let place = not_for(cx, found, words).await?;
        if args.json.json {
            out_json(&json!({ "id": id, "not_for": words, "place": place }))?;
        } else {
            let words = visible_text(words);
            out_line(&format!("{id} is no longer used for messages with “{words}” ({place})."))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    reject_recipe_by_id(cx, &all, id).await?;
    if args.json.json {
        out_json(&json!({ "id": id, "state": REJECTED }))?;
    } else {
        out_line(&format!("Rejected {id}: it is neither used nor proposed again."))?;
    }
    Ok(ExitCode::SUCCESS)
}
