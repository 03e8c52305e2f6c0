//! Recipes: found, counted, accepted, rejected, put away.

use weir_core::recipe::RecipeSource;
use weir_engine::ports::SolvedFilter;

use super::{
    LibraryAction, LibraryDecision, LibraryItem, LibraryLine, LibraryListing, PendingLibraryChange,
    TextKind, check_unchanged, check_unchanged_if_seen, hash_of, unsupported_action,
};
use crate::catalogue::recipes::{RecipeOverview, change, parse_proposed_recipe, settle, tell};
use crate::context::InstallationContext;
use crate::failure::{stale, usage};

fn recipe_lines(all: &RecipeOverview) -> Vec<LibraryLine> {
    let line = |name: &str, about: String, origin: String, state: &str| LibraryLine {
        name: name.to_owned(),
        about,
        origin,
        state: state.to_owned(),
        waits: false,
        untrusted: false,
    };
    let mut lines: Vec<LibraryLine> = Vec::new();
    for proposal in &all.waiting {
        let about =
            parse_proposed_recipe(proposal).map(|learned| learned.recipe.name).unwrap_or_default();
        let origin = "learned from your runs".to_owned();
        let line = line(&proposal.name, about, origin, "waits");
        lines.push(LibraryLine { waits: true, untrusted: proposal.label.is_external(), ..line });
    }
    for found in &all.survey.recipes {
        let recipe = &found.recipe;
        if lines.iter().any(|line| line.name == recipe.id) || found.shadowed_by.is_some() {
            continue;
        }
        let state = tell::state(found, all.standing(&recipe.id));
        let line = line(&recipe.id, recipe.name.clone(), found.place.clone(), state);
        lines.push(LibraryLine { untrusted: recipe.label.is_external(), ..line });
    }
    for kept in all.rejections() {
        if !lines.iter().any(|line| line.name == kept.name) {
            lines.push(line(&kept.name, String::new(), "rejected by you".into(), "rejected"));
        }
    }
    lines
}

/// Every recipe, with what waits.
pub(super) async fn list_recipes(cx: &InstallationContext) -> anyhow::Result<LibraryListing> {
    let all = RecipeOverview::load_overview(cx).await?;
    Ok(LibraryListing { lines: recipe_lines(&all), notes: all.survey.notices })
}

/// One recipe, with how often it worked.
pub(super) async fn recipe_item(cx: &InstallationContext, id: &str) -> anyhow::Result<LibraryItem> {
    let all = RecipeOverview::load_overview(cx).await?;
    let line = recipe_lines(&all).into_iter().find(|line| line.name == id);
    let line = line.ok_or_else(|| usage(format!("there is no recipe {id}")))?;
    let standing = all.standing(id);
    let mut facts = vec![
        ("Worked".to_owned(), format!("{} times", standing.successes)),
        ("Failed".to_owned(), format!("{} times", standing.failures)),
    ];
    let mut item = LibraryItem {
        line,
        facts: Vec::new(),
        text: String::new(),
        text_kind: TextKind::Plain,
        hash: String::new(),
        waiting: None,
        deeds: Vec::new(),
    };
    if let Some(proposal) = all.proposal(id) {
        let learned = parse_proposed_recipe(proposal)?;
        let runs = cx.session_store()?.solved_runs(&SolvedFilter::default()).await?;
        item.deeds = vec![LibraryAction::Accept, LibraryAction::Reject];
        item.waiting = Some(PendingLibraryChange {
            what: "learned from runs that went the same way".into(),
            text: tell::describe_proposal(proposal, &learned, &runs),
            diff: String::new(),
            whose: match proposal.label.is_clean() {
                true => "your own words only".into(),
                false => proposal.label.to_string(),
            },
            untrusted: proposal.label.is_external(),
            hash: hash_of(&proposal.text),
            editable: settle::editable_text(&learned.recipe),
        });
    } else if let Some(found) = all.active_recipe(id) {
        item.text = tell::describe_recipe(&found.recipe, &found.place, standing);
        facts.push(("Place".into(), found.place.clone()));
        item.deeds = match found.recipe.source {
            RecipeSource::Written => vec![LibraryAction::Accept, LibraryAction::Remove],
            RecipeSource::Learned => {
                vec![LibraryAction::Accept, LibraryAction::Reject, LibraryAction::Remove]
            }
            RecipeSource::Bundled => vec![LibraryAction::Accept, LibraryAction::Reject],
        };
        if !standing.is_demoted() {
            item.deeds.retain(|deed| *deed != LibraryAction::Accept);
        }
    } else {
        item.deeds = vec![LibraryAction::Accept];
    }
    item.facts = facts;
    Ok(item)
}

/// Accepts, rejects or puts away.
pub(super) async fn act_on_recipe(
    cx: &InstallationContext,
    id: &str,
    word: &LibraryDecision<'_>,
) -> anyhow::Result<String> {
    let all = RecipeOverview::load_overview(cx).await?;
    match word.deed {
        LibraryAction::Accept => match all.proposal(id) {
            Some(proposal) => {
                check_unchanged(word.hash, &hash_of(&proposal.text))?;
                let edited =
                    word.own_words().map(|own| settle::edited_proposal(cx, proposal, &own));
                let edited = edited.transpose()?;
                settle::accepted(cx, proposal, edited.as_ref(), word.untrusted).await?;
                let how = if edited.is_some() { " in your words" } else { "" };
                Ok(format!("{id} is accepted{how}. It holds from the next run on."))
            }
            // What was looked at waited, and does not any more.
            None if !word.hash.is_empty() => Err(stale(format!(
                "{id} was decided about meanwhile, so nothing was changed; look at it again"
            ))),
            None if word.own_words.is_some() => Err(usage(format!(
                "{id} does not wait for a decision: there are no words to change"
            ))),
            None => {
                settle::reinstate_recipe(cx, &all, id, word.untrusted).await?;
                Ok(format!("{id} counts again; how often it worked is counted anew."))
            }
        },
        LibraryAction::Reject => {
            if let Some(proposal) = all.proposal(id) {
                check_unchanged_if_seen(word.hash, &hash_of(&proposal.text))?;
            }
            settle::reject_recipe_by_id(cx, &all, id).await?;
            Ok(format!("{id} is rejected: it is neither used nor proposed again."))
        }
        LibraryAction::Remove => {
            change::removed(cx, id).await?;
            Ok(format!("{id} is removed."))
        }
        deed @ (LibraryAction::Enable | LibraryAction::Disable | LibraryAction::Approve) => {
            Err(unsupported_action(deed))
        }
    }
}
