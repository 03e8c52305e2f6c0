//! `weir recipes`: which there are, how often each worked, and what waits for the person (M5). Not
//! here: how they are matched, learned and followed (`weir_core::recipe`, `weir_engine::run_recipes_command`).

use std::process::ExitCode;

use serde_json::{Value, json};
use weir_core::recipe::{LearnedRecipe, Recipe, SolvedRun};
use weir_core::view::plain::visible_text;
use weir_engine::ports::{Proposal, SolvedFilter};
use weir_engine::recipes::FoundRecipe;
use weir_install::catalogue::recipes::{
    RecipeOverview, missing, parse_proposed_recipe, tell as words,
};
use weir_install::context::InstallationContext;

use crate::failure::usage;
use crate::options::{JsonFlag, RecipeArgs, RecipesCommand};
use crate::terminal::{out_json, out_line};

mod change;
mod settle;
mod tell;

/// Lists, shows, adds, removes; settles what was proposed.
pub(crate) async fn run_recipes_command(
    cx: &InstallationContext,
    command: RecipesCommand,
) -> anyhow::Result<ExitCode> {
    match command {
        RecipesCommand::List(flag) => list_recipes(cx, flag).await,
        RecipesCommand::Show(args) => show_recipe(cx, &args).await,
        RecipesCommand::Add(args) => change::add_recipe(cx, &args),
        RecipesCommand::Accept(args) => settle::accept_recipe(cx, &args).await,
        RecipesCommand::Reject(args) => settle::reject_recipe(cx, &args).await,
        RecipesCommand::Remove(args) => change::remove(cx, &args).await,
    }
}

async fn list_recipes(cx: &InstallationContext, flag: JsonFlag) -> anyhow::Result<ExitCode> {
    let all = RecipeOverview::load_overview(cx).await?;
    if flag.json {
        let recipes: Vec<Value> =
            all.survey.recipes.iter().map(|found| as_json(found, &all)).collect();
        let rejected: Vec<Value> = all
            .rejections()
            .map(|kept| json!({ "id": kept.name, "by": kept.by, "since": kept.ts }))
            .collect();
        let proposals: Vec<Value> = all.waiting.iter().map(proposal_json).collect();
        out_json(&json!({
            "recipes": recipes, "rejected": rejected, "proposals": proposals,
            "notices": all.survey.notices,
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    out_line(&tell::render_recipe_list(&all))?;
    Ok(ExitCode::SUCCESS)
}

async fn show_recipe(cx: &InstallationContext, args: &RecipeArgs) -> anyhow::Result<ExitCode> {
    let all = RecipeOverview::load_overview(cx).await?;
    if let Some(proposal) = all.proposal(&args.id) {
        let learned = parse_proposed_recipe(proposal)?;
        let runs = cx.session_store()?.solved_runs(&SolvedFilter::default()).await?;
        if args.json.json {
            let mut value = proposal_json(proposal);
            value["evidence"] = evidence_json(&learned, &runs);
            out_json(&value)?;
        } else {
            out_line(&words::describe_proposal(proposal, &learned, &runs))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let Some(found) = all.active_recipe(&args.id) else {
        return match all.find_rejected(&args.id) {
            Some(_) => Err(usage(format!(
                "{} was rejected; `weir recipes accept {}` reinstates it",
                visible_text(&args.id),
                visible_text(&args.id)
            ))),
            None => Err(missing(&args.id)),
        };
    };
    if args.json.json {
        let mut value = as_json(found, &all);
        value["recipe"] = json!(found.recipe);
        out_json(&value)?;
    } else {
        out_line(&words::describe_recipe(&found.recipe, &found.place, all.standing(&args.id)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn as_json(found: &FoundRecipe, all: &RecipeOverview) -> Value {
    let Recipe { id, name, description, source, label, .. } = &found.recipe;
    let standing = all.standing(id);
    json!({
        "id": id,
        "name": name,
        "description": description,
        "source": source,
        "place": found.place,
        "untrusted": label.is_external(),
        "state": words::state(found, standing),
        "points": standing.points(),
        "successes": standing.successes,
        "failures": standing.failures,
        "last_used": standing.last_used,
        "shadowed_by": found.shadowed_by,
    })
}

fn proposal_json(proposal: &Proposal) -> Value {
    let learned: Option<LearnedRecipe> = serde_json::from_str(&proposal.text).ok();
    json!({
        "id": proposal.name,
        "recipe": learned.as_ref().map(|learned| &learned.recipe),
        "evidence": learned.as_ref().map(|learned| &learned.evidence),
        "untrusted": proposal.label.is_external(),
        "label": proposal.label,
        "proposed": proposal.ts,
    })
}

/// The runs that speak for it, with what was said in them as far as it is still known.
fn evidence_json(learned: &LearnedRecipe, runs: &[SolvedRun]) -> Value {
    let row = |run: &weir_core::recipe::RecipeEvidence| {
        let found = runs.iter().find(|r| r.session == run.session && r.run == run.run);
        json!({
            "session": run.session, "run": run.run, "ts": run.ts,
            "said": found.map(|run| &run.said), "workspace": found.map(|run| &run.workspace),
        })
    };
    learned.evidence.iter().map(row).collect()
}
