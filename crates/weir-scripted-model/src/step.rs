//! What a script is once it was read: steps, loops, rules. Not the text format (see `parse`), not
//! the choice of a step for a request (see `player`).

use std::sync::Arc;
use std::time::Duration;

use regex::Regex;
use weir_core::model::{Price, StopReason, Usage};

use super::fault::ScriptedFault;
use super::search::ScriptedSearch;

/// A whole script: what the model says, in order.
#[derive(Debug, Clone, Default)]
pub struct Script {
    /// What stands before the first step.
    pub header: ScriptHeader,
    pub(crate) sequence: Vec<ScriptNode>,
    pub(crate) rules: Vec<PromptRule>,
    /// What the vendor's own search tool finds, the first that fits.
    pub searches: Vec<ScriptedSearch>,
}

/// Settings of a script, from its header lines. Everything is optional.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScriptHeader {
    /// `dialect:` which wire format [`super::ScriptedModel`] goes through.
    pub dialect: Option<String>,
    /// `name:` what the model calls itself.
    pub name: Option<String>,
    /// `window:` in tokens.
    pub window: Option<u64>,
    /// `max-output:` in tokens.
    pub max_output: Option<u64>,
    /// `abilities:` by name, with commas: `tools, images`.
    pub abilities: Option<Vec<String>>,
    /// `price:` per million tokens.
    pub price: Option<Price>,
    /// `order:` how the step for a request is found.
    pub order: StepOrder,
}

/// How the step for a request is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StepOrder {
    /// By the number of replies that stand in the request: needs no memory, so a resumed session,
    /// a second process and a retry get the same reply.
    #[default]
    History,
    /// By the number of different requests this process has seen: for sessions whose history is
    /// condensed on the way.
    Requests,
}

/// One reply of the model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScriptStep {
    /// Line of the file where it begins; 0 when it came from no file.
    pub line: usize,
    /// What it says, in order.
    pub says: Vec<ScriptedPiece>,
    /// What goes wrong first: the n-th time the same request comes, the n-th of these; then the
    /// reply. Without a reply the last one stays.
    pub errors: Vec<ScriptedFault>,
    /// What the request must (or must not) hold.
    pub expects: Vec<ScriptExpectation>,
    /// What the vendor reports. Without it: one token per four bytes.
    pub usage: Option<Usage>,
    /// Why it stops. Without it: for calls when there are any, else at its end.
    pub stop: Option<StopReason>,
    /// Before the first byte.
    pub delay: Duration,
    /// Between two pieces of the stream.
    pub pace: Duration,
    /// How often each text and each call of this step comes; 0 and 1 are once.
    pub repeat: u64,
    /// Ids of its calls instead of made ones, in order; may be empty or doubled on purpose.
    pub call_ids: Vec<String>,
}

/// A piece of a reply.
#[derive(Debug, Clone, PartialEq)]
pub enum ScriptedPiece {
    /// Reasoning.
    Thinking(String),
    /// Text.
    Text(String),
    /// A call; the arguments are sent as they stand, JSON or not.
    Call {
        /// Name of the tool.
        tool: String,
        /// Text of its arguments.
        arguments: String,
    },
    /// A picture the model made.
    Image {
        /// IANA media type.
        media_type: String,
        /// The bytes.
        data: Arc<[u8]>,
    },
}

/// One `expect:` or `expect-not:` line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptExpectation {
    /// Line of the file.
    pub line: usize,
    /// Where to look, and for what.
    pub what: ExpectedContent,
    /// It must not be there.
    pub not: bool,
}

/// What an expectation looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpectedContent {
    /// This is part of what came since the last reply: texts and results.
    Text(String),
    /// This is part of a result since the last reply.
    Result(String),
    /// This regular expression matches in what came since the last reply.
    Pattern(String),
    /// This is part of the system prompt.
    System(String),
    /// A tool of this name is offered.
    Tool(String),
    /// This is part of the request's body as sent (JSON text).
    Body(String),
    /// A picture or document came since the last reply.
    Image,
}

#[derive(Debug, Clone)]
pub(crate) enum ScriptNode {
    Step(Arc<ScriptStep>),
    Loop { count: u64, body: Vec<ScriptNode>, steps: u64 },
}

/// Steps for prompts that match.
#[derive(Debug, Clone)]
pub(crate) struct PromptRule {
    pub(crate) pattern: Regex,
    pub(crate) sequence: Vec<ScriptNode>,
}

/// A step as found, with the number of the loop's round it stands in.
#[derive(Debug, Clone)]
pub(crate) struct FoundStep {
    pub(crate) step: Arc<ScriptStep>,
    pub(crate) round: Option<u64>,
}

impl Script {
    /// A script of these steps in order.
    pub fn from_steps(steps: impl IntoIterator<Item = ScriptStep>) -> Script {
        let sequence = steps.into_iter().map(|step| ScriptNode::Step(Arc::new(step))).collect();
        Script { sequence, ..Script::default() }
    }
    /// How many replies the plain sequence holds, loops counted out.
    pub fn reply_count(&self) -> u64 {
        count_steps(&self.sequence)
    }
    pub(crate) fn find_step(&self, index: u64) -> Option<FoundStep> {
        find_in_nodes(&self.sequence, index, None)
    }
}

impl ScriptStep {
    /// A reply of one text.
    pub fn with_text(text: impl Into<String>) -> ScriptStep {
        ScriptStep { says: vec![ScriptedPiece::Text(text.into())], ..ScriptStep::default() }
    }
    /// A reply of one call.
    pub fn with_call(tool: impl Into<String>, input: &serde_json::Value) -> ScriptStep {
        let call = ScriptedPiece::Call { tool: tool.into(), arguments: input.to_string() };
        ScriptStep { says: vec![call], ..ScriptStep::default() }
    }
    /// The same with one more call in the same reply.
    #[must_use]
    pub fn and_calls(mut self, tool: impl Into<String>, input: &serde_json::Value) -> ScriptStep {
        self.says.push(ScriptedPiece::Call { tool: tool.into(), arguments: input.to_string() });
        self
    }
    pub(crate) fn stop_or_usual(&self) -> StopReason {
        let calls = self.says.iter().any(|say| matches!(say, ScriptedPiece::Call { .. }));
        self.stop.unwrap_or(if calls { StopReason::Calls } else { StopReason::End })
    }
}

impl PromptRule {
    pub(crate) fn find_step(&self, index: u64) -> Option<FoundStep> {
        find_in_nodes(&self.sequence, index, None)
    }
}

/// How many steps `nodes` stand for.
pub(crate) fn count_steps(nodes: &[ScriptNode]) -> u64 {
    nodes.iter().fold(0u64, |sum, node| {
        sum.saturating_add(match node {
            ScriptNode::Step(_) => 1,
            ScriptNode::Loop { count, steps, .. } => count.saturating_mul(*steps),
        })
    })
}

fn find_in_nodes(nodes: &[ScriptNode], mut index: u64, round: Option<u64>) -> Option<FoundStep> {
    // A file of thousands of plain steps is walked by each request; that is nanoseconds a step.
    for node in nodes {
        match node {
            ScriptNode::Step(step) if index == 0 => {
                return Some(FoundStep { step: Arc::clone(step), round });
            }
            ScriptNode::Step(_) => index -= 1,
            ScriptNode::Loop { count, body, steps } => {
                let all = count.saturating_mul(*steps);
                if index < all {
                    return find_in_nodes(body, index % steps, Some(index / steps + 1));
                }
                index -= all;
            }
        }
    }
    None
}
