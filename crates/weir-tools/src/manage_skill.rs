//! `manage_skill`: proposes a skill of the agent's own (section 13). A person reads and accepts it
//! with `weir skills accept`; before that it changes nothing.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::skill::{SkillDraft, SkillLine, skill_md};
use weir_core::tool::{EffectClass, Effects, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, SkillProposal, ToolContext};

use crate::built::{ActionTool, empty_plan, tool_spec};
use crate::{run_blocking, text};

pub(crate) struct ManageSkill;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
enum SkillAction {
    Create,
    Update,
    Delete,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    action: SkillAction,
    /// Lower-case letters, digits, single hyphens.
    name: String,
    /// What it does and when to use it.
    #[serde(default)]
    description: String,
    /// All of its instructions, in Markdown.
    #[serde(default)]
    body: String,
    /// Phrases in a message that make it binding, with commas between, or a regular expression
    /// `/…/`.
    #[serde(default)]
    trigger: String,
}

#[async_trait]
impl ActionTool for ManageSkill {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            deferred: true,
            ..tool_spec(
                "manage_skill",
                ToolGroup::Agent,
                "Proposes a skill of your own, a change to one, or its removal. It has no effect \
                 until the person accepts it.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let word = match input.action {
            SkillAction::Create => "a new skill",
            SkillAction::Update => "a change to the skill",
            SkillAction::Delete => "to remove the skill",
        };
        let summary = text::one_line(&format!("Propose {word} {}", input.name), 200);
        let knows = cx.knows.clone();
        let skills = match run_blocking(move || knows.skills()).await {
            Ok(skills) => skills,
            Err(why) => return empty_plan(summary).with_failure(why),
        };
        if let Some(problem) = proposal_problem(&input, &skills) {
            return empty_plan(summary).with_failure(problem);
        }
        // What is proposed is read by later sessions, like what is remembered.
        let texts = [&input.name, &input.description, &input.body, &input.trigger];
        let remembers = texts.into_iter().filter(|text| !text.is_empty()).cloned().collect();
        let effects = Effects { remembers, ..Effects::default() };
        CallPlan::new(EffectClass::Keyed, effects, summary)
    }

    async fn run_call(input: Input, _: &Effects, cx: &ToolContext) -> RawResult {
        let name = input.name.clone();
        let text = match input.action {
            SkillAction::Delete => String::new(),
            SkillAction::Create | SkillAction::Update => skill_md(&skill_draft(&input)),
        };
        let proposal = SkillProposal { name: name.clone(), text };
        match cx.knows.propose_skill(cx.call, proposal).await {
            Ok(()) => RawResult::ok(format!(
                "Proposed. Nothing has changed: the person reads it with `weir skills inbox` and \
                 accepts it with `weir skills accept {name}`. Tell them, and do not rely on it in \
                 this session"
            ))
            .with_summary(format!("proposed {name}")),
            Err(why) => RawResult::error(format!("The proposal could not be kept: {why}")),
        }
    }
}

fn skill_draft(input: &Input) -> SkillDraft {
    SkillDraft {
        name: input.name.clone(),
        description: input.description.clone(),
        body: input.body.clone(),
        trigger: input.trigger.clone(),
        metadata: BTreeMap::from([("author".into(), "weir".into())]),
    }
}

/// Why it cannot be proposed.
fn proposal_problem(input: &Input, skills: &[SkillLine]) -> Option<String> {
    let found = skill_draft(input).findings();
    let name = &input.name;
    let there = skills.iter().find(|line| line.name == *name);
    let own = there.is_some_and(|line| line.self_written);
    match (input.action, there) {
        (SkillAction::Create, Some(line)) => Some(match own {
            true => format!("you wrote a skill {name} already: use action update"),
            false => format!("there is a skill {name} ({}): choose another name", line.source),
        }),
        (SkillAction::Update | SkillAction::Delete, _) if !own => Some(format!(
            "{name} is no skill that you wrote; only those can be changed. Propose one with another \
             name, or tell the person"
        )),
        (SkillAction::Delete, _) => {
            found.iter().find(|f| f.field == "name").map(ToString::to_string)
        }
        (SkillAction::Create | SkillAction::Update, _) => {
            let wrong: Vec<String> = found.iter().map(ToString::to_string).collect();
            (!wrong.is_empty()).then(|| wrong.join("; "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(action: SkillAction, name: &str) -> Input {
        Input {
            action,
            name: name.into(),
            description: "Does x. Use it for x.".into(),
            body: "Do x.".into(),
            trigger: String::new(),
        }
    }

    fn line(name: &str, self_written: bool) -> SkillLine {
        SkillLine {
            name: name.into(),
            description: String::new(),
            source: "yours".into(),
            self_written,
            plugin: None,
        }
    }

    #[test]
    fn m1_only_what_the_agent_wrote_can_it_propose_to_change() {
        let skills = [line("mine", true), line("theirs", false)];
        for (action, name, fine) in [
            (SkillAction::Create, "new", true),
            (SkillAction::Create, "mine", false),
            (SkillAction::Create, "theirs", false),
            (SkillAction::Create, "Bad Name", false),
            (SkillAction::Create, "../../x", false),
            (SkillAction::Update, "mine", true),
            (SkillAction::Update, "theirs", false),
            (SkillAction::Delete, "mine", true),
            (SkillAction::Delete, "none", false),
        ] {
            let problem = proposal_problem(&input(action, name), &skills);
            assert_eq!(problem.is_none(), fine, "{action:?} {name}: {problem:?}");
        }
        let empty = Input { body: " ".into(), ..input(SkillAction::Create, "new") };
        assert!(proposal_problem(&empty, &skills).is_some_and(|why| why.contains("body is empty")));
    }
}
