//! Writing into the journal of a session that does not run: what a person does beside the loop
//! (`weir undo`). The session is folded, the lease held, and facts go the same way as the loop's.
//!
//! Nothing that the session owes is done here.

use std::sync::Arc;

use weir_core::ids::{SessionId, Timestamp};
use weir_core::input::{SessionCommand, SessionInput};
use weir_core::session::Session;

use crate::engine::{EngineError, Loaded, load};
use crate::ledger::{FactBatch, JournalWriter};
use crate::ports::{FileMark, Lease, LeaseOwner, Store};

/// A session that nobody runs, held so that nobody does meanwhile. Give it back with
/// [`SessionPen::give_back`]; a program that ends without doing so loses it.
pub struct SessionPen {
    store: Arc<dyn Store>,
    lease: Lease,
    session: Session,
    ledger: JournalWriter,
}

impl SessionPen {
    /// Takes the lease of `id` and folds its journal. `principal` stands in audit lines.
    ///
    /// # Errors
    /// Another process runs it (named in the error), there is no such session, or it cannot be
    /// read.
    pub async fn take_session(
        store: Arc<dyn Store>,
        owner: &LeaseOwner,
        principal: &str,
        id: &SessionId,
    ) -> Result<SessionPen, EngineError> {
        let lease = store.acquire_lease(id, owner).await?;
        let loaded = match load(store.as_ref(), id).await {
            Ok(loaded) => loaded,
            Err(error) => {
                store.release_lease(&lease).await?;
                return Err(error);
            }
        };
        let Loaded { session, last, created, parent, .. } = loaded;
        let mut ledger = JournalWriter::new(lease.clone(), principal.to_owned(), last.as_ref());
        ledger.set_origin(created, parent);
        Ok(SessionPen { store, lease, session, ledger })
    }

    /// The fold of its journal.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Writes the fact of `command`; durable when it returns. What follows from it follows from
    /// state, and is left to whoever runs the session next: a call that was approved here has not
    /// started.
    ///
    /// # Errors
    /// The command means nothing in this state, or the store refuses: then nothing was written,
    /// and this pen must not be used again.
    pub async fn record_command(
        &mut self,
        now: Timestamp,
        command: SessionCommand,
    ) -> Result<(), EngineError> {
        let batch = self.batch_of_command(now, command)?;
        batch.write_to_store(self.store.as_ref()).await.0?;
        self.ledger.confirm_batch();
        Ok(())
    }

    /// The fact of a command, to be written. Beside the async function, which is compiled anew by each crate
    /// that awaits it (Q23).
    fn batch_of_command(
        &mut self,
        now: Timestamp,
        command: SessionCommand,
    ) -> Result<FactBatch, EngineError> {
        let now = now.max(self.session.last_fact_time());
        let facts = self.session.clone().handle(now, SessionInput::Command(command));
        let Some(fact) = facts.into_iter().next() else {
            return Err(EngineError::Refused("there is nothing open that this answers".into()));
        };
        self.session.apply(now, &fact);
        self.ledger.push(&self.session, now, vec![fact]);
        Ok(self.ledger.take_batch(&self.session, Vec::new()))
    }

    /// Marks files as foreign that this session's own calls did not write (Z1); durable when it returns, so
    /// that they are marked before they are there.
    ///
    /// # Errors
    /// The store refuses: then nothing was written, and this pen must not be used again.
    pub async fn write_marks(&mut self, marks: Vec<FileMark>) -> Result<(), EngineError> {
        if marks.is_empty() {
            return Ok(());
        }
        self.ledger.carry_marks(marks);
        let batch = self.ledger.take_batch(&self.session, Vec::new());
        batch.write_to_store(self.store.as_ref()).await.0?;
        self.ledger.confirm_batch();
        Ok(())
    }

    /// Lets others have the session again.
    ///
    /// # Errors
    /// The store refuses.
    pub async fn give_back(self) -> Result<(), EngineError> {
        Ok(self.store.release_lease(&self.lease).await?)
    }
}
