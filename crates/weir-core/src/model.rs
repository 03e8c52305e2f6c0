//! What is asked of a model and what comes back.
//!
//! A [`ModelRequest`] is vendor-neutral; turning it into bytes is the work of a dialect in
//! `weir-providers`. A [`ModelReply`] is total: a provider never returns an error, it returns
//! [`ModelReply::Failed`] with a class that says whether trying again can help (L8).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ids::{SessionId, TurnId};
use crate::message::{MessageBlock, MessageHistory, VendorSeal};
use crate::tool::ToolSpec;

pub use crate::usage::Usage;

/// `provider/name`, as people write it (C4).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct ModelRef {
    /// `anthropic`, `openai`, `script`, a name of the config, …
    pub provider: String,
    /// The vendor's name of the model.
    pub name: String,
}

impl std::fmt::Display for ModelRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.provider, self.name)
    }
}

/// Prices in USD per million tokens. An unknown price is an absent [`Price`], never zero (L4).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Input that was not served from a cache.
    pub input: f64,
    /// Output, reasoning included.
    pub output: f64,
    /// Input read from the vendor's cache; 0: not named, then it counts as plain input.
    #[serde(default)]
    pub cache_read: f64,
    /// Input written to the vendor's cache; 0: not named, then it counts as plain input.
    #[serde(default)]
    pub cache_write: f64,
}

impl Price {
    /// What a million tokens from the cache count. No vendor gives them away where input costs: what
    /// nobody named is not nothing.
    pub fn counted_cache_read(&self) -> f64 {
        if self.cache_read > 0.0 { self.cache_read } else { self.input }
    }

    /// What a million tokens that go to the cache count; by the same rule.
    pub fn counted_cache_write(&self) -> f64 {
        if self.cache_write > 0.0 { self.cache_write } else { self.input }
    }
}

/// What is known of a model: data, overridable in the config (V1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct ModelInfo {
    /// Name of the model.
    pub model: ModelRef,
    /// Context window in tokens.
    pub window: u64,
    /// Most tokens it writes in one reply.
    pub max_output: u64,
    /// The price of the model, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// `tools`, `images`, `pdf`, `thinking`, `structured`; `text_tools` where tools stand in the prompt
    /// and calls in the text, `text_calls` where calls are looked for in the text as well (V5).
    #[serde(default)]
    pub abilities: Vec<String>,
    /// A server of somebody's own holds it, which may cut what is too long without a word (R6).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_cut: bool,
}

impl ModelInfo {
    /// A model of which nothing is known but its name.
    pub fn with_name(model: ModelRef) -> ModelInfo {
        ModelInfo {
            model,
            window: 0,
            max_output: 0,
            price: None,
            abilities: Vec::new(),
            may_cut: false,
        }
    }

    /// How much it thinks where nobody says anything: a model that can think does, at the middle
    /// level. What a scripted one thinks stands in its script.
    pub fn usual_thinking(&self) -> Thinking {
        match self.has_ability("thinking") && self.model.provider != "script" {
            true => Thinking::Medium,
            false => Thinking::Off,
        }
    }
    /// Whether the model has the named ability.
    pub fn has_ability(&self, ability: &str) -> bool {
        self.abilities.iter().any(|a| a == ability)
    }
    /// The same model with its tools in its prompt in the place of its vendor's own way (V5).
    #[must_use]
    pub fn with_tools_in_prompt(&self) -> ModelInfo {
        let others =
            self.abilities.iter().filter(|a| !["tools", "text_calls"].contains(&a.as_str()));
        let mut info = ModelInfo { abilities: others.cloned().collect(), ..self.clone() };
        if !info.has_ability("text_tools") {
            info.abilities.insert(0, "text_tools".to_owned());
        }
        info
    }
    /// Whether it can be given tools: by its vendor's own way, or described in its prompt (V5).
    pub fn takes_tools(&self) -> bool {
        self.has_ability("tools") || self.has_ability("text_tools")
    }
    /// Cost of `usage` in USD, where the price is known.
    pub fn cost(&self, usage: &Usage) -> Option<f64> {
        let price = self.price?;
        let per = |tokens: u64, usd: f64| tokens as f64 * usd / 1e6;
        Some(
            per(usage.input, price.input)
                + per(usage.output, price.output)
                + per(usage.cache_read, price.counted_cache_read())
                + per(usage.cache_write, price.counted_cache_write()),
        )
    }
}

/// How much the model should think before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Thinking {
    /// Not asked for.
    #[default]
    Off,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
}

impl Thinking {
    /// All levels, the least first.
    pub const ALL: [Thinking; 4] = [Thinking::Off, Thinking::Low, Thinking::Medium, Thinking::High];

    /// The word people write.
    pub fn as_str(self) -> &'static str {
        match self {
            Thinking::Off => "off",
            Thinking::Low => "low",
            Thinking::Medium => "medium",
            Thinking::High => "high",
        }
    }
}

/// One request: everything the model is told. Each extends the one before (P2).
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// Whose request; also the vendor's cache key where one exists (P3).
    pub session: SessionId,
    /// Number of the turn in its session.
    pub turn: TurnId,
    /// The model that is asked, with its window and abilities.
    pub model: Arc<ModelInfo>,
    /// System prompt: frozen for the session and profile.
    pub system: Arc<str>,
    /// Tools the model may call, in a fixed order.
    pub tools: Arc<Vec<ToolSpec>>,
    /// What was said, oldest first. Only ever extended.
    pub history: MessageHistory,
    /// The recency anchor (L11): a last piece of user text after everything cached. Not part of
    /// the prefix that must be kept.
    pub tail: Option<Arc<str>>,
    /// Thinking effort.
    pub thinking: Thinking,
}

/// Why the model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It was done.
    End,
    /// It wants calls answered.
    Calls,
    /// It ran into its output limit.
    MaxTokens,
    /// It (or the vendor) refused.
    Refusal,
    /// Somebody ended the run meanwhile: this is what had come until then, and its usage is an
    /// estimate.
    Interrupted,
}

/// A call in a reply, before the session has numbered it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplyCall {
    /// The vendor's id; may be empty or doubled, the session repairs it.
    pub wire_id: String,
    /// Name of the tool as the model wrote it.
    pub tool: String,
    /// The arguments exactly as streamed. Parsed by the session's side with [`parse_arguments`].
    pub arguments: String,
    /// Vendor data that belongs to this call.
    pub seal: Option<VendorSeal>,
}

/// A piece of a reply, in the order the model wrote it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ReplyBlock {
    /// Text or thinking: anything but a call.
    Said(MessageBlock),
    /// A call.
    Call(ReplyCall),
    /// An image that the model made: its media type and bytes. The engine stores it as a blob.
    Image {
        /// IANA media type.
        media_type: String,
        /// The bytes.
        data: Vec<u8>,
    },
}

/// How a request failed. The class alone decides what happens next (L8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// 429: too many requests; retried, `Retry-After` honoured.
    RateLimited,
    /// 5xx, 529: retried.
    Overloaded,
    /// No connection, or it broke before a byte of the reply came: retried.
    Network,
    /// The stream ended before the reply was whole: retried; its calls are never run.
    StreamCut,
    /// Nothing came for the idle limit: retried.
    Timeout,
    /// The request was larger than the window.
    ContextOverflow,
    /// 401, 403, no key.
    Auth,
    /// 400 and what else the vendor will never accept.
    InvalidRequest,
    /// 404: no such model or endpoint.
    NotFound,
    /// The vendor's safety layer refused the request.
    Refused,
    /// The server takes no tools with a request for this model: the same may be taken with the tools in
    /// its prompt (V5).
    ToolsRefused,
}

impl FailureClass {
    /// Whether a vendor had the request and worked on it, and may charge for that.
    pub fn may_be_charged(self) -> bool {
        matches!(self, FailureClass::StreamCut | FailureClass::Timeout)
    }
    /// Whether the same request may succeed later.
    pub fn is_retryable(self) -> bool {
        match self {
            FailureClass::RateLimited
            | FailureClass::Overloaded
            | FailureClass::Network
            | FailureClass::StreamCut
            | FailureClass::Timeout => true,
            FailureClass::ContextOverflow
            | FailureClass::Auth
            | FailureClass::InvalidRequest
            | FailureClass::NotFound
            | FailureClass::Refused
            | FailureClass::ToolsRefused => false,
        }
    }
}

/// The answer of a model. Never an `Err`: a failure is data with a class.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelReply {
    /// A whole reply.
    Whole {
        /// Pieces of text, reasoning and calls, in the order in which they came.
        blocks: Vec<ReplyBlock>,
        /// Why it ended.
        stop: StopReason,
        /// What the vendor reported.
        usage: Usage,
        /// What was put right in calls that the model wrote as text, or left alone, in words (V5).
        repairs: Vec<String>,
    },
    /// No whole reply.
    Failed {
        /// What kind of failure.
        class: FailureClass,
        /// A sentence: what failed and why, in the vendor's words where there are any. No secrets.
        message: String,
        /// The vendor's wish, in milliseconds.
        retry_after_ms: Option<u64>,
    },
}

/// Streamed text or progress; never journaled.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelSignal {
    /// The model writes.
    Text(String),
    /// The model thinks.
    Thinking(String),
    /// The model has begun a call of this tool.
    CallBegun(String),
}

/// Levels that a tree of values from outside may have. A fact nests it some levels deeper, and whoever reads a
/// journal must be able to read all of it: JSON is read to 128 levels.
pub const NESTING_MAX: usize = 64;

/// Whether a tree has more levels than [`NESTING_MAX`].
pub fn nests_too_deep(value: &serde_json::Value) -> bool {
    fn is_beyond(value: &serde_json::Value, left: usize) -> bool {
        match value {
            serde_json::Value::Array(items) => {
                left == 0 || items.iter().any(|item| is_beyond(item, left - 1))
            }
            serde_json::Value::Object(fields) => {
                left == 0 || fields.values().any(|item| is_beyond(item, left - 1))
            }
            _ => false,
        }
    }
    is_beyond(value, NESTING_MAX)
}

/// Parses streamed arguments. Empty text counts as no arguments.
///
/// # Errors
/// The parser's message, in words the model can act on (L9).
pub fn parse_arguments(text: &str) -> Result<serde_json::Value, String> {
    if text.trim().is_empty() {
        return Ok(serde_json::json!({}));
    }
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(value) if nests_too_deep(&value) => {
            Err(format!("The arguments are nested more than {NESTING_MAX} levels deep."))
        }
        Ok(value @ serde_json::Value::Object(_)) => Ok(value),
        Ok(other) => Err(format!(
            "The arguments must be one JSON object; this is {}.",
            match other {
                serde_json::Value::Null => "null",
                serde_json::Value::Bool(_) => "a boolean",
                serde_json::Value::Number(_) => "a number",
                serde_json::Value::String(_) => "a string",
                serde_json::Value::Array(_) => "an array",
                serde_json::Value::Object(_) => "an object",
            }
        )),
        Err(error) => Err(format!("The arguments are not valid JSON: {error}.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(levels: usize) -> String {
        format!("{{\"a\":{}1{}}}", "[".repeat(levels - 1), "]".repeat(levels - 1))
    }

    #[test]
    fn l9_arguments_are_no_deeper_than_a_journal_can_be_read_back_with() {
        parse_arguments(&nested(NESTING_MAX)).expect("deep enough for anybody");
        for levels in [NESTING_MAX + 1, 127, 200, 100_000] {
            parse_arguments(&nested(levels)).expect_err("too deep");
        }
        // A fact holds them some levels deeper, and its line in other texts once more.
        let input = parse_arguments(&nested(NESTING_MAX)).expect("as above");
        let line = serde_json::json!([[[[{ "blocks": [{ "input": input }] }]]]]).to_string();
        serde_json::from_str::<serde_json::Value>(&line).expect("it is read again");
        let smuggled = format!(
            "{{\"a\":{{\"$serde_json::private::RawValue\":\"{}{}\"}}}}",
            "[".repeat(120),
            "]".repeat(120)
        );
        // Whatever reads such a name as a tree, the tree is looked at.
        if let Ok(read) = parse_arguments(&smuggled) {
            let text = read.to_string();
            serde_json::from_str::<serde_json::Value>(&text).expect("it is read again");
        }
    }
}
