//! `weir replay`: plays a journal again offline and reports the first difference (D2).
//!
//! Nothing is run and nothing is sent: what came from outside is taken from the journal, and what
//! follows from it must be what the journal says.
//!
//! Three work side by side: this one reads and holds each record against the hash chain, one folds the facts,
//! one makes every decision again (`play`). What is reported is what it would be one after the other.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::json;
use tokio::sync::mpsc;
use weir_core::ids::SessionId;
use weir_core::record::Record;
use weir_engine::engine::{EngineError, VerifiedRecords};
use weir_engine::ports::{Store, StoreError};

use crate::failure::{engine_failure, exit, usage};
use crate::options::ReplayArgs;
use crate::terminal::{out_json, out_line};

mod fold;
mod input;
mod play;
mod source;
#[cfg(test)]
mod tests;

use play::{JournalDifference, ReplayResult, replay_facts};
use source::JournalFact;
use weir_install::context::InstallationContext;
use weir_install::session_ids;

/// Records that are read at once, and facts that are handed on at once.
const BATCH: usize = 512;
/// Batches that wait between two of the three that work.
const BATCHES_AHEAD: usize = 4;

pub(crate) async fn replay_journal(
    cx: &InstallationContext,
    args: ReplayArgs,
) -> anyhow::Result<ExitCode> {
    let path = Path::new(&args.journal);
    let (played, chained) = if path.is_file() {
        replay_file(path).await?
    } else {
        // A journal of the store is held against its chain while it is read.
        (replay_stored_journal(cx, &args.journal).await?, true)
    };
    print_replay_result(&played, chained, args.json.json)?;
    Ok(if played.difference.is_some() { ExitCode::from(exit::FAILED) } else { ExitCode::SUCCESS })
}

/// Plays a file, and says whether it has hashes. It is read whole before: what cannot be read is told first.
async fn replay_file(path: &Path) -> anyhow::Result<(ReplayResult, bool)> {
    match source::read_journal_file(path)? {
        Ok(lines) => {
            let chained = source::is_chained(&lines);
            Ok((replay_lines(lines).await?, chained))
        }
        Err(damage) => Ok((ReplayResult::of_damage(damage), false)),
    }
}

/// Plays the lines of a file. Where they have hashes and everything that is derived is as it should be, the
/// first hash that does not follow is the difference.
async fn replay_lines(lines: Vec<JournalFact>) -> anyhow::Result<ReplayResult> {
    let Some(first) = lines.first() else { return Ok(ReplayResult::of_nothing()) };
    let (id, lines) = (first.session.clone(), Arc::new(lines));
    let hashed = lines.clone();
    let broken = tokio::task::spawn_blocking(move || {
        source::is_chained(&hashed).then(|| source::find_broken_hash(&hashed)).flatten()
    });
    let facts = (0..lines.len()).map(move |at| Ok(lines[at].clone()));
    let mut played = replay_facts(id, facts).await?;
    let broken = broken.await?;
    played.difference = played.difference.take().or(broken);
    Ok(played)
}

async fn replay_stored_journal(
    cx: &InstallationContext,
    text: &str,
) -> anyhow::Result<ReplayResult> {
    if text.contains('/') || text.ends_with(".jsonl") {
        return Err(usage(format!("there is no file {text}")));
    }
    let store = cx.local_store()?;
    let id = session_ids::find_session_id(store.as_ref(), text).await?;
    let (records, mut coming) = mpsc::channel::<Vec<Record>>(BATCHES_AHEAD);
    let batches = std::iter::from_fn(move || coming.blocking_recv());
    let facts = batches.flatten().map(source::fact_of_record);
    let reading = hand_records_on(store.as_ref(), &id, records);
    let (read, played) = tokio::join!(reading, replay_facts(id.clone(), facts));
    match read {
        Ok(()) => played,
        // Whatever was found in it: the journal is not what was written.
        Err(EngineError::Store(StoreError::Damaged { what, why })) => {
            let damage = JournalDifference::damaged_journal(0, format!("{what}: {why}"));
            Ok(ReplayResult::of_damage(damage))
        }
        Err(error) => Err(engine_failure(error)),
    }
}

/// Reads the journal to its end, also where nobody wants the rest: its chain is proved in any case.
async fn hand_records_on(
    store: &dyn Store,
    id: &SessionId,
    to: mpsc::Sender<Vec<Record>>,
) -> Result<(), EngineError> {
    let mut verified = VerifiedRecords::new(store, id);
    loop {
        let records = verified.next_batch(BATCH).await?;
        if records.is_empty() {
            return Ok(());
        }
        // Nobody takes them any more: only a bug, which is reported where it is.
        if to.send(records).await.is_err() {
            return Ok(());
        }
    }
}

fn print_replay_result(played: &ReplayResult, chained: bool, as_json: bool) -> anyhow::Result<()> {
    let ReplayResult { facts, runs, turns, calls, difference } = played;
    if as_json {
        return out_json(&json!({
            "same": difference.is_none(),
            "facts": facts,
            "runs": runs,
            "turns": turns,
            "calls": calls,
            "difference": difference,
            "chained": chained,
        }));
    }
    let counts = format!("{facts} events, {runs} runs, {turns} turns, {calls} calls");
    match difference {
        None => {
            out_line(&format!("the same: {counts}"))?;
            if !chained {
                out_line(
                    "The file has no hashes, so nothing proves that its content is what was \
                     exported; export the session again to get them.",
                )?;
            }
            Ok(())
        }
        Some(difference) => {
            out_line(&format!("DIFFERENT: {difference}"))?;
            out_line(&format!("replayed up to there: {counts}"))
        }
    }
}
