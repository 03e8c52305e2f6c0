//! The context meter (X6): what the next request will be made of. Not here: how it is shown.

use serde::{Deserialize, Serialize};

use crate::event::MessageOrigin;
use crate::message::MessageBlock;
use crate::sorting::sort_stably_by_key;

use super::Session;
use super::window::{WindowWeight, of_blocks, tool_bytes};

/// Tokens of the next request by part, and what is known about the last one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct ContextMeter {
    /// Tokens that the model's window has; 0: nobody knows.
    pub window: u64,
    /// The system prompt.
    pub system: u64,
    /// Tools with their schemas.
    pub tools: u64,
    /// Notes of the engine: rules, skills, memory, time.
    pub notes: u64,
    /// Estimated tokens of the history.
    pub history: u64,
    /// Results of calls.
    pub results: u64,
    /// What is left; 0 where the window is not known.
    pub free: u64,
    /// At which estimate the context is condensed; `None`: never.
    pub condense_at: Option<u64>,
    /// Bytes of the last request.
    pub last_bytes: u64,
    /// Bytes of it that stood unchanged in the one before.
    pub last_kept: u64,
    /// Share of the last request's tokens that the vendor's cache served; `None`: it did not say.
    pub cache_share: Option<f64>,
    /// How often the context was condensed.
    pub condensed: u32,
    /// Whether the last condensing can be taken back.
    pub can_uncondense: bool,
    /// Messages in the model's view.
    pub messages: usize,
    /// Calls made in the whole session: what is not in view can be recalled.
    pub calls: u64,
    /// Tools that are named only, and those of them that were loaded.
    #[cfg_attr(any(test, feature = "schema"), schemars(with = "Vec<usize>"))]
    pub deferred: (usize, usize),
    /// Tokens of the largest tools, by name.
    #[cfg_attr(any(test, feature = "schema"), schemars(with = "Vec<Vec<serde_json::Value>>"))]
    pub largest_tools: Vec<(String, u64)>,
}

impl Session {
    /// The meter as it stands now.
    pub fn meter(&self) -> ContextMeter {
        let (mut notes, mut history, mut results) = (0, 0, 0);
        let of = |blocks: &[MessageBlock]| self.window.weight_tokens(of_blocks(blocks));
        for (message, origin) in self.history.iter().zip(&self.origins) {
            for block in &message.blocks {
                let one = of(std::slice::from_ref(block));
                match (origin, block) {
                    (_, MessageBlock::Result { .. }) => results += one,
                    (MessageOrigin::Told, _) => notes += one,
                    (MessageOrigin::Person | MessageOrigin::Model | MessageOrigin::Summary, _) => {
                        history += one
                    }
                }
            }
        }
        notes += self.tail.as_ref().map_or(0, |tail| of(&[MessageBlock::text(tail.to_string())]));
        history += of(self.pending.blocks());
        let (system, tools) = (self.window.system_tokens(), self.window.tools_tokens());
        let used = system + tools + notes + history + results;
        let cache_share = self.window.counted.map(|usage| {
            let input = usage.input + usage.cache_read + usage.cache_write;
            if input == 0 { 0.0 } else { usage.cache_read as f64 / input as f64 }
        });
        let mut largest_tools: Vec<(String, u64)> = self
            .tools
            .iter()
            .map(|tool| {
                let weight = WindowWeight::text(tool_bytes(tool));
                (tool.name.clone(), self.window.weight_tokens(weight))
            })
            .collect();
        sort_stably_by_key(&mut largest_tools, |(_, tokens)| std::cmp::Reverse(*tokens));
        largest_tools.truncate(5);
        ContextMeter {
            window: self.window_tokens(),
            system,
            tools,
            notes,
            history,
            results,
            free: self.window_tokens().saturating_sub(used),
            condense_at: self.condensing_limit(),
            last_bytes: self.window.sent.0,
            last_kept: self.window.sent.1,
            cache_share,
            condensed: self.window.condensed,
            can_uncondense: self.hidden.is_some(),
            messages: self.history.len(),
            calls: self.activity.calls,
            deferred: (
                self.config.as_ref().map_or(0, |config| config.deferred.len()),
                self.found.len(),
            ),
            largest_tools,
        }
    }
}
