//! What a run is told: the prompt and what is attached to it (C2, X5). How files are attached is
//! the engine's business: every face attaches alike.
//!
//! Standard input alone is the task, in the person's own words. Beside a task it is an attachment:
//! what a program pipes in is what somebody else wrote, and an address in it is not one that the
//! person named (A16).

use std::io::{IsTerminal, Read};
use std::sync::Arc;

use weir_engine::attach::{self, AttachError, Attachment, FILE_BYTES_MAX, PromptInput};
use weir_engine::engine::Engine;
use weir_engine::workspace::Workspace;

use crate::failure::usage;
use crate::options::RunArgs;

/// Largest prompt from standard input, in bytes.
const PROMPT_BYTES_MAX: u64 = 10 << 20;
/// What stands for standard input.
const STDIN: &str = "-";
/// What it is called as an attachment.
const STDIN_NAME: &str = "standard input";

/// What the words of the command line mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PromptArguments<'a> {
    /// Nothing.
    Nothing,
    /// The task is on standard input.
    Piped,
    /// The task itself.
    Task(&'a str),
    /// The task, and something to go with it on standard input.
    TaskAndPiped(&'a str),
}

impl PromptArguments<'_> {
    fn from_args(args: &RunArgs) -> anyhow::Result<PromptArguments<'_>> {
        let told = match (args.prompt.as_deref(), args.beside.as_deref()) {
            (None, _) => PromptArguments::Nothing,
            (Some(STDIN), None | Some(STDIN)) => PromptArguments::Piped,
            (Some(task), None) => PromptArguments::Task(task),
            (Some(task), Some(STDIN)) | (Some(STDIN), Some(task)) => {
                PromptArguments::TaskAndPiped(task)
            }
            (Some(_), Some(word)) => {
                return Err(usage(format!(
                    "unexpected argument {word:?}: put the whole task in quotes, weir run \"your \
                     task\""
                )));
            }
        };
        let twice = args.attach.iter().any(|path| path.as_os_str() == STDIN);
        match told {
            PromptArguments::Piped if twice => {
                Err(usage("standard input is the task; it cannot be attached as well"))
            }
            PromptArguments::Task(task) if twice => Ok(PromptArguments::TaskAndPiped(task)),
            told => Ok(told),
        }
    }
}

/// The prompt, which must be there.
pub(super) fn read_required_prompt(args: &RunArgs) -> anyhow::Result<String> {
    let prompt = match PromptArguments::from_args(args)? {
        PromptArguments::Nothing if std::io::stdin().is_terminal() => None,
        PromptArguments::Nothing | PromptArguments::Piped => Some(from_stdin()?),
        PromptArguments::Task(task) | PromptArguments::TaskAndPiped(task) => Some(task.to_owned()),
    };
    prompt.filter(|text| !text.trim().is_empty()).ok_or_else(|| {
        usage("there is no task: weir run \"your task\", or pipe it in (weir run -)")
    })
}

/// The prompt of a session that exists already: it may go on without one.
pub(super) fn read_optional_prompt(args: &RunArgs) -> anyhow::Result<Option<String>> {
    let prompt = match PromptArguments::from_args(args)? {
        PromptArguments::Nothing => None,
        PromptArguments::Piped => Some(from_stdin()?),
        PromptArguments::Task(task) | PromptArguments::TaskAndPiped(task) => Some(task.to_owned()),
    };
    Ok(prompt.filter(|text| !text.trim().is_empty()))
}

fn from_stdin() -> anyhow::Result<String> {
    let too_large = || {
        usage(format!(
            "the prompt on standard input is larger than {PROMPT_BYTES_MAX} bytes; put it in a \
             file of the workspace and name the file"
        ))
    };
    let bytes = bytes_of_stdin(PROMPT_BYTES_MAX)?.ok_or_else(too_large)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Everything on standard input; `None`: it is more than `most` bytes.
fn bytes_of_stdin(most: u64) -> anyhow::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(most + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= most).then_some(bytes))
}

/// The prompt with what `--attach` and the `@path` words in it name, and what was piped in beside it.
pub(super) async fn build_user_input(
    engine: &Engine,
    workspace: &Arc<Workspace>,
    args: &RunArgs,
    prompt: String,
) -> anyhow::Result<PromptInput> {
    let documents = engine.parts().documents.as_ref();
    let named = args.attach.iter().filter(|path| path.as_os_str() != STDIN);
    let files: Vec<_> = named.cloned().collect();
    let wrong = |error: AttachError| usage(error.to_string());
    let mut attachments =
        attach::gather_attachments(documents, workspace, &files, &prompt).await.map_err(wrong)?;
    if matches!(PromptArguments::from_args(args)?, PromptArguments::TaskAndPiped(_)) {
        let bytes = bytes_of_stdin(FILE_BYTES_MAX)?.ok_or_else(|| {
            let most = FILE_BYTES_MAX >> 20;
            usage(format!(
                "{STDIN_NAME} is larger than {most} MB; put it in a file and name the file"
            ))
        })?;
        if !bytes.is_empty() {
            let piped = Attachment::of_bytes(documents, STDIN_NAME, bytes.into()).await;
            attachments.push(piped.map_err(wrong)?);
        }
    }
    Ok(PromptInput { text: prompt, attachments })
}
