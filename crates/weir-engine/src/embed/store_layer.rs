//! A store in front of another: what it does not do itself, the one behind it does (F5). Not here:
//! any store.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use weir_core::ids::{BlobId, MemoryId, Seq, SessionId, Timestamp};
use weir_core::memory::{MemoryDecision, MemoryFact, MemoryOutcome, NewMemory};
use weir_core::recipe::{RecipeStanding, SolvedRun};
use weir_core::record::Record;
use weir_core::schedule::AgentRun;
use weir_core::session::SessionSnapshot;

use crate::ports::{
    AgentRunFilter, Append, AuditLine, FileMark, Lease, LeaseOwner, MemoryFilter, Passage,
    PlaceLimits, Proposal, RecallQuery, RemoteCommand, RunBeginOutcome, SearchHit, SessionFilter,
    SessionMeta, SignalEar, SignalLine, SignalParcel, SolvedFilter, Store, StoreError, StorePause,
    StoredItem, TickClaim, UsageFilter, UsageRow,
};

/// Makes the trait and the store of whoever implements it from one list of methods.
macro_rules! store_layer {
    (pub trait $layer:ident; $(async fn $name:ident(&self $(, $arg:ident: $type:ty)* $(,)?) $(-> $gives:ty)?;)*) => {
        /// A store in front of another. Whoever implements [`StoreLayer::inner`] is a [`Store`]; the
        /// methods that it writes itself come before those of the one behind, which it calls by
        /// `self.inner()`. The contract of [`Store`] holds for both together: an append that is not
        /// handed on did not happen.
        #[async_trait]
        pub trait $layer: Send + Sync {
            /// The store behind this one. Always the same.
            fn inner(&self) -> &dyn Store;
            $(
                #[doc = concat!("[`Store::", stringify!($name), "`] of the store behind.")]
                async fn $name(&self $(, $arg: $type)*) $(-> $gives)? {
                    self.inner().$name($($arg),*).await
                }
            )*
            /// [`Store::hear_signals`] of the store behind.
            fn hear_signals(&self, session: &SessionId) -> Option<Box<dyn SignalEar>> {
                self.inner().hear_signals(session)
            }
        }

        #[async_trait]
        impl<L: $layer> Store for L {
            $(
                async fn $name(&self $(, $arg: $type)*) $(-> $gives)? {
                    $layer::$name(self $(, $arg)*).await
                }
            )*
            fn hear_signals(&self, session: &SessionId) -> Option<Box<dyn SignalEar>> {
                $layer::hear_signals(self, session)
            }
        }
    };
}

store_layer! {
    pub trait StoreLayer;

    async fn acquire_lease(
        &self,
        session: &SessionId,
        owner: &LeaseOwner,
    ) -> Result<Lease, StoreError>;
    async fn release_lease(&self, lease: &Lease) -> Result<(), StoreError>;
    async fn check_not_held(
        &self,
        session: &SessionId,
        owner: &LeaseOwner,
    ) -> Result<(), StoreError>;
    async fn append(&self, append: Append) -> Result<(), StoreError>;
    async fn read_records(
        &self,
        session: &SessionId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError>;
    async fn session_meta(&self, session: &SessionId) -> Result<Option<SessionMeta>, StoreError>;
    async fn list_sessions(&self, filter: &SessionFilter) -> Result<Vec<SessionMeta>, StoreError>;
    async fn list_abandoned_sessions(&self) -> Result<Vec<SessionMeta>, StoreError>;
    async fn search_passages(
        &self,
        words: &str,
        limit: usize,
    ) -> Result<Vec<SearchHit>, StoreError>;
    async fn write_snapshot(&self, snapshot: &SessionSnapshot) -> Result<(), StoreError>;
    async fn read_snapshot(
        &self,
        session: &SessionId,
    ) -> Result<Option<SessionSnapshot>, StoreError>;
    async fn drop_snapshot(&self, session: &SessionId) -> Result<(), StoreError>;
    async fn write_look(&self, kind: &str, look: &SessionSnapshot) -> Result<(), StoreError>;
    async fn read_look(
        &self,
        session: &SessionId,
        kind: &str,
    ) -> Result<Option<SessionSnapshot>, StoreError>;
    async fn delete_session(&self, session: &SessionId) -> Result<(), StoreError>;
    async fn audit_lines(&self, from: u64, limit: usize) -> Result<Vec<AuditLine>, StoreError>;
    async fn read_blob(&self, id: &BlobId) -> Result<Arc<[u8]>, StoreError>;
    async fn pause_state(&self) -> Result<Option<StorePause>, StoreError>;
    async fn set_paused(&self, pause: Option<StorePause>) -> Result<(), StoreError>;
    async fn file_marks_in(&self, folders: &[String]) -> Result<Vec<FileMark>, StoreError>;
    async fn file_marks(&self, workspace: &str) -> Result<Vec<FileMark>, StoreError>;
    async fn unmark_file(&self, workspace: &str, path: &str) -> Result<bool, StoreError>;
    async fn post_remote_command(&self, letter: RemoteCommand) -> Result<u64, StoreError>;
    async fn waiting_remote_commands(
        &self,
        session: &SessionId,
    ) -> Result<Vec<RemoteCommand>, StoreError>;
    async fn discard_remote_command(&self, id: u64) -> Result<bool, StoreError>;
    async fn recall(&self, query: &RecallQuery) -> Result<Vec<Passage>, StoreError>;
    async fn remember_fact(
        &self,
        new: &NewMemory,
        now: Timestamp,
    ) -> Result<MemoryFact, StoreError>;
    async fn find_memories(&self, filter: &MemoryFilter) -> Result<Vec<MemoryFact>, StoreError>;
    async fn settle_memory(
        &self,
        id: &MemoryId,
        decision: &MemoryDecision,
        now: Timestamp,
    ) -> Result<MemoryOutcome, StoreError>;
    async fn propose(&self, proposal: &Proposal) -> Result<(), StoreError>;
    async fn proposals(&self, what: &str) -> Result<Vec<Proposal>, StoreError>;
    async fn withdraw_proposal(&self, what: &str, name: &str) -> Result<bool, StoreError>;
    async fn store_item(&self, kept: &StoredItem) -> Result<StoredItem, StoreError>;
    async fn replace_stored_item(
        &self,
        kept: &StoredItem,
        version: u32,
    ) -> Result<Option<StoredItem>, StoreError>;
    async fn stored_item(&self, what: &str, name: &str) -> Result<Option<StoredItem>, StoreError>;
    async fn stored_items(&self, what: &str) -> Result<Vec<StoredItem>, StoreError>;
    async fn remove_stored_item(&self, what: &str, name: &str) -> Result<bool, StoreError>;
    async fn recipe_counts(&self) -> Result<BTreeMap<String, RecipeStanding>, StoreError>;
    async fn settle_recipe(&self, recipe: &str) -> Result<(), StoreError>;
    async fn solved_runs(&self, filter: &SolvedFilter) -> Result<Vec<SolvedRun>, StoreError>;
    async fn claim_ticks(
        &self,
        runs: &[AgentRun],
        holder: Option<&LeaseOwner>,
    ) -> Result<Vec<TickClaim>, StoreError>;
    async fn begin_agent_run(
        &self,
        run: &AgentRun,
        holder: &LeaseOwner,
        places: &PlaceLimits,
    ) -> Result<RunBeginOutcome, StoreError>;
    async fn note_agent_run(&self, run: &AgentRun, holder: &LeaseOwner) -> Result<bool, StoreError>;
    async fn take_agent_runs(&self, holder: &LeaseOwner) -> Result<Vec<AgentRun>, StoreError>;
    async fn agent_runs(&self, filter: &AgentRunFilter) -> Result<Vec<AgentRun>, StoreError>;
    async fn agent_ticks(&self) -> Result<BTreeMap<String, Timestamp>, StoreError>;
    async fn agents_changed(&self);
    async fn mail_changed(&self);
    async fn pause_changed(&self);
    async fn facts_changed(&self, session: &SessionId, seen: Seq);
    async fn journals_changed(&self);
    async fn open_asks(&self) -> Result<Vec<Record>, StoreError>;
    async fn ask_facts(&self, session: &SessionId) -> Result<Vec<Record>, StoreError>;
    async fn ended_runs(&self, since: Timestamp) -> Result<Vec<Record>, StoreError>;
    async fn signal_lines(&self, session: &SessionId, known: &[SignalLine]) -> Vec<SignalLine>;
    async fn send_signal(
        &self,
        session: &SessionId,
        parcel: &SignalParcel,
    ) -> Result<(), StoreError>;
    async fn usage_rows(&self, filter: &UsageFilter) -> Result<Vec<UsageRow>, StoreError>;
}
