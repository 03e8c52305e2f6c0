//! The list of recipes for a terminal. Not here: a recipe whole
//! (`weir_install::catalogue::recipes::tell`).

use std::fmt::Write as _;

use weir_core::recipe::{LearnedRecipe, RecipeStanding};
use weir_core::view::plain::visible_text;
use weir_engine::ports::Proposal;
use weir_engine::recipes::FoundRecipe;
use weir_install::catalogue::recipes::RecipeOverview;
use weir_install::catalogue::recipes::tell::{describe_last_use, describe_points, state};

use crate::command::sessions::single_visible_line;
use crate::terminal::format_table;

pub(super) fn render_recipe_list(all: &RecipeOverview) -> String {
    let mut text = String::new();
    let rows: Vec<Vec<String>> = all
        .survey
        .recipes
        .iter()
        .map(|found| recipe_row(found, all.standing(&found.recipe.id)))
        .collect();
    match rows.is_empty() {
        true => text.push_str("No recipes. `weir recipes add FILE` adds one.\n"),
        false => text.push_str(&format_table(&rows)),
    }
    for notice in &all.survey.notices {
        let _ = write!(text, "\nwarning: {}", visible_text(notice));
    }
    for kept in all.rejections() {
        let name = visible_text(&kept.name);
        let _ = write!(text, "\nRejected: {name}; `weir recipes accept {name}` reinstates it.");
    }
    for proposal in &all.waiting {
        text.push_str(&waiting_proposal_line(proposal));
    }
    text.trim_end().to_owned()
}

fn recipe_row(found: &FoundRecipe, standing: RecipeStanding) -> Vec<String> {
    let by = found.shadowed_by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
    vec![
        visible_text(&found.recipe.id),
        visible_text(&found.place),
        describe_points(standing),
        format!("{}{}", state(found, standing), visible_text(&by)),
        describe_last_use(standing),
        single_visible_line(&found.recipe.name),
    ]
}

/// A line about what waits.
fn waiting_proposal_line(proposal: &Proposal) -> String {
    let learned: Option<LearnedRecipe> = serde_json::from_str(&proposal.text).ok();
    let about = learned.map_or_else(String::new, |learned| {
        let runs = learned.evidence.iter().map(|run| format!("{}/{}", run.session, run.run));
        let runs = runs.collect::<Vec<_>>().join(", ");
        format!(
            " “{}”, from {} runs ({runs})",
            single_visible_line(&learned.recipe.name),
            learned.evidence.len()
        )
    });
    let foreign = if proposal.label.is_external() { " UNTRUSTED:" } else { "" };
    let id = visible_text(&proposal.name);
    format!("\nWaiting for your decision:{foreign} {id}{about}; `weir recipes show {id}` shows it.")
}
