//! What `--state-dir` names (C1): a command that only looks is not led into a new, empty store by a
//! misspelled folder, and a run says that it makes one. Not here: opening a store.

use std::path::Path;

use weir_core::view::plain::visible_text;
use weir_install::environment::ProcessEnvironment;

use crate::failure::usage;
use crate::options::{CliCommand, CliOptions};
use crate::terminal::err_message;

/// The variable that says the same for every command. What it names is made when it is needed first.
const VARIABLE: &str = "WEIR_STATE_DIR";

/// What stands in a folder that a store was kept in.
const KEPT: [&str; 3] = ["weir.db", "weir.db-wal", "audit"];

/// Looks at the folder that the flag names, before anything is opened there.
///
/// # Errors
/// A usage error: the command looks at what is kept, and nothing is kept there.
pub(crate) fn check_named_state(
    options: &CliOptions,
    environment: &ProcessEnvironment,
) -> anyhow::Result<()> {
    let named = options.global.state_dir.as_deref().filter(|path| !path.as_os_str().is_empty());
    let by_variable = environment.text_variable(VARIABLE).map(Path::new);
    let Some(folder) = named.filter(|folder| Some(*folder) != by_variable) else { return Ok(()) };
    let seen = visible_text(&folder.display().to_string());
    if KEPT.iter().any(|name| folder.join(name).exists()) {
        return Ok(());
    }
    if only_looks(options) {
        let why = match folder.exists() {
            true => "nothing was ever kept in that folder",
            false => "there is no such folder",
        };
        return Err(usage(format!(
            "--state-dir {seen}: {why}. Correct the path, or leave --state-dir out to use your \
             usual state folder (`weir config path` shows it); only `weir run` and other commands \
             that begin something make a new one"
        )));
    }
    if matches!(options.command, Some(CliCommand::Run(_))) && !folder.exists() {
        err_message(&format!("note: --state-dir {seen} does not exist; a new store is made there"));
    }
    Ok(())
}

/// Whether the command is about what is kept already.
fn only_looks(options: &CliOptions) -> bool {
    match &options.command {
        Some(
            CliCommand::Sessions(_)
            | CliCommand::Checkpoints(_)
            | CliCommand::Undo(_)
            | CliCommand::Audit(_)
            | CliCommand::Usage(_)
            | CliCommand::Approvals(_),
        ) => true,
        // A file that was exported is played without any store.
        Some(CliCommand::Replay(args)) => !Path::new(&args.journal).exists(),
        Some(CliCommand::Run(args)) => {
            args.resume.is_some() || args.continue_last || args.fork.is_some()
        }
        None => {
            let tui = &options.tui;
            // What a server keeps is not in this folder.
            let opens = tui.resume.is_some() || tui.continue_last || tui.fork.is_some();
            opens && tui.attach.is_none()
        }
        Some(_) => false,
    }
}
