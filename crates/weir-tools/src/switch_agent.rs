//! `switch_agent`: proposes to go on with another profile (P7).
//!
//! It says what that profile may do that the present one may not; whether that passes is the gate's
//! business, and making the switch is the session's.

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::tool::{AgentControl, EffectClass, Effects, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ProfileLine, ToolContext};

use crate::built::{ActionTool, empty_plan, tool_spec};

/// Longest reason, in characters.
const REASON_CHARACTERS_MAX: usize = 500;

pub(crate) struct SwitchAgent;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Its name.
    profile: String,
    /// Why, in a sentence.
    reason: String,
}

#[async_trait]
impl ActionTool for SwitchAgent {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            keeps_result: true,
            ..tool_spec(
                "switch_agent",
                ToolGroup::Agent,
                "Goes on with another profile (role, tools, limits) from your next turn on. One \
                 that may do more than the present one needs a person's consent.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let summary = format!("Go on as the agent {}", input.profile);
        match profile_widening(&input, &cx.knows.proposable_profiles()) {
            Err(why) => empty_plan(summary).with_failure(why),
            Ok(widens) => {
                let summary = match widens.is_empty() {
                    true => summary,
                    false => format!("{summary}, which adds {}", widens.join("; ")),
                };
                let (profile, reason) = (input.profile, one_line(&input.reason));
                let control = Some(AgentControl::Switch { profile, reason, widens });
                CallPlan::new(EffectClass::Read, Effects { control, ..Effects::default() }, summary)
            }
        }
    }

    async fn run_call(input: Input, _: &Effects, _: &ToolContext) -> RawResult {
        RawResult::ok(format!("From your next turn on you are the agent {}.", input.profile))
    }
}

/// What the switch adds, or why there can be none.
fn profile_widening(input: &Input, profiles: &[ProfileLine]) -> Result<Vec<String>, String> {
    let length = input.reason.trim().chars().count();
    if !(1..=REASON_CHARACTERS_MAX).contains(&length) {
        return Err(format!("reason must have 1 to {REASON_CHARACTERS_MAX} characters"));
    }
    let Some(found) = profiles.iter().find(|line| line.name == input.profile) else {
        let names: Vec<&str> =
            profiles.iter().filter(|line| !line.present).map(|line| line.name.as_str()).collect();
        let others = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return Err(format!(
            "there is no profile {:?}; those that you can go on with: {others}",
            input.profile
        ));
    };
    if found.present {
        return Err(format!("you are the agent {} already; go on with the task", found.name));
    }
    found.widens.clone().map_err(|why| format!("the profile {} cannot be used: {why}", found.name))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, present: bool, widens: Result<Vec<String>, String>) -> ProfileLine {
        ProfileLine { name: name.into(), description: String::new(), present, widens }
    }

    /// `(profile, reason, what comes out)`
    #[test]
    fn p7_only_another_profile_that_can_be_used_is_proposed() {
        let more = vec!["the tools write_file".to_owned()];
        let profiles = [
            line("plan", true, Ok(Vec::new())),
            line("ask", false, Ok(Vec::new())),
            line("code", false, Ok(more.clone())),
            line("broken", false, Err("its file has gone".into())),
        ];
        for (profile, reason, expected) in [
            ("ask", "a question", Ok(Vec::new())),
            ("code", "to write it", Ok(more)),
            ("plan", "again", Err("already")),
            ("broken", "try", Err("its file has gone")),
            ("nobody", "try", Err("ask, code, broken")),
            ("code", "  ", Err("reason")),
            ("Code", "to write it", Err("there is no profile")),
        ] {
            let input = Input { profile: profile.into(), reason: reason.into() };
            match (profile_widening(&input, &profiles), expected) {
                (Ok(widens), Ok(expected)) => assert_eq!(widens, expected, "{profile}"),
                (Err(why), Err(part)) => assert!(why.contains(part), "{profile}: {why}"),
                (came, expected) => panic!("{profile}: {came:?} instead of {expected:?}"),
            }
        }
    }
}
