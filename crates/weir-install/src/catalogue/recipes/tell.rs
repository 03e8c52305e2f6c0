//! A recipe in words for people. Everything that somebody else wrote is shown with its hidden
//! characters written out.

use std::fmt::Write as _;

use weir_core::recipe::{LearnedRecipe, Recipe, RecipeStep, SolvedRun, Standing};
use weir_core::view::plain::visible;
use weir_engine::ports::Proposal;
use weir_engine::recipes::FoundRecipe;

use crate::wording::{moment, single};

/// Characters of what was said in a run.
const SAID_CHARS_MAX: usize = 100;

/// What becomes of a recipe that fits.
pub fn state(found: &FoundRecipe, standing: Standing) -> &'static str {
    match (&found.shadowed_by, standing) {
        (Some(_), _) => "shadowed",
        (None, standing) if standing.is_demoted() => "demoted",
        (None, standing) if standing.is_fast() => "fast",
        (None, _) => "told",
    }
}

pub fn points(standing: Standing) -> String {
    format!("{:+} ({} ok, {} failed)", standing.points(), standing.successes, standing.failures)
}

pub fn used(standing: Standing) -> String {
    standing.last_used.map_or_else(|| "never used".into(), moment)
}

/// A recipe whole.
pub fn recipe(recipe: &Recipe, place: &str, standing: Standing) -> String {
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
pub fn proposal(proposal: &Proposal, learned: &LearnedRecipe, runs: &[SolvedRun]) -> String {
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
