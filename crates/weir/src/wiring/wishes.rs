//! What flags say about a session, with the files they name already read.

use std::sync::Arc;

use serde_json::Value;
use weir_core::model::Thinking;
use weir_core::profile::{PermissionMode, Profile};
use weir_core::schedule::ScheduledAgent;
use weir_engine::ports::Mailbox;

use crate::failure::usage;
use crate::files;
use crate::options::RunArgs;

/// What a person wants of one session, beside their settings: flags.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wishes {
    /// `provider/name`, or `script:FILE`.
    pub(crate) model: Option<String>,
    /// Name of a profile.
    pub(crate) profile: Option<String>,
    /// Permission mode.
    pub(crate) permission: Option<PermissionMode>,
    /// How much the model thinks.
    pub(crate) thinking: Option<Thinking>,
    /// Allow rules.
    pub(crate) allow: Vec<String>,
    /// Deny rules.
    pub(crate) deny: Vec<String>,
    /// As in `Limits`.
    pub(crate) max_iterations: Option<u32>,
    /// As in `Limits`.
    pub(crate) max_tool_calls: Option<u32>,
    /// The same where nobody says anything: no flag, no setting, no profile.
    pub(crate) tool_calls_default: Option<u32>,
    /// As in `Limits`.
    pub(crate) budget_usd: Option<f64>,
    /// As in `Limits`.
    pub(crate) budget_tokens: Option<u64>,
    /// As in `Limits`.
    pub(crate) run_timeout_ms: Option<u64>,
    /// Another system prompt.
    pub(crate) prompt: PromptWish,
    /// JSON Schema of the final answer.
    pub(crate) output_schema: Option<Value>,
    /// Any denial fails the run.
    pub(crate) strict: bool,
    /// Somebody can be asked.
    pub(crate) attended: bool,
    /// These tools and no others, whatever the profile (T3); none: those of the profile.
    pub(crate) only_tools: Option<Vec<String>>,
    /// These tools never, whatever the profile.
    pub(crate) denied: Vec<String>,
    /// Hosts that need no asking, beside those of the settings. Private addresses stay closed.
    pub(crate) hosts: Vec<String>,
    /// Mail that it may use.
    pub(crate) mail: MailWish,
}

/// Mail that a session may use.
#[derive(Clone, Default)]
pub(crate) struct MailWish {
    /// The account of the tool `email`; none: there is no such tool.
    pub(crate) mailbox: Option<Arc<dyn Mailbox>>,
    /// Who may be written to without asking: an address, or all of a domain: `@example.org`.
    pub(crate) recipients: Vec<String>,
}

impl std::fmt::Debug for MailWish {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let account = self.mailbox.as_ref().map(|mailbox| mailbox.address());
        f.debug_struct("MailWish")
            .field("account", &account)
            .field("recipients", &self.recipients)
            .finish()
    }
}

/// What to do with the system prompt (P5).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum PromptWish {
    /// Weir's own.
    #[default]
    Own,
    /// This instead.
    Replaced(String),
    /// This, then Weir's own.
    Preceded(String),
}

impl Wishes {
    /// The profile with those tools that are wanted.
    pub(crate) fn narrowed(&self, profile: Profile) -> Profile {
        let mut profile = match &self.only_tools {
            Some(tools) => ScheduledAgent::narrowed(tools, profile),
            None => profile,
        };
        profile.denied_tools.extend(self.denied.iter().cloned());
        profile
    }

    /// What the flags of `weir run` say. Reads the files they name.
    ///
    /// # Errors
    /// A usage error that names the flag.
    pub(crate) fn of_run(args: &RunArgs, attended: bool) -> anyhow::Result<Wishes> {
        let prompt = match (&args.system_prompt, &args.append_system_prompt) {
            (Some(path), _) => PromptWish::Replaced(files::named_text("--system-prompt", path)?),
            (None, Some(path)) => {
                PromptWish::Preceded(files::named_text("--append-system-prompt", path)?)
            }
            (None, None) => PromptWish::Own,
        };
        let output_schema = args.output_schema.as_deref().map(read_schema).transpose()?;
        Ok(Wishes {
            model: args.model.clone(),
            profile: args.profile.clone(),
            permission: args.permission.map(PermissionMode::from),
            thinking: args.thinking.map(Thinking::from),
            allow: args.allow.clone(),
            deny: args.deny.clone(),
            max_iterations: args.max_iterations,
            max_tool_calls: args.max_tool_calls,
            tool_calls_default: None,
            budget_usd: args.budget_usd,
            budget_tokens: args.budget_tokens,
            run_timeout_ms: args.timeout.map(|timeout| timeout.ms),
            prompt,
            output_schema,
            strict: args.strict,
            attended,
            only_tools: None,
            denied: Vec::new(),
            hosts: Vec::new(),
            mail: MailWish::default(),
        })
    }
}

fn read_schema(path: &std::path::Path) -> anyhow::Result<Value> {
    let text = files::named_text("--output-schema", path)?;
    let wrong = |why: String| usage(format!("--output-schema {}: {why}", path.display()));
    let schema: Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    jsonschema::draft202012::new(&schema)
        .map_err(|error| wrong(format!("is no valid JSON Schema: {error}")))?;
    Ok(schema)
}
