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
use weir_tui::link::{News, Tone};

use super::PERSON;
use super::desk::Desk;
use super::keeper::{Away, Keeper};
use super::room::Live;

/// Ends or answers something in a session that runs here. `false`: it went down meanwhile.
pub(super) async fn pass(desk: &Arc<Desk>, live: &Live, command: PersonCommand) -> bool {
    if let PersonCommand::Decide(answer) = &command
        && answer.decision == Decision::Always
    {
        desk.room().answered(answer.approval.clone());
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
                desk.notice(Tone::Quiet, text).await;
            }
        }
        Err(error) => desk.notice(Tone::Bad, error.to_string()).await,
    }
    true
}

impl Keeper {
    /// Ends or answers something in a session that does not run here: takes it up, or leaves a
    /// letter for who has it.
    pub(super) async fn pass_on(&mut self, command: PersonCommand) {
        let room = self.desk.room();
        let Some(id) = room.id.clone() else { return };
        if let Err(why) = room.until_known().await {
            return self.desk.notice(Tone::Bad, why).await;
        }
        if room.read_state(SessionState::is_at_rest) {
            // It rests: nothing of this is open.
            return;
        }
        match self.take_up(None).await {
            Ok(live) => {
                pass(&self.desk, &live, command).await;
            }
            Err(Away::Failed(why)) => self.desk.notice(Tone::Bad, why).await,
            Err(Away::Held(_)) => {
                if let Err(why) = post(&self.desk, &id, command).await {
                    self.desk.notice(Tone::Bad, why).await;
                }
            }
        }
    }
}

/// Leaves a letter. Gives its number.
async fn post(desk: &Arc<Desk>, id: &SessionId, command: PersonCommand) -> Result<u64, String> {
    let cx = desk.room().cx.clone();
    let store = cx.store().map_err(|error| format!("{error:#}"))?;
    let by = match command {
        PersonCommand::Say(_) => wiring::principal(&cx),
        _ => PERSON.into(),
    };
    let now = SystemClock::default().now();
    let sent = SentCommand { session: id.clone(), by, command };
    let posted = leave_letter(store.as_ref(), now, &sent).await;
    posted.map_err(|error| error.to_string())
}

/// Says something by letter. What comes of it is waited for elsewhere: it may take its time.
pub(super) async fn say(
    desk: &Arc<Desk>,
    command: PersonCommand,
    client_id: &str,
    holder: String,
) -> Result<(), String> {
    let room = desk.room();
    let Some(id) = room.id.clone() else { return Err("there is no session yet".into()) };
    // It cannot stand in the journal before this.
    let since = room.read_state(|state| state.facts);
    let number = post(desk, &id, command).await?;
    room.posted(client_id);
    let (desk, client_id) = (desk.clone(), client_id.to_owned());
    tokio::spawn(async move {
        let heard = room.until(|state| state.sent.contains_key(&client_id));
        if tokio::time::timeout(REMOTE_WAIT, heard).await.is_ok() {
            return;
        }
        if desk.room().id.as_ref() != Some(&id) {
            // Its words belong to that session: whoever runs it next reads them.
            return;
        }
        let store = match room.cx.store() {
            Ok(store) => store,
            Err(error) => return unknown(&desk, &format!("{error:#}")).await,
        };
        let store = store.as_ref();
        let why = match take_letter_back(store, &id, number, &client_id, since).await {
            Ok(LetterFate::Heard) => return,
            Ok(LetterFate::TakenBack) => format!("{holder} did not take it; it was taken back"),
            Ok(LetterFate::Refused) => format!("{holder} read it and did not accept it"),
            Err(error) => return unknown(&desk, &error.to_string()).await,
        };
        room.unposted(&client_id);
        desk.tell(News::Refused { client_id, why }).await;
    });
    Ok(())
}

/// Words that may have been heard are not given back: they would be said twice.
async fn unknown(desk: &Desk, why: &str) {
    let text = format!("whether your message was heard is not known: {why}");
    desk.notice(Tone::Bad, text).await;
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
