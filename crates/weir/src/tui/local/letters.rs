//! What goes to a session that another process has: letters in the store, which that process reads.
//! The face is never kept waiting: what came of a letter is found out beside it. How letters are left
//! and taken back is the engine's host's to know.

use std::sync::Arc;

use weir_core::event::Decision;
use weir_core::ids::SessionId;
use weir_core::input::PersonCommand;
use weir_engine::engine::EngineError;
use weir_engine::host::{
    LetterFate, REMOTE_WAIT, SentCommand, SessionState, leave_letter, take_letter_back,
};
use weir_engine::ports::Clock as _;
use weir_install::wiring::{self, SystemClock};
use weir_tui::link::{NoticeTone, UiUpdate};

use super::PERSON;
use super::desk::LocalContext;
use super::keeper::{SessionController, TakeUpError};
use super::room::RunningSession;

/// Ends or answers something in a session that runs here. `false`: it went down meanwhile.
pub(super) async fn steer_live_session(
    desk: &Arc<LocalContext>,
    live: &RunningSession,
    command: PersonCommand,
) -> bool {
    if let PersonCommand::Decide(answer) = &command
        && answer.decision == Decision::Always
    {
        desk.shown_session().note_answered_always(answer.approval.clone());
    }
    let late = match &command {
        PersonCommand::Withdraw { .. } => Some("it was given to the model already"),
        // Somebody else was quicker, and their answer is on its way; a run ended by itself.
        _ => None,
    };
    match live.handle.tell_session(PERSON, command).await {
        Ok(()) => (),
        Err(EngineError::Stopped) => return false,
        Err(EngineError::Refused(_)) => {
            if let Some(text) = late {
                desk.send_notice(NoticeTone::Quiet, text).await;
            }
        }
        Err(error) => desk.send_notice(NoticeTone::Bad, error.to_string()).await,
    }
    true
}

impl SessionController {
    /// Ends or answers something in a session that does not run here: takes it up, or leaves a
    /// letter for who has it.
    pub(super) async fn pass_on(&mut self, command: PersonCommand) {
        let room = self.desk.shown_session();
        let Some(id) = room.id.clone() else { return };
        if let Err(why) = room.until_known().await {
            return self.desk.send_notice(NoticeTone::Bad, why).await;
        }
        if room.read_state(SessionState::is_at_rest) {
            // It rests: nothing of this is open.
            return;
        }
        match self.take_up(None).await {
            Ok(live) => {
                steer_live_session(&self.desk, &live, command).await;
            }
            Err(TakeUpError::Failed(why)) => self.desk.send_notice(NoticeTone::Bad, why).await,
            Err(TakeUpError::Held(_)) => {
                if let Err(why) = deliver_remote_command(&self.desk, &id, command).await {
                    self.desk.send_notice(NoticeTone::Bad, why).await;
                }
            }
        }
    }
}

/// Leaves a letter. Gives its number.
async fn deliver_remote_command(
    desk: &Arc<LocalContext>,
    id: &SessionId,
    command: PersonCommand,
) -> Result<u64, String> {
    let cx = desk.shown_session().cx.clone();
    let store = cx.local_store().map_err(|error| format!("{error:#}"))?;
    let by = match command {
        PersonCommand::Say(_) => wiring::principal_name(&cx),
        _ => PERSON.into(),
    };
    let now = SystemClock::default().now();
    let sent = SentCommand { session: id.clone(), by, command };
    let posted = leave_letter(store.as_ref(), now, &sent).await;
    posted.map_err(|error| error.to_string())
}

/// Says something by letter. What comes of it is waited for elsewhere: it may take its time.
pub(super) async fn say_remotely(
    desk: &Arc<LocalContext>,
    command: PersonCommand,
    client_id: &str,
    holder: String,
) -> Result<(), String> {
    let room = desk.shown_session();
    let Some(id) = room.id.clone() else { return Err("there is no session yet".into()) };
    // It cannot stand in the journal before this.
    let since = room.read_state(|state| state.facts);
    let number = deliver_remote_command(desk, &id, command).await?;
    room.note_posted_message(client_id);
    let (desk, client_id) = (desk.clone(), client_id.to_owned());
    tokio::spawn(async move {
        let heard = room.wait_until(|state| state.sent.contains_key(&client_id));
        if tokio::time::timeout(REMOTE_WAIT, heard).await.is_ok() {
            return;
        }
        if desk.shown_session().id.as_ref() != Some(&id) {
            // Its words belong to that session: whoever runs it next reads them.
            return;
        }
        let store = match room.cx.local_store() {
            Ok(store) => store,
            Err(error) => return report_unknown_outcome(&desk, &format!("{error:#}")).await,
        };
        let store = store.as_ref();
        let why = match take_letter_back(store, &id, number, &client_id, since).await {
            Ok(LetterFate::Heard) => return,
            Ok(LetterFate::TakenBack) => format!("{holder} did not take it; it was taken back"),
            Ok(LetterFate::Refused) => format!("{holder} read it and did not accept it"),
            Err(error) => return report_unknown_outcome(&desk, &error.to_string()).await,
        };
        room.forget_posted_message(&client_id);
        desk.send_update(UiUpdate::Refused { client_id, why }).await;
    });
    Ok(())
}

/// Words that may have been heard are not given back: they would be said twice.
async fn report_unknown_outcome(desk: &LocalContext, why: &str) {
    let text = format!("whether your message was heard is not known: {why}");
    desk.send_notice(NoticeTone::Bad, text).await;
}

#[cfg(test)]
mod tests {
    use weir_store::MemoryStore;

    use super::*;

    #[tokio::test]
    async fn g4_who_left_a_letter_learns_whether_it_lay_there_still() {
        let store = MemoryStore::default();
        let id = SessionId::new("one");
        let now = SystemClock::default().now();
        let (by, command) = ("ann".into(), PersonCommand::Cancel);
        let sent = SentCommand { session: id.clone(), by, command };
        let number = leave_letter(&store, now, &sent).await.expect("there is room");
        for expected in [LetterFate::TakenBack, LetterFate::Refused] {
            let fate = take_letter_back(&store, &id, number, "m1", 0).await;
            assert_eq!(fate.expect("the store works"), expected);
        }
    }
}
