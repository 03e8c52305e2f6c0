//! `weir run`: one headless run (C2). Opens or takes up a session, says the prompt, shows what
//! happens, and ends with the run's status.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use tokio::signal::unix::{Signal, SignalKind, signal};
use weir_core::event::{CancelCause, Event, RunFinished, RunStatus};
use weir_core::ids::SessionId;
use weir_core::session::child;
use weir_engine::attach::Saying;
use weir_engine::engine::{Engine, EngineError, SessionHandle, SessionOptions};
use weir_engine::hub::Update;
use weir_engine::ports::Store;
use weir_install::cx::Cx;
use weir_install::leftovers;
use weir_install::session_ids::{self, Agents};
use weir_install::wiring::{self, Wishes};
use weir_store::SqliteStore;

use crate::command::approvals::fold;
use crate::failure::{engine_failure, exit, failure, usage};
use crate::options::RunArgs;
use crate::terminal;

mod ask;
mod dry;
mod face;
mod input;
mod keyboard;
#[cfg(test)]
pub(super) mod offscreen;
mod pictures;
mod wishes;

pub(super) use ask::Asks;
pub(super) use face::{Face, Shown};

/// What is run.
enum Target {
    /// A new session.
    New,
    /// One that exists, in its own folder.
    Existing(SessionId),
}

pub(crate) async fn run(cx: &Cx, args: RunArgs) -> anyhow::Result<ExitCode> {
    if args.dry_run {
        return dry::dry_run(cx, &args).await;
    }
    let store = cx.store()?;
    if let Some(pause) = store.paused().await? {
        return Err(failure(
            exit::PAUSED,
            format!(
                "Weir has been paused since {} by {}; nothing was run. `weir release` ends the \
                 pause.",
                pause.since, pause.by
            ),
        ));
    }
    let target = target(cx, &args, &store).await?;
    let asks = match args.ask_elsewhere {
        true => Asks::Elsewhere { quiet: args.quiet },
        false if terminal::is_attended() => Asks::Here,
        false => Asks::Nobody,
    };
    let wishes = wishes::wishes_of_run(&args, asks.attended())?;
    let shown =
        Shown { output: args.output, deltas: args.deltas, quiet: args.quiet, resumable: true };
    match target {
        Target::New => {
            let prompt = input::required(&args)?;
            let options = wiring::session_options(cx, &wishes, None).await?;
            let engine = wiring::engine(cx, "weir run")?;
            let saying = input::saying(&engine, &options.workspace, &args, prompt).await?;
            leftovers::remove_orphans(cx);
            let id = wiring::new_session_id();
            let workspace = options.workspace.clone();
            let handle = engine.open(id, options).await.map_err(engine_failure)?;
            let open = Vec::new();
            let by = None;
            let play = Play { engine, handle, workspace, known: 0, open, shown, asks, by };
            play.go(cx, Some(saying)).await
        }
        Target::Existing(id) => resume(cx, &args, id, &wishes, (shown, asks)).await,
    }
}

async fn target(cx: &Cx, args: &RunArgs, store: &Arc<SqliteStore>) -> anyhow::Result<Target> {
    if let Some(text) = &args.resume {
        return Ok(Target::Existing(session_ids::find(store.as_ref(), text).await?));
    }
    if args.continue_last {
        let folder = Some(cx.folder.display().to_string());
        let newest = session_ids::list(store.as_ref(), folder, 1, Agents::Hidden).await?;
        let newest = newest.into_iter().next();
        let newest = newest.ok_or_else(|| {
            usage("there is no session of this folder to continue; omit --continue")
        })?;
        return Ok(Target::Existing(newest.id));
    }
    if let Some(text) = &args.fork {
        let source = session_ids::find(store.as_ref(), text).await?;
        let engine = wiring::engine(cx, "weir run")?;
        let fork = wiring::new_session_id();
        engine.fork(&source, fork.clone(), None).await.map_err(engine_failure)?;
        return Ok(Target::Existing(fork));
    }
    Ok(Target::New)
}

async fn resume(
    cx: &Cx,
    args: &RunArgs,
    id: SessionId,
    wishes: &Wishes,
    (shown, asks): (Shown, Asks),
) -> anyhow::Result<ExitCode> {
    let store = cx.store()?;
    if let Some((parent, _)) = child::parent_of(&id) {
        return Err(usage(format!(
            "{id} is a sub-agent and continues with the session that started it: weir run --resume \
             {parent}"
        )));
    }
    let folded = fold::load(store.as_ref(), &id).await?;
    // What a person was asked before the program went away is put to them again.
    let open = folded.open();
    let session = folded.session;
    let kept = session.config().ok_or_else(|| usage(format!("{id} was never opened")))?.clone();
    let prompt = input::optional(args)?;
    let rests = session.run().is_none() && session.queued().is_empty();
    if prompt.is_none() && rests {
        let why = match session.open_question() {
            Some((_, weir_core::tool::Control::Ask { text, .. })) => format!(
                "a question is open: {text}\nAnswer it: weir run --resume {id} \"your answer\""
            ),
            _ => {
                "its last run is finished; give it the next task: weir run --resume ID \"…\"".into()
            }
        };
        return Err(usage(why));
    }
    let there = cx.at(Path::new(&kept.workspace))?;
    let options = wiring::session_options(&there, wishes, Some(&kept)).await?;
    let text = prompt.unwrap_or_default();
    let engine = wiring::engine(&there, "weir run")?;
    let saying = input::saying(&engine, &options.workspace, args, text).await?;
    leftovers::remove_orphans(&there);
    let workspace = options.workspace.clone();
    let known = session.facts();
    drop(session);
    let handle = engine.resume(id, options).await.map_err(engine_failure)?;
    let said = !saying.text.is_empty() || !saying.attachments.is_empty();
    let saying = said.then_some(saying);
    let by = None;
    Play { engine, handle, workspace, known, open, shown, asks, by }.go(&there, saying).await
}

/// A run under way.
pub(super) struct Play {
    pub(super) engine: Engine,
    pub(super) handle: SessionHandle,
    pub(super) workspace: Arc<weir_engine::workspace::Workspace>,
    /// Facts that were there before.
    pub(super) known: u64,
    /// What a person was asked in them and has not answered.
    pub(super) open: Vec<Event>,
    pub(super) shown: Shown,
    pub(super) asks: Asks,
    /// Who speaks; none: the person who runs this program.
    pub(super) by: Option<String>,
}

/// What woke the player.
enum Woken {
    Update(Option<Update>),
    Signal(u8),
    Answer(ask::Answered),
}

impl Play {
    /// The same with what is said as said by `by`.
    pub(super) fn said_by(self, by: String) -> Play {
        Play { by: Some(by), ..self }
    }

    /// Says `saying`, shows what happens, and returns the status of the run.
    pub(super) async fn go(self, cx: &Cx, saying: Option<Saying>) -> anyhow::Result<ExitCode> {
        let mut face = Face::new(self.shown, self.handle.id().clone());
        face.begin();
        let mut signals = Signals::new()?;
        let mut updates = self.handle.updates(self.known);
        if let Some(saying) = saying {
            let by = self.by.clone().unwrap_or_else(|| wiring::principal(cx));
            let said = self.handle.say_with(saying, &by).await;
            if let Err(error) = said {
                // What went wrong first is what counts.
                let _ = self.handle.close().await;
                face.broke(&error)?;
                return Err(not_said(error));
            }
        }
        let mut asking = ask::Asking::new(self.asks);
        self.open.iter().for_each(|asked| asking.fact(cx, asked));
        let mut by_signal = None;
        let finished = loop {
            let woken = tokio::select! {
                biased;
                code = signals.next() => Woken::Signal(code),
                answer = asking.answered() => Woken::Answer(answer),
                update = updates.next() => Woken::Update(update?),
            };
            match woken {
                Woken::Signal(code) if by_signal.is_some() => return Ok(ExitCode::from(code)),
                Woken::Signal(code) => {
                    by_signal = Some(code);
                    let name = if code == exit::TERMINATED { "SIGTERM" } else { "SIGINT" };
                    let cancel = self.handle.cancel(CancelCause::Cancelled, name).await;
                    if cancel.is_err() {
                        return Ok(ExitCode::from(code));
                    }
                }
                Woken::Answer(answer) => asking.settle(cx, &self.handle, answer).await?,
                Woken::Update(None) => break None,
                Woken::Update(Some(Update::Signal { kind, subject, text })) => {
                    face.signal(kind, &subject, &text)?;
                }
                Woken::Update(Some(Update::Fact(fact))) => {
                    face.fact(&fact)?;
                    pictures::fact(cx, self.shown.output, &fact.event).await;
                    asking.fact(cx, &fact.event);
                    if let Some(finished) = face.at_rest() {
                        break Some(finished);
                    }
                }
            }
        };
        self.end(cx, finished, &mut face, by_signal).await
    }

    async fn end(
        self,
        cx: &Cx,
        finished: Option<RunFinished>,
        face: &mut Face,
        by_signal: Option<u8>,
    ) -> anyhow::Result<ExitCode> {
        let session = self.handle.id().clone();
        let closed = self.handle.close().await;
        if finished.as_ref().is_some_and(|f| f.status.is_over()) {
            leftovers::remove_results(&self.workspace, &session);
        }
        wiring::tidy(cx);
        drop(self.engine);
        if let Err(error) = closed {
            face.broke(&error)?;
            return Err(engine_failure(error));
        }
        let Some(finished) = finished else {
            face.broke(&EngineError::Stopped)?;
            return Err(failure(exit::FAILED, "the session ended before the run was finished"));
        };
        face.end(&finished)?;
        Ok(ExitCode::from(code(finished.status, by_signal)))
    }
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
fn code(status: RunStatus, by_signal: Option<u8>) -> u8 {
    match status {
        RunStatus::Completed => 0,
        RunStatus::Failed | RunStatus::Interrupted => exit::FAILED,
        RunStatus::Limit | RunStatus::Budget => exit::LIMIT,
        RunStatus::NeedsInput | RunStatus::Denied => exit::PERSON,
        RunStatus::Paused => exit::PAUSED,
        RunStatus::Cancelled => by_signal.unwrap_or(exit::INTERRUPTED),
    }
}

/// SIGINT and SIGTERM.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    pub(super) fn new() -> anyhow::Result<Signals> {
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// The exit status of the signal that came.
    pub(super) async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.interrupt.recv() => exit::INTERRUPTED,
            _ = self.terminate.recv() => exit::TERMINATED,
        }
    }
}

/// The options of a session, for commands that bring their own model.
pub(super) async fn open(
    engine: Engine,
    options: SessionOptions,
    shown: Shown,
) -> anyhow::Result<Play> {
    begin(engine, wiring::new_session_id(), options, (shown, Asks::Nobody)).await
}

/// A new session under a name that is known already.
pub(super) async fn begin(
    engine: Engine,
    id: SessionId,
    options: SessionOptions,
    (shown, asks): (Shown, Asks),
) -> anyhow::Result<Play> {
    let workspace = options.workspace.clone();
    let handle = engine.open(id, options).await.map_err(engine_failure)?;
    let (open, by) = (Vec::new(), None);
    Ok(Play { engine, handle, workspace, known: 0, open, shown, asks, by })
}
