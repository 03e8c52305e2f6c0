//! `weir replay`: plays a journal again offline and reports the first difference (D2).
//!
//! Nothing is run and nothing is sent: what came from outside is taken from the journal, and what
//! follows from it must be what the journal says.

use std::path::Path;
use std::process::ExitCode;

use serde_json::json;
use weir_engine::engine::{EngineError, read_verified};
use weir_engine::ports::StoreError;

use crate::failure::{engine_failure, exit, usage};
use crate::options::ReplayArgs;
use crate::terminal::{out_json, out_line};

mod input;
mod play;
mod source;

use play::{JournalDifference, ReplayResult, replay_facts};
use source::JournalFact;
use weir_install::context::InstallationContext;
use weir_install::session_ids;

pub(crate) async fn replay_journal(
    cx: &InstallationContext,
    args: ReplayArgs,
) -> anyhow::Result<ExitCode> {
    let path = Path::new(&args.journal);
    let read = if path.is_file() {
        source::read_journal_file(path)
    } else {
        read_stored_journal(cx, &args.journal).await
    };
    let (lines, damage) = match read? {
        Ok(lines) => (lines, None),
        Err(damage) => (Vec::new(), Some(damage)),
    };
    // A journal of the store was held against its chain while it was read.
    let chained = !path.is_file() || source::is_chained(&lines);
    let mut played = match damage {
        Some(damage) => ReplayResult { difference: Some(damage), ..ReplayResult::default() },
        None => replay_facts(&lines),
    };
    if played.difference.is_none() && source::is_chained(&lines) {
        played.difference = source::find_broken_hash(&lines);
    }
    print_replay_result(&played, chained, args.json.json)?;
    Ok(if played.difference.is_some() { ExitCode::from(exit::FAILED) } else { ExitCode::SUCCESS })
}

/// What was read, or in which way it is damaged.
type JournalReadResult = anyhow::Result<Result<Vec<JournalFact>, JournalDifference>>;

async fn read_stored_journal(cx: &InstallationContext, text: &str) -> JournalReadResult {
    if text.contains('/') || text.ends_with(".jsonl") {
        return Err(usage(format!("there is no file {text}")));
    }
    let store = cx.local_store()?;
    let id = session_ids::find_session_id(store.as_ref(), text).await?;
    let records = match read_verified(store.as_ref(), &id).await {
        Ok(records) => records,
        Err(EngineError::Store(StoreError::Damaged { what, why })) => {
            return Ok(Err(JournalDifference::damaged_journal(0, format!("{what}: {why}"))));
        }
        Err(error) => return Err(engine_failure(error)),
    };
    Ok(source::facts_of_records(&records))
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
