//! What the flags of `weir run` say of a session, with the files they name read. Not here: which
//! value wins (`weir_install::wiring`).

use serde_json::Value;
use weir_install::files;
use weir_install::wiring::{PromptWish, SessionOverrides};

use crate::failure::usage;
use crate::options::RunArgs;

/// What the flags of `weir run` say. Reads the files they name.
///
/// # Errors
/// A usage error that names the flag.
pub(crate) fn wishes_of_run(args: &RunArgs, attended: bool) -> anyhow::Result<SessionOverrides> {
    let prompt = match (&args.system_prompt, &args.append_system_prompt) {
        (Some(path), _) => PromptWish::Replaced(files::named_text("--system-prompt", path)?),
        (None, Some(path)) => {
            PromptWish::Preceded(files::named_text("--append-system-prompt", path)?)
        }
        (None, None) => PromptWish::Own,
    };
    let output_schema = args.output_schema.as_deref().map(read_schema).transpose()?;
    Ok(SessionOverrides {
        max_iterations: args.max_iterations,
        max_tool_calls: args.max_tool_calls,
        budget_usd: args.budget_usd,
        budget_tokens: args.budget_tokens,
        run_timeout_ms: args.timeout.map(|timeout| timeout.ms),
        prompt,
        output_schema,
        strict: args.strict,
        ..args.session.as_overrides(attended)
    })
}

fn read_schema(path: &std::path::Path) -> anyhow::Result<Value> {
    let text = files::named_text("--output-schema", path)?;
    let wrong = |why: String| usage(format!("--output-schema {}: {why}", path.display()));
    let schema: Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    jsonschema::draft202012::new(&schema)
        .map_err(|error| wrong(format!("is no valid JSON Schema: {error}")))?;
    Ok(schema)
}
