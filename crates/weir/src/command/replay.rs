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
use crate::terminal::{out, out_json};

mod input;
mod play;
mod source;

use play::{Difference, Played, play};
use source::Line;
use weir_install::cx::Cx;
use weir_install::session_ids;

pub(crate) async fn replay(cx: &Cx, args: ReplayArgs) -> anyhow::Result<ExitCode> {
    let path = Path::new(&args.journal);
    let read = if path.is_file() { source::file(path) } else { stored(cx, &args.journal).await };
    let (lines, damage) = match read? {
        Ok(lines) => (lines, None),
        Err(damage) => (Vec::new(), Some(damage)),
    };
    // A journal of the store was held against its chain while it was read.
    let chained = !path.is_file() || source::is_chained(&lines);
    let mut played = match damage {
        Some(damage) => Played { difference: Some(damage), ..Played::default() },
        None => play(&lines),
    };
    if played.difference.is_none() && source::is_chained(&lines) {
        played.difference = source::broken(&lines);
    }
    show(&played, chained, args.json.json)?;
    Ok(if played.difference.is_some() { ExitCode::from(exit::FAILED) } else { ExitCode::SUCCESS })
}

/// What was read, or in which way it is damaged.
type Read = anyhow::Result<Result<Vec<Line>, Difference>>;

async fn stored(cx: &Cx, text: &str) -> Read {
    if text.contains('/') || text.ends_with(".jsonl") {
        return Err(usage(format!("there is no file {text}")));
    }
    let store = cx.store()?;
    let id = session_ids::find(store.as_ref(), text).await?;
    let records = match read_verified(store.as_ref(), &id).await {
        Ok(records) => records,
        Err(EngineError::Store(StoreError::Damaged { what, why })) => {
            return Ok(Err(Difference::damage(0, format!("{what}: {why}"))));
        }
        Err(error) => return Err(engine_failure(error)),
    };
    Ok(source::records(&records))
}

fn show(played: &Played, chained: bool, as_json: bool) -> anyhow::Result<()> {
    let Played { facts, runs, turns, calls, difference } = played;
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
            out(&format!("the same: {counts}"))?;
            if !chained {
                out("The file has no hashes, so nothing proves that its content is what was \
                     exported; export the session again to get them.")?;
            }
            Ok(())
        }
        Some(difference) => {
            out(&format!("DIFFERENT: {difference}"))?;
            out(&format!("replayed up to there: {counts}"))
        }
    }
}
