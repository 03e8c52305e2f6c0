//! `weir run`: one headless run (C2). Opens or takes up a session, says the prompt, shows what
//! happens, and ends with the run's status. It drives a session of its own by its own handle, so it has
//! no use for the engine's host: one that somebody else runs is an error here, nothing to send letters to.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use weir_core::event::{CancelCause, Event, RunFinished, RunStatus};
use weir_core::ids::SessionId;
use weir_core::session::{Session, child};
use weir_core::view::transcript::Transcript;
use weir_engine::attach::PromptInput;
use weir_engine::engine::{Engine, EngineError, SessionHandle, SessionOptions};
use weir_engine::hub::SessionUpdate;
use weir_engine::open_asks::list_open_requests;
use weir_engine::ports::{Store, StorePause};
use weir_install::context::InstallationContext;
use weir_install::leftovers;
use weir_install::session_ids::{self, SubAgentListing};
use weir_install::wiring::{self, SessionOverrides};
use weir_install::worktrees;
use weir_store::SqliteStore;

use crate::command::approvals::fold;
use crate::command::sessions::{single_visible_line, timestamp_text};
use crate::failure::{engine_failure, exit, failure_with_status, usage};
use crate::options::RunArgs;
use crate::terminal;

mod ask;
mod detach;
mod dry;
mod face;
mod input;
mod keyboard;
#[cfg(test)]
pub(super) mod offscreen;
mod pictures;
mod signals;
mod wishes;

pub(super) use ask::ApprovalAnswerer;
pub(super) use face::{HeadlessOutput, OutputOptions};
use signals::RunSignals;
pub(super) use signals::TerminationSignals;

/// What is run.
enum RunTarget {
    /// A new session.
    New,
    /// One that exists, in its own folder.
    Existing(SessionId),
}

pub(crate) async fn run(cx: &InstallationContext, args: RunArgs) -> anyhow::Result<ExitCode> {
    if args.dry_run {
        return dry::dry_run(cx, &args).await;
    }
    let store = cx.local_store()?;
    if let Some(pause) = store.pause_state().await? {
        return Err(paused_failure(&pause));
    }
    if args.detach {
        return detach::start_in_background(cx, &args, &store).await;
    }
    let own_id = detach::enter_background(cx, &args)?;
    let target = resolve_run_target(cx, &args, &store, own_id.as_ref()).await?;
    let asks = match args.ask_elsewhere || own_id.is_some() {
        true => ApprovalAnswerer::Elsewhere { quiet: args.quiet },
        false if terminal::is_attended() => ApprovalAnswerer::Here,
        false => ApprovalAnswerer::Nobody,
    };
    let wishes = wishes::wishes_of_run(&args, asks.is_attended())?;
    let shown = OutputOptions {
        output: args.output,
        deltas: args.deltas,
        quiet: args.quiet,
        resumable: true,
    };
    match target {
        RunTarget::New => {
            let prompt = input::read_required_prompt(&args)?;
            let id = own_id.unwrap_or_else(wiring::new_session_id);
            let worktree = match &args.worktree {
                Some(name) => Some(worktrees::open_for_session(cx, name.as_deref(), &id)?),
                None => None,
            };
            let cx = worktree.as_ref().map_or(cx, |worktree| &worktree.cx);
            let options = wiring::session_options(cx, &wishes, None).await;
            let options = options.inspect_err(|_| worktree.iter().for_each(|one| one.give_up()))?;
            if let Some(worktree) = worktree.as_ref().filter(|_| !args.quiet) {
                cx.notify(&format!("note: {}", worktree.describe()));
            }
            let engine = wiring::open_engine(cx, "weir run").await?;
            let saying =
                input::build_user_input(&engine, &options.workspace, &args, prompt).await?;
            leftovers::remove_orphans(cx);
            let workspace = options.workspace.clone();
            let handle = engine.open(id, options).await.map_err(engine_failure)?;
            let open = Vec::new();
            let by = None;
            let (known, seen) = (0, Transcript::default());
            let play =
                RunInProgress { engine, handle, workspace, known, seen, open, shown, asks, by };
            play.run_to_end(cx, Some(saying)).await
        }
        RunTarget::Existing(id) => {
            resume_session(cx, &args, id, &wishes, RunDialog { shown, asks }).await
        }
    }
}

async fn resolve_run_target(
    cx: &InstallationContext,
    args: &RunArgs,
    store: &Arc<SqliteStore>,
    own_id: Option<&SessionId>,
) -> anyhow::Result<RunTarget> {
    if let Some(text) = &args.resume {
        return Ok(RunTarget::Existing(session_ids::find_session_id(store.as_ref(), text).await?));
    }
    if args.continue_last {
        let folder = Some(cx.folder.display().to_string());
        let newest =
            session_ids::list_newest_sessions(store.as_ref(), folder, 1, SubAgentListing::Hidden)
                .await?;
        let newest = newest.into_iter().next();
        let newest = newest.ok_or_else(|| {
            usage("there is no session of this folder to continue; omit --continue")
        })?;
        return Ok(RunTarget::Existing(newest.id));
    }
    if let Some(text) = &args.fork {
        let source = session_ids::find_session_id(store.as_ref(), text).await?;
        let engine = wiring::open_engine(cx, "weir run").await?;
        let fork = own_id.cloned().unwrap_or_else(wiring::new_session_id);
        engine.fork(&source, fork.clone(), None).await.map_err(engine_failure)?;
        return Ok(RunTarget::Existing(fork));
    }
    Ok(RunTarget::New)
}

/// How a run speaks with people: what it prints, and who answers what it asks.
pub(super) struct RunDialog {
    pub(super) shown: OutputOptions,
    pub(super) asks: ApprovalAnswerer,
}

async fn resume_session(
    cx: &InstallationContext,
    args: &RunArgs,
    id: SessionId,
    wishes: &SessionOverrides,
    dialog: RunDialog,
) -> anyhow::Result<ExitCode> {
    let RunDialog { shown, asks } = dialog;
    let store = cx.local_store()?;
    if let Some((parent, _)) = child::parent_of(&id) {
        return Err(usage(format!(
            "{id} is a sub-agent and continues with the session that started it: weir run --resume \
             {parent}"
        )));
    }
    let session = fold::load_session(store.as_ref(), &id).await?;
    // What a person was asked before the program went away is put to them again.
    let open = list_open_requests(store.as_ref(), &session).await?;
    tell_run_pause(&session, asks)?;
    let kept = session.config().ok_or_else(|| usage(format!("{id} was never opened")))?.clone();
    let prompt = input::read_optional_prompt(args)?;
    let rests = session.run().is_none() && session.queued_inputs().is_empty();
    if prompt.is_none() && rests {
        let why = match session.open_question() {
            Some((_, weir_core::tool::AgentControl::Ask { text, .. })) => format!(
                "a question is open: {text}\nAnswer it: weir run --resume {id} \"your answer\""
            ),
            _ => {
                "its last run is finished; give it the next task: weir run --resume ID \"…\"".into()
            }
        };
        return Err(usage(why));
    }
    let folder = Path::new(&kept.workspace);
    // A copy of a session whose worktree was removed goes on in the project.
    let project = args.fork.as_ref().and_then(|_| worktrees::project_of_removed_copy(folder));
    let there = cx.in_folder(project.as_deref().unwrap_or(folder))?;
    let engine = wiring::open_engine(&there, "weir run").await?;
    engine.check_not_held(&id).await.map_err(|error| engine_failure(error.into()))?;
    let options = wiring::session_options(&there, wishes, Some(&kept)).await?;
    let text = prompt.unwrap_or_default();
    let saying = input::build_user_input(&engine, &options.workspace, args, text).await?;
    leftovers::remove_orphans(&there);
    let workspace = options.workspace.clone();
    let known = session.fact_count();
    let seen = Transcript::after(&session);
    drop(session);
    let handle = engine.resume(id, options).await.map_err(engine_failure)?;
    let said = !saying.text.is_empty() || !saying.attachments.is_empty();
    let saying = said.then_some(saying);
    let by = None;
    RunInProgress { engine, handle, workspace, known, seen, open, shown, asks, by }
        .run_to_end(&there, saying)
        .await
}

/// Says that the run of a session is paused. Where nobody is there to let it go on, it is not waited for (C2).
fn tell_run_pause(session: &Session, asks: ApprovalAnswerer) -> anyhow::Result<()> {
    let Some(by) = session.paused_by() else { return Ok(()) };
    let (by, id) = (single_visible_line(by), session.id());
    let why = format!("the run was paused by {by}; `weir release --session {id}` lets it go on");
    if asks.is_attended() {
        terminal::err_message(&why);
        return Ok(());
    }
    let why = format!("{why}. Nothing was run; then `weir run --resume {id}` continues it");
    Err(failure_with_status(exit::PAUSED, why))
}

/// A run under way.
pub(super) struct RunInProgress {
    pub(super) engine: Engine,
    pub(super) handle: SessionHandle,
    pub(super) workspace: Arc<weir_engine::workspace::Workspace>,
    /// Facts that were there before.
    pub(super) known: u64,
    /// What they told.
    pub(super) seen: Transcript,
    /// What a person was asked in them and has not answered.
    pub(super) open: Vec<Event>,
    pub(super) shown: OutputOptions,
    pub(super) asks: ApprovalAnswerer,
    /// Who speaks; none: the person who runs this program.
    pub(super) by: Option<String>,
}

/// What woke the player.
enum RunWakeup {
    Update(Option<SessionUpdate>),
    Signal(u8),
    Answer(ask::TerminalAnswer),
}

impl RunInProgress {
    /// The same with what is said as said by `by`.
    pub(super) fn said_by(self, by: String) -> RunInProgress {
        RunInProgress { by: Some(by), ..self }
    }

    /// Says `saying`, shows what happens, and returns the status of the run.
    pub(super) async fn run_to_end(
        mut self,
        cx: &InstallationContext,
        saying: Option<PromptInput>,
    ) -> anyhow::Result<ExitCode> {
        let mut face = HeadlessOutput::new(
            self.shown,
            self.handle.id().clone(),
            std::mem::take(&mut self.seen),
        );
        face.announce_session();
        let mut signals = RunSignals::new()?;
        let mut updates = self.handle.listen_to_updates(self.known);
        if let Some(saying) = saying {
            let by = self.by.clone().unwrap_or_else(|| wiring::principal_name(cx));
            let said = self.handle.say_with(saying, &by).await;
            if let Err(error) = said {
                // What went wrong first is what counts.
                let _ = self.handle.close().await;
                face.show_engine_error(&error)?;
                return Err(not_said(error));
            }
        }
        let mut asking = ask::TerminalAsker::new(self.asks);
        self.open.iter().for_each(|asked| asking.hear_fact(cx, asked));
        let finished = loop {
            let woken = tokio::select! {
                biased;
                code = signals.every.next() => RunWakeup::Signal(code),
                answer = asking.next_answer() => RunWakeup::Answer(answer),
                update = updates.next() => RunWakeup::Update(update?),
            };
            match woken {
                RunWakeup::Signal(code) if signals.first.is_some() => {
                    return Ok(ExitCode::from(code));
                }
                RunWakeup::Signal(code) => {
                    signals.first = Some(code);
                    let name = if code == exit::TERMINATED { "SIGTERM" } else { "SIGINT" };
                    let cancel = self.handle.cancel_run(CancelCause::Cancelled, name).await;
                    if cancel.is_err() {
                        return Ok(ExitCode::from(code));
                    }
                }
                RunWakeup::Answer(answer) => {
                    asking.pass_answer_on(cx, &self.handle, answer).await?
                }
                RunWakeup::Update(None) => break None,
                RunWakeup::Update(Some(SessionUpdate::Signal { kind, subject, text })) => {
                    face.show_signal(kind, &subject, &text)?;
                }
                RunWakeup::Update(Some(SessionUpdate::Fact(fact))) => {
                    face.show_fact(&fact)?;
                    pictures::name_picture_of_fact(cx, self.shown.output, &fact.event);
                    asking.hear_fact(cx, &fact.event);
                    if let Some(finished) = face.at_rest() {
                        break Some(finished);
                    }
                }
            }
        };
        self.finish_run(cx, finished, &mut face, signals).await
    }

    async fn finish_run(
        self,
        cx: &InstallationContext,
        finished: Option<RunFinished>,
        face: &mut HeadlessOutput,
        mut signals: RunSignals,
    ) -> anyhow::Result<ExitCode> {
        let session = self.handle.id().clone();
        // What is told when a session ends may take its time, and who presses Ctrl-C again does not wait.
        let closed = tokio::select! {
            biased;
            code = signals.next_second() => return Ok(ExitCode::from(code)),
            closed = self.handle.close() => closed,
        };
        if finished.as_ref().is_some_and(|f| f.status.is_over()) {
            leftovers::remove_results(&self.workspace, &session);
        }
        wiring::sweep_command_records(cx);
        drop(self.engine);
        if let Err(error) = closed {
            face.show_engine_error(&error)?;
            return Err(engine_failure(error));
        }
        let Some(finished) = finished else {
            face.show_engine_error(&EngineError::Stopped)?;
            return Err(failure_with_status(
                exit::FAILED,
                "the session ended before the run was finished",
            ));
        };
        face.show_run_end(&finished)?;
        Ok(ExitCode::from(run_exit_code(finished.status, signals.first)))
    }
}

/// The kill switch is thrown: by whom, and why.
pub(super) fn paused_failure(pause: &StorePause) -> anyhow::Error {
    let since = timestamp_text(pause.since);
    let because = match pause.reason.as_str() {
        "" => String::new(),
        reason => format!(" ({})", single_visible_line(reason)),
    };
    failure_with_status(
        exit::PAUSED,
        format!(
            "Weir has been paused since {since} UTC by {}{because}; nothing was run. `weir release` \
             ends the pause.",
            pause.by
        ),
    )
}

/// A prompt that a hook refused: nothing was run.
fn not_said(error: EngineError) -> anyhow::Error {
    match error {
        EngineError::Refused(why) => {
            usage(format!("the prompt was refused, nothing was run: {why}"))
        }
        EngineError::Store(_)
        | EngineError::Session(_)
        | EngineError::Stopped
        | EngineError::Crashed => engine_failure(error),
    }
}

/// The exit status for a run's status (C2).
fn run_exit_code(status: RunStatus, by_signal: Option<u8>) -> u8 {
    match status {
        RunStatus::Completed => 0,
        RunStatus::Failed | RunStatus::Interrupted => exit::FAILED,
        RunStatus::Limit | RunStatus::Budget => exit::LIMIT,
        RunStatus::NeedsInput | RunStatus::Denied => exit::PERSON,
        RunStatus::Paused => exit::PAUSED,
        RunStatus::Cancelled => by_signal.unwrap_or(exit::INTERRUPTED),
    }
}

/// The options of a session, for commands that bring their own model.
pub(super) async fn open_unattended_run(
    engine: Engine,
    options: SessionOptions,
    shown: OutputOptions,
) -> anyhow::Result<RunInProgress> {
    let dialog = RunDialog { shown, asks: ApprovalAnswerer::Nobody };
    begin_run(engine, wiring::new_session_id(), options, dialog).await
}

/// A new session under a name that is known already.
pub(super) async fn begin_run(
    engine: Engine,
    id: SessionId,
    options: SessionOptions,
    dialog: RunDialog,
) -> anyhow::Result<RunInProgress> {
    let RunDialog { shown, asks } = dialog;
    let workspace = options.workspace.clone();
    let handle = engine.open(id, options).await.map_err(engine_failure)?;
    let (open, by) = (Vec::new(), None);
    let (known, seen) = (0, Transcript::default());
    Ok(RunInProgress { engine, handle, workspace, known, seen, open, shown, asks, by })
}
