//! What a run is told: the prompt and what is attached to it (C2, X5). How files are attached is
//! the engine's business: every face attaches alike.

use std::io::{IsTerminal, Read};
use std::sync::Arc;

use weir_engine::attach::{self, Saying};
use weir_engine::engine::Engine;
use weir_engine::workspace::Workspace;

use crate::failure::usage;
use crate::options::RunArgs;

/// Largest prompt from standard input, in bytes.
const PROMPT_BYTES_MAX: u64 = 10 << 20;

/// The prompt, which must be there.
pub(super) fn required(args: &RunArgs) -> anyhow::Result<String> {
    let from_pipe = args.prompt.is_none() && !std::io::stdin().is_terminal();
    let prompt = match args.prompt.as_deref() {
        Some("-") => Some(from_stdin()?),
        None if from_pipe => Some(from_stdin()?),
        prompt => prompt.map(str::to_string),
    };
    prompt.filter(|text| !text.trim().is_empty()).ok_or_else(|| {
        usage("there is no task: weir run \"your task\", or pipe it in (weir run -)")
    })
}

/// The prompt of a session that exists already: it may go on without one.
pub(super) fn optional(args: &RunArgs) -> anyhow::Result<Option<String>> {
    let prompt = match args.prompt.as_deref() {
        Some("-") => Some(from_stdin()?),
        prompt => prompt.map(str::to_string),
    };
    Ok(prompt.filter(|text| !text.trim().is_empty()))
}

fn from_stdin() -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(PROMPT_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > PROMPT_BYTES_MAX {
        return Err(usage(format!(
            "the prompt on standard input is larger than {PROMPT_BYTES_MAX} bytes; put it into a \
             file of the workspace and name the file"
        )));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The prompt with what `--attach` and the `@path` words in it name.
pub(super) async fn saying(
    engine: &Engine,
    workspace: &Arc<Workspace>,
    args: &RunArgs,
    prompt: String,
) -> anyhow::Result<Saying> {
    let documents = engine.parts().documents.as_ref();
    let attachments = attach::gather(documents, workspace, &args.attach, &prompt).await;
    let attachments = attachments.map_err(|error| usage(error.to_string()))?;
    Ok(Saying { text: prompt, attachments })
}
