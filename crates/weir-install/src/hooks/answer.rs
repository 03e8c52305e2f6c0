//! What a hook's end and output mean, in the shape that existing agents' hooks have: exit 2 blocks
//! with the words on standard error, exit 0 may print a JSON object, any other end is a failure.
//!
//! Pure. What cannot be understood is a failure, never a yes; nothing that a hook prints allows.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use serde_json::{Map, Value};
use weir_engine::ports::{HookDecision, HookMoment};

use super::run::{CapturedStream, FLOOD_BYTES, HookRunResult, KEPT_BYTES_MAX};

/// The status that blocks.
const BLOCKS: i32 = 2;
/// Characters of what a failed hook printed that are told.
const SHOWN_CHARS: usize = 120;

/// What a hook said.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HookOutput {
    pub(super) decision: HookDecision,
    pub(super) reason: String,
    /// For the model.
    pub(super) context: Option<String>,
    /// For the person: it goes to the log.
    pub(super) message: Option<String>,
}

impl HookOutput {
    fn pass_silently() -> HookOutput {
        HookOutput {
            decision: HookDecision::Pass,
            reason: String::new(),
            context: None,
            message: None,
        }
    }

    /// Takes the stricter of two decisions.
    fn tighten_decision(&mut self, decision: HookDecision, reason: Option<String>) {
        let rank = |decision| match decision {
            HookDecision::Pass => 0,
            HookDecision::Ask => 1,
            HookDecision::Deny => 2,
        };
        if rank(decision) > rank(self.decision) {
            self.decision = decision;
            self.reason = reason.unwrap_or_else(|| "it gave no reason".into());
        }
    }
}

/// Reads what became of a hook.
///
/// # Errors
/// It failed: why, as the end of a sentence that begins with its name.
pub(super) fn read_hook_result(
    moment: HookMoment,
    ran: &HookRunResult,
) -> Result<HookOutput, String> {
    match ran {
        HookRunResult::NotStarted(why) => Err(format!("could not be started: {why}")),
        HookRunResult::TimedOut(limit) => {
            Err(format!("did not end within {} s and was ended", limit.as_secs()))
        }
        HookRunResult::Flooded => {
            Err(format!("printed more than {FLOOD_BYTES} bytes and was ended"))
        }
        HookRunResult::Ended { status, out, err } => match status.code() {
            Some(0) => parse_hook_stdout(moment, out),
            Some(BLOCKS) => {
                let mut said = HookOutput::pass_silently();
                let words = String::from_utf8_lossy(&err.bytes).trim().to_owned();
                said.tighten_decision(
                    HookDecision::Deny,
                    Some(words).filter(|words| !words.is_empty()),
                );
                Ok(said)
            }
            Some(_) | None => Err(describe_hook_failure(*status, err)),
        },
    }
}

fn describe_hook_failure(status: ExitStatus, err: &CapturedStream) -> String {
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => format!("failed with status {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended in no known way".into(),
    };
    let words = String::from_utf8_lossy(&err.bytes);
    match words.trim() {
        "" => how,
        words => format!("{how}: {}", words.chars().take(SHOWN_CHARS).collect::<String>()),
    }
}

/// What a hook printed that ended well.
fn parse_hook_stdout(moment: HookMoment, out: &CapturedStream) -> Result<HookOutput, String> {
    if out.length > KEPT_BYTES_MAX {
        return Err(format!("printed {} bytes; at most {KEPT_BYTES_MAX} are read", out.length));
    }
    let text = String::from_utf8_lossy(&out.bytes);
    let text = text.trim();
    if !text.starts_with('{') {
        let mut said = HookOutput::pass_silently();
        let is_told = matches!(moment, HookMoment::SessionStart | HookMoment::UserPromptSubmit);
        said.context = (is_told && !text.is_empty()).then(|| text.to_owned());
        return Ok(said);
    }
    let json = serde_json::from_slice::<Map<String, Value>>(out.bytes.trim_ascii());
    let json = json.map_err(|error| format!("printed JSON that cannot be read: {error}"))?;
    parse_hook_json(moment, &json)
}

fn parse_hook_json(moment: HookMoment, json: &Map<String, Value>) -> Result<HookOutput, String> {
    let mut said = HookOutput::pass_silently();
    let none = Map::new();
    let specific = match json.get("hookSpecificOutput") {
        None | Some(Value::Null) => &none,
        Some(Value::Object(map)) => map,
        Some(_) => return Err("printed a hookSpecificOutput that is no object".into()),
    };
    if specific.contains_key("updatedInput") || json.contains_key("updatedInput") {
        // The call would run with arguments that the hook did not want.
        return Err("wants to change the arguments, which no hook can; let it deny instead".into());
    }
    match optional_text_field(specific, "permissionDecision")?.as_deref() {
        None | Some("allow") => (),
        Some("ask") => said.tighten_decision(
            HookDecision::Ask,
            optional_text_field(specific, "permissionDecisionReason")?,
        ),
        Some("deny") => {
            said.tighten_decision(
                HookDecision::Deny,
                optional_text_field(specific, "permissionDecisionReason")?,
            );
        }
        Some(other) => return Err(unknown_word_message("permissionDecision", other)),
    }
    match optional_text_field(json, "decision")?.as_deref() {
        None | Some("approve" | "allow") => (),
        Some("ask") => {
            said.tighten_decision(HookDecision::Ask, optional_text_field(json, "reason")?)
        }
        Some("block" | "deny") => {
            said.tighten_decision(HookDecision::Deny, optional_text_field(json, "reason")?)
        }
        Some(other) => return Err(unknown_word_message("decision", other)),
    }
    match json.get("continue") {
        None | Some(Value::Null | Value::Bool(true)) => (),
        // Where ending is what is asked about, "do not go on" is a yes to it.
        Some(Value::Bool(false))
            if matches!(moment, HookMoment::Stop | HookMoment::SubagentStop) =>
        {
            said = HookOutput::pass_silently();
        }
        Some(Value::Bool(false)) => {
            said.tighten_decision(HookDecision::Deny, optional_text_field(json, "stopReason")?)
        }
        Some(_) => return Err("printed a \"continue\" that is neither true nor false".into()),
    }
    let context = optional_text_field(specific, "additionalContext")?
        .or(optional_text_field(json, "additionalContext")?);
    said.context = context.filter(|context| !context.trim().is_empty());
    said.message = optional_text_field(json, "systemMessage")?;
    Ok(said)
}

/// A text, where there is one.
fn optional_text_field(map: &Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("printed a {key:?} that is no text")),
    }
}

fn unknown_word_message(key: &str, word: &str) -> String {
    let word: String = word.chars().take(SHOWN_CHARS).collect();
    format!("printed the {key} {word:?}, which is none")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(code: i32, out: &[u8], err: &str) -> HookRunResult {
        let captured = |bytes: &[u8]| CapturedStream { bytes: bytes.to_vec(), length: bytes.len() };
        let status = ExitStatus::from_raw(code << 8);
        HookRunResult::Ended { status, out: captured(out), err: captured(err.as_bytes()) }
    }

    fn says(moment: HookMoment, out: &str) -> Result<HookOutput, String> {
        read_hook_result(moment, &ended(0, out.as_bytes(), ""))
    }

    fn decides(out: &str) -> (HookDecision, String) {
        let said = says(HookMoment::PreToolUse, out).expect(out);
        (said.decision, said.reason)
    }

    #[test]
    fn g11_an_answer_can_deny_or_ask_and_never_allows() {
        let specific = |inner: &str| format!("{{\"hookSpecificOutput\": {{{inner}}}}}");
        let deny = r#""permissionDecision": "deny", "permissionDecisionReason": "no""#;
        let ask = r#""permissionDecision": "ask", "permissionDecisionReason": "who?""#;
        assert_eq!(decides(&specific(deny)), (HookDecision::Deny, "no".into()));
        assert_eq!(decides(&specific(ask)), (HookDecision::Ask, "who?".into()));
        for nothing in [
            "",
            "   \n",
            "fine",
            "{}",
            r#"{"decision": "approve"}"#,
            r#"{"hookSpecificOutput": {"permissionDecision": "allow"}}"#,
            r#"{"continue": true, "suppressOutput": true}"#,
        ] {
            assert_eq!(decides(nothing).0, HookDecision::Pass, "{nothing}");
        }
        let block = r#"{"decision": "block", "reason": "stop it"}"#;
        assert_eq!(decides(block), (HookDecision::Deny, "stop it".into()));
        let halt = r#"{"continue": false, "stopReason": "enough"}"#;
        assert_eq!(decides(halt), (HookDecision::Deny, "enough".into()));
        let both =
            r#"{"decision": "block", "hookSpecificOutput": {"permissionDecision": "allow"}}"#;
        assert_eq!(decides(both), (HookDecision::Deny, "it gave no reason".into()));
    }

    #[test]
    fn g11_what_cannot_be_understood_is_a_failure() {
        for garbage in [
            "{",
            "{\"decision\": \"block\"",
            "{} and more",
            r#"{"decision": "maybe"}"#,
            r#"{"decision": true}"#,
            r#"{"continue": "no"}"#,
            r#"{"hookSpecificOutput": []}"#,
            r#"{"hookSpecificOutput": {"permissionDecision": "DENY"}}"#,
            r#"{"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {}}}"#,
        ] {
            assert!(says(HookMoment::PreToolUse, garbage).is_err(), "{garbage}");
        }
        let broken = ended(0, b"{\"reason\": \"\xff\xfe\"}", "");
        assert!(read_hook_result(HookMoment::PreToolUse, &broken).is_err(), "JSON is UTF-8");
        let plain = ended(0, b"\xff\xfe", "");
        assert_eq!(
            read_hook_result(HookMoment::PreToolUse, &plain),
            Ok(HookOutput::pass_silently())
        );
        for code in [1, 3, 126, 127] {
            let failed =
                read_hook_result(HookMoment::PreToolUse, &ended(code, b"", "sh: no such thing"));
            let why = failed.expect_err("it failed");
            assert!(why.contains(&code.to_string()) && why.contains("no such thing"), "{why}");
        }
    }

    #[test]
    fn g11_exit_2_blocks_with_the_words_on_standard_error() {
        let said = read_hook_result(HookMoment::PreToolUse, &ended(2, b"{}", " not here \n"))
            .expect("read");
        assert_eq!((said.decision, said.reason.as_str()), (HookDecision::Deny, "not here"));
        let said = read_hook_result(HookMoment::Stop, &ended(2, b"", "")).expect("read");
        assert_eq!(
            (said.decision, said.reason.as_str()),
            (HookDecision::Deny, "it gave no reason")
        );
    }

    #[test]
    fn g11_plain_text_is_told_to_the_model_where_that_is_its_use() {
        let context = |moment, out| says(moment, out).expect("read").context;
        assert_eq!(context(HookMoment::SessionStart, "be brief\n"), Some("be brief".into()));
        assert_eq!(context(HookMoment::UserPromptSubmit, "be brief"), Some("be brief".into()));
        assert_eq!(context(HookMoment::PreToolUse, "be brief"), None);
        let json = r#"{"hookSpecificOutput": {"additionalContext": "it is Monday"}}"#;
        assert_eq!(context(HookMoment::PostToolUse, json), Some("it is Monday".into()));
    }

    #[test]
    fn g11_where_ending_is_asked_about_not_going_on_is_a_yes() {
        let both = r#"{"continue": false, "decision": "block", "reason": "go on"}"#;
        assert_eq!(says(HookMoment::Stop, both).expect("read").decision, HookDecision::Pass);
        let block = r#"{"decision": "block", "reason": "tests first"}"#;
        assert_eq!(says(HookMoment::Stop, block).expect("read").decision, HookDecision::Deny);
    }
}
