//! Condensing: the model's view becomes shorter, the journal does not (X2, X3).
//!
//! Three passes, each only if the one before was not enough: shorten old results, drop mechanical
//! noise, put a summary in the place of old messages. What must not be lost is never left to a
//! model: the person's words stay verbatim, and files, calls, failures, tasks and rules are told by
//! the session itself. Not here: asking the helper model.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::event::{
    CondenseReason, ContextCondensed, ContextCondensing, ContextSummarised, Event, HistoryEntry,
    MessageOrigin, RunStatus,
};
use crate::ids::TurnId;
use crate::message::{Message, MessageBlock};

use super::window::{WindowWeight, input_tokens};
use super::{RunPhase, Session, TurnStage};

mod head;
mod passes;
mod work;

pub use crate::event::{KEEP_CHARS_MAX, KeepRequest};
pub use work::{CondenseWork, read_summary};

/// After condensing a request should take at most this share of what it may take.
const TARGET_SHARE: f64 = 0.6;
/// The threshold of a session whose vendor once refused a request as too long, in per cent (X3).
const EMERGENCY_THRESHOLD: u64 = 80;
/// A summary that failed so often in a row is not paid for again.
const FAILURES_MAX: u32 = 2;
/// Condensings of one turn whose request does not fit.
const OVERFLOWS_MAX: u32 = 2;
/// A request larger than this share of the window is not sent.
pub(super) const BURST_SHARE: f64 = 0.97;
/// What a summary is taken to have before it is written, in tokens.
const SUMMARY_TOKENS: u64 = 600;
/// A view that would still take more of the window has its last turns shortened too.
const FULL_SHARE: f64 = 0.9;
/// How much the view may grow after condensing before it is condensed again, as a share of the
/// window: what binds may leave no room below the threshold, and each condensing breaks the cache.
const GROWTH_SHARE: f64 = 0.15;
/// Condensing that gains less than this share is not worth the cache that it breaks.
const GAIN_MIN: f64 = 0.08;
/// Share of what a request may take that recent turns beyond the last two may keep.
const RECENT_SHARE: f64 = 0.2;

/// Said when a request that was refused as too long cannot be made shorter.
const CANNOT_SHRINK: &str = "The conversation no longer fits the model's window and cannot be made \
                             shorter. Use a model with a larger window, or begin a new session.";

/// Condensing that is under way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum PendingCondensing {
    /// A helper model looks at what will be hidden; with what a person wants kept.
    Looking(CondenseReason, Option<KeepRequest>),
    /// It has answered: what comes of it follows from state.
    Ready(CondenseReason, Option<String>),
}

/// What the last condensing hid.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct HiddenHistory {
    messages: Vec<Arc<Message>>,
    origins: Vec<MessageOrigin>,
    /// How many messages stand in their place.
    head: usize,
}

/// What condensing would do, for a person who asks before it is done.
#[derive(Debug, Clone, PartialEq)]
pub struct CondensePreview {
    /// The last pass that is needed; 3 asks a model for a summary.
    pub pass: u8,
    /// Messages that would be hidden or shortened.
    pub hidden: usize,
    /// Messages that would stay word for word.
    pub kept: usize,
    /// Estimated tokens of the next request now.
    pub tokens_before: u64,
    /// And after; a summary is taken as 600 tokens.
    pub tokens_after: u64,
    /// What would stand before the kept messages.
    pub head: Vec<HistoryEntry>,
}

/// What is to be done to a view.
struct CondensePlan {
    /// First message that stays word for word.
    keep_from: usize,
    pass: u8,
    /// The old messages after the passes one and two.
    head: Vec<HistoryEntry>,
    /// The messages from `keep_from` on, where they too had to be shortened.
    recent: Option<Vec<HistoryEntry>>,
    /// Estimated tokens of the next request; a summary counts [`SUMMARY_TOKENS`].
    tokens_after: u64,
}

impl Session {
    /// Tokens that a request may have before the context is condensed; `None`: nothing bounds it.
    pub fn condensing_limit(&self) -> Option<u64> {
        let config = self.config.as_ref().filter(|config| config.condensing.enabled)?;
        let share = match self.window.believed {
            Some(_) => EMERGENCY_THRESHOLD,
            None => u64::from(config.condensing.threshold.clamp(1, 100)),
        };
        let window = self.window_tokens();
        let full = (window as f64 * FULL_SHARE) as u64;
        let again = self
            .window
            .condensed_to
            .map_or(0, |after| (after + (window as f64 * GROWTH_SHARE) as u64).min(full));
        (window > 0).then(|| (window.saturating_mul(share) / 100).max(again))
    }

    /// What condensing would do now; `None`: there is nothing to condense.
    pub fn condense_preview(&self) -> Option<CondensePreview> {
        let plan = self.condense_plan(CondenseReason::Asked)?;
        let tokens_after = plan.tokens_after;
        let (pass, hidden) = (plan.pass, plan.keep_from);
        let summary = (pass == 3).then_some("(the summary of a model)");
        let (head, kept) = self.head_of(plan, summary);
        let kept = self.history.len() - kept;
        Some(CondensePreview {
            pass,
            hidden,
            kept,
            tokens_before: self.next_tokens(),
            tokens_after,
            head,
        })
    }

    /// The new beginning of the view, and from where on the old messages follow it.
    fn head_of(&self, plan: CondensePlan, summary: Option<&str>) -> (Vec<HistoryEntry>, usize) {
        let keep_from = plan.keep_from;
        let mut head = match summary {
            Some(_) if plan.pass == 3 => self.summarised_head(&plan, summary),
            _ => plan.head,
        };
        match plan.recent {
            Some(recent) => {
                head.extend(recent);
                (head, self.history.len())
            }
            None => (head, keep_from),
        }
    }

    /// Whether a person can want the context condensed now.
    pub(super) fn may_condense(&self) -> bool {
        let at_rest = self.run.is_none() && self.condensing.is_none();
        at_rest && self.condense_preview().is_some()
    }

    /// Whether the last condensing can be taken back now.
    pub(super) fn may_uncondense(&self) -> bool {
        self.run.is_none() && self.condensing.is_none() && self.hidden.is_some()
    }

    /// Where what stays word for word begins: the last two turns, and as many more as have room.
    fn keep_from(&self, reason: CondenseReason) -> usize {
        // What stands in the place of hidden messages is never a turn of its own.
        let turns: Vec<usize> = (0..self.history.len())
            .filter(|at| self.origins[*at] == MessageOrigin::Model)
            .collect();
        let Some(mut from) = turns.len().checked_sub(2).map(|at| turns[at]) else { return 0 };
        // Where somebody said that it is too long, nothing beyond the last two turns stays.
        let room = match reason {
            CondenseReason::Threshold => {
                let bound = self.condensing_limit().unwrap_or(0);
                (bound as f64 * RECENT_SHARE) as u64
            }
            CondenseReason::Overflow | CondenseReason::Asked => 0,
        };
        let mut used = self.window.weight_tokens(self.weigh_messages(&self.history[from..]));
        for at in turns.iter().rev().skip(2) {
            used += self.window.weight_tokens(self.weigh_messages(&self.history[*at..from]));
            if used > room {
                break;
            }
            from = *at;
        }
        // What a person said before the first kept turn belongs to it.
        while from > 0 && self.origins[from - 1] == MessageOrigin::Person {
            from -= 1;
        }
        from
    }

    fn weigh_messages(&self, messages: &[Arc<Message>]) -> WindowWeight {
        let mut window = super::ContextWindow::default();
        window.replace_history(messages.iter().map(AsRef::as_ref));
        window.history_weight()
    }

    /// Estimated tokens of the next request with `head` before the messages from `keep_from` on.
    fn tokens_after(&self, head: &[HistoryEntry], keep_from: usize) -> u64 {
        let mut window = super::ContextWindow::default();
        window.replace_history(head.iter().map(|held| held.message.as_ref()));
        let head = self.window.weight_tokens(window.history_weight());
        let kept = self.window.weight_tokens(self.weigh_messages(&self.history[keep_from..]));
        let now = self.next_tokens().saturating_sub(self.window.history_tokens());
        now + head + kept
    }

    /// What is to be done; `None`: there is nothing to make shorter.
    fn condense_plan(&self, reason: CondenseReason) -> Option<CondensePlan> {
        let keep_from = self.keep_from(reason);
        let full = (self.window_tokens() as f64 * FULL_SHARE) as u64;
        let mut plan = self.plan_passes(reason, keep_from);
        let overflows = self.turn.as_ref().map_or(0, |turn| turn.overflows);
        let too_large = self.window_tokens() > 0 && plan.tokens_after > full;
        // Even the last turns have results that are too long: better shortened than not sent.
        if overflows >= OVERFLOWS_MAX || too_large {
            let mut recent = self.history_entries(keep_from..self.history.len());
            passes::shorten_results(&mut recent, true);
            let kept = self.tokens_after(&plan.head, keep_from);
            let with: Vec<HistoryEntry> = plan.head.iter().chain(&recent).cloned().collect();
            let shortened = self.tokens_after(&with, self.history.len());
            if shortened < kept {
                plan.tokens_after = plan.tokens_after.saturating_sub(kept - shortened);
                plan.recent = Some(recent);
            }
        }
        (keep_from > 0 || plan.recent.is_some()).then_some(plan)
    }

    /// The passes over the messages before `keep_from`, as many as are needed.
    fn plan_passes(&self, reason: CondenseReason, keep_from: usize) -> CondensePlan {
        let limit =
            self.condensing_limit().unwrap_or(self.window_tokens() * EMERGENCY_THRESHOLD / 100);
        let target = (limit as f64 * TARGET_SHARE) as u64;
        let mut head = self.history_entries(0..keep_from);
        for pass in [1, 2] {
            match pass {
                1 => passes::shorten_results(&mut head, false),
                _ => head = passes::drop_noise(&head, &self.told),
            }
            let tokens_after = self.tokens_after(&head, keep_from);
            if keep_from == 0 || (tokens_after <= target && reason != CondenseReason::Asked) {
                return CondensePlan { keep_from, pass, head, recent: None, tokens_after };
            }
        }
        let mut plan = CondensePlan { keep_from, pass: 3, head, recent: None, tokens_after: 0 };
        let summarised = self.summarised_head(&plan, None);
        plan.tokens_after = self.tokens_after(&summarised, keep_from) + SUMMARY_TOKENS;
        plan
    }

    fn history_entries(&self, range: std::ops::Range<usize>) -> Vec<HistoryEntry> {
        let held = |at: usize| HistoryEntry {
            origin: self.origins[at],
            message: self.history[at].clone(),
        };
        range.map(held).collect()
    }

    /// The fact that condensing begins, when the next request would be too large.
    pub(super) fn condensing_due(&self) -> Option<Event> {
        let run = self.run.as_ref()?;
        let next = TurnId(self.next.turn + 1);
        let tokens = self.next_tokens();
        if tokens < self.condensing_limit()? || run.condensed == Some(next) {
            return None;
        }
        let plan = self.condense_plan(CondenseReason::Threshold)?;
        // Without summaries only what the first passes gain is to be had.
        let after = match plan.pass == 3 && self.window.failures >= FAILURES_MAX {
            true => self.tokens_after(&plan.head, plan.keep_from),
            false => plan.tokens_after,
        };
        let gain = tokens.saturating_sub(after) as f64 / tokens as f64;
        if gain < GAIN_MIN {
            return None;
        }
        Some(self.begin_condensing(CondenseReason::Threshold).into())
    }

    pub(super) fn begin_condensing(&self, reason: CondenseReason) -> ContextCondensing {
        let (tokens, window) = (self.next_tokens(), self.window_tokens());
        ContextCondensing { reason, keep: None, tokens, window, cut: None }
    }

    /// A request that cannot fit is not sent: the run ends with what, why and what to do.
    pub(super) fn overflow_error(&self) -> Option<String> {
        self.condensing_limit()?;
        let (tokens, window) = (self.next_tokens(), self.window_tokens());
        if (tokens as f64) < window as f64 * BURST_SHARE {
            return None;
        }
        let failed = match self.window.failures >= FAILURES_MAX {
            true => " Summaries failed twice and are not tried again in this session.",
            false => "",
        };
        Some(format!(
            "The next request would have about {tokens} tokens, and the window of {} has {window}. \
             What could be condensed was condensed.{failed} Use a model with a larger window, or \
             begin a new session.",
            self.model.model
        ))
    }

    /// Whether a request that the vendor refused as too long can be made shorter (X3).
    pub(super) fn may_shorten(&self) -> bool {
        let left = self.turn.as_ref().is_some_and(|turn| turn.overflows < OVERFLOWS_MAX);
        let is_result = |block: &MessageBlock| matches!(block, MessageBlock::Result { .. });
        let results = || self.history.iter().any(|message| message.blocks.iter().any(is_result));
        left && (self.keep_from(CondenseReason::Overflow) > 0 || results())
    }

    /// The fact that follows once a helper has answered.
    pub(super) fn condensing_next(&self) -> Option<Event> {
        let Some(PendingCondensing::Ready(reason, summary)) = &self.condensing else { return None };
        let plan = self.condense_plan(*reason)?;
        let pass = if summary.is_some() { plan.pass } else { plan.pass.min(2) };
        let old = plan.keep_from;
        let (head, keep_from) = self.head_of(plan, summary.as_deref());
        let models = |origins: &[MessageOrigin]| {
            origins.iter().filter(|o| **o == MessageOrigin::Model).count()
        };
        let kept_turns = models(&self.origins[old..]);
        let turn = self.next.turn.saturating_sub(u32::try_from(kept_turns).unwrap_or(0));
        Some(
            ContextCondensed {
                reason: *reason,
                pass,
                tokens_after: self.tokens_after(&head, keep_from),
                head,
                kept: u32::try_from(self.history.len() - keep_from).unwrap_or(u32::MAX),
                hidden: u32::try_from(old).unwrap_or(u32::MAX),
                through: TurnId(turn),
                tokens_before: self.next_tokens(),
                label: self.label.clone(),
            }
            .into(),
        )
    }
}

pub(super) fn apply_condensing(s: &mut Session, f: &ContextCondensing) {
    s.condensing = Some(PendingCondensing::Looking(f.reason, f.keep.clone()));
    if f.reason == CondenseReason::Overflow {
        if let Some(cut) = &f.cut {
            s.note_cut(f.tokens, cut);
        }
        // A window that nobody knew is known now, from above. What a server counted it took: it has at
        // least that, whatever was believed before.
        let (most, known) = match &f.cut {
            Some(cut) => (input_tokens(&cut.usage), s.model.window),
            None => (f.tokens, s.window_tokens()),
        };
        let known = if known == 0 { most } else { known.min(most) };
        s.window.believed = Some(known.max(1));
        let nothing_old = s.keep_from(f.reason) == 0;
        if let Some(turn) = &mut s.turn {
            turn.overflows = if nothing_old { OVERFLOWS_MAX } else { turn.overflows + 1 };
            turn.stage = TurnStage::Due;
        }
    }
}

pub(super) fn apply_summary(s: &mut Session, f: &ContextSummarised) {
    for note in &f.memories {
        s.due.push_back(super::apply::memory_fact(note));
    }
    s.count_usage(&f.usage, f.cost_usd);
    let Some(PendingCondensing::Looking(reason, _)) = s.condensing else { return };
    if f.failed.is_some() {
        s.window.failures += 1;
        // The first failure is asked again, at once and once.
        if s.window.failures < FAILURES_MAX {
            return;
        }
    } else if f.summary.is_some() {
        s.window.failures = 0;
    }
    let possible = s.condense_plan(reason).is_some();
    s.condensing = possible.then(|| PendingCondensing::Ready(reason, f.summary.clone()));
    if !possible && reason == CondenseReason::Overflow {
        s.turn = None;
        s.end_run(RunStatus::Failed, Some(CANNOT_SHRINK.into()));
    }
}

pub(super) fn apply_condensed(s: &mut Session, f: &ContextCondensed) {
    let keep_from = s.history.len().saturating_sub(f.kept as usize);
    let old: Vec<Arc<Message>> = s.history[..keep_from].to_vec();
    let old_origins = s.origins[..keep_from].to_vec();
    let head = f.head.len();
    let messages = f.head.iter().map(|held| held.message.clone());
    let messages: Vec<_> = messages.chain(s.history[keep_from..].iter().cloned()).collect();
    let origins = f.head.iter().map(|held| held.origin);
    s.origins = origins.chain(s.origins[keep_from..].iter().copied()).collect();
    s.hidden = Some(HiddenHistory { messages: old, origins: old_origins, head });
    s.label.join(&f.label);
    s.window.condensed += 1;
    s.window.condensed_to = Some(f.tokens_after);
    s.condensing = None;
    view_changed(s, messages, "the context was condensed");
    // The turn whose request was made shorter: the one at work, if any. The next may need it again.
    let shortened = s.turn.as_ref().map_or(TurnId(s.next.turn + 1), |turn| turn.id);
    if let Some(run) = &mut s.run {
        run.condensed = Some(shortened);
        if matches!(run.phase, RunPhase::Turning) && s.turn.is_none() {
            run.phase = RunPhase::Between;
        }
    }
    // A request that already did not fit and still would not is not worth its price.
    if f.reason == CondenseReason::Overflow && f.tokens_after >= f.tokens_before {
        s.turn = None;
        s.end_run(RunStatus::Failed, Some(CANNOT_SHRINK.into()));
    }
}

pub(super) fn apply_uncondensed(s: &mut Session) {
    let Some(hidden) = s.hidden.take() else { return };
    let after = s.history[hidden.head.min(s.history.len())..].iter().cloned();
    let messages = hidden.messages.into_iter().chain(after).collect();
    let after = s.origins[hidden.head.min(s.origins.len())..].iter().copied();
    s.origins = hidden.origins.into_iter().chain(after).collect();
    s.window.condensed_to = None;
    view_changed(s, messages, "condensing was taken back");
}

/// The view is another: what depends on it is computed again.
fn view_changed(s: &mut Session, messages: Vec<Arc<Message>>, why: &str) {
    s.window.replace_history(messages.iter().map(AsRef::as_ref));
    s.media.clear();
    let mut blobs = Vec::new();
    for message in &messages {
        super::turns::media_of(&message.blocks, &mut blobs);
    }
    s.media.extend(blobs);
    // Ids of calls that nothing shows any more need not be known for ever: a state is bounded.
    let hidden = s.hidden.iter().flat_map(|hidden| &hidden.messages);
    let blocks = messages.iter().chain(hidden).flat_map(|message| &message.blocks);
    let calls = blocks.filter_map(|block| match block {
        MessageBlock::Call(call) => Some(call.wire_id.clone()),
        MessageBlock::Text { .. }
        | MessageBlock::Thinking { .. }
        | MessageBlock::Result { .. }
        | MessageBlock::Image { .. }
        | MessageBlock::Document { .. } => None,
    });
    s.wire_ids = calls.collect();
    s.history = Arc::new(messages);
    s.prefix_break = Some(why.into());
}

#[cfg(test)]
mod tests;
