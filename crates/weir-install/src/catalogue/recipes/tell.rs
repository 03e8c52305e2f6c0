//! A recipe in words for people. Everything that somebody else wrote is shown with its hidden
//! characters written out.

use std::fmt::Write as _;

use weir_core::recipe::{LearnedRecipe, Recipe, RecipeStanding, RecipeStep, SolvedRun};
use weir_core::view::plain::visible_text;
use weir_engine::ports::Proposal;
use weir_engine::recipes::FoundRecipe;

use crate::wording::{single_visible_line, timestamp_text};

/// Characters of what was said in a run.
const SAID_CHARS_MAX: usize = 100;

/// What becomes of a recipe that fits.
pub fn state(found: &FoundRecipe, standing: RecipeStanding) -> &'static str {
    match (&found.shadowed_by, standing) {
        (Some(_), _) => "shadowed",
        (None, standing) if standing.is_demoted() => "demoted",
        (None, standing) if standing.is_fast() => "fast",
        (None, _) => "told",
    }
}

pub fn describe_points(standing: RecipeStanding) -> String {
    format!("{:+} ({} ok, {} failed)", standing.points(), standing.successes, standing.failures)
}

pub fn describe_last_use(standing: RecipeStanding) -> String {
    standing.last_used.map_or_else(|| "never used".into(), timestamp_text)
}

/// A recipe whole.
pub fn describe_recipe(recipe: &Recipe, place: &str, standing: RecipeStanding) -> String {
    let mut text = format!("{} ({})\n", visible_text(&recipe.id), visible_text(place));
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(text, "{name}: {}", visible_text(value));
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
    line("Points", &describe_points(standing));
    line("Last used", &describe_last_use(standing));
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
pub fn describe_proposal(
    proposal: &Proposal,
    learned: &LearnedRecipe,
    runs: &[SolvedRun],
) -> String {
    let mut text =
        describe_recipe(&learned.recipe, "waiting for your decision", RecipeStanding::default());
    let _ = write!(text, "\nProposed: {} UTC", timestamp_text(proposal.ts));
    if let Some(by) = &proposal.source.edited_by {
        let _ = write!(text, "\nEdited: in words of {}", visible_text(by));
    }
    text.push_str("\nLearned from:");
    for run in &learned.evidence {
        let found = runs.iter().find(|r| r.session == run.session && r.run == run.run);
        let said = found.map_or("(deleted)".into(), |run| {
            let cut: String = run.said.chars().take(SAID_CHARS_MAX).collect();
            format!("“{}”", single_visible_line(&cut))
        });
        let _ =
            write!(text, "\n  {} {} {} UTC: {said}", run.session, run.run, timestamp_text(run.ts));
    }
    let id = visible_text(&proposal.name);
    let _ = write!(text, "\n`weir recipes accept {id}` or `weir recipes reject {id}`.");
    text
}
