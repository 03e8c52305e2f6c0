//! Facts on their way to the disk (D2, D3).
//!
//! The loop pushes facts; the ledger turns them into records, chains them, and hands them to the
//! store in batches: at once when something waits for them, otherwise after a short window, so
//! that the facts of a turn of reads share one sync with what follows. What of them can be found
//! again is in `passages`.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::json;
use tokio::sync::oneshot;
use weir_core::event::{CallFinished, Event, RunFinished, RunStatus};
use weir_core::governance::filter::{mask_value, redact_text};
use weir_core::ids::{Seq, SessionId, Timestamp};
use weir_core::recipe::{RecipeUse, SolvedRun};
use weir_core::record::{GENESIS, Record};
use weir_core::session::{Session, SessionStatus};
use weir_core::view;

mod asks;
mod passages;

use crate::error::EngineError;
pub use crate::ports::fact_of;
use crate::ports::{
    Append, AuditEntry, FileMark, Lease, PublishedFact, RUNNING, SessionMeta, Store, StoreError,
    UsageNote,
};
use asks::AskTracker;
use passages::{FullResult, PassageBuilder, read_fulls};

/// How long facts may wait for company when nothing waits for them, in milliseconds.
pub(crate) const WINDOW_MS: u64 = 4;

/// Facts that are not durable yet, and who waits for them.
pub(crate) struct JournalWriter {
    session: SessionId,
    lease: Lease,
    principal: String,
    created: Timestamp,
    parent: Option<SessionId>,
    /// Facts the store has.
    durable: Seq,
    /// Facts handed to the store and not confirmed.
    sent: Seq,
    hash: String,
    facts: Vec<PublishedFact>,
    records: Vec<Record>,
    passages: PassageBuilder,
    audit: Vec<AuditEntry>,
    marks: Vec<FileMark>,
    recipe_use: Vec<(RecipeUse, Timestamp)>,
    solved: Vec<SolvedRun>,
    usage: Vec<UsageNote>,
    asks: AskTracker,
    /// Values that must stand in no note.
    secrets: Vec<String>,
    waiting: VecDeque<(Seq, oneshot::Sender<Result<(), EngineError>>)>,
    first_pushed: Option<Timestamp>,
    /// Something waits: write at once.
    wanted: bool,
}

/// Facts that are written together.
pub(crate) struct FactBatch {
    /// What the store gets.
    pub(crate) append: Append,
    facts: Vec<PublishedFact>,
    /// Results that are found by a text which lies among the blobs.
    fulls: Vec<FullResult>,
}

impl FactBatch {
    /// Writes it, and gives back the facts that are durable when there was no error.
    pub(crate) async fn write_to_store(
        self,
        store: &dyn Store,
    ) -> (Result<(), StoreError>, Vec<PublishedFact>) {
        let FactBatch { mut append, facts, fulls } = self;
        let result = match read_fulls(&mut append.texts, fulls, &append.blobs, store).await {
            Ok(()) => store.append(append).await,
            Err(error) => Err(error),
        };
        (result, facts)
    }
}

impl JournalWriter {
    pub(crate) fn new(lease: Lease, principal: String, last: Option<&Record>) -> JournalWriter {
        let durable = last.map_or(0, |record| record.seq);
        JournalWriter {
            session: lease.session.clone(),
            lease,
            principal,
            created: Timestamp::default(),
            parent: None,
            durable,
            sent: durable,
            hash: last.map_or_else(|| GENESIS.to_string(), |record| record.hash.clone()),
            facts: Vec::new(),
            records: Vec::new(),
            passages: PassageBuilder::default(),
            audit: Vec::new(),
            marks: Vec::new(),
            recipe_use: Vec::new(),
            solved: Vec::new(),
            usage: Vec::new(),
            asks: AskTracker::new(durable),
            secrets: Vec::new(),
            waiting: VecDeque::new(),
            first_pushed: None,
            wanted: false,
        }
    }

    /// Values that must not stand in what is noted beside the facts.
    pub(crate) fn set_secrets(&mut self, secrets: &[String]) {
        self.secrets = secrets.to_vec();
    }

    /// What the list of sessions says about its beginning.
    pub(crate) fn set_origin(&mut self, created: Timestamp, parent: Option<SessionId>) {
        self.created = created;
        self.parent = parent;
    }

    /// Takes facts that `session` has just folded in.
    pub(crate) fn push(&mut self, session: &Session, now: Timestamp, events: Vec<Event>) {
        for event in events {
            let seq = self.durable + (self.sent - self.durable) + self.records.len() as u64 + 1;
            if let Event::SessionOpened(opened) = &event {
                self.set_origin(now, opened.parent.clone());
            }
            let record = view::wire::fact_record(&self.session, seq, now, &event, &self.hash);
            self.hash.clone_from(&record.hash);
            self.records.push(record);
            self.passages.push(seq, &event);
            self.asks.push(seq, now, &event);
            if let Event::CallFinished(finished) = &event {
                self.mark_written_files(session, now, finished);
            }
            if let Event::RunFinished(finished) = &event {
                self.note_solved_run(session, now, finished);
            }
            self.usage.extend(UsageNote::notes_for_event(session, now, &event));
            if let Some(mut fields) = view::audit::audit_line(session, &event, &self.principal) {
                mask_value(&mut fields, &self.secrets);
                let session = self.session.clone();
                self.audit.push(AuditEntry { ts: now, session, seq, fields });
            }
            self.facts.push(PublishedFact { seq, ts: now, event: Arc::new(event) });
            self.first_pushed.get_or_insert(now);
        }
    }

    /// What a call wrote while foreign words stood in the context is foreign from now on (Z2). In a
    /// folder that was added, also for whoever works in that one alone.
    fn mark_written_files(&mut self, session: &Session, ts: Timestamp, finished: &CallFinished) {
        let (Some(origin), Some(config)) = (&finished.marks, session.config()) else { return };
        let rules = config.rules.context();
        let place = |path: &String| match rules.below_added_folder(path) {
            Some(below) => {
                let folder = path.strip_suffix(below).unwrap_or(path).trim_end_matches('/');
                (folder.to_owned(), below.to_owned())
            }
            None => (config.workspace.clone(), path.clone()),
        };
        let marks = finished.changed.iter().map(place).map(|(workspace, path)| FileMark {
            workspace,
            path,
            origin: origin.clone(),
            session: self.session.clone(),
            ts,
        });
        self.marks.extend(marks);
    }

    /// Marks that are not of this session's own calls: written with the next facts.
    pub(crate) fn carry_marks(&mut self, marks: Vec<FileMark>) {
        self.marks.extend(marks);
    }

    /// What a finished run says about a recipe, and what one may be made from: written with the fact
    /// itself, so it counts exactly once (M5). A run in which a secret was said is no example.
    fn note_solved_run(&mut self, session: &Session, ts: Timestamp, finished: &RunFinished) {
        self.recipe_use.extend(finished.recipe.clone().map(|used| (used, ts)));
        let Some(run) = session.last_solved_run().filter(|run| run.run == finished.run) else {
            return;
        };
        let text = format!("{}\n{}", run.said, json!(run.calls));
        if matches!(redact_text(&text, &self.secrets), Cow::Borrowed(_)) {
            self.solved.push(SolvedRun::clone(run));
        }
    }

    /// Whether everything so far is durable.
    pub(crate) fn is_durable(&self) -> bool {
        self.records.is_empty() && self.sent == self.durable
    }

    /// Hash of the last fact, where everything so far is durable.
    pub(crate) fn durable_hash(&self) -> Option<&str> {
        self.is_durable().then_some(self.hash.as_str())
    }

    /// Somebody waits for what was pushed so far.
    pub(crate) fn request_write(&mut self) {
        self.wanted = !self.records.is_empty();
    }

    /// Tells `done` when everything pushed so far is durable.
    pub(crate) fn acknowledge_when_durable(
        &mut self,
        done: oneshot::Sender<Result<(), EngineError>>,
    ) {
        let upto = self.sent + self.records.len() as u64;
        if upto <= self.durable {
            let _ = done.send(Ok(()));
            return;
        }
        self.waiting.push_back((upto, done));
        self.request_write();
    }

    /// When the window of the oldest waiting fact is over; `None`: nothing to write, or a write is
    /// under way.
    pub(crate) fn write_due_at(&self) -> Option<Timestamp> {
        if self.records.is_empty() || self.sent != self.durable {
            return None;
        }
        let first = self.first_pushed?;
        Some(if self.wanted { first } else { first.plus_ms(WINDOW_MS) })
    }

    /// The batch to write now.
    pub(crate) fn take_batch(
        &mut self,
        session: &Session,
        blobs: Vec<(weir_core::ids::BlobId, Arc<[u8]>)>,
    ) -> FactBatch {
        let expected = self.sent;
        self.sent += self.records.len() as u64;
        self.first_pushed = None;
        self.wanted = false;
        let (texts, fulls) = self.passages.take_pending();
        let append = Append {
            lease: self.lease.clone(),
            expected,
            records: std::mem::take(&mut self.records),
            texts,
            blobs,
            audit: std::mem::take(&mut self.audit),
            marks: std::mem::take(&mut self.marks),
            recipe_use: std::mem::take(&mut self.recipe_use),
            solved: std::mem::take(&mut self.solved),
            usage: std::mem::take(&mut self.usage),
            asks: self.asks.take_changes(session),
            meta: self.session_meta(session),
        };
        FactBatch { append, facts: std::mem::take(&mut self.facts), fulls }
    }

    /// The batch is durable.
    pub(crate) fn confirm_batch(&mut self) {
        self.durable = self.sent;
        while self.waiting.front().is_some_and(|(upto, _)| *upto <= self.durable) {
            if let Some((_, done)) = self.waiting.pop_front() {
                let _ = done.send(Ok(()));
            }
        }
        if !self.waiting.is_empty() {
            self.request_write();
        }
    }

    /// The store refused: nobody's facts became durable.
    pub(crate) fn fail_waiting(&mut self, why: &StoreError) {
        for (_, done) in self.waiting.drain(..) {
            let _ = done.send(Err(EngineError::Store(why.clone())));
        }
    }

    fn session_meta(&self, session: &Session) -> SessionMeta {
        let config = session.config();
        SessionMeta {
            id: self.session.clone(),
            workspace: config.map(|c| c.workspace.clone()).unwrap_or_default(),
            title: session.title().to_string(),
            model: config.map(|c| c.model.model.to_string()).unwrap_or_default(),
            profile: config.map(|c| c.profile.name.clone()).unwrap_or_default(),
            status: status_word(session),
            created: self.created,
            updated: session.last_fact_time(),
            facts: self.sent,
            parent: self.parent.clone(),
        }
    }
}

/// The word for a session in lists.
pub fn status_word(session: &Session) -> String {
    match session.status() {
        SessionStatus::PendingApproval => "waiting".into(),
        SessionStatus::Streaming | SessionStatus::ExecutingTools | SessionStatus::Stopped => {
            RUNNING.into()
        }
        SessionStatus::Idle => match session.last_run_finished().map(|finished| finished.status) {
            None => "idle".into(),
            Some(status) => status_text(status),
        },
    }
}

/// A status as it stands in events.
pub fn status_text(status: RunStatus) -> String {
    serde_json::to_value(status)
        .ok()
        .and_then(|value| value.as_str().map(str::to_string))
        .unwrap_or_default()
}
