//! The store: the journal and everything kept beside it. Not here: what a fact means.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use weir_core::governance::label::Label;
use weir_core::ids::{BlobId, CallId, MemoryId, Seq, SessionId, Timestamp};
use weir_core::memory::{
    MemoryDecision, MemoryFact, MemoryOutcome, MemorySource, MemoryStatus, NewMemory,
};
use weir_core::recipe::{RecipeStanding, RecipeUse, SolvedRun};
use weir_core::record::Record;
use weir_core::schedule::AgentRun;
use weir_core::session::SessionSnapshot;

use super::{
    ASK_KINDS, AgentRunFilter, AskChanges, Passage, PlaceLimits, RecallQuery, RemoteCommand,
    RunBeginOutcome, SignalEar, SignalLine, SignalParcel, TickClaim, UsageFilter, UsageNote,
    UsageRow,
};

/// A store failed. `retry` is never implied: whatever was not confirmed did not happen.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// Another writer has the session now: this one must stop.
    #[error("session {session} is being written by {holder}")]
    Held {
        /// Id of the session.
        session: SessionId,
        /// The holder of the session, in words: `process 4711 on host (weir run)`.
        holder: String,
    },
    /// The journal is not where the caller thought: someone else appended.
    #[error("journal of {session} is at {found}, not at {expected}")]
    Conflict {
        /// Id of the session.
        session: SessionId,
        /// Where the caller thought it was.
        expected: Seq,
        /// Length of the journal, in facts.
        found: Seq,
    },
    /// No such session, blob or checkpoint.
    #[error("{what} does not exist in this store")]
    Missing {
        /// The session, blob or checkpoint that was looked for.
        what: String,
    },
    /// Stored data does not hold together.
    #[error("{what} is damaged: {why}")]
    Damaged {
        /// What was damaged, as the beginning of the sentence that the error says.
        what: String,
        /// The reason, as the end of the sentence that the error says.
        why: String,
    },
    /// The disk or database said no: full, read-only, gone.
    #[error("{doing}: {why}")]
    Io {
        /// The operation, as the beginning of the sentence that the error says.
        doing: String,
        /// Why it failed.
        why: String,
    },
}

/// What a refusal for want of room on the disk says to do.
pub const NO_SPACE: &str = "free some space";

impl StoreError {
    /// Whether there is no room on the disk.
    pub fn is_full(&self) -> bool {
        let full = |why: &str| why.contains(NO_SPACE) || why.contains("No space left on device");
        matches!(self, StoreError::Io { why, .. } if full(why))
    }
}

/// The right to write one session's journal: one writer at a time (D2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Id of the session.
    pub session: SessionId,
    /// Grows with each new writer; an append with an old epoch fails.
    pub epoch: u64,
}

/// The process that asks for a lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseOwner {
    /// Process id.
    pub pid: u32,
    /// When that process started, in clock ticks since boot: pids are used again.
    pub started: u64,
    /// Boot id of the machine (leases of an earlier boot are void).
    pub host: String,
    /// The name of the program, for people: `weir run`.
    pub label: String,
}

/// What a list of sessions shows; written with the facts it summarises.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionMeta {
    /// Id of the session.
    pub id: SessionId,
    /// Absolute path of the workspace.
    pub workspace: String,
    /// First words of its first input.
    pub title: String,
    /// Model of the session, as `provider/name`.
    pub model: String,
    /// Name of the profile.
    pub profile: String,
    /// `idle`, `running`, `waiting`, or the status of its last run.
    pub status: String,
    /// When it was opened.
    pub created: Timestamp,
    /// When the last fact was written.
    pub updated: Timestamp,
    /// How many facts.
    pub facts: Seq,
    /// The session it was forked from.
    pub parent: Option<SessionId>,
}

/// One decision or effect, as the auditor reads it (G10). The store adds number and hash chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// When the fact was recorded, in microseconds since 1970 (UTC).
    pub ts: Timestamp,
    /// Id of the session.
    pub session: SessionId,
    /// The fact in that session's journal that this line shows.
    pub seq: Seq,
    /// Everything else: one JSON object, secrets out, long texts as length and hash.
    pub fields: Value,
}

/// One stored audit line with its place in the chain of the whole store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditLine {
    /// Place: 1, 2, 3, …
    pub n: u64,
    /// The entry.
    pub entry: AuditEntry,
    /// Hash of this line over the line before.
    pub hash: String,
}

/// Facts and what must become durable with them: one transaction, all or none.
#[derive(Debug, Clone)]
pub struct Append {
    /// Right to write.
    pub lease: Lease,
    /// Number of facts the journal has before this.
    pub expected: Seq,
    /// The facts, gapless from `expected + 1`.
    pub records: Vec<Record>,
    /// Text of these facts to be found by `search` and `recall`; one fact may have several.
    pub texts: Vec<IndexedText>,
    /// Bytes that the facts mention.
    pub blobs: Vec<(BlobId, Arc<[u8]>)>,
    /// Lines for the auditor.
    pub audit: Vec<AuditEntry>,
    /// Files that are marked as foreign from now on.
    pub marks: Vec<FileMark>,
    /// What finished runs made of recipes, and when: counted once, with the fact that says so (M5).
    pub recipe_use: Vec<(RecipeUse, Timestamp)>,
    /// Finished runs from which recipes may be made (M5).
    pub solved: Vec<SolvedRun>,
    /// What these facts say was used: counted once, with them.
    pub usage: Vec<UsageNote>,
    /// What they change about what waits for a person.
    pub asks: AskChanges,
    /// The session's new summary.
    pub meta: SessionMeta,
}

impl Append {
    /// Facts alone: what else becomes durable with them is named by whoever has it.
    pub fn of_records(
        lease: Lease,
        expected: Seq,
        records: Vec<Record>,
        meta: SessionMeta,
    ) -> Append {
        Append {
            lease,
            expected,
            records,
            texts: Vec::new(),
            blobs: Vec::new(),
            audit: Vec::new(),
            marks: Vec::new(),
            recipe_use: Vec::new(),
            solved: Vec::new(),
            usage: Vec::new(),
            asks: AskChanges::default(),
            meta,
        }
    }
}

/// Text of a fact that can be found again (X4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedText {
    /// Place of the fact in the journal.
    pub seq: Seq,
    /// The call that it belongs to.
    pub call: Option<CallId>,
    /// Tool and paths that it is about; empty: none.
    pub subject: String,
    /// The text, or a part of it.
    pub text: String,
}

/// Something that an agent wrote and a person has to accept before it counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    /// The kind of the thing: `skill`.
    pub what: String,
    /// Its name; a new proposal of one name takes the place of the old.
    pub name: String,
    /// Its whole text; empty: it is to be removed.
    pub text: String,
    /// The author of the proposal, with session and call.
    pub source: MemorySource,
    /// Whose words it was made from.
    pub label: Label,
    /// When it was proposed, in microseconds since 1970 (UTC).
    pub ts: Timestamp,
}

/// Something that was made or accepted once and counts from then on: a recipe, a dynamic tool, a
/// schedule, the pin of a foreign server or plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredItem {
    /// The kind of the thing: `recipe`, `tool`, `agent`, `mcp`, `plugin`, `brain`.
    pub what: String,
    /// Its name: one of each kind.
    pub name: String,
    /// The whole of it, as JSON.
    pub text: String,
    /// Whether it counts, in its kind's own word: `active`, `paused`, `disabled`.
    pub state: String,
    /// SHA-256 of what a person saw when they accepted it, in hex; empty: nobody had to.
    pub hash: String,
    /// 1, 2, 3, … for each new text under this name.
    pub version: u32,
    /// Whose words it was made from.
    pub label: Label,
    /// Name of the person who made or accepted it.
    pub by: String,
    /// When it was made or accepted, in microseconds since 1970 (UTC).
    pub ts: Timestamp,
}

/// A filter of remembered facts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MemoryFilter {
    /// Words of which at least one must stand in text or topics; empty: any.
    pub words: String,
    /// Only these states; empty: all.
    pub statuses: Vec<MemoryStatus>,
    /// Only facts about this workspace and about every one; `None`: all.
    pub workspace: Option<String>,
    /// At most so many, best fit first, then newest first.
    pub limit: Option<usize>,
}

/// Most solved runs that a store keeps; the oldest go first.
pub const SOLVED_RUNS_MAX: usize = 2_000;

/// A filter of solved runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SolvedFilter {
    /// Only those in this profile.
    pub profile: Option<String>,
    /// At most so many, newest first.
    pub limit: Option<usize>,
}

/// A file that was written while foreign words stood in the context (Z2): whoever reads it reads
/// foreign words. One mark per workspace and path; a new one replaces the old.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMark {
    /// Root of the workspace.
    pub workspace: String,
    /// As in `PathEffect::path`.
    pub path: String,
    /// Where the foreign words came from.
    pub origin: String,
    /// In which session it was written.
    pub session: SessionId,
    /// When the file was marked, in microseconds since 1970 (UTC).
    pub ts: Timestamp,
}

impl FileMark {
    /// The same mark for a session that works in `folder`: with the path that it has there. `None`: it is of
    /// nothing in that folder. What lies outside of it is told to those that work where it was marked.
    #[must_use]
    pub fn seen_from(&self, folder: &str) -> Option<FileMark> {
        let path = if self.workspace == folder { self.path.clone() } else { self.path_in(folder)? };
        Some(FileMark { workspace: folder.to_owned(), path, ..self.clone() })
    }

    fn path_in(&self, folder: &str) -> Option<String> {
        let whole = match self.path.starts_with('/') {
            true => self.path.clone(),
            false => format!("{}/{}", self.workspace.trim_end_matches('/'), self.path),
        };
        let inside = format!("{}/", folder.trim_end_matches('/'));
        // A folder that is marked as a whole holds this one, or is it.
        if whole.ends_with('/') && inside.starts_with(&whole) {
            return Some(String::new());
        }
        if let Some(path) = whole.strip_prefix(&inside) {
            return Some(path.to_owned());
        }
        // The history of a repository is told in every folder of it.
        let around = whole.strip_suffix(".git/").filter(|around| around.ends_with('/'));
        around.is_some_and(|around| inside.starts_with(around)).then_some(whole)
    }
}

/// [`SessionMeta::status`] of a session with a run under way.
pub const RUNNING: &str = "running";

/// A filter of sessions.
#[derive(Debug, Clone, Default)]
pub struct SessionFilter {
    /// Only those of this folder.
    pub workspace: Option<String>,
    /// At most so many, newest first.
    pub limit: Option<usize>,
}

/// A passage found by `search`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchHit {
    /// Id of the session.
    pub session: SessionId,
    /// Place of the fact in the journal.
    pub seq: Seq,
    /// The passage, with some words around.
    pub snippet: String,
}

/// The kill switch of a store (L14).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StorePause {
    /// Since when.
    pub since: Timestamp,
    /// Name of the person who paused it.
    pub by: String,
    /// Why, in their words; may be empty.
    pub reason: String,
}

/// Facts that have all settings of their session.
const SETTINGS_KINDS: [&str; 3] = ["session.opened", "session.configured", "profile.switched"];
/// Facts that are looked at for one at a time.
const SETTINGS_BATCH: Seq = 256;
/// Facts among which those that ask and answer are looked for at a time.
const ASKS_BATCH: usize = 1_024;

/// The journal and everything kept beside it. One contract, the same tests for every store (D1).
///
/// `append` may be called for many sessions at once; an implementation gathers what waits into one
/// transaction (group commit). When it returns `Ok`, the data survives a power cut.
#[async_trait]
pub trait Store: Send + Sync {
    /// Takes the right to write `session`, which may be new. A holder that is not alive loses it.
    ///
    /// # Errors
    /// [`StoreError::Held`] while another living owner has it.
    async fn acquire_lease(
        &self,
        session: &SessionId,
        owner: &LeaseOwner,
    ) -> Result<Lease, StoreError>;
    /// Gives it back. Giving back what was lost meanwhile is no error.
    async fn release_lease(&self, lease: &Lease) -> Result<(), StoreError>;
    /// Says whether `owner` could take that right now, and keeps nothing: whoever takes it first has it. By
    /// default it is taken and given back; a store that can tell by reading writes nothing.
    ///
    /// # Errors
    /// [`StoreError::Held`] while another living owner has it.
    async fn check_not_held(
        &self,
        session: &SessionId,
        owner: &LeaseOwner,
    ) -> Result<(), StoreError> {
        let lease = self.acquire_lease(session, owner).await?;
        self.release_lease(&lease).await
    }
    /// Writes all of `append` or none of it.
    ///
    /// # Errors
    /// [`StoreError::Held`] when the lease is stale, [`StoreError::Conflict`] when `expected` is
    /// not the journal's length, [`StoreError::Io`] when the disk refuses, the audit file included.
    async fn append(&self, append: Append) -> Result<(), StoreError>;
    /// Facts from `from` on, at most `limit`, in order.
    async fn read_records(
        &self,
        session: &SessionId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError>;
    /// The last fact that has all settings of a session; `None`: there is no such session. By default the
    /// journal is read from its end.
    async fn settings_fact(&self, session: &SessionId) -> Result<Option<Record>, StoreError> {
        let mut end = self.session_meta(session).await?.map_or(0, |meta| meta.facts);
        while end > 0 {
            let from = end.saturating_sub(SETTINGS_BATCH - 1).max(1);
            let limit = usize::try_from(end - from + 1).unwrap_or(usize::MAX);
            let mut records = self.read_records(session, from, limit).await?;
            records.retain(|record| SETTINGS_KINDS.contains(&record.kind.as_str()));
            if let Some(found) = records.pop() {
                return Ok(Some(found));
            }
            end = from - 1;
        }
        Ok(None)
    }
    /// One session's summary.
    async fn session_meta(&self, session: &SessionId) -> Result<Option<SessionMeta>, StoreError>;
    /// Sessions, newest first.
    async fn list_sessions(&self, filter: &SessionFilter) -> Result<Vec<SessionMeta>, StoreError>;
    /// Sessions that are at work, without those of which it is known that somebody who lives has
    /// them: whoever looks for what to take up asks this again and again.
    async fn list_abandoned_sessions(&self) -> Result<Vec<SessionMeta>, StoreError> {
        let mut all = self.list_sessions(&SessionFilter::default()).await?;
        all.retain(|meta| meta.status == RUNNING);
        Ok(all)
    }
    /// Passages that contain all `words`, best first.
    async fn search_passages(
        &self,
        words: &str,
        limit: usize,
    ) -> Result<Vec<SearchHit>, StoreError>;
    /// Keeps the fold of a session beside its journal (Q10). Of several the one with the most facts is
    /// kept, and none of a session that has no journal, or fewer facts. It need not survive a power cut,
    /// and is gone with its session. By default nothing is kept.
    async fn write_snapshot(&self, snapshot: &SessionSnapshot) -> Result<(), StoreError> {
        let _ = snapshot;
        Ok(())
    }
    /// The fold that is kept of a session, as it was written. Whether it fits the journal is for whoever
    /// reads it to find out.
    async fn read_snapshot(
        &self,
        session: &SessionId,
    ) -> Result<Option<SessionSnapshot>, StoreError> {
        let _ = session;
        Ok(None)
    }
    /// Takes away the fold that is kept of a session. That there is none is no error.
    async fn drop_snapshot(&self, session: &SessionId) -> Result<(), StoreError> {
        let _ = session;
        Ok(())
    }
    /// Keeps what the first facts of a session come to for whoever looks at it in the way named `kind`, as
    /// [`Store::write_snapshot`] keeps its fold: of several of a kind the one with the most facts. By
    /// default nothing is kept.
    async fn write_look(&self, kind: &str, look: &SessionSnapshot) -> Result<(), StoreError> {
        let _ = (kind, look);
        Ok(())
    }
    /// What is kept of a session in this way, as it was written.
    async fn read_look(
        &self,
        session: &SessionId,
        kind: &str,
    ) -> Result<Option<SessionSnapshot>, StoreError> {
        let _ = (session, kind);
        Ok(None)
    }
    /// Removes journal, blobs that nothing else mentions, index and kept folds of a session (D9). Audit
    /// lines stay.
    async fn delete_session(&self, session: &SessionId) -> Result<(), StoreError>;
    /// Audit lines from number `from` on.
    async fn audit_lines(&self, from: u64, limit: usize) -> Result<Vec<AuditLine>, StoreError>;
    /// Bytes of a blob.
    async fn read_blob(&self, id: &BlobId) -> Result<Arc<[u8]>, StoreError>;
    /// Whether the store is paused.
    async fn pause_state(&self) -> Result<Option<StorePause>, StoreError>;
    /// Pauses or releases.
    async fn set_paused(&self, pause: Option<StorePause>) -> Result<(), StoreError>;
    /// Marked files of these folders, in their order and by path: whichever session marked them, also one
    /// of a folder above or below. Each as its folder shows it ([`FileMark::seen_from`]), which
    /// [`FileMark::workspace`] names. One question, however many folders there are.
    async fn file_marks_in(&self, folders: &[String]) -> Result<Vec<FileMark>, StoreError>;
    /// [`Store::file_marks_in`] of one folder.
    async fn file_marks(&self, workspace: &str) -> Result<Vec<FileMark>, StoreError> {
        self.file_marks_in(&[workspace.to_owned()]).await
    }
    /// Takes the mark of `path` away: a person has read the file and vouches for it.
    async fn unmark_file(&self, workspace: &str, path: &str) -> Result<bool, StoreError>;
    /// Leaves a letter for a session, which another process may be running. Durable when it
    /// returns. Gives its number.
    async fn post_remote_command(&self, letter: RemoteCommand) -> Result<u64, StoreError>;
    /// Letters that wait for `session`, oldest first.
    async fn waiting_remote_commands(
        &self,
        session: &SessionId,
    ) -> Result<Vec<RemoteCommand>, StoreError>;
    /// Takes a letter away once what it wanted is durable (or came too late). Taking one away
    /// twice is no error. `true`: it lay there until now; of several who take it away, one is told
    /// so. Who left a letter learns from it whether whoever has the session had done with it.
    async fn discard_remote_command(&self, id: u64) -> Result<bool, StoreError>;
    /// Text of facts that fit `query`, best first; without words newest first.
    async fn recall(&self, query: &RecallQuery) -> Result<Vec<Passage>, StoreError>;
    /// Remembers a fact. The same words about the same workspace are the same fact: it is confirmed
    /// once more, keeps its state, and joins the labels. `now`: when. Gives it as it is kept.
    async fn remember_fact(
        &self,
        new: &NewMemory,
        now: Timestamp,
    ) -> Result<MemoryFact, StoreError>;
    /// Facts that fit `filter`.
    async fn find_memories(&self, filter: &MemoryFilter) -> Result<Vec<MemoryFact>, StoreError>;
    /// Does what a person decided about a fact, in one step with looking at it: a decision about
    /// another fact than the one that is there changes nothing. What becomes of the fact is decided by
    /// `weir_core::memory::decide_about_fact`.
    async fn settle_memory(
        &self,
        id: &MemoryId,
        decision: &MemoryDecision,
        now: Timestamp,
    ) -> Result<MemoryOutcome, StoreError>;
    /// Puts something before the person.
    async fn propose(&self, proposal: &Proposal) -> Result<(), StoreError>;
    /// What waits for the person, oldest first.
    async fn proposals(&self, what: &str) -> Result<Vec<Proposal>, StoreError>;
    /// Takes a proposal away; whether there was one.
    async fn withdraw_proposal(&self, what: &str, name: &str) -> Result<bool, StoreError>;
    /// Keeps something. What has the same kind and name is replaced; its `version` then grows by one
    /// where the text differs, whatever `kept.version` says. Gives it as it is kept.
    async fn store_item(&self, kept: &StoredItem) -> Result<StoredItem, StoreError>;
    /// Keeps something only where what is kept under its kind and name has `version` now; 0: where
    /// nothing is. It then has the next version. Of two who change the same version one is told
    /// `None`, and nothing was changed for them.
    async fn replace_stored_item(
        &self,
        kept: &StoredItem,
        version: u32,
    ) -> Result<Option<StoredItem>, StoreError>;
    /// What is kept under this kind and name.
    async fn stored_item(&self, what: &str, name: &str) -> Result<Option<StoredItem>, StoreError>;
    /// All that is kept of a kind, by name.
    async fn stored_items(&self, what: &str) -> Result<Vec<StoredItem>, StoreError>;
    /// Takes something away; whether it was there.
    async fn remove_stored_item(&self, what: &str, name: &str) -> Result<bool, StoreError>;
    /// How often recipes worked, by id; those that were never followed have no entry.
    async fn recipe_counts(&self) -> Result<BTreeMap<String, RecipeStanding>, StoreError>;
    /// Forgets how often a recipe worked: a person accepted it anew, or took it away.
    async fn settle_recipe(&self, recipe: &str) -> Result<(), StoreError>;
    /// Runs from which recipes may be made, newest first.
    async fn solved_runs(&self, filter: &SolvedFilter) -> Result<Vec<SolvedRun>, StoreError>;
    /// Writes runs of scheduled agents down, each for a tick of its agent, all of them or none. A
    /// tick is claimed by whoever writes it first, for ever: none is run twice (M7). `holder`: who
    /// will start them; none: whoever takes them.
    async fn claim_ticks(
        &self,
        runs: &[AgentRun],
        holder: Option<&LeaseOwner>,
    ) -> Result<Vec<TickClaim>, StoreError>;
    /// Moves a run of `holder` that waits on to under way, with its session, if there is a place.
    async fn begin_agent_run(
        &self,
        run: &AgentRun,
        holder: &LeaseOwner,
        places: &PlaceLimits,
    ) -> Result<RunBeginOutcome, StoreError>;
    /// Writes down how a run of `holder` stands. One that is over has no holder any more; one that
    /// waits again has none either, so that whoever takes it goes on with it. `false`: it is not
    /// that holder's, and nothing was changed.
    async fn note_agent_run(&self, run: &AgentRun, holder: &LeaseOwner)
    -> Result<bool, StoreError>;
    /// Gives `holder` the runs that are not over and whose own holder is gone, oldest first.
    async fn take_agent_runs(&self, holder: &LeaseOwner) -> Result<Vec<AgentRun>, StoreError>;
    /// Runs of scheduled agents, newest first.
    async fn agent_runs(&self, filter: &AgentRunFilter) -> Result<Vec<AgentRun>, StoreError>;
    /// The newest tick of each agent's calendar that stands in its history.
    async fn agent_ticks(&self) -> Result<BTreeMap<String, Timestamp>, StoreError>;
    /// Resolves when the definition or a run of a scheduled agent changed since the call, by any
    /// process that uses this store. May resolve without a change.
    async fn agents_changed(&self);
    /// Resolves when a letter was posted since the call, by any process that uses this store. May
    /// resolve without one.
    async fn mail_changed(&self);
    /// Resolves when the kill switch was thrown or released since the call, by any process that
    /// uses this store. May resolve without a change.
    async fn pause_changed(&self);
    /// Resolves when the journal of `session` may be longer than `seen` facts, by any process that
    /// uses this store: at once when it is so already, so that nothing is missed between reading
    /// and waiting. May resolve without one.
    async fn facts_changed(&self, session: &SessionId, seen: Seq);
    /// Resolves when the journal of any session may be longer than at the call, by any process that
    /// uses this store; listens from its first poll on. May resolve without one.
    async fn journals_changed(&self);
    /// The facts that ask a person something and were not answered, of all sessions, oldest first.
    /// Reads what was written with the facts, and no journal.
    async fn open_asks(&self) -> Result<Vec<Record>, StoreError>;
    /// The facts of `session` of the kinds in [`ASK_KINDS`], in their order: as many as a person was
    /// asked, however long the journal is. By default the whole journal is read for them.
    async fn ask_facts(&self, session: &SessionId) -> Result<Vec<Record>, StoreError> {
        let (mut found, mut from) = (Vec::new(), 1);
        loop {
            let mut records = self.read_records(session, from, ASKS_BATCH).await?;
            from += records.len() as Seq;
            let is_end = records.len() < ASKS_BATCH;
            records.retain(|record| ASK_KINDS.contains(&record.kind.as_str()));
            found.append(&mut records);
            if is_end {
                return Ok(found);
            }
        }
    }
    /// The facts that say how the last run of each session ended, of those that were recorded at
    /// `since` or later, oldest first.
    async fn ended_runs(&self, since: Timestamp) -> Result<Vec<Record>, StoreError>;
    /// Asks whichever process runs `session` for what streams in it, for as long as what is given is
    /// kept. `None`, and so by default: this store carries no signals, because one process alone runs
    /// its sessions and shows them, as with files and in memory; others have the facts.
    fn hear_signals(&self, session: &SessionId) -> Option<Box<dyn SignalEar>> {
        let _ = session;
        None
    }
    /// The lines on which other processes ask for what streams in `session`, once they are others
    /// than `known`. By default nobody ever asks.
    async fn signal_lines(&self, session: &SessionId, known: &[SignalLine]) -> Vec<SignalLine> {
        let _ = (session, known);
        std::future::pending().await
    }
    /// Sends a parcel on its line: heard after those that were sent on it before, and at most once
    /// for each number. By default nobody hears it. It never waits for an append, nor an append for
    /// it.
    ///
    /// # Errors
    /// It was not sent, as far as is known. The same parcel may be sent again.
    async fn send_signal(
        &self,
        session: &SessionId,
        parcel: &SignalParcel,
    ) -> Result<(), StoreError> {
        let _ = (session, parcel);
        Ok(())
    }
    /// Tokens and cost, by day, then model, profile and agent. They stay when a session is deleted.
    async fn usage_rows(&self, filter: &UsageFilter) -> Result<Vec<UsageRow>, StoreError>;
}

/// Bytes kept beside the journal, by content.
#[async_trait]
pub trait Blobs: Send + Sync {
    /// Keeps `bytes`; they become durable with the next facts of `session`.
    fn put(&self, session: &SessionId, bytes: Arc<[u8]>) -> BlobId;
    /// Gives them back.
    async fn get(&self, id: &BlobId) -> Result<Arc<[u8]>, StoreError>;
}
