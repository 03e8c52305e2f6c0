//! A person's word about a recipe. What waits is shown whole before it is accepted, with the runs it
//! was made from and whose words went into it. Not here: what the word changes
//! (`weir_install::catalogue::recipes::settle`).

use std::process::ExitCode;

use serde_json::json;
use weir_core::view::plain::visible_text;
use weir_engine::ports::{Proposal, SolvedFilter};
use weir_engine::recipes::{ACTIVE, REJECTED, recipe_of};
use weir_install::catalogue::own_words::OwnWords;
use weir_install::catalogue::recipes::settle::{
    accepted, editable_text, edited_proposal, not_for, reinstate_recipe, reject_recipe_by_id,
    untrusted,
};
use weir_install::catalogue::recipes::{RecipeOverview, missing, parse_proposed_recipe, tell};
use weir_install::context::InstallationContext;
use weir_install::wiring::principal_name;

use crate::failure::{exit, usage};
use crate::options::{RecipesAcceptArgs, RecipesRejectArgs};
use crate::review::{ReviewOutcome, ReviewSubject, read_own_words, settle_review};
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
    if args.words.is_given() {
        return Err(usage(format!(
            "{} does not wait for your decision, so there are no words to change",
            visible_text(&args.id)
        )));
    }
    let text = describe_reinstated(&all, &args.id);
    let (deed, question) = ("recipes accept", "Use it again?");
    let reviewed =
        ReviewSubject { deed, text: &text, question, identity: &args.id, editable: None };
    if settle_review(&args.review, &reviewed, args.json.json)? == ReviewOutcome::Previewed {
        return Ok(ExitCode::SUCCESS);
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

/// A recipe that counts again, or would.
fn describe_reinstated(all: &RecipeOverview, id: &str) -> String {
    let standing = all.standing(id);
    let kept = all.find_rejected(id);
    let rejected = kept.and_then(|kept| recipe_of(kept).ok());
    let shown = match (&rejected, all.active_recipe(id)) {
        (Some(recipe), _) => tell::describe_recipe(recipe, "rejected", standing),
        (None, Some(found)) => tell::describe_recipe(&found.recipe, &found.place, standing),
        (None, None) => format!("{}, a recipe that was rejected", visible_text(id)),
    };
    format!("{}\nIts points would start from zero.\n", shown.trim_end())
}

async fn accept_waiting(
    cx: &InstallationContext,
    args: &RecipesAcceptArgs,
    proposal: &Proposal,
) -> anyhow::Result<ExitCode> {
    let store = cx.session_store()?;
    let edited = edited_recipe(cx, args, proposal)?;
    let kept = edited.as_ref().unwrap_or(proposal);
    let learned = parse_proposed_recipe(kept)?;
    let runs = store.solved_runs(&SolvedFilter::default()).await?;
    let text = tell::describe_proposal(kept, &learned, &runs);
    if !args.json.json && !args.review.is_given() {
        out_line(&text)?;
    }
    if proposal.label.is_external() && !args.untrusted {
        return Err(untrusted(&proposal.name, &proposal.label.to_string()));
    }
    let Proposal { name, text: proposed, label, ts, .. } = proposal;
    let identity = json!([name, proposed, label, ts, kept.text]).to_string();
    let (deed, question) = ("recipes accept", "Accept it?");
    let editable = editable_text(&learned.recipe);
    let editable = editable.as_deref();
    let reviewed = ReviewSubject { deed, text: &text, question, identity: &identity, editable };
    let agreed = match settle_review(&args.review, &reviewed, args.json.json)? {
        ReviewOutcome::Previewed => return Ok(ExitCode::SUCCESS),
        ReviewOutcome::Agreed => true,
        ReviewOutcome::Unsaid => false,
    };
    if !agreed && is_attended() && !args.yes && !args.json.json && !confirm_by_person("Accept it?")?
    {
        out_line("Not accepted; it still waits for your decision.")?;
        return Ok(ExitCode::from(exit::FAILED));
    }
    let recipe = accepted(cx, proposal, edited.as_ref(), args.untrusted).await?;
    if args.json.json {
        out_json(&json!({ "id": recipe.id, "recipe": recipe, "state": ACTIVE }))?;
    } else {
        let how = if edited.is_some() { " in your words" } else { "" };
        out_line(&format!("Accepted {}{how}. It is used from the next run on.", recipe.id))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The proposal in the person's words, where they wrote some.
fn edited_recipe(
    cx: &InstallationContext,
    args: &RecipesAcceptArgs,
    proposal: &Proposal,
) -> anyhow::Result<Option<Proposal>> {
    if !args.words.is_given() {
        return Ok(None);
    }
    let Some(proposed) = editable_text(&parse_proposed_recipe(proposal)?.recipe) else {
        return Err(usage("no file can hold this recipe, so it cannot be changed here"));
    };
    let Some(text) = read_own_words(&args.words, &proposed)? else { return Ok(None) };
    let by = principal_name(cx);
    edited_proposal(cx, proposal, &OwnWords { text: &text, by: &by }).map(Some)
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
