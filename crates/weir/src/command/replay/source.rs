//! A journal to be played: from the store's records, or from the lines of an exported session.

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use weir_core::event::Event;
use weir_core::ids::{Seq, SessionId, Timestamp};
use weir_core::record::{GENESIS, Record};
use weir_core::view::wire;
use weir_engine::ledger::fact_of;

use super::play::JournalDifference;
use crate::failure::usage;

/// Longest line of a file, in bytes.
const LINE_BYTES_MAX: u64 = 512 << 20;

/// What stands in a file, or in which way it is damaged.
type JournalFileResult = anyhow::Result<Result<Vec<JournalFact>, JournalDifference>>;

/// One fact of a journal.
#[derive(Debug, Clone)]
pub(super) struct JournalFact {
    pub(super) session: SessionId,
    pub(super) seq: Seq,
    pub(super) ts: Timestamp,
    pub(super) event: Arc<Event>,
    /// The hash by which it follows from the one before, where a file says it.
    pub(super) hash: Option<String>,
}

/// Whether the lines of a file say by hashes what they were.
pub(super) fn is_chained(lines: &[JournalFact]) -> bool {
    lines.iter().any(|line| line.hash.is_some())
}

/// The first fact whose hash does not follow from the one before. What a journal derives is found by
/// playing it; what came from outside (words, replies, results) is proved by this alone.
pub(super) fn find_broken_hash(lines: &[JournalFact]) -> Option<JournalDifference> {
    let mut last = GENESIS.to_owned();
    for line in lines {
        let hash = wire::fact_record(&line.session, line.seq, line.ts, &line.event, &last).hash;
        if line.hash.as_ref() != Some(&hash) {
            let why = "was changed after it was exported: its hash does not follow from the \
                       previous event";
            return Some(JournalDifference::damaged_journal(line.seq, why));
        }
        last = hash;
    }
    None
}

/// The fact in a record of the store, which was held against its chain already.
pub(super) fn fact_of_record(record: Record) -> Result<JournalFact, JournalDifference> {
    let fact = fact_of(&record)
        .map_err(|error| JournalDifference::damaged_journal(record.seq, error.to_string()))?;
    let (session, seq, ts, event) = (record.session, fact.seq, fact.ts, fact.event);
    Ok(JournalFact { session, seq, ts, event, hash: None })
}

/// The facts in a file of JSON lines. Lines without a sequence number are no facts.
pub(super) fn read_journal_file(path: &Path) -> JournalFileResult {
    let shown = path.display();
    let wrong = |error: &std::io::Error| usage(format!("{shown}: {error}"));
    let mut reader = BufReader::new(File::open(path).map_err(|error| wrong(&error))?);
    let mut lines = Vec::new();
    let mut bytes = Vec::new();
    for number in 1_usize.. {
        bytes.clear();
        let mut bounded = reader.by_ref().take(LINE_BYTES_MAX);
        if bounded.read_until(b'\n', &mut bytes).map_err(|error| wrong(&error))? == 0 {
            break;
        }
        if bytes.trim_ascii().is_empty() {
            continue;
        }
        match parse_journal_line(&bytes) {
            Ok(Some(line)) => lines.push(line),
            Ok(None) => (),
            Err(why) => {
                let why = format!("line {number} of {shown}: {why}");
                return Ok(Err(JournalDifference::damaged_journal(0, why)));
            }
        }
    }
    if lines.is_empty() {
        return Err(usage(format!(
            "{shown} contains no events; `weir sessions export ID -o FILE` writes such a file"
        )));
    }
    Ok(Ok(lines))
}

/// One line: the envelope taken off, the rest are the fields of the kind.
fn parse_journal_line(bytes: &[u8]) -> Result<Option<JournalFact>, String> {
    let value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let Value::Object(mut fields) = value else { return Err("is not a JSON object".into()) };
    let Some(seq) = fields.shift_remove("seq") else { return Ok(None) };
    let seq = seq.as_u64().ok_or("seq is not a number")?;
    let mut text = |name: &str| match fields.shift_remove(name) {
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(format!("{name} is not a string")),
        None => Err(format!("{name} is missing")),
    };
    let (ts, session, kind) = (text("ts")?, text("session")?, text("kind")?);
    let ts = ts.parse().map_err(|error| format!("ts {ts:?}: {error}"))?;
    fields.shift_remove("v");
    let hash = match fields.shift_remove("hash") {
        Some(Value::String(text)) => Some(text),
        Some(_) => return Err("hash is not a string".into()),
        None => None,
    };
    let payload = Value::Object(fields).to_string();
    let event = Event::from_payload(&kind, &payload).map_err(|error| error.to_string())?;
    let (session, event) = (SessionId::new(session), Arc::new(event));
    Ok(Some(JournalFact { session, seq, ts, event, hash }))
}
