//! The store that forgets when it is dropped: for tests and `memory:`.
//!
//! It keeps the whole contract (leases, chain, audit chain, deduplicated blobs) but writes no audit
//! files and survives nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::sync::watch;
use weir_core::ids::{BlobId, MemoryId, Seq, SessionId, Timestamp};
use weir_core::memory::{MemoryDecision, MemoryFact, MemoryOutcome, NewMemory};
use weir_core::recipe::{RecipeStanding, SolvedRun};
use weir_core::record::{Record, SessionSnapshot};
use weir_core::schedule::AgentRun;
use weir_core::sorting::sort_stably;
use weir_engine::ports::{
    AgentRunFilter, Append, AskChanges, AuditLine, FileMark, IndexedText, KEPT_AGENT, Lease,
    LeaseOwner, MemoryFilter, Passage, PlaceLimits, Proposal, RecallQuery, RemoteCommand,
    RunBeginOutcome, RunEndReference, SearchHit, SessionFilter, SessionMeta, SolvedFilter, Store,
    StoreError, StorePause, StoredItem, TickClaim, UsageFilter, UsageRow,
};

mod knowledge;
mod recipes;
mod schedule;

use crate::audit::{ChainEnd, StoredLine};
use crate::journal::{JournalHead, check_append, check_box};
use crate::owner::{describe_owner, is_alive};
use crate::usage::UsageSums;
use crate::words::split_tokens;
use knowledge::KnowledgeTables;
use recipes::RecipeNotes;
use schedule::AgentRuns;

/// Characters of a snippet.
const SNIPPET_CHARS: usize = 160;

/// A store in memory.
pub struct MemoryStore {
    inner: Mutex<MemoryState>,
    pause: watch::Sender<Option<StorePause>>,
    /// How many letters were posted.
    posted: watch::Sender<u64>,
    /// How often scheduled agents or their runs changed.
    agents: watch::Sender<u64>,
    /// How many appends there were.
    appended: watch::Sender<u64>,
}

struct MemoryState {
    sessions: BTreeMap<SessionId, MemorySession>,
    blobs: HashMap<BlobId, Arc<[u8]>>,
    audit: Vec<StoredLine>,
    chain: ChainEnd,
    marks: BTreeMap<(String, String), FileMark>,
    mail: Vec<RemoteCommand>,
    known: KnowledgeTables,
    recipes: RecipeNotes,
    agent_runs: AgentRuns,
    used: UsageSums,
}

struct MemorySession {
    head: JournalHead,
    meta: Option<SessionMeta>,
    records: Vec<Record>,
    texts: Vec<IndexedText>,
    blobs: BTreeSet<BlobId>,
    /// What waits for a person, by name.
    asks: BTreeMap<String, Seq>,
    run_ended: Option<RunEndReference>,
    snapshot: Option<SessionSnapshot>,
    /// What is looked at of it, by kind.
    looks: BTreeMap<String, SessionSnapshot>,
}

impl MemorySession {
    fn note_asks(&mut self, changes: AskChanges) {
        if let Some(open) = changes.open {
            self.asks.retain(|name, _| open.contains(name));
        }
        self.asks.extend(changes.asked.into_iter().map(|place| (place.name, place.seq)));
        self.run_ended = changes.run_ended.or(self.run_ended);
    }
}

impl MemoryState {
    /// The facts of all sessions at the places that `places` names, oldest first.
    fn records_at(&self, places: impl Fn(&MemorySession) -> Vec<Seq>) -> Vec<Record> {
        let of_session = |session: &MemorySession| {
            let seqs = places(session);
            let records = session.records.iter().filter(|record| seqs.contains(&record.seq));
            records.cloned().collect::<Vec<_>>()
        };
        let mut found: Vec<Record> = self.sessions.values().flat_map(of_session).collect();
        sort_stably(&mut found, |a, b| (a.ts, &a.session, a.seq).cmp(&(b.ts, &b.session, b.seq)));
        found
    }
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> MemoryStore {
        MemoryStore {
            inner: Mutex::new(MemoryState {
                sessions: BTreeMap::new(),
                blobs: HashMap::new(),
                audit: Vec::new(),
                chain: ChainEnd::genesis_end(),
                marks: BTreeMap::new(),
                mail: Vec::new(),
                known: KnowledgeTables::default(),
                recipes: RecipeNotes::default(),
                agent_runs: AgentRuns::default(),
                used: UsageSums::default(),
            }),
            pause: watch::Sender::new(None),
            posted: watch::Sender::new(0),
            agents: watch::Sender::new(0),
            appended: watch::Sender::new(0),
        }
    }

    fn lock_state(&self) -> MutexGuard<'_, MemoryState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemoryStore {
    fn default() -> MemoryStore {
        MemoryStore::new()
    }
}

/// Refuses what a living owner has.
fn refuse_held(session: &SessionId, head: &JournalHead) -> Result<(), StoreError> {
    match head.owner.as_ref().filter(|holder| is_alive(holder)) {
        Some(holder) => {
            let (session, holder) = (session.clone(), describe_owner(holder));
            Err(StoreError::Held { session, holder })
        }
        None => Ok(()),
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn acquire_lease(
        &self,
        session: &SessionId,
        owner: &LeaseOwner,
    ) -> Result<Lease, StoreError> {
        let mut inner = self.lock_state();
        let entry = inner.sessions.entry(session.clone()).or_insert_with(|| MemorySession {
            head: JournalHead::new(),
            meta: None,
            records: Vec::new(),
            texts: Vec::new(),
            blobs: BTreeSet::new(),
            asks: BTreeMap::new(),
            run_ended: None,
            snapshot: None,
            looks: BTreeMap::new(),
        });
        refuse_held(session, &entry.head)?;
        entry.head.epoch += 1;
        entry.head.owner = Some(owner.clone());
        Ok(Lease { session: session.clone(), epoch: entry.head.epoch })
    }

    async fn release_lease(&self, lease: &Lease) -> Result<(), StoreError> {
        if let Some(session) = self.lock_state().sessions.get_mut(&lease.session)
            && session.head.epoch == lease.epoch
        {
            session.head.owner = None;
        }
        Ok(())
    }

    async fn check_not_held(
        &self,
        session: &SessionId,
        _owner: &LeaseOwner,
    ) -> Result<(), StoreError> {
        let inner = self.lock_state();
        inner.sessions.get(session).map_or(Ok(()), |entry| refuse_held(session, &entry.head))
    }

    async fn append(&self, append: Append) -> Result<(), StoreError> {
        let mut inner = self.lock_state();
        let MemoryState { sessions, blobs, audit, chain, marks, recipes, agent_runs, used, .. } =
            &mut *inner;
        let session = sessions.get_mut(&append.lease.session);
        check_append(session.as_ref().map(|session| &session.head), &append)?;
        // `check` refuses a session that does not exist.
        let Some(session) = session else { return Ok(()) };
        chain.extend(&append.audit, audit)?;
        session.head.advance(&append);
        session.note_asks(append.asks);
        session.records.extend(append.records);
        session.texts.extend(append.texts);
        session.meta = Some(SessionMeta { facts: session.head.facts, ..append.meta });
        for (id, bytes) in append.blobs {
            session.blobs.insert(id.clone());
            blobs.entry(id).or_insert(bytes);
        }
        for mark in append.marks {
            marks.insert((mark.workspace.clone(), mark.path.clone()), mark);
        }
        append.recipe_use.iter().for_each(|(used, ts)| recipes.count_use(used, *ts));
        append.solved.into_iter().for_each(|run| recipes.note_solved_run(run));
        for note in &append.usage {
            used.add_note(note, agent_runs.agent_of(&append.lease.session));
        }
        drop(inner);
        self.appended.send_modify(|count| *count += 1);
        Ok(())
    }

    async fn read_records(
        &self,
        session: &SessionId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError> {
        let inner = self.lock_state();
        let Some(session) = inner.sessions.get(session) else { return Ok(Vec::new()) };
        let skipped = usize::try_from(from.saturating_sub(1)).unwrap_or(usize::MAX);
        Ok(session.records.iter().skip(skipped).take(limit).cloned().collect())
    }

    async fn session_meta(&self, session: &SessionId) -> Result<Option<SessionMeta>, StoreError> {
        Ok(self.lock_state().sessions.get(session).and_then(|session| session.meta.clone()))
    }

    async fn list_sessions(&self, filter: &SessionFilter) -> Result<Vec<SessionMeta>, StoreError> {
        let inner = self.lock_state();
        let mut found: Vec<SessionMeta> = inner
            .sessions
            .values()
            .filter_map(|session| session.meta.clone())
            .filter(|meta| filter.workspace.as_ref().is_none_or(|path| *path == meta.workspace))
            .collect();
        sort_stably(&mut found, |a, b| (b.updated, &b.id).cmp(&(a.updated, &a.id)));
        found.truncate(filter.limit.unwrap_or(usize::MAX));
        Ok(found)
    }

    async fn search_passages(
        &self,
        words: &str,
        limit: usize,
    ) -> Result<Vec<SearchHit>, StoreError> {
        let wanted = words_of(words);
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let inner = self.lock_state();
        let texts = inner
            .sessions
            .iter()
            .flat_map(|(id, session)| session.texts.iter().map(move |t| (id, &t.seq, &t.text)));
        Ok(texts
            .filter(|(_, _, text)| wanted.is_subset(&words_of(text)))
            .take(limit)
            .map(|(id, seq, text)| SearchHit {
                session: id.clone(),
                seq: *seq,
                snippet: text.chars().take(SNIPPET_CHARS).collect(),
            })
            .collect())
    }

    async fn write_snapshot(&self, snapshot: &SessionSnapshot) -> Result<(), StoreError> {
        let mut inner = self.lock_state();
        let of = inner.sessions.get_mut(&snapshot.session);
        if let Some(session) = of.filter(|session| session.head.facts >= snapshot.seq) {
            let newer = |kept: &SessionSnapshot| kept.seq > snapshot.seq;
            if !session.snapshot.as_ref().is_some_and(newer) {
                session.snapshot = Some(snapshot.clone());
            }
        }
        Ok(())
    }

    async fn read_snapshot(
        &self,
        session: &SessionId,
    ) -> Result<Option<SessionSnapshot>, StoreError> {
        let inner = self.lock_state();
        Ok(inner.sessions.get(session).and_then(|session| session.snapshot.clone()))
    }

    async fn drop_snapshot(&self, session: &SessionId) -> Result<(), StoreError> {
        if let Some(session) = self.lock_state().sessions.get_mut(session) {
            session.snapshot = None;
        }
        Ok(())
    }

    async fn write_look(&self, kind: &str, look: &SessionSnapshot) -> Result<(), StoreError> {
        let mut inner = self.lock_state();
        let of = inner.sessions.get_mut(&look.session);
        if let Some(session) = of.filter(|session| session.head.facts >= look.seq) {
            let newer = |kept: &SessionSnapshot| kept.seq > look.seq;
            if !session.looks.get(kind).is_some_and(newer) {
                session.looks.insert(kind.to_owned(), look.clone());
            }
        }
        Ok(())
    }

    async fn read_look(
        &self,
        session: &SessionId,
        kind: &str,
    ) -> Result<Option<SessionSnapshot>, StoreError> {
        let inner = self.lock_state();
        Ok(inner.sessions.get(session).and_then(|session| session.looks.get(kind).cloned()))
    }

    async fn delete_session(&self, session: &SessionId) -> Result<(), StoreError> {
        let mut inner = self.lock_state();
        let missing = || StoreError::Missing { what: format!("session {session}") };
        let MemoryState { sessions, blobs, mail, known, recipes, .. } = &mut *inner;
        let gone = sessions.get_mut(session).filter(|session| session.head.facts > 0);
        let gone = gone.ok_or_else(missing)?;
        let dropped = std::mem::take(&mut gone.blobs);
        gone.head = JournalHead { epoch: gone.head.epoch + 1, ..JournalHead::new() };
        gone.meta = None;
        gone.records.clear();
        gone.texts.clear();
        gone.asks.clear();
        gone.run_ended = None;
        gone.snapshot = None;
        gone.looks.clear();
        mail.retain(|letter| letter.session != *session);
        known.forget_session(session);
        recipes.forget_session(session);
        let used: HashSet<&BlobId> = sessions.values().flat_map(|session| &session.blobs).collect();
        for id in dropped.iter().filter(|id| !used.contains(id)) {
            blobs.remove(id);
        }
        drop(inner);
        self.appended.send_modify(|count| *count += 1);
        Ok(())
    }

    async fn audit_lines(&self, from: u64, limit: usize) -> Result<Vec<AuditLine>, StoreError> {
        let inner = self.lock_state();
        let lines = inner.audit.iter().filter(|line| line.n >= from).take(limit);
        lines.map(StoredLine::to_line).collect()
    }

    async fn read_blob(&self, id: &BlobId) -> Result<Arc<[u8]>, StoreError> {
        let found = self.lock_state().blobs.get(id).cloned();
        found.ok_or_else(|| StoreError::Missing { what: format!("blob {id}") })
    }

    async fn pause_state(&self) -> Result<Option<StorePause>, StoreError> {
        Ok(self.pause.borrow().clone())
    }

    async fn set_paused(&self, pause: Option<StorePause>) -> Result<(), StoreError> {
        self.pause.send_replace(pause);
        Ok(())
    }

    async fn file_marks_in(&self, folders: &[String]) -> Result<Vec<FileMark>, StoreError> {
        let inner = self.lock_state();
        let mut found = Vec::new();
        for folder in folders {
            let mut seen: Vec<FileMark> =
                inner.marks.values().filter_map(|mark| mark.seen_from(folder)).collect();
            // Of two marks of one file the later one stays.
            seen.sort_by(|a, b| a.path.cmp(&b.path).then(b.ts.cmp(&a.ts)));
            seen.dedup_by(|next, kept| next.path == kept.path);
            found.append(&mut seen);
        }
        Ok(found)
    }

    async fn unmark_file(&self, workspace: &str, path: &str) -> Result<bool, StoreError> {
        let is_same =
            |mark: &FileMark| mark.seen_from(workspace).is_some_and(|seen| seen.path == path);
        let mut inner = self.lock_state();
        let before = inner.marks.len();
        inner.marks.retain(|_, mark| !is_same(mark));
        Ok(inner.marks.len() < before)
    }

    async fn post_remote_command(&self, letter: RemoteCommand) -> Result<u64, StoreError> {
        let mut inner = self.lock_state();
        let waiting = inner.mail.iter().filter(|waits| waits.session == letter.session).count();
        check_box(&letter.session, waiting)?;
        let mut id = 0;
        // Under the lock, so that numbers and order agree.
        self.posted.send_modify(|count| {
            *count += 1;
            id = *count;
        });
        inner.mail.push(RemoteCommand { id, ..letter });
        Ok(id)
    }

    async fn waiting_remote_commands(
        &self,
        session: &SessionId,
    ) -> Result<Vec<RemoteCommand>, StoreError> {
        let inner = self.lock_state();
        Ok(inner.mail.iter().filter(|letter| letter.session == *session).cloned().collect())
    }

    async fn discard_remote_command(&self, id: u64) -> Result<bool, StoreError> {
        let mail = &mut self.lock_state().mail;
        let before = mail.len();
        mail.retain(|letter| letter.id != id);
        Ok(mail.len() < before)
    }

    async fn recall(&self, query: &RecallQuery) -> Result<Vec<Passage>, StoreError> {
        Ok(knowledge::recall_passages(&self.lock_state().sessions, query))
    }

    async fn remember_fact(
        &self,
        new: &NewMemory,
        now: Timestamp,
    ) -> Result<MemoryFact, StoreError> {
        self.lock_state().known.remember_fact(new, now)
    }

    async fn find_memories(&self, filter: &MemoryFilter) -> Result<Vec<MemoryFact>, StoreError> {
        Ok(self.lock_state().known.list_facts(filter))
    }

    async fn settle_memory(
        &self,
        id: &MemoryId,
        decision: &MemoryDecision,
        now: Timestamp,
    ) -> Result<MemoryOutcome, StoreError> {
        Ok(self.lock_state().known.settle_fact(id, decision, now))
    }

    async fn propose(&self, proposal: &Proposal) -> Result<(), StoreError> {
        self.lock_state().known.add_proposal(proposal)
    }

    async fn proposals(&self, what: &str) -> Result<Vec<Proposal>, StoreError> {
        Ok(self.lock_state().known.list_proposals(what))
    }

    async fn store_item(&self, kept: &StoredItem) -> Result<StoredItem, StoreError> {
        let kept = self.lock_state().known.save_definition(kept);
        if kept.what == KEPT_AGENT {
            self.agents.send_modify(|count| *count += 1);
        }
        Ok(kept)
    }

    async fn replace_stored_item(
        &self,
        kept: &StoredItem,
        version: u32,
    ) -> Result<Option<StoredItem>, StoreError> {
        let replaced = self.lock_state().known.replace_definition(kept, version);
        if kept.what == KEPT_AGENT {
            self.agents.send_modify(|count| *count += 1);
        }
        Ok(replaced)
    }

    async fn stored_item(&self, what: &str, name: &str) -> Result<Option<StoredItem>, StoreError> {
        Ok(self.lock_state().known.find_definition(what, name))
    }

    async fn stored_items(&self, what: &str) -> Result<Vec<StoredItem>, StoreError> {
        Ok(self.lock_state().known.list_definitions(what))
    }

    async fn remove_stored_item(&self, what: &str, name: &str) -> Result<bool, StoreError> {
        let was = self.lock_state().known.remove_definition(what, name);
        if what == KEPT_AGENT {
            self.agents.send_modify(|count| *count += 1);
        }
        Ok(was)
    }

    async fn recipe_counts(&self) -> Result<BTreeMap<String, RecipeStanding>, StoreError> {
        Ok(self.lock_state().recipes.recipe_counts())
    }

    async fn settle_recipe(&self, recipe: &str) -> Result<(), StoreError> {
        self.lock_state().recipes.reset_counts(recipe);
        Ok(())
    }

    async fn solved_runs(&self, filter: &SolvedFilter) -> Result<Vec<SolvedRun>, StoreError> {
        Ok(self.lock_state().recipes.solved_runs(filter))
    }

    async fn withdraw_proposal(&self, what: &str, name: &str) -> Result<bool, StoreError> {
        Ok(self.lock_state().known.withdraw_proposal(what, name))
    }

    async fn claim_ticks(
        &self,
        runs: &[AgentRun],
        holder: Option<&LeaseOwner>,
    ) -> Result<Vec<TickClaim>, StoreError> {
        let claims = self.lock_state().agent_runs.claim_ticks(runs, holder);
        if holder.is_none() {
            self.agents.send_modify(|count| *count += 1);
        }
        Ok(claims)
    }

    async fn begin_agent_run(
        &self,
        run: &AgentRun,
        holder: &LeaseOwner,
        places: &PlaceLimits,
    ) -> Result<RunBeginOutcome, StoreError> {
        Ok(self.lock_state().agent_runs.begin_run(run, holder, places))
    }

    async fn note_agent_run(
        &self,
        run: &AgentRun,
        holder: &LeaseOwner,
    ) -> Result<bool, StoreError> {
        let noted = self.lock_state().agent_runs.note_run(run, holder);
        self.agents.send_modify(|count| *count += 1);
        Ok(noted)
    }

    async fn take_agent_runs(&self, holder: &LeaseOwner) -> Result<Vec<AgentRun>, StoreError> {
        Ok(self.lock_state().agent_runs.take_orphaned_runs(holder))
    }

    async fn agent_runs(&self, filter: &AgentRunFilter) -> Result<Vec<AgentRun>, StoreError> {
        Ok(self.lock_state().agent_runs.list_runs(filter))
    }

    async fn agent_ticks(&self) -> Result<BTreeMap<String, Timestamp>, StoreError> {
        Ok(self.lock_state().agent_runs.latest_ticks())
    }

    async fn agents_changed(&self) {
        // The sender lives as long as the store.
        let _ = self.agents.subscribe().changed().await;
    }

    async fn mail_changed(&self) {
        // The sender lives as long as the store.
        let _ = self.posted.subscribe().changed().await;
    }

    async fn pause_changed(&self) {
        // The sender lives as long as the store.
        let _ = self.pause.subscribe().changed().await;
    }

    async fn facts_changed(&self, session: &SessionId, seen: Seq) {
        let mut appended = self.appended.subscribe();
        let facts =
            || self.lock_state().sessions.get(session).map_or(0, |session| session.head.facts);
        let news = |facts: Seq| facts > seen || (facts == 0 && seen > 0);
        while !news(facts()) {
            // The sender lives as long as the store.
            let _ = appended.changed().await;
        }
    }

    async fn journals_changed(&self) {
        // The sender lives as long as the store.
        let _ = self.appended.subscribe().changed().await;
    }

    async fn open_asks(&self) -> Result<Vec<Record>, StoreError> {
        Ok(self.lock_state().records_at(|session| session.asks.values().copied().collect()))
    }

    async fn ended_runs(&self, since: Timestamp) -> Result<Vec<Record>, StoreError> {
        let ended = |session: &MemorySession| {
            let end = session.run_ended.filter(|end| end.ts >= since);
            end.iter().map(|end| end.seq).collect()
        };
        Ok(self.lock_state().records_at(ended))
    }

    async fn usage_rows(&self, filter: &UsageFilter) -> Result<Vec<UsageRow>, StoreError> {
        let inner = self.lock_state();
        Ok(inner.used.rows().filter(|row| filter.contains_day(&row.day)).cloned().collect())
    }
}

/// Lower-case words of a text.
fn words_of(text: &str) -> BTreeSet<String> {
    split_tokens(text).collect()
}
