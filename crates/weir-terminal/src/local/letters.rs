//! What is said to a session that another process has: a letter in the store, which that process reads.
//! The face is never kept waiting: what came of a letter is found out beside it. How letters are left
//! and taken back is the engine's host's to know.
//!
//! Not by `SessionHost::tell_session`, which leaves a letter that nobody read in time where it is: here
//! it is taken back, and the person gets their words again. Not here: what ends or answers something
//! (`steering`).

use std::sync::Arc;

use weir_core::ids::SessionId;
use weir_core::input::PersonCommand;
use weir_engine::host::{LetterFate, REMOTE_WAIT, SentCommand, leave_letter, take_letter_back};
use weir_engine::ports::Clock as _;
use weir_install::wiring::{self, SystemClock};
use weir_tui::link::{NoticeTone, UiUpdate};

use super::context::LocalContext;

/// Leaves a letter with what is said. Gives its number.
async fn leave_message_letter(
    context: &Arc<LocalContext>,
    id: &SessionId,
    command: PersonCommand,
) -> Result<u64, String> {
    let cx = context.shown_session().cx.clone();
    let store = cx.local_store().map_err(|error| format!("{error:#}"))?;
    let by = wiring::principal_name(&cx);
    let now = SystemClock::default().now();
    let sent = SentCommand { session: id.clone(), by, command };
    let posted = leave_letter(store.as_ref(), now, &sent).await;
    posted.map_err(|error| error.to_string())
}

/// Says something by letter. What comes of it is waited for elsewhere: it may take its time.
pub(super) async fn say_remotely(
    context: &Arc<LocalContext>,
    command: PersonCommand,
    client_id: &str,
    holder: String,
) -> Result<(), String> {
    let shown = context.shown_session();
    let Some(id) = shown.id.clone() else { return Err("there is no session yet".into()) };
    // It cannot stand in the journal before this.
    let since = shown.read_state(|state| state.facts);
    let number = leave_message_letter(context, &id, command).await?;
    shown.note_posted_message(client_id);
    let (context, client_id) = (context.clone(), client_id.to_owned());
    tokio::spawn(async move {
        let heard = shown.wait_until(|state| state.sent.find_input(&client_id).is_some());
        if tokio::time::timeout(REMOTE_WAIT, heard).await.is_ok() {
            return;
        }
        if context.shown_session().id.as_ref() != Some(&id) {
            // Its words belong to that session: whoever runs it next reads them.
            return;
        }
        let store = match shown.cx.local_store() {
            Ok(store) => store,
            Err(error) => return report_unknown_outcome(&context, &format!("{error:#}")).await,
        };
        let store = store.as_ref();
        let why = match take_letter_back(store, &id, number, &client_id, since).await {
            Ok(LetterFate::Heard) => return,
            Ok(LetterFate::TakenBack) => format!("{holder} did not take it; it was taken back"),
            Ok(LetterFate::Refused) => format!("{holder} read it and did not accept it"),
            Err(error) => return report_unknown_outcome(&context, &error.to_string()).await,
        };
        shown.forget_posted_message(&client_id);
        context.send_update(UiUpdate::Refused { client_id, why }).await;
    });
    Ok(())
}

/// Words that may have been heard are not given back: they would be said twice.
async fn report_unknown_outcome(context: &LocalContext, why: &str) {
    let text = format!("whether your message was heard is not known: {why}");
    context.send_notice(NoticeTone::Bad, text).await;
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
