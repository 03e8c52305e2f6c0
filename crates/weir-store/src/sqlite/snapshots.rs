//! The fold of a session in SQLite: written and taken away by the thread that writes. What one said
//! before shall not be readable in free pages: a session that is deleted later is deleted whole.

use futures::executor::block_on;
use weir_core::ids::SessionId;
use weir_core::record::SessionSnapshot;

use super::writer::{ReplySender, WriterThread};
use crate::tables::snapshots::{drop_snapshot, keep_look, keep_snapshot};

/// What the thread is asked to do with folds.
pub(super) enum SnapshotCommand {
    Keep(Box<SessionSnapshot>, ReplySender<()>),
    /// Of this kind.
    KeepLook(String, Box<SessionSnapshot>, ReplySender<()>),
    Drop(SessionId, ReplySender<()>),
}

impl WriterThread {
    pub(super) fn serve_snapshots(&mut self, command: SnapshotCommand) {
        // Either frees pages.
        let (done, answer) = self.overwriting(|me| match command {
            SnapshotCommand::Keep(snapshot, answer) => {
                me.unchecked_bytes += snapshot.state.len();
                (block_on(keep_snapshot(&mut me.connection, &snapshot)), answer)
            }
            SnapshotCommand::KeepLook(kind, look, answer) => {
                me.unchecked_bytes += look.state.len();
                (block_on(keep_look(&mut me.connection, &kind, &look)), answer)
            }
            SnapshotCommand::Drop(session, answer) => {
                (block_on(drop_snapshot(&mut me.connection, &session)), answer)
            }
        });
        let _ = answer.send(done);
    }
}
