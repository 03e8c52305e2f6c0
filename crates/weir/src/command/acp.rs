//! `weir acp`: an editor on standard input and output (F3, R1). Not here: the protocol (`weir-acp`).

use std::io::IsTerminal as _;
use std::process::ExitCode;

use weir_install::context::InstallationContext;
use weir_install::models;
use weir_install::wiring::{self, SessionOverrides};

use super::tui::first;
use crate::failure::{exit, failure_with_status, usage};
use crate::options::AcpArgs;
use crate::terminal;

/// Serves the editor until it goes.
pub(super) async fn serve_editor(
    cx: InstallationContext,
    args: AcpArgs,
) -> anyhow::Result<ExitCode> {
    let flags = args.session.as_overrides(true);
    if args.setup {
        return set_up_model(cx, &flags).await;
    }
    // A wrong flag is said before the editor is. Where it is started tells nothing: sessions name their folders.
    wiring::choose_profile(&cx, &flags, None)?;
    if let Ok(workspace) = cx.open_workspace() {
        wiring::session_rules(&cx, &workspace, &flags, None)?;
    }
    if std::io::stdin().is_terminal() {
        terminal::err_message(
            "`weir acp` speaks the Agent Client Protocol with an editor, which starts it itself; \
             docs/editors.md has the settings",
        );
    }
    let served = weir_acp::serve_editor(cx, flags, tokio::io::stdin(), tokio::io::stdout()).await;
    served.map_err(|error| failure_with_status(exit::FAILED, error.to_string()))?;
    Ok(ExitCode::SUCCESS)
}

/// Makes a model ready in a terminal, where none is.
async fn set_up_model(
    cx: InstallationContext,
    flags: &SessionOverrides,
) -> anyhow::Result<ExitCode> {
    if !(std::io::stdin().is_terminal() && std::io::stdout().is_terminal()) {
        return Err(usage(
            "--setup asks questions and needs a terminal; `weir auth set PROVIDER` works without one",
        ));
    }
    let profile = wiring::choose_profile(&cx, flags, None)?;
    let asked = flags.model.as_deref().or(profile.profile.model.as_deref());
    let Some(missing) = models::find_missing_for_model(&cx, asked).await? else {
        let model = models::chosen_model_name(&cx, asked).await?;
        terminal::out_line(&format!("A model is set up: {model}."))?;
        return Ok(ExitCode::SUCCESS);
    };
    match first::run_model_setup(cx, missing).await? {
        first::SetupOutcome::Ready(..) => Ok(ExitCode::SUCCESS),
        first::SetupOutcome::Left => Ok(ExitCode::from(exit::FAILED)),
    }
}
