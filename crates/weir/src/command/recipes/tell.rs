//! The list of recipes for a terminal. Not here: a recipe whole
//! (`weir_install::catalogue::recipes::tell`).

use std::fmt::Write as _;

use weir_core::recipe::{LearnedRecipe, Standing};
use weir_core::view::plain::visible;
use weir_engine::ports::Proposal;
use weir_engine::recipes::FoundRecipe;
use weir_install::catalogue::recipes::All;
use weir_install::catalogue::recipes::tell::{points, state, used};

use crate::command::sessions::single;
use crate::terminal::table;

pub(super) fn list(all: &All) -> String {
    let mut text = String::new();
    let rows: Vec<Vec<String>> =
        all.survey.recipes.iter().map(|found| row(found, all.standing(&found.recipe.id))).collect();
    match rows.is_empty() {
        true => text.push_str("No recipes. `weir recipes add FILE` adds one.\n"),
        false => text.push_str(&table(&rows)),
    }
    for notice in &all.survey.notices {
        let _ = write!(text, "\nwarning: {}", visible(notice));
    }
    for kept in all.rejections() {
        let name = visible(&kept.name);
        let _ = write!(text, "\nRejected: {name}; `weir recipes accept {name}` reinstates it.");
    }
    for proposal in &all.waiting {
        text.push_str(&waiting(proposal));
    }
    text.trim_end().to_owned()
}

fn row(found: &FoundRecipe, standing: Standing) -> Vec<String> {
    let by = found.shadowed_by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
    vec![
        visible(&found.recipe.id),
        visible(&found.place),
        points(standing),
        format!("{}{}", state(found, standing), visible(&by)),
        used(standing),
        single(&found.recipe.name),
    ]
}

/// A line about what waits.
fn waiting(proposal: &Proposal) -> String {
    let learned: Option<LearnedRecipe> = serde_json::from_str(&proposal.text).ok();
    let about = learned.map_or_else(String::new, |learned| {
        let runs = learned.evidence.iter().map(|run| format!("{}/{}", run.session, run.run));
        let runs = runs.collect::<Vec<_>>().join(", ");
        format!(
            " “{}”, from {} runs ({runs})",
            single(&learned.recipe.name),
            learned.evidence.len()
        )
    });
    let foreign = if proposal.label.is_external() { " UNTRUSTED:" } else { "" };
    let id = visible(&proposal.name);
    format!("\nWaiting for your decision:{foreign} {id}{about}; `weir recipes show {id}` shows it.")
}
