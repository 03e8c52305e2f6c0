//! A hook as the settings define it, understood and ready to be called. Not here: running it, and what
//! its answer comes to (`crate::hooks`).

use std::time::Duration;

use regex::{Regex, RegexBuilder};
use weir_engine::ports::{HookCall, HookMoment};

use super::{OnFailure, RawHook};

/// Largest program that a matcher may become, in bytes: a pattern that explodes is refused.
const MATCHER_BYTES_MAX: usize = 1 << 20;
/// Deepest nesting of a matcher.
const MATCHER_NEST_MAX: u32 = 64;
/// Longest time limit, in seconds.
const TIMEOUT_SECONDS_MAX: u32 = 3600;

/// One hook, ready to be called.
#[derive(Debug, Clone)]
pub struct ConfiguredHook {
    pub(crate) moment: HookMoment,
    /// `hooks.PreToolUse[0]`.
    pub(crate) name: String,
    /// File and line.
    pub(crate) place: String,
    /// Which tools it is about; none: all, or no tool at all.
    matcher: Option<Regex>,
    pub(crate) command: String,
    pub(crate) limit: Duration,
    pub(crate) blocks_on_failure: bool,
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

    pub(crate) fn is_about(&self, call: &HookCall) -> bool {
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
