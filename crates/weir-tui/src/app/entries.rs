//! The transcript as data: what was said and done, in order, as the facts themselves. Lines are
//! made of it when somebody looks ([`super::lines`]). Not here: what is being written, what waits.

use std::collections::HashMap;
use std::ops::Deref;

use weir_core::event::{ImageProduced, InputAccepted, ModelReplied, RunFinished, SharedFact};
use weir_core::ids::{CallId, Seq, Timestamp};
use weir_core::message::plain_text;
use weir_core::view::transcript::{CallEntry, CallStage};

use super::notes::Loud;

/// Most of what a shell command printed that the transcript keeps, in bytes; the end of it.
pub(crate) const SHELL_BYTES_MAX: usize = 64 * 1024;

/// Something that stands in the transcript.
#[derive(Debug, Clone)]
pub(crate) struct TranscriptEntry {
    /// The place of the fact that it began with; of the fact before, where it is no fact.
    pub(crate) seq: Seq,
    /// When.
    pub(crate) ts: Timestamp,
    /// What.
    pub(crate) what: EntryContent,
}

/// What it is.
#[derive(Debug, Clone)]
pub(crate) enum EntryContent {
    /// Somebody said something.
    Said(SharedFact<InputAccepted>),
    /// The model answered. `thought_ms`: how long it thought, where that was seen.
    Replied {
        /// The fact.
        fact: SharedFact<ModelReplied>,
        /// Milliseconds from the first thought to the first word.
        thought_ms: Option<u64>,
    },
    /// The model made a picture that no answer shows.
    Image(SharedFact<ImageProduced>),
    /// A call of a tool, as far as it is.
    Call(Box<CallRow>),
    /// A line about the conversation, made safe already.
    Note(Loud, String),
    /// A run ended.
    Ended(SharedFact<RunFinished>),
    /// A command of the person's own. No fact: it is gone with the face.
    Shell(Box<ShellRun>),
}

/// A command that the person ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShellRun {
    /// The command line.
    pub(crate) command: String,
    /// What it printed; the last [`SHELL_BYTES_MAX`] bytes.
    pub(crate) output: String,
    /// How it ended, in words.
    pub(crate) status: String,
    /// It ended with 0.
    pub(crate) ok: bool,
}

/// A call as a row: what every client sees of it, and what a terminal saw of its output.
#[derive(Debug, Clone)]
pub(crate) struct CallRow {
    /// The call.
    pub(crate) entry: CallEntry,
    /// The last lines that it printed, where its result has only the first: not made safe.
    pub(crate) last: String,
}

impl CallRow {
    /// A call that was asked for.
    pub(crate) fn new(entry: &CallEntry) -> CallRow {
        CallRow { entry: entry.clone(), last: String::new() }
    }
}

impl Deref for CallRow {
    type Target = CallEntry;

    fn deref(&self) -> &CallEntry {
        &self.entry
    }
}

impl TranscriptEntry {
    /// What was said, where this is something that was said.
    pub(crate) fn accepted_input(&self) -> Option<&InputAccepted> {
        match &self.what {
            EntryContent::Said(fact) => Some(fact),
            _ => None,
        }
    }

    /// The words of what was said, as they were written: not made safe.
    pub(crate) fn input_text(&self) -> Option<String> {
        self.accepted_input().map(|fact| plain_text(&fact.content))
    }
}

/// What stands before the first entry that is there, and was not read yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EarlierEntries {
    /// Nobody wanted it.
    Left,
    /// A part of it is being read.
    UnderWay,
    /// It could not be read: why, made safe.
    Failed(String),
}

/// How much of it is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EarlierReach {
    /// What somebody reads who scrolls on.
    Part,
    /// All of it, in the end: something is looked for, or its beginning.
    Far,
}

/// Entries that were put above others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct InsertedEntries {
    /// Where the first of them stands.
    pub(crate) place: usize,
    /// How many they are, by now.
    pub(crate) count: usize,
}

/// Everything that was said and done in the session that is open.
#[derive(Debug, Default)]
pub(crate) struct EntryTranscript {
    entries: Vec<TranscriptEntry>,
    /// Where calls of the run that is on stand.
    calls: HashMap<CallId, usize>,
    /// Where those of them stand that are not over, in the order in which they were asked for.
    open: Vec<usize>,
    /// Counts changes: a reader sees from it that something is new.
    changed: u64,
    inserted: InsertedEntries,
    earlier: Option<EarlierEntries>,
}

impl EntryTranscript {
    /// How many entries there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// An entry, counted from 0.
    pub(crate) fn get(&self, n: usize) -> Option<&TranscriptEntry> {
        self.entries.get(n)
    }

    /// All of them, the oldest first.
    pub(crate) fn entries(&self) -> &[TranscriptEntry] {
        &self.entries
    }

    /// A number that is another one after every change.
    pub(crate) fn version(&self) -> u64 {
        self.changed
    }

    /// Puts an entry at the end and says where.
    pub(crate) fn push(&mut self, entry: TranscriptEntry) -> usize {
        self.changed += 1;
        if let EntryContent::Call(row) = &entry.what {
            self.calls.insert(row.call, self.entries.len());
            self.open.push(self.entries.len());
        }
        self.entries.push(entry);
        self.entries.len() - 1
    }

    /// What was said and done earlier is to stand at this place, once it is read.
    pub(crate) fn expect_earlier(&mut self, place: usize) {
        self.inserted = InsertedEntries { place, count: 0 };
        self.set_earlier(Some(EarlierEntries::Left));
    }

    /// What of it was not read; `None`: all is there. Until then nobody can say that something was never said.
    pub(crate) fn earlier_entries(&self) -> Option<&EarlierEntries> {
        self.earlier.as_ref()
    }

    /// Whether a message is there, or may stand among what was not read.
    pub(crate) fn may_have_input(&self) -> bool {
        self.earlier.is_some() || self.entries.iter().any(|entry| entry.accepted_input().is_some())
    }

    /// How what was not read stands now.
    pub(crate) fn set_earlier(&mut self, earlier: Option<EarlierEntries>) {
        self.changed += 1;
        self.earlier = earlier;
    }

    /// The first entry below those that were not read; 0 where all are there.
    pub(crate) fn first_below_unread(&self) -> usize {
        if self.earlier.is_some() { self.inserted.place } else { 0 }
    }

    /// Puts the part of it that stands last among what was not read in its place, and says where that is: the
    /// entries from there on stand after it. `rest`: what is left before it.
    pub(crate) fn insert_earlier(
        &mut self,
        earlier: EntryTranscript,
        rest: Option<EarlierEntries>,
    ) -> usize {
        self.set_earlier(rest);
        let place = self.inserted.place.min(self.entries.len());
        let count = earlier.entries.len();
        let moved = self.calls.values_mut().chain(&mut self.open).filter(|at| **at >= place);
        moved.for_each(|at| *at += count);
        for (call, at) in earlier.calls {
            self.calls.entry(call).or_insert(place + at);
        }
        drop(self.entries.splice(place..place, earlier.entries));
        self.inserted = InsertedEntries { place, count: self.inserted.count + count };
        place
    }

    /// What was put above other entries: whoever remembers places of those goes along.
    pub(crate) fn inserted_entries(&self) -> InsertedEntries {
        self.inserted
    }

    /// Where a call of the run that is on stands.
    pub(crate) fn place_of(&self, call: CallId) -> Option<usize> {
        self.calls.get(&call).copied()
    }

    /// A call of the run that is on.
    pub(crate) fn call_row(&self, call: CallId) -> Option<&CallRow> {
        match &self.entries.get(self.place_of(call)?)?.what {
            EntryContent::Call(row) => Some(row),
            _ => None,
        }
    }

    /// A call of the run that is on, to change it.
    pub(crate) fn row_mut(&mut self, call: CallId) -> Option<&mut CallRow> {
        self.changed += 1;
        let place = self.place_of(call)?;
        match &mut self.entries.get_mut(place)?.what {
            EntryContent::Call(row) => Some(row),
            _ => None,
        }
    }

    /// Calls that are not over, in the order in which they were asked for.
    pub(crate) fn open_calls(&self) -> Vec<&CallRow> {
        let rows = self.open.iter().filter_map(|n| match &self.entries.get(*n)?.what {
            EntryContent::Call(row) => Some(row.as_ref()),
            _ => None,
        });
        rows.filter(|row| !row.stage.is_over()).collect()
    }

    /// A call is over, and where it stands.
    pub(crate) fn close_call(&mut self, call: CallId) -> Option<usize> {
        let place = self.place_of(call)?;
        self.open.retain(|open| *open != place);
        Some(place)
    }

    /// No call changes any more, but those of which nobody knows how they ended, and those whose
    /// question is open.
    pub(crate) fn settle_calls(&mut self) {
        self.open.clear();
        let entries = &self.entries;
        self.calls.retain(|_, n| match entries.get(*n).map(|entry| &entry.what) {
            Some(EntryContent::Call(row)) => {
                matches!(row.stage, CallStage::Unknown | CallStage::Waiting)
            }
            _ => false,
        });
    }
}
