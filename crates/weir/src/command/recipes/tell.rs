//! Recipes in words for a terminal. Everything that somebody else wrote is shown with its hidden
//! characters written out.

use std::fmt::Write as _;

use weir_core::recipe::{LearnedRecipe, Recipe, RecipeStep, SolvedRun, Standing};
use weir_core::view::plain::visible;
use weir_engine::ports::Proposal;
use weir_engine::recipes::FoundRecipe;

use super::All;
use crate::command::sessions::{moment, single};
use crate::terminal::table;

/// Characters of what was said in a run.
const SAID_CHARS_MAX: usize = 100;

/// What becomes of a recipe that fits.
pub(crate) fn state(found: &FoundRecipe, standing: Standing) -> &'static str {
    match (&found.shadowed_by, standing) {
        (Some(_), _) => "shadowed",
        (None, standing) if standing.is_demoted() => "demoted",
        (None, standing) if standing.is_fast() => "fast",
        (None, _) => "told",
    }
}

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

fn points(standing: Standing) -> String {
    format!("{:+} ({} ok, {} failed)", standing.points(), standing.successes, standing.failures)
}

fn used(standing: Standing) -> String {
    standing.last_used.map_or_else(|| "never used".into(), moment)
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

/// A recipe whole.
pub(crate) fn recipe(recipe: &Recipe, place: &str, standing: Standing) -> String {
    let mut text = format!("{} ({})\n", visible(&recipe.id), visible(place));
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(text, "{name}: {}", visible(value));
        }
    };
    line("Name", &recipe.name);
    line("Description", &recipe.description);
    line("Triggers", &recipe.triggers.join(", "));
    line("Not for", &recipe.excludes.join(", "));
    line("Profiles", &recipe.profiles.join(", "));
    if recipe.attachments {
        line("Attachments", "also used for messages with attachments");
    }
    if recipe.label.is_external() {
        line("UNTRUSTED", &format!("based on {}", recipe.label));
    }
    line("Points", &points(standing));
    line("Last used", &used(standing));
    if standing.is_demoted() {
        let again = format!("weir recipes accept {}", recipe.id);
        line("Demoted", &format!("it failed more often than it worked; `{again}` reinstates it"));
    }
    for parameter in &recipe.parameters {
        let optional = if parameter.optional { " (optional)" } else { "" };
        let about = match parameter.description.as_str() {
            "" => "(not described)",
            about => about,
        };
        line(&format!("Parameter {}{optional}", parameter.name), about);
    }
    for (at, step) in recipe.steps.iter().enumerate() {
        line(&format!("Step {}", at + 1), &step_text(step));
    }
    text.trim_end().to_owned()
}

fn step_text(step: &RecipeStep) -> String {
    let mut text = format!("{} {}", step.tool, step.input);
    let Some(expect) = &step.expect else { return text };
    let mut wants = Vec::new();
    wants.extend(expect.contains.as_ref().map(|words| format!("contains {words:?}")));
    wants.extend(expect.lacks.as_ref().map(|words| format!("lacks {words:?}")));
    wants.extend(expect.some.then(|| "is not empty".to_owned()));
    let _ = write!(text, "; its result {}", wants.join(" and "));
    text
}

/// A recipe that waits, with the runs that it was made from.
pub(crate) fn proposal(proposal: &Proposal, learned: &LearnedRecipe, runs: &[SolvedRun]) -> String {
    let mut text = recipe(&learned.recipe, "waiting for your decision", Standing::default());
    let _ = write!(text, "\nProposed: {} UTC\nLearned from:", moment(proposal.ts));
    for run in &learned.evidence {
        let found = runs.iter().find(|r| r.session == run.session && r.run == run.run);
        let said = found.map_or("(deleted)".into(), |run| {
            let cut: String = run.said.chars().take(SAID_CHARS_MAX).collect();
            format!("“{}”", single(&cut))
        });
        let _ = write!(text, "\n  {} {} {} UTC: {said}", run.session, run.run, moment(run.ts));
    }
    let id = visible(&proposal.name);
    let _ = write!(text, "\n`weir recipes accept {id}` or `weir recipes reject {id}`.");
    text
}
