//! What `--state-dir` names (C1): a command about what is kept is not led into a new, empty store by a
//! misspelled folder, and a run says that it makes one. Not here: opening a store.

use std::path::Path;

use weir_core::view::plain::visible_text;
use weir_install::environment::ProcessEnvironment;

use crate::failure::usage;
use crate::options::{CliCommand, CliOptions};
use crate::terminal::err_message;

/// The variable that says the same for every command. What it names is made when it is needed first.
const VARIABLE: &str = "WEIR_STATE_DIR";

/// What stands in a folder in which something was kept: by runs, by a server whose sessions may be in
/// another database, by an import.
const KEPT: [&str; 7] =
    ["weir.db", "weir.db-wal", "audit", "server.db", "people", "imported", "imports"];

/// Looks at the folder that the flag names, before anything is opened there.
///
/// # Errors
/// A usage error: the command is about what is kept, and nothing is kept there.
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
    if needs_kept_state(options) {
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
fn needs_kept_state(options: &CliOptions) -> bool {
    match &options.command {
        Some(
            CliCommand::Sessions(_)
            | CliCommand::Checkpoints(_)
            | CliCommand::Undo(_)
            | CliCommand::Audit(_)
            | CliCommand::Usage(_)
            | CliCommand::Approvals(_)
            // Who stops everything must not be told that it is stopped where nothing runs.
            | CliCommand::Pause { .. }
            | CliCommand::Release,
        ) => true,
        // A database that is named has what there is, whatever stands in the folder.
        Some(CliCommand::Backup(args)) => args.database.is_none(),
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
