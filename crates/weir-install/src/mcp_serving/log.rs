//! What is told of calls to a client that asked for log lines (`logging`): what became of each of them and why,
//! from the facts of the journal. No arguments and no results, which the client has. Pure. Not here: who hears
//! which levels, and how many (`weir-mcp-server`).

use serde_json::json;
use weir_core::event::{CallJudged, Event};
use weir_core::governance::Verdict;
use weir_core::governance::filter::redact_text;
use weir_core::ids::CallId;
use weir_core::view::told::{FactTone, count_text, decision_text, describe_fact, one_line};
use weir_mcp_server::{LogLevel, LogLine};

/// The name under which lines are told.
const LOGGER: &str = "weir";
/// Characters of a line.
const LINE_CHARS_MAX: usize = 500;

/// Whose line it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineOwner {
    /// Of a call, or of the program that it is a step of.
    Call(CallId),
    /// Of all calls that are under way.
    All,
}

/// What a fact tells; nothing: it is told in another way, or not at all.
pub(super) fn line_of_fact(event: &Event) -> Option<(LineOwner, LogLevel, String)> {
    let of = |call: CallId, level, text: String| Some((LineOwner::Call(call), level, text));
    match event {
        Event::CallProposed(f) => {
            let (program, step) = (f.of?, f.step.unwrap_or_default());
            of(program, LogLevel::Debug, format!("step {step}: {}", f.tool))
        }
        Event::CallJudged(f) => {
            let (level, text) = judged_text(f);
            of(f.call, level, text)
        }
        Event::ApprovalRequested(f) => {
            of(f.call, LogLevel::Notice, format!("waits for a person, as {}", f.approval))
        }
        Event::ApprovalResolved(f) => {
            let level = if f.decision.allows() { LogLevel::Notice } else { LogLevel::Warning };
            of(f.call, level, decision_text(f.decision, &f.by, f.reason.as_deref()))
        }
        Event::CheckpointTaken(f) => {
            let what = count_text(f.paths.len(), "path");
            of(f.call, LogLevel::Info, format!("{what} saved as {}", f.checkpoint))
        }
        Event::CallStarted(f) => of(f.call, LogLevel::Debug, "runs".into()),
        Event::CallFinished(f) if f.ok => {
            of(f.call, LogLevel::Info, format!("done in {} ms", f.duration_ms))
        }
        Event::CallFinished(f) => of(f.call, LogLevel::Warning, format!("failed: {}", f.summary)),
        Event::CallUnknown(f) => {
            of(f.call, LogLevel::Error, format!("its outcome is not known: {}", f.reason))
        }
        other => {
            let (tone, text) = describe_fact(other)?;
            Some((LineOwner::All, level_of_tone(tone), text))
        }
    }
}

fn judged_text(judged: &CallJudged) -> (LogLevel, String) {
    let gate = judged.gate.as_ref().map_or_else(String::new, |gate| format!(" by {gate}"));
    let why = judged.reason.as_ref().map_or_else(String::new, |why| format!(": {why}"));
    match judged.verdict {
        Verdict::Allow => (LogLevel::Info, "allowed".to_owned()),
        Verdict::Ask => (LogLevel::Notice, format!("is asked about{gate}{why}")),
        Verdict::Deny => (LogLevel::Warning, format!("refused{gate}{why}")),
    }
}

fn level_of_tone(tone: FactTone) -> LogLevel {
    match tone {
        FactTone::Quiet | FactTone::Good => LogLevel::Info,
        FactTone::Mark => LogLevel::Notice,
        FactTone::Warn => LogLevel::Warning,
        FactTone::Bad => LogLevel::Error,
    }
}

/// A line as a client is told it: one line of plain text, without `secrets`.
pub(super) fn told_line(level: LogLevel, text: &str, tool: &str, secrets: &[String]) -> LogLine {
    let plain = |text: &str| -> String {
        let clean = redact_text(text, secrets);
        one_line(&clean).chars().take(LINE_CHARS_MAX).collect()
    };
    let data = json!({ "tool": plain(tool), "message": plain(text) });
    LogLine { level, logger: LOGGER, data }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn fact(kind: &str, fields: &Value) -> Event {
        Event::from_payload(kind, &fields.to_string()).expect("the fields of a fact")
    }

    #[test]
    fn r2_refusals_and_answers_are_told_louder_than_what_goes_as_it_should() {
        let resolved = |decision: &str| {
            let fields =
                json!({"approval": "s-a1", "call": "c7", "decision": decision, "by": "ada"});
            fact("approval.resolved", &fields)
        };
        for (event, level, words) in [
            (resolved("once"), LogLevel::Notice, "Allowed once by ada"),
            (resolved("deny"), LogLevel::Warning, "Denied by ada"),
            (fact("call.started", &json!({"call": "c7"})), LogLevel::Debug, "runs"),
            (
                fact(
                    "checkpoint.taken",
                    &json!({"checkpoint": "cp1", "call": "c7", "paths": ["a"]}),
                ),
                LogLevel::Info,
                "1 path saved as cp1",
            ),
            (
                fact(
                    "call.unknown",
                    &json!({"call": "c7", "tool": "x", "reason": "it was killed"}),
                ),
                LogLevel::Error,
                "its outcome is not known: it was killed",
            ),
        ] {
            let told = line_of_fact(&event);
            assert_eq!(told, Some((LineOwner::Call(CallId(7)), level, words.to_owned())));
        }
    }

    #[test]
    fn r2_a_line_is_one_line_of_plain_text_without_secrets() {
        let text = format!(
            "refused: key sk-own-0123456789\r\n{{\"level\":\"info\"}}\u{1b}[2J\u{202e}{}",
            "x".repeat(2_000)
        );
        let secrets = ["sk-own-0123456789".to_owned()];
        let line = told_line(LogLevel::Warning, &text, "write_file\nx", &secrets);
        for told in [&line.data["message"], &line.data["tool"]] {
            let told = told.as_str().expect("words");
            assert!(!told.contains(['\n', '\r', '\u{1b}', '\u{202e}']), "{told:?}");
            assert!(!told.contains("0123456789") && told.chars().count() <= LINE_CHARS_MAX);
        }
    }
}
