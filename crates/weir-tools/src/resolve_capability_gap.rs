//! `resolve_capability_gap`: what exists and is not at hand, and who could switch it on. It only
//! looks; nothing is switched on here.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::governance::label::Label;
use weir_core::sorting::sort_stably_by_key;
use weir_core::tool::{EffectClass, Effects, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, Callable, PluginLine, PluginState, ToolContext};
use weir_engine::relevance::TextRelevance;

use crate::built::{ActionTool, tool_spec};
use crate::find_tool::{is_same, query_words};
use crate::{run_blocking, synonyms, text};

/// Answers that are given.
const TOLD_MAX: usize = 8;

pub(crate) struct ResolveCapabilityGap;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// What you would need to do, in a few words.
    need: String,
}

/// Something that might help.
struct CapabilityHint {
    what: String,
    about: String,
    how: String,
    /// Whose words its description is.
    foreign: bool,
}

#[async_trait]
impl ActionTool for ResolveCapabilityGap {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            deferred: true,
            ..tool_spec(
                "resolve_capability_gap",
                ToolGroup::Skill,
                "Looks for something that could do what you cannot: tools, plugins, skills, \
                 recipes, servers that are not at hand, and who can switch each on.",
            )
        }
    }

    async fn plan_call(input: Input, _: &ToolContext) -> CallPlan {
        let summary = format!("Look for a way to {}", text::one_line(&input.need, 160));
        let effects = Effects { searches: vec![input.need], ..Effects::default() };
        CallPlan::new(EffectClass::Read, effects, summary)
    }

    async fn run_call(input: Input, _: &Effects, cx: &ToolContext) -> RawResult {
        let knows = cx.knows.clone();
        let plugins = cx.plugins.clone();
        plugins.refresh().await;
        let commands = plugins.configured_commands();
        let looked = run_blocking(move || (knows.skills(), plugins.list())).await;
        let (skills, plugins) = match looked {
            Ok(looked) => looked,
            Err(why) => return RawResult::error(why),
        };
        let mut helps = Vec::new();
        for (tools, how) in [
            (cx.knows.loaded_tools(), "you: it is at hand"),
            (cx.knows.deferred_tools(), "you: find_tool loads it"),
        ] {
            let of = |tool: &ToolSpec| CapabilityHint {
                about: format!("{} {}", synonyms::tool_synonyms(&tool.name), tool.description),
                foreign: tool.group == ToolGroup::Mcp,
                what: format!("tool {}", tool.name),
                how: how.into(),
            };
            // Whoever asks this found none of what looks for things itself.
            let known = tools.iter().filter(|tool| !tool.name.ends_with("_gap"));
            helps.extend(known.map(of));
        }
        helps.extend(skills.into_iter().map(|skill| CapabilityHint {
            what: format!("skill {}", skill.name),
            about: skill.description,
            how: "you: read_skill".into(),
            foreign: false,
        }));
        helps.extend(commands.into_iter().map(of_configuration));
        let proposes = [cx.knows.loaded_tools(), cx.knows.deferred_tools()]
            .iter()
            .any(|tools| tools.iter().any(|tool| tool.name == "enable_plugin"));
        plugins.iter().for_each(|plugin| of_plugin(plugin, proposes, &mut helps));
        helps.extend(cx.knows.dormant_items().await.into_iter().map(|one| CapabilityHint {
            what: format!("{} {}", one.what, one.name),
            about: one.about,
            how: one.how,
            foreign: true,
        }));
        answer_need(&input.need, &helps)
    }
}

fn of_configuration(command: Callable) -> CapabilityHint {
    CapabilityHint {
        what: format!("command {}", command.name),
        about: command.description,
        how: "you: execute_command".into(),
        foreign: false,
    }
}

/// A plugin and everything that can be called of it.
/// `proposes`: the agent has the tool that asks a person.
fn of_plugin(plugin: &PluginLine, proposes: bool, helps: &mut Vec<CapabilityHint>) {
    let id = &plugin.id;
    let on = plugin.state == PluginState::Enabled;
    let enable = match proposes {
        true => format!("enable_plugin {id} proposes it, or they run `weir plugins enable {id}`"),
        false => format!("they run `weir plugins enable {id}`"),
    };
    let how = |with: &str| match &plugin.state {
        PluginState::Enabled => format!("you: {with}"),
        PluginState::Disabled => format!("a person: {enable}; then {with}"),
        PluginState::Changed(what) => {
            format!("a person, who has to see it again ({what}): {enable}; then {with}")
        }
        PluginState::Broken(why) => format!("nobody as it is: {why}"),
    };
    for command in &plugin.commands {
        helps.push(CapabilityHint {
            what: format!("command {}", command.name),
            about: format!("{} {} {}", command.description, plugin.name, plugin.description),
            how: how("execute_command"),
            foreign: false,
        });
    }
    for method in &plugin.methods {
        helps.push(CapabilityHint {
            what: format!("method {} of the plugin {id}", method.name),
            about: format!("{} {} {}", method.description, plugin.name, plugin.description),
            how: how("call_plugin_api"),
            foreign: false,
        });
    }
    if !on {
        helps.push(CapabilityHint {
            what: format!("plugin {id}"),
            about: format!("{} {}", plugin.name, plugin.description),
            how: how("what it brings is there"),
            foreign: false,
        });
    }
}

fn answer_need(need: &str, helps: &[CapabilityHint]) -> RawResult {
    let mut order = rank_by_relevance(need, helps);
    order.truncate(TOLD_MAX);
    let chosen: Vec<&CapabilityHint> = order.into_iter().filter_map(|at| helps.get(at)).collect();
    if chosen.is_empty() {
        return RawResult::ok(
            "Nothing that exists here fits, switched on or off. Say to the person what is missing; \
             do not pretend that it was done.",
        )
        .with_summary("nothing found");
    }
    let mut told = "What might help, best first. Nothing was switched on.".to_owned();
    let mut label = Label::default();
    for help in &chosen {
        let about = match help.foreign {
            true => String::new(),
            false => format!(": {}", text::one_line(&help.about, 160)),
        };
        let _ = write!(told, "\n- {}{about}\n  {}", text::one_line(&help.what, 120), help.how);
        if help.foreign {
            label.join(&Label::external(help.what.as_str()));
        }
    }
    let summary = text::count_noun(chosen.len(), "way");
    RawResult { label, ..RawResult::ok(told).with_summary(summary) }
}

/// Those that have a word of the need, best first.
fn rank_by_words(wanted: &BTreeSet<String>, helps: &[CapabilityHint]) -> Vec<usize> {
    let scored = helps.iter().map(|help| score_hint(wanted, help)).enumerate();
    let mut scored: Vec<(usize, usize)> = scored.filter(|(_, score)| *score > 0).collect();
    sort_stably_by_key(&mut scored, |(_, score)| std::cmp::Reverse(*score));
    scored.into_iter().map(|(at, _)| at).collect()
}

/// Those that have a word of the need in any form, best first; behind them those that only
/// [`rank_by_words`] finds.
fn rank_by_relevance(need: &str, helps: &[CapabilityHint]) -> Vec<usize> {
    let texts: Vec<String> = helps.iter().map(hint_text).collect();
    let mut texts = TextRelevance::of_texts(texts.iter().map(String::as_str));
    // A text of one sentence hardly shows its language: words that say nothing are left out before.
    let wanted = query_words(need);
    let words: Vec<&str> = wanted.iter().map(String::as_str).collect();
    texts.rank_before(&words.join(" "), &rank_by_words(&wanted, helps))
}

/// Names count twice, as its parts.
fn hint_text(help: &CapabilityHint) -> String {
    let name = help.what.replace(['_', '-'], " ");
    format!("{name}\n{name}\n{}", help.about)
}

/// How many of the wanted words it has; those of its name count twice.
fn score_hint(wanted: &BTreeSet<String>, help: &CapabilityHint) -> usize {
    let (name, about) =
        (query_words(&help.what.replace(['_', '-'], " ")), query_words(&help.about));
    let has =
        |text: &BTreeSet<String>, word: &String| text.iter().any(|known| is_same(known, word));
    let worth = |word: &String| match (has(&name, word), has(&about, word)) {
        (true, _) => 2,
        (false, true) => 1,
        (false, false) => 0,
    };
    wanted.iter().map(worth).sum()
}

#[cfg(test)]
mod evidence;

#[cfg(test)]
mod tests {
    use super::*;

    fn plugin(state: PluginState) -> PluginLine {
        let note = Callable {
            name: "open_note".into(),
            description: "Opens a note in Obsidian".into(),
            params: Vec::new(),
            schema: None,
        };
        PluginLine {
            id: "obsidian".into(),
            name: "Obsidian".into(),
            version: "1".into(),
            description: "Talks to a running Obsidian".into(),
            origin: "built in".into(),
            state,
            commands: Vec::new(),
            methods: vec![note],
        }
    }

    fn told(need: &str, state: PluginState) -> String {
        let mut helps = Vec::new();
        of_plugin(&plugin(state), true, &mut helps);
        weir_core::message::plain_text(&answer_need(need, &helps).blocks)
    }

    #[test]
    fn t11_a_gap_is_answered_with_who_could_close_it() {
        let off = told("open a note in obsidian", PluginState::Disabled);
        assert!(off.contains("method open_note of the plugin obsidian"), "{off}");
        assert!(off.contains("`weir plugins enable obsidian`"), "{off}");
        let on = told("open a note in obsidian", PluginState::Enabled);
        assert!(on.contains("you: call_plugin_api") && !on.contains("weir plugins"), "{on}");
        let changed = told("open note", PluginState::Changed("a.sh changed".into()));
        assert!(changed.contains("see it again (a.sh changed)"), "{changed}");
        let broken = told("open note", PluginState::Broken("no text".into()));
        assert!(broken.contains("nobody as it is: no text"), "{broken}");
        assert!(told("bake a cake", PluginState::Disabled).contains("Nothing that exists here"));
    }
}
