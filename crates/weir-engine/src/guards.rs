//! What is asked about a call or a text beside the tool itself: gates of the program around the
//! engine (F5), the person's hooks (G11) and the judge model (gate `intent`, filter `screen`). Nothing is decided here: answers go into the
//! inspection or to the filters. Silence and failure are answers too, and never a yes.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use weir_core::governance::filter::redact_text;
use weir_core::governance::frame::frame_mark;
use weir_core::governance::judge;
use weir_core::governance::label::Label;
use weir_core::ids::CallId;
use weir_core::message::{MessageBlock, plain_text};
use weir_core::session::{CallState, SessionConfig};
use weir_core::tool::{HookOpinion, Inspection, JudgeOpinion, JudgeUse, RawResult};

use crate::helper::{self, HelperFailure};
use crate::own_gates::ask_own_gates;
use crate::ports::{HookAnswer, HookCall, HookDecision, HookMoment, Model, OwnGateCall};
use crate::spending::CappedModel;
use crate::worker_context::WorkerContext;

/// How long a judge may think about one question.
const JUDGE_WAIT: Duration = Duration::from_secs(60);
/// Pieces of one text that a judge is asked about; what is longer is withheld.
const PIECES_MAX: usize = 16;
/// Bytes of a text that a judge is asked about at once, for each token of its window: what it is told beside
/// that, and text of many tokens, must fit too.
const PIECE_BYTES_PER_TOKEN: u64 = 2;

/// The hooks and the judge model that are asked about calls and texts of one session.
#[derive(Clone)]
pub(crate) struct Guards {
    pub(crate) context: Arc<WorkerContext>,
    /// The model that is asked about calls and foreign content, without bounds yet: those are of each
    /// question.
    pub(crate) judge: Arc<dyn Model>,
}

/// What the judge model found about a result.
#[derive(Debug, Default)]
pub(crate) struct ScreenedResult {
    /// Why it must be withheld, if it must.
    pub(crate) withhold: Option<String>,
    /// What the judge used; none: it was not asked, or answered nothing that is charged for.
    pub(crate) judge_use: Option<JudgeUse>,
}

impl ScreenedResult {
    fn withheld(reason: &str) -> ScreenedResult {
        ScreenedResult { withhold: Some(reason.to_owned()), judge_use: None }
    }
}

/// A text in pieces that a judge with this window can read whole; 0: nobody knows its window.
fn pieces_to_screen(text: &str, window: u64) -> Vec<&str> {
    let bytes_max = match window {
        0 => usize::MAX,
        tokens => {
            usize::try_from(tokens.saturating_mul(PIECE_BYTES_PER_TOKEN)).unwrap_or(usize::MAX)
        }
    };
    let (mut pieces, mut start, mut characters) = (Vec::new(), 0, 0);
    for (at, character) in text.char_indices() {
        let is_full = at + character.len_utf8() - start > bytes_max && characters > 0;
        if characters == judge::SCREENED_MAX || is_full {
            pieces.push(&text[start..at]);
            (start, characters) = (at, 0);
        }
        characters += 1;
    }
    pieces.push(&text[start..]);
    pieces
}

impl Guards {
    fn hook_call(&self, moment: HookMoment, config: &SessionConfig) -> HookCall {
        HookCall {
            moment,
            session: self.context.session.clone(),
            cwd: config.workspace.clone(),
            mode: config.permission,
            tool: None,
            fields: json!({}),
        }
    }

    /// Asks own gates, hooks and judge about a call whose effects are known.
    pub(crate) async fn consult_guards(
        &self,
        call: &CallState,
        config: &SessionConfig,
        said: &[String],
        inspection: &mut Inspection,
    ) {
        let runs = inspection.known && inspection.invalid.is_none() && call.broken.is_none();
        if !runs {
            return;
        }
        let asked = OwnGateCall {
            session: &self.context.session,
            mode: config.permission,
            tool: &call.tool,
            input: &call.input,
            inspection,
        };
        inspection.own = ask_own_gates(&self.context.parts.gates, &asked);
        inspection.hooks = self.before_tool(call, config).await;
        let effects = &inspection.effects;
        let matters = effects.changes_world() || !effects.hosts.is_empty();
        if config.guards.validate_output && matters {
            let mark = frame_mark(&self.context.session, &call.id.to_string());
            let question =
                judge::validate_question(said, &call.tool, &call.input, inspection, &mark);
            // For no call: its judgement says what was used, long before its end.
            let used = &mut inspection.judge_use;
            let asked = self.ask_judge(None, judge::VALIDATE_SYSTEM, question, used).await;
            inspection.judged = Some(match asked {
                Ok(answer) => judge::parse_call_answer(&answer),
                Err(reason) => JudgeOpinion::Silent { reason },
            });
        }
    }

    async fn before_tool(&self, call: &CallState, config: &SessionConfig) -> Vec<HookOpinion> {
        let hooks = &self.context.parts.hooks;
        if !hooks.has_listener(HookMoment::PreToolUse) {
            return Vec::new();
        }
        let fields = json!({ "tool_input": call.input, "tool_use_id": call.id });
        let asked = HookCall {
            tool: Some(call.tool.clone()),
            fields,
            ..self.hook_call(HookMoment::PreToolUse, config)
        };
        let narrows = |answer: HookAnswer| match answer.decision {
            HookDecision::Pass => None,
            HookDecision::Ask | HookDecision::Deny => Some(HookOpinion {
                hook: answer.hook,
                denies: answer.decision == HookDecision::Deny,
                reason: answer.reason,
            }),
        };
        hooks.run_hooks(asked).await.into_iter().filter_map(narrows).collect()
    }

    /// Tells hooks about a finished call; what they want the model to know is added to the result.
    pub(crate) async fn after_tool(
        &self,
        call: &CallState,
        config: &SessionConfig,
        raw: &mut RawResult,
    ) {
        if !self.context.parts.hooks.has_listener(HookMoment::PostToolUse) {
            return;
        }
        let fields = json!({
            "tool_input": call.input,
            "tool_use_id": call.id,
            "tool_response": { "ok": raw.ok, "text": plain_text(&raw.blocks) },
        });
        let asked = HookCall {
            tool: Some(call.tool.clone()),
            fields,
            ..self.hook_call(HookMoment::PostToolUse, config)
        };
        for answer in self.context.parts.hooks.run_hooks(asked).await {
            let blocked = answer.decision != HookDecision::Pass;
            let reason = blocked.then(|| format!("A hook objects: {}", answer.reason));
            for text in reason.into_iter().chain(answer.context) {
                raw.blocks.push(MessageBlock::text(format!("[{}] {text}", answer.hook)));
            }
        }
    }

    /// Tells `SessionStart` hooks, and gives what they want the model to know.
    pub(crate) async fn session_started(&self, config: &SessionConfig) -> Vec<String> {
        let moment = HookMoment::SessionStart;
        // A sub-agent is no session of the person's.
        if config.depth > 0 || !self.context.parts.hooks.has_listener(moment) {
            return Vec::new();
        }
        let asked = HookCall { fields: json!({}), ..self.hook_call(moment, config) };
        self.context
            .parts
            .hooks
            .run_hooks(asked)
            .await
            .into_iter()
            .filter_map(|a| a.context)
            .collect()
    }

    /// Asks the `Stop` hooks (of a sub-agent: `SubagentStop`) whether the run may end: the words of
    /// one that says no.
    pub(crate) async fn may_stop(&self, config: &SessionConfig, text: &str) -> Option<String> {
        let fields = json!({ "text": text, "stop_hook_active": true });
        let moment = if config.depth > 0 { HookMoment::SubagentStop } else { HookMoment::Stop };
        let asked = HookCall { fields, ..self.hook_call(moment, config) };
        let answers = self.context.parts.hooks.run_hooks(asked).await;
        let no = answers.into_iter().find(|answer| answer.decision != HookDecision::Pass)?;
        Some(format!("{} ({})", no.reason, no.hook))
    }

    /// Tells hooks that something happened. Their answers change nothing.
    pub(crate) async fn notify_hooks(
        &self,
        moment: HookMoment,
        config: &SessionConfig,
        fields: serde_json::Value,
    ) {
        if self.context.parts.hooks.has_listener(moment) {
            let asked = HookCall { fields, ..self.hook_call(moment, config) };
            self.context.parts.hooks.run_hooks(asked).await;
        }
    }

    /// Whether a foreign text that `call` brought must be withheld.
    pub(crate) async fn screen_result(
        &self,
        call: CallId,
        config: &SessionConfig,
        label: &Label,
        raw: &RawResult,
    ) -> ScreenedResult {
        let mut found = ScreenedResult::default();
        if !config.guards.screen_results || !label.is_external() {
            return found;
        }
        // The judge may be another vendor's: nothing goes there that may not go to the model.
        let text = plain_text(&raw.blocks);
        let text = redact_text(&text, &self.context.parts.secrets);
        if text.trim().is_empty() {
            return found;
        }
        let mark = frame_mark(&self.context.session, &text);
        let pieces = pieces_to_screen(&text, self.judge.info().window);
        if pieces.len() > PIECES_MAX {
            return ScreenedResult::withheld("it is too long for the judge model to read");
        }
        let origin = label.origins.iter().cloned().collect::<Vec<_>>().join(", ");
        for piece in pieces {
            let question = judge::screen_question(&origin, piece, &mark);
            let used = &mut found.judge_use;
            found.withhold =
                match self.ask_judge(Some(call), judge::SCREEN_SYSTEM, question, used).await {
                    Ok(answer) => judge::parse_screen_answer(&answer),
                    Err(why) => Some(why),
                };
            if found.withhold.is_some() {
                break;
            }
        }
        found
    }

    /// One question to the judge model, for `call` where the end of that says what it used. That is added to
    /// `used`, also where no usable answer came (R11).
    async fn ask_judge(
        &self,
        call: Option<CallId>,
        system: &str,
        question: String,
        used: &mut Option<JudgeUse>,
    ) -> Result<String, String> {
        let judge = CappedModel::wrap(self.judge.clone(), self.context.helper_bounds(call));
        let session = &self.context.session;
        let asked = helper::ask_within(judge.as_ref(), session, system, question, JUDGE_WAIT).await;
        let (answer, usage) = match asked {
            Ok((text, usage)) => (Ok(text), usage),
            Err(HelperFailure { usage, too_slow: true, .. }) => {
                let waited = JUDGE_WAIT.as_secs();
                (Err(format!("the judge model did not answer in {waited} s")), usage)
            }
            Err(HelperFailure { why, usage, .. }) => {
                (Err(format!("the judge model failed: {why}")), usage)
            }
        };
        if !usage.is_nothing() {
            let cost_usd = judge.info().cost(&usage);
            JudgeUse { usage, cost_usd }.add_to(used);
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r6_a_text_is_screened_in_pieces_that_the_judge_can_read_whole() {
        let lengths = |text: &str, window| -> Vec<usize> {
            let pieces = pieces_to_screen(text, window);
            assert_eq!(pieces.concat(), text);
            pieces.iter().map(|piece| piece.len()).collect()
        };
        let page = "a".repeat(50_000);
        assert_eq!(lengths(&page, 0), [24_000, 24_000, 2_000]);
        assert_eq!(lengths(&page, 200_000), [24_000, 24_000, 2_000]);
        assert_eq!(lengths(&page[..20_000], 4_096), [8_192, 8_192, 3_616]);
        // A character is never torn, and one that does not fit alone goes alone.
        assert_eq!(lengths("\u{20ac}\u{20ac}\u{20ac}", 2), [3, 3, 3]);
        assert_eq!(lengths("\u{20ac}\u{20ac}", 1), [3, 3]);
        assert_eq!(lengths("short", 4_096), [5]);
    }
}
