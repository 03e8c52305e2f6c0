//! How an answer reaches its session: as a letter, while another program runs it; straight into
//! the journal, while nobody does. Either way it counts once it is durable, and the first counts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_core::input::Command;
use weir_core::message::Block;
use weir_engine::engine::EngineError;
use weir_engine::pen::SessionPen;
use weir_engine::ports::{Letter, Mail, Store, StoreError};
use weir_install::cx::Cx;
use weir_install::wiring;
use weir_store::{SqliteStore, this_process};

use super::{Folded, now};
use crate::failure::engine_failure;

/// How long the program that runs the session has to act on a letter.
const WAIT_MAX: Duration = Duration::from_secs(10);
/// How often the journal is looked at meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What came of it.
pub(super) enum Delivered {
    /// What the letter is about is settled, by it or by another.
    Settled {
        /// It was written here: nobody runs the session.
        at_rest: bool,
    },
    /// The program that has the session (named) has not acted on it; the letter waits.
    Waits(String),
}

/// Something to be told to a session.
pub(super) struct Delivery<'a> {
    cx: &'a Cx,
    store: Arc<SqliteStore>,
    letter: Letter,
    by: String,
}

impl Delivery<'_> {
    pub(super) fn new(cx: &Cx, letter: Letter) -> anyhow::Result<Delivery<'_>> {
        // The process tells two answers of one person apart: one of them was the first.
        let by = format!("{} (process {})", wiring::principal(cx), std::process::id());
        Ok(Delivery { cx, store: cx.store()?, letter, by })
    }

    /// Who stands in the journal as the one who answered.
    pub(super) fn by(&self) -> &str {
        &self.by
    }

    /// Tells the session of `folded`, which goes forward until `settled`.
    pub(super) async fn deliver(
        &self,
        folded: &mut Folded,
        settled: impl Fn(&Folded) -> bool,
    ) -> anyhow::Result<Delivered> {
        let id = folded.session.id().clone();
        let until = Instant::now() + WAIT_MAX;
        let mut posted = None;
        loop {
            let holder = self.store.holder(&id).await?;
            folded.catch_up(self.store.as_ref()).await?;
            if settled(folded) {
                return Ok(Delivered::Settled { at_rest: false });
            }
            match holder {
                Some(_) if posted.is_none() => posted = Some(self.post(folded).await?),
                Some(holder) if Instant::now() >= until => return Ok(Delivered::Waits(holder)),
                Some(_) => tokio::time::sleep(LOOK_EVERY).await,
                None => {
                    // Who should have read the letter has gone.
                    if let Some(letter) = posted.take() {
                        self.store.discard(letter).await?;
                    }
                    if self.write(folded).await? {
                        folded.catch_up(self.store.as_ref()).await?;
                        return Ok(Delivered::Settled { at_rest: true });
                    }
                    tokio::time::sleep(LOOK_EVERY).await;
                }
            }
        }
    }

    async fn post(&self, folded: &Folded) -> anyhow::Result<u64> {
        let mail = Mail {
            id: 0,
            session: folded.session.id().clone(),
            by: self.by.clone(),
            ts: now(),
            letter: self.letter.clone(),
        };
        Ok(self.store.post(mail).await?)
    }

    /// Writes it into the journal, held meanwhile. `false`: somebody took the session first.
    async fn write(&self, folded: &Folded) -> anyhow::Result<bool> {
        let store: Arc<dyn Store> = self.store.clone();
        let principal = wiring::principal(self.cx);
        let owner = this_process("weir approvals");
        let mut pen = match SessionPen::take(store, &owner, &principal, folded.session.id()).await {
            Ok(pen) => pen,
            Err(EngineError::Store(StoreError::Held { .. })) => return Ok(false),
            Err(error) => return Err(engine_failure(error)),
        };
        let written = self.record(&mut pen).await;
        pen.give_back().await.map_err(engine_failure)?;
        match written {
            // Settled meanwhile: the journal says by whom.
            Ok(()) | Err(EngineError::Refused(_)) => Ok(true),
            Err(error) => Err(engine_failure(error)),
        }
    }

    async fn record(&self, pen: &mut SessionPen) -> Result<(), EngineError> {
        let runs = pen.session().run().is_some();
        if runs {
            // It was interrupted: that comes before what the person does now.
            let engine = env!("CARGO_PKG_VERSION").to_owned();
            pen.record(now(), Command::Resume { engine }).await?;
        }
        let by = self.by.clone();
        let command = match self.letter.clone() {
            Letter::Decide { approval, decision, reason, terms } => {
                Command::Decide { approval, decision, by, reason, terms }
            }
            Letter::Reply { question, answer } if runs => Command::Reply { question, answer, by },
            // The run has ended over its question: an input answers it and begins the next.
            Letter::Reply { question, answer } => {
                let open = pen.session().open_question().map(|(open, _)| open);
                if open != Some(&question) || !pen.session().queued().is_empty() {
                    return Err(EngineError::Refused("it was answered".into()));
                }
                let (content, added) = (vec![Block::text(answer)], Vec::new());
                Command::Say { content, by, added, client_id: None }
            }
            Letter::Revoke { lease } => Command::Revoke { lease, by },
            Letter::Say(_) | Letter::Withdraw { .. } | Letter::Yield => {
                unreachable!("answers are delivered here, and nothing else")
            }
            Letter::Cancel => {
                Command::Cancel { cause: weir_core::event::CancelCause::Cancelled, by }
            }
        };
        pen.record(now(), command).await
    }
}
