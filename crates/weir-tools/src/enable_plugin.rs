//! `enable_plugin`: proposes to the person to switch a plugin on (Z9). They see what it may do and
//! agree to exactly that, in every mode; where nobody can be asked it does not happen.

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::tool::{
    EffectClass, Effects, EnableEffect, RawResult, ResultEffect, ToolGroup, ToolSpec,
};
use weir_engine::ports::{CallPlan, PluginOffer, ToolContext};

use crate::built::{ActionTool, empty_plan, tool_spec};
use crate::{call_plugin_api, execute_command, run_blocking, text};

/// Files that the person is shown by name.
const FILES_TOLD: usize = 60;

pub(crate) struct EnablePlugin;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Its id.
    plugin: String,
}

#[async_trait]
impl ActionTool for EnablePlugin {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            deferred: true,
            ..tool_spec(
                "enable_plugin",
                ToolGroup::Skill,
                "Proposes to switch a plugin on. The person sees what it may do and has to agree.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let summary = text::one_line(&format!("Switch on the plugin {}", input.plugin), 120);
        let offer = match cx.plugins.plugin_offer(&input.plugin).await {
            Ok(offer) => offer,
            Err(why) => return empty_plan(summary).with_failure(why),
        };
        if offer.enabled {
            return empty_plan(summary)
                .with_failure(format!("the plugin {} is on already", offer.id));
        }
        let enables = vec![EnableEffect {
            what: "plugin".into(),
            name: offer.id.clone(),
            hash: offer.hash.clone(),
        }];
        let summary = format!("{summary} ({}, from {})", offer.title, offer.origin);
        CallPlan {
            diff: Some(describe_offer(&offer)),
            ..CallPlan::new(
                EffectClass::Keyed,
                Effects { enables, ..Effects::default() },
                text::one_line(&summary, 300),
            )
        }
    }

    async fn run_call(_: Input, effects: &Effects, cx: &ToolContext) -> RawResult {
        let Some(one) = effects.enables.first() else {
            return RawResult::error("the call switches nothing on");
        };
        match cx.plugins.enable(&one.name, &one.hash, "a person, asked by the agent").await {
            Ok(()) => {
                let raw = RawResult::ok(format!(
                    "The plugin {} is on. Its commands are called with execute_command, its API \
                     with call_plugin_api; its skills and prompts are there from the next message \
                     on",
                    one.name
                ));
                let news = made_known(&one.name, cx).await;
                RawResult { news, ..raw.with_summary(format!("{} is on", one.name)) }
            }
            Err(why) => RawResult::error(format!("It was not switched on: {why}")),
        }
    }
}

/// The tools that now have something behind them, where the session was not told of them before.
async fn made_known(plugin: &str, cx: &ToolContext) -> Vec<ResultEffect> {
    let (plugins, id) = (cx.plugins.clone(), plugin.to_owned());
    let found = move || plugins.list().into_iter().find(|line| line.id == id);
    let Ok(Some(line)) = run_blocking(found).await else { return Vec::new() };
    let ways = [
        (!line.commands.is_empty()).then(execute_command::execute_command_spec),
        (!line.methods.is_empty()).then(call_plugin_api::plugin_api_spec),
    ];
    let (loaded, deferred) = (cx.knows.loaded_tools(), cx.knows.deferred_tools());
    let known = |name: &str| loaded.iter().chain(deferred.iter()).any(|tool| tool.name == name);
    let new = ways.into_iter().flatten().filter(|tool| !known(&tool.name));
    new.map(|tool| ResultEffect::Made { tool: Box::new(tool) }).collect()
}

/// What the person reads before they agree.
fn describe_offer(offer: &PluginOffer) -> String {
    let mut lines = vec![
        format!("The plugin {} ({}), from {}", offer.id, offer.title, offer.origin),
        format!("sha256 {}", offer.hash),
    ];
    if offer.powers.is_empty() {
        lines.push("It may do nothing by itself.".into());
    }
    lines.extend(offer.powers.iter().map(|power| format!("+ {power}")));
    lines.extend(offer.notes.iter().map(|note| format!("! {note}")));
    let files = offer.files.iter().take(FILES_TOLD).cloned().collect::<Vec<_>>().join(", ");
    let more = offer.files.len().saturating_sub(FILES_TOLD);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    lines.push(format!("Files: {files}{more}"));
    lines.join("\n") + "\n"
}
