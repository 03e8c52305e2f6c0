//! What every store checks before it appends: the lease, the length, the chain (D2); and before it
//! takes a letter or a proposal: that the box is not full.
//!
//! Pure, and shared by all stores so that they cannot differ. Nothing here stores anything.

use weir_core::ids::SessionId;
use weir_core::memory::MemoryStatus;
use weir_core::record::GENESIS;
use weir_engine::ports::{Append, LeaseOwner, StoreError};

use crate::owner::{NOBODY, describe_owner};

/// Most letters that wait for one session.
const LETTERS_MAX: usize = 1000;
/// Most facts that wait in the inbox of the memory.
const INBOX_MAX: usize = 1000;
/// Most proposals of one kind that wait for a person.
const PROPOSALS_MAX: usize = 200;

/// The end of a session's journal, and who may write after it.
#[derive(Debug, Clone)]
pub(crate) struct JournalHead {
    /// Grows with each writer.
    pub(crate) epoch: u64,
    /// Who holds the lease; nobody after it was given back.
    pub(crate) owner: Option<LeaseOwner>,
    /// How many facts there are.
    pub(crate) facts: u64,
    pub(crate) last_hash: String,
}

impl JournalHead {
    /// A session that nobody wrote yet.
    pub(crate) fn new() -> JournalHead {
        JournalHead { epoch: 0, owner: None, facts: 0, last_hash: GENESIS.to_string() }
    }

    /// The head after `append`, which was checked.
    pub(crate) fn advance(&mut self, append: &Append) {
        self.facts = append.expected + append.records.len() as u64;
        if let Some(last) = append.records.last() {
            self.last_hash.clone_from(&last.hash);
        }
    }
}

/// Refuses an append that comes from a stale writer, starts at another place than the journal's
/// end, or does not continue the chain.
pub(crate) fn check_append(head: Option<&JournalHead>, append: &Append) -> Result<(), StoreError> {
    let session = &append.lease.session;
    let held_by = |holder: String| StoreError::Held { session: session.clone(), holder };
    let Some(head) = head else {
        return Err(held_by(NOBODY.to_string()));
    };
    let Some(owner) = &head.owner else {
        return Err(held_by(NOBODY.to_string()));
    };
    if head.epoch != append.lease.epoch {
        return Err(held_by(describe_owner(owner)));
    }
    if head.facts != append.expected {
        return Err(StoreError::Conflict {
            session: session.clone(),
            expected: append.expected,
            found: head.facts,
        });
    }
    check_records(head, append).map_err(|why| StoreError::Damaged {
        what: format!("an append to the journal of {session}"),
        why,
    })
}

fn check_records(head: &JournalHead, append: &Append) -> Result<(), String> {
    for (record, expected) in append.records.iter().zip(append.expected + 1..) {
        if record.seq != expected {
            return Err(format!("fact {} stands where fact {expected} should be", record.seq));
        }
        if record.session != append.lease.session {
            return Err(format!("fact {expected} belongs to session {}", record.session));
        }
    }
    match append.records.first() {
        Some(first) if first.hash_after(&head.last_hash) != first.hash => Err(format!(
            "the hash of fact {} does not follow from the journal's last fact",
            first.seq
        )),
        _ => Ok(()),
    }
}

/// Refuses a letter to a session for which too many wait already.
pub(crate) fn check_box(session: &SessionId, waiting: usize) -> Result<(), StoreError> {
    if waiting < LETTERS_MAX {
        return Ok(());
    }
    Err(StoreError::Io {
        doing: format!("leaving a letter for session {session}"),
        why: format!("{waiting} letters wait for it already: resume it, so that it reads them"),
    })
}

/// Refuses a new fact for the inbox of the memory when too many wait there already.
pub(crate) fn check_inbox(status: MemoryStatus, waiting: usize) -> Result<(), StoreError> {
    if status != MemoryStatus::Proposed || waiting < INBOX_MAX {
        return Ok(());
    }
    Err(StoreError::Io {
        doing: "putting a fact into the inbox of the memory".to_string(),
        why: format!(
            "{waiting} facts wait there already: accept or reject some (weir memory inbox)"
        ),
    })
}

/// Refuses a new proposal of a kind of which too many wait already.
pub(crate) fn check_proposals(what: &str, waiting: usize) -> Result<(), StoreError> {
    if waiting < PROPOSALS_MAX {
        return Ok(());
    }
    Err(StoreError::Io {
        doing: format!("putting a {what} before the person"),
        why: format!("{waiting} wait already: accept or reject some first"),
    })
}
