//! Who opens sessions, takes them up, and gives them back: one wish after the other, so that what
//! was said first is heard first.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use weir_core::event::{CancelCause, RunStatus};
use weir_core::ids::SessionId;
use weir_core::session::child;
use weir_engine::engine::{EngineError, SessionHandle};
use weir_engine::host::{LiveSession, SessionPlace, SessionState};
use weir_engine::ports::{Store as _, StoreError};
use weir_install::context::InstallationContext;
use weir_install::failure::{engine_failure, usage};
use weir_install::leftovers;
use weir_install::wiring::{self, SessionOverrides};
use weir_install::worktrees::project_of_removed_copy;
use weir_tui::link::{NoticeTone, SessionTarget, UiCommand, UiUpdate};

use super::context::LocalContext;
use super::shown_session::{ShownSession, follow_session};
use super::{FirstSessionPicker, FirstTold, LABEL, PERSON, about, back, settled_start};

/// How long a run may take to end when it was cancelled.
const CANCEL_WAIT: Duration = Duration::from_secs(3);
/// How long a session may take to go down, so that it can be taken up anew.
const DOWN_WAIT: Duration = Duration::from_secs(30);
/// The same when the face goes: with this process everything of it ends anyway.
const LEAVE_WAIT: Duration = Duration::from_secs(3);
/// How long what was said may still take when the face goes.
const SAY_WAIT: Duration = Duration::from_secs(2);

/// What is said of a session that takes too long over that.
pub(super) const GOES_DOWN: &str =
    "the session is still going down; until it has, it cannot be taken up again";

/// Why a session cannot be taken up.
pub(super) enum TakeUpError {
    /// Another process has it.
    Held(String),
    /// Something else: a sentence.
    Failed(String),
}

/// What it means that a session worked in a worktree that was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RemovedWorktree {
    /// It cannot go on.
    IsError,
    /// It is a copy of one that did: it goes on in the project.
    LeadsToProject,
}

/// What the controller is asked to do, in its turn.
pub(super) enum ControllerRequest {
    /// What the face wishes.
    Command(UiCommand),
    /// To say which session is shown, once everything is done that was wished before.
    NameShown(oneshot::Sender<Arc<ShownSession>>),
    /// To run this session here, where it is the one that is shown.
    TakeUp {
        /// Which.
        session: SessionId,
        /// Where the answer goes.
        reply: oneshot::Sender<Result<SessionPlace, TakeUpError>>,
    },
}

/// The controller.
pub(super) struct SessionController {
    pub(super) context: Arc<LocalContext>,
    follower: Option<JoinHandle<()>>,
    /// What is changed as soon as no run is on.
    pub(super) pending: Vec<UiCommand>,
    /// The flags count for the next session that is opened.
    picks: FirstSessionPicker,
    told_from: FirstTold,
    /// The session was begun by another program that went away: it goes on as soon as it is known.
    goes_on: bool,
}

impl SessionController {
    /// One who has what is shared.
    pub(super) fn new(
        context: Arc<LocalContext>,
        picks: FirstSessionPicker,
        told_from: FirstTold,
    ) -> SessionController {
        let pending = Vec::new();
        SessionController { context, follower: None, pending, picks, told_from, goes_on: false }
    }

    /// Opens `first`, then does what comes, until the face goes.
    pub(super) async fn run(
        mut self,
        first: SessionTarget,
        mut line: mpsc::Receiver<ControllerRequest>,
    ) {
        let leaving = self.context.leaving.clone();
        let opened = tokio::select! {
            biased;
            () = leaving.cancelled() => Ok(()),
            opened = self.open_session(first, true) => opened,
        };
        if let Err(error) = opened {
            let text = format!("the session cannot be opened: {error:#}");
            self.context.send_notice(NoticeTone::Bad, text).await;
            self.show_session(ShownSession::new(
                None,
                self.context.cx.clone(),
                0,
                self.context.flags.clone(),
            ))
            .await;
        }
        loop {
            let shown = self.context.shown_session();
            let wish = tokio::select! {
                biased;
                () = leaving.cancelled() => break,
                wish = line.recv() => wish,
                () = shown.stirred.notified() => {
                    tokio::select! {
                        biased;
                        () = leaving.cancelled() => break,
                        () = self.handle_session_change(&shown) => continue,
                    }
                }
            };
            let Some(wish) = wish else { break };
            self.act_until_left(wish).await;
        }
        // What was said before the face went is said still.
        line.close();
        let rest = async {
            while let Some(wish) = line.recv().await {
                if matches!(wish, ControllerRequest::Command(UiCommand::Say { .. })) {
                    self.perform_request(wish).await;
                }
            }
        };
        let _ = tokio::time::timeout(SAY_WAIT, rest).await;
        self.give_back().await;
    }

    /// Does it. When the face goes, all but what was said is left at once.
    async fn act_until_left(&mut self, wish: ControllerRequest) {
        let leaving = self.context.leaving.clone();
        let is_said = matches!(wish, ControllerRequest::Command(UiCommand::Say { .. }));
        let left = async {
            leaving.cancelled().await;
            if is_said {
                tokio::time::sleep(SAY_WAIT).await;
            }
        };
        tokio::select! {
            biased;
            () = left => (),
            () = self.perform_request(wish) => (),
        }
    }

    async fn perform_request(&mut self, request: ControllerRequest) {
        // Whoever asked may have gone meanwhile.
        match request {
            ControllerRequest::Command(wish) => self.perform_command(wish).await,
            ControllerRequest::NameShown(reply) => {
                let _ = reply.send(self.context.shown_session());
            }
            ControllerRequest::TakeUp { session, reply } => {
                let is_shown = self.context.shown_session().id.as_ref() == Some(&session);
                let _ = reply.send(match is_shown {
                    true => self.take_up_as_place().await,
                    // Another one is shown meanwhile: what it is told stands in its journal.
                    false => Ok(SessionPlace::Nowhere),
                });
            }
        }
    }

    async fn take_up_as_place(&mut self) -> Result<SessionPlace, TakeUpError> {
        match self.take_up(None).await {
            Ok(live) => Ok(SessionPlace::Here(live)),
            Err(TakeUpError::Held(holder)) => Ok(SessionPlace::Elsewhere(holder)),
            Err(error) => Err(error),
        }
    }

    async fn perform_command(&mut self, wish: UiCommand) {
        match wish {
            UiCommand::Open(which) => {
                if let Err(error) = self.open_session(which, false).await {
                    let text = format!("it cannot be opened: {error:#}");
                    self.context.send_notice(NoticeTone::Bad, text).await;
                }
            }
            UiCommand::Say { text, attached, client_id } => {
                if let Err(why) = self.say_message(text, attached, &client_id).await {
                    self.context.send_update(UiUpdate::Refused { client_id, why }).await;
                }
            }
            UiCommand::Mode(_)
            | UiCommand::Thinking(_)
            | UiCommand::Model(_)
            | UiCommand::Profile(_) => {
                self.change_settings(wish).await;
            }
            UiCommand::Reload => self.reload_session().await,
            UiCommand::Unattended => self.tell_nobody_can_be_asked().await,
            UiCommand::Condense(words) => self.condense_context(&words).await,
            UiCommand::Undo => back::undo_last_run(self).await,
            UiCommand::Rewind { before, back: what } => {
                back::rewind_session(self, before, what).await
            }
            // Everything else was taken before it came here.
            _ => (),
        }
    }

    /// A run ended, or the old facts are all told.
    async fn handle_session_change(&mut self, shown: &Arc<ShownSession>) {
        // Runs that ended long ago come to rest while the old facts are told. How the session stands is looked
        // at once, at the last of them: a run that stopped is not seen before.
        if !shown.is_told() {
            return;
        }
        if std::mem::take(&mut self.goes_on)
            && !shown.read_state(SessionState::is_at_rest)
            && shown.running_session().is_none()
        {
            // An approval that was open is asked again, a run that stopped goes on (D5).
            if let Err(TakeUpError::Failed(why)) = self.take_up(None).await {
                let text = format!("what was under way cannot go on now: {why}");
                self.context.send_notice(NoticeTone::Bad, text).await;
            }
        }
        if shown.is_owed()
            && shown.running_session().is_none()
            && let Err(TakeUpError::Failed(why)) = self.take_up(None).await
        {
            let text =
                format!("what you said waits in this session, which cannot go on now: {why}");
            self.context.send_notice(NoticeTone::Bad, text).await;
        }
        self.context
            .send_update(UiUpdate::Branch(about::checked_out_branch(shown.workspace_folder())))
            .await;
        self.change_pending().await;
    }

    /// Opens another session in place of the one that is shown.
    ///
    /// # Errors
    /// It cannot be: then the one before stays.
    pub(super) async fn open_session(
        &mut self,
        which: SessionTarget,
        is_first: bool,
    ) -> anyhow::Result<()> {
        let shown = match which {
            SessionTarget::Existing(id) if self.is_shown(&id) => {
                self.context.send_notice(NoticeTone::Quiet, "this session is open already").await;
                return Ok(());
            }
            SessionTarget::New => {
                ShownSession::new(None, self.context.cx.clone(), 0, self.context.flags.clone())
            }
            SessionTarget::Existing(id) => {
                self.open_existing(id, is_first, RemovedWorktree::IsError).await?
            }
            SessionTarget::Fork { of, before } => {
                let fork = back::fork_session(&self.context, &of, before).await?;
                self.open_existing(fork, is_first, RemovedWorktree::LeadsToProject).await?
            }
        };
        self.give_back().await;
        self.pending.clear();
        self.show_session(shown).await;
        Ok(())
    }

    /// Whether it is open, and what happens in it is told.
    fn is_shown(&self, id: &SessionId) -> bool {
        let shown = self.context.shown_session();
        shown.id.as_ref() == Some(id) && shown.broken_reason().is_none()
    }

    async fn open_existing(
        &mut self,
        id: SessionId,
        is_first: bool,
        removed: RemovedWorktree,
    ) -> anyhow::Result<ShownSession> {
        let store = self.context.cx.local_store()?;
        if let Some((parent, _)) = child::parent_of(&id) {
            return Err(usage(format!(
                "{id} is a sub-agent and goes on with the session that started it: {parent}"
            )));
        }
        let meta = store.session_meta(&id).await?.filter(|meta| meta.facts > 0);
        let meta = meta.ok_or_else(|| usage(format!("there is no session {id} in this store")))?;
        let folder = Path::new(&meta.workspace);
        let project = match removed {
            RemovedWorktree::LeadsToProject => project_of_removed_copy(folder),
            RemovedWorktree::IsError => None,
        };
        let cx = Arc::new(self.context.cx.in_folder(project.as_deref().unwrap_or(folder))?);
        let flags = is_first || self.picks == FirstSessionPicker::Session;
        self.picks = FirstSessionPicker::Nothing;
        let wishes = match flags {
            true => self.context.flags.clone(),
            // A journal does not say where the script of a scripted model stood.
            false => SessionOverrides {
                attended: true,
                model: scripted_model_name(&self.context.flags),
                ..SessionOverrides::default()
            },
        };
        self.goes_on = store.holder_text(&id).await?.is_none();
        let shown = ShownSession::new(Some(id.clone()), cx, meta.facts, wishes);
        let shown = shown.begun_elsewhere(!self.goes_on);
        if self.told_from == FirstTold::FirstFact {
            return Ok(shown);
        }
        let start = settled_start::find_start(store.as_ref(), &id, meta.facts).await?;
        Ok(shown.begun_at(start))
    }

    /// Shows a session and follows its session.
    async fn show_session(&mut self, shown: ShownSession) {
        self.stop_following().await;
        let shown = Arc::new(shown);
        self.context.set_shown_session(shown.clone());
        let news = about::session_opened_updates(&self.context, &shown).await;
        for one in news {
            self.context.send_update(one).await;
        }
        self.follower = Some(follow_session(shown, self.context.clone()));
    }

    /// Nothing of the session that is shown is told any more.
    async fn stop_following(&mut self) {
        if let Some(follower) = self.follower.take() {
            follower.abort();
            // That it was stopped is no error.
            let _ = follower.await;
        }
    }

    /// Follows it again, from where it was left.
    fn resume_following(&mut self) {
        self.follower = Some(follow_session(self.context.shown_session(), self.context.clone()));
    }

    /// The session, running here: begun where it does not exist, taken up where nobody runs it.
    /// `wishes`: with these settings from now on.
    ///
    /// # Errors
    /// Another process has it, or it cannot be.
    pub(super) async fn take_up(
        &mut self,
        wishes: Option<SessionOverrides>,
    ) -> Result<Arc<LiveSession>, TakeUpError> {
        let shown = self.context.shown_session();
        if let Some(live) = shown.running_session().filter(|_| wishes.is_none()) {
            return Ok(live);
        }
        if let Some(old) = shown.held_session() {
            // It goes down: before that has ended, this very process holds it.
            let ended = tokio::time::timeout(DOWN_WAIT, old.handle().wait_until_ended()).await;
            ended.map_err(|_| TakeUpError::Failed(GOES_DOWN.into()))?;
            shown.clear_ended_session(&old);
        }
        if shown.broken_reason().is_some() {
            // Whatever was in the way may be over.
            self.stop_following().await;
            self.resume_following();
        }
        let wishes = wishes.unwrap_or_else(|| shown.session_overrides());
        let live = match &shown.id {
            None => return self.begin_session(&shown, &wishes).await,
            Some(id) => self.resume_session(&shown, id, &wishes).await,
        };
        match live {
            Ok(live) => {
                // A profile is asked for once; from then on it is the session's own.
                shown.set_wishes(SessionOverrides { profile: None, ..wishes });
                let live = shown.set_live(live);
                self.stop_following().await;
                self.resume_following();
                Ok(live)
            }
            Err(error) => Err(take_up_error(error)),
        }
    }

    async fn begin_session(
        &mut self,
        shown: &Arc<ShownSession>,
        wishes: &SessionOverrides,
    ) -> Result<Arc<LiveSession>, TakeUpError> {
        let options =
            wiring::session_options(&shown.cx, wishes, None).await.map_err(take_up_error)?;
        let engine = wiring::open_engine(&shown.cx, LABEL).await.map_err(take_up_error)?;
        leftovers::remove_orphans(&shown.cx);
        let id = self.context.next_session_id();
        let opened = engine.open(id.clone(), options).await;
        let handle = opened.map_err(|error| take_up_error(error.into()))?;
        self.context.forget_name();
        let wishes = SessionOverrides { profile: None, ..wishes.clone() };
        let begun = ShownSession::new(Some(id), shown.cx.clone(), 0, wishes);
        let live = begun.set_live(handle);
        self.show_session(begun).await;
        Ok(live)
    }

    async fn resume_session(
        &self,
        shown: &Arc<ShownSession>,
        id: &SessionId,
        wishes: &SessionOverrides,
    ) -> anyhow::Result<SessionHandle> {
        shown.until_known().await.map_err(usage)?;
        let kept = shown.read_state(|state| state.config.clone());
        let kept = kept.ok_or_else(|| usage(format!("{id} was never opened")))?;
        // Files that the person changed since count.
        let cx: InstallationContext = shown.cx.reloaded_in_folder(shown.workspace_folder())?;
        let engine = wiring::open_engine(&cx, LABEL).await?;
        engine.check_not_held(id).await.map_err(EngineError::from)?;
        let options = wiring::session_options(&cx, wishes, Some(&kept)).await?;
        leftovers::remove_orphans(&cx);
        Ok(engine.resume(id.clone(), options).await?)
    }

    /// Lets the session that is shown come to rest, and others have it.
    pub(super) async fn give_back(&mut self) {
        let shown = self.context.shown_session();
        if let Some(live) = shown.held_session() {
            if shown.read_state(|state| state.run.is_some()) {
                let ended = async {
                    let cancelled = live.handle().cancel_run(CancelCause::Cancelled, PERSON).await;
                    if cancelled.is_ok() {
                        shown.wait_until(|state| state.run.is_none()).await;
                    }
                };
                // What does not end in time ends with the session, and is owed.
                let _ = tokio::time::timeout(CANCEL_WAIT, ended).await;
            }
            if !self.stop_session(&shown, &live).await {
                self.context.send_notice(NoticeTone::Bad, GOES_DOWN).await;
            }
            if let (Some(id), Some(true)) =
                (&shown.id, shown.read_state(|state| state.ended).map(RunStatus::is_over))
                && let Ok(workspace) = shown.cx.open_workspace()
            {
                leftovers::remove_results(&workspace, id);
            }
            wiring::sweep_command_records(&shown.cx);
        }
        self.stop_following().await;
    }

    /// Takes the session out of this process's hands. `false`: it takes too long over that, and
    /// stays in them until it has.
    async fn stop_session(&mut self, shown: &Arc<ShownSession>, live: &Arc<LiveSession>) -> bool {
        self.stop_following().await;
        live.handle().request_stop().await;
        let leaving = &self.context.leaving;
        let too_long = async {
            let left = async {
                leaving.cancelled().await;
                tokio::time::sleep(LEAVE_WAIT).await;
            };
            let _ = tokio::time::timeout(DOWN_WAIT, left).await;
        };
        let is_down = tokio::select! {
            biased;
            _ = live.handle().wait_until_ended() => true,
            () = too_long => false,
        };
        if is_down {
            shown.clear_ended_session(live);
        }
        is_down
    }

    /// The same where it is only to be opened anew: what was written meanwhile is told.
    pub(super) async fn down_for_now(
        &mut self,
        shown: &Arc<ShownSession>,
        live: &Arc<LiveSession>,
    ) -> bool {
        let is_down = self.stop_session(shown, live).await;
        self.resume_following();
        is_down
    }
}

/// The scripted model of the flags.
fn scripted_model_name(flags: &SessionOverrides) -> Option<String> {
    flags.model.clone().filter(|text| text.starts_with("script:"))
}

/// Why a session cannot be taken up, from what went wrong.
pub(super) fn take_up_error(error: anyhow::Error) -> TakeUpError {
    let error = match error.downcast::<EngineError>() {
        Ok(EngineError::Store(StoreError::Held { holder, .. })) => {
            return TakeUpError::Held(holder);
        }
        Ok(error) => engine_failure(error),
        Err(error) => error,
    };
    TakeUpError::Failed(format!("{error:#}"))
}
