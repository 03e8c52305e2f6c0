//! `find_tool`: loads tools that the model knows by name only (T4).
//!
//! Their schemas come back as text, at the end of the conversation: the list of tools that begins
//! every request stays as it is, and with it the vendor's cache. Not here: which tools are only
//! named (`weir_core::tool::defer`).

use std::collections::BTreeSet;
use std::fmt::Write as _;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value;
use weir_core::governance::label::Label;
use weir_core::sorting::sort_stably_by_key;
use weir_core::tool::built_in::PROGRAM_RUNNER;
use weir_core::tool::declare;
use weir_core::tool::{EffectClass, Effects, RawResult, ResultEffect, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ToolContext};

use crate::built::{ActionTool, empty_plan, tool_spec};
use crate::synonyms;

/// Tools that one call loads at most (T4).
const FOUND_MAX: usize = 5;
/// Longest query, in characters.
const QUERY_CHARACTERS_MAX: usize = 500;
/// What a word is worth that stands in the name, the synonyms, the fields, the description.
const SCORES: [u32; 4] = [6, 5, 2, 1];
/// What a name in full is worth: more than any number of words.
const EXACT: u32 = 1_000;
/// Fewer letters in common do not make two words one.
const STEM_CHARACTERS_MIN: usize = 4;
/// What scores less than this part of the best is chance.
const FLOOR: u32 = 4;

pub(crate) struct FindTool;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// What the tool should do, in a few words; or its name.
    query: String,
}

#[async_trait]
impl ActionTool for FindTool {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            keeps_result: true,
            ..tool_spec(
                "find_tool",
                ToolGroup::Agent,
                "Loads tools that are listed by name only: returns the descriptions and schemas of \
                 the best matches, which call_tool can call for the rest of the run.",
            )
        }
    }

    async fn plan_call(input: Input, _: &ToolContext) -> CallPlan {
        let query = input.query.trim();
        let shown: String = query.chars().take(80).collect();
        let summary = format!("Find a tool for {shown:?}");
        if query_words(query).is_empty() || query.chars().count() > QUERY_CHARACTERS_MAX {
            return empty_plan(summary).with_failure(format!(
                "query must have words, at most {QUERY_CHARACTERS_MAX} characters: say what the \
                 tool should do, or its name"
            ));
        }
        let effects = Effects { searches: vec![query.to_owned()], ..Effects::default() };
        CallPlan::new(EffectClass::Read, effects, summary)
    }

    async fn run_call(input: Input, _: &Effects, cx: &ToolContext) -> RawResult {
        let mut raw =
            answer_query(&input.query, &cx.knows.deferred_tools(), &cx.knows.loaded_tools());
        // A tool that was made from foreign words is described in them.
        if let Some(tools) = cx.knows.toolbox() {
            let found = raw.news.iter().flat_map(|news| match news {
                ResultEffect::Found { tools } => tools.as_slice(),
                _ => &[],
            });
            let labels: Vec<Label> =
                found.filter_map(|name| Some(tools.get(name)?.label())).collect();
            labels.iter().for_each(|label| raw.label.join(label));
        }
        raw
    }
}

/// What the model is told, and which tools it may call from now on.
fn answer_query(query: &str, deferred: &[ToolSpec], loaded: &[ToolSpec]) -> RawResult {
    let mut found = best_matches(query, deferred);
    let callable = best_matches(query, loaded);
    // Who names a tool in full and has it need not hear of others.
    let is_named = callable.first().is_some_and(|(score, _)| *score >= EXACT);
    if is_named {
        found.retain(|(score, _)| *score >= EXACT);
    }
    // What is loaded is told only where it fits as well as what is found.
    let least = found.first().map_or(if is_named { EXACT } else { 1 }, |(score, _)| *score);
    let callable: Vec<&str> = callable
        .iter()
        .filter(|(score, _)| *score >= least)
        .map(|(_, tool)| tool.name.as_str())
        .collect();
    let mut text = String::new();
    match found.len() {
        0 if is_named => text.push_str("Nothing has to be loaded: call it by its name."),
        0 if deferred.is_empty() => text.push_str("All tools of this session are loaded already."),
        0 => {
            let names: Vec<&str> = deferred.iter().map(|tool| tool.name.as_str()).collect();
            let _ = write!(
                text,
                "Nothing to load fits {query:?}. These tools can be loaded: {}.",
                names.join(", ")
            );
        }
        count => {
            let tools = if count == 1 { "1 tool" } else { &format!("{count} tools") };
            let _ =
                write!(text, "{tools} loaded for the rest of this run; call each with call_tool:");
        }
    }
    let mut label = Label::default();
    let programs = found.iter().map(|(_, tool)| *tool).chain(loaded).any(runs_programs);
    for (score, tool) in &found {
        let _ = write!(
            text,
            "\n\n## {} (score {score})\n{}\nInput schema: {}",
            tool.name, tool.description, tool.input_schema
        );
        if programs && !runs_programs(tool) {
            let _ = write!(text, "\nIn a program: {}", declare::function_declaration(tool));
        }
        // Whoever wrote a foreign tool wrote its description too.
        if tool.group == ToolGroup::Mcp {
            label.join(&Label::external(tool.name.as_str()));
        }
    }
    if !callable.is_empty() {
        let _ = write!(text, "\n\nLoaded already and fitting: {}.", callable.join(", "));
    }
    let names: Vec<String> = found.iter().map(|(_, tool)| tool.name.clone()).collect();
    let summary = match names.len() {
        0 if is_named => format!("{} (loaded already)", callable.join(", ")),
        0 => "nothing found".to_owned(),
        _ => names.join(", "),
    };
    let news =
        if names.is_empty() { Vec::new() } else { vec![ResultEffect::Found { tools: names }] };
    RawResult { news, label, ..RawResult::ok(text).with_summary(summary) }
}

/// Whether it runs programs: then the others are functions.
fn runs_programs(tool: &ToolSpec) -> bool {
    tool.name == PROGRAM_RUNNER
}

/// Words for what is done that fit any number of tools: alone they choose none, unless nothing else
/// was said.
const VERBS: [&str; 22] = [
    "add", "change", "create", "delete", "edit", "find", "generate", "get", "list", "make",
    "manage", "new", "open", "read", "remove", "run", "save", "set", "show", "update", "use",
    "write",
];

/// The tools that fit best, with their scores, best first; of equals the first of the list.
fn best_matches<'a>(query: &str, tools: &'a [ToolSpec]) -> Vec<(u32, &'a ToolSpec)> {
    let wanted = query_words(query);
    let named: BTreeSet<&str> =
        query.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').collect();
    let scored = tools.iter().map(|tool| (score_tool(&wanted, &named, tool), tool));
    let mut found: Vec<(u32, &ToolSpec)> = scored.filter(|(score, _)| *score > 0).collect();
    sort_stably_by_key(&mut found, |(score, _)| std::cmp::Reverse(*score));
    let best = found.first().map_or(0, |(score, _)| *score);
    found.retain(|(score, _)| *score * FLOOR >= best);
    found.truncate(FOUND_MAX);
    found
}

fn score_tool(wanted: &BTreeSet<String>, named: &BTreeSet<&str>, tool: &ToolSpec) -> u32 {
    let exact = if named.contains(tool.name.as_str()) { EXACT } else { 0 };
    let is_verb = |word: &&String| VERBS.contains(&word.as_str());
    let mut fields = String::new();
    field_names(&tool.input_schema, &mut fields);
    let texts = [&tool.name, synonyms::tool_synonyms(&tool.name), &fields, &tool.description]
        .map(query_words);
    let worth = |word: &String| {
        let place = texts.iter().position(|text| text.iter().any(|known| is_same(known, word)));
        place.map_or(0, |place| SCORES[place])
    };
    // "create slides" is not about everything that creates something.
    let about = wanted.iter().filter(|word| !is_verb(word)).map(worth).sum::<u32>();
    if exact == 0 && about == 0 && !wanted.iter().all(|word| is_verb(&word)) {
        return 0;
    }
    exact + about + wanted.iter().filter(is_verb).map(worth).sum::<u32>()
}

fn field_names(schema: &Value, out: &mut String) {
    for name in schema["properties"].as_object().into_iter().flat_map(|fields| fields.keys()) {
        out.push_str(name);
        out.push(' ');
    }
}

/// The words of a text that say something: lower case, each once.
pub(crate) fn query_words(text: &str) -> BTreeSet<String> {
    const EMPTY: [&str; 24] = [
        "a", "an", "and", "are", "as", "at", "by", "for", "from", "how", "i", "in", "is", "it",
        "of", "on", "or", "that", "the", "to", "tool", "tools", "with", "your",
    ];
    text.split(|c: char| !c.is_alphanumeric())
        .map(str::to_lowercase)
        .filter(|word| !word.is_empty() && !EMPTY.contains(&word.as_str()))
        .collect()
}

/// Whether two words are one, their endings aside: `checkpoint` and `checkpoints`.
pub(crate) fn is_same(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    short == long
        || (short.chars().count() >= STEM_CHARACTERS_MIN
            && long.starts_with(short)
            && long.len() - short.len() <= 3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built_in_tools;

    fn split() -> (Vec<ToolSpec>, Vec<ToolSpec>) {
        let all = built_in_tools().into_iter().map(|tool| tool.spec().clone());
        all.partition(|spec| spec.deferred)
    }

    fn found(query: &str) -> Vec<String> {
        let (deferred, loaded) = split();
        let raw = answer_query(query, &deferred, &loaded);
        assert!(raw.ok, "{query}");
        match raw.news.as_slice() {
            [ResultEffect::Found { tools }] => tools.clone(),
            _ => Vec::new(),
        }
    }

    /// `(query, the best)`
    #[test]
    fn t4_a_tool_is_found_by_name_synonym_field_and_description() {
        for (query, best) in [
            ("restore_checkpoint", "restore_checkpoint"),
            ("please load `diff_checkpoint`", "diff_checkpoint"),
            ("undo my last edit", "restore_checkpoint"),
            ("rollback", "restore_checkpoint"),
            ("revert a file to how it was", "restore_checkpoint"),
            ("which limits do I have", "inspect_self"),
            ("what changed since the checkpoint, compare", "diff_checkpoint"),
            ("listing checkpoints", "list_checkpoints"),
            ("old version of a file", "read_checkpoint"),
        ] {
            assert_eq!(found(query).first().map(String::as_str), Some(best), "{query}");
        }
    }

    #[test]
    fn t4_an_exact_name_beats_every_number_of_words() {
        let query = "restore undo rollback revert files as before; inspect_self";
        assert_eq!(found(query), ["inspect_self"], "the rest is below the floor");
        assert_eq!(found("inspect_self diff_checkpoint").len(), 2);
    }

    #[test]
    fn t4_at_most_five_are_loaded() {
        let tool = |number: u32| ToolSpec {
            name: format!("checkpoint_{number}"),
            ..split().0.swap_remove(0)
        };
        let many: Vec<ToolSpec> = (0..9).map(tool).collect();
        let raw = answer_query("checkpoint", &many, &[]);
        let expected: Vec<String> = (0..5).map(|number| format!("checkpoint_{number}")).collect();
        assert_eq!(raw.news, [ResultEffect::Found { tools: expected }]);
    }

    #[test]
    fn t4_nothing_found_names_what_there_is() {
        let (deferred, loaded) = split();
        let raw = answer_query("bake a cake", &deferred, &loaded);
        let text = weir_core::message::plain_text(&raw.blocks);
        assert!(raw.ok && raw.news.is_empty());
        assert!(deferred.iter().all(|tool| text.contains(&tool.name)), "{text}");
        let verb = answer_query("create a marble sculpture", &deferred, &loaded);
        assert!(verb.news.is_empty(), "a verb alone chooses nothing: {:?}", verb.news);
        let none = answer_query("bake a cake", &[], &loaded);
        assert!(weir_core::message::plain_text(&none.blocks).contains("loaded already"));
    }

    #[test]
    fn t4_a_loaded_tool_that_fits_is_named_and_not_loaded_again() {
        let (deferred, loaded) = split();
        let raw = answer_query("read_file", &deferred, &loaded);
        let text = weir_core::message::plain_text(&raw.blocks);
        let told = "Nothing has to be loaded: call it by its name.\n\nLoaded already and fitting: read_file.";
        assert_eq!(text, told);
        assert!(raw.news.is_empty(), "{:?}", raw.news);
        let both = answer_query("read_file, inspect_self", &deferred, &loaded);
        let text = weir_core::message::plain_text(&both.blocks);
        let expected = ResultEffect::Found { tools: vec!["inspect_self".to_owned()] };
        assert_eq!(both.news, [expected], "{text}");
        let weak = answer_query("a file that is read", &deferred, &loaded);
        assert!(!weir_core::message::plain_text(&weak.blocks).contains("has to be loaded"));
    }

    #[test]
    fn z1_the_description_of_a_foreign_tool_is_foreign() {
        let foreign = ToolSpec {
            name: "mcp__git__push".into(),
            group: ToolGroup::Mcp,
            ..split().0.swap_remove(0)
        };
        assert!(answer_query("git push", std::slice::from_ref(&foreign), &[]).label.is_external());
        assert!(answer_query("rollback", &split().0, &[]).label.is_clean());
    }
}
