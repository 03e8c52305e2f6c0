//! What is found about a call before it is judged, and what hooks and judge model said of it. Not here: the
//! judgement (`governance`), and asking them (the engine).

use serde::{Deserialize, Serialize};

use super::{EffectClass, Effects, OwnGateOpinion, ResultEffect};
use crate::usage::Usage;

/// What is found about a call before it is judged. Made by the engine: it looks the tool up,
/// validates the arguments, and lets the tool say what it would do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Inspection {
    /// The tool exists. Otherwise [`Inspection::nearest`] may name one that does.
    pub known: bool,
    /// Nearest existing name, for an unknown tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest: Option<String>,
    /// What is wrong with the arguments: field, what was expected, what came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invalid: Option<String>,
    /// The tool can already say that it will fail (no such file, text not found): the message for
    /// the model. The call is judged all the same and then answered with it. It may quote what was
    /// looked at, so it has passed the filters of results (G8) and counts as a reading of the paths
    /// in `effects` ([`crate::governance::label::of_failed_plan`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fails: Option<String>,
    /// Why the words of `fails` were withheld, when they were (G8 `screen`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<String>,
    /// Paths, commands, hosts and recipients that the call would touch.
    pub effects: Effects,
    /// How it is recovered.
    pub class: EffectClass,
    /// One sentence for a person: `Replace 2 lines in src/main.rs`.
    pub summary: String,
    /// Unified diff of file changes, for the approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// The tool itself wants a person to confirm these arguments: why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm: Option<String>,
    /// What the hooks said that narrow it (G11).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookOpinion>,
    /// What gates of the program around the engine said that narrow it (gate `own`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<OwnGateOpinion>,
    /// What the judge model said, where it was asked (gate `intent`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<JudgeOpinion>,
    /// What the judge model used for all that it was asked until the call was judged (R11); absent: it was
    /// asked nothing, or answered nothing that a vendor charges for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge_use: Option<JudgeUse>,
}

impl Inspection {
    /// A call of a tool that is there, with arguments that can be used, and nothing more to say of it.
    pub fn new(class: EffectClass, effects: Effects, summary: impl Into<String>) -> Inspection {
        Inspection {
            known: true,
            nearest: None,
            invalid: None,
            fails: None,
            withheld: None,
            effects,
            class,
            summary: summary.into(),
            diff: None,
            confirm: None,
            hooks: Vec::new(),
            own: Vec::new(),
            judged: None,
            judge_use: None,
        }
    }

    /// Whether files must be saved before the call runs (G7).
    pub fn needs_checkpoint(&self) -> bool {
        !self.effects.changes.is_empty()
            || self.effects.paths.iter().any(|path| path.access.is_write())
            || self.changes_unknown()
    }

    /// Whether nobody knows in advance what it changes: it runs a command that may write, or it
    /// writes files whose new content is not known before it runs.
    pub fn changes_unknown(&self) -> bool {
        let writes = || self.effects.paths.iter().any(|path| path.access.is_write());
        self.effects.commands.iter().any(|command| !command.read_only)
            || (self.effects.changes.is_empty() && writes())
    }
}

/// A hook that does not let a call pass as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct HookOpinion {
    /// The hook with its place: `hooks.PreToolUse[0] (.weir/config.toml:12)`.
    pub hook: String,
    /// It refuses; otherwise it wants a person to be asked.
    pub denies: bool,
    /// What the hook says, in its own words.
    pub reason: String,
}

/// What a judge model said about a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(tag = "says", rename_all = "snake_case")]
pub enum JudgeOpinion {
    /// The call fits what the person asked for.
    Fits,
    /// It does not.
    Unfit {
        /// The reason, as a sentence for people and the model.
        reason: String,
    },
    /// No usable answer came: as good as a no.
    Silent {
        /// The reason, as a sentence for people and the model.
        reason: String,
    },
}

/// What a judge model used for one question or more.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct JudgeUse {
    /// Tokens.
    pub usage: Usage,
    /// What they cost in US dollars; absent: nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl JudgeUse {
    /// Adds what another question used to `all`. Where the price of one is not known, nobody knows the sum.
    pub fn add_to(self, all: &mut Option<JudgeUse>) {
        let Some(before) = all else {
            *all = Some(self);
            return;
        };
        before.usage.add(&self.usage);
        before.cost_usd = before.cost_usd.zip(self.cost_usd).map(|(one, other)| one + other);
    }
}

impl From<JudgeUse> for ResultEffect {
    fn from(used: JudgeUse) -> ResultEffect {
        ResultEffect::Used { usage: used.usage, cost_usd: used.cost_usd }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r11_what_several_questions_used_is_summed_and_an_unknown_price_stays_unknown() {
        let used = |tokens, cost_usd| JudgeUse {
            usage: Usage { input: tokens, ..Usage::default() },
            cost_usd,
        };
        let mut all = None;
        used(10, Some(0.25)).add_to(&mut all);
        assert_eq!(all, Some(used(10, Some(0.25))));
        used(5, Some(0.5)).add_to(&mut all);
        assert_eq!(all, Some(used(15, Some(0.75))));
        used(1, None).add_to(&mut all);
        used(1, Some(0.5)).add_to(&mut all);
        assert_eq!(all, Some(used(17, None)));
    }
}
