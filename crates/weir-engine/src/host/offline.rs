//! A command written into the journal of a session that nobody runs. What follows from it is done by
//! whoever runs the session next. Not here: the pen itself (`crate::pen`).

use futures::future::BoxFuture;
use weir_core::input::{PersonCommand, PersonMessage, SessionCommand};
use weir_core::message::MessageBlock;
use weir_core::session::Session;

use super::{HostParts, SentCommand};
use crate::engine::EngineError;
use crate::pen::SessionPen;

/// Writes it; the session is held meanwhile.
///
/// # Errors
/// Somebody has the session, the command means nothing in it, or the store refuses.
pub(super) fn write_command<'a>(
    parts: &'a HostParts,
    sent: &'a SentCommand,
) -> BoxFuture<'a, Result<(), EngineError>> {
    Box::pin(async move {
        let HostParts { store, owner, principal, .. } = parts;
        let (store, session) = (store.clone(), &sent.session);
        let mut pen = SessionPen::take_session(store, owner, principal, session).await?;
        let written = record_command(parts, sent, &mut pen).await;
        pen.give_back().await?;
        written
    })
}

async fn record_command(
    parts: &HostParts,
    sent: &SentCommand,
    pen: &mut SessionPen,
) -> Result<(), EngineError> {
    if matches!(sent.command, PersonCommand::Yield) {
        // It is held here and by nobody else: it was given back.
        return Ok(());
    }
    let now = || parts.clock.now();
    if pen.session().run().is_some() {
        // It was interrupted: that comes before what the person does now.
        let engine = parts.version.clone();
        pen.record_command(now(), SessionCommand::Resume { engine }).await?;
    }
    let command = in_words(pen.session(), sent.command.clone())?;
    pen.record_command(now(), command.sent_by(sent.by.clone())).await
}

/// The command as a session without a loop takes it. A question that outlived its run is answered by
/// an input, which begins the next.
fn in_words(session: &Session, command: PersonCommand) -> Result<PersonCommand, EngineError> {
    match command {
        PersonCommand::Reply { question, answer } if session.run().is_none() => {
            let open = session.open_question().map(|(open, _)| open);
            if open != Some(&question) || !session.queued_inputs().is_empty() {
                return Err(EngineError::Refused("it was answered".into()));
            }
            let content = vec![MessageBlock::text(answer)];
            Ok(PersonMessage { content, ..PersonMessage::default() }.into())
        }
        command => Ok(command),
    }
}
