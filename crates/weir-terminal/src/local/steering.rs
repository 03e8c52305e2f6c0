//! What ends or answers something in the session that is shown, by the engine's host: in this process,
//! as a letter to whoever has the session, or after it was taken up here. One command after the other:
//! what is taken back before a run is ended must not be in the next one.
//!
//! Not here: what is said (`say`, `letters`), and settings, which another process is not asked for
//! (`change`).

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use weir_core::event::Decision;
use weir_core::ids::SessionId;
use weir_core::input::PersonCommand;
use weir_engine::engine::EngineError;
use weir_engine::host::{
    LiveSession, SentCommand, SessionAccess, SessionHost, SessionPlace, SessionState, TellOutcome,
    is_command_settled,
};
use weir_engine::ports::StoreError;
use weir_install::wiring;
use weir_tui::link::NoticeTone;

use super::context::LocalContext;
use super::controller::{ControllerRequest, TakeUpError, take_up_error};
use super::shown_session::ShownSession;
use super::{LABEL, PERSON};

/// How long the next command waits for the one before it. What takes longer is a letter that lies in
/// its box already: what comes of it is found out beside the others.
const ORDER_WAIT: Duration = Duration::from_secs(2);
/// Letters whose outcome is found out at once; more wait.
const LETTERS_MAX: usize = 32;

/// The sessions of this process, as the engine's host finds them: there is one, the one that is shown,
/// and its controller opens it.
#[derive(Clone)]
pub(super) struct LocalSessions {
    /// What is shared.
    pub(super) context: Arc<LocalContext>,
    /// The way to the controller.
    pub(super) controller: mpsc::Sender<ControllerRequest>,
}

impl From<EngineError> for TakeUpError {
    fn from(error: EngineError) -> TakeUpError {
        take_up_error(error.into())
    }
}

impl From<StoreError> for TakeUpError {
    fn from(error: StoreError) -> TakeUpError {
        TakeUpError::Failed(error.to_string())
    }
}

impl SessionAccess for LocalSessions {
    type Error = TakeUpError;

    fn find_live(&self, session: &SessionId) -> Option<Arc<LiveSession>> {
        self.context.shown_session().running_session().filter(|live| live.id() == session)
    }

    async fn take_up(&self, session: &SessionId) -> Result<SessionPlace, TakeUpError> {
        if let Some(live) = self.find_live(session) {
            return Ok(SessionPlace::Here(live));
        }
        let (reply, taken_up) = oneshot::channel();
        let request = ControllerRequest::TakeUp { session: session.clone(), reply };
        let has_gone = |()| TakeUpError::Failed("the terminal was left".into());
        self.controller.send(request).await.map_err(drop).map_err(has_gone)?;
        taken_up.await.map_err(drop).map_err(has_gone)?
    }
}

impl LocalSessions {
    /// The session that commands go to now; `None`: the controller has gone. Where none runs here, what
    /// was wished before comes first: it may open one.
    async fn name_shown_session(&self) -> Option<Arc<ShownSession>> {
        let shown = self.context.shown_session();
        if shown.running_session().is_some() {
            return Some(shown);
        }
        let (reply, named) = oneshot::channel();
        self.controller.send(ControllerRequest::NameShown(reply)).await.ok()?;
        named.await.ok()
    }
}

/// Does what ends or answers something, one after the other, until no more comes.
pub(super) async fn steer_sessions(
    sessions: LocalSessions,
    mut commands: mpsc::Receiver<PersonCommand>,
) {
    let mut letters = JoinSet::new();
    while let Some(command) = commands.recv().await {
        while letters.try_join_next().is_some() {}
        if letters.len() >= LETTERS_MAX {
            letters.join_next().await;
        }
        let Some(shown) = sessions.name_shown_session().await else { break };
        let (under_way, ended) = oneshot::channel::<()>();
        let sessions = sessions.clone();
        letters.spawn(async move {
            tell_shown_session(sessions, shown, command).await;
            drop(under_way);
        });
        let _ = tokio::time::timeout(ORDER_WAIT, ended).await;
    }
}

/// Tells a command to the session, and the person what is worth telling of it.
async fn tell_shown_session(
    sessions: LocalSessions,
    shown: Arc<ShownSession>,
    command: PersonCommand,
) {
    let context = sessions.context.clone();
    if let Err(why) = shown.until_known().await {
        return context.send_notice(NoticeTone::Bad, why).await;
    }
    let Some(mut view) = shown.session_view() else { return };
    if shown.running_session().is_none() && shown.read_state(SessionState::is_at_rest) {
        // It rests: nothing of this is open.
        return;
    }
    if let PersonCommand::Decide(answer) = &command
        && answer.decision == Decision::Always
    {
        shown.note_answered_always(answer.approval.clone());
    }
    let Some(session) = shown.id.clone() else { return };
    let is_withdrawal = matches!(command, PersonCommand::Withdraw { .. });
    // The run that a person saw when they ended it, and not one that begins meanwhile.
    let run = shown.read_state(|state| state.run);
    let is_late =
        is_withdrawal && shown.read_state(|state| is_command_settled(state, &command, run));
    let sent = SentCommand { session, by: PERSON.into(), command };
    let told = async {
        let parts = wiring::host_parts(&shown.cx, LABEL)
            .map_err(|error| TakeUpError::Failed(format!("{error:#}")))?;
        let settled =
            |state: &SessionState| is_command_settled(state, &sent.command, run).then_some(());
        SessionHost::new(sessions, parts).tell_session(&sent, &mut view, settled).await
    };
    match told.await {
        Ok(TellOutcome::Refused(_)) if is_withdrawal => notice_late_withdrawal(&context).await,
        Ok(TellOutcome::Found { .. }) if is_late => notice_late_withdrawal(&context).await,
        // Somebody else was quicker, and their answer is on its way; a run ended by itself; or the
        // letter waits for whoever has the session.
        Ok(
            TellOutcome::Found { .. }
            | TellOutcome::TakenIn
            | TellOutcome::Refused(_)
            | TellOutcome::InUse
            | TellOutcome::Waits(_),
        ) => (),
        Ok(TellOutcome::Restless) => {
            let text = "the session went down each time that it was taken up";
            context.send_notice(NoticeTone::Bad, text).await;
        }
        Err(TakeUpError::Held(holder)) => {
            context.send_notice(NoticeTone::Bad, format!("{holder} has this session now")).await;
        }
        Err(TakeUpError::Failed(why)) => context.send_notice(NoticeTone::Bad, why).await,
    }
}

async fn notice_late_withdrawal(context: &LocalContext) {
    context.send_notice(NoticeTone::Quiet, "it was given to the model already").await;
}
