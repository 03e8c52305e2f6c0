//! `update_settings`: proposes a value of a setting. A person reads and accepts it with
//! `weir config accept`; before that it changes nothing (G5). Which settings can be proposed, the core
//! says (`weir_core::proposal`).

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value;
use weir_core::proposal::{SettingProposal, is_model_setting};
use weir_core::tool::{EffectClass, Effects, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ToolContext};

use crate::built::{ActionTool, empty_plan, tool_spec};
use crate::text;

pub(crate) struct UpdateSettings;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateSettingsInput {
    /// Such as `limits.max_iterations`.
    key: String,
    /// New value: a number, true, false, or a text.
    value: String,
    /// Why, in one line for the person.
    reason: String,
}

#[async_trait]
impl ActionTool for UpdateSettings {
    type Input = UpdateSettingsInput;

    fn spec() -> ToolSpec {
        ToolSpec {
            deferred: true,
            ..tool_spec(
                "update_settings",
                ToolGroup::Agent,
                "Proposes a setting to the person: limits, context, memory, recipes, time zone, a \
                 stricter permission mode. Nothing changes until they accept it. Rules, secrets \
                 and whatever allows more cannot be proposed.",
            )
        }
    }

    async fn plan_call(input: UpdateSettingsInput, _: &ToolContext) -> CallPlan {
        plan_proposals(&[setting_proposal(input)])
    }

    async fn run_call(input: UpdateSettingsInput, _: &Effects, cx: &ToolContext) -> RawResult {
        keep_proposals(vec![setting_proposal(input)], cx).await
    }
}

fn setting_proposal(input: UpdateSettingsInput) -> SettingProposal {
    let key = input.key.trim().to_owned();
    // What is no JSON is a text, so that a model need not quote twice.
    let as_text = || Value::String(input.value.trim().to_owned());
    let value = match serde_json::from_str(input.value.trim()) {
        Ok(Value::String(text)) => Value::String(text),
        // A model may be called `1/2`; of texts alone what looks like a number stays a text.
        Ok(value) if !is_model_setting(&key) => value,
        Ok(_) | Err(_) => as_text(),
    };
    SettingProposal { key, value, reason: input.reason }
}

/// A plan that puts these before the person, or says why it cannot. Shared with `configure_model`.
pub(crate) fn plan_proposals(proposals: &[SettingProposal]) -> CallPlan {
    let changes: Vec<String> = proposals.iter().map(SettingProposal::describe_change).collect();
    let summary = text::one_line(&format!("Propose {}", changes.join(", ")), 200);
    if let Some(problem) = proposals.iter().find_map(SettingProposal::problem) {
        return empty_plan(summary).with_failure(problem);
    }
    // A person reads it in later sessions, like what is remembered.
    let kept = |proposal: &SettingProposal| {
        format!("{} ({})", proposal.describe_change(), proposal.reason.trim())
    };
    let effects = Effects { remembers: proposals.iter().map(kept).collect(), ..Effects::default() };
    CallPlan::new(EffectClass::Keyed, effects, summary)
}

/// Puts them before the person. Shared with `configure_model`.
pub(crate) async fn keep_proposals(proposals: Vec<SettingProposal>, cx: &ToolContext) -> RawResult {
    let keys: Vec<String> = proposals.iter().map(|proposal| proposal.key.clone()).collect();
    // All or none: a half of what was asked for is not what was asked for.
    if let Some(problem) = proposals.iter().find_map(SettingProposal::problem) {
        return RawResult::error(problem);
    }
    for proposal in proposals {
        let key = proposal.key.clone();
        if let Err(why) = cx.knows.propose_setting(cx.call, proposal).await {
            return RawResult::error(format!("The proposal of {key} could not be kept: {why}"));
        }
    }
    let accepts: Vec<String> =
        keys.iter().map(|key| format!("`weir config accept {key}`")).collect();
    RawResult::ok(format!(
        "Proposed. Nothing has changed: the person reads it with `weir config inbox` and accepts it \
         with {}. What only narrows is refused then if it allows more than what holds. Tell them, \
         and do not rely on it in this session",
        accepts.join(" and ")
    ))
    .with_summary(format!("proposed {}", keys.join(", ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn k14_a_value_may_be_written_without_quotes() {
        let value = |key: &str, value: &str| {
            setting_proposal(UpdateSettingsInput {
                key: key.into(),
                value: value.into(),
                reason: "x".into(),
            })
            .value
        };
        assert_eq!(value("limits.max_iterations", " 20 "), json!(20));
        assert_eq!(value("memory.accept", "false"), json!(false));
        assert_eq!(value("permission", "plan"), json!("plan"));
        assert_eq!(value("permission", "\"plan\""), json!("plan"));
        assert_eq!(value("model", "7"), json!("7"));
    }
}
