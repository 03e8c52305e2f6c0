//! `configure_model`: proposes which model does which work, and how much it thinks. A person accepts it
//! with `weir config accept`; before that it changes nothing (G5).

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value;
use weir_core::proposal::SettingProposal;
use weir_core::tool::{Effects, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ToolContext};

use crate::built::{ActionTool, empty_plan, tool_spec};
use crate::update_settings::{keep_proposals, plan_proposals};

pub(crate) struct ConfigureModel;

// The words of `Thinking`, without descriptions: those would only repeat them.
#[derive(Debug, Clone, Copy, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
enum ThinkingLevel {
    Off,
    Low,
    Medium,
    High,
}

impl ThinkingLevel {
    fn as_str(self) -> &'static str {
        match self {
            ThinkingLevel::Off => "off",
            ThinkingLevel::Low => "low",
            ThinkingLevel::Medium => "medium",
            ThinkingLevel::High => "high",
        }
    }
}

// For what work a model is proposed. Without descriptions too.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
enum ModelRole {
    #[default]
    Agent,
    Condense,
    Plan,
    Titles,
    Flagship,
}

impl ModelRole {
    fn setting_key(self) -> &'static str {
        match self {
            ModelRole::Agent => "model",
            ModelRole::Condense => "helpers.condense",
            ModelRole::Plan => "helpers.plan",
            ModelRole::Titles => "helpers.titles",
            ModelRole::Flagship => "helpers.flagship",
        }
    }
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct ConfigureModelInput {
    /// As provider/name.
    #[serde(default)]
    model: Option<String>,
    /// For what work: yourself (default), summaries, plans of known tasks, titles, a stronger adviser.
    #[serde(default)]
    role: ModelRole,
    /// How much you think before you answer.
    #[serde(default)]
    thinking: Option<ThinkingLevel>,
    /// Why, in one line for the person.
    reason: String,
}

#[async_trait]
impl ActionTool for ConfigureModel {
    type Input = ConfigureModelInput;

    fn spec() -> ToolSpec {
        ToolSpec {
            deferred: true,
            ..tool_spec(
                "configure_model",
                ToolGroup::Agent,
                "Proposes another model to the person, for yourself or for side work, or another \
                 amount of thinking. Nothing changes until they accept it; keys and addresses are \
                 theirs alone.",
            )
        }
    }

    async fn plan_call(input: ConfigureModelInput, _: &ToolContext) -> CallPlan {
        let proposals = model_proposals(&input);
        match proposals.is_empty() {
            true => empty_plan("Propose a model").with_failure("give model, thinking, or both"),
            false => plan_proposals(&proposals),
        }
    }

    async fn run_call(input: ConfigureModelInput, _: &Effects, cx: &ToolContext) -> RawResult {
        keep_proposals(model_proposals(&input), cx).await
    }
}

fn model_proposals(input: &ConfigureModelInput) -> Vec<SettingProposal> {
    let proposal = |key: &str, value: String| SettingProposal {
        key: key.to_owned(),
        value: Value::String(value),
        reason: input.reason.clone(),
    };
    let model = input.model.as_deref().map(|name| name.trim().to_owned());
    let model = model.map(|name| proposal(input.role.setting_key(), name));
    let thinking = input.thinking.map(|level| proposal("thinking", level.as_str().to_owned()));
    model.into_iter().chain(thinking).collect()
}

#[cfg(test)]
mod tests {
    use weir_core::proposal::proposable_keys;

    use super::*;

    #[test]
    fn k14_every_role_names_a_setting_that_can_be_proposed() {
        for role in [
            ModelRole::Agent,
            ModelRole::Condense,
            ModelRole::Plan,
            ModelRole::Titles,
            ModelRole::Flagship,
        ] {
            let proposals = model_proposals(&ConfigureModelInput {
                model: Some(" acme/large ".into()),
                role,
                thinking: Some(ThinkingLevel::High),
                reason: "It is stronger.".into(),
            });
            let keys: Vec<&str> = proposals.iter().map(|proposal| proposal.key.as_str()).collect();
            assert_eq!(keys, [role.setting_key(), "thinking"]);
            assert!(keys.iter().all(|key| proposable_keys().any(|known| known == *key)));
            assert!(proposals.iter().all(|proposal| proposal.problem().is_none()));
        }
    }
}
