//! `weir` without a command: the terminal interface (C1, F1). Which face, on which session, served by
//! whom. Not here: the faces (`weir-tui`), and what wishes do (`crate::run_terminal_interface`).

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::time::Duration;

use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;
use weir_engine::ports::Clock as _;
use weir_install::context::InstallationContext;
use weir_install::models;
use weir_install::session_ids::{self, SubAgentListing};
use weir_install::wiring::{self, SUPERVISE, SystemClock};
use weir_install::worktrees;
use weir_sandbox::is_below_supervisor;
use weir_tui::link::{BackendChannel, SessionTarget, UiChannel, ui_channel_pair};
use weir_tui::plain::{self, PlainOptions};
use weir_tui::run::{self, FaceExit, FaceOptions, FullMode, StartScreen};
use weir_tui::text::theme::Theme;

use crate::failure::{exit, failure_with_status, usage};
use crate::options::{SessionsAttachArgs, TuiArgs};
use crate::terminal;
use weir_terminal::local::{self, FirstSession, FirstSessionPicker, FirstTold};
use weir_terminal::remote;

pub(super) mod first;
mod keyboard;

/// How long the session may take to be given back once the face has gone.
const GIVE_BACK_WAIT: Duration = Duration::from_secs(10);

/// Shows the face until the person leaves.
pub(super) async fn run_terminal_interface(
    cx: InstallationContext,
    mut args: TuiArgs,
) -> anyhow::Result<ExitCode> {
    let face = TerminalFrontEnd::from_flags(&cx, &args)?;
    let cx = match find_missing_model(&cx, &args).await? {
        None => cx,
        Some(missing) => match first::run_model_setup(cx, missing).await? {
            first::SetupOutcome::Ready(cx, model) => {
                args.session.model = model.or(args.session.model);
                *cx
            }
            first::SetupOutcome::Left => return Ok(ExitCode::SUCCESS),
        },
    };
    let left = match &args.attach {
        Some(url) => {
            let which = which_there(&args)?;
            let there = remote::connect_to_server(&cx, url, &terminal::SIGN_IN_PROMPTS).await?;
            let thinking = args.session.thinking.map(Thinking::from);
            let told_from = face.told_from();
            face.run_served_by(|far| there.serve_link(which, thinking, told_from, far)).await?
        }
        None => match &args.worktree {
            Some(name) => run_in_worktree(&cx, face, &args, name.as_deref()).await?,
            None => {
                let begin = choose_first_session(&cx, &args, face.told_from()).await?;
                run_here(cx, face, begin).await?
            }
        },
    };
    if let Some(why) = left.why {
        return Err(failure_with_status(exit::FAILED, why));
    }
    Ok(ExitCode::from(left.code))
}

/// Shows the face on sessions that this process runs.
async fn run_here(
    cx: InstallationContext,
    face: TerminalFrontEnd,
    begin: FirstSession,
) -> anyhow::Result<FaceExit> {
    face.run_served_by(|far| async move {
        // What would be printed must not fall into what the face draws.
        let mut remarks = terminal::gather_remarks();
        local::serve_link(cx, begin, remarks.remark_channel(), far).await;
        Ok(())
    })
    .await
}

/// The same in a copy of the project. One in which nothing began does not stay.
async fn run_in_worktree(
    cx: &InstallationContext,
    face: TerminalFrontEnd,
    args: &TuiArgs,
    name: Option<&str>,
) -> anyhow::Result<FaceExit> {
    let id = wiring::new_session_id();
    let worktree = worktrees::open_for_session(cx, name, &id)?;
    let begin = choose_first_session(&worktree.cx, args, face.told_from()).await;
    let begin = begin.inspect_err(|_| worktree.give_up())?;
    cx.notify(&format!("note: {}", worktree.describe()));
    let there = worktree.cx.in_folder(&worktree.cx.folder)?;
    let left = run_here(there, face, FirstSession { name: Some(id), ..begin }).await;
    worktree.give_up_unused().await;
    left
}

/// Shows the face on a session that exists, whoever runs it.
pub(super) async fn attach_to_session(
    cx: InstallationContext,
    args: SessionsAttachArgs,
) -> anyhow::Result<ExitCode> {
    let SessionsAttachArgs { session, plain } = args;
    let args = TuiArgs { resume: Some(session), plain, ..TuiArgs::default() };
    run_terminal_interface(cx, args).await
}

/// What a person is asked for before a new session can begin here; `None`: nothing, or there is nobody
/// who could be asked.
async fn find_missing_model(
    cx: &InstallationContext,
    args: &TuiArgs,
) -> anyhow::Result<Option<models::MissingForModel>> {
    let is_new = args.resume.is_none() && args.fork.is_none() && !args.continue_last;
    let is_asked = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if !is_asked || !is_new || args.attach.is_some() {
        return Ok(None);
    }
    let flags = args.session.as_overrides(true);
    let profile = wiring::choose_profile(cx, &flags, None)?;
    let asked = flags.model.as_deref().or(profile.profile.model.as_deref());
    models::find_missing_for_model(cx, asked).await
}

/// Which face, as it is to be.
enum TerminalFrontEnd {
    Whole(FaceOptions),
    Plain(Box<PlainOptions>),
}

impl TerminalFrontEnd {
    /// The face that flags and terminal ask for.
    ///
    /// # Errors
    /// A usage error: no terminal, no such theme, or an agent asks.
    fn from_flags(cx: &InstallationContext, args: &TuiArgs) -> anyhow::Result<TerminalFrontEnd> {
        if is_below_supervisor(cx.environment.all_variables(), SUPERVISE) {
            return Err(usage(
                "`weir` was started by a command that an agent runs, but only a person may answer \
                 its questions; run it in a terminal of your own",
            ));
        }
        let (input, output) = (std::io::stdin().is_terminal(), std::io::stdout().is_terminal());
        let lines = args.plain || args.screen_reader;
        if !(lines || input && output) {
            return Err(usage(
                "the terminal interface needs a terminal, and there is none: `weir run \"your \
                 task\"` works without one (`weir --plain` works with pipes, `weir --help` lists \
                 the commands)",
            ));
        }
        let caps = run::detect_caps();
        let theme = args.theme.as_deref().map(|name| {
            Theme::by_name(name, caps.depth).ok_or_else(|| {
                let known: Vec<&str> = Theme::NAMES.iter().map(|(name, _)| *name).collect();
                usage(format!("there is no theme {name:?}; the themes are {}", known.join(", ")))
            })
        });
        let theme = theme.transpose()?;
        let picks = args.resume == Some(None);
        let start = if picks { StartScreen::Sessions } else { StartScreen::Chat };
        if lines || !caps.is_usable() {
            return Ok(TerminalFrontEnd::Plain(Box::new(PlainOptions {
                screen_reader: args.screen_reader,
                theme: theme.filter(|_| output),
                prompt: input && output,
                terminal: input,
                name: wiring::new_session_id().to_string(),
                now: || SystemClock::default().now(),
                start,
                first: None,
            })));
        }
        let is_full =
            args.session.permission.map(PermissionMode::from) == Some(PermissionMode::Full);
        let full = if is_full { FullMode::Cycled } else { FullMode::Named };
        Ok(TerminalFrontEnd::Whole(FaceOptions {
            theme: args.theme.clone(),
            full,
            start,
            ..FaceOptions::default()
        }))
    }

    /// Which fact of a session that is opened it is told first. What line mode says of a session that is taken
    /// up counts all that was said in it, also where it stands in for a terminal without abilities.
    fn told_from(&self) -> FirstTold {
        match self {
            TerminalFrontEnd::Plain(_) => FirstTold::FirstFact,
            TerminalFrontEnd::Whole(_) => FirstTold::SettledPlace,
        }
    }

    /// Shows it, served by `serve`, until one of both leaves.
    async fn run_served_by<S, F>(self, serve: S) -> anyhow::Result<FaceExit>
    where
        S: FnOnce(BackendChannel) -> F,
        F: Future<Output = anyhow::Result<()>> + Send + 'static,
    {
        let (UiChannel { wishes, news }, far) = ui_channel_pair();
        let served = tokio::spawn(serve(far));
        let near = UiChannel { wishes, news };
        let left = match self {
            TerminalFrontEnd::Whole(options) => {
                run::run(near, options).await.map_err(anyhow::Error::from)
            }
            TerminalFrontEnd::Plain(options) => {
                plain::run(near, *options).await.map_err(anyhow::Error::from)
            }
        };
        // The face has gone, and with it its end of the link: the other end gives everything back.
        match tokio::time::timeout(GIVE_BACK_WAIT, served).await {
            Ok(Ok(Ok(()))) => (),
            Ok(Ok(Err(error))) => return left.and(Err(error)),
            Ok(Err(error)) => return Err(error.into()),
            Err(_) => {
                terminal::err_message("the session could not be closed in time; you can resume it")
            }
        }
        left
    }
}

/// What is opened at a server; a session's address may name it too.
fn which_there(args: &TuiArgs) -> anyhow::Result<SessionTarget> {
    let here_alone = [
        (args.session.model.is_some(), "--model"),
        (args.session.profile.is_some(), "--profile"),
        (args.session.permission.is_some(), "--permission"),
        (!args.session.allow.is_empty(), "--allow"),
        (!args.session.deny.is_empty(), "--deny"),
        (!args.session.add_dir.is_empty(), "--add-dir"),
        (args.continue_last, "--continue"),
    ];
    if let Some((_, flag)) = here_alone.iter().find(|(is_given, _)| *is_given) {
        return Err(usage(format!(
            "{flag} has no effect with --attach: the server decides this; change it in the session"
        )));
    }
    let whole = |text: &str| weir_core::ids::SessionId::new(text.trim());
    Ok(match (&args.resume, &args.fork) {
        (Some(Some(text)), _) => SessionTarget::Existing(whole(text)),
        (_, Some(text)) => SessionTarget::Fork { of: whole(text), before: None },
        (Some(None) | None, None) => SessionTarget::New,
    })
}

/// What is opened first on this machine.
///
/// # Errors
/// A usage error: no such session; no model can be asked for a new one.
async fn choose_first_session(
    cx: &InstallationContext,
    args: &TuiArgs,
    told_from: FirstTold,
) -> anyhow::Result<FirstSession> {
    let flags = args.session.as_overrides(true);
    let profile = wiring::choose_profile(cx, &flags, None)?;
    // A wrong rule is said before the terminal is taken.
    wiring::session_rules(cx, &*cx.open_workspace()?, &flags, None)?;
    let picks = if args.resume == Some(None) {
        FirstSessionPicker::Session
    } else {
        FirstSessionPicker::Nothing
    };
    let which = match (&args.resume, &args.fork) {
        (Some(Some(text)), _) => SessionTarget::Existing(find_named_session(cx, text).await?),
        (_, Some(text)) => {
            SessionTarget::Fork { of: find_named_session(cx, text).await?, before: None }
        }
        _ if args.continue_last => SessionTarget::Existing(newest_session_here(cx).await?),
        _ => SessionTarget::New,
    };
    let asked = flags.model.as_deref().or(profile.profile.model.as_deref());
    // Who only looks for a session needs no model yet.
    if which == SessionTarget::New && picks == FirstSessionPicker::Nothing || flags.model.is_some()
    {
        models::chosen_model_name(cx, asked).await?;
    }
    Ok(FirstSession { which, flags, picks, name: None, told_from })
}

async fn find_named_session(
    cx: &InstallationContext,
    text: &str,
) -> anyhow::Result<weir_core::ids::SessionId> {
    session_ids::find_session_id(cx.local_store()?.as_ref(), text).await
}

async fn newest_session_here(
    cx: &InstallationContext,
) -> anyhow::Result<weir_core::ids::SessionId> {
    let folder = Some(cx.folder.display().to_string());
    let newest = session_ids::list_newest_sessions(
        cx.local_store()?.as_ref(),
        folder,
        1,
        SubAgentListing::Hidden,
    )
    .await?;
    let newest = newest.into_iter().next().map(|meta| meta.id);
    newest.ok_or_else(|| usage("there is no session of this folder to continue; omit --continue"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_line_mode_is_told_all_facts_also_where_it_stands_in_for_a_poor_terminal() {
        let plain = PlainOptions {
            screen_reader: false,
            theme: None,
            prompt: true,
            terminal: true,
            name: "a face".into(),
            now: || SystemClock::default().now(),
            start: StartScreen::Chat,
            first: None,
        };
        let face = TerminalFrontEnd::Plain(Box::new(plain));
        assert_eq!(face.told_from(), FirstTold::FirstFact);
        let face = TerminalFrontEnd::Whole(FaceOptions::default());
        assert_eq!(face.told_from(), FirstTold::SettledPlace);
    }
}
