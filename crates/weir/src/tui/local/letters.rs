//! What goes to a session that another process has: letters in the store, which that process reads.

use std::sync::Arc;
use std::time::Duration;

use weir_core::event::{CancelCause, Decision, Event};
use weir_core::ids::{Seq, SessionId};
use weir_core::input::Command;
use weir_engine::engine::EngineError;
use weir_engine::ledger::fact_of;
use weir_engine::ports::{Clock as _, Letter, Mail, Store};
use weir_install::wiring::{self, SystemClock};
use weir_tui::link::{News, Tone, Wish};

use super::PERSON;
use super::desk::Desk;
use super::keeper::{Away, Keeper};
use super::room::Live;

/// How long the process that has a session may take over a letter.
const LETTER_WAIT: Duration = Duration::from_secs(30);
/// How long somebody who read a letter may take until what it says is in the journal, once they
/// found it lying there still.
const HEARD_WAIT: Duration = Duration::from_secs(2);
/// Facts read at once.
const READ_BATCH: usize = 512;

/// The command that `wish` is for a session that runs here.
pub(super) fn command(wish: Wish) -> Option<Command> {
    Some(match wish {
        Wish::Cancel => Command::Cancel { cause: CancelCause::Cancelled, by: PERSON.into() },
        Wish::Withdraw(input) => Command::Withdraw { input },
        Wish::Decide { approval, decision, reason } => {
            Command::Decide { approval, decision, by: PERSON.into(), reason, terms: None }
        }
        Wish::Reply { question, answer } => Command::Reply { question, answer, by: PERSON.into() },
        _ => return None,
    })
}

fn letter(wish: Wish) -> Option<Letter> {
    Some(match wish {
        Wish::Cancel => Letter::Cancel,
        Wish::Withdraw(input) => Letter::Withdraw { input },
        Wish::Decide { approval, decision, reason } => {
            Letter::Decide { approval, decision, reason, terms: None }
        }
        Wish::Reply { question, answer } => Letter::Reply { question, answer },
        _ => return None,
    })
}

/// Ends or answers something in a session that runs here. `false`: it went down meanwhile.
pub(super) async fn pass(desk: &Arc<Desk>, live: &Live, wish: Wish) -> bool {
    if let Wish::Decide { approval, decision: Decision::Always, .. } = &wish {
        desk.room().answered(approval.clone());
    }
    let late = match &wish {
        Wish::Withdraw(_) => Some("it was given to the model already"),
        // Somebody else was quicker, and their answer is on its way; a run ended by itself.
        _ => None,
    };
    let Some(command) = command(wish) else { return true };
    match live.handle.command(command).await {
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
    pub(super) async fn pass_on(&mut self, wish: Wish) {
        let room = self.desk.room();
        let Some(id) = room.id.clone() else { return };
        if let Err(why) = room.until_known().await {
            return self.desk.notice(Tone::Bad, why).await;
        }
        if !room.course().gets_on() {
            // It rests: nothing of this is open.
            return;
        }
        match self.take_up(None).await {
            Ok(live) => {
                pass(&self.desk, &live, wish).await;
            }
            Err(Away::Failed(why)) => self.desk.notice(Tone::Bad, why).await,
            Err(Away::Held(_)) => {
                let Some(letter) = letter(wish) else { return };
                if let Err(why) = post(&self.desk, &id, letter).await {
                    self.desk.notice(Tone::Bad, why).await;
                }
            }
        }
    }
}

/// Leaves a letter. Gives its number.
async fn post(desk: &Arc<Desk>, id: &SessionId, letter: Letter) -> Result<u64, String> {
    let cx = desk.room().cx.clone();
    let store = cx.store().map_err(|error| format!("{error:#}"))?;
    let by = match letter {
        Letter::Say(_) => wiring::principal(&cx),
        _ => PERSON.into(),
    };
    let ts = SystemClock::default().now();
    let mail = Mail { id: 0, session: id.clone(), by, ts, letter };
    store.post(mail).await.map_err(|error| error.to_string())
}

/// Says something by letter. What comes of it is waited for elsewhere: it may take its time.
pub(super) async fn say(
    desk: &Arc<Desk>,
    letter: Letter,
    client_id: &str,
    holder: String,
) -> Result<(), String> {
    let room = desk.room();
    let Some(id) = room.id.clone() else { return Err("there is no session yet".into()) };
    // It cannot stand in the journal before this.
    let since = room.course().facts;
    let number = post(desk, &id, letter).await?;
    room.posted(client_id);
    let (desk, client_id) = (desk.clone(), client_id.to_owned());
    tokio::spawn(async move {
        let heard = room.until(|course| course.has(&client_id));
        if tokio::time::timeout(LETTER_WAIT, heard).await.is_ok() {
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
        let why = match taken_back(store.as_ref(), (&id, number), &client_id, since).await {
            Ok(Fate::Heard) => return,
            Ok(Fate::TakenBack) => format!("{holder} did not take it; it was taken back"),
            Ok(Fate::Refused) => format!("{holder} read it and did not accept it"),
            Err(why) => return unknown(&desk, &why).await,
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

/// What became of a letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// What it says is in the journal.
    Heard,
    /// It was read, and what it says was not accepted.
    Refused,
    /// It was taken back before anybody acted on it.
    TakenBack,
}

/// Takes a letter back that says something as `client_id`, or finds out what became of it.
async fn taken_back(
    store: &dyn Store,
    (id, number): (&SessionId, u64),
    client_id: &str,
    since: Seq,
) -> Result<Fate, String> {
    let lay_there = store.discard(number).await.map_err(|error| error.to_string())?;
    if lay_there {
        // Whoever has it looks once more whether it lies there before they say it: who did so just
        // before this has it in the journal soon.
        tokio::time::sleep(HEARD_WAIT).await;
    }
    // What was heard is durable before its letter goes.
    let is_heard = was_heard(store, id, client_id, since).await?;
    Ok(match (is_heard, lay_there) {
        (true, _) => Fate::Heard,
        (false, true) => Fate::TakenBack,
        (false, false) => Fate::Refused,
    })
}

/// Whether the journal has an input of this name after `since`.
pub(super) async fn was_heard(
    store: &dyn Store,
    id: &SessionId,
    client_id: &str,
    since: Seq,
) -> Result<bool, String> {
    let mut from = since + 1;
    loop {
        let records = store.read(id, from, READ_BATCH).await.map_err(|e| e.to_string())?;
        for record in &records {
            let fact = fact_of(record).map_err(|error| error.to_string())?;
            if let Event::InputAccepted(input) = fact.event.as_ref()
                && input.client_id.as_deref() == Some(client_id)
            {
                return Ok(true);
            }
        }
        if records.len() < READ_BATCH {
            return Ok(false);
        }
        from += records.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use weir_store::MemoryStore;

    use super::*;

    #[tokio::test]
    async fn g4_who_left_a_letter_learns_whether_it_lay_there_still() {
        let store = MemoryStore::default();
        let id = SessionId::new("one");
        let ts = SystemClock::default().now();
        let mail =
            Mail { id: 0, session: id.clone(), by: "ann".into(), ts, letter: Letter::Cancel };
        let number = store.post(mail).await.expect("there is room");
        for expected in [Fate::TakenBack, Fate::Refused] {
            let fate = taken_back(&store, (&id, number), "m1", 0).await;
            assert_eq!(fate, Ok(expected));
        }
    }
}
