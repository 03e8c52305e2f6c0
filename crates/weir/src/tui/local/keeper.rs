//! Who opens sessions, takes them up, and gives them back: one wish after the other, so that what
//! was said first is heard first.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use weir_core::event::{CancelCause, RunStatus};
use weir_core::ids::SessionId;
use weir_core::session::child;
use weir_engine::engine::EngineError;
use weir_engine::host::SessionState;
use weir_engine::ports::{Store as _, StoreError};
use weir_install::cx::Cx;
use weir_install::leftovers;
use weir_install::wiring::{self, SessionOverrides};
use weir_tui::link::{NoticeTone, SessionTarget, UiCommand, UiUpdate};

use super::desk::LocalContext;
use super::room::{RunningSession, ShownSession, follow_session};
use super::{FirstSessionPicker, LABEL, PERSON, about, back};
use crate::failure::{engine_failure, usage};

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

/// The keeper.
pub(super) struct SessionController {
    pub(super) desk: Arc<LocalContext>,
    follower: Option<JoinHandle<()>>,
    /// What is changed as soon as no run is on.
    pub(super) pending: Vec<UiCommand>,
    /// The flags count for the next session that is opened.
    picks: FirstSessionPicker,
    /// The session was begun by another program that went away: it goes on as soon as it is known.
    goes_on: bool,
}

impl SessionController {
    /// One who has a desk.
    pub(super) fn new(desk: Arc<LocalContext>, picks: FirstSessionPicker) -> SessionController {
        SessionController { desk, follower: None, pending: Vec::new(), picks, goes_on: false }
    }

    /// Opens `first`, then does what comes, until the face goes.
    pub(super) async fn run(mut self, first: SessionTarget, mut line: mpsc::Receiver<UiCommand>) {
        let leaving = self.desk.leaving.clone();
        let opened = tokio::select! {
            biased;
            () = leaving.cancelled() => Ok(()),
            opened = self.open_session(first, true) => opened,
        };
        if let Err(error) = opened {
            let text = format!("the session cannot be opened: {error:#}");
            self.desk.send_notice(NoticeTone::Bad, text).await;
            self.show_session(ShownSession::new(
                None,
                self.desk.cx.clone(),
                0,
                self.desk.flags.clone(),
            ))
            .await;
        }
        loop {
            let room = self.desk.shown_session();
            let wish = tokio::select! {
                biased;
                () = leaving.cancelled() => break,
                wish = line.recv() => wish,
                () = room.stirred.notified() => {
                    tokio::select! {
                        biased;
                        () = leaving.cancelled() => break,
                        () = self.handle_session_change(&room) => continue,
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
                if matches!(wish, UiCommand::Say { .. }) {
                    self.perform_command(wish).await;
                }
            }
        };
        let _ = tokio::time::timeout(SAY_WAIT, rest).await;
        self.give_back().await;
    }

    /// Does it. When the face goes, all but what was said is left at once.
    async fn act_until_left(&mut self, wish: UiCommand) {
        let leaving = self.desk.leaving.clone();
        let is_said = matches!(wish, UiCommand::Say { .. });
        let left = async {
            leaving.cancelled().await;
            if is_said {
                tokio::time::sleep(SAY_WAIT).await;
            }
        };
        tokio::select! {
            biased;
            () = left => (),
            () = self.perform_command(wish) => (),
        }
    }

    async fn perform_command(&mut self, wish: UiCommand) {
        match wish {
            UiCommand::Open(which) => {
                if let Err(error) = self.open_session(which, false).await {
                    let text = format!("it cannot be opened: {error:#}");
                    self.desk.send_notice(NoticeTone::Bad, text).await;
                }
            }
            UiCommand::Say { text, attached, client_id } => {
                if let Err(why) = self.say_message(text, attached, &client_id).await {
                    self.desk.send_update(UiUpdate::Refused { client_id, why }).await;
                }
            }
            UiCommand::Mode(_)
            | UiCommand::Thinking(_)
            | UiCommand::Model(_)
            | UiCommand::Profile(_) => {
                self.change_settings(wish).await;
            }
            UiCommand::Condense(words) => self.condense_context(&words).await,
            UiCommand::Undo => back::undo_last_run(self).await,
            UiCommand::Rewind { before, back: what } => {
                back::rewind_session(self, before, what).await
            }
            // What would have gone straight to the session, did it run here.
            UiCommand::Tell(command) => {
                self.pass_on(command).await;
                self.desk.behind.fetch_sub(1, Ordering::AcqRel);
            }
            // Everything else was taken before it came here.
            _ => (),
        }
    }

    /// A run ended, or the old facts are all told.
    async fn handle_session_change(&mut self, room: &Arc<ShownSession>) {
        if std::mem::take(&mut self.goes_on)
            && !room.read_state(SessionState::is_at_rest)
            && room.running_session().is_none()
        {
            // An approval that was open is asked again, a run that stopped goes on (D5).
            if let Err(TakeUpError::Failed(why)) = self.take_up(None).await {
                let text = format!("what was under way cannot go on now: {why}");
                self.desk.send_notice(NoticeTone::Bad, text).await;
            }
        }
        if room.is_owed()
            && room.running_session().is_none()
            && let Err(TakeUpError::Failed(why)) = self.take_up(None).await
        {
            let text =
                format!("what you said waits in this session, which cannot go on now: {why}");
            self.desk.send_notice(NoticeTone::Bad, text).await;
        }
        self.desk
            .send_update(UiUpdate::Branch(about::checked_out_branch(room.workspace_folder())))
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
        let room = match which {
            SessionTarget::Existing(id) if self.is_shown(&id) => {
                self.desk.send_notice(NoticeTone::Quiet, "this session is open already").await;
                return Ok(());
            }
            SessionTarget::New => {
                ShownSession::new(None, self.desk.cx.clone(), 0, self.desk.flags.clone())
            }
            SessionTarget::Existing(id) => self.open_existing(id, is_first).await?,
            SessionTarget::Fork { of, before } => {
                let fork = back::fork_session(&self.desk, &of, before).await?;
                self.open_existing(fork, is_first).await?
            }
        };
        self.give_back().await;
        self.pending.clear();
        self.show_session(room).await;
        Ok(())
    }

    /// Whether it is open, and what happens in it is told.
    fn is_shown(&self, id: &SessionId) -> bool {
        let room = self.desk.shown_session();
        room.id.as_ref() == Some(id) && room.broken_reason().is_none()
    }

    async fn open_existing(
        &mut self,
        id: SessionId,
        is_first: bool,
    ) -> anyhow::Result<ShownSession> {
        let store = self.desk.cx.local_store()?;
        if let Some((parent, _)) = child::parent_of(&id) {
            return Err(usage(format!(
                "{id} is a sub-agent and goes on with the session that started it: {parent}"
            )));
        }
        let meta = store.session_meta(&id).await?.filter(|meta| meta.facts > 0);
        let meta = meta.ok_or_else(|| usage(format!("there is no session {id} in this store")))?;
        let cx = Arc::new(self.desk.cx.in_folder(Path::new(&meta.workspace))?);
        let flags = is_first || self.picks == FirstSessionPicker::Session;
        self.picks = FirstSessionPicker::Nothing;
        let wishes = match flags {
            true => self.desk.flags.clone(),
            // A journal does not say where the script of a scripted model stood.
            false => SessionOverrides {
                attended: true,
                model: scripted_model_name(&self.desk.flags),
                ..SessionOverrides::default()
            },
        };
        self.goes_on = store.holder_text(&id).await?.is_none();
        Ok(ShownSession::new(Some(id), cx, meta.facts, wishes).begun_elsewhere(!self.goes_on))
    }

    /// Shows a room and follows its session.
    async fn show_session(&mut self, room: ShownSession) {
        self.stop_following().await;
        let room = Arc::new(room);
        self.desk.set_shown_session(room.clone());
        let news = about::session_opened_updates(&self.desk, &room).await;
        for one in news {
            self.desk.send_update(one).await;
        }
        self.follower = Some(follow_session(room, self.desk.clone()));
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
        self.follower = Some(follow_session(self.desk.shown_session(), self.desk.clone()));
    }

    /// The session, running here: begun where it does not exist, taken up where nobody runs it.
    /// `wishes`: with these settings from now on.
    ///
    /// # Errors
    /// Another process has it, or it cannot be.
    pub(super) async fn take_up(
        &mut self,
        wishes: Option<SessionOverrides>,
    ) -> Result<Arc<RunningSession>, TakeUpError> {
        let room = self.desk.shown_session();
        if let Some(live) = room.running_session().filter(|_| wishes.is_none()) {
            return Ok(live);
        }
        if let Some(old) = room.held_session() {
            // It goes down: before that has ended, this very process holds it.
            let ended = tokio::time::timeout(DOWN_WAIT, old.handle.wait_until_ended()).await;
            ended.map_err(|_| TakeUpError::Failed(GOES_DOWN.into()))?;
            room.clear_ended_session(&old);
        }
        if room.broken_reason().is_some() {
            // Whatever was in the way may be over.
            self.stop_following().await;
            self.resume_following();
        }
        let wishes = wishes.unwrap_or_else(|| room.session_overrides());
        let live = match &room.id {
            None => return self.begin_session(&room, &wishes).await,
            Some(id) => self.resume_session(&room, id, &wishes).await,
        };
        match live {
            Ok(live) => {
                // A profile is asked for once; from then on it is the session's own.
                room.set_wishes(SessionOverrides { profile: None, ..wishes });
                let live = Arc::new(live);
                room.set_live(live.clone());
                self.stop_following().await;
                self.resume_following();
                Ok(live)
            }
            Err(error) => Err(take_up_error(error)),
        }
    }

    async fn begin_session(
        &mut self,
        room: &Arc<ShownSession>,
        wishes: &SessionOverrides,
    ) -> Result<Arc<RunningSession>, TakeUpError> {
        let options =
            wiring::session_options(&room.cx, wishes, None).await.map_err(take_up_error)?;
        let engine = wiring::open_engine(&room.cx, LABEL).map_err(take_up_error)?;
        leftovers::remove_orphans(&room.cx);
        let id = wiring::new_session_id();
        let opened = engine.open(id.clone(), options).await;
        let handle = opened.map_err(|error| take_up_error(error.into()))?;
        let live = Arc::new(RunningSession { handle });
        let wishes = SessionOverrides { profile: None, ..wishes.clone() };
        let begun = ShownSession::new(Some(id), room.cx.clone(), 0, wishes);
        begun.set_live(live.clone());
        self.show_session(begun).await;
        Ok(live)
    }

    async fn resume_session(
        &self,
        room: &Arc<ShownSession>,
        id: &SessionId,
        wishes: &SessionOverrides,
    ) -> anyhow::Result<RunningSession> {
        room.until_known().await.map_err(usage)?;
        let kept = room.read_state(|state| state.config.clone());
        let kept = kept.ok_or_else(|| usage(format!("{id} was never opened")))?;
        // Files that the person changed since count.
        let cx: Cx = room.cx.reloaded_in_folder(room.workspace_folder())?;
        let options = wiring::session_options(&cx, wishes, Some(&kept)).await?;
        let engine = wiring::open_engine(&cx, LABEL)?;
        leftovers::remove_orphans(&cx);
        let handle = engine.resume(id.clone(), options).await?;
        Ok(RunningSession { handle })
    }

    /// Lets the session that is shown come to rest, and others have it.
    pub(super) async fn give_back(&mut self) {
        let room = self.desk.shown_session();
        if let Some(live) = room.held_session() {
            if room.read_state(|state| state.run.is_some()) {
                let ended = async {
                    let cancelled = live.handle.cancel_run(CancelCause::Cancelled, PERSON).await;
                    if cancelled.is_ok() {
                        room.wait_until(|state| state.run.is_none()).await;
                    }
                };
                // What does not end in time ends with the session, and is owed.
                let _ = tokio::time::timeout(CANCEL_WAIT, ended).await;
            }
            if !self.stop_session(&room, &live).await {
                self.desk.send_notice(NoticeTone::Bad, GOES_DOWN).await;
            }
            if let (Some(id), Some(true)) =
                (&room.id, room.read_state(|state| state.ended).map(RunStatus::is_over))
                && let Ok(workspace) = room.cx.open_workspace()
            {
                leftovers::remove_results(&workspace, id);
            }
            wiring::sweep_command_records(&room.cx);
        }
        self.stop_following().await;
    }

    /// Takes the session out of this process's hands. `false`: it takes too long over that, and
    /// stays in them until it has.
    async fn stop_session(&mut self, room: &Arc<ShownSession>, live: &Arc<RunningSession>) -> bool {
        self.stop_following().await;
        live.handle.request_stop().await;
        let leaving = &self.desk.leaving;
        let too_long = async {
            let left = async {
                leaving.cancelled().await;
                tokio::time::sleep(LEAVE_WAIT).await;
            };
            let _ = tokio::time::timeout(DOWN_WAIT, left).await;
        };
        let is_down = tokio::select! {
            biased;
            _ = live.handle.wait_until_ended() => true,
            () = too_long => false,
        };
        if is_down {
            room.clear_ended_session(live);
        }
        is_down
    }

    /// The same where it is only to be opened anew: what was written meanwhile is told.
    pub(super) async fn down_for_now(
        &mut self,
        room: &Arc<ShownSession>,
        live: &Arc<RunningSession>,
    ) -> bool {
        let is_down = self.stop_session(room, live).await;
        self.resume_following();
        is_down
    }
}

/// The scripted model of the flags.
fn scripted_model_name(flags: &SessionOverrides) -> Option<String> {
    flags.model.clone().filter(|text| text.starts_with("script:"))
}

fn take_up_error(error: anyhow::Error) -> TakeUpError {
    let error = match error.downcast::<EngineError>() {
        Ok(EngineError::Store(StoreError::Held { holder, .. })) => {
            return TakeUpError::Held(holder);
        }
        Ok(error) => engine_failure(error),
        Err(error) => error,
    };
    TakeUpError::Failed(format!("{error:#}"))
}
