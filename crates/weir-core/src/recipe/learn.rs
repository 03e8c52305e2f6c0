//! Recipes from runs (M5): when the same kind of task was solved three times with the same shape of
//! calls, there is something to propose. Pure: runs come in, proposals come out. Not here: which
//! runs are noted (`session::solving`), where they are kept, and who accepts a proposal.
//!
//! What is the same in all runs stays as it is; what differs becomes a parameter. In doubt nothing
//! is learned: a recipe that is missing costs a few model calls, one that was made of two different
//! tasks costs trust.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Recipe, RecipeSource, RecipeStep, TRIGGERS_MAX, check_recipe, words};
use crate::ids::{RunId, SessionId, Timestamp};
use crate::label::{Integrity, Label, Privacy};
use crate::record::sha256_hex;
use crate::sorting::sort_stably_by_key;

mod merge;
mod private;
#[cfg(test)]
mod tests;

/// Runs of the same kind and shape from which a recipe is proposed.
pub const EVIDENCE_RUNS: usize = 3;
/// Fewest calls that are a way to do something.
pub const SHAPE_CALLS_MIN: usize = 2;
/// Most calls that are still one.
pub const SHAPE_CALLS_MAX: usize = 16;
/// Most runs that one recipe is made from.
const EVIDENCE_MAX: usize = 5;
/// Share of the shorter message's words that must be common: a half.
const COMMON_SHARE: (usize, usize) = (1, 2);
/// Common words from which two messages can be about the same.
const COMMON_WORDS_MIN: usize = 2;
/// Most words of one trigger.
const PHRASE_WORDS_MAX: usize = 3;
/// Words of the triggers that stand in an id.
const ID_WORDS: usize = 3;
/// Digits of the hash in an id.
const ID_DIGITS: usize = 8;
/// Most characters of a word in an id.
const ID_WORD_CHARS_MAX: usize = 14;

/// A run that completed without a failed or refused call, as far as a recipe can be made from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct SolvedRun {
    /// Id of the session that the run belongs to.
    pub session: SessionId,
    /// Number of the run in its session.
    pub run: RunId,
    /// Root of the workspace.
    pub workspace: String,
    /// Name of the profile in which it ran.
    pub profile: String,
    /// When it was finished.
    pub ts: Timestamp,
    /// What the person said.
    pub said: String,
    /// Its calls in order, without those that only steer the agent.
    pub calls: Vec<SolvedCall>,
    /// What stood in the context.
    #[serde(default, skip_serializing_if = "Label::is_clean")]
    pub label: Label,
}

/// One call of a solved run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct SolvedCall {
    /// Name of the tool that is called.
    pub tool: String,
    /// Arguments of the call, as a JSON object.
    pub input: Value,
}

/// A recipe that was made from runs, and those runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct LearnedRecipe {
    /// The recipe with its steps.
    pub recipe: Recipe,
    /// The runs, newest first.
    pub evidence: Vec<RecipeEvidence>,
}

/// A run that speaks for a recipe. What was said in it stays with the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct RecipeEvidence {
    /// Id of the session.
    pub session: SessionId,
    /// Number of the run in its session.
    pub run: RunId,
    /// When it was finished.
    pub ts: Timestamp,
}

/// The recipes that `runs` speak for and that are none of `known`: written, learned, waiting or
/// rejected before. The same runs give the same recipes.
pub fn learn_recipes(runs: &[SolvedRun], known: &[Recipe]) -> Vec<LearnedRecipe> {
    let mut shapes: BTreeMap<(String, &str), Vec<ComparedRun<'_>>> = BTreeMap::new();
    for run in runs.iter().filter(|run| is_usable(run)) {
        let told = ComparedRun { run, words: words::telling_words(&run.said) };
        shapes.entry((call_shape(&run.calls), run.profile.as_str())).or_default().push(told);
    }
    let mut learned: Vec<LearnedRecipe> = Vec::new();
    for of_shape in shapes.values_mut().filter(|runs| runs.len() >= EVIDENCE_RUNS) {
        sort_stably_by_key(of_shape, |told| {
            (std::cmp::Reverse(told.run.ts), told.run.session.clone())
        });
        let mut used: BTreeSet<(&SessionId, RunId)> = BTreeSet::new();
        for seed in 0..of_shape.len() {
            let free = |told: &&ComparedRun<'_>| !used.contains(&(&told.run.session, told.run.run));
            let rest: Vec<&ComparedRun<'_>> = of_shape[seed..].iter().filter(free).collect();
            let group = similar_runs(&rest);
            let Some(made) = recipe_of(&group) else { continue };
            used.extend(group.iter().map(|told| (&told.run.session, told.run.run)));
            let is_known = |recipe: &Recipe| same_task(recipe, &made.recipe);
            if !known.iter().chain(learned.iter().map(|l| &l.recipe)).any(is_known) {
                learned.push(made);
            }
        }
    }
    learned
}

/// Whether two recipes are for the same kind of task, done the same way: the same tools with the
/// same names of arguments, and at least half of the words of the smaller list of triggers.
pub fn same_task(a: &Recipe, b: &Recipe) -> bool {
    let calls = |recipe: &Recipe| {
        let call =
            |step: &RecipeStep| SolvedCall { tool: step.tool.clone(), input: step.input.clone() };
        call_shape(&recipe.steps.iter().map(call).collect::<Vec<_>>())
    };
    let triggers = |recipe: &Recipe| -> Vec<String> {
        recipe.triggers.iter().flat_map(|phrase| words::telling_words(phrase)).collect()
    };
    let (of_a, of_b) = (triggers(a), triggers(b));
    let common = of_a.iter().filter(|word| words::stands_in(word, &of_b)).count();
    let fewer = of_a.len().min(of_b.len());
    a.id == b.id || (calls(a) == calls(b) && common > 0 && common * 2 >= fewer)
}

/// A run with the words of its message.
struct ComparedRun<'a> {
    run: &'a SolvedRun,
    words: Vec<String>,
}

/// Whether a recipe may be made from a run. Whoever notes a run looks at the same.
fn is_usable(run: &SolvedRun) -> bool {
    let calls = (SHAPE_CALLS_MIN..=SHAPE_CALLS_MAX).contains(&run.calls.len());
    let text =
        |call: &SolvedCall| call.input.is_object() && !private::is_redacted_value(&call.input);
    calls
        && run.label.privacy < Privacy::Secret
        && !private::is_redacted(&run.said)
        && run.calls.iter().all(text)
}

/// Tools and names of arguments, in order.
fn call_shape(calls: &[SolvedCall]) -> String {
    let call = |call: &SolvedCall| {
        let mut keys: Vec<&str> = match &call.input {
            Value::Object(fields) => fields.keys().map(String::as_str).collect(),
            _ => vec!["?"],
        };
        keys.sort_unstable();
        format!("{}({})", call.tool, keys.join(","))
    };
    calls.iter().map(call).collect::<Vec<_>>().join(" ")
}

/// The first run and those after it that are about the same as every one chosen before.
fn similar_runs<'a>(runs: &[&'a ComparedRun<'a>]) -> Vec<&'a ComparedRun<'a>> {
    let mut group: Vec<&ComparedRun<'_>> = Vec::new();
    for told in runs {
        let fits = group.iter().all(|other| same_kind(&told.words, &other.words));
        if fits && group.len() < EVIDENCE_MAX {
            group.push(told);
        }
        // Whoever begins with another run gets another group.
        if group.is_empty() {
            break;
        }
    }
    group
}

/// Whether two messages are about the same kind of task.
fn same_kind(a: &[String], b: &[String]) -> bool {
    let (few, many) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let common = few.iter().filter(|word| words::stands_in(word, many)).count();
    common >= COMMON_WORDS_MIN.min(few.len())
        && common > 0
        && common * COMMON_SHARE.1 >= few.len() * COMMON_SHARE.0
}

fn recipe_of(group: &[&ComparedRun<'_>]) -> Option<LearnedRecipe> {
    if group.len() < EVIDENCE_RUNS {
        return None;
    }
    let runs: Vec<&SolvedRun> = group.iter().map(|told| told.run).collect();
    let merged = merge::merge_runs(&runs)?;
    let triggers = common_triggers(group, &merged.values);
    let newest = runs.first()?;
    if triggers.is_empty() {
        return None;
    }
    let mut label = Label { integrity: Integrity::Generated, ..Label::default() };
    runs.iter().for_each(|run| label.join(&run.label));
    let like = triggers.join(" … ");
    let mut tools: Vec<&str> = merged.steps.iter().map(|step| step.tool.as_str()).collect();
    tools.dedup();
    let cut = |text: String, max: usize| text.chars().take(max).collect::<String>();
    let recipe = Recipe {
        id: id_of(&triggers, &call_shape(&newest.calls)),
        name: cut(capitalise_text(&like), super::NAME_CHARS_MAX),
        description: cut(
            format!("For messages like “{like}”: {}.", tools.join(", ")),
            super::DESCRIPTION_CHARS_MAX,
        ),
        triggers,
        excludes: Vec::new(),
        parameters: merged.parameters,
        steps: merged.steps,
        source: RecipeSource::Learned,
        profiles: vec![newest.profile.clone()],
        attachments: false,
        label,
    };
    let evidence = runs.iter().map(|run| RecipeEvidence {
        session: run.session.clone(),
        run: run.run,
        ts: run.ts,
    });
    let evidence = evidence.collect();
    check_recipe(&recipe, None).is_empty().then_some(LearnedRecipe { recipe, evidence })
}

/// Words that all messages have in common and that belong to no parameter; those that stand beside
/// each other in every message are one phrase.
fn common_triggers(group: &[&ComparedRun<'_>], values: &BTreeSet<String>) -> Vec<String> {
    let Some((newest, others)) = group.split_first() else { return Vec::new() };
    let of_values: Vec<String> =
        values.iter().flat_map(|value| words::telling_words(value)).collect();
    let common = |word: &String| {
        let numeric = word.chars().any(char::is_numeric);
        !numeric
            && !words::stands_in(word, &of_values)
            && others.iter().all(|told| words::stands_in(word, &told.words))
    };
    let beside = |first: &String, second: &String| {
        let pair = |pair: &[String]| {
            words::is_same_word(&pair[0], first) && words::is_same_word(&pair[1], second)
        };
        others.iter().all(|told| told.words.windows(2).any(pair))
    };
    let mut phrases: Vec<Vec<&String>> = Vec::new();
    let mut last: Option<&String> = None;
    let mut seen = BTreeSet::new();
    for word in &newest.words {
        let kept = common(word) && seen.insert(word);
        match (kept, last, phrases.last_mut()) {
            (true, Some(before), Some(phrase))
                if phrase.len() < PHRASE_WORDS_MAX && beside(before, word) =>
            {
                phrase.push(word);
            }
            (true, _, _) => phrases.push(vec![word]),
            (false, _, _) => (),
        }
        last = kept.then_some(word);
    }
    let text = |phrase: &Vec<&String>| {
        phrase.iter().map(|word| word.as_str()).collect::<Vec<_>>().join(" ")
    };
    let phrases: Vec<String> = phrases.iter().map(text).collect();
    // One word in common is no kind of task, unless nothing else was said.
    let several = phrases.iter().map(|phrase| phrase.split(' ').count()).sum::<usize>() > 1;
    let alone = group.iter().all(|told| told.words.len() == 1);
    match several || alone {
        true => phrases.into_iter().take(TRIGGERS_MAX).collect(),
        false => Vec::new(),
    }
}

/// The id of a recipe that was made from runs of this shape and these words: the same every time.
fn id_of(triggers: &[String], shape: &str) -> String {
    let ascii = |word: &str| -> String {
        word.chars().filter(char::is_ascii_alphanumeric).take(ID_WORD_CHARS_MAX).collect()
    };
    let words: Vec<String> = triggers
        .iter()
        .flat_map(|phrase| phrase.split(' '))
        .map(ascii)
        .filter(|word| !word.is_empty())
        .take(ID_WORDS)
        .collect();
    let hash = sha256_hex(format!("{shape}\n{}", triggers.join("\n")).as_bytes());
    let hash: String = hash.chars().take(ID_DIGITS).collect();
    let mut parts = vec!["learned".to_string()];
    parts.extend(words);
    parts.push(hash);
    parts.join("-")
}

fn capitalise_text(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
