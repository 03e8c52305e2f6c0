//! The store that forgets when it is dropped: for tests and `memory:`.
//!
//! It keeps the whole contract (leases, chain, audit chain, deduplicated blobs) but writes no audit
//! files and survives nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::sync::watch;
use weir_core::ids::{BlobId, MemoryId, Seq, SessionId, Timestamp};
use weir_core::memory::{MemoryFact, MemoryStatus, NewMemory};
use weir_core::recipe::{SolvedRun, Standing};
use weir_core::record::Record;
use weir_core::schedule::AgentRun;
use weir_engine::ports::{
    AgentRunFilter, Append, AuditLine, Begin, Claim, FileMark, IndexedText, KEPT_AGENT, Kept,
    Lease, Letter, MemoryFilter, Owner, Passage, Pause, Places, Proposal, RecallQuery, SearchHit,
    SessionFilter, SessionMeta, SolvedFilter, Store, StoreError, UsageFilter, UsageRow,
};

mod knowledge;
mod recipes;
mod schedule;

use crate::audit::{ChainEnd, StoredLine};
use crate::journal::{Head, check, check_box};
use crate::owner::{describe, is_alive};
use crate::usage::UsageSums;
use crate::words::tokens;
use knowledge::Knowledge;
use recipes::RecipeNotes;
use schedule::AgentRuns;

/// Characters of a snippet.
const SNIPPET_CHARS: usize = 160;

/// A store in memory.
pub struct MemoryStore {
    inner: Mutex<Inner>,
    pause: watch::Sender<Option<Pause>>,
    /// How many letters were posted.
    posted: watch::Sender<u64>,
    /// How often scheduled agents or their runs changed.
    agents: watch::Sender<u64>,
    /// How many appends there were.
    appended: watch::Sender<u64>,
}

struct Inner {
    sessions: BTreeMap<SessionId, Session>,
    blobs: HashMap<BlobId, Arc<[u8]>>,
    audit: Vec<StoredLine>,
    chain: ChainEnd,
    marks: BTreeMap<(String, String), FileMark>,
    mail: Vec<Letter>,
    known: Knowledge,
    recipes: RecipeNotes,
    agent_runs: AgentRuns,
    used: UsageSums,
}

struct Session {
    head: Head,
    meta: Option<SessionMeta>,
    records: Vec<Record>,
    texts: Vec<IndexedText>,
    blobs: BTreeSet<BlobId>,
}

impl MemoryStore {
    pub fn new() -> MemoryStore {
        MemoryStore {
            inner: Mutex::new(Inner {
                sessions: BTreeMap::new(),
                blobs: HashMap::new(),
                audit: Vec::new(),
                chain: ChainEnd::start(),
                marks: BTreeMap::new(),
                mail: Vec::new(),
                known: Knowledge::default(),
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

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemoryStore {
    fn default() -> MemoryStore {
        MemoryStore::new()
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn acquire(&self, session: &SessionId, owner: &Owner) -> Result<Lease, StoreError> {
        let mut inner = self.inner();
        let entry = inner.sessions.entry(session.clone()).or_insert_with(|| Session {
            head: Head::new(),
            meta: None,
            records: Vec::new(),
            texts: Vec::new(),
            blobs: BTreeSet::new(),
        });
        if let Some(holder) = entry.head.owner.as_ref().filter(|holder| is_alive(holder)) {
            return Err(StoreError::Held { session: session.clone(), holder: describe(holder) });
        }
        entry.head.epoch += 1;
        entry.head.owner = Some(owner.clone());
        Ok(Lease { session: session.clone(), epoch: entry.head.epoch })
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        if let Some(session) = self.inner().sessions.get_mut(&lease.session)
            && session.head.epoch == lease.epoch
        {
            session.head.owner = None;
        }
        Ok(())
    }

    async fn append(&self, append: Append) -> Result<(), StoreError> {
        let mut inner = self.inner();
        let Inner { sessions, blobs, audit, chain, marks, recipes, agent_runs, used, .. } =
            &mut *inner;
        let session = sessions.get_mut(&append.lease.session);
        check(session.as_ref().map(|session| &session.head), &append)?;
        // `check` refuses a session that does not exist.
        let Some(session) = session else { return Ok(()) };
        chain.extend(&append.audit, audit)?;
        session.head.advance(&append);
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
        append.recipe_use.iter().for_each(|(used, ts)| recipes.count(used, *ts));
        append.solved.into_iter().for_each(|run| recipes.note(run));
        for note in &append.usage {
            used.add(note, agent_runs.agent_of(&append.lease.session));
        }
        drop(inner);
        self.appended.send_modify(|count| *count += 1);
        Ok(())
    }

    async fn read(
        &self,
        session: &SessionId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError> {
        let inner = self.inner();
        let Some(session) = inner.sessions.get(session) else { return Ok(Vec::new()) };
        let skipped = usize::try_from(from.saturating_sub(1)).unwrap_or(usize::MAX);
        Ok(session.records.iter().skip(skipped).take(limit).cloned().collect())
    }

    async fn meta(&self, session: &SessionId) -> Result<Option<SessionMeta>, StoreError> {
        Ok(self.inner().sessions.get(session).and_then(|session| session.meta.clone()))
    }

    async fn list(&self, filter: &SessionFilter) -> Result<Vec<SessionMeta>, StoreError> {
        let inner = self.inner();
        let mut found: Vec<SessionMeta> = inner
            .sessions
            .values()
            .filter_map(|session| session.meta.clone())
            .filter(|meta| filter.workspace.as_ref().is_none_or(|path| *path == meta.workspace))
            .collect();
        found.sort_by(|a, b| (b.updated, &b.id).cmp(&(a.updated, &a.id)));
        found.truncate(filter.limit.unwrap_or(usize::MAX));
        Ok(found)
    }

    async fn search(&self, words: &str, limit: usize) -> Result<Vec<SearchHit>, StoreError> {
        let wanted = words_of(words);
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let inner = self.inner();
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

    async fn delete(&self, session: &SessionId) -> Result<(), StoreError> {
        let mut inner = self.inner();
        let missing = || StoreError::Missing { what: format!("session {session}") };
        let Inner { sessions, blobs, mail, known, recipes, .. } = &mut *inner;
        let gone = sessions.get_mut(session).filter(|session| session.head.facts > 0);
        let gone = gone.ok_or_else(missing)?;
        let dropped = std::mem::take(&mut gone.blobs);
        gone.head = Head { epoch: gone.head.epoch + 1, ..Head::new() };
        gone.meta = None;
        gone.records.clear();
        gone.texts.clear();
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

    async fn audit(&self, from: u64, limit: usize) -> Result<Vec<AuditLine>, StoreError> {
        let inner = self.inner();
        let lines = inner.audit.iter().filter(|line| line.n >= from).take(limit);
        lines.map(StoredLine::to_line).collect()
    }

    async fn blob(&self, id: &BlobId) -> Result<Arc<[u8]>, StoreError> {
        let found = self.inner().blobs.get(id).cloned();
        found.ok_or_else(|| StoreError::Missing { what: format!("blob {id}") })
    }

    async fn paused(&self) -> Result<Option<Pause>, StoreError> {
        Ok(self.pause.borrow().clone())
    }

    async fn set_paused(&self, pause: Option<Pause>) -> Result<(), StoreError> {
        self.pause.send_replace(pause);
        Ok(())
    }

    async fn marks(&self, workspace: &str) -> Result<Vec<FileMark>, StoreError> {
        let inner = self.inner();
        let here = inner.marks.values().filter(|mark| mark.workspace == workspace);
        Ok(here.cloned().collect())
    }

    async fn unmark(&self, workspace: &str, path: &str) -> Result<bool, StoreError> {
        let key = (workspace.to_string(), path.to_string());
        Ok(self.inner().marks.remove(&key).is_some())
    }

    async fn post(&self, letter: Letter) -> Result<u64, StoreError> {
        let mut inner = self.inner();
        let waiting = inner.mail.iter().filter(|waits| waits.session == letter.session).count();
        check_box(&letter.session, waiting)?;
        let mut id = 0;
        // Under the lock, so that numbers and order agree.
        self.posted.send_modify(|count| {
            *count += 1;
            id = *count;
        });
        inner.mail.push(Letter { id, ..letter });
        Ok(id)
    }

    async fn mail(&self, session: &SessionId) -> Result<Vec<Letter>, StoreError> {
        let inner = self.inner();
        Ok(inner.mail.iter().filter(|letter| letter.session == *session).cloned().collect())
    }

    async fn discard(&self, id: u64) -> Result<bool, StoreError> {
        let mail = &mut self.inner().mail;
        let before = mail.len();
        mail.retain(|letter| letter.id != id);
        Ok(mail.len() < before)
    }

    async fn recall(&self, query: &RecallQuery) -> Result<Vec<Passage>, StoreError> {
        Ok(knowledge::recall(&self.inner().sessions, query))
    }

    async fn remember(&self, new: &NewMemory, now: Timestamp) -> Result<MemoryFact, StoreError> {
        self.inner().known.remember(new, now)
    }

    async fn memories(&self, filter: &MemoryFilter) -> Result<Vec<MemoryFact>, StoreError> {
        Ok(self.inner().known.list(filter))
    }

    async fn settle_memory(
        &self,
        id: &MemoryId,
        status: MemoryStatus,
        now: Timestamp,
    ) -> Result<Option<MemoryFact>, StoreError> {
        Ok(self.inner().known.settle(id, status, now))
    }

    async fn propose(&self, proposal: &Proposal) -> Result<(), StoreError> {
        self.inner().known.propose(proposal)
    }

    async fn proposals(&self, what: &str) -> Result<Vec<Proposal>, StoreError> {
        Ok(self.inner().known.proposals(what))
    }

    async fn keep(&self, kept: &Kept) -> Result<Kept, StoreError> {
        let kept = self.inner().known.keep(kept);
        if kept.what == KEPT_AGENT {
            self.agents.send_modify(|count| *count += 1);
        }
        Ok(kept)
    }

    async fn kept(&self, what: &str) -> Result<Vec<Kept>, StoreError> {
        Ok(self.inner().known.kept(what))
    }

    async fn unkeep(&self, what: &str, name: &str) -> Result<bool, StoreError> {
        let was = self.inner().known.unkeep(what, name);
        if what == KEPT_AGENT {
            self.agents.send_modify(|count| *count += 1);
        }
        Ok(was)
    }

    async fn recipe_counts(&self) -> Result<BTreeMap<String, Standing>, StoreError> {
        Ok(self.inner().recipes.counts())
    }

    async fn settle_recipe(&self, recipe: &str) -> Result<(), StoreError> {
        self.inner().recipes.settle(recipe);
        Ok(())
    }

    async fn solved_runs(&self, filter: &SolvedFilter) -> Result<Vec<SolvedRun>, StoreError> {
        Ok(self.inner().recipes.solved(filter))
    }

    async fn withdraw_proposal(&self, what: &str, name: &str) -> Result<bool, StoreError> {
        Ok(self.inner().known.withdraw(what, name))
    }

    async fn claim_ticks(
        &self,
        runs: &[AgentRun],
        holder: Option<&Owner>,
    ) -> Result<Vec<Claim>, StoreError> {
        let claims = self.inner().agent_runs.claim(runs, holder);
        if holder.is_none() {
            self.agents.send_modify(|count| *count += 1);
        }
        Ok(claims)
    }

    async fn begin_agent_run(
        &self,
        run: &AgentRun,
        holder: &Owner,
        places: &Places,
    ) -> Result<Begin, StoreError> {
        Ok(self.inner().agent_runs.begin(run, holder, places))
    }

    async fn note_agent_run(&self, run: &AgentRun, holder: &Owner) -> Result<bool, StoreError> {
        let noted = self.inner().agent_runs.note(run, holder);
        self.agents.send_modify(|count| *count += 1);
        Ok(noted)
    }

    async fn take_agent_runs(&self, holder: &Owner) -> Result<Vec<AgentRun>, StoreError> {
        Ok(self.inner().agent_runs.take(holder))
    }

    async fn agent_runs(&self, filter: &AgentRunFilter) -> Result<Vec<AgentRun>, StoreError> {
        Ok(self.inner().agent_runs.list(filter))
    }

    async fn agent_ticks(&self) -> Result<BTreeMap<String, Timestamp>, StoreError> {
        Ok(self.inner().agent_runs.ticks())
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
        let facts = || self.inner().sessions.get(session).map_or(0, |session| session.head.facts);
        let news = |facts: Seq| facts > seen || (facts == 0 && seen > 0);
        while !news(facts()) {
            // The sender lives as long as the store.
            let _ = appended.changed().await;
        }
    }

    async fn usage(&self, filter: &UsageFilter) -> Result<Vec<UsageRow>, StoreError> {
        let inner = self.inner();
        Ok(inner.used.rows().filter(|row| filter.holds(&row.day)).cloned().collect())
    }
}

/// Lower-case words of a text.
fn words_of(text: &str) -> BTreeSet<String> {
    tokens(text).collect()
}
