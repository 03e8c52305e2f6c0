//! Hooks as commands (G11): which ones listen, what they are told, what their answers come to.
//!
//! They are the person's own programs and run with the person's rights: not confined, not judged,
//! in the workspace, each in a process group of its own and within its time limit. They can only
//! narrow: nothing that one says lets a call pass. Which files may define them is settled before,
//! with the settings (`config/narrow.rs`).

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::join_all;
use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value, json};
use weir_core::governance::filter::redact_text;
use weir_core::view::plain::visible_text;
use weir_engine::ports::{HookAnswer, HookCall, HookDecision, HookMoment, Hooks};

use crate::config::{OnFailure, RawHook};

mod answer;
mod run;

use answer::{HookOutput, read_hook_result};
use run::HookSurroundings;

/// The variable that names the workspace.
const PROJECT_DIR: &str = "WEIR_PROJECT_DIR";
/// Largest program that a matcher may become, in bytes: a pattern that explodes is refused.
const MATCHER_BYTES_MAX: usize = 1 << 20;
/// Deepest nesting of a matcher.
const MATCHER_NEST_MAX: u32 = 64;
/// Longest time limit, in seconds.
const TIMEOUT_SECONDS_MAX: u32 = 3600;
/// Characters of a reason that are kept.
const REASON_CHARS_MAX: usize = 2_000;
/// Characters of a text for the model that are kept.
const CONTEXT_CHARS_MAX: usize = 10_000;

/// One hook, ready to be called.
#[derive(Debug, Clone)]
pub struct ConfiguredHook {
    moment: HookMoment,
    /// `hooks.PreToolUse[0]`.
    name: String,
    /// File and line.
    place: String,
    /// Which tools it is about; none: all, or no tool at all.
    matcher: Option<Regex>,
    command: String,
    limit: Duration,
    blocks_on_failure: bool,
}

impl ConfiguredHook {
    /// Understands what stands in a file.
    ///
    /// # Errors
    /// What is wrong with it, as the end of a sentence that begins with its key.
    pub fn new(raw: &RawHook) -> Result<ConfiguredHook, String> {
        let RawHook { event, settings, .. } = raw;
        let moment = HookMoment::ALL.into_iter().find(|moment| moment.as_str() == event);
        let Some(moment) = moment else {
            return Err(format!("names {event:?}, which is no event"));
        };
        if settings.command.trim().is_empty() || settings.command.contains('\0') {
            return Err("has no command that a shell takes; write one or leave the hook out".into());
        }
        if settings.timeout == 0 || settings.timeout > TIMEOUT_SECONDS_MAX {
            let given = settings.timeout;
            return Err(format!(
                "has a timeout of {given} seconds; it is from 1 to {TIMEOUT_SECONDS_MAX}"
            ));
        }
        let blocks_on_failure = match settings.on_failure {
            Some(OnFailure::Block) => true,
            Some(OnFailure::Continue) => false,
            None => moment.blocks_on_failure(),
        };
        Ok(ConfiguredHook {
            moment,
            name: raw.name(),
            place: raw.origin.to_string(),
            matcher: compile_tool_matcher(&settings.matcher, moment)?,
            command: settings.command.clone(),
            limit: Duration::from_secs(settings.timeout.into()),
            blocks_on_failure,
        })
    }

    /// Whether it looks at calls of `tool` before they run.
    pub fn guards_tool(&self, tool: &str) -> bool {
        self.moment == HookMoment::PreToolUse
            && self.matcher.as_ref().is_none_or(|matcher| matcher.is_match(tool))
    }

    fn is_about(&self, call: &HookCall) -> bool {
        self.moment == call.moment
            && match (&self.matcher, &call.tool) {
                (Some(matcher), Some(tool)) => matcher.is_match(tool),
                (Some(_), None) => false,
                (None, _) => true,
            }
    }
}

/// A matcher that holds for a tool's whole name; `*` and nothing mean every tool.
fn compile_tool_matcher(pattern: &str, moment: HookMoment) -> Result<Option<Regex>, String> {
    if matches!(pattern, "" | "*") {
        return Ok(None);
    }
    if !matches!(moment, HookMoment::PreToolUse | HookMoment::PostToolUse) {
        let moment = moment.as_str();
        return Err(format!("has a matcher, and {moment} is about no tool; leave the matcher out"));
    }
    let built = |pattern: &str| {
        RegexBuilder::new(pattern)
            .size_limit(MATCHER_BYTES_MAX)
            .dfa_size_limit(MATCHER_BYTES_MAX)
            .nest_limit(MATCHER_NEST_MAX)
            .build()
    };
    // By itself first: a bracket too many must not close ours.
    let whole = built(pattern).and_then(|_| built(&format!("^(?:{pattern})$")));
    whole.map(Some).map_err(|error| {
        let why = error.to_string();
        let why = why.lines().last().unwrap_or_default().trim().trim_start_matches("error: ");
        let shown: String = pattern.chars().take(60).collect();
        format!("has the matcher {shown:?}, which cannot be used: {why}")
    })
}

/// All hooks of a workspace.
pub struct CommandHooks {
    hooks: Vec<ConfiguredHook>,
    environment: Vec<(OsString, OsString)>,
    /// What no answer may carry further.
    secrets: Vec<String>,
}

impl CommandHooks {
    /// These hooks, run with `environment`. `secrets` are taken out of whatever they say.
    pub fn new(
        hooks: Vec<ConfiguredHook>,
        environment: Vec<(OsString, OsString)>,
        secrets: Vec<String>,
    ) -> CommandHooks {
        CommandHooks { hooks, environment, secrets }
    }

    async fn run_one_hook(&self, hook: &ConfiguredHook, call: &HookCall) -> Option<HookAnswer> {
        let mut environment = self.environment.clone();
        environment.push((PROJECT_DIR.into(), call.cwd.clone().into()));
        let surroundings =
            HookSurroundings { folder: PathBuf::from(&call.cwd), environment, limit: hook.limit };
        let ran = run::run(&hook.command, hook_input_json(call), surroundings).await;
        let said = match read_hook_result(hook.moment, &ran) {
            Ok(said) => said,
            Err(why) => return self.failure_answer(hook, &why),
        };
        let HookOutput { decision, reason, context, message } = said;
        if let Some(message) = message {
            tracing::info!(hook = hook.name, message = self.clean_text(&message, REASON_CHARS_MAX));
        }
        let context = context.map(|text| self.clean_text(&text, CONTEXT_CHARS_MAX));
        if decision == HookDecision::Pass && context.is_none() {
            return None;
        }
        let reason = self.clean_text(&reason, REASON_CHARS_MAX);
        Some(HookAnswer { hook: hook_origin(hook), decision, reason, context })
    }

    /// What a hook comes to that did not do its work.
    fn failure_answer(&self, hook: &ConfiguredHook, why: &str) -> Option<HookAnswer> {
        let why = self.clean_text(why, REASON_CHARS_MAX);
        tracing::warn!(hook = hook.name, place = hook.place, why, "a hook failed");
        hook.blocks_on_failure.then(|| HookAnswer {
            hook: hook_origin(hook),
            decision: HookDecision::Deny,
            reason: format!("{} {why}", hook.name),
            context: None,
        })
    }

    /// Text as model, journal and person may see it.
    fn clean_text(&self, text: &str, chars_max: usize) -> String {
        let text = redact_text(text.trim(), &self.secrets);
        let mut clean = text.lines().map(visible_text).collect::<Vec<_>>().join("\n");
        if let Some((end, _)) = clean.char_indices().nth(chars_max) {
            clean.truncate(end);
            clean.push_str(" […]");
        }
        clean
    }
}

fn hook_origin(hook: &ConfiguredHook) -> String {
    format!("{} ({})", hook.name, hook.place)
}

/// What stands on standard input.
fn hook_input_json(call: &HookCall) -> Vec<u8> {
    let mut all = Map::new();
    all.insert("session_id".into(), json!(call.session));
    all.insert("hook_event_name".into(), json!(call.moment.as_str()));
    all.insert("cwd".into(), json!(call.cwd));
    all.insert("permission_mode".into(), json!(call.mode.as_str()));
    if let Some(tool) = &call.tool {
        all.insert("tool_name".into(), json!(tool));
    }
    if let Value::Object(fields) = &call.fields {
        all.extend(fields.clone());
    }
    let mut line = Value::Object(all).to_string().into_bytes();
    line.push(b'\n');
    line
}

#[async_trait]
impl Hooks for CommandHooks {
    fn has_listener(&self, moment: HookMoment) -> bool {
        self.hooks.iter().any(|hook| hook.moment == moment)
    }

    async fn run_hooks(&self, call: HookCall) -> Vec<HookAnswer> {
        let about = self.hooks.iter().filter(|hook| hook.is_about(&call));
        let all = about.map(|hook| self.run_one_hook(hook, &call));
        join_all(all).await.into_iter().flatten().collect()
    }
}
