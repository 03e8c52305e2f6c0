//! Which recipes fit a message (M5). Pure: words come in, a ranking comes out. Not here: where
//! recipes are kept, and what becomes of the best one.
//!
//! Two things count. *Recall*: how many of the recipe's triggers stand in the message. *Likeness*:
//! how much of the message the recipe knows at all, so that a long message that mentions a trigger
//! in passing is not taken for the task. Why no vectors: decision 22.

use super::{Recipe, RecipeMatch, RecipeSource, RecipeStanding, words};
use crate::sorting::sort_stably;

/// A recipe that fits less well than this is no match, unless a setting says otherwise.
pub const FLOOR_DEFAULT: f64 = 0.5;
/// Most matches that are told.
pub const MATCHES_MAX: usize = 3;
/// So many triggers in a message are as good as all: the list holds other words for the same thing.
const TRIGGERS_ENOUGH: usize = 2;
/// What recall alone is worth, in per cent of itself: likeness makes up the rest.
const RECALL_ALONE: u32 = 40;
/// Words that may stand between two words of a trigger: `daily work note` for `daily note`.
const GAP_MAX: usize = 1;

/// A recipe that may fit.
#[derive(Debug, Clone, Copy)]
pub struct RecipeCandidate<'a> {
    /// The recipe.
    pub recipe: &'a Recipe,
    /// How often it worked.
    pub standing: RecipeStanding,
}

/// The candidates that fit what was said in this profile, best first: at most [`MATCHES_MAX`], none
/// below `floor`. What was demoted, belongs to another profile or is excluded by a word is left out.
pub fn match_recipes<'a>(
    said: &str,
    profile: &str,
    floor: f64,
    candidates: impl IntoIterator<Item = RecipeCandidate<'a>>,
) -> Vec<RecipeMatch> {
    let said = ComparedMessage::from_text(said);
    let fits = |candidate: &RecipeCandidate<'_>| {
        let profiles = &candidate.recipe.profiles;
        !candidate.standing.is_demoted()
            && (profiles.is_empty() || profiles.iter().any(|name| name == profile))
    };
    let mut found: Vec<RecipeMatch> = candidates
        .into_iter()
        .filter(fits)
        .filter_map(|RecipeCandidate { recipe, standing }| {
            let score = said.score_recipe(recipe).filter(|score| *score >= floor)?;
            Some(RecipeMatch { recipe: recipe.clone(), score, standing })
        })
        .collect();
    sort_stably(&mut found, |a, b| {
        b.score
            .total_cmp(&a.score)
            .then_with(|| b.standing.points().cmp(&a.standing.points()))
            .then_with(|| source_weight(b.recipe.source).cmp(&source_weight(a.recipe.source)))
            .then_with(|| a.recipe.id.cmp(&b.recipe.id))
    });
    found.truncate(MATCHES_MAX);
    found
}

/// How well a recipe fits what was said, from 0 to 1; `None`: not at all, or a word rules it out.
pub fn recipe_score(said: &str, recipe: &Recipe) -> Option<f64> {
    ComparedMessage::from_text(said).score_recipe(recipe)
}

/// A message as it is compared.
struct ComparedMessage {
    /// Every word, in order.
    all: Vec<String>,
    /// Those that say what it is about.
    telling: Vec<String>,
}

impl ComparedMessage {
    fn from_text(text: &str) -> ComparedMessage {
        let all = words::folded_words(text);
        let telling = all.iter().filter(|word| !words::is_stop_word(word)).cloned().collect();
        ComparedMessage { all, telling }
    }

    fn score_recipe(&self, recipe: &Recipe) -> Option<f64> {
        if recipe.excludes.iter().any(|phrase| self.has_phrase(phrase)) {
            return None;
        }
        let hits = count_different(recipe.triggers.iter().filter(|phrase| self.has_phrase(phrase)));
        if hits == 0 {
            return None;
        }
        let enough = count_different(&recipe.triggers).min(TRIGGERS_ENOUGH);
        let alone = f64::from(RECALL_ALONE) / 100.0;
        let likeness = alone + (1.0 - alone) * self.recipe_likeness(recipe);
        let score = ratio(hits.min(enough), enough) * likeness;
        // Figures that stand in a journal have few digits.
        Some((score * 1_000.0).round() / 1_000.0)
    }

    /// The share of this message's words that the recipe knows.
    fn recipe_likeness(&self, recipe: &Recipe) -> f64 {
        let mut known = words::telling_words(&recipe.name);
        known.extend(words::telling_words(&recipe.description));
        recipe.triggers.iter().for_each(|phrase| known.extend(words::telling_words(phrase)));
        let mut own: Vec<&String> = self.telling.iter().collect();
        own.sort();
        own.dedup();
        let common = own.iter().filter(|word| words::stands_in(word, &known)).count();
        ratio(common, own.len())
    }

    /// Whether a word or phrase stands in it: its words one after the other, but for endings.
    fn has_phrase(&self, phrase: &str) -> bool {
        let telling = words::telling_words(phrase);
        // A phrase that has nothing but small words is looked for as it is.
        let (wanted, among) = match telling.is_empty() {
            true => (words::folded_words(phrase), &self.all),
            false => (telling, &self.telling),
        };
        let Some(first) = wanted.first() else { return false };
        let starts = among.iter().enumerate().filter(|(_, word)| words::is_same_word(first, word));
        starts.into_iter().any(|(at, _)| follows_closely(&wanted[1..], &among[at + 1..]))
    }
}

/// How many of the phrases are different ones: `todo` and `todos` are one, for one word of a message is
/// not two hits. Phrases of several words say enough each.
fn count_different<'a>(phrases: impl IntoIterator<Item = &'a String>) -> usize {
    let mut known: Vec<Vec<String>> = Vec::new();
    for phrase in phrases {
        let telling = words::telling_words(phrase);
        let own = if telling.is_empty() { words::folded_words(phrase) } else { telling };
        let is_same = |other: &Vec<String>| match (other.as_slice(), own.as_slice()) {
            ([a], [b]) => words::is_same_word(a, b),
            _ => false,
        };
        if !known.iter().any(is_same) {
            known.push(own);
        }
    }
    known.len()
}

/// Whether the words of `wanted` stand at the beginning of `rest`, in order, with small gaps.
fn follows_closely(wanted: &[String], rest: &[String]) -> bool {
    let Some(next) = wanted.first() else { return true };
    let near = rest.iter().take(GAP_MAX + 1).enumerate();
    near.filter(|(_, word)| words::is_same_word(next, word))
        .any(|(at, _)| follows_closely(&wanted[1..], &rest[at + 1..]))
}

fn ratio(part: usize, whole: usize) -> f64 {
    let number = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    if whole == 0 { 0.0 } else { number(part) / number(whole) }
}

/// What a person wrote goes before what was learned, and that before what came with the program.
fn source_weight(source: RecipeSource) -> u8 {
    match source {
        RecipeSource::Written => 2,
        RecipeSource::Learned => 1,
        RecipeSource::Bundled => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(id: &str, triggers: &[&str], excludes: &[&str]) -> Recipe {
        let list = |words: &[&str]| words.iter().map(|word| (*word).to_string()).collect();
        Recipe {
            id: id.into(),
            name: "Daily summary".into(),
            description: "Summarises the daily note.".into(),
            triggers: list(triggers),
            excludes: list(excludes),
            parameters: Vec::new(),
            steps: Vec::new(),
            source: RecipeSource::Bundled,
            profiles: Vec::new(),
            attachments: false,
            label: crate::label::Label::default(),
        }
    }

    fn ids(said: &str, recipes: &[Recipe]) -> Vec<String> {
        let candidates = recipes
            .iter()
            .map(|recipe| RecipeCandidate { recipe, standing: RecipeStanding::default() });
        let found = match_recipes(said, "agent", FLOOR_DEFAULT, candidates);
        found.into_iter().map(|found| found.recipe.id).collect()
    }

    #[test]
    fn m5_a_message_matches_by_its_words() {
        let daily = [recipe("daily", &["daily note", "summary", "summarise"], &["weekly"])];
        for (said, fits) in [
            ("Summarise my daily note", true),
            ("Please summarise today's daily note.", true),
            ("A summary of the daily notes, please!", true),
            ("SUMMARISE THE DAILY NOTE", true),
            ("summary", true),
            // A trigger in passing is no task.
            ("Move the daily note of the garden project into the archive folder", false),
            ("Why does the parser panic on empty input?", false),
            // In another order the words say something else.
            ("Note the daily standup of the team somewhere", false),
            // A word that rules it out.
            ("Summarise my daily notes as a weekly summary", false),
            ("", false),
            ("... ?!", false),
        ] {
            assert_eq!(
                !ids(said, &daily).is_empty(),
                fits,
                "{said}: {:?}",
                recipe_score(said, &daily[0])
            );
        }
    }

    #[test]
    fn m5_accents_and_plurals_make_no_difference() {
        let cafes = [recipe("cafe", &["Cafés", "Übersicht"], &["nicht für"])];
        assert_eq!(ids("Ubersicht cafe", &cafes), ["cafe"]);
        assert_eq!(ids("U\u{308}bersicht der cafe\u{301}s", &cafes), ["cafe"]);
        assert_eq!(ids("Übersicht der Cafés, nicht fu\u{308}r mich", &cafes), [""; 0]);
    }

    #[test]
    fn m5_one_word_in_two_forms_is_one_trigger() {
        let todos = [recipe("todos", &["todo", "todos", "open todos"], &[])];
        assert_eq!(recipe_score("todos", &todos[0]), Some(0.5));
        assert_eq!(ids("Fix the todo app", &todos), [""; 0]);
        assert_eq!(ids("open todos", &todos), ["todos"]);
        // Where there is no other trigger, one is all of them.
        assert_eq!(recipe_score("todo", &recipe("one", &["todo", "Todos"], &[])), Some(1.0));
    }

    #[test]
    fn m5_the_better_one_comes_first() {
        let recipes = [
            recipe("one", &["summary", "archive", "move"], &[]),
            recipe("two", &["daily note", "summary"], &[]),
        ];
        assert_eq!(ids("summary of the daily note", &recipes), ["two", "one"]);
        // Of equals the one that worked more often, then the one that a person wrote.
        let a = recipe("a", &["summary"], &[]);
        let b = Recipe { id: "b".into(), ..a.clone() };
        let c = Recipe { id: "c".into(), source: RecipeSource::Written, ..a.clone() };
        let used = RecipeStanding { successes: 4, failures: 1, last_used: None };
        let candidates = [
            RecipeCandidate { recipe: &a, standing: RecipeStanding::default() },
            RecipeCandidate { recipe: &b, standing: used },
            RecipeCandidate { recipe: &c, standing: RecipeStanding::default() },
        ];
        let order: Vec<String> = match_recipes("summary", "agent", 0.0, candidates)
            .into_iter()
            .map(|m| m.recipe.id)
            .collect();
        assert_eq!(order, ["b", "c", "a"]);
    }

    #[test]
    fn m5_at_most_three_are_told() {
        let many: Vec<Recipe> =
            (0..9).map(|n| recipe(&format!("r{n}"), &["summary"], &[])).collect();
        assert_eq!(ids("summary", &many).len(), MATCHES_MAX);
    }

    #[test]
    fn m5_demoted_ones_and_other_profiles_never_match() {
        let mut one = recipe("one", &["summary"], &[]);
        let demoted = RecipeStanding { successes: 1, failures: 2, last_used: None };
        let of = |recipe: &Recipe, standing, profile: &str| {
            match_recipes("summary", profile, 0.0, [RecipeCandidate { recipe, standing }]).len()
        };
        assert_eq!(of(&one, demoted, "agent"), 0);
        assert_eq!(of(&one, RecipeStanding::default(), "agent"), 1);
        one.profiles = vec!["code".into(), "ask".into()];
        assert_eq!(of(&one, RecipeStanding::default(), "agent"), 0);
        assert_eq!(of(&one, RecipeStanding::default(), "code"), 1);
    }

    #[test]
    fn m5_a_long_paste_costs_no_more_than_a_page() {
        let daily = recipe("daily", &["daily note"], &[]);
        let text = "the daily note ".repeat(100_000);
        assert!(recipe_score(&text, &daily).is_some());
        let other = format!("{} daily note", "word7 ".repeat(100_000));
        assert_eq!(recipe_score(&other, &daily), None);
    }

    #[test]
    fn m5_the_floor_is_a_setting() {
        let daily = recipe("daily", &["daily note", "summary"], &[]);
        let said = "Move the daily note of the garden project into the archive folder";
        let of = |floor| {
            let candidate = RecipeCandidate { recipe: &daily, standing: RecipeStanding::default() };
            match_recipes(said, "agent", floor, [candidate]).len()
        };
        assert_eq!((of(0.5), of(0.2)), (0, 1));
    }
}
