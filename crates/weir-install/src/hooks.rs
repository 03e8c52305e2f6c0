//! Hooks as commands (G11): which ones listen, what they are told, what their answers come to.
//!
//! They are the person's own programs and run with the person's rights: not confined, not judged,
//! in the workspace, each in a process group of its own and within its time limit. They can only
//! narrow: nothing that one says lets a call pass. Which files may define them is settled before,
//! with the settings (`config/narrow.rs`).

use std::ffi::OsString;
use std::path::PathBuf;

use async_trait::async_trait;
use futures::future::join_all;
use serde_json::{Map, Value, json};
use weir_core::governance::filter::redact_text;
use weir_core::view::plain::visible_text;
use weir_engine::ports::{HookAnswer, HookCall, HookDecision, HookMoment, Hooks};

pub use crate::config::ConfiguredHook;

mod answer;
mod run;

use answer::{HookOutput, read_hook_result};
use run::HookSurroundings;

/// The variable that names the workspace.
const PROJECT_DIR: &str = "WEIR_PROJECT_DIR";
/// Characters of a reason that are kept.
const REASON_CHARS_MAX: usize = 2_000;
/// Characters of a text for the model that are kept.
const CONTEXT_CHARS_MAX: usize = 10_000;

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
